//! The visible files around a verb: hand edits are read before it, and pages that show a change are rendered after it.

use std::path::Path;
use std::sync::PoisonError;
use std::time::{Duration, Instant};

use super::Instance;
use super::listener::Notice;
use crate::error::{Problem, Result};
use crate::home::layout;
use crate::next_step::worded;
use crate::render::{self, Occasion};
use crate::report::counted;
use crate::report::home::Adopted;
use crate::scope::AgentId;
use crate::tree::{AssistantHome, adopt, file_table, journal, restore, scan};

/// A folder of an agent's files that is gone although the ledger knows files in it.
#[derive(Debug)]
pub struct LostTree {
    pub folder: String,
    pub files: u64,
    /// Description of the loss, and what to do.
    pub what: String,
}

impl Instance {
    /// Returns the assistant home of an agent for verbs that change it; a missing one is made.
    pub fn assistant(&self, agent: &AgentId, actor: &str) -> Result<AssistantHome<'_>> {
        if self.read_only {
            return Err(self.cannot_be_written());
        }
        let agent_no = self.ensure_agent(agent, actor)?;
        let at = AssistantHome::create(&self.home, &self.ledger, agent, agent_no, actor, self.settings.zone.clone())?;
        Ok(self.knowing_its_model(at))
    }

    /// Returns the assistant home without scanning its files; `None` if there is no tree yet.
    pub fn assistant_as_it_is(&self, agent: &AgentId, actor: &str) -> Result<Option<AssistantHome<'_>>> {
        let Some(agent_no) = self.agent_no(agent)? else { return Ok(None) };
        let at = AssistantHome::open(&self.home, &self.ledger, agent, agent_no, actor, self.settings.zone.clone())?;
        Ok(at.map(|at| self.knowing_its_model(at)))
    }

    /// Returns what an agent has lost if the folder of its files is gone: the folder, the number of files in it, and what
    /// to do. `None` if the folder is there, or nothing was ever in it.
    pub fn lost_tree(&self, agent: &AgentId, actor: &str) -> Result<Option<LostTree>> {
        let Some(agent_no) = self.agent_no(agent)? else { return Ok(None) };
        if self.assistant_as_it_is(agent, actor)?.is_some() {
            return Ok(None);
        }
        let (files, kept) =
            self.ledger.read(|tx| Ok((file_table::count(tx, agent_no)?, restore::kept_of_present(tx, agent_no)?)))?;
        if files == 0 {
            return Ok(None);
        }
        let folder = self.home.root().join(layout::assistant_home(agent).as_str()).display().to_string();
        let kept = match kept {
            0 => "no copies of them are kept".to_owned(),
            n => format!(
                "copies of {n} of them are kept for 30 days: ⟨restore⟩ brings back each by its path, ⟨show --revisions⟩ lists them"
            ),
        };
        let what = worded(&format!("is gone, with {}; {kept}", counted(files, "file")));
        Ok(Some(LostTree { folder, files, what }))
    }

    fn knowing_its_model<'i>(&self, mut at: AssistantHome<'i>) -> AssistantHome<'i> {
        at.model = self.settings.model.as_ref().map(|model| model.digest);
        at
    }

    /// Returns the assistant home for verbs that look, with the problems found in its files; `None` if there is no tree
    /// yet. It updates the file table and finishes acts that a crash interrupted, unless the home cannot be written or
    /// another process is changing it.
    pub fn look_at(&self, agent: &AgentId, actor: &str) -> Result<Option<(AssistantHome<'_>, Vec<Problem>)>> {
        let Some(at) = self.assistant_as_it_is(agent, actor)? else { return Ok(None) };
        if self.read_only {
            return Ok(Some((at, Vec::new())));
        }
        if self.ledger.read(|tx| journal::is_unfinished(tx, at.agent_no))? {
            // Taking the lock finishes the interrupted act. If another process holds the lock, that process finishes
            // it.
            drop(at.try_lock()?);
        }
        let scanned = scan::scan(&at)?;
        self.scans.lock().unwrap_or_else(PoisonError::into_inner).insert(at.agent_no, Instant::now());
        if scanned.changed > 0 || render::is_dirty(&at)? {
            self.render(&at, Occasion::Look);
        }
        Ok(Some((at, scanned.problems)))
    }

    /// Returns the assistant home like [`Instance::look_at`], but relies on the last scan of its files if that is not
    /// older than `holds`: edits that people made since are not seen, and no problem of a file is reported.
    pub fn look_at_lately(&self, agent: &AgentId, actor: &str, holds: Duration) -> Result<Option<AssistantHome<'_>>> {
        let at = match holds.is_zero() {
            true => None,
            false => self.assistant_as_it_is(agent, actor)?,
        };
        let last = at
            .as_ref()
            .and_then(|at| self.scans.lock().unwrap_or_else(PoisonError::into_inner).get(&at.agent_no).copied());
        match at.filter(|_| last.is_some_and(|last| last.elapsed() < holds)) {
            Some(at) => Ok(Some(at)),
            None => Ok(self.look_at(agent, actor)?.map(|(at, _)| at)),
        }
    }

    /// Makes an agent use the pages in another program's `folder`, in place and unchanged; `None` moves it back to the
    /// pages in the home. A new agent is added. Errors as [`adopt::adopt`].
    pub fn adopt(&self, agent: &AgentId, actor: &str, folder: Option<&Path>) -> Result<Adopted> {
        if let Some(folder) = folder {
            // Checks the folder before the agent is added for it.
            self.home.open_elsewhere(folder)?;
        }
        let agent_no = self.ensure_agent(agent, actor)?;
        adopt::adopt(&self.home, &self.ledger, agent_no, actor, folder)?;
        let at = self.assistant(agent, actor)?;
        scan::scan(&at)?;
        let root = at.files.shown().display().to_string();
        Ok(Adopted { agent: agent.as_str().to_owned(), root, adopted: at.is_adopted() })
    }

    /// Calls [`Instance::look_at`] for every agent that has an assistant home.
    pub fn look_at_all(&self, actor: &str) -> Result<Vec<(AssistantHome<'_>, Vec<Problem>)>> {
        let mut all = Vec::new();
        for agent in self.agents()? {
            all.extend(self.look_at(&agent, actor)?);
        }
        Ok(all)
    }

    /// Renders the pages that show a change. Never fails: pages that could not be rendered stay marked, and the
    /// listener is notified.
    pub fn settle(&self, at: &AssistantHome) {
        // The home is opened again because the change may have set the time zone that the pages use.
        let again = self.assistant_as_it_is(&at.agent, &at.actor);
        self.render(again.ok().flatten().as_ref().unwrap_or(at), Occasion::Act);
    }

    /// Renders the pages that show newly stored conversations, and makes the assistant home if there is none. Errors go
    /// to the listener; the conversations stay stored.
    pub fn settle_conversations(&self, agent: &AgentId, actor: &str) {
        match self.assistant(agent, actor) {
            Ok(at) => self.render(&at, Occasion::Look),
            Err(e) => self.listener.notice(&Notice::PagesOutOfReach(&e)),
        }
    }

    /// Renders the marked pages and notifies the listener of kept edits and problems.
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
