//! Sessions that no program should write and some do, each processed to the end: imported, distilled, rendered,
//! compacted by hand, expanded down to every word, verified (R6.1, R6.2, R6.6, R6.8, R7.1, R7.2).
//! `HEIRLOOM_TEST_FULL=1` includes the largest.

use std::collections::BTreeMap;
use std::time::Instant;

use heirloom_engine::clock::Clock;
use heirloom_engine::distill::advance::{Limits, Pass};
use heirloom_engine::distill::chunk::Size;
use heirloom_engine::distill::compaction;
use heirloom_engine::error::ErrorKind;
use heirloom_engine::home::Home;
use heirloom_engine::lineage::{self, Kind, Node, Source, walk};
use heirloom_engine::pages::PageKey;
use heirloom_engine::recall::expand::{Reach, Reference, expand};
use heirloom_engine::redact::redact;
use heirloom_engine::render::{self, Occasion, head_commits, revisions};
use heirloom_engine::scope::{AgentId, NodeId, SessionNo, TurnId};
use heirloom_engine::thread;
use heirloom_engine::tokens::tokens;
use heirloom_engine::transcript::read;
use heirloom_engine::tree::AssistantHome;
use heirloom_engine::worker::distil;
use jiff::tz::TimeZone;
use serde_json::{Value, json};

use crate::world::{GLOBAL, LATER, NOON, World};

/// A home beside the ledger of a world, for one agent.
struct Odd {
    world: World,
    home: Home,
    limits: Limits,
}

/// Result of one pass over everything.
struct Passed {
    nodes: Vec<Node>,
    heads: BTreeMap<String, String>,
}

impl Odd {
    fn new() -> Odd {
        Odd::at(LATER)
    }

    fn at(clock: Clock) -> Odd {
        let world = World::at(clock);
        let home = Home::create(&world.path("home")).unwrap();
        std::fs::create_dir_all(world.path("project/.git")).unwrap();
        // Small chunks, so that few turns make many of them.
        let limits = Limits { chunk: Size { turns: 8, tokens: 400 }, ..Limits::default() };
        Odd { world, home, limits }
    }

    /// Writes the lines of a session and imports them for the world's agent.
    fn said(&self, name: &str, lines: &[Value]) -> &Odd {
        let text: String = lines.iter().map(|l| format!("{l}\n")).collect();
        self.world.write(name, text);
        self.world.import_as(&GLOBAL, &[name]);
        self
    }

    fn of(&mut self, agent: &str) {
        self.world.agent = AgentId::parse(agent).unwrap();
    }

    fn assistant(&self) -> AssistantHome<'_> {
        let World { ledger, agent, .. } = &self.world;
        AssistantHome::create(&self.home, ledger, agent, self.world.agent_no(), "test", TimeZone::UTC).unwrap()
    }

    fn nodes(&self) -> Vec<Node> {
        let agent_no = self.world.agent_no();
        let sql = self.world.sql();
        let mut statement =
            sql.prepare("SELECT node_no FROM nodes WHERE agent_no = ?1 AND length(key) > 0 ORDER BY node_no").unwrap();
        let rows = statement.query_map([agent_no], |r| r.get(0)).unwrap();
        let ids: Vec<i64> = rows.map(Result::unwrap).collect();
        let node = |id: &i64| self.world.ledger.read(|tx| lineage::node(tx, agent_no, NodeId(*id))).unwrap();
        ids.iter().map(node).collect()
    }

    fn sessions(&self) -> Vec<SessionNo> {
        let agent_no = self.world.agent_no();
        let all = self.world.ledger.read(|tx| read::sessions(tx, agent_no, &read::SessionFilter::default()));
        all.unwrap().into_iter().map(|s| s.no).collect()
    }

    fn distil(&self) {
        let done = distil(&self.assistant(), self.limits, None, &mut |_| {}).unwrap();
        assert!(done.problems.is_empty(), "{:?}", done.problems);
    }

    /// Distils, renders and compacts by hand, all of it twice, and checks the invariants.
    fn through(&self) -> Passed {
        self.distil();
        let heads = self.heads();
        drop(heads);
        let by_hand = || {
            for session in self.sessions() {
                compaction::by_hand(&Pass::new(&self.assistant(), self.limits), session, None).unwrap();
            }
            self.distil();
        };
        by_hand();
        let before: Vec<NodeId> = self.nodes().iter().map(|n| n.id).collect();
        by_hand();
        let nodes = self.nodes();
        assert_eq!(nodes.iter().map(|n| n.id).collect::<Vec<_>>(), before, "done again, nothing is made");
        let heads = self.heads();
        self.holds(&nodes);
        Passed { nodes, heads }
    }

    /// Returns every page of the agent after a refresh; each must be within its budget.
    fn heads(&self) -> BTreeMap<String, String> {
        let at = self.assistant();
        let refreshed = render::refresh(&at, Occasion::Act).unwrap();
        assert!(refreshed.failed.is_empty(), "{refreshed:?}");
        let threads = at.read(|tx| thread::list(tx, at.agent_no)).unwrap();
        let own = [(PageKey::Memory, 1_500), (PageKey::Active, 2_000), (PageKey::Threads, 4_000)];
        let all = own.into_iter().chain(threads.into_iter().map(|t| (PageKey::Thread(t.file), 700)));
        all.filter_map(|(page, most)| {
            let path =
                self.home.root().join("workspaces").join(self.world.agent.as_str()).join(page.path().unwrap().as_str());
            let text = std::fs::read_to_string(path).ok()?;
            // A page has no block until there is something to show.
            let start = text.find("-->\n")? + 4;
            let block = text[start..text.rfind("<!-- /heirloom").unwrap()].to_owned();
            assert!(tokens(&block) <= most, "{}: {} tokens\n{block}", page, tokens(&block));
            Some((page.to_string(), block))
        })
        .collect()
    }

    /// Checks that every turn is below a root, once and with its text, that no summary is longer than its source, and
    /// that verify finds nothing.
    fn holds(&self, nodes: &[Node]) {
        let agent_no = self.world.agent_no();
        let mut below: BTreeMap<TurnId, String> = BTreeMap::new();
        for node in nodes {
            assert_eq!(node.agent_no, agent_no);
            assert!(tokens(&node.summary) as u64 <= node.source_tokens, "{} is longer than its source", node.id);
            let parents = self.world.ledger.read(|tx| walk::parents(tx, agent_no, node.id)).unwrap();
            if parents.is_empty() {
                let said = self.words(node.id);
                assert_eq!(said.len() as u64, node.count, "{}", node.id);
                below.extend(said);
            }
        }
        let sql = self.world.sql();
        let mut statement = sql
            .prepare("SELECT turn_no FROM turns JOIN sessions USING (session_no) WHERE agent_no = ?1 ORDER BY turn_no")
            .unwrap();
        let turns: Vec<i64> = statement.query_map([agent_no], |r| r.get(0)).unwrap().map(Result::unwrap).collect();
        assert_eq!(below.keys().map(|t| t.0).collect::<Vec<_>>(), turns, "every turn is below a root");
        let opener = Default::default();
        self.world
            .ledger
            .read(|tx| {
                for (id, text) in &below {
                    assert!(redact(&read::turn(tx, &opener, agent_no, *id)?.text) == text.as_str(), "{id}");
                }
                Ok(())
            })
            .unwrap();
        assert_eq!(self.world.findings(), Vec::<String>::new());
    }

    fn words(&self, id: NodeId) -> BTreeMap<TurnId, String> {
        let mut out: BTreeMap<TurnId, String> = BTreeMap::new();
        let mut reach = Reach { transcript: true, limit: 1_000, ..Reach::default() };
        loop {
            let page = expand(&self.world.ledger, self.world.agent_no(), None, &Reference::Node(id), &reach);
            let page = page.unwrap().transcript.unwrap();
            for passage in page.turns {
                let said = out.entry(passage.turn.id).or_default();
                assert_eq!(said.len(), passage.part.map_or(0, |(from, ..)| from), "{id}: {}", passage.turn.id);
                said.push_str(&passage.turn.text);
            }
            match page.next {
                Some(next) => reach.cursor = Some(next),
                None => return out,
            }
        }
    }
}

impl Passed {
    fn of(&self, kind: Kind) -> Vec<&Node> {
        self.nodes.iter().filter(|n| n.kind == kind).collect()
    }

    /// Returns the heads of threads, joined.
    fn threads(&self) -> String {
        self.heads.iter().filter(|(name, _)| name.starts_with("thread/")).map(|(_, text)| text.as_str()).collect()
    }
}

fn turn(id: usize, role: &str, text: &str, at: i64) -> Value {
    json!({"id": format!("e{id}"), "role": role, "text": text, "at": at})
}

/// Returns a prompt and its answer, with enough words for a shorter summary.
fn pair(n: usize, at: i64) -> [Value; 2] {
    [
        turn(2 * n, "user", &format!("Please move table number {n} to the new schema, then run the checks again."), at),
        turn(
            2 * n + 1,
            "assistant",
            &format!("Done: table number {n} is moved and all of its checks are green."),
            at + 1,
        ),
    ]
}

fn talk(from: usize, to: usize) -> Vec<Value> {
    (from..to).flat_map(|n| pair(n, NOON + n as i64 * 1_000)).collect()
}

fn fact(fact: &str, value: &str, at: i64) -> Value {
    json!({"fact": fact, "value": value, "at": at})
}

/// Function that gives the time of a turn by its number.
type When = fn(usize) -> Option<i64>;

fn full() -> bool {
    std::env::var_os("HEIRLOOM_TEST_FULL").is_some()
}

#[test]
fn a_session_of_one_turn() {
    for text in ["Please move the orders table to the new schema before Friday.", "ok", "?", "\u{200b}"] {
        let odd = Odd::new();
        let passed = odd.said("s.jsonl", &[turn(0, "user", text, NOON)]).through();
        assert_eq!((passed.of(Kind::Chunk).len(), passed.nodes[0].count), (1, 1), "{text:?}");
        let nothing = Odd::new();
        nothing.said("s.jsonl", &[turn(0, "assistant", text, NOON)]).through();
    }
    let odd = Odd::new();
    let passed = odd.said("s.jsonl", &[turn(0, "user", "Please move the orders table.", NOON)]).through();
    assert!(passed.threads().contains("move the orders table"), "{}", passed.threads());
}

#[test]
fn a_session_of_very_many_turns() {
    let turns = if full() { 50_000 } else { 5_000 };
    let mut odd = Odd::new();
    odd.limits = Limits::default();
    let began = Instant::now();
    odd.said("s.jsonl", &talk(0, turns / 2));
    let stored = began.elapsed();
    let passed = odd.through();
    assert!(passed.of(Kind::Compaction).len() >= 2, "ours, and by hand: {}", passed.of(Kind::Compaction).len());
    assert_eq!(passed.of(Kind::Chunk).iter().map(|n| n.count).sum::<u64>(), turns as u64);
    println!("{turns} turns: stored after {stored:.1?}, all of it after {:.1?}", began.elapsed());
}

#[test]
fn chunks_larger_than_what_is_read_at_once() {
    let mut odd = Odd::new();
    odd.limits.chunk = Size { turns: 100_000, tokens: 100_000_000 };
    let passed = odd.said("s.jsonl", &talk(0, 1_500)).through();
    assert!(passed.of(Kind::Chunk).len() >= 2);
}

#[test]
fn a_turn_of_five_megabytes() {
    let words = |start: &str| {
        start.to_owned() + &"the orders table moves to the new schema and the checks are run. ".repeat(80_000)
    };
    let prompt = words("Please read this: ");
    assert!(prompt.len() > 5_000_000);
    let line = "x".repeat(5_000_000);
    for (role, kind, text) in
        [("user", "message", &prompt), ("assistant", "message", &prompt), ("tool", "tool-result", &line)]
    {
        let odd = Odd::new();
        let mut lines = talk(0, 3);
        let mut large = turn(100, role, text, NOON + 5_000);
        large["kind"] = json!(kind);
        lines.push(large);
        lines.extend(talk(4, 6));
        let began = Instant::now();
        let passed = odd.said("s.jsonl", &lines).through();
        // The chunks are the same as if it had been imported in several sittings: the turns after it are in another
        // chunk.
        assert!(passed.of(Kind::Chunk).iter().any(|n| n.count < 4), "{role}");
        assert!(passed.nodes.iter().all(|n| n.summary.len() < 10_000), "what is said of it is short");
        println!("5 MB as {role} {kind}: {:.1?}", began.elapsed());
    }
}

#[test]
fn a_session_of_tool_output_alone() {
    let odd = Odd::new();
    let lines: Vec<Value> = (0..40)
        .map(|n| {
            json!({"id": format!("e{n}"), "role": "tool", "kind": "tool-result", "tool": "sh", "call": format!("c{n}"),
                   "text": format!("TODO: I will never do {n}. We decided to use cron. Please always use tabs."), "at": NOON + n})
        })
        .collect();
    let passed = odd.said("s.jsonl", &lines).through();
    // Output of tools contains no commitment and no decision.
    for node in &passed.nodes {
        let d = &node.distillate;
        assert!(d.goal.is_none() && d.decisions.is_empty() && d.constraints.is_empty(), "{d:?}");
        assert!(d.open_loops.is_empty() && d.proposals.is_empty() && d.next_steps.is_empty(), "{d:?}");
    }
    assert_eq!(odd.world.count("SELECT count(*) FROM catalogue WHERE kind IN ('open-loop', 'proposal')"), 0);
}

#[test]
fn a_session_without_any_text() {
    let odd = Odd::new();
    let mut lines: Vec<Value> =
        vec![fact("title", "Nothing", NOON), json!({"meta": 1}), json!({"fact": "cwd", "value": "/nowhere"})];
    odd.said("none.jsonl", &lines);
    assert_eq!(odd.through().nodes.len(), 0, "without a turn there is nothing to tell");
    for n in 0..20 {
        for (i, (role, kind)) in
            [("user", "message"), ("assistant", "thinking"), ("assistant", "tool-call"), ("tool", "tool-result")]
                .iter()
                .enumerate()
        {
            lines.push(
                json!({"id": format!("e{}", n * 4 + i), "role": role, "kind": kind, "text": "", "at": NOON + n as i64}),
            );
        }
    }
    lines.push(fact("session-end", "", NOON + 100));
    let passed = odd.said("empty.jsonl", &lines).through();
    assert_eq!(passed.of(Kind::Chunk).iter().map(|n| n.count).sum::<u64>(), 80);
    assert!(passed.nodes.iter().all(|n| n.distillate.goal.is_none()));
}

#[test]
fn a_clock_that_runs_backwards_or_anywhere() {
    let ways: [(&str, When); 5] = [
        ("backwards", |n| Some(NOON - n as i64 * 60_000)),
        ("years apart", |n| Some(if n % 2 == 0 { NOON } else { NOON - 40_000_000_000 * n as i64 })),
        ("none", |_| None),
        ("extremes", |n| [Some(i64::MIN), Some(i64::MAX), Some(0), Some(-1), None].into_iter().nth(n % 5).flatten()),
        ("the future", |n| Some(NOON * 3 + n as i64)),
    ];
    for clock in [Clock::Fixed(NOON), LATER] {
        for (name, at) in &ways {
            println!("{name}");
            let odd = Odd::at(clock);
            let mut lines = talk(0, 30);
            for (n, line) in lines.iter_mut().enumerate() {
                line["at"] = json!(at(n));
            }
            lines.insert(30, fact("compaction", "auto", NOON));
            lines.push(fact("session-end", "", NOON - 1));
            odd.said("s.jsonl", &lines);
            let passed = odd.through();
            // The chunks are in the order of the turns, whatever their times.
            let chunks = passed.of(Kind::Chunk);
            assert!(chunks.windows(2).all(|w| w[0].turns.1 < w[1].turns.0), "{name}");
            assert_eq!(chunks.iter().map(|n| n.count).sum::<u64>(), 60, "{name}");
        }
    }
}

#[test]
fn one_session_key_under_two_agents() {
    let mut odd = Odd::new();
    let own = |word: &str| -> Vec<Value> {
        talk(0, 12)
            .into_iter()
            .map(|mut line| {
                line["text"] =
                    json!(line["text"].as_str().unwrap().replace("table number", &format!("{word} table number")));
                line["thread"] = json!("topic/same");
                line
            })
            .chain([fact("session-end", "", NOON + 90_000)])
            .collect()
    };
    odd.said("s.jsonl", &own("walrus"));
    let of_main = odd.through();
    odd.of("ada");
    odd.said("s.jsonl", &own("heron"));
    let of_ada = odd.through();
    assert_eq!(of_main.nodes.len(), of_ada.nodes.len());
    for (passed, own, other) in [(&of_main, "walrus", "heron"), (&of_ada, "heron", "walrus")] {
        let heads = passed.threads();
        assert!(heads.contains(own) && !heads.contains(other), "{heads}");
        assert!(passed.heads.values().all(|h| !h.contains(other)));
        assert!(passed.nodes.iter().all(|n| !n.summary.contains(other)));
    }
    assert!(of_main.nodes.iter().all(|n| of_ada.nodes.iter().all(|m| m.id != n.id)));
    // Ids, sessions and threads of the other agent are answered as unknown.
    let at = odd.assistant();
    let asked = |reference: &Reference| expand(&odd.world.ledger, at.agent_no, Some(&at), reference, &Reach::default());
    for node in &of_main.nodes {
        let (theirs, none) =
            (asked(&Reference::Node(node.id)).unwrap_err(), asked(&Reference::Node(NodeId(0xffff))).unwrap_err());
        assert_eq!(theirs.kind(), ErrorKind::NotFound);
        assert_eq!(theirs.to_string().replace(&node.id.to_string(), "N"), none.to_string().replace("nffff", "N"));
        for turn in [node.turns.0, node.turns.1] {
            assert_eq!(asked(&Reference::Turn(turn)).unwrap_err().kind(), ErrorKind::NotFound);
        }
        let found = at.read(|tx| {
            Ok((
                lineage::find(tx, at.agent_no, node.id)?,
                walk::children(tx, at.agent_no, node.id)?,
                walk::parents(tx, at.agent_no, node.id)?,
                walk::ancestors(tx, at.agent_no, node.id, 9)?,
                walk::siblings(tx, at.agent_no, node, 9)?,
                walk::stretches(tx, at.agent_no, node.id)?,
                walk::of_session(tx, at.agent_no, node.session_no.unwrap_or(SessionNo(0)), 9)?,
                walk::replacement(tx, at.agent_no, node.id)?,
                thread::find(tx, at.agent_no, node.thread_no)?,
            ))
        });
        let (node, children, parents, ancestors, siblings, stretches, of_session, replacement, thread) = found.unwrap();
        assert!(node.is_none() && children.is_empty() && parents.is_empty() && ancestors.is_empty());
        assert!(siblings.is_empty() && stretches.is_empty() && of_session.is_empty() && replacement.is_none());
        assert!(thread.is_none());
    }
    // The heads have the same name and are yet separate: a commit to one is not in the other.
    let head = of_ada
        .heads
        .keys()
        .find_map(|n| n.strip_prefix("thread/"))
        .map(|file| PageKey::Thread(file.to_owned()))
        .unwrap();
    let head_commits::Acquired::Granted(grant) = head_commits::acquire(&at, &head, "ci", 10_000).unwrap() else {
        panic!()
    };
    let change = head_commits::Change { section: "plan", owner: "ci", content: "heron only" };
    head_commits::commit(&at, &head, &change, grant.epoch, grant.base_revision).unwrap();
    drop(at);
    odd.of("main");
    let at = odd.assistant();
    assert_eq!(revisions::look(&at, &head).unwrap().sections.len(), 0);
    assert!(revisions::look(&at, &head).unwrap().holder.is_none());
    // No agent can compact another's session.
    let (main_no, theirs) = (at.agent_no, of_ada.nodes[0].session_no.unwrap());
    let before = odd.world.count("SELECT count(*) FROM nodes");
    let done = compaction::by_hand(&Pass::new(&at, odd.limits), theirs, None).unwrap();
    assert_eq!((done.nodes.len(), odd.world.count("SELECT count(*) FROM nodes")), (0, before), "agent {main_no}");
}

#[test]
fn a_session_that_is_forked_rewound_resumed_and_cleared() {
    let odd = Odd::new();
    let mut lines = talk(0, 12);
    odd.said("a.jsonl", &lines).distil();
    // A fork: a copy that continues on its own.
    let mut fork = lines.clone();
    fork.insert(0, fact("fork-of", "a", NOON));
    fork.push(turn(500, "user", "In the fork we paint the fence green, please, and not blue.", NOON + 30_000));
    fork.push(turn(501, "assistant", "Done: the fence is green in the fork.", NOON + 31_000));
    odd.said("b.jsonl", &fork).distil();
    // A rewind: the last two pairs are abandoned for another prompt.
    let mut again = turn(600, "user", "Instead, please write the report about the orders table first.", NOON + 40_000);
    again["parent"] = json!("e19");
    lines.push(again);
    let mut answer = turn(601, "assistant", "Done: the report about the orders table is written.", NOON + 41_000);
    answer["parent"] = json!("e600");
    lines.push(answer);
    odd.said("a.jsonl", &lines).distil();
    // The session ends, and is resumed the next day.
    lines.push(fact("session-end", "", NOON + 50_000));
    odd.said("a.jsonl", &lines).distil();
    lines.extend(talk(60, 70));
    odd.said("a.jsonl", &lines).distil();
    // The context is cleared: the same file continues with another subject.
    lines.push(fact("segment", "clear", NOON + 80_000));
    lines.extend((0..4).flat_map(|n| {
        [
            turn(
                700 + 2 * n,
                "user",
                &format!("Please plant tree number {n} in the new garden beside the house."),
                NOON + 90_000,
            ),
            turn(701 + 2 * n, "assistant", &format!("Done: tree number {n} is planted in the garden."), NOON + 91_000),
        ]
    }));
    odd.said("a.jsonl", &lines);
    let passed = odd.through();
    // The copied turns are in one session only, the one they were said in.
    assert_eq!(odd.world.count("SELECT count(*) FROM turn_references"), 24);
    assert_eq!(passed.of(Kind::Chunk).iter().map(|n| n.count).sum::<u64>(), (24 + 2 + 2 + 20 + 8) as u64);
    // The abandoned branch is marked, and gives no goal.
    let left: Vec<&Node> = passed.of(Kind::Chunk).into_iter().filter(|n| n.abandoned).collect();
    assert!(!left.is_empty() || odd.world.count("SELECT count(*) FROM turn_results WHERE left_by IS NOT NULL") > 0);
    let heads = passed.threads();
    assert!(!heads.contains("table number 11 ") && !heads.contains("table number 10 "), "{heads}");
    // After a clear nothing is carried over from before it.
    let sql = odd.world.sql();
    let after: i64 = sql.query_row("SELECT min(turn_no) FROM turns WHERE entry = 'e700'", [], |r| r.get(0)).unwrap();
    let behind: Vec<&Node> = passed.nodes.iter().filter(|n| n.turns.0.0 >= after).collect();
    assert!(behind.iter().any(|n| n.kind != Kind::Chunk), "{behind:?}");
    for node in behind {
        let said = serde_json::to_string(&node.distillate).unwrap();
        assert!(!said.contains("table") && !node.summary.contains("table"), "{}: {said}", node.id);
    }
}

#[test]
fn a_sub_agent_that_outlives_its_parent() {
    let odd = Odd::new();
    let mut lines = talk(0, 4);
    let call = json!({"id": "call", "role": "assistant", "kind": "tool-call", "tool": "task", "call": "c1", "text": "look into it", "at": NOON + 5_000});
    lines.push(call);
    lines.push(fact("session-end", "", NOON + 6_000));
    odd.said("s.jsonl", &lines).distil();
    let sessions = odd.nodes().iter().filter(|n| n.kind == Kind::Session).count();
    assert_eq!(sessions, 1);
    // Days later the sub-agent's lane continues, twice.
    let mut lane: Vec<Value> = vec![json!({"fact": "lane-call", "lane": "sub", "value": "c1"})];
    for day in 1..3 {
        lane.extend((0..6).map(|n| {
            let at = NOON + day * 86_400_000 + n;
            let role = if n % 2 == 0 { "user" } else { "assistant" };
            turn(
                (1000 * day + n) as usize,
                role,
                &format!("The lane goes on about the large invoices table, part {n} of day {day}."),
                at,
            )
        }));
        odd.said("s.sub.jsonl", &lane).distil();
    }
    let passed = odd.through();
    let sub: Vec<&Node> = passed.of(Kind::Chunk).into_iter().filter(|n| n.summary.contains("invoices")).collect();
    assert!(!sub.is_empty());
    let main = passed.of(Kind::Chunk)[0].lane_no;
    assert!(
        sub.iter().all(|n| n.lane_no != main && n.thread_no == passed.nodes[0].thread_no),
        "in the thread of its parent"
    );
    assert_eq!(passed.of(Kind::Chunk).iter().map(|n| n.count).sum::<u64>(), 8 + 1 + 12);
    // No person prompted the sub-agent, so it sets no goal.
    assert!(sub.iter().all(|n| n.distillate.constraints.is_empty()));
    assert!(!passed.threads().contains("invoices table, part"), "{}", passed.threads());
}

#[test]
fn a_compaction_that_arrives_twice() {
    let odd = Odd::new();
    let mark = fact("compaction", "auto", NOON + 20_000);
    let summary = json!({"id": "sum", "role": "system", "kind": "compact-summary", "at": NOON + 20_001,
                         "text": "Summary: twelve tables were moved, all green."});
    let mut lines = talk(0, 12);
    lines.extend([mark.clone(), mark.clone(), summary.clone(), mark]);
    odd.said("s.jsonl", &lines).distil();
    odd.said("s.jsonl", &lines).distil();
    let mut twice = summary;
    twice["id"] = json!("sum2");
    lines.push(twice);
    odd.said("s.jsonl", &lines).distil();
    let with_node = "SELECT count(*) FROM compactions WHERE node_no IS NOT NULL";
    assert_eq!(odd.world.count(with_node), 1, "one context was cut");
    assert_eq!(odd.nodes().iter().filter(|n| n.kind == Kind::Compaction).count(), 1);
    let passed = odd.through();
    let cut = passed.of(Kind::Compaction);
    assert_eq!((cut[0].source, cut[0].count), (Source::Harness, 24));
    assert!(cut[0].summary.contains("twelve tables"), "{}", cut[0].summary);
}

#[test]
fn a_summary_longer_than_what_it_is_of_is_refused() {
    let long = "The tables were moved and the checks were green and everybody was happy about it. ".repeat(200);
    for text in [long.as_str(), ""] {
        let odd = Odd::new();
        let mut lines = talk(0, 2);
        lines.push(fact("compaction", "auto", NOON + 20_000));
        lines
            .push(json!({"id": "sum", "role": "system", "kind": "compact-summary", "at": NOON + 20_001, "text": text}));
        odd.said("s.jsonl", &lines).distil();
        let nodes = odd.nodes();
        let cut: Vec<&Node> = nodes.iter().filter(|n| n.kind == Kind::Compaction).collect();
        assert_eq!(cut.len(), 1);
        assert_eq!(cut[0].source, Source::Deterministic, "{}", cut[0].summary);
        assert!(!cut[0].summary.contains("everybody was happy") && cut[0].summary_turn.is_none(), "{}", cut[0].summary);
        assert!(cut[0].summary.contains("table number"), "{}", cut[0].summary);
        odd.through();
    }
}
