//! Runs queued jobs, in any process. Storey 4 (R11.1).
//!
//! Nothing sleeps here: [`drain`] runs the jobs that are due and returns. `heirloom work` calls it; hooks and commands
//! never need it to be running. A job is claimed with a lease, run outside any transaction and marked done in one; if a
//! worker dies, its lease expires and another takes over, so every kind of job must be idempotent.

use std::collections::BTreeSet;
use std::time::{Duration, Instant};

use crate::clock::Millis;
use crate::distill::advance::{Advanced, Limits, Pass};
use crate::error::{Error, Problem, Result};
use crate::index::Index;
use crate::ledger::job_queue::{self, Job, JobKind};
use crate::ledger::{Audit, Ledger, Write, hook_calls};
use crate::lineage::undistilled;
use crate::render;
use crate::scope::{AgentId, SessionKey};
use crate::transcript;
use crate::tree::AssistantHome;

/// Delay before another attempt at an index that another process is writing, in milliseconds.
const INDEX_RETRY_MS: i64 = 2000;

/// Delay before asking a model again that did not answer, in milliseconds.
const MODEL_RETRY_MS: i64 = 60_000;

/// Longest time one job makes vectors before other jobs run.
const VECTORS: Duration = Duration::from_secs(20);

/// The result of a drain.
#[derive(Clone, Copy, Default, PartialEq, Eq, Debug)]
pub struct Drained {
    pub done: u64,
    pub failed: u64,
    /// Number of jobs that are not due yet.
    pub later: u64,
}

/// Runs a job of rooms the worker does not know: reads a program's store, named by the payload of a
/// [`JobKind::Capture`], or changes an agent's visible files. Must not repeat work that is already done.
pub type Outside<'r> = dyn FnMut(&Job) -> Result<()> + 'r;

/// Runs every job that is due. `owner` names this worker in the leases.
pub fn drain(ledger: &Ledger, index: &mut Index, owner: &str, outside: &mut Outside) -> Result<Drained> {
    let mut drained = Drained::default();
    // After a change of the embedding model vectors are missing although nothing was captured.
    if vectors_lacking(ledger, index)? > 0 && !index.embedder_rests() {
        ledger.write(Audit::new(owner, "job.enqueue"), |tx| {
            let due = tx.now();
            job_queue::enqueue(tx, JobKind::Index, "all", "{}", due).map(drop)
        })?;
    }
    // Checking first avoids a write for an empty queue.
    while ledger.read(|tx| job_queue::counts(tx, ledger.now()))?.due > 0 || has_expired(ledger)? {
        let claimed = ledger.write(Audit::new(owner, "job.claim"), |tx| {
            let job = job_queue::claim(tx, owner)?;
            if let Some(job) = &job {
                tx.note("job", job.no);
                tx.note("kind", job.kind.name());
            }
            Ok(job)
        })?;
        let Some(job) = claimed else { break };
        match run(ledger, index, &job, owner, outside) {
            Ok(()) => drained.done += 1,
            Err(e) => {
                drained.failed += 1;
                ledger.write(Audit::new(owner, "job.fail"), |tx| {
                    tx.note("job", job.no);
                    tx.note("error", e.to_string());
                    job_queue::fail(tx, &job, owner, &e.to_string())
                })?;
            }
        }
    }
    drained.later = ledger.read(|tx| job_queue::counts(tx, ledger.now()))?.later;
    Ok(drained)
}

fn run(ledger: &Ledger, index: &mut Index, job: &Job, owner: &str, outside: &mut Outside) -> Result<()> {
    match job.kind {
        JobKind::Index => {
            index.catch_up(ledger, None, &mut |_| {})?;
            let before = vectors_lacking(ledger, index)?;
            index.fill_vectors(ledger, Some(Instant::now() + VECTORS), &mut |_| {})?;
            let lacking = vectors_lacking(ledger, index)?;
            ledger.write(Audit::new(owner, "job.done"), |tx| {
                tx.note("job", job.no);
                job_queue::complete(tx, job, owner)?;
                // No second index job can be queued while this one runs, so turns captured meanwhile are looked for
                // here.
                let again = match (index.coverage(tx)?.missing, lacking) {
                    (0, 0) => None,
                    (0, _) if index.embedder_rests() => Some(MODEL_RETRY_MS),
                    (0, _) if lacking < before => Some(0),
                    _ => Some(INDEX_RETRY_MS),
                };
                if let Some(pause) = again {
                    job_queue::enqueue(tx, JobKind::Index, "all", "{}", tx.now() + pause)?;
                }
                Ok(())
            })
        }
        // State and completion in one transaction: done exactly once.
        JobKind::CloseIdle => ledger.write(Audit::new(owner, "run.close_idle"), |tx| {
            let closed = transcript::close_idle(tx)?;
            render::continuity::mark_closed(tx, &closed.sessions)?;
            hook_calls::prune(tx)?;
            job_queue::complete(tx, job, owner)?;
            if let Some(at) = closed.next {
                job_queue::enqueue(tx, JobKind::CloseIdle, "all", "{}", at)?;
            }
            tx.note("job", job.no);
            Ok(())
        }),
        // Every worker makes due summaries anyway; the job only sets the time at which one should run.
        JobKind::Summaries => ledger.write(Audit::new(owner, "job.done"), |tx| {
            tx.note("job", job.no);
            job_queue::complete(tx, job, owner)
        }),
        // Reading a store again stores nothing twice.
        JobKind::Capture => {
            outside(job)?;
            let ended = Ended::of(&job.payload);
            ledger.write(Audit::new(owner, "job.done"), |tx| {
                tx.note("job", job.no);
                if let Some(ended) = &ended {
                    ended.store(tx)?;
                }
                job_queue::complete(tx, job, owner)
            })
        }
        // Each of these jobs is one act of the file journal; the rows that record its result are in the transaction
        // that plans it.
        JobKind::Evolve | JobKind::Tidy => {
            outside(job)?;
            ledger.write(Audit::new(owner, "job.done"), |tx| {
                tx.note("job", job.no);
                job_queue::complete(tx, job, owner)
            })
        }
    }
}

/// The end of a session, from the payload of a [`JobKind::Capture`].
struct Ended {
    agent: String,
    session: SessionKey,
    at: Millis,
}

impl Ended {
    /// Reads the end from a payload. `None`: the payload has none.
    fn of(payload: &str) -> Option<Ended> {
        let payload: serde_json::Value = serde_json::from_str(payload).ok()?;
        let ended = payload.get("ended")?;
        Some(Ended {
            agent: payload.get("agent")?.as_str()?.to_owned(),
            session: SessionKey::from(ended.get("session")?.as_str()?.to_owned()),
            at: ended.get("at")?.as_i64()?,
        })
    }

    /// Stores the end, now that the store has been read up to it.
    fn store(&self, tx: &mut Write) -> Result<()> {
        let Ok(agent) = AgentId::parse(&self.agent) else { return Ok(()) };
        let Some(agent_no) = transcript::read::agent_no(tx, &agent)? else { return Ok(()) };
        if let Some(session_no) = transcript::end_told(tx, agent_no, &self.session, self.at, true)? {
            undistilled::mark(tx, &[session_no])?;
            render::continuity::mark_closed(tx, &BTreeSet::from([session_no]))?;
        }
        Ok(())
    }
}

/// Counts the turns and nodes that have text but no vector. Vectors of files are made with the files.
fn vectors_lacking(ledger: &Ledger, index: &Index) -> Result<u64> {
    let missing = ledger.read(|tx| index.vectors_missing(tx))?;
    Ok(missing.turns + missing.nodes)
}

fn has_expired(ledger: &Ledger) -> Result<bool> {
    ledger.read(|tx| job_queue::has_expired(tx, ledger.now()))
}

/// The result of distilling.
#[derive(Clone, Default, Debug)]
pub struct Distilled {
    /// Sessions examined.
    pub sessions: u64,
    pub made: Advanced,
    /// Sessions still due because time ran out.
    pub left: u64,
    pub problems: Vec<Problem>,
}

/// Number of sessions taken from the queue at once. Each query sorts all due sessions, so it should be rare.
const AT_ONCE: usize = 1_024;

/// Time in which a session that could not be distilled is not tried again, in milliseconds.
const SESSION_RETRY_MS: i64 = 10 * 60_000;

/// Distils all due sessions of an agent, least recently active first. Each due session has a row, written with its
/// turns, so that this can stop at any time and another process can continue; repeating a step makes nothing twice.
/// `until`: when to stop, between two sessions. `progress` receives the number of sessions done.
pub fn distil(
    at: &AssistantHome,
    limits: Limits,
    until: Option<Instant>,
    progress: &mut dyn FnMut(u64),
) -> Result<Distilled> {
    distil_by(&Pass::new(at, limits), until, progress)
}

/// Distils like [`distil`], with the caller's pass, which determines how summaries are made ([`Pass::summarized_by`]).
pub fn distil_by(pass: &Pass, until: Option<Instant>, progress: &mut dyn FnMut(u64)) -> Result<Distilled> {
    let at = pass.at;
    let mut out = Distilled::default();
    loop {
        let due = at.read(|tx| undistilled::due(tx, at.ledger.now(), Some(at.agent_no), AT_ONCE))?;
        if due.is_empty() {
            return Ok(out);
        }
        for session in due {
            if until.is_some_and(|until| Instant::now() >= until) {
                out.left = at.read(|tx| undistilled::counts(tx, at.ledger.now(), Some(at.agent_no)))?.0;
                return Ok(out);
            }
            match pass.session(session.session_no) {
                Ok(made) => out.made.add(&made),
                Err(e) => {
                    out.problems.push(Problem::of(std::path::Path::new("lineage"), &e));
                    postpone(at, &session, &e)?;
                }
            }
            out.sessions += 1;
            progress(out.sessions);
        }
    }
}

/// Postpones a session and records why.
fn postpone(at: &AssistantHome, session: &undistilled::Due, error: &Error) -> Result<()> {
    at.write("lineage.failed", |tx| {
        tx.note("session_no", session.session_no);
        tx.note("error", error.to_string());
        let again = tx.now() + SESSION_RETRY_MS;
        undistilled::done(tx, session.session_no, session.mark, Some(again))
    })
}
