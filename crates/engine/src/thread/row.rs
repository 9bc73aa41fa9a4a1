//! Rows of threads, found by number, key or name.

use rusqlite::{OptionalExtension, Row, params};
use schemars::JsonSchema;
use serde::Serialize;

use crate::clock::{Millis, as_rfc3339, as_rfc3339_or_null};
use crate::error::{Error, Result};
use crate::ledger::Read;
use crate::ledger::codes::{COMPACTION, SESSION};
use crate::redact::as_redacted;
use crate::scope::{AgentNo, SessionNo, ThreadKey, ThreadNo};

/// A thread.
#[derive(Clone, PartialEq, Serialize, JsonSchema, Debug)]
pub struct ThreadRow {
    #[serde(skip)]
    pub no: ThreadNo,
    #[serde(rename = "thread")]
    pub key: String,
    /// File name of its head, without the extension.
    #[serde(skip)]
    pub file: String,
    #[schemars(with = "String")]
    #[serde(serialize_with = "as_redacted")]
    pub label: String,
    /// `active` or `closed`.
    pub state: String,
    /// The thread it was merged into; it is then no longer a thread of its own.
    #[serde(skip)]
    pub merged_into: Option<ThreadNo>,
    #[schemars(with = "String")]
    #[serde(serialize_with = "as_rfc3339")]
    pub created_at: Millis,
    /// Time at which it was last worked in, according to its nodes and runs.
    #[schemars(with = "Option<String>")]
    #[serde(serialize_with = "as_rfc3339_or_null")]
    pub last_at: Option<Millis>,
}

impl ThreadRow {
    pub fn key(&self) -> Result<ThreadKey> {
        ThreadKey::parse(&self.key)
    }
}

/// Number of a thread's newest runs that are read for `last_at`; older runs are covered by its nodes.
const NEWEST_RUNS: i64 = 32;

/// Returns the selected columns. `last_at` is computed from session and compaction nodes, which are few, and from runs
/// they may not cover yet.
fn columns() -> String {
    format!(
        "t.thread_no, t.thread_key, t.file, t.label, t.state, t.merged_into, t.created_at,
         nullif(max(
           coalesce((SELECT max(last_at) FROM nodes n
                     WHERE n.thread_no = t.thread_no AND n.kind IN ({SESSION}, {COMPACTION})), -1),
           coalesce((SELECT max(r.last_at) FROM
             (SELECT run_no FROM run_threads m WHERE m.thread_no = t.thread_no
              ORDER BY run_no DESC LIMIT {NEWEST_RUNS}) m
             JOIN turn_results r USING (run_no)), -1)), -1)"
    )
}

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

/// Returns one thread by its number. `NotFound` also if it belongs to another agent.
pub fn row(tx: &Read, agent_no: AgentNo, thread_no: ThreadNo) -> Result<ThreadRow> {
    find(tx, agent_no, thread_no)?.ok_or_else(|| Error::not_found("there is no such thread").hint("see ⟨thread list⟩"))
}

/// Returns one thread by its number; `None` if the agent has none of that number.
pub fn find(tx: &Read, agent_no: AgentNo, thread_no: ThreadNo) -> Result<Option<ThreadRow>> {
    Ok(tx
        .prepare_cached(&format!("SELECT {} FROM threads t WHERE t.thread_no = ?1 AND t.agent_no = ?2", columns()))?
        .query_row((thread_no, agent_no), row_of)
        .optional()?)
}

/// Returns the thread whose head has this file name (without the extension).
pub fn of_file(tx: &Read, agent_no: AgentNo, file: &str) -> Result<Option<ThreadRow>> {
    Ok(tx
        .prepare_cached(&format!("SELECT {} FROM threads t WHERE t.agent_no = ?1 AND t.file = ?2", columns()))?
        .query_row(params![agent_no, file], row_of)
        .optional()?)
}

/// Lists the threads of an agent that are not merged into others, including closed ones, last worked in first.
pub fn list(tx: &Read, agent_no: AgentNo) -> Result<Vec<ThreadRow>> {
    rows(tx, agent_no, "t.merged_into IS NULL")
}

/// Lists threads like [`list`], including merged ones.
pub fn list_all(tx: &Read, agent_no: AgentNo) -> Result<Vec<ThreadRow>> {
    rows(tx, agent_no, "1")
}

fn rows(tx: &Read, agent_no: AgentNo, which: &str) -> Result<Vec<ThreadRow>> {
    let mut statement = tx.prepare_cached(&format!(
        "SELECT {} FROM threads t WHERE t.agent_no = ?1 AND {which} ORDER BY 8 DESC NULLS LAST, t.thread_no DESC",
        columns()
    ))?;
    let rows = statement.query_map([agent_no], row_of)?;
    Ok(rows.collect::<rusqlite::Result<_>>()?)
}

/// Returns the thread that a thread counts as: for a merged one, the one it was merged into.
pub fn canonical(tx: &Read, thread_no: ThreadNo) -> Result<ThreadNo> {
    let mut at = thread_no;
    // `merge` refuses cycles; the bound protects against a ledger modified by other means.
    for _ in 0..32 {
        let next: Option<ThreadNo> = tx
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

/// Returns a thread and all threads merged into it.
pub fn members(tx: &Read, thread_no: ThreadNo) -> Result<Vec<ThreadNo>> {
    let mut statement = tx.prepare_cached(
        "WITH RECURSIVE under (no) AS (
           SELECT ?1 UNION SELECT t.thread_no FROM threads t JOIN under u ON t.merged_into = u.no)
         SELECT no FROM under ORDER BY no",
    )?;
    let rows = statement.query_map([thread_no], |r| r.get(0))?;
    Ok(rows.collect::<rusqlite::Result<_>>()?)
}

/// Returns the thread with exactly that key or name; for a merged thread, the one it was merged into.
pub fn exact(tx: &Read, agent_no: AgentNo, name: &str) -> Result<Option<ThreadNo>> {
    let found: Option<ThreadNo> = tx
        .prepare_cached(
            "SELECT thread_no FROM threads WHERE agent_no = ?1 AND thread_key = ?2
             UNION ALL SELECT thread_no FROM thread_names WHERE agent_no = ?1 AND name = ?2 LIMIT 1",
        )?
        .query_row(params![agent_no, name], |r| r.get(0))
        .optional()?;
    found.map(|no| canonical(tx, no)).transpose()
}

/// Returns the thread a name refers to: its key, a current or former name, its label, or a prefix of its key's rest of
/// at least [`SHORTEST_BEGINNING`] characters. Merged threads resolve to their target. `NotFound`, or `Usage` if the
/// name is ambiguous.
pub fn named(tx: &Read, agent_no: AgentNo, name: &str) -> Result<ThreadRow> {
    let found = called(tx, agent_no, name)?;
    row(tx, agent_no, canonical(tx, found.no)?)
}

/// Least length of a prefix of a key's rest that is accepted for the whole.
pub const SHORTEST_BEGINNING: usize = 6;

/// Does the same as [`named`], but returns a merged thread itself.
pub fn called(tx: &Read, agent_no: AgentNo, name: &str) -> Result<ThreadRow> {
    let by_name: Option<ThreadNo> = tx
        .prepare_cached(
            "SELECT thread_no FROM threads WHERE agent_no = ?1 AND thread_key = ?2
             UNION ALL SELECT thread_no FROM thread_names WHERE agent_no = ?1 AND name = ?2 LIMIT 1",
        )?
        .query_row(params![agent_no, name], |r| r.get(0))
        .optional()?;
    let mut found = match by_name {
        Some(no) => vec![no],
        None => labelled(tx, agent_no, name)?,
    };
    let length = name.chars().count();
    if found.is_empty() && length >= SHORTEST_BEGINNING {
        let mut statement = tx.prepare_cached(
            "SELECT thread_no FROM threads WHERE agent_no = ?1 AND (
               substr(thread_key, instr(thread_key, '/') + 1, ?3) = ?2
               OR (substr(thread_key, 1, ?3) = ?2 AND ?3 >= instr(thread_key, '/') + ?4))
             ORDER BY thread_no LIMIT 9",
        )?;
        let rows =
            statement.query_map(params![agent_no, name, length as i64, SHORTEST_BEGINNING as i64], |r| r.get(0))?;
        found = rows.collect::<rusqlite::Result<_>>()?;
    }
    match found.as_slice() {
        [one] => row(tx, agent_no, *one),
        [] => Err(Error::not_found(format!("no thread is called {:?}", name.chars().take(80).collect::<String>()))
            .hint("see ⟨thread list⟩")),
        several => {
            let keys: Vec<String> =
                several.iter().take(8).map(|no| Ok(row(tx, agent_no, *no)?.key)).collect::<Result<_>>()?;
            let more = if several.len() > keys.len() { ", …" } else { "" };
            Err(Error::usage(format!("{:?} could be several threads", name.chars().take(80).collect::<String>()))
                .hint(format!("use a key: {}{more}", keys.join(", "))))
        }
    }
}

/// Returns the threads with that label that are not merged into others, ignoring case.
pub(super) fn labelled(tx: &Read, agent_no: AgentNo, label: &str) -> Result<Vec<ThreadNo>> {
    let mut statement = tx.prepare_cached(
        "SELECT thread_no FROM threads WHERE agent_no = ?1 AND label = ?2 COLLATE NOCASE AND merged_into IS NULL
         ORDER BY thread_no",
    )?;
    let rows = statement.query_map(params![agent_no, label], |r| r.get(0))?;
    Ok(rows.collect::<rusqlite::Result<_>>()?)
}

/// Returns the thread that words refer to when they are not meant as a key: a current or former name, otherwise the
/// label of exactly one thread. A label taken from the beginning of a conversation does not count.
pub fn known_as(tx: &Read, agent_no: AgentNo, words: &str) -> Result<Option<ThreadNo>> {
    let named: Option<ThreadNo> = tx
        .prepare_cached("SELECT thread_no FROM thread_names WHERE agent_no = ?1 AND name = ?2")?
        .query_row(params![agent_no, words], |r| r.get(0))
        .optional()?;
    if named.is_some() {
        return Ok(named);
    }
    let mut statement = tx.prepare_cached(
        "SELECT thread_no FROM threads WHERE agent_no = ?1 AND label = ?2 COLLATE NOCASE AND merged_into IS NULL
           AND thread_key NOT LIKE 'session/%' LIMIT 2",
    )?;
    let rows = statement.query_map(params![agent_no, words], |r| r.get(0))?;
    let found: Vec<ThreadNo> = rows.collect::<rusqlite::Result<_>>()?;
    Ok(if let [one] = found.as_slice() { Some(*one) } else { None })
}

/// Returns the thread with exactly this key.
pub(super) fn of_key(tx: &Read, agent_no: AgentNo, key: &str) -> Result<Option<ThreadNo>> {
    Ok(tx
        .prepare_cached("SELECT thread_no FROM threads WHERE agent_no = ?1 AND thread_key = ?2")?
        .query_row(params![agent_no, key], |r| r.get(0))
        .optional()?)
}

/// Returns the thread a session is currently in: that of its newest run that has one.
pub fn of_session(tx: &Read, session_no: SessionNo) -> Result<Option<ThreadNo>> {
    let found: Option<ThreadNo> = tx
        .prepare_cached(
            "SELECT m.thread_no FROM lanes l JOIN turn_results r USING (lane_no) JOIN run_threads m USING (run_no)
             WHERE l.session_no = ?1 ORDER BY (l.lane = '') DESC, r.run_no DESC LIMIT 1",
        )?
        .query_row([session_no], |r| r.get(0))
        .optional()?;
    found.map(|no| canonical(tx, no)).transpose()
}

/// Returns the page files (without the extension) of these threads; for a merged thread, of the one it was merged into.
pub fn files_of(tx: &Read, agent_no: AgentNo, threads: &[ThreadNo]) -> Result<Vec<String>> {
    let mut files = Vec::new();
    for no in threads {
        files.extend(find(tx, agent_no, canonical(tx, *no)?)?.map(|row| row.file));
    }
    Ok(files)
}
