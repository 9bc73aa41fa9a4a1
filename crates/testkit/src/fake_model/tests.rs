//! Tests of the model over a socket, as its clients use it.

use std::io::Write;

use super::*;

/// Sends bytes, returns the status and the body.
fn raw(model: &FakeModel, bytes: &[u8]) -> (u16, String) {
    let mut stream = TcpStream::connect(model.address).unwrap();
    stream.write_all(bytes).unwrap();
    let mut answer = String::new();
    stream.read_to_string(&mut answer).unwrap();
    let (head, body) = answer.split_once("\r\n\r\n").unwrap_or_else(|| panic!("no answer: {answer:?}"));
    (head.split(' ').nth(1).unwrap().parse().unwrap(), body.to_owned())
}

fn post(model: &FakeModel, path: &str, body: &Value) -> (u16, String) {
    let body = body.to_string();
    raw(model, format!("POST {path} HTTP/1.1\r\nhost: x\r\ncontent-length: {}\r\n\r\n{body}", body.len()).as_bytes())
}

/// Returns the events of a stream, each with its name and data.
fn events(body: &str) -> Vec<(String, Value)> {
    body.split_terminator("\n\n")
        .map(|event| {
            let (name, data) = match event.split_once('\n') {
                Some((name, data)) => (name.strip_prefix("event: ").unwrap(), data),
                None => ("", event),
            };
            let data = data.strip_prefix("data: ").unwrap();
            (name.to_owned(), serde_json::from_str(data).unwrap_or_else(|_| json!(data)))
        })
        .collect()
}

#[test]
fn messages_are_answered_in_a_stream_and_whole() {
    let model = FakeModel::start(table([
        ("codename", Reply::text("It is “zephyr”.").reporting(190_000)),
        ("list", Reply::shell("ls")),
    ]));
    let tools =
        json!([{"name": "Bash", "input_schema": {"properties": {"command": {}, "description": {}, "timeout": {}}}}]);
    let ask = |text: &str, stream: bool| {
        let content = json!([
            {"type": "text", "text": "<system-reminder>the list of codename</system-reminder>"},
            {"type": "text", "text": text},
        ]);
        json!({
            "model": "m", "stream": stream, "tools": tools, "system": [{"type": "text", "text": "Be brief."}],
            "messages": [{"role": "user", "content": "the old codename"}, {"role": "assistant", "content": "ok"},
                {"role": "user", "content": content}],
        })
    };
    let (status, body) = post(&model, "/v1/messages?beta=true", &ask("what is the codename?", true));
    let streamed = events(&body);
    let names: Vec<&str> = streamed.iter().map(|(name, _)| name.as_str()).collect();
    let expected = [
        "message_start",
        "content_block_start",
        "content_block_delta",
        "content_block_stop",
        "message_delta",
        "message_stop",
    ];
    assert_eq!((status, names.as_slice()), (200, &expected[..]));
    assert_eq!(streamed[0].1["message"]["usage"]["input_tokens"], 190_000);
    assert_eq!(streamed[2].1["delta"]["text"], "It is “zephyr”.");
    assert_eq!(streamed[4].1["delta"]["stop_reason"], "end_turn");

    let (_, body) = post(&model, "/v1/messages", &ask("please list", false));
    let whole: Value = serde_json::from_str(&body).unwrap();
    assert_eq!((&whole["stop_reason"], &whole["content"][0]["name"]), (&json!("tool_use"), &json!("Bash")));
    assert_eq!(whole["content"][0]["input"]["command"], "ls");
    assert_eq!(whole["content"][0]["input"].as_object().unwrap().len(), 2, "only what the tool takes: {whole}");

    let mut after = ask("please list", false);
    after["messages"].as_array_mut().unwrap().extend([
        json!({"role": "assistant", "content": whole["content"]}),
        json!({"role": "user", "content": [{"type": "tool_result", "tool_use_id": "x", "content": "README.md"}]}),
    ]);
    let (_, body) = post(&model, "/v1/messages", &after);
    assert!(body.contains("Understood, that is answer 3."), "{body}");

    let asked = model.asked_since(0);
    assert_eq!((asked.len(), asked[0].prompt.trim(), asked[0].after_tool), (3, "what is the codename?", false));
    assert_eq!((asked[2].prompt.as_str(), asked[2].after_tool), ("", true));
    assert!(asked[0].heard.starts_with("Be brief.\nthe old codename\n<system-reminder>the list"), "{:?}", asked[0]);
    assert!(model.last_heard().ends_with("README.md") && !model.last_heard().contains("zephyr"));
    assert_eq!(model.requests()[0].path, "/v1/messages?beta=true");
    let (status, body) = post(&model, "/v1/messages/count_tokens", &json!({"messages": []}));
    assert_eq!((status, body.as_str()), (200, r#"{"input_tokens":13}"#));
}

#[test]
fn responses_are_answered_with_text_with_calls_and_with_scripts() {
    let model = FakeModel::start(table([
        ("list", Reply::shell("ls -l")),
        ("spawn", Reply::call("spawn_agent", json!({"message": "go"}))),
    ]));
    let ask = |text: &str, tool: Value| {
        json!({
            "model": "m", "stream": true, "instructions": "Be brief.", "tools": [tool],
            "input": [
                {"type": "message", "role": "developer", "content": [{"type": "input_text", "text": "Use tabs."}]},
                {"type": "message", "role": "user", "content": [{"type": "input_text", "text": text}]},
            ],
        })
    };
    let last = |body: &str| {
        let streamed = events(body);
        let (name, done) = streamed.last().unwrap();
        assert_eq!((name.as_str(), &done["sequence_number"]), ("response.completed", &json!(streamed.len() - 1)));
        assert!(
            streamed
                .iter()
                .any(|(name, e)| name == "response.output_item.done" && e["item"] == done["response"]["output"][0])
        );
        done["response"].clone()
    };
    let function = json!({"type": "function", "name": "exec_command", "parameters": {"properties": {"cmd": {}}}});
    let said = last(&post(&model, "/v1/responses", &ask("hello", function.clone())).1);
    assert_eq!(said["output"][0]["content"][0]["text"], "Understood, that is answer 1.");
    let call = last(&post(&model, "/v1/responses", &ask("list", function)).1);
    assert_eq!(
        (&call["output"][0]["name"], &call["output"][0]["arguments"]),
        (&json!("exec_command"), &json!(r#"{"cmd":"ls -l"}"#))
    );
    let script = last(&post(&model, "/v1/responses", &ask("list", json!({"type": "custom", "name": "exec"}))).1);
    assert_eq!(script["output"][0]["type"], "custom_tool_call");
    assert!(script["output"][0]["input"].as_str().unwrap().contains(r#"{cmd: "ls -l"}"#), "{script}");
    let group = json!({"type": "namespace", "name": "agents", "tools": [{"type": "function", "name": "spawn_agent"}]});
    let spawned = last(&post(&model, "/v1/responses", &ask("spawn", group)).1);
    assert_eq!(spawned["output"][0]["namespace"], "agents");
    let none = last(&post(&model, "/v1/responses", &ask("list", json!({"type": "function", "name": "read"}))).1);
    assert!(none["output"][0]["content"][0]["text"].as_str().unwrap().contains("no tool"), "{none}");
    assert!(model.last_heard().starts_with("Be brief.\nUse tabs.\nlist"));

    let mut after = ask("list", json!({"type": "function", "name": "exec_command"}));
    let items = after["input"].as_array_mut().unwrap();
    items.push(json!({"type": "function_call", "call_id": "c", "name": "exec_command", "arguments": "{}"}));
    items.push(json!({"type": "function_call_output", "call_id": "c", "output": "README.md"}));
    post(&model, "/v1/responses", &after);
    let asked = model.asked_since(5);
    assert_eq!((asked[0].after_tool, asked[0].prompt.as_str(), asked[0].number), (true, "", 6));
}

#[test]
fn chats_are_answered_and_titles_and_summaries_are_told_from_turns() {
    let model = FakeModel::start(table([("zephyr", Reply::text("I see."))]));
    let ask = |system: &str, user: &str| {
        json!({"model": "m", "stream": true, "messages": [
            {"role": "system", "content": system}, {"role": "user", "content": [{"type": "text", "text": user}]},
        ]})
    };
    let text = |body: &str| {
        let streamed = events(body);
        assert_eq!(streamed.last().unwrap().1, json!("[DONE]"));
        assert!(streamed[streamed.len() - 2].1["usage"]["prompt_tokens"].as_u64().unwrap() > 50);
        let said = streamed.iter().filter_map(|(_, e)| e["choices"][0]["delta"]["content"].as_str());
        said.collect::<String>()
    };
    let path = "/v1/chat/completions";
    assert_eq!(text(&post(&model, path, &ask("You help.", "zephyr")).1), "I see.");
    let title = post(&model, path, &ask("You are a title generator. You output ONLY a title.", "zephyr")).1;
    assert_eq!(text(&title), "Conversation 2");
    let summary = "Create a new anchored summary from the conversation history above: zephyr";
    assert_eq!(text(&post(&model, path, &ask("You help.", summary)).1), "Summary 3 of what was said so far.");
    let purposes: Vec<Purpose> = model.asked_since(0).iter().map(|a| a.purpose).collect();
    assert_eq!(purposes, [Purpose::Turn, Purpose::Title, Purpose::Summary]);
    assert!(model.last_heard().ends_with("\nzephyr"), "the last turn, not the last request");

    model.answers(table([("zephyr", Reply::overflow()), ("fail", Reply::failure(529))]));
    let (status, body) = post(&model, path, &ask("You help.", "zephyr"));
    assert!(status == 400 && body.contains("context_length_exceeded") && body.contains("maximum context length"));
    assert_eq!(post(&model, path, &ask("You help.", "fail")).0, 529);
    let (_, body) = post(&model, path, &json!({"messages": [{"role": "user", "content": "hi"}]}));
    let whole: Value = serde_json::from_str(&body).unwrap();
    assert_eq!(whole["choices"][0]["message"]["role"], "assistant");
}

#[test]
fn what_nobody_answers_is_kept_and_refused() {
    let model = FakeModel::usual();
    let get = |target: &str| raw(&model, format!("GET {target} HTTP/1.1\r\nhost: x\r\n\r\n").as_bytes());
    assert_eq!(get("/v1/models").0, 200);
    assert_eq!(get("/elsewhere").0, 404);
    assert_eq!(get("http://updates.invalid/latest?x=1").0, 403);
    assert_eq!(raw(&model, b"CONNECT telemetry.invalid:443 HTTP/1.1\r\n\r\n").0, 403);
    assert_eq!(get("http://updates.invalid/other").0, 403);
    assert_eq!(model.outside(), ["updates.invalid", "telemetry.invalid:443"]);
    assert_eq!(raw(&model, b"HEAD / HTTP/1.1\r\n\r\n"), (200, String::new()));
    assert_eq!(raw(&model, b"GET /v1/responses HTTP/1.1\r\nupgrade: websocket\r\n\r\n").0, 404);
    assert_eq!(raw(&model, b"what is this\r\n\r\n").0, 400);
    assert_eq!(raw(&model, b"POST / HTTP/1.1\r\ncontent-length: 99999999999\r\n\r\n").0, 413);

    // Bodies that are not JSON, and JSON that is not a request.
    let (status, _) = raw(&model, b"POST /v1/messages HTTP/1.1\r\ncontent-length: 3\r\n\r\n\xff{]");
    assert_eq!((status, &model.requests().last().unwrap().body), (200, &json!("\u{fffd}{]")));
    for path in ["/v1/messages", "/v1/responses", "/v1/chat/completions"] {
        for body in
            [json!([]), json!({"messages": 7, "input": {}, "tools": [3], "system": {}}), json!({"messages": [[], {}]})]
        {
            assert_eq!(post(&model, path, &body).0, 200, "{path} {body}");
        }
    }
    assert_eq!(model.asked_since(0).len(), 10);
}

#[test]
fn many_at_once_are_all_kept_and_a_script_that_panics_hurts_nobody_else() {
    let model = FakeModel::start(Box::new(|asked| {
        assert!(asked.prompt != "panic", "told to");
        None
    }));
    let ask = |text: &str| json!({"messages": [{"role": "user", "content": text}]});
    let body = ask("panic").to_string();
    let mut stream = TcpStream::connect(model.address).unwrap();
    write!(stream, "POST /v1/messages HTTP/1.1\r\ncontent-length: {}\r\n\r\n{body}", body.len()).unwrap();
    let mut nothing = String::new();
    let _ = stream.read_to_string(&mut nothing);
    assert_eq!(nothing, "");
    std::thread::scope(|scope| {
        for _ in 0..20 {
            scope.spawn(|| assert_eq!(post(&model, "/v1/messages", &ask("hello")).0, 200));
        }
    });
    let mut numbers: Vec<usize> = model.asked_since(0).iter().map(|a| a.number).collect();
    numbers.sort_unstable();
    assert_eq!(numbers, (1..=21).collect::<Vec<_>>());
    let address = model.address;
    drop(model);
    assert!(TcpStream::connect(address).is_err(), "nobody listens any more");
}
