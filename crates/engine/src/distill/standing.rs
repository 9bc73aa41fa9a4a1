//! Which items of a distillate still apply: those whose loop or proposal has since been closed are left out where the
//! distillate is shown; the node keeps them (R6.3).

use std::collections::HashMap;

use rusqlite::OptionalExtension;

use crate::error::Result;
use crate::home::Digest;
use crate::ledger::Read;
use crate::lineage::distillate::Distillate;
use crate::pages::{PageKey, dismissals};
use crate::scope::{AgentNo, TurnId};
use crate::tree::file_table::{self, State};

/// The distillate as it is to be shown now. Left out are items whose visible file was resolved, merged, rejected,
/// removed from MEMORY.md by a person, or deleted, and items said only on a branch that was abandoned since (R6.2).
pub(crate) fn still_stands(tx: &Read, agent_no: AgentNo, d: &Distillate) -> Result<Distillate> {
    let mut known = Known { tx, agent_no, files: HashMap::new(), left: HashMap::new() };
    let mut out = d.clone();
    let mut failed = None;
    let mut stays = |file: Option<&str>, turns: &[TurnId]| {
        known.stays(file, turns).unwrap_or_else(|e| {
            failed.get_or_insert(e);
            true
        })
    };
    out.retain(|item| stays(item.file.as_deref(), &item.turns));
    out.files.retain(|file| stays(None, &file.turns));
    out.proposals.retain(|proposed| stays(proposed.file.as_deref(), &proposed.turns));
    failed.map_or(Ok(out), Err)
}

/// A cache: many items have the same turns and files.
struct Known<'k> {
    tx: &'k Read<'k>,
    agent_no: AgentNo,
    files: HashMap<String, bool>,
    left: HashMap<TurnId, bool>,
}

impl Known<'_> {
    fn stays(&mut self, file: Option<&str>, turns: &[TurnId]) -> Result<bool> {
        if let Some(file) = file
            && !self.is_open(file)?
        {
            return Ok(false);
        }
        for turn in turns {
            if !self.is_left(*turn)? {
                return Ok(true);
            }
        }
        Ok(turns.is_empty())
    }

    /// Whether an item's file exists, is current, and was not dismissed in this version.
    fn is_open(&mut self, item: &str) -> Result<bool> {
        if let Some(open) = self.files.get(item) {
            return Ok(*open);
        }
        let open = match file_table::item(self.tx, self.agent_no, item)? {
            Some(entry) if entry.state == State::Active => !self.is_dismissed(item, &entry.digest)?,
            _ => false,
        };
        self.files.insert(item.to_owned(), open);
        Ok(open)
    }

    fn is_dismissed(&self, item: &str, digest: &Digest) -> Result<bool> {
        dismissals::is_dismissed(self.tx, self.agent_no, &PageKey::Memory, item, digest)
    }

    fn is_left(&mut self, turn: TurnId) -> Result<bool> {
        if let Some(left) = self.left.get(&turn) {
            return Ok(*left);
        }
        let left: Option<bool> = self
            .tx
            .prepare_cached(
                "SELECT r.left_by IS NOT NULL FROM turns t JOIN turn_results r ON r.run_no = t.run_no WHERE t.turn_no = ?1",
            )?
            .query_row([turn.0], |r| r.get(0))
            .optional()?;
        let left = left.unwrap_or(false);
        self.left.insert(turn, left);
        Ok(left)
    }
}
