//! `heirloom job`

mod child;
mod run;

use std::ffi::OsString;

use heirloom_engine::continuity::scheduled::Status;
use heirloom_engine::error::{Error, Result};
use heirloom_engine::report::scheduled::{RunReport, UnrecordedRun};

use crate::context::{Context, Global};
use crate::error::Exit;
use crate::print::{self, Paint};

/// Scheduled work: run a command and record how it ended
///
/// Put the command in front of any cron or systemd command. Failures show in continuity/ACTIVE.md until the job succeeds.
#[derive(clap::Args, Debug)]
pub struct Args {
    #[command(subcommand)]
    command: Command,
}

#[derive(clap::Subcommand, Debug)]
enum Command {
    Run(RunArgs),
    /// List every job with its last result, newest first
    List,
    /// List the last runs of a job
    Show {
        /// Name of the job
        #[arg(value_name = "NAME")]
        name: String,
        /// Maximum number of runs
        #[arg(long, short = 'n', value_name = "N", default_value_t = 10)]
        limit: usize,
    },
    /// Acknowledge a failure, which removes it from ACTIVE.md
    Ack {
        /// Name of the job
        #[arg(value_name = "NAME")]
        name: String,
    },
}

/// Run a command, pass everything through, and record how it ended
///
/// Input, output and exit code are the command's: 128+n if signal n ended it, 127 or 126 if it cannot be started, 124
/// if it reached the timeout. SIGINT and SIGTERM are passed on. The output becomes an artifact (of a long output the
/// first 64 KiB and the last 192). The command runs even if the memory cannot be opened. With --json the record of the
/// run is the last line of standard error.
#[derive(clap::Args, Debug)]
struct RunArgs {
    /// Name of the job, shared by all its runs
    #[arg(value_name = "NAME")]
    name: String,
    /// Stop the command after this time: SIGTERM, and 10 seconds later SIGKILL
    #[arg(long, value_name = "SECS", value_parser = clap::value_parser!(u64).range(1..=31_536_000))]
    timeout: Option<u64>,
    /// Keep no output of a run that succeeded
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
            let engine = Context::open(global)?.acting_as(ACTOR);
            let report = engine.acknowledge(&name)?;
            let line = match report.acknowledged {
                0 => format!("{name}: there is no failure to be seen."),
                n => format!("{name}: {} seen.", print::counted(n as u64, "failure")),
            };
            Ok(print::answer(global.json, &report, || print::line(&line)))
        }
    }
}

fn list(global: &Global) -> Result<Exit> {
    let engine = Context::open(global)?.acting_as(ACTOR);
    let report = engine.jobs()?;
    Ok(print::answer(global.json, &report, || {
        if report.jobs.is_empty() {
            print::line("No job has run yet. Put heirloom job run NAME -- in front of a cron command.");
        }
        let now = engine.now();
        let row =
            |r: &RunReport| vec![r.run.name.clone(), how(r), print::when(Some(r.run.started_at), now), command(r, 60)];
        print::out(&print::table(&report.jobs.iter().map(row).collect::<Vec<_>>()));
    }))
}

fn show(global: &Global, name: &str, limit: usize) -> Result<Exit> {
    let engine = Context::open(global)?.acting_as(ACTOR);
    let report = engine.job(name, limit)?;
    Ok(print::answer(global.json, &report, || {
        let paint = Paint::stdout();
        if let Some(last) = report.runs.first() {
            print::line(&format!("{} · {}", paint.bold(&last.run.name), how(last)));
            print::line(&paint.dim(&command(last, 200)));
        }
        let now = engine.now();
        let row = |r: &RunReport| {
            let output = r.run.artifact.clone().unwrap_or_default();
            vec![format!("  {}", print::when(Some(r.run.started_at), now)), how(r), took(r), output]
        };
        print::out(&print::table(&report.runs.iter().map(row).collect::<Vec<_>>()));
    }))
}

fn how(report: &RunReport) -> String {
    let run = &report.run;
    let seen = if run.acknowledged { " (seen)" } else { "" };
    match (report.status, &run.error, run.signal, run.exit_code) {
        (Status::Running, ..) => "running".into(),
        (Status::Done, ..) => "done".into(),
        (_, Some(error), ..) => format!("failed: {}{seen}", print::cut(&print::safe_line(error), 60)),
        (_, _, Some(signal), _) => format!("failed: signal {signal}{seen}"),
        (.., code) => format!("failed: exit {}{seen}", code.unwrap_or(-1)),
    }
}

fn took(report: &RunReport) -> String {
    let run = &report.run;
    run.ended_at.map_or(String::new(), |end| format!("{:.1} s", (end - run.started_at) as f64 / 1000.0))
}

fn command(report: &RunReport, width: usize) -> String {
    print::cut(&print::safe_line(&report.run.command), width)
}

/// Prints the error for a run that could not be recorded, for people and for programs.
fn not_recorded(global: &Global, name: &str, code: u8, e: &Error) {
    let next = e.next_step().map_or(String::new(), |n| format!(" ({n})"));
    print::note(&format!("heirloom: this run of {name} is not recorded: {e}{next}"));
    if global.json {
        print::note_report(&UnrecordedRun { run: None, job: name.to_owned(), passed: code, error: e.to_string() });
    }
}
