//! Connected by Heirloom's own command, the programs share one memory: what was said in one is given to the others, in
//! the same project only; a compaction loses nothing and is followed by the context once; and every turn is stored
//! once.

use std::path::Path;

use heirloom_testkit::fake_model::{Reply, table};
use rusqlite::Connection;
use serde_json::Value;

use super::{ClaudeCode, Codex, Machine, OpenClaw, OpenCode, Program};
use crate::world::let_it_settle;

/// For each program: the thing its user talks about, and the colour its user prefers. The test looks for both words in the
/// other programs' requests.
const TOLD: [(&str, &str, &str); 4] = [
    ("claude-code", "mail", "amber"),
    ("codex", "print", "teal"),
    ("opencode", "scan", "coral"),
    ("openclaw", "crawl", "ivory"),
];

/// Tells a program a decision, a preference and a task that is not finished.
fn tell(program: &mut dyn Program, project: &Path) {
    let (_, thing, colour) = *TOLD.iter().find(|(name, ..)| *name == program.name()).unwrap();
    let first = program.turn(project, &format!("Which store should the {thing} queue have?"), None);
    program.turn(project, &format!("I prefer {colour} labels."), Some(&first.session));
    program.turn(project, &format!("Add a retry to the {thing} worker."), Some(&first.session));
}

fn words_of(name: &str) -> [String; 3] {
    let (_, thing, colour) = *TOLD.iter().find(|(other, ..)| *other == name).unwrap();
    [
        format!("use Postgres for the {thing} queue"),
        format!("prefer {colour} labels"),
        format!("five {thing} attempts is not enforced"),
    ]
}

fn answers(machine: &Machine) {
    let mut all: Vec<(String, Reply)> = Vec::new();
    // The latest prompt comes first: where a context stands in front of the prompt, earlier prompts are in it, too.
    for (_, thing, _) in TOLD {
        let left = format!("The retry is in. TODO: the limit of five {thing} attempts is not enforced yet.");
        all.push((format!("retry to the {thing} worker"), Reply::text(left)));
    }
    for (_, _, colour) in TOLD {
        all.push((format!("prefer {colour} labels"), Reply::text("Understood.".to_owned())));
    }
    for (_, thing, _) in TOLD {
        let decided = format!("We decided to use Postgres for the {thing} queue because it is there already.");
        all.push((format!("the {thing} queue have"), Reply::text(decided)));
    }
    let all: Vec<(&str, Reply)> = all.iter().map(|(words, reply)| (words.as_str(), reply.clone())).collect();
    machine.model.answers(table(all));
}

/// Describes the blocks of ours that the model received, and the end of what it received, for messages of failed
/// checks.
pub fn ours(heard: &str) -> String {
    let blocks = heard.split("<heirloom-memory").skip(1).map(|rest| rest.split("</heirloom-memory>").next().unwrap());
    let blocks: Vec<&str> = blocks.collect();
    let last: String = heard.chars().rev().take(600).collect::<Vec<_>>().into_iter().rev().collect();
    format!("{} blocks of ours: {}\n… and last: {last}", blocks.len(), blocks.join("\n---\n"))
}

/// Waits until the work that hooks left to the worker is done.
pub fn at_rest(machine: &Machine) {
    for _ in 0..200 {
        machine.world.says(0, &["work", "--drain"]);
        let ledger = Connection::open(machine.world.ledger()).unwrap();
        let left: i64 = ledger
            .query_row("SELECT count(*) FROM jobs WHERE kind = 'capture' AND state IN ('queued', 'running')", [], |r| {
                r.get(0)
            })
            .unwrap();
        if left == 0 {
            return;
        }
        std::thread::sleep(std::time::Duration::from_millis(100));
    }
    panic!("the worker is not done");
}

/// Checks that every turn is stored once, as in the programs' stores.
pub fn is_kept_once(machine: &Machine, programs: &[&mut dyn Program]) {
    at_rest(machine);
    let_it_settle();
    machine.world.import(0, &[]);
    let again = machine.world.import(0, &[]);
    assert_eq!(again["turns"]["new"], 0, "{again}");
    for session in machine.world.sessions() {
        let turns = machine.world.turns(&session);
        let mut said: Vec<(String, &str, &str)> = turns
            .iter()
            .filter(|t| t["kind"] == "message")
            .map(|t| (t["run"].to_string(), t["role"].as_str().unwrap(), t["text"].as_str().unwrap().trim()))
            .collect();
        let all = said.len();
        said.sort_unstable();
        said.dedup();
        assert_eq!(said.len(), all, "{session}: {turns:#?}");
        let injected = turns.iter().find(|t| t["text"].as_str().unwrap().contains("<heirloom-memory"));
        assert!(injected.is_none(), "{session}: {injected:?}");
    }
    let ledger = Connection::open(machine.world.ledger()).unwrap();
    let waiting: i64 = ledger.query_row("SELECT count(*) FROM provisional_turns", [], |r| r.get(0)).unwrap();
    assert_eq!(waiting, 0, "every turn is confirmed by its program's store");
    for program in programs {
        for path in program.files() {
            machine.world.exports(&path);
        }
    }
    machine.world.verified();
}

fn one_memory_under(machine: &Machine, programs: &mut [&mut dyn Program]) {
    answers(machine);
    for program in programs.iter() {
        machine.connect(program.name());
    }
    for program in programs.iter_mut() {
        let project = machine.project(program.name());
        tell(*program, &project);
    }
    at_rest(machine);
    let names: Vec<&str> = programs.iter().map(|p| p.name()).collect();
    for told in &names {
        for program in programs.iter_mut().filter(|p| p.name() != *told) {
            let asked =
                program.turn(&machine.project(told), "What do you know of this project, and what is left to do?", None);
            for words in words_of(told) {
                assert_eq!(
                    asked.heard.matches(&words).count(),
                    1,
                    "told in {told}, asked in {}: {words:?} is to be heard once in\n{}",
                    program.name(),
                    ours(&asked.heard)
                );
            }
            println!("told in {told}, heard once in {}", program.name());
        }
    }
    // A session in another project is given none of it.
    for program in programs.iter_mut() {
        let elsewhere =
            program.turn(&machine.project("elsewhere"), "What do you know of the queue and what is left?", None);
        for words in names.iter().flat_map(|name| words_of(name)) {
            assert!(
                !elsewhere.heard.contains(&words),
                "{} hears {words:?}: {}",
                program.name(),
                ours(&elsewhere.heard)
            );
        }
    }
    at_rest(machine);
    is_kept_once(machine, programs);
    let log = std::fs::read_to_string(machine.world.test.home().join("logs/hooks.log")).unwrap_or_default();
    println!("hooks.log:\n{log}");
}

/// Runs twelve prompts of one piece of work in a lone session: before its context is cut, it is given none of its own
/// words.
fn hears_none_of_its_own_words(machine: &Machine, program: &mut dyn Program) {
    machine.connect(program.name());
    let project = machine.project("barn");
    let prompts = [
        "We move the mail queue of the warehouse from Redis to Postgres, word one quokka.",
        "The mail worker takes ten mails at once from the queue, word two axolotl.",
        "Which store does the mail queue have now?",
        "I prefer teal labels for the warehouse mails, word three okapi.",
        "Add a retry to the mail worker, five attempts at most, word four tapir.",
        "How many mails does the mail worker take at once?",
        "We decided to keep the table mail_jobs because the warehouse reads it, word five numbat.",
        "What did we decide about the table mail_jobs?",
        "Which labels do the warehouse mails have?",
        "How many attempts has the retry of the mail worker?",
        "Run the tests of the mail queue and the mail worker again.",
        "What is left to do for the mail queue of the warehouse?",
    ];
    machine.model.answers(table([
        ("What did we decide about the table", Reply::text("To keep the table mail_jobs, word seven gecko.")),
        ("five attempts at most", Reply::text("The retry is in. TODO: enforce the five attempts, word six ibis.")),
    ]));
    let own = ["quokka", "axolotl", "okapi", "tapir", "numbat", "ibis", "gecko"];
    let (mut session, mut said, mut given) = (None, 0, 0);
    for prompt in prompts {
        let turned = program.turn(&project, prompt, session.as_deref());
        assert!(turned.heard.contains(prompt), "{}: {prompt:?} did not reach the model", program.name());
        said += prompt.len();
        let blocks: Vec<&str> = turned.heard.split("<heirloom-memory").skip(1).collect();
        let blocks: String = blocks.iter().map(|rest| rest.split("</heirloom-memory>").next().unwrap()).collect();
        given += blocks.len();
        for word in own {
            assert!(!blocks.contains(word), "{} is given {word:?} back: {}", program.name(), ours(&turned.heard));
        }
        session = Some(turned.session);
    }
    println!("{}: {said} characters said, {given} given (summed over the requests)", program.name());
    // The words of one session are available to the next.
    let next = program.turn(&project, "What did we decide about the table mail_jobs, in the other session?", None);
    assert!(next.heard.contains("keep the table mail_jobs"), "{}", ours(&next.heard));
}

#[test]
#[ignore = "needs the real programs: scripts/real-programs"]
fn a_lone_session_of_claude_code_hears_none_of_its_own_words() {
    let machine = Machine::new();
    hears_none_of_its_own_words(&machine, &mut ClaudeCode::on(&machine));
}

#[test]
#[ignore = "needs the real programs: scripts/real-programs"]
fn a_lone_session_of_codex_hears_none_of_its_own_words() {
    let machine = Machine::new();
    hears_none_of_its_own_words(&machine, &mut Codex::on(&machine));
}

#[test]
#[ignore = "needs the real programs: scripts/real-programs"]
fn a_lone_session_of_opencode_hears_none_of_its_own_words() {
    let machine = Machine::new();
    hears_none_of_its_own_words(&machine, &mut OpenCode::on(&machine));
}

#[test]
#[ignore = "needs the real programs: scripts/real-programs"]
fn a_lone_session_of_openclaw_hears_none_of_its_own_words() {
    let machine = Machine::new();
    hears_none_of_its_own_words(&machine, &mut OpenClaw::on(&machine));
}

#[test]
#[ignore = "needs the real programs: scripts/real-programs"]
fn claude_code_and_codex_have_one_memory() {
    let machine = Machine::new();
    one_memory_under(&machine, &mut [&mut ClaudeCode::on(&machine), &mut Codex::on(&machine)]);
}

#[test]
#[ignore = "needs the real programs: scripts/real-programs"]
fn all_four_have_one_memory() {
    let machine = Machine::new();
    one_memory_under(
        &machine,
        &mut [
            &mut ClaudeCode::on(&machine),
            &mut Codex::on(&machine),
            &mut OpenCode::on(&machine),
            &mut OpenClaw::on(&machine),
        ],
    );
}

/// A compaction that the user asks for: node and handoff are made, heads are updated, and what fell out of the context
/// is given again, once.
fn survives_a_compaction(machine: &Machine, program: &mut dyn Program) {
    answers(machine);
    machine.connect(program.name());
    let project = machine.project("barn");
    // A preference the user accepted counts for every session.
    machine.world.says(0, &["remember", "--class", "preference", "Answer in short sentences"]);
    let (_, thing, _) = *TOLD.iter().find(|(name, ..)| *name == program.name()).unwrap();
    let plan: Vec<String> = (1..=120).map(|n| format!("Step {n}: measure plank {n} and saw it.")).collect();
    let decided =
        format!("We decided to use Postgres for the {thing} queue because it is there already.\n{}", plan.join("\n"));
    machine.model.answers(table([("queue have", Reply::text(decided))]));
    let first = program.turn(&project, &format!("Which store should the {thing} queue have?"), None);
    assert_eq!(first.heard.matches("Answer in short sentences").count(), 1, "{}", ours(&first.heard));
    let second = program.turn(&project, "Go on, please.", Some(&first.session));
    assert_eq!(second.heard.matches("Answer in short sentences").count(), 1, "not twice: {}", ours(&second.heard));

    program.compact(&project, &first.session);
    let after = program.turn(&project, "Where were we?", Some(&first.session));
    assert_eq!(after.heard.matches("Answer in short sentences").count(), 1, "once more: {}", ours(&after.heard));
    assert!(after.heard.contains("use Postgres for the"), "{}", ours(&after.heard));
    let last = program.turn(&project, "Good night.", Some(&first.session));
    assert_eq!(last.heard.matches("Answer in short sentences").count(), 1, "and not twice: {}", ours(&last.heard));

    is_cut_once(machine, program, &first.session);
}

/// Checks that one compaction is in the lineage, with a node from the summary the program made, and that every turn is
/// stored once.
fn is_cut_once(machine: &Machine, program: &mut dyn Program, session: &str) {
    at_rest(machine);
    machine.world.import(0, &[]);
    let key = format!("{}:{session}", program.name());
    machine.world.says(0, &["session", "end", &key]);
    machine.world.says(0, &["work", "--drain"]);
    let expanded = machine.world.json(&["expand", &key]);
    let compactions: &Vec<Value> = expanded["compactions"].as_array().unwrap();
    assert_eq!(compactions.len(), 1, "{expanded:#}");
    let node = &machine.world.json(&["expand", compactions[0]["node"].as_str().unwrap()])["node"];
    assert_eq!(node["source"], "harness", "{node:#}");
    is_kept_once(machine, &[program]);
}

#[test]
#[ignore = "needs the real programs: scripts/real-programs"]
fn a_compaction_of_claude_code_is_survived() {
    let machine = Machine::new();
    survives_a_compaction(&machine, &mut ClaudeCode::on(&machine));
}

#[test]
#[ignore = "needs the real programs: scripts/real-programs"]
fn a_compaction_of_codex_is_survived() {
    let machine = Machine::new();
    survives_a_compaction(&machine, &mut Codex::on(&machine));
}

#[test]
#[ignore = "needs the real programs: scripts/real-programs"]
fn a_compaction_of_opencode_is_survived() {
    let machine = Machine::new();
    survives_a_compaction(&machine, &mut OpenCode::on(&machine));
}

#[test]
#[ignore = "needs the real programs: scripts/real-programs"]
fn a_compaction_of_openclaw_is_survived() {
    let machine = Machine::new();
    survives_a_compaction(&machine, &mut OpenClaw::on(&machine));
}

/// The program compacts by itself, because the model reports that its context is nearly full.
fn survives_one_that_comes_by_itself(machine: &Machine, program: &mut dyn Program) {
    machine.connect(program.name());
    let project = machine.project("barn");
    machine.world.says(0, &["remember", "--class", "preference", "Answer in short sentences"]);
    let plan: Vec<String> = (1..=120).map(|n| format!("Step {n}: measure plank {n} and saw it.")).collect();
    let decided =
        format!("We decided to use Postgres for the mail queue because it is there already.\n{}", plan.join("\n"));
    // The latest prompt comes first: some programs' requests contain earlier prompts.
    machine.model.answers(table([
        ("Good night", Reply::text("Good night.")),
        ("Where were we", Reply::text("At the queue.")),
        ("queue have", Reply::text(decided).reporting(190_000)),
    ]));
    let first = program.turn(&project, "Which store should the mail queue have?", None);
    assert_eq!(first.heard.matches("Answer in short sentences").count(), 1, "{}", ours(&first.heard));
    let after = program.turn(&project, "Where were we?", Some(&first.session));
    assert_eq!(after.heard.matches("Answer in short sentences").count(), 1, "once more: {}", ours(&after.heard));
    assert!(after.heard.contains("use Postgres for the mail queue"), "{}", ours(&after.heard));
    let last = program.turn(&project, "Good night.", Some(&first.session));
    assert_eq!(last.heard.matches("Answer in short sentences").count(), 1, "and not twice: {}", ours(&last.heard));
    is_cut_once(machine, program, &first.session);
}

#[test]
#[ignore = "needs the real programs: scripts/real-programs"]
fn claude_code_survives_a_compaction_that_comes_by_itself() {
    let machine = Machine::new();
    survives_one_that_comes_by_itself(&machine, &mut ClaudeCode::on(&machine));
}

#[test]
#[ignore = "needs the real programs: scripts/real-programs"]
fn codex_survives_a_compaction_that_comes_by_itself() {
    let machine = Machine::new();
    survives_one_that_comes_by_itself(&machine, &mut Codex::on(&machine));
}

#[test]
#[ignore = "needs the real programs: scripts/real-programs"]
fn opencode_survives_a_compaction_that_comes_by_itself() {
    let machine = Machine::new();
    survives_one_that_comes_by_itself(&machine, &mut OpenCode::on(&machine));
}

#[test]
#[ignore = "needs the real programs: scripts/real-programs"]
fn openclaw_survives_a_compaction_that_comes_by_itself() {
    let machine = Machine::new();
    survives_one_that_comes_by_itself(&machine, &mut OpenClaw::on(&machine));
}
