//! Tests of providers over HTTP, in every wire form, with good and bad answers.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use heirloom_engine::model::{Answer, Failure, Model as _, Used};
use heirloom_model::{Choice, Key, Kind};
use heirloom_testkit::TestHome;
use heirloom_testkit::fake_model::{FakeModel, Reply, Request};
use serde_json::{Value, json};

use crate::{ask, folders, schema};

const KEY: &str = "sk-test-0123456789abcdef";

const GOOD: &str = r#"{"says":"done"}"#;

/// Makes a choice of a provider at the fake server.
fn choice(kind: Kind, server: &FakeModel) -> Choice {
    let base = if kind == Kind::OpenAi { format!("{}/v1", server.url()) } else { server.url() };
    Choice { model: Some("small".into()), url: Some(base), key: Some(Key::parse(KEY).unwrap()), ..Choice::new(kind) }
}

const PROVIDERS: [Kind; 3] = [Kind::Anthropic, Kind::OpenAi, Kind::Ollama];

fn answer(choice: &Choice) -> Result<Answer, Failure> {
    let home = TestHome::new();
    choice.open(folders(&home)).unwrap().answer(&ask(&schema()))
}

/// Starts a server that gives these answers one after the other and then repeats the last one.
fn server(replies: Vec<Reply>) -> FakeModel {
    let next = AtomicUsize::new(0);
    FakeModel::start(Box::new(move |_| {
        let n = next.fetch_add(1, Ordering::SeqCst).min(replies.len() - 1);
        Some(replies[n].clone())
    }))
}

fn only(server: &FakeModel) -> Request {
    let requests = server.requests();
    assert_eq!(requests.len(), 1);
    requests[0].clone()
}

#[test]
fn each_provider_is_asked_in_its_own_form() {
    for kind in PROVIDERS {
        let server = server(vec![Reply::text(GOOD).reporting(90)]);
        let said = answer(&choice(kind, &server)).unwrap();
        assert_eq!((said.text.as_str(), said.tokens_in, said.tokens_out), (GOOD, Some(90), Some(12)), "{kind:?}");
        let request = only(&server);
        assert_eq!(request.body["model"], "small");
        let (form, key) = match kind {
            Kind::Anthropic => {
                assert_eq!((&request.body["system"], &request.body["max_tokens"]), (&json!("Say it."), &json!(200)));
                assert_eq!(request.header("anthropic-version"), Some("2023-06-01"));
                (request.body["output_config"]["format"]["schema"].clone(), request.header("x-api-key"))
            }
            Kind::OpenAi => {
                let format = &request.body["response_format"];
                assert_eq!((&format["type"], &format["json_schema"]["strict"]), (&json!("json_schema"), &json!(true)));
                let key = request.header("authorization").and_then(|v| v.strip_prefix("Bearer "));
                (format["json_schema"]["schema"].clone(), key)
            }
            _ => {
                assert_eq!((&request.body["think"], &request.body["stream"]), (&json!(false), &json!(false)));
                assert_eq!(request.body["options"], json!({"num_ctx": 4096, "num_predict": 200}));
                (
                    request.body["format"].clone(),
                    request.header("authorization").and_then(|v| v.strip_prefix("Bearer ")),
                )
            }
        };
        assert_eq!(key, Some(KEY));
        assert_eq!(form["required"], json!(["says", "why"]));
        assert_eq!(form["properties"]["says"], json!({"type": "string", "description": "at most 40 characters"}));
        assert!(!form.to_string().contains("maxLength"), "{form}");
    }
}

#[test]
fn a_bad_answer_is_mended_once_and_both_are_counted() {
    for kind in PROVIDERS {
        let bad = Reply::text(r#"{"says": 7}"#).reporting(90);
        let server = server(vec![bad.clone(), Reply::text(GOOD).reporting(120)]);
        let said = answer(&choice(kind, &server)).unwrap();
        assert_eq!((said.text.as_str(), said.tokens_in, said.tokens_out), (GOOD, Some(210), Some(24)));
        let again = server.requests()[1].body["messages"].as_array().unwrap().clone();
        let told = again.last().unwrap()["content"].as_str().unwrap().to_owned();
        assert!(told.starts_with("That cannot be used: at /says/: value is not of type \"string\"."), "{told}");
        assert_eq!(again[again.len() - 2]["content"], r#"{"says": 7}"#);

        let stubborn = self::server(vec![bad]);
        let failure = answer(&choice(kind, &stubborn)).unwrap_err();
        assert_eq!(failure, Failure::Unusable("it does not fit the schema (/properties/says/type)".into()));
        assert_eq!(stubborn.requests().len(), 2);
    }
}

#[test]
fn every_request_that_was_sent_is_counted() {
    let bad = || Reply::text(r#"{"says": 7}"#).reporting(90);
    let home = TestHome::new();
    for kind in PROVIDERS {
        let used = |replies: Vec<Reply>| {
            let server = server(replies);
            let (_, used) = choice(kind, &server).open(folders(&home)).unwrap().counted(&ask(&schema()));
            let used = used.unwrap();
            assert_eq!(used.requests, server.requests().len() as u64, "{kind:?}");
            (used.requests, used.tokens_in, used.tokens_out)
        };
        assert_eq!(used(vec![bad(), bad()]), (2, 180, 24), "unusable twice");
        assert_eq!(
            used(vec![bad(), Reply::raw(429, "{}")]),
            (2, 90, 12),
            "the first answer used tokens, the second none"
        );
        assert_eq!(used(vec![Reply::raw(429, "{}")]), (1, 0, 0));
        // A model that was cut off may have read everything and written all it was allowed to.
        let (requests, tokens_in, tokens_out) = used(vec![Reply::text(GOOD).cut()]);
        assert!(requests == 1 && tokens_in > 20 && tokens_out == ask(&schema()).max_output as u64, "{kind:?}");
    }
    let gone = Choice { url: Some("http://127.0.0.1:1/v1".into()), ..choice(Kind::OpenAi, &FakeModel::usual()) };
    let (_, used) = gone.open(folders(&home)).unwrap().counted(&ask(&schema()));
    assert_eq!(used, Some(Used::default()), "nothing was sent");
}

#[test]
fn statuses_mean_later_or_never() {
    let key_echoed =
        format!(r#"{{"error":{{"type":"authentication_error","message":"invalid x-api-key {KEY} for my diary"}}}}"#);
    let quota = r#"{"error":{"code":"insufficient_quota","message":"You exceeded your current quota"}}"#;
    for kind in PROVIDERS {
        let failed = |reply: Reply| {
            let server = server(vec![reply]);
            let failure = answer(&choice(kind, &server)).unwrap_err();
            let told = format!("{failure} {failure:?}");
            assert!(!told.contains("sk-") && !told.contains("diary"), "{told}");
            assert_eq!(server.requests().len(), 1, "{told}");
            failure
        };
        let later = |reply: Reply| match failed(reply) {
            Failure::Later { after, .. } => after,
            other => panic!("{other:?}"),
        };
        assert_eq!(later(Reply::raw(429, "{}").with_header("retry-after", "7")), Some(Duration::from_secs(7)));
        assert_eq!(later(Reply::raw(429, "{}")), None);
        assert_eq!(later(Reply::raw(529, "overloaded")), None);
        assert_eq!(later(Reply::raw(500, "")), None);
        for (status, body) in
            [(401, key_echoed.as_str()), (403, "{}"), (404, "no such model"), (402, "{}"), (429, quota)]
        {
            assert!(matches!(failed(Reply::raw(status, body)), Failure::Refused(_)), "{status}");
        }
    }
}

#[test]
fn nothing_is_sent_where_a_redirect_leads() {
    for kind in PROVIDERS {
        let elsewhere = FakeModel::usual();
        let to = format!("{}/v1/messages", elsewhere.url());
        for status in [301, 302, 307, 308] {
            let server = server(vec![Reply::raw(status, "").with_header("location", &to)]);
            let failure = answer(&choice(kind, &server)).unwrap_err();
            assert!(
                matches!(&failure, Failure::Refused(why) if why.contains("redirects are not followed")),
                "{failure}"
            );
        }
        assert!(elsewhere.requests().is_empty());
    }
}

#[test]
fn what_is_slow_cut_empty_or_endless_has_an_end() {
    let huge = json!({"says": "x".repeat(2 << 20)}).to_string();
    for kind in PROVIDERS {
        let failed = |reply: Reply, timeout: Duration| {
            let server = server(vec![reply]);
            answer(&Choice { timeout, ..choice(kind, &server) }).unwrap_err()
        };
        let minute = Duration::from_secs(60);
        let slow = failed(Reply::text(GOOD).after(Duration::from_secs(2)), Duration::from_millis(300));
        assert!(matches!(&slow, Failure::Later { why, .. } if why.contains("did not answer within 300ms")), "{slow}");
        assert!(matches!(failed(Reply::text(GOOD).cut(), minute), Failure::Later { .. }));
        let large = failed(Reply::text(huge.clone()), minute);
        assert!(matches!(&large, Failure::Unusable(why) if why.contains("more than 1048576 bytes")), "{large}");
        for text in ["", "Which file do you mean?", "[]", "{}", r#"{"says":"done","obeyed":true}"#] {
            assert!(matches!(failed(Reply::text(text), minute), Failure::Unusable(_)), "{text}");
        }
        assert!(matches!(failed(Reply::raw(200, "<html>"), minute), Failure::Unusable(_)));
    }
    let gone = Choice { url: Some("http://127.0.0.1:1/v1".into()), ..choice(Kind::OpenAi, &FakeModel::usual()) };
    assert!(matches!(answer(&gone), Err(Failure::Unsent { .. })));
}

/// Returns the forms of `response_format` the server was asked with.
fn forms(server: &FakeModel) -> Vec<Value> {
    server.requests().iter().map(|r| r.body["response_format"]["type"].clone()).collect()
}

#[test]
fn a_server_that_knows_no_schema_is_asked_in_words_and_remembered() {
    let unknown = || Reply::raw(400, r#"{"error":"'response_format.type' must be 'text'"}"#);
    let server = server(vec![unknown(), unknown(), Reply::text(GOOD)]);
    let home = TestHome::new();
    let model = choice(Kind::OpenAi, &server).open(folders(&home)).unwrap();
    let schema = schema();
    model.answer(&ask(&schema)).unwrap();
    assert_eq!(forms(&server), [json!("json_schema"), json!("json_object"), Value::Null]);
    let system = server.requests()[2].body["messages"][0]["content"].as_str().unwrap().to_owned();
    assert!(system.contains("Answer with one JSON object") && system.contains("\"maxLength\":40"), "{system}");
    model.answer(&ask(&schema)).unwrap();
    assert_eq!(server.requests().len(), 4, "the form is remembered");

    // A question that is too long says nothing about the form, and if all forms were refused, none is remembered.
    let long = self::server(vec![Reply::overflow()]);
    assert!(matches!(answer(&choice(Kind::OpenAi, &long)), Err(Failure::Unusable(_))));
    assert_eq!(long.requests().len(), 1);
    let never = self::server(vec![unknown()]);
    let model = choice(Kind::OpenAi, &never).open(folders(&home)).unwrap();
    assert!(model.answer(&ask(&schema)).is_err() && model.answer(&ask(&schema)).is_err());
    assert_eq!(never.requests().len(), 6);
}

#[test]
fn a_choice_that_cannot_work_is_refused_before_anything_is_sent() {
    let home = TestHome::new();
    let error = |choice: Choice| choice.open(folders(&home)).err().unwrap().to_string();
    assert!(error(Choice::new(Kind::Ollama)).contains("which one?"));
    assert!(error(Choice::new(Kind::Command)).contains("no command"));
    let key = Some(Key::parse(KEY).unwrap());
    let clear = Choice { url: Some("http://192.0.2.1".into()), key, ..Choice::new(Kind::Anthropic) };
    let told = error(clear.clone());
    assert!(told.contains("in the clear") && !told.contains(KEY), "{told}");
    assert!(!format!("{clear:?}").contains(KEY));
    assert_eq!(Choice::new(Kind::Anthropic).name(), "anthropic/claude-haiku-4-5");
}
