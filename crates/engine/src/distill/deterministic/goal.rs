//! Finds the goal of a session: the matter in hand, in the person's words.

use super::exchange::{Exchange, in_hand};
use super::list::{JOIN, line};
use super::prompt::{Prompt, Purpose, is_shell_line, is_wide, names, weight};
use crate::lineage::distillate::Item;
use crate::text::plain::cut;
use crate::text::similarity::Bag;

/// Maximum length of each part of a goal that has two parts, in bytes.
const PART: usize = 185;

/// Minimum number of requests from which a session can be one of unrelated errands.
const ERRANDS: usize = 4;

/// Minimum number of statements of a request that specifies a whole piece of work.
const SPECIFIES: usize = 8;

/// Maximum number of requests compared with each other.
const MOST_ASKS: usize = 60;

/// Returns the goal: the request that opened the matter, and the newest request if it is another one: `opening →
/// newest`.
///
/// A request that only points back ("implement the plan") includes the words it points to. Assents, complaints,
/// questions about what was done, and pasted text are never a goal.
pub fn goal(before: Option<&Item>, exchanges: &[Exchange]) -> Option<Item> {
    let asks: Vec<(&Prompt, String)> = exchanges
        .iter()
        .filter_map(|e| e.prompt.as_ref())
        .filter(|p| matches!(p.purpose, Purpose::Request | Purpose::Question))
        .map(|p| (p, p.core.clone()))
        .collect();
    // "Fix it" and "pull and go back to main" say too little to be a goal if another request says more, or if a goal
    // was carried over.
    let says = |p: &Prompt, text: &str| {
        (weight(text) >= 3 || p.commands() && names(text))
            && !is_errand(text)
            && !is_errand(&p.words())
            && !is_shell_line(text)
    };
    let asks: Vec<(&Prompt, String)> = match asks.iter().any(|(p, text)| says(p, text)) {
        // In a session of questions only, a short question can open the matter as well as a long one. "But that is bad
        // practice, isn't it?" means nothing without the question before it.
        true if !asks.iter().any(|(p, _)| p.commands()) => {
            let alone = asks.iter().any(|(p, text)| weight(text) >= 2 && !p.refers_back);
            asks.into_iter().filter(|(p, text)| weight(text) >= 2 && !(alone && p.refers_back)).collect()
        }
        true => asks.into_iter().filter(|(p, text)| says(p, text)).collect(),
        false if before.is_some() => return before.cloned(),
        false if asks.iter().any(|(p, _)| p.commands()) => asks.into_iter().filter(|(p, _)| p.commands()).collect(),
        false => asks,
    };
    let newest = newest(&asks, exchanges);
    let opening = opening(&asks, exchanges);
    let carried =
        before.map(|item| (item.text.split(JOIN).next().unwrap_or(&item.text).to_owned(), item.turns.clone()));
    // A carried goal that no exchange mentions any more is over.
    let stands = |text: &str| {
        let words = vocabulary(text);
        let shared = |e: &Exchange| about(e).iter().filter(|w| words.binary_search(w).is_ok()).take(2).count() > 1;
        asks.len() < 2 || exchanges.iter().any(shared)
    };
    let carried = carried.filter(|(text, _)| stands(text));
    let (first, turns) = match (carried, opening) {
        (Some(carried), _) => carried,
        (None, Some((prompt, text))) => (text.clone(), prompt.turns.clone()),
        (None, None) => {
            let report = exchanges.iter().rev().find_map(|e| e.prompt.as_ref().filter(|p| p.report.is_some()))?;
            return Some(Item::new(line(report.report.as_deref()?), report.turn));
        }
    };
    let Some((prompt, text)) = newest else { return before.cloned() };
    // A request that is still being worked on is listed under "in progress", so the goal leaves it out.
    let last = in_hand(exchanges).map(|(_, e)| e).filter(|e| e.runs()).and_then(|e| e.prompt.as_ref());
    if last.is_some_and(|l| l.turn == prompt.turn) && !turns.contains(&prompt.turn) {
        return Some(Item { text: line(&first), turns, file: None });
    }
    // A request from before the matter was opened is not a newer part of it.
    let earlier = turns.iter().any(|turn| *turn > prompt.turn);
    if earlier || turns.contains(&prompt.turn) || Bag::of(&first).is_like(&Bag::of(text)) {
        return Some(Item { text: line(&first), turns, file: None });
    }
    let mut turns = turns;
    turns.extend(&prompt.turns);
    turns.sort();
    turns.dedup();
    Some(Item { text: line(&joined(&first, text)), turns, file: None })
}

/// The words of housekeeping requests in a repository, which are never the matter itself.
const ERRAND: &str =
    "ok get go switch checkout back over into again now then pull fetch push commit merge rebase stash main
    master dev develop branch trunk remote origin latest newest changes upstream zurück wieder auf branche retour rama";

/// Whether a request is only housekeeping in the repository: "ok let's get back to main".
pub fn is_errand(text: &str) -> bool {
    let (bag, house) = (Bag::of(text), Bag::of(ERRAND));
    !bag.is_empty() && bag.ids.is_empty() && bag.shared(&house) > 0 && bag.len() - bag.shared(&house) <= 1
}

/// Returns the newest prompt that is surely a request, or a likely one that work followed. A prompt that is only
/// guessed to be a request is often news: "the insurance is informed".
fn newest<'a, 'e>(asks: &'a [(&'e Prompt, String)], exchanges: &[Exchange]) -> Option<&'a (&'e Prompt, String)> {
    let worked = |p: &Prompt| exchanges.iter().any(|e| e.worked && e.prompt.as_ref().is_some_and(|q| q.turn == p.turn));
    let is = |p: &Prompt| p.surely_commands() || p.purpose == Purpose::Request && p.commands() && worked(p);
    match asks.iter().any(|(p, _)| p.commands()) {
        true => asks.iter().rfind(|(p, text)| weight(text) >= 4 && is(p) && !p.is_listed()).or(asks.first()),
        // If all are questions, the newest one that can stand by itself is taken.
        false => asks.iter().rfind(|(_, text)| weight(text) >= 3).or(asks.first()),
    }
}

/// Joins both parts of a goal; a long part may use the bytes that a short one leaves free.
fn joined(first: &str, newest: &str) -> String {
    let room = |other: &str| (2 * PART).saturating_sub(other.len()).max(PART);
    format!("{}{JOIN}{}", cut(first, room(newest)), cut(newest, room(first)))
}

/// Returns the request that the session is about: the first one that shares words with at least half as many exchanges
/// as the best one does. People begin with a greeting or an errand; the matter is what they keep talking about.
fn opening<'a, 'e>(asks: &'a [(&'e Prompt, String)], exchanges: &[Exchange]) -> Option<&'a (&'e Prompt, String)> {
    let all: Vec<Vec<u64>> = exchanges.iter().map(about).collect();
    let shares = |ask: &[u64], other: &[u64]| {
        ask.iter().filter(|w| other.binary_search(w).is_ok()).take(2).count() >= 2.min(ask.len())
    };
    struct Scored<'a, 'e> {
        score: usize,
        /// Number of exchanges that share words with the request, and position of the last such exchange.
        shared: usize,
        last: Option<usize>,
        ask: &'a (&'e Prompt, String),
    }
    let scored: Vec<Scored> = asks
        .iter()
        .filter(|(p, _)| p.accepted.is_empty())
        .take(MOST_ASKS)
        .map(|ask| {
            let own = vocabulary(&ask.0.words());
            let shared = all.iter().filter(|other| shares(&own, other)).count();
            let last = all.iter().rposition(|other| shares(&own, other));
            let mut score = if ask.0.commands() { 2 * shared } else { shared };
            // Requests that were carried out are the matter rather than the questions around them.
            let done = |e: &Exchange| e.acted && e.prompt.as_ref().is_some_and(|p| p.turn == ask.0.turn);
            if ask.0.commands() && exchanges.iter().any(done) {
                score *= 2;
            }
            // The first request usually opens the matter.
            let first = std::ptr::eq(ask.0, asks[0].0) && ask.0.commands() && weight(&ask.1) >= 5;
            Scored { score: if first { 2 * score } else { score }, shared, last, ask }
        })
        .collect();
    let most = scored.iter().map(|s| s.score).max()?;
    let Scored { shared, last, ask: opening, .. } = scored.into_iter().find(|s| 2 * s.score >= most)?;
    // Several errands have no common matter, and a matter that has not been mentioned for longer than it lasted is
    // over: the newest request is then the goal.
    let over = shared < 2 || last.is_some_and(|last| 2 * (last + 1) <= exchanges.len());
    // A session that begins with a specification keeps it as its goal: later requests about details share few words with
    // it, and would otherwise make it look abandoned.
    let specifies = std::ptr::eq(opening.0, asks[0].0) && opening.0.commands() && opening.0.own.len() >= SPECIFIES;
    if asks.len() < ERRANDS || !over || specifies {
        return Some(opening);
    }
    newest(asks, exchanges).filter(|(prompt, _)| prompt.turn != opening.0.turn).or(asks.last())
}

/// Returns the words of an exchange: the prompt, and the beginning of the answer.
fn about(exchange: &Exchange) -> Vec<u64> {
    let mut text = exchange.prompt.as_ref().map_or(String::new(), |p| p.ask.clone());
    for s in exchange.answer.iter().flat_map(|m| m.statements.iter().take(4)) {
        text.push(' ');
        text.push_str(&s.text);
    }
    vocabulary(&text)
}

/// Returns the meaningful words of a text, sorted; for scripts without spaces, pairs of characters.
pub fn vocabulary(text: &str) -> Vec<u64> {
    let bag = Bag::of(text);
    let mut found: Vec<u64> = bag.stems.into_iter().chain(bag.ids).collect();
    let mut before = None;
    for c in text.chars() {
        let wide = is_wide(c).then_some(c);
        if let (Some(a), Some(b)) = (before, wide) {
            found.push(u64::from(a as u32) << 32 | u64::from(b as u32));
        }
        before = wide;
    }
    found.sort_unstable();
    found.dedup();
    found
}
