//! Answers a hook's call inside the service: the same work as in the hook, in a home that is already open.

use heirloom_engine::engine::Engine;
use heirloom_engine::program::{HookCall, HookId, Program as _};
use heirloom_engine::spool::{self, Spooled};
use heirloom_harness::OnMachine;
use heirloom_http::{HookReply, HookRequest};

use super::{log, reply_of};
use crate::config;

/// Handles a hook's call. Never fails: a call that cannot be stored goes into the spool, with a line in the hooks' log.
pub fn answer(engine: &Engine, request: HookRequest) -> HookReply {
    HookReply { body: reply(engine, request).unwrap_or_default() }
}

fn reply(engine: &Engine, request: HookRequest) -> Option<Vec<u8>> {
    let harness = heirloom_harness::by_name(&request.program)?;
    let name = harness.spec().name;
    let event = request.event;
    let id = request.hook_id.as_deref().and_then(HookId::parse);
    let now = engine.now();
    let program = OnMachine { harness, host: config::host() };
    let call = match program.hook_call(&event, request.payload.clone(), now) {
        Ok(call) => HookCall { id, ..call? },
        Err(e) => {
            log::line(engine.home(), &format!("{name} {event}: {e:?}"));
            return None;
        }
    };
    match engine.hook(&call) {
        Ok(outcome) => {
            for reason in &outcome.degraded {
                log::line(engine.home(), &format!("{name} {event}: {reason}"));
            }
            reply_of(harness, &event, &outcome.block)
        }
        Err(e) => {
            let unsaved =
                Spooled { harness: name.to_owned(), event: event.clone(), at: now, id, payload: request.payload };
            let kept = spool::put(engine.home(), &unsaved);
            let spooled = if kept.is_ok() { "spooled" } else { "not kept; the program's own store has it" };
            log::line(engine.home(), &format!("{name} {event}: {e}; {spooled}"));
            None
        }
    }
}
