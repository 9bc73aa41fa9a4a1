//! `heirloom hook PROGRAM EVENT`: the command that a program's hook runs (R12.5).
//!
//! The command never harms the program. A timer started before the first byte is read ends the process with status 0;
//! the output is a single write at the very end, valid or nothing; a payload that cannot be stored goes to the spool;
//! skipped work is noted as one line in `logs/hooks.log`. No process started here can start a hook again. The home's
//! service is asked first ([`asking`]), but never needed.

pub mod answering;
mod asking;
mod log;
pub mod worker;

use std::io::{Read as _, Write as _};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use heirloom_engine::engine::{Engine, How};
use heirloom_engine::error::{ErrorKind, Result};
use heirloom_engine::home::Home;
use heirloom_engine::lifecycle::HookOutcome;
use heirloom_engine::program::{HookCall, HookId, Program as _};
use heirloom_engine::spool::{self, Spooled};
use heirloom_harness::hook::Contract;
use heirloom_harness::{Harness, OnMachine};

use asking::{Asked, RESERVE, ask_service};

use crate::config;
use crate::context::Global;

/// Name of the variable set for every process a hook starts: a model run by the worker must not fire our hooks again.
pub const GUARD: &str = "HEIRLOOM_HOOK";

/// Time limit of the process (R12.5).
const DEADLINE: Duration = Duration::from_millis(400);

/// Time limit at the end of a session, where programs wait least.
const DEADLINE_AT_END: Duration = Duration::from_millis(300);

/// Time limit for writing to the spool after the deadline. On a slower disk the payload is not spooled; the program's
/// own store has its contents.
const SPOOL_LIMIT: Duration = Duration::from_millis(400);

/// Maximum wait for another process that writes the ledger; after that, the payload goes to the spool.
const BUSY: Duration = Duration::from_millis(150);

/// Maximum size of a payload, in bytes. Prompts are shorter by orders of magnitude, and plugins do not send their
/// contexts.
const LONGEST_PAYLOAD: u64 = 16 << 20;

/// The payload that the timer spools before it ends the process.
type Rescue = Arc<Mutex<Option<Spooled>>>;

/// Runs a hook. Never fails; errors go to the hook log only.
pub fn run(global: &Global, program: &str, event: &str) {
    if std::env::var_os(GUARD).is_some() || std::env::var_os(heirloom_model::INSIDE).is_some() {
        return;
    }
    let began = Instant::now();
    let rescue: Rescue = Arc::default();
    let (unsaved, home) = (Arc::clone(&rescue), global.home.clone());
    std::panic::set_hook(Box::new(move |_| {
        // The thread that panicked may hold the lock.
        if let Ok(mut unsaved) = unsaved.try_lock() {
            save(&mut unsaved, home.as_deref(), "gave up");
        }
        std::process::exit(0);
    }));
    let Some(harness) = heirloom_harness::by_name(program) else { return };
    let contract = harness.hooks().iter().find(|h| h.event == event).map(|h| h.contract);
    let deadline = if contract == Some(Contract::SessionEnd) { DEADLINE_AT_END } else { DEADLINE };
    arm(&rescue, deadline, global.home.clone());
    let Some(reply) = answer(global, harness, event, &rescue, began + deadline) else { return };
    // The timer waits for this lock, so that output is complete once begun.
    let _held = rescue.lock();
    let mut out = std::io::stdout().lock();
    let _ = out.write_all(&reply).and_then(|()| out.flush());
    std::process::exit(0);
}

/// Starts the timer: at the deadline, it spools a payload that has not been stored and ends the process, at the latest
/// [`SPOOL_LIMIT`] after that.
fn arm(rescue: &Rescue, deadline: Duration, home: Option<PathBuf>) {
    let rescue = Arc::clone(rescue);
    std::thread::spawn(move || {
        std::thread::sleep(deadline);
        std::thread::spawn(|| {
            std::thread::sleep(SPOOL_LIMIT);
            std::process::exit(0);
        });
        if let Ok(mut unsaved) = rescue.lock() {
            save(&mut unsaved, home.as_deref(), "out of time");
        }
        std::process::exit(0);
    });
}

/// Spools the payload if it has not been stored.
fn save(unsaved: &mut Option<Spooled>, home: Option<&Path>, why: &str) {
    if let Some(unsaved) = unsaved.take()
        && let Some(home) = open_home(home)
    {
        let is_kept = spool::put(&home, &unsaved).is_ok();
        let kept = if is_kept { "spooled" } else { "not kept" };
        log::line(&home, &format!("{} {}: {why}; {kept}", unsaved.harness, unsaved.event));
        if is_kept {
            worker::start(&home);
        }
    }
}

fn open_home(option: Option<&Path>) -> Option<Home> {
    let at = config::home(option).ok()?;
    Home::open_with(&at.value, &crate::context::home_options()).ok()
}

/// Returns the output for the program, if any. `until` is the time at which the process ends.
fn answer(
    global: &Global,
    harness: &'static dyn Harness,
    event: &str,
    rescue: &Rescue,
    until: Instant,
) -> Option<Vec<u8>> {
    let mut payload = Vec::new();
    let read = std::io::stdin().lock().take(LONGEST_PAYLOAD).read_to_end(&mut payload);
    let name = harness.spec().name;
    let skip = |why: String| {
        // Without a home there is nowhere to log and nothing to do.
        let home = open_home(global.home.as_deref())?;
        log::line(&home, &format!("{name} {event}: {why}"));
        Some(home)
    };
    let too_long = match read {
        Err(e) => Some(format!("the payload cannot be read: {e}")),
        Ok(n) if n as u64 >= LONGEST_PAYLOAD => Some("the payload is longer than 16 MiB".into()),
        Ok(_) => None,
    };
    if let Some(why) = too_long {
        skip(why);
        return None;
    }
    let now = crate::context::clock().now();
    let id = HookId::new();
    let unsaved = Spooled { harness: name.to_owned(), event: event.to_owned(), at: now, id: Some(id), payload };
    remember(rescue, &unsaved);
    match ask_service(global, (name, event), id, &unsaved.payload, until - RESERVE) {
        Asked::Answered(reply) => {
            forget(rescue);
            return (!reply.is_empty()).then_some(reply);
        }
        Asked::Unknown(why) => {
            let mut slot = rescue.lock().ok()?;
            save(&mut slot, global.home.as_deref(), &why);
            return None;
        }
        // The timer still holds the payload: if the rest takes too long, the timer spools it.
        Asked::Nobody => {}
    }
    let program = OnMachine { harness, host: config::host() };
    let call = match program.hook_call(event, unsaved.payload.clone(), now) {
        Ok(Some(call)) => HookCall { id: unsaved.id, ..call },
        Ok(None) => {
            forget(rescue);
            return None;
        }
        Err(e) => {
            forget(rescue);
            skip(format!("{e:?}"));
            return None;
        }
    };
    let handled = handle(global, &call);
    let (engine, outcome) = match handled {
        Ok(handled) => handled,
        Err(e) => {
            // A call that cannot be stored now stays in the spool and is stored when the home is next opened.
            let home = open_home(global.home.as_deref())?;
            let kept = spool::put(&home, &unsaved);
            forget(rescue);
            let spooled = if kept.is_ok() { "spooled" } else { "not kept; the program's own store has it" };
            log::line(&home, &format!("{name} {event}: {e}; {spooled}"));
            if kept.is_ok() && e.kind() != ErrorKind::Machine {
                worker::start(&home);
            }
            return None;
        }
    };
    forget(rescue);
    for reason in &outcome.degraded {
        log::line(engine.home(), &format!("{name} {event}: {reason}"));
    }
    if outcome.work {
        worker::start(engine.home());
    }
    // The process ends with the reply: memory and files are freed then, and a hook leaves nothing unwritten.
    std::mem::forget(engine);
    reply_of(harness, event, &outcome.block)
}

/// Returns the bytes a hook prints to give this block to the program.
fn reply_of(harness: &dyn Harness, event: &str, block: &str) -> Option<Vec<u8>> {
    if block.is_empty() {
        // A plugin that keeps the last context must learn that there is none now.
        return harness.hook_reply(event, "").filter(|_| !harness.injection().stores);
    }
    harness.hook_reply(event, block)
}

fn remember(rescue: &Rescue, unsaved: &Spooled) {
    if let Ok(mut slot) = rescue.lock() {
        *slot = Some(unsaved.clone());
    }
}

fn forget(rescue: &Rescue) {
    if let Ok(mut slot) = rescue.lock() {
        *slot = None;
    }
}

fn handle(global: &Global, call: &HookCall) -> Result<(Engine, HookOutcome)> {
    let at = config::home(global.home.as_deref())?;
    let engine = Engine::open(&at.value, How::Hook { busy: BUSY }, crate::context::options(global))?;
    let outcome = engine.hook(call)?;
    Ok((engine, outcome))
}
