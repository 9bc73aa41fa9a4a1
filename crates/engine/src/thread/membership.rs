//! Which thread a run belongs to.

use rusqlite::{OptionalExtension, params};

use crate::error::Result;
use crate::ledger::{Read, Write};
use crate::scope::ThreadKey;

/// Where a run belongs.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Membership {
    pub key: ThreadKey,
    /// What people read, where the thread is new.
    pub label: String,
    /// Decided before; what is kept counts.
    pub thread_no: Option<i64>,
}

/// Which thread a run belongs to, from what the ledger knows of it and of its session. Decided once: whoever puts the
/// run into a chunk keeps it with [`join`].
pub fn membership(tx: &Read, run_no: i64) -> Result<Membership> {
    let kept: Option<(i64, String, String)> = tx
        .prepare_cached(
            "SELECT t.thread_no, t.thread_key, t.label FROM run_threads m JOIN threads t USING (thread_no) WHERE m.run_no = ?1",
        )?
        .query_row([run_no], |r| Ok((r.get(0)?, r.get(1)?, r.get(2)?)))
        .optional()?;
    if let Some((no, key, label)) = kept {
        return Ok(Membership { key: ThreadKey::parse(&key)?, label, thread_no: Some(no) });
    }
    let (session_key, workspace): (String, Option<(String, String)>) = tx
        .prepare_cached(
            "SELECT s.session_key, w.workspace_id, w.label FROM turn_results r JOIN sessions s USING (session_no)
             LEFT JOIN workspaces v ON v.workspace_no = coalesce(
               (SELECT t.workspace_no FROM turns t WHERE t.run_no = r.run_no AND t.workspace_no IS NOT NULL ORDER BY t.turn_no LIMIT 1),
               s.workspace_no)
             LEFT JOIN workspaces w ON w.workspace_no = coalesce(v.alias_of, v.workspace_no)
             WHERE r.run_no = ?1",
        )?
        .query_row([run_no], |r| {
            let id: Option<String> = r.get(1)?;
            let label: Option<String> = r.get(2)?;
            Ok((r.get(0)?, id.zip(label)))
        })?;
    Ok(match workspace {
        Some((id, label)) => Membership { key: ThreadKey::new("project", &id), label, thread_no: None },
        None => Membership { key: ThreadKey::new("session", &session_key), label: session_key, thread_no: None },
    })
}

/// Keeps where a run belongs, making the thread where it is new. Returns the thread: of a merged one the one it was
/// merged into.
pub fn join(tx: &Write, agent_no: i64, run_no: i64, to: &Membership) -> Result<i64> {
    let no = match to.thread_no {
        Some(no) => no,
        None => {
            tx.prepare_cached(
                "INSERT INTO threads (agent_no, thread_key, file, label, state, created_at) VALUES (?1, ?2, ?3, ?4, 'active', ?5)
                 ON CONFLICT DO NOTHING",
            )?
            .execute(params![agent_no, to.key.as_str(), to.key.file_stem(), to.label, tx.now()])?;
            tx.prepare_cached("SELECT thread_no FROM threads WHERE agent_no = ?1 AND thread_key = ?2")?
                .query_row(params![agent_no, to.key.as_str()], |r| r.get(0))?
        }
    };
    let no = super::canonical(tx, no)?;
    tx.prepare_cached("INSERT INTO run_threads (run_no, thread_no) VALUES (?1, ?2) ON CONFLICT DO NOTHING")?
        .execute([run_no, no])?;
    Ok(no)
}
