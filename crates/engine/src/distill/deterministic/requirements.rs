//! Collects what the task in hand requires: rules and acceptance criteria in its ticket, or in a document the person
//! named. They bind the work but are not words of the user (R14.3), so they have a list of their own.

use super::exchange::Exchange;
use super::list::{JOIN, line};
use super::prompt::{Purpose, weight};
use crate::distill::work_state::{Status, TaskText, Work};
use crate::lineage::distillate::{Distillate, Item};
use crate::statement::{self, Label, Speaker, Statement};
use crate::text::headings::{Topic, topic};

/// Maximum number of requirements in a handoff.
const MOST: usize = 10;

/// Maximum number of requirements taken from a document; one with more is a guide for every task.
const MOST_OF_DOCUMENT: usize = 6;

/// Returns the requirements of the tickets and documents in hand, the newest task's last. Requirements carried over
/// stay while their task is open.
pub fn requirements(before: &Distillate, work: &Work, exchanges: &[Exchange]) -> Vec<Item> {
    let over = |task: &str| work.tickets.iter().any(|t| t.id == task && t.status == Status::Done);
    let mut found: Vec<Item> = Vec::new();
    for item in &before.requirements {
        let task = item.text.split_once(JOIN).map_or("", |(task, _)| task);
        if !over(task) && !work.texts.iter().any(|t| name(&t.name) == task) {
            found.push(item.clone());
        }
    }
    for text in work.texts.iter().filter(|t| !over(&t.name) && in_hand(t, work, exchanges)) {
        let document = !work.tickets.iter().any(|t| t.id == text.name) && text.name.contains('.');
        for s in required(&text.text, document) {
            let text_line = line(&format!("{}{JOIN}{s}", name(&text.name)));
            if !found.iter().any(|i| i.text == text_line) {
                found.push(Item::new(text_line, text.turn));
            }
        }
    }
    let over = found.len().saturating_sub(MOST);
    found.split_off(over)
}

/// Returns the last component of a path; an id stays as it is.
fn name(name: &str) -> &str {
    name.rsplit('/').next().unwrap_or(name)
}

/// Whether a text belongs to current work: a ticket the session began, or a ticket or document the person named in a
/// request.
fn in_hand(text: &TaskText, work: &Work, exchanges: &[Exchange]) -> bool {
    let begun = work.tickets.iter().any(|t| t.ours && t.id == text.name && t.status != Status::Dropped);
    let named = |e: &Exchange| {
        let prompt = e.prompt.as_ref().filter(|p| matches!(p.purpose, Purpose::Request));
        prompt.is_some_and(|p| p.own.iter().any(|s| has_name(&s.text, name(&text.name))))
    };
    begun || exchanges.iter().any(named)
}

/// Whether a text contains this name as a whole word.
fn has_name(text: &str, name: &str) -> bool {
    let part = |c: Option<char>| c.is_some_and(|c| c.is_alphanumeric() || matches!(c, '-' | '_'));
    text.match_indices(name).any(|(at, name)| {
        !part(text[..at].chars().next_back()) && !part(text[at + name.len()..].chars().next()) && name.len() > 1
    })
}

/// Returns the sentences that bind the work: those under a heading of rules or criteria, and directives. A document
/// contains many sentences that bind nobody, so only its sure directives count.
fn required(text: &str, document: bool) -> Vec<String> {
    // The text is read as a model's message: in a person's message, a whole document would count as pasted text.
    let statements = statement::read(&marked(text), Speaker::Model, true);
    let directive = |s: &Statement| {
        let alone = statement::read(&s.text, Speaker::Person, false);
        alone.first().is_some_and(|a| a.label == Label::Directive && a.standalone && (a.sure || !document))
    };
    let binds = |s: &&Statement| {
        let ruled = s.heading.as_deref().is_some_and(|h| topic(h) == Topic::Rules);
        s.ticked != Some(true) && !s.asks && weight(&s.text) >= 2 && (ruled || directive(s))
    };
    let found: Vec<String> = statements.iter().filter(binds).map(|s| s.text.clone()).take(MOST + 1).collect();
    // The conventions of a whole project bind every task; the handoff names their document already.
    if document && found.len() > MOST_OF_DOCUMENT { Vec::new() } else { found }
}

/// Removes line numbers from a text, and makes headings of lines in capitals: trackers print `ACCEPTANCE CRITERIA`.
fn marked(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for line in text.lines() {
        let bare = line.trim_start().trim_start_matches(|c: char| c.is_ascii_digit());
        let line = bare.strip_prefix(['→', '\t']).unwrap_or(line);
        let title = line.trim().trim_end_matches(':');
        let capitals = title.chars().any(|c| c.is_uppercase())
            && title.len() <= 40
            && title.chars().all(|c| c.is_uppercase() || c == ' ' || c == '/');
        if capitals {
            out.push_str(&format!("\n## {title}\n\n"));
        } else {
            out.push_str(line);
            out.push('\n');
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_tickets_criteria_and_rules_are_required() {
        let shown = "○ shop-4 · Refunds   [● P2 · OPEN]\nOwner: Ida\n\nDESCRIPTION\nA refund is booked by the provider's webhook, \
                     which may come twice.\n\nACCEPTANCE CRITERIA\n- [ ] A second webhook changes nothing\n- [x] The event id is \
                     stored\n\nNOTES\nNever delete a row of the ledger table.\n";
        assert_eq!(
            required(shown, false),
            ["A second webhook changes nothing", "Never delete a row of the ledger table."]
        );
    }

    #[test]
    fn a_numbered_listing_of_a_plan_is_read() {
        let shown = "     1→# Importer\n     2→\n     3→## Requirements\n     4→- Reads files of 2 GB in constant memory\n     5→\n     \
                     6→## Background\n     7→- The old importer was written in a week\n";
        assert_eq!(required(shown, true), ["Reads files of 2 GB in constant memory"]);
    }

    #[test]
    fn a_name_is_a_whole_word() {
        assert!(has_name("Work on shop-4, please", "shop-4"));
        assert!(!has_name("Work on shop-41", "shop-4"));
        assert!(has_name("implement docs/plan.md", "plan.md"));
    }
}
