//! Concurrent hooks: the same call made several times, and several hooks waiting for one locked ledger.

use std::fs;
use std::sync::Barrier;
use std::time::{Duration, Instant};

use rusqlite::Connection;
use serde_json::json;

use crate::world::World;

fn payload(event: &str, session: &str, more: serde_json::Value) -> Vec<u8> {
    let mut payload =
        json!({"session_id": session, "transcript_path": "/nowhere.jsonl", "cwd": "/", "hook_event_name": event});
    payload.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
    payload.to_string().into_bytes()
}

fn hook(world: &World, event: &str, session: &str, more: serde_json::Value) -> String {
    let out = world.feed(&["hook", "claude-code", event], &payload(event, session, more));
    assert_eq!((out.status, out.stderr.as_str()), (Some(0), ""), "{out:?}");
    out.stdout
}

/// A plugin and the settings both call the hook: the model is given the block once, and once more after a cut. On a
/// busy machine a hook may run out of time; it then says so in its log, and still nothing is given twice.
#[test]
fn a_hook_called_several_times_at_once_gives_once() {
    let world = World::new();
    world.says(0, &["remember", "--class", "preference", "Answer in short sentences"]);
    let log = world.test.home().join("logs/hooks.log");
    let logged = || fs::read_to_string(&log).unwrap_or_default().lines().count();
    let mut rounds_told = 0;
    for n in 0..8 {
        let session = format!("5a1b0000-0000-4000-8000-00000000000{n}");
        for source in ["startup", "compact"] {
            let before = logged();
            let all = Barrier::new(4);
            let said: Vec<String> = std::thread::scope(|scope| {
                let one = || {
                    all.wait();
                    hook(&world, "SessionStart", &session, json!({"source": source}))
                };
                let running: Vec<_> = (0..4).map(|_| scope.spawn(one)).collect();
                running.into_iter().map(|thread| thread.join().unwrap()).collect()
            });
            let told = said.iter().filter(|text| text.contains("Answer in short sentences")).count();
            assert!(told <= 1, "{n} {source}: {said:#?}");
            assert_eq!(said.iter().filter(|text| text.is_empty()).count(), 4 - told, "{said:#?}");
            assert!(told == 1 || logged() > before, "{n} {source}: nobody was told, and no hook says why");
            rounds_told += told;
        }
    }
    assert!(rounds_told > 0, "no hook had time");
}

/// The worker of the first hook waits for the ledger while it holds the spool; calls of later hooks are left to it.
#[test]
fn what_comes_into_the_spool_while_it_is_emptied_is_stored_too() {
    let world = World::new();
    world.says(0, &["remember", "--class", "preference", "Answer in short sentences"]);
    let session = "5a1b0000-0000-4000-8000-000000000001";
    hook(&world, "SessionStart", session, json!({"source": "startup"}));
    let busy = Connection::open(world.ledger()).unwrap();
    busy.busy_timeout(Duration::from_secs(60)).unwrap();
    busy.execute_batch("BEGIN IMMEDIATE").unwrap();
    let spool = world.test.home().join("spool");
    let waiting = || {
        let names = fs::read_dir(&spool).unwrap().map(|e| e.unwrap().file_name().to_string_lossy().into_owned());
        names.filter(|name| name.ends_with(".hook")).count()
    };
    for n in 0..4 {
        hook(
            &world,
            "UserPromptSubmit",
            session,
            json!({"prompt_id": format!("p{n}"), "prompt": format!("Plank {n}?")}),
        );
        // The pause lets the hook's worker get as far as it can.
        std::thread::sleep(Duration::from_millis(300));
    }
    assert_eq!(waiting(), 4);
    busy.execute_batch("ROLLBACK").unwrap();
    drop(busy);
    let began = Instant::now();
    while waiting() > 0 {
        assert!(began.elapsed() < Duration::from_secs(60), "nobody stores what came later: {} left", waiting());
        std::thread::sleep(Duration::from_millis(50));
    }
    let turns = world.turns(&format!("claude-code:{session}"));
    let said: Vec<&str> = turns.iter().map(|t| t["text"].as_str().unwrap()).collect();
    assert_eq!(said, ["Plank 0?", "Plank 1?", "Plank 2?", "Plank 3?"]);
}

/// Another process that writes the ledger is named after two seconds, and in the error if it goes on.
#[test]
fn a_writer_of_the_ledger_is_named() {
    let world = World::new();
    world.json(&["loop", "add", "Paint the barn"]);
    let line = |n: u32| format!("{{\"session\": \"s\", \"id\": \"{n}\", \"text\": \"Turn {n}\"}}\n");
    let writer = rusqlite::Connection::open(world.ledger()).unwrap();
    let me = format!("(process {})", std::process::id());
    writer.execute_batch("BEGIN IMMEDIATE").unwrap();
    let began = Instant::now();
    let out = world.feed(&["append"], line(1).as_bytes());
    let waited = began.elapsed();
    assert_eq!(out.status, Some(75), "{}", out.stderr);
    let (first, rest) = out.stderr.split_once('\n').unwrap();
    assert!(first.starts_with("heirloom: waiting for `runner") && first.contains(&me), "{first}");
    assert!(rest.contains(&me) && rest.contains("is writing the memory"), "{rest}");
    assert!(rest.contains("run the command again when it has ended"), "{rest}");
    assert!((Duration::from_secs(9)..Duration::from_secs(18)).contains(&waited), "{waited:?}");

    // A writer that ends meanwhile is waited for.
    let release = std::thread::spawn(move || {
        std::thread::sleep(Duration::from_secs(4));
        writer.execute_batch("ROLLBACK").unwrap();
    });
    let out = world.feed(&["append"], line(2).as_bytes());
    release.join().unwrap();
    assert_eq!(out.status, Some(0), "{}", out.stderr);
    assert!(out.stderr.contains("waiting for") && !out.stderr.contains("has not ended"), "{}", out.stderr);
    assert_eq!(world.turns("turns:s").len(), 1);
}

/// A suspended process that holds the tree lock is named after ten seconds, and nothing is changed.
#[test]
fn a_suspended_holder_is_named() {
    let world = World::new();
    world.json(&["loop", "add", "Paint the barn"]);
    let lock = world.test.home().join("run/files-main.lock");
    assert!(lock.exists(), "the lock has another name now");
    // The lock is taken on an open file, which becomes the standard input of a process that only waits.
    let file = fs::OpenOptions::new().read(true).write(true).open(&lock).unwrap();
    file.lock().unwrap();
    let mut holder = std::process::Command::new("sleep").arg("300").stdin(file).spawn().unwrap();
    fs::write(&lock, format!("{:<10} {:<20}", holder.id(), 1)).unwrap();
    let signal = |what: &str| {
        let sent = std::process::Command::new("kill").args([what, &holder.id().to_string()]).status();
        assert!(sent.unwrap().success());
    };
    signal("-STOP");
    let began = Instant::now();
    let said = world.says(75, &["loop", "add", "Mend the roof"]);
    let waited = began.elapsed();
    signal("-KILL");
    holder.wait().unwrap();
    assert!(said.contains("`sleep 300`") && said.contains("it is suspended"), "{said}");
    assert!(said.contains(&format!("waiting for `sleep 300` (process {}), which is suspended", holder.id())), "{said}");
    assert!((Duration::from_secs(9)..Duration::from_secs(60)).contains(&waited), "{waited:?}");
    world.json(&["loop", "add", "Mend the roof"]);
    assert_eq!(world.json(&["loop", "list"])["loops"].as_array().unwrap().len(), 2);
}
