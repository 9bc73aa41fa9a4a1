//! Claude Code's hooks.

use crate::command_hooks::{additional_context, decode as decode_command};
use crate::hook::{Contract, Decoded, HookSpec, Hooking, Injection};

/// Hooks of Claude Code that call us. Tool events are not among them: the transcript has them (R12.5). Hooks answer
/// within a second, so the program need not wait longer than two for one that hangs.
pub(super) const HOOKS: &[HookSpec] = &[
    HookSpec { event: "SessionStart", contract: Contract::SessionStart, gives: true, timeout_s: 2 },
    HookSpec { event: "UserPromptSubmit", contract: Contract::UserPromptSubmit, gives: true, timeout_s: 2 },
    HookSpec { event: "Stop", contract: Contract::Turn, gives: false, timeout_s: 2 },
    HookSpec { event: "SubagentStop", contract: Contract::Turn, gives: false, timeout_s: 2 },
    HookSpec { event: "PreCompact", contract: Contract::PreCompaction, gives: true, timeout_s: 2 },
    HookSpec { event: "PostCompact", contract: Contract::PostCompaction, gives: false, timeout_s: 2 },
    // All hooks at a session's end together have 1.5 s unless one asks for more.
    HookSpec { event: "SessionEnd", contract: Contract::SessionEnd, gives: false, timeout_s: 2 },
];

/// Claude Code replaces longer contexts by a preview and a path.
const INJECTION: Injection =
    Injection { channel: "additionalContext", stores: true, keeps_words: false, characters: 9_000 };

pub(super) static HOOKING: Hooking = Hooking { hooks: HOOKS, injection: INJECTION, decode, reply };

fn decode(event: &str, payload: &[u8]) -> Decoded {
    decode_command(event, payload, super::transcript::is_by_machine)
}

fn reply(event: &str, block: &str) -> Option<Vec<u8>> {
    match event {
        "SessionStart" | "UserPromptSubmit" => Some(additional_context(event, block)),
        // Claude Code adds the output to the summariser's own prompt.
        "PreCompact" => Some(block.as_bytes().to_vec()),
        _ => None,
    }
}
