//! The lines of a Codex rollout, as far as they are used. Observed with version 0.169.0; the older forms follow the
//! program's public source.
//!
//! Every line except the oldest is a [`Line`]: an envelope with a payload, which stays raw until the envelope's type is
//! known.

use serde::Deserialize;
use serde_json::value::RawValue;

use crate::lines::{Flag, List, Loose, Str, Whole};

/// One line. The oldest rollouts have no `payload`: the line itself is the item, and the first line a bare header.
#[derive(Deserialize)]
pub(super) struct Line<'a> {
    #[serde(default, borrow, rename = "type")]
    pub kind: Str<'a>,
    #[serde(default, borrow)]
    pub timestamp: Str<'a>,
    #[serde(borrow)]
    pub payload: Option<&'a RawValue>,
    #[serde(default)]
    pub metadata: Loose<LineMetadata>,
    /// In a bare header only.
    #[serde(default, borrow)]
    pub id: Str<'a>,
    /// In `state` lines of the oldest rollouts.
    #[serde(default, borrow)]
    pub record_type: Str<'a>,
}

/// Metadata of a line beside its payload.
#[derive(Deserialize, Default)]
pub(super) struct LineMetadata {
    /// Set on the model's answer to the compaction prompt, which the person does not see.
    #[serde(default)]
    pub compaction_output: Flag,
}

/// Payload of `session_meta`, and the bare header.
#[derive(Deserialize, Default)]
pub(super) struct SessionMeta<'a> {
    #[serde(default, borrow)]
    pub id: Str<'a>,
    /// The root session; differs from `id` in a sub-agent.
    #[serde(default, borrow)]
    pub session_id: Str<'a>,
    #[serde(default, borrow)]
    pub parent_thread_id: Str<'a>,
    #[serde(default, borrow)]
    pub forked_from_id: Str<'a>,
    #[serde(default, borrow)]
    pub cwd: Str<'a>,
    #[serde(default, borrow)]
    pub cli_version: Str<'a>,
    #[serde(default, borrow)]
    pub source: Loose<Source<'a>>,
}

/// Who started the thread. A string for people and clients, an object for sub-agents.
#[derive(Deserialize, Default)]
pub(super) struct Source<'a> {
    #[serde(borrow)]
    pub subagent: Option<Loose<SubAgent<'a>>>,
}

/// How a sub-agent was started.
#[derive(Deserialize, Default)]
pub(super) struct SubAgent<'a> {
    #[serde(default, borrow)]
    pub thread_spawn: Loose<ThreadSpawn<'a>>,
}

/// The thread that spawned this one.
#[derive(Deserialize, Default)]
pub(super) struct ThreadSpawn<'a> {
    #[serde(default, borrow)]
    pub parent_thread_id: Str<'a>,
}

/// Payload of `turn_context`, and `thread_settings` of an event.
#[derive(Deserialize, Default)]
pub(super) struct Context<'a> {
    #[serde(default, borrow)]
    pub turn_id: Str<'a>,
    #[serde(default, borrow)]
    pub cwd: Str<'a>,
    #[serde(default, borrow)]
    pub model: Str<'a>,
}

/// Payload of `response_item`: sent to the model or received from it.
#[derive(Deserialize)]
pub(super) struct Item<'a> {
    #[serde(default, borrow, rename = "type")]
    pub kind: Str<'a>,
    #[serde(default, borrow)]
    pub id: Str<'a>,
    #[serde(default, borrow)]
    pub role: Str<'a>,
    /// A string or a list of [`Content`].
    #[serde(borrow)]
    pub content: Option<&'a RawValue>,
    #[serde(default, borrow)]
    pub summary: List<Loose<Content<'a>>>,
    #[serde(default, borrow)]
    pub call_id: Str<'a>,
    #[serde(default, borrow)]
    pub name: Str<'a>,
    /// In most kinds of call, a string that contains JSON.
    #[serde(borrow)]
    pub arguments: Option<&'a RawValue>,
    #[serde(borrow)]
    pub input: Option<&'a RawValue>,
    #[serde(borrow)]
    pub action: Option<&'a RawValue>,
    /// The prompt of an image; the picture itself, in `result`, is not read.
    #[serde(borrow)]
    pub revised_prompt: Option<&'a RawValue>,
    #[serde(borrow)]
    pub output: Option<&'a RawValue>,
    #[serde(default, borrow, rename = "internal_chat_message_metadata_passthrough")]
    pub passthrough: Loose<Passthrough<'a>>,
}

/// The provenance of each piece of content of an item.
#[derive(Deserialize, Default)]
pub(super) struct Passthrough<'a> {
    #[serde(default, borrow)]
    pub turn_id: Str<'a>,
    #[serde(default, borrow)]
    pub content_item_kinds: List<Str<'a>>,
    #[serde(default, borrow)]
    pub content_item_metadata: List<Loose<ContentMetadata<'a>>>,
}

/// Metadata of one piece of content.
#[derive(Deserialize, Default)]
pub(super) struct ContentMetadata<'a> {
    #[serde(default, borrow)]
    pub provenance: Loose<Provenance<'a>>,
}

/// Who wrote a piece of content.
#[derive(Deserialize, Default)]
pub(super) struct Provenance<'a> {
    #[serde(default, borrow, rename = "type")]
    pub kind: Str<'a>,
}

/// A piece of content: `input_text`, `output_text`, `summary_text`, `input_image` or a later type.
#[derive(Deserialize, Default)]
pub(super) struct Content<'a> {
    #[serde(default, borrow, rename = "type")]
    pub kind: Str<'a>,
    #[serde(default, borrow)]
    pub text: Str<'a>,
}

/// A tool's output if it is an object. The oldest form is JSON in a string, with text and exit code.
#[derive(Deserialize, Default)]
pub(super) struct Output<'a> {
    #[serde(borrow)]
    pub content: Option<&'a RawValue>,
    #[serde(borrow)]
    pub output: Option<&'a RawValue>,
    pub metadata: Option<Loose<OutputMetadata>>,
    #[serde(borrow)]
    pub success: Option<&'a RawValue>,
}

/// Metadata in the oldest form of output.
#[derive(Deserialize, Default)]
pub(super) struct OutputMetadata {
    #[serde(default)]
    pub exit_code: Whole,
}

/// Payload of `event_msg`: what Codex reported to its user interface.
#[derive(Deserialize)]
pub(super) struct Event<'a> {
    #[serde(default, borrow, rename = "type")]
    pub kind: Str<'a>,
    #[serde(default, borrow)]
    pub turn_id: Str<'a>,
    #[serde(default, borrow)]
    pub reason: Str<'a>,
    /// Text of the old message events.
    #[serde(default, borrow)]
    pub message: Str<'a>,
    /// Text of the old reasoning events.
    #[serde(default, borrow)]
    pub text: Str<'a>,
    #[serde(default)]
    pub images: List<serde::de::IgnoredAny>,
    #[serde(default, borrow)]
    pub item: Loose<EventItem<'a>>,
    #[serde(default, borrow)]
    pub thread_settings: Loose<Context<'a>>,
    #[serde(default, borrow)]
    pub thread_name: Str<'a>,
}

/// The item of `item_completed`.
#[derive(Deserialize, Default)]
pub(super) struct EventItem<'a> {
    #[serde(default, borrow, rename = "type")]
    pub kind: Str<'a>,
    #[serde(default, borrow)]
    pub id: Str<'a>,
    #[serde(borrow)]
    pub content: Option<&'a RawValue>,
    #[serde(default, borrow)]
    pub summary_text: List<Str<'a>>,
    #[serde(default, borrow)]
    pub tool: Str<'a>,
    #[serde(default, borrow)]
    pub receiver_thread_ids: List<Str<'a>>,
}

/// Payload of `token_usage_record`.
#[derive(Deserialize)]
pub(super) struct UsageRecord<'a> {
    #[serde(default, borrow)]
    pub turn_id: Str<'a>,
    pub turn_token_usage: Option<Loose<TokenUsage>>,
}

/// Token counts. `input_tokens` includes the cached ones.
#[derive(Deserialize, Default)]
pub(super) struct TokenUsage {
    #[serde(default)]
    pub input_tokens: Whole,
    #[serde(default)]
    pub output_tokens: Whole,
    #[serde(default)]
    pub cached_input_tokens: Whole,
    #[serde(default)]
    pub cache_write_input_tokens: Whole,
}

/// Payload of `compacted`.
#[derive(Deserialize)]
pub(super) struct Compacted<'a> {
    #[serde(default, borrow)]
    pub message: Str<'a>,
    #[serde(default, borrow)]
    pub compaction_response_id: Str<'a>,
}
