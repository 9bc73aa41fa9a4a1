//! `heirloom-lab recall`: measures how much of the evidence for a question is found (recall, never answer accuracy).
//!
//! There are three sets: LoCoMo's questions over its conversations, scored as its peers are; our own questions over
//! sessions of programs, also measured by what a context of 2,000 tokens contains; and questions over labelled sessions
//! of many authors, to which the ranking weights of programs' sessions are fitted. All sets go through the product's
//! import and search, in a temporary home.

mod labelled;
mod locomo;
mod measures;
mod published;
mod questions;

use std::path::{Path, PathBuf};
use std::sync::Arc;

use heirloom_embed::StaticTable;
use heirloom_engine::error::{Error, Result};
use heirloom_engine::index::{Embedder, Index};
use heirloom_engine::recall::{Filter, Hit, Legs};
use heirloom_minilm::MiniLm;
use serde_json::Value;

use crate::home::LabHome;

/// Number of turns ranked for a question. Sessions are ranked by folding this list, so it must reach well beyond the
/// best twenty.
const DEEP: usize = 100;

/// Measure how much of the evidence for a question is found: LoCoMo's questions, or questions over real sessions
///
/// This is retrieval recall, not answer accuracy: no model reads or answers anything. Everything is imported into a
/// temporary home and asked through the product's search.
#[derive(clap::Args, Debug)]
pub struct Args {
    /// Ask LoCoMo's questions from its file locomo10.json, which is not part of Heirloom
    #[arg(long, value_name = "FILE", conflicts_with = "questions")]
    locomo: Option<PathBuf>,

    /// Only these conversations, by their place in the file, counted from 0
    #[arg(long, value_name = "N,…", value_delimiter = ',', requires = "locomo")]
    conversations: Vec<usize>,

    /// Write the ranking for each question, one JSON object per line
    #[arg(long, value_name = "FILE")]
    ranked: Option<PathBuf>,

    /// Ask the questions of this file, one JSON object per line
    #[arg(long, value_name = "FILE", requires = "sources")]
    questions: Option<PathBuf>,

    /// Ask the questions over the labelled sessions of this folder; with --questions, also those of that file
    #[arg(long, value_name = "DIR", requires = "sources", conflicts_with = "locomo")]
    labelled: Option<PathBuf>,

    /// Vary the weights of programs' sessions one by one, and fit them with authors held out
    #[arg(long, requires = "labelled")]
    fit: bool,

    /// A folder with the sessions that contain the answers; may be given more than once
    #[arg(long, value_name = "DIR")]
    sources: Vec<PathBuf>,

    /// Source of the ranking
    #[arg(long, value_name = "LEG", value_enum, default_value_t = Leg::Fused)]
    leg: Leg,

    /// Make the vectors with the sentence model of the MiniLM kind in this folder, instead of the table in the binary
    #[arg(long, value_name = "DIR")]
    model_folder: Option<PathBuf>,
}

impl Args {
    fn embedder(&self) -> Result<Arc<dyn Embedder>> {
        Ok(match &self.model_folder {
            None => Arc::new(StaticTable::built_in()),
            Some(folder) => Arc::new(MiniLm::open(folder)?),
        })
    }
}

/// Source of the ranking.
#[derive(Clone, Copy, PartialEq, Eq, Debug, clap::ValueEnum)]
enum Leg {
    /// The full-text index only
    Words,
    /// The vectors only
    Vectors,
    /// Both, as in a search
    Fused,
}

impl Leg {
    fn name(self) -> &'static str {
        match self {
            Leg::Words => "words",
            Leg::Vectors => "vectors",
            Leg::Fused => "fused",
        }
    }

    fn legs(self) -> Legs {
        match self {
            Leg::Words => Legs::Words,
            Leg::Vectors => Legs::Vectors,
            Leg::Fused => Legs::Fused,
        }
    }

    /// Returns the turns for a question, best first, at most [`DEEP`]; none for a question without searchable words.
    fn turns(self, home: &LabHome, index: &mut Index, question: &str) -> Result<Vec<Hit>> {
        home.ask(index, question, &Filter { limit: DEEP, legs: self.legs(), ..Filter::default() })
    }
}

pub fn run(args: &Args, folder: &Path, for_people: bool) -> Result<Value> {
    match (&args.locomo, &args.labelled, &args.questions) {
        (Some(file), ..) => locomo::run(args, folder, file, for_people),
        (None, Some(labelled), _) => labelled::run(args, folder, labelled, for_people),
        (None, None, Some(file)) => questions::run(args, folder, file, for_people),
        (None, None, None) => Err(Error::usage("ask which questions?")
            .hint("--locomo FILE, --questions FILE --sources DIR, or --labelled DIR --sources DIR")),
    }
}

/// Returns the median of some times in milliseconds.
fn median(mut times: Vec<f64>) -> f64 {
    times.sort_by(f64::total_cmp);
    times.get(times.len() / 2).copied().unwrap_or(0.0)
}

/// Rounds to one decimal.
fn tenth(value: f64) -> f64 {
    (value * 10.0).round() / 10.0
}

/// Writes one JSON line for each value into a file.
fn write_lines(path: &Path, lines: &[Value]) -> Result<()> {
    let text: String = lines.iter().map(|l| format!("{l}\n")).collect();
    std::fs::write(path, text).map_err(|e| Error::io("write", path, e))
}
