//! Two agents of one home with conversations, summaries, threads and heads: what belongs to one looks to the other like
//! what does not exist, under every name it has, and no command of the other changes a byte of it (R6.8, R7.4, R14.1).

use serde_json::json;

use crate::world::{World, files};

/// Writes conversations of an agent: one under a key both agents use, and one of its own.
fn furnish(world: &World, agent: &str, word: &str) {
    let mut lines = String::new();
    for (session, thread) in [("chat", "topic/garden"), (word, &*format!("topic/{word}"))] {
        for n in 0..20 {
            let (role, text) = match n % 2 {
                0 => ("user", format!("Next we still have to plant the {word} bed number {n}; not done yet.")),
                _ => (
                    "assistant",
                    format!("We decided to use {word} seeds instead of bulbs for {n}. TODO: order {word} soil."),
                ),
            };
            let line = json!({"session": session, "id": format!("{session}-{n}"), "role": role, "text": text,
                "thread": thread, "time": 1_795_248_000_000i64 + n * 1_000, "speaker": if n % 2 == 0 { word } else { "Pip" }});
            lines += &format!("{line}\n");
        }
    }
    let say = |args: &[&str]| world.says(0, &[&["--agent", agent], args].concat());
    let out = world.feed(&["--agent", agent, "append"], lines.as_bytes());
    assert_eq!(out.status, Some(0), "{out:?}");
    for session in ["turns:chat", &format!("turns:{word}")] {
        say(&["compact", "--session", session]);
        say(&["session", "end", session]);
    }
    say(&["work", "--drain"]);
}

fn told(world: &World, agent: &str) -> String {
    let tree = world.test.home().join(format!("workspaces/{agent}"));
    files(&tree, "")
        .iter()
        .map(|p| format!("{}\n{}\n", p.display(), String::from_utf8_lossy(&std::fs::read(p).unwrap())))
        .collect()
}

#[test]
fn what_another_agent_said_and_was_told_is_unknown_by_every_name() {
    let world = World::new();
    furnish(&world, "main", "walrus");
    world.says(0, &["agent", "add", "ada"]);
    furnish(&world, "ada", "heron");
    let before = (told(&world, "main"), told(&world, "ada"));
    for (own, other, pages) in [("walrus", "heron", &before.0), ("heron", "walrus", &before.1)] {
        assert!(pages.contains(own) && !pages.contains(other), "{pages}");
    }

    // Everything the other agent lists or shows is its own.
    for args in [
        &["thread", "list"][..],
        &["thread", "list", "--json"],
        &["thread", "show", "topic/garden"],
        &["thread", "show", "topic/garden", "--json"],
        &["session", "list"],
        &["session", "show", "turns:chat", "--json"],
        &["show", "--session", "turns:chat"],
        &["expand", "turns:chat", "--transcript"],
        &["expand", "topic/garden", "--json"],
        &["compact", "--session", "turns:chat", "--dry-run"],
        &["head", "list", "--json"],
        &["head", "show", "--json"],
        &["head", "show", "topic/garden"],
        &["head", "show", "topic/garden", "--json"],
        &["head", "log", "topic/garden", "--json"],
        &["search", "plant bed", "-n", "100"],
        &["timeline"],
        &["status", "--json"],
        &["audit", "list", "-n", "1000", "--json"],
    ] {
        let said = world.says(0, &[&["--agent", "ada"], args].concat());
        assert!(!said.contains("walrus"), "{args:?}: {said}");
    }

    // Names and ids of the other agent give the same answer as names that do not exist.
    let db = rusqlite::Connection::open(world.ledger()).unwrap();
    let ids = |sql: &str| -> Vec<String> {
        let mut statement = db.prepare(sql).unwrap();
        let rows = statement.query_map([], |r| r.get(0)).unwrap();
        rows.map(Result::unwrap).collect()
    };
    let nodes = ids("SELECT printf('n%x', node_no) FROM nodes JOIN agents USING (agent_no) WHERE agent_id = 'main'");
    let turns =
        ids("SELECT printf('t%x', turn_no) FROM turns JOIN sessions USING (session_no) JOIN agents USING (agent_no)
         WHERE agent_id = 'main' LIMIT 3");
    assert!(nodes.len() >= 4 && turns.len() == 3, "{nodes:?}");
    let mut names: Vec<(&str, &str)> = nodes.iter().map(|n| (n.as_str(), "nfffff")).collect();
    names.extend(turns.iter().map(|t| (t.as_str(), "tfffff")));
    let as_ada = |args: &[String]| {
        let args: Vec<&str> = ["--agent", "ada"].into_iter().chain(args.iter().map(String::as_str)).collect();
        let out = world.run(&args);
        (out.status, format!("{}{}", out.stdout, out.stderr))
    };
    let unknown = |template: &[&str], mine: &str, nobodys: &str| {
        let with = |name: &str| -> Vec<String> { template.iter().map(|a| a.replace('@', name)).collect() };
        let (theirs, none) = (as_ada(&with(mine)), as_ada(&with(nobodys)));
        assert_eq!(theirs.0, Some(4), "{template:?} {mine}: {}", theirs.1);
        let bare = |text: String, name: &str| text.replace(name, "N").replace(&name.replace("topic/", ""), "N");
        assert_eq!((theirs.0, bare(theirs.1, mine)), (none.0, bare(none.1, nobodys)), "{template:?}");
    };
    for (mine, nobodys) in names {
        for template in [&["expand", "@"][..], &["expand", "@", "--transcript", "--json"]] {
            unknown(template, mine, nobodys);
        }
    }
    for turn in &turns {
        for template in [
            &["show", "@"][..],
            &["show", "--raw", "@"],
            &["compact", "--session", "turns:chat", "--until", "@", "--dry-run"],
            &["compact", "--session", "turns:chat", "--until", "@"],
            &["forget", "--turn", "@", "--yes"],
        ] {
            unknown(template, turn, "tfffff");
        }
    }
    for template in [
        &["expand", "turns:@"][..],
        &["session", "show", "turns:@"],
        &["session", "end", "turns:@"],
        &["show", "--session", "turns:@"],
        &["export", "--session", "turns:@"],
        &["compact", "--session", "turns:@"],
        &["compact", "--session", "turns:@", "--dry-run"],
        &["forget", "--session", "turns:@", "--yes"],
        &["thread", "switch", "--session", "turns:@", "topic/garden"],
        &["expand", "topic/@"],
        &["thread", "show", "topic/@"],
        &["thread", "name", "topic/@", "Mine"],
        &["thread", "merge", "topic/@", "topic/garden"],
        &["thread", "close", "topic/@"],
        &["thread", "link", "topic/@", "topic/garden"],
        &["head", "show", "topic/@"],
        &["head", "log", "topic/@"],
        &["head", "acquire", "topic/@", "--owner", "ci"],
        &["head", "release", "topic/@", "--owner", "ci", "--epoch", "1"],
    ] {
        unknown(template, "walrus", "nobody");
    }

    // Two heads have the same name: a lease and a section of one are not the other's.
    let grant = world.json(&["--agent", "ada", "head", "acquire", "topic/garden", "--owner", "ci", "--ttl", "60"]);
    let (epoch, base) = (grant["epoch"].to_string(), grant["base_revision"].to_string());
    let commit = [
        "--agent",
        "ada",
        "head",
        "commit",
        "topic/garden",
        "--section",
        "plan",
        "--owner",
        "ci",
        "--epoch",
        &epoch,
        "--base",
        &base,
    ];
    assert_eq!(world.feed(&commit, b"heron only").status, Some(0));
    let shown = world.json(&["head", "show", "topic/garden"]);
    assert_eq!(shown["sections"], json!({}), "{shown}");
    let listed = world.json(&["head", "list"]).to_string();
    assert!(!listed.contains("\"ci\"") && !listed.contains("heron"), "{listed}");
    world.json(&["head", "acquire", "topic/garden", "--owner", "other", "--ttl", "1"]);

    assert_eq!(told(&world, "main"), before.0, "nothing of main has moved");
    world.verified();
}
