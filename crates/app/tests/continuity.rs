//! Working state on the command line: jobs that pass everything through, and the records of their runs.

use std::fs;
use std::io::Write;
use std::os::unix::process::ExitStatusExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use heirloom_testkit::run;
use rusqlite::Connection;
use serde_json::{Value, json};

use crate::world::{HEIRLOOM, World, files};

fn tree(world: &World) -> PathBuf {
    world.test.home().join("workspaces/main")
}

fn active(world: &World) -> String {
    fs::read_to_string(tree(world).join("continuity/ACTIVE.md")).unwrap()
}

/// Returns the record of a run with `--json`, which is the last line of standard error.
fn record(stderr: &str) -> Value {
    serde_json::from_str(stderr.lines().last().unwrap()).unwrap_or_else(|e| panic!("{e}: {stderr}"))
}

fn job(world: &World, name: &str, script: &str) -> (Option<i32>, Value) {
    let out = world.run(&["job", "run", name, "--json", "--", "sh", "-c", script]);
    (out.status, record(&out.stderr))
}

fn started(world: &World, args: &[&str]) -> Child {
    let mut command = world.test.command(HEIRLOOM);
    command.args(args).stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
    command.spawn().unwrap()
}

fn wait_for(path: &Path) {
    let began = Instant::now();
    while !path.exists() {
        assert!(began.elapsed() < Duration::from_secs(60), "{} does not come", path.display());
        std::thread::sleep(Duration::from_millis(5));
    }
}

fn send(signal: &str, child: &Child) {
    assert!(Command::new("kill").args([signal, &child.id().to_string()]).status().unwrap().success());
}

#[test]
fn a_job_ends_as_its_command_does() {
    let world = World::new();
    for (script, code, status, exit_code, signal) in [
        ("exit 0", 0, "done", json!(0), json!(null)),
        ("exit 1", 1, "failed", json!(1), json!(null)),
        ("exit 75", 75, "failed", json!(75), json!(null)),
        ("exit 255", 255, "failed", json!(255), json!(null)),
        ("kill -9 $$", 137, "failed", json!(null), json!(9)),
        ("kill -TERM $$", 143, "failed", json!(null), json!(15)),
    ] {
        let (passed, record) = job(&world, "script", script);
        assert_eq!(passed, Some(code), "{script}: {record}");
        assert_eq!((&record["status"], &record["passed"]), (&json!(status), &json!(code)), "{script}");
        assert_eq!((&record["exit_code"], &record["signal"]), (&exit_code, &signal), "{script}: {record}");
        assert!(record["artifact"].is_null(), "nothing was printed: {record}");
    }
    let folder = world.test.folder("bin");
    let no_program = folder.join("text");
    fs::write(&no_program, "words").unwrap();
    for (program, code) in [("/no/such/program", 127), ("no-such-program", 127), (no_program.to_str().unwrap(), 126)] {
        let out = world.run(&["job", "run", "missing", "--", program]);
        assert_eq!(out.status, Some(code), "{program}: {out:?}");
        assert!(out.stderr.contains("cannot be started") && out.stdout.is_empty(), "{out:?}");
    }
    assert!(active(&world).contains("Job missing failed (") && active(&world).contains("cannot be started"));
    let jobs = world.json(&["job", "list"]);
    let names: Vec<&str> = jobs["jobs"].as_array().unwrap().iter().map(|j| j["job"].as_str().unwrap()).collect();
    assert_eq!(names, ["missing", "script"]);
    assert_eq!(world.json(&["job", "show", "script"])["runs"].as_array().unwrap().len(), 6);
    assert_eq!(world.json(&["job", "ack", "script"])["acknowledged"], 5);
    world.json_of(4, &["job", "show", "other"]);
    assert!(world.says(2, &["job", "run", "bad/name", "--", "true"]).contains("cannot name a job"));
    world.json_of(2, &["job", "run", "no-command"]);
    world.verified();
}

#[test]
fn input_and_output_pass_through_byte_by_byte() {
    let world = World::new();
    let input: Vec<u8> = (0..300_000u32).map(|n| (n * 31 % 251) as u8).collect();
    let mut command = world.test.command(HEIRLOOM);
    command.args(["job", "run", "cat", "--", "sh", "-c", "cat; printf 'to stderr\\n' >&2"]);
    let mut child = command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    let mut stdin = child.stdin.take().unwrap();
    let given = input.clone();
    let feeder = std::thread::spawn(move || stdin.write_all(&given).unwrap());
    let out = child.wait_with_output().unwrap();
    feeder.join().unwrap();
    assert!(out.stdout == input, "{} bytes of {}", out.stdout.len(), input.len());
    assert_eq!((String::from_utf8_lossy(&out.stderr).as_ref(), out.status.code()), ("to stderr\n", Some(0)));
    // Options behind `--` belong to the command.
    assert_eq!(world.run(&["job", "run", "echo", "--", "echo", "--json", "--timeout"]).stdout, "--json --timeout\n");
}

#[test]
fn output_becomes_an_artifact_of_bounded_size() {
    let world = World::new();
    let (_, record) = job(&world, "chatty", "seq 1 2000000; echo '``````'; exit 4");
    let file = tree(&world).join(record["artifact"].as_str().unwrap());
    let text = fs::read_to_string(file).unwrap();
    assert!(text.len() < 300_000 && text.contains("bytes were left out here"), "{}", text.len());
    assert!(text.contains("```text\n1\n2\n3\n") && text.ends_with("\n2000000\n``````\n```````\n"), "{}", &text[..300]);
    let (_, record) = job(&world, "says-little", "echo fine");
    assert!(record["artifact"].as_str().unwrap().ends_with("-says-little.md"), "{record}");
    let (_, record) = job(&world, "says-little", "echo fine");
    assert!(record["artifact"].as_str().unwrap().ends_with("-says-little-2.md"), "{record}");
    let quiet = ["job", "run", "quiet", "--quiet-success", "--json", "--", "sh", "-c"];
    let out = world.run(&[&quiet[..], &["echo fine"]].concat());
    assert_eq!((out.stdout.as_str(), &self::record(&out.stderr)["artifact"]), ("fine\n", &json!(null)));
    let out = world.run(&[&quiet[..], &["echo not fine; exit 1"]].concat());
    assert!(self::record(&out.stderr)["artifact"].is_string(), "{out:?}");
    let (_, record) = job(&world, "secret", "echo ghp_0123456789abcdefghijABCDEFGHIJ012345");
    let text = fs::read_to_string(tree(&world).join(record["artifact"].as_str().unwrap())).unwrap();
    assert!(!text.contains("ghp_0") && !record["command"].as_str().unwrap().contains("ghp_0"), "{record} {text}");
}

#[test]
fn signals_reach_the_command_and_its_end_is_recorded() {
    let world = World::new();
    for (signal, code) in [("-TERM", 7), ("-INT", 8)] {
        let ready = world.test.folder("signals").join(format!("ready{code}"));
        let script =
            format!("trap 'exit 7' TERM; trap 'exit 8' INT; : > {}; while :; do sleep 0.05; done", ready.display());
        let child = started(&world, &["job", "run", "trap", "--", "sh", "-c", &script]);
        wait_for(&ready);
        // The pause lets the wrapper install its signal handlers, which it does after it has started the command.
        std::thread::sleep(Duration::from_millis(100));
        send(signal, &child);
        let out = child.wait_with_output().unwrap();
        assert_eq!(out.status.code(), Some(code), "{signal}: {out:?}");
        assert_eq!(world.json(&["job", "show", "trap"])["runs"][0]["exit_code"], code);
    }
    // A wrapper that is killed records nothing; the next look notices that, and the command goes on by itself.
    let ready = world.test.folder("signals").join("ready");
    let script = format!(": > {}; exec sleep 1", ready.display());
    let mut child = started(&world, &["job", "run", "killed", "--", "sh", "-c", &script]);
    wait_for(&ready);
    assert_eq!(world.json(&["job", "show", "killed"])["runs"][0]["status"], "running");
    send("-KILL", &child);
    assert_eq!(child.wait().unwrap().signal(), Some(9));
    let shown = world.json(&["job", "show", "killed"]);
    assert_eq!(shown["runs"][0]["status"], "failed", "{shown}");
    assert!(shown["runs"][0]["error"].as_str().unwrap().starts_with("cut off"), "{shown}");
    assert!(active(&world).contains("Job killed failed (cut off"), "{}", active(&world));
}

#[test]
fn a_command_whose_time_is_up_is_ended_with_all_it_has_started() {
    let world = World::new();
    let began = Instant::now();
    let script = "sleep 600 & echo $!; sleep 600";
    let out = world.run(&["job", "run", "slow", "--json", "--timeout", "1", "--", "sh", "-c", script]);
    assert!(began.elapsed() < Duration::from_secs(30), "{:?}", began.elapsed());
    assert_eq!(out.status, Some(124));
    let record = record(&out.stderr);
    assert_eq!((&record["signal"], &record["passed"]), (&json!(15), &json!(124)), "{record}");
    assert!(record["error"].as_str().unwrap().contains("time was up"), "{record}");
    let grandchild = out.stdout.trim();
    let gone = (0..200).any(|_| {
        std::thread::sleep(Duration::from_millis(10));
        let state = Command::new("ps").args(["-o", "stat=", "-p", grandchild]).output().unwrap();
        let state = String::from_utf8_lossy(&state.stdout).trim().to_owned();
        state.is_empty() || state.starts_with('Z')
    });
    assert!(gone, "{grandchild} is still there");
}

#[test]
fn a_command_that_leaves_others_behind_is_not_waited_for_for_ever() {
    let world = World::new();
    let began = Instant::now();
    let out = world.run(&["job", "run", "forks", "--", "sh", "-c", "sleep 30 & echo started; exit 2"]);
    assert_eq!((out.status, out.stdout.as_str()), (Some(2), "started\n"));
    assert!(began.elapsed() < Duration::from_secs(20), "{:?}", began.elapsed());
    // A closed reader (`| head`) ends the command as it would without the wrapper.
    let mut command = world.test.command("sh");
    command.args(["-c", &format!("{HEIRLOOM} job run yes -- yes | head -n 1")]);
    assert_eq!(run(command, b"").stdout, "y\n");
    assert_eq!(world.json(&["job", "show", "yes"])["runs"][0]["signal"], 13);
}

#[test]
fn eight_jobs_at_once_are_all_recorded() {
    let world = World::new();
    let children: Vec<Child> = (0..8)
        .map(|n| {
            let (name, script) = (format!("job{}", n % 4), format!("echo number {n}; exit {n}"));
            started(&world, &["job", "run", &name, "--", "sh", "-c", &script])
        })
        .collect();
    for (n, child) in children.into_iter().enumerate() {
        let out = child.wait_with_output().unwrap();
        assert_eq!(out.status.code(), Some(n as i32), "{out:?}");
        assert!(out.stderr.is_empty(), "{}", String::from_utf8_lossy(&out.stderr));
    }
    let mut said = Vec::new();
    for n in 0..4 {
        let shown = world.json(&["job", "show", &format!("job{n}")]);
        for run in shown["runs"].as_array().unwrap() {
            let text = fs::read_to_string(tree(&world).join(run["artifact"].as_str().unwrap())).unwrap();
            assert!(text.contains(&format!("number {}\n", run["exit_code"])), "{run}: {text}");
            said.push(run["exit_code"].as_i64().unwrap());
        }
    }
    said.sort_unstable();
    assert_eq!(said, (0..8).collect::<Vec<_>>());
    let note = fs::read_to_string(&files(&tree(&world).join("continuity/daily"), ".md")[0]).unwrap();
    assert_eq!(note.matches("Job job").count(), 8, "{note}");
    world.verified();
}

#[test]
fn whatever_is_wrong_with_the_memory_the_command_runs() {
    // There is no memory yet: it is made.
    let world = World::new();
    let (code, record) = job(&world, "first", "exit 3");
    assert_eq!((code, &record["exit_code"]), (Some(3), &json!(3)));

    // Another process holds the ledger longer than the wrapper waits.
    let holder = Connection::open(world.ledger()).unwrap();
    holder.execute_batch("BEGIN EXCLUSIVE").unwrap();
    let done = world.test.folder("done").join("done");
    let began = Instant::now();
    let script = format!("echo said; : > {}; exit 5", done.display());
    let child = started(&world, &["job", "run", "locked", "--", "sh", "-c", &script]);
    wait_for(&done);
    assert!(
        began.elapsed() < Duration::from_secs(8),
        "it starts without waiting for the memory: {:?}",
        began.elapsed()
    );
    // The ledger becomes free while the wrapper waits to record the end: the run is recorded after all.
    holder.execute_batch("ROLLBACK").unwrap();
    let out = child.wait_with_output().unwrap();
    assert_eq!((out.status.code(), out.stdout.as_slice()), (Some(5), &b"said\n"[..]), "{out:?}");
    assert_eq!(world.json(&["job", "show", "locked"])["runs"][0]["exit_code"], 5);

    holder.execute_batch("BEGIN EXCLUSIVE").unwrap();
    let out = world.run(&["job", "run", "locked", "--json", "--", "sh", "-c", "echo said; exit 6"]);
    holder.execute_batch("ROLLBACK").unwrap();
    assert_eq!((out.status, out.stdout.as_str()), (Some(6), "said\n"), "{out:?}");
    assert!(out.stderr.contains("is not recorded"), "{out:?}");
    assert_eq!(self::record(&out.stderr)["passed"], 6);
    assert_eq!(world.json(&["job", "show", "locked"])["runs"].as_array().unwrap().len(), 1);

    // A home that is a file, a ledger that is not a database, an invalid agent id.
    let home = world.test.folder("odd").join("file");
    fs::write(&home, "a file").unwrap();
    let out = world.run(&["--home", home.to_str().unwrap(), "job", "run", "x", "--", "sh", "-c", "echo said; exit 7"]);
    assert_eq!((out.status, out.stdout.as_str()), (Some(7), "said\n"), "{out:?}");
    assert!(out.stderr.contains("is not a directory"), "{out:?}");
    let out = world.run(&["--agent", "Not An Agent", "job", "run", "x", "--", "false"]);
    assert!(out.status == Some(1) && out.stderr.contains("is not recorded"), "{out:?}");
    let broken = world.test.folder("odd/broken/state");
    fs::write(broken.join("runtime.db"), "no database at all".repeat(300)).unwrap();
    let broken = broken.parent().unwrap();
    Command::new("chmod").args(["-R", "go-w"]).arg(broken).status().unwrap();
    let out = world.run(&["--home", broken.to_str().unwrap(), "job", "run", "x", "--", "sh", "-c", "exit 8"]);
    assert!(out.status == Some(8) && out.stderr.contains("damaged"), "{out:?}");
}

#[test]
fn artifacts_channels_and_drafts_have_their_commands() {
    let world = World::new();
    let note = world.test.folder("in").join("note.md");
    fs::write(&note, "# A note\n\nkestrel\n").unwrap();
    let added = world.json(&["artifact", "add", "My note", "--file", note.to_str().unwrap()]);
    let id = added["items"][0]["id"].as_str().unwrap().to_owned();
    assert!(id.starts_with("a:") && id.ends_with("-my-note"), "{added}");
    assert_eq!(world.feed(&["artifact", "add", "Piped"], b"from a pipe\n").status, Some(0));
    world.json_of(2, &["artifact", "add", "Nothing"]);
    world.json_of(4, &["artifact", "add", "Gone", "--file", "/no/such/file"]);
    assert_eq!(world.json(&["artifact", "list"])["all"], 2);
    assert!(world.says(0, &["artifact", "show", &id]).contains("kestrel"));
    assert!(world.says(0, &["artifact", "show", "my NOTE"]).contains("kestrel"));

    let hostile = "Eve\u{1b}[2J\nrm -rf\u{202e}";
    world.json(&["channel", "ask", "telegram", "4711", "--name", hostile, "--detail", "password=hunter2hunter2"]);
    let listed = world.says(0, &["channel", "pending"]);
    assert!(
        listed.contains("c:1") && !listed.contains(['\u{1b}', '\u{202e}']) && !listed.contains("hunter2h"),
        "{listed}"
    );
    assert!(active(&world).contains("channel approve 1"));
    assert_eq!(world.json(&["channel", "deny", "telegram/4711"])["events"][0]["state"], "denied");
    world.json_of(3, &["channel", "approve", "1"]);
    assert!(!active(&world).contains("channel approve"));
    assert_eq!(world.json(&["channel", "pending"])["all"], 0);
    assert_eq!(world.json(&["channel", "pending", "--all"])["all"], 1);
    world.json_of(2, &["channel", "ask", "telegram", "a\nb"]);

    let drafts = world.test.home().join("runtime/main/codex/drafts");
    fs::create_dir_all(&drafts).unwrap();
    fs::write(drafts.join("plan.md"), "# Plan\n").unwrap();
    fs::write(drafts.join("noise.txt"), "noise").unwrap();
    fs::write(drafts.join("data"), b"\xff").unwrap();
    assert_eq!(world.json(&["draft", "list"])["drafts"].as_array().unwrap().len(), 3);
    assert!(world.says(3, &["draft", "promote", "codex/data"]).contains("is no text"));
    world.json_of(2, &["draft", "promote", "codex/../plan.md"]);
    world.json_of(2, &["draft", "promote", "codex/plan.md", "codex/noise.txt", "--title", "Two"]);
    let kept = world.json(&["draft", "promote", "codex/plan.md", "--title", "The plan"]);
    assert!(kept["items"][0]["path"].as_str().unwrap().ends_with("-the-plan.md"), "{kept}");
    world.json(&["draft", "discard", "codex/noise.txt", "codex/data"]);
    assert_eq!(fs::read_dir(&drafts).unwrap().count(), 0);
    world.verified();
}
