//! What an import did, said to people and to programs alike.

use heirloom_engine::capture::Totals;
use heirloom_engine::error::Problem;
use serde_json::{Value, json};

use crate::print::{bytes, count, counted, line, safe_line};

/// How many problems are printed before the rest is only counted.
const SHOWN: usize = 12;

/// `--json` of an import.
pub fn to_json(totals: &Totals, problems: &[Problem], seconds: f64) -> Value {
    json!({
        "sources": {"read": totals.sources_read, "unchanged": totals.sources_unchanged, "failed": totals.sources_failed,
                    "rewritten": totals.rewritten},
        "records": totals.records,
        "bytes": totals.bytes,
        "turns": {"new": totals.turns, "known": totals.witnesses, "shared": totals.references},
        "set_aside": totals.quarantined,
        "seconds": (seconds * 1000.0).round() / 1000.0,
        "problems": problems.iter().map(problem_json).collect::<Vec<_>>(),
    })
}

pub fn problem_json(p: &Problem) -> Value {
    json!({"place": p.place, "offset": p.offset, "line": p.line, "what": p.what})
}

/// One line per problem, the first dozen of them.
pub fn problems(problems: &[Problem]) {
    for p in problems.iter().take(SHOWN) {
        line(&format!("  {}", safe_line(&p.to_string())));
    }
    if problems.len() > SHOWN {
        line(&format!("  … and {} more (heirloom doctor)", count((problems.len() - SHOWN) as u64)));
    }
}

/// The last lines of an import.
pub fn summary(totals: &Totals, seconds: f64) -> String {
    let known = match totals.references {
        0 => String::new(),
        n => format!(" · {} shared with the session they were copied from", count(n)),
    };
    let speed = if totals.bytes > 1_000_000 && seconds > 0.0 {
        format!(" · {}/s", bytes((totals.bytes as f64 / seconds) as u64))
    } else {
        String::new()
    };
    format!(
        "{} read, {} unchanged · {} new · {}{known}{speed}",
        counted(totals.sources_read, "source"),
        count(totals.sources_unchanged),
        counted(totals.turns, "turn"),
        bytes(totals.bytes),
    )
}
