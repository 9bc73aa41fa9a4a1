//! Damaged files, stores, paths and homes: each problem is named, the rest is imported, nothing is half stored.

use std::ffi::OsStr;
use std::fs::{self, OpenOptions};
use std::io::Write;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::process::Command;

use heirloom_testkit::{named_pipe, recordings, run};
use rusqlite::Connection;
use serde_json::{Value, json};

use crate::world::{HEIRLOOM, World, claude_line, copy_tree, opencode};

fn is_root() -> bool {
    fs::metadata("/proc/self").is_ok_and(|m| std::os::unix::fs::MetadataExt::uid(&m) == 0)
}

/// Returns the problems of an import that concern a file.
fn problems<'j>(import: &'j Value, name: &str) -> Vec<&'j Value> {
    let all = import["problems"].as_array().unwrap().iter();
    all.filter(|p| p["place"].as_str().unwrap().contains(name)).collect()
}

fn id(n: usize) -> String {
    format!("{n:08}-2222-4000-8000-000000000000")
}

#[test]
fn files_of_every_wrong_kind_in_a_folder_are_named_and_the_rest_imported() {
    let world = World::new();
    let folder = world.test.folder("sessions");
    let at = |n: usize| folder.join(format!("{}.jsonl", id(n)));
    let line = |n: usize, i: usize, text: &str| claude_line(&id(n), i, "user", text) + "\n";
    fs::write(at(0), line(0, 0, "a good heron") + &line(0, 1, "a second heron")).unwrap();
    fs::write(at(1), "").unwrap();
    // The same line twice is one turn; the same words as another entry are a second turn.
    fs::write(at(2), line(2, 0, "double heron") + &line(2, 0, "double heron") + &line(2, 1, "double heron")).unwrap();
    // A line with bytes that are not UTF-8, next to a good line.
    let mut bytes = line(3, 0, "valid heron").into_bytes();
    let mut bad = line(3, 1, "X heron").into_bytes();
    let x = bad.iter().position(|b| *b == b'X').unwrap();
    bad[x] = 0xff;
    let second_line = bytes.len();
    bytes.extend(&bad);
    bytes.extend(line(3, 2, "last heron").as_bytes());
    fs::write(at(3), &bytes).unwrap();
    // JSON members of the wrong type.
    let wrong = [
        json!({"type": 5, "sessionId": id(4)}),
        json!({"type": "user", "sessionId": id(4), "uuid": [], "message": 7}),
        json!({"type": "user", "sessionId": id(4), "message": {"role": {}, "content": {"a": 1}}, "timestamp": false}),
        json!([]),
        json!("text"),
        json!(null),
    ];
    let wrong: String = wrong.iter().map(|l| format!("{l}\n")).collect();
    fs::write(at(4), line(4, 0, "before heron") + &wrong + &line(4, 1, "after heron")).unwrap();
    // An unfinished last line.
    let half = line(5, 1, "unfinished heron");
    fs::write(at(5), line(5, 0, "finished heron") + &half[..half.len() / 2]).unwrap();
    // A name that is not UTF-8; a pipe; dangling and circular links; a folder with a session's name; other files.
    let strange = folder.join(OsStr::from_bytes(b"na\xffme.jsonl"));
    fs::write(&strange, line(6, 0, "strange heron")).unwrap();
    named_pipe(&folder.join("pipe.jsonl"));
    std::os::unix::fs::symlink("nowhere", folder.join("dangling.jsonl")).unwrap();
    std::os::unix::fs::symlink("loop.jsonl", folder.join("loop.jsonl")).unwrap();
    std::os::unix::fs::symlink(".", folder.join("around")).unwrap();
    fs::create_dir(folder.join("folder.jsonl")).unwrap();
    fs::write(folder.join("notes.txt"), "heron").unwrap();
    fs::write(folder.join("data.jsonl"), "{\"heron\":1}\n").unwrap();

    let json = world.import(1, &[&folder]);
    assert_eq!(problems(&json, &id(0)), Vec::<&Value>::new());
    assert_eq!(problems(&json, &id(2)), Vec::<&Value>::new());
    let pipe = problems(&json, "pipe.jsonl");
    assert!(pipe.len() == 1 && pipe[0]["what"].as_str().unwrap().contains("pipe"), "{json}");
    let no_text = problems(&json, &id(3));
    assert_eq!(no_text.len(), 1, "{json}");
    assert_eq!((&no_text[0]["line"], &no_text[0]["offset"]), (&json!(2), &json!(second_line)));
    assert!(problems(&json, &id(4)).len() >= 3, "{json}");
    for p in problems(&json, &id(4)) {
        assert!(p["line"].as_u64().is_some_and(|l| (2..=7).contains(&l)) && p["offset"].is_u64(), "{p}");
    }
    for harmless in [&id(1), &id(5), "dangling", "loop", "around", "folder.jsonl", "notes.txt", "data.jsonl"] {
        assert_eq!(problems(&json, harmless), Vec::<&Value>::new(), "{harmless}");
    }
    let texts: Vec<String> = world
        .sessions()
        .iter()
        .flat_map(|key| world.turns(key))
        .map(|t| t["text"].as_str().unwrap().to_owned())
        .collect();
    for word in ["good", "second", "valid", "last", "before", "after", "finished", "strange"] {
        assert_eq!(
            texts.iter().filter(|t| **t == format!("{word} heron") || **t == format!("a {word} heron")).count(),
            1,
            "{word}"
        );
    }
    assert_eq!(texts.iter().filter(|t| *t == "double heron").count(), 2);
    for n in [0, 2, 3, 4, 5] {
        world.exports(&at(n));
    }
    world.verified();
    // The text for people names the problem, too.
    let said = world.says(1, &["import", folder.join("pipe.jsonl").to_str().unwrap()]);
    assert!(said.contains("pipe.jsonl") && said.contains("1 source was not read completely"), "{said}");
    // The unfinished line is completed.
    OpenOptions::new().append(true).open(at(5)).unwrap().write_all(&half.as_bytes()[half.len() / 2..]).unwrap();
    assert_eq!(world.import(0, &[&at(5)])["turns"]["new"], 1);
    world.exports(&at(5));

    // The file becomes shorter, and then another file takes its name: older contents are kept as older generations.
    let before = fs::read(at(0)).unwrap();
    fs::write(at(0), line(0, 0, "a good heron")).unwrap();
    assert_eq!(world.import(0, &[&at(0)])["sources"]["rewritten"], 1);
    let beside = folder.join("beside");
    fs::write(&beside, line(0, 7, "another heron")).unwrap();
    fs::rename(&beside, at(0)).unwrap();
    assert_eq!(world.import(0, &[&at(0)])["sources"]["rewritten"], 1);
    world.exports(&at(0));
    let source = at(0);
    let oldest = world.bytes(&["export", "--source", source.to_str().unwrap(), "--generation", "0"]);
    assert!(oldest == before);
    assert_eq!(world.found("\"second heron\"").len(), 1);
    fs::remove_file(at(2)).unwrap();
    world.json_of(4, &["import", at(2).to_str().unwrap()]);
    assert_eq!(world.turns(&format!("claude-code:{}", id(2))).len(), 2, "what its program deleted is still here");
    world.verified();
}

#[test]
fn paths_that_make_no_sense_are_named() {
    let world = World::new();
    let said = world.says(4, &["import", "/no/such/file.jsonl"]);
    assert!(said.contains("/no/such/file.jsonl"), "{said}");
    let folder = world.test.folder("empty");
    let said = world.says(1, &["import", "/no/such/file.jsonl", folder.to_str().unwrap()]);
    assert!(said.contains("/no/such/file.jsonl") && said.contains("No such file"), "{said}");
    let said = world.says(1, &["import", folder.to_str().unwrap()]);
    assert!(said.contains("there is no session file in it"), "{said}");
    let said = world.says(1, &["import", "--harness", "codex", folder.to_str().unwrap()]);
    assert!(said.contains("there is no session file in it"), "{said}");
    let unknown = folder.join("unknown.log");
    fs::write(&unknown, "just text\n").unwrap();
    let said = world.says(1, &["import", unknown.to_str().unwrap()]);
    assert!(said.contains("unknown.log") && said.contains("--harness"), "{said}");
    // With --harness the file is read as that program's, and lines that cannot be decoded are set aside.
    let json = world.json_of(1, &["import", "--harness", "codex", unknown.to_str().unwrap()]);
    assert_eq!(
        (&json["set_aside"], &json["problems"][0]["line"], &json["problems"][0]["offset"]),
        (&json!(1), &json!(1), &json!(0))
    );
    world.exports(&unknown);
    world.says(2, &["import", "--harness", "vim", "x"]);
    world.says(2, &["import", "--format", "turns"]);
    world.says(2, &["import", "--format", "turns", "-", "x"]);
    let nothing = world.says(0, &["import"]);
    assert!(nothing.contains("were found on this machine"), "{nothing}");
    world.verified();
    if is_root() {
        println!("skipped: files that may not be read, since root may read them");
        return;
    }
    let secret = folder.join(format!("{}.jsonl", id(1)));
    fs::write(&secret, claude_line(&id(1), 0, "user", "x")).unwrap();
    fs::set_permissions(&secret, fs::Permissions::from_mode(0o000)).unwrap();
    let said = world.says(1, &["import", secret.to_str().unwrap()]);
    assert!(said.contains(&id(1)) && said.contains("ermission"), "{said}");
}

#[test]
fn a_line_too_long_to_hold_is_set_aside_and_the_next_one_read() {
    let world = World::new();
    let path = world.test.folder("sessions").join(format!("{}.jsonl", id(1)));
    let before = claude_line(&id(1), 0, "user", "heron before") + "\n";
    let huge = claude_line(&id(1), 1, "user", &"x".repeat(33 << 20)) + "\n";
    fs::write(&path, before.clone() + &huge + &claude_line(&id(1), 2, "user", "heron after") + "\n").unwrap();
    let json = world.import(1, &[&path]);
    let problem = problems(&json, &id(1))[0];
    assert_eq!((&problem["line"], &problem["offset"]), (&json!(2), &json!(before.len())));
    assert!(problem["what"].as_str().unwrap().contains("32 MiB"), "{problem}");
    assert_eq!(world.found("heron").len(), 2);
    world.exports(&path);
    world.verified();
    let out =
        world.feed(&["append"], [huge.as_bytes(), b"{\"session\":\"s\",\"text\":\"heron\"}\n"].concat().as_slice());
    assert_eq!(out.status, Some(1));
    let answers: Vec<Value> = out.stdout.lines().map(|l| serde_json::from_str(l).unwrap()).collect();
    assert!(answers[0]["error"].as_str().unwrap().contains("32 MiB"), "{answers:?}");
    assert_eq!((&answers[1]["ok"], &answers[1]["line"]), (&json!(true), &json!(2)));
}

#[test]
fn a_home_that_cannot_be_one_is_refused_with_the_remedy() {
    let world = World::new();
    let readers: &[&[&str]] = &[
        &["search", "x"],
        &["show", "t1"],
        &["expand", "n1"],
        &["timeline"],
        &["status"],
        &["verify"],
        &["session", "list"],
        &["workspace", "list"],
        &["agent", "list"],
        &["audit", "list"],
        &["loop", "list"],
        &["artifact", "list"],
        &["job", "list"],
        &["channel", "pending"],
        &["draft", "list"],
        &["export", "--session", "x"],
        &["reindex"],
        &["work", "--drain"],
    ];
    for args in readers {
        let said = world.says(4, args);
        assert!(said.contains("heirloom up"), "{args:?}: {said}");
    }
    world.says(1, &["doctor"]);
    assert!(!world.test.home().exists(), "looking makes no home");

    let line = b"{\"session\":\"s\",\"text\":\"heron\"}\n";
    let home = world.test.home();
    fs::write(&home, "a file").unwrap();
    for args in [&["append"][..], &["search", "x"], &["status"], &["import"]] {
        let out = world.feed(args, line);
        assert_eq!(out.status, Some(3), "{args:?}: {out:?}");
        assert!(out.stderr.contains("is not a directory") && out.stderr.contains("--home"), "{out:?}");
    }
    assert_eq!(fs::read(&home).unwrap(), b"a file");
    fs::remove_file(&home).unwrap();

    assert_eq!(world.feed(&["append"], line).status, Some(0));
    fs::set_permissions(&home, fs::Permissions::from_mode(0o770)).unwrap();
    for args in [&["append"][..], &["search", "heron"], &["status"]] {
        let out = world.feed(args, line);
        assert_eq!(out.status, Some(3), "{args:?}: {out:?}");
        assert!(out.stderr.contains("chmod go-w"), "{out:?}");
    }
    world.says(1, &["doctor"]);
    fs::set_permissions(&home, fs::Permissions::from_mode(0o700)).unwrap();
    world.says(0, &["status"]);

    // A ledger that is not a database, or is cut in half.
    let ledger = world.ledger();
    for end in ["-wal", "-shm"] {
        let mut side = ledger.clone().into_os_string();
        side.push(end);
        let _ = fs::remove_file(side);
    }
    fs::write(&ledger, "no database at all, but long enough to look at".repeat(100)).unwrap();
    for args in [&["search", "heron"][..], &["verify"], &["append"], &["status"]] {
        let out = world.feed(args, line);
        assert_eq!(out.status, Some(5), "{args:?}: {out:?}");
        assert!(out.stderr.contains("runtime.db"), "which file it is: {out:?}");
    }
}

/// Runs a script in a mount namespace of its own, if that is possible. Its mounts vanish with it.
fn in_namespace(world: &World, script: &str) -> Option<String> {
    let may = Command::new("unshare").args(["-m", "true"]).output().is_ok_and(|o| o.status.success());
    if !is_root() || !may {
        println!("skipped: only root may mount a file system");
        return None;
    }
    let mut command = world.test.command("unshare");
    command.args(["-m", "sh", "-c", script]).env("H", HEIRLOOM);
    let out = run(command, b"");
    Some(format!("{}{}", out.stdout, out.stderr))
}

#[test]
fn a_full_disk_is_named_and_leaves_nothing_half_stored() {
    let world = World::new();
    let folder = world.test.folder("sessions");
    for file in 0..6 {
        let mut rng = heirloom_testkit::Rng::new(file as u64);
        let text: String = (0..60)
            .map(|n| claude_line(&id(file), n, "user", &crate::world::words_and_data(&mut rng, 20, 20_000)) + "\n")
            .collect();
        fs::write(folder.join(format!("{}.jsonl", id(file))), text).unwrap();
    }
    let home = world.test.home();
    let script = format!(
        "mkdir {home} && mount -t tmpfs -o size=3m,mode=700 none {home} || exit 9
         $H import {folder}; echo import=$?
         $H job run full -- sh -c 'seq 1 20000; exit 9' >/dev/null; echo job=$?
         $H verify; echo full=$?
         mount -o remount,size=60m {home}
         $H import {folder}; echo again=$?
         $H verify; echo verify=$?
         $H status --json",
        home = home.display(),
        folder = folder.display()
    );
    let Some(said) = in_namespace(&world, &script) else { return };
    if !said.contains("import=") {
        println!("skipped: no tmpfs could be mounted: {said}");
        return;
    }
    assert!(said.contains("import=1"), "{said}");
    assert!(said.contains("no space left") && said.contains("free some space"), "{said}");
    assert!(said.contains("job=9"), "a full disk stops no job: {said}");
    assert!(said.contains("again=0"), "{said}");
    assert!(said.contains("verify=0"), "{said}");
    // SQLite may need free space even to read; in that case the error says so.
    assert!(said.contains("full=0") || said.contains("full=1") && said.matches("no space left").count() == 2, "{said}");
    assert!(said.contains("\"turns\":360"), "{said}");
}

#[test]
fn a_home_that_cannot_be_written_can_still_be_read() {
    let world = World::new();
    let demo = concat!(env!("CARGO_MANIFEST_DIR"), "/demo");
    world.import(0, &[Path::new(demo)]);
    let before = world.found("drop redis");
    let home = world.test.home();
    let commands = "$H search 'drop redis' >/dev/null; echo search=$?
         $H show t1 >/dev/null; echo show=$?
         $H timeline >/dev/null; echo timeline=$?
         $H status >/dev/null; echo status=$?
         $H session list >/dev/null; echo list=$?
         $H verify >/dev/null; echo verify=$?
         $H doctor; echo doctor=$?
         $H job list; echo jobs=$?
         $H job run x -- sh -c 'exit 9'; echo job=$?
         echo '{\"session\":\"s\",\"text\":\"x\"}' | $H append; echo append=$?";
    let script =
        format!("mount --bind {h} {h} && mount -o remount,ro,bind {h} || exit 9\n{commands}", h = home.display());
    let Some(said) = in_namespace(&world, &script) else { return };
    for part in [
        "search=0",
        "show=0",
        "timeline=0",
        "status=0",
        "list=0",
        "verify=0",
        "doctor=1",
        "append=3",
        "jobs=0",
        "job=9",
    ] {
        assert!(said.lines().any(|l| l == part), "{part}: {said}");
    }
    assert!(said.contains("cannot be written"), "{said}");
    assert_eq!(world.found("drop redis"), before);
}

/// Tests with sessions recorded from the real programs, which are too private and too large for the repository.
mod recorded {
    use super::*;

    #[test]
    #[ignore = "needs the recorded sessions beside the repository: just real"]
    fn stores_that_are_locked_broken_or_of_somebody_else_are_named() {
        let shared = recordings();
        let world = World::new();
        let data = world.test.user().join(".local/share/opencode");
        let good = data.join("opencode.db");
        opencode(&good, &shared);
        let undisturbed = World::new();
        let turns = undisturbed.import(0, &[&good])["turns"]["new"].as_u64().unwrap();
        assert!(turns > 0);

        // The store is locked by its program.
        let holder = Connection::open(&good).unwrap();
        holder.execute_batch("PRAGMA locking_mode = EXCLUSIVE; BEGIN EXCLUSIVE").unwrap();
        let locked = world.run(&["import", "--json"]);
        let json: Value = serde_json::from_str(&locked.stdout).unwrap();
        match locked.status {
            Some(0) => {}
            _ => assert!(!problems(&json, "opencode.db").is_empty(), "{json}"),
        }
        holder.execute_batch("ROLLBACK").unwrap();
        holder.close().unwrap();
        world.json(&["import"]);
        assert_eq!(world.json(&["status"])["turns"], turns, "after it was let go everything is there");
        world.verified();
        let scratch = world.test.home().join("state/scratch");
        assert_eq!(fs::read_dir(scratch).unwrap().count(), 0, "copies are removed");

        // Stores of another program, cut, overwritten, not a database, or a folder: the good store beside them is still
        // read.
        let world = World::new();
        let stores = world.test.user().join(".local/share/opencode");
        copy_tree(&data, &stores);
        let other = stores.join("opencode-other.db");
        Connection::open(&other)
            .unwrap()
            .execute_batch("CREATE TABLE session (x); INSERT INTO session VALUES (1)")
            .unwrap();
        let bytes = fs::read(&good).unwrap();
        let cut = stores.join("opencode-cut.db");
        fs::write(&cut, &bytes[..bytes.len() / 3]).unwrap();
        let broken = stores.join("opencode-broken.db");
        let mut damaged = bytes.clone();
        for page in (4096..damaged.len()).step_by(4096) {
            let end = (page + 2000).min(damaged.len());
            damaged[page..end].fill(0xa5);
        }
        fs::write(&broken, &damaged).unwrap();
        let nothing = stores.join("opencode-nothing.db");
        fs::write(&nothing, "no database").unwrap();
        fs::create_dir(stores.join("opencode-folder.db")).unwrap();
        let json = world.json_of(1, &["import"]);
        for name in ["other", "cut", "broken", "nothing"] {
            let found = problems(&json, &format!("opencode-{name}.db"));
            assert!(!found.is_empty(), "{name}: {json}");
            assert!(found[0]["what"].as_str().unwrap().len() > 10, "{json}");
        }
        assert_eq!(world.json(&["status"])["turns"], turns);
        world.verified();
        let unknown = world.test.folder("x").join("photos.db");
        Connection::open(&unknown).unwrap().execute_batch("CREATE TABLE photo (x)").unwrap();
        let said = world.says(1, &["import", unknown.to_str().unwrap()]);
        assert!(said.contains("photos.db") && said.contains("--harness"), "{said}");
    }
}
