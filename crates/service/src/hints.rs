//! Hints that wake the keeper. An event only says that it is worth looking; what is new is decided by the cursors of
//! the import.

use std::collections::HashSet;
use std::path::PathBuf;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};
use std::time::Instant;

/// Maximum number of changed files that are listed; with more, everything is looked at.
const MOST_FILES: usize = 2_000;

/// Hints gathered since the keeper looked last.
#[derive(Default, Debug)]
pub struct Seen {
    /// Session stores that changed, and folders that are new.
    pub files: HashSet<PathBuf>,
    /// Events may have been missed: everything must be looked at.
    pub all: bool,
    /// The ledger was written by some process.
    pub ledger: bool,
    /// A hook left a call in the spool.
    pub spool: bool,
    /// The settings may have changed.
    pub settings: bool,
    /// The home itself, or a folder above a missing one, may have changed.
    pub places: bool,
    /// A client made a request while the process was at rest.
    pub asked: bool,
    /// A pass over due work has ended.
    pub worked: bool,
    /// The process is ending.
    pub stop: bool,
}

impl Seen {
    pub fn is_empty(&self) -> bool {
        self.files.is_empty()
            && !(self.all || self.ledger || self.spool || self.settings || self.places || self.asked)
            && !(self.worked || self.stop)
    }

    /// Adds later hints to these.
    pub fn add(&mut self, more: Seen) {
        self.files.extend(more.files);
        self.all |= more.all;
        self.ledger |= more.ledger;
        self.spool |= more.spool;
        self.settings |= more.settings;
        self.places |= more.places;
        self.asked |= more.asked;
        self.worked |= more.worked;
        self.stop |= more.stop;
        self.bound();
    }

    fn bound(&mut self) {
        if self.files.len() > MOST_FILES {
            self.files.clear();
            self.all = true;
        }
    }
}

/// Place where hints are left and waited for.
#[derive(Default)]
pub struct Hints {
    seen: Mutex<Seen>,
    woken: Condvar,
    /// Number of client requests so far.
    requests: AtomicU64,
    /// 1 while the process is at rest, so that the next request wakes the keeper; 0 otherwise.
    at_rest: AtomicU64,
}

impl Hints {
    /// Leaves a hint and wakes the keeper.
    pub fn leave(&self, hint: impl FnOnce(&mut Seen)) {
        let mut seen = self.lock();
        hint(&mut seen);
        seen.bound();
        let is_something = !seen.is_empty();
        drop(seen);
        if is_something {
            self.woken.notify_one();
        }
    }

    /// Counts a client's request; wakes the keeper if the process is at rest.
    pub fn asked(&self) {
        self.requests.fetch_add(1, Ordering::Relaxed);
        if self.at_rest.swap(0, Ordering::Relaxed) > 0 {
            self.leave(|seen| seen.asked = true);
        }
    }

    /// Returns the number of requests so far.
    pub fn requests(&self) -> u64 {
        self.requests.load(Ordering::Relaxed)
    }

    /// Marks the process as at rest: the next request leaves a hint.
    pub fn rests(&self) {
        self.at_rest.store(1, Ordering::Relaxed);
    }

    /// Waits for a hint until the given time at most, and takes all hints.
    pub fn wait(&self, until: Instant) -> Seen {
        let mut seen = self.lock();
        while seen.is_empty() {
            let left = until.saturating_duration_since(Instant::now());
            if left.is_zero() {
                break;
            }
            seen = self.woken.wait_timeout(seen, left).unwrap_or_else(PoisonError::into_inner).0;
        }
        std::mem::take(&mut seen)
    }

    /// Takes all hints without waiting.
    pub fn take(&self) -> Seen {
        std::mem::take(&mut self.lock())
    }

    fn lock(&self) -> MutexGuard<'_, Seen> {
        self.seen.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::time::Duration;

    #[test]
    fn many_files_are_looked_for_rather_than_listed() {
        let hints = Hints::default();
        for n in 0..MOST_FILES + 1 {
            hints.leave(|seen| {
                seen.files.insert(PathBuf::from(format!("/s/{n}.jsonl")));
            });
        }
        let seen = hints.wait(Instant::now());
        assert!(seen.all && seen.files.is_empty());
        assert!(hints.wait(Instant::now() + Duration::from_millis(5)).is_empty());
    }

    #[test]
    fn a_request_wakes_the_keeper_only_after_a_rest() {
        let hints = Hints::default();
        hints.asked();
        assert!(hints.take().is_empty());
        hints.rests();
        hints.asked();
        assert!(hints.take().asked);
        hints.asked();
        assert!(hints.take().is_empty());
        assert_eq!(hints.requests(), 3);
    }
}
