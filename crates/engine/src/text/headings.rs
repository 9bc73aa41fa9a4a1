//! Reads the topic that a heading, or a line ending in a colon, announces for the text under it.

use super::language::{HEADINGS, MAY_BE_PASTE, PASTE, section};
use super::patterns::{Words, phrases};
use super::plain::lower;
use super::words::{Marks, runs, split};

/// The topic of the text under a heading.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Topic {
    Done,
    Next,
    Open,
    Rules,
    Decisions,
    Other,
}

/// Returns the topic a title announces.
pub fn topic(title: &str) -> Topic {
    if title.len() > 120 {
        return Topic::Other;
    }
    let next = phrases!(section(HEADINGS, "next"));
    let open = phrases!(section(HEADINGS, "open"));
    let decisions = phrases!(section(HEADINGS, "decisions"));
    let rules = phrases!(section(HEADINGS, "rules"));
    let done = phrases!(section(HEADINGS, "done"));
    let topics = [(next, Topic::Next), (open, Topic::Open), (decisions, Topic::Decisions), (rules, Topic::Rules)];
    let words = split(title, Marks::Dropped);
    let found = topics.into_iter().chain([(done, Topic::Done)]).find(|(phrases, _)| phrases.stand(&words));
    found.map_or(Topic::Other, |(_, topic)| topic)
}

/// Whether a line announces permanent rules: "From now on:", "My preferences:", "House rules:".
pub fn announces_rules(line: &str) -> bool {
    let words = split(line, Marks::Dropped);
    let standing = phrases!(section(HEADINGS, "standing"));
    let mine = phrases!(section(HEADINGS, "mine"));
    let rules = phrases!(section(HEADINGS, "of rules"));
    words.len() <= 10 && (standing.stand(&words) || mine.stand(&words) && rules.stand(&words))
}

/// Whether a line announces text that is probably not the speaker's: "The error message is:", "Bob wrote:".
pub fn announces_paste(line: &str) -> bool {
    has_word(last_sentence(line), &PASTE) && !orders_work(line)
}

/// Whether a line orders to carry out the text below it, whoever wrote it: "Implement this issue:".
fn orders_work(line: &str) -> bool {
    let orders = phrases!(
        "please? implement|solve|resolve|address|tackle|do / please? work on / bitte? implementiere|bearbeite|löse / setze / implémente|résous|traite / implementa|resuelve / implementa|risolvi / реализуй|сделай"
    );
    let works = phrases!(
        "issue|issues|ticket|tickets|story|task|spec|specification|requirement|requirements|aufgabe|anforderung|tâche|tarea|задачу|задача"
    );
    let said = last_sentence(line);
    orders.begin(&split(&lower(said), Marks::Dropped)).next().is_some() && works.stand_in(said)
}

/// Whether a line announces text that may not be the speaker's: "The following:", "Translate this:".
pub fn may_announce_paste(line: &str) -> bool {
    let last = last_sentence(line);
    (has_word(last, &PASTE) || has_word(last, &MAY_BE_PASTE)) && !orders_work(last)
}

fn last_sentence(line: &str) -> &str {
    line.trim_end_matches(['.', '!', '?', '*']).rsplit(['.', '!', '?']).next().unwrap_or(line)
}

fn has_word(text: &str, list: &Words) -> bool {
    runs(text, &['-']).any(|(_, word)| list.has(&lower(word)))
}
