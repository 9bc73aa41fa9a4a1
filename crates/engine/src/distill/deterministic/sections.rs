//! Reads checklists by their sections: a plan in a file is rarely ticked, but "Phase 2 is complete" says what became of
//! its second section; and of a long plan, each section is one open item.

use std::collections::HashSet;

use super::exchange::Exchange;
use crate::distill::work_state::{Checkbox, Status, Task};
use crate::lineage::distillate::Item;
use crate::statement::{Label, Statement};
use crate::text::plain::{cut, lower};

/// Maximum number of open lines of a checklist that are items of their own.
const MOST_LINES: usize = 8;

/// Maximum length of an item made of a section, in bytes: about two lines of a handoff.
const LONGEST: usize = 240;

/// Maximum number of words of a sentence that reports a section as done. A longer one tells what the section contains.
const SHORT: usize = 9;

/// The name of a section: its first word in lower case, and its number.
type Name = (String, u32);

/// The numbered sections that were reported as done.
#[derive(Debug, Default)]
pub struct Reported(HashSet<Name>);

impl Reported {
    /// Finds the sections that short reports and the subjects of commits name.
    pub fn of(exchanges: &[Exchange], commits: &[Item]) -> Reported {
        let tells = |s: &&Statement| s.label == Label::Done && s.sure && !s.bullet && s.words() <= SHORT;
        let statements = exchanges.iter().flat_map(Exchange::messages).flat_map(|m| m.statements.iter().filter(tells));
        let texts = statements.map(|s| &s.text).chain(commits.iter().map(|c| &c.text));
        Reported(texts.flat_map(|text| names(text)).collect())
    }

    /// Returns the lines of a checklist as they stand: lines of sections that were reported are done, and the open lines
    /// of a long checklist are joined by section.
    pub fn told(&self, boxes: &[Checkbox]) -> Vec<Task> {
        let is_over = |section: &str| names(section).first().is_some_and(|name| self.0.contains(name));
        let boxes: Vec<&Checkbox> =
            boxes.iter().filter(|b| b.task.status != Status::Open || !is_over(&b.section)).collect();
        let open = || boxes.iter().filter(|b| b.task.status == Status::Open);
        let mut sections: Vec<&str> = Vec::new();
        for b in open() {
            if !b.section.is_empty() && !sections.contains(&b.section.as_str()) {
                sections.push(&b.section);
            }
        }
        if open().count() <= MOST_LINES || sections.len() < 2 {
            return boxes.into_iter().map(|b| b.task.clone()).collect();
        }
        let alone = boxes.iter().filter(|b| b.task.status != Status::Open || b.section.is_empty());
        let mut told: Vec<Task> = alone.map(|b| b.task.clone()).collect();
        for section in sections {
            let own: Vec<&&Checkbox> = open().filter(|b| b.section == section).collect();
            let texts: Vec<&str> = own.iter().map(|b| b.task.item.text.as_str()).collect();
            let mut turns: Vec<_> = own.iter().flat_map(|b| b.task.item.turns.iter().copied()).collect();
            turns.sort();
            turns.dedup();
            let text = cut(&format!("{section}: {}", texts.join("; ")), LONGEST);
            told.push(Task { item: Item { text, turns, file: None }, status: Status::Open });
        }
        told
    }
}

/// Returns the words of a text that a number follows: "Phase 2: Storage", "feat: step 3 — the form".
fn names(text: &str) -> Vec<Name> {
    let low = lower(text);
    let words: Vec<&str> = low.split(|c: char| !c.is_alphanumeric()).filter(|w| !w.is_empty()).collect();
    let name = |pair: &[&str]| {
        let number = pair[1].parse().ok().filter(|n| *n < 100)?;
        (pair[0].chars().count() > 2 && pair[0].chars().all(char::is_alphabetic)).then(|| (pair[0].to_owned(), number))
    };
    words.windows(2).filter_map(name).collect()
}
