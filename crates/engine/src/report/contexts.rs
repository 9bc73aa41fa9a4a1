//! Contexts given to programs, as reports: one just assembled, a recorded one read again, and the list of recorded
//! ones.

use schemars::JsonSchema;
use serde::Serialize;
use serde_json::Value;

use super::Of;
use super::understood::Understood;
use crate::inject::{Ask, Given, Replayed};
use crate::recall::{Dropped, Item, Stage};

/// A context that was just assembled.
#[derive(Clone, Serialize, JsonSchema, Debug)]
pub struct ContextReport {
    pub agent_id: String,
    /// Id of the record of this context; `None` after a dry run, or if the context contains nothing new.
    pub id: Option<String>,
    pub session: String,
    pub event: &'static str,
    /// Number of the epoch; rises by one each time the context of the session is cut.
    pub epoch: u64,
    pub thread: Option<String>,
    pub workspace: Option<String>,
    pub tokens: usize,
    /// Digest of the request: equal requests over equal memory have equal fingerprints.
    pub fingerprint: String,
    /// Text for the program; empty if there is nothing to give.
    pub block: String,
    /// Parts of the block, in the order they are printed.
    pub parts: Vec<PartReport>,
    pub dropped: Vec<Dropped>,
    /// Reasons why the context is less complete than it could be.
    pub degraded: Vec<String>,
    /// How the prompt was understood and what was recalled for it; only if the request asked for an explanation.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub explain: Option<PromptExplained>,
}

impl ContextReport {
    pub fn of(agent: &str, ask: &Ask, given: Given, explain: Option<PromptExplained>) -> ContextReport {
        let parts = given.parts.iter().map(|p| PartReport {
            part: p.part.name(),
            cacheable: p.cacheable,
            tokens: p.tokens,
            text: p.text.clone(),
            items: p.items().map(str::to_owned).collect(),
        });
        ContextReport {
            agent_id: agent.to_owned(),
            id: given.id.map(|id| id.to_string()),
            session: ask.session.as_str().to_owned(),
            event: ask.event.name(),
            epoch: given.epoch,
            parts: parts.collect(),
            thread: given.audience.thread.map(|thread| thread.key),
            workspace: given.audience.workspace,
            tokens: given.tokens,
            fingerprint: given.fingerprint,
            block: given.block,
            dropped: given.dropped,
            degraded: given.degraded,
            explain,
        }
    }
}

/// A part of a context.
#[derive(Clone, PartialEq, Eq, Serialize, JsonSchema, Debug)]
pub struct PartReport {
    pub part: &'static str,
    /// Whether the part stays the same in every session of the thread until a page changes.
    pub cacheable: bool,
    pub tokens: usize,
    pub text: String,
    /// Ids that the lines of the part lead to; `expand` accepts them.
    pub items: Vec<String>,
}

/// How a prompt was understood, and which items were recalled for it.
#[derive(Clone, Serialize, JsonSchema, Debug)]
pub struct PromptExplained {
    pub understood: Understood,
    pub recalled: Vec<WhyRecalled>,
}

/// Why one item was recalled.
#[derive(Clone, PartialEq, Serialize, JsonSchema, Debug)]
pub struct WhyRecalled {
    pub id: String,
    pub stage: Stage,
    pub score: f64,
    pub reasons: Vec<String>,
    pub marks: Vec<String>,
}

impl From<&Item> for WhyRecalled {
    fn from(item: &Item) -> WhyRecalled {
        WhyRecalled {
            id: item.id.clone(),
            stage: item.stage,
            score: item.score,
            reasons: item.reasons.clone(),
            marks: item.marks.clone(),
        }
    }
}

/// A recorded context, with its text.
#[derive(Clone, PartialEq, Serialize, JsonSchema, Debug)]
pub struct ReplayReport {
    #[serde(flatten)]
    pub given: Of<Replayed>,
    /// The stored object with `request`, `profile`, `lines`, `dropped`, `dropped_more`, `degraded`, `block` and
    /// `digest`; `None` if it was forgotten.
    pub content: Option<Value>,
}

impl ReplayReport {
    pub fn of(agent: &str, given: &Replayed) -> ReplayReport {
        let what = Replayed { content: None, ..given.clone() };
        ReplayReport { given: Of { agent_id: agent.to_owned(), what }, content: given.content.clone() }
    }

    /// Returns the text that the program was given, byte for byte.
    pub fn block(&self) -> Option<&str> {
        self.content.as_ref()?.get("block")?.as_str()
    }

    /// Returns the entries of one list of the content: `profile`, `lines` or `dropped`.
    pub fn list(&self, name: &str) -> impl Iterator<Item = &Value> {
        let list = self.content.as_ref().and_then(|content| content.get(name)?.as_array());
        list.into_iter().flatten()
    }
}

/// Recorded contexts, newest first.
#[derive(Clone, PartialEq, Serialize, JsonSchema, Debug)]
pub struct ContextsReport {
    pub agent_id: String,
    /// The contexts without their content.
    pub contexts: Vec<Of<Replayed>>,
}
