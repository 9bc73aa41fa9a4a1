//! The job queue: work that may be deferred, done effectively once by any process (R11.1).
//!
//! A job is claimed with a lease; a worker that dies loses it and another takes over. Kinds this build cannot run are
//! never enqueued, because [`JobKind`] is the only way to name one.

use rusqlite::{OptionalExtension, params};

use crate::clock::Millis;
use crate::error::Result;
use crate::ledger::{Read, Write};
use crate::scope::named;

named! {
    /// Everything that can be queued.
    pub enum JobKind {
        /// Index what was added to the ledger.
        Index = "index",
        /// Close runs and sessions that have been quiet for ten minutes.
        CloseIdle = "close-idle",
        /// Read a program's store; the payload says which (R12.5).
        Capture = "capture",
        /// Ask the language model for summaries.
        Summaries = "summaries",
        /// Read sessions that have ended for facts about their projects; the payload names the agent (R11.3).
        Evolve = "evolve",
        /// Check what is remembered, once a night; the payload names the agent (R11.3).
        Tidy = "tidy",
    }
}

/// A claimed job.
#[derive(Clone, Debug)]
pub struct Job {
    pub no: i64,
    pub kind: JobKind,
    pub payload: String,
    pub attempts: i64,
}

/// Most attempts of a job before it becomes a dead letter.
const MAX_ATTEMPTS: i64 = 5;

/// Time in milliseconds after which another worker may take over a job. Every kind takes well under a second per step.
const LEASE_MS: i64 = 60_000;

/// Queues a job unless an equal one is already waiting. Returns whether it was queued.
pub fn enqueue(tx: &Write, kind: JobKind, key: &str, payload: &str, not_before: Millis) -> Result<bool> {
    let new = tx
        .prepare_cached(
            "INSERT INTO jobs (kind, payload, idempotency_key, state, not_before, created_at)
             VALUES (?1, ?2, ?3, 'queued', ?4, ?5) ON CONFLICT DO NOTHING",
        )?
        .execute(params![kind.name(), payload, key, not_before, tx.now()])?;
    Ok(new > 0)
}

/// Claims the oldest job that is due or whose lease has expired. A lease that ends later than a full lease from now was
/// taken before the clock was set back, and counts as expired.
pub fn claim(tx: &Write, owner: &str) -> Result<Option<Job>> {
    let now = tx.now();
    // A job whose workers keep dying becomes a dead letter, too.
    tx.prepare_cached(
        "UPDATE jobs SET state = 'dead', last_error = 'its workers never came back', lease_owner = NULL, lease_until = NULL
         WHERE state = 'running' AND (lease_until < ?1 OR lease_until > ?3) AND attempts >= ?2",
    )?
    .execute([now, MAX_ATTEMPTS, now + LEASE_MS])?;
    let known: Vec<String> = JobKind::ALL.iter().map(|k| format!("'{}'", k.name())).collect();
    let row = tx
        .prepare_cached(&format!(
            "UPDATE jobs SET state = 'running', attempts = attempts + 1, lease_owner = ?1, lease_until = ?2
             WHERE job_no = (SELECT job_no FROM jobs
                             WHERE kind IN ({}) AND ((state = 'queued' AND not_before <= ?3)
                                OR (state = 'running' AND (lease_until < ?3 OR lease_until > ?2)))
                             ORDER BY not_before, job_no LIMIT 1)
             RETURNING job_no, kind, payload, attempts",
            known.join(", ")
        ))?
        .query_row(params![owner, now + LEASE_MS, now], |r| {
            Ok((r.get::<_, i64>(0)?, r.get::<_, String>(1)?, r.get::<_, String>(2)?, r.get::<_, i64>(3)?))
        })
        .optional()?;
    Ok(row.and_then(|(no, kind, payload, attempts)| Some(Job { no, kind: JobKind::named(&kind)?, payload, attempts })))
}

/// Marks a job done, if `owner` still holds it.
pub fn complete(tx: &Write, job: &Job, owner: &str) -> Result<()> {
    tx.execute(
        "UPDATE jobs SET state = 'done', done_at = ?3, lease_owner = NULL, lease_until = NULL
         WHERE job_no = ?1 AND lease_owner = ?2",
        params![job.no, owner, tx.now()],
    )?;
    // The audit log already records finished jobs; a few are kept for `status`.
    tx.execute("DELETE FROM jobs WHERE state = 'done' AND job_no <= ?1 - 100", [job.no])?;
    Ok(())
}

/// Requeues a job with a growing delay (2 s, 4 s, …), or makes it a dead letter after [`MAX_ATTEMPTS`].
pub fn fail(tx: &Write, job: &Job, owner: &str, error: &str) -> Result<()> {
    let state = if job.attempts >= MAX_ATTEMPTS { "dead" } else { "queued" };
    let pause = 1000i64 << job.attempts.clamp(1, 10);
    tx.execute(
        "UPDATE jobs SET state = ?3, not_before = ?4, last_error = ?5, lease_owner = NULL, lease_until = NULL
         WHERE job_no = ?1 AND lease_owner = ?2",
        params![job.no, owner, state, tx.now() + pause, error],
    )?;
    Ok(())
}

/// Requeues the jobs of a worker that ends, so that others may take them at once. Returns how many there were.
pub fn release(tx: &Write, owner: &str) -> Result<u64> {
    let given_back = tx.execute(
        "UPDATE jobs SET state = 'queued', attempts = attempts - 1, lease_owner = NULL, lease_until = NULL
         WHERE state = 'running' AND lease_owner = ?1",
        [owner],
    )?;
    Ok(given_back as u64)
}

/// Whether `owner` holds a running job.
pub fn holds(tx: &Read, owner: &str) -> Result<bool> {
    Ok(tx.prepare_cached("SELECT 1 FROM jobs WHERE state = 'running' AND lease_owner = ?1 LIMIT 1")?.exists([owner])?)
}

/// Whether the lease of a running job has expired.
pub fn has_expired(tx: &Read, now: Millis) -> Result<bool> {
    Ok(tx
        .prepare_cached(
            "SELECT 1 FROM jobs WHERE state = 'running' AND (lease_until < ?1 OR lease_until > ?2) LIMIT 1",
        )?
        .exists([now, now + LEASE_MS])?)
}

/// The number of jobs in each state.
#[derive(Clone, Copy, PartialEq, Eq, Default, serde::Serialize, schemars::JsonSchema, Debug)]
pub struct Counts {
    pub due: u64,
    pub later: u64,
    pub running: u64,
    pub dead: u64,
}

/// Returns the time at which the next queued job that is not due yet becomes due.
pub fn next(tx: &Read, now: Millis) -> Result<Option<Millis>> {
    Ok(tx
        .prepare_cached("SELECT min(not_before) FROM jobs WHERE state = 'queued' AND not_before > ?1")?
        .query_row([now], |r| r.get(0))?)
}

pub fn counts(tx: &Read, now: Millis) -> Result<Counts> {
    let mut counts = Counts::default();
    let mut statement =
        tx.prepare("SELECT state, not_before <= ?1, count(*) FROM jobs WHERE state != 'done' GROUP BY 1, 2")?;
    let mut rows = statement.query([now])?;
    while let Some(r) = rows.next()? {
        let n: i64 = r.get(2)?;
        match (r.get::<_, String>(0)?.as_str(), r.get::<_, bool>(1)?) {
            ("queued", true) => counts.due += n as u64,
            ("queued", false) => counts.later += n as u64,
            ("running", _) => counts.running += n as u64,
            _ => counts.dead += n as u64,
        }
    }
    Ok(counts)
}
