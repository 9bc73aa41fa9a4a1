//! `heirloom work`

use std::time::Duration;

use heirloom_engine::error::Result;
use heirloom_engine::home::Home;
use heirloom_engine::report::upkeep::Worked;
use heirloom_engine::spool;

use crate::context::{Context, Global, home_options};
use crate::error::Exit;
use crate::hook;
use crate::{config, print};

/// Do queued work: close what has been quiet, distil conversations, render pages, bring the index up to date
///
/// Commands and hooks never need it to be running.
#[derive(clap::Args, Debug)]
pub struct Args {
    /// Do what is due and stop; without it, go on as long as something will become due
    #[arg(long)]
    drain: bool,

    /// As a hook starts it: in a session of its own, one at a time, without a word
    #[arg(long, hide = true, requires = "drain")]
    detached: bool,
}

/// How long the worker sleeps while jobs wait for their time.
const PAUSE: Duration = Duration::from_secs(5);

/// The worker of hooks yields to the program whose hook started it.
const WORKER_NICENESS: i32 = 10;

pub fn run(global: &Global, args: Args) -> Result<Exit> {
    if args.detached {
        return detached(global);
    }
    let context = Context::open(global)?;
    let engine = context.acting_as("cli work");
    let mut total = Worked::default();
    loop {
        let worked = engine.work()?;
        for problem in &worked.problems {
            print::note(&problem.to_string());
        }
        total = Worked { done: total.done + worked.done, failed: total.failed + worked.failed, ..worked };
        if args.drain || total.later == 0 {
            break;
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

/// The worker that hooks start: it does what is due and exits. Work that arrives meanwhile is found by a second look after
/// the lock is released. Without the lock it does not touch the home, so that only one worker runs, whatever its build.
fn detached(global: &Global) -> Result<Exit> {
    // Fails if the process leads a session already, as when started by hand in a terminal.
    let _ = rustix::process::setsid();
    let _ = rustix::process::nice(WORKER_NICENESS);
    let at = config::home(global.home.as_deref())?;
    loop {
        // The home the hook used; it is not created again if it has been removed.
        let home = Home::open_with(&at.value, &home_options())?;
        let Some(lock) = home.try_lock(hook::worker::LOCK)? else { return Ok(Exit::Ok) };
        let spooled = spool::names(&home)?.len();
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
        drop(lock);
        // Work that cannot be done now is left to the next worker, unless new work arrived meanwhile.
        let still = engine.due()?;
        let again = still > 0 && (done > 0 || still > before);
        let came_in = spool::names(engine.home())?.iter().any(|name| !left.contains(name));
        let some_left = !left.is_empty() && left.len() < spooled;
        if !(again || came_in || some_left) {
            return Ok(Exit::Ok);
        }
    }
}
