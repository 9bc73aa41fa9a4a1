//! Sessions that the programs write today are stored whole: every turn once, byte for byte or row for row, and their
//! summaries are recognised.

use std::path::Path;

use heirloom_testkit::fake_model::{Reply, Request, table};
use serde_json::{Value, json};

use super::{ClaudeCode, Codex, Machine, OpenClaw, OpenCode, Program};
use crate::roundtrip::rows;
use crate::world::let_it_settle;

/// Runs two turns in one session, one of them with a tool, and one turn in another project; then a compaction the user
/// asks for in the first session, and one the program makes by itself in the other, since the model reports that its
/// context is nearly full.
fn is_kept(machine: &Machine, program: &mut dyn Program) {
    // A program does not take over a summary that is longer than what it replaces.
    let plan: Vec<String> = (1..=120).map(|n| format!("Step {n}: measure plank {n} and saw it.")).collect();
    let plan = Reply::text(plan.join("\n"));
    machine.model.answers(table([
        ("zephyr", Reply::shell("echo the tool said 4711")),
        ("port", plan.clone()),
        ("heron", plan.reporting(190_000)),
    ]));
    let (alpha, beta) = (machine.project("alpha"), machine.project("beta"));
    let first = program.turn(&alpha, "The codename is zephyr.", None);
    let session = first.session.as_str();
    assert!(first.heard.contains("The codename is zephyr."), "the model was asked: {}", first.heard);
    assert!(first.stdout.contains("Understood, that is answer "), "it shows what the model said: {}", first.stdout);
    let second = program.turn(&alpha, "And the port is 4711.", Some(session));
    assert_eq!(second.session, session);
    for words in ["codename is zephyr", "the tool said 4711"] {
        assert!(second.heard.contains(words), "the program goes on where it was: {}", second.heard);
    }
    let other = program.turn(&beta, "Plant the heron tree.", None);
    assert_ne!(other.session, session);
    assert!(!other.heard.contains("zephyr"), "another conversation: {}", other.heard);
    came_in(machine, program);

    let (one, two) = (key(program, session), key(program, &other.session));
    assert_eq!(said(machine, &one, "user"), ["The codename is zephyr.", "And the port is 4711."]);
    assert_eq!(said(machine, &two, "user"), ["Plant the heron tree."]);
    assert_eq!(said(machine, &one, "assistant").len(), 2);
    // A program that compacts at the end of a turn lets the model go on afterwards.
    assert!(said(machine, &two, "assistant")[0].starts_with("Step 1: "), "{:?}", said(machine, &two, "assistant"));
    let turns = machine.world.turns(&one);
    let results = turns.iter().filter(|t| t["kind"] == "tool-result");
    let results: Vec<&str> = results.map(|t| t["text"].as_str().unwrap()).collect();
    assert!(results.len() == 1 && results[0].contains("the tool said 4711"), "{turns:#?}");
    assert_eq!(turns.iter().filter(|t| t["kind"] == "tool-call").count(), 1, "{turns:#?}");
    let of = |key: &str| machine.world.turns(key)[0]["workspace"].clone();
    assert_ne!(of(&one), of(&two), "two projects");

    program.compact(&alpha, session);
    for (project, prompt, session) in [(&alpha, "Go on, please.", session), (&beta, "Water it.", &other.session)] {
        let mark = machine.model.mark();
        program.turn(project, prompt, Some(session));
        // Some programs pass the summary back as the model's own words, so that it is not in `heard`.
        let sent = machine.model.requests().split_off(mark);
        let has_it = |r: &Request| r.asked.is_some() && r.body.to_string().contains("of what was said so far");
        assert!(sent.iter().any(has_it), "the model has the summary: {prompt}");
    }
    came_in(machine, program);
    let all = ["The codename is zephyr.", "And the port is 4711.", "Go on, please."];
    assert_eq!(said(machine, &one, "user"), all);
    assert_eq!(said(machine, &two, "user"), ["Plant the heron tree.", "Water it."]);
    for key in [&one, &two] {
        has_its_summary(machine, key);
    }
    machine.world.verified();
    println!("{} wanted to call {:?}", program.name(), machine.model.outside());
}

/// Checks that the program's summary is told apart from what was said, and is in the lineage as the program's own.
fn has_its_summary(machine: &Machine, session: &str) {
    let turns = machine.world.turns(session);
    let summaries: Vec<&Value> = turns.iter().filter(|t| t["kind"] == "compact-summary").collect();
    assert_eq!(summaries.len(), 1, "{turns:#?}");
    assert!(summaries[0]["text"].as_str().unwrap().contains("of what was said so far"), "{}", summaries[0]);
    machine.world.says(0, &["session", "end", session]);
    machine.world.says(0, &["work", "--drain"]);
    let expanded = machine.world.json(&["expand", session]);
    let node = expanded["compactions"][0]["node"].as_str().unwrap_or_else(|| panic!("no compaction: {expanded:#}"));
    let node = &machine.world.json(&["expand", node])["node"];
    assert_eq!((&node["source"], &node["summary_turn"]), (&json!("harness"), &summaries[0]["turn"]), "{node:#}");
}

fn key(program: &dyn Program, session: &str) -> String {
    format!("{}:{session}", program.name())
}

/// Imports twice, and compares everything with the program's own store.
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
    for session in world.sessions() {
        let shown = world.json(&["session", "show", &session]);
        let records = shown["records"].as_array().unwrap();
        let odd = records.iter().find(|r| ["unknown", "quarantined"].contains(&r["class"].as_str().unwrap()));
        assert_eq!(odd, None, "every record is understood: {shown}");
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

/// Returns what one role said in a session, in order, without the quotation marks one program puts around it.
fn said(machine: &Machine, session: &str, role: &str) -> Vec<String> {
    let turns = machine.world.turns(session);
    let theirs = turns.iter().filter(|t| t["role"] == role && t["kind"] == "message");
    theirs.map(|t| t["text"].as_str().unwrap().trim().trim_matches('"').to_owned()).collect()
}

#[test]
#[ignore = "needs the real programs: scripts/real-programs"]
fn claude_code_is_kept() {
    let machine = Machine::new();
    is_kept(&machine, &mut ClaudeCode::on(&machine));
}

#[test]
#[ignore = "needs the real programs: scripts/real-programs"]
fn codex_is_kept() {
    let machine = Machine::new();
    is_kept(&machine, &mut Codex::on(&machine));
}

#[test]
#[ignore = "needs the real programs: scripts/real-programs"]
fn opencode_is_kept() {
    let machine = Machine::new();
    is_kept(&machine, &mut OpenCode::on(&machine));
}

#[test]
#[ignore = "needs the real programs: scripts/real-programs"]
fn openclaw_is_kept() {
    let machine = Machine::new();
    is_kept(&machine, &mut OpenClaw::on(&machine));
}
