//! The four real programs, each on a machine made for one test, with a model that says what the test wants.
//!
//! They are ignored by a plain `cargo test`; `just real` and `.ci/run` run them, one at a time, with the folder
//! `HEIRLOOM_PROGRAMS` names, which `scripts/real-programs` fills. Without it they fail. A test that fails keeps its machine, with what every process printed and what the model
//! was asked, and says where.
//!
//! A test begins with [`Machine::new`], puts programs on it ([`ClaudeCode::on`] …), connects them where it wants hooks
//! ([`Machine::connect`], before the first turn), scripts the model (`machine.model.answers(table([…]))`) and takes
//! turns. [`Turned::heard`] is what the model was told with that prompt: what was told in one program and asked in
//! another is one line each. A reply that [reports](heirloom_testkit::fake_model::Reply::reporting) 190,000 tokens makes
//! each of them compact by itself before its next turn.

mod asked;
mod claude_code;
mod codex;
mod cost;
mod hooked;
mod kept;
mod machine;
mod mcp;
mod openclaw;
mod opencode;
mod plugged;
mod subagents;
mod unharmed;

use std::path::{Path, PathBuf};

pub use claude_code::ClaudeCode;
pub use codex::Codex;
pub use machine::{Machine, Turned, shown};
pub use openclaw::OpenClaw;
pub use opencode::OpenCode;

/// A program somebody works with.
pub trait Program {
    /// Its name in Heirloom.
    fn name(&self) -> &'static str;

    /// A prompt and its answer, in a new session or in one begun in the same project.
    fn turn(&mut self, project: &Path, prompt: &str, session: Option<&str>) -> Turned;

    /// Has it summarise a session now.
    fn compact(&mut self, project: &Path, session: &str);

    /// Ends what it keeps running between turns; the next turn starts it anew.
    fn stop(&mut self) {}

    /// The group of processes it keeps running between turns.
    fn group(&self) -> Option<u32> {
        None
    }

    /// The files its sessions are in.
    fn files(&self) -> Vec<PathBuf> {
        Vec::new()
    }

    /// The database its sessions are in, and the tables that hold them.
    fn database(&self) -> Option<(PathBuf, &'static [&'static str])> {
        None
    }
}
