//! Embeds important messages first if the model is slow: those of chunks that the judge rated as important (R11.2). The
//! other turns follow in the order of storing, without those that have vectors by then.

use std::collections::{BTreeMap, BTreeSet};

use rusqlite::params;

use super::Sort;
use super::fill::Waiting;
use super::store::Store;
use crate::error::Result;
use crate::index::{Embedder, Index, rows};
use crate::ledger::Ledger;
use crate::ledger::blocks::Opener;
use crate::ledger::codes::MESSAGE;
use crate::scope::{AgentNo, TurnId};

/// Largest number of these messages that are considered at a time, the most important and newest first; the other turns
/// follow soon anyway.
const MOST: i64 = 2_000;

/// Number of messages embedded at once.
const AT_ONCE: usize = 64;

impl Index {
    /// Makes vectors of important messages in a range of turns that have none yet. Returns `false` if there are none,
    /// the model does not answer, or another process is writing.
    pub(super) fn fill_first(
        &mut self,
        ledger: &Ledger,
        embedder: &dyn Embedder,
        (from, to): (TurnId, TurnId),
    ) -> Result<bool> {
        let important: Vec<(AgentNo, i64)> = ledger.read(|tx| {
            let mut statement = tx.prepare_cached(&format!(
                "SELECT j.agent_no, t.turn_no FROM judged_chunks j
                 JOIN turns t ON t.session_no = j.session_no AND t.turn_no BETWEEN j.first_turn AND j.last_turn
                 WHERE j.front AND j.last_turn > ?1 AND t.turn_no > ?1 AND t.turn_no <= ?2 AND t.kind = {MESSAGE}
                 ORDER BY j.importance DESC, t.turn_no DESC LIMIT ?3"
            ))?;
            let rows = statement.query_map(params![from, to, MOST], |r| Ok((r.get(0)?, r.get(1)?)))?;
            Ok(rows.collect::<rusqlite::Result<_>>()?)
        })?;
        let mut by_agent: BTreeMap<AgentNo, BTreeSet<i64>> = BTreeMap::new();
        for (agent_no, turn) in &important {
            by_agent.entry(*agent_no).or_default().insert(*turn);
        }
        let mut there: BTreeSet<i64> = BTreeSet::new();
        for (agent_no, turns) in &by_agent {
            there.extend(self.present(*agent_no, turns)?);
        }
        let next: Vec<i64> =
            important.into_iter().map(|(_, turn)| turn).filter(|turn| !there.contains(turn)).take(AT_ONCE).collect();
        let mut waiting = Waiting::default();
        for turn in &next {
            ledger.read(|tx| {
                rows::read(tx, &Opener::default(), (TurnId(turn - 1), TurnId(*turn), 1), &mut |doc| {
                    waiting.turn(doc);
                    Ok(())
                })
            })?;
        }
        if waiting.is_empty() || waiting.embed(embedder).is_err() || !self.begin()? {
            return Ok(false);
        }
        self.drop_erased(&mut waiting)?;
        let made = waiting.has_made();
        let stored = self.store_waiting(waiting)?;
        self.flush()?;
        Ok(made && stored)
    }

    /// Returns those of these turns that have vectors.
    pub(super) fn present(&self, agent_no: AgentNo, turns: &BTreeSet<i64>) -> Result<BTreeSet<i64>> {
        let Some(store) = Store::of(&self.conn)? else { return Ok(BTreeSet::new()) };
        let mut found = BTreeSet::new();
        for set in store.sets(agent_no, Sort::Turn)? {
            found.extend(store.slots(&set, turns)?.into_iter().map(|(_, key)| key.number));
        }
        Ok(found)
    }

    /// Removes from `waiting` the turns that have vectors already.
    pub(super) fn leave_out_present(&self, waiting: &mut Waiting) -> Result<()> {
        for (agent_no, turns) in waiting.numbers() {
            let there = self.present(agent_no, &turns)?;
            if !there.is_empty() {
                waiting.leave_out(agent_no, &there);
            }
        }
        Ok(())
    }
}
