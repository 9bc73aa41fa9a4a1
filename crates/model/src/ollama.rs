//! Ollama: `/api/chat`, with `format` for the form of the answer.

use heirloom_engine::model::{Answer, Failure};
use heirloom_engine::tokens::tokens;
use serde_json::{Value, json};

use crate::anthropic::messages;
use crate::asking::{Question, Transport, cut};
use crate::http::Address;
use crate::schema::dialect;

/// Time the model stays in memory after an answer: the next question of a pass comes within seconds.
const KEEP_ALIVE: &str = "5m";

/// The context size is a multiple of this many tokens.
const STEP: usize = 4_096;

pub(crate) struct Ollama {
    pub address: Address,
    pub model: String,
}

impl Transport for Ollama {
    fn send(&self, question: &Question) -> Result<Answer, Failure> {
        let answer = self
            .address
            .post(question, &[], &body(&self.model, question))
            .map_err(|silence| self.address.failed(silence))?;
        read(&answer).unwrap_or_else(|| Err(self.address.unknown()))
    }
}

fn body(model: &str, question: &Question) -> Value {
    let ask = question.ask;
    let mut all = vec![json!({"role": "system", "content": ask.system})];
    all.extend(messages(question));
    // Without a size Ollama takes 4,096 tokens and silently drops the beginning of longer input. Our count is an
    // estimate; a quarter is added for other tokenisers.
    let needs: usize = all.iter().filter_map(|m| m["content"].as_str()).map(tokens).sum();
    let context = (needs + needs / 4 + ask.max_output).next_multiple_of(STEP);
    json!({
        "model": model,
        "messages": all,
        "stream": false,
        "think": false,
        "keep_alive": KEEP_ALIVE,
        // The reduced schema is sent: Ollama turns lengths into repetitions of a grammar, and fails on long ones.
        "format": dialect(ask.schema),
        "options": {"num_ctx": context, "num_predict": ask.max_output},
    })
}

/// Reads an answer. `None`: it has no known form.
fn read(answer: &Value) -> Option<Result<Answer, Failure>> {
    let text = answer["message"]["content"].as_str()?;
    if answer["done_reason"] == "length" {
        return Some(Err(cut()));
    }
    Some(Ok(Answer {
        text: text.to_owned(),
        tokens_in: answer["prompt_eval_count"].as_u64(),
        tokens_out: answer["eval_count"].as_u64(),
        // The model runs on this machine and costs nothing.
        cost: Some(0),
    }))
}
