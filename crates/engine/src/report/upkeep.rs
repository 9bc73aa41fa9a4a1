//! Results of upkeep: queued work, a rebuilt index, backups, exports, restores.

use schemars::JsonSchema;
use serde::Serialize;

use crate::error::Problem;

/// Result of one pass over everything that is due.
#[derive(Clone, Default, Serialize, JsonSchema, Debug)]
pub struct Worked {
    /// Number of jobs done and sessions distilled.
    pub done: u64,
    pub failed: u64,
    /// Number of jobs and sessions that are not due yet.
    pub later: u64,
    /// Whether an embedding model or a language model has more work to do now.
    #[serde(skip)]
    pub renewing: bool,
    #[serde(skip)]
    pub problems: Vec<Problem>,
}

/// Result of building the search index anew.
#[derive(Clone, Copy, PartialEq, Serialize, JsonSchema, Debug)]
pub struct Reindexed {
    pub turns: u64,
    pub files: u64,
    /// Size of the index now.
    pub bytes: u64,
    pub seconds: f64,
}

/// A backup of the whole memory.
#[derive(Clone, PartialEq, Eq, Serialize, Debug)]
pub struct BackedUp {
    /// Folder or file of the backup.
    pub backup: String,
    pub files: u64,
    pub bytes: u64,
    /// Size of the packed file in bytes; null if the backup is a folder.
    pub packed: Option<u64>,
    /// Number of bytes reused from the previous backup instead of written again.
    pub reused: u64,
    /// Number of the last row of the audit chain in the backup.
    pub audit_row: i64,
    /// Files that could not be copied: links, and pages in another program's folder.
    pub left_out: Vec<String>,
}

/// An export of the whole memory as plain files.
#[derive(Clone, PartialEq, Eq, Serialize, Debug)]
pub struct Exported {
    /// Folder of the export.
    pub exported: String,
    pub files: u64,
    pub bytes: u64,
    pub sessions: u64,
    pub turns: u64,
    /// Files that could not be copied: links, and pages in another program's folder.
    pub left_out: Vec<String>,
}

/// The last backups, as noted in `state/backup.json`.
#[derive(Clone, PartialEq, Eq, Default, Serialize, serde::Deserialize, schemars::JsonSchema, Debug)]
pub struct BackupsSeen {
    /// Time of the last backup, in milliseconds; null if there was none.
    pub at: Option<i64>,
    /// Folder or file of the last backup.
    pub to: Option<String>,
    /// Time and reason of an attempt that failed since; null if none failed.
    pub failed_at: Option<i64>,
    pub why: Option<String>,
}

/// A home that was restored from a backup.
#[derive(Clone, PartialEq, Eq, Serialize, Debug)]
pub struct PutBack {
    pub home: String,
    pub files: u64,
    pub bytes: u64,
    /// Time at which the backup was made.
    pub of: String,
    /// Folder with what the home had before, because its ledger was gone; null where there was nothing.
    pub aside: Option<String>,
}
