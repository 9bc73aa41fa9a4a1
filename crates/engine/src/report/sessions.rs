//! Sessions, listed and in detail.

use serde::Serialize;

use crate::clock::rfc3339;
use crate::redact::redact;
use crate::scope::{RunNo, TurnId};
use crate::transcript::export::StreamRow;
use crate::transcript::prepare::OriginForm;
use crate::transcript::read::{BoundaryRow, LaneRow, RunRow, SessionRow};

/// A session.
#[derive(Clone, PartialEq, Serialize, Debug)]
pub struct SessionReport {
    pub session: String,
    pub harness: String,
    pub title: Option<String>,
    pub workspace: Option<String>,
    pub workspace_id: Option<String>,
    pub cwd: Option<String>,
    /// The version of its program.
    pub version: Option<String>,
    /// The session it was copied from.
    pub fork_of: Option<String>,
    pub started_at: Option<String>,
    pub last_at: Option<String>,
    pub ended_at: Option<String>,
    pub ended_by: Option<String>,
    pub turns: u64,
    /// Turns it shares with the session it was copied from.
    pub shared_turns: u64,
    /// The command that resumes it in its own program.
    pub resume: Option<String>,
    #[serde(skip)]
    pub row: SessionRow,
}

impl SessionReport {
    /// `resume`: the command that resumes it, if there is one.
    pub fn of(row: SessionRow, resume: Option<String>) -> SessionReport {
        SessionReport {
            session: row.key.as_str().to_owned(),
            harness: row.key.harness().to_owned(),
            title: row.title.as_deref().map(|title| redact(title).into_owned()),
            workspace: row.workspace.clone(),
            workspace_id: row.workspace_id.clone(),
            cwd: row.cwd.clone(),
            version: row.version.clone(),
            fork_of: row.fork_of.clone(),
            started_at: row.started_at.map(rfc3339),
            last_at: row.last_at.map(rfc3339),
            ended_at: row.ended_at.map(rfc3339),
            ended_by: row.ended_by.clone(),
            turns: row.turns,
            shared_turns: row.shared_turns,
            resume,
            row,
        }
    }
}

/// Sessions, newest first.
#[derive(Clone, PartialEq, Serialize, Debug)]
pub struct SessionsReport {
    pub sessions: Vec<SessionReport>,
}

/// The main line of a session (its name is empty), or a sub-agent.
#[derive(Clone, PartialEq, Serialize, Debug)]
pub struct LaneReport {
    pub lane: String,
    /// The tool call that started it.
    pub parent_call: Option<String>,
    pub turns: u64,
}

impl From<LaneRow> for LaneReport {
    fn from(row: LaneRow) -> LaneReport {
        LaneReport { lane: row.lane, parent_call: row.parent_call, turns: row.turns }
    }
}

/// What is stored of one session.
#[derive(Clone, PartialEq, Serialize, Debug)]
pub struct SessionDetails {
    pub session: SessionReport,
    pub lanes: Vec<LaneReport>,
    pub sources: Vec<SourceReport>,
    pub records: Vec<RecordsReport>,
    pub runs: Vec<RunReport>,
    pub boundaries: Vec<BoundaryReport>,
    /// What it is called; empty where there is nothing to call it.
    #[serde(skip)]
    pub name: String,
}

/// A file or database a session was read from, or the channel it came through.
#[derive(Clone, PartialEq, Serialize, Debug)]
pub struct SourceReport {
    pub path: String,
    /// The rows of a database; empty for a file.
    pub key: String,
    pub lane: String,
    pub form: &'static str,
    /// How often it was begun: 1 where the file was never rewritten.
    pub generations: i64,
    pub bytes: u64,
    pub records: u64,
    /// Other sessions are in it, too.
    #[serde(skip)]
    pub mixed: bool,
}

impl SourceReport {
    /// `mixed`: other sessions are in it, too.
    pub fn of(row: &StreamRow, mixed: bool) -> SourceReport {
        SourceReport {
            path: row.path.display().to_string(),
            key: row.key.clone(),
            lane: row.lane.clone(),
            form: form_name(row.form),
            generations: row.generation + 1,
            bytes: row.bytes,
            records: row.records,
            mixed,
        }
    }
}

fn form_name(form: OriginForm) -> &'static str {
    match form {
        OriginForm::File => "file",
        OriginForm::Database => "database",
        OriginForm::Live => "live",
        OriginForm::Hook => "hook",
    }
}

/// Records of one class.
#[derive(Clone, PartialEq, Eq, Serialize, Debug)]
pub struct RecordsReport {
    pub class: &'static str,
    pub records: u64,
    pub bytes: u64,
}

/// A run: a prompt and what came of it.
#[derive(Clone, PartialEq, Serialize, Debug)]
pub struct RunReport {
    pub run: RunNo,
    pub lane: String,
    /// The program's own id for it.
    pub key: Option<String>,
    pub status: &'static str,
    pub stop_reason: Option<String>,
    pub model: Option<String>,
    pub usage: UsageReport,
    pub prompt: Option<TurnId>,
    pub answer: Option<TurnId>,
    pub request_fingerprint: Option<String>,
    pub opened_at: Option<String>,
    pub last_at: Option<String>,
    pub closed_by: Option<String>,
    #[serde(skip)]
    pub row: RunRow,
}

/// Tokens, as the program reported them.
#[derive(Clone, PartialEq, Eq, Serialize, Debug)]
pub struct UsageReport {
    pub input: Option<u64>,
    pub output: Option<u64>,
    pub cache_read: Option<u64>,
    pub cache_write: Option<u64>,
}

impl From<RunRow> for RunReport {
    fn from(row: RunRow) -> RunReport {
        let usage = &row.usage;
        RunReport {
            run: row.no,
            lane: row.lane.clone(),
            key: row.key.clone(),
            status: row.status,
            stop_reason: row.stop_reason.clone(),
            model: row.model.clone(),
            usage: UsageReport {
                input: usage.input,
                output: usage.output,
                cache_read: usage.cache_read,
                cache_write: usage.cache_write,
            },
            prompt: row.prompt,
            answer: row.answer,
            request_fingerprint: row.request_fingerprint.clone(),
            opened_at: row.opened_at.map(rfc3339),
            last_at: row.last_at.map(rfc3339),
            closed_by: row.closed_by.clone(),
            row,
        }
    }
}

/// Where a context was compacted, or the program started over.
#[derive(Clone, PartialEq, Serialize, Debug)]
pub struct BoundaryReport {
    pub kind: String,
    pub reason: Option<String>,
    pub at: Option<String>,
    #[serde(skip)]
    pub row: BoundaryRow,
}

impl From<BoundaryRow> for BoundaryReport {
    fn from(row: BoundaryRow) -> BoundaryReport {
        BoundaryReport { kind: row.kind.clone(), reason: row.reason.clone(), at: row.at.map(rfc3339), row }
    }
}

/// A session that was marked as over.
#[derive(Clone, PartialEq, Eq, Serialize, Debug)]
pub struct SessionEnded {
    pub session: String,
    /// It was not over before.
    pub ended: bool,
}
