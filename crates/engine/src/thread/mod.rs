//! Threads: lanes of work across sessions and programs (R7.2). Storey 2.
//!
//! A thread's key is stable and names no session and no program, unless nothing else is known. [`membership()`] decides
//! once which thread a run belongs to, and the decision is stored; the thread of a session changes only with a prompt.
//! The acts of people ([`rename`], [`merge`], [`link`] …) rewrite no stored data: names, merges and links are rows that
//! refer from one thread to another.

mod acts;
mod key;
mod membership;
mod people;
pub mod reading;
pub mod row;

pub use acts::{
    Link, begin, close, link, links, merge, named_or_begun, rejoin, rename, reopen, switch_session, touch, unlink,
    unmerge,
};
pub use membership::{Membership, join, membership};
pub use reading::{
    Counts, Lately, Participants, SessionIn, Stretch, lately, newest_sessions, participants, sessions, stretches,
    unthreaded,
};
pub use row::{
    ThreadRow, called, canonical, exact, files_of, find, known_as, list, list_all, members, named, of_file, of_session,
    row,
};
