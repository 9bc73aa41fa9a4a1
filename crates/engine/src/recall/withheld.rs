//! Withholds turns that match a question but should not be given: the model already has them, nobody said them, or a
//! leaf, an open loop or a summary made of them answers already. So the transcript stays the fallback it is meant to be
//! (R10.1).

use std::borrow::Cow;

use super::live::Live;
use super::machine_text::spoken;
use super::query::Query;
use super::terms::{letters, needles, stands};
use crate::error::Result;
use crate::event::TurnKind;
use crate::ledger::Read;
use crate::lineage::walk::Stretch;
use crate::scope::TurnId;
use crate::text::sentences;
use crate::transcript::read::Turn;

/// Reason for withholding a turn that is in the context of the session's model.
pub(super) const IN_CONTEXT: &str = "already in the session's context";

/// Largest number of bytes of a sentence that is examined as one.
const SENTENCE: usize = 600;

/// A word of at most this many letters must match as a whole word.
const SHORT: usize = 3;

/// A shorter text, in characters, with no word of the question and no number only acknowledges something.
const ACKNOWLEDGED: usize = 24;

/// State for withholding turns in one recall.
pub(super) struct Withheld<'l> {
    live: &'l Live,
    /// Whether the turns themselves were asked for.
    deep: bool,
    /// Whether a program asks with a prompt, and not a person with a question.
    for_prompt: bool,
    /// The words of the question.
    asked: Vec<Vec<String>>,
    answers: Vec<Answer>,
}

/// An item that is given.
struct Answer {
    id: String,
    /// For each of its sentences, the words of the question it has, as a set of bits.
    sentences: Vec<u64>,
    sources: Sources,
}

/// The turns an item was made of.
pub(super) enum Sources {
    /// Single turns; the item states what they say.
    Turns(Vec<TurnId>),
    /// Whole ranges; the item keeps only the most important of what they say.
    Ranges(Vec<Stretch>),
}

impl Sources {
    /// Whether the item was written down by a person or a summarizer, and is not a turn itself.
    fn is_written(&self) -> bool {
        !matches!(self, Sources::Turns(turns) if turns.is_empty())
    }
}

impl<'l> Withheld<'l> {
    pub fn new(live: &'l Live, query: &Query, deep: bool, for_prompt: bool) -> Withheld<'l> {
        let asked = query.phrases.iter().chain(query.words.iter().filter(|t| t.asked())).map(needles);
        // Each word is a bit of a `u64`, so at most 64 words count.
        Withheld { live, deep, for_prompt, asked: asked.take(64).collect(), answers: Vec::new() }
    }

    /// Records an item that is given.
    pub fn given(&mut self, id: &str, text: &str, sources: Sources) {
        let sentences = self.sentences(text).filter(|words| *words != 0).collect();
        self.answers.push(Answer { id: id.to_owned(), sentences, sources });
    }

    /// Returns for each sentence of a text the words of the question it has. Sentences that are questions are left out,
    /// because they answer nothing.
    fn sentences(&self, text: &str) -> impl Iterator<Item = u64> {
        let all = sentences::of_lines(text, SENTENCE);
        all.filter(|sentence| !sentence.ends_with(['?', '？'])).map(|sentence| self.words_in(sentence))
    }

    /// Returns why a turn is withheld, as far as this is known without reading it.
    pub fn unread(&self, tx: &Read, turn: TurnId) -> Result<Option<String>> {
        Ok(self.live.holds(tx, turn)?.then(|| IN_CONTEXT.to_owned()))
    }

    /// Returns what somebody said in a turn, or why the turn is withheld.
    pub fn words<'t>(&self, turn: &'t Turn) -> std::result::Result<Cow<'t, str>, String> {
        let Some(said) = spoken(turn.role, turn.kind, &turn.text) else {
            return Err("nobody said it: it is of the program, or ours".into());
        };
        let words = self.words_in(&said);
        let all = u64::MAX >> (64 - self.asked.len().clamp(1, 64));
        for answer in self.answers.iter().filter(|_| !self.deep) {
            let says_it = answer.sentences.iter().any(|sentence| words & !sentence == 0);
            match &answer.sources {
                Sources::Turns(turns) if turns.contains(&turn.id) && (says_it || words == 0) => {
                    return Err(format!("{} was made of it", answer.id));
                }
                // A summary leaves out most of the turns it covers, so it answers only if one of its sentences has all
                // the words.
                Sources::Ranges(ranges)
                    if self.asked.len() > 1 && answer.sentences.contains(&all) && is_within(ranges, turn) =>
                {
                    return Err(format!("{} says it", answer.id));
                }
                _ => {}
            }
        }
        // A short reply such as "Understood." stands next to an answer but is none.
        let is_short = said.chars().count() < ACKNOWLEDGED && !said.chars().any(|c| c.is_ascii_digit());
        if self.for_prompt && !self.deep && words == 0 && is_short {
            return Err("it says nothing by itself".into());
        }
        // A person who types a prompt needs one answer, not every turn that has its words.
        if self.for_prompt && !self.deep {
            let is_aside = matches!(turn.kind, TurnKind::ToolCall | TurnKind::ToolResult | TurnKind::Thinking);
            let enough = |answer: &&Answer| {
                let is_whole = |sentence: u64| answer.sources.is_written() && self.asked.len() > 1 && sentence == all;
                answer.sentences.iter().any(|sentence| words & !sentence == 0 && (is_aside || is_whole(*sentence)))
            };
            if let Some(better) = self.answers.iter().find(enough) {
                return Err(format!("{} has as many words of the question", better.id));
            }
        }
        Ok(said)
    }

    /// Whether one sentence of a summary has enough words of the question. A summary has many words, and a single one
    /// may be there by chance.
    pub fn says_something(&self, text: &str) -> bool {
        let most = self.sentences(text).map(u64::count_ones).max().unwrap_or(0);
        !self.for_prompt || most as usize >= self.asked.len().min(2)
    }

    /// Whether a text has a word of the question; if the question has no words, every text does.
    pub fn is_asked_for_in(&self, text: &str) -> bool {
        self.asked.is_empty() || self.words_in(text) != 0
    }

    /// Returns the words of the question in a text, as a set of bits.
    fn words_in(&self, text: &str) -> u64 {
        let text = format!(" {} ", letters(text).trim());
        // A short word is part of many others, such as `ok` of `token`.
        let is_there = |words: &[String]| match words {
            [word] if word.len() <= SHORT && word.is_ascii() => text.contains(&format!(" {word} ")),
            words => stands(&text, words),
        };
        self.asked.iter().enumerate().fold(0, |all, (n, words)| all | (u64::from(is_there(words)) << n))
    }
}

fn is_within(ranges: &[Stretch], turn: &Turn) -> bool {
    ranges
        .iter()
        .any(|range| range.session_no == turn.session_no && range.turns.0 <= turn.id && turn.id <= range.turns.1)
}
