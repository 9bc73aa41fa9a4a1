//! The fence around what a program is given: no text can close it or open one of its host's, redacted before or after.
#![no_main]

use heirloom_engine::inject::{FENCE, contained};
use heirloom_engine::redact::redact;

/// Names a host gives a meaning to.
const NAMES: [&str; 6] = [FENCE, "system", "user-prompt", "command-", "task-notification", "local-command"];

/// What a reader does not see: the characters Unicode says may be ignored where they cannot be shown, and control
/// characters.
fn unseen(c: char) -> bool {
    let ignorable = [
        0xad..=0xad, 0x34f..=0x34f, 0x61c..=0x61c, 0x115f..=0x1160, 0x17b4..=0x17b5, 0x180b..=0x180f, 0x200b..=0x200f,
        0x202a..=0x202e, 0x2060..=0x206f, 0x3164..=0x3164, 0xfe00..=0xfe0f, 0xfeff..=0xfeff, 0xffa0..=0xffa0,
        0xfff0..=0xfff8, 0x1bca0..=0x1bca3, 0x1d173..=0x1d17a, 0xe0000..=0xe0fff,
    ];
    (c.is_control() && !c.is_whitespace()) || ignorable.iter().any(|range| range.contains(&(c as u32)))
}

/// Whether a reader could take something in the text for a tag of one of those names.
fn has_tag(text: &str) -> bool {
    let seen: String = text.chars().filter(|c| !unseen(*c)).collect::<String>().to_ascii_lowercase();
    seen.match_indices('<').any(|(at, _)| {
        let behind = seen[at..].trim_start_matches(|c: char| matches!(c, '<' | '/') || c.is_whitespace());
        NAMES.iter().any(|name| behind.starts_with(name))
    })
}

libfuzzer_sys::fuzz_target!(|data: &[u8]| {
    let text = String::from_utf8_lossy(data);
    let fenced = contained(&redact(&text));
    assert!(!has_tag(&fenced), "{fenced:?}");
    assert!(!has_tag(&contained(&text)), "{text:?}");
    assert_eq!(contained(&fenced), fenced, "fencing twice is fencing once");
});
