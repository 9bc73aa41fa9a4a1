//! The outside programs: where their sessions are stored, and how their records are decoded.
//!
//! One folder per program, each with a unit struct that implements [`Harness`]; [`ALL`] is the only list of them. A new
//! program is one folder and one line. Within a folder `wire.rs` is the JSON exactly as that program writes it (every
//! enum has an "other", nothing is required that is not used) and `transcript.rs` turns it into
//! [`Decoded`](heirloom_engine::event::Decoded) records.
//!
//! Pure: bytes and rows in, turns and facts out. This crate opens no file, reads no environment ([`HostPaths`] is
//! passed in) and knows no database. It uses `engine::{event, program, scope, error, clock}` and nothing else of the
//! engine; a test checks that.

pub mod claude_code;
pub mod clients;
pub mod codex;
mod command_hooks;
pub mod fidelity;
pub mod hook;
pub mod install;
mod lines;
mod loose;
pub mod on_machine;
pub mod openclaw;
pub mod opencode;
mod plugin_hooks;
pub mod turns;

use std::path::{Path, PathBuf};

use heirloom_engine::event::{Decoder, ForeignSpec, Placement};
pub use heirloom_engine::program::Form;
use heirloom_engine::program::{HookError, Injection};

use hook::{HookSpec, Hooking};
use install::{InstallPlan, Installed};
pub use on_machine::{OnMachine, on_machine};

/// Every program, in the order shown to people.
pub const ALL: &[&dyn Harness] =
    &[&claude_code::ClaudeCode, &codex::Codex, &opencode::OpenCode, &openclaw::OpenClaw, &turns::Turns];

/// Returns the program of that name (`claude-code`, `codex`, `opencode`, `openclaw`, `turns`).
pub fn by_name(name: &str) -> Option<&'static dyn Harness> {
    ALL.iter().copied().find(|h| h.spec().name == name)
}

/// An outside program whose sessions Heirloom keeps.
pub trait Harness: Sync {
    fn spec(&self) -> &'static HarnessSpec;

    /// Returns the folders in which this program keeps sessions on this machine, whether or not they exist.
    fn roots(&self, host: &HostPaths) -> Vec<PathBuf>;

    /// Returns the form of a session store, judging a file below one of the roots by its path alone; `None` if it is no
    /// store.
    fn claims(&self, path: &Path) -> Option<Form>;

    /// Whether a file from anywhere looks like this program's, judged by its path and its first bytes (at most 64 KiB,
    /// possibly cut inside a line). Used when a file is given without a program's name.
    fn recognises(&self, path: &Path, head: &[u8]) -> bool;

    /// Returns the facts about a stream that its path alone gives.
    fn place(&self, path: &Path) -> Placement;

    /// Returns how this program's SQLite store is read, if it has one.
    fn foreign(&self) -> Option<&'static ForeignSpec>;

    /// Returns a decoder for one stream (one file, or one group of rows), either fresh (`state` empty) or continuing
    /// from the [`Decoder::state`] of an earlier one. A state it cannot read counts as empty.
    fn decoder(&self, placement: &Placement, state: &[u8]) -> Box<dyn Decoder>;

    /// Returns the shell command that resumes a session in the program, if there is one.
    fn resume(&self, native: &str) -> Option<String>;

    /// Returns the program's hooks, if it has any (R12.1).
    fn hooking(&self) -> Option<&'static Hooking> {
        None
    }

    /// Returns the hooks that call Heirloom.
    fn hooks(&self) -> &'static [HookSpec] {
        self.hooking().map_or(&[], |hooking| hooking.hooks)
    }

    /// Returns how the program treats injected context. Meaningful only where hooks inject any.
    fn injection(&self) -> Injection {
        self.hooking()
            .map_or(Injection { channel: "none", stores: true, keeps_words: false, characters: 0 }, |hooking| {
                hooking.injection
            })
    }

    /// Decodes a hook's payload.
    fn decode_hook(&self, event: &str, payload: &[u8]) -> hook::Decoded {
        self.hooking().map_or(Err(HookError::UnknownEvent), |hooking| (hooking.decode)(event, payload))
    }

    /// Makes the output of a hook that injects context; `None` if this hook cannot.
    fn hook_reply(&self, event: &str, block: &str) -> Option<Vec<u8>> {
        self.hooking().and_then(|hooking| (hooking.reply)(event, block))
    }

    /// Returns the plan that connects this program (R12.2); `None` if there is no program to connect.
    fn install_plan(&self, host: &HostPaths, how: &Installed) -> Option<InstallPlan>;

    /// Returns the name of the program's executable; `None` if there is none to start.
    fn executable(&self) -> Option<&'static str> {
        None
    }

    /// Returns the arguments that connect one run of the program and leave its settings as they are (R12.6); `None` if
    /// it has no such arguments.
    fn for_one_run(&self, _how: &Installed) -> Option<Vec<String>> {
        None
    }

    /// Returns the plan that lets this program use Heirloom over MCP; `None` if it cannot.
    fn mcp_plan(&self, _host: &HostPaths, _how: &Installed) -> Option<InstallPlan> {
        None
    }
}

/// Properties of a program that hold for every session.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct HarnessSpec {
    /// The name used in session keys, options and tables.
    pub name: &'static str,
    /// The name shown to people.
    pub title: &'static str,
    /// Whether entry ids are unique beyond the session, so that an entry found in another session is a copy (a fork).
    pub global_ids: bool,
    /// Whether a session can only be resumed from the project folder it was started in.
    pub resumes_in_project: bool,
}

/// The paths of a machine that a harness may use: filled in by the application from the environment, by tests from a
/// folder.
#[derive(Clone, PartialEq, Eq, Default, Debug)]
pub struct HostPaths {
    /// The user's home directory.
    pub home: PathBuf,
    /// `CLAUDE_CONFIG_DIR`
    pub claude_config_dir: Option<PathBuf>,
    /// `CODEX_HOME`
    pub codex_home: Option<PathBuf>,
    /// `XDG_CONFIG_HOME`
    pub xdg_config_home: Option<PathBuf>,
    /// `XDG_DATA_HOME`
    pub xdg_data_home: Option<PathBuf>,
    /// `OPENCLAW_STATE_DIR`, else `.openclaw` in `OPENCLAW_HOME`
    pub openclaw_state_dir: Option<PathBuf>,
    /// `OPENCLAW_CONFIG_PATH`
    pub openclaw_config_path: Option<PathBuf>,
    /// Root of the file system, below which an administrator's settings are; `None`: they are not looked for.
    pub system: Option<PathBuf>,
}
