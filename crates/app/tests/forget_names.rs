//! `heirloom forget` reaches names: wherever the word stands, no file of the home has it afterwards, and no import brings it
//! back (R14.2).

use std::fs;

use serde_json::{Value, json};

use crate::world::{World, let_it_settle, traces};

const WORD: &str = "Quuxfrobnitz";

/// The fields of a plain turn that are names, ids or addresses, with a value that has the word.
fn places(world: &World) -> Vec<(&'static str, Value)> {
    let project = world.test.user().join("src").join(format!("{WORD}-api"));
    fs::create_dir_all(project.join(".git")).unwrap();
    vec![
        ("speaker", json!(WORD)),
        ("participants", json!([format!("{WORD} Weber"), "Mara"])),
        ("tool", json!(format!("mcp__{WORD}__ask"))),
        ("model", json!(format!("{WORD}-7b"))),
        ("thread", json!(format!("topic/{}", WORD.to_lowercase()))),
        ("thread", json!(format!("about {WORD}"))),
        ("session", json!(format!("chat:{WORD}@example.org"))),
        ("id", json!(format!("{WORD}-0001"))),
        ("parent", json!(format!("{WORD}-0000"))),
        ("call", json!(format!("call_{WORD}"))),
        ("run", json!(format!("run {WORD}"))),
        ("workspace", json!(project)),
        ("text", json!(format!("ask {WORD} about the barn"))),
    ]
}

/// A conversation in which the field of one turn has the value.
fn conversation(place: &str, value: &Value) -> String {
    let mut lines = String::new();
    for n in 0..4 {
        let mut turn = json!({
            "session": "chat:barn", "id": format!("n-{n}"), "time": format!("2026-11-02T18:4{n}:00Z"), "speaker": "Mara",
            "text": format!("the barn needs paint, number {n}"),
        });
        if place == "session" {
            turn[place] = value.clone();
        } else if n == 1 {
            turn[place] = value.clone();
            if matches!(place, "tool" | "call") {
                turn["role"] = json!("tool");
            }
            if matches!(place, "model" | "run") {
                turn["role"] = json!("assistant");
            }
        }
        lines += &format!("{turn}\n");
    }
    lines
}

#[test]
fn a_word_in_any_place_is_gone_and_stays_gone() {
    let mut left = Vec::new();
    let count = places(&World::new()).len();
    for n in 0..count {
        for person in [false, true] {
            let world = World::new();
            let (place, value) = places(&world).remove(n);
            let folder = world.test.folder("chats");
            let file = folder.join("barn.turns.jsonl");
            fs::write(&file, conversation(place, &value)).unwrap();
            let_it_settle();
            world.import(0, &[&file]);
            world.says(0, &["work", "--drain"]);
            let before = traces(&world.test.home(), WORD);
            assert!(!before.is_empty(), "{place}");
            let args = match person {
                true => ["forget", "--person", WORD, "--yes", "--json"].as_slice(),
                false => ["forget", "--match", WORD, "--ignore-case", "--yes"].as_slice(),
            };
            let said = world.says(0, args);
            assert!(!said.contains("Nothing that is stored"), "{place}: {said}");
            let after = traces(&world.test.home(), WORD);
            if !after.is_empty() {
                left.push(format!("{place} = {value} ({args:?}) is left in {after:?}"));
                continue;
            }
            world.verified();
            // Read again, and written anew.
            world.import(0, &[&file]);
            fs::write(&file, conversation(place, &value) + "\n").unwrap();
            let_it_settle();
            world.import(0, &[&file]);
            world.says(0, &["work", "--drain"]);
            let after = traces(&world.test.home(), WORD);
            if !after.is_empty() {
                left.push(format!("{place} = {value} ({args:?}) came back in {after:?}"));
            }
            world.verified();
        }
    }
    assert!(left.is_empty(), "{}", left.join("\n"));
}

#[test]
fn names_of_files_and_folders_are_gone_too() {
    let world = World::new();
    let folder = world.test.folder(&format!("{WORD}-chats"));
    let file = folder.join("barn.turns.jsonl");
    fs::write(&file, conversation("text", &json!("nothing of note"))).unwrap();
    let_it_settle();
    world.import(0, &[&file]);
    assert!(!traces(&world.test.home(), WORD).is_empty());
    let preview = world.json(&["forget", "--match", WORD, "--dry-run"]);
    assert_eq!(preview["turns"], 0);
    assert_eq!(preview["names"]["sources"], 1, "{preview}");
    world.says(0, &["forget", "--match", WORD, "--yes"]);
    assert_eq!(traces(&world.test.home(), WORD), Vec::<String>::new());
    assert_eq!(world.import(0, &[&file])["records"], 0, "it is known by its mark");
    assert_eq!(traces(&world.test.home(), WORD), Vec::<String>::new());
    world.verified();
}

#[test]
fn a_project_and_a_thread_are_forgotten_by_name() {
    let world = World::new();
    let folder = world.test.folder("chats");
    let project = places(&world).into_iter().find(|(place, _)| *place == "workspace").unwrap().1;
    let said = |session: &str, place: &str, value: &Value| {
        let mut turn = json!({"session": session, "id": session, "time": "2026-11-02T18:40:00Z", "text": format!("words of {session}")});
        if !place.is_empty() {
            turn[place] = value.clone();
        }
        format!("{turn}\n")
    };
    let file = folder.join("all.turns.jsonl");
    let text = said("one", "workspace", &project)
        + &said("two", "thread", &json!(format!("topic/{}", WORD.to_lowercase())))
        + &said("three", "", &Value::Null);
    fs::write(&file, text).unwrap();
    let_it_settle();
    world.import(0, &[&file]);
    world.says(0, &["work", "--drain"]);
    let done = world.json(&["forget", "--thread", &format!("topic/{}", WORD.to_lowercase()), "--yes"]);
    assert_eq!((&done["forgotten"], &done["turns"]), (&json!(true), &json!(1)), "{done}");
    assert_eq!(world.found("words").len(), 2);
    let done = world.json(&["forget", "--project", project.as_str().unwrap(), "--yes"]);
    assert_eq!((&done["forgotten"], &done["turns"]), (&json!(true), &json!(1)), "{done}");
    assert_eq!(world.found("words").len(), 1);
    assert_eq!(traces(&world.test.home(), WORD), Vec::<String>::new());
    world.json_of(4, &["forget", "--project", "nowhere", "--yes"]);
    world.json_of(4, &["forget", "--thread", "topic/nowhere", "--yes"]);
    world.verified();
}
