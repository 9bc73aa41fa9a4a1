//! Where a thread stands: the fold of its newest nodes, over all sessions and programs (R7.2).

use super::fold::Folding;
use crate::error::Result;
use crate::ledger::Read;
use crate::lineage::distillate::Distillate;
use crate::lineage::{Kind, Node, walk};
use crate::scope::ThreadNo;

/// So many nodes of each member are looked at: what is older is in a condensed node, or is history.
const NODES: usize = 24;

/// Where a thread stands.
#[derive(Clone, PartialEq, Debug, Default)]
pub struct State {
    /// Goal, what is open, decided, done and next, with the turns each came from.
    pub distillate: Distillate,
    /// The nodes it was made from, newest first: session, compaction and condensed nodes, and chunks none of them
    /// covers yet.
    pub nodes: Vec<Node>,
}

impl State {
    /// The newest node; what a line of the head refers to that has nothing more exact.
    pub fn newest(&self) -> Option<&Node> {
        self.nodes.first()
    }
}

/// Where a thread stands, by its members (see [`crate::thread::members`]).
pub fn of_thread(tx: &Read, members: &[ThreadNo]) -> Result<State> {
    of_newest(tx, members, NODES)
}

/// [`of_thread`] from its newest nodes only, for a line that says in a few words what a thread is about: each node was
/// distilled with what stood before it, so a few say what is open now.
pub fn of_newest(tx: &Read, members: &[ThreadNo], most: usize) -> Result<State> {
    let mut nodes: Vec<Node> = Vec::new();
    for thread in members {
        nodes.extend(walk::tops(tx, *thread, most)?);
    }
    nodes.sort_by_key(|n| std::cmp::Reverse((n.times.1.unwrap_or(n.created_at), n.turns.1, n.id)));
    nodes.truncate(most);
    let (mut distillate, folding) = (Distillate::default(), Folding::default());
    for node in nodes.iter().rev() {
        // A chunk of a sub-agent speaks for itself only.
        if node.kind == Kind::Chunk && node.lane.as_deref().is_some_and(|l| !l.is_empty()) {
            continue;
        }
        distillate = folding.fold(&distillate, &node.distillate);
    }
    Ok(State { distillate, nodes })
}
