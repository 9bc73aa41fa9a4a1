//! Heirloom's command line: parses arguments, runs the command, prints the result, exits.

mod backup;
mod cli;
mod config;
mod confined;
mod connection;
mod context;
mod demo;
mod error;
mod heap;
mod hook;
mod open_key;
mod print;
mod programs;
mod retention;
mod section;
mod service;
mod terminal;

use std::process::ExitCode;

use crate::error::{Exit, kind_name};

fn main() -> ExitCode {
    let arguments: Vec<std::ffi::OsString> = std::env::args_os().collect();
    if let Some((global, program, event)) = cli::hook::plainly(&arguments) {
        hook::run(&global, &program, &event);
        return ExitCode::SUCCESS;
    }
    let cli = match cli::parse(&arguments) {
        Ok(cli) => cli,
        // A program treats any other status of its hook as a refusal of the user's prompt.
        Err(e) if e.use_stderr() && cli::hook::is_meant(&arguments) => return ExitCode::SUCCESS,
        Err(e) if e.use_stderr() && std::env::args_os().any(|a| a == "--json") => return misused(&e),
        Err(e) => e.exit(),
    };
    let json = cli.global.json;
    if json {
        print::set_json();
    }
    heirloom_engine::holder::announce_with(terminal::waiting);
    match cli::run(cli) {
        Ok(exit) => exit.into(),
        Err(e) => {
            if json {
                let value = serde_json::json!({
                    "error": {"kind": kind_name(e.kind()), "what": e.to_string(), "next": e.next_step()}
                });
                print::line(&value.to_string());
            } else {
                print::note(&format!("heirloom: {e}"));
                if let Some(next) = e.next_step() {
                    print::note(&format!("          {next}"));
                }
            }
            Exit::of(&e).into()
        }
    }
}

/// Prints a usage error as JSON for programs.
fn misused(e: &clap::Error) -> ExitCode {
    let rendered = e.render().to_string();
    let what = rendered.split("\n\n").next().unwrap_or_default().trim_start_matches("error: ");
    let next = rendered.trim_end().rsplit("\n\n").next();
    print::set_json();
    let kind = kind_name(heirloom_engine::error::ErrorKind::Usage);
    print::line(&serde_json::json!({"error": {"kind": kind, "what": what, "next": next}}).to_string());
    Exit::Usage.into()
}
