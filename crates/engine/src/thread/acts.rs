//! What people do with threads: name, merge, close, link them, and say which one a session belongs to.
//!
//! Each act is made for the transaction of its audit row, marks the pages that show it, and knows no thread of another
//! agent. A merged thread is meant as the one it was merged into, except where merging itself is at hand.

use rusqlite::{OptionalExtension, params};

use super::row::{self, ThreadRow, canonical, labelled};
use super::{key, members, membership};
use crate::clock::Millis;
use crate::error::{Error, ErrorKind, Result};
use crate::ledger::{Read, Write};
use crate::pages::{self, Happened};
use crate::scope::{AgentNo, SessionNo, ThreadKey, ThreadNo};

/// The longest name or reason kept.
const LONGEST_WORDS: usize = 200;

/// The thread somebody means.
fn meant(tx: &Read, agent_no: AgentNo, thread_no: ThreadNo) -> Result<ThreadRow> {
    let found = row::row(tx, agent_no, thread_no)?;
    row::row(tx, agent_no, canonical(tx, found.no)?)
}

/// Marks what shows these threads.
fn mark(tx: &Write, agent_no: AgentNo, files: &[&str]) -> Result<()> {
    let threads = files.iter().map(|file| (*file).to_owned()).collect();
    pages::mark(tx, agent_no, &Happened::ThreadChanged { threads })
}

/// Keeps a name that leads to a thread; one that leads elsewhere stays where it leads.
fn remember(tx: &Write, agent_no: AgentNo, name: &str, thread_no: ThreadNo) -> Result<()> {
    tx.prepare_cached(
        "INSERT INTO thread_names (agent_no, name, thread_no, at) VALUES (?1, ?2, ?3, ?4) ON CONFLICT DO NOTHING",
    )?
    .execute(params![agent_no, name, thread_no, tx.now()])?;
    Ok(())
}

/// Gives a thread another label. Its key and what was born under it stay; the old and the new name lead to it. `Refused`
/// where the name leads to another thread, `Usage` where it is none.
pub fn rename(tx: &mut Write, agent_no: AgentNo, thread_no: ThreadNo, name: &str) -> Result<ThreadRow> {
    let thread = meant(tx, agent_no, thread_no)?;
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
    // A label several threads share was never this one's alone.
    if labelled(tx, agent_no, &thread.label)?.as_slice() == [thread.no] {
        remember(tx, agent_no, &thread.label, thread.no)?;
    }
    remember(tx, agent_no, &name, thread.no)?;
    tx.execute("UPDATE threads SET label = ?2 WHERE thread_no = ?1", params![thread.no, name])?;
    mark(tx, agent_no, &[&thread.file])?;
    tx.note("thread", thread.key.as_str());
    meant(tx, agent_no, thread.no)
}

/// The other thread a name leads to, if any.
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

/// Makes a thread part of another: from now on its key, its names and its runs lead there. Nodes keep the key they were
/// born with. `Refused` where they are one already, which is how circles are, or where the first is part of a third.
pub fn merge(tx: &mut Write, agent_no: AgentNo, from: ThreadNo, into: ThreadNo) -> Result<ThreadRow> {
    let from = row::row(tx, agent_no, from)?;
    let into = meant(tx, agent_no, into)?;
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
    // What was being worked in does not vanish behind a closed door.
    if from.state == "active" {
        touch(tx, into.no)?;
    }
    mark(tx, agent_no, &[&from.file, &into.file])?;
    tx.note("from", from.key.as_str());
    tx.note("into", into.key.as_str());
    meant(tx, agent_no, into.no)
}

/// Undoes [`merge`]: the thread is one of its own again, with what was its own before. Runs that came in meanwhile stay
/// where they were put. `Refused` where it is part of no other.
pub fn unmerge(tx: &mut Write, agent_no: AgentNo, thread_no: ThreadNo) -> Result<ThreadRow> {
    let thread = row::row(tx, agent_no, thread_no)?;
    if thread.merged_into.is_none() {
        return Err(
            Error::refused(format!("{} is part of no other thread", thread.key)).hint("see ⟨thread list --all⟩")
        );
    }
    let was = meant(tx, agent_no, thread.no)?;
    tx.execute("UPDATE threads SET merged_into = NULL WHERE thread_no = ?1", [thread.no])?;
    mark(tx, agent_no, &[&thread.file, &was.file])?;
    tx.note("thread", thread.key.as_str());
    tx.note("was", was.key.as_str());
    row::row(tx, agent_no, thread.no)
}

/// Joins the threads of a moved project, which `workspace alias` has just made one.
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

/// Takes a thread off the lists. A run that begins in it later opens it again. Returns whether it was open.
pub fn close(tx: &mut Write, agent_no: AgentNo, thread_no: ThreadNo) -> Result<bool> {
    let thread = meant(tx, agent_no, thread_no)?;
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
    let thread = meant(tx, agent_no, thread_no)?;
    let changed = touch(tx, thread.no)?;
    tx.note("thread", thread.key.as_str());
    Ok(changed)
}

/// Something happens in a thread: a closed one is open again. Returns whether it was closed.
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

/// A thread another one may know of (R10.3).
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Link {
    /// The other thread; of a merged one the one it was merged into.
    pub thread_no: ThreadNo,
    pub why: Option<String>,
    pub at: Millis,
}

/// The threads a thread is explicitly linked to, itself or by what was merged into it, in the order of linking.
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

/// Says that two threads may know of each other. Linking again with a reason changes the reason. Returns whether
/// anything changed. `Refused` where they are one.
pub fn link(tx: &mut Write, agent_no: AgentNo, one: ThreadNo, other: ThreadNo, why: Option<&str>) -> Result<bool> {
    let (one, other) = (meant(tx, agent_no, one)?, meant(tx, agent_no, other)?);
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

/// Undoes [`link`], also of what was merged into either. `NotFound` where they are not linked.
pub fn unlink(tx: &mut Write, agent_no: AgentNo, one: ThreadNo, other: ThreadNo) -> Result<()> {
    let (one, other) = (meant(tx, agent_no, one)?, meant(tx, agent_no, other)?);
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

/// The thread of a name. A topic or a conversation of several (`topic/…`, `lane/…`) begins here where it is new; projects,
/// people and sessions are what they are.
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

/// From its next prompt on a session belongs to a thread; with `None` to the one it would belong to by itself. The run
/// under way stays where it is. `NotFound` where session or thread are not the agent's.
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
    let thread = thread_no.map(|no| meant(tx, agent_no, no)).transpose()?;
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

/// The thread of a key, begun where there is none yet: what people call a topic before anything was said in it.
pub fn begin(tx: &mut Write, agent_no: AgentNo, key: &ThreadKey) -> Result<ThreadRow> {
    let key = key::written(key);
    let no = membership::ensure(tx, agent_no, &key, &key::label(key.rest()))?;
    tx.note("begun", key.as_str());
    meant(tx, agent_no, no)
}
