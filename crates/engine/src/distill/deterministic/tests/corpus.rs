//! Small labelled sessions: data in, text out. A case is `# name`, a session, and the expected results:
//!
//! - `> list: text`: some item of the list contains the text; `> list = text`: some item equals it
//! - `> no list: text`: no item of the list contains the text; `> no list`: the list is empty
//! - `> count list n`: the list has n items
//! - `---`: the rest is distilled with the result so far carried over

use super::*;
use crate::distill::labelled::cases;
use crate::lineage::distillate::Distillate;

fn texts(d: &Distillate, list: &str) -> Vec<String> {
    match list {
        "files" => d.files.iter().map(|f| format!("{} {:?}", f.path, f.touch)).collect(),
        "proposals" => d.proposals.iter().map(|p| p.text.clone()).collect(),
        list => {
            let known = d.lists().into_iter().find(|(n, _)| *n == list);
            known.unwrap_or_else(|| panic!("no list {list}")).1.iter().map(|i| i.text.clone()).collect()
        }
    }
}

fn holds(d: &Distillate, wanted: &str) -> bool {
    let low = |t: &str| t.to_lowercase();
    if let Some(rest) = wanted.strip_prefix("count ") {
        let (list, count) = rest.split_once(' ').expect("count list n");
        return texts(d, list).len() == count.parse::<usize>().expect("a number");
    }
    if let Some(rest) = wanted.strip_prefix("no ") {
        return match rest.split_once(": ") {
            Some((list, text)) => !texts(d, list).iter().any(|t| low(t).contains(&low(text))),
            None => texts(d, rest).is_empty(),
        };
    }
    if let Some((list, text)) = wanted.split_once(" = ").filter(|(l, _)| !l.contains(':')) {
        return texts(d, list).iter().any(|t| t == text);
    }
    let (list, text) = wanted.split_once(": ").expect("list: text");
    texts(d, list).iter().any(|t| low(t).contains(&low(text)))
}

fn run(text: &str, least: usize) {
    let cases = cases(text);
    assert!(cases.len() >= least, "{} cases", cases.len());
    let mut wrong = String::new();
    for case in cases {
        let mut before: Option<Distillate> = None;
        let mut offset = 0;
        for part in &case.parts {
            let mut turns = session(part);
            turns.iter_mut().for_each(|t| t.id.0 += offset);
            offset += 1000;
            before = Some(distil(&Request { turns: &turns, before: before.as_ref(), root: case.root }));
        }
        let distillate = before.expect("one part");
        for wanted in case.wanted {
            if !holds(&distillate, wanted) {
                let _ = writeln!(wrong, "## {}: {wanted}\n{}", case.name, show(&distillate));
            }
        }
    }
    assert!(wrong.is_empty(), "\n{wrong}");
}

#[test]
fn exchanges_are_read() {
    run(include_str!("cases/exchanges.txt"), 13);
}

#[test]
fn constraints() {
    run(include_str!("cases/constraints.txt"), 34);
}

#[test]
fn goals() {
    run(include_str!("cases/goal.txt"), 20);
}

#[test]
fn decisions() {
    run(include_str!("cases/decisions.txt"), 20);
}

#[test]
fn other_languages() {
    run(include_str!("cases/languages.txt"), 10);
}

#[test]
fn progress() {
    run(include_str!("cases/progress.txt"), 20);
}

#[test]
fn loops() {
    run(include_str!("cases/loops.txt"), 12);
}

#[test]
fn requirements() {
    run(include_str!("cases/requirements.txt"), 4);
}

#[test]
fn context_and_proposals() {
    run(include_str!("cases/context.txt"), 8);
}
