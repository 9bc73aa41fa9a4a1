//! Text from conversations cannot control the terminal it is shown on.

use std::fs;

use heirloom_testkit::run;
use serde_json::json;

use crate::world::{HEIRLOOM, World, claude_line};

/// Escape sequences and other hostile characters: a colour, a clipboard write, a window title, a bell, a carriage
/// return, a C1 introducer, a direction override, an isolate, an invisible tag.
const EVIL: &str = "kobold \u{1b}[31mred\u{1b}[0m \u{1b}]52;c;aGVsbG8=\u{7} \u{1b}]0;owned\u{1b}\\ over\rwritten \u{9b}2J \u{202e}gnp.exe\u{202c} \u{2066}x\u{2069} \u{e0041}tag";

fn assert_harmless(what: &str, said: &str) {
    for c in said.chars() {
        let harmless = (!c.is_control() || c == '\n' || c == '\t')
            && !matches!(c as u32, 0x200E | 0x200F | 0x202A..=0x202E | 0x2066..=0x2069 | 0xE0000..=0xE007F);
        assert!(harmless, "{what} prints U+{:04X}: {said:?}", c as u32);
    }
}

#[test]
fn nothing_that_was_said_reaches_the_terminal_as_a_command() {
    let world = World::new();
    // Every field that an outsider controls.
    let line = json!({"session": format!("s{EVIL}"), "id": format!("i{EVIL}"), "text": EVIL, "speaker": EVIL,
        "participants": [EVIL], "thread": EVIL, "model": EVIL, "workspace": format!("/tmp/w{EVIL}"),
        "time": "2026-11-21T20:00:00Z"});
    let tool = json!({"session": format!("s{EVIL}"), "id": format!("j{EVIL}"), "text": EVIL, "role": "tool",
        "tool": EVIL, "call": EVIL, "run": EVIL, "parent": EVIL});
    let acks = world.feed(&["append"], format!("{line}\n{tool}\n").as_bytes());
    assert_eq!(acks.status, Some(0), "{acks:?}");
    // A program's file with such characters in its name and title, and with a line that is set aside.
    let folder = world.test.folder("claude").join(format!("-p{EVIL}").replace('/', "-"));
    fs::create_dir_all(&folder).unwrap();
    let session = "99999999-0000-4000-8000-000000000000";
    let file = folder.join(format!("{session}.jsonl"));
    let title = json!({"type": "summary", "summary": format!("title {EVIL}"), "leafUuid": format!("{session}-1")});
    let cwd = claude_line(session, 1, "assistant", EVIL)
        .replace("/home/user/project", json!(format!("/tmp/c{EVIL}")).to_string().trim_matches('"'));
    let lines = [claude_line(session, 0, "user", EVIL), cwd, title.to_string(), format!("no JSON {EVIL}")];
    fs::write(&file, lines.join("\n") + "\n").unwrap();
    let named = fs::canonicalize(&file).unwrap();
    let said = world.says(1, &["import", named.to_str().unwrap()]);
    assert_harmless("import", &said);
    assert!(said.contains("line 4 (byte"), "{said}");

    let keys = world.sessions();
    assert_eq!(keys.len(), 2, "{keys:?}");
    let live = keys.iter().find(|k| k.starts_with("turns:")).unwrap();
    let coding = keys.iter().find(|k| k.starts_with("claude-code:")).unwrap();
    let turn = world.turns(live)[0]["turn"].as_str().unwrap().to_owned();
    let other = world.turns(coding)[0]["turn"].as_str().unwrap().to_owned();
    let out = world.test.folder("out");
    let out = out.to_str().unwrap();
    let commands: &[&[&str]] = &[
        &["search", "kobold"],
        &["search", EVIL],
        &["search", "--session", live, "kobold"],
        &["show", &turn],
        &["show", "-C", "2", &other],
        &["show", "--session", live],
        &["show", "--full", "--session", coding],
        &["show", "--quarantine"],
        &["show", "q:1"],
        &["expand", "q:1"],
        &["expand", &turn],
        &["expand", &other],
        &["expand", live, "--transcript"],
        &["expand", coding, "--transcript"],
        &["timeline"],
        &["session", "list"],
        &["session", "show", live],
        &["session", "show", coding],
        &["session", "end", live],
        &["thread", "list", "--all"],
        &["workspace", "list"],
        &["agent", "list"],
        &["audit", "list"],
        &["status"],
        &["doctor"],
        &["verify"],
        &["export", "--session", coding, "--all", "--force", "--out", out],
    ];
    for args in commands {
        let done = world.run(args);
        assert!(matches!(done.status, Some(0 | 1)), "{args:?}: {done:?}");
        assert_harmless(&args.join(" "), &done.stdout);
        assert_harmless(&args.join(" "), &done.stderr);
    }
    // Errors repeat the argument they were given.
    for args in [
        &["show", EVIL][..],
        &["expand", EVIL],
        &["search", "--session", EVIL, "x"],
        &["search", "--workspace", EVIL, "x"],
        &["search", "--since", EVIL, "x"],
        &["session", "show", EVIL],
        &["workspace", "alias", EVIL, "x"],
        &["export", "--source", EVIL],
        &["--agent", EVIL, "search", "x"],
        &["import", EVIL],
    ] {
        let done = world.run(args);
        assert_ne!(done.status, Some(0), "{args:?}: {done:?}");
        assert_harmless(&args.join(" "), &done.stdout);
        assert_harmless(&args.join(" "), &done.stderr);
    }
    // The text is shown in a harmless form and is still recognisable.
    let shown = world.says(0, &["show", &turn]);
    assert!(shown.contains("kobold ␛[31mred"), "{shown}");
    // `show --raw` prints the exact bytes.
    let raw = world.bytes(&["show", "--raw", &turn]);
    assert_eq!(String::from_utf8(raw).unwrap().trim_end(), line.to_string());
}

/// Long work draws a bar on a terminal, removes it at the end, and draws none if the output is not a terminal.
#[test]
fn progress_shows_on_a_terminal() {
    if !std::path::Path::new("/usr/bin/script").exists() {
        println!("skipped: there is no script(1) to be a terminal");
        return;
    }
    let world = World::new();
    // With fewer turns, indexing ends before a bar is drawn.
    let line =
        |n: usize| json!({"session": format!("s{}", n % 20), "text": format!("heron {n} ").repeat(20)}).to_string();
    let file = world.test.folder("in").join("many.jsonl");
    fs::write(&file, (0..6000).map(line).collect::<Vec<_>>().join("\n") + "\n").unwrap();
    let out = world.test.folder("out").join("s1.jsonl");
    let (file, out) = (file.to_str().unwrap(), out.to_str().unwrap());
    let commands = [
        ("Importing", vec!["import", "--format", "turns", file]),
        ("Indexing", vec!["reindex"]),
        ("Verifying", vec!["verify"]),
        ("Exporting", vec!["export", "--source", file, "--out", out]),
    ];
    for (name, args) in commands {
        let words: Vec<String> = args.iter().map(|word| format!("'{word}'")).collect();
        let mut command = world.test.command("/usr/bin/script");
        command.args(["-qec", &format!("'{HEIRLOOM}' {}", words.join(" ")), "/dev/null"]).env("TERM", "xterm");
        let shown = run(command, b"");
        assert_eq!(shown.status, Some(0), "{}", shown.stdout);
        let bar = shown.stdout.rfind(name).unwrap_or_else(|| panic!("{args:?} shows no {name}: {:?}", shown.stdout));
        assert!(shown.stdout[bar..].contains("\u{1b}[2K"), "{args:?} leaves its bar: {:?}", shown.stdout);
        let piped = world.run(&args);
        assert!(!piped.stderr.contains(name) && !piped.stdout.contains('█'), "{args:?}: {piped:?}");
    }
}
