//! Malformed and hostile requests.

use serde_json::json;

use crate::world::World;

#[test]
fn ids_that_are_none_are_not_found_and_lead_nowhere() {
    let world = World::with_words();
    world.post("/v1/memory", json!({ "text": "I like tea.", "class": "preference" })).is(200);
    let long = "x".repeat(30_000);
    let ids = [
        "..%2F..%2F..%2Fetc%2Fpasswd",
        "%2e%2e%2f%2e%2e%2fstate%2fruntime.db",
        "..%5C..%5Cx",
        "%2Fetc%2Fpasswd",
        "a%00b",
        "%00",
        "m:%00",
        "t",
        "tzz",
        "t-1",
        "t0",
        "tffffffffffffffff",
        "x:99999999999999999999",
        "n%0Aid",
        "%F0%9F%8D%8B",
        "'%20OR%201=1--",
        "*",
        &long,
    ];
    let routes = [
        "turns",
        "nodes",
        "sessions",
        "threads",
        "loops",
        "proposals",
        "memory",
        "heads",
        "artifacts",
        "jobs",
        "injections",
        "skills",
    ];
    for route in routes {
        for id in ids {
            let answer = world.get(&format!("/v1/{route}/{id}"));
            let kind = answer.kind();
            assert!(matches!(kind.as_str(), "not-found" | "usage"), "{route}/{}: {kind}", &id[..id.len().min(60)]);
            assert!(answer.body.len() < 3_000, "{route}: a hostile id is not sent back whole");
            assert!(!String::from_utf8_lossy(&answer.body).contains("root:"));
        }
    }
    // An id that is not valid UTF-8 is refused before it is looked up.
    assert_eq!(world.get("/v1/memory/%FF%FE").is(400).kind(), "malformed");
    assert_eq!(world.ask("POST", "/v1/hooks/codex/%FF", &[], b"").is(400).kind(), "malformed");
    for id in ["..%2F..%2Fetc%2Fpasswd", "/etc/passwd", "a%00b"] {
        let answer = world.get(&format!("/v1/expand?id={id}"));
        assert!(matches!(answer.status, 404 | 422), "{id}: {}", answer.status);
        assert!(matches!(world.get(&format!("/v1/loops?workspace={id}")).status, 404 | 422), "{id}");
    }
}

#[test]
fn a_key_that_is_none_is_an_error_that_names_those_there_are() {
    let world = World::with_words();
    let answer = world.get("/v1/sessions?limits=3").is(422);
    assert_eq!(answer.kind(), "usage");
    let detail = answer.json()["detail"].as_str().unwrap().to_owned();
    for known in ["limits", "limit", "cursor", "workspace", "since"] {
        assert!(detail.contains(known), "{detail}");
    }
    assert_eq!(world.get("/v1/status?x=1").status, 422);
    assert_eq!(world.get("/v1/search").status, 422, "the query is missing");
    assert_eq!(world.get("/v1/search?q=a&q=b").status, 422, "twice");
    assert_eq!(world.get("/v1/search?q=a&limit=9999").status, 422);
    assert_eq!(world.get("/v1/search?q=a&limit=-1").status, 422);
    assert_eq!(world.get("/v1/search?q=a&kind=cake").status, 422);
    assert_eq!(world.get("/v1/search?q=a&kind=memory&role=user").status, 422);
    assert_eq!(world.get("/v1/search?q=a&workspace=.").status, 422);
    let body = world.post("/v1/loops", json!({ "title": "x", "titel": "y" })).is(422);
    assert!(body.json()["detail"].as_str().unwrap().contains("titel"));
    assert_eq!(
        world.ask("POST", "/v1/loops?dry=1", &[("content-type", "application/json")], b"{\"title\":\"x\"}").status,
        422
    );
}

#[test]
fn bodies_that_are_none() {
    let world = World::with_words();
    let json = [("content-type", "application/json")];
    let of = |body: &[u8]| world.ask("POST", "/v1/loops", &json, body);
    assert_eq!(of(b"{").is(400).kind(), "malformed");
    assert_eq!(of(b"\xff\xfe").is(400).kind(), "malformed");
    assert_eq!(of(b"[]").is(422).kind(), "usage");
    assert_eq!(of(b"null").status, 422);
    let deep = format!("{{\"title\": {}{}}}", "[".repeat(200_000), "]".repeat(200_000));
    assert_eq!(of(deep.as_bytes()).status, 422, "the wrong type is seen before the depth");
    let deep = format!("{}{}", "[".repeat(200_000), "]".repeat(200_000));
    assert!(matches!(of(deep.as_bytes()).status, 400 | 422));
    let large = format!("{{\"title\": \"{}\"}}", "x".repeat(1 << 20));
    assert_eq!(of(large.as_bytes()).is(413).kind(), "too-large");
    // A content type that any web page may send without a preflight is not accepted as JSON.
    let form = world.ask("POST", "/v1/loops", &[("content-type", "text/plain")], b"{\"title\": \"x\"}").is(415);
    assert_eq!(form.kind(), "media-type");
    assert_eq!(world.ask("POST", "/v1/loops", &[], b"{\"title\": \"x\"}").is(415).kind(), "media-type");
    let open = world.get("/v1/loops").json();
    assert!(open["items"].as_array().unwrap().iter().all(|item| item["title"] != "x"), "nothing of that was done");
}

#[test]
fn paths_and_methods_that_are_none() {
    let world = World::with_words();
    for path in ["/web", "/v1", "/v1/", "/v2/status", "/v1/status/", "/v1/../v1/status", "//v1/status", "/v1/nothing"] {
        assert_eq!(world.get(path).is(404).kind(), "not-found", "{path}");
    }
    for (method, path) in
        [("DELETE", "/v1/status"), ("POST", "/v1/status"), ("GET", "/v1/append"), ("PUT", "/v1/loops")]
    {
        let answer = world.ask(method, path, &[], b"").is(405);
        assert_eq!(answer.kind(), "method", "{method} {path}");
    }
    assert_eq!(world.ask("HEAD", "/v1/health", &[], b"").status, 200);
}

#[test]
fn every_kind_of_error_has_its_status_and_says_what_to_do() {
    let world = World::with_words();
    let next = |answer: crate::world::Answer| {
        let problem = answer.json();
        assert!(problem["detail"].as_str().is_some_and(|d| !d.is_empty()), "{problem}");
        assert!(problem["title"].is_string() && problem["exit"].is_u64(), "{problem}");
        (answer.kind(), problem["exit"].as_u64().unwrap(), problem["next"].is_string())
    };
    assert_eq!(next(world.get("/v1/sessions/none").is(404)), ("not-found".into(), 4, true));
    assert_eq!(next(world.get("/v1/search?q=x&kind=cake").is(422)), ("usage".into(), 2, true));
    let proposed = world.post("/v1/proposals", json!({ "entries": ["Tea is black."], "class": "preference" })).json();
    let path = format!("/v1/proposals/{}", proposed["id"].as_str().unwrap());
    world.post(&format!("{path}/accept"), json!({})).is(200);
    let memory = world.get("/v1/memory").json()["items"][0]["id"].as_str().unwrap().to_owned();
    let page = world.get(&format!("/v1/memory/{memory}")).json();
    let file = page["file"].as_str().unwrap();
    let edited = std::fs::read_to_string(file).unwrap().replace("black", "green");
    std::fs::write(file, edited).unwrap();
    // A decision whose file was edited since cannot be undone.
    assert_eq!(next(world.post(&format!("{path}/undo"), json!({})).is(409)), ("refused".into(), 3, true));
}
