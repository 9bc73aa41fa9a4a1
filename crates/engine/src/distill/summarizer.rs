//! Summarisers, and the fallback if one fails (D5, R6.7): every request gets a summary that names its summariser. The
//! engine contains no model; the caller provides one as a [`Summarizer`].

use std::collections::BTreeSet;

use super::fold::fold;
use super::summary::summarise;
use super::{Request, Said, deterministic, schema};
use crate::lineage::distillate::Distillate;
use crate::lineage::{Kind, Source};
use crate::model::Failure;
use crate::scope::TurnId;
use crate::tokens::tokens;

/// The material to summarise.
#[derive(Clone, Copy, Debug)]
pub enum Material<'r> {
    /// Turns in ledger order, without abandoned branches (R6.2).
    Turns(&'r [Said]),
    /// The contents of nodes, oldest first: condensation reads no turns.
    Summaries(&'r [NodeSummary<'r>]),
}

/// The content of a node.
#[derive(Clone, Copy, Debug)]
pub struct NodeSummary<'r> {
    pub summary: &'r str,
    pub distillate: &'r Distillate,
}

/// A request for a summary.
#[derive(Clone, Debug)]
pub struct SummaryRequest<'r> {
    /// The kind of node the summary is for.
    pub kind: Kind,
    pub material: Material<'r>,
    /// The distillate before the material, as in [`Request::before`].
    pub before: Option<&'r Distillate>,
    /// Root of the project, used to shorten paths.
    pub root: Option<&'r str>,
    /// Maximum tokens of the summary's text.
    pub budget: usize,
    /// Tokens of the source: the summary is never longer (R6.2).
    pub source_tokens: u64,
    /// The only turns an answer may name. The caller has checked that all belong to one agent.
    pub allowed: BTreeSet<TurnId>,
}

impl<'r> SummaryRequest<'r> {
    /// A request for a summary of turns.
    pub fn of_turns(
        kind: Kind,
        turns: &'r [Said],
        before: Option<&'r Distillate>,
        root: Option<&'r str>,
        budget: usize,
    ) -> SummaryRequest<'r> {
        let mut allowed: BTreeSet<TurnId> = turns.iter().map(|t| t.id).collect();
        allowed.extend(before.iter().flat_map(|d| d.turns()));
        let source_tokens = turns.iter().map(|t| tokens(&t.text) as u64).sum();
        SummaryRequest { kind, material: Material::Turns(turns), before, root, budget, source_tokens, allowed }
    }

    /// A request for a summary of nodes. `source_tokens`: tokens of the material those nodes summarise.
    pub fn of_nodes(kind: Kind, nodes: &'r [NodeSummary<'r>], source_tokens: u64, budget: usize) -> SummaryRequest<'r> {
        let allowed = nodes.iter().flat_map(|n| n.distillate.turns()).collect();
        let material = Material::Summaries(nodes);
        SummaryRequest { kind, material, before: None, root: None, budget, source_tokens, allowed }
    }

    /// Returns the maximum tokens of a summary: the budget, and never more than its source.
    pub fn room(&self) -> usize {
        self.budget.min(usize::try_from(self.source_tokens).unwrap_or(usize::MAX))
    }
}

/// A summary and its structured part.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Summary {
    /// Plain text on one line, credentials redacted.
    pub text: String,
    pub distillate: Distillate,
}

/// The reason for a missing summary. The message is shown beside the fallback.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
pub enum SummarizerError {
    /// The summariser could not be reached, or gave up.
    #[error("it could not be asked: {0}")]
    Unavailable(String),
    /// A language model did not answer, or was not asked.
    #[error("{0}")]
    Failed(Failure),
    #[error("its answer has {0} bytes, more than the {max} that are read", max = schema::LARGEST_ANSWER)]
    TooLarge(usize),
    #[error("its answer is not of the agreed form: {0}")]
    Form(String),
    #[error("its summary has {has} tokens where {may} were asked for")]
    TooLong { has: usize, may: usize },
    #[error("it names {0}, which it was not given")]
    ForeignTurn(TurnId),
    #[error("it says nothing")]
    Empty,
}

/// Makes summaries. Its answers are untrusted; the caller checks them ([`summarize_or_fall_back`]).
pub trait Summarizer {
    /// The name recorded with each of its summaries.
    fn name(&self) -> &str;

    /// Makes one summary. After an error the deterministic summariser is used.
    fn summarize(&self, request: &SummaryRequest) -> Result<Summary, SummarizerError>;
}

/// The summariser without a model: deterministic, never fails.
#[derive(Clone, Copy, Default, Debug)]
pub struct Deterministic;

impl Deterministic {
    /// Makes a summary. Infallible, unlike the trait's method.
    pub fn make(&self, request: &SummaryRequest) -> Summary {
        let distillate = match request.material {
            Material::Turns(turns) => {
                deterministic::distil(&Request { turns, before: request.before, root: request.root })
            }
            Material::Summaries(nodes) => {
                nodes.iter().fold(Distillate::default(), |older, newer| fold(&older, newer.distillate))
            }
        };
        Summary { text: summarise(&distillate, request.room()), distillate }
    }
}

impl Summarizer for Deterministic {
    fn name(&self) -> &str {
        "deterministic"
    }

    fn summarize(&self, request: &SummaryRequest) -> Result<Summary, SummarizerError> {
        Ok(self.make(request))
    }
}

/// Makes a summary with the preferred summariser, or without a model if there is none or it fails. Returns the summary,
/// the kind of its maker, and why the preferred summariser was not used.
pub fn summarize_or_fall_back(
    preferred: Option<&dyn Summarizer>,
    request: &SummaryRequest,
) -> (Summary, Source, Option<String>) {
    let Some(preferred) = preferred else { return (Deterministic.make(request), Source::Deterministic, None) };
    match preferred.summarize(request).and_then(|summary| schema::checked(summary, request)) {
        Ok(summary) => (summary, Source::Model, None),
        Err(e) => {
            // A program's error message may repeat its input.
            let why = schema::plain(&format!("{}: {e}", preferred.name()), schema::LONGEST_REASON);
            (Deterministic.make(request), Source::Deterministic, Some(why))
        }
    }
}
