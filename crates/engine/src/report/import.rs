//! What bringing sessions in came to: an import of stores, or a live line.

use schemars::JsonSchema;
use serde::Serialize;

use super::round;
use crate::capture::{LineAck, Totals};
use crate::error::Problem;

/// What an import came to.
#[derive(Clone, PartialEq, Serialize, JsonSchema, Debug)]
pub struct Imported {
    pub sources: SourcesRead,
    /// Records that were stored.
    pub records: u64,
    pub bytes: u64,
    pub turns: TurnsRead,
    /// Records that could not be decoded; their bytes are kept.
    pub set_aside: u64,
    /// Spans marked private, which were left out.
    pub private: u64,
    pub seconds: f64,
    pub problems: Vec<Problem>,
}

/// What became of the session stores.
#[derive(Clone, Copy, PartialEq, Eq, Serialize, JsonSchema, Debug)]
pub struct SourcesRead {
    /// Those with something new.
    pub read: u64,
    /// Those that were as they had been.
    pub unchanged: u64,
    /// Those that could not be read at all.
    pub failed: u64,
    /// Those that were rewritten: their new contents were kept as a new generation.
    pub rewritten: u64,
}

/// What became of the turns.
#[derive(Clone, Copy, PartialEq, Eq, Serialize, JsonSchema, Debug)]
pub struct TurnsRead {
    pub new: u64,
    /// Told again by another record.
    pub known: u64,
    /// Shared with the session they were copied from.
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

/// What became of one live line.
#[derive(Clone, PartialEq, Eq, Serialize, JsonSchema, Debug)]
#[serde(untagged)]
pub enum LineReport {
    Taken {
        /// Always true.
        ok: bool,
        line: u64,
        /// `stored`, or `known` where it was stored before.
        state: &'static str,
        session: String,
        turn: Option<String>,
    },
    Refused {
        /// Always false.
        ok: bool,
        line: u64,
        /// Why it cannot be used.
        error: String,
    },
}

impl LineReport {
    /// `line`: its number, from 1 on.
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

/// What became of all lines.
#[derive(Clone, Copy, PartialEq, Eq, Default, Serialize, JsonSchema, Debug)]
pub struct LinesReport {
    pub turns: LinesTaken,
    /// Lines that could not be used.
    pub refused: u64,
}

#[derive(Clone, Copy, PartialEq, Eq, Default, Serialize, JsonSchema, Debug)]
pub struct LinesTaken {
    pub new: u64,
    /// Those that were stored before.
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
