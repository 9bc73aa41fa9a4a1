//! What is stored, how big, what is pending, what is wrong; and what there is to see of it first.

use std::path::PathBuf;

use schemars::JsonSchema;
use serde::Serialize;

use super::model::LanguageModelReport;
use super::upkeep::BackupsSeen;
use super::visible::VisibleReport;
use crate::clock::Millis;
use crate::ledger::jobs;
use crate::render::memory::Tier1Line;
use crate::transcript::read::Totals;

/// The state of a memory.
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
    /// Records that could not be decoded; their bytes are kept.
    pub set_aside: u64,
    pub embeddings: ModelReport,
    /// The language model; null where the settings name none.
    pub language_model: Option<LanguageModelReport>,
    /// Turns that are not in the search index yet. Null where the index does not fit the ledger.
    pub not_indexed: Option<u64>,
    /// Changed files that are not in the search index yet. Null where it does not fit the files.
    pub files_not_indexed: Option<u64>,
    pub jobs: jobs::Counts,
    /// The last backup, and whether one failed since.
    pub backup: BackupsSeen,
    /// The visible files; null where there are none yet, or where they are out of reach.
    pub assistant: Option<VisibleReport>,
    /// What is wrong, each with what to do about it.
    pub wrong: Vec<String>,
}

/// How much of it is of one program.
#[derive(Clone, PartialEq, Eq, Serialize, JsonSchema, Debug)]
pub struct ProgramShare {
    /// Its name for people.
    pub program: String,
    pub sessions: u64,
    pub turns: u64,
}

/// The model that places texts in space.
#[derive(Clone, PartialEq, Eq, Serialize, JsonSchema, Debug)]
pub struct ModelReport {
    /// Null: words alone are searched.
    pub model: Option<String>,
    /// Where it is: `built in`.
    pub at: String,
    /// Why the one that is wanted cannot be had.
    pub problem: Option<String>,
    /// The model whose vectors answer now; null where there are none.
    pub in_use: Option<String>,
    /// How far the wanted model has come, while an older one's vectors answer.
    pub renewing: Option<Renewing>,
}

/// How many turns a new model has gone through, of how many.
#[derive(Clone, Copy, PartialEq, Eq, Serialize, JsonSchema, Debug)]
pub struct Renewing {
    pub turns: u64,
    pub of_turns: u64,
    /// The model did not answer and is asked again later.
    #[serde(skip)]
    pub rests: bool,
}

/// What is there to see first: what was worked on, and what is being worked on now.
#[derive(Clone, PartialEq, Serialize, JsonSchema, Debug)]
pub struct Overview {
    pub home: String,
    pub threads: u64,
    /// What is being worked on, as MEMORY.md says it.
    pub now: Vec<NowLine>,
    pub stored: Totals,
    /// The sessions last worked in, one for each project.
    #[serde(skip)]
    pub lately: Vec<Lately>,
    /// People's names of the programs they are of.
    #[serde(skip)]
    pub programs: Vec<String>,
    /// Other agents for whom something is stored.
    #[serde(skip)]
    pub others: Vec<String>,
    /// The folder of the visible files. `None`: out of reach.
    #[serde(skip)]
    pub pages: Option<PathBuf>,
}

/// A line of what is being worked on.
#[derive(Clone, PartialEq, Eq, Serialize, JsonSchema, Debug)]
pub struct NowLine {
    pub text: String,
    /// Where it leads to.
    pub reference: Option<String>,
    /// How many items are open in it.
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
    /// What a person last said in it, or its title; without credentials.
    pub words: String,
    pub at: Option<Millis>,
    /// People's name of its program.
    pub program: String,
}
