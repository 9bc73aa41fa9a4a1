//! Verbs that keep a memory in order: agents and projects, backups, the index, work that is due, and the overview.

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
    /// Adds an agent.
    pub fn add_agent(&self, agent: &AgentId) -> Result<AgentAdded> {
        let new = self.instance.agent_no(agent)?.is_none();
        self.instance.ensure_agent(agent, &self.actor)?;
        Ok(AgentAdded { agent: agent.as_str().to_owned(), new })
    }

    /// Copies the whole memory into a folder: see [`Instance::backup`](crate::instance::Instance::backup).
    pub fn backup(&self, to: &Path) -> Result<BackedUp> {
        self.instance.backup(&self.actor, to)
    }

    /// Copies the whole memory into one file, which `pack` writes: see
    /// [`Instance::backup_packed`](crate::instance::Instance::backup_packed).
    pub fn backup_packed(&self, to: &Path, pack: Pack) -> Result<BackedUp> {
        self.instance.backup_packed(&self.actor, to, pack)
    }

    /// Makes the next of several backups: see [`Instance::backup_again`](crate::instance::Instance::backup_again).
    pub fn backup_again(&self, rotation: &Rotation, pack: Option<Pack>) -> Result<BackedUp> {
        self.instance.backup_again(&self.actor, rotation, pack)
    }

    /// Exports everything as plain files: see [`Instance::export_all`](crate::instance::Instance::export_all).
    pub fn export_all(&self, to: &Path) -> Result<Exported> {
        self.instance.export_all(to)
    }

    /// Returns when the last backup was made, and whether one failed since.
    pub fn backups_seen(&self) -> BackupsSeen {
        self.instance.backups_seen()
    }

    /// Makes the agent use the pages in another program's folder: see
    /// [`Instance::adopt`](crate::instance::Instance::adopt).
    pub fn adopt(&self, folder: Option<&Path>) -> Result<Adopted> {
        self.instance.adopt(&self.agent, &self.actor, folder)
    }

    /// Joins two projects: turns of `old` count as turns of `new`.
    pub fn join_project(&self, old: &str, new: &str) -> Result<ProjectJoined> {
        self.instance.join_project(&self.agent, &self.actor, old, new)
    }

    /// Returns the projects that a name means; a path inside a project means that project.
    pub fn workspaces_named(&self, name: &str) -> Result<Vec<WorkspaceNo>> {
        self.instance.workspaces_named(self.agent_no()?, name)
    }

    /// Returns the agent's visible files for several acts in a row; missing ones are created.
    pub fn assistant(&self) -> Result<AssistantHome<'_>> {
        self.instance.assistant(&self.agent, &self.actor)
    }

    /// Reads a visible file that was just edited, and renders the pages that show it. Returns whether it has changed.
    pub fn reread(&self, entry: &Entry) -> Result<bool> {
        self.instance.reread(&self.agent, &self.actor, entry)
    }

    /// Marks a session as ended, given its key or a prefix of it.
    pub fn end_session(&self, name: &str) -> Result<SessionEnded> {
        self.instance.end_session(&self.agent, &self.actor, name)
    }

    /// Stores the turns of session stores, without making summaries and pages.
    pub fn store(&self, sources: &[Source]) -> Result<(Totals, Vec<Problem>)> {
        self.instance.store(&self.agent, &self.actor, sources)
    }

    /// Returns the search index as it is; it may be out of date.
    pub fn index(&self) -> Result<Lent<'_>> {
        self.instance.index()
    }

    /// Rebuilds the search index.
    pub fn reindex(&self) -> Result<Reindexed> {
        self.instance.reindex(&self.actor)
    }

    /// Makes the search index of a memory that was just restored.
    pub fn index_restored(&self) -> Result<()> {
        self.instance.index_restored(&self.actor)
    }

    /// Returns the name of the embedding model, if there is one, and where it runs.
    pub fn model(&self) -> (Option<&str>, &str) {
        self.instance.model()
    }

    /// Returns why the embedding model of the settings cannot be used, so that only words are searched.
    pub fn without_model(&self) -> Option<&Error> {
        self.instance.without_model()
    }

    /// Stores what hooks left in the spool, as opening the home does; for processes that keep the home open. Returns
    /// the number of calls stored.
    pub fn take_spool(&self) -> Result<u64> {
        self.instance.drain_spool()
    }

    /// Returns the session stores of a program on this machine, and the folders that could not be listed.
    pub fn stores_of(&self, program: &dyn Program) -> (Vec<Source>, Vec<Problem>) {
        self.instance.stores_of(program)
    }

    /// Releases everything held only for speed: idle indexes, readers of the ledger, cached pages. The next verb pays
    /// for opening them again.
    pub fn rest(&self) {
        self.instance.rest();
    }

    /// Releases jobs that this process holds and will not finish, so that others can take them at once.
    pub fn release_jobs(&self) -> Result<()> {
        self.instance.release_jobs(&self.actor)
    }

    /// Returns the number of jobs and sessions that are due.
    pub fn due(&self) -> Result<u64> {
        self.instance.due()
    }

    /// Returns when the next job or session becomes due.
    pub fn next_due(&self) -> Result<Option<Millis>> {
        self.instance.next_due()
    }

    /// Returns a folder in the home for temporary files.
    pub fn scratch(&self) -> Result<PathBuf> {
        self.instance.scratch()
    }

    /// Returns the overview: sessions worked in last, and current work.
    pub fn overview(&self) -> Result<Overview> {
        self.instance.overview(&self.agent, &self.actor)
    }
}
