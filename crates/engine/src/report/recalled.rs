//! What a recall answers.

use serde::Serialize;

use super::understood::Understood;
use crate::clock::{Millis, rfc3339};
use crate::recall::{Audience, Dropped, Item, Recalled};

/// What a recall answers.
#[derive(Clone, Serialize, Debug)]
pub struct RecallReport {
    pub agent_id: String,
    pub query: String,
    /// The thread in which it may be told; `None` where no place was named.
    pub thread: Option<String>,
    /// Best first.
    pub items: Vec<RecalledReport>,
    /// What was found and left out.
    pub dropped: Vec<DroppedReport>,
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
            items: recalled.items.into_iter().map(|item| RecalledReport::of(agent, item)).collect(),
            dropped: recalled.dropped.into_iter().map(DroppedReport::from).collect(),
            degraded: recalled.degraded,
            understood,
        }
    }
}

/// One thing that was recalled.
#[derive(Clone, PartialEq, Serialize, Debug)]
pub struct RecalledReport {
    pub agent_id: String,
    /// What `expand` takes.
    pub id: String,
    pub stage: &'static str,
    pub kind: String,
    /// Its words, on one line.
    pub text: String,
    /// Of another thread that was named: its label.
    pub thread: Option<String>,
    pub at: Option<String>,
    /// 1.0 is the best of its recall.
    pub score: f64,
    /// What spoke for it, in words.
    pub reasons: Vec<String>,
    /// What should be done before it is used: `stale`, `check before use`.
    pub marks: Vec<String>,
    #[serde(skip)]
    pub at_ms: Option<Millis>,
}

impl RecalledReport {
    fn of(agent: &str, item: Item) -> RecalledReport {
        RecalledReport {
            agent_id: agent.to_owned(),
            id: item.id,
            stage: item.stage.name(),
            kind: item.kind,
            text: item.text,
            thread: item.thread,
            at: item.at.map(rfc3339),
            score: item.score,
            reasons: item.reasons,
            marks: item.marks,
            at_ms: item.at,
        }
    }
}

/// One thing that was found and left out.
#[derive(Clone, PartialEq, Eq, Serialize, Debug)]
pub struct DroppedReport {
    pub id: String,
    pub why: String,
}

impl From<Dropped> for DroppedReport {
    fn from(dropped: Dropped) -> DroppedReport {
        DroppedReport { id: dropped.id, why: dropped.why }
    }
}
