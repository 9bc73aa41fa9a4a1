//! Helpers that the tests of distillation share: they read labelled sessions in plain text, and sessions printed by
//! `heirloom show`.

use super::Said;
use crate::event::{Role, TurnKind};
use crate::scope::{RunNo, TurnId};

/// Reads a session in plain text: each line has a mark for the speaker; lines that begin with `|` continue the turn.
///
/// `U` user, `A` assistant, `C Tool` call, `R` result, `F` failed result, `M` text injected by the program, `S` summary
/// of a compaction, `T` thinking, `E` failed request. A mark with `s` before it is in a sub-agent's lane. A result
/// answers the last call; `R0` answers none.
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
            "R" | "F" | "R0" => (Role::Tool, TurnKind::ToolResult),
            "M" => (Role::System, TurnKind::MachinePrompt),
            "S" => (Role::System, TurnKind::CompactSummary),
            other => panic!("who is {other}?"),
        };
        run += i64::from(role == Role::User);
        if kind == TurnKind::ToolCall {
            call += 1;
            tool = mark.split_once(' ').map(|(_, t)| t.to_owned());
        }
        let of_tool = matches!(kind, TurnKind::ToolCall | TurnKind::ToolResult) && mark != "R0";
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

/// A labelled session: `# name`, the session, and the expected results behind `> `. A line `---` begins another range,
/// `root: FOLDER` names the project's folder.
pub struct Case<'c> {
    pub name: &'c str,
    pub root: Option<&'c str>,
    pub parts: Vec<String>,
    pub wanted: Vec<&'c str>,
}

/// Reads the cases of a file.
pub fn cases(text: &str) -> Vec<Case<'_>> {
    let mut found: Vec<Case> = Vec::new();
    for line in text.lines() {
        if let Some(name) = line.strip_prefix("# ") {
            found.push(Case { name, root: None, parts: vec![String::new()], wanted: Vec::new() });
            continue;
        }
        let case = found.last_mut().expect("a case has a name");
        if let Some(wanted) = line.strip_prefix("> ") {
            case.wanted.push(wanted);
        } else if let Some(root) = line.strip_prefix("root: ") {
            case.root = Some(root);
        } else if line == "---" {
            case.parts.push(String::new());
        } else {
            let part = case.parts.last_mut().expect("one part");
            part.push_str(line);
            part.push('\n');
        }
    }
    found
}

/// Reads the turns of a session as `heirloom show --full --json` prints it, each with the entry of its record.
pub fn printed(text: &str) -> Vec<(Said, String)> {
    let json: serde_json::Value = serde_json::from_str(text).unwrap();
    let of = |v: &serde_json::Value, k: &str| v[k].as_str().map(str::to_owned);
    let turns = json["turns"].as_array().unwrap().iter().map(|t| {
        let said = Said {
            id: TurnId::parse(t["turn"].as_str().unwrap()).unwrap(),
            role: match t["role"].as_str().unwrap() {
                "user" => Role::User,
                "assistant" => Role::Assistant,
                "tool" => Role::Tool,
                _ => Role::System,
            },
            kind: match t["kind"].as_str().unwrap() {
                "message" => TurnKind::Message,
                "thinking" => TurnKind::Thinking,
                "tool-call" => TurnKind::ToolCall,
                "tool-result" => TurnKind::ToolResult,
                "compact-summary" => TurnKind::CompactSummary,
                _ => TurnKind::MachinePrompt,
            },
            run: RunNo(t["run"].as_i64().unwrap_or(0)),
            main: t["lane"].as_str().unwrap_or("").is_empty(),
            speaker: of(t, "speaker"),
            tool: of(t, "tool"),
            call: of(t, "call"),
            failed: t["failed"].as_bool().unwrap_or(false),
            at: None,
            text: of(t, "text").unwrap_or_default(),
        };
        (said, of(t, "entry").unwrap_or_default())
    });
    turns.collect()
}
