//! Durable knowledge of the project that was stated explicitly (R9.4). Few and precise: what the user states as
//! permanent, or the assistant states and the user confirms. Nothing from tools, quotations or pastes; preferences of
//! the user are taken from prompts elsewhere (R9.5).

use super::cues::Cue;
use super::list::line;
use super::sentences::Sentence;
use crate::lineage::distillate::Proposed;
use crate::memory::signals::{Signal, SignalKind};
use crate::scope::TurnId;
use crate::text::language::sayings;
use crate::text::plain::cut;
use crate::text::similarity::Bag;

/// The most proposals of one distillation.
const MOST: usize = 6;

/// The proposals so far.
#[derive(Debug, Default)]
pub struct Proposals {
    list: Vec<(Proposed, Bag)>,
    /// What the assistant last stated about the project, until the user replies.
    unconfirmed: Vec<(String, TurnId)>,
}

impl Proposals {
    /// A prompt by the user.
    pub fn hear_user(&mut self, turn: TurnId, signals: &[Signal], sentences: &[Sentence]) {
        let confirms = sentences.first().is_some_and(|s| {
            matches!(
                s.word(0),
                "yes"
                    | "right"
                    | "exactly"
                    | "correct"
                    | "true"
                    | "indeed"
                    | "ja"
                    | "genau"
                    | "stimmt"
                    | "oui"
                    | "sí"
                    | "exacto"
            ) && !s.has(Cue::Negation)
        });
        for (text, said) in std::mem::take(&mut self.unconfirmed) {
            if confirms {
                let class = class_of(&text);
                self.add(&text, class, &[said, turn]);
            }
        }
        for signal in signals {
            if signal.kind == SignalKind::Rule {
                self.add(&signal.text, "procedure", &[turn]);
            }
        }
        for s in sentences {
            if let Some(class) = standing(s) {
                self.add(&s.text, class, &[turn]);
            }
        }
    }

    /// A message of the assistant.
    pub fn hear_assistant(&mut self, turn: TurnId, sentences: &[Sentence]) {
        self.unconfirmed.clear();
        for s in sentences.iter().filter(|s| !s.asks() && !s.is_quotation() && s.len() <= 40 && s.len() >= 5) {
            let project = s.says(sayings!("of the project"));
            let stable = s.says(sayings!("project habits"));
            if project && stable && !passing(s) && !s.begins(Cue::Start) && self.unconfirmed.len() < 2 {
                self.unconfirmed.push((s.text.clone(), turn));
            }
        }
    }

    fn add(&mut self, text: &str, class: &str, turns: &[TurnId]) {
        let text = line(text);
        let bag = Bag::of(&text);
        let known = self.list.iter().any(|(p, b)| b.is_like(&bag) || p.text.contains(&text) || text.contains(&p.text));
        if self.list.len() >= MOST || bag.len() < 2 || known || text.contains("[redacted:") {
            return;
        }
        let title = cut(text.trim_end_matches(['.', '!', ' ']), 80);
        let mut turns = turns.to_vec();
        turns.sort();
        self.list.push((Proposed { title, text, class: class.to_owned(), turns, file: None }, bag));
    }

    pub fn into_list(self) -> Vec<Proposed> {
        self.list.into_iter().map(|(p, _)| p).collect()
    }
}

/// The class of a statement of the user that is meant to last.
fn standing(s: &Sentence) -> Option<&'static str> {
    if s.asks() || s.pasted || s.is_quotation() || s.len() < 5 || s.len() > 40 || passing(s) {
        return None;
    }
    // It quotes other people.
    if s.text.contains(['"', '“', '„', '«']) {
        return None;
    }
    let start = s.start();
    let thing = s.says(sayings!("things"));
    if !thing {
        return None;
    }
    let rule = s.says(sayings!("rules of the project"));
    let here = s.says(sayings!("here"));
    let orders = s.hits().iter().any(|h| {
        matches!(h.cue, Cue::Directive | Cue::Task) && (h.from == start || s.clause_starts(h.from) && h.from > 0)
    });
    if orders {
        return (here && (rule || s.begins(Cue::Directive))).then_some("procedure");
    }
    // "The staging database is read-only on weekends."
    let subject = matches!(
        s.word(start),
        "the"
            | "our"
            | "all"
            | "every"
            | "each"
            | "we"
            | "production"
            | "staging"
            | "ci"
            | "deploys"
            | "deployments"
            | "releases"
            | "migrations"
            | "tests"
            | "die"
            | "der"
            | "das"
            | "unsere"
            | "unser"
            | "la"
            | "le"
            | "les"
            | "notre"
            | "el"
            | "los"
            | "las"
            | "nuestra"
            | "nuestro"
            | "note"
            | "backups"
            | "to"
    );
    let stable = s.says(sayings!("standing facts"));
    if !subject || !stable || !(rule || definite(s)) {
        return None;
    }
    Some(class_of(&s.text))
}

/// Whether it is specific, unlike "the server is on": a day, a place, a rule, a version.
fn definite(s: &Sentence) -> bool {
    s.says(sayings!("definite"))
        || s.text.contains("://")
        || s.text.split_whitespace().any(|w| w.len() > 2 && w.contains('/') && !w.starts_with('/'))
        || s.text.contains('`')
}

/// Whether it is about now, about one occasion, or a guess: nothing to keep.
fn passing(s: &Sentence) -> bool {
    s.has(Cue::Hypothesis) || s.has(Cue::Reported) || s.has(Cue::Retraction) || s.says(sayings!("passing"))
}

fn class_of(text: &str) -> &'static str {
    if text.contains("://") || sayings!("references").stand_in(text) {
        "reference"
    } else if sayings!("procedures").stand_in(text) {
        "procedure"
    } else {
        "fact"
    }
}
