//! Items that wait for a person's yes, and the results of verdicts on them.

use schemars::JsonSchema;
use serde::Serialize;

use crate::clock::{Millis, rfc3339};
use crate::continuity::Item;
use crate::error::ErrorKind;
use crate::memory::Added;
use crate::memory::pending::{NoticeKind, Pending};
use crate::review::inbox::{Outcome, Waiting};
use crate::review::{Merged, Undone};

/// Something noticed about the user that may become memory.
#[derive(Clone, PartialEq, Serialize, JsonSchema, Debug)]
pub struct PendingReport {
    /// Id of the notice, such as `u:17`.
    pub id: String,
    pub kind: &'static str,
    pub title: String,
    pub text: String,
    /// Profile value that accepting the notice would set; `None` if it would become a memory.
    pub profile: Option<ProfilePair>,
    pub confidence: f64,
    /// State of the notice: `pending`, `accepted` or `dismissed`.
    pub state: &'static str,
    /// Number of turns in which it was noticed.
    pub seen: i64,
    pub turn: Option<String>,
    pub session: Option<String>,
    pub noticed: String,
    pub decided: Option<String>,
    /// Id of the memory or profile value an accepted notice became: `m:…` or `profile:…`.
    pub result: Option<String>,
    #[serde(skip)]
    pub pending: Pending,
}

/// A value of the profile.
#[derive(Clone, PartialEq, Eq, Serialize, JsonSchema, Debug)]
pub struct ProfilePair {
    pub key: String,
    pub value: String,
}

impl From<Pending> for PendingReport {
    fn from(pending: Pending) -> PendingReport {
        let profile = match &pending.kind {
            NoticeKind::Profile { key, value } => Some(ProfilePair { key: key.clone(), value: value.clone() }),
            NoticeKind::Preference | NoticeKind::Identity | NoticeKind::Project { .. } => None,
        };
        PendingReport {
            id: pending.id(),
            kind: pending.kind.name(),
            title: pending.title.clone(),
            text: pending.text.clone(),
            profile,
            confidence: pending.confidence,
            state: pending.state.name(),
            seen: pending.seen,
            turn: pending.turn.map(|t| t.to_string()),
            session: pending.session.clone(),
            noticed: rfc3339(pending.created_at),
            decided: pending.decided_at.map(rfc3339),
            result: pending.result.clone(),
            pending,
        }
    }
}

/// Notices about the user, highest confidence first.
#[derive(Clone, PartialEq, Serialize, JsonSchema, Debug)]
pub struct NoticedReport {
    pub pending: Vec<PendingReport>,
}

/// Result of a verdict.
#[derive(Clone, PartialEq, Serialize, JsonSchema, Debug)]
#[serde(untagged)]
pub enum ReviewReport {
    Merged { merged: Vec<Merged> },
    Rejected { items: Vec<Item> },
    Undone(Undone),
    Accepted { items: Vec<DecidedNotice> },
    Dismissed { items: Vec<DecidedNotice> },
}

/// A notice that was accepted or dismissed.
#[derive(Clone, PartialEq, Serialize, JsonSchema, Debug)]
pub struct DecidedNotice {
    pub id: String,
    pub kind: &'static str,
    pub title: String,
    /// Id of the memory or profile value an accepted notice became: `m:…` or `profile:…`.
    pub result: Option<String>,
    /// The memory that the notice became, if it became one.
    pub memory: Option<Added>,
    #[serde(skip)]
    pub pending: Pending,
}

impl DecidedNotice {
    pub fn of(pending: Pending, memory: Option<Added>) -> DecidedNotice {
        DecidedNotice {
            id: pending.id(),
            kind: pending.kind.name(),
            title: pending.title.clone(),
            result: pending.result.clone(),
            memory,
            pending,
        }
    }
}

/// Everything that waits for a person's yes: proposals, notices, memories that contradict each other, recurring
/// procedures, statements of a model about open loops, and words kept aside.
#[derive(Clone, PartialEq, Serialize, JsonSchema, Default, Debug)]
pub struct InboxReport {
    /// Waiting items, ordered by kind and, within a kind, newest first.
    pub waiting: Vec<WaitingReport>,
}

/// An item that waits for a yes.
#[derive(Clone, PartialEq, Serialize, JsonSchema, Debug)]
pub struct WaitingReport {
    /// Id of the item: `p:…`, `u:17`, `s:…`, `k:3`, `o:5`, `r:12`.
    pub id: String,
    /// Kind of the item: `supersession`, `noticed`, `proposal`, `skill`, `matter` or `edit`.
    pub kind: &'static str,
    pub title: String,
    /// Texts that a yes would remember or restore.
    pub entries: Vec<String>,
    /// Class of the memory; `profile` for a value of the profile; `None` for words kept aside.
    pub class: Option<String>,
    pub scope: Option<String>,
    pub since: Option<String>,
    pub session: Option<String>,
    pub turns: Vec<String>,
    /// Number of turns in which it was noticed.
    pub seen: Option<i64>,
    pub confidence: Option<f64>,
    pub path: Option<String>,
    /// Memories or profile values that a yes would supersede.
    pub replaces: Vec<OlderReport>,
    /// Words or outcomes that support the item, each with its turn: `t12: just ci`. Empty if the proposer named none.
    pub evidence: Vec<String>,
    /// Language model that found the item, if nothing else found it.
    pub model: Option<String>,
    /// Why a yes would be refused at present.
    pub problem: Option<String>,
    /// Version of the content; it changes whenever the item says something else.
    pub version: String,
    #[serde(skip)]
    pub since_ms: Option<Millis>,
}

/// A memory or profile value that would be superseded.
#[derive(Clone, PartialEq, Eq, Serialize, JsonSchema, Debug)]
pub struct OlderReport {
    pub id: String,
    pub text: String,
}

impl From<Waiting> for WaitingReport {
    fn from(w: Waiting) -> WaitingReport {
        let some = |text: String| (!text.is_empty()).then_some(text);
        WaitingReport {
            id: w.id,
            kind: w.kind.name(),
            title: w.title,
            entries: w.entries,
            class: some(w.class),
            scope: some(w.scope),
            since: w.since.map(rfc3339),
            session: w.session,
            turns: w.turns,
            seen: w.seen,
            confidence: w.confidence,
            path: w.path,
            replaces: w.replaces.into_iter().map(|o| OlderReport { id: o.id, text: o.text }).collect(),
            evidence: w.evidence,
            model: w.model,
            problem: w.problem,
            version: w.version,
            since_ms: w.since,
        }
    }
}

/// Results of decisions, in the order they were made.
#[derive(Clone, PartialEq, Serialize, JsonSchema, Default, Debug)]
pub struct DecisionsReport {
    pub items: Vec<DecidedReport>,
    /// Items that were not decided, and why.
    pub refused: Vec<RefusedReport>,
}

/// Result of the decision about one item.
#[derive(Clone, PartialEq, Serialize, JsonSchema, Debug)]
pub struct DecidedReport {
    pub id: String,
    pub title: String,
    /// Outcome of the decision: `accepted`, `rejected`, `undone` or `changed`.
    pub outcome: &'static str,
    pub memories: Vec<Added>,
    /// Memories that the decision superseded.
    pub superseded: Vec<String>,
    /// Profile value that was set, such as `profile:language`.
    pub profile: Option<String>,
    /// Memories that an undo removed.
    pub removed: Vec<String>,
    /// Memories that an undo made current again.
    pub restored: Vec<String>,
    /// File that the kept words were restored into.
    pub path: Option<String>,
    /// Files of a skill that were written.
    pub placed: Vec<String>,
}

/// An item that could not be decided.
#[derive(Clone, PartialEq, Eq, Serialize, JsonSchema, Debug)]
pub struct RefusedReport {
    pub id: String,
    pub what: String,
    pub next: Option<String>,
    #[serde(skip)]
    pub kind: ErrorKind,
}

impl DecidedReport {
    pub fn of(outcome: Outcome, said: &'static str) -> DecidedReport {
        DecidedReport {
            id: outcome.id,
            title: outcome.title,
            outcome: said,
            memories: outcome.memories,
            superseded: outcome.superseded,
            profile: outcome.profile,
            removed: outcome.removed,
            restored: outcome.restored,
            path: outcome.path,
            placed: outcome.placed,
        }
    }
}
