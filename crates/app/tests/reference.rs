//! docs/CLI.md is made from the binary: the help of every command, and the fields of its `--json` output, taken from
//! real output. A changed contract shows up as a changed file. `BLESS=1 cargo test` rewrites it.

use std::collections::BTreeMap;
use std::path::Path;

use heirloom_testkit::TestHome;
use serde_json::Value;

use crate::world::World;

/// The time of the outputs: 21 November 2026, noon, the day after the demo's last session. Later, its open loops would
/// get no files any more.
const NOW: i64 = 1_795_262_400_000;

/// Every command with arguments that show its output. `TURN`, `NODE` and `SESSION` stand for ids of the demo.
const SHOWN: &[(&str, &[&str])] = &[
    ("up", &["up", "--demo"]),
    ("import", &["import", "DEMO"]),
    ("append", &[]),
    ("connect", &["connect", "codex", "--yes"]),
    ("disconnect", &["disconnect", "codex"]),
    ("search", &["search", "redis", "--explain"]),
    ("recall", &["recall", "why did we drop redis"]),
    ("show", &["show", "TURN", "-C", "1"]),
    ("hook", &[]),
    ("mcp", &[]),
    ("compact", &["compact", "--session", "SESSION", "--dry-run"]),
    ("context", &["context", "--session", "SESSION", "--event", "start"]),
    ("context list", &["context", "list"]),
    ("context replay", &["context", "replay", "x:1"]),
    ("expand", &["expand", "NODE", "--transcript"]),
    ("timeline", &["timeline"]),
    ("remember", &["remember", "Redis is gone"]),
    ("memory list", &["memory", "list"]),
    ("memory show", &["memory", "show", "redis-is-gone"]),
    ("memory add", &["memory", "add", "Bob knows why", "--title", "Whom to ask"]),
    ("memory edit", &["memory", "edit", "whom to ask", "--tag", "people"]),
    ("memory verify", &["memory", "verify", "whom to ask"]),
    ("memory supersede", &["memory", "supersede", "whom to ask", "--text", "Nobody knows why"]),
    ("memory pin", &["memory", "pin", "Nobody knows why"]),
    ("memory forget", &["memory", "forget", "Nobody knows why"]),
    ("memory search", &["memory", "search", "redis"]),
    ("memory pending", &["memory", "pending"]),
    ("memory accept", &[]),
    ("memory dismiss", &[]),
    ("proposal add", &["proposal", "add", "Habits", "--entry", "use rg", "--scope", "agent"]),
    ("review", &["review"]),
    ("review list", &["review", "list"]),
    ("review show", &["review", "show", "HABITS"]),
    ("review edit", &["review", "edit", "HABITS", "--text", "use rg always"]),
    ("review accept", &["review", "accept", "HABITS"]),
    ("review undo", &["review", "undo"]),
    ("review reject", &["review", "reject", "HABITS", "--reason", "not now"]),
    ("proposal undo", &["proposal", "undo", "habits"]),
    ("proposal list", &["proposal", "list"]),
    ("proposal show", &["proposal", "show", "habits"]),
    ("proposal edit", &["proposal", "edit", "habits", "--entry", "use rg", "--entry", "use fd"]),
    ("proposal merge", &["proposal", "merge", "habits"]),
    ("proposal reject", &[]),
    ("evolve", &["evolve", "--dry-run"]),
    ("evolve list", &["evolve", "list", "--all"]),
    ("evolve undo", &[]),
    ("skill list", &["skill", "list"]),
    ("skill show", &[]),
    ("skill accept", &[]),
    ("skill reject", &[]),
    ("judge explain", &["judge", "explain", "TURN"]),
    ("memory decay", &["memory", "decay"]),
    ("profile set", &["profile", "set", "name", "Ada"]),
    ("profile show", &["profile", "show"]),
    ("profile unset", &["profile", "unset", "name"]),
    ("loop list", &["loop", "list"]),
    ("loop add", &["loop", "add", "Call the bank"]),
    ("loop show", &["loop", "show", "Call the bank"]),
    ("loop resolve", &["loop", "resolve", "Call the bank"]),
    ("loop reopen", &["loop", "reopen", "Call the bank"]),
    ("head list", &["head", "list"]),
    ("head show", &["head", "show"]),
    ("head log", &["head", "log", "memory"]),
    ("head diff", &["head", "diff", "memory", "1"]),
    ("head restore", &["head", "restore", "memory", "1"]),
    ("head acquire", &["head", "acquire", "active", "--owner", "ci"]),
    (
        "head commit",
        &["head", "commit", "active", "--section", "plan", "--owner", "ci", "--epoch", "EPOCH", "--base", "BASE"],
    ),
    ("head release", &["head", "release", "active", "--owner", "ci", "--epoch", "1"]),
    ("artifact list", &["artifact", "list"]),
    ("artifact add", &["artifact", "add", "A note", "--file", "NOTE"]),
    ("artifact show", &["artifact", "show", "A note"]),
    ("job run", &[]),
    ("job list", &["job", "list"]),
    ("job show", &["job", "show", "backup"]),
    ("job ack", &["job", "ack", "backup"]),
    ("channel ask", &["channel", "ask", "telegram", "4711", "--name", "Bob"]),
    ("channel pending", &["channel", "pending"]),
    ("channel approve", &["channel", "approve", "telegram/4711"]),
    ("channel deny", &[]),
    ("draft list", &["draft", "list"]),
    ("draft promote", &["draft", "promote", "codex/plan.md"]),
    ("draft discard", &["draft", "discard", "codex/noise.txt"]),
    ("status", &["status"]),
    ("doctor", &["doctor"]),
    ("export", &["export", "--session", "SESSION", "--out", "OUT"]),
    ("forget", &["forget", "--turn", "TURN", "--dry-run"]),
    ("verify", &["verify"]),
    ("backup", &[]),
    ("restore", &[]),
    ("session list", &["session", "list"]),
    ("session show", &["session", "show", "SESSION"]),
    ("session end", &["session", "end", "SESSION"]),
    ("thread switch", &["thread", "switch", "topic/redis", "--session", "SESSION"]),
    ("thread list", &["thread", "list"]),
    ("thread show", &["thread", "show", "topic/redis"]),
    ("thread name", &["thread", "name", "topic/redis", "Cache"]),
    ("thread link", &[]),
    ("thread unlink", &[]),
    ("thread close", &["thread", "close", "Cache"]),
    ("thread reopen", &["thread", "reopen", "Cache"]),
    ("thread merge", &[]),
    ("thread unmerge", &[]),
    ("workspace list", &["workspace", "list"]),
    ("workspace alias", &[]),
    ("agent list", &["agent", "list"]),
    ("agent add", &["agent", "add", "second"]),
    ("agent adopt", &[]),
    ("audit list", &["audit", "list"]),
    ("token new", &["token", "new", "editor"]),
    ("token list", &["token", "list"]),
    ("token revoke", &["token", "revoke", "editor"]),
    ("reindex", &["reindex"]),
    ("embed status", &["embed", "status"]),
    ("embed use", &["embed", "use", "built-in", "--dry-run"]),
    ("model use", &["model", "use", "ollama", "--model", "small", "--yes"]),
    ("model status", &["model", "status"]),
    ("model test", &[]),
    ("model off", &["model", "off"]),
    ("completions", &["completions", "fish"]),
    ("work", &["work", "--drain"]),
    ("serve", &[]),
    ("run", &[]),
    ("service install", &[]),
    ("service uninstall", &["service", "uninstall"]),
    ("service status", &["service", "status"]),
    ("service start", &["service", "start"]),
    ("service stop", &["service", "stop"]),
    ("ui", &[]),
    // This comes last: it takes long, and pages that wait for a pause in editing would be rendered between the other
    // commands.
    ("doctor --speed", &["doctor", "--speed"]),
];

#[test]
fn the_reference_is_what_the_binary_says() {
    let world = World { test: TestHome::new().at(NOW) };
    let demo = Path::new(env!("CARGO_MANIFEST_DIR")).join("demo");
    world.json(&["import", demo.to_str().unwrap()]);
    let hit = &world.json(&["search", "why did we drop redis"])["hits"][0];
    let node = crate::expand::weave(&world, hit["session"].as_str().unwrap());
    let out = world.test.user().join("out.jsonl");
    let note = world.test.user().join("note.md");
    std::fs::write(&note, "# A note\n").unwrap();
    world.says(1, &["job", "run", "backup", "--", "sh", "-c", "echo no space; exit 1"]);
    world.json(&["loop", "add", "Water the plants"]);
    world.json(&["artifact", "add", "Something", "--file", note.to_str().unwrap()]);
    let drafts = world.test.home().join("runtime/main/codex/drafts");
    std::fs::create_dir_all(&drafts).unwrap();
    for name in ["plan.md", "noise.txt"] {
        std::fs::write(drafts.join(name), name).unwrap();
    }
    let fill = |arg: &str| -> String {
        match arg {
            "DEMO" => demo.display().to_string(),
            "TURN" => hit["turn"].as_str().unwrap().to_owned(),
            "NODE" => node.clone(),
            "SESSION" => hit["session"].as_str().unwrap().to_owned(),
            "NOTE" => note.display().to_string(),
            "OUT" => out.display().to_string(),
            other => other.to_owned(),
        }
    };
    let mut text = String::from(
        "# The command line\n\nWhat the binary says of itself; a test holds this page to it. Exit codes: 0 ok · 1 found problems · 2 usage ·\n\
         3 refused · 4 not found · 5 damaged · 75 busy. An error with `--json` is `{\"error\": {\"kind\", \"what\", \"next\"}}`.\n\n\
         Every command takes `--home DIR`, `--agent ID` and `--json`.\n",
    );
    // A later command may need an id from an earlier output.
    let mut last = Value::Null;
    for (name, args) in SHOWN {
        let mut help: Vec<&str> = name.split(' ').collect();
        help.push("-h");
        let said = world.says(0, &help);
        let own = said.split("\nEverywhere:").next().unwrap().trim_end();
        text += &format!("\n## heirloom {name}\n\n```text\n{own}\n```\n");
        if !args.is_empty() {
            let of_last = |arg: &str| match arg {
                "EPOCH" => last["epoch"].to_string(),
                "BASE" => last["base_revision"].to_string(),
                "HABITS" => habits(&world),
                other => fill(other),
            };
            let args: Vec<String> = args.iter().map(|a| of_last(a)).collect();
            let args: Vec<&str> = args.iter().map(String::as_str).collect();
            let mut fields = BTreeMap::new();
            last = world.json(&args);
            collect(&last, String::new(), &mut fields);
            let list: Vec<String> = fields.into_iter().map(|(path, kind)| format!("`{path}` {kind}")).collect();
            text += &format!("\nWith `--json`: {}\n", list.join(" · "));
        }
    }
    let place = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/CLI.md");
    if std::env::var_os("BLESS").is_some() {
        std::fs::write(&place, &text).unwrap();
    }
    let stands = std::fs::read_to_string(&place).unwrap_or_default();
    assert!(stands == text, "docs/CLI.md is not what the binary says; BLESS=1 cargo test -p heirloom rewrites it");
}

/// Returns the id of the waiting proposal.
fn habits(world: &World) -> String {
    let waiting = world.json(&["review", "list"])["waiting"].as_array().unwrap().clone();
    let found = waiting.iter().find(|w| w["title"] == "Habits").expect("it waits");
    found["id"].as_str().unwrap().to_owned()
}

#[test]
fn every_command_is_in_the_reference() {
    let said = World::new().says(0, &["-h"]);
    let commands = said.split("Commands:").nth(1).unwrap().split("\n\n").next().unwrap();
    for line in commands.lines().filter(|l| l.starts_with("  ") && !l.starts_with("   ")) {
        let command = line.split_whitespace().next().unwrap();
        let there = SHOWN.iter().any(|(name, _)| name.split(' ').next() == Some(command));
        assert!(there, "{command} is not in the reference");
    }
}

/// Collects the fields of an output with their types, such as `hits[].turn` string; a field that is sometimes absent or
/// null is marked.
fn collect(value: &Value, path: String, fields: &mut BTreeMap<String, String>) {
    let kind = match value {
        Value::Object(map) => {
            for (key, value) in map {
                let below = if path.is_empty() { key.clone() } else { format!("{path}.{key}") };
                collect(value, below, fields);
            }
            return;
        }
        Value::Array(list) => {
            if list.is_empty() {
                fields.entry(format!("{path}[]")).or_insert_with(|| "list".into());
            }
            for value in list {
                collect(value, format!("{path}[]"), fields);
            }
            return;
        }
        Value::Null => "null",
        Value::Bool(_) => "true/false",
        Value::Number(_) => "number",
        Value::String(_) => "string",
    };
    let known = fields.entry(path).or_insert_with(|| kind.into());
    if !known.split(" or ").any(|k| k == kind) {
        let mut kinds: Vec<&str> = known.split(" or ").chain([kind]).collect();
        kinds.sort_unstable();
        *known = kinds.join(" or ");
    }
}
