//! Places of programs' settings: below a home of any name, and in the folders that variables name.

use std::fs;
use std::path::PathBuf;

use heirloom_testkit::run;
use serde_json::Value;

use crate::connect::machine;
use crate::world::{HEIRLOOM, World, listing};

/// The user's folder may have blanks, quotes and letters of any script in its name.
#[test]
fn a_user_may_be_called_anything() {
    let world = World::new();
    let user = world.test.folder("Jürgen's \"home\" 日本 $HOME");
    for folder in [".claude", ".codex", ".openclaw", ".config/opencode"] {
        fs::create_dir_all(user.join(folder)).unwrap();
    }
    let before = listing(&user);
    let call = |args: &[&str]| {
        let mut command = world.test.command(HEIRLOOM);
        command.env("HOME", &user).env("HEIRLOOM_HOME", user.join(".own home")).args(args);
        let out = run(command, b"");
        assert_eq!(out.status, Some(0), "{args:?}: {}{}", out.stdout, out.stderr);
        out.stdout
    };
    call(&["connect", "--yes", "--trust"]);
    let read = |name: &str| fs::read_to_string(user.join(name)).unwrap();
    let home = user.join(".own home").display().to_string();
    for name in [".claude/settings.json", ".codex/hooks.json"] {
        let settings: Value = serde_json::from_str(&read(name)).unwrap();
        let told = settings["hooks"]["Stop"][0]["hooks"][0]["command"].as_str().unwrap();
        let words =
            std::process::Command::new("/bin/sh").args(["-c", &format!("printf '%s\\n' {told}")]).output().unwrap();
        let words = String::from_utf8(words.stdout).unwrap();
        assert_eq!(words.lines().nth(2), Some(home.as_str()), "{told}");
    }
    for name in [".config/opencode/plugin/heirloom.js", ".openclaw/plugins-local/heirloom/index.js"] {
        let script = read(name);
        let told = script.lines().find_map(|l| l.strip_prefix("const HEIRLOOM = ")).unwrap();
        assert_eq!(serde_json::from_str::<Vec<String>>(told).unwrap()[2], home);
    }
    let again: Value = serde_json::from_str(&call(&["connect", "--trust", "--json"])).unwrap();
    for program in again["programs"].as_array().unwrap() {
        assert_eq!(program["state"], "already connected", "{program}");
        assert!(program["trust"].is_null() || program["trust"] == "trusted", "{program}");
    }
    call(&["disconnect"]);
    fs::remove_dir_all(user.join(".own home")).unwrap();
    assert_eq!(listing(&user), before);
}

/// Folders named by variables are used, and settings there are protected like others.
#[test]
fn variables_name_other_places() {
    let world = World::new();
    let place = world.test.folder("elsewhere");
    let command = |args: &[&str]| {
        let mut command = world.test.command(HEIRLOOM);
        command
            .env("CLAUDE_CONFIG_DIR", place.join("claude"))
            .env("CODEX_HOME", place.join("codex"))
            .env("XDG_CONFIG_HOME", place.join("config"))
            .env("OPENCLAW_STATE_DIR", place.join("claw"))
            .env("OPENCLAW_CONFIG_PATH", place.join("own.json5"))
            .args(args);
        let out = run(command, b"");
        assert_eq!(out.status, Some(0), "{args:?}: {}{}", out.stdout, out.stderr);
    };
    fs::create_dir(place.join("config")).unwrap();
    let before = listing(&place);
    command(&["connect", "claude-code", "codex", "opencode", "openclaw", "--yes"]);
    for made in [
        "claude/settings.json",
        "codex/hooks.json",
        "config/opencode/plugin/heirloom.js",
        "own.json5",
        "claw/plugins-local/heirloom/index.js",
    ] {
        assert!(place.join(made).is_file(), "{made}");
    }
    assert!(!world.test.user().join(".claude").exists());
    command(&["disconnect"]);
    assert_eq!(listing(&place), before);
}

/// OpenClaw may have a home of its own; a more specific variable takes precedence.
#[test]
fn openclaw_is_looked_for_in_its_own_home() {
    let world = World::new();
    let place = world.test.folder("service");
    let call = |more: Option<PathBuf>, args: &[&str]| {
        let mut command = world.test.command(HEIRLOOM);
        command.env("OPENCLAW_HOME", &place).args(args);
        if let Some(folder) = more {
            command.env("OPENCLAW_STATE_DIR", folder);
        }
        let out = run(command, b"");
        assert_eq!(out.status, Some(0), "{args:?}: {}{}", out.stdout, out.stderr);
    };
    for (more, found) in [(None, ".openclaw"), (Some(place.join("state")), "state")] {
        call(more.clone(), &["connect", "openclaw", "--yes"]);
        assert!(place.join(found).join("openclaw.json").is_file(), "{found}");
        call(more, &["disconnect", "openclaw"]);
        assert_eq!(listing(&place).len(), 0);
    }
    assert!(!world.test.user().join(".openclaw").exists());
}

/// A relative path in a variable means another folder in every session: nothing is written there.
#[test]
fn variables_that_name_no_place_are_told() {
    for (program, variable, value) in [
        ("claude-code", "CLAUDE_CONFIG_DIR", "claude"),
        ("claude-code", "CLAUDE_CONFIG_DIR", "~/.claude"),
        ("codex", "CODEX_HOME", "~/codex"),
        ("openclaw", "OPENCLAW_STATE_DIR", "./claw"),
        ("openclaw", "OPENCLAW_CONFIG_PATH", "own.json5"),
        ("openclaw", "OPENCLAW_HOME", "~"),
        ("opencode", "HOME", "somewhere"),
    ] {
        let world = World::new();
        let place = world.test.folder("here");
        let before = machine(&world);
        let mut command = world.test.command(HEIRLOOM);
        command.current_dir(&place).env(variable, value).args(["connect", program, "--yes"]);
        command.env("HEIRLOOM_HOME", world.test.home());
        let out = run(command, b"");
        let said = format!("{}{}", out.stdout, out.stderr);
        assert_eq!(out.status, Some(3), "{variable}={value}: {said}");
        assert!(said.contains("is no absolute path") && said.contains("set the variable"), "{said}");
        assert_eq!((machine(&world), listing(&place).len()), (before, 0), "{variable}={value}");
    }
    // An empty variable counts as unset.
    let world = World::new();
    let mut command = world.test.command(HEIRLOOM);
    command.env("CLAUDE_CONFIG_DIR", "").env("XDG_CONFIG_HOME", "relative").args([
        "connect",
        "claude-code",
        "opencode",
        "--yes",
    ]);
    assert_eq!(run(command, b"").status, Some(0));
    for name in [".claude/settings.json", ".config/opencode/plugin/heirloom.js"] {
        assert!(world.test.user().join(name).is_file(), "{name}");
    }
}
