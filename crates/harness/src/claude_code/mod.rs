//! Claude Code: JSON lines under `projects/`, one file per session and one per sub-agent.
//!
//! `<project folder>/<session>.jsonl` is the main line, `<project folder>/<session>/subagents/agent-<id>.jsonl` a lane
//! of it; versions before that layout put `agent-<id>.jsonl` beside the session. Knows nothing of hooks and settings.

mod hook;
pub mod install;
mod queue;
mod transcript;
mod wire;

use std::path::{Path, PathBuf};

use heirloom_engine::event::{Decoder, ForeignSpec, Placement};

use crate::hook::Hooking;
use crate::install::{InstallPlan, Installed};
use crate::lines::{head_lines, is_plain_word, parse_line};
use crate::{Form, Harness, HarnessSpec, HostPaths};

/// Anthropic's coding agent.
pub struct ClaudeCode;

impl Harness for ClaudeCode {
    fn spec(&self) -> &'static HarnessSpec {
        &HarnessSpec { name: "claude-code", title: "Claude Code", global_ids: true, resumes_in_project: true }
    }

    fn roots(&self, host: &HostPaths) -> Vec<PathBuf> {
        let home = host.claude_config_dir.clone().unwrap_or_else(|| host.home.join(".claude"));
        vec![home.join("projects")]
    }

    fn claims(&self, path: &Path) -> Option<Form> {
        // Long tool answers are stored beside the sessions, under any name.
        let is_tool_result = path.parent().is_some_and(|folder| folder.ends_with("tool-results"));
        (path.extension()? == "jsonl" && !is_tool_result).then_some(Form::Lines)
    }

    fn recognises(&self, _path: &Path, head: &[u8]) -> bool {
        if !head.contains(&b'\n') {
            // A first line longer than the head cannot be parsed; its first members are enough.
            let text = String::from_utf8_lossy(head);
            return text.starts_with('{') && text.contains("\"sessionId\":") && text.contains("\"type\":");
        }
        // Titles and snapshots at the top of a file carry no session id, so some more lines are examined.
        head_lines(head).take(32).any(|line| {
            parse_line::<wire::Record>(line).is_ok_and(|record| {
                let typed = record.kind.filled().is_some();
                typed && record.session_id.filled().is_some()
            })
        })
    }

    fn place(&self, path: &Path) -> Placement {
        let name = |path: &Path| path.file_name().unwrap_or_default().to_string_lossy().into_owned();
        let stem = path.file_stem().unwrap_or_default().to_string_lossy().into_owned();
        // This is not always the file's own folder: workflows insert one in between.
        let folder = path.ancestors().skip(1).find(|folder| folder.ends_with("subagents"));
        if let Some(session) = folder.and_then(Path::parent) {
            return Placement { native: name(session), lane: stem, agent: None };
        }
        let lane = if stem.starts_with("agent-") { stem.clone() } else { String::new() };
        Placement { native: stem, lane, agent: None }
    }

    fn foreign(&self) -> Option<&'static ForeignSpec> {
        None
    }

    fn decoder(&self, placement: &Placement, state: &[u8]) -> Box<dyn Decoder> {
        Box::new(transcript::Transcript::new(placement, state))
    }

    fn resume(&self, native: &str) -> Option<String> {
        is_plain_word(native).then(|| format!("claude --resume {native}"))
    }

    fn hooking(&self) -> Option<&'static Hooking> {
        Some(&hook::HOOKING)
    }

    fn executable(&self) -> Option<&'static str> {
        Some("claude")
    }

    fn for_one_run(&self, how: &Installed) -> Option<Vec<String>> {
        Some(vec!["--settings".to_owned(), install::for_one_run(how)])
    }

    fn install_plan(&self, host: &HostPaths, how: &Installed) -> Option<InstallPlan> {
        Some(install::plan(host, how))
    }

    fn mcp_plan(&self, host: &HostPaths, how: &Installed) -> Option<InstallPlan> {
        Some(install::mcp(host, how))
    }
}
