use std::fmt::Write;

use super::*;
use crate::scope::{RunNo, TurnId};

mod corpus;
mod invented;
mod look;
mod properties;
mod rendered;

/// A session in plain text: a mark for the speaker; lines that begin with `|` continue the turn.
///
/// `U` user, `A` assistant, `C Tool` call, `R` result, `F` failed result, `M` put in by the program, `S` summary of a
/// compaction, `T` thinking, `E` failed request; with `s` before it, in a sub-agent's lane.
pub fn session(text: &str) -> Vec<Said> {
    let mut turns: Vec<Said> = Vec::new();
    let (mut run, mut call, mut tool) = (0, 0, None);
    for line in text.lines() {
        let line = line.trim_start();
        if let Some(more) = line.strip_prefix('|') {
            let last = turns.last_mut().expect("something goes on");
            last.text.push('\n');
            last.text.push_str(more.strip_prefix(' ').unwrap_or(more));
            continue;
        }
        let Some((head, text)) = line.split_once(':') else {
            assert!(line.is_empty(), "who says this? {line}");
            continue;
        };
        let (mark, main) = head.strip_prefix('s').map_or((head, true), |m| (m, false));
        let (role, kind) = match mark.split(' ').next().unwrap_or("") {
            "U" => (Role::User, TurnKind::Message),
            "A" | "E" => (Role::Assistant, TurnKind::Message),
            "T" => (Role::Assistant, TurnKind::Thinking),
            "C" => (Role::Assistant, TurnKind::ToolCall),
            "R" | "F" => (Role::Tool, TurnKind::ToolResult),
            "M" => (Role::System, TurnKind::MachinePrompt),
            "S" => (Role::System, TurnKind::CompactSummary),
            other => panic!("who is {other}?"),
        };
        run += i64::from(role == Role::User);
        if kind == TurnKind::ToolCall {
            call += 1;
            tool = mark.split_once(' ').map(|(_, t)| t.to_owned());
        }
        let of_tool = matches!(kind, TurnKind::ToolCall | TurnKind::ToolResult);
        turns.push(Said {
            id: TurnId(turns.len() as i64 + 1),
            role,
            kind,
            run: RunNo(run),
            main,
            speaker: None,
            tool: if of_tool { tool.clone() } else { None },
            call: of_tool.then(|| format!("c{call}")),
            failed: matches!(mark, "F" | "E"),
            at: None,
            text: text.strip_prefix(' ').unwrap_or(text).to_owned(),
        });
    }
    turns
}

/// One line for each item: the list and its text.
pub fn show(distillate: &Distillate) -> String {
    let mut out = String::new();
    for (name, items) in distillate.lists() {
        for item in items {
            let turns: Vec<String> = item.turns.iter().map(ToString::to_string).collect();
            let _ = writeln!(out, "{name}: {} [{}]", item.text, turns.join(" "));
        }
    }
    for file in &distillate.files {
        let _ = writeln!(out, "file: {} {:?}", file.path, file.touch);
    }
    for p in &distillate.proposals {
        let _ = writeln!(out, "proposal: {} ({})", p.text, p.class);
    }
    out
}
