//! `heirloom job`

mod child;
mod run;

use std::ffi::OsString;

use heirloom_engine::continuity::scheduled::{self, Run, Status};
use heirloom_engine::error::{Error, Result};
use heirloom_engine::scope::AgentNo;
use serde_json::{Value, json};

use crate::context::{Context, Global};
use crate::error::Exit;
use crate::print::{self, Paint};

/// Scheduled work: run a command and remember how it ended
///
/// Put it in front of any cron or systemd command. Failures show in continuity/ACTIVE.md until the job succeeds.
#[derive(clap::Args, Debug)]
pub struct Args {
    #[command(subcommand)]
    command: Command,
}

#[derive(clap::Subcommand, Debug)]
enum Command {
    Run(RunArgs),
    /// Every job and how it ended last, newest first
    List,
    /// The last runs of a job
    Show {
        /// Its name
        #[arg(value_name = "NAME")]
        name: String,
        /// How many runs
        #[arg(long, short = 'n', value_name = "N", default_value_t = 10)]
        limit: usize,
    },
    /// Take a failure out of ACTIVE.md: it was seen
    Ack {
        /// Its name
        #[arg(value_name = "NAME")]
        name: String,
    },
}

/// Run a command, pass everything through, record how it ended
///
/// Input, output and exit code are the command's: 128+n when signal n ended it, 127 or 126 when it cannot be started,
/// 124 when its time was up. SIGINT and SIGTERM are passed on. What it printed becomes an artifact (of long output the
/// first 64 KiB and the last 192). Whatever is wrong with the memory, the command runs. With --json the record of the
/// run is the last line of standard error.
#[derive(clap::Args, Debug)]
struct RunArgs {
    /// The job: a name for all its runs
    #[arg(value_name = "NAME")]
    name: String,
    /// Stop it after so long: SIGTERM, and 10 seconds later SIGKILL
    #[arg(long, value_name = "SECS", value_parser = clap::value_parser!(u64).range(1..=31_536_000))]
    timeout: Option<u64>,
    /// Keep no output of a run that went well
    #[arg(long)]
    quiet_success: bool,
    /// The command and its arguments
    #[arg(value_name = "CMD", last = true, required = true)]
    command: Vec<OsString>,
}

const ACTOR: &str = "cli job";

pub fn run(global: &Global, args: Args) -> Result<Exit> {
    match args.command {
        Command::Run(args) => run::run(global, &args),
        Command::List => list(global),
        Command::Show { name, limit } => show(global, &name, limit),
        Command::Ack { name } => {
            let context = Context::open(global)?;
            let at = context.assistant(ACTOR)?;
            let seen = scheduled::acknowledge(&at, &name)?;
            context.instance().settle(&at);
            if global.json {
                print::line(&json!({"job": name, "acknowledged": seen}).to_string());
            } else if seen == 0 {
                print::line(&format!("{name}: there is no failure to be seen."));
            } else {
                print::line(&format!("{name}: {} seen.", print::counted(seen as u64, "failure")));
            }
            Ok(Exit::Ok)
        }
    }
}

fn list(global: &Global) -> Result<Exit> {
    let context = Context::open(global)?;
    let runs = looked(&context, scheduled::jobs)?;
    if global.json {
        let list: Vec<Value> = runs.iter().map(run_json).collect();
        print::line(&json!({"jobs": list}).to_string());
        return Ok(Exit::Ok);
    }
    if runs.is_empty() {
        print::line("No job has run yet. Put heirloom job run NAME -- in front of a cron command.");
    }
    let now = context.now();
    let row = |r: &Run| vec![r.name.clone(), how(r), print::when(Some(r.started_at), now), command(r, 60)];
    print::out(&print::table(&runs.iter().map(row).collect::<Vec<_>>()));
    Ok(Exit::Ok)
}

fn show(global: &Global, name: &str, limit: usize) -> Result<Exit> {
    let context = Context::open(global)?;
    let runs = looked(&context, |tx, agent_no| scheduled::runs(tx, agent_no, name, limit.max(1)))?;
    let Some(last) = runs.first() else { return Err(scheduled::no_such(name)) };
    if global.json {
        let list: Vec<Value> = runs.iter().map(run_json).collect();
        print::line(&json!({"job": name, "runs": list}).to_string());
        return Ok(Exit::Ok);
    }
    let paint = Paint::stdout();
    print::line(&format!("{} · {}", paint.bold(&last.name), how(last)));
    print::line(&paint.dim(&command(last, 200)));
    let now = context.now();
    let row = |r: &Run| {
        let output = r.artifact.clone().unwrap_or_default();
        vec![format!("  {}", print::when(Some(r.started_at), now)), how(r), took(r), output]
    };
    print::out(&print::table(&runs.iter().map(row).collect::<Vec<_>>()));
    Ok(Exit::Ok)
}

/// What the ledger has, after runs that were cut off were noticed.
fn looked(
    context: &Context,
    f: impl FnOnce(&heirloom_engine::ledger::Read, AgentNo) -> Result<Vec<Run>>,
) -> Result<Vec<Run>> {
    let Some((at, _)) = context.look_at_assistant(ACTOR)? else { return Ok(Vec::new()) };
    if !context.is_read_only() && scheduled::notice_cut_off(&at)? > 0 {
        context.instance().settle(&at);
    }
    at.read(|tx| f(tx, at.agent_no))
}

/// A run, for programs.
fn run_json(run: &Run) -> Value {
    json!({"run": run.no, "job": run.name, "status": run.status().name(), "command": run.command,
           "started_at": run.started_at, "ended_at": run.ended_at, "exit_code": run.exit_code, "signal": run.signal,
           "error": run.error, "artifact": run.artifact, "acknowledged": run.acknowledged})
}

fn how(run: &Run) -> String {
    let seen = if run.acknowledged { " (seen)" } else { "" };
    match (run.status(), &run.error, run.signal, run.exit_code) {
        (Status::Running, ..) => "running".into(),
        (Status::Done, ..) => "done".into(),
        (_, Some(error), ..) => format!("failed: {}{seen}", print::cut(&print::safe_line(error), 60)),
        (_, _, Some(signal), _) => format!("failed: signal {signal}{seen}"),
        (.., code) => format!("failed: exit {}{seen}", code.unwrap_or(-1)),
    }
}

fn took(run: &Run) -> String {
    run.ended_at.map_or(String::new(), |end| format!("{:.1} s", (end - run.started_at) as f64 / 1000.0))
}

fn command(run: &Run, width: usize) -> String {
    print::cut(&print::safe_line(&run.command), width)
}

/// The error of a run that was not recorded, for people and programs.
fn not_recorded(global: &Global, name: &str, code: u8, e: &Error) {
    let next = e.next_step().map_or(String::new(), |n| format!(" ({n})"));
    print::note(&format!("heirloom: this run of {name} is not recorded: {e}{next}"));
    if global.json {
        print::note(&json!({"run": null, "job": name, "passed": code, "error": e.to_string()}).to_string());
    }
}
