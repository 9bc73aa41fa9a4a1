//! Lenient JSON: a field of an unexpected type reads as its default.
//!
//! Programs change their records without notice, and a changed field must not lose a turn; so every field of a wire
//! struct is read through [`loose`], and every text through [`Words`]. Shared by the programs that write JavaScript's
//! JSON, where a string cut in the middle of an emoji ends in half a surrogate pair.

use std::fmt;

use serde::de::{DeserializeOwned, Deserializer, Visitor};
use serde::{Deserialize, de};
use serde_json::value::RawValue;

use crate::lines::Members;

/// Declares structs of which every field is read through [`loose`] and may be missing.
macro_rules! loosely {
    ($($(#[$of_struct:meta])* $seen:vis struct $name:ident {
        $($(#[$of_field:meta])* $open:vis $field:ident: $kind:ty,)*
    })*) => {$(
        #[derive(serde::Deserialize, Default)]
        #[serde(default)]
        $(#[$of_struct])*
        $seen struct $name {
            $($(#[$of_field])* #[serde(deserialize_with = "crate::loose::loose")] $open $field: $kind,)*
        }
    )*};
}
pub(crate) use loosely;

/// Reads a field, or its default if it has another type. Needs `#[serde(default)]` beside it.
pub(crate) fn loose<'de, D, T>(deserializer: D) -> Result<T, D::Error>
where
    D: Deserializer<'de>,
    T: DeserializeOwned + Default,
{
    let raw = Box::<RawValue>::deserialize(deserializer)?;
    Ok(serde_json::from_str(raw.get()).unwrap_or_default())
}

/// A string in which half a surrogate pair is replaced instead of refused.
#[derive(Clone, PartialEq, Eq, Default, Debug)]
pub(crate) struct Words(pub(crate) String);

impl<'de> Deserialize<'de> for Words {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Words, D::Error> {
        struct Lossy;

        impl Visitor<'_> for Lossy {
            type Value = Words;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a string")
            }

            fn visit_bytes<E: de::Error>(self, bytes: &[u8]) -> Result<Words, E> {
                Ok(Words(String::from_utf8_lossy(bytes).into_owned()))
            }
        }

        // When asked for bytes, serde_json returns those of a string, half surrogate pairs included.
        deserializer.deserialize_bytes(Lossy)
    }
}

/// Returns a tool's input in readable form: one `name: value` per line, strings without quotes and escapes.
pub(crate) fn tool_input(raw: Option<&RawValue>) -> String {
    let Some(raw) = raw else { return String::new() };
    match serde_json::from_str::<Members<Words>>(raw.get()) {
        Ok(Members(members)) => {
            let line = |(Words(name), value): &(Words, &RawValue)| format!("{name}: {}", plain(value));
            members.iter().map(line).collect::<Vec<_>>().join("\n")
        }
        Err(_) => plain(raw),
    }
}

/// Returns a string's text, nothing for `null`, anything else as it is written.
pub(crate) fn plain(raw: &RawValue) -> String {
    match serde_json::from_str::<Words>(raw.get()) {
        Ok(Words(text)) => text,
        Err(_) if raw.get() == "null" => String::new(),
        Err(_) => raw.get().into(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[derive(Deserialize)]
    struct Record {
        #[serde(default, deserialize_with = "loose")]
        text: Option<Words>,
        #[serde(default, deserialize_with = "loose")]
        count: Option<u64>,
    }

    #[test]
    fn a_field_of_another_type_loses_only_itself() {
        let read = |json: &str| serde_json::from_str::<Record>(json).map(|r| (r.text.map(|w| w.0), r.count)).unwrap();
        assert_eq!(read(r#"{"text":"a","count":1}"#), (Some("a".into()), Some(1)));
        assert_eq!(read(r#"{"text":["a"],"count":1}"#), (None, Some(1)));
        assert_eq!(read(r#"{"text":null,"count":-1,"more":{}}"#), (None, None));
    }

    #[test]
    fn half_a_surrogate_pair_is_replaced() {
        let record: Record = serde_json::from_str(r#"{"text":"cut \ud83d here"}"#).unwrap();
        let text = record.text.unwrap().0;
        assert!(text.starts_with("cut \u{fffd}") && text.ends_with(" here"), "{text:?}");
    }

    #[test]
    fn tool_input_reads_in_the_order_written() {
        let shown = |json: &str| tool_input(Some(&RawValue::from_string(json.into()).unwrap()));
        assert_eq!(
            shown(r#"{"z":"two\nlines","a":{"b":[1]},"n":null,"t":true}"#),
            "z: two\nlines\na: {\"b\":[1]}\nn: \nt: true"
        );
        assert_eq!(shown(r#""free text""#), "free text");
        assert_eq!(tool_input(None), "");
    }
}
