//! Threads on the command line: lanes of work across sessions and programs.

use heirloom_engine::clock::Clock;
use heirloom_engine::ledger::{Audit, Ledger, Open};
use heirloom_engine::lineage::distillate::{Distillate, Item};
use heirloom_engine::lineage::{Kind, NewNode, Source, insert};
use heirloom_engine::scope::{AgentId, RunNo, TurnId};
use heirloom_engine::thread;
use heirloom_engine::transcript::read;
use rusqlite::Connection;
use serde_json::{Value, json};

use crate::world::{World, names};

fn say(world: &World, values: &[Value]) {
    let lines: String = values.iter().map(|v| format!("{v}\n")).collect();
    let out = world.feed(&["append"], lines.as_bytes());
    assert_eq!(out.status, Some(0), "{out:?}");
}

/// Puts every run into the thread it belongs to, as distilling does.
fn settle(world: &World) {
    let backups = world.test.home().join("state/backups");
    let ledger = Ledger::open(&world.ledger(), &backups, Clock::System, Open::Full).unwrap();
    ledger
        .write(Audit::new("test", "thread.join"), |tx| {
            let agent = read::agent_no(tx, &AgentId::main())?.unwrap();
            let runs: Vec<RunNo> = {
                let mut statement = tx.prepare("SELECT run_no FROM turn_results ORDER BY run_no")?;
                let rows = statement.query_map([], |r| r.get(0))?;
                rows.collect::<rusqlite::Result<_>>()?
            };
            for run in runs {
                let to = thread::membership(tx, run)?;
                thread::join(tx, agent, run, &to)?;
            }
            Ok(())
        })
        .unwrap();
}

/// Makes three topics in two sessions.
fn furnished() -> World {
    let world = World::new();
    say(
        &world,
        &[
            json!({"session": "home", "id": "1", "text": "The kitchen tap drips.", "thread": "Kitchen", "speaker": "Ada",
                   "time": "2026-11-20T10:00:00Z"}),
            json!({"session": "home", "id": "2", "text": "I call the plumber.", "role": "assistant", "speaker": "Pip"}),
            json!({"session": "home", "id": "3", "text": "Where do roses go?", "thread": "Garden", "time": "2026-11-20T11:00:00Z"}),
            json!({"session": "mail:ada@example.org", "id": "4", "text": "The plumber comes on Friday.", "thread": "kitchen",
                   "speaker": "Bo", "time": "2026-11-21T10:00:00Z"}),
            json!({"session": "mail:ada@example.org", "id": "5", "text": "Taxes are due.", "thread": "Tax return",
                   "time": "2026-11-19T10:00:00Z"}),
        ],
    );
    settle(&world);
    world
}

fn keys(world: &World, args: &[&str]) -> Vec<String> {
    let list = world.json(&[&["thread", "list"], args].concat());
    let threads = list["threads"].as_array().unwrap();
    assert_eq!(list["all"], threads.len());
    threads.iter().map(|t| t["thread"].as_str().unwrap().to_owned()).collect()
}

#[test]
fn threads_are_listed_and_shown() {
    let world = furnished();
    assert_eq!(keys(&world, &[]), ["topic/kitchen", "topic/garden", "topic/tax-return"]);
    let list = world.json(&["thread", "list", "-n", "1"]);
    let first = &list["threads"][0];
    names(first, "thread kind label state page created_at last_at merged_into sessions runs in_session");
    assert_eq!((&first["label"], &first["sessions"], &first["runs"]), (&json!("Kitchen"), &json!(2), &json!(2)));
    assert_eq!((&list["all"], list["threads"].as_array().unwrap().len()), (&json!(3), 1));
    let said = world.says(0, &["thread", "list", "-n", "2"]);
    assert!(said.contains("Kitchen   2 sessions   2 runs   topic/kitchen") && said.contains("… and 1 more"), "{said}");
    // Lists the threads a session was in.
    assert_eq!(keys(&world, &["--session", "home"]), ["topic/kitchen", "topic/garden"]);
    let list = world.json(&["thread", "list", "--session", "home"]);
    assert_eq!(list["threads"][0]["in_session"], json!([{"lane": "", "runs": 1, "first": "t1", "last": "t2"}]));
    let said = world.says(0, &["thread", "list", "--session", "home"]);
    assert!(said.contains("t1 to t2") && said.contains("t3 to t3"), "{said}");
    world.says(4, &["thread", "list", "--session", "nowhere"]);

    let shown = world.json(&["thread", "show", "kitchen"]);
    names(&shown, "thread names merged people programs state sessions links nodes");
    names(&shown["thread"], "thread kind label state page created_at last_at sessions runs turns");
    assert_eq!((&shown["people"], &shown["programs"]), (&json!(["Ada", "Bo"]), &json!(["turns"])));
    assert_eq!(shown["thread"]["turns"], 3);
    assert_eq!(shown["sessions"][0]["session"], "turns:mail:ada@example.org");
    // The title is the conversation's goal; its first message is about something else.
    assert_eq!(shown["sessions"][0]["title"], "Taxes are due");
    let page = shown["thread"]["page"].as_str().unwrap();
    assert!(page.starts_with("continuity/threads/topic-kitchen--") && page.ends_with(".md"), "{page}");
    let said = world.says(0, &["thread", "show", "kitche"]);
    for part in
        ["Kitchen\n", "topic/kitchen", "2 runs in 2 sessions, 3 turns", "Ada, Bo", "plain turns", page, "Sessions\n"]
    {
        assert!(said.contains(part), "{part}: {said}");
    }
    let said = world.says(4, &["thread", "show", "cellar"]);
    assert!(said.contains("heirloom thread list"), "{said}");
    assert_eq!(world.json_of(4, &["thread", "show", "kit"])["error"]["kind"], "not-found");
}

#[test]
fn what_a_thread_comes_to_is_shown_with_the_way_down() {
    let world = furnished();
    let secret = format!("ghp_{}", "a1B2c3D4e5F6".repeat(3));
    {
        let backups = world.test.home().join("state/backups");
        let ledger = Ledger::open(&world.ledger(), &backups, Clock::System, Open::Full).unwrap();
        ledger
            .write(Audit::new("test", "lineage.chunk"), |tx| {
                let agent_no = read::agent_no(tx, &AgentId::main())?.unwrap();
                let thread_no = thread::named(tx, agent_no, "kitchen")?.no;
                let session = read::session_named(tx, agent_no, "mail:ada@example.org")?;
                let lane_no =
                    tx.query_row("SELECT lane_no FROM lanes WHERE session_no = ?1", [session.no], |r| r.get(0))?;
                // The turn's number lies behind all stored turns, whether or not they were distilled.
                let turn = TurnId(1000);
                let item = |text: &str| Item::new(text, turn);
                insert(
                    tx,
                    &NewNode {
                        agent_no,
                        kind: Kind::Chunk,
                        depth: 0,
                        thread_no,
                        session_no: Some(session.no),
                        lane_no: Some(lane_no),
                        turns: (turn, turn),
                        times: (Some(4_000_000_000_000), Some(4_000_000_000_000)),
                        count: 1,
                        summary: format!("The tap \u{1b}[31mdrips, the key is {secret}"),
                        distillate: Distillate {
                            goal: Some(item("Get the tap repaired")),
                            open_loops: vec![item("Who pays the plumber?")],
                            next_steps: vec![item(&format!("Be at home on Friday with {secret}"))],
                            ..Distillate::default()
                        },
                        source: Source::Deterministic,
                        source_tokens: 1000,
                        summary_turn: None,
                        abandoned: false,
                        late: Vec::new(),
                        replaces: None,
                        flush: None,
                        children: Vec::new(),
                    },
                )
            })
            .unwrap();
    }
    let said = world.says(0, &["thread", "show", "Kitchen"]);
    for part in [
        "Goal\n  Get the tap repaired   t3e8\n",
        "Open\n",
        "  Who pays the plumber?   t3e8\n",
        "Next\n",
        "Newest nodes\n  n",
        "␛[31m",
    ] {
        assert!(said.contains(part), "{part}: {said}");
    }
    let shown = world.json(&["thread", "show", "Kitchen"]);
    assert_eq!(shown["state"]["goal"], json!({"text": "Get the tap repaired", "turns": ["t3e8"]}));
    assert_eq!(shown["nodes"][0]["kind"], "chunk");
    names(&shown["nodes"][0], "node kind depth first last last_at summary");
    assert!(!said.contains("a1B2") && !shown.to_string().contains("a1B2"), "{said} {shown}");
}

#[test]
fn people_name_merge_close_and_link_threads() {
    let world = furnished();
    let done = world.json(&["thread", "name", "kitchen", "The kitchen"]);
    assert_eq!((&done["thread"]["thread"], &done["thread"]["label"]), (&json!("topic/kitchen"), &json!("The kitchen")));
    assert_eq!(world.json(&["thread", "show", "KITCHEN"])["names"], json!(["Kitchen"]));
    let said = world.says(3, &["thread", "name", "garden", "kitchen"]);
    assert!(said.contains("heirloom thread merge topic/garden topic/kitchen"), "{said}");
    world.says(2, &["thread", "name", "garden", ""]);

    let said = world.says(0, &["thread", "link", "garden", "kitchen", "--why", "one house"]);
    assert_eq!(said, "topic/garden and topic/kitchen are linked now.\n");
    assert_eq!(world.json(&["thread", "link", "kitchen", "garden"])["changed"], false);
    let link = &world.json(&["thread", "show", "garden"])["links"][0];
    assert_eq!((&link["thread"], &link["why"]), (&json!("topic/kitchen"), &json!("one house")));
    assert!(world.says(0, &["thread", "show", "garden"]).contains("The kitchen   topic/kitchen   one house"));
    world.says(0, &["thread", "unlink", "kitchen", "garden"]);
    world.says(4, &["thread", "unlink", "kitchen", "garden"]);
    world.says(3, &["thread", "link", "kitchen", "topic/kitchen"]);

    assert_eq!(
        world.says(0, &["thread", "merge", "garden", "kitchen"]),
        "topic/garden is now part of topic/kitchen.\n"
    );
    assert_eq!(keys(&world, &[]), ["topic/kitchen", "topic/tax-return"]);
    let shown = world.json(&["thread", "show", "garden"]);
    assert_eq!(shown["merged"], json!([{"thread": "topic/garden", "label": "Garden"}]));
    assert_eq!((&shown["thread"]["sessions"], &shown["thread"]["runs"]), (&json!(2), &json!(3)));
    let all = world.json(&["thread", "list", "--all"]);
    assert_eq!(all["threads"].as_array().unwrap().iter().filter(|t| t["merged_into"] == "topic/kitchen").count(), 1);
    for (from, into) in [("kitchen", "garden"), ("garden", "kitchen"), ("garden", "tax return"), ("kitchen", "kitchen")]
    {
        let error = world.json_of(3, &["thread", "merge", from, into]);
        assert_eq!(error["error"]["kind"], "refused", "{from} {into}");
    }
    assert_eq!(world.says(0, &["thread", "unmerge", "garden"]), "topic/garden is a thread of its own again.\n");
    world.says(3, &["thread", "unmerge", "garden"]);

    assert_eq!(world.json(&["thread", "close", "garden"])["thread"]["state"], "closed");
    assert_eq!(world.says(0, &["thread", "close", "garden"]), "topic/garden was closed already.\n");
    assert_eq!(keys(&world, &[]), ["topic/kitchen", "topic/tax-return"]);
    assert_eq!(keys(&world, &["--all"]).len(), 3);
    assert_eq!(keys(&world, &["--session", "home"]), ["topic/kitchen", "topic/garden"]);
    assert_eq!(world.says(0, &["thread", "reopen", "garden"]), "topic/garden is open again.\n");
    world.verified();
}

#[test]
fn a_session_is_switched_from_its_next_prompt_on() {
    let world = furnished();
    let next = |id: &str| {
        say(&world, &[json!({"session": "home", "id": id, "text": format!("Next {id}"), "thread": "Garden"})]);
        settle(&world);
        let db = Connection::open(world.ledger()).unwrap();
        db.query_row(
            "SELECT t.thread_key FROM turns u JOIN run_threads m USING (run_no) JOIN threads t ON t.thread_no = m.thread_no
             WHERE u.entry = ?1",
            [id],
            |r| r.get::<_, String>(0),
        )
        .unwrap()
    };
    let said = world.says(0, &["thread", "switch", "tax return", "--session", "home"]);
    assert_eq!(said, "From its next prompt on turns:home belongs to Tax return · topic/tax-return\n");
    assert_eq!(next("a"), "topic/tax-return");
    let done = world.json(&["thread", "switch", "topic/cellar", "--session", "home"]);
    assert_eq!((&done["session"], &done["thread"]["label"]), (&json!("turns:home"), &json!("cellar")));
    assert_eq!((next("b"), next("c")), ("topic/cellar".into(), "topic/cellar".into()));
    assert_eq!(world.json(&["thread", "switch", "--auto", "--session", "home"])["thread"], Value::Null);
    assert_eq!(next("d"), "topic/garden");
    // Only topics and lanes can be created by naming them.
    let said = world.says(4, &["thread", "switch", "project/none", "--session", "home"]);
    assert!(said.contains("begin one: topic/"), "{said}");
    world.says(4, &["thread", "switch", "kitchen", "--session", "nowhere"]);
    world.says(2, &["thread", "switch", "kitchen"]);
    world.says(2, &["thread", "switch", "--session", "home"]);
    world.says(2, &["thread", "switch", "kitchen", "--auto", "--session", "home"]);
    world.verified();
}

#[test]
fn a_moved_project_takes_its_thread_along() {
    let world = World::new();
    let (old, new) = (world.test.folder("old"), world.test.folder("new"));
    let line = |id: &str, at: &std::path::Path| json!({"session": id, "id": id, "text": "x", "workspace": at.to_str().unwrap()});
    say(&world, &[line("one", &old), line("two", &new)]);
    settle(&world);
    assert_eq!(keys(&world, &[]).len(), 2);
    world.says(0, &["workspace", "alias", old.to_str().unwrap(), new.to_str().unwrap()]);
    let left = keys(&world, &[]);
    assert!(left.len() == 1 && left[0].starts_with("project/new--"), "{left:?}");
    assert_eq!(world.json(&["thread", "show", "old"])["thread"]["runs"], 2);
    world.verified();
}

#[test]
fn threads_of_another_agent_are_unknown() {
    let world = furnished();
    let line = json!({"session": "theirs", "id": "1", "text": "x", "thread": "Own"});
    let out = world.feed(&["append", "--agent", "ada"], format!("{line}\n").as_bytes());
    assert_eq!(out.status, Some(0), "{out:?}");
    for args in [
        &["thread", "show", "kitchen"][..],
        &["thread", "name", "topic/kitchen", "mine"],
        &["thread", "close", "kitchen"],
        &["thread", "merge", "kitchen", "garden"],
        &["thread", "switch", "kitchen", "--session", "theirs"],
        &["thread", "switch", "topic/own", "--session", "home"],
        &["thread", "list", "--session", "home"],
    ] {
        let out = world.run(&[&["--agent", "ada"], args].concat());
        assert_eq!(out.status, Some(4), "{args:?}: {out:?}");
        assert!(!format!("{}{}", out.stdout, out.stderr).contains("Garden"), "{out:?}");
    }
    let theirs = world.says(0, &["--agent", "ada", "thread", "list", "--all"]);
    assert!(!theirs.contains("kitchen") && !theirs.contains("garden"), "{theirs}");
    // A command for an agent that does not exist does not create it.
    world.says(4, &["--agent", "nobody", "thread", "close", "kitchen"]);
    assert!(!world.says(0, &["agent", "list"]).contains("nobody"));
}
