//! Codex: one process per turn; its app server, over JSON lines, for acts that have no command.

use std::fs;
use std::io::{BufRead, BufReader, Write};
use std::path::{Path, PathBuf};
use std::process::Stdio;
use std::sync::mpsc;
use std::time::Duration;

use serde_json::{Value, json};

use super::{Machine, Program, Turned};
use crate::world::files;

pub struct Codex<'m> {
    machine: &'m Machine,
}

impl<'m> Codex<'m> {
    pub fn on(machine: &'m Machine) -> Codex<'m> {
        let home = machine.home().join(".codex");
        fs::create_dir_all(&home).unwrap();
        let url = machine.model.url();
        // The program compacts by itself when the model reports more than this limit.
        let config = format!(
            r#"model = "gpt-5.1"
model_provider = "fake"
model_auto_compact_token_limit = 150000
approval_policy = "never"
sandbox_mode = "danger-full-access"
check_for_update_on_startup = false

[analytics]
enabled = false

[features]
apps = false
plugins = false

[model_providers.fake]
name = "fake"
base_url = "{url}/v1"
wire_api = "responses"
supports_websockets = false
request_max_retries = 0
stream_max_retries = 0
"#
        );
        fs::write(home.join("config.toml"), config).unwrap();
        Codex { machine }
    }
}

impl Program for Codex<'_> {
    fn name(&self) -> &'static str {
        "codex"
    }

    fn turn(&mut self, project: &Path, prompt: &str, session: Option<&str>) -> Turned {
        let mark = self.machine.model.mark();
        let mut command = self.machine.command("codex");
        command.current_dir(project).arg("exec");
        if session.is_some() {
            command.arg("resume");
        }
        command.args(["--json", "--skip-git-repo-check"]).args(session).arg(prompt);
        let ran = self.machine.run("codex-turn", command);
        let events = ran.stdout.lines().filter_map(|l| serde_json::from_str::<Value>(l).ok());
        let session = events.into_iter().find_map(|e| Some(e["thread_id"].as_str()?.to_owned()));
        let session = session.unwrap_or_else(|| panic!("no session: {}", super::shown(&ran.log)));
        Turned { stdout: ran.stdout, session, heard: self.machine.heard_since(mark, prompt) }
    }

    fn compact(&mut self, project: &Path, session: &str) {
        let mut command = self.machine.command("codex");
        command.current_dir(project).arg("app-server").stderr(Stdio::null());
        let mut child = command.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().expect("codex app-server");
        let mut stdin = child.stdin.take().expect("piped");
        let (told, tells) = mpsc::channel();
        let stdout = BufReader::new(child.stdout.take().expect("piped"));
        std::thread::spawn(move || {
            for line in stdout.lines().map_while(Result::ok) {
                let Ok(message) = serde_json::from_str::<Value>(&line) else { continue };
                if told.send(message).is_err() {
                    return;
                }
            }
        });
        let mut say = |message: Value, until: &dyn Fn(&Value) -> bool| {
            writeln!(stdin, "{message}").expect("it listens");
            loop {
                let heard = tells.recv_timeout(Duration::from_secs(60));
                let heard = heard.unwrap_or_else(|e| panic!("no answer to {message}: {e}"));
                assert!(heard["error"].is_null(), "{message} -> {heard}");
                if until(&heard) {
                    return;
                }
            }
        };
        let client = json!({"name": "tests", "title": "tests", "version": "0"});
        say(json!({"id": 1, "method": "initialize", "params": {"clientInfo": client}}), &|m| m["id"] == 1);
        let resume = json!({"id": 2, "method": "thread/resume", "params": {"threadId": session}});
        say(resume, &|m| m["id"] == 2);
        let compact = json!({"id": 3, "method": "thread/compact/start", "params": {"threadId": session}});
        say(compact, &|m| m["method"] == "turn/completed");
        // The server ends when its input is closed.
        drop(stdin);
        child.wait().unwrap();
    }

    fn files(&self) -> Vec<PathBuf> {
        files(&self.machine.home().join(".codex/sessions"), ".jsonl")
    }
}
