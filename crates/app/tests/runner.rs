//! One test binary per crate: every file of this folder is a module here.

mod apart;
mod append;
mod audited;
mod bad_input;
mod bench_recall;
mod compact;
mod continuity;
mod cut;
mod days;
mod display;
mod docs;
mod drill;
mod expand;
mod files;
mod first_minute;
mod forget;
mod given;
mod heads;

mod help;
mod hooks;
mod killed;
mod memory;
mod mixed_day;
mod moment;
mod mutated;
mod noticed;
mod pages;
mod reference;
mod remember;
mod roundtrip;
mod search;
mod strangers;
mod threads;
mod visible;
mod world;
