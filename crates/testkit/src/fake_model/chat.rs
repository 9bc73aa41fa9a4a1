//! OpenAI Chat Completions, the protocol of OpenCode and OpenClaw.

use serde_json::{Value, json};

use super::http::{Outgoing, event};
use super::{Answer, Does, OUTPUT_TOKENS, Reading, Tool, list, named, properties, text_of};

pub(super) const TOO_LONG: &str =
    "This model's maximum context length is 128000 tokens. However, your messages resulted in 250000 tokens.";

pub(super) fn read(body: &Value, reading: &mut Reading) {
    for message in list(&body["messages"]) {
        let text = text_of(&message["content"]);
        match message["role"].as_str().unwrap_or_default() {
            "assistant" => reading.own_words(),
            "user" => reading.user_input(&text),
            "tool" => reading.tool_result(&text),
            _ => reading.input(&text),
        }
    }
    let tools = list(&body["tools"]).iter().map(|t| &t["function"]);
    reading.tools = tools
        .map(|t| Tool {
            name: named(t),
            takes: properties(&t["parameters"]),
            bytes: t.to_string().len(),
            ..Tool::default()
        })
        .collect();
}

pub(super) fn write(answer: &Answer, stream: bool) -> Outgoing {
    let usage = json!({
        "prompt_tokens": answer.input_tokens, "completion_tokens": OUTPUT_TOKENS,
        "total_tokens": answer.input_tokens + OUTPUT_TOKENS,
    });
    let (mut said, reason) = match &answer.does {
        Does::Say(text) => (json!({"content": text}), "stop"),
        Does::Call(tool, arguments) => {
            let function = json!({"name": tool.name, "arguments": arguments.to_string()});
            let call = json!({
                "index": 0, "id": format!("call_{}", answer.id), "type": "function", "function": function,
            });
            (json!({"tool_calls": [call]}), "tool_calls")
        }
    };
    let of = |object: &str, choices: Value| {
        json!({
            "id": format!("chatcmpl-{}", answer.id), "object": object, "created": 1_767_225_600,
            "model": answer.model, "choices": choices,
        })
    };
    if !stream {
        said["role"] = json!("assistant");
        let mut whole = of("chat.completion", json!([{"index": 0, "message": said, "finish_reason": reason}]));
        whole["usage"] = usage;
        return Outgoing::json(200, &whole);
    }
    let chunk = |delta: Value, reason: Value| {
        of("chat.completion.chunk", json!([{"index": 0, "delta": delta, "finish_reason": reason}]))
    };
    let mut last = of("chat.completion.chunk", json!([]));
    last["usage"] = usage;
    let chunks = [
        chunk(json!({"role": "assistant", "content": ""}), Value::Null),
        chunk(said, Value::Null),
        chunk(json!({}), json!(reason)),
        last,
    ];
    let mut events: String = chunks.iter().map(|c| event(None, &c.to_string())).collect();
    events.push_str(&event(None, "[DONE]"));
    Outgoing::events(events)
}
