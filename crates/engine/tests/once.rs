//! Nothing is given twice (R10.1, R10.6): recall leaves out text that is in the context of the session's model, text
//! that nobody said, and the source of a leaf or loop that is given.

use std::time::Duration;

use heirloom_engine::audience::Keeps;
use heirloom_engine::capture::Capture;
use heirloom_engine::continuity::open_loop::{self, NewLoop};
use heirloom_engine::index::Index;
use heirloom_engine::inject::epoch::{self, Cause};
use heirloom_engine::ledger::Audit;
use heirloom_engine::recall::{self, Audience, Hint, Question, Recalled};
use heirloom_engine::scope::SessionKey;
use heirloom_engine::tree::provenance::{Origin, Provenance};
use serde_json::{Value, json};

use crate::story::{MINUTE, NOON, Story, answer, user, within};
use crate::world::GLOBAL;

const ASKED: &str = "which store does the zephyr queue have";

struct Told {
    story: Story,
    project: Value,
}

impl Told {
    fn new() -> Told {
        let story = Story::new();
        let project = within(&story.project("barn"));
        Told { story, project }
    }

    fn said(&self, session: &str, lines: &[Value]) {
        self.story.said(session, &[std::slice::from_ref(&self.project), lines].concat());
    }

    /// Writes lines of a program whose entry ids are unique across sessions, so that a copy is recognised.
    fn said_globally(&self, session: &str, lines: &[Value]) {
        let path = self.story.folder.path().join(format!("{session}.jsonl"));
        std::fs::write(&path, lines.iter().map(|l| format!("{l}\n")).collect::<String>()).unwrap();
        let scratch = self.story.folder.path().join("scratch");
        let mut capture = Capture::new(&self.story.ledger, None, "test", &scratch, None).unwrap();
        capture.file(&GLOBAL, &self.story.agent, &path).unwrap();
        assert!(capture.finish().unwrap().1.is_empty());
    }

    fn audience(&self, session: &str, keeps: Keeps) -> Audience {
        let at = self.story.at();
        let key = SessionKey::new("little", session);
        let hint = Hint { workspace: None, thread: None };
        let cut = at.read(|tx| epoch::told_cut(tx, at.agent_no, &key)).unwrap();
        Audience { keeps, cut, ..Audience::at(&at, &key, &hint).unwrap() }
    }

    fn ask(&self, audience: Option<&Audience>, text: &str, deep: bool) -> Recalled {
        let at = self.story.at();
        let path = self.story.folder.path().join("index.db");
        let mut index = Index::open(&path, self.story.ledger.id(), Duration::from_secs(5)).unwrap().0;
        index.catch_up(&self.story.ledger, None, &mut |_| {}).unwrap();
        index.catch_up_files(&at, None).unwrap();
        recall::recall(&at, &mut index, audience, &Question { text, most: 20, deep, prompt: false }).unwrap()
    }

    /// Returns the texts a session is given for its question.
    fn told(&self, session: &str) -> String {
        let found = self.ask(Some(&self.audience(session, Keeps::default())), ASKED, false);
        found.items.iter().map(|item| format!("{}\n", item.text)).collect()
    }
}

fn turn(id: &str, role: &str, text: &str, minute: i64) -> Value {
    json!({"id": id, "role": role, "text": text, "at": NOON + minute * MINUTE})
}

const OTHER: &str = "The zephyr queue has a store in Postgres, said elsewhere.";

fn elsewhere(told: &Told) {
    told.said(
        "other",
        &[user("Which store should the zephyr queue have?", NOON - 90 * MINUTE), answer(OTHER, NOON - 89 * MINUTE)],
    );
}

#[test]
fn a_session_is_not_given_what_it_said_since_its_context_was_cut() {
    let told = Told::new();
    elsewhere(&told);
    let first = "The zephyr queue has its store in Redis, said first.";
    told.said("own", &[user("Which store has the zephyr queue?", NOON), answer(first, NOON + MINUTE)]);
    let given = told.told("own");
    assert!(given.contains(OTHER) && !given.contains("said first"), "{given}");
    assert!(told.told("other").contains("said first"), "another session is given it");

    // The program cut its context: earlier turns are no longer there, later ones are.
    let cut = json!({"fact": "compaction", "value": "auto", "at": NOON + 2 * MINUTE});
    told.said("own", &[cut, answer("The zephyr queue has its store in a file, said last.", NOON + 3 * MINUTE)]);
    let given = told.told("own");
    assert!(given.contains("said first") && given.contains(OTHER) && !given.contains("said last"), "{given}");
}

#[test]
fn a_cut_a_hook_told_of_counts_before_the_store_shows_it() {
    let told = Told::new();
    let first = "The zephyr queue has its store in Redis, said first.";
    told.said("own", &[user("Which store has the zephyr queue?", NOON - 9 * MINUTE), answer(first, NOON - 8 * MINUTE)]);
    assert_eq!(told.told("own"), "");
    let audience = told.audience("own", Keeps::default());
    let write = |cause| {
        let why = Audit::new("test", "hook.compacted").of_agent(told.story.agent_no);
        told.story.ledger.write(why, |tx| epoch::cut(tx, &audience, cause)).unwrap();
    };
    write(Cause::Compact);
    assert!(told.told("own").contains("said first"));
    // A program that keeps the person's words in its context shows them by itself.
    told.said("own", &[user("The zephyr queue keeps its store in Redis for the warehouse.", NOON - 7 * MINUTE)]);
    let keeping = told.audience("own", Keeps { words: true, ..Keeps::default() });
    let given: Vec<String> = told.ask(Some(&keeping), ASKED, false).items.into_iter().map(|i| i.text).collect();
    assert!(
        given.iter().any(|t| t.contains("said first")) && !given.iter().any(|t| t.contains("warehouse")),
        "{given:?}"
    );
    assert!(told.told("own").contains("warehouse"), "others do not");
    // A client that keeps nothing is given its own words.
    let forgetful = told.audience("own", Keeps { turns: false, words: false });
    assert!(!told.ask(Some(&forgetful), ASKED, false).items.is_empty());
}

#[test]
fn a_copy_has_what_it_took_along() {
    let told = Told::new();
    let all = [
        turn("a1", "user", "Which store has the zephyr queue?", 0),
        turn("a2", "assistant", "The zephyr queue has its store in Redis, said first.", 1),
    ];
    told.said_globally("old", &[std::slice::from_ref(&told.project), &all[..]].concat());
    let fork = json!({"fact": "fork-of", "value": "old", "at": NOON});
    let own = [turn("b1", "user", "And now in the copy: how large is the zephyr queue?", 10)];
    told.said_globally("copy", &[&[told.project.clone(), fork.clone()], &all[..], &own].concat());
    let later = turn("a3", "assistant", "The zephyr queue has a second store, said after the copy.", 20);
    told.said_globally("old", &[std::slice::from_ref(&told.project), &all[..], &[later]].concat());
    let given = told.told("copy");
    assert!(given.contains("said after the copy") && !given.contains("said first"), "{given}");
    // If the fork's store has none of the parent's lines, the time of its beginning decides what it holds.
    let fork = json!({"fact": "fork-of", "value": "old", "at": NOON + 11 * MINUTE});
    let own = turn("c1", "user", "How old is the zephyr queue?", 12);
    told.said_globally(
        "linked",
        &[json!({"fact": "cwd", "value": told.project["value"], "at": NOON + 11 * MINUTE}), fork, own],
    );
    let given = told.told("linked");
    assert!(given.contains("said after the copy") && !given.contains("said first"), "{given}");
}

#[test]
fn nobody_is_given_what_nobody_said() {
    let told = Told::new();
    let machine = [
        json!({"role": "system", "text": "The zephyr queue has no store in the prior history.", "at": NOON - 9 * MINUTE}),
        user("<environment_context>\nThe zephyr queue has a store in /srv.\n</environment_context>", NOON - 8 * MINUTE),
        answer(
            "<heirloom-memory id=\"x:1\">\nThe zephyr queue has a store. [t1]\n</heirloom-memory>",
            NOON - 7 * MINUTE,
        ),
        user(
            "Caveat: The messages below were made by local commands: which store has the zephyr queue",
            NOON - 6 * MINUTE,
        ),
        user(
            "<system-reminder>\nThe store is old.\n</system-reminder>\nThe zephyr queue has a store in Postgres.",
            NOON - 5 * MINUTE,
        ),
    ];
    told.said("other", &machine);
    for audience in [
        None,
        Some(told.audience("new", Keeps::default())),
        Some(told.audience("other", Keeps { turns: false, words: false })),
    ] {
        let found = told.ask(audience.as_ref(), ASKED, false);
        let texts: Vec<&str> = found.items.iter().map(|i| i.text.as_str()).collect();
        let expected: &[&str] = match &audience {
            Some(new) if new.known.is_none() => &[],
            _ => &["The zephyr queue has a store in Postgres."],
        };
        assert_eq!(texts, expected, "{found:?}");
    }
}

#[test]
fn what_a_loop_was_made_of_stays_out_unless_it_is_asked_for() {
    let told = Told::new();
    let said = "The zephyr queue still needs its store, which I will build.";
    told.said(
        "other",
        &[user(said, NOON - 90 * MINUTE), answer("Shall the zephyr queue store be fast?", NOON - 89 * MINUTE)],
    );
    let turn = told.story.turn("other", said);
    let source = Provenance {
        origin: Origin::Distilled,
        session: Some("little:other".into()),
        turns: vec![turn],
        node: None,
        ..Provenance::default()
    };
    let id = {
        let at = told.story.at();
        let lock = at.lock().unwrap();
        let new = NewLoop { title: "Build the store the zephyr queue has".into(), source, ..NewLoop::default() };
        open_loop::add(&lock, &new).unwrap().id
    };
    let found = told.ask(None, ASKED, false);
    let ids: Vec<&str> = found.items.iter().map(|i| i.id.as_str()).collect();
    assert!(ids.contains(&id.as_str()) && !ids.contains(&turn.to_string().as_str()), "{found:?}");
    let deep = told.ask(None, ASKED, true);
    assert!(deep.items.iter().any(|i| i.id == turn.to_string()), "{deep:?}");
    // The session whose context contains the turn is not given the loop made from it.
    let own = told.ask(Some(&told.audience("other", Keeps::default())), ASKED, false);
    assert_eq!(own.items, [], "{own:?}");
    assert!(own.dropped.iter().any(|d| d.id == id && d.why.contains("already in")), "{own:?}");
}
