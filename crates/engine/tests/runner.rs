//! One test binary per crate: every file of this folder is a module here.

mod concurrent;
mod files;
mod foreign;
mod identity;
mod index;
mod jobs;
mod ledger;
mod lines;
mod live;
mod rewritten;
mod runs;
mod search;
mod storeys;
mod verify;
mod world;
