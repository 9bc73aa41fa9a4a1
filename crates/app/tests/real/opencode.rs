//! OpenCode: one process per turn; its server, over HTTP, for acts that have no command.

use std::fs;
use std::io::{BufRead, BufReader, Write};
use std::net::TcpStream;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

use serde_json::{Value, json};

use super::{Machine, Program, Turned};

pub struct OpenCode<'m> {
    machine: &'m Machine,
}

impl<'m> OpenCode<'m> {
    pub fn on(machine: &'m Machine) -> OpenCode<'m> {
        let folder = machine.home().join(".config/opencode");
        fs::create_dir_all(&folder).unwrap();
        let model = json!({"name": "Fake", "limit": {"context": 128_000, "output": 8_000}, "tool_call": true});
        let provider = json!({
            "npm": "@ai-sdk/openai-compatible", "name": "Fake", "models": {"fake-model": model},
            "options": {"baseURL": format!("{}/v1", machine.model.url()), "apiKey": "none"},
        });
        let config = json!({
            "model": "fake/fake-model", "small_model": "fake/fake-model", "autoupdate": false, "share": "disabled",
            "permission": {"*": "allow"}, "provider": {"fake": provider},
        });
        fs::write(folder.join("opencode.json"), serde_json::to_string_pretty(&config).unwrap()).unwrap();
        OpenCode { machine }
    }

    fn command(&self, project: &Path) -> Command {
        let mut command = self.machine.command("opencode");
        command.current_dir(project);
        for off in ["OPENCODE_DISABLE_AUTOUPDATE", "OPENCODE_DISABLE_MODELS_FETCH", "OPENCODE_DISABLE_LSP_DOWNLOAD"] {
            command.env(off, "1");
        }
        command
    }
}

impl Program for OpenCode<'_> {
    fn name(&self) -> &'static str {
        "opencode"
    }

    fn turn(&mut self, project: &Path, prompt: &str, session: Option<&str>) -> Turned {
        let mark = self.machine.model.mark();
        let mut command = self.command(project);
        command.args(["run", "--format", "json", "--print-logs"]);
        if let Some(session) = session {
            command.args(["--session", session]);
        }
        let ran = self.machine.run("opencode-turn", {
            command.arg(prompt);
            command
        });
        let events = ran.stdout.lines().filter_map(|l| serde_json::from_str::<Value>(l).ok());
        let session = events.into_iter().find_map(|e| Some(e["sessionID"].as_str()?.to_owned()));
        let session = session.unwrap_or_else(|| panic!("no session: {}", super::shown(&ran.log)));
        Turned { stdout: ran.stdout, session, heard: self.machine.heard_since(mark, prompt) }
    }

    fn compact(&mut self, project: &Path, session: &str) {
        let mut command = self.command(project);
        command.args(["serve", "--port", "0", "--hostname", "127.0.0.1"]);
        let mut server = self.machine.start("opencode-serve", &command);
        let out = server.says("listening on http://", 1);
        let address = out.split("listening on http://").nth(1).and_then(|rest| rest.split_whitespace().next());
        let address = address.expect("an address");
        let body = json!({"providerID": "fake", "modelID": "fake-model"}).to_string();
        let mut stream = TcpStream::connect(address).expect("it listens");
        stream.set_read_timeout(Some(Duration::from_secs(120))).unwrap();
        write!(
            stream,
            "POST /session/{session}/summarize HTTP/1.1\r\nhost: {address}\r\nconnection: close\r\n\
             content-type: application/json\r\nx-opencode-directory: {}\r\ncontent-length: {}\r\n\r\n{body}",
            project.display(),
            body.len()
        )
        .unwrap();
        // The server keeps the connection open; its response head arrives when the summary is done.
        let mut head = String::new();
        BufReader::new(stream).read_line(&mut head).unwrap();
        assert!(head.starts_with("HTTP/1.1 200"), "{head}");
    }

    fn database(&self) -> Option<(PathBuf, &'static [&'static str])> {
        let path = self.machine.home().join(".local/share/opencode/opencode.db");
        Some((path, &["session", "message", "part"]))
    }
}
