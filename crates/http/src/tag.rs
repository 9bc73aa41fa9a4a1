//! ETags: what a client has already is not sent again, and an edit says what it rests on.

use axum::http::HeaderMap;
use axum::http::header::{IF_MATCH, IF_NONE_MATCH};

/// What the tag of an answer is made of.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Tag {
    /// The answer has none: it is made anew each time.
    None,
    /// The newest number of the audit: whatever is in a list changed by then, if it changed.
    Audit,
    /// The bytes of the body.
    Content,
}

/// The tag of a state of the audit.
pub fn of_audit(newest: u64) -> String {
    format!("\"{newest}\"")
}

/// The tag of a body.
pub fn of_content(body: &[u8]) -> String {
    format!("\"{}\"", &blake3::hash(body).to_hex()[..16])
}

/// Whether the client has what the tag stands for.
pub fn is_known(headers: &HeaderMap, tag: &str) -> bool {
    headers.get_all(IF_NONE_MATCH).iter().filter_map(|value| value.to_str().ok()).any(|list| is_in(list, tag))
}

/// What an edit rests on: the header's words, where there is one.
pub fn rests_on(headers: &HeaderMap) -> Option<String> {
    let list: Vec<&str> = headers.get_all(IF_MATCH).iter().filter_map(|value| value.to_str().ok()).collect();
    (!list.is_empty()).then(|| list.join(","))
}

/// Whether a list of tags has this one. `*` is every one.
pub fn is_in(list: &str, tag: &str) -> bool {
    list.split(',').map(str::trim).any(|known| known == "*" || known.strip_prefix("W/").unwrap_or(known) == tag)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tags_are_read_as_lists() {
        assert!(is_in("\"1\", \"2\"", "\"2\"") && is_in("W/\"2\"", "\"2\"") && is_in(" * ", "\"2\""));
        assert!(!is_in("\"21\"", "\"2\"") && !is_in("", "\"2\"") && !is_in("2", "\"2\""));
    }
}
