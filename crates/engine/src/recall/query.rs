//! From what was typed to full-text terms. Whatever stands in a query (operators, quotes, control characters, a hundred
//! kilobytes) it is words: nothing a person types can be a syntax error.
//!
//! `"a phrase"` must occur as it stands; `word*` is a beginning; anything else is wished for, and ranked by how much of
//! it is there. Words with signs inside (`orders_test.rs`, `E0277`, `foo::bar`) are looked for whole and in their parts.

use std::collections::HashSet;

use super::stop_words::is_stop_word;
use crate::index::fold;

/// More terms than this add nothing but time.
const MAX_TERMS: usize = 32;

/// Longer input is cut; no question is this long.
const MAX_BYTES: usize = 8 * 1024;

/// One thing to look for, in folded text.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub struct Term {
    pub text: String,
    /// Matches words that begin with it.
    pub prefix: bool,
    /// A piece of a name that is looked for whole, too (`refund` of `refund_twice`).
    pub part: bool,
}

/// A query, understood.
#[derive(Clone, PartialEq, Eq, Default, Debug)]
pub struct Query {
    /// Must all occur.
    pub phrases: Vec<Term>,
    /// Any may occur.
    pub words: Vec<Term>,
    /// Left out as stop words; used after all if nothing else is left.
    pub dropped: Vec<Term>,
    /// Input beyond the limits was not used.
    pub cut: bool,
}

impl Query {
    /// Nothing in it can be searched for.
    pub fn is_empty(&self) -> bool {
        self.phrases.is_empty() && self.words.is_empty()
    }

    pub fn parse(input: &str) -> Query {
        let mut end = input.len().min(MAX_BYTES);
        while !input.is_char_boundary(end) {
            end -= 1;
        }
        let mut query = Query { cut: end < input.len(), ..Query::default() };
        let mut seen = HashSet::new();
        let mut rest = &input[..end];
        while let Some(at) = rest.find(['"', '\u{201c}', '\u{201d}', '\u{201e}']) {
            query.add_words(&rest[..at], &mut seen);
            let quote = rest[at..].chars().next().map_or(1, char::len_utf8);
            rest = &rest[at + quote..];
            let Some(close) = rest.find(['"', '\u{201c}', '\u{201d}']) else { continue };
            let text = words_of(&rest[..close]);
            if !text.is_empty() && query.phrases.len() < MAX_TERMS {
                query.phrases.push(Term { text, prefix: false, part: false });
            }
            let quote = rest[close..].chars().next().map_or(1, char::len_utf8);
            rest = &rest[close + quote..];
        }
        query.add_words(rest, &mut seen);
        if query.is_empty() {
            query.words.append(&mut query.dropped);
        }
        query
    }

    fn add_words(&mut self, text: &str, seen: &mut HashSet<(String, bool)>) {
        for word in text.split(|c: char| c.is_whitespace() || c.is_control()) {
            let prefix = word.ends_with('*') && word.chars().filter(|c| c.is_alphanumeric()).count() >= 2;
            let whole = words_of(word);
            if whole.is_empty() {
                continue;
            }
            let mut terms = vec![Term { text: whole.clone(), prefix, part: false }];
            let parts: Vec<&str> = whole.split(' ').collect();
            if parts.len() > 1 && !whole.contains(crate::index::BREAK) {
                terms.extend(parts.iter().map(|p| Term { text: (*p).to_owned(), prefix: false, part: true }));
            }
            for term in terms {
                if !seen.insert((term.text.clone(), term.prefix)) {
                    continue;
                }
                if is_stop_word(&term.text.to_lowercase()) {
                    self.dropped.push(term);
                } else if self.words.len() < MAX_TERMS {
                    self.words.push(term);
                } else {
                    self.cut = true;
                }
            }
        }
    }

    /// The words of the query as the person wrote them, for a message.
    pub fn shown(&self) -> String {
        let quoted = self.phrases.iter().map(|t| format!("\"{}\"", plain(&t.text)));
        let words = self.words.iter().map(|t| plain(&t.text));
        quoted.chain(words).collect::<Vec<_>>().join(" ")
    }
}

impl Term {
    /// As the full-text engine wants it: a string, so that nothing in it is an operator.
    pub fn expression(&self) -> String {
        let star = if self.prefix { "*" } else { "" };
        format!("\"{}\"{star}", self.text.replace('"', ""))
    }
}

fn plain(text: &str) -> String {
    text.replace(crate::index::BREAK, "")
}

/// Letters and digits, everything else one space; characters of unspaced scripts stand alone.
fn words_of(text: &str) -> String {
    let folded = fold(text);
    let mut out = String::new();
    for c in folded.chars() {
        if c.is_alphanumeric() || is_mark(c) {
            out.push(c);
        } else if c == crate::index::BREAK {
            if !out.is_empty() && !out.ends_with([' ', crate::index::BREAK]) {
                out.push(crate::index::BREAK);
            }
        } else if !out.is_empty() && !out.ends_with(' ') {
            out.push(' ');
        }
    }
    out.trim_matches([' ', crate::index::BREAK]).to_owned()
}

/// Combining marks belong to their letter (vowel signs of Indic scripts, accents written apart).
fn is_mark(c: char) -> bool {
    matches!(c as u32, 0x0300..=0x036F | 0x0900..=0x0DFF | 0x0E31..=0x0E4E | 0x0591..=0x05C7 | 0x064B..=0x065F)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn words(input: &str) -> Vec<String> {
        Query::parse(input).words.iter().map(|t| plain(&t.text) + if t.prefix { "*" } else { "" }).collect()
    }

    #[test]
    fn stop_words_go_and_come_back_when_nothing_else_is_there() {
        assert_eq!(words("why did we drop the redis"), ["drop", "redis"]);
        assert_eq!(words("to be or not to be"), ["to", "be", "or", "not"]);
    }

    #[test]
    fn phrases_prefixes_and_symbols() {
        let q = Query::parse("\"unique index\" refund*  orders_test.rs::refund_twice");
        assert_eq!(q.phrases, [Term { text: "unique index".into(), prefix: false, part: false }]);
        assert_eq!(
            words("refund*  orders_test.rs::refund_twice"),
            ["refund*", "orders test rs refund twice", "orders", "test", "rs", "refund", "twice"]
        );
        assert_eq!(words("E0277"), ["E0277"]);
    }

    #[test]
    fn nothing_is_a_syntax_error() {
        for odd in ["", "   ", "\"", "AND OR NOT", "NEAR(a b)", "a:b^2 -c +d (", "*", "\"\"", "\u{0}\u{1}", "text : x"]
        {
            let q = Query::parse(odd);
            for term in q.words.iter().chain(&q.phrases) {
                assert!(!term.text.contains('"'));
            }
        }
        assert!(Query::parse("?!").is_empty());
        let long = "word ".repeat(30_000);
        assert!(Query::parse(&long).cut);
    }

    #[test]
    fn unspaced_scripts_become_phrases_of_characters() {
        assert_eq!(words("東京 タワー"), ["東京", "タワー"]);
    }
}
