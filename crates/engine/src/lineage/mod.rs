//! The summary DAG: immutable nodes over turns, from chunk to condensed history (R6.1, R6.2). Storey 2.
//!
//! | kind | covers | children |
//! |---|---|---|
//! | chunk | a contiguous range of turns of one lane, in ledger sequence | none |
//! | compaction | the context a handoff replaces | the chunks since the previous compaction |
//! | session | the nodes of one thread since the session's previous session node | its compactions, and the other chunks |
//! | condensed | eight roots of one depth of a thread | session, compaction or condensed nodes |
//!
//! Insert only: nothing automatic changes or deletes a node. A chunk covers every turn of its lane between its first
//! and last, so membership needs no rows. A node that belongs to an unfinished act ([`crate::tree::journal`]) is stored
//! but not visible yet: it becomes visible in the transaction that finishes the act.
//!
//! The room `distill` decides what is distilled and when; this room stores nodes and answers queries about their
//! relations.

pub mod distillate;
pub mod model_summary;
mod node;
pub mod roots;
pub mod tombstone;
pub mod undistilled;
pub mod walk;

pub(crate) use node::STANDS;
pub use node::{Compaction, NewCompaction};
pub use node::{
    Kind, NewNode, Node, Source, WithoutModel, boundary_is_handled, chunk_of, compactions, digest_of, epoch, epoch_at,
    find, frontier, insert, newest, node, record_compaction, uncovered,
};
