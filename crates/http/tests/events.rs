//! Live events: a client learns what to read again, from where it left off.

use std::time::Duration;

use axum::body::Body;
use heirloom_http::Caller;
use http_body_util::BodyExt;
use serde_json::{Value, json};
use tower::ServiceExt;

use crate::world::{World, request};

/// An event as a client parses it.
#[derive(Debug)]
struct Told {
    id: i64,
    event: String,
    data: Value,
}

/// Reads the events of a stream until it is silent for 300 ms.
async fn told(body: &mut Body) -> Vec<Told> {
    let mut text = String::new();
    while let Ok(Some(frame)) = tokio::time::timeout(Duration::from_millis(300), body.frame()).await {
        text.push_str(std::str::from_utf8(frame.unwrap().data_ref().unwrap()).unwrap());
    }
    text.split("\n\n").filter(|block| block.contains("data:")).map(one).collect()
}

fn one(block: &str) -> Told {
    let of = |name: &str| {
        block.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix(':')).unwrap_or_default().trim().to_owned()
    };
    Told { id: of("id").parse().unwrap(), event: of("event"), data: serde_json::from_str(&of("data")).unwrap() }
}

impl World {
    async fn listen(&self, path: &str, headers: &[(&str, &str)]) -> Body {
        let mut request = request("GET", path, headers, b"");
        request.extensions_mut().insert(Caller::Socket);
        let response = self.router.clone().oneshot(request).await.unwrap();
        assert_eq!(response.status(), 200);
        assert_eq!(response.headers()["content-type"], "text/event-stream");
        response.into_body()
    }

    /// Signals a change to the router, as the watching process would.
    fn wake(&self) {
        self.changes.send_replace(self.engine.newest_change().unwrap());
    }
}

#[test]
fn a_change_is_told_by_its_kind_and_ids_and_never_by_its_words() {
    let world = World::with_words();
    let (mut listening, before) = world.run(async {
        let before = world.engine.newest_change().unwrap();
        (world.listen("/v1/events", &[]).await, before)
    });
    assert!(world.run(told(&mut listening)).is_empty(), "nothing has happened since");
    world.post("/v1/loops", json!({ "title": "Order a secret door" })).is(200);
    world.wake();
    let events = world.run(told(&mut listening));
    let added = events.iter().find(|e| e.data["action"] == "loop.add").unwrap_or_else(|| panic!("{events:?}"));
    assert_eq!((added.event.as_str(), &added.data["kind"]), ("change", &json!("loop")));
    assert_eq!(added.data["agent"], "main");
    assert_eq!(added.data["ids"].as_array().unwrap().len(), 1);
    assert!(events.iter().all(|e| e.id > before as i64));
    assert!(events.windows(2).all(|pair| pair[0].id < pair[1].id));
    assert!(!format!("{events:?}").contains("secret"), "{events:?}");
}

#[test]
fn a_client_goes_on_behind_the_last_event_it_saw() {
    let world = World::with_words();
    let all = world.run(async { told(&mut world.listen("/v1/events?after=0", &[]).await).await });
    assert!(all.len() > 3 && all[0].event == "change", "{all:?}");
    let seen = all[1].id.to_string();
    let rest = world.run(async {
        // The header `Last-Event-ID` takes precedence over the query.
        told(&mut world.listen("/v1/events?after=0", &[("last-event-id", &seen)]).await).await
    });
    let ids = |events: &[Told]| events.iter().map(|e| e.id).collect::<Vec<i64>>();
    assert_eq!(ids(&rest), ids(&all[2..]));
}

#[test]
fn whoever_is_too_far_behind_or_ahead_is_told_to_read_everything() {
    let world = World::with_words();
    let newest = world.engine.newest_change().unwrap();
    for after in ["99999999", "-1"] {
        let events =
            world.run(async { told(&mut world.listen(&format!("/v1/events?after={after}"), &[]).await).await });
        assert_eq!((events.len(), events[0].event.as_str()), (1, "resync"), "{after}");
        assert_eq!(events[0].id as u64, newest);
    }
    for _ in 0..1_001 {
        world.engine.write("test.change", |_| Ok(())).unwrap();
    }
    let events = world.run(async { told(&mut world.listen("/v1/events?after=1", &[]).await).await });
    assert_eq!(events[0].event, "resync");
    assert_eq!(world.get("/v1/events?after=x").is(422).kind(), "usage");
    assert_eq!(world.ask("GET", "/v1/events", &[("last-event-id", "x")], b"").status, 422);
}

#[test]
fn another_agents_changes_are_not_told() {
    let world = World::with_words();
    let work = heirloom_engine::scope::AgentId::parse("work").unwrap();
    world.engine.add_agent(&work).unwrap();
    let mut listening = world.run(world.listen("/v1/events", &[("heirloom-agent", "work")]));
    world.post("/v1/loops", json!({ "title": "Mine alone" })).is(200);
    world.wake();
    let events = world.run(told(&mut listening));
    assert!(events.iter().all(|e| e.data["agent"].is_null() && e.data["ids"] == json!([])), "{events:?}");
    assert_eq!(world.ask("GET", "/v1/events", &[("heirloom-agent", "nobody")], b"").is(404).kind(), "not-found");
}

#[test]
fn the_number_of_listeners_is_limited_and_who_leaves_makes_room() {
    let world = World::with_words();
    let mut all: Vec<Body> = (0..64).map(|_| world.run(world.listen("/v1/events", &[]))).collect();
    assert_eq!(world.get("/v1/events").is(503).kind(), "busy");
    // Other requests are still served.
    assert_eq!(world.get("/v1/health").status, 200);
    all.pop();
    drop(world.run(world.listen("/v1/events", &[])));
}
