//! Verbs that read: for each noun a list, or one of it with its text. They change nothing except that looking brings
//! the file table and pages up to date.

use super::Engine;
use crate::continuity::proposal::{self, Status};
use crate::continuity::{channel, draft, scheduled};
use crate::error::Result;
use crate::ledger::audit;
use crate::memory::{find, pending};
use crate::profile;
use crate::report::channel::{RequestReport, RequestsReport};
use crate::report::drafts::{DraftProblem, DraftsReport};
use crate::report::file::FileTextReport;
use crate::report::home::{AgentsReport, AuditReport, ProjectsReport};
use crate::report::items::{ArtifactsReport, EntryReport, ProposalsReport};
use crate::report::judge::{DecayReport, JudgeReport};
use crate::report::memories::{MemoriesReport, MemoryReport, MemorySearchReport};
use crate::report::profile::ProfileReport;
use crate::report::review::{NoticedReport, PendingReport};
use crate::report::scheduled::{JobReport, JobsReport, RunReport};
use crate::report::threads::{ThreadDetails, ThreadsReport};
use crate::report::turns::{QuarantineReport, SessionTurnsReport, SetAsideReport, ShownTurn, TurnsReport};
use crate::scope::{QuarantineId, TurnId};
use crate::transcript::order::{Section, TurnPlace};
use crate::transcript::workspaces;
use crate::tree::AssistantHome;
use crate::tree::file_table::{self, Kind, State};

impl Engine {
    /// Reads something of the visible files after bringing them up to date. Returns the default if there are no files
    /// yet.
    pub fn looked<T: Default>(&self, read: impl FnOnce(&AssistantHome) -> Result<T>) -> Result<T> {
        self.look()?.map_or_else(|| Ok(T::default()), |(at, _)| read(&at))
    }

    /// Returns the item that `name` means: the active one, else the newest in the archive. `None` if there are no
    /// visible files yet; `NotFound` for an unknown name.
    pub fn file(&self, kind: Kind, name: &str) -> Result<Option<FileTextReport>> {
        self.looked(|at| {
            let find = |state| at.read(|tx| file_table::named(tx, at.agent_no, kind, state, name));
            let entry = find(State::Active).or_else(|e| find(State::Archived).map_err(|_| e))?;
            FileTextReport::of(at, &entry).map(Some)
        })
    }

    /// Returns a memory, given its id, title or path. `within`: the project the caller is bound to; a memory of another
    /// project is `Refused`. `None` if there are no visible files yet.
    pub fn memory(&self, name: &str, within: Option<&str>) -> Result<Option<FileTextReport>> {
        self.looked(|at| {
            let entry = at.read(|tx| find::named(tx, at.agent_no, name, within))?;
            FileTextReport::of_memory(at, &entry, self.now()).map(Some)
        })
    }

    /// Reports the importance of each category of messages and what was learned about it; with `turn`, also the
    /// judgement of its chunk.
    pub fn explain_judge(&self, turn: Option<TurnId>) -> Result<JudgeReport> {
        self.instance.explain_judge(&self.agent, &self.actor, turn)
    }

    /// Reports which vectors of old, unimportant chunks the policy of the settings would drop, and why.
    pub fn explain_decay(&self) -> Result<DecayReport> {
        self.instance.explain_decay(&self.agent, &self.actor)
    }

    /// Lists memories, pinned first, then newest first.
    pub fn memories(&self, filter: &find::Filter, limit: usize) -> Result<MemoriesReport> {
        let Some((at, problems)) = self.look()? else { return Ok(MemoriesReport::default()) };
        let now = self.now();
        let entries = at.read(|tx| find::list(tx, at.agent_no, filter, now))?;
        let all = entries.len();
        let memories = entries.into_iter().take(limit).map(|entry| MemoryReport::of(entry, now)).collect();
        Ok(MemoriesReport { memories, all, problems })
    }

    /// Searches memories that fit `filter`.
    pub fn search_memories(&self, query: &str, filter: &find::Filter, limit: usize) -> Result<MemorySearchReport> {
        self.instance.search_memories(&self.agent, &self.actor, query, filter, limit)
    }

    /// Lists waiting notices about the user; with `decided`, also those that were accepted or dismissed.
    pub fn noticed(&self, decided: bool) -> Result<NoticedReport> {
        let agent_no = self.agent_no()?;
        let found = self.read(|tx| pending::list(tx, agent_no, decided))?;
        Ok(NoticedReport { pending: found.into_iter().map(PendingReport::from).collect() })
    }

    /// Lists proposals of one status, newest first.
    pub fn proposals(&self, status: Status, scope: Option<&str>, limit: usize) -> Result<ProposalsReport> {
        let entries = self.looked(|at| at.read(|tx| proposal::list(tx, at.agent_no, status, scope)))?;
        Ok(ProposalsReport { all: entries.len(), proposals: EntryReport::first(entries, limit) })
    }

    /// Lists artifacts, newest first.
    pub fn artifacts(&self, limit: usize) -> Result<ArtifactsReport> {
        let newest =
            |at: &AssistantHome| at.read(|tx| file_table::newest(tx, at.agent_no, Kind::Artifact, "created", limit));
        let (entries, all) = self.looked(newest)?;
        Ok(ArtifactsReport { artifacts: EntryReport::first(entries, limit), all })
    }

    /// Lists drafts of all programs, by name.
    pub fn drafts(&self) -> Result<DraftsReport> {
        let (drafts, problems) = self.looked(draft::list)?;
        Ok(DraftsReport { drafts, problems: problems.into_iter().map(DraftProblem::from).collect() })
    }

    /// Lists requests to be let into a channel, newest first: those that wait, or all.
    pub fn requests(&self, all: bool, limit: usize) -> Result<RequestsReport> {
        let (events, count) = self.looked(|at| at.read(|tx| channel::list(tx, at.agent_no, all, limit)))?;
        let events = events.into_iter().map(|event| RequestReport::of(event, None)).collect();
        Ok(RequestsReport { events, all: count })
    }

    /// Returns the last run of every scheduled job, newest first.
    pub fn jobs(&self) -> Result<JobsReport> {
        let runs = self.looked(|at| {
            self.instance.notice_cut_off(at)?;
            at.read(|tx| scheduled::jobs(tx, at.agent_no))
        })?;
        Ok(JobsReport { jobs: runs.into_iter().map(RunReport::from).collect() })
    }

    /// Returns the last runs of a scheduled job, newest first. `NotFound` if it never ran.
    pub fn job(&self, name: &str, limit: usize) -> Result<JobReport> {
        let runs = self.looked(|at| {
            self.instance.notice_cut_off(at)?;
            at.read(|tx| scheduled::runs(tx, at.agent_no, name, limit.max(1)))
        })?;
        if runs.is_empty() {
            return Err(scheduled::no_such(name));
        }
        Ok(JobReport { job: name.to_owned(), runs: runs.into_iter().map(RunReport::from).collect() })
    }

    /// Returns the operator's profile, which every session may know.
    pub fn profile(&self) -> Result<ProfileReport> {
        let agent_no = self.agent_no()?;
        Ok(ProfileReport { profile: self.read(|tx| profile::show(tx, agent_no))? })
    }

    /// Lists threads, last worked in first: see [`ThreadsReport::list`].
    pub fn threads(&self, all: bool, session: Option<&str>, limit: usize) -> Result<ThreadsReport> {
        let agent_no = self.agent_no()?;
        self.read(|tx| ThreadsReport::list(tx, agent_no, all, session, limit))
    }

    /// Reports a thread in detail, given its key or a name. `NotFound`, or `Usage` if the name means several.
    pub fn thread(&self, name: &str) -> Result<ThreadDetails> {
        let agent_no = self.agent_no()?;
        self.read(|tx| ThreadDetails::gather(tx, agent_no, name))
    }

    /// Lists the agents of the home.
    pub fn agents(&self) -> Result<AgentsReport> {
        Ok(AgentsReport { agents: self.read(workspaces::agents)?, default: self.agent.to_string() })
    }

    /// Lists the agent's projects, last worked in first.
    pub fn projects(&self) -> Result<ProjectsReport> {
        let agent_no = self.agent_no()?;
        Ok(ProjectsReport { workspaces: self.read(|tx| workspaces::workspaces(tx, agent_no))? })
    }

    /// Lists rows of the audit, newest first; `before`: only rows before that number.
    pub fn audit(&self, before: Option<i64>, limit: usize) -> Result<AuditReport> {
        let agent_no = self.agent_no()?;
        Ok(AuditReport { audit: self.read(|tx| audit::list(tx, agent_no, before, limit))? })
    }

    /// Lists at most `limit` rows of the audit after the row `no`, oldest first.
    pub fn changes_after(&self, no: i64, limit: usize) -> Result<AuditReport> {
        let agent_no = self.agent_no()?;
        Ok(AuditReport { audit: self.read(|tx| audit::after(tx, agent_no, no, limit))? })
    }

    /// Returns a turn with `around` turns of its lane before and after it.
    pub fn turns(&self, id: TurnId, around: usize) -> Result<TurnsReport> {
        self.instance.turns(&self.agent, id, around)
    }

    /// Returns a page of at most `most` turns of a session after `after`, and where the next page begins.
    pub fn page_of_turns(
        &self,
        session: &str,
        lane: Option<&str>,
        after: Option<TurnPlace>,
        most: usize,
    ) -> Result<(Vec<ShownTurn>, Option<TurnPlace>)> {
        self.instance.page_of_turns(&self.agent, session, lane, after, most)
    }

    /// Returns the turns of a session in sections of `size` turns, without their text; `wanted`: the turn whose section
    /// is marked.
    pub fn sections_of_turns(&self, session: &str, size: u64, wanted: Option<TurnId>) -> Result<Vec<Section>> {
        self.instance.sections_of_turns(&self.agent, session, size, wanted)
    }

    /// Returns the exact bytes of the record a turn was read from.
    pub fn turn_bytes(&self, id: TurnId) -> Result<Vec<u8>> {
        self.instance.turn_bytes(&self.agent, id)
    }

    /// Returns a session with its turns; `lane`: only the turns of this sub-agent.
    pub fn session_turns(&self, name: &str, lane: Option<&str>) -> Result<SessionTurnsReport> {
        self.instance.session_turns(&self.agent, name, lane)
    }

    /// Lists records that could not be decoded, newest first.
    pub fn quarantine(&self, most: usize) -> Result<QuarantineReport> {
        self.instance.quarantine(&self.agent, most)
    }

    /// Returns one record that could not be decoded, with its exact bytes.
    pub fn set_aside(&self, id: QuarantineId) -> Result<(SetAsideReport, Vec<u8>)> {
        self.instance.set_aside(&self.agent, id)
    }
}
