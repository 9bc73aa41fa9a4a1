//! Every command of the laboratory: its help, its output, and its errors if it cannot measure.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};

use serde_json::{Value, json};

use crate::world::{World, names};

/// Returns the folder of the product's demo sessions.
fn demo() -> String {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../app/demo/claude").display().to_string()
}

/// Makes a fake product binary that records its calls and succeeds.
fn recorder(world: &World) -> (PathBuf, PathBuf) {
    use std::os::unix::fs::PermissionsExt;
    let folder = world.test.folder("bin");
    let (binary, calls) = (folder.join("heirloom"), folder.join("calls"));
    fs::write(&binary, format!("#!/bin/sh\necho \"$@\" >> {}\nexec cat > /dev/null\n", calls.display())).unwrap();
    fs::set_permissions(&binary, fs::Permissions::from_mode(0o755)).unwrap();
    (binary, calls)
}

fn commands(world: &World) -> Vec<String> {
    let help = world.says(0, &["--help"]);
    let list = help.split_once("Commands:\n").unwrap().1.split("\n\n").next().unwrap();
    let names = list.lines().filter(|l| l.starts_with("  ") && !l.starts_with("   "));
    names.map(|l| l.split_whitespace().next().unwrap().to_owned()).collect()
}

#[test]
fn every_command_says_what_it_measures_and_the_readme_names_it() {
    let world = World::new();
    let readme = fs::read_to_string(Path::new(env!("CARGO_MANIFEST_DIR")).join("README.md")).unwrap();
    let commands = commands(&world);
    let known: BTreeSet<&str> = commands.iter().map(String::as_str).collect();
    assert_eq!(
        known,
        ["distill", "import", "lineage", "make", "models", "recall", "service", "speed", "statements"].into()
    );
    for command in &commands {
        let help = world.says(0, &[command, "--help"]);
        assert!(help.lines().next().unwrap().len() > 20 && help.contains("--json"), "{help}");
        assert!(readme.contains(&format!("`heirloom-lab {command}")), "{command} is not in the README");
    }
    world.untouched();
}

#[test]
fn speed_measures_whole_processes_of_the_binary_named() {
    let world = World::new();
    let (binary, calls) = recorder(&world);
    let speed = ["speed", "--turns", "200", "--rounds", "1", "--binary", binary.to_str().unwrap()];
    let found = world.json(&speed);
    let home = &found["homes"][0];
    names(home, "turns import bare memory_scan hooks searches");
    assert_eq!((&home["turns"], &home["import"]["turns"]), (&json!(200), &json!(200)));
    names(
        &home["import"],
        "bytes records turns cpu_s wall_s bytes_per_cpu_s turns_per_cpu_s ledger_bytes index_bytes ledger_per_source_byte index_per_source_byte peak_memory_bytes",
    );
    let what = |list: &Value| -> Vec<String> {
        list.as_array().unwrap().iter().map(|one| one["what"].as_str().unwrap().to_owned()).collect()
    };
    assert_eq!(what(&home["hooks"]), ["session start", "prompt", "turn end", "session end"]);
    assert_eq!(home["searches"].as_array().unwrap().len(), 6);
    for search in home["searches"].as_array().unwrap() {
        names(search, "what process legs times_bare times_memory_scan");
        names(&search["legs"], "words vectors both");
    }
    let calls = fs::read_to_string(calls).unwrap();
    for part in ["--version", " --json search ", " hook claude-code UserPromptSubmit", " hook claude-code SessionEnd"] {
        assert!(calls.contains(part), "{part}: {calls}");
    }
    let shown = world.says(0, &speed);
    for part in ["200 turns, synthetic", "heirloom search", "by vectors", "a bare process", "turn end"] {
        assert!(shown.contains(part), "{part}: {shown}");
    }
    let kept = world.says(0, &[&speed[..], &["--keep"]].concat());
    let place = kept.lines().find_map(|l| l.strip_prefix("Kept: ")).unwrap();
    assert!(Path::new(place).join("200/home/state/runtime.db").exists());
}

#[test]
fn without_the_binary_it_is_said_how_to_build_it() {
    let world = World::new();
    let said = world.says(4, &["speed", "--turns", "20", "--binary", "nowhere/heirloom"]);
    assert!(said.contains("nowhere/heirloom") && said.contains("cargo build --release"), "{said}");
    let error = world.run(&["speed", "--binary", "nowhere", "--json"]);
    let error: Value = serde_json::from_str(&error.stdout).unwrap();
    names(&error["error"], "kind what next");
    world.untouched();
}

#[test]
fn lineage_tells_what_grows_with_the_home() {
    let world = World::new();
    let lineage = ["lineage", "--turns", "100,200", "--rounds", "1"];
    let found = world.json(&lineage);
    names(&found, "homes ratios machine");
    assert_eq!(found["homes"][1]["turns"], 200);
    assert!(found["homes"][1]["nodes"]["chunk"].as_u64().unwrap() > 0, "{found}");
    assert!(found["homes"][1]["bytes"]["lineage"].as_u64().unwrap() > 0, "{found}");
    let each: Vec<&str> =
        found["homes"][0]["each"].as_array().unwrap().iter().map(|e| e["what"].as_str().unwrap()).collect();
    for what in ["compacting the session", "pages after a compaction", "MEMORY.md alone", "nothing to render"] {
        assert!(each.contains(&what), "{what}: {each:?}");
    }
}

#[test]
fn an_import_of_real_files_is_measured() {
    let world = World::new();
    let found = world.json(&["import", &demo()]);
    assert!(found["import"]["turns"].as_u64().unwrap() > 20, "{found}");
    assert!(found["import"]["ledger_per_source_byte"].as_f64().unwrap() > 0.0, "{found}");
    let shown = world.says(0, &["import", &demo()]);
    assert!(shown.contains("Real files") && shown.contains("per source byte"), "{shown}");
    let empty = world.test.folder("empty");
    let said = world.says(4, &["import", empty.to_str().unwrap()]);
    assert!(said.contains("no session file"), "{said}");
    // None of the programs' usual places exists.
    assert!(world.says(4, &["import"]).contains("usual places"));
    let said = world.says(4, &["import", "nowhere.jsonl"]);
    assert!(said.contains("nowhere.jsonl"), "{said}");
    world.untouched();
}

#[test]
fn what_is_distilled_is_held_against_a_programs_summary() {
    let world = World::new();
    let found = world.json(&["distill", &demo()]);
    let one = &found["compactions"][0];
    names(one, "session turn files pending directives summary_tokens handoff_tokens invented");
    assert!(one["summary_tokens"].as_u64().unwrap() > 50 && one["handoff_tokens"].as_u64().unwrap() > 50, "{one}");
    assert_eq!(one["invented"], json!([]), "nothing in a distillate is made up");
    names(&one["directives"][0], "text in_turns found in_handoff");
    let shown = world.says(0, &["distill", &demo()]);
    assert!(shown.contains("in the handoff"), "{shown}");
    let folder = world.test.folder("plain");
    fs::write(folder.join("a.jsonl"), "{\"session\": \"s\", \"text\": \"hello\"}\n").unwrap();
    let said = world.says(4, &["distill", folder.to_str().unwrap()]);
    assert!(said.contains("no program wrote a summary"), "{said}");
}

#[test]
fn a_synthetic_home_is_made_and_stays() {
    let world = World::new();
    let place = world.test.user().join("made");
    for (kind, turns) in [("work", "60"), ("words", "40")] {
        let folder = place.join(kind);
        let found = world.json(&["make", folder.to_str().unwrap(), "--turns", turns, "--text", kind]);
        assert_eq!(found["turns"], turns.parse::<u64>().unwrap(), "{found}");
        assert!(folder.join("home/state/runtime.db").exists() && folder.join("home/state/index.db").exists());
    }
    let folder = place.join("files");
    let made = world.json(&["make", folder.to_str().unwrap(), "--turns", "30", "--sessions-only"]);
    assert!(made["home"].is_null() && !folder.join("home").exists(), "{made}");
    // The words for one size are the same everywhere; only the dates of the kind `work` depend on today.
    let (one, two) = (place.join("once"), place.join("again"));
    let words = |folder: &Path| {
        world.json(&["make", folder.to_str().unwrap(), "--turns", "50", "--text", "words", "--sessions-only"]);
        let project = folder.join("sessions/-home-user-project-0");
        let file = fs::read_dir(project).unwrap().next().unwrap().unwrap().path();
        fs::read(file).unwrap()
    };
    assert!(words(&one) == words(&two));
    let said = world.says(3, &["make", one.to_str().unwrap()]);
    assert!(said.contains("not empty"), "{said}");
}

#[test]
fn what_a_vector_costs_is_told_against_a_copy_of_one() {
    let world = World::new();
    let found = world.json(&["models"]);
    assert!(found["models"].as_array().unwrap().len() > 5 && found["copy_us"].as_f64().unwrap() > 0.0, "{found}");
    let said = world.says(4, &["models", "--model-folder", "nowhere"]);
    assert!(said.contains("config.json"), "{said}");
}
