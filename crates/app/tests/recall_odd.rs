//! Odd questions, and homes with a damaged or outdated index: the answer makes sense, is marked if it is incomplete,
//! and is never empty without a word (R10.10).

use std::fs;
use std::path::PathBuf;
use std::process::Command;

use heirloom_testkit::run;
use serde_json::{Value, json};

use crate::world::{HEIRLOOM, World};

/// Makes two threads, a preference and a leaf; everything is indexed.
fn told() -> World {
    let world = World::new();
    let lines = [
        json!({"session": "house", "id": "1", "thread": "Roof", "time": "2026-11-20T10:00:00Z",
               "text": "Please get the roof fixed before winter."}),
        json!({"session": "house", "id": "2", "role": "assistant", "time": "2026-11-20T10:01:00Z",
               "text": "We took the offer of Dachdecker Maier because it includes the gutter."}),
    ];
    let lines: String = lines.iter().map(|v| format!("{v}\n")).collect();
    assert_eq!(world.feed(&["append"], lines.as_bytes()).status, Some(0));
    world.says(0, &["session", "end", "turns:house"]);
    world.says(0, &["compact", "--session", "turns:house"]);
    world.says(0, &["remember", "--class", "preference", "Answer in short sentences"]);
    world.says(0, &["recall", "roof"]);
    world
}

fn index(world: &World) -> PathBuf {
    world.test.home().join("state/index.db")
}

/// Returns the index as one file, without a log beside it.
fn settled(world: &World) -> Vec<u8> {
    let conn = rusqlite::Connection::open(index(world)).unwrap();
    conn.query_row("PRAGMA wal_checkpoint(TRUNCATE)", [], |_| Ok(())).unwrap();
    drop(conn);
    for end in ["-wal", "-shm"] {
        let _ = fs::remove_file(index(world).with_file_name(format!("index.db{end}")));
    }
    fs::read(index(world)).unwrap()
}

fn parsed(world: &World, args: &[&str]) -> Value {
    let out = world.run(args);
    let asked: String = args[args.len() - 1].chars().take(80).collect();
    assert_eq!(out.status, Some(0), "{asked:?}: {out:?}");
    serde_json::from_str(&out.stdout).unwrap_or_else(|e| panic!("{asked:?}: {e}\n{}", out.stdout))
}

fn recall(world: &World, question: &str) -> Value {
    parsed(world, &["recall", "--json", "--", question])
}

fn context(world: &World, prompt: &str) -> Value {
    let prompt = format!("--prompt={prompt}");
    parsed(world, &["context", "--session", "codex:new", "--thread", "Roof", "--dry-run", "--json", &prompt])
}

const ROOF: &str = "roof offer of Maier";

fn answers(world: &World, when: &str) {
    let found = recall(world, ROOF);
    assert!(found["items"].to_string().contains("Dachdecker Maier"), "{when}: {found}");
    let given = context(world, ROOF);
    assert!(given["block"].as_str().unwrap().contains("Dachdecker Maier"), "{when}: {given}");
}

#[test]
fn whatever_is_asked_has_an_answer_or_a_reason() {
    let world = told();
    let reason = |question: &str, part: &str| {
        for (answer, empty) in [(recall(&world, question), "items"), (context(&world, question), "parts")] {
            // An empty prompt asks nothing, and nothing is searched.
            if question.trim().is_empty() && empty == "parts" {
                continue;
            }
            assert_eq!(answer[empty], json!([]), "{question:?}: {answer}");
            assert!(answer["degraded"].to_string().contains(part), "{question:?}: {answer}");
        }
        let shown = world.says(0, &["recall", "--", question]);
        assert!(shown.contains(part) && shown.contains("Nothing is known"), "{question:?}: {shown}");
    };
    for empty in ["", "   ", "?!", "\u{1}\u{2}\u{7f}", "\u{200b}", "\"\"", "*", "(((("] {
        reason(empty, "no word in this question");
    }
    for light in ["the of and", "what is it", "und das ist"] {
        reason(light, "stand in every text");
    }
    // Operators of the full-text engine and of regular expressions have no meaning in a query.
    for odd in [
        "roof AND (NOT \"Maier OR ^offer:*",
        "NEAR(roof offer, 2) Maier",
        "{title text} : roof Maier",
        "ro.*f [a-z]+ (offer|Maier) \\bMaier\\b",
        "roof'; DROP TABLE turns; -- Maier",
        "roof\u{0}\u{1b}[31m Maier".trim_matches('\u{0}').replace('\u{0}', " ").as_str(),
        "-roof +offer ~Maier",
    ] {
        let found = recall(&world, odd);
        assert!(found["items"].to_string().contains("Dachdecker Maier"), "{odd:?}: {found}");
    }
    // Dates that do not exist.
    for (odd, day) in [("the roof on 31 February 2025", "31 February"), ("roof 2025-02-30", "2025-02-30")] {
        let found = recall(&world, odd);
        assert!(found["degraded"].to_string().contains(&format!("there is no {day}")), "{found}");
        assert!(!found["items"].as_array().unwrap().is_empty(), "the words are looked for: {found}");
    }
    // A hundred kilobytes of known words, and another hundred of words that were never said.
    let long = format!("{ROOF} {}", "gutter winter ".repeat(7_500));
    for answer in [recall(&world, &long), context(&world, &long)] {
        assert!(answer["degraded"].to_string().contains("too long"), "{}", answer["degraded"]);
        assert!(answer.to_string().contains("Dachdecker Maier"), "{}", answer["degraded"]);
    }
    let noise: String = (0..15_000).map(|n| format!("q{n} ")).collect();
    let shown = world.says(0, &["recall", &noise]);
    assert!(shown.contains("too long") && shown.contains("Nothing is known") && shown.len() < 2_000, "{}", shown.len());
    let piped = ["context", "--session", "codex:new", "--thread", "Roof", "--dry-run", "--json", "--prompt", "-"];
    let bytes = [ROOF.as_bytes(), b" \0\xff\xfe ", &[b'x'; 100_000]].concat();
    let given = world.feed(&piped, &bytes);
    assert!(given.status == Some(0) && given.stdout.contains("Dachdecker Maier"), "{given:?}");
    world.verified();
}

#[test]
fn an_index_that_is_missing_torn_or_somebody_elses_is_made_again_and_answers() {
    let world = told();
    let good = settled(&world);
    let put = |bytes: &[u8]| {
        settled(&world);
        fs::write(index(&world), bytes).unwrap();
    };
    fs::remove_file(index(&world)).unwrap();
    answers(&world, "missing");
    for (name, bytes) in [
        ("of zero bytes", Vec::new()),
        ("no database", b"this is no database at all".repeat(400)),
        ("cut after two pages", good[..16_384].to_vec()),
        ("cut in the middle of a page", good[..good.len() * 2 / 3 + 100].to_vec()),
        ("without its last page", good[..good.len() - 8_192].to_vec()),
    ] {
        fs::write(index(&world), &bytes).unwrap();
        answers(&world, name);
        settled(&world);
    }
    // Pages with other content anywhere in the file are noticed when they are read.
    let pages = good.len() / 8_192;
    for first in 1..pages {
        let mut bytes = good.clone();
        for (n, b) in bytes[first * 8_192..].iter_mut().enumerate() {
            *b = (n * 31 % 251) as u8;
        }
        if first % 7 == 1 || first + 1 == pages {
            put(&bytes);
            answers(&world, &format!("other bytes from page {first} of {pages}"));
        }
    }
    // An index of another version, of another ledger, or with vectors of another model.
    for sql in [
        "UPDATE meta SET value = '0' WHERE key = 'version'",
        "UPDATE meta SET value = 'somebody else' WHERE key = 'ledger_id'",
        "UPDATE meta SET value = 'another model' WHERE key = 'vector-model'",
        "DELETE FROM meta WHERE key LIKE 'vector%'",
        "UPDATE vector_rows SET data = substr(data, 2)",
        "UPDATE meta SET value = '999999' WHERE key = 'watermark'",
        "DELETE FROM fts_data WHERE id > 10",
    ] {
        put(&good);
        rusqlite::Connection::open(index(&world)).unwrap().execute_batch(sql).unwrap();
        answers(&world, sql);
    }
    world.verified();
}

#[test]
fn an_index_that_is_behind_and_locked_answers_with_what_it_has_and_says_so() {
    let world = told();
    let line =
        json!({"session": "house", "id": "3", "thread": "Roof", "text": "The scaffold of Huber comes on Monday."});
    // Another process is rebuilding the index: new turns wait.
    let busy = rusqlite::Connection::open(index(&world)).unwrap();
    busy.execute_batch("BEGIN IMMEDIATE; UPDATE meta SET value = value WHERE key = 'version'").unwrap();
    assert_eq!(world.feed(&["append"], format!("{line}\n").as_bytes()).status, Some(0));
    let found = recall(&world, ROOF);
    assert!(found["items"].to_string().contains("Dachdecker Maier"), "{found}");
    let found = recall(&world, "scaffold of Huber, when");
    assert!(found["degraded"].to_string().contains("not in the index yet"), "{found}");
    busy.execute_batch("ROLLBACK").unwrap();
    drop(busy);
    let found = recall(&world, "scaffold of Huber, when");
    assert!(found["items"].to_string().contains("on Monday"), "{found}");
}

/// Runs as a user who may not write there, because root may write everywhere.
#[test]
fn a_home_that_cannot_be_written_answers_and_one_without_an_index_says_why_not() {
    let world = told();
    settled(&world);
    let home = world.test.home();
    let script = |args: &str| {
        let mut command = Command::new("unshare");
        let inner = format!(
            "mount --bind {0} {0} && mount -o remount,bind,ro {0} && exec {HEIRLOOM} --home {0} {args}",
            home.display()
        );
        command.args(["-m", "-r", "sh", "-c", &inner]);
        run(command, b"")
    };
    let can = run(
        {
            let mut command = Command::new("unshare");
            let probe = world.test.folder("probe").display().to_string();
            command.args([
                "-m",
                "-r",
                "sh",
                "-c",
                &format!("mount --bind {probe} {probe} && mount -o remount,bind,ro {probe}"),
            ]);
            command
        },
        b"",
    );
    if can.status != Some(0) {
        println!("skipped: no folder can be mounted read-only here: {}", can.stderr);
        return;
    }
    let out = script("recall roof offer of Maier");
    assert!(out.status == Some(0) && out.stdout.contains("Dachdecker Maier"), "{out:?}");
    let give = "context --session codex:new --thread Roof --dry-run";
    let out = script(&format!("{give} --prompt 'roof offer of Maier'"));
    assert!(out.status == Some(0) && out.stdout.contains("Dachdecker Maier"), "{out:?}");
    let whole = fs::read(index(&world)).unwrap();
    fs::remove_file(index(&world)).unwrap();
    let out = script("recall roof");
    assert!(out.status == Some(3) && out.stderr.contains("no search index that fits"), "{out:?}");
    // A session's start gives more than recalled items, and still does.
    let out = script(&format!("{give} --event start --prompt roof"));
    assert!(out.status == Some(0) && out.stdout.contains("Answer in short sentences"), "{out:?}");
    assert!(out.stderr.contains("nothing was recalled"), "{out:?}");
    fs::write(index(&world), &whole[..whole.len() / 2]).unwrap();
    let out = script("recall roof");
    assert!(out.status != Some(0) || out.stdout.contains("roof"), "{out:?}");
    assert!(out.status == Some(0) || out.stderr.contains("index"), "{out:?}");
}

/// The disk has room for the memory itself and for nothing more.
#[test]
fn a_full_disk_takes_no_answer_away() {
    let world = told();
    settled(&world);
    let small = world.test.folder("small");
    let inner = format!(
        "mount -t tmpfs -o size=6m,mode=700 none {0} || exit 9
         cp -a {1} {0}/home && (dd if=/dev/zero of={0}/rest bs=4096 2>/dev/null; true)
         {HEIRLOOM} --home {0}/home recall roof offer of Maier; echo recall=$?
         {HEIRLOOM} --home {0}/home context --session codex:new --thread Roof --dry-run --prompt 'roof offer of Maier'
         echo context=$?
         rm -f {0}/home/state/index.db*; dd if=/dev/zero of={0}/more bs=4096 2>/dev/null
         {HEIRLOOM} --home {0}/home recall roof; echo without=$?",
        small.display(),
        world.test.home().display()
    );
    let mut command = Command::new("unshare");
    command.args(["-m", "-r", "sh", "-c", &inner]);
    let out = run(command, b"");
    if !out.stdout.contains("without=") {
        println!("skipped: no small disk can be had here: {}", out.stderr);
        return;
    }
    assert!(out.stdout.contains("recall=0") && out.stdout.contains("context=0"), "{out:?}");
    assert_eq!(out.stdout.matches("Dachdecker Maier").count(), 2, "{out:?}");
    // Without room for an index, the answer says what is wrong and not that nothing is known.
    assert!(!out.stdout.contains("Nothing is known"), "{out:?}");
    assert!(out.stdout.contains("without=0") || !out.stderr.is_empty(), "{out:?}");
}
