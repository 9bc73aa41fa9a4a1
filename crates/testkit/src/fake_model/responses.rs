//! OpenAI Responses, the protocol of Codex.

use serde_json::{Value, json};

use super::http::{Outgoing, event};
use super::{Answer, Does, OUTPUT_TOKENS, Reading, Tool, list, named, properties, text_of};

pub(super) const TOO_LONG: &str = "Your input exceeds the context window of this model.";

pub(super) fn read(body: &Value, reading: &mut Reading) {
    reading.input(&text_of(&body["instructions"]));
    if let Some(text) = body["input"].as_str() {
        reading.user_input(text);
    }
    for item in list(&body["input"]) {
        let kind = item["type"].as_str().unwrap_or("message");
        match (kind, item["role"].as_str().unwrap_or_default()) {
            ("message", "user") => reading.user_input(&text_of(&item["content"])),
            ("message", "system" | "developer") => reading.input(&text_of(&item["content"])),
            (kind, _) if kind.ends_with("_output") => reading.tool_result(&text_of(&item["output"])),
            // The model's messages, reasoning and calls.
            _ => reading.own_words(),
        }
    }
    for tool in list(&body["tools"]) {
        reading.tools.push(described(tool, None));
        let group = named(tool);
        reading.tools.extend(list(&tool["tools"]).iter().map(|t| described(t, Some(&group))));
    }
}

fn described(tool: &Value, namespace: Option<&str>) -> Tool {
    Tool {
        name: tool["name"].as_str().or_else(|| tool["type"].as_str()).unwrap_or_default().to_owned(),
        namespace: namespace.map(str::to_owned),
        free_form: tool["type"] == "custom",
        takes: properties(&tool["parameters"]),
        bytes: tool.to_string().len(),
    }
}

pub(super) fn write(answer: &Answer, stream: bool) -> Outgoing {
    let item = item(answer);
    let usage = json!({
        "input_tokens": answer.input_tokens, "input_tokens_details": {"cached_tokens": 0},
        "output_tokens": OUTPUT_TOKENS, "output_tokens_details": {"reasoning_tokens": 0},
        "total_tokens": answer.input_tokens + OUTPUT_TOKENS,
    });
    let response = |status: &str, output: Value, usage: Value| {
        json!({
            "id": format!("resp_{}", answer.id), "object": "response", "created_at": 1_767_225_600, "status": status,
            "model": answer.model, "output": output, "usage": usage, "parallel_tool_calls": false, "tools": [],
            "tool_choice": "auto",
        })
    };
    let done = response("completed", json!([item]), usage);
    if !stream {
        return Outgoing::json(200, &done);
    }
    let begun = response("in_progress", json!([]), Value::Null);
    let mut events = vec![
        json!({"type": "response.created", "response": begun}),
        json!({"type": "response.in_progress", "response": begun}),
    ];
    let mut opened = item.clone();
    opened["status"] = json!("in_progress");
    let of_item = |kind: &str, more: Value| {
        let mut event = json!({"type": kind, "item_id": item["id"], "output_index": 0});
        for (name, value) in more.as_object().into_iter().flatten() {
            event[name] = value.clone();
        }
        event
    };
    match &answer.does {
        Does::Say(text) => {
            opened["content"] = json!([]);
            let empty = json!({"type": "output_text", "text": "", "annotations": []});
            events.push(json!({"type": "response.output_item.added", "output_index": 0, "item": opened}));
            events.push(of_item("response.content_part.added", json!({"content_index": 0, "part": empty})));
            events.push(of_item("response.output_text.delta", json!({"content_index": 0, "delta": text})));
            events.push(of_item("response.output_text.done", json!({"content_index": 0, "text": text})));
            let part = &item["content"][0];
            events.push(of_item("response.content_part.done", json!({"content_index": 0, "part": part})));
        }
        Does::Call(tool, _) => {
            let field = if tool.free_form { "input" } else { "arguments" };
            opened[field] = json!("");
            events.push(json!({"type": "response.output_item.added", "output_index": 0, "item": opened}));
            if !tool.free_form {
                let arguments = &item["arguments"];
                events.push(of_item("response.function_call_arguments.delta", json!({"delta": arguments})));
                events.push(of_item("response.function_call_arguments.done", json!({"arguments": arguments})));
            }
        }
    }
    events.push(json!({"type": "response.output_item.done", "output_index": 0, "item": item}));
    events.push(json!({"type": "response.completed", "response": done}));
    let numbered = events.into_iter().enumerate().map(|(n, mut e)| {
        e["sequence_number"] = json!(n);
        event(e["type"].as_str(), &e.to_string())
    });
    Outgoing::events(numbered.collect())
}

fn item(answer: &Answer) -> Value {
    let call = format!("call_{}", answer.id);
    match &answer.does {
        Does::Say(text) => json!({
            "type": "message", "id": format!("msg_{}", answer.id), "role": "assistant", "status": "completed",
            "content": [{"type": "output_text", "text": text, "annotations": []}],
        }),
        Does::Call(tool, arguments) if tool.free_form => {
            let input = arguments.as_str().map_or_else(|| arguments.to_string(), str::to_owned);
            json!({
                "type": "custom_tool_call", "id": format!("ctc_{}", answer.id), "call_id": call, "name": tool.name,
                "input": input, "status": "completed",
            })
        }
        Does::Call(tool, arguments) => {
            let mut item = json!({
                "type": "function_call", "id": format!("fc_{}", answer.id), "call_id": call, "name": tool.name,
                "arguments": arguments.to_string(), "status": "completed",
            });
            if let Some(namespace) = &tool.namespace {
                item["namespace"] = json!(namespace);
            }
            item
        }
    }
}
