//! Summaries of stored sessions, made within the time a verb may wait for them.

use std::time::{Duration, Instant};

use super::Instance;
use super::listener::{Progress, Task};
use crate::distill::advance::Advanced;
use crate::error::{Error, Result};
use crate::lineage::undistilled;
use crate::render::Occasion;
use crate::worker::{self, Distilled};

impl Instance {
    /// Summarises every session that is due, of every agent, for at most `patience` (`None`: all of them, with
    /// progress), and renders the pages that show the summaries. Sessions not reached stay due.
    pub fn distil(&self, actor: &str, patience: Option<Duration>) -> Result<Distilled> {
        let mut all = Distilled::default();
        if self.read_only {
            return Ok(all);
        }
        let limits = self.settings.limits.as_ref().map_err(Error::from)?;
        let until = patience.map(|p| Instant::now() + p);
        for agent in self.agents()? {
            let Some(agent_no) = self.agent_no(&agent)? else { continue };
            let due = self.ledger.read(|tx| undistilled::counts(tx, self.ledger.now(), Some(agent_no)))?.0;
            if due == 0 {
                continue;
            }
            let at = self.assistant(&agent, actor)?;
            let shown = patience.is_none();
            if shown {
                self.listener.progress(Progress::Begin(Task::Distilling, due));
            }
            let mut done = |n| {
                if shown {
                    self.listener.progress(Progress::Done(n));
                }
            };
            let done = worker::distil(&at, *limits, until, &mut done);
            if shown {
                self.listener.progress(Progress::End);
            }
            let done = done?;
            if done.made != Advanced::default() {
                self.render(&at, Occasion::Look);
            }
            all.sessions += done.sessions;
            all.made.add(&done.made);
            all.left += done.left;
            all.problems.extend(done.problems);
        }
        Ok(all)
    }
}
