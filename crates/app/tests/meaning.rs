//! The embedding model: which settings are valid, and what happens if the model cannot be used (R10.8).

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
    let built_in = "static-minilm-256-v1";
    let embeddings =
        json!({"model": built_in, "at": "built in", "problem": null, "in_use": built_in, "renewing": null});
    assert_eq!(status["embeddings"], embeddings);
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
        // A relative folder is refused: nothing is searched below the current directory.
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
    // New turns are found by their words meanwhile, and by meaning once there is a model again.
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

/// Makes a model whose layers do nothing: texts are near if they share pieces' vectors, and "longneck" has that of
/// "giraffe".
#[cfg(feature = "minilm")]
fn little_model(folder: &std::path::Path) {
    const WIDTH: usize = 64;
    let vocabulary =
        ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "giraffe", "longneck", "zebra", "came", "noon", "evening", "on"];
    fs::create_dir_all(folder).unwrap();
    fs::write(folder.join("vocab.txt"), vocabulary.join("\n") + "\n").unwrap();
    let config = json!({"hidden_size": WIDTH, "num_hidden_layers": 1, "num_attention_heads": 1, "intermediate_size": WIDTH,
                        "max_position_embeddings": 32, "hidden_act": "gelu"});
    fs::write(folder.join("config.json"), config.to_string()).unwrap();
    // Each piece has a direction of its own; the part common to all texts is almost zero.
    let mut words = vec![0.001f32; vocabulary.len() * WIDTH];
    for (piece, row) in words.chunks_mut(WIDTH).enumerate().skip(4) {
        row[if piece == 5 { 4 } else { piece }] = 8.0;
    }
    let (square, none, ones) = (vec![0.0f32; WIDTH * WIDTH], vec![0.0f32; WIDTH], vec![1.0f32; WIDTH]);
    let mut tensors: Vec<(String, Vec<usize>, Vec<f32>)> = vec![
        ("embeddings.word_embeddings.weight".into(), vec![vocabulary.len(), WIDTH], words),
        ("embeddings.position_embeddings.weight".into(), vec![32, WIDTH], vec![0.0; 32 * WIDTH]),
        ("embeddings.token_type_embeddings.weight".into(), vec![2, WIDTH], vec![0.0; 2 * WIDTH]),
    ];
    let layer = "encoder.layer.0";
    for name in ["embeddings".to_owned(), format!("{layer}.attention.output"), format!("{layer}.output")] {
        tensors.push((format!("{name}.LayerNorm.weight"), vec![WIDTH], ones.clone()));
        tensors.push((format!("{name}.LayerNorm.bias"), vec![WIDTH], none.clone()));
    }
    let linear = ["attention.self.query", "attention.self.key", "attention.self.value", "attention.output.dense"];
    for name in linear.iter().chain(&["intermediate.dense", "output.dense"]) {
        tensors.push((format!("{layer}.{name}.weight"), vec![WIDTH, WIDTH], square.clone()));
        tensors.push((format!("{layer}.{name}.bias"), vec![WIDTH], none.clone()));
    }
    let (mut header, mut bytes) = (serde_json::Map::new(), Vec::new());
    for (name, shape, numbers) in tensors {
        let start = bytes.len();
        bytes.extend(numbers.iter().flat_map(|x| x.to_le_bytes()));
        header.insert(name, json!({"dtype": "F32", "shape": shape, "data_offsets": [start, bytes.len()]}));
    }
    let header = serde_json::Value::Object(header).to_string().into_bytes();
    let file = [&(header.len() as u64).to_le_bytes()[..], &header, &bytes].concat();
    fs::write(folder.join("model.safetensors"), file).unwrap();
}

#[cfg(feature = "minilm")]
#[test]
fn a_model_from_a_folder_takes_the_place_of_the_table_and_back() {
    let world = world();
    let line =
        json!({"session": "s", "id": "2", "text": "A giraffe came in the evening.", "time": "2026-11-20T18:00:00Z"});
    assert_eq!(world.feed(&["append"], format!("{line}\n").as_bytes()).status, Some(0));
    world.says(0, &["work", "--drain"]);
    let asked = ["search", "longneck visitors please"];
    let folder = world.test.user().join("little");
    little_model(&folder);
    settings(&world, &format!("model_folder = {:?}", folder.to_str().unwrap()));
    // The built-in table answers until the new vectors are made.
    let meanwhile = world.json(&["search", "a tall animal arrived late"]);
    assert_eq!(meanwhile["degraded"], false, "{meanwhile}");
    assert!(meanwhile["hits"][0]["why"]["cosine"].is_number(), "{meanwhile}");
    assert_eq!(world.json(&["status"])["embeddings"]["in_use"], "static-minilm-256-v1");
    world.says(0, &["work", "--drain"]);
    let found = world.json(&asked);
    assert_eq!(found["hits"][0]["entry"], "2", "{found}");
    assert!(found["hits"][0]["why"]["cosine"].as_f64().unwrap() > 0.3, "{found}");
    assert_eq!(found["degraded"], false, "{found}");
    let status = world.json(&["status"]);
    assert!(status["embeddings"]["model"].as_str().unwrap().starts_with("minilm-64-"), "{status}");
    assert_eq!(status["embeddings"]["at"], format!("from {}", folder.display()));
    settings(&world, "");
    world.says(0, &["work", "--drain"]);
    assert_eq!(world.json(&["status"])["embeddings"]["model"], "static-minilm-256-v1");
    world.verified();
}

#[cfg(feature = "minilm")]
#[test]
fn another_model_is_one_command_and_so_is_the_way_back() {
    let world = world();
    world.says(0, &["work", "--drain"]);
    let _held = crate::programs::no_worker(&world);
    let config = world.test.home().join("config.toml");
    fs::write(&config, "# mine\n[lineage]\nchunk_turns = 9\n").unwrap();
    let folder = world.test.user().join("little");
    little_model(&folder);
    let folder = folder.to_str().unwrap();
    let would = world.json(&["embed", "use", folder, "--dry-run"]);
    assert_eq!((&would["turns"], &would["dry_run"]), (&json!(1), &json!(true)), "{would}");
    assert!(!fs::read_to_string(&config).unwrap().contains("embeddings"));
    let said = world.says(0, &["embed", "use", folder]);
    assert!(said.contains("64 dimensions") && said.contains("1 turn") && said.contains("embed use built-in"), "{said}");
    let text = fs::read_to_string(&config).unwrap();
    assert!(text.starts_with("# mine\n[lineage]\nchunk_turns = 9\n") && text.contains("model_folder"), "{text}");
    let status = world.json(&["embed", "status"]);
    assert!(status["model"].as_str().unwrap().starts_with("minilm-64-"), "{status}");
    assert_eq!(status["in_use"], "static-minilm-256-v1", "{status}");
    assert!(world.says(0, &["embed", "status"]).contains("static-minilm-256-v1 answers until"));
    world.says(0, &["work", "--drain"]);
    let status = world.json(&["embed", "status"]);
    assert_eq!(status["in_use"], status["model"], "{status}");
    assert!(!world.test.home().join("state/index-next.db").exists());
    assert_eq!(world.found("zebra").len(), 1);
    world.says(0, &["embed", "use", "built-in"]);
    assert_eq!(fs::read_to_string(&config).unwrap(), "# mine\n[lineage]\nchunk_turns = 9\n\n");
    world.says(0, &["work", "--drain"]);
    assert_eq!(world.json(&["embed", "status"])["in_use"], "static-minilm-256-v1");
    world.verified();
}

#[test]
fn a_model_that_cannot_be_had_is_refused_before_anything_is_written() {
    let world = world();
    let empty = world.test.user().join("empty");
    fs::create_dir_all(&empty).unwrap();
    let missing = world.test.user().join("missing");
    for (code, args, part) in [
        (4, vec![missing.to_str().unwrap()], "there is no folder"),
        (4, vec![empty.to_str().unwrap()], "config.json"),
        (2, vec!["http://127.0.0.1:9"], "--model"),
        (75, vec!["http://127.0.0.1:9", "--model", "m"], "cannot be reached"),
        (75, vec!["http://127.0.0.1:9", "--model", "m", "--dimensions", "64"], "cannot be reached"),
        (2, vec!["http://127.0.0.1:9", "--model", "m", "--key-from", "NO_SUCH_KEY"], "NO_SUCH_KEY is not set"),
        (2, vec!["ftp://127.0.0.1", "--model", "m"], "neither http nor https"),
        (2, vec!["built-in", "--model", "m"], "--model is about an endpoint"),
    ] {
        let all: Vec<&str> = ["embed", "use"].into_iter().chain(args).collect();
        let said = world.says(code, &all);
        assert!(said.contains(part), "{all:?}: {said}");
    }
    assert!(!world.test.home().join("config.toml").exists());
}
