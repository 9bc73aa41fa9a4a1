//! OpenClaw's hooks, as our plugin forwards them. Injected context lasts for one turn, and the program does not store
//! it.

use heirloom_engine::event::Moment;

use crate::hook::{Contract, Decoded, HookError, HookSpec, Hooking, Injection};
use crate::plugin_hooks::{self as plugin, text};

const HOOKS: &[HookSpec] = &[
    HookSpec { event: "before_prompt_build", contract: Contract::UserPromptSubmit, gives: true, timeout_s: 2 },
    HookSpec { event: "agent_end", contract: Contract::Turn, gives: false, timeout_s: 2 },
    HookSpec { event: "before_compaction", contract: Contract::PreCompaction, gives: false, timeout_s: 2 },
    HookSpec { event: "after_compaction", contract: Contract::PostCompaction, gives: false, timeout_s: 2 },
    HookSpec { event: "before_reset", contract: Contract::SessionEnd, gives: false, timeout_s: 2 },
    HookSpec { event: "session_end", contract: Contract::SessionEnd, gives: false, timeout_s: 2 },
];

const INJECTION: Injection =
    Injection { channel: "prependContext", stores: false, keeps_words: true, characters: 9_000 };

pub(super) static HOOKING: Hooking = Hooking { hooks: HOOKS, injection: INJECTION, decode, reply };

fn decode(event: &str, payload: &[u8]) -> Decoded {
    let payload = plugin::read(payload)?;
    let moment = match event {
        "before_prompt_build" => {
            let prompt = text(&payload.prompt).unwrap_or_default();
            // The prompt is a heartbeat or the like, which no person wrote.
            let by_machine = |reason: &str| matches!(reason, "heartbeat" | "cron" | "memory");
            if super::transcript::is_by_machine(&prompt) || text(&payload.reason).is_some_and(|r| by_machine(&r)) {
                return Ok(None);
            }
            Moment::Prompt { text: prompt, entry: None, first_chance: true }
        }
        "agent_end" => Moment::TurnEnd { answer: None },
        "before_compaction" => Moment::Compacting { heard: false },
        "after_compaction" => Moment::Compacted,
        "before_reset" => Moment::Cleared,
        // After a reset the session goes on under the same id; the other reasons are an end.
        "session_end" if matches!(text(&payload.reason).as_deref(), Some("new" | "reset")) => Moment::Cleared,
        "session_end" => Moment::End,
        _ => return Err(HookError::UnknownEvent),
    };
    plugin::event(&payload, moment).map(Some)
}

fn reply(event: &str, block: &str) -> Option<Vec<u8>> {
    HOOKS.iter().any(|h| h.event == event && h.gives).then(|| plugin::reply(block))
}
