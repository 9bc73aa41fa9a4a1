//! The context of a fork (R10.6): it holds what its parent was given before the copy, and nothing its parent was given
//! afterwards, until its own context is cut. Each step runs as a process of its own.

use std::path::{Path, PathBuf};

use heirloom_engine::capture::Capture;
use heirloom_engine::distill::advance::Limits;
use heirloom_engine::inject::{self, Ask, Capabilities, Event, Given};
use heirloom_engine::recall::{Hint, Item, Recalled, Stage};
use heirloom_engine::scope::{AgentId, SessionKey};
use heirloom_engine::tree::AssistantHome;
use heirloom_engine::worker::distil;
use serde_json::{Value, json};

use crate::place::{NOON, Place};
use crate::world::GLOBAL;

const MINUTE: i64 = 60_000;

struct Forks {
    folder: tempfile::TempDir,
}

impl Forks {
    fn new() -> Forks {
        let memory = Path::new("/dev/shm");
        Forks { folder: if memory.is_dir() { tempfile::tempdir_in(memory) } else { tempfile::tempdir() }.unwrap() }
    }

    fn root(&self) -> PathBuf {
        self.folder.path().join("home")
    }

    /// Imports and distils a session's file as it is now.
    fn said(&self, session: &str, lines: &[Value]) {
        let place = Place::open(&self.root(), NOON);
        let path = self.folder.path().join(format!("{session}.jsonl"));
        std::fs::write(&path, lines.iter().map(|l| format!("{l}\n")).collect::<String>()).unwrap();
        let mut capture = Capture::new(&place.ledger, None, "test", &self.folder.path().join("scratch"), None).unwrap();
        capture.file(&GLOBAL, &AgentId::main(), &path).unwrap();
        let (_, problems) = capture.finish().unwrap();
        assert!(problems.is_empty(), "{problems:?}");
        let done = distil(&place.at(), Limits::default(), None, &mut |_| {}).unwrap();
        assert!(done.problems.is_empty(), "{:?}", done.problems);
    }

    /// Returns which of these items a session is given at a minute, in a process of its own.
    fn given(&self, minute: i64, session: &str, items: &[&str]) -> String {
        let given = self.ask(minute, session, items, true);
        let of: Vec<&str> = given.parts.iter().flat_map(|p| p.items()).collect();
        let before = given.dropped.iter().filter(|d| d.why.starts_with("given before")).count();
        assert_eq!(of.len() + before, items.len(), "{given:?}");
        of.join(" ")
    }

    fn ask(&self, minute: i64, session: &str, items: &[&str], stores: bool) -> Given {
        let place = Place::open(&self.root(), NOON + minute * MINUTE);
        let at: AssistantHome = place.at();
        let item = |id: &&str| Item {
            id: (*id).to_owned(),
            stage: Stage::Transcript,
            kind: "user".into(),
            // No two items have the same text.
            text: format!(
                "{0} of the {0} in {id}",
                ["amber", "birch", "cedar", "delta", "ember", "fjord", "glade"][id[1..].parse::<usize>().unwrap() % 7]
            ),
            thread: None,
            at: None,
            score: 1.0,
            reasons: Vec::new(),
            marks: Vec::new(),
        };
        let ask = Ask {
            session: SessionKey::new("little", session),
            event: Event::Prompt,
            hint: Hint::default(),
            prompt: Some("and what of it?"),
            budget: None,
            can: Capabilities {
                program: "test".into(),
                channel: "stdout".into(),
                stores,
                keeps_tail: true,
                keeps_words: false,
                characters: usize::MAX,
            },
        };
        let recalled = Recalled { items: items.iter().map(item).collect(), ..Recalled::default() };
        inject::give(&at, &ask, recalled).unwrap()
    }
}

fn turn(n: i64, minute: i64) -> Value {
    let role = if n % 2 == 0 { "user" } else { "assistant" };
    let text = format!("Sentence number {n} is about the orders table and its {n} indexes.");
    json!({"id": format!("e{n}"), "role": role, "text": text, "at": NOON + minute * MINUTE})
}

fn fact(fact: &str, value: &str, minute: i64) -> Value {
    json!({"fact": fact, "value": value, "at": NOON + minute * MINUTE})
}

/// Returns turns with consecutive numbers, one a minute.
fn turns(numbers: std::ops::Range<i64>) -> Vec<Value> {
    numbers.map(|n| turn(n, n)).collect()
}

/// Returns the lines of a fork: some of another session, and its own.
fn fork(of: &str, copied: &[Value], own: &[Value]) -> Vec<Value> {
    [&[fact("fork-of", of, 0)], copied, own].concat()
}

#[test]
fn a_fork_holds_what_its_parent_held_where_it_was_copied() {
    let forks = Forks::new();
    // Copies keep the times of their originals, so the fork seems to begin when its parent did.
    let all = turns(0..4);
    forks.said("old", &all);
    assert_eq!(forks.given(2, "old", &["t1", "t2"]), "t1 t2");
    assert_eq!(forks.given(6, "old", &["t3"]), "t3", "after what is copied");
    let own = [turn(20, 20), turn(21, 21)];
    let copy = fork("old", &all, &own);
    forks.said("new", &copy);
    assert_eq!(forks.given(22, "new", &["t1", "t2", "t3", "t4"]), "t3 t4");
    assert_eq!(forks.given(23, "new", &["t1", "t2", "t3", "t4"]), "");
    assert_eq!(forks.given(24, "old", &["t1", "t2", "t3", "t4"]), "t4", "the parent has nothing of its fork");

    // A fork of the fork holds what both had then; that its child is given more concerns neither of them.
    let copied: Vec<Value> = copy[1..].to_vec();
    assert_eq!(forks.given(25, "new", &["t5"]), "t5");
    let grand = fork("new", &copied, &[turn(30, 30), turn(31, 31)]);
    forks.said("newest", &grand);
    assert_eq!(forks.given(32, "newest", &["t1", "t3", "t5"]), "t3 t5", "given to the fork behind what was copied");
    forks.said("new", &[&copy[..], &[turn(26, 26)]].concat());
    let sibling = fork("new", &[&copied[..], &[turn(26, 26)]].concat(), &[turn(40, 40)]);
    forks.said("sibling", &sibling);
    assert_eq!(forks.given(41, "sibling", &["t1", "t3", "t5", "t6"]), "t6");

    // A cut removes inherited items from the fork's context like its own, and from no other session.
    forks.said("new", &[&copy[..], &[turn(26, 26), fact("compaction", "auto", 50), turn(51, 51)]].concat());
    assert_eq!(forks.given(52, "new", &["t1", "t3"]), "t1 t3");
    assert_eq!(forks.given(53, "new", &["t1", "t3"]), "");
    assert_eq!(forks.given(54, "old", &["t1", "t3", "t4"]), "");
    assert_eq!(forks.given(55, "newest", &["t1", "t3", "t5"]), "");
    assert_eq!(forks.given(56, "sibling", &["t1", "t3", "t5", "t6"]), "");
}

#[test]
fn what_was_cut_before_the_copy_is_not_inherited_and_a_copied_mark_cuts_nothing() {
    let forks = Forks::new();
    let mut all = turns(0..4);
    forks.said("old", &all);
    assert_eq!(forks.given(3, "old", &["t1"]), "t1");
    all.push(fact("compaction", "auto", 5));
    all.extend(turns(6..8));
    forks.said("old", &all);
    assert_eq!(forks.given(6, "old", &["t1", "t2"]), "t1 t2");
    assert_eq!(forks.given(6, "old", &["t1", "t2"]), "");
    all.extend(turns(8..10));
    forks.said("old", &all);
    // One fork is copied from behind the cut, with its mark; one from before it.
    forks.said("late", &fork("old", &all, &[turn(20, 20)]));
    assert_eq!(forks.given(21, "late", &["t1", "t2", "t3"]), "t3");
    forks.said("early", &fork("old", &all[..4], &[turn(22, 22)]));
    assert_eq!(forks.given(23, "early", &["t1", "t2"]), "t2");
    // The fork's own mark cuts, whatever it was copied with.
    let own = [turn(20, 20), fact("compaction", "auto", 24), turn(25, 25)];
    forks.said("late", &fork("old", &all, &own));
    assert_eq!(forks.given(26, "late", &["t1", "t2", "t3"]), "t1 t2 t3");
    assert_eq!(forks.given(27, "old", &["t1", "t2"]), "");
}

#[test]
fn a_fork_that_copies_no_turn_holds_what_was_given_before_it_began() {
    let forks = Forks::new();
    forks.said("old", &turns(0..4));
    assert_eq!(forks.given(3, "old", &["t1"]), "t1");
    forks.said("new", &fork("old", &[], &[turn(10, 10)]));
    assert_eq!(forks.given(11, "old", &["t2"]), "t2");
    assert_eq!(forks.given(12, "new", &["t1", "t2"]), "t2");
    // Nothing is stored of this parent except that it was given something.
    assert_eq!(forks.given(3, "ghost", &["t1"]), "t1");
    forks.said("orphan", &fork("ghost", &[], &[turn(30, 30)]));
    assert_eq!(forks.given(31, "orphan", &["t1", "t2"]), "t2");
    // Two sessions name each other as parent.
    forks.said("a", &fork("b", &[], &[turn(40, 40)]));
    forks.said("b", &fork("a", &[], &[turn(41, 41)]));
    assert_eq!(forks.given(42, "a", &["t1"]), "t1");
}

#[test]
fn a_program_that_keeps_nothing_gets_its_parents_blocks_in_a_fork_too() {
    let forks = Forks::new();
    let all = turns(0..4);
    forks.said("old", &all);
    let first = forks.ask(2, "old", &["t1"], false).block;
    assert!(first.contains("birch of the birch in t1"), "{first}");
    forks.said("new", &fork("old", &all, &[turn(20, 20)]));
    let again = forks.ask(21, "new", &["t1"], false);
    assert_eq!((again.block.as_str(), again.id), (first.as_str(), None), "byte for byte, and nothing new");
    let more = forks.ask(22, "new", &["t1", "t2"], false).block;
    assert!(more.starts_with(&first) && more[first.len()..].contains("cedar of the cedar in t2"), "{more}");
    assert_eq!(forks.ask(23, "old", &["t1"], false).block, first, "the parent has nothing of its fork");
}
