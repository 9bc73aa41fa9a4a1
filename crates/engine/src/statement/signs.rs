//! Finds the word lists that a sentence has words of, and where in the sentence.

use super::lists::{LISTS, Set};
use crate::text::language::stop_words::{Language, language};
use crate::text::scripts::is_unspaced;
use crate::text::words::Word;

/// The word lists that a sentence has words of, by place.
#[derive(Clone, Copy, Default, Debug)]
pub struct Signs {
    /// Lists with words anywhere outside quotations.
    pub has: Set,
    /// Lists with words at the beginning, after words like "please".
    pub starts: Set,
    /// Lists with words at the beginning of a clause.
    pub clause: Set,
    /// Lists with words at the end.
    pub ends: Set,
    /// Index of the first word after words like "please".
    pub start: usize,
}

/// Whether a word begins a new clause.
fn joins(word: &str) -> bool {
    matches!(
        word,
        "and"
            | "but"
            | "so"
            | "then"
            | "or"
            | "und"
            | "aber"
            | "oder"
            | "dann"
            | "et"
            | "mais"
            | "puis"
            | "ou"
            | "y"
            | "e"
            | "pero"
            | "o"
            | "и"
            | "а"
            | "но"
            | "ve"
            | "ama"
            | "a"
            | "ale"
    )
}

/// Reads a sentence in lower case that was split without marks.
pub fn signs(low: &str, words: &[Word]) -> Signs {
    let mut signs = Signs::default();
    let lists = &*LISTS;
    let lead = lists.set("lead");
    let (mut lead_to, mut clause_lead) = (0, 0);
    for at in 0..words.len() {
        // People attach files by name before they say something about them, so such names are skipped.
        if at == lead_to && low[words[at].start..].starts_with('@') && at + 1 < words.len() {
            (lead_to, signs.start) = (at + 1, at + 1);
        }
        let gap = at.checked_sub(1).map_or("", |b| &low[words[b].end..words[at].start]);
        let joint = at == 0
            || gap.contains([',', ';', ':', '—', '–', '(', '.', '!', '?'])
            || gap.contains(" - ")
            || joins(&low[words[at - 1].start..words[at - 1].end]);
        if joint {
            clause_lead = at;
        }
        let all_is = all_of_it(low, words, at);
        for (list, taken) in lists.phrases.begin(&words[at..]).filter(|(_, taken)| !(all_is && *taken == 1)) {
            let bit: Set = 1 << list;
            signs.has |= bit;
            if at == lead_to || at == 0 {
                signs.starts |= bit;
            }
            if joint || at == clause_lead {
                signs.clause |= bit;
            }
            if at + taken == words.len() {
                signs.ends |= bit;
            }
            if bit == lead {
                if at == lead_to && at + taken < words.len() {
                    signs.start = signs.start.max(at + taken);
                }
                if at == clause_lead {
                    clause_lead = at + taken;
                }
            }
        }
        if at + 1 > lead_to && signs.start > lead_to {
            lead_to = signs.start;
        }
    }
    if !low.is_ascii() && low.chars().any(is_unspaced) {
        east(low, &mut signs, lead);
    }
    signs
}

/// Whether the word at `at` is the Spanish or Portuguese "todo", which means "all" and marks no open work.
fn all_of_it(low: &str, words: &[Word], at: usize) -> bool {
    let word = |word: &Word| &low[word.start..word.end];
    matches!(word(&words[at]), "todo" | "todos")
        && (says_all(&low[words[at].start..])
            || matches!(language(words.iter().map(word)), Language::Spanish | Language::Portuguese))
}

/// Whether a text in lower case begins with "todo" in the sense of "all": "todo verificado", "todo está listo".
pub fn says_all(low: &str) -> bool {
    const AFTER: [&str; 16] = [
        "está", "esta", "lo", "los", "el", "la", "ha", "fue", "listo", "bien", "correcto", "hecho", "ok", "funciona",
        "o", "certo",
    ];
    let Some(rest) = low.strip_prefix("todo ").or_else(|| low.strip_prefix("todos ")) else { return false };
    let next = rest.split(|c: char| !c.is_alphabetic()).next().unwrap_or("");
    AFTER.contains(&next) || next.len() > 4 && ["ado", "ido", "ados", "idos"].iter().any(|end| next.ends_with(end))
}

/// Finds the phrases in a sentence without blanks.
fn east(low: &str, signs: &mut Signs, lead: Set) {
    let mut start = 0;
    let mut clause = true;
    let body = low.trim_end_matches(|c: char| !c.is_alphanumeric()).len();
    for (at, c) in low.char_indices() {
        if !c.is_alphanumeric() {
            clause |= matches!(c, '，' | '。' | '、' | '：' | '；' | ',' | '.' | ':' | ';' | '(' | '（');
            if at == start {
                start = at + c.len_utf8();
            }
            continue;
        }
        let mut led = 0;
        for (part, list) in LISTS.parts.get(&c).into_iter().flatten() {
            if !low[at..].starts_with(part) {
                continue;
            }
            let bit: Set = 1 << list;
            signs.has |= bit;
            if at == start || at == 0 {
                signs.starts |= bit;
            }
            if clause {
                signs.clause |= bit;
            }
            if at + part.len() >= body {
                signs.ends |= bit;
            }
            if bit == lead {
                led = led.max(part.len());
            }
        }
        if at == start && led > 0 {
            start = at + led;
            clause = true;
        } else {
            clause = at < start;
        }
    }
}
