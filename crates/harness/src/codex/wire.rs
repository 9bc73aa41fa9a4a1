//! The lines of a Codex rollout, as far as their fields are used. Observed with version 0.169.0; the older forms follow
//! the program's public source.
//!
//! Every line except the oldest is a [`Line`]: an envelope with a payload, which stays raw until the envelope's type is
//! known.

use serde::Deserialize;
use serde_json::value::RawValue;

use crate::lines::{Flag, List, Loose, Str, Whole};

/// One line. The oldest rollouts have no `payload`: the line itself is the item, and the first line a bare header.
#[derive(Deserialize, Default)]
#[serde(default, bound(deserialize = "'de: 'a"))]
pub(super) struct Line<'a> {
    #[serde(rename = "type")]
    pub kind: Str<'a>,
    pub timestamp: Str<'a>,
    pub payload: Option<&'a RawValue>,
    pub metadata: Loose<LineMetadata>,
    /// Only in a bare header.
    pub id: Str<'a>,
    /// Only in `state` lines of the oldest rollouts.
    pub record_type: Str<'a>,
}

/// Metadata of a line beside its payload.
#[derive(Deserialize, Default)]
#[serde(default)]
pub(super) struct LineMetadata {
    /// Set on the model's answer to the compaction prompt, which the person does not see.
    pub compaction_output: Flag,
}

/// Payload of `session_meta`, and the bare header.
#[derive(Deserialize, Default)]
#[serde(default, bound(deserialize = "'de: 'a"))]
pub(super) struct SessionMeta<'a> {
    pub id: Str<'a>,
    /// The root session; differs from `id` in a sub-agent.
    pub session_id: Str<'a>,
    pub parent_thread_id: Str<'a>,
    pub forked_from_id: Str<'a>,
    pub cwd: Str<'a>,
    pub cli_version: Str<'a>,
    pub source: Loose<Source<'a>>,
}

/// Origin of the thread: a string for people and clients, an object for sub-agents.
#[derive(Deserialize, Default)]
#[serde(default, bound(deserialize = "'de: 'a"))]
pub(super) struct Source<'a> {
    pub subagent: Option<Loose<SubAgent<'a>>>,
}

/// Start of a sub-agent.
#[derive(Deserialize, Default)]
#[serde(default, bound(deserialize = "'de: 'a"))]
pub(super) struct SubAgent<'a> {
    pub thread_spawn: Loose<ThreadSpawn<'a>>,
}

/// The thread that spawned this one.
#[derive(Deserialize, Default)]
#[serde(default, bound(deserialize = "'de: 'a"))]
pub(super) struct ThreadSpawn<'a> {
    pub parent_thread_id: Str<'a>,
}

/// Payload of `turn_context`, and `thread_settings` of an event.
#[derive(Deserialize, Default)]
#[serde(default, bound(deserialize = "'de: 'a"))]
pub(super) struct Context<'a> {
    pub turn_id: Str<'a>,
    pub cwd: Str<'a>,
    pub model: Str<'a>,
}

/// Payload of `response_item`: an item sent to the model or received from it.
#[derive(Deserialize, Default)]
#[serde(default, bound(deserialize = "'de: 'a"))]
pub(super) struct Item<'a> {
    #[serde(rename = "type")]
    pub kind: Str<'a>,
    pub id: Str<'a>,
    pub role: Str<'a>,
    /// A string or a list of [`Content`].
    pub content: Option<&'a RawValue>,
    pub summary: List<Loose<Content<'a>>>,
    pub call_id: Str<'a>,
    pub name: Str<'a>,
    /// In most kinds of call, a string that contains JSON.
    pub arguments: Option<&'a RawValue>,
    pub input: Option<&'a RawValue>,
    pub action: Option<&'a RawValue>,
    /// The prompt of an image; the picture itself, in `result`, is not read.
    pub revised_prompt: Option<&'a RawValue>,
    pub output: Option<&'a RawValue>,
    #[serde(rename = "internal_chat_message_metadata_passthrough")]
    pub passthrough: Loose<Passthrough<'a>>,
}

/// The provenance of each piece of content of an item.
#[derive(Deserialize, Default)]
#[serde(default, bound(deserialize = "'de: 'a"))]
pub(super) struct Passthrough<'a> {
    pub turn_id: Str<'a>,
    pub content_item_kinds: List<Str<'a>>,
    pub content_item_metadata: List<Loose<ContentMetadata<'a>>>,
}

/// Metadata of one piece of content.
#[derive(Deserialize, Default)]
#[serde(default, bound(deserialize = "'de: 'a"))]
pub(super) struct ContentMetadata<'a> {
    pub provenance: Loose<Provenance<'a>>,
}

/// Author of a piece of content.
#[derive(Deserialize, Default)]
#[serde(default, bound(deserialize = "'de: 'a"))]
pub(super) struct Provenance<'a> {
    #[serde(rename = "type")]
    pub kind: Str<'a>,
}

/// A piece of content: `input_text`, `output_text`, `summary_text`, `input_image` or a later type.
#[derive(Deserialize, Default)]
#[serde(default, bound(deserialize = "'de: 'a"))]
pub(super) struct Content<'a> {
    #[serde(rename = "type")]
    pub kind: Str<'a>,
    pub text: Str<'a>,
}

/// A tool's output if it is an object. The oldest form is JSON in a string, with text and exit code.
#[derive(Deserialize, Default)]
#[serde(default, bound(deserialize = "'de: 'a"))]
pub(super) struct Output<'a> {
    pub content: Option<&'a RawValue>,
    pub output: Option<&'a RawValue>,
    pub metadata: Option<Loose<OutputMetadata>>,
    pub success: Option<&'a RawValue>,
}

/// Metadata in the oldest form of output.
#[derive(Deserialize, Default)]
#[serde(default)]
pub(super) struct OutputMetadata {
    pub exit_code: Whole,
}

/// Payload of `event_msg`: an event for Codex's user interface.
#[derive(Deserialize, Default)]
#[serde(default, bound(deserialize = "'de: 'a"))]
pub(super) struct Event<'a> {
    #[serde(rename = "type")]
    pub kind: Str<'a>,
    pub turn_id: Str<'a>,
    pub reason: Str<'a>,
    /// Text of the old message events.
    pub message: Str<'a>,
    /// Text of the old reasoning events.
    pub text: Str<'a>,
    pub images: List<serde::de::IgnoredAny>,
    pub item: Loose<EventItem<'a>>,
    pub thread_settings: Loose<Context<'a>>,
    pub thread_name: Str<'a>,
}

/// The item of `item_completed`.
#[derive(Deserialize, Default)]
#[serde(default, bound(deserialize = "'de: 'a"))]
pub(super) struct EventItem<'a> {
    #[serde(rename = "type")]
    pub kind: Str<'a>,
    pub id: Str<'a>,
    pub content: Option<&'a RawValue>,
    pub summary_text: List<Str<'a>>,
    pub tool: Str<'a>,
    pub receiver_thread_ids: List<Str<'a>>,
}

/// Payload of `token_usage_record`.
#[derive(Deserialize, Default)]
#[serde(default, bound(deserialize = "'de: 'a"))]
pub(super) struct UsageRecord<'a> {
    pub turn_id: Str<'a>,
    pub turn_token_usage: Option<Loose<TokenUsage>>,
}

/// Token counts. `input_tokens` includes the cached ones.
#[derive(Deserialize, Default)]
#[serde(default)]
pub(super) struct TokenUsage {
    pub input_tokens: Whole,
    pub output_tokens: Whole,
    pub cached_input_tokens: Whole,
    pub cache_write_input_tokens: Whole,
}

/// Payload of `compacted`.
#[derive(Deserialize, Default)]
#[serde(default, bound(deserialize = "'de: 'a"))]
pub(super) struct Compacted<'a> {
    pub message: Str<'a>,
    pub compaction_response_id: Str<'a>,
}
