//! `heirloom forget` reaches names: wherever the word stands, no file of the home has it afterwards, and no import
//! brings it back (R14.2).

use std::fs;

use serde_json::{Value, json};

use crate::world::{World, let_it_settle, traces};

const WORD: &str = "Quuxfrobnitz";

/// Returns the fields of a plain turn that are names, ids or addresses, each with a value that contains the word.
fn places(world: &World) -> Vec<(&'static str, Value)> {
    let project = world.test.user().join("src").join(format!("{WORD}-api"));
    fs::create_dir_all(project.join(".git")).unwrap();
    vec![
        ("speaker", json!(WORD)),
        ("participants", json!([format!("{WORD} Weber"), "Mara"])),
        ("tool", json!(format!("mcp__{WORD}__ask"))),
        ("model", json!(format!("{WORD}-7b"))),
        ("thread", json!(format!("topic/{}", WORD.to_lowercase()))),
        ("thread", json!(format!("about {WORD}"))),
        ("session", json!(format!("chat:{WORD}@example.org"))),
        ("id", json!(format!("{WORD}-0001"))),
        ("parent", json!(format!("{WORD}-0000"))),
        ("call", json!(format!("call_{WORD}"))),
        ("run", json!(format!("run {WORD}"))),
        ("workspace", json!(project)),
        ("text", json!(format!("ask {WORD} about the barn"))),
    ]
}

/// Returns a conversation in which one turn's field has the value.
fn conversation(place: &str, value: &Value) -> String {
    let mut lines = String::new();
    for n in 0..4 {
        let mut turn = json!({
            "session": "chat:barn", "id": format!("n-{n}"), "time": format!("2026-11-02T18:4{n}:00Z"), "speaker": "Mara",
            "text": format!("the barn needs paint, number {n}"),
        });
        if place == "session" {
            turn[place] = value.clone();
        } else if n == 1 {
            turn[place] = value.clone();
            if matches!(place, "tool" | "call") {
                turn["role"] = json!("tool");
            }
            if matches!(place, "model" | "run") {
                turn["role"] = json!("assistant");
            }
        }
        lines += &format!("{turn}\n");
    }
    lines
}

#[test]
fn a_word_in_any_place_is_gone_and_stays_gone() {
    let mut left = Vec::new();
    let count = places(&World::new()).len();
    for n in 0..count {
        for person in [false, true] {
            let world = World::new();
            let (place, value) = places(&world).remove(n);
            let folder = world.test.folder("chats");
            let file = folder.join("barn.turns.jsonl");
            fs::write(&file, conversation(place, &value)).unwrap();
            let_it_settle();
            world.import(0, &[&file]);
            world.says(0, &["work", "--drain"]);
            let before = traces(&world.test.home(), WORD);
            assert!(!before.is_empty(), "{place}");
            let args = match person {
                true => ["forget", "--person", WORD, "--yes", "--json"].as_slice(),
                false => ["forget", "--match", WORD, "--ignore-case", "--yes"].as_slice(),
            };
            let said = world.says(0, args);
            assert!(!said.contains("Nothing that is stored"), "{place}: {said}");
            let after = traces(&world.test.home(), WORD);
            if !after.is_empty() {
                left.push(format!("{place} = {value} ({args:?}) is left in {after:?}"));
                continue;
            }
            world.verified();
            // The file is imported again, unchanged and rewritten.
            world.import(0, &[&file]);
            fs::write(&file, conversation(place, &value) + "\n").unwrap();
            let_it_settle();
            world.import(0, &[&file]);
            world.says(0, &["work", "--drain"]);
            let after = traces(&world.test.home(), WORD);
            if !after.is_empty() {
                left.push(format!("{place} = {value} ({args:?}) came back in {after:?}"));
            }
            world.verified();
        }
    }
    assert!(left.is_empty(), "{}", left.join("\n"));
}

#[test]
fn names_of_files_and_folders_are_gone_too() {
    let world = World::new();
    let folder = world.test.folder(&format!("{WORD}-chats"));
    let file = folder.join("barn.turns.jsonl");
    fs::write(&file, conversation("text", &json!("nothing of note"))).unwrap();
    let_it_settle();
    world.import(0, &[&file]);
    assert!(!traces(&world.test.home(), WORD).is_empty());
    let preview = world.json(&["forget", "--match", WORD, "--dry-run"]);
    assert_eq!(preview["turns"], 0);
    assert_eq!(preview["names"]["sources"], 1, "{preview}");
    world.says(0, &["forget", "--match", WORD, "--yes"]);
    assert_eq!(traces(&world.test.home(), WORD), Vec::<String>::new());
    assert_eq!(world.import(0, &[&file])["records"], 0, "it is known by its mark");
    assert_eq!(traces(&world.test.home(), WORD), Vec::<String>::new());
    world.verified();
}

#[test]
fn a_project_and_a_thread_are_forgotten_by_name() {
    let world = World::new();
    let folder = world.test.folder("chats");
    let project = places(&world).into_iter().find(|(place, _)| *place == "workspace").unwrap().1;
    let said = |session: &str, place: &str, value: &Value| {
        let mut turn = json!({"session": session, "id": session, "time": "2026-11-02T18:40:00Z", "text": format!("words of {session}")});
        if !place.is_empty() {
            turn[place] = value.clone();
        }
        format!("{turn}\n")
    };
    let file = folder.join("all.turns.jsonl");
    let text = said("one", "workspace", &project)
        + &said("two", "thread", &json!(format!("topic/{}", WORD.to_lowercase())))
        + &said("three", "", &Value::Null);
    fs::write(&file, text).unwrap();
    let_it_settle();
    world.import(0, &[&file]);
    world.says(0, &["work", "--drain"]);
    let done = world.json(&["forget", "--thread", &format!("topic/{}", WORD.to_lowercase()), "--yes"]);
    assert_eq!((&done["forgotten"], &done["turns"]), (&json!(true), &json!(1)), "{done}");
    assert_eq!(world.found("words").len(), 2);
    let done = world.json(&["forget", "--project", project.as_str().unwrap(), "--yes"]);
    assert_eq!((&done["forgotten"], &done["turns"]), (&json!(true), &json!(1)), "{done}");
    assert_eq!(world.found("words").len(), 1);
    assert_eq!(traces(&world.test.home(), WORD), Vec::<String>::new());
    world.json_of(4, &["forget", "--project", "nowhere", "--yes"]);
    world.json_of(4, &["forget", "--thread", "topic/nowhere", "--yes"]);
    world.verified();
}

/// The title of a thread is ordinary words: what stands outside the thread stays, and every summary verifies.
#[test]
fn a_thread_goes_and_its_title_elsewhere_stays() {
    let world = World::new();
    let lines = [
        json!({"session": "house", "id": "1", "thread": "Roof", "time": "2026-11-20T10:00:00Z",
               "text": "The Roof leaks above the kitchen, please call the man with the tiles."}),
        json!({"session": "garden", "id": "2", "thread": "Garden", "time": "2026-11-20T11:00:00Z",
               "text": "I need to paint the Roof of the shed by Friday. The roofer's bill is paid."}),
    ];
    world.feed(&["append"], lines.map(|l| format!("{l}\n")).concat().as_bytes());
    world.says(0, &["work", "--drain"]);
    world.says(0, &["remember", "My roofer is Bob"]);
    world.says(0, &["remember", "The Roof is slate"]);
    world.feed(&["artifact", "add", "Letter"], b"Dear roofers, mind the Roof.\n");
    let kept = |world: &World| {
        let home = world.test.home().join("workspaces/main");
        let all = traces(&home, "roofer").into_iter().filter(|path| !path.contains("threads/"));
        all.filter(|path| path.starts_with("memory/preference") || path.contains("artifacts/")).count()
    };
    assert_eq!(kept(&world), 2);
    let preview = world.json(&["forget", "--thread", "Roof", "--dry-run"]);
    assert_eq!(preview["turns"], 1, "{preview}");
    assert_eq!(preview["other_turns"].as_array().unwrap().len(), 1, "{preview}");
    assert_eq!(preview["kept"].as_array().unwrap().len(), 2, "the memory of slate and the letter: {preview}");
    let said = world.says(0, &["forget", "--thread", "Roof", "--yes"]);
    assert!(said.contains("which stay (--match TEXT takes them, too)"), "{said}");
    world.verified();
    assert_eq!(kept(&world), 2);
    assert_eq!(traces(&world.test.home(), "leaks above"), Vec::<String>::new());
    assert_eq!(world.found("shed").len(), 1);
    assert_eq!(world.json_of(4, &["thread", "show", "Roof"])["error"]["kind"], "not-found");
    let threads = world.json(&["thread", "list"]).to_string();
    assert!(!threads.contains("Roof") && threads.contains("Garden"), "{threads}");
    // A later turn may have the title again.
    world.feed(
        &["append"],
        format!("{}\n", json!({"session": "new", "id": "3", "thread": "Roof", "text": "a new one that came later"}))
            .as_bytes(),
    );
    world.says(0, &["work", "--drain"]);
    assert_eq!(world.found("later").len(), 1);
    world.verified();
    // The words themselves go with --match.
    world.says(0, &["forget", "--match", "Roof", "--ignore-case", "--yes"]);
    assert_eq!(traces(&world.test.home(), "roof"), Vec::<String>::new());
    world.verified();
}

/// A person's name is a whole word: `Bob` is not in `Bobsled`; nodes made again have the marks and verify.
#[test]
fn a_person_is_a_whole_word() {
    let world = World::new();
    let turn = |n: usize, speaker: &str, text: &str| {
        format!(
            "{}\n",
            json!({"session": "s", "id": n.to_string(), "speaker": speaker, "time": format!("2026-11-20T10:0{n}:00Z"), "text": text})
        )
    };
    let lines = [
        turn(1, "Mara", "I need to wax the bobsled by Friday."),
        turn(2, "Bob", "I will bring the wax."),
        turn(3, "Bob Weber", "I need to sharpen the runners by Monday."),
        turn(4, "Mara", "Ask bob about the track."),
    ];
    world.feed(&["append"], lines.concat().as_bytes());
    world.says(0, &["work", "--drain"]);
    world.says(0, &["remember", "The bobsled is red"]);
    let done = world.json(&["forget", "--person", "Bob", "--yes"]);
    assert_eq!(done["turns"], 2, "{done}");
    assert!(!done["items"].to_string().contains("bobsled"), "{done}");
    world.verified();
    assert_eq!(world.found("bobsled").len(), 1);
    let left = traces(&world.test.home(), "bob weber");
    assert_eq!(left, Vec::<String>::new());
}

/// Commands that store a name or words of the person: places besides turns that `forget` has to reach.
const COMMANDS: &[(&str, &[&str], &str)] = &[
    ("a value of the profile", &["profile", "set", "company", WORD], ""),
    ("a key of the profile", &["profile", "set", "quuxfrobnitz", "yes"], ""),
    ("a job", &["job", "run", "quuxfrobnitz-nightly", "--", "true"], ""),
    ("a command of a job", &["job", "run", "nightly", "--", "echo", WORD], ""),
    ("output of a job that failed", &["job", "run", "nightly", "--", "sh", "-c", "echo Quuxfrobnitz; exit 3"], ""),
    ("a channel", &["channel", "ask", "quuxfrobnitz", "bob"], ""),
    ("a peer", &["channel", "ask", "mail", "quuxfrobnitz@example.org"], ""),
    ("what a peer is called", &["channel", "ask", "mail", "b", "--name", WORD, "--detail", "wants Quuxfrobnitz"], ""),
    ("a memory", &["remember", "--class", "preference", "Quuxfrobnitz comes first"], ""),
    ("a memory that waits", &["remember", "--propose", "Quuxfrobnitz comes second"], ""),
    ("a proposal", &["proposal", "add", "--class", "preference", "--entry", "Quuxfrobnitz is there", "About it"], ""),
    ("an open loop", &["loop", "add", "Ask Quuxfrobnitz"], ""),
    ("an artifact", &["artifact", "add", "The Quuxfrobnitz report"], "Words of Quuxfrobnitz.\n"),
    ("a thread's name", &["thread", "name", "Roof", WORD], ""),
    ("why threads are linked", &["thread", "link", "Roof", "Tax", "--why", "for Quuxfrobnitz"], ""),
    ("an owner of a head", &["head", "acquire", "active", "--owner", WORD], ""),
    (
        "the prompt a context was asked with",
        &["context", "--session", "codex:s", "--prompt", "Is the roof fixed, asks Quuxfrobnitz?"],
        "",
    ),
    ("a session that was given something", &["context", "--session", "codex:quuxfrobnitz", "--thread", "Roof"], ""),
];

/// Runs each command in a home of its own; what it stored is gone after `forget`, from the audit too.
#[test]
fn what_commands_store_is_gone_too() {
    let mut left = Vec::new();
    for (what, args, input) in COMMANDS {
        let world = World::new();
        let lines = [("house", "Roof", "Please get the roof fixed."), ("tax", "Tax", "The tax has to be filed.")].map(
            |(s, t, text)| json!({"session": s, "id": s, "thread": t, "time": "2026-11-20T10:00:00Z", "text": text}),
        );
        let lines: String = lines.iter().map(|line| format!("{line}\n")).collect();
        assert_eq!(world.feed(&["append"], lines.as_bytes()).status, Some(0));
        world.says(0, &["work", "--drain"]);
        let out = world.feed(args, input.as_bytes());
        assert!(matches!(out.status, Some(0 | 3)), "{what}: {out:?}");
        let before = traces(&world.test.home(), WORD);
        if before.is_empty() {
            left.push(format!("{what}: it stored nothing of it"));
            continue;
        }
        let out = world.run(&["forget", "--match", WORD, "--ignore-case", "--yes"]);
        let said = format!("{}{}", out.stdout, out.stderr);
        if out.status != Some(0) || said.contains("Nothing that is stored") {
            left.push(format!("{what}: {:?} {said}", out.status));
        }
        // Files a person wrote would only be named and left alone; there are none in this home.
        let after = traces(&world.test.home(), WORD);
        if !after.is_empty() {
            left.push(format!("{what} was in {before:?} and is left in {after:?}: {said}"));
        }
        let report = world.json_of(world.run(&["verify"]).status.unwrap(), &["verify"]);
        if report["ok"] != true {
            left.push(format!("{what}: {report}"));
        }
    }
    assert!(left.is_empty(), "{} of {}:\n{}", left.len(), COMMANDS.len(), left.join("\n"));
}

/// Fills the tables of a model, `evolve`, `skill`, `judge` and tokens, with the word in every text of every row; tables
/// added later are filled and searched as well.
#[test]
fn every_text_of_every_table_is_searched() {
    let world = World::new();
    let lines: String = (0..3)
        .map(|n| {
            format!("{}\n", json!({"session": "s", "id": n.to_string(), "text": format!("the barn needs paint {n}")}))
        })
        .collect();
    world.feed(&["append"], lines.as_bytes());
    world.says(0, &["work", "--drain"]);
    // Tables left out here: their rows are words of people, address the ledger itself, or are searched as bytes.
    let apart = [
        "agents",
        "audit",
        "blocks",
        "catalogue",
        "file_revisions",
        "flushes",
        "forgotten_names",
        "head_revisions",
        "hook_calls",
        "meta",
        "nodes",
        "records",
        "seals",
        "streams",
        "contexts",
        "heads",
        "capability_manifests",
        "lineage_marks",
    ];
    let db = rusqlite::Connection::open(world.ledger()).unwrap();
    db.execute_batch("PRAGMA foreign_keys = OFF").unwrap();
    let mut statement = db
        .prepare("SELECT name FROM sqlite_schema WHERE type = 'table' AND name NOT LIKE 'sqlite%' ORDER BY name")
        .unwrap();
    let tables: Vec<String> = statement.query_map([], |r| r.get(0)).unwrap().map(Result::unwrap).collect();
    drop(statement);
    let mut filled = Vec::new();
    for table in tables.iter().filter(|t| !apart.contains(&t.as_str())) {
        let mut statement = db.prepare("SELECT name, type, pk FROM pragma_table_info(?1) ORDER BY cid").unwrap();
        let columns: Vec<(String, String, i64)> = statement
            .query_map([table], |r| Ok((r.get(0)?, r.get(1)?, r.get(2)?)))
            .unwrap()
            .map(Result::unwrap)
            .collect();
        drop(statement);
        if columns.iter().all(|(_, kind, _)| kind != "TEXT") {
            continue;
        }
        let values: Vec<String> = columns
            .iter()
            .map(|(name, kind, _)| match kind.as_str() {
                // Numbers refer to existing rows, so that no other constraint breaks.
                "INTEGER" | "REAL" if name == "other_no" => "2".into(),
                "INTEGER" | "REAL"
                    if name.ends_with("_no") && columns[0].0 == *name && name != "agent_no" && name != "session_no" =>
                {
                    "900".into()
                }
                "INTEGER" | "REAL" => "1".into(),
                "BLOB" => "x'00'".into(),
                _ if matches!(name.as_str(), "state" | "kind" | "class" | "cause") => "'x'".into(),
                _ => format!("'{{\"a\":\"of {WORD} {name}\"}}'"),
            })
            .collect();
        db.execute_batch(&format!("INSERT OR REPLACE INTO {table} VALUES ({})", values.join(", ")))
            .unwrap_or_else(|e| panic!("{table}: {e}"));
        filled.push(table.clone());
    }
    drop(db);
    assert!(filled.len() > 25, "{filled:?}");
    for known in ["model_calls", "model_summaries", "findings", "candidates", "skill_candidates", "evolve_runs"] {
        assert!(filled.iter().any(|t| t == known), "{known}: {filled:?}");
    }
    let out = world.run(&["forget", "--match", WORD, "--ignore-case", "--yes"]);
    assert_eq!(out.status, Some(0), "{out:?}");
    assert!(!out.stdout.contains("Nothing that is stored"), "{out:?}");
    let db = rusqlite::Connection::open(world.ledger()).unwrap();
    let mut left = Vec::new();
    for table in &filled {
        let mut statement = db.prepare(&format!("SELECT * FROM {table}")).unwrap();
        let columns: Vec<String> = statement.column_names().map(str::to_owned).collect();
        let mut rows = statement.query([]).unwrap();
        while let Some(row) = rows.next().unwrap() {
            for (at, column) in columns.iter().enumerate() {
                let cell = row.get_ref(at).unwrap();
                if cell
                    .as_bytes()
                    .is_ok_and(|b| String::from_utf8_lossy(b).to_lowercase().contains(&WORD.to_lowercase()))
                {
                    left.push(format!("{table}.{column}"));
                }
            }
        }
    }
    assert_eq!(left, Vec::<String>::new());
    assert_eq!(traces(&world.test.home(), WORD), Vec::<String>::new());
}
