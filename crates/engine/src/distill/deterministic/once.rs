//! Removes repetition between lists: an item of one list is not repeated in the lists after it.

use super::restricted::restricts;
use crate::lineage::distillate::{Distillate, Item};
use crate::text::similarity::Bag;

/// Removes items that repeat an item of an earlier list. Open items come first, then rules and decisions, then
/// completed ones: a reader who acts on one line acts on the line that asks for it.
pub fn once(d: &mut Distillate) {
    covered(d);
    let mut seen: Vec<Bag> = Vec::new();
    unseen(&mut d.in_progress, &mut seen);
    let begun = seen.len();
    for list in [&mut d.blocked, &mut d.open_loops, &mut d.next_steps] {
        unseen(list, &mut seen);
    }
    // A rule in the request that is being worked on is told as a rule, too: it outlasts the request.
    let mut others = seen.split_off(begun);
    d.constraints.retain(|item| restricts(&item.text) || !is_one_of(&Bag::of(&item.text), &seen));
    unseen(&mut d.constraints, &mut others);
    seen.append(&mut others);
    for list in [&mut d.requirements, &mut d.decisions, &mut d.fixed, &mut d.done, &mut d.context] {
        unseen(list, &mut seen);
    }
}

/// Removes open items whose words a longer open item contains: "the changelog for Ana" beside "I promised Ana the
/// changelog by Friday".
fn covered(d: &mut Distillate) {
    let all: Vec<Bag> = d.open_loops.iter().chain(&d.next_steps).map(|item| Bag::of(&item.text)).collect();
    let told = |bag: &Bag| {
        let longer = |other: &&Bag| other.len() > bag.len() && 5 * bag.shared(other) >= 4 * bag.len();
        bag.len() > 1 && all.iter().any(|other| longer(&other))
    };
    for list in [&mut d.open_loops, &mut d.next_steps] {
        list.retain(|item| !told(&Bag::of(&item.text)));
    }
}

/// Whether a text has the words of one of these, and hardly fewer.
fn is_one_of(bag: &Bag, texts: &[Bag]) -> bool {
    texts.iter().any(|text| 10 * bag.shared(text) >= 9 * bag.len().max(text.len()))
}

fn unseen(list: &mut Vec<Item>, seen: &mut Vec<Bag>) {
    // The list is read from its end, because the newest of equal items is last.
    let mut kept: Vec<Item> = Vec::new();
    let mut here: Vec<Bag> = Vec::new();
    for item in list.drain(..).rev() {
        let bag = Bag::of(&item.text);
        // "172 tests pass" is outdated by the newer "187 tests pass, .94 covered".
        if within(&bag, seen) || within(&bag, &here) || here.contains(&bag) && !bag.is_empty() {
            continue;
        }
        here.push(bag);
        kept.push(item);
    }
    kept.reverse();
    *list = kept;
    seen.append(&mut here);
}

/// Whether one of these texts contains nine tenths of the words.
fn within(bag: &Bag, texts: &[Bag]) -> bool {
    bag.len() > 1 && texts.iter().any(|text| 10 * bag.shared(text) >= 9 * bag.len())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::scope::TurnId;

    #[test]
    fn what_is_open_is_not_told_again_as_a_fact() {
        let of = |texts: &[&str]| texts.iter().map(|t| Item::new(*t, TurnId(1))).collect::<Vec<_>>();
        let mut d = Distillate {
            goal: Some(Item::new("Move the importer to the new queue", TurnId(1))),
            constraints: of(&["never touch the archive"]),
            in_progress: of(&["Move the reader of the inbox"]),
            decisions: of(&["The inbox keeps its reader", "Use one queue per bank"]),
            context: of(&["Move the reader of the inbox.", "use one queue per bank"]),
            ..Distillate::default()
        };
        once(&mut d);
        let texts = |items: &[Item]| items.iter().map(|i| i.text.clone()).collect::<Vec<_>>();
        assert_eq!(texts(&d.constraints), ["never touch the archive"]);
        assert_eq!(texts(&d.decisions), ["The inbox keeps its reader", "Use one queue per bank"]);
        assert!(d.context.is_empty());
    }
}
