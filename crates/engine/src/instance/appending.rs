//! Storing a live conversation line by line. Each line is acknowledged after its commit; pages about the moment are
//! written while the conversation goes on.

use std::collections::BTreeSet;
use std::time::{Duration, Instant};

use super::Instance;
use super::listener::Notice;
use crate::capture::{Capture, LineAck};
use crate::error::{Error, ErrorKind, Result};
use crate::program::Program;
use crate::render::continuity::write_turn_continuity;
use crate::scope::{AgentId, SessionNo, TurnId};
use crate::transcript::recent;
use crate::tree::AssistantHome;

/// Pages about the moment are written at most this often while a conversation goes on, and once at its end.
const PAUSE: Duration = Duration::from_millis(200);

/// How long the end of a conversation waits for its summaries. Summaries not made by then are left to the worker.
const PATIENCE: Duration = Duration::from_millis(200);

/// Longest line that is accepted; a longer one is refused, so that no caller has to hold it in memory.
pub const LONGEST_LINE: usize = 32 << 20;

/// A live conversation whose lines are being stored.
pub struct Appending<'i, 'c> {
    instance: &'i Instance,
    agent: &'i AgentId,
    actor: &'i str,
    program: &'i dyn Program,
    capture: Capture<'c>,
    at: Option<AssistantHome<'i>>,
    /// Numbers of sessions whose pages are out of date.
    touched: BTreeSet<SessionNo>,
    /// Whether a prompt came since the last write: the run before it is over, and a new run has begun.
    is_due: bool,
    written: Option<Instant>,
}

impl Instance {
    /// Stores the lines of one program that `feed` passes to [`Appending::line`], and brings everything up to date at
    /// their end. `pages`: whether the pages about the moment are written too.
    pub fn append<T>(
        &self,
        agent: &AgentId,
        actor: &str,
        program: &str,
        pages: bool,
        feed: impl FnOnce(&mut Appending) -> Result<T>,
    ) -> Result<T> {
        let program =
            self.program(program).ok_or_else(|| Error::usage(format!("this build does not know {program}")))?;
        // Without the index a line is stored and acknowledged all the same; a worker indexes it.
        let mut index = match self.index() {
            Err(e) if e.kind() == ErrorKind::Busy => None,
            index => Some(index?),
        };
        let user_home = self.settings.user_home.as_deref();
        let (out, at, touched) = {
            let capture = Capture::new(&self.ledger, index.as_deref_mut(), actor, &self.scratch()?, user_home)?;
            let mut appending = Appending {
                instance: self,
                agent,
                actor,
                program,
                capture,
                at: None,
                touched: BTreeSet::new(),
                is_due: false,
                written: None,
            };
            let out = feed(&mut appending)?;
            let Appending { capture, at, touched, .. } = appending;
            capture.finish()?;
            (out, at, touched)
        };
        // Every line queued its follow-up jobs. Because the index is in step, most of these are done at once.
        if let Some(mut index) = index {
            self.drain(&mut index, actor)?;
        }
        // Summaries of other sessions must not hold up the caller.
        self.distil(actor, Some(PATIENCE))?;
        if pages {
            self.write_moment(agent, actor, at, touched);
        }
        self.settle_conversations(agent, actor);
        Ok(out)
    }

    /// Writes the pages about the moment of these sessions. Returns the assistant home for the next call.
    fn write_moment<'i>(
        &'i self,
        agent: &AgentId,
        actor: &str,
        at: Option<AssistantHome<'i>>,
        sessions: BTreeSet<SessionNo>,
    ) -> Option<AssistantHome<'i>> {
        if sessions.is_empty() {
            return at;
        }
        let sessions: Vec<SessionNo> = sessions.into_iter().collect();
        let opened = at.map_or_else(|| self.assistant(agent, actor), Ok);
        let written = opened.and_then(|at| write_turn_continuity(&at, &sessions).map(|_| at));
        written.inspect_err(|e| self.listener.notice(&Notice::MomentLeft(e))).ok()
    }
}

impl Appending<'_, '_> {
    /// Stores one line and returns its acknowledgement, after the commit. Returns `Refused` for a line that cannot be
    /// used; later lines still can.
    pub fn line(&mut self, line: &[u8]) -> Result<LineAck> {
        if line.len() > LONGEST_LINE {
            return Ok(LineAck::Refused { reason: "the line is longer than 32 MiB".into() });
        }
        let ack = self.capture.line(self.program, self.agent, line)?;
        if let LineAck::Stored { turn: Some(turn), .. } = &ack {
            self.touch(*turn)?;
        }
        Ok(ack)
    }

    fn touch(&mut self, turn: TurnId) -> Result<()> {
        let agent_no = self.instance.known_agent(self.agent)?;
        if let Some((session, is_prompt)) = self.instance.ledger.read(|tx| recent::place_of(tx, agent_no, turn))? {
            self.touched.insert(session);
            self.is_due |= is_prompt;
        }
        Ok(())
    }

    /// Called when no line is waiting: writes the pages about the moment if a prompt came and the last write is long
    /// enough ago.
    pub fn pause(&mut self) {
        if self.is_due && self.written.is_none_or(|then| then.elapsed() >= PAUSE) {
            let touched = std::mem::take(&mut self.touched);
            self.at = self.instance.write_moment(self.agent, self.actor, self.at.take(), touched);
            (self.is_due, self.written) = (false, Some(Instant::now()));
        }
    }
}
