//! Which model places texts in space: what the settings may say, and what happens where it cannot be had (R10.8).

use std::fs;

use serde_json::json;

use crate::world::World;

fn world() -> World {
    let world = World::new();
    let line = json!({"session": "s", "id": "1", "text": "The zebra arrived at noon.", "time": "2026-11-20T10:00:00Z"});
    assert_eq!(world.feed(&["append"], format!("{line}\n").as_bytes()).status, Some(0));
    world
}

fn settings(world: &World, text: &str) {
    fs::write(world.test.home().join("config.toml"), format!("[embeddings]\n{text}\n")).unwrap();
}

#[test]
fn the_model_in_use_is_told() {
    let world = world();
    let status = world.json(&["status"]);
    assert_eq!(status["embeddings"], json!({"model": "static-minilm-256-v1", "at": "built in", "problem": null}));
    assert!(world.says(0, &["status"]).contains("static-minilm-256-v1  (built in)"));
    assert!(world.run(&["doctor"]).stdout.contains("static-minilm-256-v1 (built in)"));
    settings(&world, "endpoint = \"http://127.0.0.1:9/v1/embeddings\"\nmodel = \"far\"\ndimensions = 64");
    let at = &world.json_of(0, &["status"])["embeddings"]["at"];
    assert_eq!(at, "from http://127.0.0.1:9/v1/embeddings");
}

#[test]
fn settings_that_contradict_themselves_are_refused() {
    let world = world();
    for (text, part) in [
        (
            "endpoint = \"http://127.0.0.1:9/v1/embeddings\"\nmodel = \"m\"\ndimensions = 64\nmodel_folder = \"/m\"",
            "both",
        ),
        ("endpoint = \"http://127.0.0.1:9/v1/embeddings\"", "not its model"),
        // Nothing is looked for below the current directory.
        ("model_folder = \"minilm\"", "whole path"),
    ] {
        settings(&world, text);
        let said = world.says(2, &["search", "zebra"]);
        assert!(said.contains(part) && said.contains("config.toml"), "{text}: {said}");
    }
}

#[test]
fn where_the_model_cannot_be_had_the_words_answer_and_say_so() {
    let world = world();
    let folder = world.test.user().join("no-such-model");
    settings(&world, &format!("model_folder = {:?}", folder.to_str().unwrap()));
    let next = if cfg!(feature = "minilm") { "config.json" } else { "--features minilm" };
    let out = world.run(&["search", "zebra"]);
    assert_eq!(out.status, Some(0), "{out:?}");
    assert!(out.stdout.contains("**zebra**"), "{out:?}");
    assert!(out.stderr.contains("by words only") && out.stderr.contains(next), "{out:?}");
    assert_eq!(out.stderr.matches("by words only").count(), 1, "{out:?}");
    let found = world.json(&["search", "zebra"]);
    assert_eq!((found["hits"].as_array().unwrap().len(), &found["degraded"]), (1, &json!(true)), "{found}");
    assert!(found["less"].to_string().contains("by words only"), "{found}");
    let recalled = world.json(&["recall", "the zebra at noon"]);
    assert!(recalled["degraded"].to_string().contains("by words only"), "{recalled}");
    let given = world.json(&["context", "--session", "turns:t", "--prompt", "the zebra at noon"]);
    assert!(given["degraded"].to_string().contains("by words only"), "{given}");
    let status = world.json_of(1, &["status"]);
    assert!(status["embeddings"]["model"].is_null() && status["wrong"].to_string().contains(next), "{status}");
    let doctor = world.json_of(1, &["doctor"]);
    let check = doctor["checks"].as_array().unwrap().iter().find(|c| c["subject"] == "Meaning").unwrap();
    assert_eq!(check["ok"], false, "{check}");
    // What is stored meanwhile is found by its words, and by meaning as soon as there is a model again.
    let line =
        json!({"session": "s", "id": "2", "text": "A giraffe came in the evening.", "time": "2026-11-20T18:00:00Z"});
    assert_eq!(world.feed(&["append"], format!("{line}\n").as_bytes()).status, Some(0));
    assert_eq!(world.found("giraffe").len(), 1);
    settings(&world, "");
    world.says(0, &["work", "--drain"]);
    let near = world.json(&["search", "what animals visited us late"]);
    assert!(near["hits"].to_string().contains("giraffe"), "{near}");
    assert_eq!(near["degraded"], false, "{near}");
    world.verified();
}
