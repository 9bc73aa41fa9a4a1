//! Leaves out summaries that say less of the question than a turn below them. Summaries come before turns because they
//! answer in fewer words (R10.1); one that only touches the question stands in front of the answer and is read first.
//!
//! Measured on 203 questions about 29 sessions of as many authors: of 324 summaries given, 10 had the words of the
//! answer, and with two of them in front the first item had these words for 8 questions.

use super::named::Named;
use super::query::Query;
use super::recalled::{Dropped, Item, Stage};
use super::worth::Worth;

/// Drops each summary whose sentences carry less of the question than the best turn or summary that is given, and no word
/// of it that the turns given lack. A summary that the question names stays.
pub(super) fn drop_outdone(items: &mut Vec<Item>, worth: &Worth, named: &Named, dropped: &mut Vec<Dropped>) {
    let said: Vec<(Stage, String, Vec<bool>)> = items
        .iter()
        .filter(|item| item.stage != Stage::Structured)
        .map(|item| (item.stage, item.id.clone(), worth.standing(&item.text)))
        .collect();
    let best = said.iter().map(|(_, id, standing)| (worth.weight_of(standing), id));
    let Some((best, by)) = best.max_by(|a, b| a.0.total_cmp(&b.0)) else { return };
    let in_turns = |word: usize| said.iter().any(|(stage, _, standing)| *stage == Stage::Transcript && standing[word]);
    items.retain(|item| {
        if item.stage != Stage::Lineage || named.ids.contains(&item.id) {
            return true;
        }
        let standing = worth.standing(&item.text);
        // A turn may have been left out because this summary says what it says.
        let tells_more = standing.iter().enumerate().any(|(word, stands)| *stands && !in_turns(word));
        let stays = tells_more || worth.weight_of(&standing) >= best;
        if !stays {
            dropped.push(Dropped { id: item.id.clone(), why: format!("says less of the question than {by}") });
        }
        stays
    });
}

/// Drops memory and summaries of other times than the question asks about, where turns of that time are given: "What did
/// I do on 22 May?" is answered by that day alone. A question with nothing but a time is answered by nothing else.
pub(super) fn drop_of_other_times(items: &mut Vec<Item>, query: &Query, named: &Named, dropped: &mut Vec<Dropped>) {
    let is_then = |item: &Item| query.favours(item.at) == Some(true);
    if !query.only_times && !items.iter().any(|item| item.stage == Stage::Transcript && is_then(item)) {
        return;
    }
    items.retain(|item| {
        let stays =
            item.stage == Stage::Transcript || named.ids.contains(&item.id) || query.favours(item.at) != Some(false);
        if !stays {
            dropped.push(Dropped { id: item.id.clone(), why: "of another time than the question asks about".into() });
        }
        stays
    });
}
