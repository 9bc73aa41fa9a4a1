//! The result of a recall: items, best first, each with its origin and the reasons; and what was left out (R10.1,
//! R10.2).

use schemars::JsonSchema;
use serde::Serialize;

use crate::clock::{Millis, as_rfc3339_or_null};
use crate::scope::named;

named! {
    /// How deliberately an item was written down. Items of earlier stages come first.
    pub enum Stage {
        /// Visible files: memory, open loops, proposals.
        Structured = "structured",
        /// Summaries in the lineage.
        Lineage = "lineage",
        /// Turns, used if no earlier stage answers.
        Transcript = "transcript",
    }
}

/// One recalled item.
#[derive(Clone, PartialEq, Serialize, JsonSchema, Debug)]
#[schemars(rename = "RecalledItem")]
pub struct Item {
    /// Id that `heirloom expand` takes: `m:…`, `l:…`, `n7f3a`, `t9c11`.
    pub id: String,
    pub stage: Stage,
    /// `preference`, `fact`, `open loop`, `compaction`, `user`, …
    pub kind: String,
    /// Its text on one line, credentials redacted.
    pub text: String,
    /// Label of its thread, if it is from another thread that was named.
    pub thread: Option<String>,
    /// Time at which it was said, observed or written.
    #[schemars(with = "Option<String>")]
    #[serde(serialize_with = "as_rfc3339_or_null")]
    pub at: Option<Millis>,
    /// 1.0 for the best item of its recall.
    pub score: f64,
    /// Why it was recalled, in words.
    pub reasons: Vec<String>,
    /// Cautions for its user: `stale`, `check before use`, `reconfirm before use`, `unsure`; `by MODEL` for
    /// a summary that a language model wrote.
    pub marks: Vec<String>,
}

/// An item that was found and left out.
#[derive(Clone, PartialEq, Eq, Serialize, JsonSchema, Debug)]
pub struct Dropped {
    pub id: String,
    pub why: String,
}

/// The result of a recall.
#[derive(Clone, Default, PartialEq, Debug)]
pub struct Recalled {
    pub items: Vec<Item>,
    pub dropped: Vec<Dropped>,
    /// Reasons why the result may be incomplete: an index that is behind, a search that was cut short.
    pub degraded: Vec<String>,
}
