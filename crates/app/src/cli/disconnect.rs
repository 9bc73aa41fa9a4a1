//! `heirloom disconnect` (R12.2)

use heirloom_engine::error::Result;
use heirloom_harness::install::Installed;
use heirloom_harness::{Harness, HostPaths};
use serde_json::{Value, json};

use super::connect::{files_json, home, record, refused, show};
use crate::config;
use crate::connection::{self, FileChange, Record, Target};
use crate::context::Global;
use crate::error::Exit;
use crate::print::{self, Paint};

/// Take out of agent programs what `heirloom connect` put in
///
/// A settings file nobody changed since is again what it was, to the byte; in one that somebody changed, only what is
/// Heirloom's goes. What Heirloom remembers stays.
#[derive(clap::Args, Debug)]
pub struct Args {
    /// claude-code, codex, opencode, openclaw [default: all that are connected]
    harness: Vec<String>,

    /// Show the changes and write nothing
    #[arg(long)]
    dry_run: bool,
}

pub fn run(global: &Global, args: Args) -> Result<Exit> {
    let host = config::host();
    let harnesses = match args.harness.is_empty() {
        true => connection::connectable().collect(),
        false => connection::named(&args.harness)?,
    };
    let how = connection::installed(global)?;
    let mut all: Vec<Value> = Vec::new();
    let (mut exit, mut found) = (Exit::Ok, false);
    for harness in harnesses {
        let title = harness.spec().title;
        let record = record(global);
        let plan = |record: &Record| {
            let looked = Target::look(harness, &host, &how);
            looked.and_then(|target| target.disconnect(record).map(|changes| (target, changes)))
        };
        let mut planned = plan(&record);
        let mut mcp = Vec::new();
        if planned.is_ok() {
            mcp = take_mcp(harness, &host, &how, global, args.dry_run)?;
            if !mcp.is_empty() && !args.dry_run {
                // They may have been in the same file.
                planned = plan(&self::record(global));
            }
        }
        let (target, changes) = match planned {
            Ok((_, changes)) if changes.is_empty() && mcp.is_empty() && args.harness.is_empty() => continue,
            Ok(planned) => planned,
            Err(e) => {
                found = true;
                let outcome = refused(harness, None, &e, global);
                exit = if exit == Exit::Ok { outcome.exit } else { exit };
                all.push(outcome.json);
                continue;
            }
        };
        found = true;
        if !global.json {
            print::line(&Paint::stdout().bold(title));
            show(&mcp, args.dry_run);
            show(&changes, args.dry_run);
        }
        let mut state = if changes.is_empty() && mcp.is_empty() { "not connected" } else { "would be disconnected" };
        if !args.dry_run && !changes.is_empty() {
            if let Err(e) = target.apply(&home(global)?, &changes) {
                let outcome = refused(harness, None, &e, global);
                exit = if exit == Exit::Ok { outcome.exit } else { exit };
                all.push(outcome.json);
                continue;
            }
            state = "disconnected";
        }
        if !args.dry_run && !mcp.is_empty() {
            state = "disconnected";
        }
        if !global.json {
            print::line(&format!("  {state}"));
            if target.moves_trusted() && !changes.is_empty() {
                print::line(&format!(
                    "  hooks behind Heirloom's move up; {title} asks you to trust them again (/hooks)"
                ));
            }
        }
        all.push(json!({"program": harness.spec().name, "state": state, "files": files_json(&changes),
                "mcp": files_json(&mcp), "refused": null}));
    }
    if global.json {
        print::line(&json!({"programs": all}).to_string());
    } else if !found {
        print::line("No program is connected.");
    }
    Ok(exit)
}

/// Takes back what lets a program ask by itself. It goes first, because it was put in last. Returns what is changed.
fn take_mcp(
    harness: &'static dyn Harness,
    host: &HostPaths,
    how: &Installed,
    global: &Global,
    dry_run: bool,
) -> Result<Vec<FileChange>> {
    // A file that cannot be understood is told of with the hooks, or has nothing of ours.
    let Ok(Some(target)) = Target::look_mcp(harness, host, how) else { return Ok(Vec::new()) };
    let Ok(changes) = target.disconnect(&record(global)) else { return Ok(Vec::new()) };
    if !dry_run && !changes.is_empty() {
        target.apply(&home(global)?, &changes)?;
    }
    Ok(changes)
}
