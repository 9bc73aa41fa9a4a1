//! What keeping a memory in order came to: queued work, and an index made again.

use schemars::JsonSchema;
use serde::Serialize;

use crate::error::Problem;

/// What a pass over everything that is due came to.
#[derive(Clone, Default, Serialize, JsonSchema, Debug)]
pub struct Worked {
    /// Jobs done and sessions distilled.
    pub done: u64,
    pub failed: u64,
    /// Jobs and sessions that are not due yet.
    pub later: u64,
    /// Another embedding model or a language model is at work, and there is more for it to do now.
    #[serde(skip)]
    pub renewing: bool,
    #[serde(skip)]
    pub problems: Vec<Problem>,
}

/// What making the search index again came to.
#[derive(Clone, Copy, PartialEq, Serialize, JsonSchema, Debug)]
pub struct Reindexed {
    pub turns: u64,
    pub files: u64,
    /// How large the index is now.
    pub bytes: u64,
    pub seconds: f64,
}

/// A copy of the whole memory.
#[derive(Clone, PartialEq, Eq, Serialize, Debug)]
pub struct BackedUp {
    /// The folder or file it is in.
    pub backup: String,
    pub files: u64,
    pub bytes: u64,
    /// How long the one file is; null for a folder.
    pub packed: Option<u64>,
    /// How many of the bytes were taken from the copy before and not written again.
    pub reused: u64,
    /// The last row of the audit chain in it.
    pub audit_row: i64,
    /// What could not be copied: links, pages in another program's folder.
    pub left_out: Vec<String>,
}

/// Everything in plain files.
#[derive(Clone, PartialEq, Eq, Serialize, Debug)]
pub struct Exported {
    /// The folder it is in.
    pub exported: String,
    pub files: u64,
    pub bytes: u64,
    pub sessions: u64,
    pub turns: u64,
    /// What could not be copied: links, pages in another program's folder.
    pub left_out: Vec<String>,
}

/// What is remembered of the last backups, in `state/backup.json`.
#[derive(Clone, PartialEq, Eq, Default, Serialize, serde::Deserialize, schemars::JsonSchema, Debug)]
pub struct BackupsSeen {
    /// When the last one was made, in milliseconds; null: never.
    pub at: Option<i64>,
    /// Where it is.
    pub to: Option<String>,
    /// When an attempt failed since, and why; null: none has.
    pub failed_at: Option<i64>,
    pub why: Option<String>,
}

/// A memory that was put back from a copy.
#[derive(Clone, PartialEq, Eq, Serialize, Debug)]
pub struct PutBack {
    pub home: String,
    pub files: u64,
    pub bytes: u64,
    /// When the copy was taken.
    pub of: String,
}
