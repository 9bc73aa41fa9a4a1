//! Reads sentences that deny one state of things and name the one that holds instead: "It's not true that we keep times
//! in UTC, it's Europe/Berlin", "plans no longer come out on Fridays, it's Wednesday now"; and sentences that put a name
//! in front: "it's Lenka who approves new stations". Pure.

use std::ops::Range;

use super::clauses::statements;
use super::grammar::{after_leads, is_finite, is_hard, names_something, shown, unquoted};
use super::sentences::Told;
use super::stated::values;
use crate::text::patterns::{phrases, words};
use crate::text::words::{Marks, Word, split};

/// Maximum length of a correction, in bytes.
const LONGEST: usize = 220;

/// A sentence with its two sides.
struct Sides {
    /// The side that is denied, without the words that deny it as a whole.
    denied: Range<usize>,
    /// The side that holds.
    holds: Range<usize>,
    /// Whether the denied side denies itself: "no longer", "any more".
    itself: bool,
}

/// Returns the two sides of a correction.
fn sides(text: &str) -> Option<Sides> {
    if text.len() > LONGEST {
        return None;
    }
    let all = unquoted(&split(text, Marks::Kept));
    let said = after_leads(&all);
    let whole = phrases!(
        "it's|its not true|right|correct that? / it is not true|right|correct that? / it isn't true|right|correct that? \
         / it's wrong that / it is wrong that / es stimmt nicht dass? / es ist nicht wahr|richtig dass?"
    );
    let front = whole.begin(said).map(|(_, taken)| taken).max();
    let from = front.unwrap_or(0);
    // A comma or a dash stands before the other side.
    let at = (from + 1..said.len()).find(|at| {
        let raw = &text[said[*at].start..said[*at].end];
        matches!(raw, "," | ";" | "–" | "—") && begins_other_side(&said[at + 1..])
    })?;
    let rest = &said[at + 1..];
    let plain: Vec<Word> = said[from..at].iter().filter(|w| w.word).copied().collect();
    let itself = phrases!("no longer / any more|longer / anymore / nicht|kein|keine|keinen mehr").stand(&plain);
    if front.is_none() && !itself || plain.is_empty() {
        return None;
    }
    let begin = said[from..at].iter().find(|w| w.word)?.start;
    Some(Sides { denied: begin..said[at - 1].end, holds: rest.first()?.start..said.last()?.end, itself })
}

/// Whether words begin the side of a correction that holds: "it's …", "they go …", "sondern …".
fn begins_other_side(rest: &[Word]) -> bool {
    let rest: Vec<Word> = rest.iter().filter(|w| w.word).copied().collect();
    let Some(first) = rest.first() else { return false };
    words!("it's it they they're we're sondern es sie er but").has_hash(first.hash) && rest.len() <= 10
}

/// Returns the values that a correction says do not hold.
pub(super) fn denied_values(text: &str) -> Vec<String> {
    let Some(sides) = sides(text) else { return Vec::new() };
    let part = &text[sides.denied];
    let said: Vec<Word> = unquoted(&split(part, Marks::Kept)).into_iter().filter(|w| w.word).collect();
    values(&said, part)
}

/// Returns what a correction states. `None`: the sentence is none.
pub(super) fn corrected(text: &str) -> Option<Told> {
    if let Some(told) = cleft(text) {
        return Some(told);
    }
    let sides = sides(text)?;
    let part = &text[sides.denied.clone()];
    let (subject, old) = match statements(part).into_iter().next()? {
        Told::Fact { subject, value, .. } if !sides.itself => (subject, value),
        Told::Retraction { subject, value, .. } if sides.itself => (subject, value),
        _ => return None,
    };
    let other = &text[sides.holds.clone()];
    let said: Vec<Word> = unquoted(&split(other, Marks::Kept)).into_iter().filter(|w| w.word).collect();
    let doubts =
        phrases!("maybe|perhaps|probably|might|think|guess|should|would|could|if / vielleicht|wohl|wahrscheinlich");
    if doubts.stand(&said) {
        return None;
    }
    let mut new = values(&said, other);
    // If one value is a number or a path, names beside it belong to the subject.
    if new.iter().any(|v| is_hard(v)) {
        new.retain(|v| is_hard(v));
    }
    let whole = shown(text);
    if new.is_empty() {
        return Some(Told::Retraction { subject, value: old, text: whole });
    }
    Some(Told::Fact { subject, value: new.join(" "), text: whole, changed: true })
}

/// Reads a sentence that puts the name of a person in front: "it's Lenka who approves new stations".
fn cleft(text: &str) -> Option<Told> {
    let all = unquoted(&split(text, Marks::Kept));
    let said = after_leads(&all);
    let taken = phrases!("it's / it is / es ist").begin(said).map(|(_, taken)| taken).max()?;
    let named = said[taken..].iter().take_while(|w| text[w.start..w.end].starts_with(char::is_uppercase)).count();
    let who = said.get(taken + named)?;
    if !(1..=2).contains(&named) || !words!("who").has_hash(who.hash) || text.len() > LONGEST {
        return None;
    }
    let name = &text[said[taken].start..said[taken + named - 1].end];
    let rest = text[who.end..].split(',').next().unwrap_or_default();
    match statements(&format!("{name}{rest}")).into_iter().next()? {
        Told::Fact { subject, value, changed, .. } => Some(Told::Fact { subject, value, text: shown(text), changed }),
        _ => None,
    }
}

/// Returns where a polite request begins behind a statement: "the limit is 9 days, can you enforce that?".
pub(super) fn behind_request(text: &str) -> Option<usize> {
    let at = text.rfind(", ")?;
    let asked = unquoted(&split(&text[at + 2..], Marks::Dropped));
    let asks =
        phrases!("so|and|also? can|could|would|will you|we / so|and|also? please / kannst|könntest|könnten du|wir");
    let asks = asks.begin(&asked).next().is_some();
    let before: Vec<Word> = unquoted(&split(&text[..at], Marks::Dropped));
    let states = (1..before.len()).any(|at| is_finite(&before, at, text));
    let names = before.iter().any(|w| names_something(&text[w.start..w.end], w.start == 0));
    (asks && (states || names)).then_some(at)
}
