//! Finds turns and files again (RETRIEVAL.md, R10.9). Storey 3.
//!
//! [`query`] parses what was typed: terms, times ([`when`]), people ([`people`]) and the text for the embedder.
//! [`mod@search`] finds and ranks turns and cuts out passages, [`files`] does so for visible files, [`expand()`] leads
//! from any line of a page down to its turns. [`staged`] recalls: files and summaries first and, if they do not answer,
//! `turns`; `by_id` gives what a question names by its id. `withheld` leaves out turns that the model already has ([`live`]) and text that nobody said (`machine_text`);
//! `worth` and `aside` leave out what answers no prompt; `said_once` gives each sentence once. A search is an explicit lookup; nothing here injects anything.

mod alike;
mod aside;
mod asked;
mod bm25;
mod by_id;
mod chat;
mod compounds;
pub mod expand;
pub mod files;
pub mod live;
mod machine_text;
pub mod named;
mod neighbours;
mod outdone;
pub mod people;
pub mod program;
pub mod query;
pub mod recalled;
pub mod replay;
mod said_once;
pub mod search;
pub mod snippet;
pub mod staged;
mod symbols;
mod terms;
mod ties;
pub mod trace;
mod turns;
mod vector_search;
pub mod when;
mod withheld;
mod within;
mod worth;

pub use crate::audience::{Audience, Hint};
pub use expand::{Expansion, Reach, Reference, Subject, expand};
pub use files::{FileFilter, FileHit, FilesFound, search_files};
pub(crate) use machine_text::spoken;
pub use people::Person;
pub use program::Weights;
pub use query::{Query, understand};
pub use recalled::{Dropped, Item, Recalled, Stage};
pub use search::{Filter, Hit, Legs, Searched, search};
pub use staged::{Question, recall};
pub use trace::Trace;
pub(crate) use turns::scope_of_turn;
pub use when::{Hold, Precision, When};
