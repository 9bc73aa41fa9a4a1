//! Threads as rows: found by number, key or name.

use rusqlite::{OptionalExtension, Row, params};

use crate::clock::Millis;
use crate::error::{Error, Result};
use crate::ledger::Read;
use crate::scope::ThreadKey;

/// A thread.
#[derive(Clone, PartialEq, Debug)]
pub struct ThreadRow {
    pub no: i64,
    pub key: String,
    /// The name of its head's file, without the ending.
    pub file: String,
    pub label: String,
    /// `active` or `closed`.
    pub state: String,
    /// The thread it was merged into; it is no thread of its own any more.
    pub merged_into: Option<i64>,
    pub created_at: Millis,
    /// When it was last worked in, as far as its nodes and runs tell.
    pub last_at: Option<Millis>,
}

impl ThreadRow {
    pub fn key(&self) -> Result<ThreadKey> {
        ThreadKey::parse(&self.key)
    }
}

const COLUMNS: &str = "t.thread_no, t.thread_key, t.file, t.label, t.state, t.merged_into, t.created_at,
    (SELECT max(last_at) FROM nodes n WHERE n.thread_no = t.thread_no)";

fn row_of(r: &Row) -> rusqlite::Result<ThreadRow> {
    Ok(ThreadRow {
        no: r.get(0)?,
        key: r.get(1)?,
        file: r.get(2)?,
        label: r.get(3)?,
        state: r.get(4)?,
        merged_into: r.get(5)?,
        created_at: r.get(6)?,
        last_at: r.get(7)?,
    })
}

/// One thread by its number. `NotFound` also where it is another agent's.
pub fn row(tx: &Read, agent_no: i64, thread_no: i64) -> Result<ThreadRow> {
    find(tx, agent_no, thread_no)?
        .ok_or_else(|| Error::not_found("there is no such thread").hint("see heirloom thread list"))
}

/// One thread by its number.
pub fn find(tx: &Read, agent_no: i64, thread_no: i64) -> Result<Option<ThreadRow>> {
    Ok(tx
        .prepare_cached(&format!("SELECT {COLUMNS} FROM threads t WHERE t.thread_no = ?1 AND t.agent_no = ?2"))?
        .query_row([thread_no, agent_no], row_of)
        .optional()?)
}

/// The thread whose head has this file name (without the ending).
pub fn of_file(tx: &Read, agent_no: i64, file: &str) -> Result<Option<ThreadRow>> {
    Ok(tx
        .prepare_cached(&format!("SELECT {COLUMNS} FROM threads t WHERE t.agent_no = ?1 AND t.file = ?2"))?
        .query_row(params![agent_no, file], row_of)
        .optional()?)
}

/// Threads of an agent that are not merged into others, last worked in first.
pub fn list(tx: &Read, agent_no: i64) -> Result<Vec<ThreadRow>> {
    let mut statement = tx.prepare_cached(&format!(
        "SELECT {COLUMNS} FROM threads t WHERE t.agent_no = ?1 AND t.merged_into IS NULL ORDER BY 8 DESC, t.thread_no DESC"
    ))?;
    let rows = statement.query_map([agent_no], row_of)?;
    Ok(rows.collect::<rusqlite::Result<_>>()?)
}

/// The thread a thread counts as: where it was merged, the one it was merged into.
pub fn canonical(tx: &Read, thread_no: i64) -> Result<i64> {
    let mut at = thread_no;
    // Merging refuses circles; the bound is for a ledger somebody else wrote in.
    for _ in 0..32 {
        let next: Option<i64> = tx
            .prepare_cached("SELECT merged_into FROM threads WHERE thread_no = ?1")?
            .query_row([at], |r| r.get(0))
            .optional()?
            .flatten();
        match next {
            Some(next) => at = next,
            None => break,
        }
    }
    Ok(at)
}

/// A thread and all that were merged into it.
pub fn members(tx: &Read, thread_no: i64) -> Result<Vec<i64>> {
    let mut statement = tx.prepare_cached(
        "WITH RECURSIVE under (no) AS (
           SELECT ?1 UNION SELECT t.thread_no FROM threads t JOIN under u ON t.merged_into = u.no)
         SELECT no FROM under ORDER BY no",
    )?;
    let rows = statement.query_map([thread_no], |r| r.get(0))?;
    Ok(rows.collect::<rusqlite::Result<_>>()?)
}

/// The thread a name stands for: its key, a name it has or had, its label. Merged ones lead on. `NotFound`, or `Usage`
/// where a label means several.
pub fn named(tx: &Read, agent_no: i64, name: &str) -> Result<ThreadRow> {
    let by_key: Option<i64> = tx
        .prepare_cached(
            "SELECT thread_no FROM threads WHERE agent_no = ?1 AND thread_key = ?2
             UNION ALL SELECT thread_no FROM thread_names WHERE agent_no = ?1 AND name = ?2 LIMIT 1",
        )?
        .query_row(params![agent_no, name], |r| r.get(0))
        .optional()?;
    if let Some(no) = by_key {
        return row(tx, agent_no, canonical(tx, no)?);
    }
    let found: Vec<ThreadRow> =
        list(tx, agent_no)?.into_iter().filter(|t| t.label.eq_ignore_ascii_case(name)).collect();
    match found.as_slice() {
        [one] => Ok(one.clone()),
        [] => Err(Error::not_found(format!("no thread is called {:?}", name.chars().take(80).collect::<String>()))
            .hint("see heirloom thread list")),
        several => Err(Error::usage(format!("{name:?} is the name of {} threads", several.len()))
            .hint(format!("use a key: {}", several.iter().map(|t| t.key.as_str()).collect::<Vec<_>>().join(", ")))),
    }
}

/// The thread a session is in now: that of its newest run that has one.
pub fn of_session(tx: &Read, session_no: i64) -> Result<Option<i64>> {
    let found: Option<i64> = tx
        .prepare_cached(
            "SELECT m.thread_no FROM turn_results r JOIN run_threads m USING (run_no) JOIN lanes l USING (lane_no)
             WHERE r.session_no = ?1 ORDER BY (l.lane = '') DESC, r.run_no DESC LIMIT 1",
        )?
        .query_row([session_no], |r| r.get(0))
        .optional()?;
    found.map(|no| canonical(tx, no)).transpose()
}
