//! Threads of runs: conversations are given, keys are expected. Acts of people on threads are tested in `thread_acts`.

use std::fmt::Write as _;
use std::time::{Duration, Instant};

use heirloom_engine::error::{ErrorKind, Result};
use heirloom_engine::ledger::{Audit, Read, Write};
use heirloom_engine::profile;
use heirloom_engine::scope::{AgentId, AgentNo, RunNo, SessionNo, ThreadKey, ThreadNo};
use heirloom_engine::thread::{self, Membership};
use heirloom_engine::transcript::{read, workspaces};
use heirloom_testkit::Rng;
use rusqlite::params;
use serde_json::{Value, json};

use crate::world::{LITTLE, NOON, World};

/// Replaces digests with `#`, so that tables are readable.
fn plain(key: &str) -> String {
    match key.rsplit_once("--") {
        Some((slug, hex)) if hex.len() == 16 && hex.bytes().all(|b| b.is_ascii_hexdigit()) => format!("{slug}--#"),
        _ => key.to_owned(),
    }
}

pub fn runs(world: &World, agent: &AgentId) -> Vec<(RunNo, String)> {
    let conn = world.sql();
    let mut statement = conn
        .prepare(
            "SELECT r.run_no, t.entry FROM turn_results r JOIN sessions s USING (session_no) JOIN agents a USING (agent_no)
             JOIN turns t ON t.turn_no = (SELECT min(turn_no) FROM turns t WHERE t.run_no = r.run_no)
             WHERE a.agent_id = ?1 ORDER BY r.run_no",
        )
        .unwrap();
    let rows = statement.query_map([agent.as_str()], |r| Ok((r.get(0)?, r.get(1)?))).unwrap();
    rows.map(|r| r.unwrap()).collect()
}

pub fn agent_no(world: &World, agent: &AgentId) -> AgentNo {
    world.ledger.read(|tx| read::agent_no(tx, agent)).unwrap().unwrap()
}

fn of_run(world: &World, run: RunNo) -> Membership {
    world.ledger.read(|tx| thread::membership(tx, run)).unwrap()
}

pub fn act<T>(world: &World, f: impl FnOnce(&mut Write, AgentNo) -> Result<T>) -> Result<T> {
    let no = world.agent_no();
    world.ledger.write(Audit::new("test", "thread.test").of_agent(no), |tx| f(tx, no))
}

pub fn look<T>(world: &World, f: impl FnOnce(&Read, AgentNo) -> Result<T>) -> T {
    let no = world.agent_no();
    world.ledger.read(|tx| f(tx, no)).unwrap()
}

/// Puts every run that has no thread yet into its thread.
fn join_as(world: &World, agent: &AgentId) {
    let no = agent_no(world, agent);
    world
        .ledger
        .write(Audit::new("test", "thread.test").of_agent(no), |tx| {
            for (run, _) in runs(world, agent) {
                let to = thread::membership(tx, run)?;
                thread::join(tx, no, run, &to)?;
            }
            Ok(())
        })
        .unwrap();
}

pub fn join(world: &World) {
    join_as(world, &world.agent);
}

/// Returns each run, by its first entry, with the key it belongs to.
fn table_of(world: &World, agent: &AgentId) -> String {
    runs(world, agent).into_iter().fold(String::new(), |mut out, (run, entry)| {
        let found = of_run(world, run);
        writeln!(out, "{entry}: {} {:?}", plain(found.key.as_str()), found.label).unwrap();
        out
    })
}

pub fn table(world: &World) -> String {
    table_of(world, &world.agent)
}

pub fn no(world: &World, name: &str) -> ThreadNo {
    look(world, |tx, agent| thread::named(tx, agent, name)).no
}

pub fn lines(values: &[Value]) -> String {
    values.iter().map(|v| format!("{v}\n")).collect()
}

pub fn prompt(id: &str, more: Value) -> Value {
    let mut value = json!({"id": id, "role": "user", "text": format!("about {id}"), "at": NOON});
    value.as_object_mut().unwrap().extend(more.as_object().cloned().unwrap_or_default());
    value
}

pub fn answer(id: &str, more: Value) -> Value {
    let mut value = prompt(id, more);
    value["role"] = json!("assistant");
    value
}

/// Stores lines as one file and returns where its runs belong.
pub fn told(world: &World, file: &str, values: &[Value]) -> String {
    world.write(file, lines(values));
    world.import(&[file]);
    table(world)
}

#[test]
fn a_run_belongs_where_its_prompt_was_given() {
    let world = World::new();
    let said = told(
        &world,
        "work.jsonl",
        &[
            prompt("one", json!({"cwd": "/nowhere/api"})),
            // The tool runs in another folder; the run's project stays.
            answer("ran", json!({"cwd": "/nowhere/blog", "kind": "tool-call", "call": "c"})),
            prompt("two", json!({})),
            prompt("three", json!({"cwd": "/nowhere/blog"})),
            answer("ok", json!({"cwd": "/nowhere/api"})),
            prompt("four", json!({"cwd": "/elsewhere/api"})),
        ],
    );
    assert_eq!(
        said,
        "one: project/api--# \"api\"\ntwo: project/api--# \"api\"\nthree: project/blog--# \"blog\"\n\
         four: project/api--# \"elsewhere/api\"\n"
    );
    let keys: Vec<String> =
        runs(&world, &world.agent).iter().map(|(run, _)| of_run(&world, *run).key.to_string()).collect();
    assert!(keys[0] == keys[1] && keys[0] != keys[3], "{keys:?}");
    // The stored assignment is used, and is the same.
    join(&world);
    assert_eq!(table(&world), said);
    let kept = of_run(&world, runs(&world, &world.agent)[0].0);
    assert_eq!(kept.thread_no, Some(no(&world, &keys[0])));
}

#[test]
fn a_moved_project_is_one_thread() {
    let world = World::new();
    told(
        &world,
        "s.jsonl",
        &[prompt("old", json!({"cwd": "/nowhere/old"})), prompt("new", json!({"cwd": "/nowhere/new"}))],
    );
    let keys: Vec<String> = runs(&world, &world.agent).iter().map(|r| of_run(&world, r.0).key.to_string()).collect();
    act(&world, |tx, agent| workspaces::alias_workspace(tx, agent, "/nowhere/old", "/nowhere/new")).unwrap();
    assert_eq!(table(&world), "old: project/new--# \"new\"\nnew: project/new--# \"new\"\n");
    // A caller that uses the old name means the new one.
    let said = told(&world, "h.jsonl", &[prompt("hint", json!({"thread": keys[0]}))]);
    assert!(said.ends_with("hint: project/new--# \"new\"\n"), "{said}");

    // Runs that were assigned before the move are joined, whether or not the new project existed.
    let world = World::new();
    told(&world, "s.jsonl", &[prompt("old", json!({"cwd": "/nowhere/old"}))]);
    join(&world);
    told(&world, "t.jsonl", &[prompt("new", json!({"cwd": "/nowhere/new"}))]);
    for _ in 0..2 {
        act(&world, |tx, agent| {
            workspaces::alias_workspace(tx, agent, "/nowhere/old", "/nowhere/new")?;
            thread::rejoin(tx, agent)
        })
        .unwrap();
    }
    join(&world);
    assert_eq!(table(&world), "old: project/new--# \"new\"\nnew: project/new--# \"new\"\n");
    assert_eq!(look(&world, |tx, agent| thread::named(tx, agent, &keys[0])).key, keys[1]);
}

#[test]
fn a_thread_named_by_its_caller() {
    let world = World::new();
    let said = told(
        &world,
        "s.jsonl",
        &[
            prompt("one", json!({"cwd": "/nowhere/api"})),
            prompt("two", json!({"cwd": "/nowhere/api", "thread": "Dinner  on Friday!"})),
            // The thread stays until a prompt names another one.
            prompt("three", json!({"cwd": "/nowhere/api"})),
            answer("aside", json!({"thread": "taxes"})),
            prompt("four", json!({"cwd": "/nowhere/api"})),
            prompt("five", json!({"thread": "topic/Träume & Pläne"})),
            prompt("six", json!({"thread": "person/mail:ada"})),
            // Punctuation, case and spaces make no other topic; other letters do.
            prompt("seven", json!({"thread": "dinner on friday"})),
            prompt("eight", json!({"thread": "C++"})),
            prompt("nine", json!({"thread": "c#"})),
            prompt("ten", json!({"thread": "日本"})),
            prompt("eleven", json!({"thread": "料理"})),
            prompt("twelve", json!({"thread": " \u{200b} ", "cwd": "/nowhere/api"})),
            prompt("thirteen", json!({"thread": format!("topic/{}", "x".repeat(400))})),
        ],
    );
    assert_eq!(
        said,
        "one: project/api--# \"api\"\n\
         two: topic/dinner-on-friday \"Dinner on Friday!\"\n\
         three: topic/dinner-on-friday \"Dinner on Friday!\"\n\
         four: topic/dinner-on-friday \"Dinner on Friday!\"\n\
         five: topic/Träume & Pläne \"Träume & Pläne\"\n\
         six: person/mail:ada \"mail:ada\"\n\
         seven: topic/dinner-on-friday \"dinner on friday\"\n\
         eight: topic/c--# \"C++\"\n\
         nine: topic/c--# \"c#\"\n\
         ten: topic/item--# \"日本\"\n\
         eleven: topic/item--# \"料理\"\n\
         twelve: project/api--# \"api\"\n\
         thirteen: topic/topic-"
            .to_owned()
            + &"x".repeat(54)
            + "--# \"topic/"
            + &"x".repeat(53)
            + "…\"\n"
    );
    let keys: std::collections::BTreeSet<String> =
        runs(&world, &world.agent).iter().map(|r| of_run(&world, r.0).key.to_string()).collect();
    assert_eq!(keys.len(), 9, "{keys:?}");

    // Once threads exist, a name of one selects it.
    join(&world);
    let said = told(&world, "t.jsonl", &[prompt("label", json!({"thread": "API"})), prompt("back", json!({}))]);
    assert!(said.ends_with("label: project/api--# \"api\"\nback: project/api--# \"api\"\n"), "{said}");
    // A name of two threads selects neither; the key a conversation began with is no name.
    told(
        &world,
        "u.jsonl",
        &[prompt("other", json!({"cwd": "/elsewhere/api"})), prompt("x", json!({"thread": "topic/api"}))],
    );
    told(&world, "plain.jsonl", &[prompt("plain", json!({}))]);
    join(&world);
    act(&world, |tx, agent| {
        let two = thread::named(tx, agent, "elsewhere/api")?.no;
        tx.execute("UPDATE threads SET label = 'api' WHERE thread_no = ?1", [two])?;
        Ok(())
    })
    .unwrap();
    let said = told(
        &world,
        "v.jsonl",
        &[prompt("which", json!({"thread": "api"})), prompt("begun", json!({"thread": "about plain"}))],
    );
    assert!(said.ends_with("which: topic/api \"api\"\nbegun: topic/about-plain \"about plain\"\n"), "{said}");
}

#[test]
fn a_hint_of_a_turn_inside_a_run_moves_nothing() {
    let world = World::new();
    let said = told(
        &world,
        "s.jsonl",
        &[
            // The first speaker names the thread, even if it is the assistant.
            answer("hello", json!({"thread": "morning"})),
            answer("more", json!({"thread": "evening"})),
            prompt("one", json!({"run": "r1", "thread": "garden"})),
            answer("yes", json!({"run": "r1", "thread": "house"})),
            prompt("also", json!({"run": "r1", "thread": "cellar"})),
            prompt("two", json!({"run": "r2"})),
        ],
    );
    assert_eq!(said, "hello: topic/morning \"morning\"\none: topic/garden \"garden\"\ntwo: topic/cellar \"cellar\"\n");
}

#[test]
fn conversations_belong_to_who_takes_part() {
    let world = World::new();
    let me = json!({"speaker": "Ada"});
    let said = told(
        &world,
        "telegram:marta.jsonl",
        &[prompt("t1", json!({"speaker": "Marta"})), answer("t2", json!({"speaker": "Pip"})), prompt("t3", me.clone())],
    );
    // The profile does not name the operator yet.
    assert_eq!(said, "t1: lane/telegram-marta--# \"telegram:marta\"\nt3: lane/telegram-marta--# \"telegram:marta\"\n");
    let agent = world.agent_no();
    world
        .sql()
        .execute(
            "INSERT INTO profile (agent_no, key, value, source, set_at) VALUES (?1, 'name', ' ADA', 'user', 0)",
            [agent],
        )
        .unwrap();
    assert_eq!(look(&world, profile::show)[0].value, " ADA");
    assert_eq!(table(&world), "t1: person/telegram:marta \"Marta\"\nt3: person/telegram:marta \"Marta\"\n");
    let one = |session: &str, values: &[Value]| {
        let world = World::new();
        let values: Vec<Value> = values
            .iter()
            .map(|v| {
                let mut v = v.clone();
                v["session"] = json!(session);
                v
            })
            .collect();
        told(&world, "lines.jsonl", &values)
    };
    let marta = prompt("m", json!({"speaker": "  Märta  B. "}));
    for (session, expected) in [
        ("whatsapp:+491701234567", "m: person/whatsapp:+491701234567 \"Märta B.\"\n"),
        ("Mail:Marta@Example.org", "m: person/mail:marta@example.org \"Märta B.\"\n"),
        ("mail:<c3f9@mx.example.org>", "m: person/mail:märta b. \"Märta B.\"\n"),
        ("Signal:marta", "m: person/signal:märta b. \"Märta B.\"\n"),
        ("marta", "m: person/little:märta b. \"Märta B.\"\n"),
        ("room-7:marta", "m: person/little:märta b. \"Märta B.\"\n"),
    ] {
        assert_eq!(one(session, std::slice::from_ref(&marta)), expected, "{session}");
    }
    // A person's name is the same in any case and spelling; a tool's name is no person's.
    let same = [
        prompt("a", json!({"speaker": "Bob", "participants": ["BOB", "bob"]})),
        json!({"id": "b", "role": "tool", "kind": "tool-result", "text": "x", "speaker": "calendar"}),
    ];
    assert_eq!(one("irc:bob", &same), "a: person/irc:bob \"BOB\"\n");
    // Several people make a lane, whose key distinguishes sessions with the same slug.
    let many = [prompt("g", json!({"speaker": "Jonas", "participants": ["Mara", "Jonas"]}))];
    assert_eq!(one("household", &many), "g: lane/household \"household\"\n");
    assert_eq!(one("Household", &many), "g: lane/household--# \"Household\"\n");
    assert_eq!(one("家", &many), "g: lane/item--# \"家\"\n");
    // A project takes precedence; a conversation with only the operator has no person.
    let at_work = [prompt("w", json!({"speaker": "Marta", "cwd": "/nowhere/api"}))];
    assert_eq!(one("telegram:marta", &at_work), "w: project/api--# \"api\"\n");
    told(&world, "note.jsonl", &[prompt("n", me)]);
    assert!(table(&world).ends_with("n: session/little:note \"about n\"\n"), "{}", table(&world));
}

#[test]
fn what_is_nothing_else_is_its_session() {
    let world = World::new();
    let long = "x".repeat(400);
    let secret = format!("sk-ant-api03-{}", "aB3dE5gH7jK9mN1pQ2rS4tU6vW8xY0zA".repeat(3));
    world.write(
        "a.jsonl",
        lines(&[json!({"id": "1", "role": "user", "text": format!("use {secret}\n\nnow"), "at": NOON})]),
    );
    world.write("b.jsonl", lines(&[json!({"fact": "title", "value": "  Tax\treturn "}), prompt("2", json!({}))]));
    world.write("c.jsonl", lines(&[json!({"id": "3", "session": long, "role": "user", "text": "word ".repeat(50)})]));
    world.write("d.jsonl", lines(&[json!({"id": "4", "role": "assistant", "text": "hello"})]));
    world.import(&["a.jsonl", "b.jsonl", "c.jsonl", "d.jsonl"]);
    let said = table(&world);
    assert_eq!(
        said,
        format!(
            "1: session/little:a \"use [redacted:anthropic-key] now\"\n2: session/little:b \"Tax return\"\n\
             3: session/little-{}--# \"{}word…\"\n4: session/little:d \"little:d\"\n",
            "x".repeat(53),
            "word ".repeat(11)
        )
    );
    // A credential in a caller's name does not become part of a key.
    told(&world, "e.jsonl", &[prompt("5", json!({"thread": format!("deploy {secret}")}))]);
    told(&world, "f.jsonl", &[prompt("6", json!({"thread": format!("topic/{secret}")}))]);
    join(&world);
    assert!(!table(&world).to_lowercase().contains("ab3de5"), "{}", table(&world));
    assert_eq!(world.count("SELECT count(*) FROM threads WHERE lower(thread_key || file || label) LIKE '%ab3de5%'"), 0);
}

#[test]
fn sub_agents_belong_to_the_run_that_called_them() {
    let world = World::new();
    world.write(
        "main.jsonl",
        lines(&[
            prompt("one", json!({"cwd": "/nowhere/api"})),
            answer("call", json!({"kind": "tool-call", "tool": "task", "call": "c1"})),
            json!({"fact": "lane-call", "lane": "helper", "value": "c1"}),
            prompt("two", json!({"thread": "release"})),
            answer("again", json!({"kind": "tool-call", "tool": "task", "call": "c2"})),
            json!({"fact": "lane-call", "lane": "second", "value": "c2"}),
            json!({"fact": "lane-call", "lane": "lost", "value": "c9"}),
            json!({"fact": "lane-call", "lane": "self", "value": "c4"}),
        ]),
    );
    world.write("main.helper.jsonl", lines(&[prompt("h1", json!({"cwd": "/nowhere/blog"}))]));
    world.write(
        "main.second.jsonl",
        lines(&[
            prompt("s1", json!({"cwd": "/nowhere/blog"})),
            answer("deep", json!({"kind": "tool-call", "tool": "task", "call": "c3"})),
            json!({"fact": "lane-call", "lane": "third", "value": "c3"}),
            prompt("s2", json!({})),
        ]),
    );
    world.write("main.third.jsonl", lines(&[prompt("d1", json!({"cwd": "/nowhere/blog"}))]));
    world.write("main.lost.jsonl", lines(&[prompt("l1", json!({"cwd": "/nowhere/blog"}))]));
    world.write(
        "main.self.jsonl",
        lines(&[
            prompt("x1", json!({"cwd": "/nowhere/blog"})),
            answer("x", json!({"kind": "tool-call", "call": "c4"})),
        ]),
    );
    world.import(&[
        "main.jsonl",
        "main.helper.jsonl",
        "main.second.jsonl",
        "main.third.jsonl",
        "main.lost.jsonl",
        "main.self.jsonl",
    ]);
    let expected = "one: project/api--# \"api\"\ntwo: topic/release \"release\"\nh1: project/api--# \"api\"\n\
         s1: topic/release \"release\"\ns2: topic/release \"release\"\nd1: topic/release \"release\"\n\
         l1: project/blog--# \"blog\"\nx1: project/blog--# \"blog\"\n";
    assert_eq!(table(&world), expected);
    // A switch affects the next prompt of the main line, not the run in progress.
    join(&world);
    let session = SessionNo(world.count("SELECT session_no FROM sessions"));
    let release = no(&world, "release");
    let api = no(&world, "api");
    act(&world, |tx, agent| thread::switch_session(tx, agent, session, Some(api))).unwrap();
    world.add("main.second.jsonl", lines(&[prompt("s3", json!({}))]));
    world.add("main.jsonl", lines(&[prompt("three", json!({}))]));
    world.import(&["main.jsonl", "main.second.jsonl"]);
    let said = table(&world);
    assert!(said.ends_with("three: project/api--# \"api\"\ns3: topic/release \"release\"\n"), "{said}");
    join(&world);
    let shown: String =
        look(&world, |tx, _| thread::stretches(tx, session)).iter().fold(String::new(), |mut out, s| {
            let name = if s.thread_no == release { "release" } else { "-" };
            writeln!(out, "{:?} {name} {} {}..{}", s.lane, s.runs, s.turns.0, s.turns.1).unwrap();
            out
        });
    assert!(shown.starts_with("\"\" - 1 t1..t2\n\"\" release 1 t3..t4\n\"\" - 1 t"), "{shown}");
    assert!(shown.contains("\"second\" release 3 t"), "{shown}");
    assert_eq!(look(&world, |tx, _| thread::of_session(tx, session)), Some(no(&world, "api")));
}

#[test]
fn a_switch_begins_with_the_next_prompt() {
    let world = World::new();
    told(&world, "s.jsonl", &[prompt("one", json!({"cwd": "/nowhere/api"})), answer("begun", json!({}))]);
    told(&world, "t.jsonl", &[prompt("topic", json!({"thread": "taxes"}))]);
    join(&world);
    let session = SessionNo(world.count("SELECT session_no FROM sessions WHERE session_key = 'little:s'"));
    let taxes = no(&world, "taxes");
    let switch =
        |to: Option<ThreadNo>| act(&world, |tx, agent| thread::switch_session(tx, agent, session, to)).unwrap();
    let next = |values: &[Value]| {
        world.add("s.jsonl", lines(values));
        world.import(&["s.jsonl"]);
        let said = table(&world);
        said.lines()
            .filter(|l| !l.starts_with("topic"))
            .map(|l| l.split(" \"").next().unwrap().to_owned() + "\n")
            .collect()
    };
    let before: String = next(&[]);
    switch(Some(taxes));
    let said: String =
        next(&[answer("goes on", json!({})), prompt("two", json!({"thread": "other", "cwd": "/nowhere/api"}))]);
    assert_eq!(said, format!("{before}two: topic/taxes\n"), "whoever switches has the last word");
    // Of two switches at one place the later one counts; then it is switched back.
    switch(Some(no(&world, "api")));
    switch(Some(taxes));
    switch(None);
    let said: String = next(&[prompt("three", json!({"cwd": "/nowhere/api"})), answer("ok", json!({}))]);
    assert_eq!(said, format!("{before}two: topic/taxes\nthree: topic/other\n"));
    // The pages that show the threads are marked.
    let dirty = world.count("SELECT dirty FROM heads WHERE head = 'threads'");
    switch(Some(taxes));
    assert_eq!(world.count("SELECT dirty FROM heads WHERE head = 'threads'"), dirty + 1);
    let file = look(&world, |tx, agent| thread::row(tx, agent, taxes)).file;
    assert!(world.count(&format!("SELECT dirty FROM heads WHERE head = 'thread/{file}'")) >= 3);
    // If the thread was merged meanwhile, the run belongs to the thread it was merged into.
    let api = no(&world, "api");
    act(&world, |tx, agent| thread::merge(tx, agent, taxes, api)).unwrap();
    let said: String = next(&[prompt("four", json!({"cwd": "/nowhere/blog"}))]);
    assert!(said.ends_with("four: project/api--#\n"), "{said}");
}

#[test]
fn equal_keys_of_two_agents_are_two_threads() {
    let world = World::new();
    let eve = AgentId::parse("eve").unwrap();
    let said = [prompt("one", json!({"thread": "taxes"})), prompt("two", json!({"thread": "topic/garden"}))];
    told(&world, "s.jsonl", &said);
    world.try_import(&LITTLE, &eve, &["s.jsonl"], None).unwrap();
    join(&world);
    join_as(&world, &eve);
    assert_eq!(table(&world), table_of(&world, &eve));
    let eve_no = agent_no(&world, &eve);
    let theirs = world.ledger.read(|tx| thread::named(tx, eve_no, "taxes")).unwrap();
    let ours = look(&world, |tx, agent| thread::named(tx, agent, "taxes"));
    assert_eq!((&ours.key, &ours.file), (&theirs.key, &theirs.file));
    assert_ne!(ours.no, theirs.no);
    // Another agent's thread looks like one that does not exist, for every act.
    type Act = fn(&mut Write, AgentNo, ThreadNo, ThreadNo) -> Result<()>;
    let acts: &[Act] = &[
        |tx, agent, no, _| thread::rename(tx, agent, no, "mine").map(drop),
        |tx, agent, no, own| thread::merge(tx, agent, no, own).map(drop),
        |tx, agent, no, own| thread::merge(tx, agent, own, no).map(drop),
        |tx, agent, no, _| thread::unmerge(tx, agent, no).map(drop),
        |tx, agent, no, _| thread::close(tx, agent, no).map(drop),
        |tx, agent, no, _| thread::reopen(tx, agent, no).map(drop),
        |tx, agent, no, own| thread::link(tx, agent, no, own, None).map(drop),
        |tx, agent, no, own| thread::link(tx, agent, own, no, None).map(drop),
        |tx, agent, no, own| thread::unlink(tx, agent, own, no),
        |tx, agent, no, _| {
            let session = tx.query_row("SELECT session_no FROM sessions WHERE agent_no = ?1", [agent], |r| r.get(0))?;
            thread::switch_session(tx, agent, session, Some(no))
        },
    ];
    let audited = world.audit_rows();
    for (n, f) in acts.iter().enumerate() {
        let foreign = act(&world, |tx, agent| f(tx, agent, theirs.no, ours.no)).unwrap_err();
        let unknown = act(&world, |tx, agent| f(tx, agent, ThreadNo(9_999_999), ours.no)).unwrap_err();
        assert_eq!((foreign.kind(), foreign.to_string()), (ErrorKind::NotFound, unknown.to_string()), "{n}");
    }
    let session = format!("SELECT session_no FROM sessions WHERE agent_no = {}", agent_no(&world, &eve));
    let session = SessionNo(world.count(&session));
    let foreign = act(&world, |tx, agent| thread::switch_session(tx, agent, session, Some(ours.no))).unwrap_err();
    let unknown =
        act(&world, |tx, agent| thread::switch_session(tx, agent, SessionNo(9_999), Some(ours.no))).unwrap_err();
    assert_eq!((foreign.kind(), foreign.to_string()), (ErrorKind::NotFound, unknown.to_string()));
    assert_eq!(world.audit_rows(), audited, "nothing was done, nothing is audited");
    assert_eq!(look(&world, thread::list).len(), 2);
    assert!(look(&world, |tx, _| thread::links(tx, ours.no)).is_empty());
}

#[test]
fn a_thousand_threads_are_listed_at_once() {
    let world = World::new();
    let values: Vec<Value> = (0..4000)
        .map(|n| {
            let more =
                json!({"session": format!("s{}", n % 50), "thread": format!("topic {}", n % 1000), "at": NOON + n});
            prompt(&format!("p{n}"), more)
        })
        .collect();
    told(&world, "many.jsonl", &values);
    let started = Instant::now();
    join(&world);
    let joined = started.elapsed();
    let started = Instant::now();
    let listed = look(&world, thread::list);
    let all = look(&world, thread::reading::counts);
    let took = started.elapsed();
    assert_eq!((listed.len(), all.len()), (1000, 1000));
    assert!(all.values().all(|c| c.runs == 4));
    assert_eq!(listed[0].label, "topic 999");
    assert!(listed.is_sorted_by_key(|t| std::cmp::Reverse(t.last_at)));
    assert!(took < Duration::from_secs(1), "listing took {took:?}");
    assert!(joined < Duration::from_secs(20), "joining 4,000 runs took {joined:?}");
}

/// Makes random sessions of every kind; the same seed gives the same sessions.
fn some_world(seed: u64) -> World {
    let world = World::new();
    let mut rng = Rng::new(seed);
    let words = ["taxes", "Taxes!", "日本", "topic/x", "project/api", "person/a:b", "session/little:s0", "", "C++"];
    let names = ["Ada", "ada", "Bob", "Pip", "Zoë"];
    for file in 0..6 {
        let lane = if file == 5 { "s0.helper".to_owned() } else { format!("s{file}") };
        let values: Vec<Value> = (0..20)
            .map(|n| {
                let mut value = prompt(&format!("{lane}-{n}"), json!({}));
                if rng.below(3) == 0 {
                    value["role"] = json!("assistant");
                }
                if rng.below(4) == 0 {
                    value["thread"] = json!(rng.pick(&words));
                }
                if rng.below(4) == 0 {
                    value["speaker"] = json!(rng.pick(&names));
                }
                if file % 2 == 0 && rng.below(3) == 0 {
                    value["cwd"] = json!(format!("/nowhere/{}", rng.below(3)));
                }
                if rng.below(6) == 0 {
                    value["kind"] = json!("tool-call");
                    value["call"] = json!(format!("c{}", rng.below(3)));
                }
                value
            })
            .collect();
        world.write(&format!("{lane}.jsonl"), lines(&values));
        world.import(&[&format!("{lane}.jsonl")]);
    }
    world.add("s0.jsonl", lines(&[json!({"fact": "lane-call", "lane": "helper", "value": "c1"})]));
    world.import(&["s0.jsonl"]);
    world
}

#[test]
fn where_a_run_belongs_depends_on_the_ledger_alone() {
    for seed in 0..12 {
        let (world, again) = (some_world(seed), some_world(seed));
        let said = table(&world);
        assert!(said.lines().count() > 40, "{said}");
        assert_eq!((&said, &said), (&table(&world), &table(&again)), "seed {seed}");
        // The assignment is the same once it is stored, in whichever order runs are assigned.
        join(&world);
        let kept = table(&world);
        join(&world);
        assert_eq!(kept, table(&world));
        for (run, _) in runs(&world, &world.agent) {
            let found = of_run(&world, run);
            assert_eq!(ThreadKey::parse(found.key.as_str()).unwrap(), found.key);
            assert!(found.thread_no.is_some() && !found.label.is_empty());
            let row = look(&world, |tx, agent| thread::row(tx, agent, found.thread_no.unwrap()));
            assert_eq!((row.key.as_str(), row.file), (found.key.as_str(), found.key.file_stem()));
        }
        let unknown = world.ledger.read(|tx| thread::membership(tx, RunNo(1_000_000))).unwrap_err();
        assert_eq!(unknown.kind(), ErrorKind::NotFound);
        let files: i64 = world
            .sql()
            .query_row(
                "SELECT count(DISTINCT file) - count(*) FROM threads WHERE agent_no = ?1",
                params![world.agent_no()],
                |r| r.get(0),
            )
            .unwrap();
        assert_eq!(files, 0);
    }
}
