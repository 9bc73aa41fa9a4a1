//! Compares texts by the stems of their meaningful words.
//!
//! There are two measures. A [`Bag`] is for a statement just made: it keeps names (`gqc.4`, `#12`), drops numbers that
//! name nothing, and can tell whether completed work settles an open item. [`ItemWords`] are for a stored item: every
//! number counts, and only items with nearly the same words are equal.

use std::sync::LazyLock;

use super::language::{FUNCTION_WORDS, section};
use super::patterns::{Words, hash};
use super::plain::lower;
use super::words::{Marks, Word, runs, split};

/// Sorted hashes of the stems and names of a statement.
#[derive(Clone, Default, PartialEq, Eq, Debug)]
pub struct Bag {
    pub stems: Vec<u64>,
    /// Words that name a single thing: `gqc.4`, `#12`, `parser.rs`, `task 3`.
    pub ids: Vec<u64>,
}

impl Bag {
    pub fn of(text: &str) -> Bag {
        let low = lower(text);
        Bag::of_words(&low, &split(&low, Marks::Dropped))
    }

    /// Makes the bag of a lower-case text that is already split.
    pub fn of_words(low: &str, words: &[Word]) -> Bag {
        let mut bag = Bag::default();
        for (i, word) in words.iter().enumerate() {
            let text = &low[word.start..word.end];
            let bare = text.trim_start_matches(['#', '@', '/', '~', '.', '$']);
            // A word of letters alone is neither a number nor a name.
            if text.bytes().all(|b| b.is_ascii_alphabetic()) {
                if text.len() > 1 && !STATEMENTS.has_hash(word.hash) {
                    bag.stems.push(hash(stem(text)));
                }
                continue;
            }
            let number = !bare.is_empty() && bare.bytes().all(|b| b.is_ascii_digit());
            if number {
                let before = i.checked_sub(1).map(|b| &low[words[b].start..words[b].end]);
                if text.starts_with('#') {
                    bag.ids.push(hash(text));
                } else if let Some(counted) = before.filter(|b| COUNTED.has(b)) {
                    bag.ids.push(hash(&format!("{counted} {bare}")));
                }
            } else if is_id(bare) {
                bag.ids.push(hash(bare));
                // `spotter-gqc.4` is also called `gqc.4`, `src/parser.rs` also `parser.rs`.
                let tail = bare.rsplit(['-', '/', '#']).next().unwrap_or(bare);
                if tail.len() < bare.len() && is_id(tail) {
                    bag.ids.push(hash(tail));
                }
            } else if !STATEMENTS.has(bare) && bare.chars().count() > 1 {
                bag.stems.push(hash(stem(bare)));
            }
        }
        for list in [&mut bag.stems, &mut bag.ids] {
            list.sort_unstable();
            list.dedup();
        }
        bag
    }

    pub fn is_empty(&self) -> bool {
        self.stems.is_empty() && self.ids.is_empty()
    }

    pub fn len(&self) -> usize {
        self.stems.len() + self.ids.len()
    }

    /// Returns the number of stems and names that both have.
    pub fn shared(&self, other: &Bag) -> usize {
        common(&self.stems, &other.stems) + common(&self.ids, &other.ids)
    }

    /// Whether two statements say the same: they share nearly all words, and have the same names.
    pub fn is_like(&self, other: &Bag) -> bool {
        if self.is_empty() || other.is_empty() {
            return false;
        }
        // Cheap checks come first, because this is called for every pair.
        if self.ids != other.ids || 4 * self.len().min(other.len()) < 3 * self.len().max(other.len()) {
            return false;
        }
        let shared = self.shared(other);
        4 * shared >= 3 * (self.len() + other.len() - shared)
    }

    /// Whether this statement of completed work settles the open item.
    pub fn settles(&self, open: &Bag) -> bool {
        if !open.ids.is_empty() && common(&self.ids, &open.ids) == open.ids.len() {
            return open.stems.len() < 3 || common(&self.stems, &open.stems) > 0 || open.ids.len() > 1;
        }
        let shared = self.shared(open);
        open.ids.is_empty() && shared >= 2.min(open.len()) && 2 * shared >= open.len() && shared > 0
            || !open.ids.is_empty() && shared >= 3 && 3 * shared >= 2 * open.len()
    }
}

/// Whether a word names a file, a ticket, a version or a commit: it has digits or a dot inside.
pub fn is_id(word: &str) -> bool {
    if word.len() < 2 || word.len() > 80 || word.contains("://") {
        return false;
    }
    let digit = word.bytes().any(|b| b.is_ascii_digit());
    let letter = word.chars().any(char::is_alphabetic);
    let dotted = word.rsplit_once('.').is_some_and(|(stem, end)| {
        !stem.is_empty() && (1..=5).contains(&end.len()) && !matches!(word, "e.g" | "i.e" | "z.b" | "d.h")
    });
    digit && (letter || word.contains(['.', '-', ':'])) && !is_ordinal(word)
        || letter && (dotted || word.contains('_') || word.contains("::"))
}

fn is_ordinal(word: &str) -> bool {
    let end = word.trim_start_matches(|c: char| c.is_ascii_digit() || c == '.' || c == ',');
    matches!(end, "st" | "nd" | "rd" | "th" | "s" | "ms" | "k" | "m" | "x" | "kb" | "mb" | "gb" | "h" | "min" | "%")
}

/// Sorted, distinct hashes of the stems of an item's meaningful words. Made once per text, to compare it with many.
pub type ItemWords = Vec<u64>;

/// Returns the words of an item: those of at least three letters that are not function words, and numbers ("step 3"
/// differs from "step 4"). Pages compare hundreds of items, so nothing is allocated for an ASCII word.
pub fn words(text: &str) -> ItemWords {
    let (mut out, mut folded) = (ItemWords::new(), String::new());
    for (_, word) in runs(text, &['_']) {
        let number = word.starts_with(|c: char| c.is_ascii_digit());
        if word.len() <= 2 && !number {
            continue;
        }
        folded.clear();
        if word.is_ascii() {
            folded.push_str(word);
            folded.make_ascii_lowercase();
        } else {
            folded.push_str(&word.to_lowercase());
            if folded.chars().count() <= 2 && !number {
                continue;
            }
        }
        if !ITEMS.has(&folded) {
            out.push(hash(stem(&folded)));
        }
    }
    out.sort_unstable();
    out.dedup();
    out
}

/// Whether two items say the same.
pub fn same_words(a: &str, b: &str) -> bool {
    same(&words(a), &words(b))
}

/// Whether two items say the same, as [`same_words`], for texts whose words are already known.
pub fn same(a: &ItemWords, b: &ItemWords) -> bool {
    if a.is_empty() || b.is_empty() {
        return a == b;
    }
    let (fewer, more) = (a.len().min(b.len()), a.len().max(b.len()));
    // The shorter item must have nine tenths of the words of the longer.
    fewer * 10 >= more * 9 && common(a, b) * 10 >= more * 9
}

/// Whether a text says more about a thing that an item names: "Production backfill: on a quiet morning" about "ZEPHYR:
/// production backfill". All words before the text's colon must be in the item, which has at most two others.
pub fn details(text: &str, item: &ItemWords) -> bool {
    let Some((head, rest)) = text.split_once(": ") else { return false };
    let head = words(head);
    head.len() >= 2 && !rest.trim().is_empty() && common(&head, item) == head.len() && item.len() <= head.len() + 2
}

/// Whether a text about completed work covers this item: it contains most of the item's words.
pub fn covers(done: &ItemWords, item: &ItemWords) -> bool {
    let common = common(done, item);
    !item.is_empty() && common >= 2.min(item.len()) && common * 10 >= item.len() * 6
}

/// Returns the number of words two items share.
pub fn shared(a: &ItemWords, b: &ItemWords) -> usize {
    common(a, b)
}

/// Returns the number of sorted hashes that both have.
fn common(a: &[u64], b: &[u64]) -> usize {
    let (mut i, mut j, mut found) = (0, 0, 0);
    while i < a.len() && j < b.len() {
        match a[i].cmp(&b[j]) {
            std::cmp::Ordering::Less => i += 1,
            std::cmp::Ordering::Greater => j += 1,
            std::cmp::Ordering::Equal => (i, j, found) = (i + 1, j + 1, found + 1),
        }
    }
    found
}

/// Returns the word roughly without its endings: "tests", "tested" and "testing" become one.
pub fn stem(word: &str) -> &str {
    let irregular = match word {
        "wrote" | "written" | "writing" => "write",
        "ran" => "run",
        "sent" => "send",
        "built" => "build",
        "made" => "make",
        "chose" | "chosen" => "choose",
        "bought" => "buy",
        "paid" => "pay",
        "found" => "find",
        "told" => "tell",
        "kept" => "keep",
        other => other,
    };
    let mut base = irregular.trim_end_matches("'s");
    if base.is_ascii() && base.len() > 4 {
        for end in ["ing", "ed", "es", "s"] {
            if let Some(rest) = base.strip_suffix(end).filter(|r| r.len() >= 3 && !(end == "s" && r.ends_with('s'))) {
                base = rest;
                let bytes = base.as_bytes();
                let n = bytes.len();
                if end.len() > 1 && n > 3 && bytes[n - 1] == bytes[n - 2] && !matches!(bytes[n - 1], b's' | b'l') {
                    base = &base[..n - 1];
                }
                break;
            }
        }
    } else if base.len() == 4 && base.ends_with('s') && base.is_ascii() && !base.ends_with("ss") {
        base = &base[..3];
    }
    if base.len() > 3 {
        base = base.strip_suffix('e').unwrap_or(base);
    }
    let end = base.char_indices().nth(9).map_or(base.len(), |(i, _)| i);
    &base[..end]
}

static STATEMENTS: LazyLock<Words> = LazyLock::new(|| Words::of(section(FUNCTION_WORDS, "statements")));
static ITEMS: LazyLock<Words> = LazyLock::new(|| Words::of(section(FUNCTION_WORDS, "items")));
/// Words that form a name with the number after them: "task 3".
static COUNTED: LazyLock<Words> = LazyLock::new(|| Words::of(section(FUNCTION_WORDS, "counted")));

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_are_folded_and_grammar_is_none() {
        assert_eq!(words("The CHECKS and checking, für den Ärger: it's ok"), words("check ärger für den"));
        assert_eq!(words("of it, its and the"), ItemWords::new());
        assert_ne!(words("fix step 3"), words("fix step 4"));
    }

    #[test]
    fn what_follows_a_name_is_a_detail_of_it() {
        let says = |text: &str, item: &str| details(text, &words(item));
        assert!(says("Production backfill: I'd do it on a quiet morning.", "ZEPHYR: production backfill"));
        assert!(!says("Production backfill", "ZEPHYR: production backfill"), "that is told by the words alone");
        assert!(!says("Backfill: slow", "ZEPHYR: production backfill"), "one word names nothing");
        assert!(!says("Production backfill: slow", "Check the logs of the production backfill for other errors"));
    }

    #[test]
    fn names_tell_statements_apart() {
        let of = Bag::of;
        assert!(of("Implemented src/parser.rs tests").is_like(&of("implement the tests for src/parser.rs")));
        assert!(!of("close ticket #12").is_like(&of("close ticket #13")));
        assert!(of("Fixed spotter-gqc.4").settles(&of("fix gqc.4")) && !of("Fixed gqc.5").settles(&of("fix gqc.4")));
        assert_eq!(of("task 3").ids.len(), 1);
        assert!(of("3 of 4").is_empty());
    }
}
