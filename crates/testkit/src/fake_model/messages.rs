//! Anthropic Messages, the protocol of Claude Code.

use serde_json::{Value, json};

use super::http::{Outgoing, event};
use super::{Answer, Does, OUTPUT_TOKENS, Reading, Tool, list, named, properties, text_of};

pub(super) const TOO_LONG: &str = "prompt is too long: 250000 tokens > 200000 maximum";

pub(super) fn read(body: &Value, reading: &mut Reading) {
    reading.input(&text_of(&body["system"]));
    for message in list(&body["messages"]) {
        let content = &message["content"];
        match message["role"].as_str().unwrap_or_default() {
            "assistant" => reading.own_words(),
            "user" => {
                if let Some(text) = content.as_str() {
                    reading.user_input(text);
                }
                for block in list(content) {
                    match block["type"].as_str().unwrap_or_default() {
                        "tool_result" => reading.tool_result(&text_of(&block["content"])),
                        _ => reading.user_input(block["text"].as_str().unwrap_or_default()),
                    }
                }
            }
            _ => reading.input(&text_of(content)),
        }
    }
    reading.tools = list(&body["tools"])
        .iter()
        .map(|t| Tool {
            name: named(t),
            takes: properties(&t["input_schema"]),
            bytes: t.to_string().len(),
            ..Tool::default()
        })
        .collect();
}

pub(super) fn write(answer: &Answer, stream: bool) -> Outgoing {
    let id = format!("msg_{}", answer.id);
    let (block, reason) = match &answer.does {
        Does::Say(text) => (json!({"type": "text", "text": text}), "end_turn"),
        Does::Call(tool, arguments) => {
            let call = format!("toolu_{}", answer.id);
            (json!({"type": "tool_use", "id": call, "name": tool.name, "input": arguments}), "tool_use")
        }
    };
    let usage = |output: u64| {
        json!({
            "input_tokens": answer.input_tokens, "cache_creation_input_tokens": 0, "cache_read_input_tokens": 0,
            "output_tokens": output, "service_tier": "standard",
        })
    };
    let message = |content: Value, reason: Value, output: u64| {
        json!({
            "id": id, "type": "message", "role": "assistant", "model": answer.model, "content": content,
            "stop_reason": reason, "stop_sequence": null, "usage": usage(output),
        })
    };
    if !stream {
        return Outgoing::json(200, &message(json!([block]), json!(reason), OUTPUT_TOKENS));
    }
    let (start, delta) = match &answer.does {
        Does::Say(text) => (json!({"type": "text", "text": ""}), json!({"type": "text_delta", "text": text})),
        Does::Call(_, arguments) => {
            let mut start = block;
            start["input"] = json!({});
            (start, json!({"type": "input_json_delta", "partial_json": arguments.to_string()}))
        }
    };
    let events = [
        json!({"type": "message_start", "message": message(json!([]), Value::Null, 1)}),
        json!({"type": "content_block_start", "index": 0, "content_block": start}),
        json!({"type": "content_block_delta", "index": 0, "delta": delta}),
        json!({"type": "content_block_stop", "index": 0}),
        json!({
            "type": "message_delta", "delta": {"stop_reason": reason, "stop_sequence": null},
            "usage": {"output_tokens": OUTPUT_TOKENS},
        }),
        json!({"type": "message_stop"}),
    ];
    Outgoing::events(events.iter().map(|e| event(e["type"].as_str(), &e.to_string())).collect())
}
