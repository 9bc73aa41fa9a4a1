//! Nodes whose words were forgotten (R14.2). A tombstone keeps its place, its edges and its digest, which without its key
//! tells nothing; the node made in its place says so by [`NewNode::replaces`](super::NewNode::replaces).

use rusqlite::params;

use super::roots;
use crate::error::Result;
use crate::ledger::Write;
use crate::scope::NodeId;

/// Takes the words of a node away and its key with them. It does not stand for its turns any more: another chunk may be
/// put in its place, and nothing that asks for standing nodes gets it. Burying twice changes nothing.
pub fn bury(tx: &Write, node: NodeId) -> Result<()> {
    tx.prepare_cached(
        "UPDATE nodes SET summary = '', summary_tokens = 0, distillate = NULL, key = x'' WHERE node_no = ?1",
    )?
    .execute([node.0])?;
    roots::buried(tx, node)
}

/// Lets the compactions whose handoff was `old` lead to the node made in its place.
pub fn lead_on(tx: &Write, old: NodeId, new: NodeId) -> Result<()> {
    tx.prepare_cached("UPDATE compactions SET node_no = ?2 WHERE node_no = ?1")?.execute(params![old.0, new.0])?;
    Ok(())
}
