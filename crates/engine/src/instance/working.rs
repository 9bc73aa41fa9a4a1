//! One pass over everything that is due: jobs, summaries, pages, rows of the index, and files left behind by killed
//! processes.

use std::time::{Duration, Instant};

use super::Instance;
use super::asking::Asks;
use super::learning::Learned;
use crate::clock::{Clock, Millis};
use crate::error::Result;
use crate::ledger::Audit;
use crate::ledger::job_queue::{self, JobKind};
use crate::lineage::undistilled;
use crate::report::upkeep::Worked;
use crate::scope::AgentId;
use crate::worker;

/// How long a new embedding model makes vectors in one pass before other jobs run.
const RENEWING: Duration = Duration::from_secs(20);

/// Delay before asking a model again that did not answer, in milliseconds.
const MODEL_RETRY_MS: i64 = 60_000;

impl Instance {
    /// Does everything that is due now.
    pub fn work(&self, agent: &AgentId, actor: &str) -> Result<Worked> {
        self.home.remove_temporaries(Clock::System.now())?;
        for agent in self.agents()? {
            // A tree that cannot be reached or cleaned is no reason not to work.
            if let Ok(Some(at)) = self.assistant_as_it_is(&agent, actor) {
                let _ = at.remove_leftovers(Clock::System.now());
            }
        }
        let mut index = self.index()?;
        // Judging comes first, because importance decides what is embedded and read first.
        self.judge_all(actor)?;
        let mut drained = self.drain(&mut index, actor)?;
        let distilled = self.distil(actor, None)?;
        // The lock is held until everything was asked.
        let asks = self.asks(actor)?;
        let summarised = match &asks {
            Asks::Another => self.leave_to_another(actor)?,
            Asks::We { .. } | Asks::Nobody => self.summarise(actor)?,
        };
        while self.queue_evolve(actor)? {
            let more = self.drain(&mut index, actor)?;
            drained = worker::Drained { done: drained.done + more.done, failed: drained.failed + more.failed, ..more };
            if more.done == 0 {
                break;
            }
        }
        let learned = match &asks {
            Asks::Another => Learned::default(),
            Asks::We { .. } | Asks::Nobody => self.learn(actor)?,
        };
        drop(asks);
        if learned.found > 0 {
            // Findings of the model in sessions wait as an evolve job.
            let more = self.drain(&mut index, actor)?;
            drained = worker::Drained { done: drained.done + more.done, failed: drained.failed + more.failed, ..more };
        }
        if drained.done > 0 {
            // A job may have closed a run; the pages then show it as closed.
            self.settle_conversations(agent, actor);
        }
        // Indexes the nodes that were just made, then the files.
        index.catch_up(&self.ledger, None, &mut |_| {})?;
        self.build_files(&mut index, actor)?;
        let faded = self.fade_all(&mut index, actor)?;
        drop(index);
        let renewing = self.renew(actor)?;
        let (due, next) = self.ledger.read(|tx| undistilled::counts(tx, self.ledger.now(), None))?;
        let failed = distilled.problems.len() as u64;
        Ok(Worked {
            done: drained.done + distilled.sessions - failed
                + summarised.made
                + learned.made
                + faded
                + u64::from(renewing),
            renewing: renewing || summarised.more || learned.more,
            failed: drained.failed + failed,
            later: drained.later + due + u64::from(next.is_some()),
            problems: distilled.problems.into_iter().chain(summarised.problems).collect(),
        })
    }

    /// Lets a new embedding model make vectors for a while. Returns `true` if more is left to do now. The rest is
    /// queued as a job, so that a later worker continues.
    fn renew(&self, actor: &str) -> Result<bool> {
        let Some(left) = self.renew_index(actor, Instant::now() + RENEWING)? else { return Ok(false) };
        let pause = if left.rests { MODEL_RETRY_MS } else { 0 };
        self.ledger.write(Audit::new(actor, "job.enqueue"), |tx| {
            let due = tx.now() + pause;
            job_queue::enqueue(tx, JobKind::Index, "all", "{}", due).map(drop)
        })?;
        Ok(!left.rests)
    }

    /// Returns when the next job or session becomes due; a session without new records is due after ten minutes.
    pub fn next_due(&self) -> Result<Option<Millis>> {
        let now = self.ledger.now();
        self.ledger.read(|tx| {
            let (job, session) = (job_queue::next(tx, now)?, undistilled::counts(tx, now, None)?.1);
            Ok(job.into_iter().chain(session).min())
        })
    }

    /// Releases jobs that this process holds and will not finish.
    pub fn release_jobs(&self, actor: &str) -> Result<()> {
        let owner = super::importing::owner(actor);
        if !self.ledger.read(|tx| job_queue::holds(tx, &owner))? {
            return Ok(());
        }
        self.ledger.write(Audit::new(actor, "job.release"), |tx| {
            let given_back = job_queue::release(tx, &owner)?;
            tx.note("jobs", given_back);
            Ok(())
        })
    }

    /// Returns the number of jobs and sessions that are due.
    pub fn due(&self) -> Result<u64> {
        let now = self.ledger.now();
        self.ledger.read(|tx| Ok(job_queue::counts(tx, now)?.due + undistilled::counts(tx, now, None)?.0))
    }
}
