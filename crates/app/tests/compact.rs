//! `heirloom compact`: a handoff replaces older turns, and their commitments become files; all of it or nothing.

use std::fs;
use std::process::Stdio;
use std::time::{Duration, Instant};

use heirloom_testkit::Rng;
use serde_json::json;

use crate::world::{HEIRLOOM, World, claude_line};

const SESSION: &str = "55555555-0000-4000-8000-000000000000";

/// Makes a conversation that leaves something open and decides something.
fn told() -> World {
    let world = World::new();
    let folder = world.test.folder("sessions");
    let says = [
        ("user", "Please move the orders to the new schema. Never touch the table invoices."),
        ("assistant", "We decided to use a queue instead of cron because it is simpler."),
        ("user", "Next we still have to migrate table tbl_orders; not done yet."),
        ("assistant", "Understood. TODO: write the changelog before the release."),
    ];
    // The turns are old, so that the end of the session alone does not open loops.
    let line = |n, role, text| claude_line(SESSION, n, role, text).replace("\"2026-11-21T", "\"2026-10-01T");
    let lines: Vec<String> = says.iter().enumerate().map(|(n, (role, text))| line(n, role, text)).collect();
    fs::write(folder.join(format!("{SESSION}.jsonl")), lines.join("\n") + "\n").unwrap();
    world.import(0, &[&folder]);
    world
}

fn loops(world: &World) -> Vec<String> {
    let listed = world.json(&["loop", "list"]);
    let mut titles: Vec<String> =
        listed["loops"].as_array().unwrap().iter().map(|l| l["title"].as_str().unwrap().to_owned()).collect();
    titles.sort();
    titles
}

#[test]
fn a_handoff_takes_the_place_of_what_was_said_and_its_commitments_are_files() {
    let world = told();
    let args = ["compact", "--session", SESSION];
    let before = world.content();
    let dry = world.json(&[&args[..], &["--dry-run"]].concat());
    assert_eq!(world.content(), before, "a dry run changes nothing");
    assert!(dry["handoff"].as_str().unwrap().contains("Never touch the table invoices"), "{dry}");
    assert_eq!(loops(&world), Vec::<String>::new());

    let done = world.json(&args);
    assert_eq!(done["epoch"], json!(1));
    assert_eq!(done["distillate"]["decisions"], dry["distillate"]["decisions"]);
    let node = done["nodes"][0]["id"].as_str().unwrap();
    let open = loops(&world);
    assert!(open.iter().any(|l| l.contains("migrate table tbl_orders")), "{open:?}");
    let first = world.json(&["loop", "list"])["loops"][0]["id"].as_str().unwrap().to_owned();
    assert!(world.says(0, &["expand", &first]).contains(node), "the file leads back to the node");
    world.verified();

    // A second compaction without new turns makes nothing.
    let again = world.json(&args);
    assert_eq!(again["nodes"], json!([]));
    assert_eq!(loops(&world), open);

    // A resolved loop is not in the handoff any more.
    world.says(0, &["loop", "resolve", &first]);
    let text = world.json(&[&args[..], &["--dry-run"]].concat())["handoff"].as_str().unwrap().to_owned();
    assert!(!text.is_empty());
    world.verified();
}

#[test]
fn a_turn_that_is_none_of_the_session_is_unknown() {
    let world = told();
    for until in ["tfff", "no-such-entry"] {
        world.says(4, &["compact", "--session", SESSION, "--until", until, "--dry-run"]);
    }
    world.says(4, &["compact", "--session", "claude-code:nobody", "--dry-run"]);
}

#[test]
fn a_compaction_killed_anywhere_is_done_whole_or_not_at_all() {
    let trials = if std::env::var_os("HEIRLOOM_TEST_FULL").is_some() { 50 } else { 12 };
    let mut rng = Rng::new(41);
    let reference = told();
    let began = Instant::now();
    reference.json(&["compact", "--session", SESSION]);
    let took = began.elapsed();
    let expected = loops(&reference);
    assert!(!expected.is_empty());
    let mut interrupted = 0;
    for trial in 0..trials {
        let world = told();
        let mut command = world.test.command(HEIRLOOM);
        command.args(["compact", "--session", SESSION]);
        let mut child = command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap();
        std::thread::sleep(took.mul_f64(rng.below(1000) as f64 / 1000.0).max(Duration::from_millis(1)));
        interrupted += u32::from(child.try_wait().unwrap().is_none());
        child.kill().unwrap();
        child.wait().unwrap();
        // The next command finishes the planned act; compacting again makes nothing twice.
        world.says(0, &["status"]);
        world.verified();
        let between = loops(&world);
        assert!(between.is_empty() || between == expected, "trial {trial}: {between:?}");
        world.json(&["compact", "--session", SESSION]);
        assert_eq!(loops(&world), expected, "trial {trial}");
        let nodes = world.json(&["session", "show", SESSION]);
        assert!(nodes["session"].is_object());
        world.verified();
    }
    println!("{interrupted} of {trials} were killed before their end");
    assert!(interrupted > 0);
}
