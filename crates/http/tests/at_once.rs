//! Many concurrent requests, and clients that disconnect.

use std::time::Duration;

use heirloom_http::Caller;
use serde_json::json;
use tower::ServiceExt;

use crate::world::{World, request};

#[test]
fn what_waits_for_its_turn_is_not_begun_when_its_client_leaves() {
    let world = World::with_words();
    let held = world.holds.lock().unwrap();
    let call = |path: &str| {
        let mut request = request("POST", path, &[], b"{}");
        request.extensions_mut().insert(Caller::Socket);
        world.router.clone().oneshot(request)
    };
    world.run(async {
        // Four hooks are running, which is the limit.
        let mut working: Vec<_> = (0..4).map(|_| tokio::spawn(call("/v1/hooks/codex/Wait"))).collect();
        while world.hooks.lock().unwrap().len() < 4 {
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
        let waiting = tokio::spawn(call("/v1/hooks/codex/Late"));
        tokio::time::sleep(Duration::from_millis(50)).await;
        assert_eq!(world.hooks.lock().unwrap().len(), 4);
        // Hooks do not delay other requests.
        let looked = tokio::time::timeout(Duration::from_secs(60), async {
            let mut request = request("GET", "/v1/health", &[], b"");
            request.extensions_mut().insert(Caller::Socket);
            world.router.clone().oneshot(request).await.unwrap().status()
        });
        assert_eq!(looked.await.unwrap(), 200);
        waiting.abort();
        drop(held);
        for one in working.drain(..) {
            assert_eq!(one.await.unwrap().unwrap().status(), 200);
        }
        tokio::time::sleep(Duration::from_millis(50)).await;
    });
    let events: Vec<String> = world.hooks.lock().unwrap().iter().map(|call| call.event.clone()).collect();
    assert_eq!(events, ["Wait"; 4], "nobody waited for the fifth any more");
}

#[test]
fn an_act_whose_client_left_is_done_whole_or_not_at_all() {
    let world = World::with_words();
    for n in 0..20 {
        let body = json!({ "title": format!("Loop {n}"), "text": "x".repeat(2_000) }).to_string();
        let mut request = request("POST", "/v1/loops", &[("content-type", "application/json")], body.as_bytes());
        request.extensions_mut().insert(Caller::Socket);
        world.run(async {
            let patience = Duration::from_micros(n * 700);
            let _ = tokio::time::timeout(patience, world.router.clone().oneshot(request)).await;
        });
    }
    // Writes run one at a time: once this request is answered, all earlier writes have ended.
    world.post("/v1/loops", json!({ "title": "The last" })).is(200);
    let open = world.get("/v1/loops?limit=100").is(200).json();
    for item in open["items"].as_array().unwrap().iter().filter(|item| item["path"].is_string()) {
        assert!(item["problem"].is_null() && item["id"].is_string(), "{item}");
    }
    assert!(world.engine.verify().unwrap().ok, "everything that was begun was finished");
}

#[test]
fn many_clients_at_once_are_all_answered() {
    let world = World::with_words();
    world.run(async {
        let asked = (0..200).map(|n| {
            let path = ["/v1/status", "/v1/search?q=oven", "/v1/sessions", "/v1/recall?q=oven"][n % 4];
            let mut request = request("GET", path, &[], b"");
            request.extensions_mut().insert(Caller::Socket);
            tokio::spawn(world.router.clone().oneshot(request))
        });
        for one in asked.collect::<Vec<_>>() {
            assert_eq!(one.await.unwrap().unwrap().status(), 200);
        }
    });
}
