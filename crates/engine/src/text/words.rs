//! Splits text into words. [`split`] is for sentences that are parsed: a path, a version, a contraction is one word.
//! [`runs`] is for words that are only compared: letters and digits, nothing else.

use super::patterns::hash;
use super::plain::lower;
use super::quotes;
use super::scripts::is_mark;

/// A word or a mark of punctuation, as a range of the text it was split from.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Word {
    pub start: usize,
    pub end: usize,
    /// Hash of the lower-case form, by which the word is looked up.
    pub hash: u64,
    /// Whether it is a word and not a mark.
    pub word: bool,
    /// Whether it is inside quotation marks, a code span or a tagged span.
    pub quoted: bool,
}

/// Whether [`split`] returns punctuation.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Marks {
    /// Each mark of punctuation is returned, too.
    Kept,
    /// Only words are returned.
    Dropped,
}

/// Returns the words of a sentence.
///
/// Signs within a word belong to it (`don't`, `and/or`, `src/main.rs`, `v1.2`, `a::b`, `e-mail`, `C++`), and so do
/// signs that begin a path, a tag or a name (`#12`, `~/x`, `.env`, `$HOME`). An address is one word up to the next
/// blank.
pub fn split(text: &str, marks: Marks) -> Vec<Word> {
    let quoted = quotes::spans(text);
    let mut found = Vec::with_capacity(text.len() / 6 + 1);
    let (mut at, mut before) = (0, ' ');
    while at < text.len() {
        if text.as_bytes()[at] == b' ' {
            (at, before) = (at + 1, ' ');
            continue;
        }
        let c = text[at..].chars().next().unwrap_or(' ');
        let next = at + c.len_utf8();
        let begins = c.is_alphanumeric() || leads(c, before, &text[next..]);
        if begins {
            let end = end_of(text, at);
            let said = &text[at..end];
            found.push(Word { start: at, end, hash: folded(said), word: true, quoted: quotes::covered(&quoted, at) });
            before = said.chars().next_back().unwrap_or(' ');
            at = end;
        } else {
            if marks == Marks::Kept && !c.is_whitespace() {
                let quoted = quotes::covered(&quoted, at);
                found.push(Word { start: at, end: next, hash: folded(&text[at..next]), word: false, quoted });
            }
            before = c;
            at = next;
        }
    }
    found
}

/// Returns the hash of a word in lower case.
fn folded(word: &str) -> u64 {
    if word.bytes().all(|b| b.is_ascii() && !b.is_ascii_uppercase()) { hash(word) } else { hash(&lower(word)) }
}

/// Whether a sign begins a word: a path, a ticket, a mention, a variable.
fn leads(c: char, before: char, rest: &str) -> bool {
    let after = rest.chars().next().unwrap_or(' ');
    matches!(c, '#' | '@' | '/' | '~' | '.' | '$')
        && !before.is_alphanumeric()
        && (after.is_alphanumeric() || c == '~' && after == '/')
}

/// Returns the end of the word that begins at `from`.
fn end_of(text: &str, from: usize) -> usize {
    let bytes = text.as_bytes();
    let mut at = from + text[from..].chars().next().map_or(0, char::len_utf8);
    while at < text.len() {
        if bytes[at].is_ascii_alphanumeric() || bytes[at] == b'_' {
            at += 1;
            continue;
        }
        let mut chars = text[at..].chars();
        let (c, after) = (chars.next().unwrap_or(' '), chars.next().unwrap_or(' '));
        if text[at..].starts_with("://") {
            return address_end(text, at);
        }
        let number = c == ',' && bytes[at - 1].is_ascii_digit() && after.is_ascii_digit();
        let joins =
            matches!(c, '\'' | '’' | '‘' | 'ʼ' | '-' | '‑' | '.' | '/' | ':' | '#' | '@' | '+' | '&' | ';' | '=')
                && (after.is_alphanumeric() || after == '_')
                || matches!(c, '/' | ':' | '~') && matches!(after, '/' | ':');
        if !(c.is_alphanumeric() || is_mark(c) || joins || number) {
            // The signs belong to the word in `C++` and `C#`.
            let letter = bytes[at - 1].is_ascii_alphabetic();
            return match c {
                '+' if letter && after == '+' => at + 2,
                '#' if letter && !after.is_alphanumeric() => at + 1,
                _ => trimmed(text, from, at),
            };
        }
        at += c.len_utf8();
    }
    trimmed(text, from, at)
}

/// Returns the end of a word without emphasis signs, slashes and colons at its end.
fn trimmed(text: &str, from: usize, to: usize) -> usize {
    from + text[from..to].trim_end_matches(['_', ':', '/']).len().max(1)
}

fn address_end(text: &str, from: usize) -> usize {
    let rest = &text[from..];
    let ends = |c: char| c.is_whitespace() || matches!(c, '<' | '>' | '"' | '`' | '”' | '»' | '，' | '。' | '）');
    let end = rest.find(ends).unwrap_or(rest.len());
    from + rest[..end].trim_end_matches(['.', ',', ';', ':', '!', '?', ')', ']', '\'', '*', '_']).len()
}

/// Returns the runs of letters, digits and `signs`, each with its offset.
pub fn runs<'t>(text: &'t str, signs: &'static [char]) -> impl Iterator<Item = (usize, &'t str)> + Clone {
    let inner = move |c: char| c.is_alphanumeric() || signs.contains(&c);
    let mut at = 0;
    std::iter::from_fn(move || {
        let start = at + text[at..].find(inner)?;
        let end = text[start..].find(|c| !inner(c)).map_or(text.len(), |n| start + n);
        at = end;
        Some((start, &text[start..end]))
    })
}

/// Splits a word at its capitals: `refundTwice` into `refund` and `Twice`; `HTTPServer` into `HTTP` and `Server`. One
/// piece if there are none.
pub fn humps(text: &str) -> Vec<&str> {
    if !text.bytes().all(|b| b.is_ascii_alphabetic()) {
        return vec![text];
    }
    let bytes = text.as_bytes();
    let mut out = Vec::new();
    let mut start = 0;
    for at in 1..bytes.len() {
        let up = bytes[at].is_ascii_uppercase();
        let ends = up && bytes[at - 1].is_ascii_lowercase();
        let begins = up && bytes.get(at + 1).is_some_and(u8::is_ascii_lowercase) && bytes[at - 1].is_ascii_uppercase();
        if ends || begins {
            out.push(&text[start..at]);
            start = at;
        }
    }
    out.push(&text[start..]);
    out
}
