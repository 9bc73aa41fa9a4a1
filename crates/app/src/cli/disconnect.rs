//! `heirloom disconnect` (R12.2)

use heirloom_engine::error::Result;
use heirloom_harness::HostPaths;
use heirloom_harness::install::Installed;
use serde_json::{Value, json};

use super::connect::{files_json, home, record, refused, show};
use crate::config;
use crate::connection::{self, FileChange, Program, Record, Target};
use crate::context::Global;
use crate::error::Exit;
use crate::print::{self, Paint};

/// Remove from agent programs what `heirloom connect` added
///
/// A settings file nobody changed since is restored to the byte; from a file that was changed, only Heirloom's entries
/// are removed. The memory itself stays.
#[derive(clap::Args, Debug)]
pub struct Args {
    /// claude-code, codex, opencode, openclaw, claude-desktop, cursor, gemini, vscode, zed [default: all that are connected]
    program: Vec<String>,

    /// Show the changes and write nothing
    #[arg(long)]
    dry_run: bool,

    /// Do not ask; without it, nothing is asked either
    #[arg(long = "yes", short = 'y')]
    _yes: bool,
}

pub fn run(global: &Global, args: Args) -> Result<Exit> {
    let host = config::host();
    let programs = match args.program.is_empty() {
        true => connection::connectable().collect(),
        false => connection::named(&args.program)?,
    };
    let how = connection::installed(global)?;
    let mut all: Vec<Value> = Vec::new();
    let (mut exit, mut found) = (Exit::Ok, false);
    for program in programs {
        let title = program.title();
        let record = record(global);
        let plan = |record: &Record| {
            let target = match program {
                Program::Hooked(_) => Target::look(program, &host, &how)?,
                Program::Asking(_) => return Ok(None),
            };
            target.disconnect(record).map(|changes| Some((target, changes)))
        };
        let mut planned: Result<Option<(Target, Vec<FileChange>)>> = plan(&record);
        let mut mcp = Vec::new();
        if planned.is_ok() {
            mcp = match take_mcp(program, &host, &how, global, args.dry_run) {
                Ok(changes) => changes,
                Err(e) => {
                    planned = Err(e);
                    Vec::new()
                }
            };
            if !mcp.is_empty() && !args.dry_run {
                // Hooks and MCP settings may share a file, which has just changed: the plan is made again from the new
                // text.
                planned = plan(&self::record(global));
            }
        }
        let hooks = match planned {
            Ok(hooks) => hooks,
            Err(e) => {
                found = true;
                let outcome = refused(program, None, &e, global);
                exit = if exit == Exit::Ok { outcome.exit } else { exit };
                all.push(outcome.json);
                continue;
            }
        };
        let changes = hooks.as_ref().map_or(&[][..], |(_, changes)| changes);
        if changes.is_empty() && mcp.is_empty() && args.program.is_empty() {
            continue;
        }
        found = true;
        if !global.json {
            print::line(&Paint::stdout().bold(title));
            show(&mcp, args.dry_run);
            show(changes, args.dry_run);
        }
        let mut state = if changes.is_empty() && mcp.is_empty() { "not connected" } else { "would be disconnected" };
        if !args.dry_run
            && !changes.is_empty()
            && let Some((target, changes)) = &hooks
        {
            if let Err(e) = target.apply(&home(global)?, changes) {
                let outcome = refused(program, None, &e, global);
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
            if !changes.is_empty() && hooks.as_ref().is_some_and(|(target, _)| target.moves_trusted()) {
                print::line(&format!(
                    "  hooks behind Heirloom's move up; {title} asks you to trust them again (/hooks)"
                ));
            }
        }
        all.push(json!({"program": program.name(), "state": state, "files": files_json(changes),
                "mcp": files_json(&mcp), "refused": null}));
    }
    if global.json {
        print::line(&json!({"programs": all}).to_string());
    } else if !found {
        print::line("No program is connected.");
    }
    Ok(exit)
}

/// Removes the MCP settings of a program. They go before the hooks because they were added after them. Returns the
/// changes.
fn take_mcp(
    program: Program,
    host: &HostPaths,
    how: &Installed,
    global: &Global,
    dry_run: bool,
) -> Result<Vec<FileChange>> {
    let planned = Target::look_mcp(program, host, how).and_then(|target| {
        let Some(target) = target else { return Ok(None) };
        target.disconnect(&record(global)).map(|changes| Some((target, changes)))
    });
    let (target, changes) = match (planned, program) {
        (Ok(Some(planned)), _) => planned,
        // A program with hooks may also have no MCP settings, or settings we cannot read. Its hooks are still taken out:
        // an unreadable file was refused by connect, too, so nothing of ours is in it.
        (Ok(None), _) | (Err(_), Program::Hooked(_)) => return Ok(Vec::new()),
        (Err(e), Program::Asking(_)) => return Err(e),
    };
    if !dry_run && !changes.is_empty() {
        target.apply(&home(global)?, &changes)?;
    }
    Ok(changes)
}
