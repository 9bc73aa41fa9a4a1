//! `heirloom audit`

use heirloom_engine::error::Result;
use heirloom_engine::ledger::audit::Entry;

use crate::context::{Context, Global};
use crate::error::Exit;
use crate::print;

/// The audit: who changed what, and when; one row per transaction, each chained to the one before
#[derive(clap::Args, Debug)]
pub struct Args {
    #[command(subcommand)]
    command: Command,
}

#[derive(clap::Subcommand, Debug)]
enum Command {
    /// List the newest entries
    List {
        /// Maximum number of entries
        #[arg(long, short = 'n', value_name = "N", default_value_t = 30)]
        limit: usize,
    },
}

pub fn run(global: &Global, args: Args) -> Result<Exit> {
    let Command::List { limit } = args.command;
    let context = Context::open(global)?;
    let report = context.audit(None, limit)?;
    Ok(print::answer(global.json, &report, || {
        let now = context.now();
        let row = |e: &Entry| {
            vec![
                e.no.to_string(),
                print::when(Some(e.at), now),
                e.actor.clone(),
                e.action.clone(),
                print::cut(&print::safe_line(&detail(e)), 80),
            ]
        };
        print::out(&print::table(&report.audit.iter().map(row).collect::<Vec<_>>()));
    }))
}

/// Returns the details of an audit row as one line, without the digests that only `verify` uses.
fn detail(row: &Entry) -> String {
    let details = row.detail.as_object().into_iter().flatten();
    let details = details.filter(|(key, _)| !matches!(key.as_str(), "digests" | "first_record" | "last_record"));
    let words = details
        .map(|(key, value)| format!("{key} {}", value.as_str().map_or_else(|| value.to_string(), str::to_owned)));
    words.collect::<Vec<_>>().join(", ")
}
