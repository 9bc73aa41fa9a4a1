//! The table of nodes that no condensed node covers yet. It exists because searching for these nodes would take longer
//! with every session of a thread (R6.7). [`walk::roots`](super::walk::roots) reads it, and checks each row against the
//! nodes.

use crate::error::Result;
use crate::ledger::codes::CHUNK;
use crate::ledger::{Read, Write};
use crate::scope::NodeId;

/// Adds a node that is not a chunk as a root.
pub(super) fn add(tx: &Write, node: NodeId) -> Result<()> {
    tx.prepare_cached(
        "INSERT OR IGNORE INTO node_roots (thread_no, depth, moment, node_no)
         SELECT thread_no, depth, coalesce(last_at, created_at), node_no FROM nodes WHERE node_no = ?1",
    )?
    .execute([node.0])?;
    Ok(())
}

/// Removes a node from the roots because another node covers it now.
pub(super) fn covered(tx: &Write, node: NodeId) -> Result<()> {
    tx.prepare_cached(
        "DELETE FROM node_roots WHERE (thread_no, depth, moment, node_no) =
           (SELECT thread_no, depth, coalesce(last_at, created_at), node_no FROM nodes WHERE node_no = ?1)",
    )?
    .execute([node.0])?;
    Ok(())
}

/// Returns nodes that no node covers and that are missing in the table of roots, for [`verify`](crate::verify):
/// condensation would not find them.
pub fn unlisted(tx: &Read) -> Result<Vec<NodeId>> {
    let mut statement = tx.prepare(&format!(
        "SELECT node_no FROM nodes n WHERE kind != {CHUNK} AND length(key) > 0
           AND NOT EXISTS (SELECT 1 FROM flushes f WHERE f.flush_id = n.flush_id AND f.state = 'planned')
           AND NOT EXISTS (SELECT 1 FROM node_edges e JOIN nodes p ON p.node_no = e.parent_no
                           WHERE e.child_no = n.node_no AND length(p.key) > 0)
           AND NOT EXISTS (SELECT 1 FROM node_roots r WHERE r.thread_no = n.thread_no AND r.node_no = n.node_no)
         ORDER BY node_no"
    ))?;
    let rows = statement.query_map([], |r| r.get(0))?;
    Ok(rows.collect::<rusqlite::Result<_>>()?)
}

/// Updates the roots after a node's text was forgotten: such a node covers nothing, so its children may be roots again.
pub(super) fn buried(tx: &Write, node: NodeId) -> Result<()> {
    covered(tx, node)?;
    tx.prepare_cached(&format!(
        "INSERT OR IGNORE INTO node_roots (thread_no, depth, moment, node_no)
         SELECT n.thread_no, n.depth, coalesce(n.last_at, n.created_at), n.node_no
         FROM node_edges e JOIN nodes n ON n.node_no = e.child_no
         WHERE e.parent_no = ?1 AND n.kind != {CHUNK} AND length(n.key) > 0"
    ))?
    .execute([node.0])?;
    Ok(())
}
