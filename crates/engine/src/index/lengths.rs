//! Number of tokens of each turn, two bytes each, for scoring; the engine's own table would need a look-up for each
//! row. It is written in the transaction that stores the rows; for a long turn it is the length of its first row.

use std::collections::{BTreeMap, BTreeSet};

use rusqlite::{OptionalExtension, params};

use super::Index;
use super::rows::RowId;
use crate::error::Result;
use crate::scope::AgentNo;

pub(crate) const SCHEMA: &str = "CREATE TABLE row_lengths (block INTEGER PRIMARY KEY, lengths BLOB NOT NULL) STRICT;";

pub(super) const EMPTY: &str = "DELETE FROM row_lengths;";

/// Number of turns in a block: as many as fit on a page.
pub(crate) const AT_ONCE: usize = 4000;

/// Returns the tokens of a turn in a block; 0 if the turn has no rows.
#[inline]
pub(crate) fn length_at(block: &[u8], slot: usize) -> u16 {
    match block.get(slot * 2..slot * 2 + 2) {
        Some(two) => u16::from_le_bytes([two[0], two[1]]),
        None => 0,
    }
}

/// Returns the tokens of all columns of a row, from the engine's record: a varint per column.
pub(crate) fn tokens_of(sizes: &[u8]) -> Option<u32> {
    let (mut sum, mut at) = (0u32, 0);
    while at < sizes.len() {
        let mut value = 0u32;
        loop {
            let byte = *sizes.get(at)?;
            at += 1;
            value = value.checked_mul(128)?.checked_add(u32::from(byte & 0x7f))?;
            if byte < 0x80 {
                break;
            }
        }
        sum = sum.checked_add(value)?;
    }
    Some(sum)
}

fn block_of(turn_no: i64) -> i64 {
    turn_no / AT_ONCE as i64
}

fn slot_of(turn_no: i64) -> usize {
    (turn_no % AT_ONCE as i64) as usize
}

impl Index {
    /// Notes that turns from `first` on get rows in the open transaction.
    pub(super) fn will_measure(&mut self, first: i64, agents: impl Iterator<Item = AgentNo>) {
        let open = self.unmeasured.get_or_insert((first, BTreeSet::new()));
        open.0 = open.0.min(first);
        open.1.extend(agents);
    }

    /// Stores the lengths of the rows of the open transaction.
    pub(super) fn settle_lengths(&mut self) -> Result<()> {
        let Some((first, agents)) = self.unmeasured.take() else { return Ok(()) };
        let mut lengths: BTreeMap<i64, u16> = BTreeMap::new();
        {
            let mut rows = self.conn.prepare_cached("SELECT id, sz FROM fts_docsize WHERE id BETWEEN ?1 AND ?2")?;
            for agent_no in agents {
                let (from, to) = RowId::range(agent_no, first, i64::MAX);
                let mut rows = rows.query([from, to])?;
                while let Some(r) = rows.next()? {
                    let id = RowId::unpack(r.get(0)?);
                    if id.part == 0 {
                        let tokens = tokens_of(r.get_ref(1)?.as_blob().unwrap_or_default()).unwrap_or_default();
                        lengths.insert(id.turn_no, u16::try_from(tokens).unwrap_or(u16::MAX));
                    }
                }
            }
        }
        self.put_lengths(&lengths)
    }

    /// Overwrites the lengths of turns, inside the open transaction.
    pub(super) fn put_lengths(&self, lengths: &BTreeMap<i64, u16>) -> Result<()> {
        let mut get = self.conn.prepare_cached("SELECT lengths FROM row_lengths WHERE block = ?1")?;
        let mut put =
            self.conn.prepare_cached("INSERT OR REPLACE INTO row_lengths (block, lengths) VALUES (?1, ?2)")?;
        let mut rest = lengths.iter().peekable();
        while let Some((turn_no, _)) = rest.peek() {
            let block = block_of(**turn_no);
            let mut bytes: Vec<u8> = get.query_row([block], |r| r.get(0)).optional()?.unwrap_or_default();
            while let Some((turn_no, length)) = rest.next_if(|(turn_no, _)| block_of(**turn_no) == block) {
                let at = slot_of(*turn_no) * 2;
                bytes.resize(bytes.len().max(at + 2), 0);
                bytes[at..at + 2].copy_from_slice(&length.to_le_bytes());
            }
            put.execute(params![block, bytes])?;
        }
        Ok(())
    }

    /// Reports lengths that differ from those of their rows.
    pub(super) fn length_problems(&self) -> Result<Vec<String>> {
        let mut rows = self.conn.prepare("SELECT id, sz FROM fts_docsize")?;
        let mut get = self.conn.prepare_cached("SELECT lengths FROM row_lengths WHERE block = ?1")?;
        let mut rows = rows.query([])?;
        let (mut known, mut wrong) = ((-1, Vec::new()), 0u64);
        while let Some(r) = rows.next()? {
            let id = RowId::unpack(r.get(0)?);
            if id.part != 0 {
                continue;
            }
            if known.0 != block_of(id.turn_no) {
                let block = block_of(id.turn_no);
                known = (block, get.query_row([block], |r| r.get(0)).optional()?.unwrap_or_default());
            }
            let tokens = tokens_of(r.get_ref(1)?.as_blob().unwrap_or_default()).unwrap_or_default();
            let stored = length_at(&known.1, slot_of(id.turn_no));
            wrong += u64::from(stored != u16::try_from(tokens).unwrap_or(u16::MAX));
        }
        Ok(match wrong {
            0 => Vec::new(),
            wrong => vec![format!("the index has wrong lengths of {wrong} turns")],
        })
    }
}
