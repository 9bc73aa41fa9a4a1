//! Results of storing sessions: an import of stores, or live lines.

use schemars::JsonSchema;
use serde::Serialize;

use super::round;
use crate::capture::{LineAck, Totals};
use crate::error::Problem;

/// Result of an import.
#[derive(Clone, PartialEq, Serialize, JsonSchema, Debug)]
pub struct Imported {
    pub sources: SourcesRead,
    /// Number of records stored.
    pub records: u64,
    pub bytes: u64,
    pub turns: TurnsRead,
    /// Number of records that could not be decoded; their bytes are kept.
    pub set_aside: u64,
    /// Number of spans marked private; they were not stored.
    pub private: u64,
    pub seconds: f64,
    pub problems: Vec<Problem>,
}

/// Numbers of session stores, by what the import found.
#[derive(Clone, Copy, PartialEq, Eq, Serialize, JsonSchema, Debug)]
pub struct SourcesRead {
    /// Stores with new content.
    pub read: u64,
    /// Stores without new content.
    pub unchanged: u64,
    /// Stores that could not be read at all.
    pub failed: u64,
    /// Stores that were rewritten; their new content was kept as a new generation.
    pub rewritten: u64,
}

/// Numbers of turns, by whether they were known.
#[derive(Clone, Copy, PartialEq, Eq, Serialize, JsonSchema, Debug)]
pub struct TurnsRead {
    pub new: u64,
    /// Turns that were stored before and came again in another record.
    pub known: u64,
    /// Turns shared with the session they were copied from.
    pub shared: u64,
}

impl Imported {
    pub fn of(totals: &Totals, problems: Vec<Problem>, seconds: f64) -> Imported {
        Imported {
            sources: SourcesRead {
                read: totals.sources_read,
                unchanged: totals.sources_unchanged,
                failed: totals.sources_failed,
                rewritten: totals.rewritten,
            },
            records: totals.records,
            bytes: totals.bytes,
            turns: TurnsRead { new: totals.turns, known: totals.witnesses, shared: totals.references },
            set_aside: totals.quarantined,
            private: totals.private,
            seconds: round(seconds),
            problems,
        }
    }
}

/// Result of storing one live line.
#[derive(Clone, PartialEq, Eq, Serialize, JsonSchema, Debug)]
#[serde(untagged)]
pub enum LineReport {
    Taken {
        /// Always true.
        ok: bool,
        line: u64,
        /// `stored`, or `known` if the line was stored before.
        state: &'static str,
        session: String,
        turn: Option<String>,
    },
    Refused {
        /// Always false.
        ok: bool,
        line: u64,
        /// Why the line cannot be used.
        error: String,
    },
}

impl LineReport {
    /// `line`: the number of the line, counted from 1.
    pub fn of(line: u64, ack: &LineAck) -> LineReport {
        let (state, session, turn) = match ack {
            LineAck::Stored { session, turn } => ("stored", session, *turn),
            LineAck::Known { session, turn } => ("known", session, Some(*turn)),
            LineAck::Refused { reason } => return LineReport::Refused { ok: false, line, error: reason.clone() },
        };
        let session = session.as_str().to_owned();
        LineReport::Taken { ok: true, line, state, session, turn: turn.map(|t| t.to_string()) }
    }
}

/// Totals over all live lines.
#[derive(Clone, Copy, PartialEq, Eq, Default, Serialize, JsonSchema, Debug)]
pub struct LinesReport {
    pub turns: LinesTaken,
    /// Number of lines that could not be used.
    pub refused: u64,
}

#[derive(Clone, Copy, PartialEq, Eq, Default, Serialize, JsonSchema, Debug)]
pub struct LinesTaken {
    pub new: u64,
    /// Number of turns that were stored before.
    pub known: u64,
}

impl LinesReport {
    pub fn count(&mut self, ack: &LineAck) {
        match ack {
            LineAck::Stored { .. } => self.turns.new += 1,
            LineAck::Known { .. } => self.turns.known += 1,
            LineAck::Refused { .. } => self.refused += 1,
        }
    }
}
