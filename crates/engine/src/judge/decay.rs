//! Finds the vectors of old and unimportant chunks, which may be dropped (R11.5). Off unless the settings say
//! otherwise; chunks that a pinned memory came from are spared. The text stays, and full-text search still finds it;
//! vectors are computed again if the policy no longer applies.

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

/// The policy by which vectors are dropped.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Policy {
    pub on: bool,
    /// Days without a message after which a chunk is old.
    pub after_days: u32,
    /// Importance below which a chunk's vectors may be dropped.
    pub below: u8,
}

impl Default for Policy {
    /// Off. If switched on: after half a year, for chunks below importance 4.
    fn default() -> Policy {
        Policy { on: false, after_days: 180, below: 4 }
    }
}

/// A chunk that is old and of little importance.
#[derive(Clone, PartialEq, Debug)]
pub struct Faded {
    pub chunk: Judged,
    pub session: String,
    /// Id of the pinned memory that spares it.
    pub spared_by: Option<String>,
}

/// Returns the chunks the policy applies to now, the oldest first, spared ones included.
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

/// Returns the turns of chunks: messages, calls and results between the first and the last message of each, in its
/// session.
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

/// Returns the chunks whose vectors were dropped.
pub fn dropped(at: &AssistantHome) -> Result<Vec<Judged>> {
    at.read(|tx| super::list(tx, at.agent_no, "faded_at IS NOT NULL"))
}

/// Records that the vectors of chunks were dropped, or exist again.
pub fn record(tx: &Write, agent_no: AgentNo, chunks: &[&Judged], gone: bool) -> Result<()> {
    let mut statement = tx.prepare_cached(
        "UPDATE judged_chunks SET faded_at = ?4 WHERE agent_no = ?1 AND session_no = ?2 AND last_turn = ?3",
    )?;
    for chunk in chunks {
        statement.execute(params![agent_no, chunk.session_no, chunk.turns.1, gone.then(|| tx.now())])?;
    }
    Ok(())
}
