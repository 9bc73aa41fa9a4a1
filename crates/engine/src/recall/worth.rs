//! Whether a passage answers a prompt (R10.1). Most prompts ask for nothing that is stored, yet some turn has some of
//! their words, and a reader who is given such turns stops reading. So a passage that is given with a prompt must carry
//! enough of what the prompt asks; a question that somebody puts to the memory itself gets everything that was found.
//!
//! The worth of a passage is a number. Each word of the prompt that stands in the passage adds to it: a word that only one
//! turn has adds 1, a frequent word adds little. The cosine of the two vectors adds to it too, but less if the prompt has
//! only frequent words, because such a prompt is near to everything. A passage is given if its worth reaches a threshold.
//!
//! The constants were chosen on eleven sessions of eleven authors: 62 questions about them, the same questions and real
//! prompts asked in another project, and 40 prompts about nothing stored. Passages given without this room and with it:
//! prompts about nothing stored 3.0 and .2, questions of another project 2.1 and .4, prompts of another project 3.7 and
//! .3. Its price: of the questions of the own project .73 and .68 are given their evidence, .69 and .66 the words of the
//! answer. All authors were used to choose them; weights fitted on six authors, with a threshold a little higher, gave the
//! other five .43 instead of 2.9 passages for nothing and .66 instead of .69 of the evidence, and the other way round .20
//! instead of 3.6, and .61 instead of .82.

use super::query::{Query, Term};
use super::search::{Ranking, Searched};
use super::terms::{TURNS, letters, rows_with};
use crate::error::Result;
use crate::event::TurnKind;
use crate::index::Index;
use crate::scope::AgentNo;
use crate::text::indexed::BREAK;
use crate::text::language::COMMON_WORDS;
use crate::text::scripts::is_unspaced;

/// Least worth of a passage for a prompt with a question, and for one that only orders work: "run the tests" is done,
/// not answered.
const QUESTION: f64 = 0.6;
const ORDER: f64 = 1.2;

/// Worth of a cosine of 1.
const NEAR: f64 = 2.5;

/// Share of the least worth for a prompt in a script without spaces: the built-in model has no vectors for its words, so
/// the words alone must carry the passage.
const WORDS_ALONE: f64 = 0.6;

/// Added to the least worth for input and output of tools: long, and full of words by chance (1 of 63 pieces of
/// evidence, 142 of 387 passages that answered nothing).
const MACHINE: f64 = 1.0;

/// Added for a summary, which has words of many matters, and for a match whose neighbour is given in its place.
const INDIRECT: f64 = 0.5;

/// Added for each unit that a prompt says beyond `LONG_FROM`: many words meet more words by chance.
const LONG: f64 = 0.1;
const LONG_FROM: f64 = 4.0;

/// Share of a word of texts of every kind, and of a word of one or two letters. A young home cannot tell by counting
/// that they are frequent.
const COMMON: f64 = 1.0 / 3.0;

/// Share of a pair of characters in a script without spaces: two pairs make about one word.
const PAIR: f64 = 0.5;

/// Below this many rows, counting says little about how rare a word is.
const FEW_ROWS: i64 = 500;

/// A word that was not looked for among the turns is counted up to this many rows; a count costs about 1 µs per row.
const COUNTED: i64 = 2_000;

/// The end that inflection changes, in letters, and the least letters that are compared.
const INFLECTED: usize = 3;
const STEM: usize = 4;

/// A word of at most this many letters must match whole.
const SHORT: usize = 3;

/// Reason for leaving out a passage with a prompt.
pub(super) const TOO_LITTLE: &str = "has too few of the prompt's rarer words, and is not near enough";

/// How a passage was found.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Via {
    /// A message or the reasoning of somebody, found by itself.
    Message,
    /// Input or output of a tool.
    Machine,
    Summary,
}

impl Via {
    pub fn of_turn(kind: TurnKind) -> Via {
        match kind {
            TurnKind::ToolCall | TurnKind::ToolResult => Via::Machine,
            _ => Via::Message,
        }
    }
}

/// The weighted words of a prompt, and the threshold that a passage must reach.
pub(super) struct Worth {
    words: Vec<Word>,
    /// Sum of the weights of the words.
    said: f64,
    /// Least worth of a message that was found by itself.
    least: f64,
}

/// A word of the prompt.
struct Word {
    term: Term,
    /// The text that a passage with the word contains, when the passage is made of [`letters`].
    stem: String,
    /// The same without blanks, for names that are also written in one.
    joined: Option<String>,
    weight: f64,
}

impl Worth {
    /// Weighs the words of a prompt. `counted`: the search for turns, if it has already counted their rows.
    pub fn of(
        index: &Index,
        agent_no: AgentNo,
        query: &Query,
        text: &str,
        counted: Option<&Searched>,
    ) -> Result<Worth> {
        let all = index.rows_of(agent_no)?.max(FEW_ROWS);
        let unit = (1.0 + all as f64).ln();
        let mut words = Vec::new();
        for term in query.phrases.iter().chain(&query.words) {
            let unspaced = term.text.contains(BREAK);
            if !term.asked() && !unspaced {
                continue;
            }
            let known = counted.and_then(|found| found.counted.iter().find(|(other, _)| other == term));
            let rows = match known {
                Some((_, rows)) => *rows,
                None if counted.is_some_and(|found| found.too_frequent.contains(&term.text)) => all,
                None => rows_with(index, &TURNS, term, agent_no, COUNTED)?,
            };
            // A whole sentence of a script without spaces is one term; where nobody wrote it, its pairs are the words.
            let letters = term.text.chars().filter(|c| *c != BREAK).count();
            if unspaced && term.asked() && rows == 0 && letters > SHORT {
                continue;
            }
            let low = term.text.to_lowercase();
            let share = match () {
                () if unspaced && !term.asked() => PAIR,
                () if COMMON_WORDS.has(&low) || letters < SHORT && low.is_ascii() => COMMON,
                () => 1.0,
            };
            let weight = share * (1.0 + all as f64 / (1 + rows.min(all)) as f64).ln() / unit;
            words.push(Word::of(term, &low, weight));
        }
        let said: f64 = words.iter().map(|word| word.weight).sum();
        let least = if query.by_person || asks(text) { QUESTION } else { ORDER };
        let unspaced = 2 * text.chars().filter(|c| is_unspaced(*c)).count() > text.chars().count();
        let least = if unspaced { WORDS_ALONE * least } else { least };
        Ok(Worth { words, said, least: least + LONG * (said - LONG_FROM).max(0.0) })
    }

    /// Whether turn `given` of a ranking may be worth giving, judged by the words that all of turn `n` has, so that the
    /// others need not be read. `n` is the match that `given` stands next to, or the same turn: an answer mostly has
    /// other words than its prompt and is as good, while the answer to the prompt before is not.
    pub fn may_answer(&self, ranking: &Ranking, n: usize, given: usize) -> bool {
        if !ranking.of_one_run(n, given) {
            return false;
        }
        let Some(has) = ranking.words_of(n) else { return true };
        let has = |term: &Term| has.contains(&term) || !ranking.looked_for(term);
        let words: f64 = self.words.iter().filter(|word| has(&word.term)).map(|word| word.weight).sum();
        let (_, _, cosine) = ranking.about(n);
        let more = if n != given { INDIRECT } else { 0.0 };
        self.is_enough(words - more, Via::of_turn(ranking.kind(n)), cosine)
    }

    /// Whether a passage is worth giving.
    pub fn answers(&self, passage: &str, via: Via, cosine: Option<f64>) -> bool {
        self.is_enough(self.words_in(passage), via, cosine)
    }

    fn is_enough(&self, words: f64, via: Via, cosine: Option<f64>) -> bool {
        let more = match via {
            Via::Message => 0.0,
            Via::Machine => MACHINE,
            Via::Summary => INDIRECT,
        };
        words + NEAR * cosine.unwrap_or(0.0).max(0.0) * self.said.min(1.0) >= self.least + more
    }

    /// Returns the sum of the weights of the words that a passage has.
    fn words_in(&self, passage: &str) -> f64 {
        self.weight_of(&self.standing(passage))
    }

    /// Returns for each word of the prompt whether a passage has it.
    pub fn standing(&self, passage: &str) -> Vec<bool> {
        let text = format!(" {} ", letters(passage).trim());
        self.words.iter().map(|word| word.is_in(&text)).collect()
    }

    /// Returns the sum of the weights of these words.
    pub fn weight_of(&self, standing: &[bool]) -> f64 {
        self.words.iter().zip(standing).filter(|(_, stands)| **stands).map(|(word, _)| word.weight).sum()
    }
}

impl Word {
    fn of(term: &Term, low: &str, weight: f64) -> Word {
        let pieces: Vec<&str> = low.split([' ', BREAK]).filter(|piece| !piece.is_empty()).collect();
        let last = pieces.last().map_or(0, |last| last.chars().count());
        let cut: usize = if last <= STEM || term.prefix { last } else { (last - INFLECTED).max(STEM) };
        let mut stem = String::new();
        for (n, piece) in pieces.iter().enumerate() {
            stem.push(' ');
            stem.extend(piece.chars().take(if n + 1 == pieces.len() { cut } else { usize::MAX }));
        }
        // In a script without spaces a word may begin anywhere.
        if low.chars().any(is_unspaced) {
            stem.retain(|c| c != ' ');
        } else if pieces.len() == 1 && last <= SHORT && !term.prefix {
            stem.push(' ');
        }
        let joined = (pieces.len() > 1 && stem.contains(' ')).then(|| format!(" {}", stem.replace(' ', "")));
        Word { term: term.clone(), stem, joined, weight }
    }

    /// Whether the word is in a text of [`letters`] between blanks.
    fn is_in(&self, text: &str) -> bool {
        !self.stem.trim().is_empty() && text.contains(&self.stem)
            || self.joined.as_ref().is_some_and(|joined| text.contains(joined))
    }
}

/// Whether a text asks something: a sentence of it ends in a question mark. A mark inside an address does not count.
fn asks(text: &str) -> bool {
    let mut rest = text.chars().peekable();
    while let Some(c) = rest.next() {
        match c {
            '？' | '؟' => return true,
            '?' if rest.peek().is_none_or(|next| !next.is_alphanumeric()) => return true,
            _ => {}
        }
    }
    false
}
