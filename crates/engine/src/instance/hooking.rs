//! What a program's hook calls for: stored and answered at once, or stored later from the spool (R12.5).

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

/// How long opening a home stores what is in the spool before it goes on; the rest is the next opening's.
const PATIENCE: Duration = Duration::from_secs(2);

impl Instance {
    /// Does what a hook's call asks for, in one transaction, and says what the program is given. `agent`: whose memory it
    /// is where the program does not say. `Busy` where there is nothing yet to store it in: it belongs into the spool.
    pub fn hook(&self, agent: &AgentId, call: &HookCall, actor: &str) -> Result<HookOutcome> {
        let agent = agent_of(agent, call);
        let missing = || Error::new(ErrorKind::Busy, format!("nothing is stored for the agent {agent} yet"));
        let at = self.assistant_as_it_is(&agent, actor)?.ok_or_else(missing)?;
        // Only a prompt asks for something.
        let recalls = call.gives && matches!(call.event.moment, Moment::Prompt { .. });
        // Who keeps the home open keeps indexes open, too. With another model than the one in the binary it is asked as a
        // hook asks, which waits for no model.
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

    /// Stores what hooks had to leave in the spool. What cannot be stored stays there, and so does what only another
    /// build knows; what nobody can read is moved aside. Returns how many calls were stored.
    pub fn drain_spool(&self) -> Result<u64> {
        let mut stored = 0;
        // Counted from the first one on: until then another process may have been writing.
        let mut began: Option<Instant> = None;
        spool::adopt(&self.home)?;
        loop {
            if spool::names(&self.home)?.is_empty() {
                return Ok(stored);
            }
            // Storing one twice is harmless, and once is enough.
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
            // A hook that came meanwhile has left its call to us. What is left after nothing was stored is for a newer
            // build.
            if stored == before {
                return Ok(stored);
            }
        }
    }

    /// Stores one call of the spool and removes it. `false`: it is gone, or this build cannot read it: it is another
    /// build's, or was moved aside.
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

/// The agent a session belongs to: the program's own, else the default one (D3).
fn agent_of(default: &AgentId, call: &HookCall) -> AgentId {
    match call.event.agent.as_deref().map(AgentId::parse) {
        Some(Ok(named)) if named != AgentId::main() => named,
        _ => default.clone(),
    }
}
