//! One test binary per crate: every file of this folder is a module here.

mod assistant;
mod concurrent;
mod continuity;
mod drift;
mod files;
mod foreign;
mod forget;
mod heads;
mod identity;
mod index;
mod jobs;
mod ledger;
mod lines;
mod live;
mod memory;
mod place;
mod review;
mod rewritten;
mod runs;
mod search;
mod storeys;
mod tree;
mod verify;
mod world;
