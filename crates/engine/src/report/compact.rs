//! What a compaction asked for came to.

use schemars::JsonSchema;
use serde::Serialize;

use crate::distill::handoff;
use crate::lineage::distillate::Distillate;
use crate::lineage::{Node, Source};
use crate::scope::{NodeId, TurnId};
use crate::tokens::tokens;

/// What a compaction of a session came to.
#[derive(Clone, PartialEq, Serialize, JsonSchema, Debug)]
pub struct CompactReport {
    pub agent_id: String,
    /// The key of the session.
    pub session: String,
    #[serde(flatten)]
    pub outcome: Outcome,
}

#[derive(Clone, PartialEq, Serialize, JsonSchema, Debug)]
#[serde(untagged)]
pub enum Outcome {
    /// Nothing new was said since the last compaction.
    Nothing {
        /// Always empty.
        nodes: Vec<CompactedNode>,
        /// Always null.
        handoff: Option<String>,
    },
    /// The handoff as it would stand, and nothing was changed.
    Preview {
        /// The last turn it takes the place of.
        until: TurnId,
        /// Always true.
        dry_run: bool,
        #[serde(flatten)]
        handoff: Handoff,
    },
    Made {
        /// The last turn it takes the place of.
        until: Option<TurnId>,
        /// How often the context of the session was cut.
        epoch: u64,
        /// One node for each thread; the last is that of the conversation.
        nodes: Vec<CompactedNode>,
        /// The turns behind it, which stay as they are.
        preserved: Vec<TurnId>,
        #[serde(flatten)]
        handoff: Handoff,
    },
}

impl Outcome {
    pub fn nothing() -> Outcome {
        Outcome::Nothing { nodes: Vec::new(), handoff: None }
    }
}

/// The document that takes the place of what was said, and what it is made of.
#[derive(Clone, PartialEq, Serialize, JsonSchema, Debug)]
pub struct Handoff {
    pub tokens: usize,
    #[serde(rename = "handoff")]
    pub text: String,
    pub distillate: Distillate,
}

impl Handoff {
    /// Of a node: its own document, unless its words are the program's.
    pub fn of_node(node: &Node, budget: usize) -> Handoff {
        match node.source {
            Source::Harness => Handoff::of(&node.distillate, budget),
            _ => {
                let text = node.summary.clone();
                Handoff { tokens: tokens(&text), text, distillate: node.distillate.clone() }
            }
        }
    }

    /// `budget`: the longest it may be, in tokens.
    pub fn of(distillate: &Distillate, budget: usize) -> Handoff {
        let text = handoff::render(distillate, budget);
        Handoff { tokens: tokens(&text), text, distillate: distillate.clone() }
    }
}

/// A node a compaction made.
#[derive(Clone, PartialEq, Serialize, JsonSchema, Debug)]
pub struct CompactedNode {
    pub id: NodeId,
    pub agent_id: String,
    pub thread: String,
    /// The first and the last turn it covers.
    pub turns: [TurnId; 2],
    /// How many turns it covers.
    pub count: u64,
    /// Whose words it has: those of the program, of a model, or our own.
    pub source: Source,
}

impl From<&Node> for CompactedNode {
    fn from(node: &Node) -> CompactedNode {
        CompactedNode {
            id: node.id,
            agent_id: node.agent.clone(),
            thread: node.thread.clone(),
            turns: [node.turns.0, node.turns.1],
            count: node.count,
            source: node.source,
        }
    }
}
