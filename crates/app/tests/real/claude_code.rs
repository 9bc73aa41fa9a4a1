//! Claude Code: one process per turn.

use std::path::{Path, PathBuf};
use std::process::Command;

use serde_json::Value;

use super::{Machine, Program, Turned};
use crate::world::files;

pub struct ClaudeCode<'m> {
    machine: &'m Machine,
    /// Additional options of the program.
    options: Vec<String>,
}

impl<'m> ClaudeCode<'m> {
    pub fn on(machine: &'m Machine) -> ClaudeCode<'m> {
        ClaudeCode { machine, options: Vec::new() }
    }

    pub fn with(self, options: &[&str]) -> ClaudeCode<'m> {
        ClaudeCode { options: options.iter().map(|&o| o.to_owned()).collect(), ..self }
    }

    fn command(&self, project: &Path, prompt: &str, session: Option<&str>) -> Command {
        let mut command = self.machine.command("claude");
        command.current_dir(project);
        command.env("ANTHROPIC_BASE_URL", self.machine.model.url()).env("ANTHROPIC_API_KEY", "none");
        for off in [
            "CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC",
            "DISABLE_AUTOUPDATER",
            "DISABLE_TELEMETRY",
            "DISABLE_ERROR_REPORTING",
        ] {
            command.env(off, "1");
        }
        // The program compacts by itself when the model reports more than two thirds of this window.
        command.env("CLAUDE_CODE_AUTO_COMPACT_WINDOW", "100000");
        // The prompt comes before the list of tools, which would take every word after it.
        command.args(["-p", prompt, "--model", "claude-sonnet-4-5", "--output-format", "json"]);
        if let Some(session) = session {
            command.args(["--resume", session]);
        }
        command.args(&self.options);
        command.args(["--allowedTools", "Bash", "Agent", "Task"]);
        command
    }
}

impl Program for ClaudeCode<'_> {
    fn name(&self) -> &'static str {
        "claude-code"
    }

    fn turn(&mut self, project: &Path, prompt: &str, session: Option<&str>) -> Turned {
        let mark = self.machine.model.mark();
        let ran = self.machine.run("claude-turn", self.command(project, prompt, session));
        let said: Value =
            serde_json::from_str(&ran.stdout).unwrap_or_else(|e| panic!("{e}: {}", super::shown(&ran.log)));
        let session = said["session_id"].as_str().unwrap_or_else(|| panic!("no session: {said}")).to_owned();
        Turned { stdout: ran.stdout, session, heard: self.machine.heard_since(mark, prompt) }
    }

    fn compact(&mut self, project: &Path, session: &str) {
        self.machine.run("claude-compact", self.command(project, "/compact", Some(session)));
    }

    fn files(&self) -> Vec<PathBuf> {
        files(&self.machine.home().join(".claude/projects"), ".jsonl")
    }
}
