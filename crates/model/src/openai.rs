//! OpenAI Chat Completions, as many servers speak it: `/chat/completions`, with `response_format` for the form of the
//! answer.
//!
//! Servers differ in the forms of `response_format` they accept. The strictest form is tried first; a form the server
//! refuses is not tried again as long as the process lives.

use std::sync::atomic::{AtomicUsize, Ordering};

use heirloom_engine::model::{Answer, Ask, Failure};
use serde_json::{Value, json};

use crate::anthropic::messages;
use crate::asking::{Question, Transport, asked_form};
use crate::http::{Address, Silence};
use crate::schema::dialect;

/// Ways to ask for the form of the answer, strictest first.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Form {
    JsonSchema,
    JsonObject,
    Prompt,
}

const FORMS: [Form; 3] = [Form::JsonSchema, Form::JsonObject, Form::Prompt];

pub(crate) struct OpenAi {
    pub address: Address,
    pub model: String,
    /// The index in [`FORMS`] of the strictest form this server takes.
    pub takes: AtomicUsize,
}

impl Transport for OpenAi {
    fn send(&self, question: &Question) -> Result<Answer, Failure> {
        let from = self.takes.load(Ordering::Relaxed);
        let mut refused = None;
        for (n, form) in FORMS.iter().enumerate().skip(from) {
            match self.address.post(&[], &self.body(question, *form)) {
                Ok(answer) => {
                    self.takes.fetch_max(n, Ordering::Relaxed);
                    return read(&answer);
                }
                // Only a refused request can have been refused for its form.
                Err(Silence::Status(status))
                    if matches!(status.status, 400 | 415 | 422 | 501) && !status.is_too_long() =>
                {
                    refused = Some(self.address.failure(&status));
                    if matches!(refused, Some(Failure::Refused(_))) {
                        break;
                    }
                }
                Err(silence) => return Err(self.address.failed(silence)),
            }
        }
        Err(refused.unwrap_or_else(|| Failure::Unusable("no form of the question is accepted".into())))
    }
}

impl OpenAi {
    fn body(&self, question: &Question, form: Form) -> Value {
        let ask = question.ask;
        let system = match form {
            Form::JsonSchema => ask.system.to_owned(),
            Form::JsonObject | Form::Prompt => format!("{}{}", ask.system, asked_form(ask)),
        };
        let mut all = vec![json!({"role": "system", "content": system})];
        all.extend(messages(question));
        // OpenAI's own models accept only the newer name, most other servers only the older one.
        let limit = match self.address.origin.ends_with("//api.openai.com") {
            true => "max_completion_tokens",
            false => "max_tokens",
        };
        let mut body = json!({"model": self.model, "messages": all, limit: ask.max_output});
        match form {
            Form::JsonSchema => body["response_format"] = json!({"type": "json_schema", "json_schema": strict(ask)}),
            Form::JsonObject => body["response_format"] = json!({"type": "json_object"}),
            Form::Prompt => {}
        }
        body
    }
}

fn strict(ask: &Ask) -> Value {
    json!({"name": ask.purpose.name(), "strict": true, "schema": dialect(ask.schema)})
}

fn read(answer: &Value) -> Result<Answer, Failure> {
    let choice = &answer["choices"][0];
    if choice["finish_reason"] == "length" {
        return Err(Failure::Unusable("it was cut at the limit of its length".into()));
    }
    if choice["message"]["refusal"].is_string() {
        return Err(Failure::Unusable("it declined to answer".into()));
    }
    let usage = &answer["usage"];
    Ok(Answer {
        text: choice["message"]["content"].as_str().unwrap_or_default().to_owned(),
        tokens_in: usage["prompt_tokens"].as_u64(),
        tokens_out: usage["completion_tokens"].as_u64(),
        // OpenRouter reports the cost in dollars.
        cost: usage["cost"].as_f64().map(millionths),
    })
}

/// Converts dollars to millionths of a dollar; negative and invalid amounts become 0.
pub(crate) fn millionths(dollars: f64) -> u64 {
    (dollars * 1e6).round().max(0.0) as u64
}
