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
    /// The folder it is in.
    pub backup: String,
    pub files: u64,
    pub bytes: u64,
    /// The last row of the audit chain in it.
    pub audit_row: i64,
    /// What could not be copied: links, pages in another program's folder.
    pub left_out: Vec<String>,
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
