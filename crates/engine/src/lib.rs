//! Heirloom's engine: the memory itself. Synchronous, without network, printing or environment; it knows no outside
//! program by name.
//!
//! The path of a conversation, in order (each step may read the results of an earlier one, never the other way round):
//!
//! 1. A program's file, database or line is read by [`source`] and decoded into [`event::Decoded`] records by a
//!    [`event::Decoder`] the `harness` crate supplies.
//! 2. [`capture`] plans batches of records with no lock held and commits each batch in one short transaction of the
//!    [`ledger`], through [`transcript::append()`]: the exact bytes, the turns they mean, the cursor and the audit row
//!    are stored together or not at all.
//! 3. [`distill`] makes summaries of turns, which [`lineage`] keeps as a DAG that leads back to every turn.
//! 4. [`index`] keeps a derived, disposable full-text index in step.
//! 5. [`recall`] finds turns again; [`transcript::read`] and [`transcript::export`] lead from any of them to the
//!    original words and bytes.
//! 6. [`inject`] puts together the context a program is given, and records that it was given.
//! 7. [`lifecycle`] handles the calls of programs' hooks: the whole product as one match.
//! 8. [`verify`](verify::verify) recomputes everything stored; [`worker`] does the work that may wait.
//!
//! The storeys, each using those below it only (a test reads the `use` lines):
//!
//! | storey | rooms |
//! |---|---|
//! | 0 vocabulary | [`scope`] · [`event`] · [`program`] · [`next_step`] · [`title`] · [`tokens`] · [`clock`] · [`zone`] · [`moment`] · [`model`] · [`error`] |
//! | 1 stores | [`spool`] · [`document`] · [`redact`] · [`holder`] · [`home`] · [`ledger`] · [`pages`] · [`tree`] · [`source`] · [`sqlite`] · [`text`] |
//! | 2 nouns | [`transcript`] · [`lineage`] · [`thread`] · [`continuity`] · [`memory`] · [`profile`] · [`statement`] · [`budget`] · [`quoting`] |
//! | 3 verbs | [`capture`] → [`distill`] → [`review`] → [`render`] → [`index`] → [`recall`] → [`inject`]; [`audience`] · [`judge`] · [`skill`] · [`evolve`] |
//! | 4 conduct | [`lifecycle`] · [`verify`] · [`forget`] · [`worker`] · [`report`] |
//! | 5 door | [`instance`] · [`engine`] |
//!
//! Five types are used everywhere: [`scope::AgentId`] (no query without one), [`ledger::Ledger`] (closures; a write
//! states its reason), [`event::NewTurn`], [`transcript::read::Turn`] and [`error::Error`].

pub mod audience;
pub mod budget;
pub mod capture;
pub mod clock;
pub mod continuity;
pub mod distill;
pub mod document;
pub mod engine;
pub mod error;
pub mod event;
pub mod evolve;
pub mod forget;
pub mod holder;
pub mod home;
pub mod index;
pub mod inject;
pub mod instance;
pub mod judge;
pub mod ledger;
pub mod lifecycle;
pub mod lineage;
pub mod memory;
pub mod model;
pub mod moment;
pub mod next_step;
pub mod pages;
pub mod profile;
pub mod program;
pub mod quoting;
pub mod recall;
pub mod redact;
pub mod render;
pub mod report;
pub mod review;
pub mod scope;
pub mod skill;
pub mod source;
pub mod spool;
pub mod sqlite;
pub mod statement;
pub mod text;
pub mod thread;
pub mod title;
pub mod tokens;
pub mod transcript;
pub mod tree;
pub mod verify;
pub mod worker;
pub mod zone;
