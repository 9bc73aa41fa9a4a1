//! A person's verdict on what waits for it, as one value: what a surface hands over.

use super::noticed::{self, Accepted};
use super::{Merged, Undone, merge, reject, undo};
use crate::continuity::Item;
use crate::error::Result;
use crate::memory::pending::{self, Pending};
use crate::tree::TreeLock;

/// A verdict. Proposals are named by id (`p:…`), title or file, notices by id (`u:17`). Of several all are decided, or
/// none.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Verdict {
    /// Each entry of these proposals becomes a memory.
    Merge { proposals: Vec<String> },
    /// These proposals become no memory.
    Reject { proposals: Vec<String>, reason: Option<String> },
    /// A merge or a rejection is taken back.
    Undo { proposal: String },
    /// These notices become memories or values of the profile.
    Accept { notices: Vec<String> },
    /// These notices are not asked about again.
    Dismiss { notices: Vec<String> },
}

/// What a verdict came to.
#[derive(Clone, PartialEq, Debug)]
pub enum Decided {
    Merged(Vec<Merged>),
    Rejected(Vec<Item>),
    Undone(Undone),
    Accepted(Vec<Accepted>),
    Dismissed(Vec<Pending>),
}

/// Does what a verdict says. Errors are those of what it calls.
pub fn decide(lock: &TreeLock, verdict: &Verdict) -> Result<Decided> {
    Ok(match verdict {
        Verdict::Merge { proposals } => Decided::Merged(merge(lock, proposals, None)?),
        Verdict::Reject { proposals, reason } => Decided::Rejected(reject(lock, proposals, reason.as_deref())?),
        Verdict::Undo { proposal } => Decided::Undone(undo(lock, proposal, None)?),
        Verdict::Accept { notices } => Decided::Accepted(noticed::accept(lock, &numbers(notices)?)?),
        Verdict::Dismiss { notices } => Decided::Dismissed(pending::dismiss(lock.at, &numbers(notices)?)?),
    })
}

fn numbers(ids: &[String]) -> Result<Vec<i64>> {
    ids.iter().map(|id| pending::parse_id(id)).collect()
}
