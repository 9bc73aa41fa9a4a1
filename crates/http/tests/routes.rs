//! Calls every route once and checks that each answer has the form the OpenAPI document gives it.

use std::collections::BTreeSet;

use heirloom_http::{described, openapi};
use serde_json::{Value, json};

use crate::schema::faults;
use crate::world::{Answer, World};

/// A world that records which routes were called and checks each answer against the document.
struct Tour {
    world: World,
    document: Value,
    seen: BTreeSet<String>,
}

impl Tour {
    /// Calls a route, given its path template from the document, the values of the path's parameters, and the query.
    fn ask(&mut self, method: &str, template: &str, parts: &[&str], query: &str, body: Option<Value>) -> Answer {
        let mut path = String::new();
        let mut parts = parts.iter();
        for part in template.split('/').skip(1) {
            path.push('/');
            match part.starts_with('{') {
                true => path.push_str(&escaped(parts.next().expect("a part of the path"))),
                false => path.push_str(part),
            }
        }
        path.push_str(query);
        let answer = match body {
            Some(body) => {
                let kind = [("content-type", "application/json")];
                self.world.ask(method, &path, &kind, body.to_string().as_bytes())
            }
            None => self.world.ask(method, &path, &[], b""),
        };
        self.held(method, template, answer)
    }

    /// Checks an answer against the document.
    fn held(&mut self, method: &str, template: &str, answer: Answer) -> Answer {
        self.seen.insert(format!("{method} {template}"));
        let route = &self.document["paths"][template][method.to_lowercase()];
        assert!(route.is_object(), "{method} {template} is not described");
        let schema = match answer.status {
            200 => &route["responses"]["200"]["content"]["application/json"]["schema"],
            204 | 304 => return answer,
            _ => &self.document["components"]["responses"]["Problem"]["content"]["application/problem+json"]["schema"],
        };
        if schema.is_object() && answer.header("content-type").contains("json") {
            let wrong = faults(&self.document, schema, &answer.json());
            let shown: Vec<String> = wrong.iter().take(5).map(|w| w.chars().take(300).collect()).collect();
            assert!(wrong.is_empty(), "{method} {template}: {shown:#?}");
        }
        answer
    }

    fn get(&mut self, template: &str, parts: &[&str], query: &str) -> Value {
        self.ask("GET", template, parts, query, None).is(200).json()
    }

    fn post(&mut self, template: &str, parts: &[&str], body: Value) -> Value {
        self.ask("POST", template, parts, "", Some(body)).is(200).json()
    }
}

fn escaped(part: &str) -> String {
    part.bytes()
        .map(|b| if b.is_ascii_alphanumeric() { char::from(b).to_string() } else { format!("%{b:02X}") })
        .collect()
}

fn text(value: &Value) -> &str {
    value.as_str().unwrap_or_else(|| panic!("{value} is no text"))
}

#[test]
fn every_route_answers_what_the_document_says() {
    let mut tour = Tour { world: World::with_words(), document: openapi(), seen: BTreeSet::new() };
    intake(&mut tour);
    looking(&mut tour);
    threads(&mut tour);
    loops(&mut tour);
    memory(&mut tour);
    proposals(&mut tour);
    heads(&mut tour);
    kept(&mut tour);
    runs(&mut tour);
    channels(&mut tour);
    history(&mut tour);
    learned(&mut tour);
    let all: BTreeSet<String> = described().iter().map(|r| format!("{} {}", r.method, r.path)).collect();
    let left: Vec<&String> = all.difference(&tour.seen).collect();
    assert!(left.is_empty(), "never asked: {left:#?}");
}

fn intake(tour: &mut Tour) {
    // A line that is sent twice makes one turn.
    let line = br#"{"session": "kitchen", "id": "a1", "text": "The oven makes a noise; call the workshop by Friday.", "time": "2026-03-02T10:00:00Z"}
not json

{"session": "kitchen", "id": "a3", "text": "The oven is fixed.", "time": "2026-03-02T18:00:00Z"}"#;
    let answer = tour.world.post_as("/v1/append", "application/x-ndjson", line);
    let done = tour.held("POST", "/v1/append", answer).is(200).json();
    assert_eq!(done["turns"], json!({ "new": 1, "known": 1 }), "the same record twice is one turn");
    assert_eq!(done["refused"], 1);
    let lines: Vec<u64> = done["lines"].as_array().unwrap().iter().map(|l| l["line"].as_u64().unwrap()).collect();
    assert_eq!(lines, [1, 2, 4]);
    assert_eq!(done["lines"][0]["state"], "known");
    assert_eq!(done["lines"][1]["ok"], false);

    let done = tour.post("/v1/import", &[], json!({ "programs": ["codex"], "paths": ["/tmp/x"] }));
    assert_eq!(done["records"], 0);
    let asked = tour.world.imports.lock().unwrap()[0].clone();
    assert_eq!((asked.programs, asked.paths), (vec!["codex".to_owned()], vec!["/tmp/x".into()]));

    let payload = b"{\"any\": \"bytes\xff\"}";
    let hook = [("heirloom-hook-id", "0199-a")];
    let answer = tour.world.ask("POST", "/v1/hooks/codex/UserPromptSubmit", &hook, payload);
    let answer = tour.held("POST", "/v1/hooks/{program}/{event}", answer).is(200);
    assert_eq!(answer.body, b"{\"given\":true}\n");
    let call = tour.world.hooks.lock().unwrap()[0].clone();
    assert_eq!((call.program.as_str(), call.event.as_str()), ("codex", "UserPromptSubmit"));
    assert_eq!((call.hook_id.as_deref(), call.payload.as_slice()), (Some("0199-a"), &payload[..]));
    let quiet = tour.world.ask("POST", "/v1/hooks/codex/Quiet", &[], b"");
    assert_eq!((quiet.status, quiet.body.len()), (204, 0));

    let code = tour.post("/v1/session/code", &[], json!({}));
    let opened = tour.post("/v1/session", &[], json!({ "code": code["code"] }));
    assert_eq!(opened["agents"], json!(["main"]));
    assert_eq!(tour.post("/v1/daemon/retire", &[], json!({}))["retiring"], true);
    assert_eq!(*tour.world.retired.lock().unwrap(), 1);
}

fn looking(tour: &mut Tour) {
    let status = tour.get("/v1/status", &[], "");
    assert_eq!((&status["turns"], &status["sessions"]), (&json!(5), &json!(2)));
    assert_eq!(tour.get("/v1/health", &[], "")["build"], "9.test");
    assert_eq!(tour.get("/v1/now", &[], "")["stored"]["turns"], 5);
    assert_eq!(tour.get("/v1/agents", &[], "")["agents"][0]["agent"], "main");
    assert!(tour.get("/v1/workspaces", &[], "")["workspaces"].is_array());
    assert_eq!(tour.get("/v1/openapi.json", &[], "")["info"]["title"], "Heirloom");

    let found = tour.get("/v1/search", &[], "?q=workshop%20oven&kind=turn&explain=true&since=2026-01");
    let turn = text(&found["hits"][0]["turn"]).to_owned();
    assert!(text(&found["hits"][0]["snippet"]).contains("workshop"), "{found}");
    assert_eq!(found["explain"]["limits"]["since"], "2026-01");
    let recalled = tour.get("/v1/recall", &[], "?q=what%20about%20the%20oven&deep=true");
    assert!(recalled["items"].as_array().is_some_and(|items| !items.is_empty()), "{recalled}");

    assert!(tour.get("/v1/turns/{id}", &[&turn], "?around=1")["turns"].as_array().unwrap().len() > 1);
    let sessions = tour.get("/v1/sessions", &[], "?harness=turns");
    assert_eq!(sessions["items"].as_array().unwrap().len(), 2);
    assert_eq!(tour.get("/v1/timeline", &[], "?until=2026-03-02")["items"][0]["session"], "turns:kitchen");
    let details = tour.get("/v1/sessions/{key}", &["turns:kitchen"], "");
    let brief = tour.get("/v1/sessions/{key}", &["turns:kitchen"], "?brief=true");
    assert!(
        !details["runs"].as_array().unwrap().is_empty()
            && ["runs", "records", "sources"].iter().all(|list| brief[list] == json!([]))
            && ["name", "session", "lanes", "boundaries"].iter().all(|part| brief[part] == details[part])
    );
    assert_eq!(details["session"]["turns"], 3);
    let words = tour.get("/v1/sessions/{key}/turns", &["turns:kitchen"], "?limit=2");
    assert_eq!(words["items"][0]["text"], "The oven makes a noise; call the workshop by Friday.");
    assert_eq!(details["name"], "The oven makes a noise; call the workshop by Friday");
    assert_eq!(tour.get("/v1/sessions/{key}/outline", &["turns:kitchen"], "")["sections"][0]["count"], 3);
    assert_eq!(tour.get("/v1/turns/{id}/record", &[&turn], "")["turn"], turn.as_str());
    let next = format!("?limit=2&cursor={}", text(&words["next"]));
    assert_eq!(
        tour.get("/v1/sessions/{key}/turns", &["turns:kitchen"], &next)["items"][0]["text"],
        "The oven is fixed."
    );

    assert_eq!(tour.post("/v1/sessions/{key}/end", &["turns:kitchen"], json!({}))["ended"], true);
    assert!(
        tour.post("/v1/sessions/{key}/compact", &["turns:garden"], json!({ "dry_run": true }))["session"].is_string()
    );
    let switched = tour.post("/v1/sessions/{key}/switch", &["turns:garden"], json!({ "thread": "topic/beans" }));
    assert_eq!(switched["thread"]["thread"], "topic/beans");

    let above = tour.get("/v1/expand", &[], &format!("?id={turn}&transcript=true"));
    let node = text(&above["nodes"][0]["id"]).to_owned();
    assert!(text(&above["transcript"]["turns"][0]["text"]).contains("workshop"), "{above}");
    assert_eq!(tour.get("/v1/nodes/{id}", &[&node], "")["node"]["id"], node.as_str());
    let below = tour.get("/v1/nodes/{id}/expand", &[&node], "?depth=2&transcript=true&limit=1");
    assert!(below["transcript"]["next"].is_string(), "{below}");

    let given = tour.post("/v1/context", &[], json!({ "session": "turns:kitchen", "event": "start" }));
    assert!(text(&given["block"]).contains("oven"), "{given}");
    let given = text(&given["id"]).to_owned();
    let listed = tour.get("/v1/injections", &[], "?session=turns:kitchen");
    assert_eq!(listed["items"][0]["id"], given.as_str());
    let shown = tour.get("/v1/injections/{id}", &[&given], "");
    let block = text(&shown["content"]["block"]);
    assert!(block.contains("oven"));
    let costs: Vec<u64> = shown["line_tokens"].as_array().unwrap().iter().map(|n| n.as_u64().unwrap()).collect();
    assert_eq!(costs.len(), block.lines().count());
    assert!(costs.iter().sum::<u64>() + costs.len() as u64 >= shown["tokens"].as_u64().unwrap(), "{shown}");
}

fn threads(tour: &mut Tour) {
    tour.post("/v1/sessions/{key}/switch", &["turns:kitchen"], json!({ "thread": "topic/oven" }));
    let listed = tour.get("/v1/threads", &[], "?all=true");
    assert!(listed["items"].as_array().unwrap().iter().any(|t| t["thread"] == "topic/oven"), "{listed}");
    assert_eq!(tour.get("/v1/threads/{key}", &["topic/oven"], "")["thread"]["thread"], "topic/oven");
    let named = tour.post("/v1/threads/{key}/name", &["topic/oven"], json!({ "name": "The stove" }));
    assert_eq!(named["thread"]["label"], "The stove");
    assert_eq!(tour.get("/v1/threads/{key}", &["The stove"], "")["thread"]["thread"], "topic/oven");
    let both = json!({ "other": "topic/beans", "why": "food" });
    assert_eq!(tour.post("/v1/threads/{key}/link", &["topic/oven"], both)["changed"], true);
    tour.post("/v1/threads/{key}/unlink", &["topic/oven"], json!({ "other": "topic/beans" }));
    assert_eq!(tour.post("/v1/threads/{key}/close", &["topic/oven"], json!({}))["thread"]["state"], "closed");
    assert_eq!(tour.post("/v1/threads/{key}/reopen", &["topic/oven"], json!({}))["changed"], true);
    tour.post("/v1/threads/{key}/merge", &["topic/beans"], json!({ "into": "topic/oven" }));
    let alone = tour.post("/v1/threads/{key}/unmerge", &["topic/beans"], json!({}));
    assert_eq!(alone["thread"]["thread"], "topic/beans");
}

fn loops(tour: &mut Tour) {
    let body = json!({ "title": "Order a new oven door", "text": "The blue one.", "due": "2026-04-01" });
    let item = tour.post("/v1/loops", &[], body);
    let id = text(&item["id"]).to_owned();
    assert_eq!(item["change"], "new");
    let open = tour.get("/v1/loops", &[], "");
    assert!(open["items"].as_array().unwrap().iter().any(|item| item["id"] == id.as_str()), "{open}");
    assert!(text(&tour.get("/v1/loops/{id}", &[&id], "")["body"]).contains("The blue one."));
    tour.post("/v1/loops/{id}/resolve", &[&id], json!({ "note": "It came." }));
    assert_eq!(tour.get("/v1/loops", &[], "?resolved=true")["items"][0]["id"], id.as_str());
    tour.post("/v1/loops/{id}/reopen", &[&id], json!({}));
    assert_eq!(
        tour.ask("POST", "/v1/loops", &[], "", Some(json!({ "title": "x", "due": "soon" }))).is(422).kind(),
        "usage"
    );
}

fn memory(tour: &mut Tour) {
    let body = json!({ "text": "I like my tea black.", "class": "preference", "tags": ["tea"] });
    let added = tour.post("/v1/memory", &[], body);
    let id = text(&added["items"][0]["id"]).to_owned();
    assert_eq!(tour.get("/v1/memory", &[], "?tag=tea")["items"][0]["id"], id.as_str());
    assert_eq!(tour.get("/v1/memory/search", &[], "?q=tea")["hits"][0]["id"], id.as_str());
    assert_eq!(tour.get("/v1/memory/{id}", &[&id], "")["text"], "I like my tea black.");
    let tag = tour.ask("GET", "/v1/memory/{id}", &[&id], "", None).header("etag").to_owned();

    // An edit without `If-Match` is refused.
    let edit = json!({ "text": "I like my tea with milk." });
    let refused = tour.ask("POST", "/v1/memory/{id}/edit", &[&id], "", Some(edit.clone())).is(428);
    assert_eq!(refused.kind(), "if-match");
    let path = format!("/v1/memory/{}/edit", escaped(&id));
    let headers = [("content-type", "application/json"), ("if-match", tag.as_str())];
    let answer = tour.world.ask("POST", &path, &headers, edit.to_string().as_bytes());
    let edited = tour.held("POST", "/v1/memory/{id}/edit", answer).is(200).json();
    assert_eq!(edited["text"], "I like my tea with milk.");
    // The same edit sent again is based on the state before the first one.
    let answer = tour.world.ask("POST", &path, &headers, edit.to_string().as_bytes());
    let stale = tour.held("POST", "/v1/memory/{id}/edit", answer).is(412);
    assert_eq!(stale.kind(), "changed");
    assert_eq!(stale.json()["current"]["text"], "I like my tea with milk.");
    let now = tour.ask("GET", "/v1/memory/{id}", &[&id], "", None);
    assert_eq!(stale.header("etag"), now.header("etag"), "the newer text comes with its tag");

    assert_eq!(tour.post("/v1/memory/{id}/verify", &[&id], json!({}))["items"][0]["id"], id.as_str());
    assert_eq!(tour.post("/v1/memory/{id}/pin", &[&id], json!({}))["items"][0]["fields"]["pinned"], true);
    let instead = tour.post("/v1/memory/{id}/supersede", &[&id], json!({ "text": "I drink coffee now." }));
    assert_eq!(instead["items"][0]["superseded"][0], id.as_str());
    let forgotten = tour.post("/v1/memory/{id}/forget", &[&id], json!({}));
    assert_eq!(forgotten["forgotten"][0], id.as_str());
    assert_eq!(tour.ask("GET", "/v1/memory/{id}", &[&id], "", None).is(404).kind(), "not-found");
}

fn proposals(tour: &mut Tour) {
    let body = json!({ "entries": ["The workshop closes at five."], "class": "preference" });
    let item = tour.post("/v1/proposals", &[], body);
    let id = text(&item["id"]).to_owned();
    let waiting = tour.get("/v1/proposals", &[], "");
    assert!(waiting["items"].as_array().unwrap().iter().any(|w| w["id"] == id.as_str()), "{waiting}");
    let one = tour.ask("GET", "/v1/proposals/{id}", &[&id], "", None).is(200);
    let (tag, version) = (one.header("etag").to_owned(), text(&one.json()["version"]).to_owned());

    let path = format!("/v1/proposals/{}/edit", escaped(&id));
    let edit = json!({ "entries": ["The workshop closes at six."] }).to_string();
    let headers = [("content-type", "application/json"), ("if-match", tag.as_str())];
    let answer = tour.world.ask("POST", &path, &headers, edit.as_bytes());
    let edited = tour.held("POST", "/v1/proposals/{id}/edit", answer).is(200).json();
    assert_eq!(edited["entries"][0], "The workshop closes at six.");
    let answer = tour.world.ask("POST", &path, &headers, edit.as_bytes());
    assert_eq!(tour.held("POST", "/v1/proposals/{id}/edit", answer).status, 412);

    // A yes to the version before the edit is refused.
    let seen = json!({ "version": version });
    let stale = tour.ask("POST", "/v1/proposals/{id}/accept", &[&id], "", Some(seen)).is(412);
    assert_eq!(stale.json()["current"]["entries"][0], "The workshop closes at six.");
    let accepted =
        tour.post("/v1/proposals/{id}/accept", &[&id], json!({ "version": stale.json()["current"]["version"] }));
    assert_eq!(accepted["outcome"], "accepted");
    assert_eq!(tour.get("/v1/proposals/decided", &[], "")["items"][0]["id"], id.as_str());
    assert_eq!(tour.post("/v1/proposals/{id}/undo", &[&id], json!({}))["outcome"], "undone");
    assert_eq!(tour.post("/v1/proposals/{id}/reject", &[&id], json!({ "reason": "No." }))["outcome"], "rejected");
    assert_eq!(tour.post("/v1/proposals/undo", &[], json!({}))["items"][0]["outcome"], "undone");
    let both = json!({ "items": [{ "id": id }, { "id": "p:none" }], "answer": "reject" });
    let done = tour.post("/v1/proposals/decide", &[], both);
    assert_eq!((done["items"].as_array().unwrap().len(), done["refused"].as_array().unwrap().len()), (1, 1));
    let gone = tour.ask("POST", "/v1/proposals/{id}/accept", &["p:none"], "", Some(json!({})));
    assert_eq!(gone.is(404).kind(), "not-found");
}

fn heads(tour: &mut Tour) {
    let listed = tour.get("/v1/heads", &[], "");
    assert!(listed["items"].as_array().unwrap().iter().any(|h| h["head"] == "memory"), "{listed}");
    assert!(tour.get("/v1/heads/{head}", &["memory"], "")["content"].is_string());
    assert!(tour.get("/v1/heads/{head}/why", &["active"], "")["lines"].is_array());
    let taken = tour.post("/v1/heads/{head}/acquire", &["memory"], json!({ "owner": "editor", "ttl": 30 }));
    let busy = json!({ "owner": "another" });
    let busy = tour.ask("POST", "/v1/heads/{head}/acquire", &["memory"], "", Some(busy)).is(503);
    assert_eq!((busy.kind().as_str(), &busy.json()["holder"]), ("busy", &json!("editor")));
    assert!(busy.header("retry-after").parse::<u32>().is_ok_and(|n| n <= 30));
    let commit = json!({
        "section": "notes", "owner": "editor", "epoch": taken["epoch"], "base": taken["base_revision"], "content": "Buy beans.",
    });
    let stands = tour.post("/v1/heads/{head}/commit", &["memory"], commit.clone());
    let revision = stands["revision"].as_i64().unwrap();
    let again = json!({ "section": "notes", "owner": "editor", "epoch": 0, "base": 0, "content": "x" });
    assert_eq!(tour.ask("POST", "/v1/heads/{head}/commit", &["memory"], "", Some(again)).status, 503);
    let release = json!({ "owner": "editor", "epoch": taken["epoch"] });
    assert_eq!(tour.post("/v1/heads/{head}/release", &["memory"], release)["released"], true);
    let log = tour.get("/v1/heads/{head}/log", &["memory"], "");
    assert!(log["revisions"].as_array().unwrap().iter().any(|r| r["revision"] == revision), "{log}");
    assert!(tour.get("/v1/heads/{head}/diff", &["memory"], &format!("?from={}", revision - 1))["lines"].is_array());
    let back = tour.post("/v1/heads/{head}/restore", &["memory"], json!({ "revision": revision }));
    assert_eq!(back["from"], revision);
}

fn kept(tour: &mut Tour) {
    let item =
        tour.post("/v1/artifacts", &[], json!({ "title": "Plan of the garden", "text": "Beans left, peas none." }));
    let id = text(&item["id"]).to_owned();
    assert_eq!(tour.get("/v1/artifacts", &[], "")["items"][0]["id"], id.as_str());
    assert!(text(&tour.get("/v1/artifacts/{id}", &[&id], "")["body"]).contains("peas none"));
    assert_eq!(tour.get("/v1/jobs", &[], "")["items"], json!([]));
    assert_eq!(tour.ask("GET", "/v1/jobs/{name}", &["nightly"], "", None).is(404).kind(), "not-found");
    assert_eq!(tour.ask("POST", "/v1/jobs/{name}/ack", &["nightly"], "", Some(json!({}))).is(404).kind(), "not-found");
}

fn runs(tour: &mut Tour) {
    let path = "/v1/jobs/{name}/runs";
    let body = json!({
        "command": "backup --token=ghp_0123456789abcdefghijABCDEFGHIJ456789", "started_at": 1_700_000_000_000_i64,
        "exit_code": 3, "output": "copying\nno space left\n",
    });
    let run = tour.post(path, &["nightly"], body.clone());
    assert_eq!((&run["status"], &run["exit_code"]), (&json!("failed"), &json!(3)), "{run}");
    assert!(!run.to_string().contains("ghp_0123456789"), "{run}");
    assert_eq!(tour.post(path, &["nightly"], body)["run"], run["run"], "told twice, it is one run");
    let artifacts = tour.get("/v1/artifacts", &[], "");
    let kept = artifacts["items"].as_array().unwrap().iter().filter(|item| item["path"] == run["artifact"]).count();
    assert_eq!(kept, 1, "{artifacts}");
    let done = tour.post(path, &["nightly"], json!({ "command": "backup", "exit_code": 0 }));
    assert_eq!((&done["status"], &done["artifact"]), (&json!("done"), &json!(null)));
    let killed = tour.post(path, &["weekly"], json!({ "command": "report", "signal": 9 }));
    assert_eq!(killed["status"], "failed");
    assert_eq!(tour.get("/v1/jobs/{name}", &["nightly"], "")["runs"].as_array().unwrap().len(), 2);
    assert_eq!(tour.get("/v1/jobs", &[], "")["items"].as_array().unwrap().len(), 2);
    tour.post("/v1/jobs/{name}/ack", &["weekly"], json!({}));
    for (name, body) in [
        ("nightly", json!({ "command": "backup" })),
        ("nightly", json!({ "command": "backup", "exit_code": 0, "started_at": 99_000_000_000_000_i64 })),
        ("%2Fetc", json!({ "command": "backup", "exit_code": 0 })),
    ] {
        assert_eq!(tour.ask("POST", path, &[name], "", Some(body)).is(422).kind(), "usage");
    }
}

fn channels(tour: &mut Tour) {
    let path = "/v1/channels/requests";
    let ask = |peer: &str| json!({ "channel": "telegram", "peer": peer, "name": "Ada" });
    let asked = tour.post(path, &[], ask("4711"));
    let id = text(&asked["events"][0]["id"]).to_owned();
    assert_eq!(tour.post(path, &[], ask("4711"))["events"][0]["id"], id.as_str(), "asking again is the same");
    tour.post(path, &[], ask("4712"));
    let first = tour.get(path, &[], "?limit=1");
    assert_eq!(first["items"][0]["peer"], "4712");
    let next = format!("?limit=1&cursor={}", text(&first["next"]));
    assert_eq!(tour.get(path, &[], &next)["items"][0]["id"], id.as_str());
    let approved = tour.post("/v1/channels/requests/{id}/approve", &[&id], json!({}));
    assert_eq!(approved["events"][0]["state"], "approved");
    let other = tour.ask("POST", "/v1/channels/requests/{id}/deny", &[&id], "", Some(json!({})));
    assert_eq!(other.is(409).kind(), "refused");
    tour.post("/v1/channels/requests/{id}/deny", &["c:2"], json!({}));
    assert_eq!(tour.get(path, &[], "")["items"], json!([]));
    assert_eq!(tour.get(path, &[], "?all=true")["items"].as_array().unwrap().len(), 2);
    let nobody = tour.ask("POST", "/v1/channels/requests/{id}/approve", &["c:99"], "", Some(json!({})));
    assert_eq!(nobody.is(404).kind(), "not-found");
}

fn history(tour: &mut Tour) {
    let rows = tour.get("/v1/audit", &[], "?limit=3");
    assert_eq!(rows["items"].as_array().unwrap().len(), 3);
    assert_eq!(rows["items"][0]["actor"], "http local");
    // The content of the event stream is tested in `events`.
    tour.seen.insert("GET /v1/events".into());
}

/// Checks the routes of candidates and of drafts of skills.
fn learned(tour: &mut Tour) {
    assert_eq!(tour.get("/v1/evolve", &[], "?all=true")["items"], json!([]));
    assert_eq!(tour.get("/v1/skills", &[], "?all=true")["items"], json!([]));
    for (method, template) in
        [("GET", "/v1/skills/{id}"), ("POST", "/v1/skills/{id}/accept"), ("POST", "/v1/skills/{id}/reject")]
    {
        let body = (method == "POST").then(|| json!({}));
        assert_eq!(tour.ask(method, template, &["k:7"], "", body).is(404).kind(), "not-found");
    }
    let looked = tour.get("/v1/doctor", &[], "");
    assert_eq!((&looked["ok"], &looked["checks"][0]["subject"]), (&json!(true), &json!("Home")));
    let sound = tour.post("/v1/verify", &[], json!({}));
    assert_eq!((&sound["ok"], &sound["findings"]), (&json!(true), &json!([])), "{sound}");
    assert!(sound["turns"].as_u64().unwrap() > 3, "{sound}");
}
