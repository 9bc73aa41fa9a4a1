//! `heirloom hook PROGRAM EVENT`: what a program's hook runs (R12.5).
//!
//! It never hurts its host. A timer armed before the first byte is read ends the process with status 0; what is printed
//! is one write at the very end, valid or nothing; what cannot be stored goes to the spool; what was skipped is one line
//! in `logs/hooks.log`. Nothing here is started that could start a hook again.

mod log;
pub mod spool;
pub mod worker;

use std::io::{Read as _, Write as _};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use heirloom_engine::capture::Capture;
use heirloom_engine::error::{Error, ErrorKind, Result};
use heirloom_engine::event::HookEvent;
use heirloom_engine::home::{Home, RelPath, layout};
use heirloom_engine::index::Index;
use heirloom_engine::inject::Capabilities;
use heirloom_engine::ledger::{Ledger, Open, Read};
use heirloom_engine::lifecycle::{self, HookCall, HookOutcome};
use heirloom_engine::recall::Hint;
use heirloom_engine::scope::{AgentId, AgentNo};
use heirloom_engine::source::project::project_root;
use heirloom_engine::transcript::read;
use heirloom_engine::tree::AssistantHome;
use heirloom_harness::Harness;
use heirloom_harness::hook::Contract;

use crate::context::Global;
use crate::{config, programs};

/// Set in whatever a hook starts: a model run by the worker must not fire our hooks again.
pub const GUARD: &str = "HEIRLOOM_HOOK";

/// When the process ends, whatever it is doing (R12.5).
const DEADLINE: Duration = Duration::from_millis(400);

/// The same at a session's end, where programs wait least.
const DEADLINE_AT_END: Duration = Duration::from_millis(300);

/// How long the disk has for what the timer spools. One that takes longer does not get it: the program's own store has it.
const LAST_WORDS: Duration = Duration::from_millis(400);

/// How long it waits for another process that writes the ledger; then the payload goes to the spool.
const BUSY: Duration = Duration::from_millis(150);

/// The longest payload that is read. Prompts are shorter by orders of magnitude; a plugin sends no contexts.
const LONGEST_PAYLOAD: u64 = 16 << 20;

/// How long a command stores what is in the spool before it goes on; the rest is the next one's.
const SPOOL_PATIENCE: Duration = Duration::from_secs(2);

/// What the timer saves before it ends the process.
type Rescue = Arc<Mutex<Option<spool::Spooled>>>;

/// Runs a hook. Never fails: whatever happens is nobody's business but the log's.
pub fn run(global: &Global, program: &str, event: &str) {
    if std::env::var_os(GUARD).is_some() {
        return;
    }
    let rescue: Rescue = Arc::default();
    let (unsaved, home) = (Arc::clone(&rescue), global.home.clone());
    std::panic::set_hook(Box::new(move |_| {
        // Whoever panicked may hold the lock.
        if let Ok(mut unsaved) = unsaved.try_lock() {
            save(&mut unsaved, home.as_deref(), "gave up");
        }
        std::process::exit(0);
    }));
    let Some(harness) = heirloom_harness::by_name(program) else { return };
    let contract = harness.hooks().iter().find(|h| h.event == event).map(|h| h.contract);
    let deadline = if contract == Some(Contract::SessionEnd) { DEADLINE_AT_END } else { DEADLINE };
    arm(&rescue, deadline, global.home.clone());
    let Some(reply) = answer(global, harness, event, &rescue) else { return };
    // The timer waits for this lock: what is begun to be printed is printed whole.
    let _held = rescue.lock();
    let mut out = std::io::stdout().lock();
    let _ = out.write_all(&reply).and_then(|()| out.flush());
    std::process::exit(0);
}

/// The one timer: when it is up, what has not been stored is spooled, and the process is over; soon in any case.
fn arm(rescue: &Rescue, deadline: Duration, home: Option<PathBuf>) {
    let rescue = Arc::clone(rescue);
    std::thread::spawn(move || {
        std::thread::sleep(deadline);
        std::thread::spawn(|| {
            std::thread::sleep(LAST_WORDS);
            std::process::exit(0);
        });
        if let Ok(mut unsaved) = rescue.lock() {
            save(&mut unsaved, home.as_deref(), "out of time");
        }
        std::process::exit(0);
    });
}

/// Spools what has not been stored.
fn save(unsaved: &mut Option<spool::Spooled>, home: Option<&Path>, why: &str) {
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
    Home::open_with(&at.value, &crate::context::options()).ok()
}

/// What is to be printed, if anything.
fn answer(global: &Global, harness: &'static dyn Harness, event: &str, rescue: &Rescue) -> Option<Vec<u8>> {
    let mut payload = Vec::new();
    let read = std::io::stdin().lock().take(LONGEST_PAYLOAD).read_to_end(&mut payload);
    // No home: nothing is wanted of us.
    let home = open_home(global.home.as_deref())?;
    let name = harness.spec().name;
    let skip = |why: String| {
        log::line(&home, &format!("{name} {event}: {why}"));
        None
    };
    match read {
        Err(e) => return skip(format!("the payload cannot be read: {e}")),
        Ok(n) if n as u64 >= LONGEST_PAYLOAD => return skip("the payload is longer than 16 MiB".into()),
        Ok(_) => {}
    }
    let told = match harness.decode_hook(event, &payload) {
        Ok(Some(told)) => told,
        Ok(None) => return None,
        Err(e) => return skip(format!("{e:?}")),
    };
    let now = crate::context::clock().now();
    let unsaved = spool::Spooled { harness: name.to_owned(), event: event.to_owned(), at: now, payload };
    if let Ok(mut slot) = rescue.lock() {
        *slot = Some(unsaved.clone());
    }
    let handled = match handle(&home, global, harness, &told, &unsaved) {
        Ok(handled) => handled,
        Err(e) => {
            // What cannot be stored now is stored by whoever opens the home next.
            let kept = spool::put(&home, &unsaved);
            forget(rescue);
            let spooled = if kept.is_ok() { "spooled" } else { "not kept; the program's own store has it" };
            let _ = skip(format!("{e}; {spooled}"));
            if kept.is_ok() && e.kind() != ErrorKind::Machine {
                worker::start(&home);
            }
            return None;
        }
    };
    forget(rescue);
    for reason in &handled.degraded {
        log::line(&home, &format!("{name} {event}: {reason}"));
    }
    if handled.work {
        worker::start(&home);
    }
    if handled.block.is_empty() {
        // A plugin that holds what it was given last must learn that there is nothing now.
        return harness.hook_reply(event, "").filter(|_| !harness.injection().stores);
    }
    harness.hook_reply(event, &handled.block)
}

fn forget(rescue: &Rescue) {
    if let Ok(mut slot) = rescue.lock() {
        *slot = None;
    }
}

fn handle(
    home: &Home,
    global: &Global,
    harness: &'static dyn Harness,
    told: &HookEvent,
    unsaved: &spool::Spooled,
) -> Result<HookOutcome> {
    let path = home.file_path(&layout::RUNTIME_DB)?;
    if !path.exists() {
        return Err(Error::new(ErrorKind::Busy, "there is no ledger yet"));
    }
    let backups = home.root().join(layout::BACKUPS.as_str());
    let ledger = Ledger::open(&path, &backups, crate::context::clock(), Open::Hot { busy: BUSY })?;
    let agent = agent_of(global, home, told)?;
    let missing = || Error::new(ErrorKind::Busy, format!("nothing is stored for the agent {agent} yet"));
    let agent_no = ledger.read(|tx| read::agent_no(tx, &agent))?.ok_or_else(missing)?;
    let actor = format!("hook {}", harness.spec().name);
    let at = AssistantHome::open(home, &ledger, &agent, agent_no, &actor, crate::print::machine_zone())?
        .ok_or_else(missing)?;
    let gives = harness.hooks().iter().any(|h| h.event == unsaved.event && h.gives);
    let mut index = if gives { open_index(home, &ledger)? } else { None };
    handle_at(&at, index.as_mut(), harness, told, unsaved, gives)
}

/// Does what the moment asks for. Without `gives` it is only stored.
fn handle_at(
    at: &AssistantHome,
    index: Option<&mut Index>,
    harness: &'static dyn Harness,
    told: &HookEvent,
    unsaved: &spool::Spooled,
    gives: bool,
) -> Result<HookOutcome> {
    let host = config::host();
    let user_home = Some(host.home.as_path()).filter(|h| !h.as_os_str().is_empty());
    let workspace = match told.cwd.as_deref().and_then(|cwd| project_root(Path::new(cwd), user_home)) {
        Some(project) => Some(at.ledger.read(|tx| canonical(tx, at.agent_no, &project.workspace_id))?),
        None => None,
    };
    let store = told.store.as_deref().filter(|path| is_below_a_root(harness, path));
    let injection = harness.injection();
    let hooked = HookCall {
        event: told,
        payload: &unsaved.payload,
        when: unsaved.at,
        gives,
        can: Capabilities {
            program: harness.spec().name.to_owned(),
            channel: injection.channel.to_owned(),
            stores: injection.stores,
            keeps_tail: true,
            characters: injection.characters,
        },
        hint: Hint { workspace, thread: None },
        store,
    };
    let scratch = at.ledger.path().with_file_name("scratch");
    let mut capture = Capture::new(at.ledger, None, &at.actor, &scratch, user_home)?;
    programs::with_program(harness, |program| lifecycle::handle(at, &mut capture, index, program, &hooked))
}

/// The agent a session belongs to: the program's own, else the default one (D3).
fn agent_of(global: &Global, home: &Home, told: &HookEvent) -> Result<AgentId> {
    match told.agent.as_deref().map(AgentId::parse) {
        Some(Ok(named)) if named != AgentId::main() => Ok(named),
        _ => Ok(config::agent(global.agent.as_deref(), &config::file(home)?)?.value),
    }
}

/// The id of a project: of one with several names, the one they are aliases of.
fn canonical(tx: &Read, agent_no: AgentNo, id: &str) -> Result<String> {
    Ok(read::canonical_workspace(tx, agent_no, id)?.unwrap_or_else(|| id.to_owned()))
}

/// Hooks read the index and never write it (R10.10). One that is missing or does not fit is made by others.
fn open_index(home: &Home, ledger: &Ledger) -> Result<Option<Index>> {
    let path = home.file_path(&layout::INDEX_DB)?;
    let Ok(Some(index)) = Index::open_read_only(&path, ledger.id()) else { return Ok(None) };
    let settings = config::file(home)?.embeddings;
    // A prompt waits for no endpoint, and for no model that has to be read first.
    if settings.model_at()? != config::ModelAt::BuiltIn {
        return Ok(Some(index));
    }
    let embedder = settings.embedder()?;
    Ok(Some(index.with_embedder(embedder)?))
}

/// Whether a path a payload names lies where the program keeps its sessions (R14.3).
fn is_below_a_root(harness: &dyn Harness, path: &Path) -> bool {
    let Ok(path) = path.canonicalize() else { return false };
    let mut roots = harness.roots(&config::host()).into_iter().filter_map(|root| root.canonicalize().ok());
    harness.claims(&path).is_some() && roots.any(|root| path.starts_with(root))
}

/// Stores what hooks had to leave in the spool. What cannot be stored stays there, and so does what only another build
/// knows; what nobody can read is moved aside.
pub fn drain_spool(home: &Home, ledger: &Ledger, default: &AgentId) -> Result<u64> {
    let mut stored = 0;
    // Counted from the first one on: until then somebody else may have written.
    let mut began: Option<Instant> = None;
    loop {
        if spool::names(home)?.is_empty() {
            return Ok(stored);
        }
        // Twice is harmless, and once is enough.
        let Some(lock) = home.try_lock("spool")? else { return Ok(stored) };
        let before = stored;
        for name in spool::names(home)? {
            if began.is_some_and(|began| began.elapsed() > SPOOL_PATIENCE) {
                return Ok(stored);
            }
            stored += u64::from(unspool(home, ledger, default, &name)?);
            began.get_or_insert_with(Instant::now);
        }
        drop(lock);
        // Whoever came meanwhile has left what they had to us. What is left after nothing was stored is for a newer build.
        if stored == before {
            return Ok(stored);
        }
    }
}

/// Stores one record of the spool and removes it. `false`: it is not there any more, or nobody here can read it: it is
/// another build's, or was moved aside.
fn unspool(home: &Home, ledger: &Ledger, default: &AgentId, name: &RelPath) -> Result<bool> {
    let Some(spooled) = spool::read(home, name)? else { return Ok(false) };
    let known = heirloom_harness::by_name(&spooled.harness);
    let Some(harness) = known.filter(|h| h.hooks().iter().any(|hook| hook.event == spooled.event)) else {
        return Ok(false);
    };
    let Ok(Some(told)) = harness.decode_hook(&spooled.event, &spooled.payload) else {
        spool::set_aside(home, name)?;
        return Ok(false);
    };
    let agent = match told.agent.as_deref().map(AgentId::parse) {
        Some(Ok(named)) if named != AgentId::main() => named,
        _ => default.clone(),
    };
    let actor = format!("spool {}", spooled.harness);
    let agent_no = match ledger.read(|tx| read::agent_no(tx, &agent))? {
        Some(no) => no,
        None => ledger.write(heirloom_engine::ledger::Audit::new(&actor, "agent.add"), |tx| {
            tx.note("agent", agent.as_str());
            read::ensure_agent(tx, &agent)
        })?,
    };
    let at = AssistantHome::create(home, ledger, &agent, agent_no, &actor, crate::print::machine_zone())?;
    handle_at(&at, None, harness, &told, &spooled, false)?;
    spool::remove(home, name)?;
    Ok(true)
}
