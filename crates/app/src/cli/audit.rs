//! `heirloom audit`

use heirloom_engine::clock::rfc3339;
use heirloom_engine::error::Result;
use heirloom_engine::ledger::audit;
use serde_json::json;

use crate::context::{Context, Global};
use crate::error::Exit;
use crate::print;

/// Who changed what, and when: one row per transaction, each chained to the one before
#[derive(clap::Args, Debug)]
pub struct Args {
    #[command(subcommand)]
    command: Command,
}

#[derive(clap::Subcommand, Debug)]
enum Command {
    /// The newest entries
    List {
        /// How many
        #[arg(long, short = 'n', value_name = "N", default_value_t = 30)]
        limit: usize,
    },
}

pub fn run(global: &Global, args: Args) -> Result<Exit> {
    let Command::List { limit } = args.command;
    let context = Context::open(global)?;
    let agent_no = context.agent_no()?;
    let entries = context.read(|tx| audit::list(tx, agent_no, limit))?;
    if global.json {
        let list: Vec<_> = entries
            .iter()
            .map(|e| {
                json!({"no": e.no, "at": rfc3339(e.at), "agent": e.agent, "actor": e.actor, "action": e.action, "detail": e.detail})
            })
            .collect();
        print::line(&json!({"audit": list}).to_string());
        return Ok(Exit::Ok);
    }
    let now = context.now();
    let rows: Vec<Vec<String>> = entries
        .iter()
        .map(|e| {
            let detail = e.detail.as_object().map_or(String::new(), |o| {
                o.iter()
                    .filter(|(k, _)| !matches!(k.as_str(), "digests" | "first_record" | "last_record"))
                    .map(|(k, v)| format!("{k} {}", v.as_str().map_or_else(|| v.to_string(), str::to_owned)))
                    .collect::<Vec<_>>()
                    .join(", ")
            });
            vec![
                e.no.to_string(),
                print::when(Some(e.at), now),
                e.actor.clone(),
                e.action.clone(),
                print::cut(&print::safe_line(&detail), 80),
            ]
        })
        .collect();
    print::out(&print::table(&rows));
    Ok(Exit::Ok)
}
