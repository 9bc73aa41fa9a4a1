//! Finds the sentences of a prompt in its author's own words, with words and punctuation. Doubtful text is left out:
//! text that may be pasted, parts of documents, text that is cut off.

use std::borrow::Borrow;
use std::ops::{Deref, Range};

use crate::text::blocks::{Reach, blocks};
use crate::text::patterns::words;
use crate::text::plain::lower;
use crate::text::relayed::relayed;
use crate::text::sentences::split;
use crate::text::words::{self, Marks, Word};

/// Maximum size of a prompt that is read whole, and size of either end that is read of a longer one, in bytes: text in
/// between is mostly pasted.
const REACH: Reach = Reach { whole: 4000, ends: 1000 };
/// Maximum bytes of a sentence; a longer one is not a statement about oneself.
const LONGEST_SENTENCE: usize = 500;

/// A word or punctuation mark of a sentence; its range is a range of the prompt.
#[derive(Clone, Debug)]
pub struct Token {
    pub at: Word,
    /// The text in lower case, with straight apostrophes.
    pub low: String,
    /// Whether the word is a path, a file or an identifier.
    pub name: bool,
}

impl Deref for Token {
    type Target = Word;

    fn deref(&self) -> &Word {
        &self.at
    }
}

impl Borrow<Word> for Token {
    fn borrow(&self) -> &Word {
        &self.at
    }
}

/// A sentence in the author's own words.
#[derive(Debug)]
pub struct Sentence {
    pub range: Range<usize>,
    pub tokens: Vec<Token>,
    /// Whether the sentence is an item of a list under "From now on:" or "My preferences:".
    pub listed: bool,
}

/// Returns the author's own sentences, in order.
pub fn sentences(prompt: &str) -> Vec<Sentence> {
    let mut found = Vec::new();
    for block in blocks(prompt, REACH).into_iter().filter(|b| !b.behind_paste && !b.document) {
        let text = &prompt[block.range.clone()];
        let own = relayed(text).unwrap_or(text.len());
        let ranges = split(text, usize::MAX);
        // A sentence that is cut off at either end of the block does not count.
        let whole = usize::from(block.cut.0)..ranges.len().saturating_sub(usize::from(block.cut.1));
        for range in ranges.get(whole).unwrap_or_default() {
            if range.len() <= LONGEST_SENTENCE && range.end <= own {
                let range = block.range.start + range.start..block.range.start + range.end;
                found.push(Sentence { tokens: tokens(prompt, &range), range, listed: block.listed_rule });
            }
        }
    }
    found
}

fn tokens(prompt: &str, range: &Range<usize>) -> Vec<Token> {
    let text = &prompt[range.clone()];
    let token = |word: Word| {
        let raw = &text[word.start..word.end];
        let name = word.word && (is_name(raw) || text[word.end..].starts_with("()"));
        let at = Word { start: range.start + word.start, end: range.start + word.end, ..word };
        Token { at, low: lower(raw), name }
    };
    words::split(text, Marks::Kept).into_iter().map(token).collect()
}

/// Whether a word is an identifier or a path: `src/main.rs`, `foo_bar`, `Foo::bar`, `fooBar`.
fn is_name(word: &str) -> bool {
    let plain = |b: &u8| b.is_ascii_lowercase() || b.is_ascii_digit() || matches!(b, b'\'' | b'-');
    let (first, rest) = word.as_bytes().split_at(1.min(word.len()));
    if first.iter().all(u8::is_ascii_alphanumeric) && rest.iter().all(plain) {
        return false;
    }
    let lower_camel = word.chars().next().is_some_and(char::is_lowercase)
        && word.chars().any(char::is_uppercase)
        && !words!("macOS iOS iPadOS iPhone iPad eBay npmJS jQuery gRPC").has(word)
        && !word.contains(['-', '\'', '’', '/']);
    let file = word.rsplit_once('.').is_some_and(|(stem, end)| {
        !stem.is_empty()
            && words!(
                "c cfg conf cpp css csv env go h html java js json jsx lock log md mjs py \
        rb rs sh sql toml ts tsx txt vue xml yaml yml"
            )
            .has(end)
    });
    let path = word.starts_with(['/', '~', '@', '$', '#']) || word.matches('/').count() >= 2 && !word.contains("they");
    lower_camel || file || path || word.contains('_') || word.contains("::") || word.contains("->")
}
