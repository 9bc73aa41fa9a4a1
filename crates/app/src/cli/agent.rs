//! `heirloom agent`

use heirloom_engine::clock::rfc3339;
use heirloom_engine::error::Result;
use heirloom_engine::ledger::Audit;
use heirloom_engine::scope::AgentId;
use heirloom_engine::transcript::read;
use serde_json::json;

use crate::context::{Context, Global};
use crate::error::Exit;
use crate::print;

/// Agents, each with a memory of its own: list, add
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
}

pub fn run(global: &Global, args: Args) -> Result<Exit> {
    match args.command {
        Command::Add { id } => {
            let agent = AgentId::parse(&id)?;
            let context = Context::create(global)?;
            let known = context.ledger.read(|tx| read::agent_no(tx, &agent))?.is_some();
            if !known {
                context.ledger.write(Audit::new("cli agent", "agent.add"), |tx| {
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
        Command::List => {
            let context = Context::open(global)?;
            let agents = context.ledger.read(read::agents)?;
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
