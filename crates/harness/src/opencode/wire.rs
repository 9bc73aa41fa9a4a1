//! The JSON of OpenCode's `data` columns, as far as its fields are used.

use serde_json::value::RawValue;

use crate::loose::{Words, loosely};

loosely! {
    /// `message.data`.
    #[serde(rename_all = "camelCase")]
    pub(super) struct Message {
        pub role: String,
        pub time: MessageTime,
        /// The user message that an assistant message answers.
        #[serde(rename = "parentID")]
        pub parent: Option<String>,
        #[serde(rename = "modelID")]
        pub model: Option<String>,
        pub mode: Option<String>,
        pub path: MessagePath,
        pub tokens: Option<Tokens>,
        pub finish: Option<String>,
        pub error: Option<MessageError>,
        /// `true` on a compaction summary; an object with diffs on user messages.
        pub summary: Option<bool>,
    }

    pub(super) struct MessageTime {
        pub created: Option<f64>,
        pub completed: Option<f64>,
    }

    pub(super) struct MessagePath {
        pub cwd: Option<String>,
    }

    pub(super) struct Tokens {
        pub input: Option<u64>,
        pub output: Option<u64>,
        pub cache: TokenCache,
    }

    pub(super) struct TokenCache {
        pub read: Option<u64>,
        pub write: Option<u64>,
    }

    pub(super) struct MessageError {
        pub name: String,
        pub data: ErrorData,
    }

    pub(super) struct ErrorData {
        pub message: Option<Words>,
    }

    /// `part.data`: one struct for all types, told apart by `type`.
    pub(super) struct Part {
        #[serde(rename = "type")]
        pub kind: String,
        pub text: Words,
        /// Whether the program or a plugin inserted the text into a user message.
        pub synthetic: bool,
        /// Whether the part is shown to the user only, not to the model.
        pub ignored: bool,
        pub time: PartTime,
        pub tool: Option<String>,
        #[serde(rename = "callID")]
        pub call: Option<String>,
        pub state: ToolState,
        /// In a compaction: whether the program started it.
        pub auto: Option<bool>,
        /// Only in a file.
        pub filename: Option<Words>,
        pub mime: Option<String>,
        /// Only in a step: why it ended.
        pub reason: Option<String>,
        /// Only in a subtask: its task.
        pub prompt: Words,
    }

    pub(super) struct PartTime {
        pub start: Option<f64>,
        pub end: Option<f64>,
    }

    pub(super) struct ToolState {
        pub status: String,
        pub input: Option<Box<RawValue>>,
        pub output: Words,
        pub error: Words,
        pub metadata: ToolMetadata,
        pub time: PartTime,
        pub attachments: Vec<Attachment>,
    }

    /// A file in a tool's answer. It is not read as a [`Part`], though it is written as one: a recursive type could
    /// nest deeper than the stack.
    pub(super) struct Attachment {
        pub filename: Option<Words>,
        pub mime: Option<String>,
    }

    #[serde(rename_all = "camelCase")]
    pub(super) struct ToolMetadata {
        /// Only in a `task` call: the child session it started.
        pub session_id: Option<String>,
    }
}
