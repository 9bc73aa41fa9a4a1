//! A distillate in a sentence or two, for people and for the line of a page (R6.3).

use crate::lineage::distillate::Distillate;
use crate::tokens::cut;

/// Goal, where it stands, what was decided: plain text on one line, at most `budget_tokens` long.
pub fn summarise(d: &Distillate, budget_tokens: usize) -> String {
    let mut sentences: Vec<String> = Vec::new();
    sentences.extend(d.goal.as_ref().map(|goal| sentence(&goal.text)));
    let state = [("Blocked", &d.blocked), ("In progress", &d.in_progress), ("Done", &d.done), ("Open", &d.open_loops)];
    if let Some((word, newest)) = state.iter().find_map(|(word, items)| Some((word, items.last()?))) {
        sentences.push(format!("{word}: {}", sentence(&newest.text)));
    }
    sentences.extend(d.decisions.last().map(|decided| format!("Decided: {}", sentence(&decided.text))));
    if sentences.is_empty() {
        sentences.extend(
            d.next_steps
                .first()
                .or_else(|| d.constraints.last())
                .or_else(|| d.context.last())
                .map(|i| sentence(&i.text)),
        );
    }
    if sentences.is_empty() && !d.files.is_empty() {
        let paths: Vec<&str> = d.files.iter().rev().take(3).map(|f| f.path.as_str()).collect();
        sentences.push(format!("Files: {}.", paths.join(", ")));
    }
    cut(&sentences.join(" "), budget_tokens)
}

/// Ends as a sentence does.
fn sentence(text: &str) -> String {
    let text = text.trim();
    match text.chars().last() {
        Some('.' | '!' | '?' | '…' | '。' | '！' | '？' | ':') | None => text.to_owned(),
        _ => format!("{text}."),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::lineage::distillate::Item;
    use crate::scope::TurnId;
    use crate::tokens::tokens;

    #[test]
    fn what_matters_stands_first_and_the_budget_holds() {
        let item = |text: &str| Item::new(text, TurnId(1));
        let d = Distillate {
            goal: Some(item("Move orders to the new schema")),
            done: vec![item("schema 0042"), item("backfill script written.")],
            decisions: vec![item("no Redis")],
            ..Distillate::default()
        };
        assert_eq!(
            summarise(&d, 100),
            "Move orders to the new schema. Done: backfill script written. Decided: no Redis."
        );
        for budget in 0..30 {
            assert!(tokens(&summarise(&d, budget)) <= budget);
        }
        assert_eq!(summarise(&Distillate::default(), 100), "");
    }
}
