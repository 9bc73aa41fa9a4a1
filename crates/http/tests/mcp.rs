//! The Model Context Protocol over HTTP: the same tools, for the agent of the token.

use axum::http::Request;
use heirloom_http::Caller;
use serde_json::{Value, json};

use crate::world::{Answer, PORT, World};

const KIND: [(&str, &str); 2] =
    [("content-type", "application/json"), ("accept", "application/json, text/event-stream")];

impl World {
    /// Calls a method of the protocol through the socket.
    fn call(&self, method: &str, params: Value, more: &[(&str, &str)]) -> Answer {
        let body = json!({ "jsonrpc": "2.0", "id": 1, "method": method, "params": params }).to_string();
        let headers: Vec<(&str, &str)> = KIND.iter().chain(more).chain(&[("host", "localhost")]).copied().collect();
        self.ask("POST", "/mcp", &headers, body.as_bytes())
    }

    fn tool(&self, name: &str, arguments: Value, more: &[(&str, &str)]) -> Value {
        self.call("tools/call", json!({ "name": name, "arguments": arguments }), more).is(200).json()["result"].clone()
    }
}

#[test]
fn the_tools_are_those_of_the_other_transport_and_find_the_words() {
    let world = World::with_words();
    let hello = json!({
        "protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": { "name": "test", "version": "1" },
    });
    let greeted = world.call("initialize", hello, &[]).is(200);
    assert_eq!(greeted.json()["result"]["serverInfo"]["name"], "heirloom");
    assert_eq!(greeted.header("heirloom-build"), "9.test");
    let listed = world.call("tools/list", json!({}), &[]).is(200).json();
    let names: Vec<&str> =
        listed["result"]["tools"].as_array().unwrap().iter().map(|t| t["name"].as_str().unwrap()).collect();
    assert!(names.contains(&"recall_memory") && names.len() == 7, "{names:?}");
    let found = world.tool("search_past_conversations", json!({ "query": "workshop" }), &[]);
    assert!(found["content"][0]["text"].as_str().unwrap().contains("workshop"), "{found}");
    assert!(found.get("structuredContent").is_none());
    // The audit names the caller that made the proposal.
    world.tool("remember", json!({ "text": "The oven is old.", "class": "preference" }), &[]);
    let rows = world.get("/v1/audit?limit=20").json();
    let actors: Vec<&str> = rows["items"].as_array().unwrap().iter().map(|r| r["actor"].as_str().unwrap()).collect();
    assert!(actors.contains(&"mcp http local"), "{actors:?}");
}

#[test]
fn the_token_says_whose_memory_it_is_and_the_header_which_project() {
    let world = World::with_words();
    let work = heirloom_engine::scope::AgentId::parse("work").unwrap();
    world.engine.add_agent(&work).unwrap();
    let token = format!("Bearer {}", world.token("editor", &["work"]));
    let ask = |more: &[(&str, &str)]| {
        let params = json!({ "name": "search_past_conversations", "arguments": { "query": "workshop" } });
        let body = json!({ "jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": params }).to_string();
        let mut request = Request::builder().method("POST").uri("/mcp");
        for (name, value) in KIND.iter().chain(more) {
            request = request.header(*name, *value);
        }
        world.send(Some(Caller::Tcp { port: PORT }), request.body(body.into()).unwrap())
    };
    let (host, auth) = (("host", "127.0.0.1:7411"), ("authorization", token.as_str()));
    let answer = ask(&[host, auth]).is(200).json();
    let text = answer["result"]["content"][0]["text"].as_str().unwrap();
    assert!(!text.contains("call the workshop"), "another agent's words: {text}");
    assert_eq!(ask(&[host]).status, 401);
    assert_eq!(ask(&[("host", "evil.example:7411"), auth]).status, 403);
    assert_eq!(ask(&[host, auth, ("origin", "http://evil.example")]).status, 403);
    assert_eq!(ask(&[host, auth, ("origin", "http://127.0.0.1:7411")]).status, 200);
    assert_eq!(ask(&[host, auth, ("heirloom-agent", "main")]).status, 404);
    assert_eq!(ask(&[host, auth, ("heirloom-workspace", "nowhere")]).status, 404);
    assert_eq!(ask(&[host, auth, ("heirloom-workspace", ".")]).status, 422);
}

#[test]
fn what_is_no_call_is_refused() {
    let world = World::with_words();
    let headers: Vec<(&str, &str)> = KIND.iter().chain(&[("host", "localhost")]).copied().collect();
    let cases = [(&b"{"[..], -32700), (b"\xff", -32700), (b"[]", -32600), (b"7", -32600)];
    for (body, code) in cases.into_iter().chain([(&b"{\"jsonrpc\":\"2.0\"}"[..], -32600)]) {
        let fault = world.ask("POST", "/mcp", &headers, body).is(400).json();
        assert_eq!((&fault["jsonrpc"], fault["error"]["code"].as_i64()), (&json!("2.0"), Some(code)), "{fault}");
        assert!(fault["id"].is_null() && fault["error"]["data"]["next"].is_string(), "{fault}");
    }
    let answered = world.call("tools/list", json!({}), &[("mcp-protocol-version", "1999-01-01")]).is(400).json();
    assert_eq!((answered["error"]["code"].as_i64(), &answered["id"]), (Some(-32022), &json!(1)), "{answered}");
    assert!(answered["error"]["message"].as_str().unwrap().contains("2025-06-18"), "{answered}");
    for (method, name, value, status, kind) in [
        ("GET", "x-none", "1", 405, "method"),
        ("DELETE", "mcp-session-id", "1", 405, "method"),
        ("POST", "accept", "text/html", 406, "not-acceptable"),
        ("POST", "content-type", "text/plain", 415, "media-type"),
    ] {
        let mut headers = headers.clone();
        headers.retain(|(known, _)| *known != name);
        headers.push((name, value));
        assert_eq!(world.ask(method, "/mcp", &headers, b"{}").is(status).kind(), kind, "{method} {name}");
    }
    let large = vec![b' '; (1 << 20) + 1];
    assert_eq!(world.ask("POST", "/mcp", &headers, &large).is(413).kind(), "too-large");
    let unknown = world.call("tools/call", json!({ "name": "forget_everything" }), &[]);
    assert!(unknown.json()["error"].is_object());
}

#[test]
fn a_call_that_may_write_is_told_from_one_that_reads() {
    let call = |name: &str| json!({ "method": "tools/call", "params": { "name": name } }).to_string();
    for name in ["remember", "open_loops"] {
        assert!(heirloom_mcp::may_write(call(name).as_bytes()), "{name}");
    }
    for name in ["recall_memory", "search_past_conversations", "open_reference", "current_work", "recent_sessions", "x"]
    {
        assert!(!heirloom_mcp::may_write(call(name).as_bytes()), "{name}");
    }
    for body in ["", "[]", "{}", r#"{"method":"tools/list"}"#, r#"{"method":"tools/call","params":{}}"#] {
        assert!(!heirloom_mcp::may_write(body.as_bytes()), "{body}");
    }
}
