//! Capture: appends new parts of programs' files and databases, and lines passed in live, to the ledger in batches
//! (R5.1). Storey 3.
//!
//! A [`Capture`] reads sources one after the other, plans steps with no lock held and commits them in batches of about
//! a megabyte, so that a write transaction stays far below 50 ms and hooks are not kept waiting. Memory is bounded by
//! one batch and one line, not by the size of an archive. A source that cannot be read becomes a [`Problem`], and the
//! next one is read.
//!
//! This room knows no program by name: the caller passes a [`Program`].

mod database;
mod file;
mod hook;
mod live;
mod notice;

use std::path::{Path, PathBuf};

use crate::error::{Error, ErrorKind, Problem, Result};
use crate::event::{Placement, RecordClass};
use crate::index::Index;
use crate::ledger::forgotten_names::ForgottenNames;
use crate::ledger::job_queue::{self, JobKind};
use crate::ledger::{Audit, Ledger, Write};
use crate::lineage::undistilled;
use crate::program::{Form, Program};
use crate::scope::AgentId;
use crate::transcript::append::Names;
use crate::transcript::prepare::{Origin, OriginForm, PlannedRecord};
use crate::transcript::{Appended, IDLE_MS, Preparer, StreamMoved, append};

pub use live::LineAck;

/// Source bytes of a full batch, which is then committed…
const BATCH_BYTES: u64 = 1 << 20;
/// …or records of a full batch, which bounds the transaction's time when records are tiny.
const BATCH_RECORDS: usize = 1500;

/// Number of times a source is planned again because another process is reading it, too.
const ATTEMPTS: usize = 5;

/// Counts of what a capture has done.
#[derive(Default, Clone, Debug)]
pub struct Totals {
    /// Sources with something new.
    pub sources_read: u64,
    /// Sources without changes.
    pub sources_unchanged: u64,
    /// Sources that could not be read at all.
    pub sources_failed: u64,
    pub records: u64,
    pub bytes: u64,
    pub turns: u64,
    pub witnesses: u64,
    pub references: u64,
    pub quarantined: u64,
    /// Sources found rewritten: their new contents are stored as a new generation.
    pub rewritten: u64,
    /// Spans marked private, which are not stored.
    pub private: u64,
}

/// Reads sources into the ledger and keeps the index in step.
pub struct Capture<'l> {
    ledger: &'l Ledger,
    index: Option<&'l mut Index>,
    actor: String,
    preparer: Preparer,
    planned_records: usize,
    planned_private: u64,
    names: Names,
    /// Names that must not be stored again as the name of a source or a session.
    forgotten: ForgottenNames,
    totals: Totals,
    problems: Vec<Problem>,
    /// Problems with records that are planned and not yet committed.
    planned_problems: Vec<Problem>,
    /// Sources whose last step is planned and not yet committed.
    planned_sources: Vec<(PathBuf, AgentId)>,
    /// Sources to be read again, because their plan was outdated at the commit.
    again: Vec<(PathBuf, AgentId)>,
    scratch: PathBuf,
    /// Folder whose sessions are not stored.
    left_out: Option<PathBuf>,
    /// Called with the source bytes of each commit.
    progress: Box<dyn FnMut(u64) + 'l>,
}

impl<'l> Capture<'l> {
    /// `actor`: who acts, for the audit log. `scratch`: a private folder for copies of locked databases. `user_home`:
    /// the user's home directory, if known. `index`: updated with each commit if given.
    pub fn new(
        ledger: &'l Ledger,
        index: Option<&'l mut Index>,
        actor: &str,
        scratch: &Path,
        user_home: Option<&Path>,
    ) -> Result<Capture<'l>> {
        Ok(Capture {
            ledger,
            index,
            actor: actor.to_owned(),
            preparer: Preparer::new(user_home)?,
            planned_records: 0,
            planned_private: 0,
            names: Names::default(),
            forgotten: ledger.read(ForgottenNames::load)?,
            totals: Totals::default(),
            problems: Vec::new(),
            planned_problems: Vec::new(),
            planned_sources: Vec::new(),
            again: Vec::new(),
            scratch: scratch.to_owned(),
            left_out: None,
            progress: Box::new(|_| {}),
        })
    }

    /// Leaves out new session files whose conversation took place in this folder: programs that are asked as a language
    /// model run there, and such a session is not a conversation of a person.
    pub fn leaving_out(&mut self, folder: &Path) {
        self.left_out = Some(folder.canonicalize().unwrap_or_else(|_| folder.to_owned()));
    }

    /// Sets the function that is called with the number of source bytes of each commit.
    pub fn on_progress(&mut self, progress: impl FnMut(u64) + 'l) {
        self.progress = Box::new(progress);
    }

    /// Reads the new part of a session file. Returns only errors of the ledger; anything wrong with the file becomes a
    /// problem.
    pub fn file(&mut self, program: &dyn Program, agent: &AgentId, path: &Path) -> Result<()> {
        self.source(path, agent, |this| file::read(this, program, agent, path))?;
        self.settle_again(&|this, agent, path| file::read(this, program, agent, path))
    }

    /// Reads new and changed rows of a program's SQLite store.
    pub fn database(&mut self, program: &dyn Program, agent: &AgentId, path: &Path) -> Result<()> {
        self.source(path, agent, |this| database::read(this, program, agent, path))?;
        self.settle_again(&|this, agent, path| database::read(this, program, agent, path))
    }

    /// Reads the new part of a session store of either form.
    pub fn store(&mut self, program: &dyn Program, agent: &AgentId, path: &Path, form: Form) -> Result<()> {
        match form {
            Form::Lines => self.file(program, agent, path),
            Form::Foreign => self.database(program, agent, path),
        }
    }

    /// Stores one line of a live conversation and, after the commit, returns what was done with it.
    pub fn line(&mut self, program: &dyn Program, agent: &AgentId, line: &[u8]) -> Result<LineAck> {
        live::store(self, program, agent, line)
    }

    /// Commits the rest of the plan. `Busy` if another process keeps reading the same sources: that process then stores
    /// their contents.
    pub fn finish(mut self) -> Result<(Totals, Vec<Problem>)> {
        self.commit()?;
        if !self.again.is_empty() {
            return Err(Error::new(ErrorKind::Busy, "another import is reading the same sources")
                .hint("run the command again when it has finished; nothing is lost"));
        }
        if let Some(index) = self.index.as_deref_mut() {
            index.flush()?;
        }
        Ok((self.totals, self.problems))
    }

    fn source(&mut self, path: &Path, agent: &AgentId, read: impl FnOnce(&mut Self) -> Result<Outcome>) -> Result<()> {
        match read(self) {
            Ok(Outcome::Unchanged) => self.totals.sources_unchanged += 1,
            Ok(Outcome::Read) => {
                self.totals.sources_read += 1;
                self.planned_sources.push((path.to_owned(), agent.clone()));
            }
            Ok(Outcome::Failed(problem)) => {
                self.totals.sources_failed += 1;
                self.problems.push(problem);
            }
            Err(e) if is_moved(&e) => {
                self.again.append(&mut self.planned_sources);
                self.again.push((path.to_owned(), agent.clone()));
                self.discard();
            }
            Err(e) => return Err(e),
        }
        if self.planned_full() { self.commit() } else { Ok(()) }
    }

    /// Plans sources again whose earlier plan was outdated at the commit.
    fn settle_again(&mut self, read: &dyn Fn(&mut Self, &AgentId, &Path) -> Result<Outcome>) -> Result<()> {
        for _ in 0..ATTEMPTS {
            let again = std::mem::take(&mut self.again);
            if again.is_empty() {
                break;
            }
            for (path, agent) in again {
                match read(self, &agent, &path).and_then(|outcome| self.try_commit().map(|()| outcome)) {
                    Ok(Outcome::Failed(problem)) => self.problems.push(problem),
                    Ok(_) => {}
                    Err(e) if is_moved(&e) => {
                        self.discard();
                        self.again.push((path, agent));
                    }
                    Err(e) => return Err(e),
                }
            }
        }
        Ok(())
    }

    fn planned_full(&self) -> bool {
        self.preparer.bytes() >= BATCH_BYTES || self.planned_records >= BATCH_RECORDS
    }

    /// Commits the planned steps; sources whose plan is outdated are read again.
    fn commit(&mut self) -> Result<()> {
        match self.try_commit() {
            Err(e) if is_moved(&e) => {
                self.again.append(&mut self.planned_sources);
                self.discard();
                Ok(())
            }
            other => other,
        }
    }

    fn try_commit(&mut self) -> Result<()> {
        if self.preparer.is_empty() {
            self.problems.append(&mut self.planned_problems);
            self.planned_sources.clear();
            return Ok(());
        }
        let batch = self.preparer.finish()?;
        self.planned_records = 0;
        let private = std::mem::take(&mut self.planned_private);
        let bytes = batch.bytes;
        let noticed = notice::in_batch(&batch);
        let why = Audit::new(&self.actor, "transcript.append");
        let names = &mut self.names;
        let done = self.ledger.write(why, |tx| {
            note_private(tx, private);
            let appended = append(tx, batch, names)?;
            if !appended.fresh.is_empty() {
                // A session that goes quiet sends no event, so a check is scheduled.
                let due = tx.now() + IDLE_MS;
                job_queue::enqueue(tx, JobKind::CloseIdle, "all", "{}", due)?;
            }
            notice::store(tx, &appended.fresh, &noticed)?;
            if appended.records > 0 {
                undistilled::mark(tx, &appended.sessions)?;
            }
            Ok(appended)
        });
        let appended = match done {
            Ok(appended) => appended,
            Err(e) => {
                self.names.clear();
                return Err(e);
            }
        };
        self.count(&appended);
        self.totals.private += private;
        self.problems.append(&mut self.planned_problems);
        self.planned_sources.clear();
        if let Some(index) = self.index.as_deref_mut() {
            index.add(&appended.fresh)?;
        }
        (self.progress)(bytes);
        Ok(())
    }

    fn discard(&mut self) {
        let _ = self.preparer.finish();
        self.planned_records = 0;
        self.planned_private = 0;
        self.planned_problems.clear();
        self.planned_sources.clear();
    }

    fn count(&mut self, appended: &Appended) {
        self.totals.records += appended.records;
        self.totals.bytes += appended.bytes;
        self.totals.turns += appended.fresh.len() as u64;
        self.totals.witnesses += appended.witnesses;
        self.totals.references += appended.references;
        self.totals.quarantined += appended.quarantined;
    }

    /// Adds a quarantined record to the report printed after the commit.
    fn note_quarantine(&mut self, place: &Path, record: &PlannedRecord, offset: Option<u64>) {
        if record.class == RecordClass::Quarantined
            && let Some((reason, line)) = &record.reason
        {
            self.planned_problems.push(Problem {
                place: place.display().to_string(),
                offset,
                line: line.map(|l| l as u64),
                what: format!("{reason}; set aside, the rest imported"),
            });
        }
    }
}

/// The result of reading a source.
enum Outcome {
    Unchanged,
    Read,
    Failed(Problem),
}

impl Outcome {
    fn failed(path: &Path, error: &Error) -> Outcome {
        Outcome::Failed(Problem::of(path, error))
    }
}

/// Notes in the audit row how many private spans were left out.
fn note_private(tx: &mut Write, spans: u64) {
    if spans > 0 {
        tx.note("private", spans);
    }
}

/// Whether a commit was refused because a stream had advanced since it was planned.
fn is_moved(error: &Error) -> bool {
    error.was_caused_by::<StreamMoved>()
}

fn origin(
    capture: &Capture,
    program: &dyn Program,
    placement: &Placement,
    agent: &AgentId,
    form: OriginForm,
    path: &Path,
) -> Origin {
    // Sessions in a folder that names an agent go to that agent's memory (D3).
    let agent = match placement.agent.as_deref().map(AgentId::parse) {
        Some(Ok(named)) if named != AgentId::main() => named,
        _ => agent.clone(),
    };
    Origin {
        agent,
        harness: program.name(),
        global_ids: program.global_ids(),
        decoding: program.decoding(),
        form,
        path: capture.forgotten.marked_path(path),
    }
}
