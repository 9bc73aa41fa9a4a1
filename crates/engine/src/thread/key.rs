//! Derives a thread's key and its readable label from the known facts of a conversation.
//!
//! A key is injective in its source, never longer than [`ThreadKey::LONGEST`], and contains no credential: if the plain
//! words do not meet this, it ends in a digest of them.

use crate::redact::redact;
use crate::scope::{SessionKey, THREAD_KINDS, ThreadKey, file_key, slug};
use crate::title::TitleKey;

/// Largest length of a label in characters, so that it fits into a line beside other things.
pub(super) const LONGEST_LABEL: usize = 60;

/// Number of bytes of a text that are read for a label; no credential that begins within the label is longer.
const LOOKED_AT: usize = 16 * 1024;

/// Returns a key with `rest` as it is, or with a slug and a digest if `rest` is too long, does not parse, or shows a
/// credential.
pub(super) fn bounded(kind: &'static str, rest: &str) -> ThreadKey {
    let plain = ThreadKey::new(kind, rest);
    let clean = redact(rest);
    if clean == rest && ThreadKey::parse(plain.as_str()).is_ok() {
        return plain;
    }
    ThreadKey::new(kind, &file_key(&clean, rest.as_bytes()))
}

/// Returns a key written by a person, bounded like any other.
pub(super) fn written(key: &ThreadKey) -> ThreadKey {
    let kind = THREAD_KINDS.into_iter().find(|kind| *kind == key.kind());
    kind.map_or_else(|| key.clone(), |kind| bounded(kind, key.rest()))
}

/// Returns the topic that a caller's words name. Case, white space and punctuation make no difference.
pub(super) fn topic(words: &str) -> Option<ThreadKey> {
    let normal = TitleKey::of(words).ok()?;
    let clean = redact(words);
    let rest = match clean == words {
        true => spelt(normal.as_str(), |c| is_mark(c) || c == ' '),
        false => file_key(&clean, normal.as_str().as_bytes()),
    };
    Some(ThreadKey::new("topic", &rest))
}

/// Returns the key of a lane in which several people talk.
pub(super) fn lane(native: &str) -> ThreadKey {
    ThreadKey::new("lane", &spelt(native, |c| c == '-'))
}

/// Returns the key of a person on a channel. The channel is the text before the first colon of the session's id,
/// otherwise the program's name. The person is the address after that colon, which is unique, otherwise their name.
pub(super) fn person(session: &SessionKey, name: &str) -> ThreadKey {
    let (channel, address) = match session.native().split_once(':') {
        Some((channel, rest)) if !channel.is_empty() && channel.bytes().all(|b| b.is_ascii_alphabetic()) => {
            (channel.to_ascii_lowercase(), Some(rest).filter(|rest| is_address(rest)))
        }
        _ => (session.harness().to_owned(), None),
    };
    let peer = match address {
        Some(address) => address.to_ascii_lowercase(),
        None => TitleKey::of(name).map_or_else(|_| name.to_owned(), |key| key.as_str().to_owned()),
    };
    bounded("person", &format!("{channel}:{peer}"))
}

/// Returns the key of a conversation that belongs to nothing else.
pub(super) fn session(session: &SessionKey) -> ThreadKey {
    bounded("session", session.as_str())
}

/// Returns only the slug if it represents the text exactly, apart from letter case and the characters `separates`
/// accepts; otherwise slug and digest.
fn spelt(text: &str, separates: impl Fn(char) -> bool) -> String {
    let is_plain = text.chars().all(|c| c.is_ascii_lowercase() || c.is_ascii_digit() || separates(c));
    let clean = redact(text);
    let short = slug(&clean);
    // A text of 60 bytes or more may have been cut in its slug.
    let whole = clean == text && text.len() < 60 && text.bytes().any(|b| b.is_ascii_alphanumeric());
    // If only the dash separates words, the slug must equal the text.
    if is_plain && whole && (short == text || separates(' ')) { short } else { file_key(&clean, text.as_bytes()) }
}

/// Whether a character is punctuation that makes no difference, unlike the signs of `C++` and `C#`.
fn is_mark(c: char) -> bool {
    matches!(c, '-' | '_' | '.' | ',' | ':' | ';' | '!' | '?' | '\'' | '"' | '(' | ')' | '[' | ']' | '/')
}

/// Whether a text is a telephone number, an account number or a mail address, and not the id of a message.
fn is_address(text: &str) -> bool {
    let digits = text.strip_prefix('+').unwrap_or(text);
    let number = digits.len() >= 5 && digits.bytes().all(|b| b.is_ascii_digit());
    let mail = text.split_once('@').is_some_and(|(who, host)| {
        let sound = |part: &str| {
            !part.is_empty()
                && part.bytes().all(|b| b.is_ascii_alphanumeric() || matches!(b, b'.' | b'-' | b'_' | b'+'))
        };
        sound(who) && sound(host) && host.contains('.')
    });
    number || mail
}

/// Returns a text as a label: one line, at most [`LONGEST_LABEL`] characters, credentials redacted. Empty if nothing is
/// left.
pub(super) fn label(text: &str) -> String {
    line(text, LONGEST_LABEL)
}

/// Returns a text as one line of at most `most` characters, credentials redacted.
pub(super) fn line(text: &str, most: usize) -> String {
    let mut end = text.len().min(LOOKED_AT);
    while !text.is_char_boundary(end) {
        end -= 1;
    }
    // Redact before cutting: half a credential would not be recognised.
    let clean = redact(&text[..end]);
    let words = clean.split(|c: char| c.is_whitespace() || c.is_control()).filter(|w| !w.is_empty());
    let mut out = String::new();
    for word in words {
        if !out.is_empty() {
            out.push(' ');
        }
        out.push_str(word);
        if out.len() > most * 4 {
            break;
        }
    }
    if out.chars().count() > most {
        out = out.chars().take(most - 1).collect::<String>().trim_end().to_owned();
        out.push('…');
    }
    out
}

#[cfg(test)]
mod tests {
    use std::collections::HashMap;

    use heirloom_testkit::Rng;

    use super::*;

    #[test]
    fn keys_and_files_are_injective_over_nasty_words() {
        let letters = [
            "a",
            "A",
            "b",
            "-",
            "--",
            " ",
            "  ",
            "_",
            ".",
            "/",
            "é",
            "e\u{301}",
            "日",
            "🙂",
            "+",
            "#",
            ":",
            "\n",
            "\u{200b}",
            "\u{202e}",
            "0123456789abcdef",
            "item",
            &"x".repeat(59),
            &"y".repeat(300),
        ]
        .map(String::from);
        let mut rng = Rng::new(23);
        let (mut topics, mut lanes, mut files) = (HashMap::new(), HashMap::new(), HashMap::new());
        for _ in 0..10_000 {
            let text: String = (0..=rng.below(8)).map(|_| rng.pick(&letters).as_str()).collect();
            let mut keys = vec![
                (lane(&text), None),
                (bounded("project", &text), Some(format!("project {text}"))),
                (session(&SessionKey::new("turns", &text)), Some(format!("session {text}"))),
            ];
            assert_eq!(lanes.entry(lane(&text)).or_insert_with(|| text.clone()), &text);
            if let Some(key) = topic(&text) {
                // Normalisation removes only what makes no difference.
                let normal = TitleKey::of(&text).unwrap().as_str().to_owned();
                let words: Vec<&str> = normal.split(|c| is_mark(c) || c == ' ').filter(|w| !w.is_empty()).collect();
                let same = if words.is_empty() { normal.clone() } else { words.join(" ") };
                assert_eq!(topics.entry(key.clone()).or_insert_with(|| same.clone()), &same, "{text:?}");
                keys.push((key, None));
            }
            for (key, from) in keys {
                assert_eq!(ThreadKey::parse(key.as_str()).unwrap(), key, "{text:?}");
                let stem = key.file_stem();
                assert!(stem.len() <= 80 && stem.bytes().all(|b| b.is_ascii_alphanumeric() || b == b'-'), "{stem}");
                let from = from.unwrap_or_else(|| key.to_string());
                assert_eq!(files.entry(stem).or_insert_with(|| from.clone()), &from, "{text:?}");
            }
        }
        assert!(topics.len() > 4000 && files.len() > 20_000, "{} {}", topics.len(), files.len());
    }

    #[test]
    fn addresses_are_what_no_two_people_share() {
        for yes in ["+4917012345", "4711001", "ada@example.org", "a.b+c@mail.example"] {
            assert!(is_address(yes), "{yes}");
        }
        for no in ["", "+", "4711", "marta", "<a@b.c>", "a@b", "a@b@c.d", "+49 170 12345", "日@b.c"] {
            assert!(!is_address(no), "{no}");
        }
    }

    #[test]
    fn labels_are_one_short_line() {
        assert_eq!(label(" a\u{1b}[31m \n b\t"), "a [31m b");
        assert_eq!(label(&"ab ".repeat(40)).chars().count(), 60);
        assert_eq!(label("日".repeat(40_000).as_str()).chars().count(), 60);
        assert_eq!(label(" \n "), "");
    }
}
