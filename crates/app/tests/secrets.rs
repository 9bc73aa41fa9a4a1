//! Sixty kinds of credentials, and every output of the program: none is shown (R14.2). The credentials are assembled
//! while the test runs, so that the source contains none.

use std::fs;

use heirloom_testkit::Rng;
use serde_json::json;

use crate::world::{World, claude_line, listing};

const LETTERS: &str = "abcdefghijkmnpqrstuvwxyzABCDEFGHJKLMNPQRSTUVWXYZ23456789";
const HEX: &str = "0123456789abcdef";
const CAPITALS: &str = "ABCDEFGHIJKLMNOPQRSTUVWXYZ234567";

fn of(rng: &mut Rng, alphabet: &str, length: usize) -> String {
    let letters = alphabet.as_bytes();
    let mut text: String = (0..length).map(|_| *rng.pick(letters) as char).collect();
    // Every secret has digits and letters, even if the random choice has not.
    text.replace_range(2..5, if alphabet == HEX { "4a7" } else { "Q7X" });
    text
}

/// Returns made-up credentials of sixty kinds, each in three parts: the text before the secret, the secret, and the
/// text behind it.
fn kinds(rng: &mut Rng) -> Vec<(String, String, &'static str)> {
    let mut all = Vec::new();
    for (head, alphabet, length) in [
        ("AK~IA", CAPITALS, 16),
        ("ghp~_", LETTERS, 36),
        ("github~_pat_", LETTERS, 60),
        ("glpat~-", LETTERS, 20),
        ("xoxb~-1234567890-", LETTERS, 24),
        ("sk~_live_", LETTERS, 24),
        ("sk~-proj-", LETTERS, 48),
        ("sk~-ant-api03-", LETTERS, 60),
        ("AI~za", LETTERS, 35),
        ("ya29~.", LETTERS, 60),
        ("GOCSPX~-", LETTERS, 28),
        ("S~K", HEX, 32),
        ("key~-", HEX, 32),
        ("npm~_", LETTERS, 36),
        ("pypi~-AgEIcHlwaS5vcmc", LETTERS, 80),
        ("hf~_", LETTERS, 34),
        ("dop~_v1_", HEX, 64),
        ("123456789~:AA", LETTERS, 33),
        ("hvs~.", LETTERS, 90),
        ("da~pi", HEX, 32),
        ("shpat~_", HEX, 32),
        ("lin~_api_", LETTERS, 40),
        ("ntn~_", LETTERS, 46),
        ("sbp~_", HEX, 40),
        ("fo1~_", LETTERS, 43),
        ("dckr~_pat_", LETTERS, 27),
        ("sntrys~_", LETTERS, 80),
        ("NRAK~-", CAPITALS, 27),
        ("gsk~_", LETTERS, 52),
        ("xai~-", LETTERS, 80),
        ("r8~_", LETTERS, 37),
        ("pplx~-", LETTERS, 48),
        ("nvapi~-", LETTERS, 64),
        ("rubygems~_", HEX, 48),
        ("figd~_", LETTERS, 40),
        ("pscale~_tkn_", LETTERS, 43),
        ("sq0csp~-", LETTERS, 43),
        ("dp~.pt.", LETTERS, 43),
        ("tskey~-auth-k", LETTERS, 40),
        ("pul~-", HEX, 40),
        ("AK~Cp", LETTERS, 69),
        ("nfp~_", LETTERS, 36),
        ("rnd~_", LETTERS, 28),
        ("sgp~_", HEX, 40),
        ("pnu~_", LETTERS, 36),
        ("lsv2~_pt_", HEX, 42),
        ("pcsk~_", LETTERS, 70),
        ("xkeysib~-", HEX, 64),
        ("CCIPAT~_", LETTERS, 60),
        ("tfp~_", LETTERS, 59),
        ("squ~_", HEX, 40),
    ] {
        all.push((head.replace('~', ""), of(rng, alphabet, length), ""));
    }
    for (head, tail) in [
        ("https://hooks.slack.com/~services/T01ABCDEF23/B04ABCDEF56/", ""),
        ("https://discord.com/api/web~hooks/123456789012345678/", ""),
        ("postgres://app:", "@db.example.com/x"),
        ("DB_PASS~WORD=", ""),
        ("Authorization: Bea~rer ", ""),
        ("client_sec~ret: \"", "\""),
        ("curl -u bob:", " https://x.example"),
        ("my pass~word is ", ""),
        ("mein Pass~wort lautet ", ""),
        ("Cookie: sess~ionid=", ""),
    ] {
        all.push((head.replace('~', ""), of(rng, LETTERS, 32), tail));
    }
    all
}

/// Returns everything that commands, hooks, an MCP server, files and the audit show of a memory whose turns are about a
/// walrus. `key`: one of its sessions.
fn shown(world: &World, key: &str) -> String {
    let commands: &[&[&str]] = &[
        &["search", "walrus", "-n", "100"],
        &["recall", "what did I decide for the walrus"],
        &["show", "--session", key, "--full"],
        &["timeline"],
        &["session", "list"],
        &["session", "show", key],
        &["thread", "list"],
        &["context", "walrus"],
        &["up"],
        &["status"],
        &["doctor"],
        &["verify"],
        &["memory", "list"],
        &["memory", "search", "walrus"],
        &["loop", "list"],
        &["review", "list"],
        &["head", "list"],
        &["context", "list"],
    ];
    let mut shown = String::new();
    for args in commands {
        for json in [&[][..], &["--json"]] {
            let out = world.run(&[args, json].concat());
            shown += &format!("\n=== {args:?}\n{}{}", out.stdout, out.stderr);
        }
    }
    // The replies of hooks, and the answers to an MCP client.
    for event in ["SessionStart", "UserPromptSubmit"] {
        let payload = json!({"session_id": "7f2a9c1e-0b7d-4e55-9a41-6c1d2e3f4a5b", "cwd": "/", "hook_event_name": event,
            "source": "startup", "prompt_id": "p", "prompt": "what did I decide for the walrus?"});
        shown += &world.feed(&["hook", "claude-code", event], payload.to_string().as_bytes()).stdout;
    }
    let asked = [
        json!({"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": {"protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": {"name": "t", "version": "1"}}}),
        json!({"jsonrpc": "2.0", "method": "notifications/initialized"}),
        json!({"jsonrpc": "2.0", "id": 2, "method": "tools/call", "params": {"name": "search_past_conversations", "arguments": {"query": "walrus"}}}),
        json!({"jsonrpc": "2.0", "id": 3, "method": "tools/call", "params": {"name": "recall_memory", "arguments": {"question": "walrus"}}}),
    ];
    let asked: String = asked.iter().map(|line| format!("{line}\n")).collect();
    let told = world.feed(&["mcp"], asked.as_bytes()).stdout;
    assert!(told.contains("walrus") && !told.contains("\"isError\":true"), "{told}");
    shown += &told;
    // Files that people and programs read, and the audit.
    for (path, bytes) in listing(&world.test.home()) {
        let rest = path.strip_prefix(world.test.home()).unwrap();
        if !rest.starts_with("state") {
            shown += &format!("\n=== {}\n{}", rest.display(), String::from_utf8_lossy(&bytes.unwrap_or_default()));
        }
    }
    let ledger = rusqlite::Connection::open(world.ledger()).unwrap();
    let mut statement = ledger.prepare("SELECT actor || ' ' || action || ' ' || detail FROM audit").unwrap();
    let rows = statement.query_map([], |r| r.get::<_, String>(0)).unwrap();
    shown += &rows.map(Result::unwrap).collect::<Vec<_>>().join("\n");
    shown
}

#[test]
fn no_output_shows_any_of_sixty_kinds() {
    let world = World::new();
    let kinds = kinds(&mut Rng::new(60));
    assert!(kinds.len() >= 60);
    let folder = world.test.folder("claude");
    let session = "66666666-0000-4000-8000-000000000060";
    let lines: Vec<String> = kinds
        .iter()
        .enumerate()
        .map(|(n, (head, secret, tail))| {
            let role = if n % 2 == 0 { "user" } else { "assistant" };
            claude_line(session, n, role, &format!("For the walrus I decided to use {head}{secret}{tail}"))
        })
        .collect();
    let file = folder.join(format!("{session}.jsonl"));
    fs::write(&file, lines.join("\n") + "\n").unwrap();
    world.import(0, &[&file]);
    world.says(0, &["work", "--drain"]);
    let key = world.sessions()[0].clone();
    for (head, secret, tail) in kinds.iter().step_by(6) {
        world.says(0, &["remember", "--class", "preference", &format!("The walrus wants {head}{secret}{tail}")]);
    }
    world.says(0, &["loop", "add", &format!("Rotate {}{}", kinds[0].0, kinds[0].1)]);
    let shown = shown(&world, &key);
    assert!(shown.contains("[redacted:"), "something is shown of it");
    let leaked: Vec<String> = kinds
        .iter()
        .filter(|(_, secret, _)| shown.contains(&secret[4..secret.len().min(16)]))
        .map(|(head, secret, _)| {
            let at = shown.find(&secret[4..secret.len().min(16)]).unwrap();
            let place = shown[..at].rfind("=== ").map_or("?", |from| shown[from..].lines().next().unwrap());
            format!("{head}… in {place}")
        })
        .collect();
    assert!(leaked.is_empty(), "{} of {}:\n{}", leaked.len(), kinds.len(), leaked.join("\n"));
}

/// A line from the middle of a key shows nothing of what it is, and texts are cut into lines and sentences before they are
/// shown.
#[test]
fn no_output_shows_a_line_of_a_private_key() {
    const BASE64: &str = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    let world = World::new();
    let rng = &mut Rng::new(61);
    let session = "66666666-0000-4000-8000-000000000061";
    let (mut lines, mut keys) = (Vec::new(), Vec::new());
    for (kind, rows) in [("EC PRIVATE", 3), ("RSA PRIVATE", 25), ("OPENSSH PRIVATE", 6), ("PRIVATE", 14)] {
        for (before, behind) in
            [("", ""), ("The walrus has this key:\n\n", "\n\nDeploy with it."), ("For the walrus:\n> ", "")]
        {
            let rows: Vec<String> = (0..rows).map(|_| of(rng, BASE64, 64)).collect();
            let quote = if before.ends_with("> ") { "\n> " } else { "\n" };
            let key =
                [format!("-----BE{} {kind} KEY-----", "GIN"), rows.join(quote), format!("-----END {kind} KEY-----")];
            let role = if keys.len() % 2 == 0 { "user" } else { "assistant" };
            lines.push(claude_line(session, lines.len(), role, &format!("{before}{}{behind}", key.join(quote))));
            keys.push(rows);
        }
    }
    let file = world.test.folder("claude").join(format!("{session}.jsonl"));
    fs::write(&file, lines.join("\n") + "\n").unwrap();
    world.import(0, &[&file]);
    let alone = json!({"session": "alone", "text": format!("-----BE{} EC PRIVATE KEY-----\n{}\n-----END EC PRIVATE KEY-----", "GIN", keys[0].join("\n"))});
    world.feed(&["append"], format!("{alone}\n").as_bytes());
    world.says(0, &["session", "end", "turns:alone"]);
    world.says(0, &["work", "--drain"]);
    let shown = shown(&world, &world.sessions()[0].clone());
    assert!(shown.contains("[redacted:private-key]"), "something is shown of it");
    for row in keys.iter().flatten() {
        let place = shown
            .find(&row[..20])
            .map(|at| shown[..at].rfind("=== ").map_or("?", |from| shown[from..].lines().next().unwrap()));
        assert_eq!(place, None, "{row}");
    }
}
