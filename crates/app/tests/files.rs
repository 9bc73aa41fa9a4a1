//! Visible files from the command line: found beside conversations, shown by id, path and line, verified; and nothing
//! outside the assistant home is ever printed.

use std::fs;
use std::path::PathBuf;

use serde_json::{Value, json};

use crate::world::{World, claude_line, names};

const SECRET: &str = "ghp_0123456789abcdefghijABCDEFGHIJ012345";

/// Makes a home with notes and no conversation.
fn noted() -> (World, PathBuf) {
    let world = World::new();
    world.says(0, &["loop", "add", "Send the quote to the chimney sweep", "--due", "2026-11-30"]);
    let tree = world.test.home().join("workspaces/main");
    write(
        &tree,
        "memory/preference/tea--1.md",
        "---\nobserved: 2026-03-05\n---\n# Tea\n\nOolong in the afternoon,\nnever milk.\n",
    );
    write(&tree, "memory/workspace/w-1/knowledge/facts/port--2.md", "# The port\n\nThe heron listens on 8080.\n");
    write(&tree, "memory/notes/it's odd.md", "# Odd\n\nA wombat.\n");
    (world, tree)
}

fn write(tree: &std::path::Path, path: &str, text: &str) {
    let place = tree.join(path);
    fs::create_dir_all(place.parent().unwrap()).unwrap();
    fs::write(place, text).unwrap();
}

fn files(world: &World, args: &[&str]) -> Vec<Value> {
    world.json(&[&["search"], args].concat())["files"].as_array().unwrap().clone()
}

#[test]
fn notes_are_found_beside_conversations() {
    let (world, tree) = noted();
    let found = world.json(&["search", "oolong"]);
    names(&found, "query looked_for understood hits too_frequent not_indexed less degraded ms files files_not_indexed");
    assert_eq!((&found["hits"], &found["files_not_indexed"]), (&json!([]), &json!(0)), "with no session at all");
    let hit = &found["files"][0];
    names(hit, "path file line kind rendered state status id title class scope snippet matches score why show");
    assert_eq!((&hit["line"], &hit["kind"], &hit["class"]), (&json!(6), &json!("memory"), &json!("preference")));
    assert_eq!(hit["snippet"], "Oolong in the afternoon, never milk.");
    assert_eq!(hit["matches"], json!([[0, 6]]));
    let show: Vec<&str> = hit["show"].as_str().unwrap().split(' ').skip(1).collect();
    assert!(world.says(0, &show).contains("never milk"));
    let odd = &files(&world, &["wombat"])[0];
    assert_eq!(odd["show"], "heirloom show 'memory/notes/it'\\''s odd.md:3'");
    // A hand edit is found at once, by its new text.
    write(&tree, "memory/preference/tea--1.md", "# Tea\n\n\nRooibos at night.\n");
    assert_eq!(files(&world, &["oolong"]), Vec::<Value>::new());
    assert_eq!(files(&world, &["rooibos"])[0]["line"], 4);

    let folder = world.test.folder("claude");
    let session = "77777777-0000-4000-8000-000000000000";
    let line = claude_line(session, 0, "user", "where does the heron listen");
    fs::write(folder.join(format!("{session}.jsonl")), line + "\n").unwrap();
    world.import(0, &[&folder]);
    let said = world.says(0, &["search", "heron"]);
    let (notes, talk) = (said.find("Notes").unwrap(), said.find("Conversations").unwrap());
    assert!(notes < said.find("8080").unwrap() && said.find("8080").unwrap() < talk, "{said}");
    let count = |args: &[&str]| {
        let found = world.json(&[&["search", "heron"], args].concat());
        // Rendered pages may name the conversation, so they are not counted.
        let rendered = ["daily", "head", "rollup"];
        let files = found["files"].as_array().unwrap().iter();
        let files = files.filter(|f| !rendered.contains(&f["kind"].as_str().unwrap())).count();
        (files, found["hits"].as_array().unwrap().len())
    };
    assert_eq!(count(&[]), (1, 1));
    assert_eq!(count(&["--kind", "turn"]), (0, 1));
    assert_eq!(count(&["--kind", "memory"]), (1, 0));
    assert_eq!(count(&["--kind", "loop", "--kind", "turn"]), (0, 1));
    assert_eq!(count(&["--class", "fact"]), (1, 0));
    assert_eq!(count(&["--class", "preference"]), (0, 0));
    assert_eq!(count(&["--role", "user"]), (0, 1));
    assert_eq!(count(&["--harness", "claude-code"]), (0, 1));
    assert_eq!(count(&["--until", "2020"]), (0, 0));
    assert_eq!(count(&["--workspace", "/home/user/project"]).0, 0, "of another project");
    world.says(2, &["search", "heron", "--role", "user", "--kind", "loop"]);
    world.says(2, &["search", "heron", "--role", "user", "--class", "fact"]);
    world.says(2, &["search", "heron", "--class", "fact", "--kind", "turn"]);
    world.says(2, &["search", "heron", "--kind", "rumour"]);
    world.verified();
    assert!(world.json(&["reindex"])["files"].as_u64().unwrap() > 8);
    assert_eq!(count(&[]), (1, 1));
    assert_eq!(world.json(&["status"])["files_not_indexed"], 0);
}

#[test]
fn what_is_archived_is_found_when_asked_for() {
    let (world, _) = noted();
    let id = files(&world, &["chimney"])[0]["id"].as_str().unwrap().to_owned();
    world.says(0, &["loop", "resolve", &id]);
    assert_eq!(files(&world, &["chimney", "--kind", "loop"]), Vec::<Value>::new());
    let archived = &files(&world, &["chimney", "--archived"])[0];
    assert_eq!((&archived["state"], &archived["status"]), (&json!("archived"), &json!("resolved")));
    assert!(world.says(0, &["search", "chimney", "--archived"]).contains("resolved"));
    assert!(world.says(0, &["show", &id]).contains("status: resolved"));
}

#[test]
fn a_project_that_is_only_written_about_can_be_named() {
    let (world, tree) = noted();
    let folder = world.test.folder("quiet");
    fs::create_dir_all(folder.join(".git")).unwrap();
    let at = folder.to_str().unwrap();
    world.says(4, &["search", "heron", "--workspace", at]);
    world.says(0, &["loop", "add", "Count the herons", "--workspace", at]);
    let hits = files(&world, &["heron", "--workspace", at]);
    assert_eq!(hits.len(), 1);
    assert!(hits[0]["scope"].as_str().unwrap().starts_with("workspace/"));
    drop(tree);
}

#[test]
fn a_home_that_cannot_be_written_is_searched_as_it_was_indexed() {
    let (world, tree) = noted();
    assert_eq!(files(&world, &["oolong"]).len(), 1);
    write(&tree, "memory/notes/later.md", "# Later\n\nThe quokka.\n");
    use std::os::unix::fs::PermissionsExt;
    let state = world.test.home().join("state");
    let mode = |mode: u32| fs::set_permissions(&state, fs::Permissions::from_mode(mode)).unwrap();
    mode(0o555);
    if fs::write(state.join("probe"), "").is_err() {
        assert_eq!(files(&world, &["oolong"]).len(), 1);
        assert_eq!(files(&world, &["quokka"]).len(), 0);
        let report = world.json_of(1, &["verify"]);
        assert!(report["findings"][0]["what"].as_str().unwrap().contains("is not in the catalogue"), "{report}");
    }
    mode(0o755);
    let _ = fs::remove_file(state.join("probe"));
    assert_eq!(files(&world, &["quokka"]).len(), 1);
}

#[test]
fn files_are_shown_by_id_path_and_line() {
    let (world, tree) = noted();
    let path = "memory/preference/tea--1.md";
    let bytes = fs::read(tree.join(path)).unwrap();
    let absolute = tree.join(path).display().to_string();
    for name in [path, &absolute] {
        assert_eq!(world.bytes(&["show", name, "--raw"]), bytes);
        assert!(world.says(0, &["show", name]).contains("never milk"));
    }
    let lines = world.says(0, &["show", &format!("{path}:6"), "-C", "1"]);
    assert!(lines.contains("▶ 6 Oolong") && lines.contains("7 never milk") && !lines.contains("# Tea"), "{lines}");
    let value = world.json(&["show", &format!("{absolute}:6"), "-C", "0"]);
    assert_eq!(value["lines"], json!([{"line": 6, "text": "Oolong in the afternoon,"}]));
    world.says(4, &["show", &format!("{path}:60")]);
    // A command replaced an earlier state of the file, which is kept.
    world.says(0, &["loop", "add", "Send the quote to the chimney sweep", "--text", "He called again."]);
    let id = files(&world, &["chimney"])[0]["id"].as_str().unwrap().to_owned();
    let kept = world.json(&["show", &id, "--revisions"]);
    let no = kept["revisions"][0]["revision"].as_i64().unwrap_or_else(|| panic!("{kept}")).to_string();
    let earlier = world.says(0, &["show", &id, "--revision", &no]);
    assert!(earlier.contains("chimney sweep") && !earlier.contains("called again"), "{earlier}");
    assert!(!world.bytes(&["show", &id, "--revision", &no, "--raw"]).is_empty());
    assert!(world.says(0, &["show", path, "--revisions"]).contains("No earlier state"));
    world.says(4, &["show", path, "--revision", &no]);
    world.says(4, &["show", "t1", "--revisions"]);
}

#[test]
fn hostile_paths_print_nothing_from_outside() {
    let (world, tree) = noted();
    fs::write(world.test.user().join("outside.md"), "CANARY").unwrap();
    write(&tree, ".hidden/x.md", "CANARY");
    std::os::unix::fs::symlink(world.test.user(), tree.join("memory/out")).unwrap();
    std::os::unix::fs::symlink(world.test.user().join("outside.md"), tree.join("memory/link.md")).unwrap();
    let outside = world.test.user().join("outside.md").display().to_string();
    let long = format!("{}.md", "x/".repeat(3000));
    let dots = format!("{}/../../../outside.md", tree.display());
    for name in [
        &outside,
        "../../outside.md",
        "memory/../../../outside.md",
        "memory/out/outside.md",
        "memory/link.md",
        "memory//preference/tea--1.md",
        "./MEMORY.md",
        ".hidden/x.md",
        "/etc/passwd",
        "/etc/../etc/passwd.md",
        "/proc/self/environ",
        "../main/MEMORY.md",
        "state/runtime.db",
        "memory\\link.md",
        "%2e%2e/outside.md",
        "file:///etc/passwd.md",
        "l:../../outside.md",
        "m:'; DROP TABLE catalogue; --",
        "MEMORY.md/x.md",
        "MEMORY.md\n.md",
        "~/outside.md",
        &dots,
        &long,
    ] {
        for options in [&[][..], &["--raw"], &["--revisions"]] {
            let out = world.run(&[&["show"], options, &["--", name]].concat());
            assert!(matches!(out.status, Some(2..=4)), "{name}: {out:?}");
            assert!(!out.stdout.contains("CANARY") && !out.stderr.contains("CANARY"), "{name}: {out:?}");
            assert!(out.stdout.is_empty(), "{name}: {out:?}");
        }
    }
    assert!(world.says(2, &["show", "../x.md"]).contains("name it by id"));
}

#[test]
fn verify_and_status_name_what_is_wrong_with_files() {
    let (world, tree) = noted();
    let report = world.verified();
    assert!(report["checked"]["files"].as_u64().unwrap() > 8, "{report}");
    // A hand edit is read before verifying, as before every command.
    write(&tree, "memory/preference/tea--1.md", "# Tea\nchanged\n");
    world.verified();
    heirloom_testkit::named_pipe(&tree.join("memory/notes/pipe.md"));
    let report = world.json_of(1, &["verify"]);
    assert_eq!(report["findings"].as_array().unwrap().len(), 1, "{report}");
    assert!(report["findings"][0]["subject"].as_str().unwrap().ends_with("pipe.md"), "{report}");
    assert!(world.says(1, &["status"]).contains("pipe.md"));
    fs::remove_file(tree.join("memory/notes/pipe.md")).unwrap();
    world.json(&["search", "tea"]);
    let index = rusqlite::Connection::open(world.test.home().join("state/index.db")).unwrap();
    index.execute_batch("DELETE FROM files_fts WHERE rowid = (SELECT max(file) FROM files WHERE parts = 1)").unwrap();
    drop(index);
    assert!(world.json_of(1, &["verify"])["findings"].to_string().contains("reindex"));
    world.json(&["reindex"]);
    world.verified();
}

#[test]
fn credentials_are_shown_by_nothing_but_raw_and_export() {
    let (world, tree) = noted();
    write(
        &tree,
        "memory/notes/key.md",
        &format!("---\ntitle: Key {SECRET}\n---\n# Key\n\nThe walrus key is {SECRET} now.\n"),
    );
    let folder = world.test.folder("claude");
    let session = "66666666-0000-4000-8000-000000000000";
    let file = folder.join(format!("{session}.jsonl"));
    let lines = [
        claude_line(session, 0, "user", &format!("use {SECRET} for the walrus")),
        claude_line(session, 1, "assistant", &format!("walrus: {SECRET}")),
        format!("no JSON walrus {SECRET}"),
    ];
    fs::write(&file, lines.join("\n") + "\n").unwrap();
    world.import(1, &[&file]);
    let key = world.sessions()[0].clone();
    let turn = world.turns(&key)[0]["turn"].as_str().unwrap().to_owned();
    let set_aside = world.json(&["show", "--quarantine"])["set_aside"][0]["id"].as_str().unwrap().to_owned();
    let commands: &[&[&str]] = &[
        &["search", "walrus"],
        &["search", SECRET],
        &["show", &turn],
        &["show", &turn, "-C", "2"],
        &["show", "--session", &key, "--full"],
        &["show", &set_aside],
        &["show", "memory/notes/key.md"],
        &["show", "memory/notes/key.md:6"],
        &["timeline"],
        &["session", "list"],
        &["session", "show", &key],
        &["up"],
    ];
    for args in commands {
        for json in [&[][..], &["--json"]] {
            let out = world.run(&[args, json].concat());
            assert_eq!(out.status, Some(0), "{args:?} {out:?}");
            // The query itself is repeated in the output.
            let said = match serde_json::from_str::<Value>(&out.stdout) {
                Ok(value) if args.contains(&SECRET) => json!([value["hits"], value["files"]]).to_string(),
                _ => out.stdout.clone(),
            };
            assert!(!said.contains("0123456789abcdef"), "{args:?} {json:?}: {said}");
        }
    }
    for raw in [&turn[..], &set_aside, "memory/notes/key.md"] {
        assert!(String::from_utf8_lossy(&world.bytes(&["show", raw, "--raw"])).contains(SECRET), "{raw}");
    }
    world.exports(&file);
}

/// A person may delete a file by hand: its row is removed and reported once, a copy is kept for a month, and verify
/// names it until then.
#[test]
fn what_is_deleted_by_hand_can_be_brought_back() {
    let world = World::new();
    world.json(&["remember", "--class", "preference", "Answer in short sentences"]);
    world.json(&["loop", "add", "Paint the barn"]);
    let tree = world.test.home().join("workspaces/main");
    let only = |folder: &str| {
        let mut files = fs::read_dir(tree.join(folder)).unwrap().flatten().map(|e| e.path()).filter(|p| p.is_file());
        let file = files.next().unwrap();
        assert!(files.next().is_none());
        file
    };
    let (leaf, open) = (only("memory/preference"), only("continuity/open-loops"));
    let words = [fs::read(&leaf).unwrap(), fs::read(&open).unwrap()];
    fs::remove_file(&leaf).unwrap();
    fs::remove_file(&open).unwrap();
    // Verify names both files with the command that restores them, and does not remove their rows.
    for _ in 0..2 {
        let report = world.json_of(1, &["verify"]);
        let found = report["findings"].to_string();
        assert_eq!(report["findings"].as_array().unwrap().len(), 2, "{report}");
        assert!(found.contains("is gone; a copy is kept: heirloom restore memory/preference/"), "{found}");
    }
    let said = world.says(0, &["status"]);
    assert!(
        said.contains("was deleted by hand and is kept for 30 days: heirloom restore memory/preference/"),
        "{said}"
    );
    world.verified();
    let path = leaf.strip_prefix(&tree).unwrap().to_str().unwrap().to_owned();
    assert_eq!(world.json(&["restore", &path])["restored"], leaf.to_str().unwrap());
    let id = world.json(&["loop", "list"])["loops"].as_array().unwrap().len();
    assert_eq!(id, 0);
    world.json(&["restore", open.to_str().unwrap()]);
    assert_eq!([fs::read(&leaf).unwrap(), fs::read(&open).unwrap()], words);
    assert_eq!(world.json(&["loop", "list"])["loops"].as_array().unwrap().len(), 1);
    assert!(world.says(3, &["restore", &path]).contains("is there"));
    assert!(world.says(4, &["restore", "memory/preference/none.md"]).contains("nothing is kept"));
    // A file that a command removes is not kept for restoring.
    let id = world.json(&["memory", "list"])["memories"][0]["id"].as_str().unwrap_or_default().to_owned();
    world.says(0, &["memory", "forget", &id]);
    world.says(4, &["restore", &path]);
    world.verified();
}

/// A file that an editor or a full disk left empty, or a loss of power full of zeros, is as good as deleted.
#[test]
fn what_has_no_text_any_more_can_be_brought_back() {
    let world = World::new();
    world.json(&["remember", "--class", "preference", "Answer in short sentences"]);
    world.says(0, &["work", "--drain"]);
    let tree = world.test.home().join("workspaces/main");
    let leaf = walked(&tree).into_iter().find(|path| path.starts_with("memory/preference/")).unwrap();
    for (name, bytes) in
        [(leaf.as_str(), &b" \n"[..]), (&leaf, b"ab\0c"), ("MEMORY.md", b"\0\0\0\0"), ("MEMORY.md", b"")]
    {
        let file = tree.join(name);
        let before = fs::read(&file).unwrap();
        fs::write(&file, bytes).unwrap();
        let said = world.json(&["status"]).to_string();
        let note = format!("{name} has no text any more; as it was it is kept for 30 days: heirloom restore {name}");
        assert!(said.contains(&note), "{bytes:?}: {said}");
        assert!(!world.json(&["status"]).to_string().contains("no text any more"), "it is said once");
        world.says(0, &["work", "--drain"]);
        world.json(&["restore", name]);
        assert_eq!(fs::read(&file).unwrap(), before, "{bytes:?}");
        world.verified();
    }
    // A file in which somebody wrote is left alone.
    fs::write(tree.join(&leaf), "").unwrap();
    world.says(0, &["status"]);
    fs::write(tree.join(&leaf), "# Other words\n").unwrap();
    assert!(world.says(3, &["restore", &leaf]).contains("is there"));
}

/// A deleted page is rendered again by itself, without the words a person had written in it: those are kept, reported once,
/// and can be restored into the page.
#[test]
fn what_was_written_in_a_rendered_page_can_be_brought_back() {
    let world = World::new();
    let turn = |id: &str, text: &str| {
        let said = serde_json::json!({"session": "s", "id": id, "text": text, "thread": "barn", "time": "2026-11-20T10:00:00Z",
            "workspace": world.test.user()});
        world.feed(&["append"], format!("{said}\n").as_bytes());
        world.says(0, &["work", "--drain"]);
    };
    turn("1", "Please paint the barn red by Friday.");
    world.json(&["loop", "add", "Paint the barn"]);
    let tree = world.test.home().join("workspaces/main");
    let pages: Vec<String> = walked(&tree).into_iter().filter(|path| !path.contains("open-loops/")).collect();
    for kind in [
        "MEMORY.md",
        "continuity/ACTIVE.md",
        "continuity/daily/",
        "continuity/rollups/2026/",
        "continuity/threads/",
        "continuity/rollups/README.md",
        "memory/MEMORY.md",
        "/runtime/blockers.md",
        "/runtime/session-memory/",
        "SOUL.md",
    ] {
        assert!(pages.iter().any(|path| path.contains(kind)), "{kind} is not in {pages:#?}");
    }
    // Pages without a person's words are rendered again as they were, and nothing is reported.
    let again = |path: &str| {
        ["/runtime/", "continuity/daily", "rollups/2026", "memory/MEMORY.md"].iter().any(|k| path.contains(k))
    };
    for path in pages.iter().filter(|path| again(path)) {
        let was = fs::read(tree.join(path)).unwrap();
        fs::remove_file(tree.join(path)).unwrap();
        assert!(!world.says(0, &["status"]).contains("deleted by hand"), "{path}");
        let words =
            |bytes: &[u8]| String::from_utf8_lossy(bytes).lines().filter(|l| l.starts_with("- ")).collect::<String>();
        assert_eq!(words(&fs::read(tree.join(path)).unwrap()), words(&was), "{path}");
    }
    for path in &pages {
        let file = tree.join(path);
        let text = fs::read_to_string(&file).unwrap() + "\nMy own words, which nobody else has.\n";
        fs::write(&file, text).unwrap();
    }
    world.says(0, &["status"]);
    quiet();
    // The block around the person's words has new lines since.
    turn("2", "And the door blue.");
    for path in &pages {
        let file = tree.join(path);
        fs::remove_file(&file).unwrap();
        let named = world.json_of(1, &["verify"])["findings"].to_string();
        assert!(named.contains(&format!("is gone; a copy is kept: heirloom restore {path}")), "{named}");
        let said = world.says(0, &["status"]);
        assert!(said.contains(&format!("{path} was deleted by hand and ")), "{path}: {said}");
        // Shown on a terminal or with --json, the deletion is reported once.
        let report = world.json(&["status"])["assistant"]["notes"].to_string();
        assert!(report.contains(&format!("heirloom restore {path}")), "{path}: {report}");
        assert!(!world.says(0, &["status"]).contains("deleted by hand"), "{path}");
        assert!(!world.json(&["status"])["assistant"]["notes"].to_string().contains("deleted by hand"), "{path}");
        assert_eq!(world.json(&["restore", path])["restored"], file.to_str().unwrap());
        let text = fs::read_to_string(&file).unwrap();
        assert!(text.contains("My own words, which nobody else has."), "{path}: {text}");
        assert_eq!(
            text.matches("<!-- /heirloom:").count(),
            usize::from(text.contains("rendered:") || path == "MEMORY.md")
        );
        assert!(world.says(3, &["restore", path]).contains("is there"), "{path}");
    }
    // Words written into the new page since then stay: restore refuses.
    let (path, file) = ("MEMORY.md", tree.join("MEMORY.md"));
    quiet();
    fs::remove_file(&file).unwrap();
    world.says(0, &["status"]);
    fs::write(&file, fs::read_to_string(&file).unwrap() + "Newer words.\n").unwrap();
    assert!(world.says(3, &["restore", path]).contains("is there"));
    assert!(fs::read_to_string(&file).unwrap().ends_with("Newer words.\n"));
    world.verified();
}

/// A page somebody has just saved is left to its editor for two seconds.
fn quiet() {
    std::thread::sleep(std::time::Duration::from_millis(2_100));
}

/// The files below a folder, by their path in it.
fn walked(folder: &std::path::Path) -> Vec<String> {
    let mut out = Vec::new();
    let mut left = vec![folder.to_owned()];
    while let Some(at) = left.pop() {
        for entry in fs::read_dir(&at).unwrap().flatten() {
            match entry.file_type().unwrap().is_dir() {
                true => left.push(entry.path()),
                false => out.push(entry.path().strip_prefix(folder).unwrap().to_str().unwrap().to_owned()),
            }
        }
    }
    out.sort();
    out
}

/// Verify notices that the newest rows of the audit are missing, although the rest is an intact chain.
#[test]
fn a_chain_that_was_cut_short_is_named() {
    let world = World::new();
    world.json(&["loop", "add", "Paint the barn"]);
    world.json(&["loop", "add", "Mend the roof"]);
    world.verified();
    let ledger = rusqlite::Connection::open(world.ledger()).unwrap();
    ledger
        .execute_batch(
            "DROP TRIGGER audit_is_append_only_delete;
             DELETE FROM audit WHERE audit_no > (SELECT max(audit_no) - 2 FROM audit)",
        )
        .unwrap();
    drop(ledger);
    let found = world.json_of(5, &["verify"])["findings"].to_string();
    assert!(found.contains("are gone: state/audit.head has row"), "{found}");
}

/// An unreadable folder may contain open loops: the list then says that it may be incomplete.
#[test]
fn a_list_says_what_could_not_be_read() {
    let world = World::new();
    world.json(&["loop", "add", "Paint the barn"]);
    let folder = world.test.home().join("workspaces/main/continuity/open-loops");
    let elsewhere = world.test.user().join("elsewhere");
    fs::rename(&folder, &elsewhere).unwrap();
    std::os::unix::fs::symlink(&elsewhere, &folder).unwrap();
    let said = world.says(1, &["loop", "list"]);
    assert!(said.contains("not read:") && said.contains("is a symlink"), "{said}");
    fs::remove_file(&folder).unwrap();
    fs::write(&folder, "no folder").unwrap();
    let said = world.says(1, &["loop", "list"]);
    assert!(said.contains("is a file in the place of a folder"), "{said}");
    fs::remove_file(&folder).unwrap();
    fs::rename(&elsewhere, &folder).unwrap();
    assert!(world.says(0, &["loop", "list"]).contains("Paint the barn"));
}

/// An export contains everything, secrets included, so only its owner can read it.
#[test]
fn an_export_is_written_for_its_owner_alone() {
    use std::os::unix::fs::PermissionsExt;
    let world = World::new();
    world.feed(&["append"], b"{\"session\":\"s\",\"text\":\"words\"}\n");
    let out = world.test.user().join("out.jsonl");
    world.says(0, &["export", "--session", "turns:s", "--out", out.to_str().unwrap()]);
    assert_eq!(fs::metadata(&out).unwrap().permissions().mode() & 0o777, 0o600);
}

/// Pages beside an empty ledger look like a home that was never used; the loss is reported until a backup is restored.
#[test]
fn a_ledger_that_is_gone_beside_pages_is_said_loudly() {
    let world = World::new();
    world.json(&["loop", "add", "Paint the barn"]);
    for file in ["state/runtime.db", "state/runtime.db-wal", "state/runtime.db-shm"] {
        let _ = fs::remove_file(world.test.home().join(file));
    }
    for _ in 0..2 {
        let out = world.run(&["status"]);
        assert!(out.stdout.contains("state/runtime.db was gone on"), "{out:?}");
        assert!(out.stdout.contains("only in a backup: heirloom restore"), "{out:?}");
    }
}
