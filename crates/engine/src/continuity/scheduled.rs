//! Scheduled jobs: which command ran for the agent, when, and how it ended (R8.4). The caller starts the command; this
//! room stores a ledger row for the run just before the start.
//!
//! The process that runs a command holds a lock until the command ends. A run without an end whose lock is free was cut
//! off: its wrapper was killed, or the machine went down. The next command that notices records this.

use std::time::Duration;

use rusqlite::{OptionalExtension, Row, params};
use schemars::JsonSchema;
use serde::Serialize;
use serde_json::{Map, Value};

use super::artifact::{self, NewArtifact, Text};
use super::output::Output;
use crate::clock::Millis;
use crate::error::{Error, ErrorKind, Result};
use crate::home::{HomeLock, RelPath, layout};
use crate::ledger::{Read, Write};
use crate::pages::{self, Happened};
use crate::redact::redact;
use crate::scope::{AgentNo, JobRunNo};
use crate::title::wordless;
use crate::tree::AssistantHome;
use crate::tree::journal::Act;
use crate::tree::provenance::{Origin, Provenance};

/// Longest stored command, in characters; a longer one is cut.
const LONGEST_COMMAND: usize = 4_000;

/// The longest error text of a failure.
const LONGEST_ERROR: usize = 500;

/// Longest time the end of a run waits for the tree lock before it is recorded without its output.
const PATIENCE: Duration = Duration::from_secs(30);

/// Age of the oldest runs that are searched for a missing end, in milliseconds.
const LOOK_BACK_MS: Millis = 31 * 24 * 3_600_000;

/// The name of a job: `[A-Za-z0-9][A-Za-z0-9._ -]{0,63}`.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub struct JobName(String);

impl JobName {
    pub fn parse(text: &str) -> Result<JobName> {
        let plain = |b: u8| b.is_ascii_alphanumeric();
        let ok = (1..=64).contains(&text.len())
            && plain(text.as_bytes()[0])
            && text.bytes().all(|b| plain(b) || b"._ -".contains(&b));
        if ok {
            return Ok(JobName(text.to_owned()));
        }
        let shown: String = text.chars().take(80).collect();
        Err(Error::usage(format!("{shown:?} cannot name a job"))
            .hint("1 to 64 of A-Z, a-z, 0-9, space, . _ and -, beginning with a letter or digit"))
    }

    pub fn as_str(&self) -> &str {
        &self.0
    }
}

/// The outcome of a command.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Outcome {
    Exit(i32),
    Signal(i32),
    /// The command could not be started, or Heirloom stopped it.
    Failed {
        code: Option<i32>,
        signal: Option<i32>,
        why: String,
    },
}

/// The state of a run.
#[derive(Clone, Copy, PartialEq, Eq, Serialize, JsonSchema, Debug)]
#[serde(rename_all = "lowercase")]
pub enum Status {
    Running,
    Done,
    Failed,
}

impl Status {
    pub fn name(self) -> &'static str {
        match self {
            Status::Running => "running",
            Status::Done => "done",
            Status::Failed => "failed",
        }
    }
}

/// A row of the table of runs.
#[derive(Clone, PartialEq, Eq, Serialize, JsonSchema, Debug)]
pub struct Run {
    #[serde(rename = "run")]
    pub no: JobRunNo,
    #[serde(rename = "job")]
    pub name: String,
    /// The command with credentials redacted.
    pub command: String,
    pub started_at: Millis,
    pub ended_at: Option<Millis>,
    pub exit_code: Option<i32>,
    pub signal: Option<i32>,
    /// The path of the artifact with its output.
    pub artifact: Option<String>,
    pub error: Option<String>,
    /// Whether a person acknowledged the failure.
    pub acknowledged: bool,
}

impl Run {
    pub fn status(&self) -> Status {
        match self {
            Run { ended_at: None, .. } => Status::Running,
            Run { error: None, signal: None, exit_code: Some(0), .. } => Status::Done,
            _ => Status::Failed,
        }
    }
}

/// A run in progress. Dropping it before its end is recorded marks the run as cut off.
#[derive(Debug)]
pub struct Begun {
    pub run_no: JobRunNo,
    name: JobName,
    started_at: Millis,
    _alive: HomeLock,
}

/// A finished run, and the reason if its output could not be stored.
#[derive(Debug)]
pub struct Finished {
    pub run: Run,
    pub output_lost: Option<Error>,
}

/// A run that another program started and that has ended.
#[derive(Clone, Debug)]
pub struct ToldRun {
    pub job: String,
    /// The command line, as a person would read it.
    pub command: String,
    /// When the run started; `None`: now.
    pub started_at: Option<Millis>,
    pub outcome: Outcome,
    pub output: Output,
}

/// Records that a command is about to start.
pub fn begin(at: &AssistantHome, name: &JobName, command: &str, started_at: Millis) -> Result<Begun> {
    notice_cut_off(at)?;
    let command: String = redact(command).chars().take(LONGEST_COMMAND).collect();
    at.write("job.begin", |tx| {
        tx.prepare_cached("INSERT INTO scheduled_runs (agent_no, name, command, started_at) VALUES (?1, ?2, ?3, ?4)")?
            .execute(params![at.agent_no, name.as_str(), command, started_at])?;
        let run_no = JobRunNo(tx.last_insert_rowid());
        // Take the lock before any other process can see the row.
        let alive = at.home().try_lock(&lock_name(run_no))?.ok_or_else(|| {
            Error::new(ErrorKind::Busy, format!("the lock of run {run_no} is held")).hint("run the command again")
        })?;
        pages::mark(tx, at.agent_no, &Happened::JobRan { day: at.day_of(started_at) })?;
        tx.note("run", run_no);
        tx.note("job", name.as_str());
        Ok(Begun { run_no, name: name.clone(), started_at, _alive: alive })
    })
}

/// Records the outcome, with the output as an artifact. If the output cannot be stored, the outcome is recorded
/// nevertheless.
pub fn finish(at: &AssistantHome, begun: Begun, outcome: &Outcome, output: Option<&Output>) -> Result<Finished> {
    let mut output_lost = None;
    if let Some(output) = output
        && let Err(e) = finish_with(at, &begun, outcome, output)
    {
        output_lost = Some(e);
    }
    let ended = at.read(|tx| of_no(tx, at.agent_no, begun.run_no))?.is_some_and(|r| r.ended_at.is_some());
    if !ended {
        at.write("job.finish", |tx| close(at, tx, &begun, outcome, None))?;
    }
    let missing = || Error::not_found(format!("run {} is not there any more", begun.run_no));
    let run = at.read(|tx| of_no(tx, at.agent_no, begun.run_no))?.ok_or_else(missing)?;
    // The lock file is no longer needed: the row has an end, so no process checks the lock again.
    let _gone = at.home().remove(&lock_path(begun.run_no)?);
    Ok(Finished { run, output_lost })
}

/// Records a run that another program started and that has ended. A run with the same start and the same command is
/// stored once: a program that did not receive our answer may report the run again.
pub fn told(
    at: &AssistantHome,
    name: &JobName,
    command: &str,
    started_at: Millis,
    outcome: &Outcome,
    output: Option<&Output>,
) -> Result<Finished> {
    let now = at.ledger.now();
    if started_at > now {
        return Err(Error::usage("a run that has ended did not begin in the future")
            .hint("started_at is in milliseconds since 1970"));
    }
    let stored: String = redact(command).chars().take(LONGEST_COMMAND).collect();
    let known = at.read(|tx| {
        let mut statement = tx.prepare_cached(
            "SELECT run_no FROM scheduled_runs
             WHERE agent_no = ?1 AND name = ?2 AND started_at = ?3 AND command = ?4 AND ended_at IS NOT NULL",
        )?;
        let no = statement
            .query_row(params![at.agent_no, name.as_str(), started_at, stored], |r| r.get::<_, JobRunNo>(0))
            .optional()?;
        no.map_or(Ok(None), |no| of_no(tx, at.agent_no, no))
    })?;
    if let Some(run) = known {
        return Ok(Finished { run, output_lost: None });
    }
    let begun = begin(at, name, command, started_at)?;
    finish(at, begun, outcome, output)
}

fn finish_with(at: &AssistantHome, begun: &Begun, outcome: &Outcome, output: &Output) -> Result<()> {
    let Some(lock) = at.lock_within(PATIENCE)? else {
        return Err(Error::new(ErrorKind::Busy, "somebody else is changing files all the time")
            .hint("the output is lost; how the command ended is recorded"));
    };
    let failed = *outcome != Outcome::Exit(0);
    let name = begun.name.as_str();
    let new = NewArtifact {
        title: if failed { format!("{name} failed") } else { name.to_owned() },
        text: Text::Output(output.clone()),
        source: Provenance { origin: Origin::Program, ..Provenance::default() },
        kind: Some("job".into()),
        created: at.ledger.now(),
        fields: Map::from_iter([
            ("job".to_owned(), Value::from(name)),
            ("run".to_owned(), Value::from(begun.run_no)),
            ("bytes".to_owned(), Value::from(output.len())),
        ]),
    };
    let (act, item) = artifact::plan_to_add(&lock, &new, Act::new("job.finish"))?;
    lock.perform(act.note("item", wordless(&item.id)), |tx| close(at, tx, begun, outcome, Some(&item.path)))?;
    Ok(())
}

fn close(
    at: &AssistantHome,
    tx: &mut Write,
    begun: &Begun,
    outcome: &Outcome,
    artifact: Option<&RelPath>,
) -> Result<()> {
    let (code, signal, why) = match outcome {
        Outcome::Exit(code) => (Some(*code), None, None),
        Outcome::Signal(signal) => (None, Some(*signal), None),
        Outcome::Failed { code, signal, why } => {
            let why: String = redact(why).split_whitespace().collect::<Vec<_>>().join(" ");
            (*code, *signal, Some(why.chars().take(LONGEST_ERROR).collect::<String>()))
        }
    };
    tx.prepare_cached(
        "UPDATE scheduled_runs SET ended_at = ?3, exit_code = ?4, signal = ?5, error = ?6, artifact = ?7
         WHERE agent_no = ?1 AND run_no = ?2 AND ended_at IS NULL",
    )?
    .execute(params![at.agent_no, begun.run_no, tx.now(), code, signal, why, artifact.map(RelPath::as_str)])?;
    pages::mark(tx, at.agent_no, &Happened::JobRan { day: at.day_of(begun.started_at) })?;
    tx.note("run", begun.run_no);
    tx.note("job", begun.name.as_str());
    tx.note("exit_code", code);
    tx.note("signal", signal);
    Ok(())
}

/// Ends the runs whose wrapper died. Returns how many there were.
pub fn notice_cut_off(at: &AssistantHome) -> Result<usize> {
    let since = at.ledger.now().saturating_sub(LOOK_BACK_MS);
    let open: Vec<(JobRunNo, Millis)> = at.read(|tx| {
        let mut statement = tx.prepare_cached(
            "SELECT run_no, started_at FROM scheduled_runs WHERE agent_no = ?1 AND started_at >= ?2 AND ended_at IS NULL
             LIMIT 200",
        )?;
        let rows = statement.query_map(params![at.agent_no, since], |r| Ok((r.get(0)?, r.get(1)?)))?;
        Ok(rows.collect::<rusqlite::Result<_>>()?)
    })?;
    let mut noticed = 0;
    for (run_no, started_at) in open {
        let Some(_dead) = at.home().try_lock(&lock_name(run_no))? else { continue };
        // The run may have ended since the list was made; while this process holds its lock, nothing changes.
        if at.read(|tx| of_no(tx, at.agent_no, run_no))?.is_some_and(|r| r.ended_at.is_some()) {
            continue;
        }
        noticed += at.write("job.cut_off", |tx| {
            let changed = tx
                .prepare_cached(
                    "UPDATE scheduled_runs SET ended_at = ?3, error = 'cut off: what ran it was killed before it ended'
                     WHERE agent_no = ?1 AND run_no = ?2 AND ended_at IS NULL",
                )?
                .execute(params![at.agent_no, run_no, tx.now()])?;
            pages::mark(tx, at.agent_no, &Happened::JobRan { day: at.day_of(started_at) })?;
            tx.note("run", run_no);
            Ok(changed)
        })?;
        let _gone = at.home().remove(&lock_path(run_no)?);
    }
    Ok(noticed)
}

/// Acknowledges the failures of a job: they are not shown until the job fails again. Returns how many runs that
/// concerns.
pub fn acknowledge(at: &AssistantHome, name: &str) -> Result<usize> {
    if at.read(|tx| runs(tx, at.agent_no, name, 1))?.is_empty() {
        return Err(no_such(name));
    }
    let failed = "agent_no = ?1 AND name = ?2 AND acknowledged = 0 AND ended_at IS NOT NULL
                  AND (error IS NOT NULL OR signal IS NOT NULL OR coalesce(exit_code, 1) != 0)";
    let any = at.read(|tx| {
        Ok(tx
            .prepare_cached(&format!("SELECT 1 FROM scheduled_runs WHERE {failed} LIMIT 1"))?
            .exists(params![at.agent_no, name])?)
    })?;
    if !any {
        return Ok(0);
    }
    at.write("job.acknowledge", |tx| {
        let seen = tx
            .prepare_cached(&format!("UPDATE scheduled_runs SET acknowledged = 1 WHERE {failed}"))?
            .execute(params![at.agent_no, name])?;
        pages::mark(tx, at.agent_no, &Happened::JobAcknowledged)?;
        tx.note("job", name);
        tx.note("runs", seen);
        Ok(seen)
    })
}

const COLUMNS: &str = "run_no, name, command, started_at, ended_at, exit_code, signal, artifact, error, acknowledged";

fn run(r: &Row) -> rusqlite::Result<Run> {
    Ok(Run {
        no: r.get(0)?,
        name: r.get(1)?,
        command: r.get(2)?,
        started_at: r.get(3)?,
        ended_at: r.get(4)?,
        exit_code: r.get(5)?,
        signal: r.get(6)?,
        artifact: r.get(7)?,
        error: r.get(8)?,
        acknowledged: r.get::<_, i64>(9)? != 0,
    })
}

/// Returns the last run of every job, newest first.
pub fn jobs(tx: &Read, agent_no: AgentNo) -> Result<Vec<Run>> {
    let mut statement = tx.prepare_cached(&format!(
        "WITH RECURSIVE names (name) AS (
           SELECT min(name) FROM scheduled_runs WHERE agent_no = ?1
           UNION ALL
           SELECT (SELECT min(name) FROM scheduled_runs WHERE agent_no = ?1 AND name > names.name)
           FROM names WHERE names.name IS NOT NULL)
         SELECT {COLUMNS} FROM scheduled_runs WHERE run_no IN (
           SELECT (SELECT max(run_no) FROM scheduled_runs n WHERE n.agent_no = ?1 AND n.name = names.name) FROM names)
         ORDER BY run_no DESC"
    ))?;
    let rows = statement.query_map([agent_no], run)?;
    Ok(rows.collect::<rusqlite::Result<_>>()?)
}

/// Returns the runs of a job, newest first; empty for an unknown job, for which the caller returns `NotFound`.
pub fn runs(tx: &Read, agent_no: AgentNo, name: &str, limit: usize) -> Result<Vec<Run>> {
    let mut statement = tx.prepare_cached(&format!(
        "SELECT {COLUMNS} FROM scheduled_runs WHERE agent_no = ?1 AND name = ?2 ORDER BY run_no DESC LIMIT ?3"
    ))?;
    let rows = statement.query_map(params![agent_no, name, limit as i64], run)?;
    Ok(rows.collect::<rusqlite::Result<_>>()?)
}

/// Returns one run by its number.
pub fn of_no(tx: &Read, agent_no: AgentNo, run_no: JobRunNo) -> Result<Option<Run>> {
    Ok(tx
        .prepare_cached(&format!("SELECT {COLUMNS} FROM scheduled_runs WHERE agent_no = ?1 AND run_no = ?2"))?
        .query_row(params![agent_no, run_no], run)
        .optional()?)
}

/// Makes the error for a job that never ran.
pub fn no_such(name: &str) -> Error {
    let shown: String = name.chars().take(80).collect();
    Error::not_found(format!("no job called {shown:?} has run")).hint("see ⟨job list⟩")
}

fn lock_name(run_no: JobRunNo) -> String {
    format!("job-{run_no}")
}

fn lock_path(run_no: JobRunNo) -> Result<RelPath> {
    layout::RUN.join(&format!("{}{}", lock_name(run_no), layout::LOCK_SUFFIX))
}
