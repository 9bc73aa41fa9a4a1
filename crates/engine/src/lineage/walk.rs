//! Which node leads where: children, parents, roots, neighbours (R6.8).

use rusqlite::params;

use super::node::{COLUMNS, JOINS, Kind, Node, STANDS, node_of};
use crate::error::Result;
use crate::ledger::Read;
use crate::scope::NodeId;

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

/// What a node stands over, in ledger order. A forgotten child is there beside the one made in its place.
pub fn children(tx: &Read, agent_no: i64, id: NodeId) -> Result<Vec<Node>> {
    list(
        tx,
        "n.agent_no = ?1 AND n.node_no IN (SELECT child_no FROM node_edges WHERE parent_no = ?2) ORDER BY n.first_turn, n.node_no",
        [agent_no, id.0],
    )
}

/// The nodes that stand over one.
pub fn parents(tx: &Read, agent_no: i64, id: NodeId) -> Result<Vec<Node>> {
    list(
        tx,
        "n.agent_no = ?1 AND n.node_no IN (SELECT parent_no FROM node_edges WHERE child_no = ?2) ORDER BY n.depth, n.node_no",
        [agent_no, id.0],
    )
}

/// What nothing condenses yet, of one thread and depth, oldest first: session nodes, compaction nodes no session node
/// covers, condensed nodes (R6.7).
pub fn roots(tx: &Read, thread_no: i64, depth: i64, most: usize) -> Result<Vec<Node>> {
    list(
        tx,
        "n.thread_no = ?1 AND n.kind != 0 AND n.depth = ?2 AND length(n.key) > 0
         AND NOT EXISTS (SELECT 1 FROM node_edges e JOIN nodes p ON p.node_no = e.parent_no
                         WHERE e.child_no = n.node_no AND length(p.key) > 0 AND (p.kind = 3 OR n.kind = 2))
         ORDER BY coalesce(n.last_at, n.created_at), n.node_no LIMIT ?3",
        params![thread_no, depth, most as i64],
    )
}

/// Roots of a thread: what no node stands over, chunks included, those that reach furthest into the present first.
/// Nothing of branches their program left.
///
/// Looks at the newest nodes and the newest condensed ones only, so that its cost does not grow with the thread: a root
/// is either recent or condensed, and of those eight of a depth become one.
pub fn tops(tx: &Read, thread_no: i64, most: usize) -> Result<Vec<Node>> {
    list(
        tx,
        "n.node_no IN (
           SELECT node_no FROM (SELECT node_no FROM nodes WHERE thread_no = ?1 ORDER BY last_at DESC, node_no DESC LIMIT 256)
           UNION
           SELECT node_no FROM (SELECT node_no FROM nodes WHERE thread_no = ?1 AND kind = 3 ORDER BY node_no DESC LIMIT 512))
         AND length(n.key) > 0 AND n.abandoned = 0
         AND NOT EXISTS (SELECT 1 FROM node_edges e JOIN nodes p ON p.node_no = e.parent_no
                         WHERE e.child_no = n.node_no AND length(p.key) > 0)
         ORDER BY coalesce(n.last_at, n.created_at) DESC, n.node_no DESC LIMIT ?2",
        params![thread_no, most as i64],
    )
}

/// Nodes of a kind in a thread, newest first.
pub fn of_thread(tx: &Read, thread_no: i64, kind: Kind, most: usize) -> Result<Vec<Node>> {
    list(
        tx,
        "n.thread_no = ?1 AND n.kind = ?2 AND length(n.key) > 0 ORDER BY n.node_no DESC LIMIT ?3",
        params![thread_no, kind.code(), most as i64],
    )
}
