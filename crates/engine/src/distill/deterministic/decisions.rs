//! Decisions: choices stated by the user or the assistant. A later decision removes those it rejects.

use super::cues::Cue;
use super::list::{JOIN, List, Noted};
use super::sentences::Sentence;
use crate::lineage::distillate::Item;
use crate::scope::TurnId;
use crate::text::headings::Topic;
use crate::text::language::sayings;
use crate::text::patterns::phrases;
use crate::text::plain::cut;
use crate::text::similarity::Bag;

/// The decisions so far.
#[derive(Debug)]
pub struct Decisions {
    list: List,
}

impl Decisions {
    pub fn new(before: Option<&[Item]>) -> Decisions {
        Decisions { list: List::carrying(15, before) }
    }

    /// Decisions stated by the user.
    pub fn hear_user(&mut self, turn: TurnId, seq: usize, sentences: &[Sentence]) {
        for s in sentences.iter().filter(|s| !s.pasted) {
            let (Some(hit), false) = (s.hits().iter().find(|h| h.cue == Cue::Decision), s.asks()) else {
                // "Use X" alone is a directive; with a rejected alternative it is a decision.
                let alone = |at: usize| matches!(s.word(at), "use" | "take" | "drop" | "keep") && !s.has(Cue::Rejected);
                let chooses =
                    s.hits().iter().any(|h| h.cue == Cue::Choice && s.clause_starts(h.from) && !alone(h.from));
                if !s.asks() && chooses && is_choice(s, 0) && !s.bag().is_empty() && s.len() <= 40 {
                    self.add(&s.text, turn, 4, seq, s);
                }
                continue;
            };
            if is_choice(s, hit.from) {
                self.add(&s.text, turn, 4, seq, s);
            }
        }
    }

    /// Decisions stated by the assistant.
    pub fn hear_assistant(&mut self, turn: TurnId, seq: usize, sentences: &[Sentence]) {
        for s in sentences {
            if s.under == Some(Topic::Decisions) && s.bullet && !s.asks() && s.len() >= 3 {
                self.add(&s.text, turn, 3, seq, s);
                continue;
            }
            let Some(hit) = s.hits().iter().find(|h| h.cue == Cue::Decision).copied() else { continue };
            if is_choice(s, hit.from) && reasoned(s, hit.from, hit.to) {
                self.add(&s.text, turn, 2, seq, s);
            }
        }
    }

    /// A question of the assistant and the user's answer.
    pub fn answered(&mut self, question: &Item, answer: &str, turn: TurnId, seq: usize) {
        let text = format!("{}{JOIN}{}", cut(&question.text, 240), cut(answer, 140));
        if let Some(mut noted) = Noted::new(&text, turn, 3, seq) {
            noted.also(&question.turns);
            self.list.put(noted);
        }
    }

    fn add(&mut self, text: &str, turn: TurnId, weight: u8, seq: usize, s: &Sentence) {
        let rejected = rejected(s);
        if !rejected.is_empty() {
            self.list.retain(|old| rejected.shared(&old.bag) == 0 || against(&old.item.text, &rejected));
        }
        if let Some(noted) = Noted::new(text, turn, weight, seq).filter(|n| !n.bag.is_empty()) {
            self.list.put(noted);
        }
    }

    /// The user gave something up.
    pub fn given_up(&mut self, about: &Bag) {
        self.list.settle(about);
    }

    pub fn into_items(self) -> Vec<Item> {
        self.list.into_items()
    }
}

/// Whether a choice is stated: no question, hypothesis, reported speech or negation.
fn is_choice(s: &Sentence, at: usize) -> bool {
    !s.asks()
        && !s.is_quotation()
        && !s.pasted
        && s.len() >= 2
        && s.len() <= 60
        && !s.hits().iter().any(|h| h.cue == Cue::Hypothesis && (h.from < at.max(1)))
        && !s.before(Cue::Reported, at.max(1))
        && !(at > 0
            && matches!(
                s.word(at - 1),
                "not" | "never" | "to" | "can" | "you" | "don't" | "haven't" | "nicht" | "yet" | "didn't" | "cannot"
            ))
        && !s.says(sayings!("undecided"))
}

/// "I'll use" and "instead of" alone are chatter: a reason or an alternative makes them decisions.
fn reasoned(s: &Sentence, from: usize, to: usize) -> bool {
    let firm = matches!(
        s.word(from),
        "decided"
            | "decide"
            | "deciding"
            | "decision"
            | "settled"
            | "opted"
            | "opting"
            | "chose"
            | "choosing"
            | "chosen"
            | "agreed"
            | "final"
            | "ruled"
            | "going"
            | "entschieden"
            | "beschlossen"
            | "décidé"
            | "choisi"
            | "optons"
            | "decidido"
            | "elegimos"
            | "optamos"
            | "picked"
            | "stick"
            | "sticking"
    ) || s.word(from + 1) == "going"
        || s.word(to - 1) == "with" && matches!(s.word(to - 2), "go" | "going" | "stick" | "went")
        || matches!(s.word(from), "we" | "we're" | "i'm" | "i've" | "we've" | "wir" | "on" | "nous" | "nos")
            && !matches!(s.word(to - 1), "won't");
    let why = s.says(sayings!("why"));
    let changed = matches!(
        s.word(from),
        "switched" | "switching" | "switch" | "replaced" | "replacing" | "instead" | "rather" | "statt"
    );
    // "Instead of failing, it now returns" describes a program.
    let own = s.says(phrases!("i|i'll|we|we'll|let's|i'm|we're|wir|ich|nous|on|usaremos|vamos"));
    firm || why && (own || changed && s.clause_starts(from) && !matches!(s.word(from), "instead" | "rather"))
}

/// The rejected alternative: up to three words after "instead of" or "drop".
fn rejected(s: &Sentence) -> Bag {
    let mut words = String::new();
    for hit in s.hits().iter().filter(|h| h.cue == Cue::Rejected) {
        let to = (hit.to..s.len().min(hit.to + 4)).take_while(|i| *i == hit.to || !s.joint(*i));
        for i in to.filter(|i| !matches!(s.word(*i), "to" | "for" | "with" | "by")).take(3) {
            words.push_str(s.word(i));
            words.push(' ');
        }
    }
    let mut bag = Bag::of(&words);
    // The alternative chosen in the same sentence is not rejected.
    if let Some(hit) = s.hits().iter().find(|h| h.cue == Cue::Rejected) {
        let chosen: String = (0..hit.from).map(|i| format!("{} ", s.word(i))).collect();
        let chosen = Bag::of(&chosen);
        bag.stems.retain(|w| chosen.stems.binary_search(w).is_err());
        bag.ids.retain(|w| chosen.ids.binary_search(w).is_err());
    }
    bag
}

/// Whether a decision itself rejects these words: "no Redis" stays when Redis is dropped again.
fn against(text: &str, rejected_now: &Bag) -> bool {
    super::sentences::sentences(text).iter().any(|s| rejected(s).shared(rejected_now) > 0)
}

/// Whether a question offers a choice, so that its answer is a decision.
pub fn offers_choice(s: &Sentence) -> bool {
    s.asks() && s.says(sayings!("asks for a choice"))
        || s.asks() && (s.low().starts_with("should ") || s.low().starts_with("soll"))
}
