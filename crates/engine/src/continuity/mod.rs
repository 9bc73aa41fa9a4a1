//! Working state: what is owed, what waits for a yes, what was made, what ran, who asks to be let in. Storey 2 (R8).
//!
//! Open loops, proposals and artifacts are Markdown files; the file is the authority. They are changed at the
//! [`TreeLock`](crate::tree::TreeLock), in the three beats of an act. Runs of jobs ([`scheduled`]) and who asks to be let in
//! ([`channel`]) are rows of the ledger that pages show. Drafts ([`draft`]) belong to the programs that left them until
//! somebody makes artifacts of them.

pub mod artifact;
pub mod channel;
pub mod draft;
pub mod open_loop;
pub mod output;
pub mod proposal;
pub mod scheduled;

use serde::Serialize;
use serde_json::Value;

use crate::clock::rfc3339;
use crate::document::Document;
use crate::error::{Error, Result};
use crate::home::RelPath;
use crate::redact::redact;
use crate::title::TitleKey;
use crate::tree::file_table::Entry;
use crate::tree::{AssistantHome, TreeLock};

/// What an upsert came to.
#[derive(Clone, Copy, PartialEq, Eq, Serialize, Debug)]
#[serde(rename_all = "lowercase")]
pub enum Change {
    New,
    Changed,
    /// It was there already, just so; nothing was written.
    Same,
}

impl Change {
    pub fn name(self) -> &'static str {
        match self {
            Change::New => "new",
            Change::Changed => "changed",
            Change::Same => "same",
        }
    }
}

/// An item after an act.
#[derive(Clone, PartialEq, Eq, Serialize, Debug)]
pub struct Item {
    /// `l:…`, `p:…`.
    pub id: String,
    pub title: String,
    pub path: RelPath,
    pub change: Change,
}

/// The longest title: what is longer is a text.
const LONGEST_TITLE: usize = 4_000;

/// The version of the files written here, in their front matter.
pub const FORMAT: i64 = 1;

/// A title on one line and without credentials: it becomes the name of a file, which is shown everywhere (R14.2).
pub(crate) fn sound_title(title: &str) -> Result<String> {
    let title = redact(&title.split_whitespace().collect::<Vec<_>>().join(" ")).into_owned();
    TitleKey::of(&title)?;
    if title.chars().count() > LONGEST_TITLE {
        return Err(Error::usage(format!("the title is longer than {LONGEST_TITLE} characters"))
            .hint("say in a few words what it is about; the text holds the rest"));
    }
    Ok(title)
}

/// A file of the tree, read and parsed.
pub fn document(lock: &TreeLock, entry: &Entry) -> Result<Document> {
    read(lock.at, &entry.path)
}

/// A file of the tree, read and parsed.
pub fn read(at: &AssistantHome, path: &RelPath) -> Result<Document> {
    let found = at.files.read_with_stamp(path, crate::tree::LARGEST_FILE)?;
    let (bytes, _) = found.ok_or_else(|| Error::not_found(format!("{} is not there any more", at.shown(path))))?;
    Ok(Document::parse(bytes))
}

/// Now, as front matter has it.
pub(crate) fn now(lock: &TreeLock) -> Value {
    Value::from(rfc3339(lock.at.ledger.now()))
}
