//! OpenCode's hooks, as our plugin forwards them. Injected context is sent with every call of the model, and the
//! program does not store it.

use heirloom_engine::event::{Beginning, Moment};

use crate::hook::{Contract, Decoded, HookError, HookSpec, Hooking, Injection};
use crate::plugin_hooks::{self as plugin, text};

const HOOKS: &[HookSpec] = &[
    HookSpec { event: "chat.message", contract: Contract::UserPromptSubmit, gives: true, timeout_s: 2 },
    HookSpec { event: "session.idle", contract: Contract::Turn, gives: false, timeout_s: 2 },
    HookSpec { event: "experimental.session.compacting", contract: Contract::PreCompaction, gives: true, timeout_s: 2 },
    HookSpec { event: "session.compacted", contract: Contract::PostCompaction, gives: true, timeout_s: 2 },
    HookSpec { event: "session.deleted", contract: Contract::SessionEnd, gives: false, timeout_s: 2 },
];

const INJECTION: Injection = Injection { channel: "system", stores: false, keeps_words: false, characters: 9_000 };

pub(super) static HOOKING: Hooking = Hooking { hooks: HOOKS, injection: INJECTION, decode, reply };

fn decode(event: &str, payload: &[u8]) -> Decoded {
    let payload = plugin::read(payload)?;
    let moment = match event {
        "chat.message" => Moment::Prompt {
            text: text(&payload.prompt).unwrap_or_default(),
            entry: text(&payload.entry),
            first_chance: true,
        },
        "session.idle" => Moment::TurnEnd { answer: None },
        "experimental.session.compacting" => Moment::Compacting { heard: true },
        // The next model call may come without a prompt.
        "session.compacted" => Moment::Start(Beginning::Compact),
        "session.deleted" => Moment::End,
        _ => return Err(HookError::UnknownEvent),
    };
    plugin::event(&payload, moment).map(Some)
}

fn reply(event: &str, block: &str) -> Option<Vec<u8>> {
    HOOKS.iter().any(|h| h.event == event && h.gives).then(|| plugin::reply(block))
}
