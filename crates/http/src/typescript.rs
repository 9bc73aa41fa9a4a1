//! TypeScript types of the document.

/// The types of a document.
pub fn types(_: &serde_json::Value) -> String {
    String::new()
}
