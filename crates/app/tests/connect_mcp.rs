//! `heirloom connect` offers MCP: to programs with hooks, and to programs without.

use std::fs;

use serde_json::{Value, json};

use crate::connect::{machine, with};
use crate::world::{HEIRLOOM, World};

#[test]
fn every_program_can_ask_by_itself() {
    let entry = |world: &World, file: &str, path: &str| -> Value {
        let text = fs::read_to_string(world.test.user().join(file)).unwrap_or_default();
        serde_json::from_str::<Value>(&text).unwrap_or_default().pointer(path).cloned().unwrap_or_default()
    };
    let forms = [
        (
            "claude-code",
            ".claude.json",
            "/mcpServers/heirloom",
            json!({"type": "stdio", "command": HEIRLOOM, "args": ["mcp"], "env": {}}),
        ),
        (
            "opencode",
            ".config/opencode/opencode.json",
            "/mcp/heirloom",
            json!({"type": "local", "command": [HEIRLOOM, "mcp"], "enabled": true}),
        ),
        ("openclaw", ".openclaw/openclaw.json", "/mcp/servers/heirloom", json!({"command": HEIRLOOM, "args": ["mcp"]})),
    ];
    for (program, file, path, wanted) in &forms {
        let world = World::new();
        let without = world.json(&["connect", program, "--yes", "--no-mcp"]);
        assert_eq!(
            (entry(&world, file, path), &without["programs"][0]["mcp"]),
            (Value::Null, &Value::Null),
            "{program}"
        );
        let preview = world.says(0, &["connect", program, "--dry-run"]);
        assert!(preview.contains("over MCP") && preview.contains("+"), "{preview}");
        let with = world.json(&["connect", program, "--yes"]);
        assert_eq!(with["programs"][0]["state"], "already connected", "{with}");
        assert_eq!(with["programs"][0]["mcp"]["state"], "connected", "{with}");
        assert_eq!(&entry(&world, file, path), wanted, "{program}");
        assert_eq!(world.json(&["connect", program, "--yes"])["programs"][0]["mcp"]["state"], "already connected");
        // The program rewrites its own file.
        let at = world.test.user().join(file);
        let mut text: Value = serde_json::from_slice(&fs::read(&at).unwrap()).unwrap();
        text["theirs"] = json!(1);
        fs::write(&at, text.to_string()).unwrap();
        let gone = world.json(&["disconnect", program]);
        assert_eq!(gone["programs"][0]["mcp"].as_array().unwrap().len(), 1, "{gone}");
        assert_eq!((entry(&world, file, path), entry(&world, file, "/theirs")), (Value::Null, json!(1)), "{program}");
        assert!(!String::from_utf8(fs::read(&at).unwrap()).unwrap().contains("heirloom"), "{program}");
    }
    // An MCP server of that name which is not ours is left alone, and the hooks are connected without it.
    let (world, settings) = with("", ".claude.json", r#"{"mcpServers": {"heirloom": {"command": "node"}}}"#);
    let before = fs::read(&settings).unwrap();
    let json = world.json(&["connect", "claude-code", "--yes"]);
    assert_eq!(json["programs"][0]["state"], "connected", "{json}");
    world.json(&["disconnect", "claude-code"]);
    assert_eq!(fs::read(&settings).unwrap(), before);
    fs::write(&settings, "{ not JSON").unwrap();
    let said = world.says(0, &["connect", "claude-code", "--yes"]);
    assert!(said.contains("connected; takes effect") && said.contains("is not offered MCP"), "{said}");
    // With --mcp only the MCP settings are written.
    let world = World::new();
    let json = world.json(&["connect", "codex", "--yes", "--mcp"]);
    assert_eq!(json["programs"][0]["mcp"]["state"], "connected", "{json}");
    assert!(!world.test.user().join(".codex/hooks.json").exists());
    let text = fs::read_to_string(world.test.user().join(".codex/config.toml")).unwrap();
    assert_eq!(text, format!("[mcp_servers.heirloom]\ncommand = \"{HEIRLOOM}\"\nargs = [\"mcp\"]\n"));
    assert!(world.says(0, &["disconnect"]).contains("disconnected"));
    assert!(!world.test.user().join(".codex/config.toml").exists());
}

#[test]
fn programs_without_hooks_are_offered_mcp_where_they_are() {
    let form = json!({"command": HEIRLOOM, "args": ["mcp"]});
    let typed = json!({"type": "stdio", "command": HEIRLOOM, "args": ["mcp"]});
    // Paths of Linux; macOS keeps the settings of applications elsewhere.
    let cases = [
        ("claude-desktop", ".config/Claude", "claude_desktop_config.json", "/mcpServers/heirloom", &form),
        ("cursor", ".cursor", "mcp.json", "/mcpServers/heirloom", &form),
        ("gemini", ".gemini", "settings.json", "/mcpServers/heirloom", &form),
        ("vscode", ".config/Code/User", "mcp.json", "/servers/heirloom", &typed),
        ("zed", ".config/zed", "settings.json", "/context_servers/heirloom", &form),
    ];
    let read = |world: &World, folder: &str, file: &str| -> Option<String> {
        fs::read_to_string(world.test.user().join(folder).join(file)).ok()
    };
    // Programs are found by their folders; without a folder nothing is made.
    let world = World::new();
    fs::create_dir_all(world.test.user().join(".claude")).unwrap();
    for (_, folder, _, _, _) in &cases[1..] {
        fs::create_dir_all(world.test.user().join(folder)).unwrap();
    }
    // Settings with comments and a trailing comma, as Zed writes them.
    let zed = "// mine\n{\n  \"theme\": \"One\", // dark\n  \"context_servers\": {\"x\": {\"command\": \"y\"}},\n}\n";
    fs::write(world.test.user().join(".config/zed/settings.json"), zed).unwrap();
    let before = machine(&world);
    let preview = world.says(0, &["connect", "--dry-run"]);
    assert!(preview.contains("VS Code can ask Heirloom by itself, over MCP"), "{preview}");
    assert_eq!(machine(&world), before);
    let all = world.json(&["connect", "--yes"]);
    let names: Vec<&str> = all["programs"].as_array().unwrap().iter().filter_map(|p| p["program"].as_str()).collect();
    assert_eq!(names, ["claude-code", "cursor", "gemini", "vscode", "zed"]);
    for (name, folder, file, path, wanted) in &cases[1..4] {
        let text: Value = serde_json::from_str(&read(&world, folder, file).unwrap()).unwrap();
        assert_eq!(text.pointer(path), Some(*wanted), "{name}");
    }
    let text = read(&world, ".config/zed", "settings.json").unwrap();
    assert!(text.starts_with("// mine") && text.contains("\"x\": {\"command\": \"y\"}"), "{text}");
    assert!(text.contains("heirloom") && text.contains("// dark"), "{text}");
    assert!(world.says(0, &["connect", "zed"]).contains("Zed: already connected"));
    let said = world.says(0, &["doctor"]);
    assert!(said.contains("the next session of a connected program makes it"), "{said}");
    assert!(said.contains("ok  Cursor       connected"), "{said}");
    // Disconnecting restores the files to the byte, including those that were made.
    let gone = world.json(&["disconnect"]);
    assert_eq!(gone["programs"].as_array().unwrap().len(), 5, "{gone}");
    assert_eq!(machine(&world), before);
    // A program that was never started gets its file if it is named.
    let (name, folder, file, path, wanted) = &cases[0];
    assert_eq!(world.json(&["connect", name, "--yes"])["programs"][0]["mcp"]["state"], "connected");
    let text: Value = serde_json::from_str(&read(&world, folder, file).unwrap()).unwrap();
    assert_eq!(text.pointer(path), Some(*wanted));
    world.json(&["disconnect", name]);
    assert_eq!(machine(&world), before);
    // These programs have no hooks, and a file that cannot be parsed is left alone.
    let said = world.says(2, &["connect", "cursor", "--no-mcp"]);
    assert!(said.contains("asks over MCP"), "{said}");
    fs::write(world.test.user().join(".cursor/mcp.json"), "{ not JSON").unwrap();
    let refused = world.says(3, &["connect", "cursor", "--yes"]);
    assert!(refused.contains("Cursor: nothing was changed") && refused.contains("line 1"), "{refused}");
    assert_eq!(read(&world, ".cursor", "mcp.json").unwrap(), "{ not JSON");
}
