//! The contents of a thread: its sessions, runs and participants; and the threads a session was in.
//!
//! Threads are given by their members (see [`members`](super::members())), so that a thread includes the threads merged
//! into it.

use std::collections::{BTreeSet, HashMap, HashSet};

use rusqlite::{Row, params};

use super::{canonical, people};
use crate::clock::Millis;
use crate::error::Result;
use crate::ledger::Read;
use crate::scope::{AgentNo, RunNo, SessionKey, SessionNo, ThreadNo, TurnId};

/// Number of the newest runs of a thread that are read for its participants and sessions, so that the cost does not
/// grow with the thread.
const RECENT_RUNS: i64 = 2000;

/// The same limit if only the newest sessions are wanted and speed matters: about a microsecond for each run.
const NEWEST_RUNS: i64 = 500;

/// The number of sessions and runs in a thread.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Counts {
    pub sessions: u64,
    pub runs: u64,
}

/// Returns the counts of each thread of an agent by its number, including the threads merged into it.
pub fn counts(tx: &Read, agent_no: AgentNo) -> Result<HashMap<ThreadNo, Counts>> {
    let mut statement = tx.prepare_cached(
        "WITH RECURSIVE part (no, whole) AS (
           SELECT thread_no, thread_no FROM threads WHERE agent_no = ?1 AND merged_into IS NULL
           UNION ALL SELECT t.thread_no, p.whole FROM threads t JOIN part p ON t.merged_into = p.no)
         SELECT p.whole, count(DISTINCT r.session_no), count(*) FROM part p JOIN run_threads m ON m.thread_no = p.no
         JOIN turn_results r USING (run_no) GROUP BY p.whole",
    )?;
    let rows = statement.query_map([agent_no], |r| Ok((r.get(0)?, counts_in(r, 1)?)))?;
    Ok(rows.collect::<rusqlite::Result<_>>()?)
}

/// Returns the counts of one thread.
pub fn counts_of(tx: &Read, members: &[ThreadNo]) -> Result<Counts> {
    Ok(tx
        .prepare_cached(
            "SELECT count(DISTINCT r.session_no), count(*) FROM json_each(?1) p JOIN run_threads m ON m.thread_no = p.value
             JOIN turn_results r USING (run_no)",
        )?
        .query_row([serde_json::json!(members).to_string()], |r| counts_in(r, 0))?)
}

fn counts_in(r: &Row, at: usize) -> rusqlite::Result<Counts> {
    Ok(Counts { sessions: r.get::<_, i64>(at)? as u64, runs: r.get::<_, i64>(at + 1)? as u64 })
}

/// Returns the number of turns in a thread.
pub fn turns(tx: &Read, members: &[ThreadNo]) -> Result<u64> {
    let mut statement =
        tx.prepare_cached("SELECT count(*) FROM run_threads m JOIN turns t USING (run_no) WHERE m.thread_no = ?1")?;
    members.iter().try_fold(0, |sum, no| Ok(sum + statement.query_row([no], |r| r.get::<_, i64>(0))? as u64))
}

/// A session, limited to its part in a thread.
#[derive(Clone, PartialEq, Debug)]
pub struct SessionIn {
    pub session_no: SessionNo,
    pub session: SessionKey,
    pub title: Option<String>,
    /// Number of its runs in this thread, and the first and last turn of these runs.
    pub runs: u64,
    pub turns: (TurnId, TurnId),
    pub last_at: Option<Millis>,
}

/// Returns the sessions of a thread, last worked in first, at most `most`; for very long threads only those of the
/// newest runs.
pub fn sessions(tx: &Read, members: &[ThreadNo], most: usize) -> Result<Vec<SessionIn>> {
    let mut statement = tx.prepare_cached(
        "SELECT r.session_no, s.session_key, s.title, count(*), min(r.run_no), max(r.run_no), max(r.last_at)
         FROM (SELECT run_no FROM run_threads WHERE thread_no = ?1 ORDER BY run_no DESC LIMIT ?2) m
         JOIN turn_results r USING (run_no) JOIN sessions s USING (session_no)
         GROUP BY r.session_no ORDER BY 7 DESC NULLS LAST, r.session_no DESC LIMIT ?3",
    )?;
    let mut found: Vec<(SessionIn, (RunNo, RunNo))> = Vec::new();
    for member in members {
        let mut rows = statement.query(params![member, RECENT_RUNS, most as i64])?;
        while let Some(r) = rows.next()? {
            let (first, last): (RunNo, RunNo) = (r.get(4)?, r.get(5)?);
            let session = SessionIn {
                session_no: r.get(0)?,
                session: SessionKey::from(r.get::<_, String>(1)?),
                title: r.get(2)?,
                runs: r.get::<_, i64>(3)? as u64,
                turns: Default::default(),
                last_at: r.get(6)?,
            };
            match found.iter_mut().find(|(known, _)| known.session_no == session.session_no) {
                Some((known, runs)) => {
                    known.runs += session.runs;
                    known.last_at = known.last_at.max(session.last_at);
                    *runs = (runs.0.min(first), runs.1.max(last));
                }
                None => found.push((session, (first, last))),
            }
        }
    }
    found.sort_by_key(|(s, _)| std::cmp::Reverse((s.last_at, s.session_no)));
    found.truncate(most);
    found.into_iter().map(|(s, runs)| Ok(SessionIn { turns: hull(tx, runs.0, runs.1)?, ..s })).collect()
}

/// A session that was active lately.
#[derive(Clone, PartialEq, Debug)]
pub struct Lately {
    pub session_no: SessionNo,
    pub session: SessionKey,
    /// Time at which its newest run was last active.
    pub last_at: Option<Millis>,
    /// Whether its end was reported, by its program or by hand.
    pub ended: bool,
    /// Whether that run is in no thread yet because it has not been distilled.
    pub unthreaded: bool,
}

/// Returns the sessions with the newest runs of a thread, newest first, at most `most`: the beginning of [`sessions`],
/// without counting.
pub fn lately(tx: &Read, members: &[ThreadNo], most: usize) -> Result<Vec<Lately>> {
    let mut named =
        tx.prepare_cached("SELECT session_key, ended_at IS NOT NULL FROM sessions WHERE session_no = ?1")?;
    let mut newest = Vec::new();
    for member in members {
        newest.extend(newest_runs(tx, *member, most)?);
    }
    newest.sort_by_key(|(session_no, run_no, _)| std::cmp::Reverse((*run_no, *session_no)));
    let mut out: Vec<Lately> = Vec::new();
    for (session_no, _, last_at) in newest {
        if out.len() == most {
            break;
        }
        if out.iter().all(|known| known.session_no != session_no) {
            let (session, ended) =
                named.query_row([session_no], |r| Ok((SessionKey::from(r.get::<_, String>(0)?), r.get(1)?)))?;
            out.push(Lately { session_no, session, last_at, ended, unthreaded: false });
        }
    }
    Ok(out)
}

/// Returns the numbers of the sessions with the newest runs of a thread, at most `most` of each member.
pub fn newest_sessions(tx: &Read, members: &[ThreadNo], most: usize) -> Result<Vec<SessionNo>> {
    let mut out = Vec::new();
    for member in members {
        out.extend(newest_runs(tx, *member, most)?.into_iter().map(|(session_no, ..)| session_no));
    }
    Ok(out)
}

/// Returns for each session its newest run in a thread and when that run was last active, newest first, at most `most`
/// sessions.
fn newest_runs(tx: &Read, thread_no: ThreadNo, most: usize) -> Result<Vec<(SessionNo, RunNo, Option<Millis>)>> {
    let mut statement = tx.prepare_cached(
        "SELECT r.session_no, r.run_no, r.last_at FROM run_threads m JOIN turn_results r USING (run_no)
         WHERE m.thread_no = ?1 ORDER BY m.run_no DESC LIMIT ?2",
    )?;
    let (mut out, mut seen) = (Vec::new(), HashSet::new());
    let mut rows = statement.query((thread_no, NEWEST_RUNS))?;
    while out.len() < most
        && let Some(r) = rows.next()?
    {
        let session_no: SessionNo = r.get(0)?;
        if seen.insert(session_no) {
            out.push((session_no, r.get(1)?, r.get(2)?));
        }
    }
    Ok(out)
}

/// Returns the newest sessions of a project whose newest run is in no thread yet because it has not been distilled.
pub fn unthreaded(tx: &Read, agent_no: AgentNo, workspace: &str, most: usize) -> Result<Vec<Lately>> {
    // One lookup per session finds the newest run of its main line, however many runs it has.
    let mut statement = tx.prepare_cached(
        "SELECT n.session_no, n.session_key, n.last_at, n.ended FROM (
           SELECT s.session_no, s.session_key, s.last_at, s.ended_at IS NOT NULL AS ended, (
             SELECT max(r.run_no) FROM turn_results r INDEXED BY turn_results_newest WHERE r.lane_no = (
               SELECT l.lane_no FROM lanes l WHERE l.session_no = s.session_no AND l.lane = '')) AS run_no
           FROM sessions s WHERE s.agent_no = ?1 AND s.forgotten IS NULL AND s.workspace_no IN (
             SELECT v.workspace_no FROM workspaces v JOIN workspaces w ON w.workspace_no = coalesce(v.alias_of, v.workspace_no)
             WHERE w.agent_no = ?1 AND w.workspace_id = ?2)
           ORDER BY s.last_at DESC LIMIT ?3) n
         WHERE n.run_no IS NOT NULL AND NOT EXISTS (SELECT 1 FROM run_threads m WHERE m.run_no = n.run_no)",
    )?;
    let rows = statement.query_map(params![agent_no, workspace, most as i64], |r| {
        let session = SessionKey::from(r.get::<_, String>(1)?);
        Ok(Lately { session_no: r.get(0)?, session, last_at: r.get(2)?, ended: r.get(3)?, unthreaded: true })
    })?;
    Ok(rows.collect::<rusqlite::Result<_>>()?)
}

/// Returns the range from the first turn of one run to the last turn of another.
fn hull(tx: &Read, first_run: RunNo, last_run: RunNo) -> Result<(TurnId, TurnId)> {
    let mut first = tx.prepare_cached("SELECT coalesce(min(turn_no), 0) FROM turns WHERE run_no = ?1")?;
    let mut last = tx.prepare_cached("SELECT coalesce(max(turn_no), 0) FROM turns WHERE run_no = ?1")?;
    Ok((TurnId(first.query_row([first_run], |r| r.get(0))?), TurnId(last.query_row([last_run], |r| r.get(0))?)))
}

/// The participants of a thread.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Participants {
    /// Names of people other than the operator, as recorded, sorted.
    pub people: Vec<String>,
    /// Names of the programs, sorted.
    pub programs: Vec<String>,
}

/// Returns the participants of a thread; for very long threads, those of its newest runs.
pub fn participants(tx: &Read, agent_no: AgentNo, members: &[ThreadNo]) -> Result<Participants> {
    let mut statement = tx.prepare_cached(
        "SELECT DISTINCT r.session_no, s.session_key, EXISTS (SELECT 1 FROM participants p WHERE p.session_no = r.session_no)
         FROM (SELECT run_no FROM run_threads WHERE thread_no = ?1 ORDER BY run_no DESC LIMIT ?2) m
         JOIN turn_results r USING (run_no) JOIN sessions s USING (session_no)",
    )?;
    let (mut names, mut programs) = (BTreeSet::new(), BTreeSet::new());
    for member in members {
        let mut rows = statement.query((*member, NEWEST_RUNS))?;
        while let Some(r) = rows.next()? {
            programs.insert(SessionKey::from(r.get::<_, String>(1)?).harness().to_owned());
            if r.get(2)? {
                names.extend(people::others(tx, agent_no, r.get(0)?)?);
            }
        }
    }
    Ok(Participants { people: names.into_iter().collect(), programs: programs.into_iter().collect() })
}

/// A range of turns of a session within one thread.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Stretch {
    /// The thread; if it is merged, the one it was merged into.
    pub thread_no: ThreadNo,
    /// The lane; empty for the main line.
    pub lane: String,
    pub runs: u64,
    pub turns: (TurnId, TurnId),
}

/// Returns the ranges of a session by thread, in order: the main line first, then each sub-agent. Runs not yet assigned
/// to a thread are left out.
pub fn stretches(tx: &Read, session_no: SessionNo) -> Result<Vec<Stretch>> {
    let mut statement = tx.prepare_cached(
        "SELECT m.thread_no, l.lane, r.run_no FROM lanes l JOIN turn_results r USING (lane_no) JOIN run_threads m USING (run_no)
         WHERE l.session_no = ?1 ORDER BY l.lane != '', l.lane_no, r.run_no",
    )?;
    let mut rows = statement.query([session_no])?;
    let mut wholes: HashMap<ThreadNo, ThreadNo> = HashMap::new();
    // Each range with the first and the last run it covers.
    let mut found: Vec<(Stretch, (RunNo, RunNo))> = Vec::new();
    while let Some(r) = rows.next()? {
        let (kept, lane, run): (ThreadNo, String, RunNo) = (r.get(0)?, r.get(1)?, r.get(2)?);
        let thread_no = match wholes.get(&kept) {
            Some(no) => *no,
            None => *wholes.entry(kept).or_insert(canonical(tx, kept)?),
        };
        match found.last_mut() {
            Some((last, runs)) if last.thread_no == thread_no && last.lane == lane => {
                last.runs += 1;
                runs.1 = run;
            }
            _ => found.push((Stretch { thread_no, lane, runs: 1, turns: Default::default() }, (run, run))),
        }
    }
    found.into_iter().map(|(s, runs)| Ok(Stretch { turns: hull(tx, runs.0, runs.1)?, ..s })).collect()
}

/// Returns the names that refer to a thread besides its key and its label, oldest first.
pub fn names(tx: &Read, agent_no: AgentNo, members: &[ThreadNo]) -> Result<Vec<String>> {
    let mut statement = tx.prepare_cached(
        "SELECT n.name, n.at FROM thread_names n WHERE n.agent_no = ?1 AND n.thread_no = ?2 ORDER BY n.at, n.name",
    )?;
    let mut found: Vec<(Millis, String)> = Vec::new();
    for member in members {
        let rows = statement.query_map((agent_no, *member), |r| Ok((r.get(1)?, r.get(0)?)))?;
        found.extend(rows.collect::<rusqlite::Result<Vec<_>>>()?);
    }
    found.sort();
    Ok(found.into_iter().map(|(_, name)| name).collect())
}
