//! Decodes a Codex rollout: lines become turns and facts.
//!
//! Codex writes each message twice, once for the model (`response_item`) and once for its user interface (`event_msg`).
//! The first makes the turn; the second is an echo. Instruction files and environment also have the role `user`. Newer
//! versions record who wrote each piece of content; without that record, the beginning of the text decides.

use std::collections::VecDeque;

use heirloom_engine::clock::parse_rfc3339;
use heirloom_engine::event::{
    Decoded, Decoder, Fact, NewTurn, Placement, RecordClass, Role, Row, RunStatus, TurnKind, Usage,
};
use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;

use super::wire::{
    Compacted, Content, Context, Event, EventItem, Item, Line, Output, Passthrough, SessionMeta, UsageRecord,
};
use crate::lines::{List, Loose, Str, parse_line, parse_object, parse_part, readable};

/// Texts of role `user` that begin with one of these were written by the program.
const MACHINE_OPENINGS: &[&str] = &[
    "# AGENTS.md instructions",
    "<environment_context>",
    "<user_instructions>",
    "<turn_aborted>",
    "<subagent_notification>",
    "<hook_prompt",
];

/// Number of calls without an output whose tool names are remembered: more than one message makes.
const OPEN_CALLS: usize = 64;

/// Decodes one rollout file.
#[derive(Default)]
pub(super) struct Rollout {
    state: State,
}

/// Facts remembered from earlier lines.
#[derive(Serialize, Deserialize, Default)]
#[serde(default)]
struct State {
    /// Whether the session was reported, or the first turn came before it was known. Forked rollouts also contain the
    /// header of the rollout they were copied from: only the first header is used.
    settled: bool,
    /// Whether this thread works for another one, so that no person types into it.
    sub_agent: bool,
    /// The current turn, in Codex's sense.
    run: Option<String>,
    model: Option<String>,
    cwd: Option<String>,
    /// `(call id, tool name)` of calls without an output.
    calls: VecDeque<(String, String)>,
}

/// Fields shared by all turns of one line.
struct Common {
    at: Option<i64>,
    run: Option<String>,
    id: Option<String>,
    echo: bool,
}

impl Rollout {
    /// Makes a decoder that continues from `state`, or starts fresh if the state is empty or unreadable.
    pub fn new(_placement: &Placement, state: &[u8]) -> Rollout {
        Rollout { state: serde_json::from_slice(state).unwrap_or_default() }
    }

    fn record(&mut self, bytes: &[u8]) -> Result<Decoded, String> {
        let line: Line = parse_line(bytes)?;
        let at = line.timestamp.get().and_then(parse_rfc3339);
        let Some(payload) = line.payload else { return self.bare(&line, bytes, at) };
        Ok(match line.kind.or_empty() {
            "session_meta" => self.session_meta(&parse_object(payload, "payload")?),
            "response_item" => {
                let item = parse_object(payload, "payload")?;
                self.item(item, line.metadata.0.compaction_output.0, at)?
            }
            "event_msg" => self.event(parse_object(payload, "payload")?, at)?,
            "compacted" => self.compacted(parse_object(payload, "payload")?, at),
            "turn_context" => {
                let context: Context = parse_object(payload, "payload")?;
                if let Some(run) = context.turn_id.filled() {
                    self.state.run = Some(run.to_owned());
                }
                self.context(&context);
                Decoded::of(RecordClass::Meta)
            }
            "token_usage_record" => self.usage(&parse_object(payload, "payload")?),
            "world_state" => Decoded::of(RecordClass::Meta),
            _ => Decoded::of(RecordClass::Unknown),
        })
    }

    /// Decodes a line of the oldest rollouts, which had no envelope.
    fn bare(&mut self, line: &Line, bytes: &[u8], at: Option<i64>) -> Result<Decoded, String> {
        if line.kind.filled().is_some() {
            return self.item(parse_line(bytes)?, false, at);
        }
        if line.record_type.filled().is_some() {
            return Ok(Decoded::of(RecordClass::Meta));
        }
        if line.id.filled().is_some() && at.is_some() {
            return Ok(self.session_meta(&parse_line(bytes)?));
        }
        Ok(Decoded::of(RecordClass::Unknown))
    }

    fn session_meta(&mut self, meta: &SessionMeta) -> Decoded {
        let mut decoded = Decoded::of(RecordClass::Meta);
        let Some(id) = meta.id.filled() else { return decoded };
        if self.state.settled {
            return decoded;
        }
        self.state.settled = true;
        let spawned_by =
            meta.source.0.subagent.as_ref().and_then(|Loose(agent)| agent.thread_spawn.0.parent_thread_id.filled());
        let native = meta.session_id.filled().or(meta.parent_thread_id.filled()).or(spawned_by).unwrap_or(id);
        let lane = if native == id { "" } else { id };
        self.state.sub_agent = !lane.is_empty() || meta.source.0.subagent.is_some();
        decoded.facts.push(Fact::Session { native: native.to_owned(), lane: lane.to_owned(), parent_call: None });
        if let Some(version) = meta.cli_version.filled() {
            decoded.facts.push(Fact::Version(version.to_owned()));
        }
        if let Some(cwd) = meta.cwd.filled() {
            self.state.cwd = Some(cwd.to_owned());
            // A sub-agent may be started in another folder; that does not change the session's folder.
            if lane.is_empty() {
                decoded.facts.push(Fact::Cwd(cwd.to_owned()));
            }
        }
        if let Some(origin) = meta.forked_from_id.filled() {
            decoded.facts.push(Fact::ForkOf { native: origin.to_owned() });
        }
        decoded
    }

    fn context(&mut self, context: &Context) {
        if let Some(cwd) = context.cwd.filled() {
            self.state.cwd = Some(cwd.to_owned());
        }
        if let Some(model) = context.model.filled() {
            self.state.model = Some(model.to_owned());
        }
    }

    fn item(&mut self, item: Item, compaction_output: bool, at: Option<i64>) -> Result<Decoded, String> {
        let common = Common {
            at,
            run: item.passthrough.0.turn_id.filled().map(str::to_owned).or_else(|| self.state.run.clone()),
            id: item.id.filled().map(str::to_owned),
            echo: false,
        };
        let mut decoded = Decoded::of(RecordClass::Conversation);
        match item.kind.or_empty() {
            "message" => match item.role.or_empty() {
                "user" => {
                    let parts = contents(item.content, "payload.content")?;
                    decoded.turns = self.prompt(&common, parts, |place, text| {
                        who_wrote(&item.passthrough.0, place).unwrap_or_else(|| !opens_like_machine(text))
                    });
                }
                // The `compacted` line that follows repeats the summary, and it takes effect there.
                "assistant" if compaction_output => decoded.class = RecordClass::Compaction,
                "assistant" => {
                    let parts = contents(item.content, "payload.content")?;
                    decoded.turns = self.turns_of_kind(&common, TurnKind::Message, texts(parts));
                }
                _ => decoded.class = RecordClass::Attachment,
            },
            "reasoning" => {
                let mut parts = texts(item.summary.0.into_iter().map(|Loose(part)| part).collect());
                if parts.iter().all(|text| text.trim().is_empty()) {
                    parts = texts(contents(item.content, "payload.content")?);
                }
                decoded.turns = self.turns_of_kind(&common, TurnKind::Thinking, parts);
            }
            "compaction" | "compaction_summary" | "context_compaction" => decoded.class = RecordClass::Compaction,
            "ghost_snapshot" => decoded.class = RecordClass::Meta,
            kind if kind.ends_with("_call") => decoded.turns.push(self.call(&common, kind, &item)?),
            kind if kind.ends_with("_output") => decoded.turns.push(self.output(&common, &item)?),
            _ => decoded.class = RecordClass::Unknown,
        }
        self.state.settled |= !decoded.turns.is_empty();
        Ok(decoded)
    }

    /// Returns the turns of a message of role `user`, one per piece. `by_person` returns whether a person wrote a
    /// piece.
    fn prompt(&self, common: &Common, parts: Vec<Content>, by_person: impl Fn(usize, &str) -> bool) -> Vec<NewTurn> {
        let mut turns: Vec<NewTurn> = Vec::new();
        let mut pictures = Vec::new();
        let push = |turns: &mut Vec<NewTurn>, place: usize, text: String| {
            let (role, kind) = if !self.state.sub_agent && by_person(place, &text) {
                (Role::User, TurnKind::Message)
            } else {
                (Role::System, TurnKind::MachinePrompt)
            };
            turns.push(self.turn(common, place, role, kind, text));
        };
        for (place, part) in parts.into_iter().enumerate() {
            if let Some(text) = part.text.get() {
                if !text.trim().is_empty() && !is_picture_tag(text) {
                    push(&mut turns, place, part.text.into_string());
                }
            } else if let Some(kind) = part.kind.filled() {
                let picture = marker(kind);
                // The user interface also receives mentions and skills, which the model gets in other words. Including
                // them here would keep the echo from matching its turn.
                if !common.echo || picture == "[image]" {
                    pictures.push((place, picture));
                }
            }
        }
        // A picture belongs to its prompt: a turn of its own would look like a second prompt.
        for (place, picture) in pictures {
            match turns.iter_mut().rev().find(|turn| turn.role == Role::User) {
                Some(turn) => {
                    turn.text.push('\n');
                    turn.text.push_str(&picture);
                }
                None => push(&mut turns, place, picture),
            }
        }
        turns
    }

    /// Returns the turns of the model's messages or reasoning, one per piece.
    fn turns_of_kind(&self, common: &Common, kind: TurnKind, texts: Vec<String>) -> Vec<NewTurn> {
        let pieces = texts.into_iter().enumerate().filter(|(_, text)| !text.trim().is_empty());
        pieces
            .map(|(place, text)| NewTurn {
                model: self.state.model.clone(),
                message: common.id.clone(),
                ..self.turn(common, place, Role::Assistant, kind, text)
            })
            .collect()
    }

    fn call(&mut self, common: &Common, kind: &str, item: &Item) -> Result<NewTurn, String> {
        let input = item.arguments.or(item.input).or(item.action).or(item.revised_prompt);
        let mut turn = self.turn(common, 0, Role::Assistant, TurnKind::ToolCall, input_text(input)?);
        // Calls of the model's built-in tools carry no name: `local_shell_call`, `web_search_call`.
        turn.tool = Some(item.name.filled().unwrap_or_else(|| kind.trim_end_matches("_call")).to_owned());
        turn.call = item.call_id.filled().map(str::to_owned).or_else(|| common.id.clone());
        turn.entry = turn.entry.or_else(|| turn.call.as_ref().map(|call| scoped(common, &format!("{call}:call"))));
        turn.model = self.state.model.clone();
        if let (Some(call), Some(tool)) = (&turn.call, &turn.tool) {
            if self.state.calls.len() >= OPEN_CALLS {
                self.state.calls.pop_front();
            }
            self.state.calls.push_back((call.clone(), tool.clone()));
        }
        Ok(turn)
    }

    fn output(&mut self, common: &Common, item: &Item) -> Result<NewTurn, String> {
        let (text, failed) = output_text(item.output)?;
        let mut turn = self.turn(common, 0, Role::Tool, TurnKind::ToolResult, text);
        turn.failed = failed;
        turn.call = item.call_id.filled().map(str::to_owned);
        turn.entry = turn.entry.or_else(|| turn.call.as_ref().map(|call| scoped(common, &format!("{call}:output"))));
        if let Some(i) = self.state.calls.iter().rposition(|(call, _)| Some(call.as_str()) == turn.call.as_deref()) {
            turn.tool = self.state.calls.remove(i).map(|(_, tool)| tool);
        }
        Ok(turn)
    }

    fn event(&mut self, event: Event, at: Option<i64>) -> Result<Decoded, String> {
        let run = event.turn_id.filled().map(str::to_owned).or_else(|| self.state.run.clone());
        let mut common = Common { at, run, id: None, echo: true };
        let mut decoded = Decoded::of(RecordClass::Conversation);
        match event.kind.or_empty() {
            "item_completed" => decoded = self.completed(common, event.item.0)?,
            "user_message" => {
                let pictures =
                    event.images.0.iter().map(|_| Content { kind: "input_image".into(), ..Content::default() });
                let text = Content { text: event.message, ..Content::default() };
                let parts = std::iter::once(text).chain(pictures).collect();
                decoded.turns = self.prompt(&common, parts, |_, text| !opens_like_machine(text));
            }
            "agent_message" => {
                decoded.turns = self.turns_of_kind(&common, TurnKind::Message, vec![event.message.into_string()]);
            }
            "agent_reasoning" | "agent_reasoning_raw_content" => {
                decoded.turns = self.turns_of_kind(&common, TurnKind::Thinking, vec![event.text.into_string()]);
            }
            "task_started" | "turn_started" => {
                decoded.class = RecordClass::Meta;
                self.state.run = common.run.take();
            }
            "task_complete" | "turn_complete" => {
                decoded = self.run_end(common, RunStatus::Completed, None);
            }
            "turn_aborted" => {
                decoded = self.run_end(common, RunStatus::Interrupted, event.reason.filled().map(str::to_owned));
            }
            "thread_settings_applied" => {
                decoded.class = RecordClass::Meta;
                self.context(&event.thread_settings.0);
            }
            "thread_name_updated" => {
                decoded.class = RecordClass::Meta;
                decoded.facts.extend(event.thread_name.filled().map(|name| Fact::Title(name.to_owned())));
            }
            // The `compacted` line reports the compaction.
            "context_compacted" => decoded.class = RecordClass::Compaction,
            "token_count"
            | "session_configured"
            | "thread_rolled_back"
            | "thread_goal_updated"
            | "turn_diff"
            | "plan_update"
            | "error"
            | "warning"
            | "stream_error"
            | "background_event"
            | "model_reroute"
            | "undo_started"
            | "undo_completed"
            | "entered_review_mode"
            | "exited_review_mode" => {
                decoded.class = RecordClass::Meta;
            }
            kind if ["_begin", "_end", "_delta", "_interaction", "_request", "item_started"]
                .iter()
                .any(|end| kind.ends_with(end)) =>
            {
                decoded.class = RecordClass::Progress;
            }
            _ => decoded.class = RecordClass::Unknown,
        }
        self.state.settled |= !decoded.turns.is_empty();
        Ok(decoded)
    }

    /// Decodes the event of a finished item.
    fn completed(&mut self, mut common: Common, item: EventItem) -> Result<Decoded, String> {
        common.id = item.id.filled().map(str::to_owned);
        let mut decoded = Decoded::of(RecordClass::Conversation);
        match item.kind.or_empty() {
            "UserMessage" => {
                let parts = contents(item.content, "payload.item.content")?;
                decoded.turns = self.prompt(&common, parts, |_, _| true);
            }
            "AgentMessage" => {
                let parts = contents(item.content, "payload.item.content")?;
                decoded.turns = self.turns_of_kind(&common, TurnKind::Message, texts(parts));
            }
            "Reasoning" => {
                let parts = item.summary_text.0.into_iter().map(Str::into_string).collect();
                decoded.turns = self.turns_of_kind(&common, TurnKind::Thinking, parts);
            }
            "ContextCompaction" => decoded.class = RecordClass::Compaction,
            "CollabAgentToolCall" => {
                decoded.class = RecordClass::Progress;
                // Later calls to the same agent (send, wait, close) name it too; only the first one started it.
                if item.tool.get() == Some("spawn_agent")
                    && let Some(call) = common.id
                {
                    let lanes = item.receiver_thread_ids.0.iter().filter_map(|lane| lane.filled());
                    let fact = |lane: &str| Fact::LaneCall { lane: lane.to_owned(), call: call.clone() };
                    decoded.facts.extend(lanes.map(fact));
                }
            }
            // Commands, file changes, searches: their calls and outputs are response items.
            _ => decoded.class = RecordClass::Progress,
        }
        Ok(decoded)
    }

    fn run_end(&mut self, common: Common, status: RunStatus, reason: Option<String>) -> Decoded {
        let mut decoded = Decoded::of(RecordClass::Meta);
        self.state.run = None;
        decoded.facts.push(Fact::RunEnd { run: common.run, status, reason, at: common.at });
        decoded
    }

    fn compacted(&mut self, compacted: Compacted, at: Option<i64>) -> Decoded {
        let mut decoded = Decoded::of(RecordClass::Compaction);
        decoded.facts.push(Fact::Compaction { trigger: None, at });
        // The response's id belongs to the model's answer; the summary made from it is another turn.
        let response = compacted.compaction_response_id.filled().map(|id| format!("{id}:compacted"));
        let text = compacted.message.into_string();
        if !text.trim().is_empty() {
            let mut common = Common { at, run: self.state.run.clone(), id: None, echo: false };
            common.id = response.map(|id| scoped(&common, &id));
            decoded.turns.push(self.turn(&common, 0, Role::System, TurnKind::CompactSummary, text));
            self.state.settled = true;
        }
        decoded
    }

    fn usage(&self, record: &UsageRecord) -> Decoded {
        let mut decoded = Decoded::of(RecordClass::Meta);
        let run = record.turn_id.filled().map(str::to_owned).or_else(|| self.state.run.clone());
        if let Some(Loose(usage)) = &record.turn_token_usage {
            let usage = Usage {
                input: usage.input_tokens.count(),
                output: usage.output_tokens.count(),
                cache_read: usage.cached_input_tokens.count(),
                cache_write: usage.cache_write_input_tokens.count(),
            };
            decoded.facts.push(Fact::RunUsage { run, usage });
        }
        decoded
    }

    fn turn(&self, common: &Common, place: usize, role: Role, kind: TurnKind, text: String) -> NewTurn {
        let entry = |id: &String| {
            // The model's server chooses these ids, and not every server's ids are unique.
            let id = if role == Role::Assistant { scoped(common, id) } else { id.clone() };
            if place == 0 { id } else { format!("{id}#{place}") }
        };
        NewTurn {
            entry: common.id.as_ref().map(entry),
            at: common.at,
            run: common.run.clone(),
            cwd: self.state.cwd.clone(),
            echo: common.echo,
            ..NewTurn::new(role, kind, text)
        }
    }
}

impl Decoder for Rollout {
    fn line(&mut self, bytes: &[u8]) -> Decoded {
        self.record(bytes).unwrap_or_else(Decoded::quarantined)
    }

    fn row(&mut self, _row: &Row) -> Decoded {
        Decoded::quarantined("Codex keeps lines, not tables")
    }

    fn state(&self) -> Vec<u8> {
        serde_json::to_vec(&self.state).unwrap_or_default()
    }
}

/// Makes an id given by the model's server unique, by the turn (in Codex's sense) it belongs to. Copies keep that
/// turn's id.
fn scoped(common: &Common, id: &str) -> String {
    match &common.run {
        Some(run) => format!("{run}/{id}"),
        None => id.to_owned(),
    }
}

/// Whether a person wrote a piece of content; `None` if Codex does not record it.
fn who_wrote(passthrough: &Passthrough, place: usize) -> Option<bool> {
    let provenance = passthrough.content_item_metadata.0.get(place).and_then(|Loose(m)| m.provenance.0.kind.filled());
    if let Some(provenance) = provenance {
        return Some(provenance == "user");
    }
    match passthrough.content_item_kinds.0.get(place).and_then(Str::filled) {
        None | Some("unknown") => None,
        Some(kind) => Some(kind.starts_with("user.")),
    }
}

fn opens_like_machine(text: &str) -> bool {
    let text = text.trim_start();
    MACHINE_OPENINGS.iter().any(|opening| text.starts_with(opening))
}

/// Reads content as pieces; a string is one piece of text.
fn contents<'a>(raw: Option<&'a RawValue>, what: &str) -> Result<Vec<Content<'a>>, String> {
    let Some(raw) = raw else { return Ok(Vec::new()) };
    match raw.get().as_bytes().first() {
        Some(b'"') => Ok(vec![Content { text: parse_part(raw, what)?, ..Content::default() }]),
        Some(b'[') => {
            let parts: List<Loose<Content>> = parse_part(raw, what)?;
            Ok(parts.0.into_iter().map(|Loose(part)| part).collect())
        }
        _ => Err(format!("{what} has an unexpected shape")),
    }
}

fn texts(parts: Vec<Content>) -> Vec<String> {
    parts.into_iter().map(|part| part.text.into_string()).collect()
}

/// Whether a text is one of the two tags that Codex puts around a picture for the model.
fn is_picture_tag(text: &str) -> bool {
    let text = text.trim();
    text == "</image>" || (text.starts_with("<image") && text.ends_with('>') && text.matches('<').count() == 1)
}

/// Returns the placeholder in a text for content that is not text.
fn marker(kind: &str) -> String {
    match kind {
        "input_image" | "image" | "local_image" | "LocalImage" | "Image" => "[image]".into(),
        "input_file" => "[document]".into(),
        other => format!("[{other}]"),
    }
}

/// Returns a call's input as text. Arguments are JSON in a string; a string that is not JSON is the input itself.
fn input_text(raw: Option<&RawValue>) -> Result<String, String> {
    let Some(raw) = raw else { return Ok(String::new()) };
    let unreadable = |_| "a tool's input cannot be read".to_owned();
    if !raw.get().starts_with('"') {
        return readable(raw.get()).map_err(unreadable);
    }
    let text: String = serde_json::from_str(raw.get()).map_err(unreadable)?;
    if text.trim_start().starts_with('{')
        && let Ok(text) = readable(&text)
    {
        return Ok(text);
    }
    Ok(text)
}

/// Returns an output as text, and whether it reports that the tool failed.
fn output_text(raw: Option<&RawValue>) -> Result<(String, bool), String> {
    let Some(raw) = raw else { return Ok((String::new(), false)) };
    let what = "payload.output";
    match raw.get().as_bytes().first() {
        Some(b'"') => {
            let text: String = parse_part(raw, what)?;
            // The oldest form: {"output": "…", "metadata": {"exit_code": 0}} in a string.
            if text.starts_with('{')
                && let Ok(Output { output: Some(output), metadata: Some(Loose(metadata)), .. }) =
                    serde_json::from_str::<Output>(&text)
                && let Ok(output) = serde_json::from_str::<String>(output.get())
            {
                return Ok((output, metadata.exit_code.get().is_some_and(|code| code != 0)));
            }
            let failed = exit_code(&text).is_some_and(|code| code != 0);
            Ok((text, failed))
        }
        Some(b'[') => Ok((joined(contents(Some(raw), what)?), false)),
        Some(b'{') => {
            let output: Output = parse_part(raw, what)?;
            let failed = output.success.is_some_and(|success| success.get() == "false");
            let Some(content) = output.content.or(output.output) else {
                return Ok((readable(raw.get()).map_err(|_| format!("{what} cannot be read"))?, failed));
            };
            Ok((joined(contents(Some(content), what)?), failed))
        }
        _ => Err(format!("{what} has an unexpected shape")),
    }
}

/// Returns the exit code in the header that the shell tools put before a command's output.
fn exit_code(text: &str) -> Option<i64> {
    let header = text.lines().take(6).take_while(|line| *line != "Output:");
    if !(text.starts_with("Chunk ID: ") || text.starts_with("Exit code: ") || text.starts_with("Wall time: ")) {
        return None;
    }
    header
        .filter_map(|line| line.strip_prefix("Process exited with code ").or(line.strip_prefix("Exit code: ")))
        .find_map(|code| code.trim().parse().ok())
}

fn joined(parts: Vec<Content>) -> String {
    let texts: Vec<String> = parts
        .into_iter()
        .map(|part| match part.text.get() {
            Some(_) => part.text.into_string(),
            None => marker(part.kind.or_empty()),
        })
        .collect();
    texts.join("\n")
}
