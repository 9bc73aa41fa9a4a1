//! Threads: lanes of work across sessions and programs (R7.2). Storey 2.
//!
//! A thread's key is stable and names no session and no program, except where nothing else is known. Which thread a run
//! belongs to is decided once, by [`membership()`], and kept; it changes only with a prompt.

mod membership;
pub mod row;

pub use membership::{Membership, join, membership};
pub use row::{ThreadRow, canonical, find, list, members, named, of_file, of_session, row};
