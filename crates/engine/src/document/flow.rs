//! Prints values as one line of YAML.

use std::fmt::Write;

use serde_json::Value;

/// Words that some YAML readers do not read as strings.
const RESERVED_WORDS: &[&str] = &["null", "true", "false", "yes", "no", "on", "off", "y", "n"];

/// Prints a value on one line.
pub(super) fn value(value: &Value) -> String {
    let mut out = String::new();
    print(value, false, &mut out);
    out
}

/// Prints a key in the form it has before a colon.
pub(super) fn key(key: &str) -> String {
    let mut out = String::new();
    text(key, true, &mut out);
    out
}

fn print(value: &Value, nested: bool, out: &mut String) {
    match value {
        Value::Null => out.push_str("null"),
        Value::Bool(yes) => out.push_str(if *yes { "true" } else { "false" }),
        Value::Number(number) => out.push_str(&number.to_string()),
        Value::String(words) => text(words, nested, out),
        Value::Array(items) => {
            out.push('[');
            for (i, item) in items.iter().enumerate() {
                out.push_str(if i > 0 { ", " } else { "" });
                print(item, true, out);
            }
            out.push(']');
        }
        Value::Object(entries) => {
            out.push('{');
            for (i, (name, entry)) in entries.iter().enumerate() {
                out.push_str(if i > 0 { ", " } else { "" });
                text(name, true, out);
                out.push_str(": ");
                print(entry, true, out);
            }
            out.push('}');
        }
    }
}

fn text(words: &str, nested: bool, out: &mut String) {
    if plain(words, nested) {
        out.push_str(words);
        return;
    }
    out.push('"');
    for c in words.chars() {
        match c {
            '"' => out.push_str("\\\""),
            '\\' => out.push_str("\\\\"),
            '\n' => out.push_str("\\n"),
            '\t' => out.push_str("\\t"),
            '\r' => out.push_str("\\r"),
            c if hidden(c) => {
                // Writing to a string cannot fail.
                let _ = write!(out, "\\u{:04x}", u32::from(c));
            }
            c => out.push(c),
        }
    }
    out.push('"');
}

/// Whether every YAML reader reads a text without quotes as this string. `false` when in doubt.
fn plain(words: &str, nested: bool) -> bool {
    let (Some(first), Some(last)) = (words.chars().next(), words.chars().next_back()) else { return false };
    let begins_well = first.is_alphanumeric() || matches!(first, '_' | '/' | '(' | '$') || !first.is_ascii();
    begins_well
        && !first.is_whitespace()
        && !last.is_whitespace()
        && last != ':'
        && !words.contains(": ")
        && !words.contains(" #")
        && !(nested && words.contains(['[', ']', '{', '}', ',', '"', '\'', ':', '#', '?']) && !day(words))
        && !words.chars().any(hidden)
        && !RESERVED_WORDS.iter().any(|w| words.eq_ignore_ascii_case(w))
        && !(first.is_ascii_digit() && like_a_number(words) && !day(words))
}

/// Whether some YAML reader takes this for a number: `1e5`, `0x1f`, `1_000`, `12:30:45`, `1.2.3`. No reader takes `30d`
/// for one.
fn like_a_number(words: &str) -> bool {
    let lower = words.to_ascii_lowercase();
    ["0x", "0o", "0b"].iter().any(|p| lower.starts_with(p))
        || lower.bytes().all(|b| b.is_ascii_digit() || matches!(b, b'_' | b'.' | b':' | b'+' | b'-' | b'e'))
}

/// Whether a text is a date: `2026-11-20`, perhaps followed by `T17:40:02Z`.
fn day(words: &str) -> bool {
    let shaped = |text: &str, shape: &str| {
        text.len() == shape.len()
            && text.bytes().zip(shape.bytes()).all(|(b, s)| if s == b'0' { b.is_ascii_digit() } else { b == s })
    };
    match words.split_once('T') {
        None => shaped(words, "0000-00-00"),
        Some((day, time)) => {
            let (time, rest) = time.split_at_checked("00:00:00".len()).unwrap_or((time, ""));
            let harmless = |b: u8| b.is_ascii_digit() || matches!(b, b'.' | b':' | b'+' | b'-' | b'Z');
            shaped(day, "0000-00-00") && shaped(time, "00:00:00") && rest.bytes().all(harmless) && !rest.ends_with(':')
        }
    }
}

/// Whether YAML refuses a character or people cannot see it: controls, line separators, byte order marks, direction
/// overrides.
fn hidden(c: char) -> bool {
    c.is_control()
        || matches!(c, '\u{200b}' | '\u{200e}' | '\u{200f}' | '\u{2028}'..='\u{202e}' | '\u{2066}'..='\u{2069}')
        || matches!(c, '\u{feff}' | '\u{fffe}' | '\u{ffff}')
}
