//! Pages about the moment follow the newest turns (R5.2).

use std::io::{BufRead, BufReader, Write};
use std::path::PathBuf;
use std::process::Stdio;
use std::time::{Duration, Instant};

use serde_json::{Value, json};

use crate::world::{HEIRLOOM, World};

fn runtime(world: &World) -> PathBuf {
    world.test.home().join("workspaces/main/memory/workspace/no-project/runtime")
}

fn page(world: &World, name: &str) -> String {
    std::fs::read_to_string(runtime(world).join(name)).unwrap_or_default()
}

fn session_page(world: &World) -> String {
    let mut found = std::fs::read_dir(runtime(world).join("session-memory")).unwrap();
    let path = found.next().unwrap().unwrap().path();
    assert!(found.next().is_none(), "one session, one page");
    std::fs::read_to_string(path).unwrap()
}

#[test]
fn the_pages_follow_a_conversation_while_it_goes_on() {
    let world = World::new();
    let mut command = world.test.command(HEIRLOOM);
    command.arg("append").stdin(Stdio::piped()).stdout(Stdio::piped());
    let mut child = command.spawn().unwrap();
    let mut input = child.stdin.take().unwrap();
    let mut output = BufReader::new(child.stdout.take().unwrap()).lines();
    let mut say = |role: &str, text: &str| -> String {
        writeln!(input, "{}", json!({"session": "chat", "role": role, "text": text})).unwrap();
        let ack: Value = serde_json::from_str(&output.next().unwrap().unwrap()).unwrap();
        ack["turn"].as_str().unwrap().to_owned()
    };
    // No session has to be closed: the page is there while the program waits for the next line.
    let appears = |name: &str, what: &str| {
        let since = Instant::now();
        while !page(&world, name).contains(what) {
            assert!(since.elapsed() < Duration::from_secs(20), "{name} does not say {what}: {}", page(&world, name));
            std::thread::sleep(Duration::from_millis(10));
        }
    };
    let asked = say("user", "Which way?");
    appears("latest-turn.md", "Still open");
    let answered = say("assistant", "To the left.");
    std::thread::sleep(Duration::from_millis(250));
    say("user", "And then?");
    appears("latest-turn.md", &format!("- Answered: To the left. [{answered}]"));
    appears("recent-turns.md", &format!("completed: Which way? · turns [{asked} {answered}]"));
    drop(input);
    assert!(child.wait().unwrap().success());
    assert!(session_page(&world).contains("- Asked: And then?"));
    assert_eq!(world.json(&["session", "end", "turns:chat"])["ended"], true);
    assert!(page(&world, "latest-turn.md").contains("- Superseded"), "{}", page(&world, "latest-turn.md"));
    assert!(session_page(&world).contains("ended by hand"), "{}", session_page(&world));
    world.verified();
}

#[test]
fn an_answer_that_ends_the_input_is_in_the_pages() {
    let world = World::new();
    let lines = [
        json!({"session": "chat", "text": "Which way? My key is AKIAIOSFODNN7EXAMPLE"}),
        json!({"session": "chat", "role": "assistant", "text": "To the left."}),
    ];
    let input: String = lines.iter().map(|l| format!("{l}\n")).collect();
    let out = world.feed(&["append"], input.as_bytes());
    assert_eq!((out.status, out.stderr.as_str()), (Some(0), ""));
    let session = session_page(&world);
    assert!(session.contains("- Answered: To the left.") && !session.contains("AKIA"), "{session}");
    // These pages are only for looking at: no search finds them, and no index of memory lists them.
    let found = world.json(&["search", "left"]);
    let kinds: Vec<&str> = found["hits"].as_array().unwrap().iter().filter_map(|h| h["kind"].as_str()).collect();
    assert!(kinds.iter().all(|k| *k != "runtime"), "{found}");
    assert_eq!(world.json(&["status"])["assistant"]["files"]["runtime"], 4);
    let index = std::fs::read_to_string(world.test.home().join("workspaces/main/memory/MEMORY.md")).unwrap();
    assert!(!index.contains("runtime") && !index.contains("no-project"), "{index}");
    world.verified();
}

/// No program reports the end of the run: the work that closes a quiet run shows it as closed.
#[test]
fn a_run_that_went_quiet_is_the_latest_turn_once_it_is_closed() {
    let world = World::new();
    let lines = [
        json!({"session": "chat", "text": "Which way?"}),
        json!({"session": "chat", "role": "assistant", "text": "To the left."}),
    ];
    let input: String = lines.iter().map(|l| format!("{l}\n")).collect();
    assert_eq!(world.feed(&["append"], input.as_bytes()).status, Some(0));
    assert!(page(&world, "latest-turn.md").contains("- Still open"));
    let later = jiff::Timestamp::now() + jiff::SignedDuration::from_hours(1);
    let mut command = world.test.command(HEIRLOOM);
    command.args(["work", "--drain"]).env("HEIRLOOM_NOW", later.as_millisecond().to_string());
    assert_eq!(heirloom_testkit::run(command, b"").status, Some(0));
    let latest = page(&world, "latest-turn.md");
    assert!(latest.contains("- Completed") && latest.contains("- Answered: To the left."), "{latest}");
}

/// A page that cannot be written does not affect the turn that is stored.
#[test]
fn what_was_said_stands_whatever_becomes_of_its_pages() {
    let world = World::new();
    world.says(0, &["agent", "add", "main"]);
    std::fs::create_dir_all(runtime(&world).join("latest-turn.md")).unwrap();
    let line = json!({"session": "chat", "text": "Which way?"}).to_string() + "\n";
    let out = world.feed(&["append"], line.as_bytes());
    assert_eq!(out.status, Some(0), "{out:?}");
    assert!(out.stdout.contains("\"ok\":true"), "{out:?}");
    assert!(page(&world, "recent-turns.md").contains("Which way?"));
    let audit = world.json(&["audit", "list"]).to_string();
    assert!(audit.contains("continuity.refresh_failed"), "{audit}");
}
