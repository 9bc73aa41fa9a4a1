//! What waits for a person's yes, and what their verdicts came to.

use schemars::JsonSchema;
use serde::Serialize;

use crate::clock::{Millis, rfc3339};
use crate::continuity::Item;
use crate::error::ErrorKind;
use crate::memory::Added;
use crate::memory::pending::{NoticeKind, Pending};
use crate::review::inbox::{Outcome, Waiting};
use crate::review::{Merged, Undone};

/// Something noticed about the user.
#[derive(Clone, PartialEq, Serialize, JsonSchema, Debug)]
pub struct PendingReport {
    /// `u:17`.
    pub id: String,
    pub kind: &'static str,
    pub title: String,
    pub text: String,
    /// The value of the profile it would set; `None` for what would become a memory.
    pub profile: Option<ProfilePair>,
    pub confidence: f64,
    /// `pending`, `accepted` or `dismissed`.
    pub state: &'static str,
    /// In how many turns it was noticed.
    pub seen: i64,
    pub turn: Option<String>,
    pub session: Option<String>,
    pub noticed: String,
    pub decided: Option<String>,
    /// What an accepted one became: `m:…` or `profile:…`.
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

/// What was noticed about the user, surest first.
#[derive(Clone, PartialEq, Serialize, JsonSchema, Debug)]
pub struct NoticedReport {
    pub pending: Vec<PendingReport>,
}

/// What a verdict came to.
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
    /// What an accepted one became: `m:…` or `profile:…`.
    pub result: Option<String>,
    /// The memory it became, if it became one.
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

/// What waits for a person's yes: proposals, what was noticed, memories that contradict each other, words kept aside.
#[derive(Clone, PartialEq, Serialize, JsonSchema, Default, Debug)]
pub struct InboxReport {
    /// By kind, the newest of each first.
    pub waiting: Vec<WaitingReport>,
}

/// Something that waits.
#[derive(Clone, PartialEq, Serialize, JsonSchema, Debug)]
pub struct WaitingReport {
    /// `p:…`, `u:17`, `s:…`, `r:12`.
    pub id: String,
    /// `proposal`, `noticed`, `supersession` or `edit`.
    pub kind: &'static str,
    pub title: String,
    /// What a yes would remember, or put back.
    pub entries: Vec<String>,
    /// The class of the memory; `profile` for a value of the profile; `None` for words kept aside.
    pub class: Option<String>,
    pub scope: Option<String>,
    pub since: Option<String>,
    pub session: Option<String>,
    pub turns: Vec<String>,
    /// In how many turns it was noticed.
    pub seen: Option<i64>,
    pub confidence: Option<f64>,
    pub path: Option<String>,
    /// What a yes would take the place of.
    pub replaces: Vec<OlderReport>,
    /// What was said or shown, each with its turn: `t12: just ci`. Empty where the proposer told none.
    pub evidence: Vec<String>,
    /// The language model that found it, where nothing else did.
    pub model: Option<String>,
    /// Why a yes would be refused as it stands.
    pub problem: Option<String>,
    /// Changes with what the item says.
    pub version: String,
    #[serde(skip)]
    pub since_ms: Option<Millis>,
}

/// A memory, or a value of the profile, that would be superseded.
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

/// What decisions came to, in the order they were made.
#[derive(Clone, PartialEq, Serialize, JsonSchema, Default, Debug)]
pub struct DecisionsReport {
    pub items: Vec<DecidedReport>,
    /// What was not decided, and why.
    pub refused: Vec<RefusedReport>,
}

/// What became of one item.
#[derive(Clone, PartialEq, Serialize, JsonSchema, Debug)]
pub struct DecidedReport {
    pub id: String,
    pub title: String,
    /// `accepted`, `rejected`, `undone` or `changed`.
    pub outcome: &'static str,
    pub memories: Vec<Added>,
    /// Memories that are superseded now.
    pub superseded: Vec<String>,
    /// The value of the profile that was set: `profile:language`.
    pub profile: Option<String>,
    /// Undone: memories that were removed.
    pub removed: Vec<String>,
    /// Undone: memories that are current again.
    pub restored: Vec<String>,
    /// The file words were put back into.
    pub path: Option<String>,
    /// The files of a skill that were written.
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
