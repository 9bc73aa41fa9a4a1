//! Two agents in one home: nothing of one agent's loops, memories and acts is shown to the other, whatever name it asks
//! for.

use std::path::PathBuf;

use serde_json::json;

use crate::world::World;

/// Stores one thing of each kind for an agent, each with the agent's own word.
fn furnish(world: &World, agent: &str, word: &str) {
    let say = |args: &[&str]| world.says(0, &[&["--agent", agent], args].concat());
    let project = world.test.folder("project");
    let project = project.to_str().unwrap();
    say(&["loop", "add", &format!("Owed {word}"), "--text", &format!("why {word}")]);
    say(&["loop", "add", &format!("Done {word}")]);
    say(&["loop", "resolve", &format!("Done {word}")]);
    say(&["proposal", "add", &format!("Maybe {word}"), "--entry", &format!("perhaps {word}"), "--workspace", project]);
    say(&["remember", &format!("Known {word}"), "--workspace", project]);
    say(&["remember", &format!("Liked {word}"), "--class", "preference"]);
    say(&["profile", "set", "role", word]);
    say(&["channel", "ask", "tg", word]);
    let failed = world.run(&["--agent", agent, "job", "run", word, "--", "sh", "-c", &format!("echo {word}; exit 1")]);
    assert_eq!(failed.status, Some(1), "{failed:?}");
    let drafts = world.test.home().join(format!("runtime/{agent}/codex/drafts"));
    std::fs::create_dir_all(&drafts).unwrap();
    std::fs::write(drafts.join("draft.md"), word).unwrap();
    let line =
        json!({"session": "s", "text": format!("I prefer {word} over {word}ish. From now on use {word} spelling.")});
    let out = world.feed(&["--agent", agent, "append"], format!("{line}\n").as_bytes());
    assert_eq!(out.status, Some(0), "{out:?}");
    let page = world.test.home().join(format!("workspaces/{agent}/USER.md"));
    std::fs::write(&page, format!("# Me\n\n{word}\n")).unwrap();
}

fn texts(folder: PathBuf) -> String {
    let (mut all, mut folders) = (String::new(), vec![folder]);
    while let Some(folder) = folders.pop() {
        for entry in std::fs::read_dir(&folder).unwrap().flatten() {
            if entry.path().is_dir() {
                folders.push(entry.path());
            } else {
                all.push_str(&entry.path().display().to_string());
                all.push_str(&String::from_utf8_lossy(&std::fs::read(entry.path()).unwrap()));
            }
        }
    }
    all
}

const LOOKING: &[&[&str]] = &[
    &["loop", "list"],
    &["loop", "list", "--resolved"],
    &["proposal", "list"],
    &["memory", "list"],
    &["memory", "pending"],
    &["memory", "search", "known"],
    &["profile", "show"],
    &["channel", "pending", "--all"],
    &["job", "list"],
    &["artifact", "list"],
    &["draft", "list"],
    &["search", "-n", "50", "owed known liked maybe prefer"],
    &["search", "--archived", "done"],
    &["show", "--revisions"],
    &["show", "USER.md"],
    &["show", "MEMORY.md"],
    &["show", "memory/MEMORY.md"],
    &["show", "continuity/ACTIVE.md"],
    &["timeline"],
    &["status"],
    &["audit", "list", "-n", "500"],
];

#[test]
fn nothing_of_another_agent_is_shown_or_can_be_changed() {
    let world = World::new();
    furnish(&world, "main", "walrus");
    furnish(&world, "ada", "heron");
    let before = texts(world.test.home().join("workspaces/main"));
    for args in LOOKING {
        for json in [&[][..], &["--json"]] {
            let out = world.run(&[&["--agent", "ada"], *args, json].concat());
            let said = format!("{}{}", out.stdout, out.stderr);
            assert!(matches!(out.status, Some(0 | 1)), "{args:?}: {said}");
            assert!(!said.contains("walrus"), "{args:?}: {said}");
        }
    }
    let own = world.says(0, &["--agent", "ada", "loop", "list"]);
    assert!(own.contains("Owed heron"), "{own}");
    // Names and ids of the other agent give the same answer as names that do not exist.
    let id = world.json(&["loop", "list"])["loops"][0]["id"].as_str().unwrap().to_owned();
    let leaf = world.json(&["memory", "list"])["memories"][0]["id"].as_str().unwrap().to_owned();
    for args in [
        &["loop", "resolve", "Owed walrus"][..],
        &["loop", "resolve", &id],
        &["loop", "reopen", "Done walrus"],
        &["loop", "show", &id],
        &["proposal", "merge", "Maybe walrus"],
        &["proposal", "reject", "Maybe walrus"],
        &["memory", "forget", &leaf],
        &["memory", "pin", &leaf],
        &["memory", "edit", &leaf, "--text", "mine"],
        &["channel", "approve", "tg/walrus"],
        &["job", "show", "walrus"],
        &["show", &leaf],
        &["show", &id],
    ] {
        let out = world.run(&[&["--agent", "ada"], args].concat());
        assert_eq!(out.status, Some(4), "{args:?}: {out:?}");
    }
    assert_eq!(texts(world.test.home().join("workspaces/main")), before, "nothing of main has changed");
    let pages = texts(world.test.home().join("workspaces/ada"));
    assert!(!pages.contains("walrus") && pages.contains("heron"));
    world.says(0, &["verify"]);
}
