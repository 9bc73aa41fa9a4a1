//! `heirloom verify`

use heirloom_engine::error::Result;
use heirloom_engine::report::verify::VerifyReport;

use crate::context::{Context, Global};
use crate::error::Exit;
use crate::print;

/// Recompute every digest, chain and reference; print what is damaged; repair nothing
///
/// Exit 0: everything is as it was stored. 1: only derived data is wrong (heirloom reindex). 5: the ledger is damaged
/// or gone.
#[derive(clap::Args, Debug)]
pub struct Args {
    /// Compute the vectors of every turn again and compare them, not only of a sample
    #[arg(long)]
    full: bool,
}

/// Maximum number of findings shown to people.
const SHOWN: usize = 50;

pub fn run(global: &Global, args: Args) -> Result<Exit> {
    let engine = Context::to_check(global)?.acting_as("cli verify");
    let report = if args.full { engine.verify_in_full()? } else { engine.verify()? };
    if global.json {
        print::report(&report);
    } else {
        people(&report);
    }
    Ok(match (report.ok, report.is_damaged()) {
        (true, _) => Exit::Ok,
        (_, true) => Exit::Damaged,
        _ => Exit::Problems,
    })
}

fn people(report: &VerifyReport) {
    let checked = &report.checked;
    print::line(&format!(
        "{} ({}), {}, {}, {}, {}, {}",
        print::counted(checked.records, "record"),
        print::bytes(checked.bytes),
        print::counted(checked.turns, "turn"),
        print::counted(checked.nodes, "node"),
        print::counted(checked.audit_rows, "audit row"),
        print::counted(checked.index_rows, "index row"),
        print::counted(checked.files, "file"),
    ));
    if report.forgotten > 0 {
        print::line(&format!("{} forgotten: nothing of them is left", print::counted(report.forgotten, "record")));
    }
    for note in &report.notes {
        print::line(&format!("  {}", print::safe_line(note)));
    }
    for f in report.findings.iter().take(SHOWN) {
        print::line(&format!("  {}: {}", print::safe_line(&f.subject), print::safe_line(&f.what)));
    }
    if report.findings.len() > SHOWN {
        print::line(&format!("  … and {} more (--json)", report.findings.len() - SHOWN));
    }
    print::line(&if report.ok && !report.notes.is_empty() {
        "What was checked is as it was stored.".to_owned()
    } else if report.ok {
        "Everything is as it was stored.".to_owned()
    } else if report.is_damaged() {
        let findings = print::counted(report.findings.len() as u64, "finding");
        format!("Damaged: {findings}. Restore from a backup; what is not named is intact.")
    } else {
        "The ledger is intact; derived data is off: what to do stands behind each.".to_owned()
    });
}
