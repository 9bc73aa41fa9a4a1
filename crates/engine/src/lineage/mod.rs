//! The summary DAG: immutable nodes over turns, from chunk to condensed history (R6.1, R6.2). Storey 2.
//!
//! | kind | stands over | children |
//! |---|---|---|
//! | chunk | a contiguous range of turns of one lane, in ledger sequence | none |
//! | compaction | what a handoff takes the place of | the chunks since the one before |
//! | session | what closed since the session's previous one, of one thread | its compactions, and the chunks they leave |
//! | condensed | eight roots of one depth of a thread | session, compaction or condensed nodes |
//!
//! Insert only: nothing automatic changes or deletes a node. A chunk covers every turn of its lane between its first and
//! last, so membership needs no rows. A node that belongs to an unfinished act ([`crate::tree::flush`]) is there
//! and does not stand yet: it appears in the transaction that finishes the act.
//!
//! Who distils, and when, is decided in `distill`; this room only keeps what it is given, and answers what leads where.

pub mod distillate;
pub mod marks;
mod node;
mod roots;
pub mod tombstone;
pub mod walk;

pub(crate) use node::STANDS;
pub use node::{Compaction, NewCompaction};
pub use node::{
    Kind, NewNode, Node, Source, boundary_is_handled, chunk_of, compactions, digest_of, epoch, epoch_at, find,
    frontier, insert, newest, node, record_compaction, uncovered,
};
