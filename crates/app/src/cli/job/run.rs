//! `heirloom job run`: runs the command, and records the run in the memory beside it.

use std::ffi::OsString;
use std::sync::mpsc;
use std::thread;
use std::time::{Duration, Instant};

use heirloom_engine::clock::Millis;
use heirloom_engine::continuity::scheduled::{self, Begun, JobName, Outcome};
use heirloom_engine::engine::Engine;
use heirloom_engine::error::{Error, ErrorKind, Result};
use heirloom_engine::report::scheduled::RunReport;

use super::{ACTOR, RunArgs, child, not_recorded};
use crate::context::{self, Context, Global};
use crate::error::Exit;
use crate::print;

/// Maximum time the command waits for the start of its run to be recorded.
const BEFORE: Duration = Duration::from_secs(2);

/// Maximum time that recording the end of a command may wait for a busy memory.
const AFTER: Duration = Duration::from_secs(30);

/// If opening the memory failed longer ago than this, it is tried again.
const STALE: Duration = Duration::from_secs(1);

/// The opened memory and the recorded run.
struct Opened {
    engine: Engine,
    begun: Begun,
}

pub(super) fn run(global: &Global, args: &RunArgs) -> Result<Exit> {
    let name = JobName::parse(&args.name)?;
    let (shown, started) = (in_words(&args.command), context::clock().now());
    let opening = {
        let (global, name, shown) = (global.clone(), name.clone(), shown.clone());
        let (sender, receiver) = mpsc::channel();
        thread::spawn(move || {
            let opened = open(&global, &name, &shown, started);
            sender.send((opened, Instant::now())).is_ok()
        });
        receiver
    };
    let early = opening.recv_timeout(BEFORE).ok();
    let ended = child::run(&args.command, args.timeout.map(Duration::from_secs));
    let quiet = args.quiet_success && ended.outcome == Outcome::Exit(0);
    let keep = !quiet && !ended.output.is_empty();
    let (opened, at) = early.or_else(|| opening.recv_timeout(AFTER).ok()).unwrap_or_else(|| {
        let busy = Error::new(ErrorKind::Busy, "the memory does not open").hint("is its disk still there?");
        (Err(busy), Instant::now())
    });
    // A long command gave the obstacle time to go away: a failed opening is tried once more.
    let opened = match opened {
        Err(first) if at.elapsed() > STALE => open(global, &name, &shown, started).map_err(|_| first),
        opened => opened,
    };
    let recorded = opened.and_then(|Opened { engine, begun }| {
        let output = keep.then_some(&ended.output);
        let finished = engine.act_unlocked(|at| scheduled::finish(at, begun, &ended.outcome, output))?;
        if let Some(e) = &finished.output_lost {
            print::note(&format!("heirloom: the output of {} is not kept: {e}", args.name));
        }
        Ok(finished.run)
    });
    match recorded {
        Ok(run) if global.json => {
            let record = RunReport { passed: Some(ended.code), ..RunReport::from(run) };
            print::note_report(&record);
        }
        Ok(_) => {}
        Err(e) => not_recorded(global, &args.name, ended.code, &e),
    }
    Ok(Exit::Passed(ended.code))
}

fn open(global: &Global, name: &JobName, command: &str, started: Millis) -> Result<Opened> {
    let engine = Context::create(global)?.acting_as(ACTOR);
    // Pages are rendered at the end, so that the command does not wait for them.
    let at = engine.assistant()?;
    let begun = scheduled::begin(&at, name, command, started)?;
    drop(at);
    Ok(Opened { engine, begun })
}

/// Returns a command line with the quoting of a shell.
fn in_words(command: &[OsString]) -> String {
    let plain = |c: char| c.is_alphanumeric() || "/._-+:@%=,".contains(c);
    let word = |word: &OsString| {
        let word = word.to_string_lossy().into_owned();
        let bare = !word.is_empty() && word.chars().all(plain);
        if bare { word } else { format!("'{}'", word.replace('\'', r"'\''")) }
    };
    command.iter().map(word).collect::<Vec<_>>().join(" ")
}
