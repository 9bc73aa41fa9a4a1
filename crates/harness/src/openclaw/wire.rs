//! The JSON of OpenClaw's events, as far as it is used. Database rows and JSON lines contain the same.

use serde::Deserialize;
use serde_json::value::RawValue;

use crate::loose::{Words, loose};

/// One event: one struct for all types, told apart by `type`.
#[derive(Deserialize, Default)]
#[serde(default, rename_all = "camelCase")]
pub(super) struct Event {
    #[serde(rename = "type", deserialize_with = "loose")]
    pub kind: String,
    #[serde(deserialize_with = "loose")]
    pub id: Option<String>,
    #[serde(deserialize_with = "loose")]
    pub parent_id: Option<String>,
    #[serde(deserialize_with = "loose")]
    pub timestamp: Option<String>,
    /// In the header.
    #[serde(deserialize_with = "loose")]
    pub version: Option<u64>,
    #[serde(deserialize_with = "loose")]
    pub cwd: Option<String>,
    #[serde(deserialize_with = "loose")]
    pub message: Option<Message>,
    /// In a compaction, or in a branch that was left.
    #[serde(deserialize_with = "loose")]
    pub summary: Words,
    /// In a reset.
    #[serde(deserialize_with = "loose")]
    pub reason: Option<String>,
    /// In a context entry written by an extension.
    #[serde(deserialize_with = "loose")]
    pub content: Option<Box<RawValue>>,
    /// In `session_info`: the session's title, given by the user.
    #[serde(deserialize_with = "loose")]
    pub name: Option<Words>,
}

#[derive(Deserialize, Default)]
#[serde(default, rename_all = "camelCase")]
pub(super) struct Message {
    #[serde(deserialize_with = "loose")]
    pub role: String,
    /// A string, or blocks.
    #[serde(deserialize_with = "loose")]
    pub content: Option<Box<RawValue>>,
    /// `<run>:user` on user messages.
    #[serde(deserialize_with = "loose")]
    pub idempotency_key: Option<String>,
    #[serde(deserialize_with = "loose")]
    pub provenance: Provenance,
    #[serde(deserialize_with = "loose")]
    pub tool_call_id: Option<String>,
    #[serde(deserialize_with = "loose")]
    pub tool_name: Option<String>,
    #[serde(deserialize_with = "loose")]
    pub is_error: bool,
    #[serde(deserialize_with = "loose")]
    pub provider: Option<String>,
    #[serde(deserialize_with = "loose")]
    pub model: Option<String>,
    #[serde(deserialize_with = "loose")]
    pub usage: Option<Tokens>,
    #[serde(deserialize_with = "loose")]
    pub stop_reason: Option<String>,
    #[serde(deserialize_with = "loose")]
    pub error_message: Option<Words>,
}

#[derive(Deserialize, Default)]
#[serde(default)]
pub(super) struct Provenance {
    /// `external_user`, `inter_session`, `internal_system`.
    #[serde(deserialize_with = "loose")]
    pub kind: String,
}

#[derive(Deserialize, Default)]
#[serde(default, rename_all = "camelCase")]
pub(super) struct Tokens {
    #[serde(deserialize_with = "loose")]
    pub input: Option<u64>,
    #[serde(deserialize_with = "loose")]
    pub output: Option<u64>,
    #[serde(deserialize_with = "loose")]
    pub cache_read: Option<u64>,
    #[serde(deserialize_with = "loose")]
    pub cache_write: Option<u64>,
}

/// One block of a message's content, told apart by `type`.
#[derive(Deserialize, Default)]
#[serde(default)]
pub(super) struct Block {
    #[serde(rename = "type", deserialize_with = "loose")]
    pub kind: String,
    #[serde(deserialize_with = "loose")]
    pub text: Words,
    #[serde(deserialize_with = "loose")]
    pub thinking: Words,
    #[serde(deserialize_with = "loose")]
    pub id: Option<String>,
    #[serde(deserialize_with = "loose")]
    pub name: Option<String>,
    #[serde(deserialize_with = "loose")]
    pub arguments: Option<Box<RawValue>>,
}
