//! The one place where the pass asks for a summary: of a [`Pass`]'s own summariser, if it has one, else without a model
//! (D5). Never with a transaction, a lease or the tree lock held: whoever calls has read, and writes afterwards (R4.1, R7.4).

use super::Request;
use super::advance::Pass;
use super::summarizer::{SummaryRequest, Told, summarize_or_fall_back};
use crate::ledger::Write;
use crate::lineage::distillate::Distillate;
use crate::lineage::{Kind, Source};

/// A summary for a node, and who made it.
pub(super) struct Made {
    /// At most as long as was asked for, never longer than what it summarises.
    pub text: String,
    pub distillate: Distillate,
    pub source: Source,
    /// The summariser of the pass was asked and did not answer as it may.
    pub fell_back: bool,
}

/// A stretch of turns, put into words of a bounded length. Where there are none, nobody is asked.
pub(super) fn of_turns(pass: &Pass, kind: Kind, request: &Request, source_tokens: u64, budget: usize) -> Made {
    let asked = SummaryRequest::of_turns(kind, request.turns, request.before, request.root, budget);
    made(pass, &SummaryRequest { source_tokens, ..asked }, !request.turns.is_empty())
}

/// What nodes say, oldest first, put into fewer words.
pub(super) fn of_nodes(pass: &Pass, kind: Kind, told: &[Told], source_tokens: u64, budget: usize) -> Made {
    made(pass, &SummaryRequest::of_nodes(kind, told, source_tokens, budget), !told.is_empty())
}

fn made(pass: &Pass, request: &SummaryRequest, is_any: bool) -> Made {
    let preferred = pass.summarizer.filter(|_| is_any);
    let (summary, source, why_not) = summarize_or_fall_back(preferred, request);
    Made { text: summary.text, distillate: summary.distillate, source, fell_back: why_not.is_some() }
}

/// Tells the audit how many summaries the summariser of the pass was asked for in vain: their number and its name, never
/// its words, which may repeat what it was given (R14.2).
pub(super) fn note(pass: &Pass, tx: &mut Write, fell_back: usize) {
    if let Some(summarizer) = pass.summarizer.filter(|_| fell_back > 0) {
        tx.note("summarizer", summarizer.name());
        tx.note("fell_back", fell_back);
    }
}
