//! Working state: open loops, proposals, artifacts, job runs and requests for access. Storey 2 (R8).
//!
//! Open loops, proposals and artifacts are Markdown files, and the files are authoritative. They are changed while
//! holding the [`TreeLock`], in the three steps of an act. Job runs ([`scheduled`]) and requests
//! for access ([`channel`]) are rows of the ledger that pages show. Drafts ([`draft`]) belong to the programs that left
//! them until a person promotes them to artifacts.

pub mod artifact;
pub mod channel;
pub mod draft;
pub mod open_loop;
pub mod output;
pub mod proposal;
pub mod scheduled;

use schemars::JsonSchema;
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

/// The effect of an upsert.
#[derive(Clone, Copy, PartialEq, Eq, Serialize, JsonSchema, Debug)]
#[serde(rename_all = "lowercase")]
pub enum Change {
    New,
    Changed,
    /// It existed already with the same content; nothing was written.
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
#[derive(Clone, PartialEq, Eq, Serialize, JsonSchema, Debug)]
pub struct Item {
    /// `l:…`, `p:…`.
    pub id: String,
    pub title: String,
    pub path: RelPath,
    pub change: Change,
}

/// The longest title in characters.
const LONGEST_TITLE: usize = 4_000;

/// Format version of the files of this room, written to their front matter.
pub const FORMAT: i64 = 1;

/// Returns a title as one line with credentials redacted: it becomes the name of a file, which is shown in many places
/// (R14.2).
pub(crate) fn sound_title(title: &str) -> Result<String> {
    let title = redact(&title.split_whitespace().collect::<Vec<_>>().join(" ")).into_owned();
    TitleKey::of(&title)?;
    if title.chars().count() > LONGEST_TITLE {
        return Err(Error::usage(format!("the title is longer than {LONGEST_TITLE} characters"))
            .hint("say in a few words what it is about; the text holds the rest"));
    }
    Ok(title)
}

/// Reads and parses a file of the tree.
pub fn document(lock: &TreeLock, entry: &Entry) -> Result<Document> {
    read(lock.at, &entry.path)
}

/// Reads and parses a file of the tree.
pub fn read(at: &AssistantHome, path: &RelPath) -> Result<Document> {
    let found = at.files.read_with_stamp(path, crate::tree::LARGEST_FILE)?;
    let (bytes, _) = found.ok_or_else(|| Error::not_found(format!("{} is not there any more", at.shown(path))))?;
    Ok(Document::parse(bytes))
}

/// Returns the current time in the form used in front matter.
pub(crate) fn now(lock: &TreeLock) -> Value {
    Value::from(rfc3339(lock.at.ledger.now()))
}
