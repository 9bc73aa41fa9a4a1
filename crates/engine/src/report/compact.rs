//! The result of a compaction somebody asked for.

use schemars::JsonSchema;
use serde::Serialize;

use crate::distill::handoff;
use crate::lineage::distillate::Distillate;
use crate::lineage::{Node, Source};
use crate::scope::{NodeId, TurnId};
use crate::tokens::tokens;

/// Result of a compaction of one session.
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
    /// Nothing new was said since the last compaction, so nothing was changed.
    Nothing {
        /// Always empty.
        nodes: Vec<CompactedNode>,
        /// Always null.
        handoff: Option<String>,
    },
    /// A dry run: the handoff as it would be made; nothing was changed.
    Preview {
        /// Last turn that the handoff would replace.
        until: TurnId,
        /// Always true.
        dry_run: bool,
        #[serde(flatten)]
        handoff: Handoff,
    },
    Made {
        /// Last turn that the handoff replaces.
        until: Option<TurnId>,
        /// Number of times the context of the session was cut.
        epoch: u64,
        /// One node for each thread; the last is the node of the conversation.
        nodes: Vec<CompactedNode>,
        /// Turns after the last replaced one; they stay in the context unchanged.
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

/// The document that takes the place of the replaced turns, and the distillate it is made of.
#[derive(Clone, PartialEq, Serialize, JsonSchema, Debug)]
pub struct Handoff {
    pub tokens: usize,
    #[serde(rename = "handoff")]
    pub text: String,
    pub distillate: Distillate,
}

impl Handoff {
    /// Returns the handoff of a node: the node's own document, or one rendered from its distillate if the outside
    /// program wrote its summary.
    pub fn of_node(node: &Node, budget: usize) -> Handoff {
        match node.source {
            Source::Harness => Handoff::of(&node.distillate, budget),
            _ => {
                let text = node.summary.clone();
                Handoff { tokens: tokens(&text), text, distillate: node.distillate.clone() }
            }
        }
    }

    /// Renders a distillate into a document of at most `budget` tokens.
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
    /// First and last turn that the node covers.
    pub turns: [TurnId; 2],
    /// Number of turns that the node covers.
    pub count: u64,
    /// Author of the words: the outside program, a language model, or Heirloom's own summarizer.
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
