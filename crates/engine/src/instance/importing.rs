//! Importing session stores: read, index, distil, render.

use std::path::PathBuf;
use std::time::Instant;

use serde::Deserialize;

use super::Instance;
use super::indexes::BUSY;
use super::listener::{Progress, Task};
use crate::capture::{Capture, Totals};
use crate::clock::Millis;
use crate::error::{Problem, Result};
use crate::home::layout;
use crate::ledger::Audit;
use crate::ledger::job_queue::{self, JobKind};
use crate::lifecycle::answer_told;
use crate::program::{Form, Program};
use crate::report::import::Imported;
use crate::scope::AgentId;
use crate::source::find::{find, is_a_file_of_its_own};
use crate::worker;

/// An import of more turns than this merges the index's segments afterwards.
const MANY_TURNS: u64 = 20_000;

/// A session store to read.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Source {
    /// Name of its program, one the engine was opened with.
    pub program: &'static str,
    pub form: Form,
    pub path: PathBuf,
}

impl Instance {
    /// Returns the session stores of a program on this machine, and the folders that could not be listed.
    pub fn stores_of(&self, program: &dyn Program) -> (Vec<Source>, Vec<Problem>) {
        let (mut sources, mut problems) = (Vec::new(), Vec::new());
        for root in program.roots().into_iter().filter(|root| root.exists()) {
            let (files, errors) = find(&root, &|path| program.form(path).is_some());
            problems.extend(errors.iter().map(|e| Problem::of(&root, e)));
            sources.extend(
                files
                    .into_iter()
                    .filter_map(|path| Some(Source { program: program.name(), form: program.form(&path)?, path })),
            );
        }
        (sources, problems)
    }

    /// Reads sources into the ledger and the index, distils the new turns and renders the pages that show them, with
    /// progress. An error in one source becomes a problem of the result, and the next source is read.
    pub fn import(&self, agent: &AgentId, actor: &str, sources: &[Source]) -> Result<Imported> {
        let started = Instant::now();
        let (totals, mut problems) = self.store(agent, actor, sources)?;
        problems.extend(self.distil(actor, None)?.problems);
        // Indexes the nodes that were just made, so that searches find them.
        self.index()?.catch_up(&self.ledger, None, &mut |_| {})?;
        if totals.records > 0 || self.agent_no(agent)?.is_some() {
            self.settle_conversations(agent, actor);
        }
        Ok(Imported::of(&totals, problems, started.elapsed().as_secs_f64()))
    }

    /// Does the first part of [`Instance::import`]: stores turns in the ledger and the index, and marks their sessions
    /// as due for distilling.
    pub fn store(&self, agent: &AgentId, actor: &str, sources: &[Source]) -> Result<(Totals, Vec<Problem>)> {
        // Two imports at once are safe, but the second would read again what the first has just read. Without the lock
        // this import goes on.
        let _lock = self.home.try_lock("import")?;
        let mut index = self.index()?;
        if self.is_ahead(&index) {
            drop(index);
            index = self.recreate_index(BUSY)?;
        }
        // Indexes the turns that an interrupted import left out, so that new turns can be added as they are stored.
        self.build_if_behind(&mut index)?;
        let bytes = sources.iter().map(|s| std::fs::metadata(&s.path).map_or(0, |m| m.len())).sum();
        self.listener.progress(Progress::Begin(Task::Importing, bytes));
        let read = self.read_sources(agent, actor, sources, &mut index);
        self.listener.progress(Progress::End);
        let (totals, problems) = read?;
        index.catch_up(&self.ledger, None, &mut |_| {})?;
        if totals.turns > MANY_TURNS {
            index.settle()?;
        }
        if totals.turns > 0 {
            self.ledger.write(Audit::new(actor, "job.enqueue"), |tx| {
                let due = tx.now();
                job_queue::enqueue(tx, JobKind::CloseIdle, "all", "{}", due).map(drop)
            })?;
            self.drain(&mut index, actor)?;
        }
        Ok((totals, problems))
    }

    fn read_sources(
        &self,
        agent: &AgentId,
        actor: &str,
        sources: &[Source],
        index: &mut crate::index::Index,
    ) -> Result<(Totals, Vec<Problem>)> {
        let user_home = self.settings.user_home.as_deref();
        let mut capture = Capture::new(&self.ledger, Some(index), actor, &self.scratch()?, user_home)?;
        capture.leaving_out(&self.home.root().join(layout::MODEL.as_str()));
        let listener = self.listener.clone();
        capture.on_progress(move |bytes| listener.progress(Progress::More(bytes)));
        for (n, source) in sources.iter().enumerate() {
            self.listener.progress(Progress::Source(n + 1, sources.len()));
            if let Some(program) = self.program(source.program) {
                capture.store(program, agent, &source.path, source.form)?;
            }
        }
        capture.finish()
    }

    /// Runs the jobs that are due.
    pub(super) fn drain(&self, index: &mut crate::index::Index, actor: &str) -> Result<worker::Drained> {
        let owner = owner(actor);
        worker::drain(&self.ledger, index, &owner, &mut |job| match job.kind {
            JobKind::Evolve | JobKind::Tidy => self.evolve_job(job, actor),
            _ => self.read_store(&job.payload, actor),
        })
    }

    /// Reads the store that a hook named; without a path, every store of that program. A store that is gone is skipped.
    fn read_store(&self, payload: &str, actor: &str) -> Result<()> {
        /// The payload of [`JobKind::Capture`]. Fields that only a newer version knows are ignored.
        #[derive(Deserialize, Default)]
        #[serde(default)]
        struct Wanted {
            harness: Option<String>,
            agent: Option<String>,
            path: Option<String>,
            told: Option<Told>,
        }
        /// Answers that a hook passed on, which become turns once the store has been read.
        #[derive(Deserialize)]
        struct Told {
            session: String,
            hook: String,
            at: Millis,
        }
        let wanted: Wanted = serde_json::from_str(payload).unwrap_or_default();
        let Some(program) = wanted.harness.as_deref().and_then(|name| self.program(name)) else { return Ok(()) };
        let named = wanted.agent.as_deref().and_then(|id| AgentId::parse(id).ok());
        let agent = named.unwrap_or_else(|| self.settings.agent.clone());
        let stores = match wanted.path.filter(|path| !path.is_empty()) {
            Some(path) => vec![PathBuf::from(path)],
            None => self.stores_of(program).0.into_iter().map(|source| source.path).collect(),
        };
        let user_home = self.settings.user_home.as_deref();
        let mut capture = Capture::new(&self.ledger, None, actor, &self.scratch()?, user_home)?;
        capture.leaving_out(&self.home.root().join(layout::MODEL.as_str()));
        for path in stores.iter().filter(|path| is_a_file_of_its_own(path).is_ok()) {
            if let Some(form) = program.form(path) {
                capture.store(program, &agent, path, form)?;
            }
        }
        if let Some(Told { session, hook, at }) = wanted.told {
            capture.told_answers(program, &agent, &session, |payload| {
                program.hook_call(&hook, payload, at).ok().flatten().as_ref().and_then(answer_told)
            })?;
        }
        capture.finish().map(drop)
    }
}

/// Returns the name under which this process holds leases of jobs.
pub(super) fn owner(actor: &str) -> String {
    format!("{actor} {}", std::process::id())
}
