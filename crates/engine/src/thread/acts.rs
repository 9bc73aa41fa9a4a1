//! Acts of people on threads: rename, merge, close and link them, and assign a session to one.
//!
//! Each function runs in the transaction of its audit row, marks the pages that show the thread, and refuses threads of
//! another agent. A merged thread counts as the one it was merged into, except in [`merge`] and [`unmerge`].

use rusqlite::{OptionalExtension, params};

use super::row::{self, ThreadRow, canonical, labelled};
use super::{key, members, membership};
use crate::clock::Millis;
use crate::error::{Error, ErrorKind, Result};
use crate::ledger::{Read, Write};
use crate::pages::{self, Happened};
use crate::scope::{AgentNo, SessionNo, ThreadKey, ThreadNo};

/// Largest number of characters of a name or reason that is kept.
const LONGEST_WORDS: usize = 200;

/// Returns the thread a number refers to.
fn target(tx: &Read, agent_no: AgentNo, thread_no: ThreadNo) -> Result<ThreadRow> {
    let found = row::row(tx, agent_no, thread_no)?;
    row::row(tx, agent_no, canonical(tx, found.no)?)
}

/// Marks the pages that show these threads.
fn mark(tx: &Write, agent_no: AgentNo, files: &[&str]) -> Result<()> {
    let threads = files.iter().map(|file| (*file).to_owned()).collect();
    pages::mark(tx, agent_no, &Happened::ThreadChanged { threads })
}

/// Stores a name for a thread; a name that already refers to another thread is left as it is.
fn remember(tx: &Write, agent_no: AgentNo, name: &str, thread_no: ThreadNo) -> Result<()> {
    tx.prepare_cached(
        "INSERT INTO thread_names (agent_no, name, thread_no, at) VALUES (?1, ?2, ?3, ?4) ON CONFLICT DO NOTHING",
    )?
    .execute(params![agent_no, name, thread_no, tx.now()])?;
    Ok(())
}

/// Changes the label of a thread. Its key stays, and so does everything stored under it; the old and the new name both
/// refer to it. `Refused` if the name refers to another thread, `Usage` if it is not a valid name.
pub fn rename(tx: &mut Write, agent_no: AgentNo, thread_no: ThreadNo, name: &str) -> Result<ThreadRow> {
    let thread = target(tx, agent_no, thread_no)?;
    let name = key::line(name, LONGEST_WORDS);
    if name.is_empty() {
        return Err(Error::usage("the name is empty").hint("say in a few words what the thread is about"));
    }
    if ThreadKey::parse(&name).is_ok_and(|key| key.as_str() != thread.key) {
        return Err(Error::usage(format!("{name:?} has the form of a key, and a key never changes"))
            .hint("give it a name in words"));
    }
    if let Some(other) = leads_elsewhere(tx, agent_no, &name, thread.no)? {
        return Err(Error::refused(format!("{name:?} is a name of {}", other.key))
            .hint(format!("take another name, or merge them: ⟨thread merge {} {}⟩", thread.key, other.key)));
    }
    // A label that several threads share cannot be kept as a name of this one.
    if labelled(tx, agent_no, &thread.label)?.as_slice() == [thread.no] {
        remember(tx, agent_no, &thread.label, thread.no)?;
    }
    remember(tx, agent_no, &name, thread.no)?;
    tx.execute("UPDATE threads SET label = ?2 WHERE thread_no = ?1", params![thread.no, name])?;
    mark(tx, agent_no, &[&thread.file])?;
    tx.note("thread", thread.key.as_str());
    target(tx, agent_no, thread.no)
}

/// Returns the other thread a name refers to, if any.
fn leads_elsewhere(tx: &Read, agent_no: AgentNo, name: &str, thread_no: ThreadNo) -> Result<Option<ThreadRow>> {
    let mut found = labelled(tx, agent_no, name)?;
    found.extend(row::of_key(tx, agent_no, name)?);
    found.extend(row::known_as(tx, agent_no, name)?);
    for no in found {
        let no = canonical(tx, no)?;
        if no != thread_no {
            return row::find(tx, agent_no, no);
        }
    }
    Ok(None)
}

/// Merges a thread into another: from now on its key, its names and its runs count as the other's. Nodes keep the key
/// they were created with. `Refused` if the two are already one thread, which prevents cycles, or if the first is part
/// of a third.
pub fn merge(tx: &mut Write, agent_no: AgentNo, from: ThreadNo, into: ThreadNo) -> Result<ThreadRow> {
    let from = row::row(tx, agent_no, from)?;
    let into = target(tx, agent_no, into)?;
    if canonical(tx, from.no)? == into.no {
        return Err(Error::refused(format!("{} and {} are one thread already", from.key, into.key))
            .hint("see ⟨thread list --all⟩"));
    }
    if let Some(third) = from.merged_into {
        let third = row::row(tx, agent_no, third)?;
        return Err(Error::refused(format!("{} is part of {} already", from.key, third.key))
            .hint(format!("merge that one, or part them first: ⟨thread unmerge {}⟩", from.key)));
    }
    if labelled(tx, agent_no, &from.label)?.as_slice() == [from.no] {
        remember(tx, agent_no, &from.label, from.no)?;
    }
    tx.execute("UPDATE threads SET merged_into = ?2 WHERE thread_no = ?1", [from.no, into.no])?;
    // Merging an active thread must not hide it in a closed one.
    if from.state == "active" {
        touch(tx, into.no)?;
    }
    mark(tx, agent_no, &[&from.file, &into.file])?;
    tx.note("from", from.key.as_str());
    tx.note("into", into.key.as_str());
    target(tx, agent_no, into.no)
}

/// Undoes [`merge`]: the thread is separate again, with everything that was its own before. Runs that were added
/// meanwhile stay in the thread they were assigned to. `Refused` if it is not merged into another.
pub fn unmerge(tx: &mut Write, agent_no: AgentNo, thread_no: ThreadNo) -> Result<ThreadRow> {
    let thread = row::row(tx, agent_no, thread_no)?;
    if thread.merged_into.is_none() {
        return Err(
            Error::refused(format!("{} is part of no other thread", thread.key)).hint("see ⟨thread list --all⟩")
        );
    }
    let was = target(tx, agent_no, thread.no)?;
    tx.execute("UPDATE threads SET merged_into = NULL WHERE thread_no = ?1", [thread.no])?;
    mark(tx, agent_no, &[&thread.file, &was.file])?;
    tx.note("thread", thread.key.as_str());
    tx.note("was", was.key.as_str());
    row::row(tx, agent_no, thread.no)
}

/// Merges the threads of a moved project, whose names `workspace alias` has just joined.
pub fn rejoin(tx: &mut Write, agent_no: AgentNo) -> Result<()> {
    let pairs: Vec<(ThreadNo, String, String)> = {
        let mut statement = tx.prepare(
            "SELECT t.thread_no, w.workspace_id, w.label FROM workspaces v
             JOIN workspaces w ON w.workspace_no = v.alias_of
             JOIN threads t ON t.agent_no = v.agent_no AND t.thread_key = 'project/' || v.workspace_id
             WHERE v.agent_no = ?1 AND t.merged_into IS NULL ORDER BY t.thread_no",
        )?;
        let rows = statement.query_map([agent_no], |r| Ok((r.get(0)?, r.get(1)?, r.get(2)?)))?;
        rows.collect::<rusqlite::Result<_>>()?
    };
    for (from, id, label) in pairs {
        let into = membership::ensure(tx, agent_no, &key::bounded("project", &id), &key::label(&label))?;
        if canonical(tx, into)? != from {
            merge(tx, agent_no, from, into)?;
        }
    }
    Ok(())
}

/// Closes a thread, which removes it from the lists. A later run in it reopens it. Returns whether it was open.
pub fn close(tx: &mut Write, agent_no: AgentNo, thread_no: ThreadNo) -> Result<bool> {
    let thread = target(tx, agent_no, thread_no)?;
    let now = tx.now();
    let changed = tx.execute(
        "UPDATE threads SET state = 'closed', closed_at = ?2 WHERE thread_no = ?1 AND state = 'active'",
        (thread.no, now),
    )?;
    mark(tx, agent_no, &[&thread.file])?;
    tx.note("thread", thread.key.as_str());
    Ok(changed > 0)
}

/// Undoes [`close`]. Returns whether it was closed.
pub fn reopen(tx: &mut Write, agent_no: AgentNo, thread_no: ThreadNo) -> Result<bool> {
    let thread = target(tx, agent_no, thread_no)?;
    let changed = touch(tx, thread.no)?;
    tx.note("thread", thread.key.as_str());
    Ok(changed)
}

/// Reopens a closed thread because it is being worked in. Returns whether it was closed.
pub fn touch(tx: &Write, thread_no: ThreadNo) -> Result<bool> {
    let opened: Option<(AgentNo, String)> = tx
        .prepare_cached(
            "UPDATE threads SET state = 'active', closed_at = NULL WHERE thread_no = ?1 AND state = 'closed'
             RETURNING agent_no, file",
        )?
        .query_row([thread_no], |r| Ok((r.get(0)?, r.get(1)?)))
        .optional()?;
    let Some((agent_no, file)) = opened else { return Ok(false) };
    mark(tx, agent_no, &[&file])?;
    Ok(true)
}

/// A thread that is linked to another, so that sessions of either may see both (R10.3).
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Link {
    /// The other thread; if it is merged, the one it was merged into.
    pub thread_no: ThreadNo,
    pub why: Option<String>,
    pub at: Millis,
}

/// Returns the threads linked to a thread or to those merged into it, in the order they were linked.
pub fn links(tx: &Read, thread_no: ThreadNo) -> Result<Vec<Link>> {
    let own = canonical(tx, thread_no)?;
    let mut found: Vec<Link> = Vec::new();
    let mut statement = tx.prepare_cached(
        "SELECT other_no, why, at FROM thread_links WHERE thread_no = ?1
         UNION ALL SELECT thread_no, why, at FROM thread_links WHERE other_no = ?1",
    )?;
    for member in members(tx, own)? {
        let rows =
            statement.query_map([member], |r| Ok(Link { thread_no: r.get(0)?, why: r.get(1)?, at: r.get(2)? }))?;
        for link in rows {
            let link = link?;
            let other = canonical(tx, link.thread_no)?;
            if other != own && found.iter().all(|known| known.thread_no != other) {
                found.push(Link { thread_no: other, ..link });
            }
        }
    }
    found.sort_by_key(|link| (link.at, link.thread_no));
    Ok(found)
}

/// Links two threads. Linking again with a reason changes the reason. Returns whether anything changed. `Refused` if
/// they are the same thread.
pub fn link(tx: &mut Write, agent_no: AgentNo, one: ThreadNo, other: ThreadNo, why: Option<&str>) -> Result<bool> {
    let (one, other) = (target(tx, agent_no, one)?, target(tx, agent_no, other)?);
    if one.no == other.no {
        return Err(Error::refused(format!("{} cannot be linked to itself", one.key)).hint("see ⟨thread list⟩"));
    }
    let why = why.map(|why| key::line(why, LONGEST_WORDS)).filter(|why| !why.is_empty());
    let now = tx.now();
    let changed = tx.execute(
        "INSERT INTO thread_links (agent_no, thread_no, other_no, why, at) VALUES (?1, ?2, ?3, ?4, ?5)
         ON CONFLICT (thread_no, other_no) DO UPDATE SET why = excluded.why
         WHERE excluded.why IS NOT NULL AND excluded.why IS NOT why",
        params![agent_no, one.no.min(other.no), one.no.max(other.no), why, now],
    )?;
    mark(tx, agent_no, &[&one.file, &other.file])?;
    tx.note("one", one.key.as_str());
    tx.note("other", other.key.as_str());
    Ok(changed > 0)
}

/// Undoes [`link`], including links of threads merged into either. `NotFound` if they are not linked.
pub fn unlink(tx: &mut Write, agent_no: AgentNo, one: ThreadNo, other: ThreadNo) -> Result<()> {
    let (one, other) = (target(tx, agent_no, one)?, target(tx, agent_no, other)?);
    let mut gone = 0;
    for a in members(tx, one.no)? {
        for b in members(tx, other.no)? {
            gone +=
                tx.execute("DELETE FROM thread_links WHERE thread_no = ?1 AND other_no = ?2", [a.min(b), a.max(b)])?;
        }
    }
    if gone == 0 {
        return Err(Error::not_found(format!("{} and {} are not linked", one.key, other.key))
            .hint(format!("see ⟨thread show {}⟩", one.key)));
    }
    mark(tx, agent_no, &[&one.file, &other.file])?;
    tx.note("one", one.key.as_str());
    tx.note("other", other.key.as_str());
    Ok(())
}

/// Returns the thread of a name. A new topic or a new conversation of several people (`topic/…`, `lane/…`) begins here;
/// projects, people and sessions cannot be begun by name.
pub fn named_or_begun(tx: &mut Write, agent_no: AgentNo, name: &str) -> Result<ThreadRow> {
    let key = ThreadKey::parse(name).ok().filter(|key| matches!(key.kind(), "topic" | "lane"));
    match (row::named(tx, agent_no, name), key) {
        (Err(e), Some(key)) if e.kind() == ErrorKind::NotFound => begin(tx, agent_no, &key),
        (Err(e), None) if e.kind() == ErrorKind::NotFound => {
            Err(Error::not_found(e.to_string()).hint("see ⟨thread list⟩, or begin one: topic/a-few-words"))
        }
        (found, _) => found,
    }
}

/// Assigns a session to a thread from its next prompt on; `None` restores automatic assignment. The current run stays
/// in its thread. `NotFound` if session or thread do not belong to the agent.
pub fn switch_session(
    tx: &mut Write,
    agent_no: AgentNo,
    session_no: SessionNo,
    thread_no: Option<ThreadNo>,
) -> Result<()> {
    let session: String = tx
        .prepare_cached("SELECT session_key FROM sessions WHERE session_no = ?1 AND agent_no = ?2")?
        .query_row((session_no, agent_no), |r| r.get(0))
        .optional()?
        .ok_or_else(|| Error::not_found("there is no such session").hint("see ⟨session list⟩"))?;
    let thread = thread_no.map(|no| target(tx, agent_no, no)).transpose()?;
    let now = tx.now();
    tx.execute(
        "INSERT INTO thread_switches (session_no, after_turn, thread_no, at)
         VALUES (?1, coalesce((SELECT max(turn_no) FROM turns WHERE session_no = ?1), 0), ?2, ?3)",
        params![session_no, thread.as_ref().map(|t| t.no), now],
    )?;
    mark(tx, agent_no, &thread.iter().map(|t| t.file.as_str()).collect::<Vec<_>>())?;
    tx.note("session", session);
    tx.note("thread", thread.map(|t| t.key));
    Ok(())
}

/// Returns the thread of a key and creates it if it does not exist: a person may name a topic before anything was said
/// in it.
pub fn begin(tx: &mut Write, agent_no: AgentNo, key: &ThreadKey) -> Result<ThreadRow> {
    let key = key::written(key);
    let no = membership::ensure(tx, agent_no, &key, &key::label(key.rest()))?;
    tx.note("begun", key.as_str());
    target(tx, agent_no, no)
}
