//! Work for a language model on top of what works without one: reading sessions, checking open loops, judging chunks.
//! Only done if a model is chosen and may be asked (R11.2, R11.3).

use std::time::{Duration, Instant};

use super::Instance;
use crate::clock::Millis;
use crate::error::{Error, Result};
use crate::evolve::model_pass;
use crate::judge;
use crate::ledger::Audit;
use crate::ledger::job_queue::{self, JobKind};
use crate::review::model_matters;

/// How long the model is asked in one pass before other work is done; a question that was begun is finished.
const PATIENCE: Duration = Duration::from_secs(60);

/// Result of asking the model.
#[derive(Clone, Copy, Default, PartialEq, Eq, Debug)]
pub(super) struct Learned {
    /// Number of sessions read, matters found and chunks judged.
    pub made: u64,
    /// Number of findings in sessions; they wait as a job of evolve.
    pub found: u64,
    /// Whether there is more to ask now.
    pub more: bool,
}

impl Instance {
    /// Asks the language model about sessions, open loops and chunks of every agent. Sessions and loops come first,
    /// because without a model their content would be missed. Questions that cannot be asked now are queued.
    pub(super) fn learn(&self, actor: &str) -> Result<Learned> {
        let mut all = Learned::default();
        if self.read_only || self.settings.model.is_none() {
            return Ok(all);
        }
        let (weights, _) = self.settings.judge.as_ref().map_err(Error::from)?;
        let until = Some(Instant::now() + PATIENCE);
        let mut again: Option<Millis> = None;
        for agent in self.agents()? {
            // If the model cannot be loaded, `summarise` has reported that already.
            let Some(Ok(model)) = self.language_model(&agent, actor) else { return Ok(all) };
            let Some(at) = self.assistant_as_it_is(&agent, actor)? else { continue };
            let read = model_pass::run(&at, &model, until)?;
            let matters = model_matters::run(&at, &model, until)?;
            let judged = judge::model::run(&at, &model, weights, until)?;
            all.made += read.read + matters.found + judged.judged;
            all.found += read.found;
            again = again.into_iter().chain(read.next).chain(matters.next).chain(judged.next).min();
        }
        if let Some(at) = again {
            all.more = at <= self.ledger.now();
            self.ledger.write(Audit::new(actor, "job.enqueue"), |tx| {
                job_queue::enqueue(tx, JobKind::Summaries, "learning", "{}", at).map(drop)
            })?;
        }
        Ok(all)
    }
}
