//! The lines of a Claude Code transcript, as far as their fields are used. Observed with versions 2.1.38, 2.1.39 and
//! 2.1.330.
//!
//! [`Record`] is read from every line. It is cheap for the lines with most of the bytes (stored model requests,
//! progress): unnamed fields are skipped, and the conversation stays raw until it is known to be needed.

use serde::Deserialize;
use serde_json::value::RawValue;

use crate::lines::{Flag, Loose, Str, Whole};

/// One line: the envelope of all record types.
#[derive(Deserialize, Default)]
#[serde(default, rename_all = "camelCase", bound(deserialize = "'de: 'a"))]
pub(super) struct Record<'a> {
    #[serde(rename = "type")]
    pub kind: Str<'a>,
    pub subtype: Str<'a>,
    pub uuid: Str<'a>,
    pub parent_uuid: Str<'a>,
    /// Set where the context was compacted; `parentUuid` is null there.
    pub logical_parent_uuid: Str<'a>,
    pub session_id: Str<'a>,
    pub prompt_id: Str<'a>,
    pub timestamp: Str<'a>,
    pub cwd: Str<'a>,
    pub version: Str<'a>,
    pub is_meta: Flag,
    pub is_sidechain: Flag,
    pub is_compact_summary: Flag,
    pub is_api_error_message: Flag,
    /// Short name of the failure, beside `isApiErrorMessage`.
    pub error: Str<'a>,
    /// `system` if the program, and not a person or a client, submitted the prompt.
    pub prompt_source: Str<'a>,
    /// A [`Message`], in user and assistant records.
    pub message: Option<&'a RawValue>,
    pub attachment: Loose<Attachment<'a>>,
    pub tool_use_result: Loose<ToolUseResult<'a>>,
    pub data: Loose<Progress<'a>>,
    #[serde(rename = "parentToolUseID")]
    pub parent_tool_use_id: Str<'a>,
    /// The kind of a `queue-operation`: `enqueue`, `dequeue`, `remove`, `popAll`.
    pub operation: Str<'a>,
    /// Reason why a queued prompt was removed, in versions that have it (2.1.330).
    pub reason: Str<'a>,
    /// Id of the queued prompt that a `remove` is about; equals its [`Attachment::source_uuid`].
    pub command_uuid: Str<'a>,
    /// The queued prompt: a string, a list of [`Block`]s, or absent.
    pub content: Option<&'a RawValue>,
    pub compact_metadata: Loose<CompactMetadata<'a>>,
    pub forked_from: Loose<ForkedFrom<'a>>,
    pub shape_hash: Str<'a>,
    pub summary: Str<'a>,
    pub custom_title: Str<'a>,
    pub ai_title: Str<'a>,
}

/// Report of a tool beside its result; only a started sub-agent is used.
#[derive(Deserialize, Default)]
#[serde(default, rename_all = "camelCase", bound(deserialize = "'de: 'a"))]
pub(super) struct ToolUseResult<'a> {
    pub agent_id: Str<'a>,
}

/// Body of a progress record.
#[derive(Deserialize, Default)]
#[serde(default, rename_all = "camelCase", bound(deserialize = "'de: 'a"))]
pub(super) struct Progress<'a> {
    pub agent_id: Str<'a>,
}

/// Details of a compaction in a `compact_boundary`.
#[derive(Deserialize, Default)]
#[serde(default, bound(deserialize = "'de: 'a"))]
pub(super) struct CompactMetadata<'a> {
    pub trigger: Str<'a>,
}

/// The original of a copied record, in versions that record it.
#[derive(Deserialize, Default)]
#[serde(default, rename_all = "camelCase", bound(deserialize = "'de: 'a"))]
pub(super) struct ForkedFrom<'a> {
    pub session_id: Str<'a>,
}

/// A message in the form of the model's API.
#[derive(Deserialize, Default)]
#[serde(default, bound(deserialize = "'de: 'a"))]
pub(super) struct Message<'a> {
    pub id: Str<'a>,
    pub model: Str<'a>,
    pub stop_reason: Str<'a>,
    pub usage: Option<Loose<Usage>>,
    /// A string or a list of [`Block`]s.
    pub content: Option<&'a RawValue>,
}

/// Token counts of one message.
#[derive(Deserialize, Default)]
#[serde(default)]
pub(super) struct Usage {
    pub input_tokens: Whole,
    pub output_tokens: Whole,
    pub cache_read_input_tokens: Whole,
    pub cache_creation_input_tokens: Whole,
}

/// One content block: the fields of all kinds together, since kinds are many and change.
#[derive(Deserialize, Default)]
#[serde(default, bound(deserialize = "'de: 'a"))]
pub(super) struct Block<'a> {
    #[serde(rename = "type")]
    pub kind: Str<'a>,
    pub text: Str<'a>,
    pub thinking: Str<'a>,
    pub id: Str<'a>,
    pub name: Str<'a>,
    pub input: Option<&'a RawValue>,
    pub tool_use_id: Str<'a>,
    pub content: Option<&'a RawValue>,
    pub is_error: Flag,
}

/// Something attached for the model; only a queued prompt is used.
#[derive(Deserialize, Default)]
#[serde(default, rename_all = "camelCase", bound(deserialize = "'de: 'a"))]
pub(super) struct Attachment<'a> {
    #[serde(rename = "type")]
    pub kind: Str<'a>,
    /// A string or a list of [`Block`]s.
    pub prompt: Option<&'a RawValue>,
    pub command_mode: Str<'a>,
    /// Id of the queued prompt that this attachment hands over, in versions that record it (2.1.330).
    #[serde(rename = "source_uuid")]
    pub source_uuid: Str<'a>,
}
