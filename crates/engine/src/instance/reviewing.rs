//! Verdicts of a person on proposed memory and on notices.

use super::Instance;
use crate::error::Result;
use crate::memory::pending;
use crate::report::review::{
    DecidedNotice, DecidedReport, DecisionsReport, InboxReport, RefusedReport, ReviewReport, WaitingReport,
};
use crate::review::inbox::{self, Answer, Change, Outcome};
use crate::review::{self, noticed};
use crate::scope::{AgentId, PendingNo};
use crate::tree::TreeLock;

/// A verdict. Proposals are named by id (`p:…`), title or file, notices by id (`u:17`). A verdict on several decides
/// all of them or none.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Verdict {
    /// Makes a memory of each entry of these proposals.
    Merge { proposals: Vec<String> },
    /// Archives these proposals without making memories.
    Reject { proposals: Vec<String>, reason: Option<String> },
    /// Undoes the merge or rejection of a proposal.
    Undo { proposal: String },
    /// Makes these notices memories or values of the profile.
    Accept { notices: Vec<String> },
    /// Dismisses these notices; they are not asked about again.
    Dismiss { notices: Vec<String> },
}

impl Instance {
    /// Carries out a verdict. Errors are those of the room `review`.
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

/// A decision about waiting items, named by their ids.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Decision {
    /// A yes or a no. Each item comes with the version the person saw, if known.
    Answer { items: Vec<(String, Option<String>)>, answer: Answer },
    /// Undoes decisions, so that the items wait again; without ids, the last decision.
    Undo { items: Vec<String> },
    /// Changes the text of a waiting item.
    Change { item: String, change: Change },
}

impl Instance {
    /// Returns everything that waits for a yes.
    pub fn inbox(&self, agent: &AgentId, actor: &str) -> Result<InboxReport> {
        let Some((at, _)) = self.look_at(agent, actor)? else { return Ok(InboxReport::default()) };
        Ok(InboxReport { waiting: inbox::waiting(&at)?.into_iter().map(WaitingReport::from).collect() })
    }

    /// Decides item by item: an item that cannot be decided is reported as refused, with the reason. Fails only if the
    /// home prevents any decision.
    pub fn decide(&self, agent: &AgentId, actor: &str, decision: &Decision) -> Result<DecisionsReport> {
        let at = self.assistant(agent, actor)?;
        let mut report = DecisionsReport::default();
        {
            let lock = at.lock()?;
            let mut each = |id: &str, said: &'static str, act: &dyn Fn(&TreeLock) -> Result<Outcome>| match act(&lock) {
                Ok(outcome) => report.items.push(DecidedReport::of(outcome, said)),
                Err(e) => report.refused.push(RefusedReport {
                    id: id.to_owned(),
                    what: e.to_string(),
                    next: e.next_step().map(str::to_owned),
                    kind: e.kind(),
                }),
            };
            match decision {
                Decision::Answer { items, answer } => {
                    let said = if matches!(answer, Answer::Accept { .. } | Answer::Place { .. }) {
                        "accepted"
                    } else {
                        "rejected"
                    };
                    for (id, version) in items {
                        each(id, said, &|lock| inbox::decide(lock, id, version.as_deref(), answer));
                    }
                }
                Decision::Undo { items } if items.is_empty() => {
                    let last = inbox::last_decided(&at)?;
                    each(&last, "undone", &|lock| inbox::undo(lock, &last));
                }
                Decision::Undo { items } => {
                    items.iter().for_each(|id| each(id, "undone", &|lock| inbox::undo(lock, id)));
                }
                Decision::Change { item, change } => each(item, "changed", &|lock| {
                    inbox::change(lock, item, change)?;
                    let now = inbox::one(lock.at, item)?;
                    Ok(Outcome { id: now.id, title: now.title, ..Outcome::default() })
                }),
            }
        }
        self.settle(&at);
        Ok(report)
    }
}

fn numbers(ids: &[String]) -> Result<Vec<PendingNo>> {
    ids.iter().map(|id| pending::parse_id(id)).collect()
}
