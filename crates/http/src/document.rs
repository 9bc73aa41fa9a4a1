//! OpenAPI 3.1 of the routes.

/// The document.
pub fn openapi() -> serde_json::Value {
    serde_json::json!({})
}

/// The document as text.
pub fn text() -> String {
    openapi().to_string()
}
