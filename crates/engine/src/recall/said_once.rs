//! A sentence that a summary took from a turn is given once (R10.2, R10.4): the turn says it in its own words, and the
//! summary keeps what no turn beside it says.

use super::recalled::{Dropped, Item, Stage};
use super::withheld::Withheld;
use crate::text::sentences;
use crate::text::similarity::{self, ItemWords};

/// The longest sentence, in bytes, that is compared as one.
const SENTENCE: usize = 600;

/// Removes from each summary what the turns of the same answer say, and what it says twice. A summary that has no word of
/// the question left is dropped.
pub(super) fn say_once(items: &mut Vec<Item>, withheld: &Withheld, dropped: &mut Vec<Dropped>) {
    let turns: Vec<(String, Vec<ItemWords>)> = items
        .iter()
        .filter(|item| item.stage == Stage::Transcript)
        .map(|turn| (turn.id.clone(), each(&turn.text).map(|(_, words)| words).collect()))
        .collect();
    items.retain_mut(|item| {
        if item.stage != Stage::Lineage {
            return true;
        }
        let (mut kept, mut told): (Vec<&str>, Vec<ItemWords>) = (Vec::new(), Vec::new());
        let mut by: Vec<&str> = Vec::new();
        let mut is_repeated = false;
        for (sentence, words) in each(&item.text) {
            let turn = turns.iter().find(|(_, said)| said.iter().any(|said| repeats(&words, said)));
            by.extend(turn.map(|(id, _)| id.as_str()).filter(|id| !by.contains(id)));
            if turn.is_some() || told.iter().any(|said| repeats(&words, said)) {
                is_repeated = true;
            } else if !words.is_empty() {
                kept.push(sentence);
                told.push(words);
            }
        }
        if !is_repeated {
            return true;
        }
        let left = kept.join(" ");
        if left.is_empty() || !by.is_empty() && !withheld.is_asked_for_in(&left) {
            dropped.push(Dropped { id: item.id.clone(), why: format!("says what {} says", by.join(" and ")) });
            return false;
        }
        item.text = left;
        true
    });
}

/// The sentences of a text with their words, without the label before the first: "Decided: we drop Redis."
fn each(text: &str) -> impl Iterator<Item = (&str, ItemWords)> {
    sentences::split(text, SENTENCE).into_iter().map(|range| {
        let sentence = &text[range];
        (sentence, similarity::words(sentences::unlabelled(sentence)))
    })
}

/// Whether nine tenths of a sentence's words stand in another.
fn repeats(words: &ItemWords, said: &ItemWords) -> bool {
    !words.is_empty() && similarity::shared(words, said) * 10 >= words.len() * 9
}
