//! A person's yes and no: to what was noticed about them (`heirloom memory pending`, `accept`, `dismiss`) and to proposals.

use heirloom_engine::error::Result;
use heirloom_engine::memory::pending::{NoticeKind, Pending};
use heirloom_engine::report::review::{PendingReport, ReviewReport};
use heirloom_engine::review::verdict::Verdict;

use super::{open_loop, remember};
use crate::context::{Context, Global};
use crate::error::Exit;
use crate::print::{self, Paint};

/// `TL;DR first`; `name: Ada`.
fn shown(p: &Pending) -> String {
    print::safe_line(&match &p.kind {
        NoticeKind::Profile { key, value } => format!("{key}: {value}"),
        _ => p.title.clone(),
    })
}

/// Prints what waits; with `all`, what was decided, too.
pub fn list(global: &Global, actor: &str, all: bool) -> Result<Exit> {
    let engine = Context::open(global)?.acting_as(actor);
    let report = engine.noticed(all)?;
    if global.json {
        print::report(&report);
        return Ok(Exit::Ok);
    }
    if report.pending.is_empty() {
        print::line("Nothing waits for your yes.");
        return Ok(Exit::Ok);
    }
    let now = engine.now();
    let row = |p: &PendingReport| {
        let state = if p.state == "pending" { print::counted(p.seen as u64, "time") } else { p.state.clone() };
        let text = print::cut(&shown(&p.pending), 70);
        vec![p.id.clone(), p.kind.into(), text, print::when(Some(p.pending.created_at), now), state]
    };
    print::out(&print::table(&report.pending.iter().map(row).collect::<Vec<_>>()));
    print::line(&Paint::stdout().dim("heirloom memory accept u:…, heirloom memory dismiss u:…"));
    Ok(Exit::Ok)
}

/// Does what a person decided, and prints what came of it.
pub fn review(global: &Global, actor: &str, verdict: &Verdict) -> Result<Exit> {
    let report = Context::open(global)?.acting_as(actor).review(verdict)?;
    if global.json {
        print::report(&report);
        return Ok(Exit::Ok);
    }
    match &report {
        ReviewReport::Merged(report) => {
            for m in &report.merged {
                print::line(&format!("Merged: {} · {}", print::safe_line(&m.proposal.title), m.proposal.id));
                for memory in &m.memories {
                    print::line(&format!("  {}", remember::sentence(&memory.added)));
                    if !memory.superseded.is_empty() {
                        print::line(&format!(
                            "    in place of {}, which stays as history",
                            memory.superseded.join(", ")
                        ));
                    }
                }
                let undo = format!("  to take it back: heirloom proposal undo {}", m.proposal.id);
                print::line(&Paint::stdout().dim(&undo));
            }
        }
        ReviewReport::Rejected(report) => open_loop::print_item_reports(&report.items, "Rejected"),
        ReviewReport::Undone(report) => {
            print::line(&format!("Waits again: {} · {}", print::safe_line(&report.proposal.title), report.proposal.id));
            for (ids, said) in [(&report.removed, "gone again"), (&report.restored, "counts again")] {
                ids.iter().for_each(|id| print::line(&format!("  {said}: {id}")));
            }
        }
        ReviewReport::Accepted(report) => {
            for item in &report.items {
                let said = match &item.memory {
                    Some(memory) => remember::sentence(&memory.added),
                    None => format!("Set in your profile: {}", shown(&item.pending)),
                };
                print::line(&format!("{} {said}", item.id));
            }
        }
        ReviewReport::Dismissed(report) => {
            for item in &report.items {
                print::line(&format!("{} Dismissed: {}", item.id, shown(&item.pending)));
            }
        }
    }
    Ok(Exit::Ok)
}
