//! No change without its audit row: if the row cannot be written, nothing changes (R4.2).

use std::collections::BTreeMap;
use std::fs;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

use rusqlite::Connection;
use rusqlite::types::Value as Cell;
use serde_json::json;

use crate::world::{World, claude_line, let_it_settle, listing};

/// Returns files and folders with values that show whether they were touched; the ledger's own files are left out.
fn files(home: &Path) -> BTreeMap<PathBuf, (u64, i64, Option<Vec<u8>>)> {
    let own = |path: &Path| ["state", "run"].iter().any(|dir| path.starts_with(home.join(dir)));
    let touched = |path: PathBuf, bytes: Option<Vec<u8>>| {
        let meta = fs::symlink_metadata(&path).unwrap();
        // A folder's time also changes when a temporary file is made in it.
        let time = if meta.is_dir() { 0 } else { meta.mtime_nsec() };
        (path, (meta.ino(), time, bytes))
    };
    listing(home).into_iter().filter(|(path, _)| !own(path)).map(|(path, bytes)| touched(path, bytes)).collect()
}

/// Returns every row of the ledger except the audit's.
fn rows(world: &World) -> Vec<String> {
    let db = Connection::open(world.ledger()).unwrap();
    let named = "SELECT name FROM sqlite_schema WHERE type = 'table' AND name NOT LIKE 'sqlite%' AND name != 'audit'";
    let tables: Vec<String> =
        db.prepare(named).unwrap().query_map([], |r| r.get(0)).unwrap().map(Result::unwrap).collect();
    let mut all = Vec::new();
    for table in tables {
        let mut statement = db.prepare(&format!("SELECT * FROM \"{table}\"")).unwrap();
        let columns = statement.column_count();
        let mut found = statement.query([]).unwrap();
        while let Some(row) = found.next().unwrap() {
            let cells: Vec<Cell> = (0..columns).map(|i| row.get(i).unwrap()).collect();
            all.push(format!("{table} {cells:?}"));
        }
    }
    all
}

fn refuse(world: &World, action: &str) {
    let db = Connection::open(world.ledger()).unwrap();
    db.execute_batch(&format!(
        "CREATE TRIGGER refused BEFORE INSERT ON audit WHEN new.action = '{action}' BEGIN SELECT raise(ABORT, 'the audit is full'); END"
    ))
    .unwrap();
}

fn allow(world: &World) {
    Connection::open(world.ledger()).unwrap().execute_batch("DROP TRIGGER refused").unwrap();
}

fn audited(world: &World, action: &str) -> i64 {
    let db = Connection::open(world.ledger()).unwrap();
    db.query_row("SELECT count(*) FROM audit WHERE action = ?1", [action], |r| r.get(0)).unwrap()
}

/// Checks that a command fails and changes nothing while its audit row cannot be written, and succeeds afterwards.
fn all_or_nothing(world: &World, action: &str, args: &[&str]) {
    let home = world.test.home();
    let before = (files(&home), rows(world), audited(world, action));
    refuse(world, action);
    let out = world.run(args);
    assert_ne!(out.status, Some(0), "{action}: {args:?} says it was done: {out:?}");
    let after = (files(&home), rows(world), audited(world, action));
    for (path, file) in &before.0 {
        assert_eq!(Some(file), after.0.get(path), "{action}: {} is as it was", path.display());
    }
    let new: Vec<_> = after.0.keys().filter(|path| !before.0.contains_key(*path)).collect();
    assert!(new.is_empty(), "{action} left {new:?}");
    let changed: Vec<_> = after.1.iter().filter(|row| !before.1.contains(row)).collect();
    assert!(changed.is_empty() && before.1.len() == after.1.len(), "{action} changed {changed:#?}");
    assert_eq!(before.2, after.2);
    allow(world);
    let out = world.run(args);
    assert_eq!(out.status, Some(0), "{args:?}: {out:?}");
    assert!(audited(world, action) > before.2, "{args:?} is audited as {action}");
}

/// Makes a home with one of everything that can be decided on.
fn furnished() -> (World, String) {
    let world = World::new();
    let project = world.test.folder("api");
    let project = project.to_str().unwrap();
    world.says(0, &["memory", "add", "Deploy with make", "--title", "Deploy", "--workspace", project]);
    world.says(0, &["memory", "add", "Tea, not coffee", "--class", "preference"]);
    world.says(0, &["memory", "add", "Tests before code", "--class", "preference"]);
    world.says(0, &["loop", "add", "Call back"]);
    for title in ["One", "Two"] {
        world.says(0, &["proposal", "add", title, "--entry", &format!("{title} is a number"), "--workspace", project]);
    }
    let lines = [
        claude_line("s", 1, "user", "From now on use British spelling."),
        claude_line("s", 2, "user", "Please always answer with a TL;DR first."),
    ];
    let session = world.test.folder("sessions").join("s.jsonl");
    fs::write(&session, lines.join("\n") + "\n").unwrap();
    world.import(0, &[&session]);
    let drafts = world.test.home().join("runtime/main/opencode/drafts");
    fs::create_dir_all(&drafts).unwrap();
    fs::write(drafts.join("plan.md"), "# Plan\n").unwrap();
    fs::write(drafts.join("idea.md"), "# Idea\n").unwrap();
    let_it_settle();
    world.says(0, &["status"]);
    (world, project.to_owned())
}

#[test]
fn where_the_audit_fails_nothing_is_changed() {
    let (world, project) = furnished();
    let noticed = world.json(&["memory", "pending"])["pending"].clone();
    assert_eq!(noticed.as_array().unwrap().len(), 2, "{noticed}");
    let [yes, no] = [0, 1].map(|n| noticed[n]["id"].as_str().unwrap().to_owned());
    for (action, args) in [
        ("loop.add", ["loop", "add", "Write back"].as_slice()),
        ("loop.change", &["loop", "add", "Write back", "--text", "By hand"]),
        ("loop.resolve", &["loop", "resolve", "Write back", "Call back"]),
        ("loop.reopen", &["loop", "reopen", "Write back", "Call back"]),
        ("proposal.add", &["proposal", "add", "Three", "--entry", "a", "--entry", "b", "--scope", "agent"]),
        ("proposal.edit", &["proposal", "edit", "Three", "--entry", "c"]),
        ("proposal.merge", &["proposal", "merge", "One", "Three"]),
        ("proposal.undo", &["proposal", "undo", "One"]),
        ("proposal.reject", &["proposal", "reject", "One", "Two"]),
        ("memory.add", &["remember", "Deploy with just", "--workspace", &project]),
        ("memory.add", &["memory", "add", "Deploy with care", "--title", "Deploy", "--workspace", &project]),
        ("memory.edit", &["memory", "edit", "Deploy", "--text", "Deploy twice"]),
        ("memory.verify", &["memory", "verify", "Deploy"]),
        ("memory.pin", &["memory", "pin", "Deploy", "Tea, not coffee"]),
        ("memory.unpin", &["memory", "pin", "--off", "Deploy"]),
        ("memory.supersede", &["memory", "supersede", "Tea, not coffee", "Tests before code"]),
        ("memory.supersede", &["memory", "supersede", "Deploy", "--text", "Nobody deploys"]),
        ("memory.forget", &["memory", "forget", "Tests before code", "Nobody deploys"]),
        ("memory.accept", &["memory", "accept", &yes]),
        ("memory.dismiss", &["memory", "dismiss", &no]),
    ] {
        all_or_nothing(&world, action, args);
    }
    world.verified();
}

#[test]
fn nor_where_people_programs_and_sessions_are_concerned() {
    let (world, _) = furnished();
    let note = world.test.folder("notes").join("n.md");
    fs::write(&note, "words").unwrap();
    let note = note.to_str().unwrap();
    for (action, args) in [
        ("profile.set", ["profile", "set", "name", "Marta"].as_slice()),
        ("profile.unset", &["profile", "unset", "name"]),
        ("artifact.add", &["artifact", "add", "A note", "--file", note]),
        ("draft.promote", &["draft", "promote", "opencode/plan.md"]),
        ("draft.discard", &["draft", "discard", "opencode/idea.md"]),
        ("channel.ask", &["channel", "ask", "telegram", "4711", "--name", "Ada"]),
        ("channel.approve", &["channel", "approve", "telegram/4711"]),
        ("channel.ask", &["channel", "ask", "telegram", "4712"]),
        ("channel.deny", &["channel", "deny", "telegram/4712"]),
    ] {
        all_or_nothing(&world, action, args);
    }
    world.says(3, &["job", "run", "nightly", "--", "sh", "-c", "exit 3"]);
    all_or_nothing(&world, "job.acknowledge", &["job", "ack", "nightly"]);
    let more = world.test.folder("sessions").join("more.jsonl");
    fs::write(&more, claude_line("more", 1, "user", "Always answer in German.") + "\n").unwrap();
    all_or_nothing(&world, "transcript.append", &["import", more.to_str().unwrap()]);
    let session = world.sessions().remove(0);
    all_or_nothing(&world, "session.end", &["session", "end", &session]);
    for (action, args) in [
        ("thread.switch", ["thread", "switch", "topic/one", "--session", &session].as_slice()),
        ("thread.switch", &["thread", "switch", "topic/two", "--session", &session]),
        ("thread.rename", &["thread", "name", "topic/one", "First"]),
        ("thread.link", &["thread", "link", "first", "two"]),
        ("thread.unlink", &["thread", "unlink", "first", "two"]),
        ("thread.close", &["thread", "close", "first"]),
        ("thread.reopen", &["thread", "reopen", "first"]),
        ("thread.merge", &["thread", "merge", "first", "two"]),
        ("thread.unmerge", &["thread", "unmerge", "first"]),
    ] {
        all_or_nothing(&world, action, args);
    }
    all_or_nothing(&world, "transcript.forget", &["forget", "--session", &session, "--yes"]);
    world.verified();
}

#[test]
fn a_job_that_cannot_be_recorded_leaves_nothing() {
    let (world, _) = furnished();
    let home = world.test.home();
    for action in ["job.begin", "job.finish"] {
        let before = files(&home);
        refuse(&world, action);
        // The job's command runs although its run cannot be recorded.
        let out = world.run(&["job", "run", action, "--", "sh", "-c", "echo made"]);
        assert!(out.stdout.contains("made"), "{action}: {out:?}");
        assert!(out.stderr.contains("not be recorded") || out.stderr.contains("audit is full"), "{action}: {out:?}");
        let kept = files(&home);
        let made: Vec<_> =
            kept.keys().filter(|p| !before.contains_key(*p) && !p.to_string_lossy().contains("daily")).collect();
        assert!(made.is_empty(), "{action} left {made:?}");
        let done = rows(&world).iter().filter(|r| r.contains(action) && r.contains("\"done\"")).count();
        assert_eq!(done, 0, "{action}");
        allow(&world);
    }
    world.verified();
}

#[test]
fn agents_and_their_homes_are_audited() {
    let (world, _) = furnished();
    all_or_nothing(&world, "agent.add", &["agent", "add", "second"]);
    // A new tree is made whole, or not at all.
    all_or_nothing(&world, "home.bootstrap", &["loop", "add", "First", "--agent", "second"]);
    let tree = world.test.home().join("workspaces/second");
    assert!(tree.join("SOUL.md").exists() && tree.join("continuity/open-loops").exists());
    all_or_nothing(&world, "agent.add", &["memory", "add", "x", "--class", "preference", "--agent", "third"]);
    let elsewhere = world.test.folder("elsewhere");
    fs::write(elsewhere.join("SOUL.md"), "mine\n").unwrap();
    world.says(0, &["agent", "add", "fourth"]);
    all_or_nothing(&world, "home.adopt", &["agent", "adopt", elsewhere.to_str().unwrap(), "--agent", "fourth"]);
    assert_eq!(fs::read_to_string(elsewhere.join("SOUL.md")).unwrap(), "mine\n");
    // Adopting the same folder again changes nothing and adds no audit row.
    let lines = audited(&world, "agent.add");
    world.says(0, &["agent", "adopt", elsewhere.to_str().unwrap(), "--agent", "fourth"]);
    assert_eq!(audited(&world, "agent.add"), lines);
    world.json_of(4, &["agent", "adopt", "/no/such/folder", "--agent", "fifth"]);
    assert!(!world.says(0, &["agent", "list"]).contains("fifth"));
    world.verified();
}

#[test]
fn an_act_that_was_planned_is_finished_once() {
    let (world, _) = furnished();
    for (n, args) in [
        ["loop", "add", "Late"].as_slice(),
        &["loop", "resolve", "Late"],
        &["memory", "forget", "Tea, not coffee"],
        &["proposal", "merge", "One"],
    ]
    .iter()
    .enumerate()
    {
        refuse(&world, "flush.done");
        let out = world.run(args);
        assert_ne!(out.status, Some(0), "{args:?}");
        assert!(out.stderr.contains("finished by the next command"), "{out:?}");
        allow(&world);
        world.says(0, &["status"]);
        let db = Connection::open(world.ledger()).unwrap();
        let open: i64 = db.query_row("SELECT count(*) FROM flushes WHERE state != 'done'", [], |r| r.get(0)).unwrap();
        assert_eq!(open, 0, "{n}");
    }
    assert_eq!(world.json(&["loop", "list", "--resolved"])["all"], 1);
    assert_eq!(world.json(&["loop", "list"])["all"], 1);
    assert_eq!(world.json(&["memory", "search", "coffee"])["hits"], json!([]));
    assert_eq!(world.json(&["memory", "search", "number"])["hits"].as_array().unwrap().len(), 1);
    world.verified();
}
