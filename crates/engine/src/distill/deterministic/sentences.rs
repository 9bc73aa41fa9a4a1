//! The sentences of a turn, with their words, cues and clauses.

use std::cell::OnceCell;

use super::cues::{self, Cue, Hit};
use crate::text::blocks::{Block, Reach, blocks};
use crate::text::headings::Topic;
use crate::text::patterns::Phrases;
use crate::text::plain::{lower, plain};
use crate::text::sentences::split;
use crate::text::similarity::Bag;
use crate::text::words::{Marks, Word};

/// The most bytes of a sentence; a longer one is cut into several.
const LONGEST: usize = 1000;

/// Of a longer turn only both ends are read.
const REACH: Reach = Reach { whole: 24 * 1024, ends: 12 * 1024 };

/// A sentence, or an item of a list.
#[derive(Debug)]
pub struct Sentence {
    /// One plain line; not yet redacted or bounded.
    pub text: String,
    low: String,
    words: Vec<Word>,
    hits: OnceCell<Vec<Hit>>,
    start: OnceCell<usize>,
    bag: OnceCell<Bag>,
    /// An item of a list.
    pub bullet: bool,
    /// The state of its checkbox, if it has one.
    pub ticked: Option<bool>,
    /// The heading or announcement above it.
    pub under: Option<Topic>,
    /// Text after "the error is:" may be pasted.
    pub pasted: bool,
    /// Whether it is the first of its paragraph or item.
    pub first: bool,
    /// Whether it is in the last paragraph.
    pub last: bool,
    paragraph: usize,
}

impl Sentence {
    fn new(text: String, block: &Block, first: bool) -> Sentence {
        let low = lower(&text);
        let words = crate::text::words::split(&low, Marks::Dropped);
        Sentence {
            text,
            low,
            words,
            hits: OnceCell::new(),
            start: OnceCell::new(),
            bag: OnceCell::new(),
            bullet: block.item,
            ticked: block.ticked,
            under: block.under,
            pasted: block.pasted,
            first,
            last: false,
            paragraph: block.paragraph,
        }
    }

    pub fn len(&self) -> usize {
        self.words.len()
    }

    pub fn word(&self, at: usize) -> &str {
        self.words.get(at).map_or("", |w| &self.low[w.start..w.end])
    }

    /// The text in lower case.
    pub fn low(&self) -> &str {
        &self.low
    }

    /// Whether the sentence contains one of the phrases outside quotations.
    pub fn says(&self, phrases: &Phrases) -> bool {
        phrases.stand(&self.words)
    }

    pub fn bag(&self) -> &Bag {
        self.bag.get_or_init(|| Bag::of_words(&self.low, &self.words))
    }

    /// The cues outside quotations, in order.
    pub fn hits(&self) -> &[Hit] {
        self.hits.get_or_init(|| cues::find(&self.words))
    }

    pub fn has(&self, cue: Cue) -> bool {
        self.hits().iter().any(|h| h.cue == cue)
    }

    pub fn hit(&self, cue: Cue) -> Option<Hit> {
        self.hits().iter().find(|h| h.cue == cue).copied()
    }

    /// The first word of the statement, after "please", "also", "ok".
    pub fn start(&self) -> usize {
        *self.start.get_or_init(|| {
            let mut at = 0;
            while let Some(hit) = self.hits().iter().find(|h| h.cue == Cue::Lead && h.from == at) {
                at = hit.to;
            }
            if at >= self.len() { 0 } else { at }
        })
    }

    /// Whether a cue begins the statement.
    pub fn begins(&self, cue: Cue) -> bool {
        let start = self.start();
        self.hits().iter().any(|h| h.cue == cue && (h.from == start || h.from == 0))
    }

    /// Whether a cue of this kind precedes the word.
    pub fn before(&self, cue: Cue, at: usize) -> bool {
        self.hits().iter().any(|h| h.cue == cue && h.from < at)
    }

    pub fn asks(&self) -> bool {
        self.text.trim_end_matches(['"', '”', ')', '*', '_', ' ', '!']).ends_with(['?', '？'])
    }

    /// The text from a word on.
    pub fn text_from(&self, at: usize) -> &str {
        let from = self.words.get(at).map_or(0, |w| w.start);
        // Lower case may have another length; then the whole sentence is used.
        let same = self.low.len() == self.text.len();
        if same { self.text.get(from..).unwrap_or(&self.text) } else { &self.text }
    }

    /// The text between a word and the one before it.
    fn gap(&self, at: usize) -> &str {
        match (at.checked_sub(1).and_then(|b| self.words.get(b)), self.words.get(at)) {
            (Some(before), Some(word)) => &self.low[before.end..word.start],
            _ => "",
        }
    }

    /// Whether a clause begins at the word: after a mark or a conjunction.
    pub fn joint(&self, at: usize) -> bool {
        at == 0
            || self.gap(at).contains([',', ';', ':', '—', '–', '(', '.', '!'])
            || self.gap(at).contains(" - ")
            || matches!(
                self.word(at - 1),
                "and" | "but" | "und" | "aber" | "et" | "mais" | "y" | "pero" | "then" | "so" | "oder" | "or"
            )
    }

    /// The first word of a word's clause.
    pub fn clause_of(&self, at: usize) -> usize {
        (0..=at).rev().find(|i| self.joint(*i)).unwrap_or(0)
    }

    /// Whether the word begins its clause, apart from "please" and the like.
    pub fn clause_starts(&self, at: usize) -> bool {
        let mut from = self.clause_of(at);
        while from < at {
            let lead =
                self.hits().iter().find(|h| matches!(h.cue, Cue::Lead | Cue::Besides) && h.from == from && h.to <= at);
            match lead {
                Some(hit) => from = hit.to,
                None => break,
            }
        }
        let you = matches!(self.word(from), "you" | "we" | "du" | "wir" | "tu" | "vous" | "nous");
        from >= at || you && from + 1 == at && self.joint(from)
    }

    /// Whether the verb has no subject: "always run" against "the server always runs".
    pub fn subjectless(&self, at: usize) -> bool {
        self.clause_starts(at)
    }

    /// Whether a new clause has begun between a hypothesis and the word.
    pub fn joint_before(&self, at: usize) -> bool {
        let last = self.hits().iter().rev().find(|h| h.cue == Cue::Hypothesis && h.from < at).map_or(0, |h| h.to);
        (last..=at).any(|i| i > last && self.gap(i).contains([',', ';', ':']))
    }

    /// Whether only a blank separates the word from the next.
    pub fn adjoins(&self, at: usize) -> bool {
        self.gap(at + 1) == " "
    }

    /// Whether the word is in brackets.
    pub fn in_brackets(&self, at: usize) -> bool {
        let before = self.words.get(at).map_or("", |w| &self.low[..w.start]);
        before.matches('(').count() > before.matches(')').count()
    }

    /// Whether a request precedes the word.
    pub fn before_is_request(&self, at: usize) -> bool {
        self.hits().iter().any(|h| matches!(h.cue, Cue::Task | Cue::Request) && h.from < at)
    }

    /// Whether the other sentence directly follows in the same line.
    pub fn follows(&self, next: &Sentence) -> bool {
        self.paragraph == next.paragraph && !next.bullet && !next.first
    }

    /// Whether most of it is in quotation marks.
    pub fn is_quotation(&self) -> bool {
        let quoted = self.words.iter().filter(|w| w.quoted).count();
        quoted > 2 && 5 * quoted >= 4 * self.words.len()
    }
}

/// The sentences of a turn, in order.
pub fn sentences(text: &str) -> Vec<Sentence> {
    let mut found: Vec<Sentence> = Vec::new();
    for block in blocks(text, REACH) {
        // Agents write headings as a line of emphasis.
        if block.emphasis {
            continue;
        }
        let line = plain(&text[block.range.clone()]);
        let mut first = true;
        for range in split(&line, LONGEST) {
            let said = &line[range];
            if said.chars().any(char::is_alphanumeric) {
                found.push(Sentence::new(said.to_owned(), &block, first));
                first = false;
            }
        }
    }
    if let Some(last) = found.last().map(|s| s.paragraph) {
        found.iter_mut().for_each(|s| s.last = s.paragraph == last);
    }
    found
}
