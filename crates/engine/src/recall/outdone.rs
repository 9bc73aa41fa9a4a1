//! Leaves out summaries that say less of the question than a turn below them. Summaries come before turns because they
//! answer in fewer words (R10.1); one that only touches the question stands in front of the answer and is read first.
//!
//! Measured on 203 questions about 29 sessions of as many authors: of 324 summaries given, 10 had the words of the
//! answer, and with two of them in front the first item had these words for 8 questions.

use super::named::Named;
use super::recalled::{Dropped, Item, Stage};
use super::worth::Worth;

/// Drops each summary whose sentences carry less of the question than the best turn or summary that is given. A summary
/// that the question names stays.
pub(super) fn drop_outdone(items: &mut Vec<Item>, worth: &Worth, named: &Named, dropped: &mut Vec<Dropped>) {
    let said = items.iter().filter(|item| item.stage != Stage::Structured);
    let best = said.map(|item| (worth.words_in(&item.text), item.id.clone())).max_by(|a, b| a.0.total_cmp(&b.0));
    let Some((best, by)) = best else { return };
    items.retain(|item| {
        let stays = item.stage != Stage::Lineage || named.ids.contains(&item.id) || worth.words_in(&item.text) >= best;
        if !stays {
            dropped.push(Dropped { id: item.id.clone(), why: format!("says less of the question than {by}") });
        }
        stays
    });
}
