//! Turns with their text, and records that were set aside because they could not be decoded.

use schemars::JsonSchema;
use serde::Serialize;

use super::sessions::SessionReport;
use crate::clock::rfc3339;
use crate::redact::redact;
use crate::transcript::read::{Quarantined, Turn};

/// A turn that was asked for, without the credentials in its text.
#[derive(Clone, PartialEq, Serialize, JsonSchema, Debug)]
pub struct ShownTurn {
    #[serde(flatten)]
    pub turn: Turn,
    /// Time at which the text of the turn was forgotten.
    pub forgotten: Option<String>,
}

impl From<Turn> for ShownTurn {
    fn from(turn: Turn) -> ShownTurn {
        let text = redact(&turn.text).into_owned();
        ShownTurn { forgotten: turn.forgotten.map(rfc3339), turn: Turn { text, ..turn } }
    }
}

/// A turn, with its neighbours if the request asked for them.
#[derive(Clone, PartialEq, Serialize, JsonSchema, Debug)]
pub struct TurnsReport {
    pub turns: Vec<ShownTurn>,
    /// Command that resumes the session in its own program.
    #[serde(skip)]
    pub resume: Option<String>,
}

/// A session with all its turns, or those of one lane.
#[derive(Clone, PartialEq, Serialize, JsonSchema, Debug)]
pub struct SessionTurnsReport {
    pub session: SessionReport,
    pub turns: Vec<ShownTurn>,
    /// Name of the session; empty if it has no title and no prompt.
    #[serde(skip)]
    pub name: String,
}

/// All records that were set aside, newest first.
#[derive(Clone, PartialEq, Serialize, JsonSchema, Debug)]
pub struct QuarantineReport {
    pub set_aside: Vec<Quarantined>,
}

/// One record that was set aside, with its bytes read as text.
#[derive(Clone, PartialEq, Serialize, JsonSchema, Debug)]
pub struct SetAsideReport {
    #[serde(flatten)]
    pub quarantined: Quarantined,
    pub text: String,
}

impl SetAsideReport {
    pub fn of(row: Quarantined, bytes: &[u8]) -> SetAsideReport {
        let text = redact(&String::from_utf8_lossy(bytes)).into_owned();
        SetAsideReport { quarantined: row, text }
    }
}
