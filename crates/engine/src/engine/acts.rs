//! Verbs that change existing things, grouped by noun. Each is one call of its room under the lock that it needs.

use super::Engine;
use crate::continuity::artifact::{self, NewArtifact};
use crate::continuity::open_loop::{self, NewLoop};
use crate::continuity::proposal::NewProposal;
use crate::continuity::scheduled::{JobName, ToldRun};
use crate::continuity::{Item, channel, scheduled};
use crate::error::{Error, Result};
use crate::memory::{Class, NewLeaf, Scope, change, find, leaf};
use crate::pages::PageKey;
use crate::render::head_commits::{self, Acquired, Change, Committed};
use crate::render::shared;
use crate::report::channel::AnsweredReport;
use crate::report::evolve::{CandidatesReport, EvolveReport, EvolveUndone, SkillReport, SkillsReport};
use crate::report::heads::{
    HeadAcquired, HeadCommit, HeadCommitted, HeadDiff, HeadExplained, HeadGranted, HeadHeld, HeadLog, HeadRefused,
    HeadReleased, HeadRestored, HeadShown, HeadsReport,
};
use crate::report::memories::{ChangedMemories, RememberedReport};
use crate::report::scheduled::{AcknowledgedReport, RunReport};
use crate::report::threads::{SessionSwitched, ThreadChanged, ThreadReport, ThreadsChanged};
use crate::review;
use crate::scope::ThreadNo;
use crate::skill;
use crate::thread;
use crate::transcript::read;
use crate::tree::AssistantHome;
use crate::tree::file_table::Entry;

/// A change to existing memories.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum MemoryAct {
    /// Confirms that they still hold, which makes them fresh again.
    Verify,
    /// Pins them to the front of the list, or unpins them.
    Pin(bool),
}

impl Engine {
    /// Opens a loop, or adds to an open one with this title. `Usage` for a due day that is not a date.
    pub fn add_loop(&self, new: &NewLoop) -> Result<Item> {
        if let Some(due) = &new.due {
            due.parse::<jiff::civil::Date>().map_err(|e| {
                let shown: String = due.chars().take(40).collect();
                Error::usage(format!("{shown:?} is no date")).because(e).hint("write it as 2026-11-30")
            })?;
        }
        self.act(|lock| open_loop::add(lock, new))
    }

    /// Reopens resolved loops, named by id, title or file: all of them or none.
    pub fn reopen_loops(&self, names: &[String]) -> Result<Vec<Item>> {
        self.act(|lock| open_loop::reopen(lock, names))
    }

    /// Proposes memory, or adds to a waiting proposal with this title. Also returns the waiting entry, if there was
    /// one.
    pub fn propose(&self, new: &NewProposal) -> Result<(Item, Option<Entry>)> {
        self.act(|lock| review::propose(lock, new))
    }

    /// Stores a text as an artifact.
    pub fn keep(&self, new: &NewArtifact) -> Result<Item> {
        self.act(|lock| artifact::add(lock, new))
    }

    /// Marks the failures of a scheduled job as seen.
    pub fn acknowledge(&self, job: &str) -> Result<AcknowledgedReport> {
        let acknowledged = self.act_unlocked(|at| scheduled::acknowledge(at, job))?;
        Ok(AcknowledgedReport { job: job.to_owned(), acknowledged })
    }

    /// Records a run of a scheduled job that another program started and that has ended. Returns an error if the output
    /// could not be stored; the end of the run is recorded nevertheless.
    pub fn tell_run(&self, run: &ToldRun) -> Result<RunReport> {
        let name = JobName::parse(&run.job)?;
        let started = run.started_at.unwrap_or_else(|| self.now());
        let output = (!run.output.is_empty()).then_some(&run.output);
        let told = self.act_unlocked(|at| scheduled::told(at, &name, &run.command, started, &run.outcome, output))?;
        match told.output_lost {
            None => Ok(RunReport::from(told.run)),
            Some(e) => Err(e),
        }
    }

    /// Records a request to be let into a channel.
    pub fn ask_in(
        &self,
        channel: &str,
        peer: &str,
        name: Option<&str>,
        detail: Option<&str>,
    ) -> Result<AnsweredReport> {
        let asked = self.act_unlocked(|at| channel::ask(at, channel, peer, name, detail))?;
        Ok(AnsweredReport::of(vec![asked]))
    }

    /// Accepts or refuses requests to be let into a channel: all of them or none.
    pub fn answer_asked(&self, ids: &[String], yes: bool) -> Result<AnsweredReport> {
        Ok(AnsweredReport::of(self.act_unlocked(|at| channel::decide(at, ids, yes))?))
    }

    /// Returns class and scope of a memory: without a class, a fact in a project, else a preference. `Usage` for a
    /// class that belongs to a project if none is named.
    pub fn destination(&self, class: Option<&str>, project: Option<&str>) -> Result<(Class, Scope)> {
        let project = project.map(|name| self.workspace_id(name)).transpose()?;
        let class = match class {
            Some(class) => Class::parse(class)?,
            None if project.is_some() => Class::Fact,
            None => Class::Preference,
        };
        let scope = match project {
            Some(id) => Scope::Workspace(id),
            None if !class.of_workspace() => Scope::Agent,
            None => {
                return Err(Error::usage(format!("a {class} belongs to a project")).hint("say which: workspace"));
            }
        };
        scope.holds(class)?;
        Ok((class, scope))
    }

    /// Verifies, pins or unpins memories: all of them or none.
    pub fn change_memories(&self, names: &[String], what: MemoryAct) -> Result<ChangedMemories> {
        self.act(|lock| {
            let entries = find::chosen(lock, names)?;
            match what {
                MemoryAct::Verify => change::verify(lock, &entries)?,
                MemoryAct::Pin(on) => change::pin(lock, &entries, on)?,
            }
            Ok(ChangedMemories::of(lock.at, &entries))
        })
    }

    /// Makes one memory supersede another; both files stay. Also returns whether this was new.
    pub fn supersede(&self, old: &str, new: &str) -> Result<(ChangedMemories, bool)> {
        self.act(|lock| {
            let (old, new) = (find::chosen_one(lock, old)?, find::chosen_one(lock, new)?);
            let written = change::supersede(lock, &old, &new)?;
            Ok((ChangedMemories::of(lock.at, &[old]), written))
        })
    }

    /// Stores a text that supersedes a memory, with the same class and scope.
    pub fn supersede_with(&self, old: &str, text: &str) -> Result<RememberedReport> {
        self.act(|lock| {
            let old = find::chosen_one(lock, old)?;
            let class = leaf::class_of(&old).ok_or_else(|| Error::not_found("this file is no memory"))?;
            let new = NewLeaf { verified: true, ..NewLeaf::new(class, leaf::scope_of(&old), text) };
            Ok(RememberedReport { items: vec![change::supersede_with(lock, &old, &new)?] })
        })
    }

    /// Reads sessions that are over, and makes proposals and memories of the best candidates; `dry_run`: only reports
    /// what it would do.
    pub fn evolve(&self, dry_run: bool) -> Result<EvolveReport> {
        self.instance.evolve(&self.agent, &self.actor, dry_run)
    }

    /// Undoes what evolve wrote and proposed on the last day it did so.
    pub fn undo_evolve(&self) -> Result<EvolveUndone> {
        self.instance.undo_evolve(&self.agent, &self.actor)
    }

    /// Lists the candidates found in sessions and what became of them; `all`: including decided ones.
    pub fn candidates(&self, all: bool) -> Result<CandidatesReport> {
        self.instance.candidates(&self.agent, all)
    }

    /// Lists procedures that recur, as drafts of skills; `all`: including those that were accepted or rejected.
    pub fn skills(&self, all: bool) -> Result<SkillsReport> {
        self.instance.skills(&self.agent, all)
    }

    /// Returns one skill candidate with its draft and its evidence.
    pub fn skill(&self, name: &str) -> Result<SkillReport> {
        self.instance.skill(&self.agent, name)
    }

    /// Accepts a skill and writes it to the places `into`; an empty list is refused.
    pub fn accept_skill(&self, name: &str, into: &[skill::Into]) -> Result<SkillReport> {
        self.instance.decide_skill(&self.agent, &self.actor, name, Some(into))
    }

    /// Rejects a skill: it is not drafted again.
    pub fn reject_skill(&self, name: &str) -> Result<SkillReport> {
        self.instance.decide_skill(&self.agent, &self.actor, name, None)
    }

    /// Changes the name of a thread.
    pub fn rename_thread(&self, name: &str, new: &str) -> Result<ThreadChanged> {
        let row = self.change("thread.rename", |tx, agent| {
            let no = thread::named(tx, agent, name)?.no;
            thread::rename(tx, agent, no, new)
        })?;
        Ok(ThreadChanged { thread: ThreadReport::of(&row)?, changed: true })
    }

    /// Merges a thread into another. Also returns the key of the merged thread.
    pub fn merge_thread(&self, from: &str, into: &str) -> Result<(String, ThreadChanged)> {
        let (part, row) = self.change("thread.merge", |tx, agent| {
            let part = thread::called(tx, agent, from)?;
            let into = thread::named(tx, agent, into)?.no;
            Ok((part.key, thread::merge(tx, agent, part.no, into)?))
        })?;
        Ok((part, ThreadChanged { thread: ThreadReport::of(&row)?, changed: true }))
    }

    /// Separates a merged thread again.
    pub fn unmerge_thread(&self, name: &str) -> Result<ThreadChanged> {
        let row = self.change("thread.unmerge", |tx, agent| {
            let no = thread::called(tx, agent, name)?.no;
            thread::unmerge(tx, agent, no)
        })?;
        Ok(ThreadChanged { thread: ThreadReport::of(&row)?, changed: true })
    }

    /// Closes a thread, until something new begins in it.
    pub fn close_thread(&self, name: &str) -> Result<ThreadChanged> {
        self.change_thread("thread.close", name, thread::close)
    }

    /// Reopens a closed thread.
    pub fn reopen_thread(&self, name: &str) -> Result<ThreadChanged> {
        self.change_thread("thread.reopen", name, thread::reopen)
    }

    fn change_thread(
        &self,
        action: &'static str,
        name: &str,
        change: impl FnOnce(&mut crate::ledger::Write, crate::scope::AgentNo, ThreadNo) -> Result<bool>,
    ) -> Result<ThreadChanged> {
        let (row, changed) = self.change(action, |tx, agent| {
            let no = thread::named(tx, agent, name)?.no;
            let changed = change(tx, agent, no)?;
            Ok((thread::row(tx, agent, no)?, changed))
        })?;
        Ok(ThreadChanged { thread: ThreadReport::of(&row)?, changed })
    }

    /// Links two threads, so that each may be told about the other.
    pub fn link_threads(&self, one: &str, other: &str, why: Option<&str>) -> Result<ThreadsChanged> {
        let (rows, changed) = self.change("thread.link", |tx, agent| {
            let rows = [thread::named(tx, agent, one)?, thread::named(tx, agent, other)?];
            let changed = thread::link(tx, agent, rows[0].no, rows[1].no, why)?;
            Ok((rows, changed))
        })?;
        Ok(ThreadsChanged { threads: rows.iter().map(ThreadReport::of).collect::<Result<_>>()?, changed })
    }

    /// Removes the link between two threads.
    pub fn unlink_threads(&self, one: &str, other: &str) -> Result<ThreadsChanged> {
        let rows = self.change("thread.unlink", |tx, agent| {
            let rows = [thread::named(tx, agent, one)?, thread::named(tx, agent, other)?];
            thread::unlink(tx, agent, rows[0].no, rows[1].no)?;
            Ok(rows)
        })?;
        Ok(ThreadsChanged { threads: rows.iter().map(ThreadReport::of).collect::<Result<_>>()?, changed: true })
    }

    /// Puts a session into a thread from its next prompt on; `None`: back into the thread that is derived from its
    /// runs.
    pub fn switch_session(&self, session: &str, thread: Option<&str>) -> Result<SessionSwitched> {
        let (session, row) = self.change("thread.switch", |tx, agent| {
            let session = read::session_named(tx, agent, session)?;
            let row = thread.map(|name| thread::named_or_begun(tx, agent, name)).transpose()?;
            thread::switch_session(tx, agent, session.no, row.as_ref().map(|row| row.no))?;
            Ok((session.key, row))
        })?;
        let thread = row.as_ref().map(ThreadReport::of).transpose()?;
        Ok(SessionSwitched { session: session.as_str().to_owned(), thread })
    }

    /// Lists the heads with their leases and deferred commits.
    pub fn heads(&self) -> Result<HeadsReport> {
        HeadsReport::list(&self.pages()?)
    }

    /// Returns the content of a head, now or at a revision.
    pub fn head(&self, name: &str, revision: Option<i64>) -> Result<HeadShown> {
        self.shown_head(name, |at, head| HeadShown::of(at, head, revision))
    }

    /// Returns the name of a thread's head, for any name of the thread.
    pub fn head_of_thread(&self, name: &str) -> Result<String> {
        let at = self.pages()?;
        Ok(at.read(|tx| shared::thread_named(tx, at.agent_no, name))?.to_string())
    }

    /// Explains why each line of a head is there, and what was left out.
    pub fn explain_head(&self, name: &str) -> Result<HeadExplained> {
        self.shown_head(name, HeadExplained::of)
    }

    /// Lists the revisions of a head, newest first.
    pub fn head_log(&self, name: &str, limit: usize) -> Result<HeadLog> {
        self.shown_head(name, |at, head| HeadLog::of(at, head, limit))
    }

    /// Returns the lines in which two revisions of a head differ; without `to`, compares with the newest.
    pub fn head_diff(&self, name: &str, from: i64, to: Option<i64>) -> Result<HeadDiff> {
        self.shown_head(name, |at, head| HeadDiff::of(at, head, from, to))
    }

    /// Restores the sections of a revision, as a new revision.
    pub fn restore_head(&self, name: &str, revision: i64) -> Result<HeadRestored> {
        let at = self.pages_to_write()?;
        HeadRestored::restore(&at, &named(&at, name)?, revision)
    }

    /// Acquires the lease on a head for `ttl_ms` milliseconds, to commit sections to it.
    pub fn acquire_head(&self, name: &str, owner: &str, ttl_ms: i64) -> Result<HeadAcquired> {
        let at = self.pages_to_write()?;
        let head = named(&at, name)?;
        Ok(match head_commits::acquire(&at, &head, owner, ttl_ms)? {
            Acquired::Granted(grant) => HeadAcquired::Granted(HeadGranted::of(&at, &head, owner, &grant)?),
            Acquired::Held(holder) => HeadAcquired::Held(HeadHeld::of(&at, &head, &holder)?),
        })
    }

    /// Adds, replaces or (without content) removes a section of a head, under the lease of `epoch` and based on the
    /// revision `base`.
    pub fn commit_head(&self, name: &str, change: &Change, epoch: i64, base: i64) -> Result<HeadCommit> {
        let at = self.pages_to_write()?;
        let head = named(&at, name)?;
        Ok(match head_commits::commit(&at, &head, change, epoch, base)? {
            Committed::Stands { revision, published } => {
                let stands = HeadCommitted::of(&at, &head, change.section, epoch, (revision, published))?;
                HeadCommit::Stands(stands)
            }
            Committed::Refused(not_now) => HeadCommit::Refused(HeadRefused::of(&at, &head, change.section, &not_now)?),
        })
    }

    /// Releases the lease on a head.
    pub fn release_head(&self, name: &str, owner: &str, epoch: i64) -> Result<HeadReleased> {
        let at = self.pages_to_write()?;
        let head = named(&at, name)?;
        HeadReleased::of(&at, &head, head_commits::release(&at, &head, owner, epoch)?)
    }

    fn shown_head<T>(&self, name: &str, f: impl FnOnce(&AssistantHome, &PageKey) -> Result<T>) -> Result<T> {
        let at = self.pages()?;
        f(&at, &named(&at, name)?)
    }

    /// Returns the pages for reading. `NotFound` if there are none yet.
    fn pages(&self) -> Result<AssistantHome<'_>> {
        self.agent_no()?;
        Ok(self.look()?.ok_or_else(|| Error::not_found("there are no pages yet").hint("⟨up⟩ makes them"))?.0)
    }

    /// Returns the pages for writing; missing ones are made. An unknown agent is an error and is not added.
    fn pages_to_write(&self) -> Result<AssistantHome<'_>> {
        self.agent_no()?;
        self.assistant()
    }
}

fn named(at: &AssistantHome, name: &str) -> Result<PageKey> {
    at.read(|tx| shared::named(tx, at.agent_no, name))
}
