//! Ledger rows that were derived from the forgotten turns or contain their words. Preview and removal use the same
//! search, so the preview shows exactly what will happen.

use std::collections::HashSet;

use rusqlite::params;
use rusqlite::types::Value as Cell;

use super::words::Words;
use crate::error::Result;
use crate::ledger::{Read, Write, blocks};
use crate::scope::{AgentNo, SessionNo, TurnId};

/// Marks by which derived text is recognised: words that are forgotten, or the ids of turns, items and nodes that are
/// removed.
pub(super) struct Marks<'m> {
    pub words: &'m Words,
    pub ids: HashSet<String>,
}

impl Marks<'_> {
    /// Whether a text contains a mark.
    pub fn are_in(&self, text: &[u8]) -> bool {
        if self.words.are_quoted_in(text) {
            return true;
        }
        let part = |c: char| c.is_alphanumeric() || matches!(c, ':' | '-' | '_');
        let text = String::from_utf8_lossy(text);
        text.split(|c| !part(c)).any(|token| self.ids.contains(token))
    }
}

/// Treatment of a row that contains a mark.
enum Then {
    /// The row is deleted.
    Delete,
    /// The row stays; its text is replaced.
    Set(&'static str),
}

/// A table whose rows may contain marks: name, key columns, text columns, whether these are compressed.
struct Table {
    name: &'static str,
    key: &'static [&'static str],
    columns: &'static [&'static str],
    squeezed: bool,
    then: Then,
    /// Searched only when words were named: no row is derived from single turns.
    by_words: bool,
    /// Whether the table stores no agent, so that the rows of all agents are searched.
    shared: bool,
}

const TABLES: &[Table] = &[
    Table {
        name: "file_revisions",
        key: &["revision_no"],
        columns: &["data"],
        squeezed: true,
        then: Then::Delete,
        by_words: false,
        shared: false,
    },
    Table {
        name: "pending_memory",
        key: &["pending_no"],
        columns: &["key", "title", "text", "result"],
        squeezed: false,
        then: Then::Delete,
        by_words: false,
        shared: false,
    },
    Table {
        name: "findings",
        key: &["finding_no"],
        columns: &["subject", "value", "sentence", "turns"],
        squeezed: false,
        then: Then::Delete,
        by_words: false,
        shared: false,
    },
    Table {
        name: "candidates",
        key: &["candidate_no"],
        columns: &["key", "text", "evidence", "turns"],
        squeezed: false,
        then: Then::Delete,
        by_words: false,
        shared: false,
    },
    Table {
        name: "matters",
        key: &["matter_no"],
        columns: &["text", "turn"],
        squeezed: false,
        then: Then::Delete,
        by_words: false,
        shared: false,
    },
    Table {
        name: "skill_steps",
        key: &["session_no"],
        columns: &["steps"],
        squeezed: false,
        then: Then::Delete,
        by_words: false,
        shared: false,
    },
    Table {
        name: "skill_candidates",
        key: &["candidate_no"],
        columns: &["name", "steps", "evidence"],
        squeezed: false,
        then: Then::Delete,
        by_words: false,
        shared: false,
    },
    Table {
        // The rendered blocks are removed by `pages::revisions::forget_rendered`.
        name: "head_revisions",
        key: &["head", "revision"],
        columns: &["sections"],
        squeezed: false,
        then: Then::Set("sections = '{}'"),
        by_words: false,
        shared: false,
    },
    Table {
        name: "head_sections",
        key: &["head", "section"],
        columns: &["content"],
        squeezed: false,
        then: Then::Delete,
        by_words: false,
        shared: false,
    },
    Table {
        name: "head_deferred",
        key: &["head", "section", "owner"],
        columns: &["content"],
        squeezed: false,
        then: Then::Delete,
        by_words: false,
        shared: false,
    },
    Table {
        name: "threads",
        key: &["thread_no"],
        columns: &["label"],
        squeezed: false,
        then: Then::Set("label = thread_key"),
        by_words: false,
        shared: false,
    },
    Table {
        name: "thread_names",
        key: &["name"],
        columns: &["name"],
        squeezed: false,
        then: Then::Delete,
        by_words: false,
        shared: false,
    },
    Table {
        name: "thread_links",
        key: &["thread_no", "other_no"],
        columns: &["why"],
        squeezed: false,
        then: Then::Set("why = NULL"),
        by_words: false,
        shared: false,
    },
    Table {
        name: "dismissals",
        key: &["head", "item"],
        columns: &["item"],
        squeezed: false,
        then: Then::Delete,
        by_words: false,
        shared: false,
    },
    Table {
        name: "flushes",
        key: &["flush_id"],
        columns: &["plan", "last_error"],
        squeezed: false,
        then: Then::Set("plan = NULL, last_error = NULL, state = 'done'"),
        by_words: false,
        shared: false,
    },
    Table {
        // The context may quote words that were named. Any other forget empties all contexts without searching them.
        name: "contexts",
        key: &["context_no"],
        columns: &["content"],
        squeezed: false,
        then: Then::Set("content = zeroblob(0), key = zeroblob(0), digest = zeroblob(0), fingerprint = zeroblob(0)"),
        by_words: true,
        shared: false,
    },
    Table {
        name: "profile",
        key: &["key"],
        columns: &["value"],
        squeezed: false,
        then: Then::Delete,
        by_words: true,
        shared: false,
    },
    Table {
        name: "scheduled_runs",
        key: &["run_no"],
        columns: &["command", "error"],
        squeezed: false,
        then: Then::Set("command = '', error = NULL"),
        by_words: true,
        shared: false,
    },
    Table {
        name: "channel_events",
        key: &["event_no"],
        columns: &["name", "detail"],
        squeezed: false,
        then: Then::Set("name = NULL, detail = NULL"),
        by_words: true,
        shared: false,
    },
    Table {
        name: "jobs",
        key: &["job_no"],
        columns: &["payload", "last_error"],
        squeezed: false,
        then: Then::Set("last_error = NULL, payload = '{}'"),
        by_words: true,
        shared: true,
    },
];

/// Counts the rows with a mark, by table.
pub(super) fn count(tx: &Read, agent_no: AgentNo, marks: &Marks, named: bool) -> Result<Vec<(&'static str, u64)>> {
    let mut out = Vec::new();
    for table in TABLES {
        let rows = showing(tx, agent_no, table, marks, named)?.len() as u64;
        if rows > 0 {
            out.push((table.name, rows));
        }
    }
    Ok(out)
}

/// Deletes the rows with a mark, or replaces their text.
pub(super) fn erase(tx: &Write, agent_no: AgentNo, marks: &Marks, named: bool) -> Result<()> {
    for table in TABLES {
        let key =
            table.key.iter().enumerate().map(|(i, k)| format!("{k} = ?{}", i + 2)).collect::<Vec<_>>().join(" AND ");
        let whose = if table.shared { "?1 IS NOT NULL" } else { "agent_no = ?1" };
        let sql = match table.then {
            Then::Delete => format!("DELETE FROM {} WHERE {whose} AND {key}", table.name),
            Then::Set(what) => format!("UPDATE {} SET {what} WHERE {whose} AND {key}", table.name),
        };
        for row in showing(tx, agent_no, table, marks, named)? {
            let with = std::iter::once(Cell::Integer(agent_no.0)).chain(row);
            tx.prepare_cached(&sql)?.execute(rusqlite::params_from_iter(with))?;
        }
    }
    Ok(())
}

/// Returns the keys of the rows of a table that contain a mark.
fn showing(tx: &Read, agent_no: AgentNo, table: &Table, marks: &Marks, named: bool) -> Result<Vec<Vec<Cell>>> {
    if table.by_words && !named {
        return Ok(Vec::new());
    }
    let whose = if table.shared { "?1 IS NOT NULL" } else { "agent_no = ?1" };
    let columns = [table.key, table.columns].concat().join(", ");
    let mut statement = tx.prepare(&format!("SELECT {columns} FROM {} WHERE {whose}", table.name))?;
    let mut rows = statement.query([agent_no])?;
    let mut out = Vec::new();
    while let Some(r) = rows.next()? {
        let mut shows = false;
        for i in 0..table.columns.len() {
            let text = match r.get::<_, Cell>(table.key.len() + i)? {
                Cell::Text(text) => text.into_bytes(),
                Cell::Blob(data) if table.squeezed => blocks::unsqueeze(&data)?,
                // The writer of this column may have compressed it.
                Cell::Blob(data) => blocks::unsqueeze(&data).unwrap_or(data),
                _ => continue,
            };
            shows |= marks.are_in(&text);
        }
        if shows {
            out.push((0..table.key.len()).map(|i| r.get(i)).collect::<rusqlite::Result<_>>()?);
        }
    }
    Ok(out)
}

/// Returns the notices made from this turn, or from a session that is forgotten as a whole.
pub(super) fn noticed(tx: &Read, turn: TurnId, whole: Option<SessionNo>) -> Result<Vec<i64>> {
    let mut statement =
        tx.prepare_cached("SELECT pending_no FROM pending_memory WHERE turn_no = ?1 OR session_no = ?2")?;
    let rows = statement.query_map(params![turn, whole], |r| r.get(0))?;
    Ok(rows.collect::<rusqlite::Result<_>>()?)
}
