//! OpenClaw: a gateway that runs as long as this value lives, and a command per turn. A turn without the gateway takes
//! ten times as long. The first turn starts the gateway, so that a connection made before takes effect in it.

use std::fs;
use std::net::{Ipv4Addr, TcpListener};
use std::path::{Path, PathBuf};
use std::process::Command;

use serde_json::{Value, json};

use super::machine::Server;
use super::{Machine, Program, Turned};

/// Log line of the gateway once it has applied a change of its settings.
const RELOADED: &str = "config hot reload applied";

pub struct OpenClaw<'m> {
    machine: &'m Machine,
    port: u16,
    gateway: Option<Server>,
    /// The program's own key of every session, by its id.
    keys: Vec<(String, String)>,
}

impl<'m> OpenClaw<'m> {
    pub fn on(machine: &'m Machine) -> OpenClaw<'m> {
        // The port was free a moment ago; no other test here asks for a port by number.
        let port = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).unwrap().local_addr().unwrap().port();
        let model = json!({
            "id": "fake-model", "name": "Fake", "reasoning": false, "input": ["text"], "contextWindow": 128_000,
            "maxTokens": 4_096, "cost": {"input": 0, "output": 0, "cacheRead": 0, "cacheWrite": 0},
        });
        let provider = json!({
            "baseUrl": format!("{}/v1", machine.model.url()), "apiKey": "none", "api": "openai-completions",
            "models": [model],
        });
        // A compaction keeps a few words as they are; the rest of such a short conversation is summarised.
        let defaults = json!({
            "model": {"primary": "fake/fake-model"}, "workspace": machine.home(), "skipBootstrap": true,
            "heartbeat": {"every": "0m"},
            "compaction": {"keepRecentTokens": 50, "memoryFlush": {"enabled": false}},
        });
        let config = json!({
            "gateway": {
                "mode": "local", "port": port, "bind": "loopback", "auth": {"mode": "token", "token": "tests"},
            },
            "models": {"mode": "replace", "providers": {"fake": provider}},
            "agents": {"defaults": defaults},
        });
        let this = OpenClaw { machine, port, gateway: None, keys: Vec::new() };
        fs::create_dir_all(this.config().parent().unwrap()).unwrap();
        fs::write(this.config(), serde_json::to_string_pretty(&config).unwrap()).unwrap();
        this
    }

    fn config(&self) -> PathBuf {
        self.machine.home().join(".openclaw/openclaw.json")
    }

    fn command(&self) -> Command {
        let mut command = self.machine.command("openclaw");
        command.env("OPENCLAW_GATEWAY_TOKEN", "tests");
        for off in
            ["OPENCLAW_DISABLE_BONJOUR", "OPENCLAW_NO_AUTO_UPDATE", "OPENCLAW_SKIP_CHANNELS", "OPENCLAW_SKIP_CRON"]
        {
            command.env(off, "1");
        }
        command
    }

    /// Sets the program's one working folder to that of the next turn.
    fn work_in(&mut self, project: &Path) {
        let text = fs::read_to_string(self.config()).unwrap();
        let mut config: Value = serde_json::from_str(&text).unwrap_or_else(|e| panic!("{e}: {text}"));
        let workspace = &mut config["agents"]["defaults"]["workspace"];
        if *workspace != json!(project) {
            *workspace = json!(project);
            let reloads = self.gateway.as_ref().map(|g| g.said(RELOADED));
            fs::write(self.config(), serde_json::to_string_pretty(&config).unwrap()).unwrap();
            if let (Some(gateway), Some(before)) = (&mut self.gateway, reloads) {
                gateway.says(RELOADED, before + 1);
            }
        }
        if self.gateway.is_none() {
            let mut command = self.command();
            command.args(["gateway", "run", "--port", &self.port.to_string()]);
            let mut gateway = self.machine.start("openclaw-gateway", &command);
            gateway.says("[gateway] ready", 1);
            self.gateway = Some(gateway);
        }
    }
}

impl Program for OpenClaw<'_> {
    fn name(&self) -> &'static str {
        "openclaw"
    }

    fn turn(&mut self, project: &Path, prompt: &str, session: Option<&str>) -> Turned {
        self.work_in(project);
        let mark = self.machine.model.mark();
        let mut command = self.command();
        command.args(["agent", "--agent", "main", "--json", "--message", prompt]);
        let key = format!("agent:main:tests-{}", self.machine.next());
        match session {
            Some(session) => command.args(["--session-id", session]),
            None => command.args(["--session-key", &key]),
        };
        let ran = self.machine.run("openclaw-turn", command);
        let said: Value =
            serde_json::from_str(&ran.stdout).unwrap_or_else(|e| panic!("{e}: {}", super::shown(&ran.log)));
        let meta = &said["result"]["meta"];
        let id = meta["agentMeta"]["sessionId"].as_str().unwrap_or_else(|| panic!("no session: {said}")).to_owned();
        assert_eq!(meta["systemPromptReport"]["workspaceDir"], json!(project), "it works where it was told to");
        if session.is_none() {
            self.keys.push((id.clone(), key));
        }
        Turned { stdout: ran.stdout, session: id, heard: self.machine.heard_since(mark, prompt) }
    }

    fn compact(&mut self, project: &Path, session: &str) {
        self.work_in(project);
        let key = self.keys.iter().find(|(id, _)| id == session).map(|(_, key)| key).expect("a session of ours");
        let mut command = self.command();
        let what = json!({"key": key}).to_string();
        command.args(["gateway", "call", "sessions.compact", "--json", "--params", &what]);
        let ran = self.machine.run("openclaw-compact", command);
        let said: Value =
            serde_json::from_str(&ran.stdout).unwrap_or_else(|e| panic!("{e}: {}", super::shown(&ran.log)));
        assert_eq!(said["compacted"], true, "{said}");
    }

    fn stop(&mut self) {
        self.gateway = None;
    }

    fn group(&self) -> Option<u32> {
        self.gateway.as_ref().map(Server::group)
    }

    fn database(&self) -> Option<(PathBuf, &'static [&'static str])> {
        let path = self.machine.home().join(".openclaw/agents/main/agent/openclaw-agent.sqlite");
        Some((path, &["session_windows", "session_nodes", "transcript_events"]))
    }
}
