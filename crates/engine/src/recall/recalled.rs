//! What recall hands on: items, best first, each with where it came from and why; and what it left out (R10.1, R10.2).

use std::fmt;

use crate::clock::Millis;

/// How far an item is from what somebody wrote down on purpose. Earlier stages go first.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum Stage {
    /// Memory, open loops, proposals: files.
    Structured,
    /// Summaries in the lineage.
    Lineage,
    /// The words themselves, where nothing above answers.
    Transcript,
}

impl Stage {
    pub fn name(self) -> &'static str {
        match self {
            Stage::Structured => "structured",
            Stage::Lineage => "lineage",
            Stage::Transcript => "transcript",
        }
    }
}

impl fmt::Display for Stage {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

/// One thing that was recalled.
#[derive(Clone, PartialEq, Debug)]
pub struct Item {
    /// What `heirloom expand` takes: `m:…`, `l:…`, `n7f3a`, `t9c11`.
    pub id: String,
    pub stage: Stage,
    /// `preference`, `fact`, `open loop`, `compaction`, `user`, …
    pub kind: String,
    /// Its words, on one line, without credentials.
    pub text: String,
    /// Of another thread that was named: its label.
    pub thread: Option<String>,
    /// When it was said, observed or written.
    pub at: Option<Millis>,
    /// 1.0 is the best of its recall.
    pub score: f64,
    /// What spoke for it, in words.
    pub reasons: Vec<String>,
    /// What whoever uses it should do first: `stale`, `check before use`, `reconfirm before use`, `unsure`.
    pub marks: Vec<String>,
}

/// One that was found and left out.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Dropped {
    pub id: String,
    pub why: String,
}

/// What a recall came to.
#[derive(Clone, Default, PartialEq, Debug)]
pub struct Recalled {
    pub items: Vec<Item>,
    pub dropped: Vec<Dropped>,
    /// Why it is less than it could be: an index that is behind, a search that was broken off.
    pub degraded: Vec<String>,
}
