//! What a text costs: `cargo bench -p heirloom-embed` (SPEC §15). With `--features minilm` and `HEIRLOOM_MINILM` naming a
//! folder, a sentence model, too.
//!
//! The anchor is what copying one vector takes, so that runs on different machines compare.

use std::hint::black_box;
use std::time::Instant;

use heirloom_embed::StaticTable;
use heirloom_engine::index::Embedder;

const SENTENCE: &str = "We moved the session store to SQLite in WAL mode last week because two processes were writing, \
                        and the deploy to staging failed once on a locked database file.";

/// The best of many short rounds, in microseconds for one call: the machine is never alone.
fn best(rounds: usize, calls: usize, mut call: impl FnMut()) -> f64 {
    let mut round = || {
        let start = Instant::now();
        (0..calls).for_each(|_| call());
        start.elapsed().as_secs_f64() * 1e6 / calls as f64
    };
    (0..rounds).map(|_| round()).fold(f64::MAX, f64::min)
}

fn main() {
    table();
    #[cfg(feature = "minilm")]
    sentence_model();
}

fn table() {
    let start = Instant::now();
    let table = StaticTable::built_in();
    black_box(table.embed(&["first"]).unwrap());
    println!("opening the table and the first text  {:8.1} µs", start.elapsed().as_secs_f64() * 1e6);
    let vector = table.embed(&[SENTENCE]).unwrap().remove(0);
    let copy = best(200, 100, || drop(black_box(black_box(&vector).clone())));
    println!("copying one vector (anchor)           {copy:8.3} µs");
    for (what, text) in [
        ("a text of 32 pieces", SENTENCE.to_owned()),
        ("a question of 9 pieces", "When did she go to the support group?".into()),
        ("prose up to the limit (16 KiB)", SENTENCE.repeat(200)),
        ("a word of a megabyte", "a".repeat(1 << 20)),
        ("a megabyte of accents", "e\u{301}".repeat(1 << 19)),
        ("unknown words up to the limit", "Ж漢 ".repeat(1 << 14)),
    ] {
        let cost = best(200, if text.len() > 1000 { 1 } else { 50 }, || {
            black_box(table.embed(&[black_box(&text)]).unwrap());
        });
        println!("{what:37} {cost:8.1} µs, {:6.0} × the anchor", cost / copy);
    }
}

#[cfg(feature = "minilm")]
fn sentence_model() {
    let Some(folder) = std::env::var_os("HEIRLOOM_MINILM") else {
        return println!("no sentence model: HEIRLOOM_MINILM names no folder");
    };
    let start = Instant::now();
    let model = heirloom_embed::MiniLm::open(folder.as_ref()).unwrap();
    println!("opening {:29} {:8.0} µs", model.model(), start.elapsed().as_secs_f64() * 1e6);
    for (what, text) in [("a text of 32 pieces", SENTENCE.to_owned()), ("prose, 256 pieces", SENTENCE.repeat(20))] {
        let cost = best(5, 1, || drop(black_box(model.embed(&[black_box(&text)]).unwrap())));
        println!("{what:37} {cost:8.0} µs");
    }
}
