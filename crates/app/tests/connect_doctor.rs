//! `heirloom doctor` on connections: it says how each program is connected, and finds settings that were changed or that
//! cannot be read.

use std::fs;

use crate::connect::with;
use crate::world::{HEIRLOOM, World};

/// A settings file that cannot be read is a finding, connected or not, by hooks, over MCP, or by trust.
#[test]
fn doctor_finds_settings_that_cannot_be_read() {
    let broken = "model = \"x\"\n\n[mcp_servers.other\ncommand = \"x\"\n";
    let (world, config) = with(".codex", "config.toml", broken);
    world.json(&["agent", "add", "main"]);
    let finding = format!("{} cannot be read: line 3: it is not TOML", config.display());
    let once = |said: &str| {
        assert_eq!(said.matches(&finding).count(), 1, "{said}");
        assert!(said.contains("correct it and run the same command again"), "{said}");
    };
    let said = world.says(1, &["doctor"]);
    once(&said);
    assert!(said.contains("not connected"), "{said}");
    fs::write(&config, "model = \"x\"\n").unwrap();
    assert!(!world.says(0, &["doctor"]).contains("cannot be read"));
    world.json(&["connect", "codex", "--yes", "--no-mcp"]);
    fs::write(&config, broken).unwrap();
    once(&world.says(1, &["doctor"]));

    let (world, config) = with(".config/opencode", "opencode.json", "{ \"a\": ");
    world.json(&["agent", "add", "main"]);
    let said = world.says(1, &["doctor"]);
    assert!(said.contains(&format!("{} cannot be read: line 1", config.display())), "{said}");
}

#[test]
fn doctor_says_how_each_program_is_connected() {
    let world = World::new();
    world.json(&["agent", "add", "main"]);
    for folder in [".claude", ".config/opencode"] {
        fs::create_dir_all(world.test.user().join(folder)).unwrap();
    }
    let said = world.says(0, &["doctor"]);
    assert!(said.contains("not connected") && said.contains("heirloom connect claude-code"), "{said}");
    world.json(&["connect", "--yes"]);
    let said = world.says(0, &["doctor"]);
    assert_eq!(said.matches("  connected").count(), 2, "{said}");
    // Each case breaks the connection in another way: a missing binary, half of the hooks, another form, hooks switched
    // off, two sets of hooks.
    let settings = world.test.user().join(".claude/settings.json");
    let text = fs::read_to_string(&settings).unwrap();
    let finds = |text: String, what: &str| {
        fs::write(&settings, &text).unwrap();
        let said = world.says(1, &["doctor"]);
        assert!(said.contains(what), "{what}: {said}");
    };
    finds(text.replace(HEIRLOOM, "/gone/heirloom"), "calls /gone/heirloom, which cannot be run");
    finds(text.replacen("hook claude-code Stop", "hook claude-code-x Stop", 1), "connected in part only");
    finds(text.replacen("\"timeout\": 2", "\"timeout\": 9", 1), "in an older form");
    finds(text.replacen('{', "{\"disableAllHooks\": true,", 1), "take disableAllHooks out");
    finds(text.replacen('{', "{\"enabledPlugins\": {\"heirloom@heirloom\": true},", 1), "told twice");
    finds("{".into(), "cannot be read: line 1");
    fs::write(&settings, &text).unwrap();
    // Doctor names the program's version of its newest session.
    let projects = world.test.user().join(".claude/projects/-p");
    fs::create_dir_all(&projects).unwrap();
    fs::write(projects.join("s.jsonl"), crate::world::claude_line("s", 1, "user", "hello there")).unwrap();
    world.json(&["up"]);
    assert!(world.says(0, &["doctor"]).contains("last seen as 2.1.330"));
    let plugin = world.test.user().join(".config/opencode/plugin/heirloom.js");
    let script = fs::read_to_string(&plugin).unwrap();
    fs::write(&plugin, script.replace(HEIRLOOM, "/gone/heirloom")).unwrap();
    assert!(world.says(1, &["doctor"]).contains("or was changed since"));
    fs::write(&plugin, &script).unwrap();
    world.says(0, &["doctor"]);
}
