//! What matters here: finding turns and files again (RETRIEVAL.md, R10.9). Storey 3.
//!
//! [`query`] understands what was typed: terms, times ([`when`]), people ([`people`]) and what an embedder is given;
//! [`search`] finds, ranks and cuts out the passages of turns, [`files`] those of visible files, [`expand()`] leads from
//! any line of a page down to the words. Searching is lookup asked for by name; nothing here injects anything.

pub mod expand;
pub mod files;
pub mod people;
pub mod query;
pub mod search;
pub mod snippet;
mod stop_words;
mod symbols;
mod terms;
pub mod when;

pub use expand::{Expansion, Reach, Reference, Subject, expand};
pub use files::{FileFilter, FileHit, FilesFound, search_files};
pub use people::Person;
pub use query::{Query, understand};
pub use search::{Filter, Hit, Searched, search};
pub use when::{Hold, Precision, When};
