//! `doctor --speed`: three lines about this home, which is only read.

use std::path::Path;

use crate::world::{World, listing, names};

#[test]
fn three_lines_are_measured_and_the_home_stays_as_it_is() {
    let world = World::new();
    assert!(world.says(4, &["doctor", "--speed"]).contains("no memory"));
    world.import(0, &[&Path::new(env!("CARGO_MANIFEST_DIR")).join("demo")]);
    let rows = world.audit_rows();
    world.run(&["doctor"]);
    let before = listing(&world.test.home());
    let said = world.run(&["doctor", "--speed"]);
    assert_eq!((said.status, said.stderr.as_str()), (Some(0), ""), "{said:?}");
    let first: Vec<&str> = said.stdout.lines().map(|l| l.split_whitespace().next().unwrap()).collect();
    assert_eq!(first, ["search", "hook", "import"], "{}", said.stdout);
    assert!(said.stdout.lines().all(|l| l.contains(" ms ")), "{}", said.stdout);
    let found = world.json(&["doctor", "--speed"]);
    for (line, what) in found["speed"].as_array().unwrap().iter().zip(first) {
        names(line, "what of median_ms most_ms runs");
        assert!(line["what"] == what && line["median_ms"].as_f64().unwrap() > 0.0, "{found}");
        assert!(line["median_ms"].as_f64() <= line["most_ms"].as_f64(), "{found}");
    }
    let after = listing(&world.test.home());
    assert_eq!(before.keys().collect::<Vec<_>>(), after.keys().collect::<Vec<_>>(), "no file comes or goes");
    let changed: Vec<_> = before.iter().filter(|(path, bytes)| after[*path] != **bytes).map(|(path, _)| path).collect();
    assert!(changed.is_empty(), "{changed:?}");
    assert_eq!(world.audit_rows(), rows, "nothing was stored");
}

#[test]
fn a_copy_that_a_killed_run_left_is_removed() {
    let world = World::new();
    let scratch = world.test.home().join("state/scratch");
    world.import(0, &[&Path::new(env!("CARGO_MANIFEST_DIR")).join("demo")]);
    // No process has this number: it is larger than the maximum.
    let left = scratch.join(format!("speed-{}/home", i32::MAX));
    std::fs::create_dir_all(&left).unwrap();
    world.says(0, &["doctor", "--speed"]);
    assert_eq!(std::fs::read_dir(&scratch).unwrap().count(), 0);
}

/// Forgotten words must not remain in a copy of the home.
#[test]
fn forgetting_removes_a_copy_that_was_left() {
    let world = World::new();
    world.import(0, &[&Path::new(env!("CARGO_MANIFEST_DIR")).join("demo")]);
    let scratch = world.test.home().join("state/scratch");
    let left = scratch.join("speed-1/home");
    std::fs::create_dir_all(&left).unwrap();
    std::fs::write(left.join("turns.jsonl"), "redis").unwrap();
    world.says(0, &["forget", "--match", "redis", "--yes"]);
    assert_eq!(std::fs::read_dir(&scratch).unwrap().count(), 0);
}

#[test]
fn a_home_without_words_is_told_to_be_filled() {
    let world = World::new();
    world.json(&["agent", "add", "main"]);
    let said = world.says(4, &["doctor", "--speed"]);
    assert!(said.contains("no words to measure with") && said.contains("heirloom up"), "{said}");
}
