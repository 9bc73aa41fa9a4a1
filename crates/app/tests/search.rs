//! Searching from the command line: the filters, the JSON, and what happens to a lost index.

use std::fs;

use rusqlite::Connection;
use serde_json::{Value, json};

use crate::world::{World, names};

/// The demo, in the world's own home.
fn demo() -> World {
    let world = World::new();
    let demo = concat!(env!("CARGO_MANIFEST_DIR"), "/demo");
    world.json(&["import", demo]);
    world
}

fn search(world: &World, args: &[&str]) -> Vec<Value> {
    world.json(&[&["search"], args].concat())["hits"].as_array().unwrap().clone()
}

#[test]
fn what_is_asked_for_is_found_and_narrowed_by_every_filter() {
    let world = demo();
    let found = world.json(&["search", "why did we drop redis"]);
    names(&found, "query looked_for understood hits files too_frequent not_indexed files_not_indexed degraded ms");
    let hit = &found["hits"][0];
    names(
        hit,
        "turn session entry lane at workspace harness role kind speaker tool snippet matches score why resume show",
    );
    names(&hit["why"], "matched of beside cosine");
    assert_eq!((&found["not_indexed"], &found["degraded"]), (&json!(0), &json!(false)));
    let show = hit["show"].as_str().unwrap();
    let args: Vec<&str> = show.split(' ').skip(1).collect();
    assert!(world.says(0, &args).to_lowercase().contains("redis"), "{show}");
    let people = world.says(0, &["search", "why did we drop redis"]);
    assert!(people.contains("resume: ") && people.contains("heirloom show t"), "{people}");
    for (at, end) in hit["matches"].as_array().unwrap().iter().map(|m| (m[0].as_u64().unwrap(), m[1].as_u64().unwrap()))
    {
        assert!(at < end && end <= hit["snippet"].as_str().unwrap().chars().count() as u64);
    }

    // Words that occur once, tool calls and results, other alphabets.
    for (query, part) in [
        ("feed-validator-report.txt", "feed-validator-report"),
        ("夕食", "夕食"),
        ("Schornsteinfeger", "Schornsteinfeger"),
        ("E24", "E24"),
        ("refund_twice", "refund_twice"),
    ] {
        let hits = search(&world, &[query]);
        assert!(!hits.is_empty(), "{query}");
        assert!(hits.iter().any(|h| h["snippet"].as_str().unwrap().contains(part)), "{query}: {hits:?}");
    }
    let kinds: Vec<_> = search(&world, &["-n", "100", "refund_twice"]).iter().map(|h| h["kind"].clone()).collect();
    assert!(kinds.iter().any(|k| k == "tool-call" || k == "tool-result"), "{kinds:?}");

    // The filters.
    let all = search(&world, &["-n", "100", "redis"]);
    let only = |args: &[&str], field: &str, value: &str| {
        let hits = search(&world, &[&["-n", "100"], args, &["redis refund index order test table"]].concat());
        assert!(!hits.is_empty(), "{args:?}");
        for hit in &hits {
            assert_eq!(hit[field], value, "{args:?}");
        }
    };
    only(&["--harness", "codex"], "harness", "codex");
    only(&["--harness", "claude-code"], "harness", "claude-code");
    only(&["--role", "user"], "role", "user");
    only(&["--role", "tool"], "role", "tool");
    let session = all[0]["session"].as_str().unwrap();
    only(&["--session", session], "session", session);
    let workspace = all[0]["workspace"].as_str().unwrap();
    only(&["--workspace", workspace], "workspace", workspace);
    assert!(search(&world, &["-n", "1", "the"]).len() <= 1);

    let count = |args: &[&str]| search(&world, &[&["-n", "100"], args, &["redis"]].concat()).len();
    let day = &all[0]["at"].as_str().unwrap()[..10];
    let at = all[0]["at"].as_str().unwrap();
    assert!(count(&["--since", day, "--until", day]) > 0);
    assert!(count(&["--since", at, "--until", at]) > 0);
    assert!(count(&["--since", &day[..7]]) > 0);
    assert_eq!(count(&["--until", "2020-01-01"]), 0);
    for time in
        ["today", "yesterday", "24h", "7d", "2w", "90m", "now", "2026-11-21T20:37:02Z", "2026-11-21T20:37:02+01:00"]
    {
        world.json(&["search", "--since", time, "redis"]);
        world.json(&["search", "--until", time, "redis"]);
    }
    for bad in ["soon", "2026-13-01", "5x", "", "2026-02-30", "99999999999999999999d", "\u{1b}[31m"] {
        let said = world.says(2, &["search", "--since", bad, "redis"]);
        assert!(said.contains("is not a time"), "{bad}: {said}");
        world.says(2, &["timeline", "--until", bad]);
    }
    let said = world.says(2, &["search", "--since", "2026-11-02", "--until", "2026-11-01", "x"]);
    assert!(said.contains("--since lies after --until"), "{said}");
    world.says(2, &["search", "--role", "king", "x"]);
    world.says(2, &["search", "--harness", "vim", "x"]);
    world.says(2, &["search", "--limit", "501", "x"]);
    world.says(4, &["search", "--session", "codex:nope", "x"]);
    world.says(4, &["search", "--workspace", "nope", "x"]);
}

#[test]
fn nothing_is_a_syntax_error() {
    let world = demo();
    let long = "zephyr ".repeat(15_000);
    for query in [
        "",
        " ",
        "the and of",
        "\"",
        "\"unclosed phrase",
        "a AND OR NOT",
        "NEAR(a b)",
        "text:x",
        "scope : xqs1",
        "xqs1",
        "*",
        "^x",
        "-redis",
        "+redis",
        "(redis",
        "redis)",
        "{a}",
        "'; DROP TABLE fts; --",
        "\u{1}\u{2}\u{1b}[31m",
        "\u{202e}",
        "redis*",
        "\"drop redis\"",
        "🦀",
        "ـــ",
        "\\",
        "%",
        "_",
        &long,
    ] {
        let found = world.run(&["search", "--json", "--", query]);
        let value: Value = serde_json::from_str(&found.stdout).unwrap();
        match found.status {
            Some(0) => assert!(value["hits"].is_array(), "{query:?}"),
            // Not a letter and not a digit in it: there is nothing to look for.
            _ => assert!(
                value["error"]["kind"] == "usage" && !query.chars().any(char::is_alphanumeric),
                "{query:?}: {value}"
            ),
        }
    }
    assert_eq!(search(&world, &["\"redis drop\""]), Vec::<Value>::new(), "a phrase occurs as it stands");
    let cut = world.json(&["search", &long]);
    assert_eq!(cut["degraded"], true, "a query that was cut says so");
    assert!(!search(&world, &["zephyr"]).is_empty());
}

#[test]
fn a_lost_index_is_made_again_and_a_newer_ledger_left_alone() {
    let world = demo();
    let state = world.test.home().join("state");
    let expected = search(&world, &["drop redis"]);
    assert!(!expected.is_empty());
    let without = |name: &str| {
        for end in ["", "-wal", "-shm"] {
            let _ = fs::remove_file(state.join(format!("{name}{end}")));
        }
    };
    without("index.db");
    assert_eq!(
        world
            .says(1, &["status"])
            .lines()
            .filter(|l| l.contains("heirloom reindex") || l.contains("heirloom work"))
            .count()
            .min(1),
        1
    );
    assert_eq!(search(&world, &["drop redis"]), expected, "deleted");
    without("index.db");
    fs::write(state.join("index.db"), b"this is no database at all".repeat(1000)).unwrap();
    assert_eq!(search(&world, &["drop redis"]), expected, "replaced by garbage");
    without("index.db");
    Connection::open(state.join("index.db"))
        .unwrap()
        .execute_batch("CREATE TABLE other (x); INSERT INTO other VALUES (1)")
        .unwrap();
    assert_eq!(search(&world, &["drop redis"]), expected, "replaced by another database");
    let whole = fs::read(state.join("index.db")).unwrap();
    without("index.db");
    fs::write(state.join("index.db"), &whole[..whole.len() / 2]).unwrap();
    let half = world.run(&["search", "drop redis"]);
    assert!(half.status.is_some_and(|s| [0, 1, 5].contains(&s)), "{half:?}");
    let turns = world.json(&["status"])["turns"].as_u64();
    assert_eq!(world.json(&["reindex"])["turns"].as_u64(), turns);
    assert_eq!(search(&world, &["drop redis"]), expected, "made anew");
    world.verified();

    let db = Connection::open(world.ledger()).unwrap();
    db.execute_batch("PRAGMA user_version = 99; PRAGMA wal_checkpoint(TRUNCATE)").unwrap();
    db.close().unwrap();
    let before = fs::read(world.ledger()).unwrap();
    let demo = concat!(env!("CARGO_MANIFEST_DIR"), "/demo");
    for args in
        [&["search", "redis"][..], &["import", demo], &["up"], &["status"], &["verify"], &["append"], &["reindex"]]
    {
        let refused = world.run(args);
        // `up` finds no program in this world and never comes to it.
        let expected = if args[0] == "up" { Some(0) } else { Some(3) };
        assert_eq!(refused.status, expected, "{args:?}: {refused:?}");
        if args[0] != "up" {
            assert!(refused.stderr.contains("99"), "the schema is named: {refused:?}");
        }
    }
    assert!(fs::read(world.ledger()).unwrap() == before, "nothing was changed");
}

#[test]
fn times_in_words_are_understood_in_the_zone_of_the_profile() {
    let world = World::new();
    let folder = tempfile::tempdir().unwrap();
    let turns = folder.path().join("turns.jsonl");
    let line = |id: &str, time: &str, text: &str| {
        json!({"session": "s", "id": id, "time": time, "speaker": "Caroline", "role": "user", "text": text}).to_string()
    };
    let lines = [
        line("a", "2025-05-02T23:30:00Z", "the zebra arrived"),
        line("b", "2025-05-03T12:00:00Z", "the zebra ate"),
        line("c", "2025-09-09T12:00:00Z", "the zebra left"),
    ];
    fs::write(&turns, lines.join("\n") + "\n").unwrap();
    world.json(&["import", "--format", "turns", turns.to_str().unwrap()]);
    world.json(&["profile", "set", "timezone", "UTC"]);
    let entries = |query: &str| -> Vec<String> {
        let mut found: Vec<String> =
            search(&world, &[query]).iter().map(|h| h["entry"].as_str().unwrap().to_owned()).collect();
        found.sort();
        found
    };
    assert_eq!(entries("zebra 2025-05-03"), ["b"]);
    assert_eq!(entries("zebra before June 2025"), ["a", "b"]);
    assert_eq!(entries("zebra seit Juni 2025"), ["c"]);
    assert_eq!(search(&world, &["what did Caroline see in September 2025"])[0]["entry"], "c");
    world.json(&["profile", "set", "timezone", "Europe/Berlin"]);
    assert_eq!(entries("zebra 2025-05-03"), ["a", "b"], "there it was already the third");

    let found = world.json(&["search", "Caroline's zebra since June 2025"]);
    let understood = &found["understood"];
    names(understood, "times people widened");
    names(&understood["times"][0], "text from until precision limit");
    assert_eq!(understood["times"][0]["text"], "since June 2025");
    assert_eq!(understood["times"][0]["from"], "2025-05-31T22:00:00.000Z");
    assert_eq!((&understood["times"][0]["until"], &understood["times"][0]["limit"]), (&json!(null), &json!(true)));
    assert_eq!((&understood["people"], &understood["widened"]), (&json!(["Caroline"]), &json!(false)));
    assert_eq!(found["looked_for"], "Caroline zebra");
    // Where nothing was said then, what there is, and that it is from other times.
    let found = world.json(&["search", "zebra before 2024"]);
    assert_eq!((found["hits"].as_array().unwrap().len(), &found["understood"]["widened"]), (3, &json!(true)));
    // A time alone; a day that does not exist; a time with a filter that excludes it.
    assert_eq!(entries("2025-09-09"), ["c"]);
    assert_eq!(entries("before June 2025"), ["a", "b"]);
    assert_eq!(world.json(&["search", "zebra 31 February"])["understood"]["times"], json!([]));
    assert_eq!(
        world.json(&["search", "--since", "2025-06-01", "zebra before June 2025"])["understood"]["widened"],
        json!(true)
    );
    let out = world.run(&["search", "zebra since June 2025"]);
    assert!(out.stdout.contains(" left\n") && !out.stdout.contains(" ate\n"), "{}", out.stdout);
    let said = "looked for: zebra, from 2025-06-01 on (since June 2025)";
    assert!(out.stderr.contains(said), "{}", out.stderr);
}
