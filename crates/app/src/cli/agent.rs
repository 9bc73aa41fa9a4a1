//! `heirloom agent`

use std::path::{Path, PathBuf};

use heirloom_engine::error::Result;
use heirloom_engine::scope::AgentId;
use heirloom_engine::transcript::workspaces::AgentRow;

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
    /// List all agents of this home
    List,
    /// Add an agent
    Add {
        /// Id of the agent: 1 to 64 of a-z, 0-9, _ and -
        #[arg(value_name = "ID")]
        id: String,
    },
    /// Use another program's workspace, with its SOUL.md, MEMORY.md and so on, in its place as the agent's own pages
    Adopt {
        /// The workspace folder; adopting changes nothing in it
        #[arg(value_name = "DIR", required_unless_present = "undo")]
        folder: Option<PathBuf>,
        /// Use the folder in the home again
        #[arg(long, conflicts_with = "folder")]
        undo: bool,
    },
}

const ACTOR: &str = "cli agent";

pub fn run(global: &Global, args: Args) -> Result<Exit> {
    match args.command {
        Command::List => list(global),
        Command::Add { id } => add(global, &AgentId::parse(&id)?),
        Command::Adopt { folder, undo: _ } => adopt(global, folder.as_deref()),
    }
}

fn list(global: &Global) -> Result<Exit> {
    let context = Context::open(global)?;
    let report = context.agents()?;
    Ok(print::answer(global.json, &report, || {
        let row = |a: &AgentRow| {
            let mark = if a.agent == report.default { "current" } else { "" };
            vec![a.agent.clone(), print::counted(a.sessions, "session"), mark.into()]
        };
        print::out(&print::table(&report.agents.iter().map(row).collect::<Vec<_>>()));
    }))
}

fn add(global: &Global, agent: &AgentId) -> Result<Exit> {
    let report = Context::create(global)?.acting_as(ACTOR).add_agent(agent)?;
    Ok(print::answer(global.json, &report, || {
        let word = if report.new { "is known now" } else { "is already known" };
        print::line(&format!("{agent} {word}. Use it with --agent {agent} or HEIRLOOM_AGENT={agent}."));
    }))
}

fn adopt(global: &Global, folder: Option<&Path>) -> Result<Exit> {
    let report = Context::create(global)?.acting_as(ACTOR).adopt(folder)?;
    Ok(print::answer(global.json, &report, || {
        print::line(&format!("The pages of {} are those in {}.", report.agent, report.root))
    }))
}
