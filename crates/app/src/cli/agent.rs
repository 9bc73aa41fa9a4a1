//! `heirloom agent`

use std::path::{Path, PathBuf};

use heirloom_engine::clock::rfc3339;
use heirloom_engine::error::Result;
use heirloom_engine::ledger::Audit;
use heirloom_engine::scope::AgentId;
use heirloom_engine::transcript::read;
use heirloom_engine::tree::adopt::adopt as adopt_tree;
use serde_json::json;

use crate::context::{Context, Global};
use crate::error::Exit;
use crate::print;

/// Agents, each with a memory and pages of its own
#[derive(clap::Args, Debug)]
pub struct Args {
    #[command(subcommand)]
    command: Command,
}

#[derive(clap::Subcommand, Debug)]
enum Command {
    /// All agents of this home
    List,
    /// Make an agent known
    Add {
        /// 1 to 64 of a-z, 0-9, _ and -
        #[arg(value_name = "ID")]
        id: String,
    },
    /// Use another program's workspace, with its SOUL.md, MEMORY.md and so on, as the agent's own pages, where it is
    Adopt {
        /// The folder; nothing in it is changed by this
        #[arg(value_name = "DIR", required_unless_present = "undo")]
        folder: Option<PathBuf>,
        /// Go back to the folder in the home
        #[arg(long, conflicts_with = "folder")]
        undo: bool,
    },
}

pub fn run(global: &Global, args: Args) -> Result<Exit> {
    match args.command {
        Command::Add { id } => {
            let agent = AgentId::parse(&id)?;
            let context = Context::create(global)?;
            let known = context.read(|tx| read::agent_no(tx, &agent))?.is_some();
            if !known {
                context.ledger().write(Audit::new("cli agent", "agent.add"), |tx| {
                    read::ensure_agent(tx, &agent)?;
                    tx.note("agent", agent.as_str());
                    Ok(())
                })?;
            }
            if global.json {
                print::line(&json!({"agent": agent.as_str(), "new": !known}).to_string());
            } else {
                let word = if known { "is already known" } else { "is known now" };
                print::line(&format!("{agent} {word}. Use it with --agent {agent} or HEIRLOOM_AGENT={agent}."));
            }
        }
        Command::Adopt { folder, undo: _ } => return adopt(global, folder.as_deref()),
        Command::List => {
            let context = Context::open(global)?;
            let agents = context.read(read::agents)?;
            if global.json {
                let list: Vec<_> = agents
                    .iter()
                    .map(|a| json!({"agent": a.agent, "sessions": a.sessions, "created_at": rfc3339(a.created_at)}))
                    .collect();
                print::line(&json!({"agents": list, "default": context.agent().as_str()}).to_string());
                return Ok(Exit::Ok);
            }
            let rows: Vec<Vec<String>> = agents
                .iter()
                .map(|a| {
                    let mark = if a.agent == context.agent().as_str() { "current" } else { "" };
                    vec![a.agent.clone(), print::counted(a.sessions, "session"), mark.into()]
                })
                .collect();
            print::out(&print::table(&rows));
        }
    }
    Ok(Exit::Ok)
}

fn adopt(global: &Global, folder: Option<&Path>) -> Result<Exit> {
    let context = Context::create(global)?;
    if let Some(folder) = folder {
        // Refused before the agent is made known for it.
        context.home().open_elsewhere(folder)?;
    }
    let agent_no = match context.read(|tx| read::agent_no(tx, context.agent()))? {
        Some(no) => no,
        None => context.ledger().write(Audit::new("cli agent", "agent.add"), |tx| {
            tx.note("agent", context.agent().as_str());
            read::ensure_agent(tx, context.agent())
        })?,
    };
    adopt_tree(context.home(), context.ledger(), agent_no, "cli agent", folder)?;
    let at = context.assistant("cli agent")?;
    heirloom_engine::tree::scan::scan(&at)?;
    let root = at.files.shown().display().to_string();
    if global.json {
        print::line(&json!({"agent": context.agent().as_str(), "root": root, "adopted": at.is_adopted()}).to_string());
    } else {
        print::line(&format!("The pages of {} are those in {root}.", context.agent()));
    }
    Ok(Exit::Ok)
}
