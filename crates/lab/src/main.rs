//! The laboratory: measures Heirloom's cost and how much it finds, in numbers a stranger can reproduce. Never shipped.
//!
//! Everything is measured in one run on one machine, and compared with a baseline of the same run: a bare process, or
//! bytes of source. Homes are made below the cache folder and removed afterwards; no memory of a person is opened.

mod binary;
mod distill;
mod home;
mod hooks;
mod import;
mod lineage;
mod make;
mod measure;
mod models;
mod print;
mod recall;
mod service;
mod size;
mod sources;
mod speed;
mod statements;
mod story;
mod synthetic;

use std::path::{Path, PathBuf};
use std::process::ExitCode;

use clap::{Parser, Subcommand};
use heirloom_engine::error::{Error, ErrorKind, Result};
use serde_json::{Value, json};

/// The laboratory beside Heirloom: measures its cost, and how much it finds
///
/// Everything happens in temporary homes below the cache folder; no memory of a person is opened or changed.
///
/// Exit codes: 0 ok · 1 the machine failed · 2 usage · 3 refused · 4 not found · 5 damaged · 75 busy
#[derive(Parser, Debug)]
#[command(name = "heirloom-lab", version, max_term_width = 100, disable_help_subcommand = true)]
struct Cli {
    /// Print JSON for programs
    #[arg(long, global = true)]
    json: bool,
    #[command(subcommand)]
    command: Command,
}

#[derive(Subcommand, Debug)]
enum Command {
    Speed(speed::Args),
    Service(service::Args),
    Lineage(lineage::Args),
    Import(import::Args),
    Distill(distill::Args),
    Recall(recall::Args),
    Models(models::Args),
    Statements(statements::Args),
    Make(make::Args),
}

fn main() -> ExitCode {
    let cli = match Cli::try_parse() {
        Ok(cli) => cli,
        Err(e) if e.use_stderr() && std::env::args_os().any(|a| a == "--json") => {
            let said = e.render().to_string();
            let what = said.split("\n\n").next().unwrap_or_default().trim_start_matches("error: ");
            return failed(&Error::usage(what).hint("see heirloom-lab --help"), true);
        }
        Err(e) => e.exit(),
    };
    match run(&cli) {
        Ok(report) => {
            if cli.json {
                print::line(&report.to_string());
            }
            ExitCode::SUCCESS
        }
        Err(e) => failed(&e, cli.json),
    }
}

/// Runs the command in a folder of its own, which is removed unless it is to be kept.
fn run(cli: &Cli) -> Result<Value> {
    let cache = sources::cache()
        .ok_or_else(|| Error::usage("there is no cache folder (HOME is not set)").hint("set HOME or XDG_CACHE_HOME"))?;
    let folder = cache.join("heirloom-lab").join(std::process::id().to_string());
    let for_people = !cli.json;
    let (keep, report) = match &cli.command {
        Command::Speed(args) => (args.keep, speed::run(args, &folder, for_people)),
        Command::Service(args) => (args.keep, service::run(args, &folder, for_people)),
        Command::Lineage(args) => (args.keep, lineage::run(args, &folder, for_people)),
        Command::Import(args) => (false, import::run(args, &folder, for_people)),
        Command::Distill(args) => (false, distill::run(args, &folder, for_people)),
        Command::Recall(args) => (false, recall::run(args, &folder, for_people)),
        Command::Models(args) => (false, models::run(args, for_people)),
        Command::Statements(args) => (false, statements::run(args, for_people)),
        Command::Make(args) => (false, make::run(args, for_people)),
    };
    if !keep {
        let _ = std::fs::remove_dir_all(&folder);
    } else if for_people {
        print::line(&format!("Kept: {}", folder.display()));
    }
    report
}

fn failed(e: &Error, json: bool) -> ExitCode {
    let (kind, code) = match e.kind() {
        ErrorKind::Machine => ("machine", 1),
        ErrorKind::Usage => ("usage", 2),
        ErrorKind::Refused => ("refused", 3),
        ErrorKind::NotFound => ("not-found", 4),
        ErrorKind::Damaged => ("damaged", 5),
        ErrorKind::Busy => ("busy", 75),
    };
    if json {
        let error = json!({"error": {"kind": kind, "what": e.to_string(), "next": e.next_step()}});
        print::line(&error.to_string());
    } else {
        print::note(&format!("heirloom-lab: {e}"));
        if let Some(next) = e.next_step() {
            print::note(&format!("              {next}"));
        }
    }
    ExitCode::from(code)
}

/// Makes a folder and the folders above it.
fn make_dir(folder: &Path) -> Result<PathBuf> {
    std::fs::create_dir_all(folder).map_err(|e| Error::io("make", folder, e))?;
    Ok(folder.to_owned())
}

/// Returns the number of processors, which a reader needs to judge the figures.
fn machine() -> Value {
    json!({"cpus": std::thread::available_parallelism().map_or(0, usize::from)})
}
