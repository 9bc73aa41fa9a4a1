//! Finds related nodes: children, parents, roots, neighbours (R6.8).

use rusqlite::params;

use super::node::{COLUMNS, JOINS, Kind, Node, STANDS, node_of};
use crate::clock::Millis;
use crate::error::Result;
use crate::ledger::Read;
use crate::ledger::codes::{CHUNK, COMPACTION, CONDENSED, SESSION};
use crate::scope::{AgentNo, LaneNo, NodeId, SessionNo, ThreadNo, TurnId};

fn list(tx: &Read, clause: &str, with: impl rusqlite::Params) -> Result<Vec<Node>> {
    let mut statement =
        tx.prepare_cached(&format!("SELECT {COLUMNS} FROM nodes n {JOINS} WHERE {STANDS} AND {clause}"))?;
    let mut rows = statement.query(with)?;
    let mut out = Vec::new();
    while let Some(r) = rows.next()? {
        out.push(node_of(r)?);
    }
    Ok(out)
}

/// Returns the children of a node, in ledger order. A forgotten child is returned beside its replacement.
pub fn children(tx: &Read, agent_no: AgentNo, id: NodeId) -> Result<Vec<Node>> {
    list(
        tx,
        "n.agent_no = ?1 AND n.node_no IN (SELECT child_no FROM node_edges WHERE parent_no = ?2) ORDER BY n.first_turn, n.node_no",
        (agent_no, id),
    )
}

/// Returns the nodes that have this node as a child.
pub fn parents(tx: &Read, agent_no: AgentNo, id: NodeId) -> Result<Vec<Node>> {
    list(
        tx,
        "n.agent_no = ?1 AND n.node_no IN (SELECT parent_no FROM node_edges WHERE child_no = ?2) ORDER BY n.depth, n.node_no",
        (agent_no, id),
    )
}

/// Returns the SQL condition that leaves out late compactions: those of chunks that session nodes cover already. They
/// add nothing new, and are no roots.
fn not_late() -> String {
    format!(
        "NOT (n.kind = {COMPACTION} AND EXISTS (SELECT 1 FROM node_edges b WHERE b.parent_no = n.node_no)
         AND NOT EXISTS (SELECT 1 FROM node_edges b WHERE b.parent_no = n.node_no AND NOT EXISTS (
           SELECT 1 FROM node_edges e JOIN nodes p ON p.node_no = e.parent_no
           WHERE e.child_no = b.child_no AND length(p.key) > 0 AND p.kind = {SESSION})))"
    )
}

/// Returns the nodes of one thread and depth that no condensed node covers yet, oldest first: session nodes, compaction
/// nodes outside session nodes, condensed nodes (R6.7).
pub fn roots(tx: &Read, thread_no: ThreadNo, depth: i64, most: usize) -> Result<Vec<Node>> {
    list(
        tx,
        // The table of roots keeps this fast for a long history; the conditions on the nodes decide which rows count.
        &format!(
            "n.node_no IN (SELECT node_no FROM node_roots WHERE thread_no = ?1 AND depth = ?2) AND length(n.key) > 0
             AND NOT EXISTS (SELECT 1 FROM node_edges e JOIN nodes p ON p.node_no = e.parent_no
                             WHERE e.child_no = n.node_no AND length(p.key) > 0
                               AND (p.kind = {CONDENSED} OR n.kind = {COMPACTION}))
             AND {} ORDER BY coalesce(n.last_at, n.created_at), n.node_no LIMIT ?3",
            not_late()
        ),
        params![thread_no, depth, most as i64],
    )
}

/// Returns the roots of a thread: nodes without a parent, chunks included, those with the latest last turn first.
/// Abandoned branches are left out.
///
/// Reads only the newest nodes and the newest condensed ones, so that the cost does not grow with the thread: a root is
/// either recent or condensed, and eight condensed roots of one depth become one.
pub fn tops(tx: &Read, thread_no: ThreadNo, most: usize) -> Result<Vec<Node>> {
    list(
        tx,
        &format!(
            "n.node_no IN (
               SELECT node_no FROM (SELECT node_no FROM nodes WHERE thread_no = ?1
                                    ORDER BY last_at DESC, node_no DESC LIMIT 256)
               UNION
               SELECT node_no FROM (SELECT node_no FROM nodes WHERE thread_no = ?1 AND kind = {CONDENSED}
                                    ORDER BY node_no DESC LIMIT 512))
             AND length(n.key) > 0 AND n.abandoned = 0
             AND NOT EXISTS (SELECT 1 FROM node_edges e JOIN nodes p ON p.node_no = e.parent_no
                             WHERE e.child_no = n.node_no AND length(p.key) > 0)
             AND {} ORDER BY coalesce(n.last_at, n.created_at) DESC, n.node_no DESC LIMIT ?2",
            not_late()
        ),
        params![thread_no, most as i64],
    )
}

/// Returns the nodes of a kind in a thread, newest first.
pub fn of_thread(tx: &Read, thread_no: ThreadNo, kind: Kind, most: usize) -> Result<Vec<Node>> {
    list(
        tx,
        "n.thread_no = ?1 AND n.kind = ?2 AND length(n.key) > 0 ORDER BY n.node_no DESC LIMIT ?3",
        params![thread_no, kind.code(), most as i64],
    )
}

/// Returns the chunks of a lane, oldest first.
pub fn of_lane(tx: &Read, lane_no: LaneNo) -> Result<Vec<Node>> {
    list(tx, &format!("n.lane_no = ?1 AND n.kind = {CHUNK} AND length(n.key) > 0 ORDER BY n.first_turn"), [lane_no])
}

/// Returns the ancestors of a node, each once with its distance, nearest first.
pub fn ancestors(tx: &Read, agent_no: AgentNo, id: NodeId, most: usize) -> Result<Vec<(usize, Node)>> {
    let mut out: Vec<(usize, Node)> = Vec::new();
    let (mut level, mut distance) = (vec![id], 1);
    while !level.is_empty() && out.len() < most {
        let mut next = Vec::new();
        for below in &level {
            for parent in parents(tx, agent_no, *below)? {
                // Also guards against a cycle in a ledger modified by other means.
                if parent.id != id && !out.iter().any(|(_, n)| n.id == parent.id) && out.len() < most {
                    next.push(parent.id);
                    out.push((distance, parent));
                }
            }
        }
        (level, distance) = (next, distance + 1);
    }
    Ok(out)
}

/// Returns the other children of a node's parents: at most `most` on each side, in ledger order.
pub fn siblings(tx: &Read, agent_no: AgentNo, node: &Node, most: usize) -> Result<Vec<Node>> {
    const OF_A_PARENT: &str = "n.agent_no = ?1 AND n.node_no != ?2 AND n.node_no IN (
           SELECT e.child_no FROM node_edges e JOIN node_edges up USING (parent_no) WHERE up.child_no = ?2)";
    let with = params![agent_no, node.id.0, node.turns.0.0, most as i64];
    let mut before = list(
        tx,
        &format!(
            "{OF_A_PARENT} AND (n.first_turn, n.node_no) < (?3, ?2) ORDER BY n.first_turn DESC, n.node_no DESC LIMIT ?4"
        ),
        with,
    )?;
    before.reverse();
    before.extend(list(
        tx,
        &format!("{OF_A_PARENT} AND (n.first_turn, n.node_no) > (?3, ?2) ORDER BY n.first_turn, n.node_no LIMIT ?4"),
        with,
    )?);
    Ok(before)
}

/// Returns the nodes just before and just after a node in the same thread: nodes of the same level, across all sessions
/// and programs. `members`: the thread and those merged into it ([`crate::thread::members`]).
pub fn neighbours(tx: &Read, node: &Node, members: &[ThreadNo], each: usize) -> Result<(Vec<Node>, Vec<Node>)> {
    let alike = match node.kind {
        // A sub-agent's lane is no neighbour of the main lane.
        Kind::Chunk => {
            format!("n.kind = {CHUNK} AND (l.lane = '' OR n.lane_no IS (SELECT lane_no FROM nodes WHERE node_no = ?2))")
        }
        Kind::Compaction => format!("n.kind = {COMPACTION}"),
        Kind::Condensed => format!("n.kind = {CONDENSED} AND n.depth = (SELECT depth FROM nodes WHERE node_no = ?2)"),
        // A session that is still active has no session node yet, only compactions.
        Kind::Session => {
            format!(
                "(n.kind = {SESSION} OR n.kind = {COMPACTION} AND NOT EXISTS (
                   SELECT 1 FROM node_edges e WHERE e.child_no = n.node_no))"
            )
        }
    };
    let moment = node.times.1.unwrap_or(node.created_at);
    let beside = |newer: bool| -> Result<Vec<Node>> {
        let (compare, order) = if newer { (">", "ASC") } else { ("<", "DESC") };
        let mut found = Vec::new();
        for thread in members {
            found.extend(list(
                tx,
                &format!(
                    "n.thread_no = ?1 AND n.node_no != ?2 AND {alike} AND length(n.key) > 0
                     AND (coalesce(n.last_at, n.created_at), n.node_no) {compare} (?3, ?2)
                     ORDER BY coalesce(n.last_at, n.created_at) {order}, n.node_no {order} LIMIT ?4"
                ),
                params![thread, node.id.0, moment, each as i64],
            )?);
        }
        found.sort_by_key(|n| (n.times.1.unwrap_or(n.created_at), n.id));
        let over = found.len().saturating_sub(each);
        if newer {
            found.truncate(each);
        } else {
            found.drain(..over);
        }
        Ok(found)
    };
    Ok((beside(false)?, beside(true)?))
}

/// Returns the node that replaces this one because part of it was forgotten.
pub fn replacement(tx: &Read, agent_no: AgentNo, id: NodeId) -> Result<Option<Node>> {
    Ok(list(tx, "n.agent_no = ?1 AND n.replaces = ?2 ORDER BY n.node_no DESC LIMIT 1", (agent_no, id))?.pop())
}

/// A range of turns of one lane.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Stretch {
    /// The chunk with this range.
    pub node: NodeId,
    pub session_no: SessionNo,
    pub lane_no: LaneNo,
    pub turns: (TurnId, TurnId),
}

/// Returns the ranges of turns a node covers, in ledger order, each once: those of the chunks below it, or its own.
pub fn stretches(tx: &Read, agent_no: AgentNo, id: NodeId) -> Result<Vec<Stretch>> {
    let sql = format!(
        "WITH RECURSIVE below (no) AS (
           SELECT ?2 UNION SELECT e.child_no FROM node_edges e JOIN below b ON e.parent_no = b.no)
         SELECT {STRETCH} FROM nodes n JOIN below b ON b.no = n.node_no
         WHERE n.agent_no = ?1 AND n.kind = {CHUNK} AND {STANDS} ORDER BY n.first_turn, n.node_no"
    );
    read_stretches(tx, &sql, params!(agent_no, id))
}

/// Returns the ranges of turns in the chunks of these threads, in ledger order.
pub fn stretches_of_threads(tx: &Read, threads: &[ThreadNo]) -> Result<Vec<Stretch>> {
    let sql = format!("SELECT {STRETCH} FROM nodes n WHERE n.thread_no = ?1 AND n.kind = {CHUNK} AND {STANDS}");
    let mut all = Vec::new();
    for thread in threads {
        all.extend(read_stretches(tx, &sql, [thread])?);
    }
    all.sort_by_key(|s| (s.turns.0, s.node));
    Ok(all)
}

const STRETCH: &str = "n.node_no, n.session_no, n.lane_no, n.first_turn, n.last_turn, length(n.key) > 0";

fn read_stretches(tx: &Read, sql: &str, with: impl rusqlite::Params) -> Result<Vec<Stretch>> {
    let mut statement = tx.prepare_cached(sql)?;
    let rows = statement.query_map(with, |r| {
        let turns = (r.get(3)?, r.get(4)?);
        let stretch = Stretch { node: r.get(0)?, session_no: r.get(1)?, lane_no: r.get(2)?, turns };
        Ok((stretch, r.get::<_, bool>(5)?))
    })?;
    let all: Vec<(Stretch, bool)> = rows.collect::<rusqlite::Result<_>>()?;
    // A chunk with a replacement is skipped: its turns belong to the replacement.
    let taken = |c: &Stretch| {
        all.iter().any(|(o, s)| *s && o.lane_no == c.lane_no && o.turns.0 <= c.turns.1 && o.turns.1 >= c.turns.0)
    };
    Ok(all.iter().filter(|(c, stands)| *stands || !taken(c)).map(|(c, _)| *c).collect())
}

/// Returns the nodes of a session without a parent in the same session, newest first: its session nodes, and nodes they
/// do not cover yet.
pub fn of_session(tx: &Read, agent_no: AgentNo, session_no: SessionNo, most: usize) -> Result<Vec<Node>> {
    list(
        tx,
        "n.agent_no = ?1 AND n.session_no = ?2 AND length(n.key) > 0
         AND NOT EXISTS (SELECT 1 FROM node_edges e JOIN nodes p ON p.node_no = e.parent_no
                         WHERE e.child_no = n.node_no AND p.session_no = n.session_no AND length(p.key) > 0)
         ORDER BY n.last_turn DESC, n.node_no DESC LIMIT ?3",
        params![agent_no, session_no, most as i64],
    )
}

/// Returns the nodes of an agent of this kind (`Session` or `Compaction`) whose last turn was said within `from..to`,
/// oldest first; if there are more than `most`, the newest. Forgotten nodes and abandoned branches are left out.
pub fn between(tx: &Read, agent_no: AgentNo, kind: Kind, from: Millis, to: Millis, most: usize) -> Result<Vec<Node>> {
    let mut found = list(
        tx,
        // The SQL names both kinds because the index covers only these.
        &format!(
            "n.agent_no = ?1 AND n.kind IN ({SESSION}, {COMPACTION}) AND n.kind = ?2
             AND n.last_at >= ?3 AND n.last_at < ?4 AND length(n.key) > 0 AND n.abandoned = 0
             ORDER BY n.last_at DESC, n.node_no DESC LIMIT ?5"
        ),
        params![agent_no, kind.code(), from, to, most as i64],
    )?;
    found.reverse();
    Ok(found)
}

/// Returns the number of turns in all chunks below some nodes, each chunk counted once.
pub fn covered(tx: &Read, ids: &[NodeId]) -> Result<u64> {
    let list: Vec<String> = ids.iter().map(|id| id.0.to_string()).collect();
    let total: i64 = tx
        .prepare_cached(
            &format!(
                "WITH RECURSIVE below (no) AS (
               SELECT value FROM json_each(?1) UNION SELECT e.child_no FROM node_edges e JOIN below b ON e.parent_no = b.no)
             SELECT coalesce(sum(n.turns), 0) FROM below b JOIN nodes n ON n.node_no = b.no
             WHERE n.kind = {CHUNK} AND length(n.key) > 0"
            ),
        )?
        .query_row([format!("[{}]", list.join(","))], |r| r.get(0))?;
    Ok(total as u64)
}
