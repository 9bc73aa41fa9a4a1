//! WordPiece tokenisation as in BERT's uncased models: splits text into words, and words into the longest pieces of a
//! vocabulary.
//!
//! Control and format characters are dropped, accents stripped (canonical decomposition without its marks), letters
//! lower-cased; white space separates words; each punctuation character and each CJK ideograph is a word of its own.
//! BERT strips only non-spacing marks; here spacing marks are stripped, too: they belong to scripts whose words the
//! vocabularies do not contain in either form.

mod classes;

use unicode_normalization::char::{decompose_canonical, is_combining_mark};

/// The longest word, in characters, that is looked up, as in BERT: longer ones count as unknown.
const LONGEST_WORD: usize = 100;

/// A vocabulary of word pieces.
pub trait Pieces {
    /// Returns the longest piece that `word` begins with, as its length in bytes and its number; `continuing` if the
    /// piece follows another one of the same word (written with `##`). It must end on a character boundary.
    fn longest(&self, word: &str, continuing: bool) -> Option<(usize, u32)>;
}

/// Calls `each` with the pieces of every word of `text`, in order; `None` for a word that the pieces do not cover.
///
/// Time is linear in the text; memory is that of one word.
pub fn words(text: &str, pieces: &impl Pieces, mut each: impl FnMut(Option<&[u32]>)) {
    let mut word = Word::default();
    for c in text.chars() {
        if c.is_ascii_alphanumeric() {
            word.push(c.to_ascii_lowercase());
        } else if c == ' ' || c == '\t' || c == '\n' || c == '\r' {
            word.end(pieces, &mut each);
        } else if c.is_ascii() {
            if c.is_ascii_punctuation() {
                word.alone(c, pieces, &mut each);
            }
        } else if classes::ideograph(c) {
            word.end(pieces, &mut each);
            decompose_canonical(c, |c| word.push(c));
            word.end(pieces, &mut each);
        } else if c.is_whitespace() && !c.is_control() {
            word.end(pieces, &mut each);
        } else if !classes::dropped(c) {
            decompose_canonical(c, |c| {
                if is_combining_mark(c) && !classes::enclosing(c) {
                } else if classes::punctuation(c) {
                    word.alone(c, pieces, &mut each);
                } else {
                    c.to_lowercase().for_each(|c| word.push(c));
                }
            });
        }
    }
    word.end(pieces, &mut each);
}

/// The word being read.
#[derive(Default)]
struct Word {
    text: String,
    characters: usize,
    found: Vec<u32>,
}

impl Word {
    fn push(&mut self, c: char) {
        self.characters += 1;
        if self.characters <= LONGEST_WORD {
            self.text.push(c);
        }
    }

    /// Treats `c` as a word of its own, which also ends the word before it.
    fn alone(&mut self, c: char, pieces: &impl Pieces, each: &mut impl FnMut(Option<&[u32]>)) {
        self.end(pieces, each);
        self.push(c);
        self.end(pieces, each);
    }

    fn end(&mut self, pieces: &impl Pieces, each: &mut impl FnMut(Option<&[u32]>)) {
        if self.characters > 0 {
            let known = self.characters <= LONGEST_WORD && self.split(pieces);
            each(known.then_some(&self.found));
            self.text.clear();
            self.characters = 0;
        }
    }

    /// Whether pieces cover the word; if so, they are in `found`.
    fn split(&mut self, pieces: &impl Pieces) -> bool {
        self.found.clear();
        let mut rest = self.text.as_str();
        while !rest.is_empty() {
            let Some((length, piece)) = pieces.longest(rest, !self.found.is_empty()) else { return false };
            self.found.push(piece);
            rest = &rest[length..];
        }
        true
    }
}
