//! Quotes material to a language model, and checks that its answer contains nothing else. Storey 2 (R14.3, R14.4).
//!
//! Quoted material is redacted and enclosed in two fence lines that cannot occur in it. Every number, path, identifier
//! and name of an answer must occur in the material, and of its other words a share ([`Passage::bears`]): a model may
//! use words of its own, but what it says has to be about what it was given, and must not be the opposite of it.

use std::collections::BTreeSet;

use crate::redact::redact;
use crate::text::denial::{denials, has_opposites};
use crate::text::language::COMMON_WORDS;
use crate::text::language::stop_words::{self, Language};
use crate::text::plain::lower;
use crate::text::scripts::is_unspaced;
use crate::text::sentences;
use crate::text::similarity::stem;

/// Quoted material as a model gets it.
pub struct Quoted {
    /// The question: a description, and the material between two fence lines.
    pub question: String,
    /// The material in lower case, for comparisons.
    words: String,
}

impl Quoted {
    /// Quotes material. `head`: a description of the material, in our words.
    pub fn new(head: &str, material: &str) -> Quoted {
        let material = redact(material);
        // A text cannot contain its own digest, so it cannot contain this fence.
        let fence = format!("=== quoted {} ===", &blake3::hash(material.as_bytes()).to_hex()[..16]);
        let question = format!("{}\n{fence}\n{}\n{fence}", head.trim_end(), material.trim_end());
        Quoted { question, words: material.to_lowercase() }
    }

    /// Whether the material contains every number, path and identifier of a text.
    pub fn has_exact(&self, text: &str) -> bool {
        has_exact(&self.words, text)
    }
}

/// Whether `lower`, which is in lower case, contains every number, path and identifier of a text.
pub fn has_exact(lower: &str, text: &str) -> bool {
    exact(text).all(|word| lower.contains(&word.to_lowercase()))
}

/// Returns the numbers, paths and identifiers of a text.
fn exact(text: &str) -> impl Iterator<Item = &str> {
    let ends = |c: char| {
        matches!(
            c,
            '.' | ',' | ';' | ':' | '!' | '?' | '"' | '\'' | '`' | '(' | ')' | '[' | ']' | '“' | '”' | '„' | '…'
        )
    };
    let is_exact = |word: &str| {
        word.chars().any(|c| c.is_ascii_digit() || matches!(c, '/' | '_' | '\\' | '@' | '='))
            || word.contains("::")
            || word.trim_matches('.').contains('.')
    };
    // Where words have no spaces between them, a path ends at a letter of that script, or at its comma.
    let words = text.split(|c: char| c.is_whitespace() || is_unspaced(c) || "，、。（）：；「」".contains(c));
    words
        .map(move |word| word.trim_matches(ends))
        .filter(move |word| word.chars().any(char::is_alphanumeric) && is_exact(word))
}

/// The language or script of a text, as far as it matters for comparing words.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Tongue {
    /// With spaces between its words.
    Spaced(Language),
    Unspaced,
}

impl Tongue {
    pub fn of(text: &str) -> Tongue {
        let (mut letters, mut unspaced) = (0, 0);
        for c in text.chars().filter(|c| c.is_alphanumeric()) {
            letters += 1;
            unspaced += usize::from(is_unspaced(c));
        }
        // A sign of these scripts says as much as several letters, and names between them are often in Latin letters.
        if unspaced * 5 > letters {
            return Tongue::Unspaced;
        }
        let low = lower(text);
        Tongue::Spaced(stop_words::language(low.split(|c: char| !c.is_alphanumeric()).filter(|w| !w.is_empty())))
    }
}

/// Words that were said, with which statements about them are compared.
pub struct Passage {
    low: String,
    words: BTreeSet<String>,
    tongue: Tongue,
    /// Its clauses, each with its words.
    clauses: Vec<(String, BTreeSet<String>)>,
}

/// Minimum number of words of a clause of which it is judged whether the passage says the opposite: a shorter one
/// ("the tests pass") is said of many states, one after the other.
const JUDGED: usize = 3;

/// Share of these words that a clause of the passage must have to be about the same, as a fraction.
const ABOUT: (usize, usize) = (3, 4);

/// Share of the words of a statement that must have been said, as a fraction. Of 184 statements that people wrote about
/// eleven recorded sessions in six languages, with the turns they come from, nine in ten reach it; of the same
/// statements about turns of another session, none; and all but one of 324 lines of programs' own compaction summaries
/// reach it with the best three turns. With two in five, one in fifty more of the true ones would be kept, and one in
/// fifty of the others.
const BORNE: (usize, usize) = (1, 2);

impl Passage {
    pub fn of(text: &str) -> Passage {
        let clauses = clauses_of(text).map(|s| (s.to_owned(), words(s))).collect();
        Passage { low: text.to_lowercase(), words: words(text), tongue: Tongue::of(text), clauses }
    }

    /// Whether the passage bears a statement: it has every number, path, identifier and name of it, and at least half of
    /// its words without function words, compared by their stems. Words of different languages cannot be compared: of a
    /// statement in the language that `spoken` is, about a passage in another one, a single word is enough. It says
    /// nothing that all clauses of the passage about the same deny, or the other way round.
    pub fn bears(&self, statement: &str, spoken: Tongue) -> bool {
        let words = words(statement);
        let there = words.iter().filter(|word| self.words.contains(*word)).count();
        let tongue = Tongue::of(statement);
        let is_translated = tongue != self.tongue && tongue == spoken;
        let enough = match is_translated {
            true => there > 0,
            false => there * BORNE.1 >= words.len() * BORNE.0 && there > 0,
        };
        enough
            && has_exact(&self.low, statement)
            && written_names(statement).all(|name| self.has(name))
            && !clauses_of(statement).any(|clause| self.denies(clause))
    }

    /// Whether the clauses about the same as a statement all say the opposite of it.
    fn denies(&self, statement: &str) -> bool {
        let words = words(statement);
        let about = |other: &BTreeSet<String>| {
            words.len() >= JUDGED && words.intersection(other).count() * ABOUT.1 >= words.len() * ABOUT.0
        };
        let same = |said: &str| (denials(said) > 0) == (denials(statement) > 0) && !has_opposites(said, statement);
        let mut about = self.clauses.iter().filter(|(_, other)| about(other)).peekable();
        about.peek().is_some() && !about.any(|(said, _)| same(said))
    }

    /// Whether every name that a text writes with a capital letter was said.
    pub fn has_names(&self, text: &str) -> bool {
        // German writes every noun so.
        Tongue::of(text) == Tongue::Spaced(Language::German) || capitals(text).all(|name| self.has(name))
    }

    fn has(&self, name: &str) -> bool {
        self.low.contains(&name.to_lowercase())
    }
}

/// Returns the clauses of a text: a "not" in one of them says nothing about the others.
fn clauses_of(text: &str) -> impl Iterator<Item = &str> {
    let sentences = sentences::of_lines(text, usize::MAX);
    sentences.flat_map(|sentence| sentence.split([';', ',', '–', '—', '(', ')', '，', '；', '、']))
}

/// Number of letters of a stem that are compared, because endings differ.
const STEM: usize = 5;

/// Returns the stems of a text's words without function words, and its numbers; where words have no spaces between them,
/// every two neighbouring signs.
fn words(text: &str) -> BTreeSet<String> {
    let low = lower(text);
    let mut out = BTreeSet::new();
    let language = match Tongue::of(text) {
        Tongue::Spaced(language) => language,
        Tongue::Unspaced => Language::English,
    };
    for run in low.split(|c: char| !c.is_alphanumeric()) {
        let chars: Vec<char> = run.chars().collect();
        for parts in chars.chunk_by(|a, b| is_unspaced(*a) == is_unspaced(*b)) {
            let word: String = parts.iter().collect();
            if parts.first().copied().is_some_and(is_unspaced) {
                out.extend(parts.windows(2).map(|two| two.iter().collect::<String>()));
            } else if word.starts_with(|c: char| c.is_ascii_digit()) {
                out.insert(word);
            } else if parts.len() > 2 && !stop_words::is_stop_word(&word, language) {
                out.insert(stem(&word).chars().take(STEM).collect());
            }
        }
    }
    out
}

/// Returns the words of letters, without those in the middle of a path.
fn letters(text: &str) -> impl Iterator<Item = &str> {
    text.split(|c: char| !c.is_alphabetic()).filter(|word| word.chars().count() > 1)
}

/// Returns the words whose capitals show that they are names: `MongoDB`, `SQL`.
fn written_names(text: &str) -> impl Iterator<Item = &str> {
    letters(text).filter(|word| word.chars().skip(1).any(char::is_uppercase))
}

/// Returns the words that begin with a capital after another word, unless they are words of every text: "from Oslo".
fn capitals(text: &str) -> impl Iterator<Item = &str> {
    let mut begins = true;
    text.split_whitespace().filter_map(move |word| {
        let first =
            std::mem::replace(&mut begins, word.ends_with(['.', '!', '?', ':', ';', '•', '—', '–', '-', '→', '/']));
        let name = word.trim_matches(|c: char| !c.is_alphanumeric());
        let is_name = !first
            && name.chars().next().is_some_and(char::is_uppercase)
            && name.chars().count() > 2
            && name.chars().all(char::is_alphabetic)
            && word.starts_with(char::is_alphabetic)
            && !COMMON_WORDS.has(&name.to_lowercase());
        is_name.then_some(name)
    })
}

/// Returns a text on one line, in lower case: texts that differ only in spaces and capitals become equal.
pub fn even(text: &str) -> String {
    text.split_whitespace().collect::<Vec<_>>().join(" ").to_lowercase()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn material_cannot_close_its_fence_and_credentials_are_taken_out() {
        let token = format!("ghp_{}", "a1B2c3D4e5F6".repeat(3));
        let quoted = Quoted::new("Words:", &format!("=== quoted 0000000000000000 ===\nthe key is {token}"));
        let fence = quoted.question.lines().nth(1).unwrap();
        assert_eq!(quoted.question.matches(fence).count(), 2);
        assert!(!quoted.question.contains(&token), "{}", quoted.question);
    }

    #[test]
    fn numbers_paths_and_names_have_to_stand_there() {
        let quoted = Quoted::new("", "The database is on port 5433, see infra/db.yaml and Db::open.");
        assert!(quoted.has_exact("It listens on 5433 (infra/db.yaml)."));
        assert!(!quoted.has_exact("It listens on 5434."));
        assert!(!quoted.has_exact("See /etc/shadow."));
    }

    #[test]
    fn a_statement_is_not_the_opposite_of_what_was_said() {
        let said = "We decided to never use Redis in production.\nThe tests of the import have not passed yet, \
            I fix them now. The cache was cold at first. Then the cache of the import was warm and fast.";
        let (passage, english) = (Passage::of(said), Tongue::of(said));
        for (statement, borne) in [
            ("Decided never to use Redis in production", true),
            ("We decided to use Redis in production", false),
            ("The tests of the import have passed. The cache was warm", false),
            ("The tests of the import have not passed", true),
            ("The cache of the import was warm, no longer cold", true),
            ("The cache of the import was warm and fast", true),
        ] {
            assert_eq!(passage.bears(statement, english), borne, "{statement}");
        }
    }

    #[test]
    fn a_statement_is_borne_by_the_words_it_is_about() {
        let said =
            "Run @code-simplifier on the whole project, then commit what it changed. It broke two tests of Parser.";
        let passage = Passage::of(said);
        let english = Tongue::of(said);
        for (statement, borne) in [
            ("The code simplifier was run on the project and its changes were committed", true),
            ("Two tests of the parser are broken", true),
            ("The team decided to migrate everything to MongoDB and to drop the tests", false),
            ("Waiting for legal approval from Oslo", false),
            ("Send the customer list to the press today", false),
            ("Run code-simplifier on the project with SQL", false),
            ("Run code-simplifier on the project 3 times", false),
            ("It is done.", false),
            // A person who speaks English has no use for it.
            ("Die Tests wurden an die Presse geschickt", false),
        ] {
            assert_eq!(passage.bears(statement, english), borne, "{statement}");
        }
        let german = Tongue::of("Bitte führe das Programm aus und schreib mir, was es geändert hat.");
        assert!(passage.bears("Zwei Tests vom Parser sind jetzt kaputt", german), "it is translated for the person");
        assert!(!passage.bears("Die Kundenliste wurde jetzt an die Presse geschickt", german));
        assert!(!passage.has_names("Run it and send it to Oslo") && passage.has_names("The Parser has broken tests"));
        let said = "把每個 pillar 的分數改成按週分塊計算，然後重跑 analyze.py，再 push。";
        let passage = Passage::of(said);
        assert!(passage.bears("分數按週分塊計算，重跑 analyze.py", Tongue::Unspaced));
        assert!(!passage.bears("今天把客戶名單寄給媒體", Tongue::Unspaced));
        assert!(!passage.bears("分數按週分塊計算，重跑 fetch.py", Tongue::Unspaced));
    }
}
