//! What of a distillate is not in the turns it names: it must be nothing.

use std::collections::HashMap;

use super::*;
use crate::distill::deterministic::{JOIN, acts, lower};

/// Parts of items that are in none of the turns they name. Items of turns that are not here cannot be judged.
pub fn invented(distillate: &Distillate, turns: &[Said]) -> Vec<String> {
    let by_turn: HashMap<TurnId, String> = turns.iter().map(|s| (s.id, spaced(&s.text))).collect();
    let mut found = Vec::new();
    let lists = distillate.lists();
    let items = lists.iter().flat_map(|(_, l)| l.iter()).map(|i| (&i.text, &i.turns));
    for (text, turns) in items.chain(distillate.proposals.iter().map(|p| (&p.text, &p.turns))) {
        let texts: Vec<&String> = turns.iter().filter_map(|t| by_turn.get(t)).collect();
        // A redacted piece begins with what was put there.
        if texts.is_empty() || text.contains("[redacted:") {
            continue;
        }
        for piece in text.split(JOIN).flat_map(|p| p.split('…')) {
            let words = spaced(piece);
            if words.trim().is_empty() {
                continue;
            }
            // A cut may have left half a word at the end.
            if !texts.iter().any(|t| t.contains(&words) || text.contains('…') && t.contains(words.trim_end())) {
                found.push(format!("{piece} ({text})"));
            }
        }
    }
    for file in &distillate.files {
        let name = spaced(file.path.rsplit('/').next().unwrap_or(&file.path));
        // A file a commit made is named in the commit's result, the turn behind the call.
        if file.turns.iter().any(|t| by_turn.contains_key(t)) && !by_turn.values().any(|t| t.contains(&name)) {
            found.push(file.path.clone());
        }
    }
    found
}

/// Lower-case words with one blank between and around them.
fn spaced(text: &str) -> String {
    // What `plain` takes out parts no words.
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
