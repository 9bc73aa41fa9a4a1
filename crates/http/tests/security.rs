//! Access control: who may ask, from where, and how much at once.

use axum::body::Body;
use axum::http::Request;
use heirloom_http::Caller;

use crate::world::{PORT, World, request};

const HOST: (&str, &str) = ("host", "127.0.0.1:7411");

fn with(token: &str) -> String {
    format!("Bearer {token}")
}

#[test]
fn over_tcp_only_a_token_opens_the_memory_and_only_its_agents() {
    let world = World::new();
    world.engine.add_agent(&heirloom_engine::scope::AgentId::parse("work").unwrap()).unwrap();
    let token = with(&world.token("editor", &["main"]));
    let auth = ("authorization", token.as_str());

    let refused = world.tcp("/v1/status", &[HOST]).is(401);
    assert_eq!(refused.kind(), "unauthorized");
    assert_eq!(refused.header("www-authenticate"), "Bearer");
    assert_eq!(world.tcp("/v1/status", &[HOST, ("authorization", "Bearer hlm_wrong")]).status, 401);
    assert_eq!(world.tcp("/v1/status", &[HOST, ("authorization", "Basic eDp5")]).status, 401);
    assert_eq!(world.tcp("/v1/status?token=x", &[HOST]).status, 401);
    // An unknown path gives the same answer, so paths cannot be probed.
    assert_eq!(world.tcp("/v1/none", &[HOST]).status, 401);

    let answer = world.tcp("/v1/status", &[HOST, auth]).is(200);
    assert_eq!(answer.json()["agent"], "main");
    assert_eq!(answer.header("heirloom-build"), "9.test");
    assert_eq!(answer.header("cache-control"), "private, no-cache");
    assert!(answer.headers.keys().all(|name| !name.as_str().starts_with("access-control")));

    // To this token, another agent of the home looks like an agent that does not exist.
    let forbidden = world.tcp("/v1/search?q=x", &[HOST, auth, ("heirloom-agent", "work")]).is(404);
    let nobody = [("heirloom-agent", "nobody")];
    let unknown = world.ask("GET", "/v1/search?q=x", &nobody, b"").is(404);
    let words = |text: &str| String::from_utf8_lossy(text.as_bytes()).replace("work", "X").replace("nobody", "X");
    assert_eq!(
        words(&String::from_utf8_lossy(&forbidden.body)),
        words(&String::from_utf8_lossy(&unknown.body)),
        "forbidden and unknown look alike"
    );
    assert_eq!(world.tcp("/v1/status", &[HOST, auth, ("heirloom-agent", "../x")]).status, 422);

    // A revoked token is refused with the next request.
    world.tokens.revoke("editor").unwrap();
    assert_eq!(world.tcp("/v1/status", &[HOST, auth]).status, 401);
}

#[test]
fn a_token_for_several_agents_opens_each_and_the_first_by_itself() {
    let world = World::new();
    world.engine.add_agent(&heirloom_engine::scope::AgentId::parse("work").unwrap()).unwrap();
    let token = with(&world.token("both", &["work", "main"]));
    let auth = ("authorization", token.as_str());
    assert_eq!(world.tcp("/v1/health", &[HOST, auth]).json()["agent"], "work");
    assert_eq!(world.tcp("/v1/health", &[HOST, auth, ("heirloom-agent", "main")]).json()["agent"], "main");
}

#[test]
fn a_name_that_was_made_to_point_here_is_refused() {
    let world = World::new();
    let token = with(&world.token("editor", &["main"]));
    let auth = ("authorization", token.as_str());
    for host in ["127.0.0.1:7411", "localhost:7411", "[::1]:7411", "LOCALHOST:7411"] {
        assert_eq!(world.tcp("/v1/health", &[("host", host), auth]).status, 200, "{host}");
    }
    for host in [
        "evil.example:7411",
        "127.0.0.1",
        "localhost",
        "127.0.0.1:7412",
        "localhost.evil.example:7411",
        "127.0.0.1:7411.evil.example",
        "0.0.0.0:7411",
        "[::]:7411",
        "127.1:7411",
        "localhost:7411,evil.example",
        "",
    ] {
        let answer = world.tcp("/v1/health", &[("host", host), auth]);
        assert_eq!((answer.status, answer.kind().as_str()), (403, "forbidden"), "{host:?}");
    }
    assert_eq!(world.tcp("/v1/health", &[auth]).is(403).kind(), "forbidden", "no host");
    let two = [HOST, ("host", "evil.example:7411"), auth];
    assert_eq!(world.tcp("/v1/health", &two).is(403).kind(), "forbidden", "two hosts");
    // A request line in absolute form that names another host than the header is refused.
    let absolute = request("GET", "http://evil.example:7411/v1/health", &[HOST, auth], b"");
    assert_eq!(world.send(Some(Caller::Tcp { port: PORT }), absolute).status, 403);
}

#[test]
fn pages_of_other_origins_are_refused_and_get_no_cors() {
    let world = World::new();
    let token = with(&world.token("editor", &["main"]));
    let auth = ("authorization", token.as_str());
    for origin in ["http://127.0.0.1:7411", "http://localhost:7411"] {
        assert_eq!(world.tcp("/v1/health", &[HOST, auth, ("origin", origin)]).status, 200, "{origin}");
    }
    for origin in
        ["null", "https://127.0.0.1:7411", "http://127.0.0.1:3000", "http://evil.example", "", "http://127.0.0.1:7411/"]
    {
        let answer = world.tcp("/v1/health", &[HOST, auth, ("origin", origin)]).is(403);
        assert_eq!(answer.kind(), "forbidden", "{origin:?}");
    }
    for (site, status) in [("same-origin", 200), ("none", 200), ("same-site", 403), ("cross-site", 403)] {
        assert_eq!(world.tcp("/v1/health", &[HOST, auth, ("sec-fetch-site", site)]).status, status, "{site}");
    }
    let preflight = [HOST, ("origin", "http://evil.example"), ("access-control-request-method", "POST")];
    let answer = world.send(Some(Caller::Tcp { port: PORT }), request("OPTIONS", "/v1/append", &preflight, b""));
    assert_eq!(answer.status, 403);
    assert!(answer.headers.keys().all(|name| !name.as_str().starts_with("access-control")));
}

#[test]
fn a_request_whose_connection_nobody_described_is_refused() {
    let world = World::new();
    assert_eq!(world.send(None, request("GET", "/v1/health", &[], b"")).is(403).kind(), "forbidden");
}

#[test]
fn what_is_too_large_is_refused_before_it_is_read() {
    let world = World::new();
    // One body is refused by its announced length (100 MiB), one by being a byte too long while it is read.
    let large = world.ask("POST", "/v1/hooks/codex/Stop", &[("content-length", "104857600")], b"").is(413);
    assert_eq!(large.kind(), "too-large");
    let body = Body::from(vec![b'x'; (16 << 20) + 1]);
    let request = Request::builder().method("POST").uri("/v1/hooks/codex/Stop").body(body).unwrap();
    assert_eq!(world.send(Some(Caller::Socket), request).status, 413);
    assert!(world.hooks.lock().unwrap().is_empty());
}

#[test]
fn a_page_gets_its_token_by_a_code_once() {
    let world = World::new();
    let code = world.post("/v1/session/code", serde_json::json!({ "agents": ["main"] })).is(200).json();
    let bring = |headers: &[(&str, &str)]| {
        let body = serde_json::json!({ "code": code["code"] }).to_string();
        let headers: Vec<_> = headers.iter().chain(&[("content-type", "application/json")]).copied().collect();
        world.send(Some(Caller::Tcp { port: PORT }), request("POST", "/v1/session", &headers, body.as_bytes()))
    };
    // Pages of other origins may not bring the code, and only our own host names are accepted.
    assert_eq!(bring(&[HOST, ("origin", "http://evil.example")]).status, 403);
    assert_eq!(bring(&[("host", "evil.example:7411")]).status, 403);
    let opened = bring(&[HOST, ("origin", "http://127.0.0.1:7411")]).is(200).json();
    assert_eq!(bring(&[HOST]).is(409).kind(), "refused");
    let token = with(opened["token"].as_str().unwrap());
    let auth = ("authorization", token.as_str());
    assert_eq!(world.tcp("/v1/status", &[HOST, auth]).json()["agent"], "main");
    assert_eq!(world.tcp("/v1/status", &[HOST, auth, ("heirloom-agent", "work")]).status, 404);
    // Routes of the socket are closed to pages, and the code itself is not a token.
    let headers = [HOST, auth, ("content-type", "application/json")];
    let ask = |path: &str| world.send(Some(Caller::Tcp { port: PORT }), request("POST", path, &headers, b"{}"));
    for path in ["/v1/session/code", "/v1/daemon/retire", "/v1/hooks/codex/Stop"] {
        assert_eq!(ask(path).is(403).kind(), "forbidden", "{path}");
    }
    let code = with(code["code"].as_str().unwrap());
    assert_eq!(world.tcp("/v1/status", &[HOST, ("authorization", &code)]).status, 401);
}

#[test]
fn a_token_for_one_agent_learns_nothing_of_the_others() {
    let world = World::with_words();
    for name in ["work", "hidden"] {
        world.engine.add_agent(&heirloom_engine::scope::AgentId::parse(name).unwrap()).unwrap();
    }
    let token = with(&world.token("editor", &["work"]));
    let auth = ("authorization", token.as_str());
    let all = |path: &str| String::from_utf8(world.tcp(path, &[HOST, auth]).body).unwrap();
    for path in [
        "/v1/agents",
        "/v1/audit",
        "/v1/status",
        "/v1/now",
        "/v1/sessions",
        "/v1/search?q=oven",
        "/v1/workspaces",
        "/v1/threads",
        "/v1/sessions/turns:kitchen",
        "/v1/sessions/turns:kitchen/turns",
        "/v1/turns/t1",
        "/v1/nodes/n1",
        "/v1/expand?id=t1",
        "/v1/expand?id=turns:kitchen",
        "/v1/injections",
    ] {
        let told = all(path);
        assert!(!told.contains("hidden") && !told.contains("workshop"), "{path}: {told}");
    }
    // This token must not import the sessions of the machine's programs into the memory it can read.
    let headers = [HOST, auth, ("content-type", "application/json")];
    let import = request("POST", "/v1/import", &headers, b"{}");
    assert_eq!(world.send(Some(Caller::Tcp { port: PORT }), import).is(403).kind(), "forbidden");
    // Answers about the whole home are refused to a token that does not cover the home's own agent.
    for (method, path) in [("GET", "/v1/doctor"), ("POST", "/v1/verify")] {
        let asked = request(method, path, &headers, b"");
        assert_eq!(world.send(Some(Caller::Tcp { port: PORT }), asked).is(403).kind(), "forbidden", "{path}");
    }
    let main = with(&world.token("page", &["main"]));
    let headers = [HOST, ("authorization", main.as_str()), ("content-type", "application/json")];
    let of = |body: &[u8]| world.send(Some(Caller::Tcp { port: PORT }), request("POST", "/v1/import", &headers, body));
    assert_eq!(of(b"{}").status, 200);
    assert_eq!(of(b"{\"paths\": [\"/etc\"]}").is(403).kind(), "forbidden");
}
