//! What matters here: finding turns and files again (RETRIEVAL.md, R10.9). Storey 3.
//!
//! [`query`] turns what was typed into full-text terms, [`search`] finds, ranks and cuts out the passages of
//! turns, [`files`] those of visible files. Searching is lookup asked for by name; nothing here injects anything.

pub mod files;
pub mod query;
pub mod search;
pub mod snippet;
mod stop_words;
mod terms;

pub use files::{FileFilter, FileHit, FilesFound, search_files};
pub use search::{Filter, Hit, Searched, search};
