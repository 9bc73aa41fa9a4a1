//! `heirloom-lab models`: measures the cost of a text's vector.
//!
//! The baseline is the time to copy one vector, so that runs on different machines compare.

use std::hint::black_box;
use std::path::PathBuf;
use std::time::Instant;

use heirloom_embed::StaticTable;
use heirloom_engine::error::Result;
use heirloom_engine::index::Embedder;
use heirloom_minilm::MiniLm;
use serde_json::{Value, json};

use crate::print;

const SENTENCE: &str = "We moved the session store to SQLite in WAL mode last week because two processes were writing, \
                        and the deploy to staging failed once on a locked database file.";

/// Returns the best of many short rounds, in microseconds per call, because other processes disturb some rounds.
fn best(rounds: usize, calls: usize, mut call: impl FnMut()) -> f64 {
    let mut round = || {
        let start = Instant::now();
        (0..calls).for_each(|_| call());
        start.elapsed().as_secs_f64() * 1e6 / calls as f64
    };
    (0..rounds).map(|_| round()).fold(f64::MAX, f64::min)
}

/// Measure the cost of a text's vector: with the table in the binary, and with a sentence model in a folder
///
/// Prints microseconds per call, the best of many short rounds, and for the table the ratio to copying one vector.
#[derive(clap::Args, Debug)]
pub struct Args {
    /// A folder with a sentence model of the MiniLM kind: config.json, model.safetensors and vocab.txt
    #[arg(long, value_name = "DIR")]
    model_folder: Option<PathBuf>,
}

/// Name of a measurement, and its microseconds.
type Line = (String, f64);

pub fn run(args: &Args, for_people: bool) -> Result<Value> {
    let (mut lines, anchor) = table()?;
    if let Some(folder) = &args.model_folder {
        lines.extend(sentence_model(folder)?);
    }
    if for_people {
        let rows: Vec<Vec<String>> = lines
            .iter()
            .map(|(what, us)| vec![what.clone(), format!("{us:.1} µs"), format!("{:.0} × the anchor", us / anchor)])
            .collect();
        print::out(&print::table(&rows));
    }
    let list: Vec<Value> =
        lines.iter().map(|(what, us)| json!({"what": what, "us": us, "times_copy": us / anchor})).collect();
    Ok(json!({"models": list, "copy_us": anchor}))
}

fn table() -> Result<(Vec<Line>, f64)> {
    let start = Instant::now();
    let table = StaticTable::built_in();
    black_box(table.embed(&["first"])?);
    let mut lines = vec![("opening the table and the first text".to_owned(), start.elapsed().as_secs_f64() * 1e6)];
    let vector = table.embed(&[SENTENCE])?.remove(0);
    let copy = best(200, 100, || drop(black_box(black_box(&vector).clone())));
    lines.push(("copying one vector (anchor)".to_owned(), copy));
    for (what, text) in [
        ("a text of 32 pieces", SENTENCE.to_owned()),
        ("a question of 9 pieces", "When did she go to the support group?".into()),
        ("prose up to the limit (16 KiB)", SENTENCE.repeat(200)),
        ("a word of a megabyte", "a".repeat(1 << 20)),
        ("a megabyte of accents", "e\u{301}".repeat(1 << 19)),
        ("unknown words up to the limit", "Ж漢 ".repeat(1 << 14)),
    ] {
        let cost =
            best(200, if text.len() > 1000 { 1 } else { 50 }, || drop(black_box(table.embed(&[black_box(&text)]))));
        lines.push((what.to_owned(), cost));
    }
    Ok((lines, copy))
}

fn sentence_model(folder: &std::path::Path) -> Result<Vec<Line>> {
    let start = Instant::now();
    let model = MiniLm::open(folder)?;
    let name = model.model().to_owned();
    let mut lines = vec![(format!("{name}: opening it"), start.elapsed().as_secs_f64() * 1e6)];
    for (what, text) in [("a text of 32 pieces", SENTENCE.to_owned()), ("prose, 256 pieces", SENTENCE.repeat(20))] {
        let cost = best(5, 1, || drop(black_box(model.embed(&[black_box(&text)]))));
        lines.push((format!("{name}: {what}"), cost));
    }
    Ok(lines)
}
