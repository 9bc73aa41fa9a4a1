//! The audit log: actor, action and reason of every write, append-only and hash-chained, one row per transaction
//! (R4.2).

use rusqlite::{Connection, OptionalExtension, params};
use schemars::JsonSchema;
use serde::Serialize;
use serde_json::Value;

use crate::clock::{Millis, as_rfc3339};
use crate::error::Result;
use crate::ledger::{Read, Write};
use crate::scope::AgentNo;

/// The reason of a write. Required by [`Ledger::write`](super::Ledger::write), so that a write without a reason does
/// not compile.
#[derive(Clone, Debug)]
pub struct Audit {
    pub agent_no: Option<AgentNo>,
    /// The actor: `cli import`, `hook`, `worker`.
    pub actor: String,
    /// The action, as `noun.verb`.
    pub action: &'static str,
}

impl Audit {
    pub fn new(actor: &str, action: &'static str) -> Audit {
        Audit { agent_no: None, actor: actor.to_owned(), action }
    }

    pub fn of_agent(mut self, agent_no: AgentNo) -> Audit {
        self.agent_no = Some(agent_no);
        self
    }
}

/// One row of the audit log.
#[derive(Clone, PartialEq, Serialize, JsonSchema, Debug)]
pub struct Entry {
    pub no: i64,
    #[schemars(with = "String")]
    #[serde(serialize_with = "as_rfc3339")]
    pub at: Millis,
    pub agent: Option<String>,
    pub actor: String,
    pub action: String,
    pub detail: Value,
}

pub(super) fn append(
    tx: &Connection,
    at: Millis,
    why: Audit,
    detail: serde_json::Map<String, Value>,
) -> rusqlite::Result<()> {
    let last: Option<(i64, Vec<u8>)> = tx
        .prepare_cached("SELECT audit_no, hash FROM audit ORDER BY audit_no DESC LIMIT 1")?
        .query_row([], |r| Ok((r.get(0)?, r.get(1)?)))
        .optional()?;
    let (no, prev) = last.map_or((1, vec![0; 32]), |(no, hash)| (no + 1, hash));
    let detail = Value::Object(detail).to_string();
    let hash = link(&prev, no, at, why.agent_no, &why.actor, why.action, &detail);
    tx.prepare_cached(
        "INSERT INTO audit (audit_no, at, agent_no, actor, action, detail, prev, hash) VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8)",
    )?
    .execute(params![no, at, why.agent_no, why.actor, why.action, detail, prev, hash.as_slice()])?;
    Ok(())
}

/// Returns the newest `limit` rows, newest first; `before`: only those before that number. `agent_no` limits to rows of
/// that agent and rows of no agent.
pub fn list(tx: &Read, agent_no: AgentNo, before: Option<i64>, limit: usize) -> Result<Vec<Entry>> {
    let mut statement = tx.prepare(
        "SELECT audit_no, at, agent_id, actor, action, detail FROM audit LEFT JOIN agents USING (agent_no)
         WHERE (agent_no IS NULL OR agent_no = ?1) AND audit_no < ?2 ORDER BY audit_no DESC LIMIT ?3",
    )?;
    let rows = statement.query_map(params![agent_no, before.unwrap_or(i64::MAX), limit as i64], entry)?;
    Ok(rows.collect::<rusqlite::Result<_>>()?)
}

/// Returns the oldest `limit` rows with a number above `no`, oldest first, for the same agent as [`list`].
pub fn after(tx: &Read, agent_no: AgentNo, no: i64, limit: usize) -> Result<Vec<Entry>> {
    let mut statement = tx.prepare_cached(
        "SELECT audit_no, at, agent_id, actor, action, detail FROM audit LEFT JOIN agents USING (agent_no)
         WHERE (agent_no IS NULL OR agent_no = ?1) AND audit_no > ?2 ORDER BY audit_no LIMIT ?3",
    )?;
    let rows = statement.query_map(params![agent_no, no, limit as i64], entry)?;
    Ok(rows.collect::<rusqlite::Result<_>>()?)
}

fn entry(r: &rusqlite::Row) -> rusqlite::Result<Entry> {
    Ok(Entry {
        no: r.get(0)?,
        at: r.get(1)?,
        agent: r.get(2)?,
        actor: r.get(3)?,
        action: r.get(4)?,
        detail: serde_json::from_str(&r.get::<_, String>(5)?).unwrap_or(Value::Null),
    })
}

/// Returns the number of the newest row; 0 where there is none.
pub fn newest(tx: &Read) -> Result<u64> {
    let no: Option<i64> = tx.prepare_cached("SELECT max(audit_no) FROM audit")?.query_row([], |r| r.get(0))?;
    Ok(no.unwrap_or(0) as u64)
}

/// Number of newest rows that [`said_lately`] looks at.
const LATELY: i64 = 200;

/// Whether one of the newest rows has this action and a detail for which `is_it` returns true.
pub fn said_lately(tx: &Read, action: &str, is_it: impl Fn(&serde_json::Value) -> bool) -> Result<bool> {
    let mut statement = tx.prepare_cached(
        "SELECT detail FROM audit WHERE audit_no > (SELECT max(audit_no) FROM audit) - ?1 AND action = ?2",
    )?;
    let mut rows = statement.query(rusqlite::params![LATELY, action])?;
    while let Some(row) = rows.next()? {
        let detail: String = row.get(0)?;
        if serde_json::from_str(&detail).is_ok_and(|detail| is_it(&detail)) {
            return Ok(true);
        }
    }
    Ok(false)
}

/// Verifies the whole chain. Returns the number of rows and a description of each that does not fit.
pub fn broken_links(tx: &Read) -> Result<(u64, Vec<String>)> {
    let mut statement =
        tx.prepare("SELECT audit_no, at, agent_no, actor, action, detail, prev, hash FROM audit ORDER BY audit_no")?;
    let mut rows = statement.query([])?;
    let (mut seen, mut broken) = (0u64, Vec::new());
    let mut expected_prev = vec![0u8; 32];
    let mut expected_no = 1i64;
    while let Some(r) = rows.next()? {
        let no: i64 = r.get(0)?;
        let prev: Vec<u8> = r.get(6)?;
        let hash: Vec<u8> = r.get(7)?;
        let (actor, action, detail): (String, String, String) = (r.get(3)?, r.get(4)?, r.get(5)?);
        let computed = link(&prev, no, r.get(1)?, r.get(2)?, &actor, &action, &detail);
        if no != expected_no {
            broken.push(format!("audit row {expected_no} is missing"));
        } else if prev != expected_prev {
            broken.push(format!("audit row {no} does not follow the row before it"));
        }
        if computed.as_slice() != hash {
            broken.push(format!("audit row {no} was changed"));
        }
        expected_prev = hash;
        expected_no = no + 1;
        seen += 1;
    }
    Ok((seen, broken))
}

/// Returns the number of rows whose actor or detail is a text for which `has` returns true.
pub fn count(tx: &Read, mut has: impl FnMut(&str) -> bool) -> Result<u64> {
    let mut statement = tx.prepare("SELECT actor, detail FROM audit ORDER BY audit_no")?;
    let mut rows = statement.query([])?;
    let mut found = 0;
    while let Some(r) = rows.next()? {
        let (actor, detail): (String, String) = (r.get(0)?, r.get(1)?);
        let (in_actor, in_detail) = (has(&actor), has(&detail));
        found += u64::from(in_actor || in_detail);
    }
    Ok(found)
}

/// Rewrites texts of rows, which only forgetting may do (R14.2), and computes the chain anew from the first rewritten
/// row on. Returns the number of that row, or `None` if no row was rewritten. The caller notes the rewrite in its own
/// audit row.
pub fn reword(tx: &Write, new: impl Fn(&str) -> Option<String>) -> Result<Option<i64>> {
    struct Row {
        no: i64,
        at: Millis,
        agent: Option<AgentNo>,
        actor: String,
        action: String,
        detail: String,
        prev: Vec<u8>,
        hash: Vec<u8>,
    }
    let mut changed: Vec<Row> = Vec::new();
    {
        let mut statement = tx
            .prepare("SELECT audit_no, at, agent_no, actor, action, detail, prev, hash FROM audit ORDER BY audit_no")?;
        let mut rows = statement.query([])?;
        let mut prev: Option<Vec<u8>> = None;
        while let Some(r) = rows.next()? {
            let mut row = Row {
                no: r.get(0)?,
                at: r.get(1)?,
                agent: r.get(2)?,
                actor: r.get(3)?,
                action: r.get(4)?,
                detail: r.get(5)?,
                prev: r.get(6)?,
                hash: r.get(7)?,
            };
            let (actor, detail) = (new(&row.actor), new(&row.detail));
            if prev.is_none() && actor.is_none() && detail.is_none() {
                continue;
            }
            row.actor = actor.unwrap_or(row.actor);
            row.detail = detail.unwrap_or(row.detail);
            row.prev = prev.unwrap_or(row.prev);
            row.hash = link(&row.prev, row.no, row.at, row.agent, &row.actor, &row.action, &row.detail).to_vec();
            prev = Some(row.hash.clone());
            changed.push(row);
        }
    }
    let Some(first) = changed.first().map(|row| row.no) else { return Ok(None) };
    let trigger: String = tx.query_row(
        "SELECT sql FROM sqlite_schema WHERE type = 'trigger' AND name = 'audit_is_append_only_update'",
        [],
        |r| r.get(0),
    )?;
    tx.execute_batch("DROP TRIGGER audit_is_append_only_update")?;
    for row in &changed {
        tx.prepare_cached("UPDATE audit SET actor = ?2, detail = ?3, prev = ?4, hash = ?5 WHERE audit_no = ?1")?
            .execute(params![row.no, row.actor, row.detail, row.prev, row.hash])?;
    }
    tx.execute_batch(&trigger)?;
    Ok(Some(first))
}

/// Computes the hash of one row from its fields and the hash of the row before. Fields are length-prefixed, so that no
/// two rows have the same input.
fn link(prev: &[u8], no: i64, at: Millis, agent: Option<AgentNo>, actor: &str, action: &str, detail: &str) -> [u8; 32] {
    let mut hasher = blake3::Hasher::new();
    hasher.update(prev);
    for part in [
        no.to_string().as_str(),
        at.to_string().as_str(),
        agent.map_or(String::from("-"), |n| n.to_string()).as_str(),
        actor,
        action,
        detail,
    ] {
        hasher.update(&(part.len() as u64).to_le_bytes());
        hasher.update(part.as_bytes());
    }
    *hasher.finalize().as_bytes()
}
