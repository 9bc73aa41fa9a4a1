//! Recall and expand: choosing what answers a question, and following a reference. Both use files, summaries and turns.

use super::Instance;
use super::listener::Notice;
use crate::error::{Error, ErrorKind, Result};
use crate::inject::epoch;
use crate::recall::{self, Audience, Hint, Question, Reach, Reference};
use crate::report::expanded::ExpandReport;
use crate::report::recalled::RecallReport;
use crate::report::understood::Understood;
use crate::review::matter;
use crate::scope::{AgentId, AgentNo, SessionKey};
use crate::thread;
use crate::transcript::read;

/// A question, and the place whose audience the answer is for. Without session, project and thread the answer is for
/// the operator, who may know everything.
#[derive(Clone, Debug)]
pub struct RecallRequest {
    pub query: String,
    /// Largest number of items.
    pub limit: usize,
    /// Whether turns are included even if memory or a summary answers.
    pub deep: bool,
    /// Whether the report explains how the question was understood.
    pub explain: bool,
    /// Answers as for this session, given by its key or a prefix of it.
    pub session: Option<String>,
    /// Answers as for a session in this project, given by its workspace id.
    pub workspace: Option<String>,
    /// Answers as for a session in this thread, given by its key or name.
    pub thread: Option<String>,
}

impl Default for RecallRequest {
    /// Returns a request for eight items, for the operator.
    fn default() -> RecallRequest {
        RecallRequest {
            query: String::new(),
            limit: 8,
            deep: false,
            explain: false,
            session: None,
            workspace: None,
            thread: None,
        }
    }
}

impl Instance {
    /// Chooses what answers a question. `NotFound` if nothing is stored yet, or if the session or thread does not
    /// exist.
    pub fn recall(&self, agent: &AgentId, actor: &str, request: &RecallRequest) -> Result<RecallReport> {
        let agent_no = self.known_agent(agent)?;
        let Some((at, _)) = self.look_at(agent, actor)? else { return Err(nothing_yet()) };
        let audience = self.audience_of(agent_no, request)?;
        let question = Question { text: &request.query, most: request.limit, deep: request.deep, prompt: false };
        let recalled = self.asked(Some(&at), |index| recall::recall(&at, index, audience.as_ref(), &question))?;
        let understood = request.explain.then(|| self.understand(agent, &request.query)).transpose()?;
        Ok(RecallReport::of(agent.as_str(), &request.query, audience, recalled, understood))
    }

    fn audience_of(&self, agent_no: AgentNo, request: &RecallRequest) -> Result<Option<Audience>> {
        let (session, thread) = (request.session.as_deref(), request.thread.as_deref());
        if session.is_none() && thread.is_none() && request.workspace.is_none() {
            return Ok(None);
        }
        self.ledger.read(|tx| {
            let thread = thread.map(|name| thread::named(tx, agent_no, name)).transpose()?.map(|row| row.no);
            let hint = Hint { workspace: request.workspace.clone(), thread };
            let key = match session {
                Some(name) => read::session_named(tx, agent_no, name)?.key,
                // Nothing is stored of such a session, so the hint alone decides the audience.
                None => SessionKey::new("engine", "recall"),
            };
            let cut = epoch::told_cut(tx, agent_no, &key)?;
            Ok(Some(Audience { cut, ..Audience::of(tx, agent_no, &key, &hint)? }))
        })
    }

    /// Returns how a query is understood, without running it.
    pub fn understand(&self, agent: &AgentId, query: &str) -> Result<Understood> {
        let zone = self.zone(agent);
        let understood = recall::understand(&self.ledger, agent, query, &zone)?;
        Ok(Understood::of(query, understood, zone))
    }

    /// Returns what a reference leads to. If the visible files cannot be reached, they are left out and the listener is
    /// notified, unless the reference is to a file. Errors as [`recall::expand::expand`].
    pub fn expand(&self, agent: &AgentId, actor: &str, reference: &Reference, reach: &Reach) -> Result<ExpandReport> {
        let agent_no = self.known_agent(agent)?;
        let looked = match self.look_at(agent, actor) {
            Err(e) if !matches!(reference, Reference::File(_)) && e.kind() != ErrorKind::Damaged => {
                self.listener.notice(&Notice::FilesLeftOut(&e));
                None
            }
            looked => looked?,
        };
        let at = looked.as_ref().map(|(at, _)| at);
        let found = match reference {
            Reference::Matter(no) => matter::expand(&self.ledger, agent_no, *no, reach)?,
            _ => recall::expand(&self.ledger, agent_no, at, reference, reach)?,
        };
        let resume = |view: &recall::expand::SessionView| self.resume(&view.session.key, view.session.cwd.as_deref());
        Ok(ExpandReport::of(agent.as_str(), at, found, resume))
    }
}

/// Returns the error for an agent without visible files; nothing was stored for it either.
pub(super) fn nothing_yet() -> Error {
    Error::not_found("nothing is stored yet").hint("⟨up⟩")
}
