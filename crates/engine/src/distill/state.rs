//! The state of a thread: the fold of its newest nodes, over all sessions and programs (R7.2).

use super::fold::Folding;
use crate::error::Result;
use crate::ledger::Read;
use crate::lineage::distillate::Distillate;
use crate::lineage::{Kind, Node, walk};
use crate::scope::ThreadNo;

/// Maximum number of nodes of each member that are folded: older ones are condensed, or are history.
const NODES: usize = 24;

/// The state of a thread.
#[derive(Clone, PartialEq, Debug, Default)]
pub struct State {
    /// Goal, open items, decisions, done and next, each with its turns.
    pub distillate: Distillate,
    /// The nodes the state was made from, newest first: session, compaction and condensed nodes, and chunks that none
    /// of them covers yet.
    pub nodes: Vec<Node>,
}

impl State {
    /// Returns the newest node, cited by a line of the head without a more exact source.
    pub fn newest(&self) -> Option<&Node> {
        self.nodes.first()
    }
}

/// Returns the state of a thread, given its members (see [`crate::thread::members`]).
pub fn of_thread(tx: &Read, members: &[ThreadNo]) -> Result<State> {
    of_newest(tx, members, NODES)
}

/// Returns the state as [`of_thread`] does, but from the newest nodes only, for a short line about a thread: each node
/// was distilled with the earlier items carried over, so a few nodes contain everything that is open now.
pub fn of_newest(tx: &Read, members: &[ThreadNo], most: usize) -> Result<State> {
    let mut nodes: Vec<Node> = Vec::new();
    for thread in members {
        nodes.extend(walk::tops(tx, *thread, most)?);
    }
    nodes.sort_by_key(|n| std::cmp::Reverse((n.times.1.unwrap_or(n.created_at), n.turns.1, n.id)));
    nodes.truncate(most);
    let (mut distillate, folding) = (Distillate::default(), Folding::default());
    for node in nodes.iter().rev() {
        // The chunk of a sub-agent does not describe the thread.
        if node.kind == Kind::Chunk && node.lane.as_deref().is_some_and(|l| !l.is_empty()) {
            continue;
        }
        distillate = folding.fold(&distillate, &node.distillate);
    }
    Ok(State { distillate, nodes })
}
