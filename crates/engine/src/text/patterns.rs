//! Lists of words and of phrases, each compiled once. Most words are in no list, which a check of one bit shows.
//!
//! A pattern is a sequence of words with one blank between them: `a|b` matches either, `a?` is optional; punctuation
//! marks match themselves if the text was split with them. Patterns of a list are separated by ` / ` or by lines. Words
//! are compared by their hashes: 64 bits do not collide among a few thousand. Quoted words match no pattern.

use std::borrow::Borrow;

use super::words::{Marks, Word, split};

/// Returns the FNV-1a hash of a word.
pub fn hash(word: &str) -> u64 {
    word.bytes().fold(0xcbf2_9ce4_8422_2325_u64, |h, b| (h ^ u64::from(b)).wrapping_mul(0x0100_0000_01b3))
}

/// A bit filter for a set of hashes, with sixteen bits for each.
struct Sieve {
    bits: Box<[u64]>,
    /// The shift that reduces a mixed hash to the number of its bit.
    shift: u32,
}

impl Sieve {
    fn of(hashes: &[u64]) -> Sieve {
        let size = (hashes.len() * 16).next_power_of_two().max(64);
        let shift = 64 - size.trailing_zeros();
        let mut sieve = Sieve { bits: vec![0; size / 64].into(), shift };
        for hash in hashes {
            let (at, bit) = sieve.place(*hash);
            sieve.bits[at] |= bit;
        }
        sieve
    }

    fn place(&self, hash: u64) -> (usize, u64) {
        // FNV mixes upwards: the high bits of a product are the most random.
        let number = hash.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> self.shift;
        ((number >> 6) as usize, 1 << (number & 63))
    }

    fn may_have(&self, hash: u64) -> bool {
        let (at, bit) = self.place(hash);
        self.bits[at] & bit != 0
    }
}

/// A list of whole words.
pub struct Words {
    sieve: Sieve,
    /// Hashes of the words, sorted.
    hashes: Box<[u64]>,
}

impl Words {
    /// Compiles a list of lower-case words separated by blanks.
    pub fn of(list: &str) -> Words {
        let mut hashes: Vec<u64> = list.split_ascii_whitespace().map(hash).collect();
        hashes.sort_unstable();
        Words { sieve: Sieve::of(&hashes), hashes: hashes.into() }
    }

    /// Whether a lower-case word is in the list.
    pub fn has(&self, word: &str) -> bool {
        self.has_hash(hash(word))
    }

    /// Whether a word is in the list, as [`has`](Words::has), by the word's [`hash()`].
    pub fn has_hash(&self, hash: u64) -> bool {
        self.sieve.may_have(hash) && self.hashes.binary_search(&hash).is_ok()
    }
}

/// Whether a word or mark is in a list.
pub fn one_of(word: &Word, list: &Words) -> bool {
    list.has_hash(word.hash)
}

/// One word of a pattern.
struct Part {
    /// Hashes of the alternatives.
    choice: Box<[u64]>,
    may_lack: bool,
}

impl Part {
    fn fits(&self, word: &Word) -> bool {
        !word.quoted && self.choice.contains(&word.hash)
    }
}

/// Patterns by the words they may begin or end with.
struct Index {
    sieve: Sieve,
    /// Hashes with positions in the list, sorted by both.
    entries: Box<[(u64, u32)]>,
}

impl Index {
    fn of(mut entries: Vec<(u64, u32)>) -> Index {
        entries.sort_unstable();
        entries.dedup();
        let hashes: Vec<u64> = entries.iter().map(|(hash, _)| *hash).collect();
        Index { sieve: Sieve::of(&hashes), entries: entries.into() }
    }

    /// Returns the patterns for a word, in the order of the list.
    fn candidates(&self, hash: u64) -> impl Iterator<Item = usize> {
        let from = if self.sieve.may_have(hash) {
            self.entries.partition_point(|(h, _)| *h < hash)
        } else {
            self.entries.len()
        };
        self.entries[from..].iter().take_while(move |(h, _)| *h == hash).map(|(_, at)| *at as usize)
    }
}

/// A list of phrases, each with a label; if several match, the first in the list counts.
pub struct Phrases<T = ()> {
    patterns: Box<[(T, Box<[Part]>)]>,
    first: Index,
    last: Index,
}

impl Phrases {
    /// Compiles patterns; each must have a word that is not optional.
    pub fn of(list: &str) -> Phrases {
        Phrases::labelled([((), list)])
    }

    /// Whether a text contains one of the phrases outside quotations.
    pub fn stand_in(&self, text: &str) -> bool {
        self.stand(&split(text, Marks::Dropped))
    }
}

impl<T: Copy> Phrases<T> {
    /// Compiles several lists, each with its label.
    pub fn labelled<'l>(lists: impl IntoIterator<Item = (T, &'l str)>) -> Phrases<T> {
        let lists = lists.into_iter();
        let each = |(label, list): (T, &'l str)| {
            let patterns = list.split('\n').flat_map(|line| line.split(" / ")).map(str::trim);
            patterns.filter(|p| !p.is_empty()).map(|p| (label, parts(p))).collect::<Vec<_>>()
        };
        let patterns: Box<[(T, Box<[Part]>)]> = lists.flat_map(each).collect();
        debug_assert!(!patterns.is_empty(), "a list of phrases is empty or has another name");
        let (mut first, mut last) = (Vec::new(), Vec::new());
        for (at, (_, pattern)) in (0..).zip(&patterns) {
            debug_assert!(pattern.iter().any(|part| !part.may_lack), "pattern {at} fits nothing at all");
            let lead = pattern.iter().take_while(|part| part.may_lack).count();
            for part in pattern.iter().take(lead + 1) {
                first.extend(part.choice.iter().map(|hash| (*hash, at)));
            }
            last.extend(pattern.iter().next_back().into_iter().flat_map(|part| &part.choice).map(|hash| (*hash, at)));
        }
        Phrases { patterns, first: Index::of(first), last: Index::of(last) }
    }

    /// Returns every phrase the words begin with: its label, and the number of words it takes.
    pub fn begin<W: Borrow<Word>>(&self, words: &[W]) -> impl Iterator<Item = (T, usize)> {
        let first = words.first().map(Borrow::borrow).filter(|w| !w.quoted);
        let candidates = first.into_iter().flat_map(|w| self.first.candidates(w.hash));
        candidates.filter_map(move |at| {
            let (label, pattern) = &self.patterns[at];
            Some((*label, taken(words, pattern)?))
        })
    }

    /// Returns the words after the phrase they begin with, if they begin with one.
    pub fn eat<'w, W: Borrow<Word>>(&self, words: &'w [W]) -> Option<&'w [W]> {
        self.begin(words).next().map(|(_, taken)| &words[taken..])
    }

    /// Whether the words contain one of the phrases outside quotations.
    pub fn stand<W: Borrow<Word>>(&self, words: &[W]) -> bool {
        (0..words.len()).any(|at| self.begin(&words[at..]).next().is_some())
    }

    /// Returns the index at which a phrase begins that ends the words. The phrase must match completely, and must not
    /// be all of the words.
    pub fn end<W: Borrow<Word>>(&self, words: &[W]) -> Option<usize> {
        let last = words.last().map(Borrow::borrow).filter(|w| !w.quoted)?;
        self.last.candidates(last.hash).find_map(|at| {
            let (_, pattern) = &self.patterns[at];
            let from = words.len().checked_sub(pattern.len()).filter(|from| *from > 0)?;
            words[from..].iter().zip(pattern).all(|(word, part)| part.fits(word.borrow())).then_some(from)
        })
    }
}

fn parts(pattern: &str) -> Box<[Part]> {
    let part = |part: &str| {
        let (choice, may_lack) = part.strip_suffix('?').filter(|c| !c.is_empty()).map_or((part, false), |c| (c, true));
        Part { choice: choice.split('|').map(hash).collect(), may_lack }
    };
    pattern.split_ascii_whitespace().map(part).collect()
}

/// Returns the number of words a pattern takes, if the words begin with it.
fn taken<W: Borrow<Word>>(words: &[W], pattern: &[Part]) -> Option<usize> {
    let mut at = 0;
    for part in pattern {
        match words.get(at) {
            Some(word) if part.fits(word.borrow()) => at += 1,
            _ if part.may_lack => {}
            _ => return None,
        }
    }
    Some(at)
}

/// A word list written at its place of use.
macro_rules! words {
    ($list:expr) => {{
        static LIST: std::sync::LazyLock<$crate::text::patterns::Words> =
            std::sync::LazyLock::new(|| $crate::text::patterns::Words::of($list));
        &*LIST
    }};
}

/// A phrase list written at its place of use.
macro_rules! phrases {
    ($list:expr) => {{
        static LIST: std::sync::LazyLock<$crate::text::patterns::Phrases> =
            std::sync::LazyLock::new(|| $crate::text::patterns::Phrases::of($list));
        &*LIST
    }};
}

pub(crate) use {phrases, words};
