//! Lenient JSON for the adapters of line files: checks one line, reads values of unexpected types as missing, and makes
//! a tool's input readable.
//!
//! Programs change what they write from week to week. A field whose type changed must not lose a turn, so these types
//! read a value of another type as missing, and the decoder decides whether it needs the value. This module knows no
//! program.

use std::borrow::Cow;
use std::fmt;
use std::marker::PhantomData;

use serde::Deserialize;
use serde::de::value::MapAccessDeserializer;
use serde::de::{Deserializer, IgnoredAny, MapAccess, SeqAccess, Visitor};
use serde_json::value::RawValue;

/// Returns the text of one line that should be a JSON object, or the reason why it is not. A byte order mark before it
/// and a carriage return after it are dropped.
pub(crate) fn line_text(bytes: &[u8]) -> Result<&str, String> {
    let bytes = bytes.strip_prefix(b"\xEF\xBB\xBF").unwrap_or(bytes);
    let bytes = bytes.strip_suffix(b"\r").unwrap_or(bytes);
    std::str::from_utf8(bytes).map_err(|e| format!("not valid UTF-8 at byte {}", e.valid_up_to()))
}

/// Reads one line as a record. The error is a reason for quarantine.
pub(crate) fn parse_line<'a, T: Deserialize<'a>>(bytes: &'a [u8]) -> Result<T, String> {
    let text = line_text(bytes)?;
    if !text.trim_start().starts_with('{') {
        return Err(match serde_json::from_str::<IgnoredAny>(text) {
            Ok(_) => "not a JSON object".into(),
            Err(error) => not_json(&error),
        });
    }
    serde_json::from_str(text).map_err(|error| {
        if error.is_data() { format!("unexpected shape: {}", message(&error)) } else { not_json(&error) }
    })
}

/// Reads a part of a record that must be an object (serde would also read a list into a struct). The error is that of
/// [`parse_part`].
pub(crate) fn parse_object<'a, T: Deserialize<'a>>(raw: &'a RawValue, what: &str) -> Result<T, String> {
    if raw.get().starts_with('[') {
        return Err(format!("{what} has an unexpected shape"));
    }
    parse_part(raw, what)
}

/// Reads a part of a record. The error is a reason for quarantine and begins with `what`.
pub(crate) fn parse_part<'a, T: Deserialize<'a>>(raw: &'a RawValue, what: &str) -> Result<T, String> {
    serde_json::from_str(raw.get()).map_err(|error| {
        if error.is_data() {
            format!("{what} has an unexpected shape")
        } else {
            format!("{what} cannot be read: {}", message(&error))
        }
    })
}

fn not_json(error: &serde_json::Error) -> String {
    format!("not JSON: {} at column {}", message(error), error.column())
}

/// Returns serde_json's message without its position: it counts lines, and here there is only one.
fn message(error: &serde_json::Error) -> String {
    let full = error.to_string();
    match full.rfind(" at line ") {
        Some(end) => full[..end].to_owned(),
        None => full,
    }
}

/// Visitor methods that read every other type as missing.
macro_rules! nothing_for {
    ($($method:ident($type:ty)),*) => {
        $(fn $method<E>(self, _: $type) -> Result<Self::Value, E> { Ok(Default::default()) })*
    };
    (unit) => {
        fn visit_unit<E>(self) -> Result<Self::Value, E> { Ok(Default::default()) }
    };
    (seq) => {
        fn visit_seq<A: SeqAccess<'de>>(self, mut seq: A) -> Result<Self::Value, A::Error> {
            while seq.next_element::<IgnoredAny>()?.is_some() {}
            Ok(Default::default())
        }
    };
    (map) => {
        fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Self::Value, A::Error> {
            while map.next_entry::<IgnoredAny, IgnoredAny>()?.is_some() {}
            Ok(Default::default())
        }
    };
}

/// A string, borrowed from the line if it contains no escapes; anything else is missing.
#[derive(Default)]
pub(crate) struct Str<'a>(Option<Cow<'a, str>>);

impl<'a> Str<'a> {
    pub(crate) fn get(&self) -> Option<&str> {
        self.0.as_deref()
    }

    /// Returns the string, or `""`.
    pub(crate) fn or_empty(&self) -> &str {
        self.get().unwrap_or_default()
    }

    /// Returns the string unless it is empty: programs write `""` for a missing one.
    pub(crate) fn filled(&self) -> Option<&str> {
        self.get().filter(|text| !text.is_empty())
    }

    pub(crate) fn into_string(self) -> String {
        self.0.unwrap_or_default().into_owned()
    }
}

impl<'a> From<&'a str> for Str<'a> {
    fn from(text: &'a str) -> Str<'a> {
        Str(Some(Cow::Borrowed(text)))
    }
}

impl<'de: 'a, 'a> Deserialize<'de> for Str<'a> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Str<'a>, D::Error> {
        struct StrVisitor;
        impl<'de> Visitor<'de> for StrVisitor {
            type Value = Str<'de>;
            fn expecting(&self, f: &mut fmt::Formatter) -> fmt::Result {
                f.write_str("a string")
            }
            fn visit_borrowed_str<E>(self, text: &'de str) -> Result<Str<'de>, E> {
                Ok(Str(Some(Cow::Borrowed(text))))
            }
            fn visit_str<E>(self, text: &str) -> Result<Str<'de>, E> {
                Ok(Str(Some(Cow::Owned(text.to_owned()))))
            }
            nothing_for!(visit_bool(bool), visit_i64(i64), visit_u64(u64), visit_f64(f64));
            nothing_for!(unit);
            nothing_for!(seq);
            nothing_for!(map);
        }
        deserializer.deserialize_any(StrVisitor)
    }
}

/// `true`; anything else is `false`.
#[derive(Clone, Copy, Default)]
pub(crate) struct Flag(pub(crate) bool);

impl<'de> Deserialize<'de> for Flag {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Flag, D::Error> {
        struct FlagVisitor;
        impl<'de> Visitor<'de> for FlagVisitor {
            type Value = Flag;
            fn expecting(&self, f: &mut fmt::Formatter) -> fmt::Result {
                f.write_str("true or false")
            }
            fn visit_bool<E>(self, value: bool) -> Result<Flag, E> {
                Ok(Flag(value))
            }
            nothing_for!(visit_i64(i64), visit_u64(u64), visit_f64(f64), visit_str(&str));
            nothing_for!(unit);
            nothing_for!(seq);
            nothing_for!(map);
        }
        deserializer.deserialize_any(FlagVisitor)
    }
}

/// A whole number; anything else is missing.
#[derive(Clone, Copy, Default)]
pub(crate) struct Whole(Option<i64>);

impl Whole {
    pub(crate) fn get(self) -> Option<i64> {
        self.0
    }

    /// Returns the number as a count; `None` if it is negative.
    pub(crate) fn count(self) -> Option<u64> {
        self.0.and_then(|n| u64::try_from(n).ok())
    }
}

impl<'de> Deserialize<'de> for Whole {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Whole, D::Error> {
        struct WholeVisitor;
        impl<'de> Visitor<'de> for WholeVisitor {
            type Value = Whole;
            fn expecting(&self, f: &mut fmt::Formatter) -> fmt::Result {
                f.write_str("a whole number")
            }
            fn visit_i64<E>(self, n: i64) -> Result<Whole, E> {
                Ok(Whole(Some(n)))
            }
            fn visit_u64<E>(self, n: u64) -> Result<Whole, E> {
                Ok(Whole(i64::try_from(n).ok()))
            }
            nothing_for!(visit_bool(bool), visit_f64(f64), visit_str(&str));
            nothing_for!(unit);
            nothing_for!(seq);
            nothing_for!(map);
        }
        deserializer.deserialize_any(WholeVisitor)
    }
}

/// An object read as `T`; anything else is `T::default()`.
#[derive(Default)]
pub(crate) struct Loose<T>(pub(crate) T);

impl<'de, T: Deserialize<'de> + Default> Deserialize<'de> for Loose<T> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Loose<T>, D::Error> {
        struct LooseVisitor<T>(PhantomData<T>);
        impl<'de, T: Deserialize<'de> + Default> Visitor<'de> for LooseVisitor<T> {
            type Value = Loose<T>;
            fn expecting(&self, f: &mut fmt::Formatter) -> fmt::Result {
                f.write_str("an object")
            }
            fn visit_map<A: MapAccess<'de>>(self, map: A) -> Result<Loose<T>, A::Error> {
                T::deserialize(MapAccessDeserializer::new(map)).map(Loose)
            }
            nothing_for!(visit_bool(bool), visit_i64(i64), visit_u64(u64), visit_f64(f64), visit_str(&str));
            nothing_for!(unit);
            nothing_for!(seq);
        }
        deserializer.deserialize_any(LooseVisitor(PhantomData))
    }
}

/// A list; anything else is empty. `T` decides how an element of another type reads.
pub(crate) struct List<T>(pub(crate) Vec<T>);

impl<T> Default for List<T> {
    fn default() -> List<T> {
        List(Vec::new())
    }
}

impl<'de, T: Deserialize<'de>> Deserialize<'de> for List<T> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<List<T>, D::Error> {
        struct ListVisitor<T>(PhantomData<T>);
        impl<'de, T: Deserialize<'de>> Visitor<'de> for ListVisitor<T> {
            type Value = List<T>;
            fn expecting(&self, f: &mut fmt::Formatter) -> fmt::Result {
                f.write_str("a list")
            }
            fn visit_seq<A: SeqAccess<'de>>(self, mut seq: A) -> Result<List<T>, A::Error> {
                let mut items = Vec::new();
                while let Some(item) = seq.next_element()? {
                    items.push(item);
                }
                Ok(List(items))
            }
            nothing_for!(visit_bool(bool), visit_i64(i64), visit_u64(u64), visit_f64(f64), visit_str(&str));
            nothing_for!(unit);
            nothing_for!(map);
        }
        deserializer.deserialize_any(ListVisitor(PhantomData))
    }
}

/// An object's members in the order they were written, keys read as `K`. Not a map, because a tool's input reads best
/// in its own order.
pub(crate) struct Members<'a, K>(pub(crate) Vec<(K, &'a RawValue)>);

impl<'de, K: Deserialize<'de>> Deserialize<'de> for Members<'de, K> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Members<'de, K>, D::Error> {
        struct MembersVisitor<K>(PhantomData<K>);
        impl<'de, K: Deserialize<'de>> Visitor<'de> for MembersVisitor<K> {
            type Value = Members<'de, K>;
            fn expecting(&self, f: &mut fmt::Formatter) -> fmt::Result {
                f.write_str("an object")
            }
            fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Members<'de, K>, A::Error> {
                let mut members = Vec::new();
                while let Some(member) = map.next_entry()? {
                    members.push(member);
                }
                Ok(Members(members))
            }
        }
        deserializer.deserialize_map(MembersVisitor(PhantomData))
    }
}

/// Returns a tool's input in readable form: an object as `key: value` lines with strings as they are, a string as it
/// is, anything else as compact JSON.
pub(crate) fn readable(json: &str) -> Result<String, serde_json::Error> {
    let json = json.trim();
    match json.as_bytes().first() {
        Some(b'{') => {
            let members: Members<String> = serde_json::from_str(json)?;
            let mut out = String::with_capacity(json.len());
            for (key, value) in members.0 {
                if !out.is_empty() {
                    out.push('\n');
                }
                out.push_str(&key);
                out.push_str(": ");
                if value.get().starts_with('"') {
                    out.push_str(&serde_json::from_str::<String>(value.get())?);
                } else {
                    push_compact(&mut out, value.get());
                }
            }
            Ok(out)
        }
        Some(b'"') => serde_json::from_str(json),
        None => Ok(String::new()),
        Some(_) if json == "null" => Ok(String::new()),
        Some(_) => {
            serde_json::from_str::<IgnoredAny>(json)?;
            let mut out = String::with_capacity(json.len());
            push_compact(&mut out, json);
            Ok(out)
        }
    }
}

/// Appends JSON without the white space between its tokens. Numbers and strings stay as they were written.
fn push_compact(out: &mut String, json: &str) {
    let (mut in_string, mut escaped) = (false, false);
    for c in json.chars() {
        if in_string {
            match c {
                _ if escaped => escaped = false,
                '\\' => escaped = true,
                '"' => in_string = false,
                _ => {}
            }
        } else if c.is_ascii_whitespace() {
            continue;
        } else if c == '"' {
            in_string = true;
        }
        out.push(c);
    }
}

/// Whether a name needs no quotes in a shell command.
pub(crate) fn is_plain_word(name: &str) -> bool {
    !name.is_empty()
        && !name.starts_with('-')
        && name.bytes().all(|b| b.is_ascii_alphanumeric() || matches!(b, b'-' | b'_' | b'.'))
}

/// Whether a name is a UUID in its usual form.
pub(crate) fn is_uuid(name: &str) -> bool {
    name.len() == 36
        && name.bytes().enumerate().all(|(i, b)| match i {
            8 | 13 | 18 | 23 => b == b'-',
            _ => b.is_ascii_hexdigit(),
        })
}

/// Returns the complete lines in the first bytes of a file; if not even the first line is complete, its beginning.
pub(crate) fn head_lines(head: &[u8]) -> impl Iterator<Item = &[u8]> {
    let end = head.iter().rposition(|b| *b == b'\n').unwrap_or(head.len());
    head[..end].split(|b| *b == b'\n').filter(|line| !line.trim_ascii().is_empty())
}
