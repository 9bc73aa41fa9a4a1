//! Lists in pages, and ETags of lists a client already has.

use std::collections::BTreeSet;

use serde_json::{Value, json};

use crate::world::World;

/// Reads all items of a list, `limit` per page; also returns the number of pages.
fn all(world: &World, path: &str, limit: usize) -> (Vec<Value>, usize) {
    let (mut items, mut pages, mut next) = (Vec::new(), 0, None::<String>);
    loop {
        let join = if path.contains('?') { '&' } else { '?' };
        let cursor = next.map(|next| format!("&cursor={next}")).unwrap_or_default();
        let page = world.get(&format!("{path}{join}limit={limit}{cursor}")).is(200).json();
        let found = page["items"].as_array().unwrap();
        assert!(found.len() <= limit, "{path}");
        items.extend(found.iter().cloned());
        pages += 1;
        assert!(pages < 1_000, "{path} never ends");
        match page["next"].as_str() {
            Some(cursor) => next = Some(cursor.to_owned()),
            None => return (items, pages),
        }
    }
}

fn filled() -> World {
    let world = World::new();
    let mut lines = Vec::new();
    for session in 0..11 {
        for turn in 0..5 {
            // Several sessions share their last time, and some have no time at all.
            let time = if session % 5 == 0 {
                String::new()
            } else {
                format!(r#","time":"2026-03-{:02}T10:00:00Z""#, 1 + session / 2)
            };
            lines.push(format!(
                r#"{{"session":"s{session:02}","id":"{turn}","text":"Word {turn} of {session}"{time}}}"#
            ));
        }
    }
    world.post_as("/v1/append", "application/x-ndjson", lines.join("\n").as_bytes()).is(200);
    for n in 0..9 {
        world.post("/v1/loops", json!({ "title": format!("Loop number {n}") })).is(200);
        world.post("/v1/artifacts", json!({ "title": format!("Artifact {n}"), "text": "x" })).is(200);
        let text = format!("I like the number {n} more than others.");
        world
            .post("/v1/memory", json!({ "text": text, "title": format!("Number {n}"), "class": "preference" }))
            .is(200);
        let entries = [format!("The door number {n} is green.")];
        world.post("/v1/proposals", json!({ "entries": entries, "title": format!("Door {n}") })).is(200);
    }
    for n in 0..6 {
        let thread = json!({ "thread": format!("topic/bed-{n}") });
        world.post(&format!("/v1/sessions/turns:s{n:02}/switch"), thread).is(200);
    }
    let one = world.get("/v1/memory?limit=1").json();
    let id = one["items"][0]["id"].as_str().unwrap().to_owned();
    world.post(&format!("/v1/memory/{id}/pin"), json!({})).is(200);
    world
}

#[test]
fn a_list_over_many_pages_has_each_item_once() {
    let world = filled();
    let lists = [
        ("/v1/sessions", "session", 11),
        ("/v1/timeline?since=2026-03-02&until=2026-03-04", "session", 0),
        ("/v1/sessions/turns:s03/turns", "turn", 5),
        ("/v1/threads?all=true", "thread", 6),
        ("/v1/loops", "id", 9),
        ("/v1/artifacts", "id", 9),
        ("/v1/memory", "id", 9),
        ("/v1/proposals", "id", 9),
        ("/v1/heads", "head", 0),
        ("/v1/audit", "no", 0),
    ];
    for (path, id, count) in lists {
        let (whole, _) = all(&world, path, 500);
        assert!(whole.len() >= count && !whole.is_empty(), "{path}: {}", whole.len());
        for limit in [1, 4] {
            let (items, pages) = all(&world, path, limit);
            let ids = |items: &[Value]| items.iter().map(|i| i[id].to_string()).collect::<Vec<_>>();
            // Reading can add rows to the audit, so the first pages of the audit itself may be newer.
            assert_eq!(ids(&items), ids(&whole), "{path} by {limit}");
            assert_eq!(ids(&items).into_iter().collect::<BTreeSet<_>>().len(), items.len(), "{path} by {limit}");
            assert_eq!(pages, items.len().div_ceil(limit), "{path} by {limit}");
        }
    }
}

/// Reads all pages of a search; `between` is called before each page but the first. Returns turns and files in order.
fn searched(world: &World, path: &str, mut between: impl FnMut(usize)) -> (Vec<String>, Vec<String>) {
    let (mut turns, mut files, mut next) = (Vec::new(), Vec::new(), None::<String>);
    for page in 0.. {
        assert!(page < 200, "{path} never ends");
        let cursor = next.map(|next| format!("&cursor={next}")).unwrap_or_default();
        let found = world.get(&format!("{path}{cursor}")).is(200).json();
        let of = |list: &str, id: &str| -> Vec<String> {
            found[list].as_array().unwrap().iter().map(|hit| hit[id].as_str().unwrap().to_owned()).collect()
        };
        turns.extend(of("hits", "turn"));
        files.extend(of("files", "path"));
        match found["next"].as_str() {
            Some(cursor) => next = Some(cursor.to_owned()),
            None => break,
        }
        between(page);
    }
    (turns, files)
}

#[test]
fn a_search_goes_on_behind_the_page_before_and_has_each_hit_once() {
    let world = filled();
    let one = |list: &[String]| list.iter().collect::<BTreeSet<_>>().len() == list.len();
    for query in ["/v1/search?q=word", "/v1/search?q=number", "/v1/search?q=march+2026"] {
        let (turns, files) = searched(&world, &format!("{query}&limit=500"), |_| ());
        assert!(turns.len() + files.len() > 9, "{query}: {turns:?} {files:?}");
        for limit in [1, 4, 7] {
            let by_pages = searched(&world, &format!("{query}&limit={limit}"), |_| ());
            assert_eq!(by_pages, (turns.clone(), files.clone()), "{query} by {limit}");
        }
        // Better hits that are stored between two pages take no hit's place, and none is shown twice.
        let (later, of_files) = searched(&world, &format!("{query}&limit=7"), |page| {
            let line = json!({ "session": "later", "id": page.to_string(), "text": "Word word, number word." });
            world.post_as("/v1/append", "application/x-ndjson", line.to_string().as_bytes()).is(200);
        });
        assert!(one(&later) && one(&of_files), "{query}: {later:?} {of_files:?}");
        assert!(turns.iter().all(|turn| later.contains(turn)), "{query}: {later:?}");
    }
}

#[test]
fn a_cursor_goes_on_with_its_own_search_only() {
    let world = filled();
    let next = world.get("/v1/search?q=word&limit=2").is(200).json()["next"].as_str().unwrap().to_owned();
    assert_eq!(world.get(&format!("/v1/search?q=word&limit=9&cursor={next}")).status, 200);
    for other in ["q=number", "q=word&role=user", "q=word&archived=true"] {
        let answer = world.get(&format!("/v1/search?{other}&cursor={next}")).is(422);
        assert_eq!(answer.kind(), "usage", "{other}");
    }
    let of_loops = world.get("/v1/loops?limit=1").json()["next"].as_str().unwrap().to_owned();
    assert_eq!(world.get(&format!("/v1/search?q=word&cursor={of_loops}")).is(422).kind(), "usage");
}

#[test]
fn what_goes_away_or_comes_between_pages_moves_nothing_else() {
    let world = filled();
    let (whole, _) = all(&world, "/v1/loops", 500);
    let first = world.get("/v1/loops?limit=5").json();
    let id = |n: usize| whole[n]["id"].as_str().unwrap().to_owned();
    // One resolved loop is the last of the first page, one is on a later page.
    for n in [4, 7] {
        world.post(&format!("/v1/loops/{}/resolve", id(n)), json!({})).is(200);
    }
    world.post("/v1/loops", json!({ "title": "Something new" })).is(200);
    let mut seen: Vec<String> = first["items"].as_array().unwrap().iter().map(|i| i["id"].to_string()).collect();
    let mut next = first["next"].as_str().map(str::to_owned);
    while let Some(cursor) = next {
        let page = world.get(&format!("/v1/loops?limit=5&cursor={cursor}")).is(200).json();
        seen.extend(page["items"].as_array().unwrap().iter().map(|i| i["id"].to_string()));
        next = page["next"].as_str().map(str::to_owned);
    }
    let wanted: Vec<String> = (0..whole.len()).filter(|n| *n != 7).map(|n| whole[n]["id"].to_string()).collect();
    assert_eq!(seen.into_iter().filter(|id| wanted.contains(id)).collect::<Vec<_>>(), wanted);
}

#[test]
fn what_a_client_has_is_not_sent_again_until_it_changes() {
    let world = World::with_words();
    for path in
        ["/v1/sessions", "/v1/loops", "/v1/memory", "/v1/artifacts", "/v1/sessions/turns:kitchen/turns", "/v1/threads"]
    {
        let first = world.get(path).is(200);
        let tag = first.header("etag").to_owned();
        assert!(tag.starts_with('"') && tag.ends_with('"'), "{path}: {tag}");
        let again = world.ask("GET", path, &[("if-none-match", &tag)], b"");
        assert_eq!((again.status, again.body.len(), again.header("etag")), (304, 0, tag.as_str()), "{path}");
        assert_eq!(world.ask("GET", path, &[("if-none-match", "\"other\"")], b"").status, 200, "{path}");
    }
    let tag = world.get("/v1/loops").header("etag").to_owned();
    world.post("/v1/loops", json!({ "title": "Now there is one", "due": "2001-01-01" })).is(200);
    let changed = world.ask("GET", "/v1/loops", &[("if-none-match", &tag)], b"").is(200);
    assert_eq!(changed.json()["items"][0]["title"], "Now there is one");
}

#[test]
fn a_file_edited_by_hand_is_told_of_with_the_next_question() {
    let world = World::with_words();
    let id = world.post("/v1/artifacts", json!({ "title": "Plan", "text": "Left." })).json()["id"].clone();
    let one = world.get(&format!("/v1/artifacts/{}", id.as_str().unwrap())).json();
    let tag = world.get("/v1/artifacts").header("etag").to_owned();
    let file = one["file"].as_str().unwrap();
    let text = std::fs::read_to_string(file).unwrap();
    std::fs::write(file, text.replace("Plan", "Plan B")).unwrap();
    let again = world.ask("GET", "/v1/artifacts", &[("if-none-match", &tag)], b"").is(200);
    assert_eq!(again.json()["items"][0]["title"], "Plan B");
}

/// Open items with a date come first on every page, the earliest before all; resolved items are not ordered by date.
#[test]
fn open_loops_come_in_the_order_of_their_dates() {
    let world = World::new();
    for (title, due) in [("Some day", None), ("In years", Some("2999-01-01")), ("Overdue", Some("2001-01-01"))] {
        world.post("/v1/loops", json!({ "title": title, "due": due })).is(200);
    }
    world.post("/v1/loops", json!({ "title": "Next year", "due": "2998-01-01" })).is(200);
    for limit in [1, 3, 50] {
        let (items, _) = all(&world, "/v1/loops", limit);
        let titles: Vec<_> = items.iter().map(|item| item["title"].as_str().unwrap()).collect();
        assert_eq!(titles, ["Overdue", "Next year", "In years", "Some day"], "{limit} on a page");
    }
}
