//! The lines of a Claude Code transcript, as far as they are used. Observed with versions 2.1.38, 2.1.39 and 2.1.330.
//!
//! [`Record`] is read from every line. It is cheap for the lines with most of the bytes (stored model requests,
//! progress): unnamed fields are skipped, and the conversation stays raw until it is known to be needed.

use serde::Deserialize;
use serde_json::value::RawValue;

use crate::lines::{Flag, Loose, Str, Whole};

/// One line: the envelope of all record types.
#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct Record<'a> {
    #[serde(default, borrow, rename = "type")]
    pub kind: Str<'a>,
    #[serde(default, borrow)]
    pub subtype: Str<'a>,
    #[serde(default, borrow)]
    pub uuid: Str<'a>,
    #[serde(default, borrow)]
    pub parent_uuid: Str<'a>,
    /// Set where the context was compacted; `parentUuid` is null there.
    #[serde(default, borrow)]
    pub logical_parent_uuid: Str<'a>,
    #[serde(default, borrow)]
    pub session_id: Str<'a>,
    #[serde(default, borrow)]
    pub prompt_id: Str<'a>,
    #[serde(default, borrow)]
    pub timestamp: Str<'a>,
    #[serde(default, borrow)]
    pub cwd: Str<'a>,
    #[serde(default, borrow)]
    pub version: Str<'a>,
    #[serde(default)]
    pub is_meta: Flag,
    #[serde(default)]
    pub is_sidechain: Flag,
    #[serde(default)]
    pub is_compact_summary: Flag,
    #[serde(default)]
    pub is_api_error_message: Flag,
    /// Short name of the failure, beside `isApiErrorMessage`.
    #[serde(default, borrow)]
    pub error: Str<'a>,
    /// `system` if the program submitted the prompt, not a person or a client.
    #[serde(default, borrow)]
    pub prompt_source: Str<'a>,
    /// A [`Message`], in user and assistant records.
    #[serde(borrow)]
    pub message: Option<&'a RawValue>,
    #[serde(default, borrow)]
    pub attachment: Loose<Attachment<'a>>,
    #[serde(default, borrow)]
    pub tool_use_result: Loose<ToolUseResult<'a>>,
    #[serde(default, borrow)]
    pub data: Loose<Progress<'a>>,
    #[serde(default, borrow, rename = "parentToolUseID")]
    pub parent_tool_use_id: Str<'a>,
    /// The kind of a `queue-operation`: `enqueue`, `dequeue`, `remove`, `popAll`.
    #[serde(default, borrow)]
    pub operation: Str<'a>,
    /// Why a queued prompt was removed, in versions that say so (2.1.330).
    #[serde(default, borrow)]
    pub reason: Str<'a>,
    /// The queued prompt that a `remove` is about; equals its [`Attachment::source_uuid`].
    #[serde(default, borrow)]
    pub command_uuid: Str<'a>,
    /// The queued prompt: a string, a list of [`Block`]s, or absent.
    #[serde(borrow)]
    pub content: Option<&'a RawValue>,
    #[serde(default, borrow)]
    pub compact_metadata: Loose<CompactMetadata<'a>>,
    #[serde(default, borrow)]
    pub forked_from: Loose<ForkedFrom<'a>>,
    #[serde(default, borrow)]
    pub shape_hash: Str<'a>,
    #[serde(default, borrow)]
    pub summary: Str<'a>,
    #[serde(default, borrow)]
    pub custom_title: Str<'a>,
    #[serde(default, borrow)]
    pub ai_title: Str<'a>,
}

/// What a tool reported beside its result; only a started sub-agent is used.
#[derive(Deserialize, Default)]
#[serde(rename_all = "camelCase")]
pub(super) struct ToolUseResult<'a> {
    #[serde(default, borrow)]
    pub agent_id: Str<'a>,
}

/// Body of a progress record.
#[derive(Deserialize, Default)]
#[serde(rename_all = "camelCase")]
pub(super) struct Progress<'a> {
    #[serde(default, borrow)]
    pub agent_id: Str<'a>,
}

/// Details of a compaction in a `compact_boundary`.
#[derive(Deserialize, Default)]
pub(super) struct CompactMetadata<'a> {
    #[serde(default, borrow)]
    pub trigger: Str<'a>,
}

/// The original of a copied record, in versions that record it.
#[derive(Deserialize, Default)]
#[serde(rename_all = "camelCase")]
pub(super) struct ForkedFrom<'a> {
    #[serde(default, borrow)]
    pub session_id: Str<'a>,
}

/// A message in the form of the model's API.
#[derive(Deserialize)]
pub(super) struct Message<'a> {
    #[serde(default, borrow)]
    pub id: Str<'a>,
    #[serde(default, borrow)]
    pub model: Str<'a>,
    #[serde(default, borrow)]
    pub stop_reason: Str<'a>,
    pub usage: Option<Loose<Usage>>,
    /// A string or a list of [`Block`]s.
    #[serde(borrow)]
    pub content: Option<&'a RawValue>,
}

/// Token counts of one message.
#[derive(Deserialize, Default)]
pub(super) struct Usage {
    #[serde(default)]
    pub input_tokens: Whole,
    #[serde(default)]
    pub output_tokens: Whole,
    #[serde(default)]
    pub cache_read_input_tokens: Whole,
    #[serde(default)]
    pub cache_creation_input_tokens: Whole,
}

/// One content block: the fields of all kinds together, since kinds are many and change.
#[derive(Deserialize, Default)]
pub(super) struct Block<'a> {
    #[serde(default, borrow, rename = "type")]
    pub kind: Str<'a>,
    #[serde(default, borrow)]
    pub text: Str<'a>,
    #[serde(default, borrow)]
    pub thinking: Str<'a>,
    #[serde(default, borrow)]
    pub id: Str<'a>,
    #[serde(default, borrow)]
    pub name: Str<'a>,
    #[serde(borrow)]
    pub input: Option<&'a RawValue>,
    #[serde(default, borrow)]
    pub tool_use_id: Str<'a>,
    #[serde(borrow)]
    pub content: Option<&'a RawValue>,
    #[serde(default)]
    pub is_error: Flag,
}

/// Something attached for the model; only a queued prompt is used.
#[derive(Deserialize, Default)]
#[serde(rename_all = "camelCase")]
pub(super) struct Attachment<'a> {
    #[serde(default, borrow, rename = "type")]
    pub kind: Str<'a>,
    /// A string or a list of [`Block`]s.
    #[serde(borrow)]
    pub prompt: Option<&'a RawValue>,
    #[serde(default, borrow)]
    pub command_mode: Str<'a>,
    /// The queued prompt that this hands over, in versions that record it (2.1.330).
    #[serde(default, borrow, rename = "source_uuid")]
    pub source_uuid: Str<'a>,
}
