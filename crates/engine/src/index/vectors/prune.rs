//! Drops the vectors of old chunks of little importance and makes them again, by the policy of the settings (R11.5).
//! The words stay indexed, so that a text without a vector is still found by words.

use std::collections::BTreeSet;

use super::{Sort, Waiting};
use crate::error::Result;
use crate::index::{Index, rows};
use crate::ledger::Ledger;
use crate::ledger::blocks::Opener;
use crate::scope::{AgentNo, TurnId};

/// Turns read at once when vectors are made again.
const STEP: i64 = 50;

impl Index {
    /// Drops the vectors of turns. Returns the number of dropped vectors; `None` if another process is writing.
    pub fn drop_vectors(&mut self, agent_no: AgentNo, turns: &BTreeSet<i64>) -> Result<Option<u64>> {
        self.flush()?;
        if !self.begin()? {
            return Ok(None);
        }
        let before = self.vectors()?;
        self.remove_vectors(agent_no, Sort::Turn, turns)?;
        let gone = before - self.vectors()?;
        self.flush()?;
        Ok(Some(gone))
    }

    /// Returns how many of these turns have vectors.
    pub fn having_vectors(&self, agent_no: AgentNo, turns: &BTreeSet<i64>) -> Result<u64> {
        Ok(self.present(agent_no, turns)?.len() as u64)
    }

    /// Makes dropped vectors of turns again. Returns `false` if no model answers now or another process is writing;
    /// nothing was then stored.
    pub fn make_vectors_again(&mut self, ledger: &Ledger, agent_no: AgentNo, turns: &BTreeSet<i64>) -> Result<bool> {
        self.flush()?;
        let Some(embedder) = self.embedder.clone().filter(|_| !self.embedder_rests()) else { return Ok(false) };
        let mut waiting = Waiting::default();
        for turn in turns {
            let (from, to) = (TurnId(turn - 1), TurnId(*turn));
            ledger.read(|tx| {
                rows::read(tx, &Opener::default(), (from, to, STEP), &mut |doc| {
                    if doc.agent_no == agent_no {
                        waiting.turn(doc);
                    }
                    Ok(())
                })
            })?;
        }
        if waiting.embed(embedder.as_ref()).is_err() || !self.begin()? {
            return Ok(false);
        }
        self.remove_vectors(agent_no, Sort::Turn, turns)?;
        let stored = self.store_waiting(waiting)?;
        self.flush()?;
        Ok(stored)
    }
}
