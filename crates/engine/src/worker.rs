//! Queued work, done by whoever gets to it. Storey 4 (R11.1).
//!
//! Nothing sleeps here: [`drain`] runs what is due and returns. `heirloom work` calls it; hooks and commands never need
//! it to be running. A job is claimed with a lease, run outside any transaction and marked done in one; a worker that
//! dies loses its lease and the next one takes over, so every kind must be harmless to repeat.

use crate::error::Result;
use crate::head;
use crate::index::Index;
use crate::ledger::jobs::{self, Job, JobKind};
use crate::ledger::{Audit, Ledger};
use crate::transcript;

/// When to look again at an index somebody else is writing.
const AGAIN_MS: i64 = 2000;

/// What a drain did.
#[derive(Clone, Copy, Default, PartialEq, Eq, Debug)]
pub struct Drained {
    pub done: u64,
    pub failed: u64,
    /// Not due yet.
    pub later: u64,
}

/// Runs every job that is due. `owner` names this worker in the leases.
pub fn drain(ledger: &Ledger, index: &mut Index, owner: &str) -> Result<Drained> {
    let mut drained = Drained::default();
    // Looking first keeps an empty queue from costing a write.
    while ledger.read(|tx| jobs::counts(tx, ledger.now()))?.due > 0 || has_expired(ledger)? {
        let claimed = ledger.write(Audit::new(owner, "job.claim"), |tx| {
            let job = jobs::claim(tx, owner)?;
            if let Some(job) = &job {
                tx.note("job", job.no);
                tx.note("kind", job.kind.name());
            }
            Ok(job)
        })?;
        let Some(job) = claimed else { break };
        match run(ledger, index, &job, owner) {
            Ok(()) => drained.done += 1,
            Err(e) => {
                drained.failed += 1;
                ledger.write(Audit::new(owner, "job.fail"), |tx| {
                    tx.note("job", job.no);
                    tx.note("error", e.to_string());
                    jobs::fail(tx, &job, owner, &e.to_string())
                })?;
            }
        }
    }
    drained.later = ledger.read(|tx| jobs::counts(tx, ledger.now()))?.later;
    Ok(drained)
}

fn run(ledger: &Ledger, index: &mut Index, job: &Job, owner: &str) -> Result<()> {
    match job.kind {
        JobKind::Index => {
            index.catch_up(ledger, None, &mut |_| {})?;
            ledger.write(Audit::new(owner, "job.done"), |tx| {
                tx.note("job", job.no);
                jobs::complete(tx, job, owner)?;
                // What came in meanwhile could not be queued beside this job.
                if index.coverage(tx)?.missing > 0 {
                    jobs::enqueue(tx, JobKind::Index, "all", "{}", tx.now() + AGAIN_MS)?;
                }
                Ok(())
            })
        }
        // State and completion in one transaction: done exactly once.
        JobKind::CloseIdle => ledger.write(Audit::new(owner, "run.close_idle"), |tx| {
            let closed = transcript::close_idle(tx)?;
            head::continuity::mark_closed(tx, &closed.sessions)?;
            jobs::complete(tx, job, owner)?;
            if let Some(at) = closed.next {
                jobs::enqueue(tx, JobKind::CloseIdle, "all", "{}", at)?;
            }
            tx.note("job", job.no);
            Ok(())
        }),
    }
}

fn has_expired(ledger: &Ledger) -> Result<bool> {
    ledger.read(|tx| {
        Ok(tx
            .prepare_cached("SELECT 1 FROM jobs WHERE state = 'running' AND lease_until < ?1 LIMIT 1")?
            .exists([ledger.now()])?)
    })
}
