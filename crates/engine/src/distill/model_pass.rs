//! Lets a language model summarise again the nodes that were first summarised without one: sessions, compactions and
//! condensed nodes, the newest first (D5, R6.3). The model's summary is stored beside the node; the node itself never
//! changes, so each turn stays in exactly one chunk whoever summarises (D7).
//!
//! A node is read, the model is asked with nothing locked, and a short transaction stores the answer unless another
//! process stored one first: a node asked about twice is stored once.

use std::time::Instant;

use super::advance::Pass;
use super::compaction::earlier;
use super::fold::fold;
use super::model_summarizer::{ModelSummarizer, kept_from};
use super::session::turns_of;
use super::summarizer::{NodeSummary, Summarizer as _, SummarizerError, Summary, SummaryRequest};
use super::{Said, handoff, schema};
use crate::budget::Budgeted;
use crate::error::Result;
use crate::lineage::model_summary::{self, Due};
use crate::lineage::{self, Kind, Node, walk};
use crate::model::Failure;
use crate::pages::{self, Happened};
use crate::scope::{NodeId, TurnId};
use crate::thread;

/// Maximum number of nodes looked up at once.
const AT_ONCE: usize = 64;

/// Result of a pass.
#[derive(Clone, Default, PartialEq, Debug)]
pub struct Told {
    /// Number of summaries stored beside their nodes.
    pub made: u64,
    /// Number of answers that were refused.
    pub refused: u64,
    /// Number of items that were dropped from the others, because they are not about what the model was given.
    pub dropped: u64,
    /// The reason why no more nodes were asked about; `None`: there is nothing left to ask.
    pub stopped: Option<Failure>,
    /// Whether time ran out while nodes were left to ask about.
    pub more: bool,
}

/// Asks about the nodes that are due, until the budget, the model or the time ends it.
pub fn run(pass: &Pass, model: &Budgeted, until: Option<Instant>) -> Result<Told> {
    let mut told = Told::default();
    let mut without_backlog = false;
    loop {
        let due = pass.at.read(|tx| model_summary::due(tx, pass.at.agent_no, AT_ONCE))?;
        let mut asked = 0;
        for Due { node, last_at, .. } in due {
            let model = model.about(last_at);
            if without_backlog && model.backlog {
                continue;
            }
            if until.is_some_and(|until| Instant::now() >= until) {
                told.more = true;
                return Ok(told);
            }
            asked += 1;
            match one(pass, &model, node)? {
                None => {}
                Some(Ok(dropped)) => {
                    told.made += 1;
                    told.dropped += dropped;
                }
                Some(Err(SummarizerError::Failed(failure @ Failure::Withheld(_)))) if model.backlog => {
                    // Older nodes wait, because their part of the budget is used up; newer ones may still be asked
                    // about.
                    told.stopped = Some(failure);
                    without_backlog = true;
                }
                Some(Err(SummarizerError::Failed(failure))) if !matches!(failure, Failure::Unusable(_)) => {
                    told.stopped = Some(failure);
                    return Ok(told);
                }
                Some(Err(error)) => {
                    told.refused += 1;
                    // Our own error messages contain no text of the answer, so they may be stored.
                    let why = schema::plain(&error.to_string(), schema::LONGEST_REASON);
                    // A model that was told the faults of its answer and made them again makes them a third time.
                    let tries = match error {
                        SummarizerError::Failed(Failure::Unusable(_)) => model_summary::TRIES,
                        _ => 1,
                    };
                    pass.at.write("lineage.model-refused", |tx| {
                        tx.note("node", node.to_string());
                        tx.note("model", model.model.name());
                        model_summary::failed(tx, node, model.model.name(), &why, tries)
                    })?;
                }
            }
        }
        if asked == 0 {
            return Ok(told);
        }
    }
}

/// Returns the question the model would get about one node, without asking it.
pub fn question(pass: &Pass, id: NodeId) -> Result<Option<String>> {
    let Some(node) = pass.at.read(|tx| lineage::find(tx, pass.at.agent_no, id))? else { return Ok(None) };
    let (below, root) = material(pass, &node)?;
    Ok(Some(with_request(pass, &node, &below, root.as_deref(), ModelSummarizer::question)))
}

/// Asks about one node; returns the number of items that were dropped from the answer. `None`: the node is gone, or was
/// done meanwhile.
fn one(pass: &Pass, model: &Budgeted, id: NodeId) -> Result<Option<Result<u64, SummarizerError>>> {
    let at = pass.at;
    let Some(node) = at.read(|tx| lineage::find(tx, at.agent_no, id))? else { return Ok(None) };
    if node.forgotten || node.model.is_some() {
        return Ok(None);
    }
    let (below, root) = material(pass, &node)?;
    let summarizer = ModelSummarizer::new(model);
    let asked = with_request(pass, &node, &below, root.as_deref(), |request| summarizer.summarize(request));
    let summary = match asked {
        Ok(summary) => summary,
        Err(error) => return Ok(Some(Err(error))),
    };
    let distillate = kept_from(&node.distillate, summary.distillate);
    let text = match node.kind {
        Kind::Compaction => handoff_of(pass, &node, &distillate)?,
        _ => summary.text,
    };
    let dropped = summarizer.dropped();
    let stored = store(pass, &node, model, &Summary { text, distillate }, dropped)?;
    Ok(stored.then_some(Ok(dropped)))
}

/// Runs `f` with the request for a summary of a node.
fn with_request<T>(
    pass: &Pass,
    node: &Node,
    below: &Below,
    root: Option<&str>,
    f: impl FnOnce(&SummaryRequest) -> T,
) -> T {
    let budget = budget_of(pass, node);
    match below {
        Below::Turns(said) => {
            let about = SummaryRequest::of_turns(node.kind, said, Some(&node.distillate), root, budget);
            f(&SummaryRequest { source_tokens: node.source_tokens, ..about })
        }
        Below::Nodes(nodes) => {
            let summaries: Vec<NodeSummary> =
                nodes.iter().map(|n| NodeSummary { summary: &n.summary, distillate: &n.distillate }).collect();
            f(&SummaryRequest::of_nodes(node.kind, &summaries, node.source_tokens, budget))
        }
    }
}

fn store(pass: &Pass, node: &Node, model: &Budgeted, summary: &Summary, dropped: u64) -> Result<bool> {
    let at = pass.at;
    at.write("lineage.model-summary", |tx| {
        tx.note("node", node.id.to_string());
        tx.note("model", model.model.name());
        let stored = model_summary::store(tx, node, model.model.name(), &summary.text, &summary.distillate)?;
        tx.note("stored", stored);
        tx.note("dropped", dropped);
        if stored {
            let threads = thread::files_of(tx, at.agent_no, &[node.thread_no])?;
            let days = at.days_of(node.times.1);
            pages::mark(tx, at.agent_no, &Happened::SessionEnded { threads, days })?;
        }
        Ok(stored)
    })
}

/// Renders the handoff of a compaction: its sections, and what was done before it (R6.3).
fn handoff_of(pass: &Pass, node: &Node, distillate: &crate::lineage::distillate::Distillate) -> Result<String> {
    let at = pass.at;
    let before = match node.session_no {
        Some(session_no) => at.read(|tx| earlier(tx, at.agent_no, session_no, Some(node.thread_no), node.turns.0))?,
        None => Default::default(),
    };
    Ok(handoff::render(&fold(&before, distillate), budget_of(pass, node)))
}

/// Returns the maximum tokens of a summary: for a handoff the setting, else some sentences more than without a model.
fn budget_of(pass: &Pass, node: &Node) -> usize {
    const SENTENCES: usize = 200;
    match node.kind {
        Kind::Compaction => pass.limits.handoff_tokens.min(usize::try_from(node.source_tokens).unwrap_or(usize::MAX)),
        _ => SENTENCES,
    }
}

/// The material a node summarises: turns, or nodes below it.
enum Below {
    Turns(Vec<Said>),
    Nodes(Vec<Node>),
}

fn material(pass: &Pass, node: &Node) -> Result<(Below, Option<String>)> {
    let at = pass.at;
    if node.kind == Kind::Condensed {
        let mut nodes = at.read(|tx| walk::children(tx, at.agent_no, node.id))?;
        nodes.retain(|n| !n.abandoned && !n.forgotten);
        return Ok((Below::Nodes(nodes), None));
    }
    let mut said: Vec<Said> = Vec::new();
    for stretch in at.read(|tx| walk::stretches(tx, at.agent_no, node.id))? {
        said.extend(turns_of(pass, stretch.lane_no, stretch.turns)?);
    }
    said.retain(|turn| turn.main);
    said.sort_by_key(|turn: &Said| -> TurnId { turn.id });
    let root = match node.session_no {
        Some(session_no) => at.read(|tx| super::load::session(tx, at.agent_no, session_no))?.and_then(|f| f.root),
        None => None,
    };
    Ok((Below::Turns(said), root))
}
