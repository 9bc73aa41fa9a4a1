//! What is known that answers a question, and where a reference leads: both in files, summaries and words.

use super::Instance;
use super::listener::Notice;
use crate::error::{Error, ErrorKind, Result};
use crate::inject::epoch;
use crate::recall::{self, Audience, Hint, Question, Reach, Reference};
use crate::report::expanded::ExpandReport;
use crate::report::recalled::RecallReport;
use crate::report::understood::Understood;
use crate::scope::{AgentId, AgentNo, SessionKey};
use crate::thread;
use crate::transcript::read;

/// What is asked, and where it may be told. Without session, project and thread it is told to the operator, who may know
/// everything.
#[derive(Clone, Debug)]
pub struct RecallRequest {
    pub query: String,
    /// The most items.
    pub limit: usize,
    /// The words themselves, too, even where something above them answers.
    pub deep: bool,
    /// With how the question was understood.
    pub explain: bool,
    /// As this session would be told, by its key or the beginning of it.
    pub session: Option<String>,
    /// As a session in this project would be told, by the project's id.
    pub workspace: Option<String>,
    /// As a session in this thread would be told, by the thread's key or name.
    pub thread: Option<String>,
}

impl Default for RecallRequest {
    /// Eight items, for the operator.
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
    /// Chooses what answers a question. `NotFound` where nothing is stored yet, or a session or thread is not there.
    pub fn recall(&self, agent: &AgentId, actor: &str, request: &RecallRequest) -> Result<RecallReport> {
        let agent_no = self.known_agent(agent)?;
        let Some((at, _)) = self.look_at(agent, actor)? else { return Err(nothing_yet()) };
        let audience = self.audience_of(agent_no, request)?;
        let question = Question { text: &request.query, most: request.limit, deep: request.deep };
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
                // A session nothing is stored of: the hint alone says where it is.
                None => SessionKey::new("engine", "recall"),
            };
            let cut = epoch::told_cut(tx, agent_no, &key)?;
            Ok(Some(Audience { cut, ..Audience::of(tx, agent_no, &key, &hint)? }))
        })
    }

    /// How a query is understood, without asking it.
    pub fn understand(&self, agent: &AgentId, query: &str) -> Result<Understood> {
        let zone = self.zone(agent);
        let understood = recall::understand(&self.ledger, agent, query, &zone)?;
        Ok(Understood::of(query, understood, zone))
    }

    /// What a reference stands for. Files out of reach are left out, and that is told, unless the reference is to one.
    /// Errors as [`recall::expand::expand`].
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
        let found = recall::expand(&self.ledger, agent_no, at, reference, reach)?;
        let resume = |view: &recall::expand::SessionView| self.resume(&view.session.key, view.session.cwd.as_deref());
        Ok(ExpandReport::of(agent.as_str(), at, found, resume))
    }
}

/// The agent has no visible files, so nothing was stored for it either.
pub(super) fn nothing_yet() -> Error {
    Error::not_found("nothing is stored yet").hint("⟨up⟩")
}
