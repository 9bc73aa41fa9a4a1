//! Positions in the ledger: up to which turn, node or file change the pages that show it have been marked.
//!
//! A cursor is a row of `heads` whose key is no page's key; its column `rendered` is the position.

use rusqlite::{OptionalExtension, ToSql, params};

use crate::clock::Millis;
use crate::error::Result;
use crate::ledger::{Read, Write};
use crate::scope::AgentNo;

/// The rows of the ledger that a cursor follows.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Cursor {
    /// Turns, by number: for the daily notes and the pages of projects and sessions.
    Days,
    /// Nodes, by number: for the notes of days, weeks and months.
    Nodes,
    /// Changes of open loops and proposals, by change number: for the pages of their threads.
    Owed,
}

/// The position from which a cursor reads everything again.
pub const FROM_THE_START: i64 = -1;

impl Cursor {
    fn word(self) -> &'static str {
        match self {
            Cursor::Days => "days",
            Cursor::Nodes => "nodes",
            Cursor::Owed => "owed",
        }
    }

    /// Returns the cursor's position and when it last moved; 0 and 0 if it never did.
    pub(crate) fn get(self, tx: &Read, agent_no: AgentNo) -> Result<(i64, Millis)> {
        Ok(tx
            .prepare_cached("SELECT rendered, coalesce(at, 0) FROM heads WHERE agent_no = ?1 AND head = ?2")?
            .query_row(params![agent_no, self], |r| Ok((r.get(0)?, r.get(1)?)))
            .optional()?
            .unwrap_or_default())
    }

    /// Moves the cursor, in the transaction that marks the pages found.
    pub(crate) fn advance(self, tx: &Write, agent_no: AgentNo, to: i64, now: Millis) -> Result<()> {
        tx.prepare_cached(
            "INSERT INTO heads (agent_no, head, dirty, rendered, at) VALUES (?1, ?2, ?3, ?3, ?4)
             ON CONFLICT (agent_no, head) DO UPDATE SET dirty = ?3, rendered = ?3, at = ?4",
        )?
        .execute(params![agent_no, self, to, now])?;
        Ok(())
    }

    /// Sets the cursor back to the start. The time it last moved stays.
    pub(super) fn start_over(self, tx: &Write, agent_no: AgentNo) -> Result<()> {
        tx.prepare_cached(
            "INSERT INTO heads (agent_no, head, dirty, rendered) VALUES (?1, ?2, ?3, ?3)
             ON CONFLICT (agent_no, head) DO UPDATE SET dirty = ?3, rendered = ?3",
        )?
        .execute(params![agent_no, self, FROM_THE_START])?;
        Ok(())
    }
}

impl ToSql for Cursor {
    fn to_sql(&self) -> rusqlite::Result<rusqlite::types::ToSqlOutput<'_>> {
        Ok(self.word().into())
    }
}
