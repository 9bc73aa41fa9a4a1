//! Sessions, listed and in detail.

use schemars::JsonSchema;
use serde::Serialize;

use crate::transcript::export::StreamRow;
use crate::transcript::read::{BoundaryRow, LaneRow, RunRow, SessionRow};

/// A session with the name of its program.
#[derive(Clone, PartialEq, Serialize, JsonSchema, Debug)]
pub struct SessionReport {
    #[serde(flatten)]
    pub row: SessionRow,
    pub harness: String,
    /// Command that resumes the session in its own program.
    pub resume: Option<String>,
}

impl SessionReport {
    /// `resume`: the command that resumes the session, if there is one.
    pub fn of(row: SessionRow, resume: Option<String>) -> SessionReport {
        SessionReport { harness: row.key.harness().to_owned(), row, resume }
    }
}

/// Sessions, newest first.
#[derive(Clone, PartialEq, Serialize, JsonSchema, Debug)]
pub struct SessionsReport {
    pub sessions: Vec<SessionReport>,
}

/// Everything stored of one session: lanes, sources, records, runs, boundaries.
#[derive(Clone, PartialEq, Serialize, JsonSchema, Debug)]
pub struct SessionDetails {
    pub session: SessionReport,
    pub lanes: Vec<LaneRow>,
    pub sources: Vec<SourceReport>,
    pub records: Vec<RecordsReport>,
    pub runs: Vec<RunRow>,
    pub boundaries: Vec<BoundaryRow>,
    /// Name of the session; empty if it has no title and no prompt.
    #[serde(skip)]
    pub name: String,
}

/// A file or database a session was read from, or the channel it came through.
#[derive(Clone, PartialEq, Serialize, JsonSchema, Debug)]
pub struct SourceReport {
    #[serde(flatten)]
    pub stream: StreamRow,
    /// Number of generations of the source: 1 if the file was never rewritten.
    pub generations: i64,
    /// Whether the source contains other sessions too.
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

/// A session that was marked as ended.
#[derive(Clone, PartialEq, Eq, Serialize, JsonSchema, Debug)]
pub struct SessionEnded {
    pub session: String,
    /// Whether this call ended it; `false` if it was ended before.
    pub ended: bool,
}
