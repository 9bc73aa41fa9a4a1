//! What a recall answers.

use schemars::JsonSchema;
use serde::Serialize;

use super::Of;
use super::understood::Understood;
use crate::recall::{Audience, Dropped, Item, Recalled};

/// What a recall answers.
#[derive(Clone, Serialize, JsonSchema, Debug)]
pub struct RecallReport {
    pub agent_id: String,
    pub query: String,
    /// The thread in which it may be told; `None` where no place was named.
    pub thread: Option<String>,
    /// Best first.
    pub items: Vec<Of<Item>>,
    /// What was found and left out.
    pub dropped: Vec<Dropped>,
    /// Why it is less than it could be.
    pub degraded: Vec<String>,
    /// How the question was understood, where that was asked for.
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
