//! A model with scripted answers, for the real programs and for clients of this project.
//!
//! It listens on the loopback interface only and speaks the three protocols of the programs and Ollama's, each in its
//! own file: Anthropic Messages ([`messages`]), OpenAI Responses ([`responses`]), OpenAI Chat Completions ([`chat`]),
//! Ollama ([`ollama`]). Every request is kept, also unknown ones, so that a test can check what a model was sent and
//! which hosts a program wanted to reach.
//!
//! As a proxy it refuses every request and records its host: a program with `HTTPS_PROXY` set to its address reaches no
//! other machine, and [`FakeModel::outside`] lists the hosts it tried.

mod chat;
mod http;
mod messages;
mod ollama;
mod responses;

use std::io::Read;
use std::net::{Ipv4Addr, Shutdown, SocketAddr, TcpListener, TcpStream};
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread::JoinHandle;
use std::time::Duration;

use serde_json::{Value, json};

use http::{Incoming, Outgoing, Refusal};

/// Most requests that are kept. A day of the four programs makes a few hundred; this stops a program that asks in a
/// loop.
const MOST_REQUESTS: usize = 10_000;

/// Most concurrent connections.
const MOST_CONNECTIONS: usize = 128;

/// Time after which a client that sends nothing is disconnected.
const TIMEOUT: Duration = Duration::from_secs(30);

/// One request, as received.
#[derive(Clone, Debug)]
pub struct Request {
    pub method: String,
    /// Path with its query; the whole URL (`http://host/path`), or a host and port, if the client uses the fake model
    /// as a proxy.
    pub path: String,
    /// The JSON of the body; the beginning of the body as a string if it is not JSON, null if there is none.
    pub body: Value,
    /// The question to the model, if this is such a request.
    pub asked: Option<Asked>,
    /// Headers, their names in lower case.
    pub headers: Vec<(String, String)>,
}

impl Request {
    /// Returns the value of a header, by its name in lower case.
    pub fn header(&self, name: &str) -> Option<&str> {
        self.headers.iter().find(|(n, _)| n == name).map(|(_, value)| value.as_str())
    }
}

/// The protocols.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Dialect {
    /// Anthropic Messages.
    Messages,
    /// OpenAI Responses.
    Responses,
    /// OpenAI Chat Completions.
    Chat,
    /// Ollama's own.
    Ollama,
}

/// The purpose of a request to the model.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Purpose {
    /// A turn of a conversation.
    Turn,
    /// The program compacts its context and asks for a summary.
    Summary,
    /// The program asks for a title of the session.
    Title,
}

/// A request to the model, independent of its protocol.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Asked {
    pub dialect: Dialect,
    pub purpose: Purpose,
    /// The user messages since the model's last answer, without tool results and without the text between
    /// `<system-reminder>` tags.
    pub prompt: String,
    /// All input of the model, whatever its role: instructions, prompts, injected context, tool results. Without the
    /// model's own output and the descriptions of the tools.
    pub heard: String,
    /// Whether a tool's result was received since the model's last answer.
    pub after_tool: bool,
    /// Tools the model may call: name, and the names of their parameters.
    pub tools: Vec<Tool>,
    /// The number of this request, from 1.
    pub number: usize,
}

/// A tool a model may call.
#[derive(Clone, PartialEq, Eq, Default, Debug)]
pub struct Tool {
    pub name: String,
    /// Group of the tool, where the protocol has groups.
    pub namespace: Option<String>,
    /// Whether the tool takes one text that is not JSON.
    pub free_form: bool,
    /// The names of its parameters.
    pub takes: Vec<String>,
    /// Length of its description in the request, as JSON, in bytes.
    pub bytes: usize,
}

/// The model's answer.
#[derive(Clone, PartialEq, Debug)]
pub struct Reply {
    what: What,
    input_tokens: Option<u64>,
    headers: Vec<(String, String)>,
    cut: bool,
    pause: Duration,
}

#[derive(Clone, PartialEq, Debug)]
enum What {
    Text(String),
    Call { tool: String, arguments: Value },
    Shell(String),
    Failure(u16),
    Overflow,
    Raw(u16, String),
}

impl Reply {
    /// Answers with a text.
    pub fn text(text: impl Into<String>) -> Reply {
        Reply::of(What::Text(text.into()))
    }

    /// Calls a tool by its name.
    pub fn call(tool: impl Into<String>, arguments: Value) -> Reply {
        Reply::of(What::Call { tool: tool.into(), arguments })
    }

    /// Runs a shell command with the tool the program offers for it; answers with an explanation if there is none.
    pub fn shell(command: impl Into<String>) -> Reply {
        Reply::of(What::Shell(command.into()))
    }

    /// Fails with this HTTP status.
    pub fn failure(status: u16) -> Reply {
        Reply::of(What::Failure(status))
    }

    /// Answers that the context is too long, in the protocol's form.
    pub fn overflow() -> Reply {
        Reply::of(What::Overflow)
    }

    /// Answers with this status and body, whatever the protocol.
    pub fn raw(status: u16, body: impl Into<String>) -> Reply {
        Reply::of(What::Raw(status, body.into()))
    }

    /// Returns this answer with a further header.
    pub fn with_header(mut self, name: &str, value: &str) -> Reply {
        self.headers.push((name.to_owned(), value.to_owned()));
        self
    }

    /// Returns this answer, broken off in the middle of its body.
    pub fn cut(self) -> Reply {
        Reply { cut: true, ..self }
    }

    /// Returns this answer, sent after a pause.
    pub fn after(self, pause: Duration) -> Reply {
        Reply { pause, ..self }
    }

    /// Reports this number of input tokens, by which programs decide whether to compact.
    pub fn reporting(self, input_tokens: u64) -> Reply {
        Reply { input_tokens: Some(input_tokens), ..self }
    }

    /// Returns the answer to a request for which the script has none: a text unique to each request, so that answers
    /// can be told apart.
    pub fn usual(asked: &Asked) -> Reply {
        let number = asked.number;
        match (asked.purpose, asked.dialect) {
            (Purpose::Turn, _) => Reply::text(format!("Understood, that is answer {number}.")),
            (Purpose::Title, _) => Reply::text(format!("Conversation {number}")),
            // Claude Code uses the text between the tags.
            (Purpose::Summary, Dialect::Messages) => Reply::text(format!(
                "<analysis>What was said.</analysis>\n<summary>\nSummary {number} of what was said so far.\n</summary>"
            )),
            (Purpose::Summary, _) => Reply::text(format!("Summary {number} of what was said so far.")),
        }
    }

    fn of(what: What) -> Reply {
        Reply { what, input_tokens: None, headers: Vec::new(), cut: false, pause: Duration::ZERO }
    }
}

/// Maps a request to an answer; `None` is [`Reply::usual`].
pub type Script = Box<dyn Fn(&Asked) -> Option<Reply> + Send>;

/// Makes a script from a table: the first row whose words are in the prompt of a turn is the answer. Summaries and
/// titles get the usual answers.
pub fn table<'t>(rows: impl IntoIterator<Item = (&'t str, Reply)>) -> Script {
    let rows: Vec<(String, Reply)> = rows.into_iter().map(|(words, reply)| (words.to_owned(), reply)).collect();
    Box::new(move |asked| {
        let row = rows.iter().find(|(words, _)| asked.purpose == Purpose::Turn && asked.prompt.contains(words));
        row.map(|(_, reply)| reply.clone())
    })
}

/// The model; listens until it is dropped.
pub struct FakeModel {
    shared: Arc<Shared>,
    address: SocketAddr,
    listener: Option<JoinHandle<()>>,
}

struct Shared {
    script: Mutex<Script>,
    requests: Mutex<Vec<Request>>,
    connections: AtomicUsize,
    over: AtomicBool,
}

impl FakeModel {
    /// Listens on a free port of 127.0.0.1. Panics if there is none.
    pub fn start(script: Script) -> FakeModel {
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).expect("a free port of the loopback interface");
        let address = listener.local_addr().expect("a bound socket has an address");
        let shared = Arc::new(Shared {
            script: Mutex::new(script),
            requests: Mutex::default(),
            connections: AtomicUsize::new(0),
            over: AtomicBool::new(false),
        });
        let of_listener = Arc::clone(&shared);
        let listener = std::thread::spawn(move || accept(&listener, &of_listener));
        FakeModel { shared, address, listener: Some(listener) }
    }

    /// Starts a model that gives only the usual answers.
    pub fn usual() -> FakeModel {
        FakeModel::start(Box::new(|_| None))
    }

    /// Returns `http://127.0.0.1:port`, without a slash at the end.
    pub fn url(&self) -> String {
        format!("http://{}", self.address)
    }

    /// Replaces the script.
    pub fn answers(&self, script: Script) {
        *lock(&self.shared.script) = script;
    }

    /// Returns every request so far, oldest first.
    pub fn requests(&self) -> Vec<Request> {
        lock(&self.shared.requests).clone()
    }

    /// Returns the number of requests so far, for [`FakeModel::asked_since`].
    pub fn mark(&self) -> usize {
        lock(&self.shared.requests).len()
    }

    /// Returns the requests to the model since a mark, oldest first.
    pub fn asked_since(&self, mark: usize) -> Vec<Asked> {
        lock(&self.shared.requests).iter().skip(mark).filter_map(|r| r.asked.clone()).collect()
    }

    /// Returns the full input of the last turn's request; empty if there was none.
    pub fn last_heard(&self) -> String {
        let asked = self.asked_since(0);
        let last = asked.into_iter().rfind(|a| a.purpose == Purpose::Turn);
        last.map(|a| a.heard).unwrap_or_default()
    }

    /// Returns the hosts that clients wanted to reach through this proxy, in order, each once.
    pub fn outside(&self) -> Vec<String> {
        let mut hosts = Vec::new();
        for request in lock(&self.shared.requests).iter() {
            if let Some(host) = host_of(&request.method, &request.path)
                && !hosts.iter().any(|h| h == host)
            {
                hosts.push(host.to_owned());
            }
        }
        hosts
    }
}

impl Drop for FakeModel {
    fn drop(&mut self) {
        self.shared.over.store(true, Ordering::SeqCst);
        // Wakes the listener, which waits for a connection.
        let _ = TcpStream::connect_timeout(&self.address, Duration::from_secs(1));
        if let Some(listener) = self.listener.take() {
            let _ = listener.join();
        }
    }
}

/// Returns the host of a request meant for another machine.
fn host_of<'a>(method: &str, path: &'a str) -> Option<&'a str> {
    let rest = match path.split_once("://") {
        Some((_, rest)) => rest,
        None if method == "CONNECT" => path,
        None => return None,
    };
    rest.split('/').next()
}

/// Locks a mutex, even after a panic in a script: it affects its connection only, and the kept requests stay readable.
fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

fn accept(listener: &TcpListener, shared: &Arc<Shared>) {
    for stream in listener.incoming() {
        if shared.over.load(Ordering::SeqCst) {
            return;
        }
        let Ok(stream) = stream else { continue };
        if shared.connections.fetch_add(1, Ordering::SeqCst) >= MOST_CONNECTIONS {
            shared.connections.fetch_sub(1, Ordering::SeqCst);
            continue;
        }
        let shared = Arc::clone(shared);
        std::thread::spawn(move || {
            // The count of connections is decreased on every exit.
            struct One<'a>(&'a AtomicUsize);
            impl Drop for One<'_> {
                fn drop(&mut self) {
                    self.0.fetch_sub(1, Ordering::SeqCst);
                }
            }
            let _one = One(&shared.connections);
            serve(stream, &shared);
        });
    }
}

fn serve(mut stream: TcpStream, shared: &Shared) {
    let _ = stream.set_read_timeout(Some(TIMEOUT));
    let _ = stream.set_write_timeout(Some(TIMEOUT));
    let incoming = match Incoming::read(&mut stream) {
        Ok(incoming) => incoming,
        Err(Refusal::Gone) => return,
        Err(refusal) => {
            let status = if refusal == Refusal::TooLarge { 413 } else { 400 };
            refused(status, "this request cannot be read").send(&mut stream, true);
            linger(&mut stream);
            return;
        }
    };
    let with_body = incoming.method != "HEAD";
    shared.answer(incoming).send(&mut stream, with_body);
    linger(&mut stream);
}

/// Reads the rest of the request: closing a socket with unread data discards the answer before the client has read it.
fn linger(stream: &mut TcpStream) {
    let _ = stream.shutdown(Shutdown::Write);
    let _ = stream.set_read_timeout(Some(Duration::from_millis(200)));
    let mut rest = [0; 4096];
    for _ in 0..256 {
        if !matches!(stream.read(&mut rest), Ok(1..)) {
            break;
        }
    }
}

fn refused(status: u16, why: &str) -> Outgoing {
    let error = json!({"type": "not_found_error", "message": format!("fake model: {why}")});
    Outgoing::json(status, &json!({"type": "error", "error": error}))
}

impl Shared {
    fn answer(&self, incoming: Incoming) -> Outgoing {
        let Incoming { method, target, body, upgrade, headers } = incoming;
        let path = target.split('?').next().unwrap_or_default();
        let outside = host_of(&method, &target).is_some();
        let post = method == "POST" && !outside && !upgrade;
        let dialect = [
            ("/v1/messages", Dialect::Messages),
            ("/v1/responses", Dialect::Responses),
            ("/v1/chat/completions", Dialect::Chat),
            ("/api/chat", Dialect::Ollama),
        ];
        let dialect = dialect.iter().find(|(at, _)| post && path == *at).map(|(_, dialect)| *dialect);
        let size = body.len() as u64;
        let body = match body.as_slice() {
            [] => Value::Null,
            bytes => serde_json::from_slice(bytes).unwrap_or_else(|_| {
                Value::String(String::from_utf8_lossy(&bytes[..bytes.len().min(2_000)]).into_owned())
            }),
        };
        let asked = {
            let mut requests = lock(&self.requests);
            if requests.len() >= MOST_REQUESTS {
                return refused(503, "there were too many requests");
            }
            let asked = dialect.map(|dialect| {
                let number = 1 + requests.iter().filter(|r| r.asked.is_some()).count();
                Asked { number, ..dialect.read(&body) }
            });
            requests.push(Request { method, path: target.clone(), body: body.clone(), asked: asked.clone(), headers });
            asked
        };
        if let Some(asked) = asked {
            let reply = lock(&self.script)(&asked).unwrap_or_else(|| Reply::usual(&asked));
            let written = asked.dialect.write(&body, &asked, &reply, reply.input_tokens.unwrap_or(size / 4 + 50));
            return Outgoing { headers: reply.headers, cut: reply.cut, pause: reply.pause, ..written };
        }
        match path {
            _ if outside => refused(403, "no other machine is reached from here"),
            _ if upgrade => refused(404, "there is only HTTP"),
            "/v1/messages/count_tokens" if post => Outgoing::json(200, &json!({"input_tokens": size / 4 + 10})),
            "/v1/models" => models(),
            "/" => Outgoing::json(200, &json!({})),
            _ => refused(404, "there is no such path"),
        }
    }
}

/// Returns the list of models in the form of both vendors.
fn models() -> Outgoing {
    let model = json!({
        "id": "fake-model", "object": "model", "type": "model", "display_name": "Fake", "owned_by": "test",
        "created": 1_767_225_600, "created_at": "2026-01-01T00:00:00Z",
    });
    Outgoing::json(200, &json!({"object": "list", "data": [model], "has_more": false}))
}

impl Dialect {
    fn read(self, body: &Value) -> Asked {
        let mut reading = Reading::default();
        match self {
            Dialect::Messages => messages::read(body, &mut reading),
            Dialect::Responses => responses::read(body, &mut reading),
            Dialect::Chat | Dialect::Ollama => chat::read(body, &mut reading),
        }
        reading.done(self)
    }

    fn write(self, body: &Value, asked: &Asked, reply: &Reply, input_tokens: u64) -> Outgoing {
        let does = match &reply.what {
            What::Text(text) => Does::Say(text.clone()),
            What::Call { tool, arguments } => Does::Call(asked.tool(tool), arguments.clone()),
            What::Shell(command) => asked.shell(command),
            What::Raw(status, body) => return Outgoing::of(*status, "application/json", body.clone()),
            What::Failure(status) => {
                let error = json!({"type": "api_error", "message": "fake model: told to fail"});
                return Outgoing::json(*status, &json!({"type": "error", "error": error}));
            }
            What::Overflow => {
                let (kind, code, message) = match self {
                    Dialect::Messages => ("invalid_request_error", Value::Null, messages::TOO_LONG),
                    Dialect::Responses => {
                        ("invalid_request_error", json!("context_length_exceeded"), responses::TOO_LONG)
                    }
                    Dialect::Chat | Dialect::Ollama => {
                        ("invalid_request_error", json!("context_length_exceeded"), chat::TOO_LONG)
                    }
                };
                let error = json!({"type": kind, "code": code, "message": message});
                return Outgoing::json(400, &json!({"type": "error", "error": error}));
            }
        };
        let answer = Answer {
            id: format!("fake{:04}", asked.number),
            model: body["model"].as_str().unwrap_or("fake-model").to_owned(),
            does,
            input_tokens,
        };
        let stream = body["stream"] == true;
        match self {
            Dialect::Messages => messages::write(&answer, stream),
            Dialect::Responses => responses::write(&answer, stream),
            Dialect::Chat => chat::write(&answer, stream),
            Dialect::Ollama => ollama::write(&answer),
        }
    }
}

/// An answer, independent of its protocol.
struct Answer {
    id: String,
    model: String,
    does: Does,
    input_tokens: u64,
}

enum Does {
    Say(String),
    Call(Tool, Value),
}

/// The number of output tokens reported for every answer.
const OUTPUT_TOKENS: u64 = 12;

impl Asked {
    /// Returns the tool of that name as the program described it.
    fn tool(&self, name: &str) -> Tool {
        let known = self.tools.iter().find(|t| t.name == name).cloned();
        known.unwrap_or_else(|| Tool { name: name.to_owned(), ..Tool::default() })
    }

    fn shell(&self, command: &str) -> Does {
        const SHELLS: [&str; 6] = ["Bash", "bash", "exec_command", "shell_command", "shell", "exec"];
        let tool = SHELLS.iter().find_map(|name| self.tools.iter().find(|t| t.name == *name));
        let Some(tool) = tool else { return Does::Say(format!("There is no tool to run {command}.")) };
        // Codex runs scripts in which the shell is a function.
        if tool.free_form {
            let call = format!("text(await tools.exec_command({{cmd: {}}}))", json!(command));
            return Does::Call(tool.clone(), Value::String(call));
        }
        let mut arguments = serde_json::Map::new();
        for name in &tool.takes {
            let value = match (name.as_str(), tool.name.as_str()) {
                ("command", "shell") => json!(["sh", "-c", command]),
                ("command" | "cmd", _) => json!(command),
                ("description", _) => json!("what the script of the test asks for"),
                _ => continue,
            };
            arguments.insert(name.clone(), value);
        }
        Does::Call(tool.clone(), Value::Object(arguments))
    }
}

/// The parts of a request that the protocols collect.
#[derive(Default)]
struct Reading {
    heard: String,
    prompt: String,
    after_tool: bool,
    tools: Vec<Tool>,
}

impl Reading {
    /// Notes output of the model: the prompt is the user's text after it.
    fn own_words(&mut self) {
        self.prompt.clear();
        self.after_tool = false;
    }

    /// Adds input of any role.
    fn input(&mut self, text: &str) {
        append(&mut self.heard, text);
    }

    /// Adds input of the user.
    fn user_input(&mut self, text: &str) {
        self.input(text);
        append(&mut self.prompt, &without_reminders(text));
    }

    fn tool_result(&mut self, text: &str) {
        self.input(text);
        self.after_tool = true;
    }

    fn done(self, dialect: Dialect) -> Asked {
        let Reading { heard, prompt, after_tool, tools } = self;
        let purpose = purpose(&prompt, &heard);
        Asked { dialect, purpose, prompt, heard, after_tool, tools, number: 0 }
    }
}

/// Beginnings of the prompts by which programs ask for a summary: Claude Code, Codex, OpenCode (for the first and for
/// later ones).
const SUMMARIES: &[&str] = &[
    "Your task is to create a detailed summary of",
    "You are performing a CONTEXT CHECKPOINT COMPACTION",
    "Create a new anchored summary from the conversation history",
    "Update the anchored summary",
];

/// Beginnings of the instructions of a request for a summary: OpenClaw.
const SUMMARISERS: &[&str] = &["You are a context summarization assistant"];

/// Beginnings of the instructions of a request for a title: OpenCode.
const TITLES: &[&str] = &["You are a title generator"];

fn purpose(prompt: &str, heard: &str) -> Purpose {
    let begins = |openings: &[&str]| openings.iter().any(|opening| heard.starts_with(opening));
    if begins(TITLES) {
        Purpose::Title
    } else if begins(SUMMARISERS) || SUMMARIES.iter().any(|s| prompt.contains(s)) {
        Purpose::Summary
    } else {
        Purpose::Turn
    }
}

fn append(text: &mut String, more: &str) {
    if !more.is_empty() {
        if !text.is_empty() {
            text.push('\n');
        }
        text.push_str(more);
    }
}

fn without_reminders(text: &str) -> String {
    let (mut kept, mut rest) = (String::new(), text);
    while let Some((before, inside)) = rest.split_once("<system-reminder>") {
        kept.push_str(before);
        rest = inside.split_once("</system-reminder>").map_or("", |(_, after)| after);
    }
    kept + rest
}

/// Returns the texts of a message's content: a string, or a list of parts.
fn text_of(content: &Value) -> String {
    match content {
        Value::String(text) => text.clone(),
        Value::Array(parts) => {
            let texts: Vec<&str> = parts.iter().filter_map(|p| p.as_str().or_else(|| p["text"].as_str())).collect();
            texts.join("\n")
        }
        _ => String::new(),
    }
}

fn list(value: &Value) -> &[Value] {
    value.as_array().map_or(&[], Vec::as_slice)
}

fn named(value: &Value) -> String {
    value["name"].as_str().unwrap_or_default().to_owned()
}

/// Returns the names of the properties of a JSON schema.
fn properties(schema: &Value) -> Vec<String> {
    schema["properties"].as_object().map(|p| p.keys().cloned().collect()).unwrap_or_default()
}

#[cfg(test)]
mod tests;
