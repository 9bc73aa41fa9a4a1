use std::fmt::Write;

use super::*;
pub use crate::distill::labelled::session;

mod corpus;
mod invented;
mod look;
mod properties;
mod rendered;

/// Prints one line for each item: the list and its text.
pub fn show(distillate: &Distillate) -> String {
    let mut out = String::new();
    for (name, items) in distillate.lists() {
        for item in items {
            let turns: Vec<String> = item.turns.iter().map(ToString::to_string).collect();
            let _ = writeln!(out, "{name}: {} [{}]", item.text, turns.join(" "));
        }
    }
    for file in &distillate.files {
        let _ = writeln!(out, "file: {} {:?}", file.path, file.touch);
    }
    for p in &distillate.proposals {
        let _ = writeln!(out, "proposal: {} ({})", p.text, p.class);
    }
    out
}
