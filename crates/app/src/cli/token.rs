//! `heirloom token`

use heirloom_engine::error::Result;
use heirloom_engine::scope::AgentId;
use heirloom_http::{Listed, TokensReport};

use crate::context::{Context, Global};
use crate::error::Exit;
use crate::print::{self, Paint};

/// Tokens: which programs may access this memory over HTTP, and for which agents
///
/// A program on the unix socket of the service needs no token. A token opens the agents it was made for; to its holder,
/// other agents do not exist. It is stored as a digest and shown once.
#[derive(clap::Args, Debug)]
pub struct Args {
    #[command(subcommand)]
    command: Command,
}

#[derive(clap::Subcommand, Debug)]
enum Command {
    /// Make a token and print it, once
    New {
        /// A name for the token: the program that will use it
        #[arg(value_name = "NAME")]
        name: String,
        /// Agent the token opens; can be given more than once, and the first is used if a request names none [default:
        /// the agent of --agent]
        #[arg(long = "for", value_name = "ID")]
        agents: Vec<String>,
    },
    /// List the tokens, oldest first
    List,
    /// Revoke a token; it is refused from the next request on
    Revoke {
        /// Name of the token
        #[arg(value_name = "NAME")]
        name: String,
    },
}

pub fn run(global: &Global, args: Args) -> Result<Exit> {
    let context = Context::existing(global)?;
    let tokens = heirloom_http::Tokens::of(&context);
    match args.command {
        Command::New { name, agents } => {
            let mut named: Vec<AgentId> = agents.iter().map(|id| AgentId::parse(id)).collect::<Result<_>>()?;
            if named.is_empty() {
                named.push(context.agent().clone());
            }
            let issued = tokens.issue(&name, &named)?;
            Ok(print::answer(global.json, &issued, || {
                print::line(&issued.token);
                let agents = issued.listed.agents.join(", ");
                print::note(&format!("for {agents}; it is shown this once: give it to {name}, nothing here keeps it"));
            }))
        }
        Command::List => {
            let report = TokensReport { tokens: tokens.list()? };
            Ok(print::answer(global.json, &report, || list(&report.tokens)))
        }
        Command::Revoke { name } => {
            let revoked = tokens.revoke(&name)?;
            Ok(print::answer(global.json, &revoked, || {
                print::line(&format!("{} opens nothing any more.", revoked.name))
            }))
        }
    }
}

fn list(tokens: &[Listed]) {
    if tokens.is_empty() {
        print::line("No token was made yet. heirloom token new NAME");
        return;
    }
    let rows: Vec<Vec<String>> =
        tokens.iter().map(|token| vec![token.name.clone(), token.agents.join(", "), token.created.clone()]).collect();
    print::out(&print::table(&rows));
    print::line(&Paint::stdout().dim("take one back: heirloom token revoke NAME"));
}
