//! Reports of the state of a memory (size, pending work, problems), and the overview that is shown first.

use std::path::PathBuf;

use schemars::JsonSchema;
use serde::Serialize;

use super::model::LanguageModelReport;
use super::upkeep::BackupsSeen;
use super::visible::VisibleReport;
use crate::clock::Millis;
use crate::ledger::job_queue;
use crate::render::memory::Tier1Line;
use crate::transcript::read::Totals;
use crate::verify::anchor::Anchor;

/// The state of an agent's memory.
#[derive(Clone, PartialEq, Serialize, JsonSchema, Debug)]
pub struct StatusReport {
    pub home: String,
    pub agent: String,
    #[serde(flatten)]
    pub stored: Totals,
    pub records: u64,
    pub ledger_bytes: u64,
    pub index_bytes: u64,
    pub programs: Vec<ProgramShare>,
    /// Number of records that could not be decoded; their bytes are kept.
    pub set_aside: u64,
    pub embeddings: ModelReport,
    /// The language model; null if the settings name none.
    pub language_model: Option<LanguageModelReport>,
    /// Number of turns that are not in the search index yet; null if the index does not fit the ledger.
    pub not_indexed: Option<u64>,
    /// Number of changed files that are not in the search index yet; null if the index does not fit the files.
    pub files_not_indexed: Option<u64>,
    pub jobs: job_queue::Counts,
    /// The last backup, and whether one failed since.
    pub backup: BackupsSeen,
    /// The last row of the audit chain; null if nothing was written yet.
    pub audit: Option<Anchor>,
    /// The visible files; null if there are none yet or they cannot be reached.
    pub assistant: Option<VisibleReport>,
    /// Problems, each with what to do about it.
    pub wrong: Vec<String>,
}

/// Sessions and turns of one outside program.
#[derive(Clone, PartialEq, Eq, Serialize, JsonSchema, Debug)]
pub struct ProgramShare {
    /// Display name of the program.
    pub program: String,
    pub sessions: u64,
    pub turns: u64,
}

/// The embedding model, which makes vectors of texts.
#[derive(Clone, PartialEq, Eq, Serialize, JsonSchema, Debug)]
pub struct ModelReport {
    /// Name of the model; null if only words are searched.
    pub model: Option<String>,
    /// Where the model runs, such as `built in`.
    pub at: String,
    /// Why the model that the settings name cannot be loaded.
    pub problem: Option<String>,
    /// Model whose vectors are searched now; null if there are no vectors.
    pub in_use: Option<String>,
    /// Progress of the model that the settings name, while vectors of an older model are still in use.
    pub renewing: Option<Renewing>,
}

/// Number of turns that a new model has embedded, and of turns in all.
#[derive(Clone, Copy, PartialEq, Eq, Serialize, JsonSchema, Debug)]
pub struct Renewing {
    pub turns: u64,
    pub of_turns: u64,
    /// Whether the model did not answer and will be asked again later.
    #[serde(skip)]
    pub rests: bool,
}

/// The overview that is shown first: sessions worked in last, and current work.
#[derive(Clone, PartialEq, Serialize, JsonSchema, Debug)]
pub struct Overview {
    pub home: String,
    pub threads: u64,
    /// Current work, as MEMORY.md shows it.
    pub now: Vec<NowLine>,
    pub stored: Totals,
    /// Newest session of each project that was worked in last.
    #[serde(skip)]
    pub lately: Vec<Lately>,
    /// Display names of the programs that the sessions come from.
    #[serde(skip)]
    pub programs: Vec<String>,
    /// Other agents with stored sessions.
    #[serde(skip)]
    pub others: Vec<String>,
    /// Folder of the visible files; `None` if it cannot be reached.
    #[serde(skip)]
    pub pages: Option<PathBuf>,
}

/// A line about current work.
#[derive(Clone, PartialEq, Eq, Serialize, JsonSchema, Debug)]
pub struct NowLine {
    pub text: String,
    /// Reference that the line leads to.
    pub reference: Option<String>,
    /// Number of open items in that work.
    pub open: usize,
}

impl From<Tier1Line> for NowLine {
    fn from(line: Tier1Line) -> NowLine {
        NowLine { text: line.text, reference: line.reference, open: line.open }
    }
}

/// A session that was worked in lately.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Lately {
    pub project: Option<String>,
    /// The last user turn in the session, or its title; without credentials.
    pub words: String,
    pub at: Option<Millis>,
    /// Display name of the program.
    pub program: String,
}
