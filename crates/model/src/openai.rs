//! OpenAI Chat Completions, as many servers speak it: `/chat/completions`, with `response_format` for the form of the
//! answer.
//!
//! Servers differ in the forms of `response_format` they accept. The strictest form is tried first; a form the server
//! refuses is not tried again as long as the process lives. The same holds for the name of the limit of an answer.

use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

use heirloom_engine::model::{Answer, Ask, Failure};
use serde_json::{Value, json};

use crate::anthropic::{messages, text_of};
use crate::asking::{Question, Transport, asked_form, cut, declined};
use crate::http::{Address, Silence};
use crate::schema::dialect;

/// Ways to ask for the form of the answer, strictest first.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Form {
    JsonSchema,
    JsonObject,
    Prompt,
}

const OLDER_LIMIT: &str = "max_tokens";
const NEWER_LIMIT: &str = "max_completion_tokens";

const FORMS: [Form; 3] = [Form::JsonSchema, Form::JsonObject, Form::Prompt];

pub(crate) struct OpenAi {
    pub address: Address,
    pub model: String,
    /// The index in [`FORMS`] of the strictest form this server takes.
    pub takes: AtomicUsize,
    /// Whether the limit of an answer has its newer name: see [`OpenAi::limit`].
    pub newer_limit: AtomicBool,
}

impl Transport for OpenAi {
    fn send(&self, question: &Question) -> Result<Answer, Failure> {
        let from = self.takes.load(Ordering::Relaxed);
        let mut refused = None;
        let mut is_form_known = true;
        for (n, form) in FORMS.iter().enumerate().skip(from) {
            match self.post(question, *form) {
                Ok(answer) => {
                    if is_form_known {
                        self.takes.fetch_max(n, Ordering::Relaxed);
                    }
                    return read(&answer).unwrap_or_else(|| Err(self.address.unknown()));
                }
                Err(Silence::Status(status)) if status.is_about_the_form() => {
                    is_form_known &= !status.is_about_the_answer();
                    refused = Some(self.address.failure(&status));
                    if status.is_hopeless() {
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
    /// Sends the question in this form, and again if only the name of the limit was wrong.
    fn post(&self, question: &Question, form: Form) -> Result<Value, Silence> {
        match self.address.post(question, &[], &self.body(question, form)) {
            Err(Silence::Status(status))
                if status.is_about_the_form() && self.limit() == OLDER_LIMIT && status.names(NEWER_LIMIT) =>
            {
                self.newer_limit.store(true, Ordering::Relaxed);
                self.address.post(question, &[], &self.body(question, form))
            }
            answer => answer,
        }
    }

    /// Returns the name of the limit: OpenAI's own models accept only the newer one, wherever they run, and most other
    /// servers only the older one.
    fn limit(&self) -> &'static str {
        match self.newer_limit.load(Ordering::Relaxed) || self.address.origin.ends_with("//api.openai.com") {
            true => NEWER_LIMIT,
            false => OLDER_LIMIT,
        }
    }

    fn body(&self, question: &Question, form: Form) -> Value {
        let ask = question.ask;
        let system = match form {
            Form::JsonSchema => ask.system.to_owned(),
            Form::JsonObject | Form::Prompt => format!("{}{}", ask.system, asked_form(ask)),
        };
        let mut all = vec![json!({"role": "system", "content": system})];
        all.extend(messages(question));
        let mut body = json!({"model": self.model, "messages": all, self.limit(): ask.max_output});
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

/// Reads an answer. `None`: it has no known form.
fn read(answer: &Value) -> Option<Result<Answer, Failure>> {
    let choice = answer["choices"].get(0)?;
    match choice["finish_reason"].as_str() {
        Some("length" | "model_length") => return Some(Err(cut())),
        Some("content_filter") => return Some(Err(declined())),
        _ => {}
    }
    let message = &choice["message"];
    // Some servers send an empty refusal with each answer.
    if message["refusal"].as_str().is_some_and(|words| !words.trim().is_empty()) {
        return Some(Err(declined()));
    }
    let text = match &message["content"] {
        Value::Array(parts) => text_of(parts),
        content => content.as_str().unwrap_or_default().to_owned(),
    };
    let usage = &answer["usage"];
    Some(Ok(Answer {
        text,
        tokens_in: usage["prompt_tokens"].as_u64(),
        tokens_out: usage["completion_tokens"].as_u64(),
        cost: cost(usage),
    }))
}

/// Reads the cost, which OpenRouter reports in dollars. With a key of the person's own for the server behind it,
/// OpenRouter takes nothing or little, and reports that server's cost beside it.
fn cost(usage: &Value) -> Option<u64> {
    let own = usage["cost"].as_f64()?;
    let behind = match usage["is_byok"] == true {
        true => usage["cost_details"]["upstream_inference_cost"].as_f64().unwrap_or_default(),
        false => 0.0,
    };
    Some(millionths(own + behind))
}

/// Converts dollars to millionths of a dollar; negative and invalid amounts become 0.
pub(crate) fn millionths(dollars: f64) -> u64 {
    (dollars * 1e6).round().max(0.0) as u64
}
