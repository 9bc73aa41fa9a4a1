//! Small labelled sessions: data in, text out. A case is `# name`, a session, and the expected results:
//!
//! - `> list: text`: some row of the list contains the text; `> list = text`: some row equals it
//! - `> no list: text`: no row of the list contains the text; `> no list`: the list is empty
//! - `> count list n`: the list has n rows
//! - `---`: the rest is another range, to which open items are carried over
//! - `root: folder`: the project's folder

use super::*;
use crate::distill::labelled::cases;

fn holds(rows: &[(String, String)], wanted: &str) -> bool {
    let of = |list: &str| rows.iter().filter(|(n, _)| n == list).map(|(_, t)| t.clone()).collect::<Vec<_>>();
    let has = |list: &str, text: &str| of(list).iter().any(|t| t.to_lowercase().contains(&text.to_lowercase()));
    if let Some((list, count)) = wanted.strip_prefix("count ").and_then(|r| r.rsplit_once(' ')) {
        return of(list).len() == count.parse::<usize>().expect("a number");
    }
    if let Some(rest) = wanted.strip_prefix("no ") {
        return rest.split_once(": ").map_or_else(|| of(rest).is_empty(), |(list, text)| !has(list, text));
    }
    if let Some((list, text)) = wanted.split_once(" = ").filter(|(l, _)| !l.contains(':')) {
        return of(list).iter().any(|t| t == text);
    }
    let (list, text) = wanted.split_once(": ").expect("list: text");
    has(list, text)
}

/// Returns the open items, as a caller carries them over to the next range.
pub fn kept(work: &Work) -> Distillate {
    let tasks = |status: Status| work.tasks.iter().filter(|t| t.status == status).map(|t| t.item.clone()).collect();
    let mut open: Vec<Item> = tasks(Status::Open);
    open.extend(work.uncommitted.iter().chain(&work.unpushed).chain(&work.not_rerun).chain(&work.running).cloned());
    Distillate {
        open_loops: open,
        in_progress: tasks(Status::Begun),
        blocked: work.failing.clone(),
        ..Distillate::default()
    }
}

fn run(text: &str, least: usize) {
    let cases = cases(text);
    assert!(cases.len() >= least, "{} cases", cases.len());
    let mut wrong = String::new();
    for case in cases {
        let mut before: Option<Distillate> = None;
        let mut found = Vec::new();
        let mut shown = String::new();
        for (at, part) in case.parts.iter().enumerate() {
            let mut turns = session(part);
            turns.iter_mut().for_each(|t| t.id.0 += 1000 * at as i64);
            let (work, _) = track(&turns, case.root, before.as_ref());
            let next = kept(&work);
            let all = next.open_loops.iter().chain(&next.in_progress).chain(&next.blocked);
            let foreign = |i: &&Item| !is_state(&i.text) && !work.tasks.iter().any(|t| t.item == **i);
            assert_eq!(all.filter(foreign).collect::<Vec<_>>(), Vec::<&Item>::new(), "{}", case.name);
            (found, shown, before) = (rows(&work), show(&work), Some(next));
        }
        for wanted in case.wanted {
            if !holds(&found, wanted) {
                let _ = writeln!(wrong, "## {}: {wanted}\n{shown}", case.name);
            }
        }
    }
    assert!(wrong.is_empty(), "\n{wrong}");
}

#[test]
fn files() {
    run(include_str!("cases/files.txt"), 40);
}

#[test]
fn imported_histories() {
    run(include_str!("cases/imported.txt"), 10);
}

#[test]
fn checks() {
    run(include_str!("cases/checks.txt"), 25);
}

#[test]
fn git() {
    run(include_str!("cases/git.txt"), 15);
}

#[test]
fn lists() {
    run(include_str!("cases/lists.txt"), 20);
}

#[test]
fn tickets() {
    run(include_str!("cases/tickets.txt"), 5);
}

#[test]
fn summaries() {
    run(include_str!("cases/summary.txt"), 5);
}
