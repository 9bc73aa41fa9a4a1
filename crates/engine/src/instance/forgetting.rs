//! Forgetting turns: plan, ask the person, remove everywhere.

use super::Instance;
use super::listener::{Notice, Progress, Task};
use crate::error::{Error, ErrorKind, Result};
use crate::forget::{self, Plan, Request, Wish};
use crate::report::forget::ForgetReport;
use crate::scope::AgentId;
use crate::tree::AssistantHome;
use crate::verify;

/// Number of times a plan is made again because something was stored or forgotten in the meantime.
const ATTEMPTS: usize = 8;

impl Instance {
    /// Plans what to remove, with progress, and, if `agree` accepts the plan, removes it from the ledger, files, index,
    /// logs and backups. Other agents that have the same are named and not changed. `agree` is not called if there is nothing to forget. The spool of the hooks is stored first,
    /// because the turns to forget may be in it.
    ///
    /// Errors as [`forget::plan`]; `Busy` if conversations keep coming in, in which case nothing was forgotten.
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
        // Locking reads hand edits first: whether a person edited a file decides whether the file is removed.
        drop(at.lock()?);
        let mut plan = self.plan_to_forget(&at, &wish)?;
        let others = self.others_with(agent, actor, &wish)?;
        plan.preview.other_agents.clone_from(&others);
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
                Err(e) if e.kind() == ErrorKind::Busy => {
                    plan = self.plan_to_forget(&at, &wish)?;
                    plan.preview.other_agents.clone_from(&others);
                }
                Err(e) => return Err(e),
            }
        }
        Err(Error::new(ErrorKind::Busy, "conversations keep coming in; nothing was forgotten")
            .hint("run it again when the import has finished"))
    }

    /// Returns the ids of the other agents that have what is to be forgotten. Sessions, turns and threads are of one agent
    /// by themselves.
    fn others_with(&self, agent: &AgentId, actor: &str, wish: &Wish) -> Result<Vec<String>> {
        let mut all = Vec::new();
        if !matches!(wish, Wish::Match { .. } | Wish::Person(_) | Wish::Project(_)) {
            return Ok(all);
        }
        let global_ids = |program: &str| self.program(program).is_some_and(|p| p.global_ids());
        let request = Request { wish: wish.clone(), global_ids: &global_ids };
        for other in self.agents()?.into_iter().filter(|other| other != agent) {
            let Some(at) = self.assistant_as_it_is(&other, actor)? else { continue };
            match forget::plan(&at, &request, &mut |_| {}) {
                Ok(plan) if plan.is_of(&at) => all.push(other.to_string()),
                Ok(_) => {}
                Err(e) if e.kind() == ErrorKind::NotFound => {}
                Err(e) => return Err(e),
            }
        }
        Ok(all)
    }

    fn plan_to_forget(&self, at: &AssistantHome, wish: &Wish) -> Result<Plan> {
        let global_ids = |program: &str| self.program(program).is_some_and(|p| p.global_ids());
        let request = Request { wish: wish.clone(), global_ids: &global_ids };
        // Planning reads every record twice, so the total is doubled.
        self.listener.progress(Progress::Begin(Task::Looking, verify::bytes_to_check(&self.ledger)? * 2));
        let plan = forget::plan(at, &request, &mut |bytes| self.listener.progress(Progress::Done(bytes)));
        self.listener.progress(Progress::End);
        plan
    }
}
