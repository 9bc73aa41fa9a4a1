//! Calls of a program's hooks: answered at once, or stored later from the spool (R12.5).

use std::time::{Duration, Instant};

use super::Instance;
use crate::capture::Capture;
use crate::error::{Error, ErrorKind, Result};
use crate::event::Moment;
use crate::home::{RelPath, layout};
use crate::index::Index;
use crate::lifecycle::{self, HookOutcome};
use crate::program::HookCall;
use crate::scope::AgentId;
use crate::spool::{self, Spooled};
use crate::tree::AssistantHome;

/// How long opening a home stores calls from the spool before it goes on; the next opening stores the rest.
const PATIENCE: Duration = Duration::from_secs(2);

impl Instance {
    /// Handles a hook's call in one transaction and returns what the program is given. `agent`: the agent to use if the
    /// program names none. `Busy` if the agent has no home to store the call in yet; the caller then writes the call to
    /// the spool.
    pub fn hook(&self, agent: &AgentId, call: &HookCall, actor: &str) -> Result<HookOutcome> {
        let agent = agent_of(agent, call);
        let missing = || Error::new(ErrorKind::Busy, format!("nothing is stored for the agent {agent} yet"));
        let at = self.assistant_as_it_is(&agent, actor)?.ok_or_else(missing)?;
        // Only a prompt needs recalled items, and so the index.
        let recalls = call.gives && matches!(call.event.moment, Moment::Prompt { .. });
        // A process that stays open (the service) keeps indexes open too. With any model but the built-in one it uses
        // the index as a hook does, because that never waits for a model.
        if recalls && self.ledger.stays() && self.settings.embeddings.for_hooks {
            let mut index = self.index().ok();
            return self.handle(&at, index.as_deref_mut(), call);
        }
        let mut index = if recalls { self.index_for_hook()? } else { None };
        self.handle(&at, index.as_mut(), call)
    }

    fn handle(&self, at: &AssistantHome, index: Option<&mut Index>, call: &HookCall) -> Result<HookOutcome> {
        let program = self
            .program(call.program)
            .ok_or_else(|| Error::usage(format!("this build does not know {}", call.program)))?;
        let user_home = self.settings.user_home.as_deref();
        let scratch = self.home.root().join(layout::SCRATCH.as_str());
        let mut capture = Capture::new(&self.ledger, None, &at.actor, &scratch, user_home)?;
        lifecycle::handle(at, &mut capture, index, program, call, user_home)
    }

    /// Stores the calls that hooks left in the spool. A call that cannot be stored, or that only another build
    /// understands, stays in the spool; an unreadable one is moved aside. Returns the number of calls stored.
    pub fn drain_spool(&self) -> Result<u64> {
        let mut stored = 0;
        // The time runs from the first stored call on, because another process may have held up the first one.
        let mut began: Option<Instant> = None;
        spool::adopt(&self.home)?;
        loop {
            if spool::names(&self.home)?.is_empty() {
                return Ok(stored);
            }
            // Storing a call twice is harmless but wasteful, so only one process drains the spool.
            let Some(lock) = self.home.try_lock("spool")? else { return Ok(stored) };
            let before = stored;
            for name in spool::names(&self.home)? {
                if began.is_some_and(|began| began.elapsed() > PATIENCE) {
                    return Ok(stored);
                }
                stored += u64::from(self.unspool(&name)?);
                began.get_or_insert_with(Instant::now);
            }
            drop(lock);
            // A hook that ran meanwhile may have left another call, so the loop looks again. If a round stored nothing,
            // the rest is for another build.
            if stored == before {
                return Ok(stored);
            }
        }
    }

    /// Stores one call of the spool and removes it. Returns `false` if the call is gone, belongs to another build or
    /// was moved aside as unreadable.
    fn unspool(&self, name: &RelPath) -> Result<bool> {
        let Some(Spooled { harness, event, at, id, payload }) = spool::read(&self.home, name)? else {
            return Ok(false);
        };
        let Some(program) = self.program(&harness) else { return Ok(false) };
        let call = match program.hook_call(&event, payload, at) {
            Ok(Some(call)) => HookCall { gives: false, id, ..call },
            Err(crate::program::HookError::UnknownEvent) => return Ok(false),
            Ok(None) | Err(crate::program::HookError::Unreadable(_)) => {
                spool::set_aside(&self.home, name)?;
                return Ok(false);
            }
        };
        let assistant = self.assistant(&agent_of(&self.settings.agent, &call), &format!("spool {harness}"))?;
        self.handle(&assistant, None, &call)?;
        spool::remove(&self.home, name)?;
        Ok(true)
    }
}

/// Returns the agent of a call: the one the program names, else the default agent (D3).
fn agent_of(default: &AgentId, call: &HookCall) -> AgentId {
    match call.event.agent.as_deref().map(AgentId::parse) {
        Some(Ok(named)) if named != AgentId::main() => named,
        _ => default.clone(),
    }
}
