//! Accepts notices about the user: each becomes a leaf or a value of the profile (R9.5).

use super::supersession;
use crate::clock::parse_rfc3339;
use crate::error::{Error, Result};
use crate::ledger::Read;
use crate::memory::find;
use crate::memory::leaf;
use crate::memory::pending::{self, NoticeKind, Pending, State};
use crate::memory::{Added, NewLeaf, Writing};
use crate::pages::Happened;
use crate::profile;
use crate::scope::PendingNo;
use crate::tree::TreeLock;
use crate::tree::file_table::Entry;
use crate::tree::journal::{Act, Step, hex};
use crate::tree::provenance::{Origin, Provenance};

/// An accepted notice, with the leaf it became.
#[derive(Clone, PartialEq, Debug)]
pub struct Accepted {
    pub pending: Pending,
    /// The leaf; `None` for a value of the profile.
    pub leaf: Option<Added>,
}

/// Accepts notices; all or none.
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
            (_, Some(class)) => {
                let added = writing.add(&NewLeaf {
                    title: Some(pending.title.clone()),
                    confidence: Some(pending.confidence.clamp(0.0, 1.0)),
                    source: Provenance {
                        origin: Origin::Prompt,
                        session: pending.session.clone(),
                        turns: pending.turn.into_iter().collect(),
                        node: None,
                        ..Provenance::default()
                    },
                    verified: true,
                    confirmed: true,
                    ..NewLeaf::new(class, pending.kind.scope(), pending.text.as_str())
                })?;
                Some(supersession::displace(&mut writing, lock.at, &pending.text, &[], added)?)
            }
            (_, None) => None,
        };
        out.push(Accepted { pending, leaf });
    }
    let ids: Vec<String> = out.iter().map(|a| a.pending.id()).collect();
    writing.also(|act| act.tells(&Happened::NoticeChanged).note("notices", ids));
    writing.perform(|tx| {
        for accepted in &mut out {
            let no = accepted.pending.no;
            let result = match (&accepted.leaf, &accepted.pending.kind) {
                (Some(leaf), _) => leaf.id.clone(),
                (None, NoticeKind::Profile { key, value }) => {
                    // The replaced value is kept, so that the yes can be undone.
                    let before = profile::get(tx, agent, key)?.filter(|before| before != value);
                    profile::set_in(tx, agent, key, value, "prompt")?;
                    accepted.pending.replaced.clone_from(&before);
                    format!("profile:{key}{}", before.map(|b| format!("\n{b}")).unwrap_or_default())
                }
                (None, _) => String::new(),
            };
            pending::decide(tx, agent, no, State::Accepted, Some(&result))?;
            accepted.pending.state = State::Accepted;
            accepted.pending.result = result.split('\n').next().map(str::to_owned);
        }
        Ok(())
    })?;
    Ok(out)
}

/// Result of undoing a decision.
#[derive(Clone, PartialEq, Debug)]
pub struct TakenBack {
    pub pending: Pending,
    /// Memories that were removed.
    pub removed: Vec<String>,
    /// Superseded memories that are current again.
    pub restored: Vec<String>,
}

/// Maximum difference in milliseconds between the time of a memory and the time of the decision that made it.
const APART_MS: i64 = 5_000;

/// Undoes a decision about a notice: it waits again. The memory made from it is removed, and the memories it superseded
/// are current again; a profile value gets its earlier value. Refused if the memory or the value was changed since.
pub fn undo(lock: &TreeLock, no: PendingNo) -> Result<TakenBack> {
    let agent = lock.at.agent_no;
    let pending = lock.at.read(|tx| pending::find(tx, agent, no))?;
    if pending.state == State::Pending {
        return Err(Error::refused(format!("u:{no} waits; there is nothing to take back")).hint("see ⟨review⟩"));
    }
    let mut act = Act::new("memory.undo").tells(&Happened::NoticeChanged).note("notices", vec![pending.id()]);
    let (mut removed, mut restored) = (Vec::new(), Vec::new());
    let made = pending.result.as_deref().filter(|r| r.starts_with("m:") && pending.state == State::Accepted);
    if let Some(id) = made
        && let Ok(entry) = lock.at.read(|tx| named(tx, lock, id))
        && is_of(&entry, &pending)
    {
        let text = leaf::text_of(&leaf::read(lock.at, &entry.path)?);
        if entry.by_hand() || text != pending.text.trim() || leaf::superseded_by(&entry).is_some() {
            return Err(Error::refused(format!("{id} was changed since it was made"))
                .hint("nothing was undone; change or forget the memory itself: ⟨memory edit⟩, ⟨memory forget⟩"));
        }
        act = leaf::scope_of(&entry).shown(act);
        act = act.step(Step::Remove { path: entry.path.as_str().into(), digest: hex(&entry.digest) });
        (act, restored) = supersession::restoring(lock, id, act)?;
        removed.push(id.to_owned());
    }
    let value = match &pending.kind {
        NoticeKind::Profile { key, value } if pending.state == State::Accepted => Some((key.clone(), value.clone())),
        _ => None,
    };
    let before = pending.replaced.clone();
    lock.perform(act, |tx| {
        if let Some((key, value)) = &value
            && !profile::restore_in(tx, agent, key, value, before.as_deref())?
        {
            return Err(Error::refused(format!("{key} was changed in the profile since"))
                .hint("nothing was undone; set it yourself: ⟨profile set⟩"));
        }
        pending::reopen(tx, agent, no)
    })?;
    Ok(TakenBack { pending: lock.at.read(|tx| pending::find(tx, agent, no))?, removed, restored })
}

fn named(tx: &Read, lock: &TreeLock, id: &str) -> Result<Entry> {
    find::named(tx, lock.at.agent_no, id, None)
}

/// Whether a memory was made from this notice, rather than known before.
fn is_of(entry: &Entry, pending: &Pending) -> bool {
    let observed = entry.field("observed").and_then(parse_rfc3339);
    let near = |at: i64| observed.is_some_and(|o| (o - at).abs() <= APART_MS);
    let origin = Provenance::from_value(entry.fields.get("source")).origin;
    origin == Origin::Prompt && pending.decided_at.is_some_and(near)
}
