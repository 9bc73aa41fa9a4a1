//! Compares compiled lists with a plain word-by-word matcher.

use std::borrow::Borrow;

use proptest::prelude::*;

use crate::text::patterns::{Phrases, Words, one_of};
use crate::text::plain::lower;
use crate::text::words::{Marks, Word, split};

struct Token {
    at: Word,
    low: String,
}

impl Borrow<Word> for Token {
    fn borrow(&self) -> &Word {
        &self.at
    }
}

fn tokens(text: &str) -> Vec<Token> {
    split(text, Marks::Kept).into_iter().map(|at| Token { at, low: lower(&text[at.start..at.end]) }).collect()
}

fn low(tokens: &[Token]) -> Vec<&str> {
    tokens.iter().map(|t| t.low.as_str()).collect()
}

/// Returns the number of tokens a pattern takes, compared word by word.
fn taken(tokens: &[Token], pattern: &str) -> Option<usize> {
    let mut at = 0;
    for part in pattern.split(' ') {
        let (choice, may_lack) = part.strip_suffix('?').filter(|c| !c.is_empty()).map_or((part, false), |c| (c, true));
        match tokens.get(at) {
            Some(t) if !t.at.quoted && choice.split('|').any(|w| w == t.low) => at += 1,
            _ if may_lack => {}
            _ => return None,
        }
    }
    Some(at)
}

fn taken_at_the_end(tokens: &[Token], pattern: &str) -> Option<usize> {
    let from = tokens.len().checked_sub(pattern.split(' ').count())?;
    (from > 0 && taken(&tokens[from..], pattern) == Some(tokens.len() - from)).then_some(from)
}

#[test]
fn the_first_phrase_of_the_list_counts() {
    let list = Phrases::of("remember this / remember / please? note that : / ok ?");
    let rest = |text: &str| list.eat(&tokens(text)).map(|rest| low(rest).join(" "));
    assert_eq!(rest("remember this now").as_deref(), Some("now"));
    assert_eq!(rest("Remember what I said").as_deref(), Some("what i said"));
    assert_eq!(rest("note that: tabs").as_deref(), Some("tabs"));
    assert_eq!(rest("please note that: tabs").as_deref(), Some("tabs"));
    assert_eq!(rest("ok?").as_deref(), Some(""));
    assert_eq!(rest("please note tabs"), None);
    assert_eq!(rest("\"remember\" is a word"), None);
    assert_eq!(rest(""), None);
}

#[test]
fn a_phrase_at_the_end_leaves_something_before_it() {
    let list = Phrases::of("please / from now on / on");
    assert_eq!(list.end(&tokens("use tabs from now on")), Some(2));
    assert_eq!(list.end(&tokens("go on")), Some(1));
    assert_eq!(list.end(&tokens("please")), None);
    assert_eq!(list.end(&tokens("use tabs now")), None);
}

const PARTS: &[&str] = &["a", "b", "a|b", "c", "b?", "a|c?", ",", ",|:?", "d|e|f", "don't"];
const TEXT: &[&str] = &["a", "b", "c", "d", "e", "f", "g", ",", ":", "A", "B", "don’t", "Don't", "\"a\"", "`b c`"];

proptest! {
    #[test]
    fn lists_say_what_is_written(
        patterns in prop::collection::vec(prop::collection::vec(prop::sample::select(PARTS), 1..4), 1..6),
        text in prop::collection::vec(prop::sample::select(TEXT), 0..8),
    ) {
        let patterns: Vec<String> = patterns.iter().map(|p| p.join(" ")).collect();
        // Each pattern has a word that is not optional.
        prop_assume!(patterns.iter().all(|p| p.split(' ').any(|part| !part.ends_with('?'))));
        let tokens = tokens(&text.join(" "));
        let list = Phrases::of(&patterns.join(" / "));
        for from in 0..=tokens.len() {
            let here = &tokens[from..];
            let expected = patterns.iter().find_map(|p| taken(here, p)).map(|n| here.len() - n);
            prop_assert_eq!(list.eat(here).map(<[Token]>::len), expected);
            let end = &tokens[..from];
            prop_assert_eq!(list.end(end), patterns.iter().find_map(|p| taken_at_the_end(end, p)));
        }
    }

    #[test]
    fn words_are_matched_whole(list in "[a-c]{1,2}( [a-c]{1,2}){0,40}", text in "[a-c]{1,3}( [a-c]{1,3}){0,9}") {
        let words = Words::of(&list);
        for token in tokens(&text) {
            let expected = list.split(' ').any(|w| w == token.low);
            prop_assert_eq!((words.has(&token.low), one_of(&token.at, &words)), (expected, expected));
        }
    }
}
