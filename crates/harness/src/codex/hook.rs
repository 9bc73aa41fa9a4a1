//! Codex's hooks: in Claude Code's form, with strict schemas. One unknown field makes Codex drop the whole answer
//! silently.

use crate::command_hooks::{additional_context, decode as decode_command};
use crate::hook::{Contract, Decoded, HookSpec, Hooking, Injection};

/// Hooks of Codex that call us. They answer within a second, so the program need not wait longer than two for one that
/// hangs.
pub(super) const HOOKS: &[HookSpec] = &[
    HookSpec { event: "SessionStart", contract: Contract::SessionStart, gives: true, timeout_s: 2 },
    HookSpec { event: "UserPromptSubmit", contract: Contract::UserPromptSubmit, gives: true, timeout_s: 2 },
    HookSpec { event: "Stop", contract: Contract::Turn, gives: false, timeout_s: 2 },
    HookSpec { event: "SubagentStop", contract: Contract::Turn, gives: false, timeout_s: 2 },
    HookSpec { event: "PreCompact", contract: Contract::PreCompaction, gives: false, timeout_s: 2 },
    HookSpec { event: "PostCompact", contract: Contract::PostCompaction, gives: false, timeout_s: 2 },
    HookSpec { event: "SessionEnd", contract: Contract::SessionEnd, gives: false, timeout_s: 2 },
];

/// Codex passes about ten kilobytes without shortening them.
const INJECTION: Injection =
    Injection { channel: "additionalContext", stores: true, keeps_words: true, characters: 9_000 };

pub(super) static HOOKING: Hooking = Hooking { hooks: HOOKS, injection: INJECTION, decode, reply };

fn decode(event: &str, payload: &[u8]) -> Decoded {
    decode_command(event, payload, |_| false)
}

fn reply(event: &str, block: &str) -> Option<Vec<u8>> {
    // Codex discards the output of hooks before a compaction.
    matches!(event, "SessionStart" | "UserPromptSubmit").then(|| additional_context(event, block))
}
