//! Marks the sessions that have turns no node covers yet. Capture writes the marks in the transaction that stores the
//! turns; `distill` reads them.

use rusqlite::{OptionalExtension, params};

use crate::clock::Millis;
use crate::error::Result;
use crate::ledger::{Read, Write};
use crate::scope::{AgentNo, SessionNo};

/// A session that is due for distillation.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Due {
    pub session_no: SessionNo,
    pub agent_no: AgentNo,
    /// Incremented with every append.
    pub mark: i64,
}

/// Marks sessions that have new turns.
pub fn mark(tx: &Write, sessions: &[SessionNo]) -> Result<()> {
    let mut statement = tx.prepare_cached(
        "INSERT INTO lineage_marks (session_no, mark, done, due_at) VALUES (?1, 1, 0, 0)
         ON CONFLICT (session_no) DO UPDATE SET mark = mark + 1, due_at = 0",
    )?;
    for session in sessions {
        statement.execute([session])?;
    }
    Ok(())
}

/// Returns the sessions that are due, least recently active first, so that history is distilled in its order.
pub fn due(tx: &Read, now: Millis, agent_no: Option<AgentNo>, most: usize) -> Result<Vec<Due>> {
    let mut statement = tx.prepare_cached(
        "SELECT m.session_no, s.agent_no, m.mark FROM lineage_marks m JOIN sessions s USING (session_no)
         WHERE m.due_at <= ?1 AND (?2 IS NULL OR s.agent_no = ?2)
         ORDER BY s.last_at, m.session_no LIMIT ?3",
    )?;
    let rows = statement.query_map(params![now, agent_no, most as i64], |r| {
        Ok(Due { session_no: r.get(0)?, agent_no: r.get(1)?, mark: r.get(2)? })
    })?;
    Ok(rows.collect::<rusqlite::Result<_>>()?)
}

/// Returns the sessions that were active since a time and are not distilled to their end, with their last activity; the
/// most recently active first.
pub fn unfinished(
    tx: &Read,
    agent_no: AgentNo,
    since: Millis,
    most: usize,
) -> Result<Vec<(SessionNo, Option<Millis>)>> {
    let mut statement = tx.prepare_cached(
        "SELECT s.session_no, s.last_at FROM lineage_marks m JOIN sessions s USING (session_no)
         WHERE m.due_at IS NOT NULL AND s.agent_no = ?1 AND s.forgotten IS NULL AND s.last_at >= ?2
         ORDER BY s.last_at DESC LIMIT ?3",
    )?;
    let rows = statement.query_map(params![agent_no, since, most as i64], |r| Ok((r.get(0)?, r.get(1)?)))?;
    Ok(rows.collect::<rusqlite::Result<_>>()?)
}

/// Returns the number of sessions that are due, of one agent or of all, and the time at which the next one will be due.
pub fn counts(tx: &Read, now: Millis, agent_no: Option<AgentNo>) -> Result<(u64, Option<Millis>)> {
    Ok(tx
        .prepare_cached(
            "SELECT count(*) FILTER (WHERE due_at <= ?1), min(due_at) FILTER (WHERE due_at > ?1)
             FROM lineage_marks m JOIN sessions s USING (session_no)
             WHERE due_at IS NOT NULL AND (?2 IS NULL OR s.agent_no = ?2)",
        )?
        .query_row(params![now, agent_no], |r| Ok((r.get::<_, i64>(0)? as u64, r.get(1)?)))?)
}

/// Returns the mark of one session; `None` if it was never marked.
pub fn of(tx: &Read, session_no: SessionNo) -> Result<Option<i64>> {
    Ok(tx
        .prepare_cached("SELECT mark FROM lineage_marks WHERE session_no = ?1")?
        .query_row([session_no], |r| r.get(0))
        .optional()?)
}

/// Records that a session was distilled up to a mark, and when it is due again. If turns were stored meanwhile, the
/// session stays due.
pub fn done(tx: &Write, session_no: SessionNo, mark: i64, again_at: Option<Millis>) -> Result<()> {
    tx.prepare_cached("UPDATE lineage_marks SET done = ?2, due_at = ?3 WHERE session_no = ?1 AND mark = ?2")?
        .execute(params![session_no, mark, again_at])?;
    Ok(())
}
