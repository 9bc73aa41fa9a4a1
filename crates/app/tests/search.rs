//! Searching from the command line: filters, JSON, and a lost index.

use std::fs;

use rusqlite::Connection;
use serde_json::{Value, json};

use crate::world::{World, names};

/// Imports the demo into the world's own home.
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
    names(&found, "query looked_for understood hits files too_frequent not_indexed files_not_indexed less degraded ms");
    let hit = &found["hits"][0];
    names(
        hit,
        "turn session entry lane at workspace harness role kind speaker tool snippet matches score why others resume show",
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
    assert!(said.contains("since lies after until"), "{said}");
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
            // A query without a letter or digit has nothing to search for.
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
        assert_eq!(refused.status, Some(3), "{args:?}: {refused:?}");
        assert!(refused.stderr.contains("99"), "the schema is named: {refused:?}");
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
    names(understood, "times people widened by_person");
    names(&understood["times"][0], "text from until precision limit");
    assert_eq!(understood["times"][0]["text"], "since June 2025");
    assert_eq!(understood["times"][0]["from"], "2025-05-31T22:00:00.000Z");
    assert_eq!((&understood["times"][0]["until"], &understood["times"][0]["limit"]), (&json!(null), &json!(true)));
    assert_eq!((&understood["people"], &understood["widened"]), (&json!(["Caroline"]), &json!(false)));
    // No other speaker exists, so her name only selects the turns and is not a search word.
    assert_eq!(found["looked_for"], "zebra");
    // If nothing was said at that time, hits of other times are shown and marked as such.
    let found = world.json(&["search", "zebra before 2024"]);
    assert_eq!((found["hits"].as_array().unwrap().len(), &found["understood"]["widened"]), (3, &json!(true)));
    // A time alone; a date that does not exist; a time that contradicts a filter.
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

/// Makes a conversation that changes between two threads, one that stays in a thread, and one that is in none of them.
fn woven() -> World {
    let world = World::new();
    let line = |session: &str, id: &str, thread: &str, minute: u32, role: &str, text: &str| {
        let thread = if thread.is_empty() { Value::Null } else { json!(thread) };
        let time = format!("2026-11-20T10:{minute:02}:00Z");
        json!({"session": session, "id": id, "thread": thread, "role": role, "text": text, "time": time}).to_string()
            + "\n"
    };
    let lines = [
        line("mixed", "a", "Roof", 0, "user", "The zebra of the roof needs a ladder."),
        line("mixed", "b", "", 1, "assistant", "A ladder stands behind the shed."),
        line("mixed", "c", "Tax return", 2, "user", "The zebra of the tax office wants receipts."),
        line("mixed", "d", "", 3, "assistant", "Receipts are in the blue box."),
        line("mixed", "e", "Roof", 4, "user", "Then the zebra gets its tiles, too."),
        line("mixed", "f", "", 5, "assistant", "The tiles are ordered."),
        line("plain", "g", "Tax return", 6, "user", "Another zebra asks about the tax form."),
        line("attic", "h", "Attic", 7, "user", "The zebra of the attic sleeps."),
    ];
    assert_eq!(world.feed(&["append"], lines.concat().as_bytes()).status, Some(0));
    for session in ["turns:mixed", "turns:plain", "turns:attic"] {
        world.says(0, &["session", "end", session]);
    }
    world.says(0, &["work", "--drain"]);
    world
}

#[test]
fn a_thread_limits_a_search_to_what_was_said_in_it() {
    let world = woven();
    let entries = |args: &[&str]| -> String {
        let hits = search(&world, &[&["-n", "50"], args].concat());
        let mut found: Vec<&str> = hits.iter().map(|h| h["entry"].as_str().unwrap()).collect();
        found.sort_unstable();
        found.join(" ")
    };
    // Of a session in several threads only the turns of this thread are found; neighbours shown beside hits are of this
    // thread, too.
    assert_eq!(entries(&["--thread", "Roof", "zebra"]), "a b e f");
    assert_eq!(entries(&["--thread", "Tax return", "zebra"]), "c d g");
    assert_eq!(entries(&["--thread", "Tax return", "--session", "turns:mixed", "zebra"]), "c d");
    assert_eq!(entries(&["--thread", "Roof", "--role", "user", "zebra"]), "a e");
    assert_eq!(entries(&["--thread", "Roof", "--until", "2026-11-20T10:02:00Z", "zebra"]), "a b");
    assert_eq!(entries(&["--thread", "Roof", "--since", "2026-11-20T10:02:00Z", "--role", "assistant", "tiles"]), "f");
    assert_eq!(entries(&["--thread", "Roof", "--session", "turns:plain", "zebra"]), "");
    assert_eq!(entries(&["--thread", "Roof", "--harness", "turns", "zebra tiles"]), "a b e f");
    // Searches by time alone and by meaning stay within the thread as well.
    assert_eq!(entries(&["--thread", "Attic", "on 2026-11-20"]), "h");
    let near = search(&world, &["-n", "50", "--thread", "Roof", "who brought the papers for the tax office"]);
    assert!(near.iter().all(|h| ["a", "b", "e", "f"].contains(&h["entry"].as_str().unwrap())), "{near:?}");

    // A merged thread is part of the other one, under either name.
    world.says(0, &["thread", "merge", "Attic", "Roof"]);
    for name in ["Roof", "Attic"] {
        assert_eq!(entries(&["--thread", name, "zebra"]), "a b e f h", "{name}");
    }
    let said = world.says(4, &["search", "--thread", "Cellar", "zebra"]);
    assert!(said.contains("no thread is called \"Cellar\"") && said.contains("heirloom thread list"), "{said}");
    world.says(0, &["agent", "add", "other"]);
    let other = world.says(4, &["search", "--thread", "Roof", "zebra", "--agent", "other"]);
    assert_eq!(other.replace("Roof", "Cellar"), said, "another agent's is as unknown");

    // Files that belong to a thread.
    world.says(0, &["loop", "add", "Feed the zebra"]);
    let files = |args: &[&str]| -> Vec<String> {
        let found = world.json(&[&["search", "zebra", "-n", "50"], args].concat());
        found["files"].as_array().unwrap().iter().map(|f| f["kind"].as_str().unwrap().to_owned()).collect()
    };
    assert!(files(&[]).contains(&"loop".to_owned()));
    assert!(!files(&["--thread", "Roof"]).contains(&"loop".to_owned()), "a loop of nobody's thread");
}

#[test]
fn every_filter_is_told_of_and_they_combine() {
    let world = woven();
    let help = world.says(0, &["search", "--help"]);
    for option in [
        "--workspace",
        "--thread",
        "--harness",
        "--session",
        "--role",
        "--kind",
        "--class",
        "--since",
        "--until",
        "--explain",
    ] {
        assert!(help.contains(option), "{option}: {help}");
    }
    world.says(0, &["remember", "--class", "preference", "The zebra gets hay"]);
    let found = world.json(&[
        "search",
        "zebra",
        "--class",
        "preference",
        "--kind",
        "memory",
        "--since",
        "2020",
        "--until",
        "2030",
    ]);
    assert_eq!((found["files"].as_array().unwrap().len(), found["hits"].as_array().unwrap().len()), (1, 0), "{found}");
    assert_eq!(world.json(&["search", "zebra", "--class", "fact"])["files"], json!([]));
    world.says(2, &["search", "zebra", "--class", "fact", "--role", "user"]);
}

#[test]
fn a_search_explains_itself() {
    let world = demo();
    let asked = ["search", "why did we drop the redis queue in orders_test.rs last week?", "--explain"];
    let said = world.says(0, &asked);
    for part in [
        "Understood as",
        "stop words",
        "why, did, we, the",
        "orders_test.rs (4 turns)",
        "names",
        "also as",
        "above all",
        "(last week)",
        "turns)",
        "meaning",
        "score 1.00: words ",
    ] {
        assert!(said.contains(part), "{part} is not in\n{said}");
    }
    let found = world.json(&asked);
    let explain = &found["explain"];
    names(explain, "words phrases stop_words too_frequent times people meaning by_meaning_too limits less hits files");
    names(&explain["words"][0], "text kind turns");
    let redis = explain["words"].as_array().unwrap().iter().find(|w| w["text"] == "redis").unwrap();
    assert!(redis["turns"].as_i64().unwrap() > 0 && redis["kind"] == "word", "{redis}");
    assert_eq!(explain["stop_words"][0], "why");
    // The parts add up to the score, for every hit.
    let hits = found["hits"].as_array().unwrap();
    let parts = explain["hits"].as_array().unwrap();
    assert_eq!(hits.len(), parts.len());
    names(&parts[0], "turn beside words cosine meaning weight neighbours date people sum");
    let number = |value: &Value| value.as_f64().unwrap_or(0.0);
    for (hit, of) in hits.iter().zip(parts) {
        assert_eq!(hit["turn"], of["turn"]);
        let own = (number(&of["words"]) + number(&of["meaning"])) * number(&of["weight"]);
        let sum = own + number(&of["neighbours"]) + number(&of["date"]) + number(&of["people"]);
        assert!((sum - number(&of["sum"])).abs() < 0.005, "{of}");
        assert!((number(&of["sum"]) / number(&parts[0]["sum"]) - number(&hit["score"])).abs() < 0.005, "{hit} {of}");
    }
    assert!(parts.iter().any(|p| number(&p["neighbours"]) > 0.0) && parts.iter().any(|p| number(&p["cosine"]) > 0.0));
    let limited = world.json(&["search", "redis", "--role", "user", "--since", "2020", "--explain"]);
    assert_eq!(limited["explain"]["limits"], json!({"said by": "user", "since": "2020"}));
    assert_eq!(limited["explain"]["by_meaning_too"], json!(false), "one word means itself");
    assert_eq!(world.json(&["search", "redis"]).get("explain"), None);

    // Explanations for files, and for the search in memories.
    world.says(0, &["remember", "We dropped redis last week"]);
    let files = world.json(&["search", "redis", "--kind", "memory", "--explain"]);
    assert_eq!(files["explain"]["files"].as_array().unwrap().len(), files["files"].as_array().unwrap().len());
    let memory = world.json(&["memory", "search", "redis since June 2024"]);
    names(&memory, "query looked_for understood hits too_frequent files_not_indexed");
    assert_eq!(memory["understood"]["times"][0]["text"], "since June 2024");
    let said = world.says(0, &["memory", "search", "redis", "before", "2024"]);
    assert!(said.contains("looked for: redis, until 2023-12-31") && said.contains("other times"), "{said}");
    let recalled = world.json(&["recall", "redis last week", "--explain"]);
    assert_eq!(recalled["understood"]["times"][0]["text"], "last week");
    assert!(world.says(0, &["recall", "why did we drop redis", "--explain"]).contains("Understood as"));
}

#[test]
fn what_every_home_begins_with_answers_nothing() {
    let world = demo();
    // The words of pages a new home is made with are not found.
    let found = world.json(&["search", "standing rules for whoever works here, person or program", "--kind", "page"]);
    assert_eq!(found["files"], json!([]));
    let page = world.test.home().join("workspaces/main/AGENTS.md");
    fs::write(&page, "# Agents\n\nWhoever works here writes tests, person or program.\n").unwrap();
    let found = world.json(&["search", "whoever works here, person or program", "--kind", "page"]);
    assert_eq!(found["files"][0]["path"], "AGENTS.md");
}
