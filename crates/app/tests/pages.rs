//! Every command that changes something leaves the rendered pages as they would be rendered anew, says why in the
//! audit, and succeeds even if a page cannot be written.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::time::Duration;

use heirloom_engine::clock::Clock;
use heirloom_engine::ledger::{Audit, Ledger, Open};
use rusqlite::Connection;

use crate::world::World;

/// Commands run one after the other: input, arguments, exit code. `PROJECT` is a folder.
const MUTATIONS: &[(&str, &[&str], i32)] = &[
    ("", &["loop", "add", "Call mum", "--text", "On Sunday"], 0),
    ("", &["loop", "add", "Water plants", "--due", "2026-12-01"], 0),
    ("", &["loop", "resolve", "Call mum"], 0),
    ("", &["loop", "reopen", "Call mum"], 0),
    ("", &["remember", "I like tea", "--class", "preference"], 0),
    ("", &["memory", "add", "Orders live in schema 42", "--title", "Schema", "--workspace", "PROJECT"], 0),
    ("", &["memory", "add", "Deploy with make", "--title", "Deploying", "--workspace", "PROJECT"], 0),
    ("", &["memory", "edit", "Schema", "--text", "Orders live in schema 43", "--summary", "Where orders live"], 0),
    ("", &["memory", "verify", "Schema"], 0),
    ("", &["memory", "pin", "Schema"], 0),
    ("", &["memory", "pin", "Schema", "--off"], 0),
    ("", &["memory", "supersede", "Deploying", "--text", "Deploy with just"], 0),
    ("", &["memory", "forget", "Schema"], 0),
    ("", &["proposal", "add", "Habits", "--entry", "Tests before lunch", "--class", "preference"], 0),
    ("", &["proposal", "edit", "Habits", "--entry", "Tests after lunch", "--entry", "Short mails"], 0),
    ("", &["proposal", "merge", "Habits"], 0),
    ("", &["proposal", "undo", "Habits"], 0),
    ("", &["proposal", "reject", "Habits"], 0),
    ("", &["proposal", "undo", "Habits"], 0),
    ("", &["remember", "Cats are good", "--class", "preference", "--propose"], 0),
    ("Text to keep\n", &["artifact", "add", "Kept", "--file", "-"], 0),
    ("", &["job", "run", "backup", "--", "sh", "-c", "echo words; exit 3"], 3),
    ("", &["job", "run", "nightly", "--", "true"], 0),
    ("", &["job", "run", "backup", "--", "false"], 1),
    ("", &["job", "ack", "backup"], 0),
    ("", &["job", "run", "nowhere", "--", "/no/such/command"], 127),
    ("", &["channel", "ask", "telegram", "bob", "--name", "Bob"], 0),
    ("", &["channel", "approve", "telegram/bob"], 0),
    ("", &["channel", "ask", "telegram", "eve"], 0),
    ("", &["channel", "deny", "telegram/eve"], 0),
    ("", &["draft", "promote", "codex/plan.md"], 0),
    ("", &["draft", "discard", "codex/noise.md"], 0),
    ("{\"session\":\"s\",\"text\":\"I prefer short answers.\"}\n", &["append"], 0),
    ("{\"session\":\"s\",\"text\":\"My name is Ada.\"}\n", &["append"], 0),
    ("", &["import", "TURNS"], 0),
    ("", &["session", "end", "turns:s"], 0),
    ("", &["profile", "set", "name", "Ada"], 0),
    ("", &["profile", "set", "timezone", "Asia/Tokyo"], 0),
    ("", &["profile", "unset", "timezone"], 0),
    ("", &["work", "--drain"], 0),
    ("", &["reindex"], 0),
];

struct Pages {
    world: World,
    turns: String,
    project: String,
}

impl Pages {
    fn new() -> Pages {
        let world = World::new();
        world.says(0, &["loop", "add", "Seed"]);
        let drafts = world.test.home().join("runtime/main/codex/drafts");
        std::fs::create_dir_all(&drafts).unwrap();
        std::fs::write(drafts.join("plan.md"), "# Plan\n").unwrap();
        std::fs::write(drafts.join("noise.md"), "# Noise\n").unwrap();
        let turns = world.test.folder("turns").join("t");
        let line =
            serde_json::json!({"session": "old", "text": "We begin", "time": jiff::Timestamp::now().to_string()});
        std::fs::write(&turns, format!("{line}\n")).unwrap();
        let project = world.test.folder("project").to_str().unwrap().to_owned();
        Pages { world, turns: turns.to_str().unwrap().to_owned(), project }
    }

    fn tree(&self) -> PathBuf {
        self.world.test.home().join("workspaces/main")
    }

    fn run(&self, (input, args, code): &(&str, &[&str], i32)) -> String {
        let put = |arg: &&str| match *arg {
            "TURNS" => self.turns.clone(),
            "PROJECT" => self.project.clone(),
            other => other.to_owned(),
        };
        let args: Vec<String> = args.iter().map(put).collect();
        let args: Vec<&str> = args.iter().map(String::as_str).collect();
        let out = self.world.feed(&args, input.as_bytes());
        assert_eq!(out.status, Some(*code), "{args:?}\n{}{}", out.stdout, out.stderr);
        out.stderr
    }

    fn sql(&self) -> Connection {
        Connection::open(self.world.ledger()).unwrap()
    }

    fn count(&self, sql: &str) -> i64 {
        self.sql().query_row(sql, [], |r| r.get(0)).unwrap()
    }

    /// Returns every rendered page.
    fn pages(&self) -> BTreeMap<PathBuf, String> {
        let (mut found, mut folders) = (BTreeMap::new(), vec![self.tree()]);
        while let Some(folder) = folders.pop() {
            for entry in std::fs::read_dir(folder).unwrap().flatten() {
                match std::fs::read_to_string(entry.path()) {
                    Ok(text) if text.contains("<!-- heirloom:") => drop(found.insert(entry.path(), text)),
                    Err(_) if entry.path().is_dir() => folders.push(entry.path()),
                    _ => {}
                }
            }
        }
        found
    }

    /// Marks every possible page, and has them rendered by a command that changes nothing.
    fn anew(&self) {
        let sql = self.sql();
        // Through the ledger, so that the rows are sealed.
        let older = "UPDATE heads SET dirty = dirty + 1 WHERE head NOT IN ('days', 'nodes', 'owed')";
        let how = Open::Hot { busy: Duration::from_secs(10) };
        let ledger = Ledger::open(&self.world.ledger(), &self.world.test.home(), Clock::System, how).unwrap();
        ledger.write(Audit::new("test", "test.set_up"), |tx| Ok(tx.execute_batch(older)?)).unwrap();
        drop(ledger);
        let name: Option<String> =
            sql.query_row("SELECT max(value) FROM profile WHERE key = 'role'", [], |r| r.get(0)).unwrap();
        assert_eq!(name.as_deref(), Some("tester"));
        self.world.says(0, &["profile", "set", "role", "tester"]);
        assert_eq!(self.count("SELECT count(*) FROM heads WHERE dirty > rendered"), 0);
    }
}

#[test]
fn every_command_leaves_the_pages_as_they_would_be_made_anew() {
    let pages = Pages::new();
    pages.world.says(0, &["profile", "set", "role", "tester"]);
    for mutation in MUTATIONS {
        let audit = pages.count("SELECT count(*) FROM audit");
        let said = pages.run(mutation);
        assert!(!said.contains("refreshed"), "{mutation:?}: {said}");
        assert!(
            pages.count("SELECT count(*) FROM audit") > audit || mutation.1[0] == "work" || mutation.1[0] == "reindex",
            "{mutation:?}"
        );
        assert_eq!(pages.count("SELECT count(*) FROM heads WHERE dirty > rendered"), 0, "{mutation:?}");
        let left = pages.pages();
        pages.anew();
        for (path, text) in pages.pages() {
            assert_eq!(left.get(&path), Some(&text), "{mutation:?} left {}", path.display());
        }
    }
    assert!(pages.pages().len() >= 5, "{:?}", pages.pages().keys());
    assert_eq!(pages.count("SELECT count(*) FROM audit WHERE action = 'continuity.refresh_failed'"), 0);
    assert_eq!(pages.count("SELECT count(*) FROM audit WHERE action NOT LIKE '%.%'"), 0);
    pages.world.verified();
}

/// A folder stands where ACTIVE.md should be: each command ends as it does elsewhere, and the failure is in the audit.
#[test]
fn no_command_fails_for_a_page_that_cannot_be_written() {
    let (pages, other) = (Pages::new(), Pages::new());
    let active = pages.tree().join("continuity/ACTIVE.md");
    std::fs::remove_file(&active).unwrap();
    std::fs::create_dir(&active).unwrap();
    let failures = || pages.count("SELECT count(*) FROM audit WHERE action = 'continuity.refresh_failed'");
    for mutation in MUTATIONS {
        let before = failures();
        let said = pages.run(mutation);
        other.run(mutation);
        if said.contains("could not be refreshed") {
            assert!(failures() > before, "{mutation:?}: {said}");
        }
    }
    assert!(failures() > 20, "{}", failures());
    // Once the folder is gone, the page has everything, as in a home that never had the trouble.
    std::fs::remove_dir(&active).unwrap();
    for world in [&pages, &other] {
        world.world.says(0, &["loop", "add", "Last"]);
    }
    let text = |pages: &Pages, path: &Path| without_times(&std::fs::read_to_string(pages.tree().join(path)).unwrap());
    for page in ["continuity/ACTIVE.md", "MEMORY.md"] {
        let (one, two) = (text(&pages, Path::new(page)), text(&other, Path::new(page)));
        let block = |text: &str| text[text.find("<!-- heirloom:").unwrap()..].split_once('\n').unwrap().1.to_owned();
        assert_eq!(block(&one), block(&two), "{page}");
    }
    pages.world.verified();
}

/// Removes times to the minute, because the clock moves on between the two worlds.
fn without_times(text: &str) -> String {
    let digit = |c: char| if c.is_ascii_digit() { '0' } else { c };
    text.lines()
        .map(|l| if l.contains(':') && l.contains("20") { l.chars().map(digit).collect() } else { l.to_owned() } + "\n")
        .collect()
}
