//! Splits a text into the words that the grammar of times reads, with their positions, and the dashes between times.

use super::vocabulary;

/// A word with its position in the input.
pub(super) struct Token<'t> {
    /// The word in lower case, without surrounding signs and genitive.
    pub word: String,
    pub raw: &'t str,
    pub from: usize,
    pub to: usize,
    /// Signs that were stripped after the word.
    pub tail: &'t str,
}

impl Token<'_> {
    /// Whether it was written with a capital.
    pub fn capital(&self) -> bool {
        self.raw.chars().next().is_some_and(char::is_uppercase)
    }
}

/// The token for a dash between two times.
pub(super) const DASH: &str = "-";

/// Returns the words of a text, and the dashes between them.
pub(super) fn tokens(text: &str) -> Vec<Token<'_>> {
    let mut found = Vec::new();
    let mut push = |from: usize, to: usize| {
        let whole = &text[from..to];
        if matches!(whole, "-" | "–" | "—") {
            found.push(Token { word: DASH.to_owned(), raw: whole, from, to, tail: "" });
            return;
        }
        let kept = whole.trim_matches(|c: char| !c.is_alphanumeric());
        if kept.is_empty() {
            return;
        }
        let start = whole.len() - whole.trim_start_matches(|c: char| !c.is_alphanumeric()).len();
        let lower = kept.to_lowercase();
        let word = lower.strip_suffix("'s").or_else(|| lower.strip_suffix("’s")).unwrap_or(&lower).to_owned();
        let (from, to) = (from + start, from + start + kept.len());
        found.push(Token { word, raw: kept, from, to, tail: &whole[start + kept.len()..] });
    };
    let mut start: Option<usize> = None;
    for (at, c) in text.char_indices() {
        let month = |from: usize| vocabulary::month(&text[from..at].to_lowercase()).is_some();
        let dash = matches!(c, '–' | '—') || (c == '-' && start.is_some_and(month));
        if dash || c.is_whitespace() || c.is_control() {
            if let Some(from) = start.take() {
                push(from, at);
            }
            if dash {
                push(at, at + c.len_utf8());
            }
        } else if start.is_none() {
            start = Some(at);
        }
    }
    if let Some(from) = start {
        push(from, text.len());
    }
    found
}
