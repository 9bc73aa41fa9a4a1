//! `heirloom workspace`

use heirloom_engine::clock::rfc3339;
use heirloom_engine::error::{Error, Result};
use heirloom_engine::ledger::Audit;
use heirloom_engine::thread;
use heirloom_engine::transcript::read;
use serde_json::json;

use crate::context::{Context, Global};
use crate::error::Exit;
use crate::print;

/// Projects: list them, join a moved one to its history
///
/// A repository with its worktrees and subfolders is one project; folders of equal name are different ones.
#[derive(clap::Args, Debug)]
pub struct Args {
    #[command(subcommand)]
    command: Command,
}

#[derive(clap::Subcommand, Debug)]
enum Command {
    /// All projects
    List,
    /// Say that a project has moved: what was said under OLD belongs to NEW
    Alias {
        /// Id or path of the old place
        #[arg(value_name = "OLD")]
        old: String,
        /// Id or path of the new place; something must have been said there already
        #[arg(value_name = "NEW")]
        new: String,
    },
}

pub fn run(global: &Global, args: Args) -> Result<Exit> {
    let context = Context::open(global)?;
    let agent_no = context.agent_no()?;
    match args.command {
        Command::Alias { old, new } => {
            if old == new {
                return Err(Error::usage("a workspace cannot be an alias of itself"));
            }
            context.ledger().write(Audit::new("cli workspace", "workspace.alias").of_agent(agent_no), |tx| {
                read::alias_workspace(tx, agent_no, &old, &new)?;
                thread::rejoin(tx, agent_no)
            })?;
            if global.json {
                print::line(&json!({"old": old, "new": new}).to_string());
            } else {
                print::line(&format!("{old} now counts as {new}."));
            }
        }
        Command::List => {
            let all = context.read(|tx| read::workspaces(tx, agent_no))?;
            if global.json {
                let list: Vec<_> = all
                    .iter()
                    .map(|w| {
                        json!({"workspace": w.id, "label": w.label, "root": w.root.display().to_string(),
                               "alias_of": w.alias_of, "sessions": w.sessions, "last_at": w.last_at.map(rfc3339)})
                    })
                    .collect();
                print::line(&json!({"workspaces": list}).to_string());
                return Ok(Exit::Ok);
            }
            if all.is_empty() {
                print::line("No projects yet.");
            }
            let now = context.now();
            let rows: Vec<Vec<String>> = all
                .iter()
                .map(|w| {
                    let joined = w.alias_of.as_ref().map_or(String::new(), |a| format!("now {a}"));
                    vec![
                        print::safe_line(&w.label),
                        print::counted(w.sessions, "session"),
                        print::when(w.last_at, now),
                        w.id.clone(),
                        print::safe_line(&w.root.display().to_string()),
                        joined,
                    ]
                })
                .collect();
            print::out(&print::table(&rows));
        }
    }
    Ok(Exit::Ok)
}
