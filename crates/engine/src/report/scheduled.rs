//! Scheduled jobs and their runs.

use schemars::JsonSchema;
use serde::Serialize;

use crate::continuity::scheduled::{Run, Status};

/// One run of a scheduled job.
#[derive(Clone, PartialEq, Eq, Serialize, JsonSchema, Debug)]
pub struct RunReport {
    #[serde(flatten)]
    pub run: Run,
    pub status: Status,
    /// Exit code that was passed on; only in the report of a run that was just recorded.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub passed: Option<u8>,
}

impl From<Run> for RunReport {
    fn from(run: Run) -> RunReport {
        RunReport { status: run.status(), run, passed: None }
    }
}

/// A run that could not be recorded.
#[derive(Clone, PartialEq, Eq, Serialize, JsonSchema, Debug)]
pub struct UnrecordedRun {
    /// Always null: the run has no number.
    pub run: Option<i64>,
    pub job: String,
    /// Exit code that was passed on.
    pub passed: u8,
    /// Why the run was not recorded.
    pub error: String,
}

/// The last run of every job, newest first.
#[derive(Clone, PartialEq, Eq, Serialize, JsonSchema, Debug)]
pub struct JobsReport {
    pub jobs: Vec<RunReport>,
}

/// The last runs of a job, newest first.
#[derive(Clone, PartialEq, Eq, Serialize, JsonSchema, Debug)]
pub struct JobReport {
    pub job: String,
    pub runs: Vec<RunReport>,
}

/// A job whose failures were marked as seen.
#[derive(Clone, PartialEq, Eq, Serialize, JsonSchema, Debug)]
pub struct AcknowledgedReport {
    pub job: String,
    /// Number of runs that were marked.
    pub acknowledged: usize,
}
