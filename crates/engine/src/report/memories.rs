//! What is remembered, as reports name it.

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

/// Whether a memory is still good.
#[derive(Clone, PartialEq, Eq, Serialize, JsonSchema, Debug)]
pub struct AgeReport {
    /// It should be looked at again.
    pub stale: bool,
    pub verification: &'static str,
    /// The policy it grows old by.
    pub staleness: &'static str,
    /// `None`: it does not grow old.
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

/// A memory: its row of the file table, and what its class makes of its age.
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
    /// How many there are, those that were not asked for included.
    pub all: usize,
    /// What is wrong with visible files.
    #[serde(skip)]
    pub problems: Vec<Problem>,
}

/// Memories after they were changed.
#[derive(Clone, PartialEq, Serialize, JsonSchema, Debug)]
pub struct ChangedMemories {
    pub items: Vec<MemoryReport>,
}

impl ChangedMemories {
    /// `entries` as they are by now; those that are gone, as they were.
    pub fn of(at: &AssistantHome, entries: &[Entry]) -> ChangedMemories {
        let now = at.ledger.now();
        let again = |entry: &Entry| at.read(|tx| find::named(tx, at.agent_no, entry.path.as_str(), None));
        let items = entries.iter().map(|e| MemoryReport::of(again(e).unwrap_or_else(|_| e.clone()), now));
        ChangedMemories { items: items.collect() }
    }
}

/// What remembering came to.
#[derive(Clone, PartialEq, Eq, Serialize, JsonSchema, Debug)]
pub struct RememberedReport {
    pub items: Vec<Added>,
}

/// Memories that were forgotten.
#[derive(Clone, PartialEq, Eq, Serialize, JsonSchema, Debug)]
pub struct ForgottenMemories {
    /// Their ids.
    pub forgotten: Vec<Option<String>>,
    /// How many archived proposals that said the same went with them.
    pub with: usize,
}

/// A memory that was found.
#[derive(Clone, PartialEq, Serialize, JsonSchema, Debug)]
pub struct MemoryHit {
    #[serde(flatten)]
    pub memory: MemoryReport,
    pub score: f64,
    /// The line that answers, counted from 1.
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

/// Memories with words of a query, best first.
#[derive(Clone, Serialize, JsonSchema, Debug)]
pub struct MemorySearchReport {
    pub query: String,
    /// What was looked for, of the query.
    pub looked_for: String,
    pub understood: Understood,
    pub hits: Vec<MemoryHit>,
    /// Words left out because they stand nearly everywhere.
    pub too_frequent: Vec<String>,
    /// Changed files that are not in the index yet.
    pub files_not_indexed: u64,
}
