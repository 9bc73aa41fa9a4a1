//! `heirloom compact`

use heirloom_engine::error::Result;
use heirloom_engine::report::compact::{CompactReport, Outcome};

use crate::context::{Context, Global};
use crate::error::Exit;
use crate::print::{self, Paint};

/// Compact a conversation: a handoff replaces older turns in its context, the newest turns stay
///
/// Open loops and proposals in these turns are written as files first. Nothing is deleted; every line of the handoff
/// leads back to the turns it came from (heirloom expand). Repeating the command without new turns changes nothing.
#[derive(clap::Args, Debug)]
pub struct Args {
    /// The session; the beginning of its id is enough
    #[arg(long, value_name = "KEY")]
    session: String,

    /// The last turn the handoff replaces: a turn (t9c11) or its program's own id [default: the whole session]
    #[arg(long, value_name = "ID")]
    until: Option<String>,

    /// Print the handoff and change nothing
    #[arg(long)]
    dry_run: bool,
}

pub fn run(global: &Global, args: Args) -> Result<Exit> {
    let engine = Context::open(global)?.acting_as("cli compact");
    let report = engine.compact(&args.session, args.until.as_deref(), args.dry_run)?;
    Ok(print::answer(global.json, &report, || people(&report)))
}

fn people(report: &CompactReport) {
    match &report.outcome {
        Outcome::Nothing { .. } => {
            print::line(&format!("Nothing new in {} since the last compaction.", report.session))
        }
        Outcome::Preview { handoff, .. } if handoff.text.is_empty() => print::line("There is nothing to hand on."),
        Outcome::Preview { handoff, .. } => print::out(&print::safe(&handoff.text)),
        Outcome::Made { until, nodes, handoff, .. } => {
            print::out(&print::safe(&handoff.text));
            print::line("");
            let node = nodes.last().map_or(String::new(), |n| n.id.to_string());
            print::line(&format!(
                "{} in {}{} · heirloom expand {node}",
                print::counted(nodes.iter().map(|n| n.count).sum(), "turn"),
                Paint::stdout().bold(&node),
                until.map(|t| format!(", up to {t}")).unwrap_or_default(),
            ));
        }
    }
}
