//! Anthropic Messages: `/v1/messages`, with `output_config.format` for the form of the answer.
//!
//! Older models, and other servers that speak the protocol, refuse that field. They are asked for JSON in words, as long
//! as the process lives.

use std::sync::atomic::{AtomicBool, Ordering};

use heirloom_engine::model::{Answer, Failure};
use serde_json::{Value, json};

use crate::asking::{Question, Transport, asked_form, cut, declined};
use crate::http::{Address, Silence};
use crate::schema::dialect;

/// Version of the protocol.
const VERSION: &str = "2023-06-01";

pub(crate) struct Anthropic {
    pub address: Address,
    pub model: String,
    /// Whether the server refused the form as a field.
    pub in_words: AtomicBool,
}

impl Transport for Anthropic {
    fn send(&self, question: &Question) -> Result<Answer, Failure> {
        let answer = match self.post(question) {
            Err(Silence::Status(status))
                if status.is_about_the_form()
                    && (status.names("output_config")
                        || status.names("output format")
                        || status.names("structured output"))
                    && !self.in_words.swap(true, Ordering::Relaxed) =>
            {
                self.post(question)
            }
            answer => answer,
        };
        let answer = answer.map_err(|silence| self.address.failed(silence))?;
        read(&answer).unwrap_or_else(|| Err(self.address.unknown()))
    }
}

impl Anthropic {
    fn post(&self, question: &Question) -> Result<Value, Silence> {
        let body = body(&self.model, question, self.in_words.load(Ordering::Relaxed));
        self.address.post(question, &[("anthropic-version", VERSION)], &body)
    }
}

fn body(model: &str, question: &Question, in_words: bool) -> Value {
    let ask = question.ask;
    let system = if in_words { format!("{}{}", ask.system, asked_form(ask)) } else { ask.system.to_owned() };
    let mut body =
        json!({"model": model, "max_tokens": ask.max_output, "system": system, "messages": messages(question)});
    if !in_words {
        body["output_config"] = json!({"format": {"type": "json_schema", "schema": dialect(ask.schema)}});
    }
    body
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

/// Joins the texts of an answer's parts. Other parts are the model's thoughts and calls.
pub(crate) fn text_of(parts: &[Value]) -> String {
    parts.iter().filter(|part| part["type"] == "text").filter_map(|part| part["text"].as_str()).collect()
}

/// Reads an answer. `None`: it has no known form.
fn read(answer: &Value) -> Option<Result<Answer, Failure>> {
    let parts = answer["content"].as_array()?;
    match answer["stop_reason"].as_str() {
        Some("max_tokens" | "model_context_window_exceeded") => return Some(Err(cut())),
        Some("refusal") => return Some(Err(declined())),
        _ => {}
    }
    let usage = &answer["usage"];
    // Tokens read from or written to a cache are reported separately and are added here.
    let tokens_in = usage["input_tokens"].as_u64().map(|fresh| {
        let cached = ["cache_creation_input_tokens", "cache_read_input_tokens"];
        fresh + cached.iter().filter_map(|name| usage[*name].as_u64()).sum::<u64>()
    });
    Some(Ok(Answer { text: text_of(parts), tokens_in, tokens_out: usage["output_tokens"].as_u64(), cost: None }))
}
