//! `heirloom up`, as a newcomer uses it.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

use heirloom_testkit::{recordings, run};
use serde_json::Value;

use crate::world::{HEIRLOOM, World, copy_tree, let_it_settle, listing, names, openclaw, opencode};

#[test]
fn a_machine_without_sessions_is_told_so_and_gets_an_empty_memory() {
    let world = World::new();
    let said = world.says(0, &["up"]);
    assert!(said.contains("No sessions on this machine"), "{said}");
    assert!(said.contains("heirloom up --demo"), "{said}");
    for program in ["Claude Code", "Codex", "OpenCode", "OpenClaw"] {
        assert!(said.lines().any(|l| l.contains(program) && l.contains("not found")), "{program}: {said}");
    }
    assert!(said.contains("heirloom service install"), "{said}");
    let json = world.json(&["up"]);
    assert_eq!((&json["import"]["records"], &json["stored"]["sessions"]), (&0.into(), &0.into()), "{json}");
    // Whatever says that `up` makes the memory is right.
    assert!(world.says(0, &["service", "status"]).contains("does not run"));
    world.says(0, &["doctor"]);
    world.verified();
    let made: Vec<_> = fs::read_dir(world.test.user()).unwrap().map(|entry| entry.unwrap().path()).collect();
    assert!(made.iter().all(|path| *path == world.test.home()), "nothing else is made: {made:?}");
}

#[test]
fn the_demo_imports_its_samples_every_time_and_leaves_the_memory_alone() {
    let world = World::new();
    let mut last = None;
    for _ in 0..2 {
        let json = world.json(&["up", "--demo"]);
        names(&json, "home programs import stored threads now connect");
        assert_eq!(json["stored"]["sessions"], 5, "{json}");
        assert!(json["import"]["turns"]["new"].as_i64().unwrap() > 60, "{json}");
        assert_eq!(json["import"]["problems"], Value::Array(vec![]));
        if let Some(last) = last.replace(json["stored"].clone()) {
            assert_eq!(last, json["stored"]);
        }
    }
    let said = world.says(0, &["up", "--demo"]);
    assert!(said.contains("These were sample sessions"), "{said}");
    assert!(said.contains("/heirloom/demo/machine/claude/projects"), "the samples are not the user's own: {said}");
    // The printed example command works as it stands.
    let search = said.lines().find_map(|l| l.strip_prefix("Search it")).unwrap().trim();
    let home = search.split(' ').nth(2).unwrap();
    let query = search.split('"').nth(1).unwrap();
    let found = world.says(0, &["--home", home, "search", query]);
    assert!(found.to_lowercase().contains("redis"), "{found}");
    world.says(0, &["--home", home, "verify"]);
    assert!(!world.test.home().exists(), "the demo has a home of its own");
}

#[test]
fn the_readme_begins_with_commands_that_exist() {
    let readme = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../README.md");
    let Ok(text) = fs::read_to_string(&readme) else {
        println!("skipped: there is no README.md yet");
        return;
    };
    for command in ["cargo run --release -- up", "cargo test --workspace --locked"] {
        assert!(text.contains(command), "README.md should name: {command}");
    }
}

/// Puts all four programs at their usual places; returns the one OpenClaw message that is stored compressed.
fn machine(user: &Path, shared: &Path) -> (BTreeMap<&'static str, PathBuf>, String) {
    let samples = shared.join("harness/samples");
    copy_tree(&samples.join("claude/transcripts"), &user.join(".claude/projects"));
    copy_tree(&samples.join("codex/transcripts"), &user.join(".codex/sessions"));
    opencode(&user.join(".local/share/opencode/opencode.db"), shared);
    let packed = openclaw(&user.join(".openclaw/agents/main/agent/openclaw-agent.sqlite"), shared);
    let stores = [
        ("claude-code", user.join(".claude")),
        ("codex", user.join(".codex")),
        ("opencode", user.join(".local/share")),
        ("openclaw", user.join(".openclaw")),
    ];
    (stores.into(), packed)
}

fn stores_of(json: &Value) -> BTreeMap<&str, u64> {
    let programs = json["programs"].as_array().unwrap().iter();
    programs.map(|p| (p["program"].as_str().unwrap(), p["stores"].as_u64().unwrap())).collect()
}

/// Tests with sessions recorded from the real programs, which are too private and too large for the repository.
mod recorded {
    use super::*;

    #[test]
    #[ignore = "needs the recorded sessions beside the repository: just real"]
    fn all_four_programs_are_found_and_their_stores_left_as_they_were() {
        let shared = recordings();
        let world = World::new();
        let (stores, packed) = machine(&world.test.user(), &shared);
        let before: Vec<_> = stores.values().map(|s| listing(s)).collect();
        let_it_settle();

        let json = world.json(&["up"]);
        names(&json, "home programs import stored threads now connect");
        names(&json["import"], "sources records bytes turns set_aside private seconds problems");
        names(&json["import"]["sources"], "read unchanged failed rewritten");
        names(&json["import"]["turns"], "new known shared");
        names(&json["stored"], "sessions turns workspaces source_bytes first_at last_at");
        for program in json["programs"].as_array().unwrap() {
            names(program, "program root stores bytes soon_deleted");
            assert!(program["root"].is_string() && program["bytes"].as_u64().unwrap() > 0, "{program}");
        }
        let found = stores_of(&json);
        assert_eq!(found, [("claude-code", 6), ("codex", 4), ("opencode", 1), ("openclaw", 1)].into(), "{json}");
        let sessions = world.sessions();
        for program in stores.keys() {
            assert!(sessions.iter().any(|s| s.starts_with(&format!("{program}:"))), "{program}: {sessions:?}");
        }
        let of_openclaw = sessions.iter().find(|s| s.starts_with("openclaw:")).unwrap();
        assert!(world.turns(of_openclaw).iter().any(|t| t["text"] == packed.as_str()), "what was compressed is read");

        let again = world.json(&["up"]);
        assert_eq!(again["import"]["turns"], serde_json::json!({"new": 0, "known": 0, "shared": 0}));
        assert_eq!(again["stored"], json["stored"]);
        let said = world.says(0, &["up"]);
        assert!(said.contains("Nothing new since the last time."), "{said}");
        for title in ["Claude Code", "Codex", "OpenCode", "OpenClaw"] {
            assert!(said.lines().any(|l| l.contains(title) && !l.contains("not found")), "{title}: {said}");
        }
        let after: Vec<_> = stores.values().map(|s| listing(s)).collect();
        assert!(before == after, "the programs' own files are as they were, and none was added");
        world.verified();
    }

    #[test]
    #[ignore = "needs the recorded sessions beside the repository: just real"]
    fn programs_that_were_moved_are_found_where_their_variables_say() {
        let shared = recordings();
        let world = World::new();
        let (stores, _) = machine(&world.test.folder("elsewhere"), &shared);
        let with = |variables: &[(&str, &Path)], args: &[&str]| -> Value {
            let mut command = world.test.command(HEIRLOOM);
            command.args(args).arg("--json").envs(variables.iter().copied());
            let out = run(command, b"");
            assert_eq!(out.status, Some(0), "{}{}", out.stdout, out.stderr);
            serde_json::from_str(&out.stdout).unwrap()
        };
        let variables = [
            ("CLAUDE_CONFIG_DIR", "claude-code"),
            ("CODEX_HOME", "codex"),
            ("XDG_DATA_HOME", "opencode"),
            ("OPENCLAW_STATE_DIR", "openclaw"),
        ];
        for (variable, program) in variables {
            let home = world.test.folder("homes").join(program);
            let found = with(&[(variable, &stores[program])], &["up", "--home", home.to_str().unwrap()]);
            for (name, n) in stores_of(&found) {
                assert_eq!(n > 0, name == program, "{variable}: {name} has {n}");
            }
            assert_eq!(found["import"]["problems"], serde_json::json!([]), "{variable}");
        }
        // The XDG specification says that a relative folder must be ignored.
        let found = with(&[("XDG_DATA_HOME", Path::new("share"))], &["up"]);
        assert!(stores_of(&found).values().all(|&n| n == 0), "{found}");
        assert_eq!(found["import"]["sources"]["read"], 0, "{found}");
    }
}
