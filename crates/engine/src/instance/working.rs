//! Everything that is due, once: jobs, summaries, pages, rows of the index, and what killed processes left behind.

use super::Instance;
use crate::clock::{Clock, Millis};
use crate::error::Result;
use crate::ledger::jobs;
use crate::lineage::marks;
use crate::report::upkeep::Worked;
use crate::scope::AgentId;

impl Instance {
    /// Does what is due now.
    pub fn work(&self, agent: &AgentId, actor: &str) -> Result<Worked> {
        self.home.remove_temporaries(Clock::System.now())?;
        let mut index = self.index()?;
        let drained = self.drain(&mut index, actor)?;
        let distilled = self.distil(actor, None)?;
        if drained.done > 0 {
            // A run that was closed is shown as such.
            self.settle_conversations(agent, actor);
        }
        // Nodes that were just made, then files.
        index.catch_up(&self.ledger, None, &mut |_| {})?;
        self.build_files(&mut index, actor)?;
        let (due, next) = self.ledger.read(|tx| marks::counts(tx, self.ledger.now(), None))?;
        let failed = distilled.problems.len() as u64;
        Ok(Worked {
            done: drained.done + distilled.sessions - failed,
            failed: drained.failed + failed,
            later: drained.later + due + u64::from(next.is_some()),
            problems: distilled.problems,
        })
    }

    /// When the next job or session that is not due yet becomes due: a session that simply stopped, ten minutes later.
    pub fn next_due(&self) -> Result<Option<Millis>> {
        let now = self.ledger.now();
        self.ledger.read(|tx| {
            let (job, session) = (jobs::next(tx, now)?, marks::counts(tx, now, None)?.1);
            Ok(job.into_iter().chain(session).min())
        })
    }

    /// How many jobs and sessions are due.
    pub fn due(&self) -> Result<u64> {
        let now = self.ledger.now();
        self.ledger.read(|tx| Ok(jobs::counts(tx, now)?.due + marks::counts(tx, now, None)?.0))
    }
}
