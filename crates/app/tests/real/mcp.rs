//! The MCP tools, as the model of each real program sees and calls them.

use std::fs;
use std::io::Write;

use heirloom_testkit::fake_model::{Purpose, Reply};
use serde_json::json;

use super::{ClaudeCode, Codex, Machine, OpenCode, Program};
use crate::world::HEIRLOOM;

/// Stores a turn of a conversation that none of the programs had.
fn told(machine: &Machine) {
    let line = json!({"session": "talk", "id": "1", "time": "2026-11-20T10:00:00Z", "role": "assistant",
                      "text": "We chose Postgres for the orders queue because it is there already."});
    assert_eq!(machine.world.feed(&["append"], format!("{line}\n").as_bytes()).status, Some(0));
    machine.world.says(0, &["session", "end", "turns:talk"]);
}

/// The model of a program is offered the tool, calls it, and receives the stored words.
fn is_asked(machine: &Machine, program: &mut dyn Program) {
    told(machine);
    machine.model.answers(Box::new(|asked| {
        let tool = asked.tools.iter().find(|t| t.name.ends_with("recall_memory"))?;
        if asked.purpose != Purpose::Turn || asked.after_tool {
            return None;
        }
        Some(Reply::call(
            tool.name.clone(),
            json!({"question": "which store for the orders queue", "everywhere": true}),
        ))
    }));
    let mark = machine.model.mark();
    let project = machine.project("shop");
    program.turn(&project, "Which store did we choose for orders?", None);
    let asked = machine.model.asked_since(mark);
    let offered = asked.iter().flat_map(|a| &a.tools).find(|t| t.name.ends_with("recall_memory"));
    let ours = |t: &&heirloom_testkit::fake_model::Tool| {
        t.name.contains("heirloom") || t.namespace.as_deref().is_some_and(|group| group.contains("heirloom"))
    };
    let first = asked.iter().find(|a| a.purpose == Purpose::Turn && !a.after_tool);
    let list: Vec<_> = first.iter().flat_map(|a| &a.tools).filter(ours).collect();
    println!(
        "{}: {} entries of our tools in a request, {} bytes",
        program.name(),
        list.len(),
        list.iter().map(|tool| tool.bytes).sum::<usize>()
    );
    assert!(offered.is_some(), "{}: {:?}", program.name(), asked.iter().map(|a| &a.tools).collect::<Vec<_>>());
    let heard = asked.iter().rfind(|a| a.after_tool).map(|a| a.heard.clone()).unwrap_or_default();
    let answer = heard.find("<heirloom-memory").zip(heard.rfind("</heirloom-memory>"));
    println!("{}: {} bytes of one answer", program.name(), answer.map_or(0, |(from, to)| to.saturating_sub(from) + 18));
    let said = "We chose Postgres for the orders queue";
    assert!(heard.contains(said) && heard.contains("<heirloom-memory"), "{}: {heard}", program.name());
}

#[test]
#[ignore = "needs the real programs: scripts/real-programs"]
fn claude_code_asks_the_tools() {
    let machine = Machine::new();
    let config = machine.home().join("mcp.json");
    let server = json!({"mcpServers": {"heirloom": {"command": HEIRLOOM, "args": ["mcp"], "env": {"HEIRLOOM_HOME": machine.world.test.home()}}}});
    fs::write(&config, server.to_string()).unwrap();
    let options = ["--mcp-config", config.to_str().unwrap(), "--allowedTools", "mcp__heirloom__recall_memory"];
    is_asked(&machine, &mut ClaudeCode::on(&machine).with(&options));
}

#[test]
#[ignore = "needs the real programs: scripts/real-programs"]
fn codex_asks_the_tools() {
    let machine = Machine::new();
    let mut codex = Codex::on(&machine);
    let mut config = fs::OpenOptions::new().append(true).open(machine.home().join(".codex/config.toml")).unwrap();
    let home = machine.world.test.home();
    write!(
        config,
        "\n[mcp_servers.heirloom]\ncommand = {HEIRLOOM:?}\nargs = [\"mcp\"]\nenv = {{ HEIRLOOM_HOME = {home:?} }}\n"
    )
    .unwrap();
    is_asked(&machine, &mut codex);
}

#[test]
#[ignore = "needs the real programs: scripts/real-programs"]
fn opencode_asks_the_tools() {
    let machine = Machine::new();
    let mut opencode = OpenCode::on(&machine);
    let path = machine.home().join(".config/opencode/opencode.json");
    let mut settings: serde_json::Value =
        fs::read_to_string(&path).ok().and_then(|text| serde_json::from_str(&text).ok()).unwrap_or_else(|| json!({}));
    let environment = json!({"HEIRLOOM_HOME": machine.world.test.home()});
    settings["mcp"] = json!({"heirloom": {"type": "local", "command": [HEIRLOOM, "mcp"], "environment": environment, "enabled": true}});
    fs::write(&path, settings.to_string()).unwrap();
    is_asked(&machine, &mut opencode);
}
