//! The scenarios of the Model Context Protocol's specification for a server, over both transports.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpStream;
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};
use std::time::Duration;

use serde_json::{Value, json};

use crate::service::Served;
use crate::world::{HEIRLOOM, World};

/// A client that sends messages as they are, over one of the transports.
trait Client {
    /// Sends a message and returns its answer.
    fn ask(&mut self, message: &str) -> Value;

    /// Sends a message that has no answer.
    fn tell(&mut self, message: &str);

    /// Says which revision was agreed on.
    fn agreed(&mut self, revision: &str);

    fn call(&mut self, method: &str, params: Value) -> Value {
        let message = json!({ "jsonrpc": "2.0", "id": method, "method": method, "params": params });
        let answer = self.ask(&message.to_string());
        assert_eq!((&answer["jsonrpc"], &answer["id"]), (&json!("2.0"), &json!(method)), "{answer}");
        assert!(answer.get("result").is_some() != answer.get("error").is_some(), "{answer}");
        answer
    }

    /// Returns the code of the error with which a call is answered.
    fn code(&mut self, method: &str, params: Value) -> i64 {
        let answer = self.call(method, params);
        assert!(answer["error"]["message"].as_str().is_some_and(|said| !said.is_empty()), "{answer}");
        answer["error"]["code"].as_i64().unwrap()
    }

    /// Performs the handshake and returns the revision that was agreed on.
    fn greet(&mut self, revision: &str) -> String {
        let who =
            json!({ "protocolVersion": revision, "capabilities": {}, "clientInfo": { "name": "t", "version": "1" } });
        let greeted = self.call("initialize", who)["result"].clone();
        assert_eq!(greeted["serverInfo"]["name"], "heirloom", "{greeted}");
        assert!(greeted["capabilities"]["tools"].is_object() && greeted["instructions"].is_string(), "{greeted}");
        let agreed = greeted["protocolVersion"].as_str().unwrap().to_owned();
        self.agreed(&agreed);
        self.tell(r#"{"jsonrpc":"2.0","method":"notifications/initialized"}"#);
        agreed
    }
}

struct OnPipes {
    server: Child,
    to: ChildStdin,
    from: BufReader<ChildStdout>,
}

impl OnPipes {
    fn new(world: &World) -> OnPipes {
        let mut command: Command = world.test.command(HEIRLOOM);
        let command = command.arg("mcp").stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::null());
        let mut server = command.spawn().unwrap();
        let (to, from) = (server.stdin.take().unwrap(), BufReader::new(server.stdout.take().unwrap()));
        OnPipes { server, to, from }
    }

    fn next(&mut self) -> Value {
        let mut line = String::new();
        self.from.read_line(&mut line).unwrap();
        serde_json::from_str(&line).unwrap_or_else(|e| panic!("{e}: {line:?}"))
    }
}

impl Client for OnPipes {
    fn ask(&mut self, message: &str) -> Value {
        self.tell(message);
        self.next()
    }

    fn tell(&mut self, message: &str) {
        writeln!(self.to, "{message}").unwrap();
    }

    fn agreed(&mut self, _: &str) {}
}

impl Drop for OnPipes {
    fn drop(&mut self) {
        let _ = self.server.kill();
        let _ = self.server.wait();
    }
}

struct OverHttp {
    port: u64,
    token: String,
    revision: Option<String>,
}

impl OverHttp {
    fn new(served: &Served, name: &str) -> OverHttp {
        let token = served.world.json(&["token", "new", name])["token"].as_str().unwrap().to_owned();
        OverHttp { port: served.said()["port"].as_u64().unwrap(), token, revision: None }
    }

    /// Sends a request with these headers beside the usual ones, of which a header without a value is left out. Returns
    /// status, head and body.
    fn send(&self, method: &str, headers: &[(&str, &str)], body: &str) -> (u16, String, String) {
        let (host, bearer) = (format!("127.0.0.1:{}", self.port), format!("Bearer {}", self.token));
        let length = body.len().to_string();
        let mut all = vec![
            ("host", host.as_str()),
            ("authorization", &bearer),
            ("content-type", "application/json"),
            ("accept", "application/json, text/event-stream"),
            ("connection", "close"),
            ("content-length", &length),
        ];
        all.extend(self.revision.as_deref().map(|revision| ("mcp-protocol-version", revision)));
        all.retain(|(name, _)| headers.iter().all(|(given, _)| given != name));
        all.extend(headers.iter().filter(|(_, value)| !value.is_empty()));
        let head: String = all.iter().map(|(name, value)| format!("{name}: {value}\r\n")).collect();
        let mut stream = TcpStream::connect(("127.0.0.1", self.port as u16)).unwrap();
        stream.set_read_timeout(Some(Duration::from_secs(30))).unwrap();
        stream.write_all(format!("{method} /mcp HTTP/1.1\r\n{head}\r\n{body}").as_bytes()).unwrap();
        let mut answer = String::new();
        stream.read_to_string(&mut answer).unwrap();
        let (head, body) = answer.split_once("\r\n\r\n").unwrap();
        (head[9..12].parse().unwrap(), head.to_ascii_lowercase(), body.to_owned())
    }
}

impl Client for OverHttp {
    fn ask(&mut self, message: &str) -> Value {
        let (status, head, body) = self.send("POST", &[], message);
        let answer: Value = serde_json::from_str(&body).unwrap_or_else(|e| panic!("{status} {e}: {body:?}"));
        assert!(head.lines().any(|line| line == "content-type: application/json"), "{head}");
        assert!(status == 200 || (status == 400 && answer["error"].is_object()), "{status} {answer}");
        answer
    }

    fn tell(&mut self, message: &str) {
        let (status, _, body) = self.send("POST", &[], message);
        assert_eq!((status, body.as_str()), (202, ""), "{message}");
    }

    fn agreed(&mut self, revision: &str) {
        self.revision = Some(revision.to_owned());
    }
}

/// Walks a client that has agreed on a revision through everything a server answers.
fn walk(client: &mut dyn Client) {
    assert_eq!(client.call("ping", json!({}))["result"], json!({}));
    // Ids are answered as they were sent.
    for id in [json!(0), json!(-7), json!("x"), json!("")] {
        let ping = json!({ "jsonrpc": "2.0", "id": id, "method": "ping" });
        assert_eq!(client.ask(&ping.to_string())["id"], id);
    }

    let tools = client.call("tools/list", json!({}))["result"]["tools"].clone();
    assert_eq!(tools.as_array().unwrap().len(), 7);
    for tool in tools.as_array().unwrap() {
        assert!(tool["name"].is_string() && tool["inputSchema"]["type"] == "object", "{tool}");
    }
    let found =
        client.call("tools/call", json!({ "name": "search_past_conversations", "arguments": { "query": "oven" } }));
    assert_eq!((&found["result"]["content"][0]["type"], found["result"]["isError"] == true), (&json!("text"), false));
    assert_eq!(client.code("tools/call", json!({ "name": "forget_everything", "arguments": {} })), -32602);
    for method in ["tools/call", "resources/read", "prompts/get"] {
        assert_eq!(client.code(method, json!({})), -32602, "{method}");
    }
    for arguments in [json!({}), json!({ "question": 7 })] {
        let said = client.call("tools/call", json!({ "name": "recall_memory", "arguments": arguments }));
        assert_eq!(said["result"]["isError"], true, "{said}");
    }

    assert!(client.call("resources/list", json!({}))["result"]["resources"].is_array());
    let templates = client.call("resources/templates/list", json!({}));
    assert!(templates["result"]["resourceTemplates"][0]["uriTemplate"].is_string(), "{templates}");
    for uri in ["heirloom://turn/t999999", "heirloom://nothing/1", "file:///etc/passwd", ""] {
        let code = client.code("resources/read", json!({ "uri": uri }));
        assert!(matches!(code, -32002 | -32602), "{uri}: {code}");
    }
    let prompts = client.call("prompts/list", json!({}))["result"]["prompts"].clone();
    for prompt in prompts.as_array().unwrap() {
        let got = client.call("prompts/get", json!({ "name": prompt["name"] }));
        assert_eq!(got["result"]["messages"][0]["content"]["type"], "text", "{got}");
    }
    assert_eq!(client.code("prompts/get", json!({ "name": "unknown" })), -32602);

    // This server declares no logging, completion or subscriptions, so it answers their methods as unknown ones.
    assert_eq!(client.code("no/such/method", json!({})), -32601);
    assert_eq!(client.code("logging/setLevel", json!({ "level": "debug" })), -32601);
    let about =
        json!({ "ref": { "type": "ref/prompt", "name": "handoff" }, "argument": { "name": "x", "value": "y" } });
    assert_eq!(client.code("completion/complete", about), -32601);
    assert_eq!(client.code("resources/subscribe", json!({ "uri": "heirloom://head/active" })), -32601);

    for (bytes, code) in [("{", -32700), ("not JSON", -32700), ("7", -32600), ("[]", -32600), ("{}", -32600)] {
        let fault = client.ask(bytes);
        assert_eq!((fault["error"]["code"].as_i64(), &fault["id"]), (Some(code), &Value::Null), "{bytes}: {fault}");
    }
    let no_version = client.ask(r#"{"id": 3, "method": "ping"}"#);
    assert_eq!((no_version["error"]["code"].as_i64(), &no_version["id"]), (Some(-32600), &json!(3)), "{no_version}");

    client.tell(r#"{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":"nobody"}}"#);
    client.tell(r#"{"jsonrpc":"2.0","method":"notifications/roots/list_changed"}"#);
    assert_eq!(client.call("ping", json!({}))["result"], json!({}), "the client is still served");
}

/// Two requests, a notification and what is no message, in one array.
const BATCH: &str = r#"[{"jsonrpc":"2.0","id":1,"method":"ping"},{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":9}},{"jsonrpc":"2.0","id":2,"method":"no/such"},{"jsonrpc":"2.0","id":3}]"#;

fn batches(client: &mut dyn Client) {
    let answers = client.ask(BATCH);
    let mut of: Vec<(i64, i64)> = answers
        .as_array()
        .unwrap_or_else(|| panic!("{answers}"))
        .iter()
        .map(|answer| (answer["id"].as_i64().unwrap(), answer["error"]["code"].as_i64().unwrap_or(0)))
        .collect();
    of.sort_unstable();
    assert_eq!(of, [(1, 0), (2, -32601), (3, -32600)], "{answers}");
    client.tell(r#"[{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":9}}]"#);
    assert_eq!(client.call("ping", json!({}))["result"], json!({}));
}

fn with_words(world: &World) {
    let line =
        json!({ "session": "kitchen", "id": "1", "text": "The oven makes a noise.", "time": "2026-11-20T10:00:00Z" });
    assert_eq!(world.feed(&["append"], format!("{line}\n").as_bytes()).status, Some(0));
}

/// The revisions with a handshake, and the answer to one that nobody knows.
const REVISIONS: [(&str, &str); 5] = [
    ("2024-11-05", "2024-11-05"),
    ("2025-03-26", "2025-03-26"),
    ("2025-06-18", "2025-06-18"),
    ("2025-11-25", "2025-11-25"),
    ("1999-01-01", "2025-11-25"),
];

#[test]
fn a_server_on_pipes_answers_what_the_specification_says() {
    let world = World::new();
    with_words(&world);
    for (asked, agreed) in REVISIONS {
        let mut client = OnPipes::new(&world);
        assert_eq!(client.greet(asked), agreed);
        if agreed < "2025-06-18" {
            batches(&mut client);
        } else {
            assert_eq!(client.ask(BATCH)["error"]["code"], -32600, "{agreed}");
        }
    }
    let mut client = OnPipes::new(&world);
    client.greet("2025-06-18");
    walk(&mut client);
}

#[test]
fn a_client_that_begins_without_a_greeting_is_told_and_goes_on() {
    let world = World::new();
    with_words(&world);
    let mut client = OnPipes::new(&world);
    client.tell(r#"{"jsonrpc":"2.0","method":"notifications/initialized"}"#);
    assert_eq!(client.ask("{")["error"]["code"], -32700);
    assert_eq!(client.call("ping", json!({}))["result"], json!({}), "a ping is answered before the handshake");
    assert!(client.call("tools/list", json!({}))["error"]["code"].is_i64());
    assert_eq!(client.ask(BATCH)["error"]["code"], -32600);
    assert_eq!(client.greet("2025-06-18"), "2025-06-18");
    assert_eq!(client.call("tools/list", json!({}))["result"]["tools"].as_array().unwrap().len(), 7);
    // A line that is longer than any message is told, and the next one is read.
    let long = format!(r#"{{"jsonrpc":"2.0","id":1,"method":"ping","params":{{"x":"{}"}}}}"#, "x".repeat(17 << 20));
    assert_eq!(client.ask(&long)["error"]["code"], -32600);
    assert_eq!(client.call("ping", json!({}))["result"], json!({}));
}

#[test]
fn a_server_over_http_answers_what_the_specification_says() {
    let served = Served::begin();
    with_words(&served.world);
    for (asked, agreed) in REVISIONS {
        let mut client = OverHttp::new(&served, asked);
        assert_eq!(client.greet(asked), agreed);
        if agreed < "2025-06-18" {
            batches(&mut client);
        } else {
            assert_eq!(client.ask(BATCH)["error"]["code"], -32600, "{agreed}");
        }
    }
    let mut client = OverHttp::new(&served, "any");
    let ping = r#"{"jsonrpc":"2.0","id":1,"method":"ping"}"#;
    // A client that names no revision is one of 2025-03-26, which has batches.
    batches(&mut client);
    client.greet("2025-06-18");
    walk(&mut client);

    // There are no sessions: none is begun, none is asked for, and none can be ended.
    let hello = json!({ "jsonrpc": "2.0", "id": 1, "method": "initialize", "params":
        { "protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": { "name": "t", "version": "1" } } });
    let (status, head, _) = client.send("POST", &[], &hello.to_string());
    assert!(status == 200 && !head.contains("mcp-session-id"), "{head}");
    assert_eq!(client.send("POST", &[("mcp-session-id", "of-another-server")], ping).0, 200);
    for (method, headers) in
        [("DELETE", &[("mcp-session-id", "x")][..]), ("GET", &[("accept", "text/event-stream")][..]), ("PUT", &[][..])]
    {
        let (status, head, body) = client.send(method, headers, "");
        let problem: Value = serde_json::from_str(&body).unwrap();
        assert_eq!((status, problem["next"].is_string()), (405, true), "{method} {body}");
        assert!(head.lines().any(|line| line == "allow: post"), "{head}");
    }
    for (headers, status) in [
        (&[("accept", "")][..], 200),
        (&[("accept", "*/*")][..], 200),
        (&[("accept", "text/event-stream")][..], 406),
        (&[("content-type", "text/plain")][..], 415),
        (&[("content-type", "")][..], 415),
        (&[("authorization", "")][..], 401),
        (&[("origin", "http://evil.example")][..], 403),
        (&[("host", "evil.example")][..], 403),
        (&[("mcp-protocol-version", "2025-03-26")][..], 200),
        (&[("mcp-protocol-version", "")][..], 200),
        (&[("mcp-protocol-version", "1999-01-01")][..], 400),
    ] {
        let (got, _, body) = client.send("POST", headers, ping);
        assert_eq!(got, status, "{headers:?}: {body}");
        let answer: Value = serde_json::from_str(&body).unwrap();
        let told = answer["next"].is_string() || answer["error"]["data"]["next"].is_string();
        assert_eq!(told, status != 200, "{headers:?}: {body}");
    }
}
