//! Merges turns that say the same into one hit: a tool call and its result, a file that was read twice, a message of
//! which a program keeps two records.

use std::collections::HashMap;

use super::terms::letters;
use crate::event::TurnKind;
use crate::scope::SessionNo;
use crate::text::patterns::hash;
use crate::transcript::read::Turn;

/// Texts with fewer letters than this are not compared: two messages "ok" mean different things.
const SHORT: usize = 24;

/// Two texts with at least `LINES` lines each are alike if they share this part of all their lines.
const LINES: usize = 8;
const SHARED: f64 = 0.8;

/// Largest number of lines compared of one text.
const MOST_LINES: usize = 4_000;

/// Words of the hits found so far; a further turn with the same words is one hit with them.
#[derive(Default)]
pub(super) struct Told {
    hits: usize,
    calls: HashMap<(SessionNo, String), usize>,
    texts: HashMap<u64, usize>,
    /// The sorted hashes of the lines of each long text.
    long: Vec<(usize, Vec<u64>)>,
}

impl Told {
    /// Returns the place of the hit that says what this turn says; `None` if the turn is a hit of its own.
    pub fn same(&mut self, turn: &Turn) -> Option<usize> {
        let call = turn.call.as_ref().filter(|_| matches!(turn.kind, TurnKind::ToolCall | TurnKind::ToolResult));
        let call = call.map(|call| (turn.session_no, call.clone()));
        let lines = lines(&turn.text);
        let whole = letters(&turn.text);
        let whole = (whole.len() >= SHORT).then(|| hash(whole.trim()));
        let found = call
            .as_ref()
            .and_then(|call| self.calls.get(call))
            .or_else(|| self.texts.get(whole.as_ref()?))
            .copied()
            .or_else(|| self.long.iter().find(|(_, other)| alike(other, &lines)).map(|(at, _)| *at));
        let at = found.unwrap_or(self.hits);
        // Remembers the call too, so that another copy of its result leads to the same hit.
        if let Some(call) = call {
            self.calls.entry(call).or_insert(at);
        }
        if let Some(whole) = whole {
            self.texts.entry(whole).or_insert(at);
        }
        if found.is_none() {
            self.hits += 1;
            if lines.len() >= LINES {
                self.long.push((at, lines));
            }
        }
        found
    }
}

/// Returns the sorted hashes of the lines of a text, without the line numbers that a tool prints before them.
fn lines(text: &str) -> Vec<u64> {
    let bare = |line: &'_ str| {
        let line = line.trim();
        let rest = line.trim_start_matches(|c: char| c.is_ascii_digit());
        let numbered = rest.len() < line.len() && rest.starts_with(['→', '\t', ':', '|']);
        hash(if numbered { rest[rest.chars().next().map_or(0, char::len_utf8)..].trim() } else { line })
    };
    let mut lines: Vec<u64> = text.lines().filter(|l| !l.trim().is_empty()).take(MOST_LINES).map(bare).collect();
    lines.sort_unstable();
    lines.dedup();
    lines
}

/// Whether two lists have most of their lines in common.
fn alike(one: &[u64], other: &[u64]) -> bool {
    let (few, many) = (one.len().min(other.len()), one.len().max(other.len()));
    if few < LINES || (few as f64) < SHARED * many as f64 {
        return false;
    }
    let (mut a, mut b, mut shared) = (0, 0, 0usize);
    while let (Some(x), Some(y)) = (one.get(a), other.get(b)) {
        shared += usize::from(x == y);
        (a, b) = (a + usize::from(x <= y), b + usize::from(y <= x));
    }
    shared as f64 >= SHARED * (one.len() + other.len() - shared) as f64
}

#[cfg(test)]
mod tests {
    use super::*;

    fn text(from: usize, to: usize, sign: &str) -> String {
        (from..to).map(|n| format!("{n}{sign}let value_{n} = {n};\n")).collect()
    }

    #[test]
    fn copies_with_line_numbers_are_alike_and_other_files_are_not() {
        let plain: String = (0..40).map(|n| format!("let value_{n} = {n};\n")).collect();
        assert!(alike(&lines(&plain), &lines(&text(0, 40, "→"))));
        assert!(alike(&lines(&text(0, 40, ": ")), &lines(&text(2, 41, ": "))));
        assert!(!alike(&lines(&plain), &lines(&text(20, 60, "→"))));
        assert!(!alike(&lines("one\ntwo"), &lines("one\ntwo")), "too short to judge by lines");
        assert!(!alike(&[], &[]));
    }
}
