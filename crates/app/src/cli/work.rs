//! `heirloom work`

use std::time::{Duration, Instant};

use heirloom_engine::clock::{Clock, Millis};
use heirloom_engine::error::Result;
use heirloom_engine::home::Home;
use heirloom_engine::report::upkeep::Worked;
use heirloom_engine::spool;
use heirloom_engine::transcript::IDLE_MS;

use crate::context::{Context, Global, clock, home_options};
use crate::error::Exit;
use crate::hook;
use crate::{config, print};

/// Do queued work: close quiet conversations, distil them, render pages, update the index
///
/// Commands and hooks never need this to be running.
#[derive(clap::Args, Debug)]
pub struct Args {
    /// Do what is due and stop; without it, continue as long as something will become due
    #[arg(long)]
    drain: bool,

    /// Set by hooks: run in a session of its own, one at a time, without output
    #[arg(long, hide = true, requires = "drain")]
    detached: bool,

    /// Afterwards wait for work that becomes due within ten minutes; N is the number of earlier waits in vain
    #[arg(long, hide = true, requires = "detached", value_name = "N")]
    stays: Option<u32>,
}

/// Time the worker sleeps while jobs wait for their time.
const PAUSE: Duration = Duration::from_secs(5);

/// Interval at which a waiting worker of hooks checks that the home still exists.
const LOOK: Duration = Duration::from_secs(2);

/// Maximum time a worker of hooks waits; work that is due later is left to the next hook or command.
const LONGEST_WAIT_MS: Millis = IDLE_MS + 60_000;

/// Wait up to this length is allowed even if another worker waits, which may be waiting for something later.
const SHORT_WAIT_MS: Millis = 15_000;

/// Number of waits in vain in a row after which workers of hooks leave the work to the next hook.
const IN_VAIN: u32 = 3;

/// Nice value of the worker of hooks, so that it yields to the program whose hook started it.
const WORKER_NICENESS: i32 = 10;

pub fn run(global: &Global, args: Args) -> Result<Exit> {
    if args.detached {
        return detached(global, args.stays);
    }
    let context = Context::open(global)?;
    let engine = context.acting_as("cli work");
    let mut total = Worked::default();
    // Last message about waiting, so that it is not repeated.
    let mut told = None;
    // Problems of the last pass, for the same reason.
    let mut noted: Vec<String> = Vec::new();
    loop {
        let worked = engine.work()?;
        let problems: Vec<String> = worked.problems.iter().map(ToString::to_string).collect();
        for problem in problems.iter().filter(|problem| !noted.contains(problem)) {
            print::note(problem);
        }
        noted = problems;
        let (done, later, worked_on) = (worked.done, worked.later, worked.renewing);
        total = Worked { done: total.done + done, failed: total.failed + worked.failed, ..worked };
        if worked_on {
            continue;
        }
        if args.drain || total.later == 0 {
            break;
        }
        let next = engine.next_due()?;
        if next != told {
            if let Some(next) = next {
                print::note(&waiting(done, later, next, engine.now()));
            }
            told = next;
        }
        std::thread::sleep(PAUSE);
    }
    if global.json {
        print::report(&total);
    } else if total.done + total.failed + total.later == 0 {
        print::line("Nothing to do.");
    } else {
        print::line(&format!("{} done, {} failed, {} waiting for their time", total.done, total.failed, total.later));
    }
    Ok(if total.failed > 0 { Exit::Problems } else { Exit::Ok })
}

/// Describes waiting work while nothing is due yet.
fn waiting(done: u64, later: u64, next: Millis, now: Millis) -> String {
    let minutes = (next - now).max(0) / 60_000 + 1;
    let minutes = if minutes == 1 { "a minute".to_owned() } else { format!("{minutes} minutes") };
    format!(
        "{done} done; {later} waiting, the next for at most {minutes} (a conversation is closed when it has been quiet for ten)"
    )
}

/// Runs the worker of hooks: it does what is due, waits for what soon will be if `stays` is set, and ends. After
/// releasing the lock it looks again for work that arrived meanwhile. It touches nothing of the home without the lock,
/// so even of two builds only one works.
fn detached(global: &Global, stays: Option<u32>) -> Result<Exit> {
    // `setsid` fails for a process that already leads a group, as when a person runs this in a terminal; that is
    // harmless.
    let _ = rustix::process::setsid();
    let _ = rustix::process::nice(WORKER_NICENESS);
    let at = config::home(global.home.as_deref())?;
    let mut in_vain = true;
    loop {
        // The home is opened as the hook used it; a home that has been removed is not created again.
        let home = Home::open_with(&at.value, &home_options())?;
        let Some(lock) = home.try_lock(hook::worker::LOCK)? else { return Ok(Exit::Ok) };
        let spooled = spool::names(&home)?;
        // Opening the home stores the calls in the spool, for a limited time.
        let context = Context::existing(global)?;
        let engine = context.acting_as("worker");
        let left = spool::names(engine.home())?;
        let before = engine.due()?;
        let worked = engine.work()?;
        for problem in &worked.problems {
            print::note(&problem.to_string());
        }
        let done = worked.done;
        in_vain &= done == 0;
        drop(lock);
        // Work that cannot be done now is left to the next worker, unless new work arrived meanwhile.
        let still = engine.due()?;
        let again = still > 0 && (done > 0 || still > before);
        // Calls that arrived while the home was being opened are handled, too: their hooks found the lock taken.
        let came_in = spool::names(engine.home())?.iter().any(|name| !spooled.contains(name));
        let some_left = !left.is_empty() && left.len() < spooled.len();
        if again || came_in || some_left {
            continue;
        }
        let Some(before) = stays else { return Ok(Exit::Ok) };
        let vain = if in_vain { before + 1 } else { 0 };
        let pause = engine.next_due()?.map(|next| next - engine.now());
        // A fixed clock (tests) never reaches the moment.
        let waits = vain < IN_VAIN && matches!(clock(), Clock::System);
        let Some(pause) = pause.filter(|ms| waits && *ms <= LONGEST_WAIT_MS) else { return Ok(Exit::Ok) };
        // The engine is dropped first, so that nothing of the home stays open while waiting.
        drop((engine, context));
        return wait(&home, pause, vain);
    }
}

/// Waits `pause` milliseconds until something is due, and then starts a worker. Only one worker waits for a long time;
/// several may wait for a short one, because the first may be waiting for something later.
fn wait(home: &Home, pause: Millis, vain: u32) -> Result<Exit> {
    let lock = home.try_lock(hook::worker::WAITS)?;
    if lock.is_none() && pause > SHORT_WAIT_MS {
        return Ok(Exit::Ok);
    }
    let until = Instant::now() + Duration::from_millis(u64::try_from(pause).unwrap_or(0) + 100);
    while home.root().exists() {
        let left = until.saturating_duration_since(Instant::now());
        if left.is_zero() {
            drop(lock);
            hook::worker::start_again(home, vain);
            break;
        }
        std::thread::sleep(left.min(LOOK));
    }
    Ok(Exit::Ok)
}
