//! ETags: an answer the client already has is not sent again, and an edit names the state it is based on.

use axum::http::HeaderMap;
use axum::http::header::{IF_MATCH, IF_NONE_MATCH};

/// Source of an answer's ETag.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Tag {
    /// No ETag: the answer is new each time.
    None,
    /// Newest row number of the audit: every change of a list adds a row, so an equal number means an unchanged list.
    Audit,
    /// Digest of the body.
    Content,
}

/// Returns the tag for a state of the audit.
pub fn of_audit(newest: u64) -> String {
    format!("\"{newest}\"")
}

/// Returns the tag of a body.
pub fn of_content(body: &[u8]) -> String {
    format!("\"{}\"", &blake3::hash(body).to_hex()[..16])
}

/// Returns whether the client already has the answer with this tag (`If-None-Match`).
pub fn is_known(headers: &HeaderMap, tag: &str) -> bool {
    headers.get_all(IF_NONE_MATCH).iter().filter_map(|value| value.to_str().ok()).any(|list| is_in(list, tag))
}

/// Returns the value of `If-Match`, which names the state an edit is based on.
pub fn rests_on(headers: &HeaderMap) -> Option<String> {
    let list: Vec<&str> = headers.get_all(IF_MATCH).iter().filter_map(|value| value.to_str().ok()).collect();
    (!list.is_empty()).then(|| list.join(","))
}

/// Returns whether a list of tags contains this one. `*` matches every tag.
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
