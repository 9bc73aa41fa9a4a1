//! How far the ledger was followed: up to which turn, node or change of a file the pages that show it were marked.
//!
//! A cursor is a row of `heads` under a word that is the key of no page; its column `rendered` is the position.

use rusqlite::{OptionalExtension, ToSql, params};

use crate::clock::Millis;
use crate::error::Result;
use crate::ledger::{Read, Write};
use crate::scope::AgentNo;

/// What is followed.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Cursor {
    /// Turns, by their number: for the daily notes and the pages of projects and sessions.
    Days,
    /// Nodes, by their number: for the notes of days, weeks and months.
    Nodes,
    /// Changes of open loops and proposals, by their change number: for the pages of their threads.
    Owed,
}

/// The position of a cursor when everything is to be looked at again.
pub const FROM_THE_START: i64 = -1;

impl Cursor {
    fn word(self) -> &'static str {
        match self {
            Cursor::Days => "days",
            Cursor::Nodes => "nodes",
            Cursor::Owed => "owed",
        }
    }

    /// Its position and when it was moved last; 0 and 0 where it never was.
    pub(crate) fn get(self, tx: &Read, agent_no: AgentNo) -> Result<(i64, Millis)> {
        Ok(tx
            .prepare_cached("SELECT rendered, coalesce(at, 0) FROM heads WHERE agent_no = ?1 AND head = ?2")?
            .query_row(params![agent_no, self], |r| Ok((r.get(0)?, r.get(1)?)))
            .optional()?
            .unwrap_or_default())
    }

    /// Moves it, in the transaction that marks what was found on the way.
    pub(crate) fn advance(self, tx: &Write, agent_no: AgentNo, to: i64, now: Millis) -> Result<()> {
        tx.prepare_cached(
            "INSERT INTO heads (agent_no, head, dirty, rendered, at) VALUES (?1, ?2, ?3, ?3, ?4)
             ON CONFLICT (agent_no, head) DO UPDATE SET dirty = ?3, rendered = ?3, at = ?4",
        )?
        .execute(params![agent_no, self, to, now])?;
        Ok(())
    }

    /// Lets everything be looked at again. When it was moved last stays as it was.
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
