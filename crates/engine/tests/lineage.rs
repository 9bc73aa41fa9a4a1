//! Nodes made by hand: invalid ones are refused, references lead to the right places, planned nodes do not stand yet;
//! and damage is named by verify.

use heirloom_engine::clock::Clock;
use heirloom_engine::error::ErrorKind;
use heirloom_engine::ledger::blocks::Opener;
use heirloom_engine::ledger::{Audit, Read, Write};
use heirloom_engine::lineage::distillate::{Distillate, Item};
use heirloom_engine::lineage::{
    self, Kind, NewCompaction, NewNode, Node, Source, chunk_of, compactions, epoch, frontier, insert, node, uncovered,
    walk,
};
use heirloom_engine::scope::{AgentId, AgentNo, LaneNo, NodeId, RunNo, SessionNo, ThreadNo, TurnId};
use heirloom_engine::thread::{join, membership};
use heirloom_engine::transcript::read;
use serde_json::json;

use crate::weave;
use crate::world::{LITTLE, NOON, World};

/// Writes one session of `turns` turns, a second apart.
fn say(world: &World, name: &str, turns: usize) {
    let lines: String = (0..turns)
        .map(|n| {
            let role = if n % 2 == 0 { "user" } else { "assistant" };
            let text = format!("{name} says in turn {n} that the table is moved and the checks are green again");
            json!({"id": format!("{name}{n}"), "role": role, "text": text, "at": NOON + n as i64 * 1_000}).to_string()
                + "\n"
        })
        .collect();
    world.add(&format!("{name}.jsonl"), lines);
    world.import(&[&format!("{name}.jsonl")]);
}

/// Makes a world with one session of twelve turns, and a thread for it.
fn world() -> World {
    let world = World::at(Clock::Fixed(NOON + 1_000_000));
    say(&world, "a", 12);
    write(&world, |tx| {
        let runs: Vec<RunNo> = {
            let mut statement = tx.prepare("SELECT run_no FROM turn_results").unwrap();
            statement.query_map([], |r| r.get(0)).unwrap().map(Result::unwrap).collect()
        };
        for run in runs {
            join(tx, AgentNo(1), run, &membership(tx, run).unwrap()).unwrap();
        }
    });
    world
}

fn write<T>(world: &World, f: impl FnOnce(&mut Write) -> T) -> T {
    world.ledger.write(Audit::new("test", "test"), |tx| Ok(f(tx))).unwrap()
}

fn look<T>(world: &World, f: impl FnOnce(&Read) -> heirloom_engine::error::Result<T>) -> T {
    world.ledger.read(f).unwrap()
}

/// Returns a chunk over turns `first` to `last` of the only session.
fn chunk(first: i64, last: i64) -> NewNode {
    NewNode {
        agent_no: AgentNo(1),
        kind: Kind::Chunk,
        depth: 0,
        thread_no: ThreadNo(1),
        session_no: Some(SessionNo(1)),
        lane_no: Some(LaneNo(1)),
        turns: (TurnId(first), TurnId(last)),
        times: (Some(NOON + (first - 1) * 1_000), Some(NOON + (last - 1) * 1_000)),
        count: (last - first + 1) as u64,
        summary: "tables are moved".into(),
        distillate: Distillate { goal: Some(Item::new("move", TurnId(first))), ..Distillate::default() },
        source: Source::Deterministic,
        source_tokens: 15 * (last - first + 1) as u64,
        summary_turn: None,
        abandoned: false,
        late: Vec::new(),
        replaces: None,
        flush: None,
        children: Vec::new(),
    }
}

fn over(world: &World, kind: Kind, of: &[NodeId]) -> NewNode {
    let nodes: Vec<Node> = of.iter().map(|id| look(world, |tx| node(tx, AgentNo(1), *id))).collect();
    let lane = (kind == Kind::Compaction).then_some(LaneNo(1));
    weave::parent(&nodes.iter().collect::<Vec<_>>(), kind, lane)
}

fn put(world: &World, new: &NewNode) -> NodeId {
    world.ledger.write(Audit::new("test", "test"), |tx| insert(tx, new)).unwrap()
}

fn refused(world: &World, new: &NewNode, word: &str) {
    let before = world.count("SELECT count(*) FROM nodes");
    let error = world.ledger.write(Audit::new("test", "test"), |tx| insert(tx, new)).unwrap_err();
    assert!(error.kind() == ErrorKind::Damaged && error.to_string().contains(word), "{word}: {error}");
    assert!(error.next_step().is_some());
    assert_eq!(world.count("SELECT count(*) FROM nodes"), before);
}

#[test]
fn what_would_break_the_graph_is_refused() {
    let world = world();
    refused(&world, &NewNode { summary: "words ".repeat(100), ..chunk(1, 4) }, "a summary of 150 tokens for 60");
    refused(&world, &NewNode { turns: (TurnId(4), TurnId(1)), ..chunk(1, 4) }, "span");
    refused(&world, &NewNode { children: vec![NodeId(1)], ..chunk(1, 4) }, "children that do not fit");
    refused(&world, &NewNode { kind: Kind::Session, ..chunk(1, 4) }, "children that do not fit");
    let one = put(&world, &chunk(1, 4));
    for (first, last) in [(1, 4), (4, 8), (2, 3), (1, 12)] {
        refused(&world, &chunk(first, last), "are in a chunk already");
    }
    let two = put(&world, &chunk(5, 8));
    let good = over(&world, Kind::Session, &[one, two]);
    refused(&world, &NewNode { turns: (TurnId(1), TurnId(9)), ..good.clone() }, "does not span");
    refused(&world, &NewNode { turns: (TurnId(2), TurnId(8)), ..good.clone() }, "does not span");
    refused(&world, &NewNode { agent_no: AgentNo(2), ..good.clone() }, "another agent or thread");
    refused(&world, &NewNode { thread_no: ThreadNo(2), ..good.clone() }, "another agent or thread");
    put(&world, &good);
    assert_eq!(world.findings(), Vec::<String>::new());
}

#[test]
fn what_is_where() {
    let world = world();
    assert_eq!(look(&world, |tx| frontier(tx, LaneNo(1))), TurnId(0));
    let chunks: Vec<NodeId> = [(1, 3), (4, 6), (7, 9)].iter().map(|(a, b)| put(&world, &chunk(*a, *b))).collect();
    assert_eq!(look(&world, |tx| frontier(tx, LaneNo(1))), TurnId(9));
    let of = |turn| look(&world, |tx| chunk_of(tx, LaneNo(1), TurnId(turn)));
    assert_eq!([of(1), of(3), of(4), of(9)], [Some(chunks[0]), Some(chunks[0]), Some(chunks[1]), Some(chunks[2])]);
    assert_eq!([of(10), of(0)], [None, None]);
    assert_eq!(look(&world, |tx| chunk_of(tx, LaneNo(99), TurnId(1))), None);
    let ids = |nodes: Vec<Node>| nodes.into_iter().map(|n| n.id).collect::<Vec<_>>();
    assert_eq!(ids(look(&world, |tx| uncovered(tx, SessionNo(1)))), chunks);

    let compaction = put(&world, &over(&world, Kind::Compaction, &chunks[..2]));
    assert_eq!(ids(look(&world, |tx| uncovered(tx, SessionNo(1)))), [compaction, chunks[2]]);
    // A compaction is a root until a session node covers it; chunks never are roots.
    assert_eq!(ids(look(&world, |tx| walk::roots(tx, ThreadNo(1), 0, 9))), [compaction]);
    assert_eq!(ids(look(&world, |tx| walk::tops(tx, ThreadNo(1), 9))), [chunks[2], compaction]);
    let session = put(&world, &over(&world, Kind::Session, &[compaction, chunks[2]]));
    assert_eq!(ids(look(&world, |tx| uncovered(tx, SessionNo(1)))), []);
    assert_eq!(ids(look(&world, |tx| walk::roots(tx, ThreadNo(1), 0, 9))), [session]);
    assert_eq!(ids(look(&world, |tx| walk::tops(tx, ThreadNo(1), 9))), [session]);
    let condensed = put(&world, &over(&world, Kind::Condensed, &[session]));
    assert_eq!(ids(look(&world, |tx| walk::roots(tx, ThreadNo(1), 0, 9))), []);
    assert_eq!(ids(look(&world, |tx| walk::roots(tx, ThreadNo(1), 1, 9))), [condensed]);

    let above: Vec<(usize, NodeId)> =
        look(&world, |tx| walk::ancestors(tx, AgentNo(1), chunks[0], 9)).into_iter().map(|(d, n)| (d, n.id)).collect();
    assert_eq!(above, [(1, compaction), (2, session), (3, condensed)]);
    let node_of = |id| look(&world, |tx| node(tx, AgentNo(1), id));
    let (compacted, last, middle) = (node_of(compaction), node_of(chunks[2]), node_of(chunks[1]));
    assert_eq!(ids(look(&world, |tx| walk::siblings(tx, AgentNo(1), &compacted, 9))), [chunks[2]]);
    assert_eq!(ids(look(&world, |tx| walk::siblings(tx, AgentNo(1), &last, 9))), [compaction]);
    let (before, after) = look(&world, |tx| walk::neighbours(tx, &middle, &[ThreadNo(1)], 2));
    assert_eq!((ids(before), ids(after)), (vec![chunks[0]], vec![chunks[2]]));
    let stretches = look(&world, |tx| walk::stretches(tx, AgentNo(1), condensed));
    assert_eq!(stretches.iter().map(|s| s.node).collect::<Vec<_>>(), chunks);
    assert_eq!(world.findings(), Vec::<String>::new());
}

#[test]
fn compactions_count_epochs() {
    let world = world();
    let chunks = [put(&world, &chunk(1, 4)), put(&world, &chunk(5, 8))];
    assert_eq!(look(&world, |tx| epoch(tx, SessionNo(1))), 0);
    let new = |node, until| NewCompaction {
        session_no: SessionNo(1),
        lane_no: LaneNo(1),
        node,
        boundary_no: None,
        cause: "manual",
        until: TurnId(until),
        preserved: vec![TurnId(3), TurnId(4)],
        restoration: vec!["handoff".into(), "tail".into()],
        at: NOON,
        flush: None,
    };
    for (n, (chunk, until)) in chunks.iter().zip([4, 8]).enumerate() {
        let node = put(&world, &over(&world, Kind::Compaction, &[*chunk]));
        write(&world, |tx| lineage::record_compaction(tx, &new(Some(node), until)).unwrap());
        assert_eq!(look(&world, |tx| epoch(tx, SessionNo(1))), n as u64 + 1);
    }
    // A compaction mark without new turns is recorded and does not begin an epoch.
    let again = NewCompaction { cause: "again", ..new(None, 8) };
    write(&world, |tx| lineage::record_compaction(tx, &again).unwrap());
    assert_eq!(look(&world, |tx| epoch(tx, SessionNo(1))), 2);
    // Our own compaction of a long conversation does not cut the program's context.
    let ours = NewCompaction { cause: "threshold", ..new(None, 8) };
    write(&world, |tx| lineage::record_compaction(tx, &ours).unwrap());
    assert_eq!(look(&world, |tx| epoch(tx, SessionNo(1))), 2);
    let all = look(&world, |tx| compactions(tx, SessionNo(1)));
    assert_eq!(all.iter().map(|c| c.until.0).collect::<Vec<_>>(), [4, 8, 8, 8]);
    assert_eq!(all[0].preserved, [TurnId(3), TurnId(4)]);
    assert_eq!(world.findings(), Vec::<String>::new());
}

#[test]
fn what_belongs_to_an_unfinished_act_does_not_stand_until_it_is() {
    let world = world();
    let standing = put(&world, &chunk(1, 4));
    world.sql().execute_batch(
        "INSERT INTO flushes (flush_id, agent_no, action, plan, state, created_at) VALUES ('f1', 1, 'compact', '{}', 'planned', 1)",
    ).unwrap();
    let flush = Some("f1".to_owned());
    let planned = put(&world, &NewNode { flush: flush.clone(), ..chunk(5, 8) });
    let compaction =
        put(&world, &NewNode { flush: flush.clone(), ..over_raw(&world, Kind::Compaction, &[standing, planned]) });
    let new = NewCompaction {
        session_no: SessionNo(1),
        lane_no: LaneNo(1),
        node: Some(compaction),
        boundary_no: None,
        cause: "manual",
        until: TurnId(8),
        preserved: Vec::new(),
        restoration: Vec::new(),
        at: NOON,
        flush,
    };
    write(&world, |tx| lineage::record_compaction(tx, &new).unwrap());
    let ids = |nodes: Vec<Node>| nodes.into_iter().map(|n| n.id).collect::<Vec<_>>();
    assert!(look(&world, |tx| lineage::find(tx, AgentNo(1), planned)).is_none());
    assert_eq!(world.ledger.read(|tx| node(tx, AgentNo(1), compaction)).unwrap_err().kind(), ErrorKind::NotFound);
    assert_eq!(ids(look(&world, |tx| uncovered(tx, SessionNo(1)))), []);
    assert_eq!(ids(look(&world, |tx| walk::parents(tx, AgentNo(1), standing))), []);
    assert_eq!(
        (look(&world, |tx| epoch(tx, SessionNo(1))), look(&world, |tx| compactions(tx, SessionNo(1))).len()),
        (0, 0)
    );
    // Its turns already count as covered: no other chunk may take them.
    assert_eq!(look(&world, |tx| frontier(tx, LaneNo(1))), TurnId(8));
    refused(&world, &chunk(8, 9), "are in a chunk already");
    assert_eq!(world.findings(), Vec::<String>::new(), "an act under way is no damage");

    world.sql().execute_batch("UPDATE flushes SET state = 'done' WHERE flush_id = 'f1'").unwrap();
    assert_eq!(ids(look(&world, |tx| walk::children(tx, AgentNo(1), compaction))), [standing, planned]);
    assert_eq!(ids(look(&world, |tx| walk::parents(tx, AgentNo(1), standing))), [compaction]);
    assert_eq!(
        (look(&world, |tx| epoch(tx, SessionNo(1))), look(&world, |tx| compactions(tx, SessionNo(1))).len()),
        (1, 1)
    );
    assert_eq!(world.findings(), Vec::<String>::new());
}

/// Returns a node like [`over`], for nodes that do not stand yet.
fn over_raw(world: &World, kind: Kind, of: &[NodeId]) -> NewNode {
    let ends = world.count("SELECT max(last_turn) FROM nodes");
    let first = over(world, kind, &of[..1]);
    NewNode {
        turns: (first.turns.0, TurnId(ends)),
        times: (first.times.0, Some(NOON + (ends - 1) * 1_000)),
        count: ends as u64,
        source_tokens: 15 * ends as u64,
        children: of.to_vec(),
        ..first
    }
}

#[test]
fn two_agents_have_their_own() {
    let world = world();
    let mine = put(&world, &chunk(1, 4));
    let other = AgentId::parse("other").unwrap();
    world.try_import(&LITTLE, &other, &["a.jsonl"], None).unwrap();
    let other_no = look(&world, |tx| read::agent_no(tx, &other)).unwrap();
    weave::advance(&world.ledger, other_no);
    assert_eq!(look(&world, |tx| lineage::find(tx, other_no, mine)), None);
    let error = world.ledger.read(|tx| node(tx, other_no, mine)).unwrap_err();
    let nobody = world.ledger.read(|tx| node(tx, other_no, NodeId(0xfffff))).unwrap_err();
    assert_eq!((error.kind(), error.next_step()), (nobody.kind(), nobody.next_step()));
    let theirs = world.count(&format!("SELECT min(node_no) FROM nodes WHERE agent_no = {other_no}"));
    for asked in [walk::children, walk::parents] {
        assert_eq!(look(&world, |tx| asked(tx, AgentNo(1), NodeId(theirs))), []);
    }
    assert_eq!(look(&world, |tx| walk::stretches(tx, AgentNo(1), NodeId(theirs))), []);
    assert_eq!(look(&world, |tx| walk::ancestors(tx, AgentNo(1), NodeId(theirs), 9)), []);
    assert_eq!(world.findings(), Vec::<String>::new());
}

#[test]
fn a_forgotten_node_stays_in_its_place_and_its_turns_come_once() {
    let world = world();
    let chunks = [put(&world, &chunk(1, 4)), put(&world, &chunk(5, 8))];
    let session = put(&world, &over(&world, Kind::Session, &chunks));
    let made = world.ledger.write(Audit::new("test", "test"), |tx| weave::forget(tx, AgentNo(1), chunks[0])).unwrap();
    let gone = look(&world, |tx| node(tx, AgentNo(1), chunks[0]));
    assert!(gone.forgotten && gone.summary.is_empty());
    assert_eq!(look(&world, |tx| walk::replacement(tx, AgentNo(1), chunks[0])).unwrap().id, made);
    assert_eq!(look(&world, |tx| chunk_of(tx, LaneNo(1), TurnId(2))), Some(made));
    let stretches = look(&world, |tx| walk::stretches(tx, AgentNo(1), session));
    assert_eq!(stretches.iter().map(|s| s.node).collect::<Vec<_>>(), [made, chunks[1]]);
    assert_eq!(look(&world, |tx| walk::children(tx, AgentNo(1), session)).len(), 3);
    assert_eq!(world.findings(), Vec::<String>::new());
}

/// Damages a sound lineage; returns the expected findings that verify misses.
fn unsaid(breaking: &str, expect: &[&str]) -> Vec<String> {
    let world = World::at(Clock::Fixed(NOON + 1_000_000));
    say(&world, "a", 12);
    say(&world, "b", 8);
    weave::advance(&world.ledger, AgentNo(1));
    // Session nodes over a's chunks 1 to 3 and b's chunks 4 and 5, a compaction over the first two of a, and a
    // condensed node.
    write(&world, |tx| {
        let of = |tx: &Write, ids: &[i64], kind, lane| {
            let nodes: Vec<Node> = ids.iter().map(|id| node(tx, AgentNo(1), NodeId(*id)).unwrap()).collect();
            insert(tx, &weave::parent(&nodes.iter().collect::<Vec<_>>(), kind, lane)).unwrap().0
        };
        let compaction = of(tx, &[1, 2], Kind::Compaction, Some(LaneNo(1)));
        let session = of(tx, &[compaction, 3], Kind::Session, None);
        of(tx, &[4, 5], Kind::Session, None);
        of(tx, &[session], Kind::Condensed, None);
        lineage::record_compaction(
            tx,
            &NewCompaction {
                session_no: SessionNo(1),
                lane_no: LaneNo(1),
                node: Some(NodeId(compaction)),
                boundary_no: None,
                cause: "harness",
                until: TurnId(8),
                preserved: vec![TurnId(7)],
                restoration: Vec::new(),
                at: NOON,
                flush: None,
            },
        )
        .unwrap();
    });
    world.set_up(
        "INSERT INTO agents (agent_no, agent_id, created_at) VALUES (2, 'other', 1);
         INSERT INTO threads (agent_no, thread_key, file, label, state, created_at) VALUES (2, 'lane/x', 'x', 'x', 'active', 1)",
    );
    assert_eq!(world.findings(), Vec::<String>::new(), "sound before: {breaking}");
    world.sql().execute_batch(&format!("PRAGMA foreign_keys = OFF; {breaking}")).unwrap();
    let findings = world.findings();
    let said = |part: &&&str| findings.iter().any(|f| f.starts_with("Damaged ") && f.contains(**part));
    let missing: Vec<&&str> = expect.iter().filter(|part| !said(part)).collect();
    missing.iter().map(|part| format!("{breaking}: {part:?} is not in {findings:#?}")).collect()
}

#[test]
fn every_broken_invariant_is_named() {
    let mut missing = Vec::new();
    let mut check = |breaking: &str, expect: &[&str]| missing.extend(unsaid(breaking, expect));
    // n1 n2 n3 are chunks of a; n4 n5 are chunks of b; n6 is a compaction; n7 n8 are sessions; n9 is condensed.
    check(
        "UPDATE nodes SET summary = 'something else' WHERE node_no = 1",
        &["node n1: what it says is not what was stored"],
    );
    check("UPDATE nodes SET distillate = NULL WHERE node_no = 2", &["node n2: what it says is not what was stored"]);
    check("UPDATE nodes SET distillate = x'00' WHERE node_no = 2", &["node n2: its distillate cannot be read"]);
    check("UPDATE nodes SET key = zeroblob(16) WHERE node_no = 3", &["node n3: what it says is not what was stored"]);
    check("UPDATE nodes SET key = x'' WHERE node_no = 3", &["node n3: it was forgotten and still has words"]);
    check("UPDATE nodes SET kind = 9 WHERE node_no = 3", &["node n3: it is of a kind (9)"]);
    check(
        "UPDATE nodes SET summary_tokens = 3 WHERE node_no = 1",
        &["n1: its summary has 11 tokens and says it has 3"],
    );
    check(
        "UPDATE nodes SET source_tokens = 2 WHERE node_no = 1",
        &["n1: its summary is longer than what it summarises"],
    );
    check("UPDATE nodes SET source_tokens = 9999 WHERE node_no = 1", &["n1: its turns have"]);
    check("UPDATE nodes SET source_tokens = 9999 WHERE node_no = 9", &["n9: what it summarises has"]);
    check(
        "UPDATE nodes SET turns = 5 WHERE node_no = 1",
        &["n1: it covers 4 turns and says it covers 5", "n6: its children cover 9 turns and it says 8"],
    );
    check("UPDATE nodes SET turns = 7 WHERE node_no = 7", &["n7: its children cover 12 turns and it says 7"]);
    check(
        "UPDATE nodes SET first_turn = 2 WHERE node_no = 9",
        &["n9: it does not span the turns", "n9: what it says is not what was stored"],
    );
    check("UPDATE nodes SET last_turn = 0 WHERE node_no = 1", &["n1: it ends (t0) before it begins"]);
    check("UPDATE nodes SET last_at = last_at + 1 WHERE node_no = 7", &["n7: it does not span the time"]);
    check("UPDATE nodes SET first_at = NULL WHERE node_no = 7", &["n7: it does not span the time"]);
    check("UPDATE nodes SET depth = 2 WHERE node_no = 9", &["n9: it is of depth 2 over children of depth 0"]);
    check("UPDATE nodes SET depth = 1 WHERE node_no = 1", &["n1: a chunk of depth 1"]);
    check(
        "UPDATE nodes SET agent_no = 2 WHERE node_no = 1",
        &[
            "n1: it belongs to a thread of another agent",
            "n6: it stands over n1 of another agent",
            "n1: it belongs to a session of another agent",
            "n1: an item of it came from t1 of another agent",
        ],
    );
    check("UPDATE nodes SET thread_no = 3 WHERE node_no = 6", &["n7: it stands over n6 of another thread"]);
    check("UPDATE nodes SET thread_no = 77 WHERE node_no = 8", &["n8: it belongs to a thread that does not exist"]);
    check("UPDATE nodes SET session_no = 77 WHERE node_no = 8", &["n8: it belongs to a session that does not exist"]);
    check(
        "UPDATE nodes SET session_no = 2 WHERE node_no = 3",
        &[
            "n3: its turn t9 is of another session",
            "n7: a session over n3, a chunk",
            "n3: an item of it came from t9 of another session",
        ],
    );
    check("UPDATE nodes SET lane_no = NULL WHERE node_no = 3", &["n3: a chunk without its session and lane"]);
    check(
        "UPDATE nodes SET lane_no = 1 WHERE node_no = 8",
        &["n8: a session without its session and lane, or with one too many"],
    );
    check("INSERT INTO node_edges VALUES (7, 99)", &["n7: it is joined to n63, which does not exist"]);
    check(
        "DELETE FROM nodes WHERE node_no = 2",
        &[
            "n6: it is joined to n2, which does not exist",
            "lane 1: 4 turns from t5 on are in no chunk",
            "node_edges: 1 rows refer",
        ],
    );
    check("DELETE FROM node_edges WHERE parent_no = 8", &["n8: a session that stands over nothing"]);
    check(
        "INSERT INTO node_edges VALUES (6, 7)",
        &["n6: it stands over itself", "n7: it stands over itself", "n6: a compaction over n7, a session"],
    );
    check("INSERT INTO node_edges VALUES (9, 9)", &["n9: it stands over itself"]);
    check("INSERT INTO node_edges VALUES (9, 1)", &["n9: a condensed over n1, a chunk"]);
    check("UPDATE nodes SET first_turn = 4 WHERE node_no = 2", &["n2: turns of it are in n1 as well"]);
    check("UPDATE nodes SET first_turn = 6 WHERE node_no = 2", &["lane 1: 1 turns from t5 on are in no chunk"]);
    check("UPDATE nodes SET last_turn = 900 WHERE node_no = 3", &["n3: its turn t384 does not exist"]);
    check(
        "DELETE FROM turns WHERE turn_no = 9",
        &["n3: an item of it came from t9, which does not exist", "n3: it covers 3 turns"],
    );
    check(
        "INSERT INTO flushes (flush_id, agent_no, action, state, created_at) VALUES ('f', 1, 'x', 'planned', 1); UPDATE nodes SET flush_id = 'f' WHERE node_no = 4",
        &["n8: it stands over n4, whose act is not finished"],
    );
    check("UPDATE compactions SET until_turn = 99", &["compaction 1: it ends at t63, which does not exist"]);
    check("UPDATE compactions SET until_turn = 14", &["compaction 1: it ends at te of another session"]);
    check("UPDATE compactions SET until_turn = 5", &["compaction 1: it ends at t5 and its node at t8"]);
    check("UPDATE compactions SET node_no = 1", &["compaction 1: its node n1 is none of its session and lane"]);
    check("UPDATE compactions SET node_no = 99", &["compaction 1: its node n63 does not exist"]);
    check("UPDATE compactions SET preserved = '[\"t63\"]'", &["compaction 1: it preserved t63, which does not exist"]);
    check("UPDATE compactions SET preserved = 'x'", &["compaction 1: what it preserved cannot be read"]);
    check(
        "INSERT INTO compactions SELECT 2, session_no, lane_no, node_no, NULL, cause, until_turn, preserved, restoration, NULL, at FROM compactions",
        &["compaction 2: it has the node of compaction 1"],
    );
    check(
        "INSERT INTO nodes (agent_no, kind, depth, thread_no, session_no, lane_no, first_turn, last_turn, turns, summary, source, source_tokens, summary_tokens, created_at, key, digest)
         SELECT agent_no, kind, depth, thread_no, session_no, lane_no, first_turn, last_turn, turns, summary, source, source_tokens, summary_tokens, created_at, key, digest FROM nodes WHERE node_no = 6",
        &["na: it tells of the same compaction as n6", "na: a compaction that stands over nothing"],
    );
    assert!(missing.is_empty(), "{}", missing.join("\n"));
}

#[test]
fn merged_threads_may_share_a_node() {
    let world = world();
    let chunks = [put(&world, &chunk(1, 4)), put(&world, &chunk(5, 8))];
    put(&world, &over(&world, Kind::Session, &chunks));
    world.set_up(
        "INSERT INTO threads (agent_no, thread_key, file, label, state, created_at) VALUES (1, 'lane/x', 'x', 'x', 'active', 1);
         UPDATE nodes SET thread_no = 2 WHERE node_no = 2",
    );
    assert!(world.findings().iter().any(|f| f.contains("another thread")));
    world.set_up("UPDATE threads SET merged_into = 2 WHERE thread_no = 1");
    assert_eq!(world.findings(), Vec::<String>::new());
}

#[test]
fn turns_read_with_their_words_in_a_chunk() {
    let world = world();
    let id = put(&world, &chunk(1, 4));
    let stored = look(&world, |tx| node(tx, AgentNo(1), id));
    assert_eq!((stored.count, stored.summary_tokens, stored.source_tokens), (4, 4, 60));
    let turn = look(&world, |tx| read::turn(tx, &Opener::default(), AgentNo(1), stored.turns.0));
    assert!(turn.text.starts_with("a says in turn 0"));
    assert_eq!(stored.distillate.turns(), [turn.id]);
}
