//! Anthropic Messages: `/v1/messages`, with `output_config.format` for the form of the answer.

use heirloom_engine::model::{Answer, Failure};
use serde_json::{Value, json};

use crate::asking::{Question, Transport};
use crate::http::Address;
use crate::schema::dialect;

/// Version of the protocol.
const VERSION: &str = "2023-06-01";

pub(crate) struct Anthropic {
    pub address: Address,
    pub model: String,
}

impl Transport for Anthropic {
    fn send(&self, question: &Question) -> Result<Answer, Failure> {
        let body = body(&self.model, question);
        let answer = self
            .address
            .post(&[("anthropic-version", VERSION)], &body)
            .map_err(|silence| self.address.failed(silence))?;
        read(&answer)
    }
}

fn body(model: &str, question: &Question) -> Value {
    let ask = question.ask;
    json!({
        "model": model,
        "max_tokens": ask.max_output,
        "system": ask.system,
        "messages": messages(question),
        "output_config": {"format": {"type": "json_schema", "schema": dialect(ask.schema)}},
    })
}

/// Returns the messages of a question after the instructions, in the form most protocols share.
pub(crate) fn messages(question: &Question) -> Vec<Value> {
    let mut messages = vec![json!({"role": "user", "content": question.ask.input})];
    if let Some((answer, wrong)) = &question.again {
        // No protocol accepts an empty message.
        let answer = if answer.trim().is_empty() { "(nothing)" } else { answer };
        messages.push(json!({"role": "assistant", "content": answer}));
        messages.push(json!({"role": "user", "content": wrong}));
    }
    messages
}

fn read(answer: &Value) -> Result<Answer, Failure> {
    match answer["stop_reason"].as_str() {
        Some("max_tokens") => return Err(Failure::Unusable("it was cut at the limit of its length".into())),
        Some("refusal") => return Err(Failure::Unusable("it declined to answer".into())),
        _ => {}
    }
    let parts = answer["content"].as_array().map_or(&[][..], Vec::as_slice);
    let text: String = parts.iter().filter(|p| p["type"] == "text").filter_map(|p| p["text"].as_str()).collect();
    let usage = &answer["usage"];
    // Tokens read from or written to a cache are reported separately and are added here.
    let tokens_in = usage["input_tokens"].as_u64().map(|fresh| {
        let cached = ["cache_creation_input_tokens", "cache_read_input_tokens"];
        fresh + cached.iter().filter_map(|name| usage[*name].as_u64()).sum::<u64>()
    });
    Ok(Answer { text, tokens_in, tokens_out: usage["output_tokens"].as_u64(), cost: None })
}
