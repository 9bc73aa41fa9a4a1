//! What enters the engine: records of a program, decoded into turns and facts. Storey 0, free of serde.
//!
//! A *source record* is bytes and is kept whatever it says; the ledger needs no decoder for that. A *turn* is what a
//! record means. Between the two stands a [`Decoder`], written once per program in the `harness` crate, pure: bytes in,
//! [`Decoded`] out. Everything here is named in the field's words (SPEC §2); no program is.

use crate::clock::Millis;

/// Who speaks in a turn.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Role {
    /// A person.
    User,
    /// The model.
    Assistant,
    /// A tool's answer.
    Tool,
    /// The program itself: machine prompts, compaction summaries.
    System,
}

/// What a turn is.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum TurnKind {
    /// Words said by a person or the model.
    Message,
    /// The model's reasoning, as far as the program keeps it.
    Thinking,
    /// The model calls a tool; `text` is its input in readable form.
    ToolCall,
    /// A tool answers; `text` is the answer.
    ToolResult,
    /// A summary the program wrote when it compacted its context (R5.4). Never a user prompt.
    CompactSummary,
    /// Put into the conversation by the program: task notifications, instruction files, local commands,
    /// sub-agent prompts, injected context. Never a user prompt (R12.3).
    MachinePrompt,
}

/// Tokens as the program reported them for one model message.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub struct Usage {
    pub input: Option<u64>,
    pub output: Option<u64>,
    pub cache_read: Option<u64>,
    pub cache_write: Option<u64>,
}

/// One turn as a decoder sees it. The engine gives it its place, its id and its lane.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct NewTurn {
    /// The program's own id for this turn: unique within the session, the same whenever the same turn is read again.
    /// Where one record carries several turns, the later ones are `id#1`, `id#2` … by their place in the record.
    /// `None`: the engine addresses the turn by its place in the stream.
    pub entry: Option<String>,
    /// The entry id this one follows, where the program keeps a tree.
    pub parent: Option<String>,
    /// The program's session id, where a stream mixes several sessions; `None`: the stream's own.
    pub session: Option<String>,
    pub role: Role,
    pub kind: TurnKind,
    /// A name, where the conversation has named participants.
    pub speaker: Option<String>,
    pub text: String,
    /// Tool name, for calls and results.
    pub tool: Option<String>,
    /// What joins a call and its result.
    pub call: Option<String>,
    /// The tool reported an error, or the message says a request failed.
    pub failed: bool,
    pub at: Option<Millis>,
    pub model: Option<String>,
    /// The model message this turn is part of: usage is counted once per message.
    pub message: Option<String>,
    pub usage: Option<Usage>,
    /// The program's id for everything from one prompt to the end of its answer.
    pub run: Option<String>,
    /// Working directory of the record.
    pub cwd: Option<String>,
    /// Who takes part, where the conversation says so (R5.5).
    pub participants: Vec<String>,
    /// Which lane of work the caller says this belongs to (R5.5).
    pub thread: Option<String>,
    /// This record repeats a turn the program also writes in another form. It becomes a witness of the turn with the
    /// same run, role and text, and a turn of its own only where there is none.
    pub echo: bool,
}

impl NewTurn {
    /// A turn with nothing but its meaning; the rest is filled in with struct update.
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

/// How a run ended, in the program's view.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum RunStatus {
    Completed,
    /// The person stopped it.
    Interrupted,
    Failed,
}

/// Something a record says that is not a turn.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Fact {
    /// Which session, and which lane of it, this stream holds. Expected before the first turn; without it the stream's
    /// [`Placement`] counts. `lane` is empty for the main line; `parent_call` is the tool call that started a lane.
    Session { native: String, lane: String, parent_call: Option<String> },
    /// The tool call that started a lane, learnt from the parent's stream.
    LaneCall { lane: String, call: String },
    /// Human title of the session.
    Title(String),
    /// The project folder the session was started in.
    Cwd(String),
    /// Version of the program that wrote the record.
    Version(String),
    /// The session began as a copy of another.
    ForkOf { native: String },
    /// The run ended. `run`: the program's run id, where it has one.
    RunEnd { run: Option<String>, status: RunStatus, reason: Option<String>, at: Option<Millis> },
    /// Total usage the program reports for a run; replaces what the engine summed up.
    RunUsage { run: Option<String>, usage: Usage },
    /// What the program says it asked the model: a fingerprint of the request.
    RequestFingerprint { run: Option<String>, fingerprint: String },
    /// The context was compacted here; the summary, where there is one, is a turn of its own.
    Compaction { trigger: Option<String>, at: Option<Millis> },
    /// The program started over under the same session id.
    Segment { reason: String, at: Option<Millis> },
    /// The program says the session is over.
    SessionEnd { at: Option<Millis> },
}

/// What a record is, whether or not it makes a turn.
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
    /// A stored copy of a model request.
    Blob,
    /// White space.
    Blank,
    /// Well-formed, of a type this decoder does not know. Kept, and counted so that it can be noticed.
    Unknown,
    /// Could not be decoded; set aside with a reason.
    Quarantined,
}

/// One record, decoded.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Decoded {
    pub class: RecordClass,
    pub turns: Vec<NewTurn>,
    pub facts: Vec<Fact>,
    /// Why it is [`RecordClass::Quarantined`]: one short sentence without a full stop.
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

/// What the place of a stream says before a byte of it is read.
#[derive(Clone, PartialEq, Eq, Default, Debug)]
pub struct Placement {
    /// The program's session id, from the file's name.
    pub native: String,
    /// Empty for the main line, else the lane (sub-agent).
    pub lane: String,
    /// The agent whose memory this is, where the program's folders tell; `None`: the home's default agent.
    pub agent: Option<String>,
}

/// One foreign table row: the bytes that are kept, and the columns to read.
#[derive(Clone, PartialEq, Debug)]
pub struct Row {
    pub table: String,
    /// Primary key as text, several columns joined by `/`.
    pub key: String,
    /// Columns in declaration order. Compressed bodies the spec names are already opened into their text column here,
    /// though the kept bytes hold what is stored.
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

/// Turns one stream's records into meaning. One value per stream; it may remember what earlier records said (working
/// directory, model, current run), and that memory must survive in [`Decoder::state`], since a stream is read in
/// several sittings. Must never panic, whatever the bytes.
pub trait Decoder {
    /// One line of a file, without its newline. Never called for blank lines.
    fn line(&mut self, bytes: &[u8]) -> Decoded;

    /// One row of a foreign database. Rows come in the order the store's spec asks for.
    fn row(&mut self, row: &Row) -> Decoded;

    /// What must be known to go on in a later process: small, opaque to the engine.
    fn state(&self) -> Vec<u8>;
}

/// A foreign SQLite store, as data: which rows are kept, how to find what changed. All statements are run read-only.
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
    /// too: what an earlier row says (a message is finished) decides what a later one means (its parts are turns).
    pub item_rows: &'static [RowQuery],
    /// `(zstd column, text column)`: where the text column is NULL the compressed one is opened into it for decoding.
    pub zstd: &'static [(&'static str, &'static str)],
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct RowQuery {
    pub table: &'static str,
    /// Columns that make the primary key.
    pub key: &'static [&'static str],
    /// `SELECT * FROM …`, read with all columns in declaration order.
    pub sql: &'static str,
}

/// What a program's hook says happened (R12.1), decoded from its payload.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct HookEvent {
    /// The program's session id.
    pub session: String,
    /// The agent whose memory this is, where the program tells; `None`: the home's default agent.
    pub agent: Option<String>,
    /// Empty for the main line, else the sub-agent it happened in.
    pub lane: String,
    /// Working directory.
    pub cwd: Option<String>,
    /// Where the program says it keeps this session. To be believed only beneath its roots (R14.3).
    pub store: Option<std::path::PathBuf>,
    /// The program's id of the run, the same as its store has.
    pub run: Option<String>,
    pub moment: Moment,
}

/// The moments of a session that somebody may have to act on.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Moment {
    /// A session begins or goes on.
    Start(Beginning),
    /// A person said something. Never what a program said in their place (R12.3). `entry`: what the program's store will
    /// call it, where that is known already. `first_chance`: the program offers no earlier moment to be given something.
    Prompt { text: String, entry: Option<String>, first_chance: bool },
    /// A run is over; `answer`: its last words, where the payload has them.
    TurnEnd { answer: Option<String> },
    /// The context is about to be cut. `heard`: what is given reaches the summariser, and nobody else.
    Compacting { heard: bool },
    /// The context was cut; the session goes on.
    Compacted,
    /// The program starts over under the same session id.
    Cleared,
    /// The session is over, as far as the program says so.
    End,
}

/// How a session begins.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Beginning {
    Startup,
    Resume,
    /// A person cleared the context, and wants it clear.
    Clear,
    /// The context was cut just now.
    Compact,
    /// As a copy of another session.
    Fork,
}

/// A prompt without the quotation marks around all of it: one program writes what it is given on its command line so. They
/// stay in what is kept; for what is understood they are not there.
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
