//! What waits for a person's yes, and what their verdicts came to.

use serde::Serialize;

use crate::clock::rfc3339;
use crate::continuity::Item;
use crate::memory::Added;
use crate::memory::pending::{NoticeKind, Pending};
use crate::review::{Merged, Undone};

/// Something noticed about the user.
#[derive(Clone, PartialEq, Serialize, Debug)]
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
#[derive(Clone, PartialEq, Eq, Serialize, Debug)]
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
#[derive(Clone, PartialEq, Serialize, Debug)]
pub struct NoticedReport {
    pub pending: Vec<PendingReport>,
}

/// What a verdict came to.
#[derive(Clone, PartialEq, Serialize, Debug)]
#[serde(untagged)]
pub enum ReviewReport {
    Merged { merged: Vec<Merged> },
    Rejected { items: Vec<Item> },
    Undone(Undone),
    Accepted { items: Vec<DecidedNotice> },
    Dismissed { items: Vec<DecidedNotice> },
}

/// A notice that was accepted or dismissed.
#[derive(Clone, PartialEq, Serialize, Debug)]
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
