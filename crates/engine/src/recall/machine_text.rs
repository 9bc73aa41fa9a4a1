//! Recognises text that nobody said: text that programs, and Heirloom, write into a conversation (R10.1, R12.3).
//!
//! Adapters mark most of it (role `system`). The rest is inside messages of a person or output of tools: blocks in tags
//! of the program, its wrappers around local commands, and what Heirloom's own commands printed.

use std::borrow::Cow;

use crate::event::{Role, TurnKind};
use crate::redact::without_private_keys;
use crate::text::quotes::Closings;

/// Beginnings of messages that a program wrote in a person's name.
const BEGINNINGS: [&str; 9] = [
    "Caveat: The messages below",
    "# AGENTS.md instructions for",
    "This session is being continued from a previous conversation",
    "[Request interrupted by user",
    "Base directory for this skill:",
    "Stop hook feedback:",
    "<<<BEGIN_",
    "No response requested.",
    "API Error:",
];

/// The fence of a context that Heirloom gives programs, and the line its commands print below hits.
const OURS: [&str; 2] = ["<heirloom-memory", "heirloom expand "];

/// Returns the part of a turn that a person or model said or a tool answered, without private keys; `None` if nothing is
/// left.
pub(crate) fn spoken(role: Role, kind: TurnKind, text: &str) -> Option<Cow<'_, str>> {
    let said = said(role, kind, text)?;
    Some(match without_private_keys(&said) {
        Cow::Borrowed(_) => said,
        Cow::Owned(redacted) => Cow::Owned(redacted),
    })
}

fn said(role: Role, kind: TurnKind, text: &str) -> Option<Cow<'_, str>> {
    match (role, kind) {
        (Role::System, _) | (_, TurnKind::CompactSummary | TurnKind::MachinePrompt) => None,
        (_, TurnKind::ToolCall) => (!calls_us(text)).then_some(Cow::Borrowed(text)),
        (_, TurnKind::ToolResult) => {
            (!OURS.iter().any(|ours| text.contains(ours))).then(|| Cow::Borrowed(output(text)))
        }
        _ => {
            let said = without_tags(text);
            let is_machine = BEGINNINGS.iter().any(|begins| said.trim_start().starts_with(begins));
            (!is_machine && said.chars().any(char::is_alphanumeric)).then_some(said)
        }
    }
}

/// Largest number of lines that a program writes above a tool's output.
const ABOVE: usize = 8;

/// Returns a tool's output without the lines a program wrote above it: number, time and exit code of the call.
fn output(text: &str) -> &str {
    let mut from = 0;
    for line in text.split_inclusive('\n').take(ABOVE) {
        from += line.len();
        if line.trim() == "Output:" {
            return &text[from..];
        }
        if !line.trim().is_empty() && !line.contains([':', ' ']) {
            break;
        }
    }
    text
}

/// Whether a tool's input is one of Heirloom's commands.
fn calls_us(input: &str) -> bool {
    let command = |line: &str| {
        let line = line.trim_start();
        let line = ["command:", "cmd:"].iter().find_map(|name| line.strip_prefix(name)).unwrap_or(line).trim_start();
        line.starts_with("heirloom ")
    };
    input.lines().take(3).any(command)
}

/// Returns the text without blocks that a program put between its own tags:
/// `<environment_context>…</environment_context>`. The name of such a tag contains `_` or `-` or is in capitals, unlike
/// elements of pages and types; the tag begins a line.
fn without_tags(text: &str) -> Cow<'_, str> {
    if !text.contains("</") {
        return Cow::Borrowed(text);
    }
    let mut closings = Closings::of(text);
    let (mut out, mut from, mut at) = (String::new(), 0, 0);
    while let Some(line) = text.get(at..).filter(|rest| !rest.is_empty()) {
        let end = line.find('\n').map_or(text.len(), |n| at + n + 1);
        let indent = line.len() - line.trim_start_matches([' ', '\t']).len();
        let past = opened(&text[at + indent..]).and_then(|name| closings.after(name, at + indent));
        match past {
            Some(past) => {
                out.push_str(&text[from..at]);
                (from, at) = (past, past);
            }
            None => at = end,
        }
    }
    match from {
        0 => Cow::Borrowed(text),
        _ => Cow::Owned(out + &text[from..]),
    }
}

/// Returns the name of the program's tag that a text begins with.
fn opened(text: &str) -> Option<&str> {
    let rest = text.strip_prefix('<')?;
    let name = &rest[..rest.find(|c: char| !c.is_ascii_alphanumeric() && !matches!(c, '_' | '-'))?];
    let is_own = name.starts_with(|c: char| c.is_ascii_alphabetic())
        && (name.contains(['_', '-']) || name.len() > 3 && name.bytes().all(|b| b.is_ascii_uppercase()));
    is_own.then_some(name)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(text: &str) -> Option<String> {
        spoken(Role::User, TurnKind::Message, text).map(Cow::into_owned)
    }

    #[test]
    fn what_programs_write_in_a_persons_name_is_not_said() {
        for machine in [
            "<environment_context>\n  <cwd>/srv/api</cwd>\n</environment_context>",
            "<system-reminder>The file was changed.</system-reminder>\n<command-name>/clear</command-name>",
            "Caveat: The messages below were generated by the user while running local commands.",
            "<heirloom-memory id=\"x:1\">\n- We use Postgres. [t5]\n</heirloom-memory>",
            "# AGENTS.md instructions for /srv/api\n\n<INSTRUCTIONS>\nRun the tests.\n</INSTRUCTIONS>",
            "   \n",
        ] {
            assert_eq!(of(machine), None, "{machine}");
        }
        let both = "<system-reminder>\nIt is late.\n</system-reminder>\nMove the orders table.\n";
        assert_eq!(of(both).unwrap().trim(), "Move the orders table.");
        for said in ["Why is Vec<T> here?", "Use <b>bold</b> here", "<my-tag is never closed", "a <x-y>b</x-y> c"] {
            assert_eq!(of(said).as_deref(), Some(said));
        }
    }

    #[test]
    fn roles_of_the_machine_and_our_own_output_are_not_said() {
        assert_eq!(spoken(Role::System, TurnKind::Message, "prior history: none"), None);
        assert_eq!(spoken(Role::User, TurnKind::CompactSummary, "Goal: move the table"), None);
        assert_eq!(spoken(Role::Assistant, TurnKind::ToolCall, "command: heirloom recall \"redis\""), None);
        assert_eq!(spoken(Role::Tool, TurnKind::ToolResult, " 1  fact\n    heirloom expand m:redis"), None);
        let result = |text| spoken(Role::Tool, TurnKind::ToolResult, text);
        assert_eq!(result("79 passed").as_deref(), Some("79 passed"));
        assert_eq!(result("Chunk ID: 1\nExited with code 0\nOutput:\n79 passed").as_deref(), Some("79 passed"));
        assert!(spoken(Role::Assistant, TurnKind::ToolCall, "command: cargo test").is_some());
    }
}
