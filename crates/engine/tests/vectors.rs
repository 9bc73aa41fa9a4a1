//! Vectors are stored beside the words, are caught up when they are missing, and are removed with the words (R10.2,
//! R10.8, R14.2).

use std::collections::BTreeSet;
use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use heirloom_engine::capture::Capture;
use heirloom_engine::error::{Error, ErrorKind, Result};
use heirloom_engine::event::{Role, TurnKind};
use heirloom_engine::forget::{self, Request, Wish};
use heirloom_engine::index::{Document, Embedder, FilesWithin, Index, Missing, NodesWithin, TurnsWithin, Within};
use heirloom_engine::ledger::blocks::Opener;
use heirloom_engine::ledger::{Audit, Ledger};
use heirloom_engine::lineage::distillate::Distillate;
use heirloom_engine::lineage::{self, Kind, NewNode, Source};
use heirloom_engine::scope::{
    AgentId, AgentNo, FileNo, LaneNo, NodeId, RunNo, SessionNo, ThreadNo, TurnId, WorkspaceNo,
};
use heirloom_engine::thread;
use heirloom_engine::transcript::read;
use heirloom_engine::tree::file_table::Kind as FileKind;
use heirloom_engine::tree::scan;
use heirloom_engine::verify::{files, verify};
use heirloom_engine::worker;
use heirloom_testkit::{Rng, word_vector};
use serde_json::json;

use crate::tree::Tree;
use crate::world::{LATER, LITTLE, World, open_ledger, said};

/// A simple stand-in for a model: texts are near if they share words.
struct Words {
    name: &'static str,
    dimensions: usize,
    quick: bool,
    fails: AtomicBool,
    seen: Mutex<Vec<String>>,
}

impl Words {
    fn called(name: &'static str, dimensions: usize, quick: bool) -> Arc<Words> {
        Arc::new(Words { name, dimensions, quick, fails: AtomicBool::new(false), seen: Mutex::default() })
    }

    fn new() -> Arc<Words> {
        Words::called("words", 64, true)
    }

    fn of(&self, text: &str) -> Vec<f32> {
        word_vector(self.name.len() as u64, self.dimensions, text)
    }

    fn seen(&self) -> Vec<String> {
        std::mem::take(&mut self.seen.lock().unwrap())
    }
}

impl Embedder for Words {
    fn model(&self) -> &str {
        self.name
    }

    fn dimensions(&self) -> usize {
        self.dimensions
    }

    fn embed(&self, texts: &[&str]) -> Result<Vec<Vec<f32>>> {
        if self.fails.load(Ordering::Relaxed) {
            return Err(Error::new(ErrorKind::Busy, "nobody answers"));
        }
        self.seen.lock().unwrap().extend(texts.iter().map(|t| (*t).to_owned()));
        Ok(texts.iter().map(|t| self.of(t)).collect())
    }

    fn is_quick(&self) -> bool {
        self.quick
    }
}

fn open(path: &Path, ledger: &Ledger, model: &Arc<Words>) -> Index {
    let index = Index::open(path, ledger.id(), Duration::from_secs(5)).unwrap().0;
    index.with_embedder(model.clone()).unwrap()
}

fn index(world: &World, model: &Arc<Words>) -> Index {
    open(&world.path("index.db"), &world.ledger, model)
}

fn follow(world: &World, index: &mut Index) {
    assert_eq!(index.catch_up(&world.ledger, None, &mut |_| {}).unwrap(), 0);
}

fn missing(ledger: &Ledger, index: &Index) -> Missing {
    ledger.read(|tx| index.vectors_missing(tx)).unwrap()
}

/// Returns the texts of the turns nearest to a text.
fn near(world: &World, index: &Index, model: &Words, agent: &AgentId, text: &str, within: &TurnsWithin) -> Vec<String> {
    world
        .ledger
        .read(|tx| {
            let agent_no = read::agent_no(tx, agent)?.unwrap_or(AgentNo(99));
            let found = index.nearest(&model.of(text), agent_no, Within::Turns(within), 3)?.found;
            found
                .into_iter()
                .map(|(document, similarity)| {
                    let Document::Turn(id) = document else { panic!("{document:?}") };
                    assert!((-1.01..=1.01).contains(&similarity));
                    read::turn(tx, &Opener::default(), agent_no, id).map(|t| t.text)
                })
                .collect::<Result<Vec<String>>>()
        })
        .unwrap()
}

fn nearest(world: &World, index: &Index, model: &Words, text: &str) -> String {
    near(world, index, model, &world.agent, text, &TurnsWithin::default()).into_iter().next().unwrap_or_default()
}

/// Returns every vector of an index, with what it belongs to.
fn dump(path: &Path, dimensions: usize) -> BTreeSet<String> {
    let conn = rusqlite::Connection::open(path).unwrap();
    let join = |sql: &str, set: i64| -> Vec<u8> {
        let mut statement = conn.prepare(sql).unwrap();
        let rows = statement.query_map([set], |r| r.get::<_, Vec<u8>>(0)).unwrap();
        rows.map(Result::unwrap).collect::<Vec<_>>().concat()
    };
    let sets: Vec<(i64, String)> = conn
        .prepare("SELECT set_no, agent_no || ' ' || sort || ' ' || workspace_no || ' ' || label FROM vector_sets")
        .unwrap()
        .query_map([], |r| Ok((r.get(0)?, r.get(1)?)))
        .unwrap()
        .map(Result::unwrap)
        .collect();
    let mut out = BTreeSet::new();
    for (set, name) in sets {
        let keys = join("SELECT keys FROM vector_codes WHERE block >> 32 = ?1 ORDER BY block", set);
        let codes = join("SELECT codes FROM vector_codes WHERE block >> 32 = ?1 ORDER BY block", set);
        let rows = join("SELECT data FROM vector_rows WHERE block >> 32 = ?1 ORDER BY block", set);
        for (i, key) in keys.chunks(12).enumerate() {
            let (code, row) = (&codes[i * dimensions / 8..][..dimensions / 8], &rows[i * dimensions..][..dimensions]);
            assert!(out.insert(format!("{name} {key:?} {code:?} {row:?}")), "twice: {name} {key:?}");
        }
    }
    out
}

/// Checks that the index has the same vectors as one made anew, and no faults.
fn is_as_made_anew(world: &World, index: &Index, model: &Arc<Words>) {
    let mut fresh = Index::recreate(&world.path("fresh.db"), world.ledger.id(), Duration::from_secs(5))
        .unwrap()
        .with_embedder(model.clone())
        .unwrap();
    while missing(&world.ledger, &fresh) != Missing::default() || fresh.watermark().unwrap() == TurnId(0) {
        follow(world, &mut fresh);
        fresh.fill_vectors(&world.ledger, None, &mut |_| {}).unwrap();
    }
    let (one, other) = (dump(index.path(), model.dimensions), dump(&world.path("fresh.db"), model.dimensions));
    let differ: Vec<_> = one.symmetric_difference(&other).map(|l| l.chars().take(60).collect::<String>()).collect();
    assert!(differ.is_empty(), "{differ:#?}");
    assert_eq!(one.len() as u64, index.vectors().unwrap());
    assert_eq!(world.findings_with(Some(index)), Vec::<String>::new());
}

const ANIMALS: &[&str] = &["heron", "otter", "badger", "lynx", "stoat", "marten", "dipper", "newt"];

fn lines(from: usize, many: usize) -> String {
    (from..from + many)
        .map(|n| {
            let text = format!("{} {} crosses river {n}", ANIMALS[n % 8], ANIMALS[n / 8 % 8]);
            let kind = if n % 5 == 4 { "tool-result" } else { "message" };
            let role = ["user", "assistant", "assistant", "user", "tool"][n % 5];
            json!({"id": format!("e{n}"), "role": role, "kind": kind, "text": text}).to_string() + "\n"
        })
        .collect()
}

#[test]
fn what_is_imported_is_near_at_once_by_its_bare_text() {
    let (world, model) = (World::new(), Words::new());
    let mut index = index(&world, &model);
    let named = json!({"id": "a", "role": "user", "speaker": "Bob", "at": 1_795_262_400_000i64,
                       "text": "the green heron stands still"});
    let long = format!("{}\n\nthe sleeping badger\n\n{}", "filler words ".repeat(150), "other things ".repeat(150));
    let call = json!({"id": "c", "role": "assistant", "kind": "tool-call", "tool": "sh",
                      "text": format!("otter {}", "run ".repeat(900))});
    world.write("s.jsonl", format!("{named}\n{}{call}\n{}", said("b", "assistant", &long), said("d", "user", "-- !")));
    world.try_import(&LITTLE, &world.agent, &["s.jsonl"], Some(&mut index)).unwrap();
    index.flush().unwrap();
    let seen = model.seen();
    assert!(seen.contains(&"the green heron stands still".to_owned()), "{seen:?}");
    assert!(seen.iter().all(|t| t.len() <= 1500 && !t.is_empty()));
    let call = seen.iter().find(|t| t.starts_with("otter")).unwrap();
    assert!((250..=300).contains(&call.len()), "of what a program does only the beginning");
    assert_eq!(index.vectors().unwrap(), seen.len() as u64 - 1, "what has no word is near to nothing");
    assert_eq!(missing(&world.ledger, &index), Missing::default());
    assert_eq!(nearest(&world, &index, &model, "green heron"), "the green heron stands still");
    // A long text is found by one of its parts, and only once, however many parts are near.
    let found = near(&world, &index, &model, &world.agent, "sleeping badger filler words", &TurnsWithin::default());
    assert_eq!((found[0].len(), found.len()), (long.len(), 3));
    is_as_made_anew(&world, &index, &model);
}

#[test]
fn an_agent_sees_its_own_and_a_limit_holds() {
    let (world, model) = (World::new(), Words::new());
    let mut index = index(&world, &model);
    let ada = AgentId::parse("ada").unwrap();
    let cwd = |name: &str| {
        std::fs::create_dir_all(world.path(name).join(".git")).unwrap();
        world.path(name).display().to_string()
    };
    let line = |id: &str, role: &str, kind: &str, cwd: &str, text: &str| {
        json!({"id": id, "role": role, "kind": kind, "cwd": cwd, "text": text}).to_string() + "\n"
    };
    let (one, two) = (cwd("one"), cwd("two"));
    world.write(
        "s.jsonl",
        line("a", "user", "message", &one, "heron one") + &line("b", "assistant", "message", &one, "heron two"),
    );
    world.write("t.jsonl", line("a", "tool", "tool-result", &two, "heron three"));
    world.write("u.jsonl", line("a", "user", "message", &one, "heron of ada"));
    world.try_import(&LITTLE, &world.agent, &["s.jsonl", "t.jsonl"], Some(&mut index)).unwrap();
    world.try_import(&LITTLE, &ada, &["u.jsonl"], Some(&mut index)).unwrap();
    index.flush().unwrap();
    let ask = |agent: &AgentId, within: TurnsWithin| -> BTreeSet<String> {
        near(&world, &index, &model, agent, "heron", &within).into_iter().collect()
    };
    let set = |texts: &[&str]| -> BTreeSet<String> { texts.iter().map(|t| (*t).to_owned()).collect() };
    let all = TurnsWithin::default;
    assert_eq!(ask(&world.agent, all()), set(&["heron one", "heron two", "heron three"]));
    assert_eq!(ask(&ada, all()), set(&["heron of ada"]));
    assert_eq!(ask(&AgentId::parse("nobody").unwrap(), all()), set(&[]));
    let number = |sql: &str| world.count(sql);
    let workspace = number("SELECT workspace_no FROM turns WHERE turn_no = 1");
    assert_eq!(
        ask(&world.agent, TurnsWithin { workspaces: Some(vec![WorkspaceNo(workspace)]), ..all() }),
        set(&["heron one", "heron two"])
    );
    let session = number("SELECT session_no FROM turns WHERE turn_no = 3");
    assert_eq!(
        ask(&world.agent, TurnsWithin { sessions: Some(vec![SessionNo(session)]), ..all() }),
        set(&["heron three"])
    );
    assert_eq!(ask(&world.agent, TurnsWithin { roles: Some(vec![Role::Assistant]), ..all() }), set(&["heron two"]));
    let kinds = Some(vec![TurnKind::ToolResult, TurnKind::ToolCall]);
    assert_eq!(ask(&world.agent, TurnsWithin { kinds, ..all() }), set(&["heron three"]));
    assert_eq!(
        ask(&world.agent, TurnsWithin { turns: Some((TurnId(2), TurnId(9))), ..all() }),
        set(&["heron two", "heron three"])
    );
    assert_eq!(ask(&world.agent, TurnsWithin { harness: Some("other".into()), ..all() }), set(&[]));
    assert_eq!(ask(&world.agent, TurnsWithin { harness: Some("little".into()), ..all() }).len(), 3);
    let of = [Document::Turn(TurnId(1)), Document::Turn(TurnId(4)), Document::Node(NodeId(1))];
    let known = index.similarities(&model.of("heron one"), world.agent_no(), &of).unwrap();
    assert_eq!(known.len(), 1, "the fourth is ada's");
    assert!(known[&of[0]] > 0.98);
}

#[test]
fn another_model_takes_over_in_the_background() {
    let (world, one) = (World::new(), Words::new());
    let mut first = index(&world, &one);
    world.write("s.jsonl", lines(0, 700));
    world.try_import(&LITTLE, &world.agent, &["s.jsonl"], Some(&mut first)).unwrap();
    follow(&world, &mut first);
    assert_eq!(nearest(&world, &first, &one, "newt lynx river 31"), "newt lynx crosses river 31");
    drop(first);

    for other in [Words::called("other", 128, true), Words::called("far away", 192, false)] {
        let mut index = index(&world, &other);
        assert_eq!(nearest(&world, &index, &other, "newt"), "", "vectors of two models are not compared");
        assert_eq!(world.search(&mut index, "31")[0], "newt lynx crosses river 31");
        let lacking = missing(&world.ledger, &index);
        assert_eq!((lacking.turns, lacking.of_turns), (700, 700));
        if !other.quick {
            follow(&world, &mut index);
            assert!(other.seen().is_empty(), "nobody who waits asks a model far away");
        }
        worker::drain(&world.ledger, &mut index, "test", &mut |_| Ok(())).unwrap();
        assert_eq!(missing(&world.ledger, &index), Missing::default());
        assert_eq!(nearest(&world, &index, &other, "newt lynx river 31"), "newt lynx crosses river 31");
        is_as_made_anew(&world, &index, &other);
    }
    let index = Index::open(&world.path("index.db"), world.ledger.id(), Duration::from_secs(1)).unwrap().0;
    let wrong = index.with_embedder(Words::called("odd", 100, true));
    assert_eq!(wrong.err().map(|e| e.kind()), Some(ErrorKind::Usage));
}

#[test]
fn a_model_that_does_not_answer_keeps_no_words_waiting() {
    let (world, model) = (World::new(), Words::new());
    let mut first = index(&world, &model);
    world.write("s.jsonl", lines(0, 300));
    world.try_import(&LITTLE, &world.agent, &["s.jsonl"], Some(&mut first)).unwrap();
    first.flush().unwrap();
    model.fails.store(true, Ordering::Relaxed);
    world.write("t.jsonl", lines(300, 300));
    world.try_import(&LITTLE, &world.agent, &["t.jsonl"], Some(&mut first)).unwrap();
    follow(&world, &mut first);
    assert!(world.search(&mut first, "599")[0].ends_with("river 599"));
    let lacking = missing(&world.ledger, &first);
    assert_eq!((lacking.turns, lacking.of_turns), (300, 600));
    let drained = worker::drain(&world.ledger, &mut first, "test", &mut |_| Ok(())).unwrap();
    assert_eq!(drained.failed, 0);
    assert_eq!(nearest(&world, &first, &model, "newt lynx river 31"), "newt lynx crosses river 31");
    assert_eq!(world.findings_with(Some(&first)), Vec::<String>::new());
    drop(first);
    // Without a model the existing vectors are kept, and new words are indexed.
    world.write("u.jsonl", lines(600, 50));
    let (mut bare, _) = world.index();
    world.try_import(&LITTLE, &world.agent, &["u.jsonl"], Some(&mut bare)).unwrap();
    follow(&world, &mut bare);
    assert_eq!((bare.vectors().unwrap(), missing(&world.ledger, &bare)), (300, Missing::default()));
    drop(bare);
    model.fails.store(false, Ordering::Relaxed);
    let mut again = index(&world, &model);
    assert_eq!(missing(&world.ledger, &again).turns, 350);
    follow(&world, &mut again);
    is_as_made_anew(&world, &again, &model);
    assert_eq!(again.vectors().unwrap(), 650);
}

#[test]
fn several_processes_make_every_vector_once() {
    let (world, model) = (World::new(), Words::new());
    for file in 0..6 {
        world.write(&format!("s{file}.jsonl"), lines(file * 300, 300));
    }
    let (folder, models) = (world.folder.path(), [model.clone(), model.clone(), Words::called("words", 64, false)]);
    std::thread::scope(|scope| {
        for (who, model) in models.into_iter().enumerate() {
            scope.spawn(move || {
                let ledger = open_ledger(folder, LATER);
                let mut index = open(&folder.join("index.db"), &ledger, &model);
                for round in 0..2 {
                    let mut capture =
                        Capture::new(&ledger, Some(&mut index), "test", &folder.join("scratch"), None).unwrap();
                    for file in (who * 2 + round)..(who * 2 + round + 1) {
                        let path = folder.join(format!("s{file}.jsonl"));
                        capture.file(&LITTLE, &AgentId::main(), &path).unwrap();
                    }
                    capture.finish().unwrap();
                    index.catch_up(&ledger, None, &mut |_| {}).unwrap();
                    index.fill_vectors(&ledger, None, &mut |_| {}).unwrap();
                }
            });
        }
    });
    assert_eq!(world.count("SELECT count(*) FROM turns"), 1800);
    let mut index = index(&world, &model);
    follow(&world, &mut index);
    is_as_made_anew(&world, &index, &model);
    assert_eq!(index.vectors().unwrap(), 1800);
}

#[test]
fn a_killed_writer_leaves_an_index_that_goes_on() {
    let (world, model) = (World::new(), Words::new());
    let mut index = index(&world, &model);
    let mut rng = Rng::new(11);
    for step in 0..8 {
        world.write(&format!("s{step}.jsonl"), lines(step * 120, 1 + rng.below(120)));
        world.try_import(&LITTLE, &world.agent, &[&format!("s{step}.jsonl")], Some(&mut index)).unwrap();
        match rng.below(3) {
            0 => index.flush().unwrap(),
            1 => follow(&world, &mut index),
            _ => {}
        }
        // The copy is the disk's state after the process died: the log may end within a transaction.
        let copy = world.path(&format!("copy{step}.db"));
        std::fs::copy(world.path("index.db"), &copy).unwrap();
        let log = std::fs::read(world.path("index.db-wal")).unwrap_or_default();
        let kept = log.len() - rng.below(log.len().min(20_000) + 1);
        std::fs::write(world.path(&format!("copy{step}.db-wal")), &log[..kept]).unwrap();
        let mut copied = open(&copy, &world.ledger, &model);
        assert_eq!(copied.problems().unwrap(), Vec::<String>::new(), "step {step}");
        follow(&world, &mut copied);
        assert_eq!(missing(&world.ledger, &copied), Missing::default());
        is_as_made_anew(&world, &copied, &model);
    }
}

#[test]
fn torn_vectors_are_damage_and_are_made_again() {
    let (world, model) = (World::new(), Words::new());
    let mut first = index(&world, &model);
    world.write("s.jsonl", lines(0, 300));
    world.try_import(&LITTLE, &world.agent, &["s.jsonl"], Some(&mut first)).unwrap();
    drop(first);
    let sql = rusqlite::Connection::open(world.path("index.db")).unwrap();
    sql.execute("UPDATE vector_codes SET codes = substr(codes, 2)", []).unwrap();
    let mut torn = index(&world, &model);
    let error = torn.nearest(&model.of("heron"), AgentNo(1), Within::Turns(&TurnsWithin::default()), 3).unwrap_err();
    assert!(error.kind() == ErrorKind::Damaged && error.next_step().unwrap().contains("reindex"), "{error}");
    assert!(world.findings_with(Some(&torn)).iter().any(|f| f.contains("torn")));
    // The next writer notices the damage.
    world.write("t.jsonl", lines(300, 10));
    world.try_import(&LITTLE, &world.agent, &["t.jsonl"], Some(&mut torn)).unwrap();
    follow(&world, &mut torn);
    is_as_made_anew(&world, &torn, &model);
    assert_eq!(torn.vectors().unwrap(), 310);
}

/// A home with files, nodes and conversations.
struct Story {
    tree: Tree,
    model: Arc<Words>,
}

impl Story {
    fn index(&self) -> Index {
        open(&self.tree.home.root().join("state/index.db"), &self.tree.ledger, &self.model)
    }

    fn tell(&self, name: &str, text: &str) {
        let path = self.tree.folder.path().join(name);
        std::fs::write(&path, text).unwrap();
        let scratch = self.tree.home.root().join("state/scratch");
        let mut index = self.index();
        let mut capture = Capture::new(&self.tree.ledger, Some(&mut index), "test", &scratch, None).unwrap();
        capture.file(&LITTLE, &AgentId::main(), &path).unwrap();
        capture.finish().unwrap();
    }

    fn follow(&self, index: &mut Index) {
        scan::scan(&self.tree.at()).unwrap();
        index.catch_up(&self.tree.ledger, None, &mut |_| {}).unwrap();
        assert_eq!(index.catch_up_files(&self.tree.at(), None).unwrap(), 0);
    }

    /// Makes a chunk with this summary over the turns of a session.
    fn chunk(&self, session: &str, summary: &str, flush: Option<&str>) -> NodeId {
        let agent_no = self.tree.agent_no;
        self.tree
            .ledger
            .write(Audit::new("test", "node.add"), |tx| {
                let session = read::session_named(tx, agent_no, session)?.no;
                let (first, last, lane, run): (i64, i64, LaneNo, RunNo) = tx.query_row(
                    "SELECT min(turn_no), max(turn_no), lane_no, run_no FROM turns WHERE session_no = ?1",
                    [session],
                    |r| Ok((r.get(0)?, r.get(1)?, r.get(2)?, r.get(3)?)),
                )?;
                let new = NewNode {
                    agent_no,
                    kind: Kind::Chunk,
                    depth: 0,
                    thread_no: thread::join(tx, agent_no, run, &thread::membership(tx, run)?)?,
                    session_no: Some(session),
                    lane_no: Some(lane),
                    turns: (TurnId(first), TurnId(last)),
                    times: (Some(1_795_262_400_000), None),
                    count: (last - first + 1) as u64,
                    summary: summary.to_owned(),
                    distillate: Distillate::default(),
                    source: Source::Deterministic,
                    source_tokens: 1000,
                    summary_turn: None,
                    abandoned: false,
                    late: Vec::new(),
                    replaces: None,
                    flush: flush.map(str::to_owned),
                    children: Vec::new(),
                };
                lineage::insert(tx, &new)
            })
            .unwrap()
    }

    fn near(&self, index: &Index, text: &str, within: Within) -> Option<(Document, bool)> {
        let found = index.nearest(&self.model.of(text), self.tree.agent_no, within, 1).unwrap().found;
        found.first().map(|(document, similarity)| (*document, *similarity > 0.6))
    }

    fn words(&self, index: &Index, expression: &str, within: &NodesWithin) -> Vec<NodeId> {
        let found = index.nodes_matching(self.tree.agent_no, expression, within, 9).unwrap();
        found.found.into_iter().map(|(id, _)| id).collect()
    }

    /// Returns the findings about the index.
    fn findings(&self, index: &Index) -> Vec<String> {
        let mut report = verify(&self.tree.ledger, Some(index), &mut |_| {}).unwrap();
        files::files(&self.tree.at(), Some(index), true, &mut report).unwrap();
        let of = report.findings.into_iter().map(|f| format!("{}: {}", f.subject, f.what));
        of.filter(|f| f.contains("index")).collect()
    }
}

#[test]
fn nodes_are_found_by_words_and_by_vector_once_they_stand() {
    let story = Story { tree: Tree::new(), model: Words::new() };
    story.tell("s.jsonl", &lines(0, 6));
    story.tell("t.jsonl", &lines(10, 6));
    let one = story.chunk("s", "The heron migration was decided", None);
    story
        .tree
        .sql()
        .execute_batch(
            "INSERT INTO flushes (flush_id, agent_no, action, state, created_at) VALUES ('f', 1, 'test', 'planned', 0)",
        )
        .unwrap();
    let two = story.chunk("t", "The badger migration was put off", Some("f"));
    let mut index = story.index();
    story.follow(&mut index);
    let all = NodesWithin::default();
    assert_eq!(story.words(&index, "text : (\"migration\")", &all), [one], "what does not stand is not found");
    assert_eq!(story.near(&index, "badger migration put off", Within::Nodes(&all)), Some((Document::Node(one), false)));
    assert_eq!(story.findings(&index), Vec::<String>::new());
    story.tree.sql().execute_batch("UPDATE flushes SET state = 'done'").unwrap();
    story.follow(&mut index);
    assert_eq!(story.words(&index, "text : (\"badger\" OR \"november\")", &all), [two, one]);
    assert_eq!(story.near(&index, "badger migration put off", Within::Nodes(&all)), Some((Document::Node(two), true)));
    let thread = |n: NodeId| story.tree.count(&format!("SELECT thread_no FROM nodes WHERE node_no = {}", n.0));
    let only = NodesWithin { threads: Some(vec![ThreadNo(thread(one))]), ..NodesWithin::default() };
    assert_eq!(story.words(&index, "text : (\"migration\")", &only), [one]);
    assert_eq!(story.near(&index, "badger migration", Within::Nodes(&only)).map(|f| f.0), Some(Document::Node(one)));
    for nothing in [
        NodesWithin { kinds: Some(vec![Kind::Session]), ..NodesWithin::default() },
        NodesWithin { threads: Some(Vec::new()), ..NodesWithin::default() },
        NodesWithin { workspaces: Some(vec![WorkspaceNo(77)]), ..NodesWithin::default() },
    ] {
        assert!(story.words(&index, "text : (\"migration\")", &nothing).is_empty());
        assert_eq!(story.near(&index, "migration", Within::Nodes(&nothing)), None);
    }
    assert!(index.nodes_matching(AgentNo(99), "text : (\"migration\")", &all, 9).unwrap().found.is_empty());
    assert_eq!(story.findings(&index), Vec::<String>::new());
    // After restoring a ledger the same node numbers mean other nodes.
    story
        .tree
        .sql()
        .execute_batch(
            "UPDATE nodes SET digest = randomblob(16), summary = 'Otters instead', key = x'00' WHERE node_no = 2",
        )
        .unwrap();
    assert!(story.findings(&index).iter().any(|f| f.contains("another history")));
    story.follow(&mut index);
    assert_eq!(story.words(&index, "text : (\"badger\")", &all), []);
    assert_eq!(story.words(&index, "text : (\"otters\")", &all), [two]);
    assert_eq!(index.vectors().unwrap() as usize, dump(index.path(), 64).len());
    assert_eq!(index.problems().unwrap(), Vec::<String>::new());
}

#[test]
fn files_are_near_as_they_are_now() {
    for quick in [true, false] {
        let story = Story { tree: Tree::new(), model: Words::called("words", 64, quick) };
        story.tree.hand("memory/preference/tea.md", "---\ntitle: Afternoon tea\n---\nOolong without milk.\n");
        story.tree.hand("memory/notes/heron.md", "The heron nests by the mill.\n");
        let mut index = story.index();
        story.follow(&mut index);
        let all = FilesWithin::default();
        let file = |name: &str| story.tree.count(&format!("SELECT file_no FROM catalogue WHERE path LIKE '%{name}'"));
        let tea = Document::File(FileNo(file("tea.md")));
        assert_eq!(story.near(&index, "afternoon tea oolong", Within::Files(&all)), Some((tea, true)));
        let notes = FilesWithin { kinds: Some(vec![FileKind::Note]), ..FilesWithin::default() };
        let heron = Document::File(FileNo(file("heron.md")));
        assert_eq!(
            story.near(&index, "heron nests oolong tea afternoon", Within::Files(&notes)).map(|f| f.0),
            Some(heron)
        );
        let nowhere = FilesWithin { scopes: Some(vec!["workspace/none".into()]), ..FilesWithin::default() };
        assert_eq!(story.near(&index, "oolong", Within::Files(&nowhere)), None);
        let before = index.vectors().unwrap();
        for n in 0..20 {
            story
                .tree
                .hand("memory/preference/tea.md", &format!("---\ntitle: Coffee\n---\nEspresso in the morning {n}.\n"));
            story.follow(&mut index);
        }
        assert_eq!(index.vectors().unwrap(), before, "what changes leaves no gap");
        assert_eq!(story.near(&index, "coffee espresso in the morning", Within::Files(&all)), Some((tea, true)));
        assert_ne!(story.near(&index, "afternoon tea oolong without milk", Within::Files(&all)), Some((tea, true)));
        std::fs::remove_file(story.tree.path("memory/preference/tea.md")).unwrap();
        story.follow(&mut index);
        assert_eq!(index.vectors().unwrap(), before - 1);
        assert_eq!(missing(&story.tree.ledger, &index), Missing::default());
        assert_eq!(story.findings(&index), Vec::<String>::new());
    }
}

#[test]
fn what_is_forgotten_leaves_no_vector() {
    let story = Story { tree: Tree::new(), model: Words::new() };
    let secret = "quuxfrobnitz plans the sabotage at midnight";
    story.tell("s.jsonl", &(lines(0, 40) + &said("x", "user", secret) + &lines(40, 40)));
    let node = story.chunk("s", "Decided that quuxfrobnitz plans the sabotage", None);
    story.tree.hand("memory/notes/plan.md", "Notes: quuxfrobnitz plans the sabotage at midnight\n");
    let mut index = story.index();
    story.follow(&mut index);
    assert_eq!(index.vectors().unwrap() as usize, dump(index.path(), 64).len());
    let bytes_of = |text: &str| -> Vec<u8> {
        story.model.of(text).iter().map(|x| (x * 400.0).round().clamp(-127.0, 127.0) as i8 as u8).collect()
    };
    let traces = || -> usize {
        let mut found = 0;
        for name in ["index.db", "index.db-wal"] {
            let bytes = std::fs::read(story.tree.home.root().join("state").join(name)).unwrap_or_default();
            for text in [secret, "Decided that quuxfrobnitz plans the sabotage"] {
                found += bytes.windows(64).filter(|w| *w == bytes_of(text)).count();
            }
        }
        found
    };
    assert!(traces() >= 2);
    drop(index);
    let wish = Wish::Match { text: "quuxfrobnitz".into(), ignore_case: true, since: None, until: None };
    let (at, global_ids) = (story.tree.at(), |_: &str| false);
    let plan = forget::plan(&at, &Request { wish, global_ids: &global_ids }, &mut |_| {}).unwrap();
    forget::carry_out(&at.lock().unwrap(), &plan).unwrap();
    let mut index = story.index();
    forget::finish(&at, Some(&mut index), true).unwrap();
    assert_eq!(traces(), 0, "not even in a page that is not used any more");
    story.follow(&mut index);
    let turns = TurnsWithin::default();
    assert_ne!(story.near(&index, secret, Within::Turns(&turns)).map(|f| f.1), Some(true));
    let found = story.near(&index, "quuxfrobnitz plans the sabotage", Within::Nodes(&NodesWithin::default()));
    assert!(found.is_none_or(|(document, _)| document != Document::Node(node)), "{found:?}");
    assert!(story.words(&index, "text : (\"sabotage\")", &NodesWithin::default()).is_empty());
    assert_eq!(story.findings(&index), Vec::<String>::new());
    assert_eq!(traces(), 0);
}
