//! The text that `import` and `up` print about a finished import: a summary line and its problems.

use std::collections::BTreeSet;

use heirloom_engine::error::Problem;
use heirloom_engine::report::import::Imported;

use crate::print::{bytes, count, counted, line, safe_line};

/// Maximum number of problems printed; the others are counted.
const SHOWN: usize = 12;

/// Prints the first problems, one line each.
fn problems(problems: &[Problem]) {
    for p in problems.iter().take(SHOWN) {
        line(&format!("  {}", safe_line(&p.to_string())));
    }
    if problems.len() > SHOWN {
        line(&format!("  … and {} more (heirloom doctor)", count((problems.len() - SHOWN) as u64)));
    }
}

/// Returns the summary line of an import.
pub fn summary(done: &Imported) -> String {
    let known = match done.turns.shared {
        0 => String::new(),
        n => format!(" · {} shared with the session they were copied from", count(n)),
    };
    let speed = if done.bytes > 1_000_000 && done.seconds > 0.0 {
        format!(" · {}/s", bytes((done.bytes as f64 / done.seconds) as u64))
    } else {
        String::new()
    };
    let private = match done.private {
        0 => String::new(),
        n => format!(" · {} left out", counted(n, "private span")),
    };
    format!(
        "{} read, {} unchanged · {} new{private} · {}{known}{speed}",
        counted(done.sources.read, "source"),
        count(done.sources.unchanged),
        counted(done.turns.new, "turn"),
        bytes(done.bytes),
    )
}

/// Prints the problems of an import.
pub fn incomplete(done: &Imported) {
    if done.problems.is_empty() {
        return;
    }
    let places: BTreeSet<&str> = done.problems.iter().map(|p| p.place.as_str()).collect();
    let verb = if places.len() == 1 { "was" } else { "were" };
    line(&format!("{} {verb} not read completely:", counted(places.len() as u64, "source")));
    problems(&done.problems);
    if done.set_aside > 0 {
        line("  Look at what was set aside: heirloom show --quarantine");
    }
}
