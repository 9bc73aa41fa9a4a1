//! The parts of a stored text in which a name can stand. In JSON these are the strings: numbers, digests and the names of
//! members address rows and cover others, so that a text without them would no longer verify.

use std::ops::Range;

use serde_json::{Map, Value};

use crate::ledger::forgotten_names::{ids_in, is_apart};

/// Members whose strings cover rows of the ledger.
const DIGESTS: &[&str] = &["digest", "digests", "seal"];

/// Columns and members whose texts are codes of this program, such as `queued`, or the ids of outside programs.
const CODES: &[&str] = &[
    "action",
    "cause",
    "class",
    "closed_by",
    "ended_by",
    "event",
    "harness",
    "kind",
    "outcome",
    "purpose",
    "scope",
    "source",
    "state",
    "status",
];

/// Whether a text of this column or member is a code, which nobody chose, and by which rows are found.
pub(super) fn is_code(name: &str, text: &str) -> bool {
    CODES.contains(&name)
        && text.bytes().all(|b| b.is_ascii_lowercase() || b.is_ascii_digit() || matches!(b, b'-' | b'_' | b'.'))
}

/// Returns a text with each of its parts replaced by what `new` makes of it; `None` if `new` made nothing of any.
pub(super) fn replaced(text: &str, new: &mut dyn FnMut(&str) -> Option<String>) -> Option<String> {
    let begins = text.trim_start().as_bytes().first();
    if matches!(begins, Some(b'{' | b'['))
        && let Ok(mut value) = serde_json::from_str::<Value>(text)
    {
        return in_value(&mut value, new).then(|| value.to_string());
    }
    new(text)
}

fn in_value(value: &mut Value, new: &mut dyn FnMut(&str) -> Option<String>) -> bool {
    match value {
        Value::String(text) => {
            let replaced = replaced(text, new);
            let changed = replaced.is_some();
            *text = replaced.unwrap_or_else(|| std::mem::take(text));
            changed
        }
        Value::Array(items) => items.iter_mut().fold(false, |changed, item| in_value(item, new) | changed),
        Value::Object(members) => {
            let mut changed = false;
            let mut all = Map::new();
            for (name, mut value) in std::mem::take(members) {
                let code = value.as_str().is_some_and(|text| is_code(&name, text));
                changed |= !code && !DIGESTS.contains(&name.as_str()) && in_value(&mut value, new);
                // Plain lower case names a member of a form; anything else is an id that some program gave.
                let is_plain = name.bytes().all(|b| b.is_ascii_lowercase() || matches!(b, b'_' | b'-'));
                let other = if is_plain { None } else { new(&name) };
                changed |= other.is_some();
                let mut name = other.unwrap_or(name);
                while all.contains_key(&name) {
                    name.push_str("-2");
                }
                all.insert(name, value);
            }
            *members = all;
            changed
        }
        _ => false,
    }
}

/// Returns the stretches of a part that are not inside an id, a digest or a date.
pub(super) fn outside_ids(part: &str, mut stretches: Vec<Range<usize>>) -> Vec<Range<usize>> {
    if !stretches.is_empty() {
        let mut ids = ids_in(part);
        if is_own_id(part) {
            ids.push(0..part.len());
        }
        stretches.retain(|stretch| is_apart(stretch, &ids));
    }
    stretches
}

/// Whether a part is an id of a turn or a node (`t9c11`), a range of them, or the number of another row (`q:17`).
fn is_own_id(part: &str) -> bool {
    let numbered = |id: &str| {
        id.strip_prefix(['t', 'n'])
            .is_some_and(|hex| hex.bytes().all(|b| b.is_ascii_hexdigit()) && hex.bytes().any(|b| b.is_ascii_digit()))
    };
    let row = part
        .split_once(':')
        .is_some_and(|(kind, no)| kind.len() == 1 && !no.is_empty() && no.bytes().all(|b| b.is_ascii_digit()));
    row || part.split("..").all(numbered)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_strings_of_json_are_replaced() {
        let mut new = |text: &str| text.contains("12").then(|| text.replace("12", "*"));
        for (text, wanted) in [
            ("room 12", Some("room *")),
            (
                r#"{"at":12,"seal":"ab12","digests":"12","first12":[12,"x12"]}"#,
                Some(r#"{"at":12,"digests":"12","first*":[12,"x*"],"seal":"ab12"}"#),
            ),
            (
                r#"{"turns":"12","of":{"a":"{\"b\":12,\"c\":\"12\"}"}}"#,
                Some(r#"{"of":{"a":"{\"b\":12,\"c\":\"*\"}"},"turns":"*"}"#),
            ),
            (r#"{"at":12}"#, None),
            (r#"{"state":"x12","kind":"X12"}"#, Some(r#"{"kind":"X*","state":"x12"}"#)),
            ("[12", Some("[*")),
            ("", None),
        ] {
            assert_eq!(replaced(text, &mut new).as_deref(), wanted, "{text}");
        }
        assert_eq!(replaced(r#"{"X1":1,"X2":2}"#, &mut |_| Some("y".into())).unwrap(), r#"{"y":1,"y-2":2}"#);
    }

    #[test]
    fn ids_of_rows_are_no_names() {
        for id in ["t12", "n1..n12", "q:12", "u:12"] {
            let at = id.find("12").unwrap();
            assert_eq!(outside_ids(id, std::iter::once(at..at + 2).collect()), Vec::<Range<usize>>::new(), "{id}");
        }
        for name in ["ted 12", "s:a12", "room12", "12"] {
            let at = name.find("12").unwrap();
            assert_eq!(outside_ids(name, std::iter::once(at..at + 2).collect()).len(), 1, "{name}");
        }
    }
}
