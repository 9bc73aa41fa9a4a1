//! Leases on heads, which decide who may write one: a state machine without a clock or storage of its own (R7.4).
//! Storey 1.
//!
//! A lease keeps two writers from working at the same time; it does not prevent lost updates. The *epoch*, which grows
//! with every grant, and the *base revision* prevent these. Both are compared at commit: a writer whose lease expired
//! finds another epoch, a writer who read an older revision finds another base, and either is refused. Times are those
//! of the boot clock, so that setting the wall clock does not move a lease.
//!
//! The caller runs these functions inside one transaction, which reads and stores the state.

use std::fmt;

use crate::clock::{Boot, Millis};

/// The default duration of a lease, in milliseconds.
pub const TTL: Millis = 10_000;

/// The longest lease that can be requested, in milliseconds.
pub const LONGEST_TTL: Millis = 60_000;

/// The lease state of a head that several writers share.
#[derive(Clone, Default, PartialEq, Eq, Debug)]
pub struct HeadState {
    /// The newest committed revision; 0 if there is none.
    pub revision: i64,
    /// The fencing token of the newest grant; never decreases.
    pub epoch: i64,
    pub lease: Option<Lease>,
}

/// A grant that was not released. It may have expired.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Lease {
    pub owner: String,
    /// Id of the boot it was granted in. After a reboot the lease has expired.
    pub boot: String,
    /// Time at which it expires, on the clock of that boot.
    pub until: Millis,
}

/// The right to commit, until another owner is granted the head or the lease expires.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Grant {
    pub epoch: i64,
    pub base_revision: i64,
    pub until: Millis,
}

/// Another owner holds the head.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Held {
    pub by: String,
    /// Time at which that lease expires, on the clock of this boot.
    pub until: Millis,
}

/// The reason why a commit was refused. Nothing was changed.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Refused {
    /// Another grant was made since, and its lease is over.
    StaleEpoch { current: i64 },
    /// The head's revision is not the one this commit is based on.
    StaleBase { current: i64 },
    /// The lease expired or was released, and no other was granted since.
    Expired,
    /// Another owner holds the head.
    Held(Held),
}

impl fmt::Display for Refused {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Refused::StaleEpoch { current } => write!(f, "it was granted to somebody else since (epoch {current})"),
            Refused::StaleBase { current } => write!(f, "it has revision {current} by now"),
            Refused::Expired => f.write_str("the lease ran out or was given back"),
            Refused::Held(held) => write!(f, "{} is at work on it", held.by),
        }
    }
}

/// Returns the lease in force, if any: granted in this boot and not expired. A lease that would last longer than any
/// grant was made by another clock (a restored machine, a container) and counts as expired.
pub fn live<'s>(state: &'s HeadState, now: &Boot) -> Option<&'s Lease> {
    let longest = now.ms.saturating_add(LONGEST_TTL);
    state.lease.as_ref().filter(|lease| lease.boot == now.id && now.ms < lease.until && lease.until <= longest)
}

/// Returns the lease in force, if its owner is not `owner`.
pub fn held_by_another(state: &HeadState, owner: &str, now: &Boot) -> Option<Held> {
    live(state, now).filter(|l| l.owner != owner).map(|l| Held { by: l.owner.clone(), until: l.until })
}

/// Grants the head to `owner` for `ttl` milliseconds ([`LONGEST_TTL`] at most). Every grant increments the epoch; an
/// owner who acquires again fences off their own earlier grant.
pub fn acquire(state: &mut HeadState, owner: &str, now: &Boot, ttl: Millis) -> Result<Grant, Held> {
    if let Some(held) = held_by_another(state, owner, now) {
        return Err(held);
    }
    let until = now.ms.saturating_add(ttl.clamp(1, LONGEST_TTL));
    state.epoch += 1;
    state.lease = Some(Lease { owner: owner.to_owned(), boot: now.id.clone(), until });
    Ok(Grant { epoch: state.epoch, base_revision: state.revision, until })
}

/// Commits and returns the next revision, if `epoch` is the newest grant, belongs to `owner` and has not expired, and
/// the head is still at the revision the commit is based on. The lease stays in force until [`release`].
pub fn commit(state: &mut HeadState, epoch: i64, base_revision: i64, owner: &str, now: &Boot) -> Result<i64, Refused> {
    if let Some(held) = held_by_another(state, owner, now) {
        return Err(Refused::Held(held));
    }
    if epoch != state.epoch {
        return Err(Refused::StaleEpoch { current: state.epoch });
    }
    if live(state, now).is_none() {
        return Err(Refused::Expired);
    }
    if base_revision != state.revision {
        return Err(Refused::StaleBase { current: state.revision });
    }
    state.revision += 1;
    Ok(state.revision)
}

/// Releases the head. Returns whether there was a lease to release; a grant that is not the newest has none.
pub fn release(state: &mut HeadState, epoch: i64, owner: &str) -> bool {
    let ours = state.epoch == epoch && state.lease.as_ref().is_some_and(|l| l.owner == owner);
    if ours {
        state.lease = None;
    }
    ours
}

/// Whether a revision may be published into the file: only the newest one may, whichever owner committed it. Checked
/// while holding the file's lock, so that a delayed publisher cannot overwrite a newer revision with an older one.
pub fn may_publish(state: &HeadState, revision: i64) -> bool {
    revision == state.revision
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(ms: Millis) -> Boot {
        Boot { id: "b1".into(), ms }
    }

    #[test]
    fn a_grant_is_exclusive_until_it_runs_out_or_is_given_back() {
        let mut state = HeadState::default();
        let ann = acquire(&mut state, "ann", &at(0), 100).unwrap();
        assert_eq!((ann.epoch, ann.base_revision, ann.until), (1, 0, 100));
        assert_eq!(acquire(&mut state, "bob", &at(99), 100), Err(Held { by: "ann".into(), until: 100 }));
        let bob = acquire(&mut state, "bob", &at(100), 100).unwrap();
        assert_eq!(bob.epoch, 2);
        assert!(!release(&mut state, ann.epoch, "ann"), "hers ran out");
        assert!(!release(&mut state, bob.epoch, "ann"), "his is not hers");
        assert!(release(&mut state, bob.epoch, "bob") && !release(&mut state, bob.epoch, "bob"));
        assert_eq!(acquire(&mut state, "ann", &at(101), 100).unwrap().epoch, 3);
    }

    #[test]
    fn whoever_slept_through_their_lease_is_refused_and_told_why() {
        let mut state = HeadState::default();
        let ann = acquire(&mut state, "ann", &at(0), 100).unwrap();
        assert_eq!(commit(&mut state, ann.epoch, 0, "ann", &at(100)), Err(Refused::Expired));
        let bob = acquire(&mut state, "bob", &at(150), 100).unwrap();
        let held = Held { by: "bob".into(), until: 250 };
        assert_eq!(commit(&mut state, ann.epoch, 0, "ann", &at(160)), Err(Refused::Held(held)));
        assert_eq!(commit(&mut state, bob.epoch, 0, "bob", &at(160)), Ok(1));
        assert_eq!(commit(&mut state, bob.epoch, 0, "bob", &at(161)), Err(Refused::StaleBase { current: 1 }));
        assert_eq!(commit(&mut state, bob.epoch, 1, "bob", &at(162)), Ok(2));
        assert!(release(&mut state, bob.epoch, "bob"));
        assert_eq!(commit(&mut state, ann.epoch, 0, "ann", &at(170)), Err(Refused::StaleEpoch { current: 2 }));
        assert_eq!(commit(&mut state, bob.epoch, 2, "bob", &at(170)), Err(Refused::Expired), "given back");
        assert_eq!(state.revision, 2, "refusals change nothing");
        assert!(may_publish(&state, 2) && !may_publish(&state, 1));
    }

    #[test]
    fn an_owner_fences_their_older_self() {
        let mut state = HeadState::default();
        let old = acquire(&mut state, "ann", &at(0), 100).unwrap();
        let new = acquire(&mut state, "ann", &at(1), 100).unwrap();
        assert_eq!(commit(&mut state, old.epoch, 0, "ann", &at(2)), Err(Refused::StaleEpoch { current: new.epoch }));
        assert_eq!(commit(&mut state, new.epoch, 0, "ann", &at(2)), Ok(1));
    }

    #[test]
    fn a_lease_of_another_boot_has_run_out_whatever_its_clock_says() {
        let mut state = HeadState::default();
        acquire(&mut state, "ann", &at(1_000_000), 60_000).unwrap();
        let rebooted = Boot { id: "b2".into(), ms: 5 };
        assert_eq!(live(&state, &rebooted), None);
        assert_eq!(acquire(&mut state, "bob", &rebooted, 100).unwrap().epoch, 2);
        assert_eq!(commit(&mut state, 1, 0, "ann", &rebooted).unwrap_err().to_string(), "bob is at work on it");
    }

    #[test]
    fn a_lease_of_a_clock_that_was_ahead_has_run_out() {
        let mut state = HeadState::default();
        acquire(&mut state, "ann", &at(86_400_000), LONGEST_TTL).unwrap();
        assert_eq!(live(&state, &at(5)), None);
        assert_eq!(acquire(&mut state, "bob", &at(5), 100).unwrap().epoch, 2);
        assert_eq!(acquire(&mut state, "ann", &at(6), 100).unwrap_err().by, "bob");
    }

    #[test]
    fn no_lease_is_longer_than_the_longest() {
        let mut state = HeadState::default();
        assert_eq!(acquire(&mut state, "ann", &at(0), i64::MAX).unwrap().until, LONGEST_TTL);
        assert_eq!(acquire(&mut state, "ann", &at(i64::MAX - 1), 10).unwrap().until, i64::MAX);
    }
}
