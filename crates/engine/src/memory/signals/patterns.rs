//! Lists of words and of phrases, each taken apart once. Most words are in no list: one bit tells so.
//!
//! Words are compared by their hashes: 64 bits do not collide among a few thousand.

use super::prose::Token;

/// FNV-1a of a word.
pub fn hash(word: &str) -> u64 {
    word.bytes().fold(0xcbf2_9ce4_8422_2325_u64, |h, b| (h ^ u64::from(b)).wrapping_mul(0x0100_0000_01b3))
}

/// Which hashes may be among some, at sixteen bits for each.
struct Sieve {
    bits: Box<[u64]>,
    /// How far a mixed hash is shifted for the number of its bit.
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
        // FNV mixes upwards: the high bits of a product tell most.
        let number = hash.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> self.shift;
        ((number >> 6) as usize, 1 << (number & 63))
    }

    fn may_have(&self, hash: u64) -> bool {
        let (at, bit) = self.place(hash);
        self.bits[at] & bit != 0
    }
}

/// A list of words, matched whole.
pub struct Words {
    sieve: Sieve,
    /// In order.
    hashes: Box<[u64]>,
}

impl Words {
    /// Of lower-case words with blanks between them.
    pub fn of(list: &str) -> Words {
        let mut hashes: Vec<u64> = list.split_ascii_whitespace().map(hash).collect();
        hashes.sort_unstable();
        Words { sieve: Sieve::of(&hashes), hashes: hashes.into() }
    }

    pub fn has(&self, word: &str) -> bool {
        self.has_hash(hash(word))
    }

    fn has_hash(&self, hash: u64) -> bool {
        self.sieve.may_have(hash) && self.hashes.binary_search(&hash).is_ok()
    }
}

/// Whether a word or mark stands in a list of words.
pub fn one_of(token: &Token, list: &Words) -> bool {
    list.has_hash(token.hash)
}

/// One word of a pattern.
struct Part {
    /// Any of these.
    choice: Box<[u64]>,
    may_lack: bool,
}

impl Part {
    fn fits(&self, token: &Token) -> bool {
        !token.quoted && self.choice.contains(&token.hash)
    }
}

/// Patterns by a word they may begin or end with.
struct Index {
    sieve: Sieve,
    /// In order of the hash, then of the list.
    entries: Box<[(u64, u32)]>,
}

impl Index {
    fn of(mut entries: Vec<(u64, u32)>) -> Index {
        entries.sort_unstable();
        entries.dedup();
        let hashes: Vec<u64> = entries.iter().map(|(hash, _)| *hash).collect();
        Index { sieve: Sieve::of(&hashes), entries: entries.into() }
    }

    /// The patterns for a word, in the order of the list.
    fn candidates(&self, hash: u64) -> impl Iterator<Item = usize> {
        let from = if self.sieve.may_have(hash) {
            self.entries.partition_point(|(h, _)| *h < hash)
        } else {
            self.entries.len()
        };
        self.entries[from..].iter().take_while(move |(h, _)| *h == hash).map(|(_, at)| *at as usize)
    }
}

/// A list of phrases: of several that fit, the first of the list counts.
pub struct Phrases {
    patterns: Box<[Box<[Part]>]>,
    first: Index,
    last: Index,
}

impl Phrases {
    /// Of patterns with ` / ` between them, of words with one blank between them: `a|b` either, `a?` or none; marks of
    /// punctuation stand for themselves. A pattern has a word that must stand.
    pub fn of(list: &str) -> Phrases {
        let patterns: Box<[Box<[Part]>]> = list.split(" / ").map(parts).collect();
        let (mut first, mut last) = (Vec::new(), Vec::new());
        for (at, pattern) in (0..).zip(&patterns) {
            debug_assert!(pattern.iter().any(|part| !part.may_lack), "a pattern of {list:?} fits nothing at all");
            let lead = pattern.iter().take_while(|part| part.may_lack).count();
            for part in pattern.iter().take(lead + 1) {
                first.extend(part.choice.iter().map(|hash| (*hash, at)));
            }
            last.extend(pattern.iter().next_back().into_iter().flat_map(|part| &part.choice).map(|hash| (*hash, at)));
        }
        Phrases { patterns, first: Index::of(first), last: Index::of(last) }
    }

    /// What stands after the phrase the tokens begin with, if they do.
    pub fn eat<'t>(&self, tokens: &'t [Token]) -> Option<&'t [Token]> {
        let first = tokens.first().filter(|t| !t.quoted)?;
        self.first.candidates(first.hash).find_map(|at| rest_of(tokens, &self.patterns[at]))
    }

    /// Where the phrase begins that the tokens end with, not at their beginning, every word of it.
    pub fn end(&self, tokens: &[Token]) -> Option<usize> {
        let last = tokens.last().filter(|t| !t.quoted)?;
        self.last.candidates(last.hash).find_map(|at| {
            let pattern = &self.patterns[at];
            let from = tokens.len().checked_sub(pattern.len()).filter(|from| *from > 0)?;
            tokens[from..].iter().zip(pattern).all(|(token, part)| part.fits(token)).then_some(from)
        })
    }
}

fn parts(pattern: &str) -> Box<[Part]> {
    let part = |part: &str| {
        let (choice, may_lack) = part.strip_suffix('?').filter(|c| !c.is_empty()).map_or((part, false), |c| (c, true));
        Part { choice: choice.split('|').map(hash).collect(), may_lack }
    };
    pattern.split(' ').map(part).collect()
}

fn rest_of<'t>(tokens: &'t [Token], pattern: &[Part]) -> Option<&'t [Token]> {
    let mut rest = tokens;
    for part in pattern {
        match rest.first() {
            Some(token) if part.fits(token) => rest = &rest[1..],
            _ if part.may_lack => {}
            _ => return None,
        }
    }
    Some(rest)
}

/// A list of words that is written where it is used.
macro_rules! words {
    ($list:expr) => {{
        static LIST: std::sync::LazyLock<$crate::memory::signals::patterns::Words> =
            std::sync::LazyLock::new(|| $crate::memory::signals::patterns::Words::of($list));
        &*LIST
    }};
}

/// A list of phrases that is written where it is used.
macro_rules! phrases {
    ($list:expr) => {{
        static LIST: std::sync::LazyLock<$crate::memory::signals::patterns::Phrases> =
            std::sync::LazyLock::new(|| $crate::memory::signals::patterns::Phrases::of($list));
        &*LIST
    }};
}

pub(super) use {phrases, words};
