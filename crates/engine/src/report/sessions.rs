//! Sessions, listed and in detail.

use schemars::JsonSchema;
use serde::Serialize;

use crate::transcript::export::StreamRow;
use crate::transcript::read::{BoundaryRow, LaneRow, RunRow, SessionRow};

/// A session.
#[derive(Clone, PartialEq, Serialize, JsonSchema, Debug)]
pub struct SessionReport {
    #[serde(flatten)]
    pub row: SessionRow,
    pub harness: String,
    /// The command that resumes it in its own program.
    pub resume: Option<String>,
}

impl SessionReport {
    /// `resume`: the command that resumes it, if there is one.
    pub fn of(row: SessionRow, resume: Option<String>) -> SessionReport {
        SessionReport { harness: row.key.harness().to_owned(), row, resume }
    }
}

/// Sessions, newest first.
#[derive(Clone, PartialEq, Serialize, JsonSchema, Debug)]
pub struct SessionsReport {
    pub sessions: Vec<SessionReport>,
}

/// What is stored of one session.
#[derive(Clone, PartialEq, Serialize, JsonSchema, Debug)]
pub struct SessionDetails {
    pub session: SessionReport,
    pub lanes: Vec<LaneRow>,
    pub sources: Vec<SourceReport>,
    pub records: Vec<RecordsReport>,
    pub runs: Vec<RunRow>,
    pub boundaries: Vec<BoundaryRow>,
    /// What it is called; empty where there is nothing to call it.
    #[serde(skip)]
    pub name: String,
}

/// A file or database a session was read from, or the channel it came through.
#[derive(Clone, PartialEq, Serialize, JsonSchema, Debug)]
pub struct SourceReport {
    #[serde(flatten)]
    pub stream: StreamRow,
    /// How often it was begun: 1 where the file was never rewritten.
    pub generations: i64,
    /// Other sessions are in it, too.
    #[serde(skip)]
    pub mixed: bool,
}

/// Records of one class.
#[derive(Clone, PartialEq, Eq, Serialize, JsonSchema, Debug)]
pub struct RecordsReport {
    pub class: &'static str,
    pub records: u64,
    pub bytes: u64,
}

/// A session that was marked as over.
#[derive(Clone, PartialEq, Eq, Serialize, JsonSchema, Debug)]
pub struct SessionEnded {
    pub session: String,
    /// It was not over before.
    pub ended: bool,
}
