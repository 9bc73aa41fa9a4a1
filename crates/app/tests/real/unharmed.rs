//! Whatever is wrong with Heirloom, the program completes its turn: the command gone, the ledger locked, the home gone
//! or of a newer build, the disk full. Once all is well again, the turns are stored.

use std::fs;
use std::path::Path;

use heirloom_testkit::fake_model::{Reply, table};
use rusqlite::Connection;
use serde_json::Value;

use super::hooked::{at_rest, is_kept_once};
use super::{ClaudeCode, Codex, Machine, OpenClaw, OpenCode, Program};
use crate::world::{HEIRLOOM, let_it_settle};

/// The user's prompt in each state, and the model's answer.
const WORDS: [(&str, &str); 6] = [
    ("How is the roof?", "The roof is well."),
    ("How is the locked door?", "The door was oiled."),
    ("How is the new barn?", "The barn has a floor."),
    ("How is the garden that went?", "The garden was mown."),
    ("How is the full cellar?", "The cellar was scanned."),
    ("How is the lost key?", "The key was found."),
];

fn is_unharmed(machine: &Machine, program: &mut dyn Program) {
    // The hooks call a copy of the binary, which the test can remove.
    let binary = machine.world.test.folder("bin").join("heirloom");
    fs::copy(HEIRLOOM, &binary).unwrap();
    let connected = machine.world.test.run(&binary, &["connect", program.name(), "--yes", "--trust"], b"");
    assert_eq!(connected.status, Some(0), "{connected:?}");
    machine.world.says(0, &["remember", "--class", "preference", "Answer in short sentences"]);
    let rows: Vec<(&str, Reply)> = WORDS.iter().map(|(asked, said)| (*asked, Reply::text(*said))).collect();
    // The latest prompt comes first: where a context stands in front of the prompt, earlier prompts are in it.
    machine.model.answers(table(rows.into_iter().rev()));
    let project = machine.project("barn");
    let [roof, locked, newer, gone, full, removed] = WORDS;

    let mut session = None;
    let mut turn = |program: &mut dyn Program, (asked, said): (&str, &str)| {
        let turned = program.turn(&project, asked, session.as_deref());
        assert!(turned.stdout.contains(said), "{asked}: {}", turned.stdout);
        let failed = |l: &str| {
            l.contains("\"is_error\":true") || l.starts_with("{\"type\":\"error\"") || l.contains("turn.failed")
        };
        assert!(!turned.stdout.lines().any(failed), "{asked}: {}", turned.stdout);
        session = Some(turned.session.clone());
        turned
    };
    let first = turn(program, roof);
    assert!(first.heard.contains("Answer in short sentences"), "it is connected: {}", first.heard);
    at_rest(machine);
    let usual = machine.complaints();

    let (ledger, home) = (machine.world.ledger(), machine.world.test.home());
    let busy = Connection::open(&ledger).unwrap();
    busy.execute_batch("BEGIN IMMEDIATE").unwrap();
    turn(program, locked);
    busy.execute_batch("ROLLBACK").unwrap();
    drop(busy);
    is_empty(machine, &home);
    // The turn is stored without reading the program's store.
    assert!(said(machine).iter().any(|text| text.contains(locked.0)), "{:?}", said(machine));

    let db = Connection::open(&ledger).unwrap();
    let version: i64 = db.query_row("PRAGMA user_version", [], |r| r.get(0)).unwrap();
    db.execute_batch("PRAGMA user_version = 9999").unwrap();
    drop(db);
    turn(program, newer);
    assert_ne!(waiting(&home), 0, "it waits for a build that knows the home");
    let db = Connection::open(&ledger).unwrap();
    let now: i64 = db.query_row("PRAGMA user_version", [], |r| r.get(0)).unwrap();
    assert_eq!(now, 9999, "nobody touched it");
    db.execute_batch(&format!("PRAGMA user_version = {version}")).unwrap();
    drop(db);
    is_empty(machine, &home);

    let elsewhere = machine.home().join("elsewhere");
    fs::rename(&home, &elsewhere).unwrap();
    turn(program, gone);
    assert!(!home.exists(), "a hook makes no home");
    fs::rename(&elsewhere, &home).unwrap();

    let small = machine.world.test.folder("small");
    let script = format!(
        "mount -t tmpfs -o size=64m,mode=700 none {small} && cp -a {home}/. {small}/ || exit 9
         dd if=/dev/zero of={small}/ballast bs=4096 2>/dev/null
         mount --bind {small} {home} || exit 9
         if echo more >{home}/more 2>/dev/null; then exit 9; fi
         exec \"$@\"",
        small = small.display(),
        home = home.display()
    );
    if machine.within(Some(&script)) {
        program.stop();
        turn(program, full);
        program.stop();
        machine.within(None);
    } else {
        println!("skipped: no full disk can be had here");
    }

    let away = binary.with_extension("away");
    fs::rename(&binary, &away).unwrap();
    turn(program, removed);
    let doctor = machine.world.run(&["doctor"]);
    assert!(doctor.stdout.contains("cannot be run"), "{doctor:?}");
    fs::rename(&away, &binary).unwrap();

    // Claude Code reports the hooks of a session's end as not found, after the answer and with success; it reports no
    // other hook.
    let of_the_end = |line: &String| line.starts_with("sessionend hook [") && line.ends_with("not found");
    // An MCP server that cannot start is one line in the program's log, and nothing more.
    let of_the_server = |line: &String| {
        line.contains("failed to start server \"heirloom\"") || line.contains("\"server unavailable\" key=heirloom")
    };
    let complaints = machine.complaints();
    let more = complaints.difference(&usual).filter(|line| !of_the_end(line) && !of_the_server(line));
    let more: Vec<String> = more.cloned().collect();
    assert!(more.is_empty(), "it says something about us: {more:#?}");
    let_it_settle();
    machine.world.import(0, &[]);
    let said = said(machine);
    for (asked, answered) in WORDS
        .into_iter()
        .filter(|words| *words != full || machine.model.asked_since(0).iter().any(|a| a.prompt.contains(full.0)))
    {
        for words in [asked, answered] {
            assert_eq!(said.iter().filter(|text| text.contains(words)).count(), 1, "{words}: {said:?}");
        }
    }
    is_kept_once(machine, &[program]);
    let log = fs::read_to_string(home.join("logs/hooks.log")).unwrap_or_default();
    println!("hooks.log:\n{log}");
}

/// Waits until calls that hooks had to put aside are stored. The worker they started may be storing them.
fn is_empty(machine: &Machine, home: &Path) {
    for _ in 0..100 {
        at_rest(machine);
        if waiting(home) == 0 {
            return;
        }
        std::thread::sleep(std::time::Duration::from_millis(100));
    }
    panic!("what was put aside was not stored: {} left", waiting(home));
}

/// Returns the number of payloads in the spool.
fn waiting(home: &Path) -> usize {
    fs::read_dir(home.join("spool")).map_or(0, |entries| {
        entries.filter(|e| e.as_ref().unwrap().file_name().to_string_lossy().ends_with(".hook")).count()
    })
}

/// Returns what people and models said, in every session.
fn said(machine: &Machine) -> Vec<String> {
    let sessions = machine.world.sessions();
    let turns: Vec<Value> = sessions.iter().flat_map(|session| machine.world.turns(session)).collect();
    turns.iter().filter(|t| t["kind"] == "message").map(|t| t["text"].as_str().unwrap().to_owned()).collect()
}

#[test]
#[ignore = "needs the real programs: scripts/real-programs"]
fn claude_code_is_unharmed() {
    let machine = Machine::new();
    is_unharmed(&machine, &mut ClaudeCode::on(&machine));
}

#[test]
#[ignore = "needs the real programs: scripts/real-programs"]
fn codex_is_unharmed() {
    let machine = Machine::new();
    is_unharmed(&machine, &mut Codex::on(&machine));
}

#[test]
#[ignore = "needs the real programs: scripts/real-programs"]
fn opencode_is_unharmed() {
    let machine = Machine::new();
    is_unharmed(&machine, &mut OpenCode::on(&machine));
}

#[test]
#[ignore = "needs the real programs: scripts/real-programs"]
fn openclaw_is_unharmed() {
    let machine = Machine::new();
    is_unharmed(&machine, &mut OpenClaw::on(&machine));
}
