//! A person's yes and no to notices about them (`heirloom memory pending`, `accept`, `dismiss`) and to proposals.

use heirloom_engine::engine::Verdict;
use heirloom_engine::error::Result;
use heirloom_engine::memory::pending::{NoticeKind, Pending};
use heirloom_engine::report::review::{PendingReport, ReviewReport};
use heirloom_engine::review::Merged;

use super::open_loop::print_people;
use super::remember;
use crate::context::{Context, Global};
use crate::error::Exit;
use crate::print::{self, Paint};

/// Returns a notice in one line: `TL;DR first` or `name: Ada`.
fn shown(p: &Pending) -> String {
    print::safe_line(&match &p.kind {
        NoticeKind::Profile { key, value } => format!("{key}: {value}"),
        _ => p.title.clone(),
    })
}

/// Prints the notices that wait for a decision; with `all`, also decided ones.
pub fn list(global: &Global, actor: &str, all: bool) -> Result<Exit> {
    let engine = Context::open(global)?.acting_as(actor);
    let report = engine.noticed(all)?;
    Ok(print::answer(global.json, &report, || {
        if report.pending.is_empty() {
            print::line("Nothing waits for your yes.");
            return;
        }
        let now = engine.now();
        let row = |p: &PendingReport| {
            let state = if p.state == "pending" { print::counted(p.seen as u64, "time") } else { p.state.to_owned() };
            let text = print::cut(&shown(&p.pending), 70);
            vec![p.id.clone(), p.kind.into(), text, print::when(Some(p.pending.created_at), now), state]
        };
        print::out(&print::table(&report.pending.iter().map(row).collect::<Vec<_>>()));
        print::line(&Paint::stdout().dim("heirloom memory accept u:…, heirloom memory dismiss u:…"));
    }))
}

/// Carries out a decision and prints its result.
pub fn review(global: &Global, actor: &str, verdict: &Verdict) -> Result<Exit> {
    let report = Context::open(global)?.acting_as(actor).review(verdict)?;
    Ok(print::answer(global.json, &report, || match &report {
        ReviewReport::Merged { merged } => merged.iter().for_each(print_merged),
        ReviewReport::Rejected { items } => print_people(items, "Rejected"),
        ReviewReport::Undone(undone) => {
            print::line(&format!("Waits again: {} · {}", print::safe_line(&undone.proposal.title), undone.proposal.id));
            for (ids, message) in [(&undone.removed, "gone again"), (&undone.restored, "counts again")] {
                ids.iter().for_each(|id| print::line(&format!("  {message}: {id}")));
            }
        }
        ReviewReport::Accepted { items } => {
            for item in items {
                let message = match &item.memory {
                    Some(memory) => remember::sentence(memory),
                    None => format!("Set in your profile: {}", shown(&item.pending)),
                };
                print::line(&format!("{} {message}", item.id));
            }
        }
        ReviewReport::Dismissed { items } => {
            for item in items {
                print::line(&format!("{} Dismissed: {}", item.id, shown(&item.pending)));
            }
        }
    }))
}

fn print_merged(merged: &Merged) {
    let proposal = &merged.proposal;
    print::line(&format!("Merged: {} · {}", print::safe_line(&proposal.title), proposal.id));
    for memory in &merged.leaves {
        print::line(&format!("  {}", remember::sentence(memory)));
        if !memory.superseded.is_empty() {
            print::line(&format!("    in place of {}, which stays as history", memory.superseded.join(", ")));
        }
    }
    print::line(&Paint::stdout().dim(&format!("  to take it back: heirloom proposal undo {}", proposal.id)));
}
