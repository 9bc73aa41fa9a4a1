//! Turns with their words, and records that were set aside.

use serde::Serialize;
use serde_json::Value;

use super::sessions::SessionReport;
use crate::clock::rfc3339;
use crate::redact::redact;
use crate::scope::{RunNo, TurnId};
use crate::transcript::read::{Quarantined, Turn};
use crate::transcript::{kind_name, role_name};

/// A turn with its words.
#[derive(Clone, PartialEq, Serialize, Debug)]
pub struct TurnReport {
    pub turn: TurnId,
    pub session: String,
    /// Empty for the main line, else the sub-agent's.
    pub lane: String,
    /// The program's own id for it.
    pub entry: String,
    /// How often the program rewrote it.
    pub revision: i64,
    /// The entry it answers.
    pub parent: Option<String>,
    pub role: &'static str,
    pub kind: &'static str,
    pub at: Option<String>,
    pub workspace: Option<String>,
    pub speaker: Option<String>,
    pub model: Option<String>,
    pub tool: Option<String>,
    /// The tool call it belongs to.
    pub call: Option<String>,
    pub failed: bool,
    /// Tokens: `[input, output, cache read, cache write]`.
    pub usage: Option<Value>,
    pub thread: Option<String>,
    pub run: RunNo,
    pub text: String,
    /// The turn as it is stored, its text moved into the field above.
    #[serde(skip)]
    pub row: Turn,
}

impl TurnReport {
    /// A turn without the credentials in its text.
    pub fn of(mut turn: Turn) -> TurnReport {
        turn.text = redact(&turn.text).into_owned();
        TurnReport::of_clean(turn)
    }

    /// A turn whose text is without credentials already, such as a part of one that was cleaned whole.
    pub fn of_clean(mut turn: Turn) -> TurnReport {
        TurnReport {
            text: std::mem::take(&mut turn.text),
            turn: turn.id,
            session: turn.session.as_str().to_owned(),
            lane: turn.lane.clone(),
            entry: turn.entry.clone(),
            revision: turn.revision,
            parent: turn.parent.clone(),
            role: role_name(turn.role),
            kind: kind_name(turn.kind),
            at: turn.at.map(rfc3339),
            workspace: turn.workspace.clone(),
            speaker: turn.speaker.clone(),
            model: turn.model.clone(),
            tool: turn.tool.clone(),
            call: turn.call.clone(),
            failed: turn.failed,
            usage: turn.usage.clone(),
            thread: turn.thread.clone(),
            run: turn.run,
            row: turn,
        }
    }
}

/// A turn that was asked for.
#[derive(Clone, PartialEq, Serialize, Debug)]
pub struct ShownTurn {
    #[serde(flatten)]
    pub turn: TurnReport,
    /// When its words were forgotten.
    pub forgotten: Option<String>,
}

impl From<Turn> for ShownTurn {
    fn from(turn: Turn) -> ShownTurn {
        ShownTurn { forgotten: turn.forgotten.map(rfc3339), turn: TurnReport::of(turn) }
    }
}

/// A turn, with its neighbours where they were asked for.
#[derive(Clone, PartialEq, Serialize, Debug)]
pub struct TurnsReport {
    pub turns: Vec<ShownTurn>,
    /// The command that resumes the session in its own program.
    #[serde(skip)]
    pub resume: Option<String>,
}

/// A session with all its turns, or those of one lane.
#[derive(Clone, PartialEq, Serialize, Debug)]
pub struct SessionTurnsReport {
    pub session: SessionReport,
    pub turns: Vec<ShownTurn>,
    /// What the session is called; empty where there is nothing to call it.
    #[serde(skip)]
    pub name: String,
}

/// A record that could not be decoded.
#[derive(Clone, PartialEq, Serialize, Debug)]
pub struct QuarantinedReport {
    pub id: String,
    pub path: String,
    /// The row of a database it came from; empty in a file of lines.
    pub key: String,
    /// Where it begins in its source.
    pub offset: i64,
    pub length: i64,
    pub line: Option<i64>,
    pub reason: String,
    pub session: Option<String>,
    pub forgotten: Option<String>,
    #[serde(skip)]
    pub row: Quarantined,
}

impl From<Quarantined> for QuarantinedReport {
    fn from(row: Quarantined) -> QuarantinedReport {
        QuarantinedReport {
            id: row.id.to_string(),
            path: row.path.display().to_string(),
            key: row.key.clone(),
            offset: row.position,
            length: row.length,
            line: row.line,
            reason: row.reason.clone(),
            session: row.session.clone(),
            forgotten: row.forgotten.map(rfc3339),
            row,
        }
    }
}

/// Everything that was set aside, newest first.
#[derive(Clone, PartialEq, Serialize, Debug)]
pub struct QuarantineReport {
    pub set_aside: Vec<QuarantinedReport>,
}

/// One record that was set aside, with its bytes read as text.
#[derive(Clone, PartialEq, Serialize, Debug)]
pub struct SetAsideReport {
    #[serde(flatten)]
    pub quarantined: QuarantinedReport,
    pub text: String,
}

impl SetAsideReport {
    pub fn of(row: Quarantined, bytes: &[u8]) -> SetAsideReport {
        let text = redact(&String::from_utf8_lossy(bytes)).into_owned();
        SetAsideReport { quarantined: row.into(), text }
    }
}
