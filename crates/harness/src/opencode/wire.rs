//! The JSON of OpenCode's `data` columns, as far as it is used.

use serde::Deserialize;
use serde_json::value::RawValue;

use crate::loose::{Words, loose};

/// `message.data`.
#[derive(Deserialize, Default)]
#[serde(default, rename_all = "camelCase")]
pub(super) struct Message {
    #[serde(deserialize_with = "loose")]
    pub role: String,
    #[serde(deserialize_with = "loose")]
    pub time: MessageTime,
    /// The user message an assistant message answers.
    #[serde(rename = "parentID", deserialize_with = "loose")]
    pub parent: Option<String>,
    #[serde(rename = "modelID", deserialize_with = "loose")]
    pub model: Option<String>,
    #[serde(deserialize_with = "loose")]
    pub mode: Option<String>,
    #[serde(deserialize_with = "loose")]
    pub path: MessagePath,
    #[serde(deserialize_with = "loose")]
    pub tokens: Option<Tokens>,
    #[serde(deserialize_with = "loose")]
    pub finish: Option<String>,
    #[serde(deserialize_with = "loose")]
    pub error: Option<MessageError>,
    /// `true` on a compaction summary; an object with diffs on user messages.
    #[serde(deserialize_with = "loose")]
    pub summary: Option<bool>,
}

#[derive(Deserialize, Default)]
#[serde(default)]
pub(super) struct MessageTime {
    #[serde(deserialize_with = "loose")]
    pub created: Option<f64>,
    #[serde(deserialize_with = "loose")]
    pub completed: Option<f64>,
}

#[derive(Deserialize, Default)]
#[serde(default)]
pub(super) struct MessagePath {
    #[serde(deserialize_with = "loose")]
    pub cwd: Option<String>,
}

#[derive(Deserialize, Default)]
#[serde(default)]
pub(super) struct Tokens {
    #[serde(deserialize_with = "loose")]
    pub input: Option<u64>,
    #[serde(deserialize_with = "loose")]
    pub output: Option<u64>,
    #[serde(deserialize_with = "loose")]
    pub cache: TokenCache,
}

#[derive(Deserialize, Default)]
#[serde(default)]
pub(super) struct TokenCache {
    #[serde(deserialize_with = "loose")]
    pub read: Option<u64>,
    #[serde(deserialize_with = "loose")]
    pub write: Option<u64>,
}

#[derive(Deserialize, Default)]
#[serde(default)]
pub(super) struct MessageError {
    #[serde(deserialize_with = "loose")]
    pub name: String,
    #[serde(deserialize_with = "loose")]
    pub data: ErrorData,
}

#[derive(Deserialize, Default)]
#[serde(default)]
pub(super) struct ErrorData {
    #[serde(deserialize_with = "loose")]
    pub message: Option<Words>,
}

/// `part.data`: one struct for all types, told apart by `type`.
#[derive(Deserialize, Default)]
#[serde(default)]
pub(super) struct Part {
    #[serde(rename = "type", deserialize_with = "loose")]
    pub kind: String,
    #[serde(deserialize_with = "loose")]
    pub text: Words,
    /// Inserted into a user message by the program or a plugin.
    #[serde(deserialize_with = "loose")]
    pub synthetic: bool,
    /// Shown to the user only, not to the model.
    #[serde(deserialize_with = "loose")]
    pub ignored: bool,
    #[serde(deserialize_with = "loose")]
    pub time: PartTime,
    #[serde(deserialize_with = "loose")]
    pub tool: Option<String>,
    #[serde(rename = "callID", deserialize_with = "loose")]
    pub call: Option<String>,
    #[serde(deserialize_with = "loose")]
    pub state: ToolState,
    /// In a compaction: whether the program started it.
    #[serde(deserialize_with = "loose")]
    pub auto: Option<bool>,
    /// In a file.
    #[serde(deserialize_with = "loose")]
    pub filename: Option<Words>,
    #[serde(deserialize_with = "loose")]
    pub mime: Option<String>,
    /// In a step: why it ended.
    #[serde(deserialize_with = "loose")]
    pub reason: Option<String>,
    /// In a subtask: its task.
    #[serde(deserialize_with = "loose")]
    pub prompt: Words,
}

#[derive(Deserialize, Default)]
#[serde(default)]
pub(super) struct PartTime {
    #[serde(deserialize_with = "loose")]
    pub start: Option<f64>,
    #[serde(deserialize_with = "loose")]
    pub end: Option<f64>,
}

#[derive(Deserialize, Default)]
#[serde(default)]
pub(super) struct ToolState {
    #[serde(deserialize_with = "loose")]
    pub status: String,
    #[serde(deserialize_with = "loose")]
    pub input: Option<Box<RawValue>>,
    #[serde(deserialize_with = "loose")]
    pub output: Words,
    #[serde(deserialize_with = "loose")]
    pub error: Words,
    #[serde(deserialize_with = "loose")]
    pub metadata: ToolMetadata,
    #[serde(deserialize_with = "loose")]
    pub time: PartTime,
    #[serde(deserialize_with = "loose")]
    pub attachments: Vec<Attachment>,
}

/// A file in a tool's answer. Not a [`Part`], though it is written as one: a recursive type could nest deeper than the
/// stack.
#[derive(Deserialize, Default)]
#[serde(default)]
pub(super) struct Attachment {
    #[serde(deserialize_with = "loose")]
    pub filename: Option<Words>,
    #[serde(deserialize_with = "loose")]
    pub mime: Option<String>,
}

#[derive(Deserialize, Default)]
#[serde(default, rename_all = "camelCase")]
pub(super) struct ToolMetadata {
    /// In a `task` call: the child session it started.
    #[serde(deserialize_with = "loose")]
    pub session_id: Option<String>,
}
