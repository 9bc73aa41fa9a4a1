//! The rendered pages as recorded in the ledger: all pages, which of them are out of date, who may write one, and the
//! revisions, sections and dismissed lines of each. Storey 1; owns the tables `heads`, `head_revisions`,
//! `head_sections`, `head_deferred` and `dismissals`.
//!
//! [`PageKey`] names a page. [`cadence`] says which pages an event puts out of date (R7.3); [`mark`] marks them in the
//! transaction of that event (R7.5). Composing a page and publishing it into its file is the work of
//! [`render`](crate::render).
//!
//! This room is below the nouns, because every noun marks the pages that show what it changed, and beside
//! [`tree`](crate::tree), which marks them when a person edits a file. It does not know what a loop, a memory or a
//! thread means, and reads no file.

pub mod cadence;
pub mod cursor;
pub mod dismissals;
pub mod head_lease;
pub mod key;
mod outdated;
pub mod revisions;
pub mod shared;

pub use cadence::{Happened, SessionPlace};
pub use cursor::Cursor;
pub use key::{PageKey, Period, RuntimePage};
pub(crate) use outdated::{
    Rendered, candidates, fence_all, forget_contents, is_behind, is_known, known_days, known_session, last_content,
    mark_pages, pass_over, published, record,
};
pub use outdated::{mark, mark_each};
