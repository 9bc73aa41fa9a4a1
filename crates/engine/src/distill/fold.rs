//! Folds an older and a newer distillate into one: the newer one wins, and items the older one left open stay open
//! unless the newer one completed them (R6.7). Pure. Used for the head of a thread and for condensed nodes.

use std::cell::RefCell;
use std::collections::{BTreeSet, HashMap};
use std::rc::Rc;

use super::deterministic::{CHECKED, REPLACES, is_replaced, replacing, retracts};
use super::over::{goes_on_later, is_about, is_written, says_over};
use super::work_state;
use crate::lineage::distillate::{Distillate, Item, TouchedFile};
use crate::text::patterns::phrases;
use crate::text::similarity::{ItemWords, covers, same, words};

/// Maximum number of items in each list; the oldest are dropped first.
const MOST: usize = 20;

/// Maximum number of files; those only read are dropped first.
const MOST_FILES: usize = 60;

/// Returns `older`, brought up to date with `newer`.
pub fn fold(older: &Distillate, newer: &Distillate) -> Distillate {
    Folding::default().fold(older, newer)
}

/// Folds several distillates one after the other, and splits each text into words only once.
#[derive(Default)]
pub(crate) struct Folding {
    known: RefCell<HashMap<String, Rc<ItemWords>>>,
}

impl Folding {
    /// Folds two distillates, as [`fold`] does.
    pub fn fold(&self, older: &Distillate, newer: &Distillate) -> Distillate {
        folded(&|text| self.words(text), older, newer)
    }

    fn words(&self, text: &str) -> Rc<ItemWords> {
        if let Some(words) = self.known.borrow().get(text) {
            return Rc::clone(words);
        }
        let found = Rc::new(words(text));
        self.known.borrow_mut().insert(text.to_owned(), Rc::clone(&found));
        found
    }
}

type WordsOf<'w> = &'w dyn Fn(&str) -> Rc<ItemWords>;

fn folded(words: WordsOf, older: &Distillate, newer: &Distillate) -> Distillate {
    let done: Vec<Rc<ItemWords>> = newer.done.iter().map(|done| words(&done.text)).collect();
    let mended: Vec<&str> = newer.fixed.iter().filter_map(|item| command(&item.text)).collect();
    let over: Vec<&str> = newer.done.iter().map(|done| done.text.as_str()).filter(|text| says_over(text)).collect();
    let passed: Vec<&str> = newer.context.iter().filter_map(|item| passed(&item.text)).collect();
    let told: Vec<&str> =
        newer.done.iter().chain(&newer.fixed).chain(&newer.context).map(|i| i.text.as_str()).collect();
    let written: Vec<&str> = newer.files.iter().filter(|f| f.is_written()).map(|f| f.path.as_str()).collect();
    let worked = !written.is_empty() || !newer.done.is_empty();
    let is_over = |item: &Item| {
        let text = &item.text;
        let passes = |c: &str| mended.contains(&c) || passed.iter().any(|passed| work_state::shows_passing(passed, c));
        told.iter().any(|told| passes_now(told, text))
            || command(text).is_some_and(passes)
            || !done.is_empty() && covered_by_any(&done, &words(text))
            || over.iter().any(|told| is_about(told, text))
            || worked && goes_on_later(text)
            || is_written(text, written.iter().copied())
    };
    let open = |item: &&Item| !is_over(item);
    // A session that only asked what is left does not become what the thread is about.
    let goes_on = newer.only_asks() && older.goal.is_some() && !older.only_asks();
    let mut out = Distillate {
        goal: newer.goal.clone().filter(|_| !goes_on).or_else(|| older.goal.clone()),
        constraints: joined(words, older.constraints.iter(), &newer.constraints),
        requirements: requirements(older, newer),
        done: joined(words, older.done.iter(), &newer.done),
        in_progress: joined(words, older.in_progress.iter().filter(open), &newer.in_progress),
        blocked: joined(words, older.blocked.iter().filter(open), &newer.blocked),
        fixed: joined(words, older.fixed.iter(), &newer.fixed),
        decisions: decided(words, older, newer),
        open_loops: joined(words, older.open_loops.iter().filter(open), &newer.open_loops),
        // Earlier next steps have been done or replaced.
        next_steps: if newer.is_empty() || goes_on || (newer.next_steps.is_empty() && newer.goal.is_none()) {
            older.next_steps.clone()
        } else {
            newer.next_steps.clone()
        },
        context: joined(words, older.context.iter(), &newer.context),
        files: files(&older.files, &newer.files),
        proposals: older.proposals.clone(),
    };
    for proposal in &newer.proposals {
        if !out.proposals.iter().any(|p| p.text == proposal.text) {
            out.proposals.push(proposal.clone());
        }
    }
    // Only the newest proposals are kept.
    let keep = out.proposals.len().saturating_sub(MOST);
    out.proposals.drain(..keep);
    out
}

/// Joins the older items and the newer; similar ones are merged, with the newer words and the turns of both.
fn joined<'i>(words: WordsOf, older: impl Iterator<Item = &'i Item>, newer: &'i [Item]) -> Vec<Item> {
    let mut out: Vec<(Rc<ItemWords>, Item)> = Vec::new();
    for item in older.chain(newer) {
        let said = words(&item.text);
        // Similarity is not transitive, so an exact match is preferred; otherwise an item could be listed twice.
        let known = out.iter().position(|(o, _)| *o == said).or_else(|| out.iter().position(|(o, _)| same(o, &said)));
        let mut item = item.clone();
        if let Some(at) = known {
            let (_, before) = out.remove(at);
            item.turns = merged(&before.turns, &item.turns);
            item.file = item.file.or(before.file);
        }
        out.push((said, item));
    }
    let over = out.len().saturating_sub(MOST);
    out.into_iter().skip(over).map(|(_, item)| item).collect()
}

/// Joins the decisions. A decision that a newer one replaces becomes part of that one: `new (replaces: old)`.
fn decided(words: WordsOf, older: &Distillate, newer: &Distillate) -> Vec<Item> {
    let mut before: Vec<Item> = older.decisions.clone();
    let mut after = newer.decisions.clone();
    for item in after.iter_mut().filter(|item| !item.text.contains(REPLACES)) {
        if before.is_empty() || before.iter().any(|b| b.text == item.text) || !retracts(&item.text) {
            continue;
        }
        let reversed = |old: &Item| is_replaced(&old.text, &item.text) && !retracts(&old.text);
        if let Some(at) = before.iter().rposition(reversed) {
            let old = before.remove(at);
            item.turns = merged(&old.turns, &item.turns);
            item.text = replacing(&item.text, &old.text);
        }
    }
    joined(words, before.iter(), &after)
}

/// Returns the requirements of the task in hand. Requirements of a finished task no longer apply.
fn requirements(older: &Distillate, newer: &Distillate) -> Vec<Item> {
    let of = if newer.requirements.is_empty() { &older.requirements } else { &newer.requirements };
    let over = |task: &str| newer.done.iter().any(|d| d.text.split([' ', ':']).next() == Some(task));
    of.iter().filter(|i| !i.text.split_once(" → ").is_some_and(|(task, _)| over(task))).cloned().collect()
}

fn files(older: &[TouchedFile], newer: &[TouchedFile]) -> Vec<TouchedFile> {
    let mut out: Vec<TouchedFile> = Vec::new();
    for file in older.iter().chain(newer) {
        let mut file = file.clone();
        if let Some(at) = out.iter().position(|f| f.path == file.path) {
            let before = out.remove(at);
            file.touch = if file.touch == crate::lineage::distillate::Touch::Deleted {
                file.touch
            } else {
                file.touch.max(before.touch)
            };
            file.turns = merged(&before.turns, &file.turns);
        }
        out.push(file);
    }
    while out.len() > MOST_FILES {
        let least = out.iter().position(|f| f.touch == crate::lineage::distillate::Touch::Read).unwrap_or(0);
        out.remove(least);
    }
    out
}

/// Returns the newest turns of both, oldest first.
fn merged<T: Copy + Ord>(a: &[T], b: &[T]) -> Vec<T> {
    let all: BTreeSet<T> = a.iter().chain(b).copied().collect();
    let over = all.len().saturating_sub(8);
    all.into_iter().skip(over).collect()
}

/// Returns the command an item begins with: "`cargo test` fails: …", "`cargo test`: … → passes".
fn command(text: &str) -> Option<&str> {
    text.strip_prefix('`')?.split_once('`').map(|(command, _)| command)
}

/// Returns the command that a line of the context says was run with success.
fn passed(text: &str) -> Option<&str> {
    text.strip_prefix(CHECKED)?.split('`').nth(1)
}

/// Whether a statement says that something an open item calls failing passes now: "`refund_twice` is green" settles
/// "`refund_twice` is red until somebody decides", whatever else the item says.
pub(super) fn passes_now(told: &str, open: &str) -> bool {
    let fails = phrases!(
        "red / fails|failing|failed|fail|broken / rot|kaputt|schlägt|scheitert / échoue|échouent|cassé / falla|fallan|roto / fallisce|falha"
    );
    let passes = phrases!(
        "green / passes|pass|passing|passed|works|fixed / grün|läuft|bestanden|besteht / passe|passent|corrigé / pasa|pasan|verde / passa|passano|passam"
    );
    let named = |word: &&str| word.contains('_') || word.contains("::") || word.contains('.') && !word.ends_with('.');
    let bare = |word: &'_ str| word.trim_matches(|c: char| !c.is_alphanumeric()).len();
    let mut names = open.split(|c: char| c.is_whitespace() || c == '`').filter(named).filter(|w| bare(w) > 4);
    names.any(|name| {
        let after = |text: &str| text.split_once(name).map(|(_, rest)| rest.chars().take(40).collect::<String>());
        fails.stand_in(open)
            && told.rmatch_indices(name).any(|(at, _)| {
                let says = after(&told[at..]).unwrap_or_default();
                let clause = says.split([';', '.', '\n']).next().unwrap_or_default();
                passes.stand_in(clause) && !fails.stand_in(clause)
            })
    })
}

/// Whether a statement of completed work covers this item.
fn covered_by_any(done: &[Rc<ItemWords>], item: &ItemWords) -> bool {
    done.iter().any(|done| covers(done, item))
}

#[cfg(test)]
mod tests {
    #[test]
    fn what_was_red_and_is_green_is_over() {
        let red = "`refund_twice` is red until you decide about the webhook.";
        assert!(super::passes_now("Implement that. → `refund_twice` is green, and so is `just ci` (79 tests).", red));
        assert!(!super::passes_now("`refund_once` is green.", red));
        assert!(!super::passes_now("`refund_twice` is written; all others pass.", red));
        assert!(!super::passes_now("`refund_twice` is green.", "Document `refund_twice` for the team."));
    }

    use super::*;
    use crate::scope::TurnId;

    fn item(text: &str, turn: i64) -> Item {
        Item::new(text, TurnId(turn))
    }

    #[test]
    fn what_is_done_later_is_open_no_longer() {
        let older = Distillate {
            goal: Some(item("move orders to the new schema", 1)),
            open_loops: vec![item("migrate table tbl_orders", 2), item("write the changelog", 3)],
            ..Distillate::default()
        };
        let newer = Distillate { done: vec![item("Migrated table tbl_orders, all green", 9)], ..Distillate::default() };
        let state = fold(&older, &newer);
        assert_eq!(state.open_loops, vec![item("write the changelog", 3)]);
        assert_eq!(state.goal, older.goal);
    }

    #[test]
    fn a_session_that_only_asks_changes_no_goal() {
        let older = Distillate {
            goal: Some(item("number the invoices per year", 1)),
            next_steps: vec![item("Next: the VAT report", 2)],
            decisions: vec![item("Only integer cents", 2)],
            ..Distillate::default()
        };
        let asks = Distillate {
            goal: Some(item("What do you know about this project, and what is left?", 9)),
            context: vec![item("It keeps invoices.", 10)],
            ..Distillate::default()
        };
        let state = fold(&older, &asks);
        assert_eq!((&state.goal, &state.next_steps), (&older.goal, &older.next_steps));
        let unanswered = Distillate { in_progress: vec![item("Can you add the report?", 9)], ..asks.clone() };
        assert_eq!(fold(&older, &unanswered).goal, unanswered.goal);
        // A question is the matter of a thread that has no other, and work on it makes it one.
        assert_eq!(fold(&asks, &asks).goal, asks.goal);
        let works = Distillate { done: vec![item("Added the report", 11)], ..asks.clone() };
        assert_eq!(fold(&older, &works).goal, works.goal);
    }

    #[test]
    fn a_check_that_passes_again_blocks_no_longer() {
        let older = Distillate {
            blocked: vec![item("`just ci` fails: tests/a.rs:12: left", 2), item("`just e2e` fails: no browser", 3)],
            ..Distillate::default()
        };
        let newer =
            Distillate { fixed: vec![item("`just ci`: tests/a.rs:15: right → passes", 9)], ..Distillate::default() };
        assert_eq!(fold(&older, &newer).blocked, vec![item("`just e2e` fails: no browser", 3)]);
    }

    #[test]
    fn a_later_session_in_which_the_check_passes_closes_the_failure() {
        let red = "`cargo test -p collector` fails: panicked at ws.rs:131";
        let older = Distillate { blocked: vec![item(red, 2)], ..Distillate::default() };
        let with = |said: &str| {
            let newer = Distillate { context: vec![item(said, 9)], ..Distillate::default() };
            fold(&older, &newer).blocked.len()
        };
        assert_eq!(with("Checked with `cargo test -p collector`"), 0);
        assert_eq!(with("Checked with `cargo test --workspace`"), 0);
        assert_eq!(with("Checked with `cargo test -p parser`"), 1);
        assert_eq!(with("Checked with `npx vitest run`"), 1);
    }

    #[test]
    fn later_work_takes_up_and_writes_what_was_left() {
        use crate::lineage::distillate::Touch;
        let left = ["We continue later.", "Document the flag in docs/collector.md", "Document the backoff"];
        let older = Distillate { open_loops: left.map(|text| item(text, 2)).to_vec(), ..Distillate::default() };
        let with = |path: &str, touch: Touch| {
            let file = TouchedFile { path: path.into(), touch, turns: vec![TurnId(9)] };
            let newer = Distillate { files: vec![file], ..Distillate::default() };
            fold(&older, &newer).open_loops.len()
        };
        assert_eq!(with("docs/collector.md", Touch::Created), 1);
        assert_eq!(with("docs/collector.md", Touch::Read), 3);
        assert_eq!(with("src/main.rs", Touch::Changed), 2);
    }

    #[test]
    fn a_number_tells_two_items_apart() {
        let of = |n: i64| item(&format!("fix step {n} of the import"), n);
        let older = Distillate { open_loops: vec![of(3), of(4)], ..Distillate::default() };
        let newer = Distillate { open_loops: vec![of(4), of(5)], ..Distillate::default() };
        let open: Vec<String> = fold(&older, &newer).open_loops.into_iter().map(|i| i.text).collect();
        assert_eq!(open, [3, 4, 5].map(|n| of(n).text));
    }

    /// An item can be similar to two others that are not similar to each other.
    #[test]
    fn what_is_nearly_two_items_is_the_one_it_is() {
        let alike = "alpha bravo charlie delta echo foxtrot golf hotel india";
        let (a, b) = (item(&format!("{alike} juliett"), 1), item(&format!("{alike} kilo"), 2));
        let older = Distillate { open_loops: vec![a, b.clone()], ..Distillate::default() };
        let newer = Distillate { open_loops: vec![b.clone()], ..Distillate::default() };
        let texts: Vec<String> = fold(&older, &newer).open_loops.into_iter().map(|i| i.text).collect();
        assert_eq!(texts.iter().filter(|t| **t == b.text).count(), 1, "{texts:?}");
    }

    #[test]
    fn the_same_words_stand_once_with_all_their_turns() {
        let older = Distillate { decisions: vec![item("We drop Redis.", 1)], ..Distillate::default() };
        let newer = Distillate { decisions: vec![item("we drop redis", 5)], ..Distillate::default() };
        let state = fold(&older, &newer);
        assert_eq!(state.decisions.len(), 1);
        assert_eq!(state.decisions[0].turns, vec![TurnId(1), TurnId(5)]);
    }
}
