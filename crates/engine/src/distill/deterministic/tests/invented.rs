//! Finds text of a distillate that is not in the turns it names. Every test expects none.

use std::collections::HashMap;

use super::*;
use crate::distill::deterministic::open::WAITS;
use crate::distill::deterministic::stated::TAKEN_BACK;
use crate::distill::deterministic::{JOIN, REPLACES};
use crate::text::plain::{acts, lower};

/// Returns the parts of items that are in none of the turns they name. Items whose turns are missing cannot be checked.
pub fn invented(distillate: &Distillate, turns: &[Said]) -> Vec<String> {
    let by_turn: HashMap<TurnId, String> = turns.iter().map(|s| (s.id, spaced(&s.text))).collect();
    let mut found = Vec::new();
    let lists = distillate.lists();
    let items = lists.iter().flat_map(|(_, l)| l.iter()).map(|i| (&i.text, &i.turns));
    for (text, turns) in items.chain(distillate.proposals.iter().map(|p| (&p.text, &p.turns))) {
        let texts: Vec<&String> = turns.iter().filter_map(|t| by_turn.get(t)).collect();
        // Two kinds of text cannot be compared: redacted text contains a replacement, and state of the work is worded
        // by us.
        if texts.is_empty() || text.contains("[redacted:") || crate::distill::work_state::is_state(text) {
            continue;
        }
        let said = text.strip_prefix(WAITS).or_else(|| text.strip_prefix(TAKEN_BACK)).unwrap_or(text);
        for piece in said.split(JOIN).flat_map(|p| p.split(REPLACES)).flat_map(|p| p.split('…')) {
            let words = spaced(piece);
            if words.trim().is_empty() {
                continue;
            }
            // Cutting may leave half a word at the end.
            if !texts.iter().any(|t| t.contains(&words) || text.contains('…') && t.contains(words.trim_end())) {
                found.push(format!("{piece} ({text})"));
            }
        }
    }
    for file in &distillate.files {
        let name = spaced(file.path.rsplit('/').next().unwrap_or(&file.path));
        // The call of a commit does not name its files; the next turn, its result, does.
        if file.turns.iter().any(|t| by_turn.contains_key(t)) && !by_turn.values().any(|t| t.contains(&name)) {
            found.push(file.path.clone());
        }
    }
    found
}

/// Returns the words of a text in lower case, separated and surrounded by one blank each.
fn spaced(text: &str) -> String {
    // Characters that `plain` removes do not separate words.
    let kept = |c: &char| *c != '*' && (!acts(*c) || c.is_whitespace());
    let text: String = lower(text).chars().filter(kept).map(|c| if c.is_alphanumeric() { c } else { ' ' }).collect();
    format!(" {} ", text.split(' ').filter(|w| !w.is_empty()).collect::<Vec<_>>().join(" "))
}

#[test]
fn what_was_not_said_is_found_out() {
    let turns = session("U: Please fix the parser in src/a.rs\nA: I fixed the parser.");
    let item = |text: &str| Distillate {
        goal: vec![Item::new(text, turns[0].id)].into_iter().next(),
        ..Distillate::default()
    };
    assert_eq!(invented(&item("fix the parser"), &turns), Vec::<String>::new());
    assert_eq!(invented(&item("fix the printer"), &turns).len(), 1);
}
