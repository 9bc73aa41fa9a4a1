//! An outside program, as much of it as the engine needs to know (D10). Storey 0.
//!
//! The engine knows no program by name: whoever opens it hands over values that implement [`Program`]. The crate
//! `heirloom-harness` has those of Claude Code, Codex, OpenCode and OpenClaw; `examples/own_program.rs` makes one.

use std::path::{Path, PathBuf};

use uuid::Uuid;

use crate::clock::Millis;
use crate::event::{Decoder, ForeignSpec, HookEvent, Placement};

/// An outside program whose sessions are kept. Data and pure functions: nothing here opens a file.
pub trait Program: Send + Sync {
    /// Its name in session keys, options and tables: `claude-code`.
    fn name(&self) -> &'static str;

    /// Its name for people: `Claude Code`.
    fn title(&self) -> &'static str;

    /// Entry ids are unique beyond the session, so that an entry found again in another session is a copy of it (a fork).
    fn global_ids(&self) -> bool;

    /// Folders where it keeps sessions on this machine, whether or not they exist.
    fn roots(&self) -> Vec<PathBuf>;

    /// Whether a file below one of the roots is a session store, judged by its path alone, and of which form.
    fn form(&self, path: &Path) -> Option<Form>;

    /// What the path alone says of the stream.
    fn place(&self, path: &Path) -> Placement;

    /// A decoder for one stream (one file, or one group of rows), either fresh (`state` empty) or going on where an
    /// earlier one's [`Decoder::state`] left off. A state it cannot read counts as empty.
    fn decoder(&self, placement: &Placement, state: &[u8]) -> Box<dyn Decoder>;

    /// The version of the decoder. It grows when a record that was decoded before means something else now: other turns,
    /// another text, role or time. `verify` decodes again what was stored and calls a difference damage only within one
    /// version.
    fn decoding(&self) -> u32 {
        1
    }

    /// How its SQLite store is read, where it has one.
    fn foreign(&self) -> Option<&'static ForeignSpec> {
        None
    }

    /// What the payload of a hook means. `None`: nothing that concerns a memory.
    fn hook_call(&self, _event: &str, _payload: Vec<u8>, _at: Millis) -> Result<Option<HookCall>, HookError> {
        Err(HookError::UnknownEvent)
    }

    /// The shell command that resumes a session in the program, where there is one. `cwd`: where the session ran.
    fn resume(&self, _native: &str, _cwd: Option<&str>) -> Option<String> {
        None
    }
}

/// The two forms a session store has.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Form {
    /// A file of JSON lines; each file is one stream.
    Lines,
    /// A SQLite database, read through [`Program::foreign`].
    Foreign,
}

/// What one call of a hook is known by, however it reaches the ledger: a UUID of version 7.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct HookId(Uuid);

impl HookId {
    /// A new one.
    pub fn new() -> HookId {
        HookId(Uuid::now_v7())
    }

    /// Reads one as [`Display`](std::fmt::Display) writes it. `None` for anything else.
    pub fn parse(text: &str) -> Option<HookId> {
        let id = Uuid::try_parse(text).ok()?;
        (id.get_version_num() == 7).then_some(HookId(id))
    }

    pub(crate) fn bytes(&self) -> &[u8] {
        self.0.as_bytes()
    }
}

impl Default for HookId {
    fn default() -> HookId {
        HookId::new()
    }
}

impl std::fmt::Display for HookId {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        self.0.fmt(f)
    }
}

/// A hook a program has called: from its payload to what is done about it, and in the spool between the two.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct HookCall {
    /// The program's name.
    pub program: &'static str,
    /// The program's own name for the hook: `UserPromptSubmit`.
    pub hook: &'static str,
    /// When it was called.
    pub at: Millis,
    /// The payload, byte for byte.
    pub payload: Vec<u8>,
    /// What is answered reaches a model. Without it everything is only stored.
    pub gives: bool,
    pub injection: Injection,
    /// What the payload says.
    pub event: HookEvent,
    /// What the call is known by; a call without one is stored as often as it comes.
    pub id: Option<HookId>,
}

/// What a program does with what it is given.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Injection {
    /// How it gets there: `additionalContext`, `system`.
    pub channel: &'static str,
    /// It stores what it is given and sends it again by itself (R10.6).
    pub stores: bool,
    /// Over a compaction it keeps what the person said, beside its summary.
    pub keeps_words: bool,
    /// The most characters it takes whole (R12.3).
    pub characters: usize,
}

/// Why a payload is no call.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum HookError {
    /// The program has no such hook, or none that we are called for.
    UnknownEvent,
    /// Not the JSON it should be; what is wrong with it.
    Unreadable(String),
}

impl std::fmt::Display for HookError {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            HookError::UnknownEvent => f.write_str("the program has no hook of this name"),
            HookError::Unreadable(why) => write!(f, "the payload cannot be read: {why}"),
        }
    }
}
