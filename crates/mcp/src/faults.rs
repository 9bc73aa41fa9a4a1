//! Messages that are none: what a client is answered that sends broken JSON, a batch or an unknown revision. The SDK
//! drops such a message or refuses it in words outside the protocol.

use serde_json::{Value, json};

use crate::server::revisions;

/// Codes of JSON-RPC, and of the protocol for a revision the server does not know.
const PARSE_ERROR: i64 = -32700;
const INVALID_REQUEST: i64 = -32600;
const UNKNOWN_REVISION: i64 = -32022;

/// The first revision without batches.
const WITHOUT_BATCHES: &str = "2025-06-18";

/// Returns whether a revision has batches: several messages in one array. `None` is a client that names no revision
/// (over HTTP, one of 2025-03-26 or older).
pub fn has_batches(revision: Option<&str>) -> bool {
    revision.is_none_or(|revision| revision < WITHOUT_BATCHES)
}

/// Reads a message, or several. An error is the answer to the client, as JSON.
pub fn message(bytes: &[u8]) -> Result<Value, Value> {
    let value: Value = serde_json::from_slice(bytes).map_err(|e| {
        let next = "send one JSON-RPC message, as UTF-8";
        error(None, PARSE_ERROR, &format!("this is no JSON: {e}"), next)
    })?;
    match &value {
        Value::Object(_) => Ok(value),
        Value::Array(all) if !all.is_empty() => Ok(value),
        _ => Err(no_message(&value)),
    }
}

/// Returns the answer to JSON that is no message of the protocol.
pub fn no_message(value: &Value) -> Value {
    let what = match value {
        Value::Object(_) => "this is no message of the protocol",
        _ => "a message is a JSON object",
    };
    let next = r#"send {"jsonrpc": "2.0", "id": …, "method": …, "params": {…}}"#;
    error(id_of(value), INVALID_REQUEST, what, next)
}

/// Returns the answer to a batch of a client whose revision has none.
pub fn no_batch() -> Value {
    let what = format!("revisions of the protocol since {WITHOUT_BATCHES} have no batches");
    error(None, INVALID_REQUEST, &what, "send each message by itself")
}

/// Returns the answer to a message under a revision the server does not know; `None` if it knows it. An `initialize` is
/// answered with a revision the server knows, and a message that names its revision itself is judged by the SDK.
pub fn unknown_revision(named: &str, message: &Value) -> Option<Value> {
    let known = revisions();
    if known.contains(&named) || names_its_revision(message) || message["method"] == "initialize" {
        return None;
    }
    let shown: String = named.chars().take(40).collect();
    let next = format!("use one of {}; initialize agrees on one", known.join(", "));
    let mut answer = error(id_of(message), UNKNOWN_REVISION, &format!("revision {shown:?} is not known"), &next);
    answer["error"]["data"]["supported"] = json!(known);
    answer["error"]["data"]["requested"] = json!(shown);
    Some(answer)
}

/// Returns whether a message names its revision itself, as messages without a handshake do.
pub fn names_its_revision(message: &Value) -> bool {
    message.pointer("/params/_meta/io.modelcontextprotocol~1protocolVersion").is_some()
}

/// Returns the answer to a line of more than `most` bytes.
pub fn too_long(most: usize) -> Value {
    error(None, INVALID_REQUEST, &format!("a message has at most {} MiB", most >> 20), "ask for less at once")
}

/// Returns the id of a message; `None` if it has none that the protocol allows.
fn id_of(message: &Value) -> Option<&Value> {
    message.get("id").filter(|id| id.is_string() || id.is_i64() || id.is_u64())
}

fn error(id: Option<&Value>, code: i64, what: &str, next: &str) -> Value {
    json!({ "jsonrpc": "2.0", "id": id, "error": { "code": code, "message": format!("{what}; {next}"), "data": { "next": next } } })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_no_message_is_answered_with_its_code_and_id() {
        let cases: [(&[u8], i64); 8] = [
            (b"", PARSE_ERROR),
            (b"{", PARSE_ERROR),
            (b"\xff", PARSE_ERROR),
            (b"{} {}", PARSE_ERROR),
            (b"[]", INVALID_REQUEST),
            (b"null", INVALID_REQUEST),
            (b"7", INVALID_REQUEST),
            (b"\"initialize\"", INVALID_REQUEST),
        ];
        for (bytes, code) in cases {
            let answer = message(bytes).unwrap_err();
            let of = (answer["error"]["code"].as_i64(), answer["id"].is_null());
            assert_eq!(of, (Some(code), true), "{}", String::from_utf8_lossy(bytes));
            assert!(answer["error"]["data"]["next"].is_string());
        }
        for (id, kept) in [(json!(7), true), (json!("a"), true), (json!(1.5), false), (json!([1]), false)] {
            assert_eq!(no_message(&json!({ "id": id }))["id"] == id, kept, "{id}");
        }
    }

    #[test]
    fn a_revision_nobody_knows_is_answered_with_those_that_are_known() {
        let list = json!({ "id": 3, "method": "tools/list" });
        let answer = unknown_revision("1999-01-01", &list).unwrap();
        assert_eq!((answer["error"]["code"].as_i64(), &answer["id"]), (Some(UNKNOWN_REVISION), &json!(3)));
        assert!(answer["error"]["data"]["supported"].as_array().unwrap().contains(&json!("2025-06-18")));
        assert_eq!(unknown_revision("2025-06-18", &list), None);
        assert_eq!(unknown_revision("1999-01-01", &json!({ "id": 3, "method": "initialize" })), None);
        let own = json!({ "params": { "_meta": { "io.modelcontextprotocol/protocolVersion": "1999-01-01" } } });
        assert_eq!(unknown_revision("1999-01-01", &own), None);
        assert!(has_batches(None) && has_batches(Some("2025-03-26")) && !has_batches(Some("2025-06-18")));
    }
}
