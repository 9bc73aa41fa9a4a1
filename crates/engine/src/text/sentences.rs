//! Splits a block into sentences.

use std::ops::Range;

use super::language::ABBREVIATIONS;
use super::quotes;

/// Returns the sentences of all lines of a text, as [`split`] divides each of them.
pub fn of_lines(text: &str, longest: usize) -> impl Iterator<Item = &str> {
    text.lines().flat_map(move |line| split(line, longest).into_iter().map(move |range| &line[range]))
}

/// Returns the trimmed ranges of the sentences of a block. Text in quotation marks, code spans, tags and brackets is
/// not split, unless a sentence is longer than `longest` bytes: then it is cut at a blank.
pub fn split(text: &str, longest: usize) -> Vec<Range<usize>> {
    let whole = whole(text);
    let (mut found, mut start) = (Vec::new(), 0);
    let mut take = |from: usize, to: usize| {
        let part = &text[from..to];
        let trimmed = part.trim();
        if !trimmed.is_empty() {
            let from = from + part.len() - part.trim_start().len();
            found.push(from..from + trimmed.len());
        }
    };
    let mut at = 0;
    while at < text.len() {
        let byte = text.as_bytes()[at];
        if byte.is_ascii() && !matches!(byte, b'.' | b'!' | b'?') && (byte != b' ' || at + 1 - start <= longest) {
            at += 1;
            continue;
        }
        let c = text[at..].chars().next().unwrap_or(' ');
        let end = at + c.len_utf8();
        let cut = match c {
            ' ' => Some(end),
            '。' | '！' | '？' | '.' | '!' | '?' | '…' => stop(text, start, at, c, &whole),
            _ => None,
        };
        match cut {
            Some(past) => {
                take(start, past);
                (start, at) = (past, past);
            }
            None => at = end,
        }
    }
    take(start, text.len());
    found
}

/// Removes the label that a summary puts before a sentence: `Open: sign the offer`.
pub fn unlabelled(sentence: &str) -> &str {
    match sentence.split_once(": ") {
        Some((label, rest)) if label.len() <= 12 && label.bytes().all(|b| b.is_ascii_alphabetic()) => rest,
        _ => sentence,
    }
}

/// Returns the end of the sentence, if the mark at `at` ends one.
fn stop(text: &str, start: usize, at: usize, c: char, whole: &[Range<usize>]) -> Option<usize> {
    let end = at + c.len_utf8();
    let rest = &text[end..];
    if let '。' | '！' | '？' = c {
        return (!rest.starts_with(['。', '！', '？']) && !quotes::covered(whole, at)).then_some(end);
    }
    let closes = rest.len() - rest.trim_start_matches(['*', '_', '"', '”', '»', '“']).len();
    let past = end + closes;
    // The mark may be the last one of a quotation, but not inside it.
    if quotes::span_at(whole, at).is_some_and(|span| span.end > past) {
        return None;
    }
    let ends = text[past..].chars().next().is_none_or(char::is_whitespace);
    // "The visible “…” are part of the titles": the sentence goes on behind the ellipsis.
    let goes_on = c == '…' && text[past..].trim_start().starts_with(char::is_lowercase);
    let ends = ends && !goes_on;
    (ends && !(c == '.' && closes == 0 && abbreviates(&text[start..at], &text[past..]))).then_some(past)
}

/// Returns the ranges that are not split: quotations, and text in closed brackets.
fn whole(text: &str) -> Vec<Range<usize>> {
    let mut spans = quotes::spans(text);
    if !text.contains('(') {
        return spans;
    }
    let (mut open, mut brackets) = (Vec::new(), Vec::new());
    for (at, byte) in text.bytes().enumerate().filter(|(_, b)| matches!(b, b'(' | b')')) {
        match byte {
            b'(' => open.push(at),
            _ => brackets.extend(open.pop().map(|from: usize| from..at)),
        }
    }
    spans.extend(brackets);
    spans.sort_by_key(|span| span.start);
    quotes::merged(spans)
}

/// Whether the full stop after this text belongs to its last word.
fn abbreviates(before: &str, after: &str) -> bool {
    let word = before.rsplit(|c: char| c.is_whitespace() || c == '(').next().unwrap_or(before).to_lowercase();
    // "No. 5" has an abbreviation, "I say no." has none.
    ABBREVIATIONS.has(&word) && (word != "no" || after.trim_start().starts_with(|c: char| c.is_ascii_digit()))
        || word.chars().count() == 1 && word.chars().all(char::is_alphabetic) && word != "i"
        // In "am 14. November" and "2. do this" the full stop belongs to the number.
        || (1..=2).contains(&word.len()) && word.bytes().all(|b| b.is_ascii_digit())
}
