//! The engine's input: records of a program, decoded into turns and facts. Storey 0, free of serde.
//!
//! A *source record* is bytes and is kept whatever it contains; the ledger needs no decoder for that. A *turn* is the
//! meaning of a record. A [`Decoder`] leads from one to the other: it is written once per program in the `harness`
//! crate and is pure, bytes in, [`Decoded`] out. Everything here is named in the terms of SPEC §2; no program is named.

use crate::clock::Millis;

/// The speaker of a turn.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Role {
    /// A person.
    User,
    /// The model.
    Assistant,
    /// A tool.
    Tool,
    /// The program itself: machine prompts, compaction summaries.
    System,
}

/// The kind of a turn.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum TurnKind {
    /// A message by a person or the model.
    Message,
    /// The model's reasoning, as far as the program keeps it.
    Thinking,
    /// The model calls a tool; `text` is its input in readable form.
    ToolCall,
    /// A tool answers; `text` is the answer.
    ToolResult,
    /// A summary the program wrote when it compacted its context (R5.4). Never a user prompt.
    CompactSummary,
    /// Inserted into the conversation by the program: task notifications, instruction files, local commands, sub-agent
    /// prompts, injected context. Never a user prompt (R12.3).
    MachinePrompt,
}

/// Token counts as the program reported them for one model message.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub struct Usage {
    pub input: Option<u64>,
    pub output: Option<u64>,
    pub cache_read: Option<u64>,
    pub cache_write: Option<u64>,
}

/// One turn as a decoder sees it. The engine assigns its position, its id and its lane.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct NewTurn {
    /// The program's own id for this turn: unique within the session and the same whenever the turn is read again.
    /// Where one record has several turns, the later ones are `id#1`, `id#2` … by their position in the record. `None`:
    /// the engine identifies the turn by its position in the stream.
    pub entry: Option<String>,
    /// The entry id this turn follows, where the program keeps a tree.
    pub parent: Option<String>,
    /// The program's session id, where a stream mixes several sessions; `None`: the stream's own.
    pub session: Option<String>,
    pub role: Role,
    pub kind: TurnKind,
    /// The speaker's name, where the conversation has named participants.
    pub speaker: Option<String>,
    pub text: String,
    /// Tool name, for calls and results.
    pub tool: Option<String>,
    /// The id shared by a call and its result.
    pub call: Option<String>,
    /// Whether the tool reported an error, or the message says that a request failed.
    pub failed: bool,
    pub at: Option<Millis>,
    pub model: Option<String>,
    /// The id of the model message this turn is part of: usage is counted once per message.
    pub message: Option<String>,
    pub usage: Option<Usage>,
    /// The program's id for everything from one prompt to the end of its answer.
    pub run: Option<String>,
    /// Working directory of the record.
    pub cwd: Option<String>,
    /// The participants, where the conversation names them (R5.5).
    pub participants: Vec<String>,
    /// The thread the caller assigns this turn to (R5.5).
    pub thread: Option<String>,
    /// Whether this record repeats a turn that the program also writes in another form. The record becomes a witness of
    /// the turn with the same run, role and text, and makes a turn itself only if there is no such turn.
    pub echo: bool,
}

impl NewTurn {
    /// Makes a turn with only these fields; the others are set with struct update syntax.
    pub fn new(role: Role, kind: TurnKind, text: impl Into<String>) -> NewTurn {
        NewTurn {
            entry: None,
            parent: None,
            session: None,
            role,
            kind,
            speaker: None,
            text: text.into(),
            tool: None,
            call: None,
            failed: false,
            at: None,
            model: None,
            message: None,
            usage: None,
            run: None,
            cwd: None,
            participants: Vec::new(),
            thread: None,
            echo: false,
        }
    }
}

/// The end of a run, in the program's view.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum RunStatus {
    Completed,
    /// The person stopped it.
    Interrupted,
    Failed,
}

/// A statement of a record that is not a turn.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Fact {
    /// The session, and the lane of it, that this stream contains. Expected before the first turn; without it the
    /// stream's [`Placement`] is used. `lane` is empty for the main line; `parent_call` is the tool call that started a
    /// lane.
    Session { native: String, lane: String, parent_call: Option<String> },
    /// The tool call that started a lane, as the parent's stream reports it.
    LaneCall { lane: String, call: String },
    /// The session's title, for people.
    Title(String),
    /// The project folder the session was started in.
    Cwd(String),
    /// Version of the program that wrote the record.
    Version(String),
    /// The session began as a copy of another.
    ForkOf { native: String },
    /// The run ended. `run`: the program's run id, where it has one.
    RunEnd { run: Option<String>, status: RunStatus, reason: Option<String>, at: Option<Millis> },
    /// Total usage the program reports for a run; replaces the engine's own sum.
    RunUsage { run: Option<String>, usage: Usage },
    /// A fingerprint of the request the program sent to the model.
    RequestFingerprint { run: Option<String>, fingerprint: String },
    /// The context was compacted here; the summary, where there is one, is a turn of its own.
    Compaction { trigger: Option<String>, at: Option<Millis> },
    /// The program started over under the same session id.
    Segment { reason: String, at: Option<Millis> },
    /// The program reports the end of the session.
    SessionEnd { at: Option<Millis> },
}

/// The class of a record, whether or not it makes a turn.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum RecordClass {
    /// Carries conversation.
    Conversation,
    /// Marks or carries a compaction.
    Compaction,
    /// Session header, settings, titles, counters, snapshots.
    Meta,
    /// Something attached for the model: instruction files, hook output, environment.
    Attachment,
    /// Progress of a running tool.
    Progress,
    /// A copy, kept by the program, of a request to its model.
    Blob,
    /// White space.
    Blank,
    /// Well-formed, of a type this decoder does not know. Kept and counted, so that new types are noticed.
    Unknown,
    /// Could not be decoded; quarantined with a reason.
    Quarantined,
}

/// One record, decoded.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Decoded {
    pub class: RecordClass,
    pub turns: Vec<NewTurn>,
    pub facts: Vec<Fact>,
    /// Reason for [`RecordClass::Quarantined`]: one short sentence without a full stop.
    pub reason: Option<String>,
}

impl Decoded {
    pub fn of(class: RecordClass) -> Decoded {
        Decoded { class, turns: Vec::new(), facts: Vec::new(), reason: None }
    }

    pub fn quarantined(reason: impl Into<String>) -> Decoded {
        Decoded { reason: Some(reason.into()), ..Decoded::of(RecordClass::Quarantined) }
    }
}

/// Facts that the path of a stream gives before the stream is read.
#[derive(Clone, PartialEq, Eq, Default, Debug)]
pub struct Placement {
    /// The program's session id, from the file's name.
    pub native: String,
    /// Empty for the main line, otherwise the lane (sub-agent).
    pub lane: String,
    /// The agent that owns the session, where the program's folders name one; `None`: the home's default agent.
    pub agent: Option<String>,
}

/// One foreign table row: the bytes that are kept, and the columns to read.
#[derive(Clone, PartialEq, Debug)]
pub struct Row {
    pub table: String,
    /// Primary key as text, several columns joined by `/`.
    pub key: String,
    /// Columns in declaration order. Compressed bodies that the spec names are unpacked into their text column here;
    /// the kept bytes have them packed.
    pub columns: Vec<(String, Cell)>,
}

impl Row {
    pub fn text(&self, column: &str) -> Option<&str> {
        match self.columns.iter().find(|(name, _)| name == column)? {
            (_, Cell::Text(text)) => Some(text),
            _ => None,
        }
    }

    pub fn integer(&self, column: &str) -> Option<i64> {
        match self.columns.iter().find(|(name, _)| name == column)? {
            (_, Cell::Integer(n)) => Some(*n),
            _ => None,
        }
    }
}

#[derive(Clone, PartialEq, Debug)]
pub enum Cell {
    Null,
    Integer(i64),
    Real(f64),
    Text(String),
    /// TEXT that is not UTF-8.
    RawText(Vec<u8>),
    Blob(Vec<u8>),
}

/// Decodes the records of one stream, one value per stream. It may remember facts of earlier records (working
/// directory, model, current run); that memory must be part of [`Decoder::state`], since a stream is read in several
/// steps. It must never panic, whatever the bytes.
pub trait Decoder {
    /// Decodes one line of a file, without its newline. Never called for blank lines.
    fn line(&mut self, bytes: &[u8]) -> Decoded;

    /// Decodes one row of a foreign database. Rows come in the order the store's spec asks for.
    fn row(&mut self, row: &Row) -> Decoded;

    /// Returns the state needed to continue in a later process: small, opaque to the engine.
    fn state(&self) -> Vec<u8>;
}

/// Describes a foreign SQLite store: which rows are kept, and how changed rows are found. All statements are run
/// read-only.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct ForeignSpec {
    /// One row per group (a session): group key as text, and an expression that changes whenever any row of the group
    /// does. A group whose fingerprint is unchanged is not read.
    pub groups: &'static str,
    /// Rows read first in every group, each `(table, key columns, statement with ?1 = group key)`.
    pub heads: &'static [RowQuery],
    /// Keys of the group's items in conversation order: one text or integer column, ?1 = group key.
    pub items: &'static str,
    /// Rows of one item, in order: ?1 = group key, ?2 = item key. A decoder is given all of them, the unchanged ones
    /// too, because an earlier row (a message is finished) decides the meaning of a later one (its parts are turns).
    pub item_rows: &'static [RowQuery],
    /// `(zstd column, text column)`: where the text column is NULL, the compressed one is decompressed into it for
    /// decoding.
    pub zstd: &'static [(&'static str, &'static str)],
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct RowQuery {
    pub table: &'static str,
    /// Columns of the primary key.
    pub key: &'static [&'static str],
    /// `SELECT * FROM …`, read with all columns in declaration order.
    pub sql: &'static str,
}

/// An event reported by a program's hook (R12.1), decoded from its payload.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct HookEvent {
    /// The program's session id.
    pub session: String,
    /// The agent that owns the session, where the program names one; `None`: the home's default agent.
    pub agent: Option<String>,
    /// Empty for the main line, otherwise the sub-agent in which the event happened.
    pub lane: String,
    /// Working directory.
    pub cwd: Option<String>,
    /// Path at which the program says it stores this session. Trusted only below the program's own roots (R14.3).
    pub store: Option<std::path::PathBuf>,
    /// Whether the payload names no store although payloads of its kind do: then no store will have its words.
    pub without_store: bool,
    /// The program's id of the run, as in its store.
    pub run: Option<String>,
    /// Time since the last answer in the session's context, where the payload of a beginning has it.
    pub silent_for: Option<Millis>,
    pub moment: Moment,
}

/// The events of a session that the engine may act on.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Moment {
    /// A session begins or is resumed.
    Start(Beginning),
    /// A prompt by a person, never one made by a program (R12.3). `entry`: its id in the program's store, where that is
    /// already known. `first_chance`: the program has no earlier event at which context can be injected.
    Prompt { text: String, entry: Option<String>, first_chance: bool },
    /// A run ended; `answer`: its final message, where the payload has it.
    TurnEnd { answer: Option<String> },
    /// The context is about to be compacted. `heard`: the reply to this event reaches the summariser, and only it.
    Compacting { heard: bool },
    /// The context was compacted; the session continues.
    Compacted,
    /// The program starts over under the same session id.
    Cleared,
    /// The program reports the end of the session.
    End,
}

/// Ways in which a session begins.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Beginning {
    Startup,
    Resume,
    /// A person cleared the context and wants it empty.
    Clear,
    /// The context was just compacted.
    Compact,
    /// The session began as a copy of another one.
    Fork,
}

/// Returns the prompt without quotation marks around the whole of it, which one program adds when the prompt comes from
/// its command line. The stored text keeps them; analysis ignores them.
pub fn unwrapped(prompt: &str) -> &str {
    let inner = prompt.trim().strip_prefix('"').and_then(|rest| rest.strip_suffix('"'));
    inner.filter(|inner| !inner.is_empty() && !inner.contains('"')).unwrap_or(prompt)
}

#[cfg(test)]
mod tests {
    use super::unwrapped;

    #[test]
    fn only_marks_around_all_of_a_prompt_go() {
        for (prompt, meant) in [
            ("\"I prefer tabs.\"", "I prefer tabs."),
            ("I prefer tabs.", "I prefer tabs."),
            ("\"yes\" or \"no\"", "\"yes\" or \"no\""),
            ("say \"yes\"", "say \"yes\""),
            ("\"\"", "\"\""),
            ("\"", "\""),
            ("", ""),
        ] {
            assert_eq!(unwrapped(prompt), meant);
        }
    }
}
