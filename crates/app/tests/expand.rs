//! `heirloom expand`: one screen that shows what a reference refers to and how to go on, down to the words; in JSON
//! every object also has its agent.

use heirloom_engine::clock::Clock;
use heirloom_engine::ledger::blocks::Opener;
use heirloom_engine::ledger::{Audit, Ledger, Open};
use heirloom_engine::lineage::distillate::{Distillate, Item, Touch, TouchedFile};
use heirloom_engine::lineage::{self, Kind, NewNode, Source};
use heirloom_engine::scope::{LaneNo, TurnId};
use heirloom_engine::thread::{join, membership};
use heirloom_engine::tokens::tokens;
use heirloom_engine::transcript::read;
use serde_json::{Value, json};

use crate::world::{World, names};

/// Makes two chunks of a session's main line and a session node over them; returns its id.
pub fn weave(world: &World, session: &str) -> String {
    let path = world.ledger();
    let ledger = Ledger::open(&path, &world.test.home().join("state/backups"), Clock::System, Open::Full).unwrap();
    let id = ledger.write(Audit::new("test", "test"), |tx| {
        let agent = read::agent_no(tx, &heirloom_engine::scope::AgentId::main())?.unwrap();
        let row = read::session_named(tx, agent, session)?;
        // The nodes that the import made are removed, because these tests must know every word.
        tx.execute_batch(
            "DELETE FROM compactions; DELETE FROM node_edges; DELETE FROM node_roots; DELETE FROM nodes;
                          DELETE FROM sqlite_sequence WHERE name = 'nodes'",
        )?;
        let mut turns = Vec::new();
        read::session_turns(tx, &Opener::default(), &row, Some(""), |turn| {
            turns.push(turn);
            Ok(())
        })?;
        let lane: LaneNo =
            tx.query_row("SELECT lane_no FROM turns WHERE turn_no = ?1", [turns[0].id.0], |r| r.get(0))?;
        let thread = join(tx, agent, turns[0].run, &membership(tx, turns[0].run)?)?;
        let mut chunks = Vec::new();
        let middle = turns.len() / 2;
        let node = |turns: &[read::Turn], kind, children| NewNode {
            agent_no: agent,
            kind,
            depth: 0,
            thread_no: thread,
            session_no: Some(row.no),
            lane_no: (kind == Kind::Chunk).then_some(lane),
            turns: (turns[0].id, turns[turns.len() - 1].id),
            times: (turns.iter().filter_map(|t| t.at).min(), turns.iter().filter_map(|t| t.at).max()),
            count: turns.len() as u64,
            summary: "Redis is dropped.".into(),
            distillate: Distillate {
                goal: Some(Item::new("Drop Redis", turns[0].id)),
                decisions: vec![Item::new("no Redis: one process is enough", turns[0].id)],
                files: vec![TouchedFile {
                    path: "src/queue.rs".into(),
                    touch: Touch::Changed,
                    turns: vec![turns[0].id],
                }],
                ..Distillate::default()
            },
            source: Source::Deterministic,
            source_tokens: turns.iter().map(|t| tokens(&t.text) as u64).sum(),
            summary_turn: None,
            abandoned: false,
            late: Vec::new(),
            replaces: None,
            flush: None,
            children,
        };
        for part in [&turns[..middle], &turns[middle..]] {
            chunks.push(lineage::insert(tx, &node(part, Kind::Chunk, Vec::new()))?);
        }
        lineage::insert(tx, &node(&turns, Kind::Session, chunks))
    });
    // The index was made from the removed nodes.
    world.says(0, &["reindex"]);
    id.unwrap().to_string()
}

/// Imports the demo and adds a node over the session that drops Redis.
fn demo() -> (World, String, String) {
    let world = World::new();
    let folder = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("demo");
    world.json(&["import", folder.to_str().unwrap()]);
    let session = world.found("why did we drop redis")[0]["session"].as_str().unwrap().to_owned();
    let node = weave(&world, &session);
    world.verified();
    (world, session, node)
}

/// Checks that every object in these lists has the agent.
fn all_of_main(value: &Value, seen: &mut usize) {
    match value {
        Value::Object(map) => {
            if map.contains_key("id") {
                assert_eq!(map.get("agent_id"), Some(&json!("main")), "{value}");
                *seen += 1;
            }
            map.iter().filter(|(key, _)| *key != "distillate").for_each(|(_, v)| all_of_main(v, seen));
        }
        Value::Array(list) => list.iter().for_each(|v| all_of_main(v, seen)),
        _ => {}
    }
}

#[test]
fn a_node_fits_a_screen_and_says_how_to_go_on() {
    let (world, session, node) = demo();
    let said = world.says(0, &["expand", &node]);
    for part in [
        "Session n3",
        "Redis is dropped.",
        &session,
        "Goal",
        "Drop Redis",
        "Decided",
        "Files",
        "Below",
        "chunk",
        "Words",
    ] {
        assert!(said.contains(part), "{part} is not in\n{said}");
    }
    assert!(said.lines().count() <= 40, "{said}");
    assert_eq!(world.says(0, &["expand", &format!("[{node}]")]), said, "with its brackets");
    // Every command that the output names works.
    let mut tried = 0;
    for line in said.lines().filter_map(|l| l.split("heirloom expand ").nth(1)) {
        let args: Vec<&str> = ["expand"].into_iter().chain(line.split_whitespace()).collect();
        world.says(0, &args);
        tried += 1;
    }
    assert!(tried >= 2, "{said}");
    let chunk = world.says(0, &["expand", "n1"]);
    for part in ["Above", "Around", "after", "n2"] {
        assert!(chunk.contains(part), "{part} is not in\n{chunk}");
    }
}

#[test]
fn programs_get_the_shape_with_the_agent_in_every_object() {
    let (world, session, node) = demo();
    let value = world.json(&["expand", &node, "--transcript", "--limit", "3"]);
    names(&value, "node ancestors parents children more_below siblings neighbours linked transcript");
    names(&value["linked"], "memory open_loops proposals more");
    assert_eq!(value["node"]["id"], node.as_str());
    assert_eq!((&value["node"]["kind"], &value["node"]["session"]), (&json!("session"), &json!(session)));
    assert_eq!(value["children"].as_array().unwrap().len(), 2);
    assert_eq!(value["transcript"]["turns"].as_array().unwrap().len(), 3);
    let mut seen = 0;
    all_of_main(&value, &mut seen);
    assert_eq!(seen, 6);
    for reference in [session.as_str(), "t1", "n1"] {
        all_of_main(&world.json(&["expand", reference, "--transcript"]), &mut seen);
    }
    world.says(0, &["loop", "add", "Call the bank"]);
    let value = world.json(&["expand", "l:call-the-bank"]);
    assert_eq!(value["file"]["agent_id"], "main");
    assert!(value["file"]["text"].as_str().unwrap().contains("# Call the bank"));
    assert_eq!(value["transcript"], Value::Null);
}

#[test]
fn a_program_pages_to_the_last_word() {
    let (world, session, node) = demo();
    let expected: Vec<(Value, Value)> = world
        .turns(&session)
        .into_iter()
        .filter(|t| t["lane"] == "")
        .map(|t| (t["turn"].clone(), t["text"].clone()))
        .collect();
    let mut got: Vec<(Value, Value)> = Vec::new();
    let mut args = vec!["expand".to_owned(), node.clone(), "--transcript".into(), "-n".into(), "2".into()];
    loop {
        let page = world.json(&args.iter().map(String::as_str).collect::<Vec<_>>());
        let turns = page["transcript"]["turns"].as_array().unwrap();
        assert!((1..=2).contains(&turns.len()));
        got.extend(turns.iter().map(|t| (t["id"].clone(), t["text"].clone())));
        let Some(next) = page["transcript"]["next"].as_str() else { break };
        args = ["expand", &node, "-n", "2", "--cursor", next].map(str::to_owned).to_vec();
    }
    assert_eq!(got, expected);
    let said = world.says(0, &["expand", &node, "--transcript", "-n", "2"]);
    let more = said.lines().find_map(|l| l.strip_prefix("more: heirloom ")).unwrap();
    let next = world.says(0, &more.split(' ').collect::<Vec<_>>());
    let third = TurnId::parse(expected[2].0.as_str().unwrap()).unwrap();
    assert!(next.contains(&third.to_string()) && !next.contains("Goal"), "{next}");
}

#[test]
fn what_leads_nowhere_says_what_would() {
    let (world, _, node) = demo();
    for (code, reference, words) in [
        (4, "n999", "there is no node n999"),
        (4, "t999", "there is no turn t999"),
        (4, "l:nothing", "open loop"),
        (4, "q:99", "nothing was set aside as q:99"),
        (4, "no such thread", "leads nowhere"),
        (2, "u:x", "leads nowhere"),
        (4, "memory/preference/none.md", "there is no file"),
    ] {
        let said = world.says(code, &["expand", reference]);
        assert!(said.contains(words), "{reference}: {said}");
        assert!(said.lines().count() >= 2, "{reference} gives a next step: {said}");
    }
    let said = world.says(2, &["expand", &node, "--cursor", "w1.2.3"]);
    assert!(said.contains("begin again without --cursor"), "{said}");
    world.says(2, &["expand", &node, "--limit", "0"]);
    world.says(2, &["expand", &node, "--depth", "99"]);
    // Another agent's node gives the same answer as a node that does not exist.
    world.says(0, &["agent", "add", "other"]);
    let (theirs, none) =
        (world.says(4, &["--agent", "other", "expand", &node]), world.says(4, &["--agent", "other", "expand", "n999"]));
    assert_eq!(theirs.replace(&node, "N"), none.replace("n999", "N"));
}
