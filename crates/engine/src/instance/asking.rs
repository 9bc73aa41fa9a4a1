//! Lets one process at a time ask the language model, and brings back questions that were given up.

use std::path::Path;

use super::Instance;
use super::summarising::Summarised;
use crate::clock::Millis;
use crate::error::{Error, ErrorKind, Problem, Result};
use crate::evolve::model_pass as reading;
use crate::home::HomeLock;
use crate::judge::model as judging;
use crate::ledger::job_queue::{self, JobKind};
use crate::ledger::{Audit, Read, model_calls};
use crate::lineage::model_summary;
use crate::review::model_matters;
use crate::scope::AgentNo;

/// Name of the lock of the process that asks the language model. Its answers are stored one by one, so a second process
/// that asked at the same time would pay for the same answers again.
pub const LOCK: &str = "model";

/// Delay before a process looks again that found another one asking, in milliseconds.
const RETRY_MS: Millis = 60_000;

/// The process that asks the language model now.
pub(super) enum Asks {
    /// This one, until the lock is dropped.
    We {
        _lock: HomeLock,
    },
    Another,
    /// None is chosen, or nothing can be stored.
    Nobody,
}

impl Instance {
    /// Takes the lock on questions to the language model, if one is chosen. With other settings than before, it is asked
    /// again about what was given up.
    pub(super) fn asks(&self, actor: &str) -> Result<Asks> {
        let Some(model) = self.settings.model.as_ref().filter(|_| !self.read_only) else { return Ok(Asks::Nobody) };
        let Some(lock) = self.home.try_lock(LOCK)? else { return Ok(Asks::Another) };
        if self.ledger.read(|tx| model_calls::newest(tx, &model.digest, 1))?.is_empty() {
            self.ask_again(actor)?;
        }
        Ok(Asks::We { _lock: lock })
    }

    /// Leaves the questions that wait to the process that is asking, and says so.
    pub(super) fn leave_to_another(&self, actor: &str) -> Result<Summarised> {
        let now = self.ledger.now();
        let mut waits = false;
        for agent in self.agents()? {
            let Some(no) = self.agent_no(&agent)? else { continue };
            waits |= self.ledger.read(|tx| {
                let summaries = model_summary::due(tx, no, 1)?.len() as u64;
                Ok(summaries + reading::waiting(tx, no, now)? + judging::waiting(tx, no, now)? > 0)
            })?;
        }
        if !waits {
            return Ok(Summarised::default());
        }
        // The other process may have looked before the newest work came: this job asks about it a minute later.
        self.ledger.write(Audit::new(actor, "job.enqueue"), |tx| {
            job_queue::enqueue(tx, JobKind::Summaries, "all", "{}", now + RETRY_MS).map(drop)
        })?;
        let error = Error::new(ErrorKind::Busy, "another process is asking the language model")
            .hint("the rest of the work is done without it");
        Ok(Summarised { problems: vec![Problem::of(Path::new("model"), &error)], ..Summarised::default() })
    }

    /// Lets the language model be asked again about what was given up, because it is another one now or answers again.
    pub(super) fn ask_again(&self, actor: &str) -> Result<()> {
        let now = self.ledger.now();
        for agent in self.agents()? {
            let Some(no) = self.agent_no(&agent)? else { continue };
            if self.read_only || self.ledger.read(|tx| given_up(tx, no, now))? == 0 {
                continue;
            }
            self.ledger.write(Audit::new(actor, "model.ask-again"), |tx| {
                model_summary::ask_again(tx, no)?;
                reading::ask_again(tx, no)?;
                judging::ask_again(tx, no)?;
                model_matters::ask_again(tx, no)?;
                job_queue::enqueue(tx, JobKind::Summaries, "all", "{}", now).map(drop)
            })?;
        }
        Ok(())
    }
}

/// Returns the number of summaries, sessions and chunks the language model is not asked about any more.
pub(super) fn given_up(tx: &Read, agent_no: AgentNo, now: Millis) -> Result<u64> {
    Ok(model_summary::given_up(tx, agent_no)?
        + reading::given_up(tx, agent_no, now)?
        + judging::given_up(tx, agent_no, now)?)
}
