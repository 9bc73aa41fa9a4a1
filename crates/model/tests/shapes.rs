//! Tests of the shapes in which real servers answer: the bodies are ours, their fields those of recorded answers.

use std::sync::atomic::{AtomicUsize, Ordering};

use heirloom_engine::model::{Answer, Failure, Model as _};
use heirloom_model::{Asking, Choice, Kind};
use heirloom_testkit::TestHome;
use heirloom_testkit::fake_model::{FakeModel, Reply};
use serde_json::{Value, json};

use crate::{ask, folders, schema};

const GOOD: &str = r#"{"says":"done"}"#;

/// Starts a server that gives these bodies one after the other and then repeats the last one.
fn server(bodies: Vec<(u16, Value)>) -> FakeModel {
    let next = AtomicUsize::new(0);
    FakeModel::start(Box::new(move |_| {
        let (status, body) = &bodies[next.fetch_add(1, Ordering::SeqCst).min(bodies.len() - 1)];
        Some(Reply::raw(*status, body.to_string()))
    }))
}

fn model(kind: Kind, server: &FakeModel) -> Asking {
    let base = if kind == Kind::OpenAi { format!("{}/v1", server.url()) } else { server.url() };
    let choice = Choice { model: Some("small".into()), url: Some(base), ..Choice::new(kind) };
    choice.open(folders(&TestHome::new())).unwrap()
}

fn asked(model: &Asking) -> Result<Answer, Failure> {
    model.answer(&ask(&schema()))
}

/// Asks a new model that gets this one body; returns its answer or failure as text, and the number of requests.
fn said(kind: Kind, body: Value) -> (String, usize) {
    let server = server(vec![(200, body)]);
    let said = asked(&model(kind, &server)).map_or_else(|failure| failure.to_string(), |answer| answer.text);
    (said, server.requests().len())
}

fn chat(message: Value) -> Value {
    let usage = json!({"prompt_tokens": 90, "completion_tokens": 12, "total_tokens": 102});
    json!({
        "id": "chatcmpl-1", "object": "chat.completion", "created": 1_767_225_600, "model": "small", "usage": usage,
        "choices": [{"index": 0, "finish_reason": "stop", "logprobs": null, "message": message}],
    })
}

fn message(content: Value, stop: &str) -> Value {
    json!({
        "id": "msg_1", "type": "message", "role": "assistant", "model": "small", "content": content,
        "stop_reason": stop, "stop_sequence": null, "stop_details": null,
        "usage": {
            "input_tokens": 40, "cache_creation_input_tokens": 30, "cache_read_input_tokens": 20, "output_tokens": 12,
            "cache_creation": {"ephemeral_5m_input_tokens": 30, "ephemeral_1h_input_tokens": 0},
            "service_tier": "standard", "inference_geo": "global", "output_tokens_details": {"thinking_tokens": 3},
        },
    })
}

#[test]
fn thoughts_stand_beside_the_answer_or_before_it() {
    let thought = "Perhaps {\"says\": 1}? No.";
    let parts = json!([
        {"type": "thinking", "thinking": [{"type": "text", "text": thought}]},
        {"type": "text", "text": GOOD},
    ]);
    for body in [
        chat(json!({"role": "assistant", "content": GOOD, "reasoning_content": thought, "refusal": null})),
        chat(
            json!({"role": "assistant", "content": GOOD, "reasoning": thought, "reasoning_details": [], "refusal": ""}),
        ),
        chat(json!({"role": "assistant", "content": parts, "tool_calls": null})),
        chat(json!({"role": "assistant", "content": format!("<think>\n{thought}\n</think>\n\n{GOOD}")})),
    ] {
        assert_eq!(said(Kind::OpenAi, body.clone()), (GOOD.to_owned(), 1), "{body}");
    }
    let body = message(
        json!([
            {"type": "thinking", "thinking": thought, "signature": "c2ln"}, {"type": "redacted_thinking", "data": "ZGF0YQ=="},
            {"type": "text", "text": GOOD},
        ]),
        "end_turn",
    );
    let server = server(vec![(200, body)]);
    let answer = asked(&model(Kind::Anthropic, &server)).unwrap();
    assert_eq!((answer.text.as_str(), answer.tokens_in, answer.tokens_out), (GOOD, Some(90), Some(12)));
    let body = json!({
        "model": "small", "created_at": "2026-01-01T00:00:00Z", "done": true, "done_reason": "stop",
        "message": {"role": "assistant", "content": GOOD, "thinking": thought},
        "prompt_eval_count": 90, "eval_count": 12, "total_duration": 5_000_000, "load_duration": 1,
    });
    assert_eq!(said(Kind::Ollama, body), (GOOD.to_owned(), 1));
}

#[test]
fn what_declines_or_ends_at_a_limit_is_not_asked_to_mend_it() {
    let ended = |reason: &str| {
        let mut body = chat(json!({"role": "assistant", "content": "{\"sa"}));
        body["choices"][0]["finish_reason"] = json!(reason);
        body
    };
    // A filter leaves no message at all.
    let mut filtered = ended("content_filter");
    filtered["choices"][0].as_object_mut().unwrap().remove("message");
    let refusal = chat(json!({"role": "assistant", "content": null, "refusal": "I cannot help with that."}));
    for (kind, body, part) in [
        (Kind::OpenAi, ended("length"), "cut at the limit"),
        (Kind::OpenAi, ended("model_length"), "cut at the limit"),
        (Kind::OpenAi, filtered, "declined to answer"),
        (Kind::OpenAi, refusal, "declined to answer"),
        (Kind::Anthropic, message(json!([]), "refusal"), "declined to answer"),
        (Kind::Anthropic, message(json!([{"type": "text", "text": "{\"sa"}]), "max_tokens"), "cut at the limit"),
        (
            Kind::Anthropic,
            message(json!([{"type": "text", "text": "{\"sa"}]), "model_context_window_exceeded"),
            "cut at the limit",
        ),
    ] {
        let (said, requests) = said(kind, body.clone());
        assert!(said.contains(part) && !said.contains("help"), "{body}: {said}");
        assert_eq!(requests, 1, "{body}");
    }
}

#[test]
fn a_failure_inside_a_successful_answer_is_the_failure_it_is() {
    let raw = "the prompt 'my diary' of sk-1 is slow";
    let error =
        json!({"message": "Provider returned error", "code": 429, "metadata": {"raw": raw, "provider_name": "B"}});
    let mut midway = chat(json!({"role": "assistant", "content": "{\"sa"}));
    midway["choices"][0]["finish_reason"] = json!("error");
    midway["choices"][0]["error"] = json!({"code": 502, "message": raw});
    for body in [json!({"error": error, "user_id": "user_1"}), midway, json!({"error": raw})] {
        for kind in [Kind::OpenAi, Kind::Anthropic, Kind::Ollama] {
            if kind != Kind::OpenAi && body.get("choices").is_some() {
                continue;
            }
            let server = server(vec![(200, body.clone())]);
            let failure = asked(&model(kind, &server)).unwrap_err();
            let told = format!("{failure} {failure:?}");
            assert!(matches!(failure, Failure::Later { .. }), "{kind:?} {body}: {told}");
            assert!(told.contains("(status 200, inside it error ") && !told.contains("diary"), "{told}");
            assert_eq!(server.requests().len(), 1);
        }
    }
}

#[test]
fn an_answer_of_another_protocol_is_not_mended() {
    for kind in [Kind::OpenAi, Kind::Anthropic, Kind::Ollama] {
        for body in [json!({"x": 42}), json!([]), json!({"choices": []}), json!({"object": "list", "data": []})] {
            let (said, requests) = said(kind, body.clone());
            assert!(said.contains("answered in no form we know"), "{kind:?} {body}: {said}");
            assert_eq!(requests, 1, "{kind:?} {body}");
        }
    }
}

#[test]
fn the_limit_has_the_name_that_the_server_knows() {
    let refusal = json!({"error": {
        "message": "Unsupported parameter: 'max_tokens' is not supported here. Use 'max_completion_tokens' instead.",
        "type": "invalid_request_error", "param": "max_tokens", "code": "unsupported_parameter",
    }});
    let good = chat(json!({"role": "assistant", "content": GOOD}));
    let server = server(vec![(400, refusal), (200, good)]);
    let model = model(Kind::OpenAi, &server);
    for _ in 0..2 {
        assert_eq!(asked(&model).unwrap().text, GOOD);
    }
    let sent: Vec<(Value, Value, Value)> = server
        .requests()
        .iter()
        .map(|r| {
            let body = &r.body;
            (body["max_tokens"].clone(), body["max_completion_tokens"].clone(), body["response_format"]["type"].clone())
        })
        .collect();
    let newer = (Value::Null, json!(200), json!("json_schema"));
    assert_eq!(sent, [(json!(200), Value::Null, json!("json_schema")), newer.clone(), newer]);
}

#[test]
fn words_that_do_not_fit_say_nothing_about_the_forms_a_server_takes() {
    let unfit = json!({"error": {
        "message": "Failed to generate JSON.", "type": "invalid_request_error", "code": "json_validate_failed",
        "failed_generation": "my diary",
    }});
    let good = chat(json!({"role": "assistant", "content": GOOD}));
    let server = server(vec![(400, unfit), (200, good)]);
    let model = model(Kind::OpenAi, &server);
    for _ in 0..2 {
        assert_eq!(asked(&model).unwrap().text, GOOD);
    }
    let forms: Vec<Value> = server.requests().iter().map(|r| r.body["response_format"]["type"].clone()).collect();
    assert_eq!(forms, ["json_schema", "json_object", "json_schema"]);

    // A filter refuses the content, whatever its form.
    let filter = json!({"error": {"message": "filtered", "code": "content_filter", "param": "prompt", "status": 400}});
    let server = self::server(vec![(400, filter)]);
    assert!(matches!(asked(&self::model(Kind::OpenAi, &server)), Err(Failure::Unusable(_))));
    assert_eq!(server.requests().len(), 1);
}

#[test]
fn a_model_without_structured_output_is_asked_in_words_and_remembered() {
    let refusal = json!({
        "type": "error", "request_id": "req_1",
        "error": {"type": "invalid_request_error", "message": "output_config: Extra inputs are not permitted"},
    });
    let good = message(json!([{"type": "text", "text": format!("Here it is:\n{GOOD}")}]), "end_turn");
    let server = server(vec![(400, refusal.clone()), (200, good)]);
    let model = model(Kind::Anthropic, &server);
    for _ in 0..2 {
        assert_eq!(asked(&model).unwrap().text, GOOD);
    }
    let requests = server.requests();
    let has_form: Vec<bool> = requests.iter().map(|r| r.body.get("output_config").is_some()).collect();
    assert_eq!(has_form, [true, false, false]);
    assert!(requests[2].body["system"].as_str().unwrap().contains("Answer with one JSON object"));

    // A server that refuses this too is not asked without end; other refusals are no reason to ask again.
    let stubborn = self::server(vec![(400, refusal)]);
    assert!(asked(&self::model(Kind::Anthropic, &stubborn)).is_err());
    assert_eq!(stubborn.requests().len(), 2);
    let other =
        json!({"type": "error", "error": {"type": "invalid_request_error", "message": "max_tokens: too large"}});
    let other = self::server(vec![(400, other)]);
    assert!(asked(&self::model(Kind::Anthropic, &other)).is_err());
    assert_eq!(other.requests().len(), 1);
}

#[test]
fn a_cost_includes_what_the_server_behind_takes() {
    let good = |usage: Value| {
        let mut body = chat(json!({"role": "assistant", "content": GOOD}));
        body["usage"].as_object_mut().unwrap().extend(usage.as_object().unwrap().clone());
        let server = server(vec![(200, body)]);
        asked(&model(Kind::OpenAi, &server)).unwrap().cost
    };
    let behind = json!({"upstream_inference_cost": 0.0003203});
    assert_eq!(good(json!({"cost": 0, "is_byok": true, "cost_details": behind})), Some(320));
    assert_eq!(good(json!({"cost": 0.0025, "is_byok": false, "cost_details": behind})), Some(2_500));
    assert_eq!(good(json!({"cost": {"total_cost": 0.1}})), None);
    assert_eq!(good(json!({})), None);
}
