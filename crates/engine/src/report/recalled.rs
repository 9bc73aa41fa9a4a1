//! The answer of a recall.

use schemars::JsonSchema;
use serde::Serialize;

use super::Of;
use super::understood::Understood;
use crate::recall::{Audience, Dropped, Item, Recalled};

/// The answer of a recall.
#[derive(Clone, Serialize, JsonSchema, Debug)]
pub struct RecallReport {
    pub agent_id: String,
    pub query: String,
    /// Thread whose audience the answer is for; `None` if the request named no place.
    pub thread: Option<String>,
    /// Items, best first.
    pub items: Vec<Of<Item>>,
    /// Items that were found and left out.
    pub dropped: Vec<Dropped>,
    /// Reasons why the answer is less complete than it could be.
    pub degraded: Vec<String>,
    /// How the question was understood; only if the request asked for an explanation.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub understood: Option<Understood>,
}

impl RecallReport {
    pub fn of(
        agent: &str,
        query: &str,
        audience: Option<Audience>,
        recalled: Recalled,
        understood: Option<Understood>,
    ) -> RecallReport {
        RecallReport {
            agent_id: agent.to_owned(),
            query: query.to_owned(),
            thread: audience.and_then(|audience| Some(audience.thread?.key)),
            items: recalled.items.into_iter().map(|what| Of { agent_id: agent.to_owned(), what }).collect(),
            dropped: recalled.dropped,
            degraded: recalled.degraded,
            understood,
        }
    }
}
