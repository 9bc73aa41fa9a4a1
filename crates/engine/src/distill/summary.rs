//! A distillate in a few lines: the summary of a node. Pure.

use crate::lineage::distillate::Distillate;
use crate::tokens::{cut, tokens};

/// What a stretch of conversation was about, what was done and what was decided, as one paragraph of at most `budget`
/// tokens. Empty where nothing was distilled.
pub fn summarise(d: &Distillate, budget: usize) -> String {
    let mut out = String::new();
    let mut say = |said: &str| {
        let said = said.trim();
        if said.is_empty() {
            return;
        }
        if !out.is_empty() {
            out.push(' ');
        }
        out.push_str(said);
        if !said.ends_with(['.', '!', '?', '…', '。']) {
            out.push('.');
        }
    };
    d.goal.iter().for_each(|i| say(&i.text));
    for list in [&d.done, &d.decisions, &d.blocked, &d.in_progress] {
        list.iter().for_each(|i| say(&i.text));
    }
    // The end is the newest; where there is not room for all, the goal and what comes last stay.
    if tokens(&out) > budget
        && let Some(goal) = &d.goal
        && let Some(last) = d.done.last().or(d.decisions.last())
    {
        let short = format!("{} … {}", goal.text.trim(), last.text.trim());
        if tokens(&short) <= budget {
            return short;
        }
    }
    cut(&out, budget)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::lineage::distillate::Item;
    use crate::scope::TurnId;

    #[test]
    fn a_summary_fits_its_budget_and_begins_with_the_goal() {
        let item = |text: &str| Item::new(text, TurnId(1));
        let d = Distillate {
            goal: Some(item("Move the orders")),
            done: vec![item("wrote the migration."), item("ran it on staging")],
            decisions: vec![item("We drop Redis")],
            ..Distillate::default()
        };
        assert_eq!(summarise(&d, 100), "Move the orders. wrote the migration. ran it on staging. We drop Redis.");
        for budget in 0..20 {
            assert!(tokens(&summarise(&d, budget)) <= budget, "{budget}");
        }
        assert_eq!(summarise(&d, 12), "Move the orders … ran it on staging");
        assert_eq!(summarise(&Distillate::default(), 10), "");
    }
}
