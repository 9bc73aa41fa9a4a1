//! Other facts the next session needs: names, numbers and places the user gave, and findings.

use super::cues::Cue;
use super::list::List;
use super::sentences::Sentence;
use crate::lineage::distillate::Item;
use crate::memory::signals::{Signal, SignalKind};
use crate::scope::TurnId;
use crate::text::language::sayings;

/// Facts so far.
#[derive(Debug)]
pub struct Context {
    told: List,
    answers: List,
}

impl Context {
    pub fn new(before: Option<&[Item]>) -> Context {
        Context { told: List::carrying(8, before), answers: List::new(3) }
    }

    /// Facts stated by the user.
    pub fn hear_user(&mut self, turn: TurnId, seq: usize, signals: &[Signal], sentences: &[Sentence], request: bool) {
        for s in sentences.iter().filter(|s| !s.pasted && !s.asks() && !s.is_quotation()) {
            if is_fact(s) && !(request && s.begins(Cue::Task)) && (names(s) || !super::directives::is_directive(s)) {
                self.told.add(&s.text, turn, if names(s) { 4 } else { 2 }, seq);
            }
        }
        for signal in signals {
            if matches!(signal.kind, SignalKind::Identity | SignalKind::Profile { .. }) {
                self.told.add(&signal.text, turn, 3, seq);
            }
        }
    }

    /// Ports and addresses stated by the assistant.
    pub fn hear_assistant(&mut self, turn: TurnId, seq: usize, sentences: &[Sentence]) {
        for s in sentences.iter().filter(|s| !s.asks() && s.len() <= 40) {
            // Cheap checks first: few sentences have a colon in a word or a digit.
            let low = s.low();
            let place = low.contains(':') && (low.contains("localhost:") || low.contains("127.0.0.1:"))
                || low.bytes().any(|b| b.is_ascii_digit()) && low.contains(" port ");
            if place && !s.has(Cue::Hypothesis) && !s.begins(Cue::Start) {
                self.told.add(&s.text, turn, 2, seq);
            }
        }
    }

    /// The beginning of a sub-agent's answer.
    pub fn answer(&mut self, turn: TurnId, seq: usize, sentences: &[Sentence]) {
        let told =
            sentences.iter().find(|s| s.len() >= 5 && !s.asks() && !s.text.ends_with(':') && !s.begins(Cue::Start));
        if let Some(s) = told.or_else(|| sentences.iter().find(|s| s.len() >= 2)) {
            self.answers.add(&crate::text::plain::cut(&s.text, 240), turn, 1, seq);
        }
    }

    pub fn into_items(self) -> (Vec<Item>, Vec<Item>) {
        (self.told.into_items(), self.answers.into_items())
    }
}

/// "The codename is ZEPHYR", "it's called …".
fn names(s: &Sentence) -> bool {
    s.says(sayings!("names"))
}

/// Whether a statement contains something that cannot be guessed: a number, a name, a path.
fn is_fact(s: &Sentence) -> bool {
    if s.len() < 3 || s.len() > 40 || s.before(Cue::Hypothesis, 3) || s.before(Cue::Reported, s.len()) {
        return false;
    }
    let states = s.says(sayings!("states")) || s.low().contains("'s");
    let start = s.start();
    let request =
        s.hits().iter().any(|h| matches!(h.cue, Cue::Task | Cue::Request) && h.from <= start + 1 && h.to > start);
    // A name inside the sentence, in capitals or with a digit.
    let marked = s.text.split_whitespace().skip(1).any(|w| {
        let w = w.trim_matches(|c: char| !c.is_alphanumeric());
        let digits = w.bytes().any(|b| b.is_ascii_digit());
        let shouted = w.len() >= 3 && w.chars().all(|c| c.is_uppercase() || c == '-' || c == '_' || c.is_ascii_digit());
        let capital = w.len() >= 3 && w.chars().next().is_some_and(char::is_uppercase);
        digits || shouted || capital || w.contains("://") || w.contains('@') || w.starts_with('/')
    });
    states && !request && (marked || names(s)) && !s.has(Cue::Done) && !s.has(Cue::Blocked)
}
