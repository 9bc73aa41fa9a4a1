//! `heirloom work`

use std::time::Duration;

use heirloom_engine::error::Result;
use heirloom_engine::home::Home;
use heirloom_engine::index::Index;
use heirloom_engine::ledger::jobs;
use heirloom_engine::lineage::marks;
use heirloom_engine::worker;
use serde_json::json;

use super::import::worker_name;
use crate::context::{Context, Global, options};
use crate::error::Exit;
use crate::hook::{self, spool};
use crate::{config, print, programs};

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
    let mut total = worker::Drained::default();
    loop {
        let (mut index, _) = context.index()?;
        total = pass(&context, &mut index, "cli work", total)?;
        if args.drain || total.later == 0 {
            break;
        }
        drop(index);
        std::thread::sleep(PAUSE);
    }
    if global.json {
        print::line(&json!({"done": total.done, "failed": total.failed, "later": total.later}).to_string());
    } else if total.done + total.failed + total.later == 0 {
        print::line("Nothing to do.");
    } else {
        print::line(&format!("{} done, {} failed, {} waiting for their time", total.done, total.failed, total.later));
    }
    Ok(if total.failed > 0 { Exit::Problems } else { Exit::Ok })
}

/// Everything that is due, once.
fn pass(context: &Context, index: &mut Index, actor: &str, before: worker::Drained) -> Result<worker::Drained> {
    let mut total = before;
    let mut read = |payload: &str| programs::read_store(context, payload, actor);
    let drained = worker::drain(&context.ledger, index, &worker_name(actor), &mut read)?;
    let distilled = context.distil(actor, None)?;
    for problem in &distilled.problems {
        print::note(&problem.to_string());
    }
    total.done += drained.done + distilled.sessions - distilled.problems.len() as u64;
    total.failed += drained.failed + distilled.problems.len() as u64;
    if drained.done > 0 {
        // A run that was closed is shown as such.
        context.settle_conversations(actor);
    }
    // Nodes that were just made, then files.
    index.catch_up(&context.ledger, None, &mut |_| {})?;
    context.build_files(index, actor)?;
    let (due, next) = context.ledger.read(|tx| marks::counts(tx, context.ledger.now(), None))?;
    total.later = drained.later + due + u64::from(next.is_some());
    Ok(total)
}

/// The worker of hooks: does what is due and is gone. What comes in while it works or lets go of the lock is seen when it
/// looks again. Without the lock nothing of the home is touched: of two builds, too, only one works.
fn detached(global: &Global) -> Result<Exit> {
    // Refused where it leads a session already, as when a person tries it in a terminal.
    let _ = rustix::process::setsid();
    let _ = rustix::process::nice(WORKER_NICENESS);
    let at = config::home(global.home.as_deref())?;
    loop {
        // The home a hook found. One that is gone since is not made again.
        let home = Home::open_with(&at.value, &options())?;
        let Some(lock) = home.try_lock(hook::worker::LOCK)? else { return Ok(Exit::Ok) };
        let spooled = spool::names(&home)?.len();
        // Opening stores what is in the spool, for a while.
        let context = Context::within(home, at.from, global)?;
        let left = spool::names(&context.home)?;
        let before = due(&context)?;
        let (mut index, _) = context.index()?;
        let done = pass(&context, &mut index, "worker", worker::Drained::default())?.done;
        drop((index, lock));
        // What cannot be done now is left to the next one; what came in while nothing could be done is not.
        let still = due(&context)?;
        let again = still > 0 && (done > 0 || still > before);
        let came_in = spool::names(&context.home)?.iter().any(|name| !left.contains(name));
        let some_left = !left.is_empty() && left.len() < spooled;
        if !(again || came_in || some_left) {
            return Ok(Exit::Ok);
        }
    }
}

/// How many jobs and sessions are due.
fn due(context: &Context) -> Result<u64> {
    let now = context.ledger.now();
    context.ledger.read(|tx| Ok(jobs::counts(tx, now)?.due + marks::counts(tx, now, None)?.0))
}
