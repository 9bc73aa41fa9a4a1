//! `heirloom bench recall`: how much of what answers a question is found (recall, never answer accuracy).
//!
//! Two sets: LoCoMo's questions over its conversations, scored as its peers are, and our own questions over sessions of
//! programs, with what stands in a context of 2,000 tokens beside. Both go through the import and the search people use,
//! in a throw-away home.

mod locomo;
mod measures;
mod published;
mod questions;

use std::path::{Path, PathBuf};

use heirloom_engine::error::{Error, ErrorKind, Result};
use heirloom_engine::index::Index;
use heirloom_engine::recall::{self, Filter, Hit, Legs};
use indicatif::{ProgressBar, ProgressStyle};
use serde_json::Value;

use crate::context::{Context, Global};
use crate::print;

/// Turns that are ranked for a question. Sessions are ranked by folding this list, so it must reach well beyond the best
/// twenty.
const DEEP: usize = 100;

#[derive(clap::Args, Debug)]
pub(super) struct Args {
    /// Ask LoCoMo's questions: its locomo10.json, which is not part of Heirloom
    #[arg(long, value_name = "FILE", conflicts_with = "questions")]
    locomo: Option<PathBuf>,

    /// Only these of its conversations, by their place in the file, counted from 0
    #[arg(long, value_name = "N,…", value_delimiter = ',', requires = "locomo")]
    conversations: Vec<usize>,

    /// Write what was ranked for each question, one JSON object per line
    #[arg(long, value_name = "FILE")]
    ranked: Option<PathBuf>,

    /// Ask the questions of this file, one JSON object per line
    #[arg(long, value_name = "FILE", requires = "sources")]
    questions: Option<PathBuf>,

    /// A folder with the sessions that answer them; may be given more than once
    #[arg(long, value_name = "DIR", requires = "questions")]
    sources: Vec<PathBuf>,

    /// What ranks
    #[arg(long, value_name = "LEG", value_enum, default_value_t = Leg::Fused)]
    leg: Leg,
}

/// What ranks the turns.
#[derive(Clone, Copy, PartialEq, Eq, Debug, clap::ValueEnum)]
pub(super) enum Leg {
    /// The full-text index
    Words,
    /// The vectors
    Vectors,
    /// Both, as a search does
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

    /// The turns for a question, best first, at most [`DEEP`]. A question in which nothing can be looked for has none.
    fn turns(self, context: &Context, index: &mut Index, question: &str) -> Result<Vec<Hit>> {
        let legs = match self {
            Leg::Words => Legs::Words,
            Leg::Vectors => Legs::Vectors,
            Leg::Fused => Legs::Fused,
        };
        let filter = Filter { limit: DEEP, legs, ..Filter::default() };
        let query = recall::understand(&context.ledger, context.agent(), question, &print::machine_zone())?;
        let found = recall::search(&context.ledger, index, context.agent(), &query, &filter);
        match found {
            Ok(found) => Ok(found.hits),
            Err(e) if e.kind() == ErrorKind::Usage => Ok(Vec::new()),
            Err(e) => Err(e),
        }
    }
}

pub(super) fn run(global: &Global, folder: &Path, args: &Args) -> Result<Value> {
    match (&args.locomo, &args.questions) {
        (Some(file), _) => locomo::run(global, folder, file, args),
        (None, Some(file)) => questions::run(global, folder, file, args),
        (None, None) => {
            Err(Error::usage("ask which questions?").hint("--locomo FILE, or --questions FILE --sources DIR"))
        }
    }
}

/// A bar that counts, on a terminal and for people only.
fn bar(total: usize, what: &'static str, global: &Global) -> ProgressBar {
    let bar = print::bar(total as u64, what, global.json);
    bar.set_style(
        ProgressStyle::with_template("{prefix:9}  {bar:32.cyan/dim}  {human_pos}/{human_len}  {msg}")
            .unwrap_or_else(|_| ProgressStyle::default_bar()),
    );
    bar
}

/// The median of some milliseconds.
fn median(mut times: Vec<f64>) -> f64 {
    times.sort_by(f64::total_cmp);
    times.get(times.len() / 2).copied().unwrap_or(0.0)
}

/// One decimal.
fn tenth(value: f64) -> f64 {
    (value * 10.0).round() / 10.0
}

/// Writes the lines of a file that was asked for.
fn write_lines(path: &Path, lines: &[Value]) -> Result<()> {
    let text: String = lines.iter().map(|l| format!("{l}\n")).collect();
    std::fs::write(path, text).map_err(|e| Error::io("write", path, e))
}
