//! The sentences of a turn, with what can be asked of one: its words, its cues, where its clauses begin.

use std::cell::OnceCell;

use super::blocks::{Block, Under, blocks, ends};
use super::cues::{self, Cue, Hit};
use super::words::{Bag, Word, lower, plain, words};

/// In bytes; what is longer is cut into several.
const LONGEST: usize = 1000;

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
    starts: OnceCell<Vec<(usize, u64)>>,
    /// An item of a list.
    pub bullet: bool,
    /// Ticked, or to be ticked.
    pub ticked: Option<bool>,
    pub under: Under,
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
        let words = words(&low);
        Sentence {
            text,
            low,
            words,
            hits: OnceCell::new(),
            start: OnceCell::new(),
            bag: OnceCell::new(),
            starts: OnceCell::new(),
            bullet: block.bullet,
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

    pub fn words(&self) -> &[Word] {
        &self.words
    }

    pub fn word(&self, at: usize) -> &str {
        self.words.get(at).map_or("", |w| &self.low[w.from as usize..w.to as usize])
    }

    /// The text in lower case.
    pub fn low(&self) -> &str {
        &self.low
    }

    /// Whether one of the phrases (parted by `|`) stands in the sentence as whole words, quoted or not.
    pub fn says(&self, phrases: &'static str) -> bool {
        cues::say(&self.low, self.starts.get_or_init(|| cues::starts(&self.low)), phrases)
    }

    pub fn bag(&self) -> &Bag {
        self.bag.get_or_init(|| Bag::of_words(&self.low, &self.words))
    }

    /// The cues outside quotations, in order.
    pub fn hits(&self) -> &[Hit] {
        self.hits.get_or_init(|| cues::find(self))
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
        let from = self.words.get(at).map_or(0, |w| w.from as usize);
        // Lower case may be of another length; then the whole sentence must do.
        let same = self.low.len() == self.text.len();
        if same { self.text.get(from..).unwrap_or(&self.text) } else { &self.text }
    }

    /// What stands between a word and the one before it.
    fn gap(&self, at: usize) -> &str {
        match (at.checked_sub(1).and_then(|b| self.words.get(b)), self.words.get(at)) {
            (Some(before), Some(word)) => &self.low[before.to as usize..word.from as usize],
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
        let before = self.words.get(at).map_or("", |w| &self.low[..w.from as usize]);
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
    let mut found = Vec::new();
    for part in ends(text) {
        let from = found.len();
        for block in blocks(part) {
            split(&block, &mut found);
        }
        if let Some(last) = found.get(from..).and_then(|f| f.last()).map(|s: &Sentence| s.paragraph) {
            found[from..].iter_mut().for_each(|s| s.last = s.paragraph == last);
        }
    }
    found
}

/// Cuts a block into sentences.
fn split(block: &Block, found: &mut Vec<Sentence>) {
    let text = plain(&block.raw);
    let (mut start, mut first, mut code, mut depth) = (0, true, false, 0_u32);
    let mut at = 0;
    let take = |part: &str, first: &mut bool, found: &mut Vec<Sentence>| {
        let part = part.trim();
        if part.chars().any(char::is_alphanumeric) {
            found.push(Sentence::new(part.to_owned(), block, *first));
            *first = false;
        }
    };
    while at < text.len() {
        // Only marks, and blanks where a sentence has become too long, end one.
        let byte = text.as_bytes()[at];
        if byte.is_ascii()
            && !matches!(byte, b'`' | b'(' | b')' | b'.' | b'!' | b'?')
            && (byte != b' ' || at + 1 - start <= LONGEST)
        {
            at += 1;
            continue;
        }
        let mut chars = text[at..].chars();
        let c = chars.next().unwrap_or(' ');
        let (from, end) = (at, at + c.len_utf8());
        at = end;
        match c {
            '`' => code = !code,
            '(' => depth += 1,
            ')' => depth = depth.saturating_sub(1),
            _ => {}
        }
        let wide = matches!(c, '。' | '！' | '？');
        let stop = matches!(c, '.' | '!' | '?' | '…');
        let long = end - start > LONGEST && c == ' ';
        if long {
            (code, depth) = (false, 0);
        } else if code || depth > 0 || !wide && !stop {
            continue;
        } else if stop {
            let after = chars.next().unwrap_or(' ');
            let closes = matches!(after, '"' | '”' | '»') && text[end + after.len_utf8()..].starts_with([' ']);
            if !after.is_whitespace() && !closes || c == '.' && abbreviates(&text[start..from]) {
                continue;
            }
            if closes {
                at = end + after.len_utf8();
                take(&text[start..at], &mut first, found);
                start = at;
                continue;
            }
        }
        take(&text[start..end], &mut first, found);
        start = end;
    }
    take(&text[start..], &mut first, found);
}

fn abbreviates(before: &str) -> bool {
    let word = before.rsplit([' ', '(']).next().unwrap_or(before).to_lowercase();
    matches!(
        word.as_str(),
        "e.g" | "i.e" | "vs" | "mr" | "mrs" | "ms" | "dr" | "prof" | "z.b" | "d.h" | "u.a" | "bzw" | "ca" | "approx"
            | "incl" | "p.ej" | "sr" | "sra" | "p.ex" | "st" | "nr" | "cf" | "etc" | "usw" | "no" | "fig" | "mio"
    ) && !(word == "no" && before.len() <= 3)
        || word.chars().count() == 1 && word.chars().all(char::is_alphabetic) && word != "i"
        // "am 14. November", "2. do this"
        || (1..=2).contains(&word.len()) && word.bytes().all(|b| b.is_ascii_digit())
}
