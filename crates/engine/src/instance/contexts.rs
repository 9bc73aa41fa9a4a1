//! Contexts for programs: assembled, recorded unless the request is a dry run, and read again.

use super::Instance;
use super::recalling::nothing_yet;
use crate::error::Result;
use crate::inject::{self, Ask, Capabilities, Event};
use crate::recall::{self, Hint, Question, Recalled};
use crate::report::contexts::{ContextReport, PromptExplained, WhyRecalled};
use crate::scope::AgentId;
use crate::source::private::mask_text;
use crate::thread;
use crate::transcript::read;
use crate::tree::AssistantHome;

/// A request for a context.
#[derive(Clone, Debug)]
pub struct ContextRequest {
    /// A stored session, by its key or a prefix of it; for a session that is not stored yet, its whole key.
    pub session: String,
    pub event: Event,
    /// Text of the prompt. Required if the event is a prompt.
    pub prompt: Option<String>,
    /// Largest number of tokens of the whole block; `None` for the default of the event.
    pub budget: Option<usize>,
    /// Workspace id of the project, for a session of which nothing is stored yet.
    pub workspace: Option<String>,
    /// Thread of the session, by its key or name.
    pub thread: Option<String>,
    pub can: Capabilities,
    /// Whether the context is only assembled and not recorded.
    pub dry_run: bool,
    /// Whether the report explains how the prompt was understood and what was recalled for it.
    pub explain: bool,
}

impl ContextRequest {
    /// Returns a request without a prompt, for the program `program`. It assumes a program that stores the block it is
    /// given, keeps its newest turns itself and accepts a block of any length.
    pub fn new(session: impl Into<String>, event: Event, program: &str) -> ContextRequest {
        ContextRequest {
            session: session.into(),
            event,
            prompt: None,
            budget: None,
            workspace: None,
            thread: None,
            can: Capabilities {
                program: program.to_owned(),
                channel: "stdout".into(),
                stores: true,
                keeps_tail: true,
                keeps_words: false,
                characters: usize::MAX,
            },
            dry_run: false,
            explain: false,
        }
    }
}

impl Instance {
    /// Assembles a context and, unless it is a dry run, records that it was given. `NotFound` if the session or thread
    /// does not exist, or if a dry run finds nothing stored.
    pub fn context(&self, agent: &AgentId, actor: &str, request: &ContextRequest) -> Result<ContextReport> {
        let at = match request.dry_run {
            true => self.look_at(agent, actor)?.ok_or_else(nothing_yet)?.0,
            false => self.assistant(agent, actor)?,
        };
        let (session, hint) = self.ledger.read(|tx| {
            let thread = request.thread.as_deref().map(|name| thread::named(tx, at.agent_no, name)).transpose()?;
            let hint = Hint { workspace: request.workspace.clone(), thread: thread.map(|row| row.no) };
            Ok((read::session_key(tx, at.agent_no, &request.session)?, hint))
        })?;
        // Private words of a prompt are masked here as in a hook's, because the context keeps the prompt.
        let prompt = request.prompt.as_deref().map(mask_text);
        let prompt = prompt.as_deref();
        let ask = Ask { session, event: request.event, hint, prompt, budget: request.budget, can: request.can.clone() };
        let asked = prompt.filter(|prompt| !prompt.trim().is_empty());
        let recalled = match asked {
            Some(prompt) => self.recalled_for(&at, &ask, prompt)?,
            None => Recalled::default(),
        };
        let explain = match asked.filter(|_| request.explain) {
            Some(prompt) => Some(PromptExplained {
                understood: self.understand(agent, prompt)?,
                recalled: recalled.items.iter().map(WhyRecalled::from).collect(),
            }),
            None => None,
        };
        let given = match request.dry_run {
            true => inject::assemble(&at, &ask, recalled)?,
            false => inject::give(&at, &ask, recalled)?,
        };
        Ok(ContextReport::of(agent.as_str(), &ask, given, explain))
    }

    /// Recalls what answers a prompt. If the index cannot answer, this is no error: the context is given without
    /// recalled items.
    fn recalled_for(&self, at: &AssistantHome, ask: &Ask, prompt: &str) -> Result<Recalled> {
        let audience = at.read(|tx| ask.audience(tx, at.agent_no))?;
        let most = inject::budget::items(ask.budget);
        let question = Question { text: prompt, most, deep: false, prompt: true };
        match self.asked(Some(at), |index| recall::recall(at, index, Some(&audience), &question)) {
            Ok(mut recalled) => {
                recalled.degraded.extend(self.without_model().map(|e| format!("by words only: {e}")));
                Ok(recalled)
            }
            Err(e) => Ok(Recalled { degraded: vec![format!("nothing was recalled: {e}")], ..Recalled::default() }),
        }
    }
}
