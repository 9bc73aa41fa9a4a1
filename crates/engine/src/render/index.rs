//! The indexes of durable memory: one for the agent and one for each project (R9.6).

use super::page::line;
use crate::error::Result;
use crate::ledger::Read;
use crate::next_step::See;
use crate::tree::AssistantHome;
use crate::tree::file_table::{self, Entry, Kind, State};

/// Largest number of lines of one class, so that the page stays readable; the files themselves remain complete.
const LINES: usize = 200;

const CLASSES: [(&str, &str); 6] = [
    ("preference", "Preferences"),
    ("identity", "Identity"),
    ("fact", "Facts"),
    ("procedure", "Procedures"),
    ("blocker", "Blockers"),
    ("reference", "References"),
];

pub(super) fn render(at: &AssistantHome, tx: &Read, scope: &str) -> Result<String> {
    let leaves = file_table::list(tx, at.agent_no, Kind::Leaf, State::Active)?;
    let here = if scope == "agent" { "memory".to_owned() } else { format!("memory/{scope}") };
    let mut out = String::new();
    for (class, title) in CLASSES {
        let lines: Vec<&Entry> = leaves
            .iter()
            .filter(|e| e.scope.as_deref() == Some(scope) && e.class.as_deref() == Some(class))
            .filter(|e| e.status.as_deref() != Some("superseded"))
            .collect();
        if lines.is_empty() {
            continue;
        }
        out.push_str(&format!("## {title}\n"));
        for leaf in lines.iter().take(LINES) {
            let path = leaf.path.as_str();
            let link = path.strip_prefix(&here).and_then(|p| p.strip_prefix('/')).unwrap_or(path);
            let summary = leaf.field("summary").map(|s| format!(": {}", line(s))).unwrap_or_default();
            let pinned = if leaf.fields.get("pinned") == Some(&true.into()) { " · pinned" } else { "" };
            let id = leaf.item.as_deref().unwrap_or_default();
            out.push_str(&format!("- [{}]({link}){summary} · [{id}]{pinned}\n", line(&leaf.title)));
        }
        if lines.len() > LINES {
            out.push_str(&format!(
                "- … and {} more: `{}`\n",
                lines.len() - LINES,
                See::new(format!("memory list --class {class}"))
            ));
        }
        out.push('\n');
    }
    if scope == "agent" {
        let mut projects: Vec<&str> =
            leaves.iter().filter_map(|e| e.scope.as_deref()?.strip_prefix("workspace/")).collect();
        projects.sort_unstable();
        projects.dedup();
        if !projects.is_empty() {
            // Names only: a project's memories are listed in its own index, so this page changes only when a project
            // gets its first memory or loses its last.
            out.push_str("## Projects\n");
            for id in projects {
                out.push_str(&format!("- [{id}](workspace/{id}/MEMORY.md)\n"));
            }
            out.push('\n');
        }
    }
    if out.is_empty() {
        return Ok(format!("Nothing is remembered yet: `{}`\n", See::new("remember \"…\"")));
    }
    Ok(format!("{}\n", out.trim_end()))
}
