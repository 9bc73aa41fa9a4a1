//! `heirloom evolve`

use heirloom_engine::error::Result;
use heirloom_engine::report::evolve::{CandidateReport, EvolveReport, EvolvedItem};

use crate::context::{Context, Global, label_of};
use crate::error::Exit;
use crate::print::{self, Paint};

/// Learn from sessions that are over: commands that work, facts, procedures, things that are not allowed
///
/// Evidence is what two sessions show or what you said outright; text read on pages or in tools' output is no evidence.
/// Without a language model, what you said is understood in English and German only.
/// The best candidates wait for your yes (heirloom review), at most eight a day; a fact that several sessions show is
/// written as a memory. Nothing is deleted. Workers run this by themselves when a session is over.
#[derive(clap::Args, Debug)]
pub struct Args {
    #[command(subcommand)]
    command: Option<Command>,
    /// Only print what would be written and proposed
    #[arg(long)]
    dry_run: bool,
}

#[derive(clap::Subcommand, Debug)]
enum Command {
    /// List what evolve found in sessions, with the evidence: what it will propose later, and what it has proposed
    List {
        /// Include candidates that were written, accepted, rejected or taken back
        #[arg(long)]
        all: bool,
    },
    /// Take back everything written, proposed and drafted on the last day; what you accepted or changed since stays
    Undo,
}

const ACTOR: &str = "cli evolve";

pub fn run(global: &Global, args: Args) -> Result<Exit> {
    match args.command {
        None => {
            let report = Context::open(global)?.acting_as(ACTOR).evolve(args.dry_run)?;
            Ok(print::answer(global.json, &report, || people(&report)))
        }
        Some(Command::List { all }) => list(global, all),
        Some(Command::Undo) => {
            let report = Context::open(global)?.acting_as(ACTOR).undo_evolve()?;
            Ok(print::answer(global.json, &report, || {
                for (ids, what) in [
                    (&report.removed, "taken back"),
                    (&report.restored, "counts again"),
                    (&report.kept, "stays, because you changed or decided it since"),
                ] {
                    for id in ids {
                        let text = report.texts.get(id).map_or(String::new(), |text| format!("  {text}"));
                        print::line(&print::safe_line(&format!("{what}: {id}{text}")));
                    }
                }
                if report.removed.is_empty() && report.restored.is_empty() {
                    print::line("Nothing was left to take back.");
                }
            }))
        }
    }
}

fn people(report: &EvolveReport) {
    let paint = Paint::stdout();
    if report.sessions > 0 {
        print::line(&paint.dim(&format!(
            "read {}, which show {}",
            print::counted(report.sessions, "session"),
            print::counted(report.findings, "thing")
        )));
    }
    for (change, heading) in [("written", "Written as memory"), ("proposed", "Proposed: heirloom review")] {
        let of: Vec<&EvolvedItem> = report.items.iter().filter(|i| i.change == change).collect();
        if of.is_empty() {
            continue;
        }
        let would = if report.dry_run { " (a dry run: nothing was)" } else { "" };
        print::line(&paint.bold(&format!("{heading}{would}")));
        of.into_iter().for_each(|item| shown(&paint, item));
    }
    if report.skills > 0 {
        print::line(&format!("{} of a skill: heirloom skill list", print::counted(report.skills, "new draft")));
    }
    let tidied = &report.tidied;
    for pair in &tidied.duplicates {
        print::line(&format!("  says the same, superseded: {} by {}", pair.id, pair.by));
    }
    for (ids, what) in [
        (&tidied.stale, "to be verified again"),
        (&tidied.broken_chains, "counts again, its successor is gone"),
        (&tidied.orphan_loops, "open loop of a session that is gone"),
    ] {
        if !ids.is_empty() {
            print::line(&paint.dim(&format!("{what}: {}", ids.join(", "))));
        }
    }
    if report.items.is_empty() && report.waiting > 0 {
        print::line("What one day may propose is proposed.");
    } else if report.items.is_empty() {
        print::line("Nothing new is worth proposing.");
    } else if !report.dry_run {
        print::line(&paint.dim("to take it back: heirloom evolve undo"));
    }
    if report.waiting > 0 {
        print::line(&paint.dim(&format!("{} more for another day: heirloom evolve list", report.waiting)));
    }
}

fn shown(paint: &Paint, item: &EvolvedItem) {
    let id = item.id.as_deref().map_or(String::new(), |id| format!("  {id}"));
    let about = format!("{} of {}, {:.2}", item.class, label_of(&item.workspace), item.confidence);
    print::line(&format!("  {}  {}{id}", print::safe_line(&item.text), paint.dim(&print::safe_line(&about))));
    for old in &item.replaces {
        print::line(&paint.dim(&format!("      in place of {old}")));
    }
    if let Some(model) = &item.model {
        print::line(&paint.dim(&print::safe_line(&format!("      found by {model}"))));
    }
    for e in item.evidence.iter().take(3) {
        print::line(&paint.dim(&print::safe_line(&format!("      {} {}", e.turn, e.text))));
    }
}

fn list(global: &Global, all: bool) -> Result<Exit> {
    let report = Context::open(global)?.acting_as(ACTOR).candidates(all)?;
    Ok(print::answer(global.json, &report, || {
        if report.candidates.is_empty() {
            print::line("Sessions have shown nothing that waits.");
        }
        for c in &report.candidates {
            one(c);
        }
    }))
}

fn one(c: &CandidateReport) {
    let paint = Paint::stdout();
    let item = c.item.as_deref().map_or(String::new(), |item| format!(" {item}"));
    let sessions = print::counted(c.sessions, "session");
    let about =
        format!("{}{item}, {} of {}, {:.2}, {sessions}", c.state, c.class, label_of(&c.workspace), c.confidence);
    print::line(&format!("{}  {}", print::safe_line(&c.text), paint.dim(&print::safe_line(&about))));
    if let Some(model) = &c.model {
        print::line(&paint.dim(&print::safe_line(&format!("  found by {model}"))));
    }
    for e in &c.evidence {
        print::line(&paint.dim(&print::safe_line(&format!("  {} {}", e.turn, e.text))));
    }
}
