//! Decodes OpenClaw's events, from rows or from lines.
//!
//! Events form a tree by `id` and `parentId`, and most events are not turns. A turn's parent must be a turn, so the
//! decoder follows the chain: it remembers the turn of the last event, and those of earlier events a branch may start
//! from.

use std::collections::VecDeque;

use heirloom_engine::clock::{Millis, parse_rfc3339};
use heirloom_engine::event::{
    Decoded, Decoder, Fact, NewTurn, Placement, RecordClass, Role, Row, RunStatus, TurnKind, Usage,
};
use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;

use super::wire::{Block, Event, Message};
use crate::loose::{Words, plain, tool_input};

/// Number of events without a turn that are remembered as starting points of branches. A branch starts a few events
/// back; if one starts further back, the turn's parent is the event's own id.
const REMEMBERED: usize = 64;

/// Beginnings of user messages that the program wrote itself: its context, its wake-up calls with and without their
/// instructions, and messages from other sessions.
const MACHINE_PROMPTS: &[&str] = &[
    "<<<BEGIN_OPENCLAW_INTERNAL_CONTEXT>>>",
    "[OpenClaw heartbeat",
    "[OpenClaw exec completion]",
    "[OpenClaw cron",
    "[OpenClaw session event]",
    "[Inter-session message",
    "Read HEARTBEAT.md",
];

/// Whether the program wrote a text, judged by its beginning.
pub(super) fn is_by_machine(text: &str) -> bool {
    MACHINE_PROMPTS.iter().any(|start| text.trim_start().starts_with(start))
}

/// Decoder of one session.
#[derive(Serialize, Deserialize, Default)]
pub(super) struct Transcript {
    /// The session's id: from the file's name or the database, otherwise from the header.
    session: String,
    /// Whether the session is a sub-agent's or a scheduled one, so that no person typed its prompts.
    unattended: bool,
    run: Option<String>,
    /// The last event and its turn.
    last: (String, Option<String>),
    /// Earlier events that make no turn of their own, and the turn that stands in for each.
    stands_at: VecDeque<(String, Option<String>)>,
}

impl Transcript {
    pub(super) fn new(placement: &Placement, state: &[u8]) -> Transcript {
        serde_json::from_slice(state)
            .unwrap_or_else(|_| Transcript { session: placement.native.clone(), ..Transcript::default() })
    }

    fn event(&mut self, json: &[u8]) -> Decoded {
        let Ok(event) = serde_json::from_slice::<Event>(json) else {
            return Decoded::quarantined("the event is not a JSON object");
        };
        let at = event.timestamp.as_deref().and_then(parse_rfc3339);
        let mut decoded = match event.kind.as_str() {
            "session" => self.header(&event),
            "message" => match &event.message {
                Some(message) => self.message(&event, message, at),
                None => Decoded::quarantined("the message event has no message"),
            },
            "compaction" => {
                let mut decoded = Decoded::of(RecordClass::Compaction);
                decoded.facts.push(Fact::Compaction { trigger: None, at });
                decoded.turns.push(NewTurn::new(Role::System, TurnKind::CompactSummary, event.summary.0.clone()));
                decoded
            }
            "branch_summary" => {
                let mut decoded = Decoded::of(RecordClass::Compaction);
                decoded.turns.push(NewTurn::new(Role::System, TurnKind::CompactSummary, event.summary.0.clone()));
                decoded
            }
            "custom_message" => {
                let mut decoded = Decoded::of(RecordClass::Attachment);
                let text = words(&blocks(event.content.as_deref()));
                decoded.turns.push(NewTurn::new(Role::System, TurnKind::MachinePrompt, text));
                decoded
            }
            "reset" => {
                let mut decoded = Decoded::of(RecordClass::Meta);
                decoded
                    .facts
                    .push(Fact::Segment { reason: event.reason.clone().unwrap_or_else(|| "reset".into()), at });
                decoded
            }
            "session_info" => {
                let mut decoded = Decoded::of(RecordClass::Meta);
                let name = event.name.as_ref().map(|name| name.0.trim()).filter(|name| !name.is_empty());
                decoded.facts.extend(name.map(|name| Fact::Title(name.into())));
                decoded
            }
            "model_change" | "thinking_level_change" | "custom" | "label" | "leaf" | "link" => {
                Decoded::of(RecordClass::Meta)
            }
            _ => Decoded::of(RecordClass::Unknown),
        };
        decoded.turns.retain(|turn| !turn.text.trim().is_empty());
        self.place(&event, at, &mut decoded.turns);
        decoded
    }

    fn header(&mut self, event: &Event) -> Decoded {
        // The header's id is preferred to the file's name: a file may have been copied or renamed.
        if let Some(id) = event.id.clone().filter(|id| !id.is_empty()) {
            self.session = id;
        }
        let mut decoded = Decoded::of(RecordClass::Meta);
        if !self.session.is_empty() {
            decoded.facts.push(self.session_fact());
        }
        decoded.facts.extend(event.cwd.clone().map(Fact::Cwd));
        decoded
    }

    fn session_fact(&self) -> Fact {
        Fact::Session { native: self.session.clone(), lane: String::new(), parent_call: None }
    }

    fn message(&mut self, event: &Event, message: &Message, at: Option<Millis>) -> Decoded {
        let blocks = blocks(message.content.as_deref());
        let mut decoded = Decoded::of(RecordClass::Conversation);
        match message.role.as_str() {
            "user" => {
                let key = message.idempotency_key.as_deref().map(|key| key.strip_suffix(":user").unwrap_or(key));
                self.run = key.map(String::from).or_else(|| event.id.clone());
                let text = words(&blocks);
                let machine = self.unattended
                    || matches!(message.provenance.kind.as_str(), "inter_session" | "internal_system")
                    || is_by_machine(&text);
                decoded.turns.push(match machine {
                    true => NewTurn::new(Role::System, TurnKind::MachinePrompt, text),
                    false => NewTurn::new(Role::User, TurnKind::Message, text),
                });
            }
            "assistant" => {
                decoded.turns = blocks.into_iter().filter_map(block_turn).collect();
                // The program writes a text that is delivered to a channel once more, under this model name.
                let echo = message.model.as_deref() == Some("delivery-mirror");
                let usage = message.usage.as_ref().map(|u| Usage {
                    input: u.input,
                    output: u.output,
                    cache_read: u.cache_read,
                    cache_write: u.cache_write,
                });
                for turn in &mut decoded.turns {
                    turn.echo = echo;
                    turn.failed = message.stop_reason.as_deref() == Some("error");
                    turn.model = message.model.clone();
                    turn.message = event.id.clone();
                    turn.usage = usage;
                }
                decoded.facts.extend(self.run_end(message, at).filter(|_| !echo));
            }
            "toolResult" => decoded.turns.push(NewTurn {
                tool: message.tool_name.clone(),
                call: message.tool_call_id.clone(),
                failed: message.is_error,
                ..NewTurn::new(Role::Tool, TurnKind::ToolResult, words(&blocks))
            }),
            _ => decoded.class = RecordClass::Unknown,
        }
        decoded
    }

    /// Returns the end of the run, if this message is its last; after tool calls the model is called again.
    fn run_end(&self, message: &Message, at: Option<Millis>) -> Option<Fact> {
        let (status, reason) = match message.stop_reason.as_deref()? {
            "stop" => (RunStatus::Completed, None),
            "length" => (RunStatus::Completed, Some("length".into())),
            "aborted" => (RunStatus::Interrupted, None),
            "error" => (RunStatus::Failed, None),
            _ => return None,
        };
        let reason = message.error_message.as_ref().map(|m| m.0.clone()).or(reason);
        Some(Fact::RunEnd { run: self.run.clone(), status, reason, at })
    }

    /// Sets ids, parents, run and time of the event's turns, and remembers the event's turn.
    fn place(&mut self, event: &Event, at: Option<Millis>, turns: &mut [NewTurn]) {
        let mut stands_at = self.turn_at(event.parent_id.as_deref());
        for (i, turn) in turns.iter_mut().enumerate() {
            turn.entry = event.id.as_ref().map(|id| if i == 0 { id.clone() } else { format!("{id}#{i}") });
            turn.parent = stands_at.take();
            turn.run = self.run.clone();
            turn.at = at;
            stands_at = turn.entry.clone();
        }
        // The header is not part of the tree.
        let Some(id) = event.id.clone().filter(|_| event.kind != "session") else { return };
        let (last, its_turn) = std::mem::replace(&mut self.last, (id, stands_at));
        if its_turn.as_ref() != Some(&last) && !last.is_empty() {
            if self.stands_at.len() == REMEMBERED {
                self.stands_at.pop_front();
            }
            self.stands_at.push_back((last, its_turn));
        }
    }

    /// Returns the turn of an event: the event itself, the last turn it makes, or the turn before it.
    fn turn_at(&self, event: Option<&str>) -> Option<String> {
        let event = event?;
        if self.last.0 == event {
            return self.last.1.clone();
        }
        match self.stands_at.iter().rev().find(|(id, _)| id == event) {
            Some((_, turn)) => turn.clone(),
            None => Some(event.into()),
        }
    }

    fn window(&mut self, row: &Row) -> Decoded {
        // This row is the head of the group: the rows after it are read from the start again.
        *self = Transcript { session: row.text("session_id").unwrap_or(&self.session).into(), ..Transcript::default() };
        let key = row.text("session_key").unwrap_or_default();
        self.unattended = row.text("spawned_by").is_some() || key.contains(":subagent:") || key.contains(":cron:");
        let mut decoded = Decoded::of(RecordClass::Meta);
        decoded.facts.push(self.session_fact());
        decoded.facts.extend(title(row, &["display_name"]));
        decoded
    }

    fn node(&mut self, row: &Row) -> Decoded {
        let mut decoded = Decoded::of(RecordClass::Meta);
        // A node has several windows one after the other; its origin belongs to the current one.
        let current = row.text("current_session_id") == Some(&self.session);
        let source = row.text("fork_source_session_id").filter(|source| current && *source != self.session);
        decoded.facts.extend(source.map(|native| Fact::ForkOf { native: native.into() }));
        decoded.facts.extend(title(row, &["label", "display_name"]));
        decoded
    }
}

impl Decoder for Transcript {
    fn line(&mut self, bytes: &[u8]) -> Decoded {
        self.event(bytes)
    }

    fn row(&mut self, row: &Row) -> Decoded {
        match row.table.as_str() {
            "session_windows" => self.window(row),
            "session_nodes" => self.node(row),
            "transcript_events" => match row.text("event_json") {
                Some(json) => self.event(json.as_bytes()),
                None => Decoded::quarantined("the event has no body that could be opened"),
            },
            _ => Decoded::of(RecordClass::Unknown),
        }
    }

    fn state(&self) -> Vec<u8> {
        serde_json::to_vec(self).unwrap_or_default()
    }
}

/// Returns the blocks of a message's content; a string is one block of text.
fn blocks(content: Option<&RawValue>) -> Vec<Block> {
    let Some(content) = content else { return Vec::new() };
    if let Ok(text) = serde_json::from_str::<Words>(content.get()) {
        return vec![Block { kind: "text".into(), text, ..Block::default() }];
    }
    let Ok(blocks) = serde_json::from_str::<Vec<Box<RawValue>>>(content.get()) else { return Vec::new() };
    let block = |raw: Box<RawValue>| match serde_json::from_str::<Block>(raw.get()) {
        Ok(block) => block,
        Err(_) => Block { kind: "text".into(), text: Words(plain(&raw)), ..Block::default() },
    };
    blocks.into_iter().map(block).collect()
}

/// Joins all blocks to one text: a person's message or a tool's answer is one turn however many blocks it has.
fn words(blocks: &[Block]) -> String {
    let mut out = String::new();
    for block in blocks {
        let image;
        let text = match block.kind.as_str() {
            "text" => &block.text.0,
            kind => {
                image = format!("[{kind}]");
                &image
            }
        };
        if !text.trim().is_empty() {
            if !out.is_empty() {
                out.push('\n');
            }
            out.push_str(text);
        }
    }
    out
}

/// Makes the turn of one block of the model's message.
fn block_turn(block: Block) -> Option<NewTurn> {
    let turn = |kind, text| Some(NewTurn::new(Role::Assistant, kind, text));
    match block.kind.as_str() {
        "text" => turn(TurnKind::Message, block.text.0),
        "thinking" => turn(TurnKind::Thinking, block.thinking.0),
        "image" => turn(TurnKind::Message, "[image]".into()),
        "toolCall" => {
            let mut input = tool_input(block.arguments.as_deref());
            if input.trim().is_empty() {
                // A tool without input was called all the same.
                input = block.name.clone().unwrap_or_default();
            }
            Some(NewTurn {
                tool: block.name,
                call: block.id,
                ..NewTurn::new(Role::Assistant, TurnKind::ToolCall, input)
            })
        }
        _ => None,
    }
}

/// Returns the title in the first of these columns that has one.
fn title(row: &Row, columns: &[&str]) -> Option<Fact> {
    let mut names = columns.iter().filter_map(|column| row.text(column));
    // The program writes `explicit:<id>` if no name was given.
    names.find(|name| !name.trim().is_empty() && !name.starts_with("explicit:")).map(|name| Fact::Title(name.into()))
}
