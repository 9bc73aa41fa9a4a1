//! A home with one conversation and the router over it, called without a network.

use std::sync::{Arc, Mutex};

use axum::Router;
use axum::body::Body;
use axum::http::{HeaderMap, Request};
use heirloom_engine::engine::{Engine, How, Options};
use heirloom_engine::report::import::Imported;
use heirloom_engine::scope::AgentId;
use heirloom_harness::{HostPaths, on_machine};
use heirloom_http::{Api, Caller, Check, ChecksReport, HookReply, HookRequest, ImportRequest, Parts, Tokens, router};
use heirloom_testkit::TestHome;
use http_body_util::BodyExt;
use serde_json::Value;
use tokio::sync::watch;
use tower::ServiceExt;

pub const PORT: u16 = 7411;

/// A home, its engine and router, and records of what the router called.
pub struct World {
    _home: TestHome,
    pub engine: Engine,
    pub tokens: Tokens,
    pub router: Router,
    /// While a test holds this lock, hooks called `Wait` do not end.
    pub holds: Arc<Mutex<()>>,
    /// Hook calls the router received.
    pub hooks: Arc<Mutex<Vec<HookRequest>>>,
    pub imports: Arc<Mutex<Vec<ImportRequest>>>,
    pub retired: Arc<Mutex<u32>>,
    pub changes: watch::Sender<u64>,
    runtime: tokio::runtime::Runtime,
}

/// An answer.
#[derive(Debug)]
pub struct Answer {
    pub status: u16,
    pub headers: HeaderMap,
    pub body: Vec<u8>,
}

impl Answer {
    pub fn json(&self) -> Value {
        serde_json::from_slice(&self.body).unwrap_or_else(|e| panic!("{e}: {}", String::from_utf8_lossy(&self.body)))
    }

    pub fn header(&self, name: &str) -> &str {
        self.headers.get(name).map_or("", |v| v.to_str().unwrap())
    }

    /// Returns the answer after checking its status.
    pub fn is(self, status: u16) -> Answer {
        assert_eq!(self.status, status, "{}", String::from_utf8_lossy(&self.body));
        self
    }

    /// Returns the kind of the problem, which must say what to do next.
    pub fn kind(&self) -> String {
        assert_eq!(self.header("content-type"), "application/problem+json");
        let problem = self.json();
        assert_eq!(problem["status"], self.status);
        assert!(problem["next"].as_str().is_some_and(|next| !next.is_empty()), "{problem}");
        problem["type"].as_str().unwrap().strip_prefix("urn:heirloom:").unwrap().to_owned()
    }
}

impl World {
    pub fn new() -> World {
        let home = TestHome::new();
        let options = Options { programs: on_machine(&HostPaths::default()), ..Options::default() };
        let engine = Engine::open(&home.home(), How::Create, options).unwrap();
        let (changes, seen) = watch::channel(0);
        let hooks: Arc<Mutex<Vec<HookRequest>>> = Arc::default();
        let imports: Arc<Mutex<Vec<ImportRequest>>> = Arc::default();
        let retired: Arc<Mutex<u32>> = Arc::default();
        let holds: Arc<Mutex<()>> = Arc::default();
        let held = Arc::clone(&holds);
        let (h, i, r) = (Arc::clone(&hooks), Arc::clone(&imports), Arc::clone(&retired));
        let parts = Parts {
            engine: engine.clone(),
            hooks: Arc::new(move |call: HookRequest| {
                let body = if call.event == "Quiet" { Vec::new() } else { b"{\"given\":true}\n".to_vec() };
                let waits = call.event == "Wait";
                h.lock().unwrap().push(call);
                if waits {
                    drop(held.lock().unwrap());
                }
                HookReply { body }
            }),
            import: Arc::new(move |engine: &Engine, asked| {
                i.lock().unwrap().push(asked);
                engine.import(&[]) as heirloom_engine::error::Result<Imported>
            }),
            doctor: Arc::new(|engine: &Engine| {
                let what = engine.home().root().display().to_string();
                let check = Check { subject: "Home".into(), ok: true, what, next: None };
                Ok(ChecksReport { ok: true, checks: vec![check] })
            }),
            tokens: Tokens::of(&engine),
            retire: Arc::new(move || *r.lock().unwrap() += 1),
            changes: seen,
            build: "9.test".into(),
        };
        let tokens = Tokens::of(&engine);
        let router = router(Api::new(parts));
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
        World { _home: home, engine, tokens, router, holds, hooks, imports, retired, changes, runtime }
    }

    /// Makes a world with turns of the person and a model, in two sessions of plain turns.
    pub fn with_words() -> World {
        let world = World::new();
        let lines = [
            r#"{"session": "kitchen", "id": "a1", "text": "The oven makes a noise; call the workshop by Friday.", "time": "2026-03-02T10:00:00Z"}"#,
            r#"{"session": "kitchen", "id": "a2", "role": "assistant", "text": "I will call the workshop on Thursday about the oven.", "time": "2026-03-02T10:00:05Z"}"#,
            r#"{"session": "garden", "id": "b1", "text": "We plant beans in the garden, never peas.", "time": "2026-03-03T09:00:00Z"}"#,
            r#"{"session": "garden", "id": "b2", "role": "assistant", "text": "Beans it is.", "time": "2026-03-03T09:00:07Z"}"#,
        ];
        let answer = world.post_as("/v1/append", "application/x-ndjson", lines.join("\n").as_bytes());
        answer.is(200);
        world
    }

    pub fn token(&self, name: &str, agents: &[&str]) -> String {
        let agents: Vec<AgentId> = agents.iter().map(|a| AgentId::parse(a).unwrap()).collect();
        self.tokens.issue(name, &agents).unwrap().token
    }

    /// Sends a request as it is.
    pub fn send(&self, caller: Option<Caller>, mut request: Request<Body>) -> Answer {
        if let Some(caller) = caller {
            request.extensions_mut().insert(caller);
        }
        self.runtime.block_on(async {
            let response = self.router.clone().oneshot(request).await.unwrap();
            let (parts, body) = response.into_parts();
            let body = body.collect().await.unwrap().to_bytes().to_vec();
            Answer { status: parts.status.as_u16(), headers: parts.headers, body }
        })
    }

    /// Asks through the socket.
    pub fn ask(&self, method: &str, path: &str, headers: &[(&str, &str)], body: &[u8]) -> Answer {
        self.send(Some(Caller::Socket), request(method, path, headers, body))
    }

    pub fn get(&self, path: &str) -> Answer {
        self.ask("GET", path, &[], b"")
    }

    pub fn post(&self, path: &str, body: Value) -> Answer {
        self.ask("POST", path, &[("content-type", "application/json")], body.to_string().as_bytes())
    }

    pub fn post_as(&self, path: &str, kind: &str, body: &[u8]) -> Answer {
        self.ask("POST", path, &[("content-type", kind)], body)
    }

    /// Asks over TCP with these headers and nothing else.
    pub fn tcp(&self, path: &str, headers: &[(&str, &str)]) -> Answer {
        self.send(Some(Caller::Tcp { port: PORT }), request("GET", path, headers, b""))
    }

    pub fn run<T>(&self, f: impl Future<Output = T>) -> T {
        self.runtime.block_on(f)
    }
}

pub fn request(method: &str, path: &str, headers: &[(&str, &str)], body: &[u8]) -> Request<Body> {
    let mut request = Request::builder().method(method).uri(path);
    for (name, value) in headers {
        request = request.header(*name, *value);
    }
    request.body(Body::from(body.to_vec())).unwrap()
}
