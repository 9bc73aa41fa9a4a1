//! Judges the importance and the category of messages by words (R11.2). Pure; the lists are `words.txt`.
//!
//! A short message can only be sentiment or acknowledgment. A word does not count if one of the three words before it
//! negates it: "not great" is no praise. Whole words are compared: "bright" does not contain "right". A longer message
//! without a listed word is judged by the shape of its sentences ([`super::shape`]).

use std::sync::LazyLock;

use super::shape::shape;
use crate::scope::named;
use crate::text::blocks::{Reach, blocks};
use crate::text::language::section;
use crate::text::patterns::Phrases;
use crate::text::words::{Marks, Word, split};

const LISTS: &str = include_str!("words.txt");

/// Number of characters below which a message can only be sentiment or acknowledgment.
pub const SHORT: usize = 50;

/// Number of words before a word in which a negation is looked for.
const WINDOW: usize = 3;

/// Number of words of a clause behind which no word of assent counts.
const ASSENT: usize = 3;

/// Maximum size of a message that is read whole, and of either end that is read of a longer one, in bytes.
const REACH: Reach = Reach { whole: 6_000, ends: 2_000 };

named! {
    /// The category of a message.
    pub enum Category {
        Decision = "decision",
        Discovery = "discovery",
        Implementation = "implementation",
        Issue = "issue",
        Success = "success",
        Feeling = "feeling",
        Philosophy = "philosophy",
        Sentiment = "sentiment",
        Acknowledgment = "acknowledgment",
    }
}

/// The importance of each category, from 1 to 10, and the importance from which a chunk is kept in front.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Weights {
    /// Importance, in the order of [`Category::ALL`].
    pub importance: [u8; 9],
    /// Minimum importance of a chunk that is kept in front, for each category in the same order.
    pub keep: [u8; 9],
    /// Minimum importance of a chunk without a category that is kept in front.
    pub keep_plain: u8,
}

impl Default for Weights {
    /// The default importance is 5 for acknowledgment and 6 to 8 for the others; chunks are kept in front from 5 on.
    fn default() -> Weights {
        Weights { importance: [8, 7, 6, 7, 6, 6, 6, 6, 5], keep: [5; 9], keep_plain: 5 }
    }
}

impl Weights {
    pub fn of(&self, category: Category) -> u8 {
        self.importance[category as usize]
    }

    /// Returns the minimum importance of a chunk that is kept in front.
    pub fn keep_of(&self, category: Option<Category>) -> u8 {
        category.map_or(self.keep_plain, |c| self.keep[c as usize])
    }

    /// Adjusts an importance that was judged without these settings, by as much as the settings differ from the
    /// defaults for its category.
    pub fn leaning(&self, category: Category, importance: u8) -> u8 {
        let usual = Weights::default().of(category);
        (importance + self.of(category)).saturating_sub(usual).clamp(1, 10)
    }
}

/// The verdict on a message, or on a chunk.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Verdict {
    /// `None`: no list contains a word of it.
    pub category: Option<Category>,
    /// From 1 to 10.
    pub importance: u8,
    /// The words that decided it, as written.
    pub words: Vec<String>,
}

/// Importance of a message without a category: a longer one, and a short one.
const PLAIN: u8 = 3;
const TRIVIAL: u8 = 1;

/// Order of the categories if a message has equally many words of two: a solved problem is a success.
const TIED: [Category; 9] = [
    Category::Decision,
    Category::Discovery,
    Category::Success,
    Category::Issue,
    Category::Implementation,
    Category::Feeling,
    Category::Philosophy,
    Category::Sentiment,
    Category::Acknowledgment,
];

/// The word lists, in the order of [`Category::ALL`].
static LISTED: LazyLock<Vec<Phrases>> =
    LazyLock::new(|| Category::ALL.iter().map(|c| Phrases::of(section(LISTS, c.name()))).collect());
static NEGATIONS: LazyLock<Phrases> = LazyLock::new(|| Phrases::of(section(LISTS, "negations")));

/// The verdict on a message with its parts: the importance is `base` and `more`, from 1 to 10.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Explained {
    pub verdict: Verdict,
    /// Importance of its category by the settings, or of a message without one.
    pub base: u8,
    /// Points that further words of the category add to the base.
    pub more: u8,
    /// Whether the message is short, so that only sentiment and acknowledgment count.
    pub short: bool,
    /// All words that are in a list, by category.
    pub found: Vec<(Category, Vec<String>)>,
}

/// Judges one message.
pub fn message(text: &str, weights: &Weights) -> Verdict {
    explained(text, weights).verdict
}

/// Judges one message and returns the parts of its importance.
pub fn explained(text: &str, weights: &Weights) -> Explained {
    let short = text.trim().chars().count() < SHORT;
    let mut hits: Vec<Vec<String>> = vec![Vec::new(); Category::ALL.len()];
    for block in blocks(text, REACH) {
        if block.pasted || block.document {
            continue;
        }
        let said = &text[block.range.clone()];
        let all: Vec<Word> = split(said, Marks::Kept);
        let plain: Vec<Word> = all.iter().filter(|w| w.word).copied().collect();
        for at in 0..plain.len() {
            for category in Category::ALL {
                let list = &LISTED[category as usize];
                let Some(taken) = list.begin(&plain[at..]).map(|(_, taken)| taken).max() else { continue };
                if is_denied(said, &plain, at, &all) && !denies_itself(&plain[at..at + taken]) {
                    continue;
                }
                // "Exactly!" agrees, "at exactly two gigabytes" does not: assent stands at the beginning of a clause.
                if category == Category::Acknowledgment && words_before(said, &plain, at, &all) >= ASSENT {
                    continue;
                }
                let word = said[plain[at].start..plain[at + taken - 1].end].to_lowercase();
                let found = &mut hits[category as usize];
                if !found.contains(&word) {
                    found.push(word);
                }
            }
        }
    }
    let counts = |c: Category| !short || matches!(c, Category::Sentiment | Category::Acknowledgment);
    let lesser = |c: Category| matches!(c, Category::Sentiment | Category::Acknowledgment);
    // The category with the most words wins, whatever its place in the list; praise beside other words counts one less.
    let strength =
        |c: Category| hits[c as usize].len() * 2 - usize::from(lesser(c) && !short && !hits[c as usize].is_empty());
    let best = Category::ALL.into_iter().filter(|c| counts(*c) && !hits[*c as usize].is_empty());
    let rank = |c: Category| TIED.iter().position(|t| *t == c);
    let best = best.max_by_key(|c| (strength(*c), std::cmp::Reverse(rank(*c))));
    let found = |hits: &[Vec<String>]| {
        let words = Category::ALL.into_iter().map(|c| (c, hits[c as usize].clone()));
        words.filter(|(_, words)| !words.is_empty()).collect()
    };
    if best.is_none() && !short {
        let plain = blocks(text, REACH).into_iter().filter(|b| !b.pasted && !b.document);
        let shaped = plain.map(|b| b.range).find_map(|range| shape(&text[range]));
        if let Some((category, words)) = shaped {
            let base = weights.of(category);
            let verdict = Verdict { category: Some(category), importance: base, words: vec![words] };
            return Explained { verdict, base, more: 0, short, found: found(&hits) };
        }
    }
    let Some(category) = best else {
        let base = if short { TRIVIAL } else { PLAIN };
        let verdict = Verdict { importance: base, ..Verdict::default() };
        return Explained { verdict, base, more: 0, short, found: found(&hits) };
    };
    let (found, words) = (found(&hits), hits.swap_remove(category as usize));
    let (base, more) = (weights.of(category), (words.len() - 1).min(2) as u8);
    let verdict = Verdict { category: Some(category), importance: (base + more).clamp(1, 10), words };
    Explained { verdict, base, more, short, found }
}

/// Returns the number of words of the same clause before a word.
fn words_before(text: &str, plain: &[Word], at: usize, all: &[Word]) -> usize {
    let from = clause_of(text, plain, at, all);
    plain[..at].iter().rev().take_while(|w| w.start >= from).count()
}

/// Returns where the clause of a word begins.
fn clause_of(text: &str, plain: &[Word], at: usize, all: &[Word]) -> usize {
    let start = plain[at].start;
    let clause = all.iter().filter(|w| !w.word && w.start < start && ",;:.!?".contains(&text[w.start..w.end]));
    clause.map(|w| w.end).max().unwrap_or(0)
}

/// Whether one of the three words before a word negates it, in the same clause.
fn is_denied(text: &str, plain: &[Word], at: usize, all: &[Word]) -> bool {
    let from = clause_of(text, plain, at, all);
    let before = plain[at.saturating_sub(WINDOW)..at].iter().filter(|w| w.start >= from);
    before.copied().any(|w| NEGATIONS.begin(&[w]).next().is_some())
}

/// Whether a phrase contains its own "not": "does not work".
fn denies_itself(phrase: &[Word]) -> bool {
    phrase.iter().any(|w| NEGATIONS.begin(&[*w]).next().is_some())
}

/// Returns the rank of a message in its chunk: the last of those with the highest decides.
pub fn rank(verdict: &Verdict) -> (u8, bool) {
    (verdict.importance, verdict.category.is_some())
}

/// Judges a chunk of messages: its most important message decides.
pub fn chunk<'m>(messages: impl IntoIterator<Item = &'m str>, weights: &Weights) -> Verdict {
    let verdicts = messages.into_iter().map(|text| message(text, weights));
    verdicts.max_by_key(rank).unwrap_or(Verdict { importance: TRIVIAL, ..Verdict::default() })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(text: &str) -> String {
        let v = message(text, &Weights::default());
        format!("{} {}", v.category.map_or("-", Category::name), v.importance)
    }

    #[test]
    fn words_count_as_words_and_a_no_counts() {
        assert_eq!(of("Exactly right!"), "acknowledgment 6");
        assert_eq!(of("You're amazing Frank!"), "sentiment 6");
        assert_eq!(of("ok hmm"), "acknowledgment 5");
        assert_eq!(of("hmm"), "- 1");
        assert_eq!(of("bright light"), "- 1", "right stands in bright");
        assert_eq!(of("not great"), "- 1");
        assert_eq!(of("We decided to drop Redis and keep the queue in Postgres."), "decision 8");
        assert_eq!(of("It does not work on the second machine, whatever I try with it."), "issue 7");
        assert_eq!(of("There is no problem at all with the way it is laid out here today."), "- 3");
        assert_eq!(of("Das funktioniert nicht, sobald die zweite Maschine dazukommt."), "issue 7");
    }

    #[test]
    fn the_most_important_message_of_a_chunk_decides() {
        let verdict =
            chunk(["ok", "We decided to drop Redis and keep the queue in Postgres.", "hm"], &Weights::default());
        assert_eq!(verdict.category, Some(Category::Decision));
        assert_eq!(chunk([], &Weights::default()).importance, TRIVIAL);
    }

    /// Tests four hundred sentences written for this test, by category.
    #[test]
    fn labelled_statements_are_told_apart() {
        let mut table: Vec<(usize, usize, usize)> = vec![(0, 0, 0); Category::ALL.len() + 1];
        let (mut right, mut all, mut wrong) = (0, 0, Vec::new());
        let no = |name: &str| Category::named(name).map_or(Category::ALL.len(), |c| c as usize);
        for line in include_str!("labelled.txt").lines().filter(|l| !l.starts_with('#') && !l.is_empty()) {
            let (label, text) = line.split_once(" | ").expect(line);
            assert!(label == "none" || Category::named(label).is_some(), "{line}");
            let found = message(text, &Weights::default()).category.map_or("none", Category::name);
            all += 1;
            table[no(label)].0 += 1;
            table[no(found)].1 += 1;
            if found == label {
                right += 1;
                table[no(label)].2 += 1;
            } else {
                wrong.push(format!("{label} as {found}: {text}"));
            }
        }
        println!("{right} of {all}\n{wrong:#?}");
        for (at, (labelled, found, both)) in table.iter().enumerate() {
            let name = Category::ALL.get(at).map_or("none", |c| c.name());
            let share = |of: usize| *both as f64 / of.max(1) as f64;
            println!("{name:<15} {labelled:>3} recall {:.2} precision {:.2}", share(*labelled), share(*found));
            assert!(share(*labelled) >= 0.7 && share(*found) >= 0.7, "{name}: {wrong:#?}");
        }
        assert!(all >= 420 && right as f64 >= 0.8 * all as f64, "{right} of {all}: {wrong:#?}");
    }
}
