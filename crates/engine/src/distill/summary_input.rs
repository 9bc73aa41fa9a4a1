//! The only place where a pass asks for a summary: from its own summariser if it has one, else without a model (D5).
//! The caller holds no transaction, no lease and no tree lock: it reads before and writes afterwards (R4.1, R7.4).

use super::Request;
use super::advance::Pass;
use super::summarizer::{NodeSummary, SummaryRequest, summarize_or_fall_back};
use crate::ledger::Write;
use crate::lineage::distillate::Distillate;
use crate::lineage::{Kind, Source};

/// A summary for a node, and the name of its maker.
pub(super) struct Made {
    /// The summary: within the budget, and never longer than its source.
    pub text: String,
    pub distillate: Distillate,
    pub source: Source,
    /// Whether the pass's summariser was asked and gave no valid answer.
    pub fell_back: bool,
}

/// Summarises a range of turns. Without turns, no summariser is asked.
pub(super) fn of_turns(pass: &Pass, kind: Kind, request: &Request, source_tokens: u64, budget: usize) -> Made {
    let asked = SummaryRequest::of_turns(kind, request.turns, request.before, request.root, budget);
    made(pass, &SummaryRequest { source_tokens, ..asked }, !request.turns.is_empty())
}

/// Summarises the content of nodes, oldest first.
pub(super) fn of_nodes(pass: &Pass, kind: Kind, summaries: &[NodeSummary], source_tokens: u64, budget: usize) -> Made {
    made(pass, &SummaryRequest::of_nodes(kind, summaries, source_tokens, budget), !summaries.is_empty())
}

fn made(pass: &Pass, request: &SummaryRequest, is_any: bool) -> Made {
    let preferred = pass.summarizer.filter(|_| is_any);
    let (summary, source, why_not) = summarize_or_fall_back(preferred, request);
    Made { text: summary.text, distillate: summary.distillate, source, fell_back: why_not.is_some() }
}

/// Records in the audit how many summaries fell back, and the summariser's name. Its answer is not recorded, because an
/// answer may repeat its input (R14.2).
pub(super) fn note(pass: &Pass, tx: &mut Write, fell_back: usize) {
    if let Some(summarizer) = pass.summarizer.filter(|_| fell_back > 0) {
        tx.note("summarizer", summarizer.name());
        tx.note("fell_back", fell_back);
    }
}
