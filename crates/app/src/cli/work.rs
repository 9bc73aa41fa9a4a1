//! `heirloom work`

use std::time::Duration;

use heirloom_engine::error::Result;
use heirloom_engine::lineage::marks;
use heirloom_engine::worker;
use serde_json::json;

use super::import::worker_name;
use crate::context::{Context, Global};
use crate::error::Exit;
use crate::print;

/// Do queued work: close what has been quiet, distil conversations, render pages, bring the index up to date
///
/// Commands and hooks never need it to be running.
#[derive(clap::Args, Debug)]
pub struct Args {
    /// Do what is due and stop; without it, go on as long as something will become due
    #[arg(long)]
    drain: bool,
}

/// How long the worker sleeps while jobs wait for their time.
const PAUSE: Duration = Duration::from_secs(5);

pub fn run(global: &Global, args: Args) -> Result<Exit> {
    let context = Context::open(global)?;
    let mut total = worker::Drained::default();
    loop {
        let (mut index, _) = context.index()?;
        let drained = worker::drain(&context.ledger, &mut index, &worker_name("cli work"))?;
        let distilled = context.distil("cli work", None)?;
        for problem in &distilled.problems {
            print::note(&problem.to_string());
        }
        total.done += distilled.sessions - distilled.problems.len() as u64;
        total.failed += distilled.problems.len() as u64;
        if drained.done > 0 {
            // A run that was closed is shown as such.
            context.settle_conversations("cli work");
        }
        // Nodes that were just made, then files.
        index.catch_up(&context.ledger, None, &mut |_| {})?;
        context.build_files(&mut index, "cli work")?;
        total.done += drained.done;
        total.failed += drained.failed;
        let (due, next) = context.ledger.read(|tx| marks::counts(tx, context.ledger.now(), None))?;
        total.later = drained.later + due + u64::from(next.is_some());
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
