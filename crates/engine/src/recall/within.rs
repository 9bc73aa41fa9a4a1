//! Filters turns and files by thread. The index stores no thread: a turn's thread is kept with its run, since a session
//! can have been in several and threads can be merged, so the ledger is asked.

use rusqlite::params;

use super::search::Filter;
use crate::error::Result;
use crate::ledger::Read;
use crate::render::memory::Scope;
use crate::render::scope_of;
use crate::scope::{AgentNo, SessionNo, ThreadNo, TurnId};
use crate::thread;
use crate::tree::file_table::{Entry, Kind};

/// Largest number of sessions passed to the index as a filter; for a thread with more, only the ledger decides.
const SESSIONS: usize = 400;

/// Returns the filter with the sessions of its threads added; [`turns`] then checks exactly.
pub(super) fn narrowed(tx: &Read, filter: &Filter) -> Result<Filter> {
    let Some(threads) = &filter.threads else { return Ok(filter.clone()) };
    let mut statement = tx.prepare_cached(
        "SELECT DISTINCT r.session_no FROM json_each(?1) p JOIN run_threads m ON m.thread_no = p.value
         JOIN turn_results r USING (run_no) LIMIT ?2",
    )?;
    let rows = statement.query_map(params![list(threads), SESSIONS as i64 + 1], |r| r.get(0))?;
    let mut sessions: Vec<SessionNo> = rows.collect::<rusqlite::Result<_>>()?;
    match &filter.sessions {
        Some(wanted) if sessions.len() > SESSIONS => sessions.clone_from(wanted),
        Some(wanted) => sessions.retain(|no| wanted.contains(no)),
        None if sessions.len() > SESSIONS => return Ok(filter.clone()),
        None => {}
    }
    Ok(Filter { sessions: Some(sessions), ..filter.clone() })
}

/// Returns the turns that are in the filter's threads, if it names any.
pub(super) fn turns(tx: &Read, filter: &Filter, mut found: Vec<(i64, f64)>) -> Result<Vec<(i64, f64)>> {
    if filter.threads.is_none() {
        return Ok(found);
    }
    let mut kept = Vec::with_capacity(found.len());
    for (turn_no, score) in found.drain(..) {
        if turn(tx, filter, TurnId(turn_no))? {
            kept.push((turn_no, score));
        }
    }
    Ok(kept)
}

/// Whether a turn is in the filter's threads.
pub(super) fn turn(tx: &Read, filter: &Filter, turn_no: TurnId) -> Result<bool> {
    let Some(threads) = &filter.threads else { return Ok(true) };
    Ok(tx
        .prepare_cached(
            "SELECT 1 FROM turns t JOIN run_threads m USING (run_no)
             WHERE t.turn_no = ?1 AND m.thread_no IN (SELECT value FROM json_each(?2))",
        )?
        .exists(params![turn_no, list(threads)])?)
}

/// Whether a file belongs to these threads: it is their page, or one of their loops or memory items.
pub(super) fn file(tx: &Read, agent_no: AgentNo, threads: Option<&[ThreadNo]>, entry: &Entry) -> Result<bool> {
    let Some(threads) = threads else { return Ok(true) };
    if entry.kind == Kind::Head {
        let name = entry.path.name();
        let page = thread::of_file(tx, agent_no, name.strip_suffix(".md").unwrap_or(name))?;
        return Ok(page.is_some_and(|t| threads.contains(&t.no)));
    }
    Ok(matches!(scope_of(tx, agent_no, entry)?, Scope::Thread(no, _) if threads.contains(&no)))
}

fn list(threads: &[ThreadNo]) -> String {
    serde_json::json!(threads).to_string()
}
