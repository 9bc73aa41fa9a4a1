//! The visible files around a verb: hand edits are read before it, pages that show a change are rendered after it.

use std::path::Path;

use super::Instance;
use super::listener::Notice;
use crate::error::{Problem, Result};
use crate::render::{self, Occasion};
use crate::report::home::Adopted;
use crate::scope::AgentId;
use crate::tree::{AssistantHome, adopt, journal, scan};

impl Instance {
    /// The assistant home of an agent, made and furnished where there is none: for verbs that change it.
    pub fn assistant(&self, agent: &AgentId, actor: &str) -> Result<AssistantHome<'_>> {
        if self.read_only {
            return Err(self.cannot_be_written());
        }
        let agent_no = self.ensure_agent(agent, actor)?;
        AssistantHome::create(&self.home, &self.ledger, agent, agent_no, actor, self.settings.zone.clone())
    }

    /// The assistant home as it is, without a look at its files. `None` where there is no tree yet.
    pub fn assistant_as_it_is(&self, agent: &AgentId, actor: &str) -> Result<Option<AssistantHome<'_>>> {
        let Some(agent_no) = self.agent_no(agent)? else { return Ok(None) };
        AssistantHome::open(&self.home, &self.ledger, agent, agent_no, actor, self.settings.zone.clone())
    }

    /// The assistant home, for verbs that look: the file table is brought up to the files and what a crash left is
    /// finished, unless the home cannot be written or another process is changing it. With the problems that were found
    /// in the files. `None` where there is no tree yet.
    pub fn look_at(&self, agent: &AgentId, actor: &str) -> Result<Option<(AssistantHome<'_>, Vec<Problem>)>> {
        let Some(at) = self.assistant_as_it_is(agent, actor)? else { return Ok(None) };
        if self.read_only {
            return Ok(Some((at, Vec::new())));
        }
        if self.ledger.read(|tx| journal::is_unfinished(tx, at.agent_no))? {
            // Taking the lock finishes it. Where another process has the lock, that one does.
            drop(at.try_lock()?);
        }
        let scanned = scan::scan(&at)?;
        if scanned.changed > 0 || render::is_dirty(&at)? {
            self.render(&at, Occasion::Look);
        }
        Ok(Some((at, scanned.problems)))
    }

    /// Lets an agent's pages be those in another program's `folder` from now on, where they are and as they are; `None`:
    /// in the home again. An agent that is new is made known. Errors as [`adopt::adopt`].
    pub fn adopt(&self, agent: &AgentId, actor: &str, folder: Option<&Path>) -> Result<Adopted> {
        if let Some(folder) = folder {
            // Refused before the agent is made known for it.
            self.home.open_elsewhere(folder)?;
        }
        let agent_no = self.ensure_agent(agent, actor)?;
        adopt::adopt(&self.home, &self.ledger, agent_no, actor, folder)?;
        let at = self.assistant(agent, actor)?;
        scan::scan(&at)?;
        let root = at.files.shown().display().to_string();
        Ok(Adopted { agent: agent.as_str().to_owned(), root, adopted: at.is_adopted() })
    }

    /// [`Instance::look_at`] for every agent that has an assistant home.
    pub fn look_at_all(&self, actor: &str) -> Result<Vec<(AssistantHome<'_>, Vec<Problem>)>> {
        let mut all = Vec::new();
        for agent in self.agents()? {
            all.extend(self.look_at(&agent, actor)?);
        }
        Ok(all)
    }

    /// After a change: renders the pages that show it. Never fails the change: what could not be rendered stays marked,
    /// and is told.
    pub fn settle(&self, at: &AssistantHome) {
        // Opened again: the change may be the time zone whose days the pages show.
        let again = self.assistant_as_it_is(&at.agent, &at.actor);
        self.render(again.ok().flatten().as_ref().unwrap_or(at), Occasion::Act);
    }

    /// After conversations came in: makes the assistant home where there is none and renders what shows them. What was
    /// stored stands whatever happens here.
    pub fn settle_conversations(&self, agent: &AgentId, actor: &str) {
        match self.assistant(agent, actor) {
            Ok(at) => self.render(&at, Occasion::Look),
            Err(e) => self.listener.notice(&Notice::PagesOutOfReach(&e)),
        }
    }

    /// Renders the marked pages and tells what a person should know of it.
    pub(super) fn render(&self, at: &AssistantHome, occasion: Occasion) {
        let refreshed = match render::refresh(at, occasion) {
            Ok(refreshed) => refreshed,
            Err(e) => return self.listener.notice(&Notice::PagesLeft(&e)),
        };
        for id in &refreshed.proposed {
            self.listener.notice(&Notice::LinesProposed(id));
        }
        for problem in &refreshed.failed {
            self.listener.notice(&Notice::PageLeft(problem));
        }
    }
}
