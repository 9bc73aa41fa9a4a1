//! Codex: JSON lines under `sessions/` and `archived_sessions/`, one rollout file per thread.
//!
//! A sub-agent is a thread with its own file; the first line of the file, not its name, has the session it is a lane
//! of. This module knows nothing of hooks and configuration.

mod hook;
mod install;
mod transcript;
mod wire;

use std::path::{Path, PathBuf};

use heirloom_engine::event::{Decoder, ForeignSpec, Placement};

use crate::hook::Hooking;
use crate::install::{InstallPlan, Installed};
use crate::lines::{head_lines, is_plain_word, is_uuid, parse_line};
use crate::{Form, Harness, HarnessSpec, HostPaths};

/// OpenAI's coding agent.
pub struct Codex;

impl Harness for Codex {
    fn spec(&self) -> &'static HarnessSpec {
        &HarnessSpec { name: "codex", title: "Codex", global_ids: true, resumes_in_project: true }
    }

    fn roots(&self, host: &HostPaths) -> Vec<PathBuf> {
        let home = host.codex_home.clone().unwrap_or_else(|| host.home.join(".codex"));
        vec![home.join("sessions"), home.join("archived_sessions")]
    }

    fn claims(&self, path: &Path) -> Option<Form> {
        is_rollout(path).then_some(Form::Lines)
    }

    fn recognises(&self, path: &Path, head: &[u8]) -> bool {
        if !head.contains(&b'\n') {
            // A first line longer than the head cannot be parsed; its first members are enough.
            let text = String::from_utf8_lossy(head);
            return text.starts_with('{') && text.contains("\"type\":\"session_meta\"");
        }
        let Some(first) = head_lines(head).next() else { return false };
        parse_line::<wire::Line>(first).is_ok_and(|line| match line.kind.get() {
            Some("session_meta") => line.payload.is_some(),
            Some("response_item" | "event_msg" | "turn_context") => line.payload.is_some() && is_rollout(path),
            None => line.id.filled().is_some() && line.timestamp.filled().is_some() && is_rollout(path),
            _ => false,
        })
    }

    fn place(&self, path: &Path) -> Placement {
        let stem = path.file_stem().unwrap_or_default().to_string_lossy();
        let uuid = stem.len().checked_sub(36).and_then(|start| stem.get(start..)).filter(|end| is_uuid(end));
        Placement { native: uuid.unwrap_or(&stem).to_owned(), ..Placement::default() }
    }

    fn foreign(&self) -> Option<&'static ForeignSpec> {
        None
    }

    fn decoder(&self, placement: &Placement, state: &[u8]) -> Box<dyn Decoder> {
        Box::new(transcript::Rollout::new(placement, state))
    }

    fn resume(&self, native: &str) -> Option<String> {
        is_plain_word(native).then(|| format!("codex resume {native}"))
    }

    fn hooking(&self) -> Option<&'static Hooking> {
        Some(&hook::HOOKING)
    }

    fn executable(&self) -> Option<&'static str> {
        Some("codex")
    }

    fn install_plan(&self, host: &HostPaths, how: &Installed) -> Option<InstallPlan> {
        Some(install::plan(host, how))
    }

    fn mcp_plan(&self, host: &HostPaths, how: &Installed) -> Option<InstallPlan> {
        Some(install::mcp(host, how))
    }
}

fn is_rollout(path: &Path) -> bool {
    path.file_name()
        .and_then(|name| name.to_str())
        .is_some_and(|name| name.starts_with("rollout-") && name.ends_with(".jsonl"))
}
