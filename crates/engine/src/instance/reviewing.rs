//! A person's verdict on proposed memory and on what was noticed about them, as one value.

use super::Instance;
use crate::error::Result;
use crate::memory::pending;
use crate::report::review::{DecidedNotice, ReviewReport};
use crate::review::{self, noticed};
use crate::scope::{AgentId, PendingNo};

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

impl Instance {
    /// Does what a verdict says. Errors are those of the room `review`.
    pub fn review(&self, agent: &AgentId, actor: &str, verdict: &Verdict) -> Result<ReviewReport> {
        let at = self.assistant(agent, actor)?;
        let report = {
            let lock = at.lock()?;
            match verdict {
                Verdict::Merge { proposals } => ReviewReport::Merged { merged: review::merge(&lock, proposals, None)? },
                Verdict::Reject { proposals, reason } => {
                    ReviewReport::Rejected { items: review::reject(&lock, proposals, reason.as_deref())? }
                }
                Verdict::Undo { proposal } => ReviewReport::Undone(review::undo(&lock, proposal, None)?),
                Verdict::Accept { notices } => {
                    let accepted = noticed::accept(&lock, &numbers(notices)?)?.into_iter();
                    ReviewReport::Accepted { items: accepted.map(|a| DecidedNotice::of(a.pending, a.leaf)).collect() }
                }
                Verdict::Dismiss { notices } => {
                    let dismissed = pending::dismiss(&at, &numbers(notices)?)?.into_iter();
                    ReviewReport::Dismissed { items: dismissed.map(|p| DecidedNotice::of(p, None)).collect() }
                }
            }
        };
        self.settle(&at);
        Ok(report)
    }
}

fn numbers(ids: &[String]) -> Result<Vec<PendingNo>> {
    ids.iter().map(|id| pending::parse_id(id)).collect()
}
