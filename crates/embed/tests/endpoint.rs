//! Tests of the embedding endpoint against a server on this machine that gives the answers of a test.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::sync::{Arc, Mutex};
use std::thread;
use std::time::{Duration, Instant};

use heirloom_embed::{Endpoint, HttpEmbedder};
use heirloom_engine::error::{Error, ErrorKind};
use heirloom_engine::index::Embedder;
use serde_json::{Value, json};

use crate::suite;

const KEY: &str = "sk-quite-secret-4711-quite-secret";

/// Requests the server received: the head as it was sent, and the body.
type Asked = Arc<Mutex<Vec<(String, Value)>>>;

/// Serves until the test ends. `answer` returns the whole response to a request's body, status line included.
fn serve(answer: impl Fn(&Value) -> String + Send + 'static) -> (SocketAddr, Asked) {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap();
    let asked = Asked::default();
    let seen = asked.clone();
    thread::spawn(move || {
        for stream in listener.incoming() {
            one_request(stream.unwrap(), &answer, &seen);
        }
    });
    (address, asked)
}

fn one_request(stream: TcpStream, answer: &impl Fn(&Value) -> String, seen: &Asked) {
    let mut reader = BufReader::new(stream);
    let (mut head, mut length) = (String::new(), 0);
    loop {
        let start = head.len();
        if reader.read_line(&mut head).unwrap_or(0) == 0 {
            return;
        }
        let line = head[start..].to_ascii_lowercase();
        if let Some(n) = line.strip_prefix("content-length:") {
            length = n.trim().parse().unwrap();
        }
        if line == "\r\n" {
            break;
        }
    }
    let mut body = vec![0; length];
    reader.read_exact(&mut body).unwrap();
    let body: Value = serde_json::from_slice(&body).unwrap();
    let out = answer(&body);
    seen.lock().unwrap().push((head, body));
    // The client may have given up already.
    let _ = reader.into_inner().write_all(out.as_bytes());
}

fn http(status: &str, body: &str) -> String {
    format!("HTTP/1.1 {status}\r\ncontent-length: {}\r\nconnection: close\r\n\r\n{body}", body.len())
}

/// Answers with a made-up model: counts of letters, in ten dimensions. The vectors come in another order than the
/// texts, which servers may do.
fn letters(body: &Value) -> String {
    let vector = |text: &str| {
        let mut v = [0.5f32; 10];
        text.bytes().for_each(|b| v[usize::from(b % 10)] += 1.0);
        v
    };
    let texts = body["input"].as_array().unwrap().iter().enumerate().rev();
    let rows: Vec<Value> =
        texts.map(|(n, text)| json!({"index": n, "embedding": vector(text.as_str().unwrap())})).collect();
    http("200 OK", &json!({"object": "list", "data": rows}).to_string())
}

fn endpoint(address: SocketAddr) -> Endpoint {
    let mut endpoint = Endpoint::new(format!("http://{address}/v1/embeddings"), "letters", 10);
    endpoint.timeout = Duration::from_secs(20);
    endpoint
}

fn embedder(address: SocketAddr) -> HttpEmbedder {
    HttpEmbedder::new(endpoint(address)).unwrap()
}

/// Returns everything an error shows, to people and to logs.
fn shown(error: &Error) -> String {
    format!("{error} {error:?} {:?}", error.next_step())
}

/// lineage: R10.8
#[test]
fn an_endpoint_conforms() {
    let (address, _) = serve(letters);
    suite::conforms(&embedder(address));
    assert_eq!(embedder(address).dimensions(), 64, "ten numbers, and zeros up to the next multiple of 64");
    assert_eq!(embedder(address).model(), "endpoint:letters:10");
    let vector = &embedder(address).embed(&["some text"]).unwrap()[0];
    assert!(vector[..10].iter().all(|&x| x > 0.0) && vector[10..].iter().all(|&x| x == 0.0));
}

/// lineage: R10.8
#[test]
fn what_is_asked_is_what_openai_documents() {
    let (address, asked) = serve(letters);
    let mut it = endpoint(address);
    (it.batch, it.most_bytes, it.shorten, it.key) = (2, 6, true, Some(KEY.into()));
    let model = HttpEmbedder::new(it).unwrap();
    let vectors = model.embed(&["one", "", "two", "three times é", "  "]).unwrap();
    assert_eq!(vectors.len(), 5);
    let asked = asked.lock().unwrap();
    let body = |texts: Value| json!({"model": "letters", "input": texts, "encoding_format": "float", "dimensions": 10});
    assert_eq!(asked[0].1, body(json!(["one", "two"])), "empty texts are not sent");
    assert_eq!(asked[1].1, body(json!(["three "])), "a text is cut where its bytes end");
    assert_eq!(asked.len(), 2);
    let head = asked[0].0.to_ascii_lowercase();
    assert!(head.starts_with("post /v1/embeddings http/1.1\r\n"), "{head}");
    assert!(head.contains(&format!("authorization: bearer {KEY}\r\n")), "{head}");
    assert!(head.contains("content-type: application/json"), "{head}");
}

/// lineage: R10.8
#[test]
fn an_endpoint_that_does_not_answer_is_busy() {
    let closed = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap();
    let (silent, _) = serve(|_| {
        thread::sleep(Duration::from_secs(5));
        String::new()
    });
    let (hangs_up, _) = serve(|_| String::new());
    let (half, _) = serve(|_| "HTTP/1.1 200 OK\r\ncontent-length: 1000\r\n\r\n{\"data\": [".into());
    let (other, _) = serve(|_| "220 mail server ready\r\n".into());
    for address in [closed, silent, hangs_up, half, other] {
        let mut it = endpoint(address);
        (it.timeout, it.key) = (Duration::from_millis(700), Some(KEY.into()));
        let start = Instant::now();
        let error = HttpEmbedder::new(it).unwrap().embed(&["text"]).unwrap_err();
        assert!(start.elapsed() < Duration::from_secs(4), "{error}");
        assert_eq!(error.kind(), ErrorKind::Busy, "{error}");
        assert!(error.next_step().is_some() && shown(&error).contains(&address.to_string()), "{error}");
        assert!(!shown(&error).contains(KEY), "{error}");
    }
}

/// lineage: R10.8
#[test]
fn a_status_says_whether_asking_again_helps() {
    for (status, kind) in [
        ("408 Request Timeout", ErrorKind::Busy),
        ("429 Too Many Requests", ErrorKind::Busy),
        ("500 Internal Server Error", ErrorKind::Busy),
        ("503 Service Unavailable", ErrorKind::Busy),
        ("301 Moved Permanently", ErrorKind::Refused),
        ("400 Bad Request", ErrorKind::Refused),
        ("401 Unauthorized", ErrorKind::Refused),
        ("404 Not Found", ErrorKind::Refused),
        ("201 Created", ErrorKind::Refused),
    ] {
        let complaint =
            json!({"error": {"message": format!("wrong key {KEY}, that is 'sk-qui**cret', no model\u{1b}")}});
        let (address, _) = serve(move |_| http(status, &complaint.to_string()));
        let mut it = endpoint(address);
        it.key = Some(KEY.into());
        let error = HttpEmbedder::new(it).unwrap().embed(&["text"]).unwrap_err();
        assert_eq!(error.kind(), kind, "{error}");
        assert!(error.to_string().contains(&status[..3]) && error.to_string().contains("no model"), "{error}");
        assert!(!shown(&error).contains("sk-qui") && !shown(&error).contains('\u{1b}'), "{error}");
    }
    let (address, _) = serve(|_| http("404 Not Found", r#"{"error": "model 'letters' not found, pull it first"}"#));
    let error = embedder(address).embed(&["text"]).unwrap_err();
    assert!(error.to_string().contains("pull it first"), "{error}");
}

/// lineage: R10.8
#[test]
fn answers_that_are_not_answers_are_refused() {
    let row = |n: usize, vector: Value| json!({"index": n, "embedding": vector});
    let ten = json!([1, 2, 3, 4, 5, 6, 7, 8, 9, 10]);
    let huge = json!([1e39, 2, 3, 4, 5, 6, 7, 8, 9, 10]);
    let null = json!([null, 2, 3, 4, 5, 6, 7, 8, 9, 10]);
    for data in [
        json!([]),
        json!([row(0, ten.clone())]),
        json!([row(0, ten.clone()), row(0, ten.clone())]),
        json!([row(0, ten.clone()), row(2, ten.clone())]),
        json!([row(0, ten.clone()), row(1, ten.clone()), row(2, ten.clone())]),
        json!([row(0, ten.clone()), row(1, json!([1, 2, 3]))]),
        json!([row(0, ten.clone()), row(1, json!([]))]),
        json!([row(0, ten.clone()), row(1, huge)]),
        json!([row(0, ten.clone()), row(1, null)]),
        json!([row(0, ten.clone()), row(1, json!("AACAPwAAAEA="))]),
        json!("rows"),
    ] {
        let body = json!({"data": data}).to_string();
        let (address, _) = serve(move |_| http("200 OK", &body));
        let error = embedder(address).embed(&["one", "two"]).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Refused, "{data}: {error}");
        assert!(error.next_step().is_some());
    }
    for body in ["", "<html>welcome</html>", "[]", "{\"data\": [", &" ".repeat(3_000_000)] {
        let out = http("200 OK", body);
        let (address, _) = serve(move |_| out.clone());
        let error = embedder(address).embed(&["one", "two"]).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Refused, "{error}");
    }
    // The vectors have other dimensions than the settings: the hint names the right number.
    let (address, _) = serve(letters);
    let mut it = endpoint(address);
    it.dimensions = 384;
    let error = HttpEmbedder::new(it).unwrap().embed(&["text"]).unwrap_err();
    assert!(error.next_step().unwrap().contains("to 10"), "{error:?}");
}

#[test]
fn one_failing_batch_fails_the_whole() {
    let (address, _) = serve(|body| match body["input"][0].as_str() {
        Some("bad") => http("503 Service Unavailable", "no"),
        _ => letters(body),
    });
    let mut it = endpoint(address);
    it.batch = 1;
    assert!(HttpEmbedder::new(it).unwrap().embed(&["good", "bad", "good"]).is_err(), "no vector is made up for a text");
}

/// lineage: R10.8
#[test]
fn settings_that_cannot_work_are_said_at_once() {
    let with = |url: &str, key: Option<&str>| {
        let mut it = Endpoint::new(url, "m", 256);
        it.key = key.map(Into::into);
        HttpEmbedder::new(it)
    };
    for url in
        ["", "embeddings", "ftp://host/x", "http:///v1", "http://user:pass@host/v1", "/v1/embeddings", "http://a b/"]
    {
        let error = with(url, None).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Usage, "{url}");
        assert!(!shown(&error).contains("pass@"), "{error}");
    }
    for url in ["http://models.example/v1/embeddings", "http://10.0.0.7:8080/v1", "http://localhost.example/v1"] {
        assert_eq!(with(url, Some(KEY)).unwrap_err().kind(), ErrorKind::Refused, "{url}");
        assert!(with(url, None).is_ok(), "{url}");
    }
    for url in
        ["https://models.example/v1/embeddings", "http://localhost:1/v1", "http://127.0.0.1/v1", "http://[::1]:80/v1"]
    {
        let model = with(url, Some(KEY)).unwrap();
        assert!(!format!("{model:?}").contains("secret"));
    }
    assert_eq!(with("https://models.example/v1", Some("sk\nx")).unwrap_err().kind(), ErrorKind::Usage);
    assert_eq!(HttpEmbedder::new(Endpoint::new("http://localhost/v1", "m", 0)).unwrap_err().kind(), ErrorKind::Usage);
}

/// An `https` address requires a secure connection: a server without one gets no plain request.
#[test]
fn https_is_https() {
    let (address, asked) = serve(letters);
    let mut it = endpoint(address);
    it.url = format!("https://{address}/v1/embeddings");
    it.key = Some(KEY.into());
    it.timeout = Duration::from_secs(2);
    let error = HttpEmbedder::new(it).unwrap().embed(&["text"]).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Busy, "{error}");
    assert!(asked.lock().unwrap().is_empty());
}
