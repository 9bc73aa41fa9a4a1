//! Open loops: what was asked for, promised or left open, and not settled since.

use crate::text::language::sayings;
use std::collections::HashSet;

use super::cues::Cue;
use super::decisions::offers_choice;
use super::list::{List, Noted};
use super::progress::{Says, says};
use super::sentences::Sentence;
use crate::lineage::distillate::Item;
use crate::scope::TurnId;
use crate::text::similarity::{Bag, is_id};

/// The most open questions kept.
const MOST_QUESTIONS: usize = 3;
/// The most plans kept.
const MOST_PLANS: usize = 24;
/// The most closed tickets remembered.
const MOST_CLOSED: usize = 10_000;

/// The loops so far.
#[derive(Debug)]
pub struct Loops {
    open: List,
    /// Unanswered requests.
    asked: Vec<Noted>,
    /// Questions the assistant ended a run with.
    questions: Vec<(Noted, bool)>,
    /// Statements that name several tickets to do, with those not done yet.
    plans: Vec<(Noted, Vec<Vec<u64>>)>,
    /// Tickets done already.
    closed: HashSet<u64>,
}

impl Loops {
    pub fn new(before: Option<&[Item]>) -> Loops {
        Loops {
            open: List::carrying(15, before),
            asked: Vec::new(),
            questions: Vec::new(),
            plans: Vec::new(),
            closed: HashSet::new(),
        }
    }

    /// The user asked for something.
    pub fn asked(&mut self, noted: Noted) {
        if self.asked.len() < 40 {
            self.asked.push(noted);
        }
    }

    /// The user replied: the assistant's question is answered, unless the user put it off. Returns the question.
    pub fn replied(&mut self, sentences: &[Sentence]) -> Option<(Noted, bool)> {
        let put_off = sentences.iter().take(2).any(|s| s.len() <= 14 && s.says(sayings!("not now")));
        let last = self.questions.last().cloned();
        let waiting = std::mem::take(&mut self.questions);
        if put_off {
            waiting.into_iter().for_each(|(q, _)| self.open.put(q));
            return None;
        }
        last
    }

    /// Future work mentioned by the user: "remind me", "we still need to".
    pub fn hear_user(&mut self, turn: TurnId, seq: usize, sentences: &[Sentence]) {
        for s in sentences.iter().filter(|s| !s.pasted && !s.asks() && !s.is_quotation()) {
            let later = s
                .hits()
                .iter()
                .any(|h| h.cue == Cue::Later && !s.before(Cue::Hypothesis, h.from) && !s.before(Cue::Reported, h.from));
            let told = s.says(sayings!("reminds"));
            if later && told && !s.bag().is_empty() && s.len() <= 40 && !super::directives::is_retraction(s) {
                self.open.add(&s.text, turn, 4, seq);
            }
        }
    }

    /// Work the assistant postponed.
    pub fn promised(&mut self, turn: TurnId, seq: usize, sentence: &Sentence, last: bool) {
        if sentence.bag().len() >= if last && sentence.bullet { 1 } else { 2 } {
            self.open.add(&sentence.text, turn, if last { 4 } else { 2 }, seq);
        }
    }

    /// Statements of the assistant that name two or more tickets to work through: those never done stay open.
    pub fn planned(&mut self, turn: TurnId, seq: usize, sentences: &[Sentence]) {
        for s in sentences.iter().filter(|s| !s.asks() && !s.is_quotation()) {
            let mut things = Vec::new();
            for at in 0..s.len() {
                // Tickets contain digits, unlike most file names.
                let word = s.word(at).trim_start_matches('#');
                let ticket = is_id(word)
                    && word.bytes().any(|b| b.is_ascii_digit())
                    && !word.contains('/')
                    && word.bytes().any(|b| b.is_ascii_alphabetic())
                    && tracked(word);
                if ticket {
                    let ids = Bag::of(word).ids;
                    if !ids.is_empty() && !things.contains(&ids) && !ids.iter().any(|id| self.closed.contains(id)) {
                        things.push(ids);
                    }
                }
            }
            let plans = s.says(sayings!("plans")) || s.text.contains('→') || s.text.contains("->");
            if things.len() >= 2
                && plans
                && let Some(noted) = Noted::new(&s.text, turn, 3, seq)
            {
                if self.plans.len() == MOST_PLANS {
                    self.plans.remove(0);
                }
                // A plan repeated later replaces the earlier one.
                self.plans.retain(|(_, old)| !old.iter().all(|o| things.contains(o)));
                self.plans.push((noted, things));
            }
        }
    }

    /// The assistant's last message of a run: it answers the requests, unless it failed.
    pub fn answered(&mut self, turn: TurnId, seq: usize, sentences: &[Sentence], failed: bool) {
        let settled = sentences.iter().any(|s| says(s, true) == Says::Done);
        let refused = !settled
            && sentences.iter().any(|s| {
                !s.asks() && s.len() <= 40 && s.first && s.begins(Cue::Blocked) && !s.has(Cue::Done)
                    || s.says(sayings!("cannot")) && !s.before(Cue::Hypothesis, s.len())
            });
        if failed || refused {
            self.asked.drain(..).for_each(|n| self.open.put(Noted { weight: 4, ..n }));
        } else {
            self.asked.clear();
        }
        if failed {
            return;
        }
        for s in sentences.iter().filter(|s| s.asks() && s.last && !s.is_quotation()) {
            let empty = s.says(sayings!("empty question"));
            if !empty
                && s.len() >= 3
                && self.questions.len() < MOST_QUESTIONS
                && let Some(noted) = Noted::new(&s.text, turn, 4, seq)
            {
                self.questions.push((noted, offers_choice(s)));
            }
        }
    }

    /// Something was done, closed or given up.
    pub fn settle(&mut self, done: &Bag) {
        self.open.settle(done);
        if self.closed.len() < MOST_CLOSED {
            self.closed.extend(&done.ids);
        }
        for (_, left) in &mut self.plans {
            left.retain(|ids| !ids.iter().any(|id| done.ids.binary_search(id).is_ok()));
        }
        self.plans.retain(|(_, left)| !left.is_empty());
    }

    /// Adds an open entry of a task list, or a loop from elsewhere.
    pub fn put(&mut self, noted: Noted) {
        self.open.put(noted);
    }

    /// The open loops, without a request that is the goal itself.
    pub fn into_items(mut self, goal: Option<&Noted>) -> Vec<Item> {
        for noted in self.asked {
            let same = goal.is_some_and(|g| g.item.turns.contains(&noted.item.turns[0]) || g.bag.is_like(&noted.bag));
            if !same {
                self.open.put(noted);
            }
        }
        for (question, _) in self.questions {
            self.open.put(question);
        }
        for (plan, _) in self.plans {
            self.open.put(plan);
        }
        if let Some(goal) = goal {
            self.open.retain(|n| n.weight >= 4 || n.seq < 100 || !n.bag.is_like(&goal.bag));
        }
        self.open.into_items()
    }
}

/// Whether a word is a ticket (`gqc.4`, `ABC-12`), not a version, hash, time or size.
fn tracked(word: &str) -> bool {
    let end = word.rsplit(['.', '-', '#']).next().unwrap_or("");
    end.len() < word.len()
        && !end.is_empty()
        && end.len() <= 6
        && end.bytes().all(|b| b.is_ascii_digit())
        && !word.starts_with('v')
        && word.bytes().next().is_some_and(|b| b.is_ascii_alphabetic())
}
