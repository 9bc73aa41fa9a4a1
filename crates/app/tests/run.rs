//! `heirloom run`: a program with its memory, unconfined or confined to the project.

use std::fs;
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};
use std::process::Command;

use heirloom_testkit::Output;
use serde_json::{Value, json};

use crate::world::{HEIRLOOM, World, claude_line};

/// A user with an installed program: a script that records how it was started.
struct Started {
    world: World,
    bin: PathBuf,
    project: PathBuf,
}

impl Started {
    fn new(name: &str, script: &str) -> Started {
        let world = World::new();
        let bin = world.test.folder("programs");
        executable(&bin.join(name), &format!("#!/bin/sh\nprintf '%s\\n' \"$@\" > arguments\npwd > at\n{script}\n"));
        let project = world.test.user().join("barn");
        fs::create_dir_all(&project).unwrap();
        Started { world, bin, project }
    }

    fn run(&self, args: &[&str]) -> Output {
        let mut command: Command = self.world.test.command(HEIRLOOM);
        let path = std::env::var("PATH").unwrap_or_default();
        command.args(args).current_dir(&self.project).env("PATH", format!("{}:{path}", self.bin.display()));
        heirloom_testkit::run(command, b"")
    }

    fn arguments(&self) -> Vec<String> {
        fs::read_to_string(self.project.join("arguments")).unwrap_or_default().lines().map(str::to_owned).collect()
    }

    fn was_started(&self) -> bool {
        self.project.join("arguments").exists()
    }
}

fn executable(path: &Path, text: &str) {
    fs::write(path, text).unwrap();
    fs::set_permissions(path, fs::Permissions::from_mode(0o755)).unwrap();
}

const SESSION: &str = "7b1b9c1e-0b7d-4e55-9a41-6c1d2e3f4a5b";

/// Returns shell lines that write a session as Claude Code does, in its home.
fn says(words: &str) -> String {
    let line = claude_line(SESSION, 1, "user", words);
    format!(
        "mkdir -p \"$HOME/.claude/projects/-barn\"\ncat > \"$HOME/.claude/projects/-barn/{SESSION}.jsonl\" <<'END'\n{line}\nEND"
    )
}

#[test]
fn a_program_that_is_not_connected_is_connected_for_this_run_only() {
    let started = Started::new("claude", &format!("{}\nexit 7", says("the walrus sleeps in the barn")));
    let out = started.run(&["run", "claude", "--json", "--", "--model", "small", "hello there"]);
    assert_eq!(out.status, Some(7), "{}{}", out.stdout, out.stderr);
    let arguments = started.arguments();
    assert_eq!(
        (arguments[0].as_str(), &arguments[2..]),
        ("--settings", &["--model", "small", "hello there"].map(str::to_owned)[..])
    );
    let settings: Value = serde_json::from_str(&arguments[1]).unwrap();
    let call = settings["hooks"]["UserPromptSubmit"][0]["hooks"][0]["command"].as_str().unwrap();
    assert!(call.ends_with("hook claude-code UserPromptSubmit"), "{call}");
    assert!(!started.world.test.user().join(".claude/settings.json").exists(), "its settings stay as they are");
    // The session is imported after the run, although no hook reported it.
    let record: Value = serde_json::from_str(out.stderr.lines().last().unwrap()).unwrap();
    assert_eq!(
        (&record["connected"], &record["passed"], &record["new_turns"]),
        (&json!("this run"), &json!(7), &json!(1))
    );
    assert_eq!(started.world.found("walrus").len(), 1);
    // The hook in the given settings stores its payload, and gives a context.
    started.world.says(0, &["remember", "--class", "preference", "Answer in short sentences"]);
    let payload =
        json!({"session_id": "x", "cwd": started.project, "hook_event_name": "SessionStart", "source": "startup"});
    let mut shell = started.world.test.command("sh");
    shell.args(["-c", call.replace("UserPromptSubmit", "SessionStart").as_str()]);
    let given = heirloom_testkit::run(shell, payload.to_string().as_bytes());
    assert!(given.stdout.contains("short sentences"), "{}", given.stdout);
}

#[test]
fn a_connected_program_is_started_as_it_is() {
    let started = Started::new("claude", "kill -TERM $$");
    fs::create_dir_all(started.world.test.user().join(".claude")).unwrap();
    started.world.says(0, &["connect", "claude-code", "--yes"]);
    let out = started.run(&["run", "claude-code", "--", "-p", "hi"]);
    assert_eq!((out.status, out.stdout.as_str()), (Some(143), ""), "{}", out.stderr);
    assert_eq!(started.arguments(), ["-p", "hi"]);
}

#[test]
fn what_cannot_be_started_with_its_memory_is_not_started() {
    let started = Started::new("codex", "");
    let said = |args: &[&str], code: i32, what: &str| {
        let out = started.run(args);
        assert_eq!(out.status, Some(code), "{}", out.stderr);
        assert!(out.stderr.contains(what), "{}", out.stderr);
        assert!(!started.was_started());
    };
    said(&["run", "codex"], 3, "heirloom connect codex");
    said(&["run", "opencode"], 4, "there is no opencode on the PATH");
    said(&["run", "cursor"], 2, "is not started by Heirloom");
    said(&["run", "nobody"], 2, "there is no program \"nobody\"");
    said(&["run", "codex", "--show", "/srv"], 2, "--confine");
}

#[test]
fn without_bubblewrap_nothing_is_started_confined() {
    let started = Started::new("claude", "");
    let mut command = started.world.test.command(HEIRLOOM);
    command.args(["run", "claude", "--confine"]).current_dir(&started.project).env("PATH", &started.bin);
    let out = heirloom_testkit::run(command, b"");
    assert_eq!(out.status, Some(3), "{}", out.stderr);
    assert!(
        out.stderr.contains("no bwrap on the PATH") && out.stderr.contains("leave out --confine"),
        "{}",
        out.stderr
    );
    assert!(!started.was_started());
}

/// Returns whether programs can be confined here at all; containers often forbid it.
fn can_confine() -> bool {
    let tried = Command::new("bwrap").args(["--ro-bind", "/", "/", "--unshare-pid", "true"]).status();
    let can = tried.is_ok_and(|status| status.success());
    if !can {
        println!("bwrap does not run here; what it confines is not tested");
    }
    can
}

#[test]
fn a_confined_program_has_the_project_its_state_and_the_memory() {
    if !can_confine() {
        return;
    }
    let script = format!(
        "{}\nls -A \"$OUTSIDE\" > outside 2>&1; ls -d /workspace /runtime > links\necho \"$HOME\" > home
echo x > \"$OUTSIDE/written\"; echo x > /workspace/by-link; echo draft > /runtime/left
printf '%s' '{{\"session_id\":\"{SESSION}\",\"cwd\":\"'\"$(pwd -P)\"'\",\"hook_event_name\":\"UserPromptSubmit\",\"prompt\":\"an otter asks\",\"prompt_id\":\"r1\"}}' |
  sh -c \"$(sed -n 's/.*\"command\": *\"\\(.* UserPromptSubmit\\)\".*/\\1/p' \"$HOME/.claude/settings.json\" | sed 's/\\\\\"/\"/g')\"",
        says("the walrus is confined")
    );
    let started = Started::new("claude", &script);
    let user = started.world.test.user();
    let secret = user.join("secrets");
    fs::create_dir_all(&secret).unwrap();
    fs::write(secret.join("key"), "k").unwrap();
    let mut command = started.world.test.command(HEIRLOOM);
    let path = std::env::var("PATH").unwrap_or_default();
    let args = ["run", "claude", "--confine", "--json", "--", "hi"];
    command.args(args).current_dir(&started.project).env("PATH", format!("{}:{path}", started.bin.display()));
    command.env("OUTSIDE", &secret);
    let out = heirloom_testkit::run(command, b"");
    assert_eq!(out.status, Some(0), "{}{}", out.stdout, out.stderr);
    let record: Value = serde_json::from_str(out.stderr.lines().last().unwrap()).unwrap();
    assert_eq!((&record["connected"], &record["new_turns"]), (&json!("private"), &json!(1)), "{record}");
    let state = PathBuf::from(record["state"].as_str().unwrap());
    let read = |name: &str| fs::read_to_string(started.project.join(name)).unwrap();
    assert_eq!(started.arguments(), ["hi"]);
    assert!(read("outside").contains("No such file"), "{}", read("outside"));
    assert_eq!(read("home").trim(), state.to_str().unwrap());
    assert!(read("links").contains("/workspace") && started.project.join("by-link").exists());
    assert!(state.join("left").exists() && !secret.join("written").exists());
    assert!(!user.join(".claude").exists(), "the user's own settings are not touched");
    // The session belongs to the same project as one outside of the sandbox.
    assert_eq!(started.world.found("walrus").len(), 1);
    let otter = started.world.found("otter");
    assert_eq!(otter.len(), 1, "the hook in the sandbox stored the prompt");
    let sessions = started.world.json(&["session", "list"]);
    assert_eq!(sessions["sessions"][0]["workspace"], "barn", "{sessions}");
}
