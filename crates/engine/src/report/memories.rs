//! Memories in reports.

use schemars::JsonSchema;
use serde::Serialize;

use super::hits::{WhyFile, plain};
use super::items::EntryReport;
use super::round;
use super::understood::Understood;
use crate::clock::{Millis, rfc3339};
use crate::error::Problem;
use crate::memory::staleness::{Staleness, staleness};
use crate::memory::{Added, find};
use crate::recall::FileHit;
use crate::tree::AssistantHome;
use crate::tree::file_table::Entry;

/// Whether a memory is still fresh.
#[derive(Clone, PartialEq, Eq, Serialize, JsonSchema, Debug)]
pub struct AgeReport {
    /// Whether somebody should verify the memory again.
    pub stale: bool,
    pub verification: &'static str,
    /// Policy by which the memory becomes stale.
    pub staleness: &'static str,
    /// Time from which the memory is stale; `None` if it never becomes stale.
    pub fresh_until: Option<String>,
}

impl From<&Staleness> for AgeReport {
    fn from(age: &Staleness) -> AgeReport {
        AgeReport {
            stale: age.stale,
            verification: age.verification.name(),
            staleness: age.policy.name(),
            fresh_until: age.after.map(|after| rfc3339(age.since.saturating_add(after))),
        }
    }
}

/// A memory: its row of the file table, and its age by the rules of its class.
#[derive(Clone, PartialEq, Serialize, JsonSchema, Debug)]
pub struct MemoryReport {
    #[serde(flatten)]
    pub file: EntryReport,
    #[serde(flatten)]
    pub age: AgeReport,
}

impl MemoryReport {
    pub fn of(entry: Entry, now: Millis) -> MemoryReport {
        MemoryReport { age: AgeReport::from(&staleness(&entry, now)), file: EntryReport::of(entry) }
    }
}

/// Memories, pinned first, then newest first.
#[derive(Clone, PartialEq, Serialize, JsonSchema, Default, Debug)]
pub struct MemoriesReport {
    pub memories: Vec<MemoryReport>,
    /// Number of all memories, including those the filter or limit left out.
    pub all: usize,
    /// Problems found in visible files.
    #[serde(skip)]
    pub problems: Vec<Problem>,
}

/// Memories after they were changed.
#[derive(Clone, PartialEq, Serialize, JsonSchema, Debug)]
pub struct ChangedMemories {
    pub items: Vec<MemoryReport>,
}

impl ChangedMemories {
    /// Reads `entries` again. A memory that is gone by now is reported as it was.
    pub fn of(at: &AssistantHome, entries: &[Entry]) -> ChangedMemories {
        let now = at.ledger.now();
        let again = |entry: &Entry| at.read(|tx| find::named(tx, at.agent_no, entry.path.as_str(), None));
        let items = entries.iter().map(|e| MemoryReport::of(again(e).unwrap_or_else(|_| e.clone()), now));
        ChangedMemories { items: items.collect() }
    }
}

/// Memories that `remember` added.
#[derive(Clone, PartialEq, Eq, Serialize, JsonSchema, Debug)]
pub struct RememberedReport {
    pub items: Vec<Added>,
}

/// Memories that were forgotten.
#[derive(Clone, PartialEq, Eq, Serialize, JsonSchema, Debug)]
pub struct ForgottenMemories {
    /// Ids of the forgotten memories.
    pub forgotten: Vec<Option<String>>,
    /// Number of archived proposals with the same words that were forgotten too.
    pub with: usize,
}

/// A memory that was found.
#[derive(Clone, PartialEq, Serialize, JsonSchema, Debug)]
pub struct MemoryHit {
    #[serde(flatten)]
    pub memory: MemoryReport,
    pub score: f64,
    /// Line that matches best, counted from 1.
    pub line: usize,
    pub snippet: String,
    pub why: WhyFile,
    /// The snippet with marks around its matches.
    #[serde(skip)]
    pub passage: String,
}

impl MemoryHit {
    pub fn of(hit: FileHit, now: Millis) -> MemoryHit {
        MemoryHit {
            score: round(hit.score),
            line: hit.line,
            snippet: plain(&hit.passage),
            why: WhyFile { matched: hit.matched, of: hit.of },
            passage: hit.passage,
            memory: MemoryReport::of(hit.entry, now),
        }
    }
}

/// Memories that match a query, best first.
#[derive(Clone, Serialize, JsonSchema, Debug)]
pub struct MemorySearchReport {
    pub query: String,
    /// Words of the query that were looked up.
    pub looked_for: String,
    pub understood: Understood,
    pub hits: Vec<MemoryHit>,
    /// Words that were left out because nearly every file has them.
    pub too_frequent: Vec<String>,
    /// Number of changed files that are not in the index yet.
    pub files_not_indexed: u64,
}
