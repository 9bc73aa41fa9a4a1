//! Tombstones: nodes whose text was forgotten (R14.2). A tombstone keeps its position, its edges and its digest, which
//! reveals nothing without the key; the replacing node names it in [`NewNode::replaces`](super::NewNode::replaces).

use rusqlite::params;

use super::{model_summary, roots};
use crate::error::Result;
use crate::ledger::Write;
use crate::scope::NodeId;

/// Deletes the text of a node together with its key. The node no longer covers its turns: another chunk may take its
/// place, and queries for visible nodes skip it. A second call changes nothing.
pub fn bury(tx: &Write, node: NodeId) -> Result<()> {
    tx.prepare_cached(
        "UPDATE nodes SET summary = '', summary_tokens = 0, distillate = NULL, key = x'' WHERE node_no = ?1",
    )?
    .execute([node.0])?;
    model_summary::bury(tx, node)?;
    roots::buried(tx, node)
}

/// Makes the compactions whose handoff was `old` refer to the node that replaces it.
pub fn lead_on(tx: &Write, old: NodeId, new: NodeId) -> Result<()> {
    tx.prepare_cached("UPDATE compactions SET node_no = ?2 WHERE node_no = ?1")?.execute(params![old.0, new.0])?;
    Ok(())
}
