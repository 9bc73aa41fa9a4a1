//! The sentences of a turn, with what can be asked of one: its words, its cues, where its clauses begin.

use std::cell::OnceCell;

use super::cues::{self, Cue, Hit};
use crate::text::blocks::{Block, Reach, blocks};
use crate::text::headings::Topic;
use crate::text::patterns::Phrases;
use crate::text::plain::{lower, plain};
use crate::text::sentences::split;
use crate::text::similarity::Bag;
use crate::text::words::{Marks, Word};

/// In bytes; what is longer is cut into several.
const LONGEST: usize = 1000;

/// Of a longer turn both ends are read.
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
    /// Ticked, or to be ticked.
    pub ticked: Option<bool>,
    /// The heading or announcement it stands under.
    pub under: Option<Topic>,
    /// What stands behind "the error is:" may be somebody else's.
    pub pasted: bool,
    /// The first of its paragraph or item.
    pub first: bool,
    /// Of the last paragraph.
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

    /// Whether one of the phrases stands in the sentence, outside quotations.
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

    /// Where the statement begins, behind "please", "also", "ok".
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

    /// Whether a cue of that kind stands before the word.
    pub fn before(&self, cue: Cue, at: usize) -> bool {
        self.hits().iter().any(|h| h.cue == cue && h.from < at)
    }

    pub fn asks(&self) -> bool {
        self.text.trim_end_matches(['"', '”', ')', '*', '_', ' ', '!']).ends_with(['?', '？'])
    }

    /// The text from a word on.
    pub fn text_from(&self, at: usize) -> &str {
        let from = self.words.get(at).map_or(0, |w| w.start);
        // Lower case may be of another length; then the whole sentence must do.
        let same = self.low.len() == self.text.len();
        if same { self.text.get(from..).unwrap_or(&self.text) } else { &self.text }
    }

    /// What stands between a word and the one before it.
    fn gap(&self, at: usize) -> &str {
        match (at.checked_sub(1).and_then(|b| self.words.get(b)), self.words.get(at)) {
            (Some(before), Some(word)) => &self.low[before.end..word.start],
            _ => "",
        }
    }

    /// Whether a clause begins at the word: behind a mark or a conjunction.
    pub fn joint(&self, at: usize) -> bool {
        at == 0
            || self.gap(at).contains([',', ';', ':', '—', '–', '(', '.', '!'])
            || self.gap(at).contains(" - ")
            || matches!(
                self.word(at - 1),
                "and" | "but" | "und" | "aber" | "et" | "mais" | "y" | "pero" | "then" | "so" | "oder" | "or"
            )
    }

    /// Where the clause of a word begins.
    pub fn clause_of(&self, at: usize) -> usize {
        (0..=at).rev().find(|i| self.joint(*i)).unwrap_or(0)
    }

    /// Whether the word begins its clause, but for "please" and the like.
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

    /// Whether nobody else is said to do it: "always run" against "the server always runs".
    pub fn subjectless(&self, at: usize) -> bool {
        self.clause_starts(at)
    }

    /// Whether a new clause has begun since the supposition before the word.
    pub fn joint_before(&self, at: usize) -> bool {
        let last = self.hits().iter().rev().find(|h| h.cue == Cue::Hypothesis && h.from < at).map_or(0, |h| h.to);
        (last..=at).any(|i| i > last && self.gap(i).contains([',', ';', ':']))
    }

    /// Whether the word is followed by another with nothing but a blank between.
    pub fn adjoins(&self, at: usize) -> bool {
        self.gap(at + 1) == " "
    }

    /// Whether the word stands in brackets.
    pub fn in_brackets(&self, at: usize) -> bool {
        let before = self.words.get(at).map_or("", |w| &self.low[..w.start]);
        before.matches('(').count() > before.matches(')').count()
    }

    /// Whether something is asked for before the word.
    pub fn before_is_request(&self, at: usize) -> bool {
        self.hits().iter().any(|h| matches!(h.cue, Cue::Task | Cue::Request) && h.from < at)
    }

    /// Whether the other sentence stands right behind in the same paragraph line.
    pub fn follows(&self, next: &Sentence) -> bool {
        self.paragraph == next.paragraph && !next.bullet && !next.first
    }

    /// Most of it is in quotation marks.
    pub fn is_quotation(&self) -> bool {
        let quoted = self.words.iter().filter(|w| w.quoted).count();
        quoted > 2 && 5 * quoted >= 4 * self.words.len()
    }
}

/// The sentences of a turn, in order.
pub fn sentences(text: &str) -> Vec<Sentence> {
    let mut found: Vec<Sentence> = Vec::new();
    for block in blocks(text, REACH) {
        // A line of emphasis alone is a heading here: agents write so.
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
