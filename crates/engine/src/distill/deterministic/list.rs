//! Lists of items that stay small while they are built: items that are nearly equal are merged, and the weightiest and
//! newest items are kept.

use super::goal::vocabulary;
use crate::lineage::distillate::{Item, LONGEST_ITEM};
use crate::scope::TurnId;
use crate::text::plain::{cut, plain};
use crate::text::similarity::Bag;

/// Separator between the pieces of an item that quotes two turns: a question and its answer, a command and its error.
pub const JOIN: &str = " → ";
/// Maximum number of turns an item names: the first and the newest.
const MOST_TURNS: usize = 8;

/// An item with the values that decide whether it is kept.
#[derive(Clone, Debug)]
pub struct Noted {
    pub item: Item,
    pub bag: Bag,
    /// Items with more weight are kept first.
    pub weight: u8,
    /// Position of the turn in which the item was said.
    pub seq: usize,
}

impl Noted {
    /// Makes an item; `None` if no text is left.
    pub fn new(text: &str, turn: TurnId, weight: u8) -> Option<Noted> {
        let text = line(text);
        let bag = Bag::of(&text);
        text.chars().any(char::is_alphanumeric).then(|| Noted {
            item: Item::new(text, turn),
            bag,
            weight,
            seq: place(turn),
        })
    }

    /// Returns an item carried over from the distillate before these turns.
    pub fn carried(item: &Item) -> Option<Noted> {
        let text = line(&item.text);
        let bag = Bag::of(&text);
        let fits = text.chars().any(char::is_alphanumeric) && !item.turns.is_empty();
        fits.then(|| Noted { item: Item { text, ..item.clone() }, bag, weight: 2, seq: 0 })
    }

    /// Returns an item with its own turns; its newest turn decides its position in the list.
    pub fn of(item: &Item, weight: u8) -> Option<Noted> {
        let mut noted = Noted::carried(item)?;
        noted.weight = weight;
        noted.seq = item.turns.last().map_or(0, |t| place(*t));
        Some(noted)
    }

    pub fn also(&mut self, turns: &[TurnId]) {
        let all = &mut self.item.turns;
        all.extend(turns);
        all.sort();
        all.dedup();
        if all.len() > MOST_TURNS {
            all.drain(1..=all.len() - MOST_TURNS);
        }
    }
}

/// Returns the text of an item: one plain line, credentials redacted, at most [`LONGEST_ITEM`] bytes.
pub fn line(text: &str) -> String {
    let plain = plain(text);
    let told: Vec<&str> = plain.split(JOIN).map(unlabelled).collect();
    cut(&crate::redact::redact(&told.join(JOIN)), LONGEST_ITEM)
}

/// Removes a label that only says that the text is short: "TL;DR: …".
fn unlabelled(text: &str) -> &str {
    const LABEL: &str = "tl;dr";
    let labelled = text.get(..LABEL.len()).is_some_and(|head| head.eq_ignore_ascii_case(LABEL));
    let rest = if labelled { text[LABEL.len()..].trim_start().strip_prefix([':', '：']) } else { None };
    rest.map(str::trim_start).filter(|rest| !rest.is_empty()).unwrap_or(text)
}

/// Returns the position of an item in a list: the number of the turn it comes from.
fn place(turn: TurnId) -> usize {
    usize::try_from(turn.0).unwrap_or(usize::MAX)
}

/// Items of one kind.
#[derive(Debug)]
pub struct List {
    items: Vec<Noted>,
    most: usize,
}

impl List {
    pub fn new(most: usize) -> List {
        List { items: Vec::new(), most }
    }

    /// Returns a list that begins with the items carried over.
    pub fn carrying(most: usize, before: &[Item]) -> List {
        let mut list = List::new(most);
        for (at, item) in before.iter().enumerate() {
            if let Some(mut noted) = Noted::carried(item) {
                noted.seq = at;
                list.put(noted);
            }
        }
        list
    }

    pub fn add(&mut self, text: &str, turn: TurnId, weight: u8) {
        if let Some(noted) = Noted::new(text, turn, weight) {
            self.put(noted);
        }
    }

    /// Adds a text made of the words of several turns, oldest first.
    pub fn tell(&mut self, text: &str, turns: &[TurnId], weight: u8) {
        let Some((newest, others)) = turns.split_last() else { return };
        if let Some(mut noted) = Noted::new(text, *newest, weight) {
            noted.also(others);
            self.put(noted);
        }
    }

    /// Adds an item, or merges it with an item that says the same. The newer wording is kept.
    pub fn put(&mut self, noted: Noted) {
        // An exact match is preferred, because an item can be similar to two others.
        let same = |n: &Noted| n.item.text.eq_ignore_ascii_case(&noted.item.text);
        let like = |n: &Noted| n.bag.is_like(&noted.bag);
        if let Some(at) = self.items.iter().position(same).or_else(|| self.items.iter().position(like)) {
            let mut old = self.items.remove(at);
            let mut merged = noted;
            merged.weight = merged.weight.max(old.weight);
            merged.item.file = merged.item.file.take().or(old.item.file.take());
            let turns = std::mem::take(&mut old.item.turns);
            merged.also(&turns);
            self.items.push(merged);
            return;
        }
        self.items.push(noted);
        if self.items.len() >= 4 * self.most + 32 {
            self.bound(2 * self.most + 16);
        }
    }

    /// Removes the items that begin with the name of something that is now done.
    pub fn settle_named(&mut self, done: &Bag) {
        if done.ids.is_empty() {
            return;
        }
        self.items.retain(|n| {
            let first = Bag::of(n.item.text.split_whitespace().next().unwrap_or_default());
            first.ids.is_empty() || !first.ids.iter().all(|id| done.ids.binary_search(id).is_ok())
        });
    }

    /// Removes the items about a matter: those that share with it half (`part` 2) or a third (3) of the words of the
    /// shorter text.
    pub fn drop_about(&mut self, about: &Bag, part: usize) {
        let shares = |n: &Noted| {
            let shared = n.bag.shared(about);
            shared > 0 && part * shared >= n.bag.len().min(about.len())
        };
        self.items.retain(|n| !shares(n));
    }

    /// Removes and returns the newest item that a retraction or a change of mind is about.
    pub fn take_replaced(&mut self, by: &str) -> Option<Item> {
        let at = self.items.iter().rposition(|n| is_replaced(&n.item.text, by))?;
        Some(self.items.remove(at).item)
    }

    /// Removes the items that a statement of completed work settles.
    pub fn settle(&mut self, done: &Bag) {
        self.items.retain(|n| !done.settles(&n.bag));
    }

    fn bound(&mut self, most: usize) {
        if self.items.len() > most {
            self.items.sort_by_key(|n| std::cmp::Reverse((n.weight, n.seq)));
            self.items.truncate(most);
        }
        self.items.sort_by_key(|n| n.seq);
    }

    /// Returns the weightiest and newest items, in the order they were said.
    pub fn into_items(mut self) -> Vec<Item> {
        self.bound(self.most);
        self.items.into_iter().map(|n| n.item).collect()
    }
}

/// Marker in an item's text before the words of the decision it replaces.
pub const REPLACES: &str = " (replaces: ";

/// Formats a decision with the one it replaces: `new (replaces: old)`.
pub fn replacing(new: &str, old: &str) -> String {
    let own = |text: &str| text.split(REPLACES).next().unwrap_or(text).trim_end_matches(['.', ' ']).to_owned();
    format!("{}{REPLACES}{})", cut(&own(new), 230), cut(&own(old), 110))
}

/// Whether a retraction or a change of mind is about an item: both share a name, a number, or a third of the words.
pub fn is_replaced(old: &str, by: &str) -> bool {
    let (of, bag, words) = (Bag::of(old), Bag::of(by), vocabulary(by));
    let known = vocabulary(old);
    let shared = known.iter().filter(|w| words.binary_search(w).is_ok()).count();
    of.ids.iter().any(|id| bag.ids.binary_search(id).is_ok())
        || names(by).iter().any(|name| old.contains(name))
        || shared > 1 && 3 * shared >= known.len().min(words.len())
}

/// Returns the words of a text that are names or numbers: a capital letter inside a sentence, digits.
fn names(text: &str) -> Vec<&str> {
    let sign = |c: char| !c.is_alphanumeric() && !matches!(c, '-' | '_' | '.');
    let words: Vec<&str> = text.split(sign).filter(|w| !w.is_empty()).collect();
    let named = |at: usize| {
        let (word, length) = (words[at], words[at].chars().count());
        let inside = at > 0 && !words[at - 1].ends_with('.');
        length > 3 && inside && word.starts_with(char::is_uppercase)
            || length > 1 && word.bytes().all(|b| b.is_ascii_digit())
    };
    (0..words.len()).filter(|at| named(*at)).map(|at| words[at].trim_matches('.')).collect()
}
