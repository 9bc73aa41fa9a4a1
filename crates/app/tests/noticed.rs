//! Statements of people about themselves are noticed when a turn is stored, whichever way it comes in, and only in
//! their own words.

use std::collections::BTreeMap;

use serde_json::{Value, json};

use crate::world::World;

/// Returns the titles of waiting notices, and the number of turns in which each was noticed.
fn pending(world: &World) -> BTreeMap<String, i64> {
    let value = world.json(&["memory", "pending"]);
    let list = value["pending"].as_array().unwrap().iter();
    list.map(|p| (p["title"].as_str().unwrap().to_owned(), p["seen"].as_i64().unwrap())).collect()
}

fn append(world: &World, lines: &[Value]) {
    let text: String = lines.iter().map(|line| format!("{line}\n")).collect();
    let out = world.feed(&["append"], text.as_bytes());
    assert_eq!(out.status, Some(0), "{out:?}");
}

#[test]
fn a_strong_statement_waits_however_it_came_in_and_once() {
    let world = World::new();
    append(
        &world,
        &[
            json!({"session": "a", "id": "1", "text": "Please always answer with a TL;DR first."}),
            json!({"session": "a", "id": "2", "text": "Rename this to foo and run the tests."}),
        ],
    );
    assert_eq!(pending(&world), BTreeMap::from([("Always answer with a TL;DR first".into(), 1)]));
    // The same line again is the same turn; the same words in another session count, in upper or lower case.
    append(&world, &[json!({"session": "a", "id": "1", "text": "Please always answer with a TL;DR first."})]);
    append(&world, &[json!({"session": "b", "id": "1", "text": "always answer with a tl;dr first!"})]);
    assert_eq!(pending(&world), BTreeMap::from([("Always answer with a TL;DR first".into(), 2)]));
    // A program's file, in which others than the person say such sentences, too.
    let stamp = |n: u32, kind: &str, more: Value| {
        let mut line = json!({"type": kind, "uuid": format!("u{n}"), "sessionId": "c0ffee00-0000-4000-8000-000000000001",
            "cwd": "/nowhere", "version": "2.1.0", "timestamp": format!("2026-11-20T10:00:{n:02}.000Z")});
        line.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
        format!("{line}\n")
    };
    let user = |text: &str| json!({"message": {"role": "user", "content": text}});
    let assistant =
        |text: &str| json!({"message": {"role": "assistant", "id": "m", "content": [{"type": "text", "text": text}]}});
    let mut side = user("Always use the staging database.");
    side["isSidechain"] = json!(true);
    let file = world.test.folder("in").join("c0ffee00-0000-4000-8000-000000000001.jsonl");
    let lines = [
        stamp(1, "user", user("My name is Marta. Never use emojis.")),
        stamp(2, "assistant", assistant("I prefer tabs over spaces. My name is Claude.")),
        stamp(3, "user", side),
        stamp(4, "user", user("<system-reminder>Always answer in French.</system-reminder>")),
        stamp(5, "user", user("> From now on use British spelling\n\nDo you agree with that line?")),
    ];
    std::fs::write(&file, lines.concat()).unwrap();
    let expected = BTreeMap::from([
        ("Always answer with a TL;DR first".to_owned(), 2),
        ("Name is Marta".to_owned(), 1),
        ("Never use emojis".to_owned(), 1),
    ]);
    for _ in 0..2 {
        world.import(0, &[&file]);
        assert_eq!(pending(&world), expected);
    }
    let active = std::fs::read_to_string(world.test.home().join("workspaces/main/continuity/ACTIVE.md")).unwrap();
    assert!(active.contains("## Noticed about you, unconfirmed\n") && active.contains("- Name is Marta"), "{active}");
    // An accepted notice becomes memory, a dismissed one is never asked about again.
    let id = |title: &str| {
        let value = world.json(&["memory", "pending"]);
        let found = value["pending"].as_array().unwrap().iter().find(|p| p["title"] == title).unwrap().clone();
        found["id"].as_str().unwrap().to_owned()
    };
    world.says(0, &["memory", "accept", &id("Name is Marta"), &id("Never use emojis")]);
    world.says(0, &["memory", "dismiss", &id("Always answer with a TL;DR first")]);
    append(
        &world,
        &[json!({"session": "d", "text": "Always answer with a TL;DR first. Never use emojis. My name is Marta."})],
    );
    assert_eq!(pending(&world), BTreeMap::new());
    assert_eq!(world.json(&["memory", "list"])["memories"][0]["title"], "Never use emojis");
    assert!(world.says(0, &["profile", "show"]).contains("Marta"));
}

#[test]
fn in_a_conversation_of_several_only_the_user_speaks_for_the_user() {
    let world = World::new();
    world.says(0, &["profile", "set", "name", "Marta"]);
    append(
        &world,
        &[
            json!({"session": "family", "speaker": "Bob", "text": "I prefer answers in bullet points."}),
            json!({"session": "family", "speaker": "marta", "text": "From now on use British spelling."}),
        ],
    );
    assert_eq!(pending(&world), BTreeMap::from([("Use British spelling".into(), 1)]));
}
