//! What matters here: finding turns again (RETRIEVAL.md, R10.9). Storey 3.
//!
//! [`query`] turns what was typed into full-text terms, [`search`] finds, ranks and cuts out the passages. Searching the
//! transcript is lookup asked for by name; nothing here injects anything.

pub mod query;
pub mod search;
pub mod snippet;
mod stop_words;

pub use search::{Filter, Hit, Searched, search};
