//! Heirloom: one memory under every agent program. Parses, dispatches, prints, exits.

mod cli;
mod config;
mod context;
mod demo;
mod error;
mod print;
mod programs;
mod retention;

use std::process::ExitCode;

use clap::Parser;

use crate::error::{Exit, kind_name};

fn main() -> ExitCode {
    let cli = cli::Cli::parse();
    let json = cli.global.json;
    if json {
        print::for_programs();
    }
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
