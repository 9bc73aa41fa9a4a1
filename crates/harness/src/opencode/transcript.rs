//! Decodes OpenCode's rows.
//!
//! A session row opens the stream; then come the messages, each followed by its parts. A message row has the role and
//! whether the message is finished, the parts have the content, so the decoder remembers the current message. Parts of
//! an unfinished message make no turns; they are read again when it is finished.

use heirloom_engine::clock::Millis;
use heirloom_engine::event::{Decoded, Decoder, Fact, NewTurn, RecordClass, Role, Row, RunStatus, TurnKind, Usage};
use serde::{Deserialize, Serialize};

use super::wire;
use crate::loose::{Words, tool_input};

/// Decoder of one session's rows.
#[derive(Serialize, Deserialize, Default)]
pub(super) struct Transcript {
    /// Whether the session is a sub-agent's, so that no person typed its prompts.
    lane: bool,
    message: Option<Current>,
}

/// The fields of the current message that its parts need.
#[derive(Serialize, Deserialize, Default)]
struct Current {
    id: String,
    assistant: bool,
    /// Whether the message will not change any more.
    finished: bool,
    failed: bool,
    /// Whether the message is a compaction: the summary itself, or the message that asks for it.
    compaction: bool,
    run: Option<String>,
    model: Option<String>,
    cwd: Option<String>,
    created: Option<Millis>,
    completed: Option<Millis>,
    finish: Option<String>,
    /// Input, output, cache read, cache written.
    tokens: Option<[Option<u64>; 4]>,
}

impl Transcript {
    pub(super) fn new(state: &[u8]) -> Transcript {
        serde_json::from_slice(state).unwrap_or_default()
    }

    fn session(&mut self, row: &Row) -> Decoded {
        let id = row.text("id").unwrap_or_default().to_string();
        let parent = row.text("parent_id").filter(|p| !p.is_empty());
        self.lane = parent.is_some();
        self.message = None;
        let mut decoded = Decoded::of(RecordClass::Meta);
        decoded.facts.push(match parent {
            Some(parent) => Fact::Session { native: parent.into(), lane: id, parent_call: None },
            None => Fact::Session { native: id, lane: String::new(), parent_call: None },
        });
        let filled = |column| row.text(column).filter(|text: &&str| !text.trim().is_empty()).map(String::from);
        decoded.facts.extend(filled("title").map(Fact::Title));
        decoded.facts.extend(filled("directory").map(Fact::Cwd));
        decoded.facts.extend(filled("version").map(Fact::Version));
        decoded
    }

    fn message(&mut self, row: &Row) -> Decoded {
        self.message = None;
        let (Some(id), Some(data)) = (row.text("id"), row.text("data")) else {
            return Decoded::quarantined("the message has no id or no data");
        };
        let Ok(data) = serde_json::from_str::<wire::Message>(data) else {
            return Decoded::quarantined("the message's data is not a JSON object");
        };
        let assistant = match data.role.as_str() {
            "assistant" => true,
            "user" => false,
            _ => return Decoded::of(RecordClass::Unknown),
        };
        let compaction = assistant && (data.summary == Some(true) || data.mode.as_deref() == Some("compaction"));
        let run = if assistant { data.parent } else { Some(id.to_string()) };
        let completed = data.time.completed.map(millis);
        let created = data.time.created.map(millis).or(row.integer("time_created"));

        let mut decoded = Decoded::of(if compaction { RecordClass::Compaction } else { RecordClass::Conversation });
        let interrupted = data.error.as_ref().is_some_and(|e| e.name == "MessageAbortedError");
        if let Some(error) = &data.error {
            decoded.facts.push(Fact::RunEnd {
                run: run.clone(),
                status: if interrupted { RunStatus::Interrupted } else { RunStatus::Failed },
                reason: Some(match &error.data.message {
                    Some(message) => format!("{}: {}", error.name, message.0),
                    None => error.name.clone(),
                }),
                at: completed.or(row.integer("time_updated")),
            });
        }
        self.message = Some(Current {
            id: id.into(),
            assistant,
            finished: !assistant || completed.is_some() || data.error.is_some(),
            failed: data.error.is_some() && !interrupted,
            compaction,
            run,
            // In a user message this is the model it is sent to; only an answer was written by the model it names.
            model: data.model.filter(|_| assistant),
            cwd: data.path.cwd,
            created,
            completed,
            finish: data.finish.filter(|_| data.error.is_none()),
            tokens: data.tokens.filter(|_| assistant).map(|t| [t.input, t.output, t.cache.read, t.cache.write]),
        });
        decoded
    }

    fn part(&mut self, row: &Row) -> Decoded {
        let (Some(id), Some(data)) = (row.text("id"), row.text("data")) else {
            return Decoded::quarantined("the part has no id or no data");
        };
        let Ok(part) = serde_json::from_str::<wire::Part>(data) else {
            return Decoded::quarantined("the part's data is not a JSON object");
        };
        let lane = self.lane;
        let Some(message) = self.message.as_mut().filter(|m| row.text("message_id") == Some(&m.id)) else {
            return Decoded::quarantined("the message this part belongs to could not be read");
        };
        if part.kind == "compaction" {
            message.compaction = true;
            let trigger = part.auto.map(|auto| if auto { "auto" } else { "manual" }.to_string());
            let mut decoded = Decoded::of(RecordClass::Compaction);
            decoded.facts.push(Fact::Compaction { trigger, at: message.created });
            return decoded;
        }
        let class = match part.kind.as_str() {
            "step-start" | "step-finish" | "snapshot" | "patch" | "agent" | "retry" => RecordClass::Meta,
            "file" => RecordClass::Attachment,
            "text" | "reasoning" | "tool" | "subtask" if message.compaction => RecordClass::Compaction,
            "text" | "reasoning" | "tool" | "subtask" => RecordClass::Conversation,
            _ => RecordClass::Unknown,
        };
        let mut decoded = Decoded::of(class);
        if !message.finished {
            return decoded;
        }
        match part.kind.as_str() {
            "text" => {
                let (role, kind) = match (message.assistant, message.compaction) {
                    (true, true) => (Role::System, TurnKind::CompactSummary),
                    (true, false) => (Role::Assistant, TurnKind::Message),
                    (false, compaction) if compaction || lane || part.synthetic || part.ignored => {
                        (Role::System, TurnKind::MachinePrompt)
                    }
                    (false, _) => (Role::User, TurnKind::Message),
                };
                decoded.turns.push(message.turn(id, role, kind, part.text.0, part.time.start));
            }
            "reasoning" => {
                decoded.turns.push(message.turn(id, Role::Assistant, TurnKind::Thinking, part.text.0, part.time.start));
            }
            "subtask" => decoded.turns.push(message.turn(
                id,
                Role::System,
                TurnKind::MachinePrompt,
                part.prompt.0,
                part.time.start,
            )),
            // A file's text, if the program shows it to the model, is a separate synthetic part; this part has only the
            // file's name and type.
            "file" => {
                let (role, kind) = match message.assistant {
                    true => (Role::Assistant, TurnKind::Message),
                    false => (Role::System, TurnKind::MachinePrompt),
                };
                decoded.turns.push(message.turn(id, role, kind, name_of(&part.filename, &part.mime), part.time.start));
            }
            "tool" => message.tool(id, part, &mut decoded),
            // The last part of an answer, so that the run ends after its turns.
            "step-finish" if message.assistant && !message.compaction && part.reason == message.finish => {
                decoded.facts.extend(message.run_end());
            }
            _ => {}
        }
        decoded.turns.retain(|turn| !turn.text.trim().is_empty());
        decoded
    }
}

impl Current {
    fn turn(&self, entry: &str, role: Role, kind: TurnKind, text: String, at: Option<f64>) -> NewTurn {
        let usage = |[input, output, cache_read, cache_write]: [Option<u64>; 4]| Usage {
            input,
            output,
            cache_read,
            cache_write,
        };
        NewTurn {
            entry: Some(entry.into()),
            failed: self.failed && self.assistant,
            at: at.map(millis).or(self.created),
            model: self.model.clone(),
            message: Some(self.id.clone()),
            usage: self.tokens.map(usage),
            run: self.run.clone(),
            cwd: self.cwd.clone(),
            ..NewTurn::new(role, kind, text)
        }
    }

    /// Makes the turns of a call and its answer, once there is an answer; both are one part.
    fn tool(&self, id: &str, part: wire::Part, decoded: &mut Decoded) {
        let state = part.state;
        let failed = match state.status.as_str() {
            "completed" => false,
            "error" => true,
            _ => return,
        };
        if let (Some(lane), Some(call)) = (state.metadata.session_id, &part.call) {
            decoded.facts.push(Fact::LaneCall { lane, call: call.clone() });
        }
        let mut input = tool_input(state.input.as_deref());
        if input.trim().is_empty() {
            // A tool without input was called nevertheless, so its name stands for the input.
            input = part.tool.clone().unwrap_or_default();
        }
        decoded.turns.push(NewTurn {
            tool: part.tool.clone(),
            call: part.call.clone(),
            failed: false,
            ..self.turn(id, Role::Assistant, TurnKind::ToolCall, input, state.time.start)
        });
        let mut output = if failed { state.error.0 } else { state.output.0 };
        for attachment in &state.attachments {
            if !output.is_empty() {
                output.push('\n');
            }
            output.push_str(&name_of(&attachment.filename, &attachment.mime));
        }
        decoded.turns.push(NewTurn {
            tool: part.tool,
            call: part.call,
            failed,
            ..self.turn(&format!("{id}#1"), Role::Tool, TurnKind::ToolResult, output, state.time.end)
        });
    }

    /// Returns the end of the run, if this message is its last. The model is called again after tool calls, and after
    /// an answer without a stop reason.
    fn run_end(&self) -> Option<Fact> {
        let (status, reason) = match self.finish.as_deref()? {
            "tool-calls" | "unknown" => return None,
            "stop" => (RunStatus::Completed, None),
            why @ ("error" | "content-filter") => (RunStatus::Failed, Some(why.into())),
            why => (RunStatus::Completed, Some(why.into())),
        };
        Some(Fact::RunEnd { run: self.run.clone(), status, reason, at: self.completed })
    }
}

impl Decoder for Transcript {
    fn line(&mut self, _bytes: &[u8]) -> Decoded {
        Decoded::quarantined("OpenCode keeps rows, not lines")
    }

    fn row(&mut self, row: &Row) -> Decoded {
        match row.table.as_str() {
            "session" => self.session(row),
            "message" => self.message(row),
            "part" => self.part(row),
            _ => Decoded::of(RecordClass::Unknown),
        }
    }

    fn state(&self) -> Vec<u8> {
        serde_json::to_vec(self).unwrap_or_default()
    }
}

/// Returns the placeholder of a file: its name, never its bytes.
fn name_of(name: &Option<Words>, mime: &Option<String>) -> String {
    let name = name.as_ref().map(|name| name.0.as_str()).filter(|name| !name.trim().is_empty());
    format!("[{}]", name.or(mime.as_deref()).unwrap_or("file"))
}

fn millis(at: f64) -> Millis {
    at as Millis
}
