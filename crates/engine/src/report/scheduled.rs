//! Scheduled jobs and their runs.

use serde::Serialize;

use crate::clock::Millis;
use crate::continuity::scheduled::Run;

/// A run of a job. Times are in milliseconds since 1970.
#[derive(Clone, PartialEq, Eq, Serialize, Debug)]
pub struct RunReport {
    /// Its number.
    pub run: i64,
    pub job: String,
    /// `running`, `done` or `failed`.
    pub status: &'static str,
    /// The command, without credentials.
    pub command: String,
    pub started_at: Millis,
    pub ended_at: Option<Millis>,
    pub exit_code: Option<i32>,
    pub signal: Option<i32>,
    pub error: Option<String>,
    /// The artifact with its output.
    pub artifact: Option<String>,
    /// A person has seen that it failed.
    pub acknowledged: bool,
    /// The exit code that was passed on, where the run was recorded just now.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub passed: Option<u8>,
    #[serde(skip)]
    pub row: Run,
}

impl From<Run> for RunReport {
    fn from(row: Run) -> RunReport {
        RunReport {
            run: row.no,
            job: row.name.clone(),
            status: row.status().name(),
            command: row.command.clone(),
            started_at: row.started_at,
            ended_at: row.ended_at,
            exit_code: row.exit_code,
            signal: row.signal,
            error: row.error.clone(),
            artifact: row.artifact.clone(),
            acknowledged: row.acknowledged,
            passed: None,
            row,
        }
    }
}

/// A run that could not be recorded.
#[derive(Clone, PartialEq, Eq, Serialize, Debug)]
pub struct UnrecordedRun {
    /// It has no number.
    pub run: Option<i64>,
    pub job: String,
    /// The exit code that was passed on.
    pub passed: u8,
    /// Why it is not recorded.
    pub error: String,
}

/// The last run of every job, newest first.
#[derive(Clone, PartialEq, Eq, Serialize, Default, Debug)]
pub struct JobsReport {
    pub jobs: Vec<RunReport>,
}

/// The last runs of a job, newest first.
#[derive(Clone, PartialEq, Eq, Serialize, Debug)]
pub struct JobReport {
    pub job: String,
    pub runs: Vec<RunReport>,
}

/// Failures of a job that were marked as seen.
#[derive(Clone, PartialEq, Eq, Serialize, Debug)]
pub struct AcknowledgedReport {
    pub job: String,
    /// How many runs that concerns.
    pub acknowledged: usize,
}
