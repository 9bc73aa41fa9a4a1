//! `heirloom status`

use std::io::IsTerminal as _;

use heirloom_engine::error::Result;
use heirloom_engine::report::status::StatusReport;

use crate::context::{Context, Global};
use crate::error::Exit;
use crate::print::{self, Paint};
use crate::service::look;
use heirloom_service::Running;

/// Show what is stored, its size, pending work, and problems
///
/// Names a file that was deleted by hand once: not again after it was shown on a terminal or with --json.
#[derive(clap::Args, Debug)]
pub struct Args {}

pub fn run(global: &Global, _: Args) -> Result<Exit> {
    let context = Context::open(global)?;
    let engine = context.acting_as("cli status");
    let report = engine.status()?;
    if global.json {
        print::report(&report);
    } else {
        let service = look(context.home()).map(|seen| seen.running);
        people(&report, &context.home_from.shown(), &context.agent_from(global)?.shown(), service.as_ref());
    }
    if global.json || std::io::stdout().is_terminal() {
        // Where that cannot be noted it is said again.
        let _ = engine.told(&report);
    }
    Ok(if report.wrong.is_empty() { Exit::Ok } else { Exit::Problems })
}

/// Prints the report for people. `home_from` and `agent_from` name the settings that chose the home and the agent.
fn people(report: &StatusReport, home_from: &str, agent_from: &str, service: Option<&Running>) {
    let paint = Paint::stdout();
    let stored = &report.stored;
    let sized = |bytes: u64| match stored.source_bytes {
        0 => print::bytes(bytes),
        all => format!("{} ({:.2} per source byte)", print::bytes(bytes), bytes as f64 / all as f64),
    };
    let mut rows: Vec<Vec<String>> = Vec::new();
    let mut row = |name: &str, what: String| rows.push(vec![name.to_owned(), what]);
    row("Home", format!("{}  ({home_from})", report.home));
    row("Agent", format!("{}  ({agent_from})", report.agent));
    row("Time", stored.span().map_or("nothing stored yet".into(), |(first, last)| print::days(first, last)));
    let counted =
        |sessions, turns| format!("{}, {}", print::counted(sessions, "session"), print::counted(turns, "turn"));
    let source = print::bytes(stored.source_bytes);
    row("Stored", format!("{}, {source} of source", counted(stored.sessions, stored.turns)));
    for share in &report.programs {
        row(&format!("  {}", share.program), counted(share.sessions, share.turns));
    }
    row("Projects", print::count(stored.workspaces));
    row("Ledger", sized(report.ledger_bytes));
    row("Index", sized(report.index_bytes));
    let model = report.embeddings.model.as_deref().unwrap_or("by words only");
    row("Meaning", format!("{model}  ({})", report.embeddings.at));
    if let Some(renewing) = report.embeddings.renewing {
        row("  change", super::embed::going_on(renewing, report.embeddings.in_use.as_deref()));
    }
    if let Some(model) = &report.language_model {
        for mut cells in super::model::rows(model) {
            let (name, what) = (cells.remove(0), cells.remove(0));
            row(&name, what);
        }
    }
    row("Backup", backup(report));
    if let Some(last) = &report.audit {
        // The first half of the hash is enough to compare by eye; --json has all of it.
        row("Audit", format!("row {} {}", last.no, last.hash.get(..32).unwrap_or(&last.hash)));
    }
    row("Pending", pending(report));
    if let Some(running) = service {
        row("Service", format!("runs since {}", print::when(Some(running.since), crate::context::clock().now())));
    }
    if report.set_aside > 0 {
        let records = print::counted(report.set_aside, "damaged record");
        row("Set aside", format!("{records} (heirloom show --quarantine)"));
    }
    if let Some(visible) = &report.assistant {
        row("Memory", super::visible::summary(visible));
        row("  files", visible.root.clone());
    }
    print::out(&print::table(&rows));
    for note in report.assistant.iter().flat_map(|visible| &visible.notes) {
        print::line(&format!("{} {}", paint.dim("·"), print::safe_line(note)));
    }
    if report.wrong.is_empty() {
        print::line("Nothing is wrong.");
    }
    for wrong in &report.wrong {
        print::line(&format!("{} {}", paint.warn("!"), print::safe_line(wrong)));
    }
}

/// Returns the time and place of the last backup.
fn backup(report: &StatusReport) -> String {
    let seen = &report.backup;
    match (seen.at, &seen.to) {
        (Some(at), Some(to)) => format!("{}  ({to})", print::when(Some(at), crate::context::clock().now())),
        _ => "none yet (heirloom backup DIR)".to_owned(),
    }
}

fn pending(report: &StatusReport) -> String {
    let jobs = match (report.jobs.due, report.jobs.later + report.jobs.running) {
        (0, 0) => "nothing".to_owned(),
        (due, later) => format!("{due} due, {later} later (heirloom work)"),
    };
    match report.files_not_indexed {
        Some(n) if n > 0 => format!("{jobs}; {} to index (heirloom work)", print::counted(n, "changed file")),
        _ => jobs,
    }
}
