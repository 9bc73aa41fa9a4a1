//! Hooks that are killed, that run by the dozen, and that meet another build's home: nothing is lost or stored twice,
//! and at most one worker runs (R12.5, D4). `HEIRLOOM_TEST_FULL=1` kills hundreds.

use std::collections::BTreeMap;
use std::fs;
use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use heirloom_testkit::{Rng, run};
use rusqlite::Connection;
use serde_json::{Value, json};

use crate::programs::{
    Session, at_rest, everything_is_there_once, hook_command, is_as_promised, is_free, is_full, spooled, told,
};
use crate::world::{HEIRLOOM, World, listing};

/// Starts a hook and writes its payload to its standard input.
fn start(world: &World, session: &Session, event: &str) -> Child {
    let mut command = hook_command(world, session.program, event);
    let mut child = command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    // A process that is already dead does not read its input.
    let _ = child.stdin.take().unwrap().write_all(session.payload(world, event).to_string().as_bytes());
    child
}

/// Returns the workers that hooks started for this home, found in `/proc` by their command lines.
fn workers(world: &World) -> Vec<i32> {
    let home = world.test.home();
    let Ok(processes) = fs::read_dir("/proc") else { return Vec::new() };
    let mut found = Vec::new();
    for process in processes.flatten() {
        let Some(pid) = process.file_name().to_str().and_then(|name| name.parse::<i32>().ok()) else { continue };
        let Ok(line) = fs::read(process.path().join("cmdline")) else { continue };
        let mut words = line.split(|b| *b == 0);
        let is_ours = words.clone().any(|word| word == home.as_os_str().as_encoded_bytes());
        if is_ours && words.any(|word| word == b"--detached") {
            found.push(pid);
        }
    }
    found
}

fn kill(pid: i32) {
    let _ = rustix::process::kill_process(rustix::process::Pid::from_raw(pid).unwrap(), rustix::process::Signal::KILL);
}

/// Returns a program's events for a prompt and for the end of a turn.
fn prompt_and_end(program: &str) -> (&'static str, &'static str) {
    match program {
        "opencode" => ("chat.message", "session.idle"),
        "openclaw" => ("before_prompt_build", "agent_end"),
        _ => ("UserPromptSubmit", "Stop"),
    }
}

#[test]
fn killed_anywhere_nothing_is_lost_and_nothing_is_there_twice() {
    let world = told();
    let sessions = Session::of_each(0, if is_full() { 100 } else { 8 });
    let mut rng = Rng::new(17);
    // The time of an undisturbed hook gives the range in which later ones are killed.
    let began = Instant::now();
    assert!(start(&world, &sessions[0], "SessionStart").wait().unwrap().success());
    let mut took = began.elapsed();
    let (mut killed, mut workers_killed) = (0, 0);
    for session in &sessions {
        let (prompt, end) = prompt_and_end(session.program);
        for event in [prompt, end] {
            if event == end {
                session.write(&world);
            }
            let began = Instant::now();
            let mut hook = start(&world, session, event);
            std::thread::sleep(took.mul_f64(rng.below(1300) as f64 / 1000.0));
            match hook.try_wait().unwrap() {
                None => killed += 1,
                // A busy machine may have made the first run slow, so the range shrinks.
                Some(_) => took = took.min(began.elapsed()).mul_f64(0.95),
            }
            hook.kill().unwrap();
            hook.wait().unwrap();
            // A worker is killed somewhere in its work.
            if rng.below(2) == 0 {
                std::thread::sleep(Duration::from_micros(rng.below(60_000) as u64));
                for pid in workers(&world) {
                    kill(pid);
                    workers_killed += 1;
                }
            }
        }
    }
    println!("{killed} of {} hooks and {workers_killed} workers were killed at work", 2 * sessions.len());
    assert!(killed >= sessions.len() / 4, "only {killed} hooks were killed before their end");
    assert!(!Path::new("/proc/self/cmdline").exists() || workers_killed > 0, "no worker was killed");
    // No lock outlives its holder, and jobs of a dead worker are taken up again: at once by a command, otherwise after
    // their lease.
    at_rest(&world);
    let ledger = Connection::open(world.ledger()).unwrap();
    ledger.execute("UPDATE jobs SET lease_until = 0 WHERE state = 'running'", []).unwrap();
    drop(ledger);
    world.says(0, &["work", "--drain"]);
    everything_is_there_once(&world, &sessions);
    // Temporary files of dead processes are removed once they are a day old.
    let before = temporary(&world);
    for path in &before {
        let long_ago = std::time::SystemTime::now() - Duration::from_secs(25 * 3600);
        fs::File::options().append(true).open(path).unwrap().set_modified(long_ago).unwrap();
    }
    world.says(0, &["work", "--drain"]);
    assert_eq!(temporary(&world), Vec::<PathBuf>::new(), "of {}", before.len());
    world.verified();
}

/// Returns files that should live only as long as one process.
fn temporary(world: &World) -> Vec<PathBuf> {
    let home = world.test.home();
    let all = listing(&home).into_iter().filter(|(_, bytes)| bytes.is_some()).map(|(path, _)| path);
    all.filter(|path| {
        let name = path.file_name().unwrap().to_string_lossy().into_owned();
        (name.starts_with(".hl-") && name.ends_with(".tmp")) || path.starts_with(home.join("state/scratch"))
    })
    .collect()
}

#[test]
fn fifty_at_once_of_four_programs_are_all_stored_by_one_worker_at_a_time() {
    let world = told();
    let sessions: Vec<Session> = Session::of_each(0, 13).into_iter().take(50).collect();
    for event in 0..2 {
        if event == 1 {
            sessions.iter().for_each(|s| s.write(&world));
        }
        let mut running: Vec<(&Session, &str, Child)> = Vec::new();
        for session in &sessions {
            let (prompt, end) = prompt_and_end(session.program);
            let event = if event == 0 { prompt } else { end };
            running.push((session, event, start(&world, session, event)));
        }
        for (session, event, child) in running {
            let out = child.wait_with_output().unwrap();
            let out = heirloom_testkit::Output {
                status: out.status.code(),
                stdout: String::from_utf8(out.stdout).unwrap(),
                stderr: String::from_utf8(out.stderr).unwrap(),
            };
            is_as_promised(session.program, event, &out).unwrap();
        }
    }
    let until = Instant::now() + Duration::from_secs(60);
    let lock = world.test.home().join("run/worker.lock");
    let ledger = Connection::open(world.ledger()).unwrap();
    let due = || -> i64 {
        let queued = "SELECT count(*) FROM jobs WHERE kind = 'capture' AND state IN ('queued', 'running')";
        ledger.query_row(queued, [], |r| r.get(0)).unwrap()
    };
    // Every call was stored or spooled, and the last worker left nothing due. One worker may wait for later work, and
    // does nothing.
    while !is_free(&lock) || !spooled(&world).is_empty() || due() > 0 {
        assert!(Instant::now() < until, "a worker never ends, or none begins: {:?}", spooled(&world));
        std::thread::sleep(Duration::from_millis(20));
    }
    // Workers never run at the same time: each took its jobs before or after every other one.
    let mut actors: Vec<String> = {
        let mut claims = ledger
            .prepare("SELECT actor FROM audit WHERE action = 'job.claim' AND actor LIKE 'worker %' ORDER BY audit_no")
            .unwrap();
        claims.query_map([], |r| r.get(0)).unwrap().map(Result::unwrap).collect()
    };
    let claims = actors.len();
    actors.dedup();
    println!("{claims} jobs were done by {} workers", actors.len());
    let mut once = actors.clone();
    once.sort();
    once.dedup();
    assert_eq!(once.len(), actors.len(), "two workers at once: {actors:?}");
    assert!(!actors.is_empty());
    drop(ledger);
    everything_is_there_once(&world, &sessions);
}

/// Spool files of a newer build are left to it, whatever they look like; files that no build can read are kept.
#[test]
fn the_spool_of_a_newer_build_is_left_to_it() {
    let world = told();
    let spool = world.test.home().join("spool");
    let session = Session { program: "claude-code", n: 1 };
    let payload = session.payload(&world, "UserPromptSubmit").to_string();
    let record = |header: Value, payload: &str| format!("{header}\n{payload}");
    let known = |harness: &str, event: &str, payload: &str| {
        record(json!({"v": 1, "harness": harness, "event": event, "at": 1, "bytes": payload.len()}), payload)
    };
    let newer = BTreeMap::from([
        ("0000000000001-a.hook", record(json!({"v": 2, "harness": "x", "event": "y", "at": 1, "bytes": 0}), "")),
        // A header with nothing that this build knows except the version.
        ("0000000000002-b.hook", record(json!({"v": 3, "who": ["x"], "parts": 2}), "\u{0}\u{1}")),
        ("0000000000003-c.hook", record(json!({"v": 4_294_967_296u64}), "")),
        // A program, and a hook of a known program, that this build does not know.
        ("0000000000004-d.hook", known("a-fifth-program", "Begin", "{}")),
        ("0000000000005-e.hook", known("claude-code", "ToolsAreReady", "{}")),
    ]);
    let unreadable = BTreeMap::from([
        ("0000000000006-f.hook", "no header\n".to_owned()),
        ("0000000000007-g.hook", String::new()),
        ("0000000000008-h.hook", known("claude-code", "Stop", "{}").replace("{}", "{\"cut")),
        ("0000000000009-i.hook", known("claude-code", "Stop", "no JSON")),
    ]);
    for (name, bytes) in newer.iter().chain(&unreadable) {
        fs::write(spool.join(name), bytes).unwrap();
    }
    // None of these files prevents the last one from being stored.
    fs::write(spool.join("0000000000010-j.hook"), known("claude-code", "UserPromptSubmit", &payload)).unwrap();
    for _ in 0..2 {
        world.says(0, &["work", "--drain"]);
    }
    let left: BTreeMap<String, String> =
        spooled(&world).into_iter().map(|name| (name.clone(), fs::read_to_string(spool.join(name)).unwrap())).collect();
    let aside = unreadable.iter().map(|(name, bytes)| (format!("{name}.unreadable"), bytes.clone()));
    let expected: BTreeMap<String, String> =
        newer.iter().map(|(name, bytes)| ((*name).to_owned(), bytes.clone())).chain(aside).collect();
    assert_eq!(left, expected);
    let ledger = Connection::open(world.ledger()).unwrap();
    let turns: i64 = ledger.query_row("SELECT count(*) FROM turns", [], |r| r.get(0)).unwrap();
    assert_eq!(turns, 1);
    world.verified();
}

/// Two builds use one home in turn: hooks of the older build go on after the newer one has migrated the ledger.
#[test]
fn an_older_build_beside_a_newer_one_spools_and_the_newer_one_stores() {
    let world = told();
    let sessions = Session::of_each(0, 2);
    let ours: i64 = {
        let ledger = Connection::open(world.ledger()).unwrap();
        ledger.query_row("PRAGMA user_version", [], |r| r.get(0)).unwrap()
    };
    for (n, session) in sessions.iter().enumerate() {
        let (prompt, end) = prompt_and_end(session.program);
        for event in [prompt, end] {
            if event == end {
                session.write(&world);
            }
            // Alternately the newer build and this one have been at work.
            at_rest(&world);
            let version = ours + i64::from(n % 2 == 0 && event == prompt);
            Connection::open(world.ledger()).unwrap().pragma_update(None, "user_version", version).unwrap();
            let out = run(
                hook_command(&world, session.program, event),
                session.payload(&world, event).to_string().as_bytes(),
            );
            is_as_promised(session.program, event, &out).unwrap();
        }
    }
    at_rest(&world);
    everything_is_there_once(&world, &sessions);
}

/// A worker that finds the lock taken ends without touching anything.
#[test]
fn a_second_worker_touches_nothing() {
    let world = told();
    at_rest(&world);
    let lock = fs::File::options().create(true).append(true).open(world.test.home().join("run/worker.lock")).unwrap();
    rustix::fs::flock(&lock, rustix::fs::FlockOperation::NonBlockingLockExclusive).unwrap();
    let session = Session { program: "codex", n: 1 };
    let out = run(hook_command(&world, "codex", "Stop"), session.payload(&world, "Stop").to_string().as_bytes());
    is_as_promised("codex", "Stop", &out).unwrap();
    assert_eq!(workers(&world), Vec::<i32>::new(), "none is started beside one that runs");
    fs::write(world.test.home().join("spool/0000000000006-f.hook"), "no header\n").unwrap();
    let before = spooled(&world);
    let mut command: Command = world.test.command(HEIRLOOM);
    command.args(["work", "--drain", "--detached"]);
    let out = run(command, b"");
    assert_eq!((out.status, out.stdout.as_str(), out.stderr.as_str()), (Some(0), "", ""));
    assert_eq!(spooled(&world), before);
    drop(lock);
    // A worker does not make a home that is gone.
    fs::rename(world.test.home(), world.test.user().join("away")).unwrap();
    let mut command: Command = world.test.command(HEIRLOOM);
    command.args(["work", "--drain", "--detached"]);
    assert_ne!(run(command, b"").status, Some(0));
    assert!(!world.test.home().exists());
}
