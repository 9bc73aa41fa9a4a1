//! The four real programs, each on a machine made for one test, with a model whose answers the test scripts.
//!
//! A plain `cargo test` ignores these tests; `just real` and `.ci/run` run them, one at a time, with the folder that
//! `HEIRLOOM_PROGRAMS` names and `scripts/real-programs` fills. Without it they fail. A test that fails keeps its
//! machine, with the output of every process and the requests to the model, and prints its path.
//!
//! A test begins with [`Machine::new`], puts programs on it ([`ClaudeCode::on`] …), connects them if it wants hooks
//! ([`Machine::connect`], before the first turn), scripts the model (`machine.model.answers(table([…]))`) and takes
//! turns. [`Turned::heard`] is the text the model received with that prompt, so that passing words from one program to
//! another takes one line each. A reply that [reports](heirloom_testkit::fake_model::Reply::reporting) 190,000 tokens
//! makes each program compact by itself before its next turn.

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

/// A program, driven by a test.
pub trait Program {
    /// Returns its name in Heirloom.
    fn name(&self) -> &'static str;

    /// Runs a prompt and its answer, in a new session or in an existing one of the same project.
    fn turn(&mut self, project: &Path, prompt: &str, session: Option<&str>) -> Turned;

    /// Compacts a session now.
    fn compact(&mut self, project: &Path, session: &str);

    /// Ends processes it keeps running between turns; the next turn starts them again.
    fn stop(&mut self) {}

    /// Returns the process group it keeps running between turns.
    fn group(&self) -> Option<u32> {
        None
    }

    /// Returns the files its sessions are in.
    fn files(&self) -> Vec<PathBuf> {
        Vec::new()
    }

    /// Returns the database its sessions are in, and the tables that hold them.
    fn database(&self) -> Option<(PathBuf, &'static [&'static str])> {
        None
    }
}
