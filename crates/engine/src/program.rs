//! The engine's view of an outside program (D10). Storey 0.
//!
//! The engine knows no program by name: its caller passes values that implement [`Program`]. The crate
//! `heirloom-harness` has those of Claude Code, Codex, OpenCode and OpenClaw; `examples/own_program.rs` makes one.

use std::path::{Path, PathBuf};

use uuid::Uuid;

use crate::clock::Millis;
use crate::event::{Decoder, ForeignSpec, HookEvent, Placement};

/// An outside program whose sessions are kept. Data and pure functions: nothing here opens a file.
pub trait Program: Send + Sync {
    /// Returns the program's name in session keys, options and tables: `claude-code`.
    fn name(&self) -> &'static str;

    /// Returns the program's name for people: `Claude Code`.
    fn title(&self) -> &'static str;

    /// Whether entry ids are unique beyond the session, so that an entry found in another session is a copy of the
    /// first (a fork).
    fn global_ids(&self) -> bool;

    /// Returns the folders in which the program keeps sessions on this machine, whether or not they exist.
    fn roots(&self) -> Vec<PathBuf>;

    /// Returns the form of a session store, judging a file below one of the roots by its path alone; `None` if it is no
    /// store.
    fn form(&self, path: &Path) -> Option<Form>;

    /// Returns the facts about a stream that its path alone gives.
    fn place(&self, path: &Path) -> Placement;

    /// Returns a decoder for one stream (one file, or one group of rows), either fresh (`state` empty) or continuing
    /// from the [`Decoder::state`] of an earlier one. A state it cannot read counts as empty.
    fn decoder(&self, placement: &Placement, state: &[u8]) -> Box<dyn Decoder>;

    /// Returns the version of the decoder. It grows when a record that was decoded before now means something else:
    /// other turns, another text, role or time. `verify` decodes stored records again and calls a difference damage
    /// only within one version.
    fn decoding(&self) -> u32 {
        1
    }

    /// Returns how the program's SQLite store is read, if it has one.
    fn foreign(&self) -> Option<&'static ForeignSpec> {
        None
    }

    /// Decodes the payload of a hook. `None`: the payload does not concern a memory.
    fn hook_call(&self, _event: &str, _payload: Vec<u8>, _at: Millis) -> Result<Option<HookCall>, HookError> {
        Err(HookError::UnknownEvent)
    }

    /// Returns the shell command that resumes a session in the program, if there is one. `cwd`: folder the session ran
    /// in.
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

/// Id of one call of a hook, whichever way it reaches the ledger: a UUID of version 7.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct HookId(Uuid);

impl HookId {
    /// Makes a new id.
    pub fn new() -> HookId {
        HookId(Uuid::now_v7())
    }

    /// Parses an id as [`Display`](std::fmt::Display) writes it. `None` for anything else.
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

/// A call of a program's hook, decoded; the spool stores one that could not be handled.
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
    /// Whether the reply reaches a model. Otherwise the call is only stored.
    pub gives: bool,
    pub injection: Injection,
    /// The decoded event of the payload.
    pub event: HookEvent,
    /// Id of the call; a call without an id is stored as often as it arrives.
    pub id: Option<HookId>,
}

/// The way a program handles the context it is given.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Injection {
    /// The channel by which the context reaches the model: `additionalContext`, `system`.
    pub channel: &'static str,
    /// Whether the program stores the context and sends it again by itself (R10.6).
    pub stores: bool,
    /// Whether the program keeps the person's words over a compaction, beside its summary.
    pub keeps_words: bool,
    /// Most characters the program takes without cutting (R12.3).
    pub characters: usize,
}

/// Reason why a payload is no call.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum HookError {
    /// The program has no such hook, or none that Heirloom handles.
    UnknownEvent,
    /// The payload is not the expected JSON; the text says why.
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
