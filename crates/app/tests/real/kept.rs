//! What the programs write today is kept whole: every turn once, byte for byte or row for row, and their summaries are
//! known for what they are.

use std::path::Path;

use heirloom_testkit::fake_model::{Reply, Request, table};
use serde_json::{Value, json};

use super::{ClaudeCode, Codex, Machine, OpenClaw, OpenCode, Program};
use crate::roundtrip::rows;
use crate::world::let_it_settle;

/// Two turns in one session and one in another project, then a compaction and a turn after it.
fn is_kept(machine: &Machine, program: &mut dyn Program) {
    // A summary longer than what it stands for would not be taken over.
    let plan: Vec<String> = (1..=120).map(|n| format!("Step {n}: measure plank {n} and saw it.")).collect();
    machine.model.answers(table([("port", Reply::text(plan.join("\n")))]));
    let (alpha, beta) = (machine.project("alpha"), machine.project("beta"));
    let first = program.turn(&alpha, "The codename is zephyr.", None);
    let session = first.session.as_str();
    assert!(first.heard.contains("The codename is zephyr."), "the model was asked: {}", first.heard);
    assert!(first.stdout.contains("Understood, that is answer "), "it shows what the model said: {}", first.stdout);
    let second = program.turn(&alpha, "And the port is 4711.", Some(session));
    assert_eq!(second.session, session);
    assert!(second.heard.contains("codename is zephyr"), "the program goes on where it was: {}", second.heard);
    let other = program.turn(&beta, "Plant the heron tree.", None);
    assert_ne!(other.session, session);
    assert!(!other.heard.contains("zephyr"), "another conversation: {}", other.heard);
    came_in(machine, program);

    let (one, two) = (key(program, session), key(program, &other.session));
    assert_eq!(of_people(machine, &one), ["The codename is zephyr.", "And the port is 4711."]);
    assert_eq!(of_people(machine, &two), ["Plant the heron tree."]);
    assert_eq!(answers(machine, &one).len(), 2, "{:?}", answers(machine, &one));
    assert_eq!(answers(machine, &two).len(), 1);
    let of = |key: &str| machine.world.turns(key)[0]["workspace"].clone();
    assert_ne!(of(&one), of(&two), "two projects");

    program.compact(&alpha, session);
    let mark = machine.model.mark();
    program.turn(&alpha, "Go on, please.", Some(session));
    // Where a program gives the summary back as the model's own words, it is not among what the model heard.
    let sent = machine.model.requests().split_off(mark);
    let has_it = |r: &Request| r.asked.is_some() && r.body.to_string().contains("of what was said so far");
    assert!(sent.iter().any(has_it), "the model has the summary");
    came_in(machine, program);
    let said = of_people(machine, &one);
    assert_eq!(said, ["The codename is zephyr.", "And the port is 4711.", "Go on, please."]);
    let turns = machine.world.turns(&one);
    let summaries: Vec<&Value> = turns.iter().filter(|t| t["kind"] == "compact-summary").collect();
    assert_eq!(summaries.len(), 1, "{turns:#?}");
    assert!(summaries[0]["text"].as_str().unwrap().contains("of what was said so far"), "{}", summaries[0]);

    // The lineage has the program's own summary, over what it was made of.
    machine.world.says(0, &["session", "end", &one]);
    machine.world.says(0, &["work", "--drain"]);
    let expanded = machine.world.json(&["expand", &one]);
    let node = expanded["compactions"][0]["node"].as_str().unwrap_or_else(|| panic!("no compaction: {expanded:#}"));
    let node = &machine.world.json(&["expand", node])["node"];
    assert_eq!((&node["source"], &node["summary_turn"]), (&json!("harness"), &summaries[0]["turn"]), "{node:#}");
    machine.world.verified();
    println!("{} wanted to call {:?}", program.name(), machine.model.outside());
}

fn key(program: &dyn Program, session: &str) -> String {
    format!("{}:{session}", program.name())
}

/// Imports what is there, and again, and compares everything with the program's own store.
fn came_in(machine: &Machine, program: &dyn Program) {
    let world = &machine.world;
    let_it_settle();
    let report = world.import(0, &[]);
    assert_eq!((&report["set_aside"], &report["problems"]), (&json!(0), &json!([])), "{report}");
    assert_ne!(report["turns"]["new"], 0, "{report}");
    for path in program.files() {
        world.exports(&path);
    }
    if let Some((path, tables)) = program.database() {
        rows_are_exported(machine, program, &path, tables);
    }
    let again = world.import(0, &[]);
    assert_eq!(again["turns"]["new"], 0, "every turn once: {again}");
    world.verified();
}

fn rows_are_exported(machine: &Machine, program: &dyn Program, path: &Path, tables: &[&str]) {
    let mut exported: Vec<Value> = Vec::new();
    for session in machine.world.sessions() {
        assert!(session.starts_with(program.name()), "{session}");
        let text = String::from_utf8(machine.world.bytes(&["export", "--session", &session])).unwrap();
        exported.extend(text.lines().map(|l| serde_json::from_str::<Value>(l).unwrap()));
    }
    let mut stored: Vec<Value> = tables.iter().flat_map(|table| rows(path, table)).collect();
    exported.sort_by_key(Value::to_string);
    stored.sort_by_key(Value::to_string);
    assert!(!stored.is_empty());
    assert_eq!(exported, stored);
}

/// What people said in a session, in order.
fn of_people(machine: &Machine, session: &str) -> Vec<String> {
    let turns = machine.world.turns(session);
    let people = turns.iter().filter(|t| t["role"] == "user" && t["kind"] == "message");
    people.map(|t| t["text"].as_str().unwrap().trim().trim_matches('"').to_owned()).collect()
}

/// What the model answered, in order.
fn answers(machine: &Machine, session: &str) -> Vec<String> {
    let turns = machine.world.turns(session);
    let answers = turns.iter().filter(|t| t["role"] == "assistant" && t["kind"] == "message");
    answers.map(|t| t["text"].as_str().unwrap().to_owned()).collect()
}

#[test]
fn claude_code_is_kept() {
    let Some(machine) = Machine::new() else { return };
    is_kept(&machine, &mut ClaudeCode::on(&machine));
}

#[test]
fn codex_is_kept() {
    let Some(machine) = Machine::new() else { return };
    is_kept(&machine, &mut Codex::on(&machine));
}

#[test]
fn opencode_is_kept() {
    let Some(machine) = Machine::new() else { return };
    is_kept(&machine, &mut OpenCode::on(&machine));
}

#[test]
fn openclaw_is_kept() {
    let Some(machine) = Machine::new() else { return };
    is_kept(&machine, &mut OpenClaw::on(&machine));
}
