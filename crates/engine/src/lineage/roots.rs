//! Where the nodes are that nothing condenses yet: kept beside them, since looking for them would take longer with every
//! session a thread ever had (R6.7). Read by [`walk::roots`](super::walk::roots), which asks the nodes what counts.

use crate::error::Result;
use crate::ledger::Write;
use crate::scope::NodeId;

/// A node that is no chunk begins as a root.
pub(super) fn add(tx: &Write, node: NodeId) -> Result<()> {
    tx.prepare_cached(
        "INSERT OR IGNORE INTO node_roots (thread_no, depth, moment, node_no)
         SELECT thread_no, depth, coalesce(last_at, created_at), node_no FROM nodes WHERE node_no = ?1",
    )?
    .execute([node.0])?;
    Ok(())
}

/// Something stands over it now.
pub(super) fn covered(tx: &Write, node: NodeId) -> Result<()> {
    tx.prepare_cached(
        "DELETE FROM node_roots WHERE (thread_no, depth, moment, node_no) =
           (SELECT thread_no, depth, coalesce(last_at, created_at), node_no FROM nodes WHERE node_no = ?1)",
    )?
    .execute([node.0])?;
    Ok(())
}

/// A node whose words were forgotten stands over nothing any more: what it stood over may be a root again.
pub(super) fn buried(tx: &Write, node: NodeId) -> Result<()> {
    covered(tx, node)?;
    tx.prepare_cached(
        "INSERT OR IGNORE INTO node_roots (thread_no, depth, moment, node_no)
         SELECT n.thread_no, n.depth, coalesce(n.last_at, n.created_at), n.node_no
         FROM node_edges e JOIN nodes n ON n.node_no = e.child_no
         WHERE e.parent_no = ?1 AND n.kind != 0 AND length(n.key) > 0",
    )?
    .execute([node.0])?;
    Ok(())
}
