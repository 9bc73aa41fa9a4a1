//! Gives each sentence once (R10.2, R10.4): a sentence that a summary took from a turn is left to the turn, which has
//! it in its own words, and the summary keeps the rest.

use super::recalled::{Dropped, Item, Stage};
use super::withheld::Withheld;
use crate::text::sentences;
use crate::text::similarity::{self, ItemWords};

/// Largest number of bytes of a sentence that is compared as one.
const SENTENCE: usize = 600;

/// Removes from each summary the sentences that turns of the same answer say, and its own repetitions. A summary that
/// then has no word of the question left is dropped.
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

/// Returns the sentences of a text with their words; a leading label such as "Decided:" is not among the words.
fn each(text: &str) -> impl Iterator<Item = (&str, ItemWords)> {
    sentences::split(text, SENTENCE).into_iter().map(|range| {
        let sentence = &text[range];
        (sentence, similarity::words(sentences::unlabelled(sentence)))
    })
}

/// Whether nine tenths of a sentence's words are in another sentence.
fn repeats(words: &ItemWords, said: &ItemWords) -> bool {
    !words.is_empty() && similarity::shared(words, said) * 10 >= words.len() * 9
}
