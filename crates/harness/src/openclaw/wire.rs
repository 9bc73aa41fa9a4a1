//! The JSON of OpenClaw's events, as far as its fields are used. Database rows and JSON lines have the same form.

use serde_json::value::RawValue;

use crate::loose::{Words, loosely};

loosely! {
    /// One event: one struct for all types, told apart by `type`.
    #[serde(rename_all = "camelCase")]
    pub(super) struct Event {
        #[serde(rename = "type")]
        pub kind: String,
        pub id: Option<String>,
        pub parent_id: Option<String>,
        pub timestamp: Option<String>,
        /// Only in the header.
        pub version: Option<u64>,
        pub cwd: Option<String>,
        pub message: Option<Message>,
        /// Only in a compaction, or in a branch that was left.
        pub summary: Words,
        /// Only in a reset.
        pub reason: Option<String>,
        /// Only in a context entry written by an extension.
        pub content: Option<Box<RawValue>>,
        /// In `session_info`: the session's title, given by the user.
        pub name: Option<Words>,
    }

    #[serde(rename_all = "camelCase")]
    pub(super) struct Message {
        pub role: String,
        /// A string, or blocks.
        pub content: Option<Box<RawValue>>,
        /// `<run>:user` on user messages.
        pub idempotency_key: Option<String>,
        pub provenance: Provenance,
        pub tool_call_id: Option<String>,
        pub tool_name: Option<String>,
        pub is_error: bool,
        pub provider: Option<String>,
        pub model: Option<String>,
        pub usage: Option<Tokens>,
        pub stop_reason: Option<String>,
        pub error_message: Option<Words>,
    }

    pub(super) struct Provenance {
        /// `external_user`, `inter_session`, `internal_system`.
        pub kind: String,
    }

    #[serde(rename_all = "camelCase")]
    pub(super) struct Tokens {
        pub input: Option<u64>,
        pub output: Option<u64>,
        pub cache_read: Option<u64>,
        pub cache_write: Option<u64>,
    }

    /// One block of a message's content, told apart by `type`.
    pub(super) struct Block {
        #[serde(rename = "type")]
        pub kind: String,
        pub text: Words,
        pub thinking: Words,
        pub id: Option<String>,
        pub name: Option<String>,
        pub arguments: Option<Box<RawValue>>,
    }
}
