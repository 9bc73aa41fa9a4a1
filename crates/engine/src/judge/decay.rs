//! Which vectors of old chunks of little importance may go, and why (R11.5). Off unless the settings say otherwise; what a
//! pinned memory came from is spared. The text stays, and is found by its words; vectors are made again where the policy
//! does not hold any more.

use std::collections::{BTreeMap, BTreeSet};

use rusqlite::params;

use super::{Judged, faded};
use crate::clock::Millis;
use crate::error::Result;
use crate::ledger::Write;
use crate::memory::leaf;
use crate::scope::AgentNo;
use crate::tree::AssistantHome;
use crate::tree::file_table::{self, Kind, State};
use crate::tree::provenance::Provenance;

const DAY_MS: Millis = 24 * 3_600_000;

/// When vectors go.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Policy {
    pub on: bool,
    /// A chunk is old when nothing was said in it for so many days.
    pub after_days: u32,
    /// Of less importance than this it may go.
    pub below: u8,
}

impl Default for Policy {
    /// Off; half a year, and what is below what is kept in front.
    fn default() -> Policy {
        Policy { on: false, after_days: 180, below: 4 }
    }
}

/// A chunk that is old and of little importance.
#[derive(Clone, PartialEq, Debug)]
pub struct Faded {
    pub chunk: Judged,
    pub session: String,
    /// The pinned memory that spares it.
    pub spared_by: Option<String>,
}

/// What the policy is about now, the oldest first; spared ones are among them.
pub fn faded_chunks(at: &AssistantHome, policy: &Policy) -> Result<Vec<Faded>> {
    let before = at.ledger.now() - Millis::from(policy.after_days) * DAY_MS;
    at.read(|tx| {
        let mut pinned: BTreeMap<i64, String> = BTreeMap::new();
        for entry in file_table::list(tx, at.agent_no, Kind::Leaf, State::Active)? {
            if leaf::is_pinned(&entry) {
                let id = entry.item.clone().unwrap_or_default();
                let turns = Provenance::from_value(entry.fields.get("source")).turns;
                pinned.extend(turns.into_iter().map(|t| (t.0, id.clone())));
            }
        }
        let mut key = tx.prepare_cached("SELECT session_key FROM sessions WHERE session_no = ?1")?;
        let mut out = Vec::new();
        for chunk in faded(tx, at.agent_no, before, policy.below)? {
            let spared_by = pinned.range(chunk.turns.0.0..=chunk.turns.1.0).next().map(|(_, id)| id.clone());
            out.push(Faded { session: key.query_row([chunk.session_no], |r| r.get(0))?, spared_by, chunk });
        }
        Ok(out)
    })
}

/// The turns of a chunk: what was said, called and answered between its first and its last message, in its session.
pub fn turns(at: &AssistantHome, chunks: &[&Judged]) -> Result<BTreeSet<i64>> {
    at.read(|tx| {
        let mut of =
            tx.prepare_cached("SELECT turn_no FROM turns WHERE session_no = ?1 AND turn_no BETWEEN ?2 AND ?3")?;
        let mut out = BTreeSet::new();
        for chunk in chunks {
            let rows = of.query_map(params![chunk.session_no, chunk.turns.0, chunk.turns.1], |r| r.get::<_, i64>(0))?;
            out.extend(rows.collect::<rusqlite::Result<Vec<_>>>()?);
        }
        Ok(out)
    })
}

/// The chunks whose vectors were dropped.
pub fn dropped(at: &AssistantHome) -> Result<Vec<Judged>> {
    at.read(|tx| super::list(tx, at.agent_no, "faded_at IS NOT NULL"))
}

/// Records that the vectors of chunks are gone, or there again.
pub fn record(tx: &Write, agent_no: AgentNo, chunks: &[&Judged], gone: bool) -> Result<()> {
    let mut statement = tx.prepare_cached(
        "UPDATE judged_chunks SET faded_at = ?4 WHERE agent_no = ?1 AND session_no = ?2 AND last_turn = ?3",
    )?;
    for chunk in chunks {
        statement.execute(params![agent_no, chunk.session_no, chunk.turns.1, gone.then(|| tx.now())])?;
    }
    Ok(())
}
