//! Makes summaries of turns, without a model (R6.5) or with one. Storey 3.
//!
//! [`deterministic`] is pure: turns in, a [`Distillate`](crate::lineage::distillate::Distillate) out; so are [`chunk`],
//! [`fold`], [`handoff`], [`summary`] and [`work_state`], which reads the state of the work from tool calls.
//! [`advance`] brings the lineage of a session up to what was stored, with [`compaction`], `session`, `flush`,
//! `closing` and [`condense`]; [`state`] folds the state of a thread.

pub mod advance;
pub mod chunk;
mod closing;
pub mod compaction;
pub mod condense;
pub(crate) mod deadline;
pub mod deterministic;
mod flush;
pub mod fold;
pub mod handoff;
#[cfg(test)]
mod labelled;
mod load;
pub mod model_pass;
pub mod model_summarizer;
mod over;
pub mod schema;
mod session;
pub mod state;
pub(crate) mod still_open;
pub mod summarizer;
pub mod summary;
mod summary_input;
pub(crate) mod tail;
pub mod work_state;

use crate::clock::Millis;
use crate::event::{Role, TurnKind};
use crate::scope::{RunNo, TurnId};

/// A turn as input of distillation. Its text is complete; the reader of the text applies limits.
#[derive(Clone, PartialEq, Debug)]
pub struct Said {
    pub id: TurnId,
    pub role: Role,
    pub kind: TurnKind,
    /// The turns from one prompt to the end of its answer share this number.
    pub run: RunNo,
    /// Whether the turn is in the main lane of the session, not in a sub-agent's.
    pub main: bool,
    pub speaker: Option<String>,
    pub tool: Option<String>,
    /// Id that joins a tool call with its result.
    pub call: Option<String>,
    /// Whether the tool reported an error, or the message reports a failed request.
    pub failed: bool,
    pub at: Option<Millis>,
    pub text: String,
}

/// The input of a distillation.
#[derive(Clone, Copy, Debug)]
pub struct Request<'r> {
    /// The turns, in ledger order, without abandoned branches (R6.2).
    pub turns: &'r [Said],
    /// The distillate before these turns: its goal, constraints and open items are carried over unless the turns change
    /// them.
    pub before: Option<&'r crate::lineage::distillate::Distillate>,
    /// Root of the project, used to shorten paths.
    pub root: Option<&'r str>,
}
