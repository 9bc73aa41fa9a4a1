//! Accepts observations about the user: each becomes a leaf or a value of the profile (R9.5).

use crate::error::Result;
use crate::memory::pending::{self, NoticeKind, Pending, State};
use crate::memory::{Added, NewLeaf, Writing};
use crate::pages::Happened;
use crate::profile;
use crate::scope::PendingNo;
use crate::tree::TreeLock;
use crate::tree::provenance::{Origin, Provenance};

/// An accepted observation and what it became.
#[derive(Clone, PartialEq, Debug)]
pub struct Accepted {
    pub pending: Pending,
    /// `None` for a value of the profile.
    pub leaf: Option<Added>,
}

/// Accepts observations; all or none.
pub fn accept(lock: &TreeLock, numbers: &[PendingNo]) -> Result<Vec<Accepted>> {
    let agent = lock.at.agent_no;
    let mut writing = Writing::new(lock, "memory.accept");
    let mut out: Vec<Accepted> = Vec::new();
    for no in numbers {
        if out.iter().any(|a| a.pending.no == *no) {
            continue;
        }
        let pending = lock.at.read(|tx| pending::waiting(tx, agent, *no))?;
        let leaf = match (&pending.kind, pending.kind.class()) {
            (NoticeKind::Profile { key, value }, _) => {
                profile::sound_key(key)?;
                profile::sound_value(key, value)?;
                None
            }
            (_, Some(class)) => Some(writing.add(&NewLeaf {
                title: Some(pending.title.clone()),
                confidence: Some(pending.confidence.clamp(0.0, 1.0)),
                source: Provenance {
                    origin: Origin::Prompt,
                    session: pending.session.clone(),
                    turns: pending.turn.into_iter().collect(),
                    node: None,
                },
                verified: true,
                confirmed: true,
                ..NewLeaf::new(class, pending.kind.scope(), pending.text.as_str())
            })?),
            (_, None) => None,
        };
        out.push(Accepted { pending, leaf });
    }
    writing.also(|act| act.tells(&Happened::NoticeChanged));
    writing.perform(|tx| {
        for accepted in &mut out {
            let no = accepted.pending.no;
            let result = match (&accepted.leaf, &accepted.pending.kind) {
                (Some(leaf), _) => leaf.id.clone(),
                (None, NoticeKind::Profile { key, value }) => {
                    profile::set_in(tx, agent, key, value, "prompt")?;
                    format!("profile:{key}")
                }
                (None, _) => String::new(),
            };
            pending::decide(tx, agent, no, State::Accepted, Some(&result))?;
            accepted.pending.state = State::Accepted;
            accepted.pending.result = Some(result);
        }
        Ok(())
    })?;
    Ok(out)
}
