//! Forgetting what was said: planned, agreed to, carried out everywhere.

use super::Instance;
use super::listener::{Notice, Progress, Task};
use crate::error::{Error, ErrorKind, Result};
use crate::forget::{self, Plan, Request, Wish};
use crate::report::forget::ForgetReport;
use crate::scope::AgentId;
use crate::tree::AssistantHome;
use crate::verify;

/// How often it is planned again where something is stored or forgotten meanwhile.
const ATTEMPTS: usize = 8;

impl Instance {
    /// Finds what has to go, with progress, and forgets it if `agree` says yes to it: out of ledger, files, index, logs
    /// and backups. `agree` is not asked where there is nothing to forget. What hooks left in the spool is stored first:
    /// it may be what is meant.
    ///
    /// Errors as [`forget::plan`]; `Busy` where conversations keep coming in, and nothing was forgotten.
    pub fn forget(
        &self,
        agent: &AgentId,
        actor: &str,
        wish: Wish,
        agree: impl FnOnce(&ForgetReport) -> Result<bool>,
    ) -> Result<ForgetReport> {
        let agent_no = self.known_agent(agent)?;
        let at = self.assistant(agent, actor)?;
        if let Err(e) = self.drain_spool() {
            self.listener.notice(&Notice::SpoolLeft(&e));
        }
        // Edits by hand are taken in first: whether a person wrote in a file decides whether it goes.
        drop(at.lock()?);
        let mut plan = self.plan_to_forget(&at, &wish)?;
        let preview = ForgetReport::from(&plan);
        if preview.is_nothing || !agree(&preview)? {
            return Ok(preview);
        }
        for _ in 0..ATTEMPTS {
            let lock = at.lock()?;
            let carried_out = forget::carry_out(&lock, &plan);
            drop(lock);
            match carried_out {
                Ok(saved_meanwhile) => {
                    self.finish_forgetting(agent_no, false)?;
                    self.settle(&at);
                    return Ok(ForgetReport { forgotten: true, saved_meanwhile, ..ForgetReport::from(&plan) });
                }
                Err(e) if e.kind() == ErrorKind::Busy => plan = self.plan_to_forget(&at, &wish)?,
                Err(e) => return Err(e),
            }
        }
        Err(Error::new(ErrorKind::Busy, "conversations keep coming in; nothing was forgotten")
            .hint("run it again when the import has finished"))
    }

    fn plan_to_forget(&self, at: &AssistantHome, wish: &Wish) -> Result<Plan> {
        let global_ids = |program: &str| self.program(program).is_some_and(|p| p.global_ids());
        let request = Request { wish: wish.clone(), global_ids: &global_ids };
        // Records are read twice.
        self.listener.progress(Progress::Begin(Task::Looking, verify::bytes_to_check(&self.ledger)? * 2));
        let plan = forget::plan(at, &request, &mut |bytes| self.listener.progress(Progress::Done(bytes)));
        self.listener.progress(Progress::End);
        plan
    }
}
