//! The command line as a contract: every command has a help text, supports JSON, and ends with the documented exit
//! codes.

use std::collections::{BTreeMap, BTreeSet};
use std::io::{BufRead, BufReader, Read};
use std::process::Stdio;

use heirloom_engine::error::ErrorKind;
use serde_json::{Value, json};

use crate::world::{HEIRLOOM, World};

/// Returns the lines of a section of a help text.
fn section<'h>(help: &'h str, title: &str) -> Vec<&'h str> {
    let after = help.lines().skip_while(|l| *l != title).skip(1);
    after.take_while(|l| l.is_empty() || l.starts_with(' ')).filter(|l| !l.is_empty()).collect()
}

fn commands(help: &str) -> Vec<(String, String)> {
    // A description may continue on the next line, which is indented more.
    let lines = section(help, "Commands:").into_iter().filter(|l| !l.starts_with("    "));
    lines
        .map(|l| {
            let (name, about) = l.trim().split_once(' ').unwrap_or((l.trim(), ""));
            (name.to_owned(), about.trim().to_owned())
        })
        .collect()
}

#[test]
fn every_command_and_option_says_what_it_is_for() {
    let world = World::new();
    let mut paths: Vec<Vec<String>> = vec![vec![]];
    let mut seen = 0;
    while let Some(path) = paths.pop() {
        let args: Vec<&str> = path.iter().map(String::as_str).chain(["--help"]).collect();
        let help = world.says(0, &args);
        let short = world.says(0, &[&args[..args.len() - 1], &["-h"]].concat());
        assert!(short.len() <= help.len());
        assert!(!help.lines().next().unwrap().trim().is_empty(), "{args:?} begins with what it does");
        for title in ["Arguments:", "Options:", "Everywhere:"] {
            let lines = section(&help, title);
            for (i, line) in lines.iter().enumerate() {
                let entry = line.trim_start();
                let depth = line.len() - entry.len();
                if !(entry.starts_with('-') || entry.starts_with('<') || entry.starts_with('[')) || depth > 6 {
                    continue;
                }
                let same_line = entry.contains("  ") && entry.split("  ").last().unwrap().len() > 3;
                let below = lines.get(i + 1).is_some_and(|next| next.len() - next.trim_start().len() > depth);
                assert!(same_line || below, "{args:?}: {line:?} has no text");
            }
        }
        for (name, about) in commands(&help) {
            assert!(about.len() > 5, "{path:?} {name} has no text");
            paths.push([path.clone(), vec![name]].concat());
        }
        assert!(help.contains("--json"), "{args:?}");
        seen += 1;
    }
    assert!(seen > 20, "{seen} commands");
    assert!(!world.test.home().exists(), "asking for help stores nothing");
    assert!(world.says(0, &["--version"]).starts_with("heirloom "));
}

#[test]
fn the_exit_codes_of_the_help_are_those_of_the_code() {
    let world = World::new();
    let help = world.says(0, &["--help"]);
    let line = help.lines().find_map(|l| l.strip_prefix("Exit codes: ")).unwrap();
    let told: BTreeMap<u8, &str> =
        line.split(" · ").map(|c| c.split_once(' ').unwrap()).map(|(n, what)| (n.parse().unwrap(), what)).collect();
    let names = ErrorKind::ALL.map(|kind| (kind.told().exit, kind.told().name.replace('-', "")));
    // The kind `machine` shares the exit code of problems.
    let coded: BTreeMap<u8, String> = std::iter::once((0, "ok".to_owned()))
        .chain(names)
        .map(|(code, name)| if name == "machine" { (code, "problems".to_owned()) } else { (code, name) })
        .collect();
    assert_eq!(told.keys().collect::<Vec<_>>(), coded.keys().collect::<Vec<_>>());
    for (code, name) in coded {
        let words = told[&code].replace(' ', "");
        assert!(words.contains(&name), "{code}: {words} and {name}");
    }
}

/// Makes a home with the demo in it.
fn populated() -> (World, String) {
    let world = World::new();
    let home = world.json(&["up", "--demo"])["home"].as_str().unwrap().to_owned();
    (world, home)
}

#[test]
fn every_command_speaks_json_when_asked_to() {
    let (world, home) = populated();
    let at = |args: &[&str]| world.json(&[&["--home", &home], args].concat());
    let key = at(&["session", "list"])["sessions"][0]["session"].as_str().unwrap().to_owned();
    let turn = at(&["show", "--session", &key])["turns"][0]["turn"].as_str().unwrap().to_owned();
    let workspaces = at(&["workspace", "list"]);
    let root = |n: usize| workspaces["workspaces"][n]["workspace"].as_str().unwrap().to_owned();
    let (one, two) = (root(0), root(1));
    let out = world.test.folder("out").join("x.jsonl");
    let copy = world.test.user().join("copy").display().to_string();
    let out = out.to_str().unwrap();
    let samples = concat!(env!("CARGO_MANIFEST_DIR"), "/demo/claude");
    let note = world.test.folder("out").join("note.md");
    std::fs::write(&note, "# A note\n").unwrap();
    let note = note.to_str().unwrap();
    let drafts = std::path::Path::new(&home).join("runtime/main/codex/drafts");
    std::fs::create_dir_all(&drafts).unwrap();
    for name in ["plan.md", "noise.md"] {
        std::fs::write(drafts.join(name), name).unwrap();
    }
    // The job's standard output is its command's; the record of the run is on standard error.
    let job = world.run(&["--home", &home, "--json", "job", "run", "backup", "--", "false"]);
    assert_eq!((job.status, job.stdout.as_str(), job.stderr.lines().count()), (Some(1), "", 1), "{job:?}");
    let each: &[&[&str]] = &[
        &["up"],
        &["import", samples],
        &["search", "redis"],
        &["search", "nothing-has-this-word"],
        &["recall", "redis"],
        &["context", "--session", &key, "--prompt", "redis"],
        &["context", "list"],
        &["show", &turn],
        &["show", "-C", "3", &turn],
        &["show", "--session", &key],
        &["show", "--quarantine"],
        &["compact", "--session", &key, "--dry-run"],
        &["compact", "--session", &key],
        &["expand", &turn],
        &["expand", &key, "--transcript"],
        &["timeline"],
        &["timeline", "--since", "2027-01"],
        &["review"],
        &["review", "list"],
        &["remember", "Redis is gone"],
        &["remember", "--propose", "Bob knows why"],
        &["memory", "list"],
        &["memory", "show", "redis-is-gone"],
        &["memory", "search", "redis"],
        &["memory", "edit", "redis-is-gone", "--tag", "queue"],
        &["memory", "pending"],
        &["proposal", "list"],
        &["proposal", "merge", "bob-knows-why"],
        &["proposal", "undo", "bob-knows-why"],
        &["loop", "add", "Ask Bob"],
        &["loop", "list"],
        &["head", "list"],
        &["head", "show"],
        &["head", "show", "active", "--revision", "1"],
        &["head", "log", "memory"],
        &["head", "diff", "memory", "1"],
        &["head", "acquire", "memory", "--owner", "ci"],
        &["head", "release", "memory", "--owner", "ci", "--epoch", "1"],
        &["head", "acquire", "threads", "--owner", "ci", "--ttl", "60"],
        &["profile", "set", "name", "Ada"],
        &["profile", "show"],
        &["status"],
        &["connect", "claude-code", "opencode", "--dry-run"],
        &["connect", "openclaw", "--yes"],
        &["doctor"],
        &["doctor", "--speed"],
        &["disconnect"],
        &["export", "--session", &key, "--out", out],
        &["verify"],
        &["backup", &copy],
        &["session", "list"],
        &["session", "show", &key],
        &["session", "end", &key],
        &["thread", "list", "--all"],
        &["thread", "switch", "topic/redis", "--session", &key],
        &["thread", "list", "--session", &key],
        &["thread", "show", "topic/redis"],
        &["thread", "name", "topic/redis", "Cache"],
        &["thread", "switch", "topic/queues", "--session", &key],
        &["thread", "link", "cache", "queues", "--why", "one server"],
        &["thread", "unlink", "cache", "queues"],
        &["thread", "close", "cache"],
        &["thread", "reopen", "cache"],
        &["thread", "merge", "cache", "queues"],
        &["thread", "unmerge", "cache"],
        &["thread", "switch", "--auto", "--session", &key],
        &["workspace", "list"],
        &["workspace", "alias", &one, &two],
        &["loop", "add", "Call the bank"],
        &["loop", "list"],
        &["loop", "show", "Call the bank"],
        &["loop", "resolve", "Call the bank"],
        &["loop", "reopen", "Call the bank"],
        &["artifact", "add", "A file", "--file", note],
        &["artifact", "list"],
        &["artifact", "show", "A file"],
        &["job", "list"],
        &["job", "show", "backup"],
        &["job", "ack", "backup"],
        &["channel", "ask", "irc", "bob"],
        &["channel", "ask", "irc", "eve"],
        &["channel", "pending"],
        &["channel", "approve", "irc/bob"],
        &["channel", "deny", "irc/eve"],
        &["draft", "list"],
        &["draft", "promote", "codex/plan.md"],
        &["draft", "discard", "codex/noise.md"],
        &["agent", "list"],
        &["agent", "add", "ada"],
        &["audit", "list"],
        &["token", "list"],
        &["reindex"],
        &["embed", "status"],
        &["model", "status"],
        &["model", "use", "ollama", "--model", "small", "--yes"],
        &["model", "off"],
        &["work", "--drain"],
        &["completions", "fish"],
        &["evolve", "--dry-run"],
        &["evolve"],
        &["evolve", "list"],
        &["skill", "list"],
        &["judge", "explain"],
        &["memory", "decay", "--explain"],
        &["service", "status"],
        &["forget", "--match", "redis", "--dry-run"],
        &["forget", "--match", "redis", "--yes"],
    ];
    for args in each {
        let out = world.run(&[&["--home", &home, "--json"], *args].concat());
        assert_eq!(out.status, Some(0), "{args:?}: {out:?}");
        assert_eq!(out.stderr, "", "{args:?}");
        assert_eq!(out.stdout.lines().count(), 1, "{args:?}: one line of JSON\n{}", out.stdout);
        let value: Value = serde_json::from_str(&out.stdout).unwrap();
        assert!(value.is_object(), "{args:?}: {value}");
    }
    let lines = format!("{}\n{}\n", json!({"session": "a", "text": "b"}), json!({"session": "a", "text": "c"}));
    let acks = world.feed(&["--home", &home, "--json", "append"], lines.as_bytes());
    assert_eq!(acks.stdout.lines().filter(|l| serde_json::from_str::<Value>(l).is_ok()).count(), 2);
    // Every command is covered. The exceptions: a hook prints its program's form or nothing, mcp speaks its protocol,
    // run passes its program's output through, serve does not end, and ui needs a running service.
    let covered: BTreeSet<&str> =
        each.iter().map(|args| args[0]).chain(["append", "hook", "mcp", "restore", "run", "serve", "ui"]).collect();
    for (name, _) in commands(&world.says(0, &["--help"])) {
        assert!(covered.contains(name.as_str()), "{name} is not in this list");
    }
}

#[test]
fn errors_are_json_where_json_was_asked_for() {
    let world = World::new();
    let error = |code: i32, kind: &str, args: &[&str]| {
        let value = world.json_of(code, args);
        assert_eq!(value["error"]["kind"], kind, "{args:?}: {value}");
        assert!(value["error"]["what"].as_str().is_some_and(|w| w.len() > 5), "{args:?}: {value}");
        assert!(value["error"].as_object().unwrap().contains_key("next"), "{value}");
    };
    error(4, "not-found", &["search", "x"]);
    error(4, "not-found", &["status"]);
    error(2, "usage", &["search"]);
    error(2, "usage", &["no-such-command"]);
    error(2, "usage", &["search", "--no-such-option", "x"]);
    error(2, "usage", &["search", "--limit", "0", "x"]);
    error(2, "usage", &["agent", "add", "Not An Agent"]);
    error(3, "refused", &["--home", "/dev/null", "agent", "add", "ada"]);
    let said = world.says(2, &["search"]);
    assert!(said.contains("Usage:"), "{said}");
}

#[test]
fn a_reader_that_goes_away_is_no_error() {
    let world = World::new();
    let lines: String = (0..3000)
        .map(|n| format!("{}\n", json!({"session": format!("s{}", n % 300), "text": format!("heron {n} ").repeat(40)})))
        .collect();
    let file = world.test.folder("in").join("many.jsonl");
    std::fs::write(&file, lines).unwrap();
    world.import(0, &[&file]);
    let commands: &[&[&str]] = &[
        &["search", "-n", "500", "heron"],
        &["search", "-n", "500", "heron", "--json"],
        &["show", "--session", "turns:s1", "--full"],
        &["timeline", "-n", "300"],
        &["session", "list", "-n", "300"],
        &["session", "list", "-n", "300", "--json"],
        &["audit", "list"],
        &["export", "--source", file.to_str().unwrap()],
        &["--help"],
    ];
    for args in commands {
        let mut command = world.test.command(HEIRLOOM);
        command.args(*args).stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
        let mut child = command.spawn().unwrap();
        let mut first = String::new();
        BufReader::with_capacity(16, child.stdout.take().unwrap()).read_line(&mut first).unwrap();
        assert!(!first.is_empty());
        let mut complaints = String::new();
        child.stderr.take().unwrap().read_to_string(&mut complaints).unwrap();
        let status = child.wait().unwrap();
        assert_eq!((status.code(), complaints.as_str()), (Some(0), ""), "{args:?}");
    }
}

#[test]
fn shells_are_told_every_command() {
    let world = World::new();
    for shell in ["bash", "zsh", "fish"] {
        let script = world.says(0, &["completions", shell]);
        for (name, _) in commands(&world.says(0, &["--help"])) {
            assert!(script.contains(&name), "{shell} is not told of {name}");
        }
        assert!(script.contains("workspace") && script.contains("json"), "{shell}");
    }
    let out = world.run(&["completions", "tcsh"]);
    assert_eq!(out.status, Some(2), "{out:?}");
}
