//! One test binary per crate: every file of this folder is a module here.

mod apart;
mod append;
mod audited;
mod bad_input;
mod continuity;
mod cut;
mod days;
mod display;
mod docs;
mod files;
mod first_minute;
mod forget;
mod help;
mod killed;
mod memory;
mod mutated;
mod noticed;
mod pages;
mod reference;
mod remember;
mod roundtrip;
mod search;
mod visible;
mod world;
