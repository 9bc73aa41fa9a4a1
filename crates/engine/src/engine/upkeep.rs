//! What keeps a memory in order: agents and projects, the index, work that is due, and what is there to see first.

use std::path::{Path, PathBuf};

use super::Engine;
use crate::capture::Totals;
use crate::clock::Millis;
use crate::error::{Error, Problem, Result};
use crate::instance::{Lent, Pack, Rotation, Source};
use crate::program::Program;
use crate::report::home::{Adopted, AgentAdded, ProjectJoined};
use crate::report::sessions::SessionEnded;
use crate::report::status::Overview;
use crate::report::upkeep::{BackedUp, BackupsSeen, Exported, Reindexed};
use crate::scope::{AgentId, WorkspaceNo};
use crate::tree::AssistantHome;
use crate::tree::file_table::Entry;

impl Engine {
    /// Makes an agent known.
    pub fn add_agent(&self, agent: &AgentId) -> Result<AgentAdded> {
        let new = self.instance.agent_no(agent)?.is_none();
        self.instance.ensure_agent(agent, &self.actor)?;
        Ok(AgentAdded { agent: agent.as_str().to_owned(), new })
    }

    /// Copies the whole memory into a folder: see [`Instance::backup`](crate::instance::Instance::backup).
    pub fn backup(&self, to: &Path) -> Result<BackedUp> {
        self.instance.backup(&self.actor, to)
    }

    /// The same as one file, which `pack` makes: see [`Instance::backup_packed`](crate::instance::Instance::backup_packed).
    pub fn backup_packed(&self, to: &Path, pack: Pack) -> Result<BackedUp> {
        self.instance.backup_packed(&self.actor, to, pack)
    }

    /// Makes the next of several copies: see [`Instance::backup_again`](crate::instance::Instance::backup_again).
    pub fn backup_again(&self, rotation: &Rotation, pack: Option<Pack>) -> Result<BackedUp> {
        self.instance.backup_again(&self.actor, rotation, pack)
    }

    /// Writes everything into plain files: see [`Instance::export_all`](crate::instance::Instance::export_all).
    pub fn export_all(&self, to: &Path) -> Result<Exported> {
        self.instance.export_all(to)
    }

    /// When the last backup was made, and whether one failed since.
    pub fn backups_seen(&self) -> BackupsSeen {
        self.instance.backups_seen()
    }

    /// Lets the agent's pages be those in another program's folder: see [`Instance::adopt`](crate::instance::Instance::adopt).
    pub fn adopt(&self, folder: Option<&Path>) -> Result<Adopted> {
        self.instance.adopt(&self.agent, &self.actor, folder)
    }

    /// What was said under the project `old` counts as said under `new`.
    pub fn join_project(&self, old: &str, new: &str) -> Result<ProjectJoined> {
        self.instance.join_project(&self.agent, &self.actor, old, new)
    }

    /// The projects a name stands for; a path within a project stands for it.
    pub fn workspaces_named(&self, name: &str) -> Result<Vec<WorkspaceNo>> {
        self.instance.workspaces_named(self.agent_no()?, name)
    }

    /// The agent's visible files, created where there are none yet, for several acts in a row.
    pub fn assistant(&self) -> Result<AssistantHome<'_>> {
        self.instance.assistant(&self.agent, &self.actor)
    }

    /// Reads a visible file that was just edited, and renders the pages that show it. Returns whether it has changed.
    pub fn reread(&self, entry: &Entry) -> Result<bool> {
        self.instance.reread(&self.agent, &self.actor, entry)
    }

    /// Marks a session as over, by its key or the beginning of it.
    pub fn end_session(&self, name: &str) -> Result<SessionEnded> {
        self.instance.end_session(&self.agent, &self.actor, name)
    }

    /// Stores what is in session stores, without summaries and pages.
    pub fn store(&self, sources: &[Source]) -> Result<(Totals, Vec<Problem>)> {
        self.instance.store(&self.agent, &self.actor, sources)
    }

    /// The search index as it is; it may be behind.
    pub fn index(&self) -> Result<Lent<'_>> {
        self.instance.index()
    }

    /// Makes the search index again.
    pub fn reindex(&self) -> Result<Reindexed> {
        self.instance.reindex(&self.actor)
    }

    /// The name of the model for search by meaning, if there is one, and where it is.
    pub fn model(&self) -> (Option<&str>, &str) {
        self.instance.model()
    }

    /// Why the model that is wanted cannot be used, so that words alone are searched.
    pub fn without_model(&self) -> Option<&Error> {
        self.instance.without_model()
    }

    /// Stores what hooks left in the spool, as opening the home does: for who keeps it open. Returns how many calls were
    /// stored.
    pub fn take_spool(&self) -> Result<u64> {
        self.instance.drain_spool()
    }

    /// The session stores a program has on this machine, and what could not be listed.
    pub fn stores_of(&self, program: &dyn Program) -> (Vec<Source>, Vec<Problem>) {
        self.instance.stores_of(program)
    }

    /// Gives back what is held for speed only: idle indexes, readers of the ledger, cached pages. What comes next pays
    /// for opening them again.
    pub fn rest(&self) {
        self.instance.rest();
    }

    /// Gives back jobs that this process holds and will not finish, so that others take them at once.
    pub fn release_jobs(&self) -> Result<()> {
        self.instance.release_jobs(&self.actor)
    }

    /// How many jobs and sessions are due.
    pub fn due(&self) -> Result<u64> {
        self.instance.due()
    }

    /// When the next job or session becomes due that is not due yet.
    pub fn next_due(&self) -> Result<Option<Millis>> {
        self.instance.next_due()
    }

    /// A folder in the home for temporary files.
    pub fn scratch(&self) -> Result<PathBuf> {
        self.instance.scratch()
    }

    /// What there is to see first: what was worked on, and what is being worked on now.
    pub fn overview(&self) -> Result<Overview> {
        self.instance.overview(&self.agent, &self.actor)
    }
}
