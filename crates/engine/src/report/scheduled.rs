//! Scheduled jobs and their runs.

use schemars::JsonSchema;
use serde::Serialize;

use crate::continuity::scheduled::{Run, Status};

/// A run of a job.
#[derive(Clone, PartialEq, Eq, Serialize, JsonSchema, Debug)]
pub struct RunReport {
    #[serde(flatten)]
    pub run: Run,
    pub status: Status,
    /// The exit code that was passed on, where the run was recorded just now.
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
    /// It has no number.
    pub run: Option<i64>,
    pub job: String,
    /// The exit code that was passed on.
    pub passed: u8,
    /// Why it is not recorded.
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

/// Failures of a job that were marked as seen.
#[derive(Clone, PartialEq, Eq, Serialize, JsonSchema, Debug)]
pub struct AcknowledgedReport {
    pub job: String,
    /// How many runs that concerns.
    pub acknowledged: usize,
}
