//! Opening and closing of loops: loops that distillation made into files, copies of conversations, and the pages that
//! follow.

use std::cell::RefCell;

use heirloom_engine::clock::Clock;
use heirloom_engine::continuity::open_loop::{self, NewLoop};
use heirloom_engine::distill::advance::{Limits, Pass};
use heirloom_engine::distill::compaction;
use heirloom_engine::distill::summarizer::{Material, Summarizer, SummarizerError, Summary, SummaryRequest};
use heirloom_engine::home::{Home, RelPath};
use heirloom_engine::lineage::distillate::{Distillate, Item};
use heirloom_engine::lineage::{self, Kind, Source, walk};
use heirloom_engine::pages::PageKey;
use heirloom_engine::render;
use heirloom_engine::scope::{AgentId, LaneNo, SessionNo, ThreadNo, TurnId};
use heirloom_engine::transcript::read;
use heirloom_engine::tree::file_table::{self, Entry, Kind as FileKind, State};
use heirloom_engine::tree::{AssistantHome, scan};
use heirloom_engine::worker::{self, Distilled, distil_by};
use jiff::tz::TimeZone;
use serde_json::{Value, json};

use crate::tree::rest;
use crate::world::{GLOBAL, NOON, World};

pub const MINUTE: i64 = 60_000;
pub const HOUR: i64 = 60 * MINUTE;

/// A home in which one program talks, in a project of its own.
pub struct Story {
    pub world: World,
    pub home: Home,
}

impl Story {
    pub fn at(now: i64) -> Story {
        let world = World::at(Clock::Fixed(now));
        std::fs::create_dir_all(world.path("project/.git")).unwrap();
        std::fs::create_dir_all(world.path("other/.git")).unwrap();
        let home = Home::create(&world.path("home")).unwrap();
        Story { world, home }
    }

    /// Writes lines into the file of a session and imports it.
    pub fn tells(&self, session: &str, lines: &[Value]) {
        let name = format!("{session}.jsonl");
        for line in lines {
            let mut line = line.clone();
            if line.get("role").is_some() && line.get("cwd").is_none() {
                line["cwd"] = json!(self.world.path("project"));
            }
            self.world.add(&name, format!("{line}\n"));
        }
        self.world.import_as(&GLOBAL, &[&name]);
    }

    pub fn assistant(&self) -> AssistantHome<'_> {
        let agent = AgentId::main();
        AssistantHome::create(&self.home, &self.world.ledger, &agent, self.world.agent_no(), "test", TimeZone::UTC)
            .unwrap()
    }

    pub fn distilled(&self, by: &dyn Summarizer) -> Distilled {
        let at = self.assistant();
        distil_by(&Pass::new(&at, Limits::default()).summarized_by(by), None, &mut |_| {}).unwrap()
    }

    fn loops(&self, state: State) -> Vec<Entry> {
        let at = self.assistant();
        scan::scan(&at).unwrap();
        at.read(|tx| file_table::list(tx, at.agent_no, FileKind::OpenLoop, state)).unwrap()
    }

    /// Returns the ids of items that pages show as open and that have no file.
    fn unfiled(&self) -> Vec<String> {
        let at = self.assistant();
        let found = at.read(|tx| render::unfiled::unfiled(&at, tx)).unwrap();
        found.into_iter().map(|u| u.id).collect()
    }

    fn resolves(&self, id: &str) {
        let at = self.assistant();
        let find = |name: &str| at.read(|tx| Ok(render::unfiled::find(&at, tx, name)?.map(|found| found.file())));
        open_loop::resolve_any(&at.lock().unwrap(), &[id.to_owned()], None, &find).unwrap();
    }

    /// Renders the page of the project's thread and returns it.
    fn page(&self) -> String {
        let at = self.assistant();
        let row = at.read(|tx| heirloom_engine::thread::list(tx, at.agent_no)).unwrap().remove(0);
        let refreshed = render::refresh(&at, render::Occasion::Act).unwrap();
        assert!(refreshed.failed.is_empty(), "{refreshed:?}");
        self.text(&PageKey::Thread(row.file).path().unwrap())
    }

    fn text(&self, path: &RelPath) -> String {
        std::fs::read_to_string(self.assistant().files.shown().join(path.as_str())).unwrap()
    }

    pub fn nodes(&self) -> Vec<(String, String, String)> {
        let conn = self.world.sql();
        let mut statement = conn.prepare("SELECT node_no FROM nodes WHERE length(key) > 0 ORDER BY node_no").unwrap();
        let ids: Vec<i64> = statement.query_map([], |r| r.get(0)).unwrap().map(Result::unwrap).collect();
        let agent_no = self.world.agent_no();
        ids.into_iter()
            .filter_map(|no| {
                let id = heirloom_engine::scope::NodeId(no);
                let node = self.world.ledger.read(|tx| lineage::find(tx, agent_no, id)).unwrap()?;
                Some((node.kind.name().to_owned(), node.source.name().to_owned(), node.summary))
            })
            .collect()
    }
}

pub fn said(id: &str, role: &str, minute: i64, text: &str) -> Value {
    json!({"id": id, "role": role, "text": text, "at": NOON + minute * MINUTE})
}

/// Enough words for a summary to be shorter than them.
pub const WORDS: &str =
    "We look at the orders and at the tables they stand in, and write down what there is to be done.";

/// A model that understands two words: the text after TODO is open, the text after DONE is done.
pub struct Model<'a> {
    pub story: Option<&'a Story>,
    pub asked: RefCell<Vec<Kind>>,
}

impl<'a> Model<'a> {
    pub fn new() -> Model<'a> {
        Model { story: None, asked: RefCell::default() }
    }
}

impl Summarizer for Model<'_> {
    fn name(&self) -> &str {
        "model"
    }

    fn summarize(&self, request: &SummaryRequest) -> Result<Summary, SummarizerError> {
        self.asked.borrow_mut().push(request.kind);
        if let Some(story) = self.story {
            // The ledger and the tree lock must be free while the model is asked, because a summary takes long.
            let conn = story.world.sql();
            conn.busy_timeout(std::time::Duration::ZERO).unwrap();
            conn.execute_batch("BEGIN IMMEDIATE; ROLLBACK").unwrap();
            assert!(story.home.try_lock("files-main").unwrap().is_some());
            let leases = "SELECT count(*) FROM heads WHERE owner IS NOT NULL";
            assert_eq!(conn.query_row(leases, [], |r| r.get::<_, i64>(0)).unwrap(), 0);
        }
        let mut d = request.before.cloned().unwrap_or_default();
        d.done.clear();
        match request.material {
            Material::Turns(turns) => {
                for turn in turns {
                    for line in turn.text.lines() {
                        if let Some(open) = line.strip_prefix("TODO ") {
                            d.open_loops.push(Item::new(open, turn.id));
                        } else if let Some(done) = line.strip_prefix("DONE ") {
                            d.done.push(Item::new(done, turn.id));
                        }
                    }
                }
            }
            Material::Summaries(of) => d = of.last().map(|t| t.distillate.clone()).unwrap_or_default(),
        }
        Ok(Summary { text: "Told by the model.".into(), distillate: d })
    }
}

/// Makes a session that owes something when its program compacts it.
pub fn owing(story: &Story, title: &str) {
    story.tells(
        "one",
        &[
            said("a", "user", 0, WORDS),
            said("b", "assistant", 1, &format!("TODO {title}\n{WORDS}")),
            json!({"fact": "compaction", "value": "auto", "at": NOON + 2 * MINUTE}),
        ],
    );
}

/// Continues that session with a report of what was done.
pub fn ending(story: &Story, said_last: &[&str]) {
    let mut lines = vec![said("c", "user", 90, WORDS)];
    for (n, text) in said_last.iter().enumerate() {
        lines.push(said(&format!("d{n}"), "assistant", 91 + n as i64, &format!("{text}\n{WORDS}")));
    }
    lines.push(json!({"fact": "session-end", "at": NOON + 100 * MINUTE}));
    story.tells("one", &lines);
}

#[test]
fn the_end_of_a_session_closes_what_it_says_is_done() {
    let story = Story::at(NOON + 5 * HOUR);
    owing(&story, "Migrate the orders table");
    story.distilled(&Model::new());
    let open = story.loops(State::Active);
    assert_eq!(open.len(), 1, "{open:?}");
    // The loop counts from the time of the turn, not from the time of reading.
    assert_eq!(open[0].field("opened"), Some("2026-11-21T12:01:00.000Z"));
    ending(&story, &["DONE Migrated the orders table, all green"]);
    story.distilled(&Model::new());
    assert_eq!(story.loops(State::Active), []);
    let closed = story.loops(State::Archived);
    let text = story.text(&closed[0].path);
    assert_eq!(closed[0].field("resolution"), Some("done: Migrated the orders table, all green [t4]"));
    assert!(text.contains("status: resolved") && text.contains("# Migrate the orders table\n"), "{text}");
    let session = story.world.count("SELECT max(node_no) FROM nodes WHERE kind = 1");
    assert_eq!(
        closed[0].fields["resolved_by"],
        json!({"type": "distilled", "session": "little:one", "turns": ["t4"], "node": format!("n{session:x}")})
    );
    assert_eq!(story.world.findings(), Vec::<String>::new());
    // Distilling again does nothing.
    let nodes = story.nodes();
    story.distilled(&Model::new());
    assert_eq!((story.nodes(), story.loops(State::Archived).len()), (nodes, 1));
    // A reopened loop has no trace of its closing.
    let at = story.assistant();
    let name = closed[0].item.clone().unwrap();
    open_loop::reopen(&at.lock().unwrap(), &[name]).unwrap();
    let text = story.text(&story.loops(State::Active)[0].path);
    assert!(!text.contains("resolved") && text.contains("reopened"), "{text}");
}

/// A sentence of the person or the model that says a matter is over closes its loop, also in a later session.
#[test]
fn a_later_session_closes_a_promise_by_what_is_said_in_passing() {
    let story = Story::at(NOON + 5 * HOUR);
    let distil = || {
        let made = worker::distil(&story.assistant(), Limits::default(), None, &mut |_| {}).unwrap();
        assert!(made.problems.is_empty(), "{:?}", made.problems);
    };
    let session = |name: &str, at: i64, asked: &str, answered: &str| {
        let id = |n: i64| format!("{name}{n}");
        let end = json!({"fact": "session-end", "at": NOON + (at + 4) * MINUTE});
        let lines = [
            said(&id(1), "user", at, "Please speed up the image resize."),
            said(&id(2), "assistant", at + 1, "Resizing is faster now."),
            said(&id(3), "user", at + 2, asked),
            said(&id(4), "assistant", at + 3, answered),
        ];
        story.tells(name, &[&lines[..], &[end]].concat());
        distil();
        story.loops(State::Active).into_iter().map(|l| l.title).collect::<Vec<String>>()
    };
    let promise = ["I will send Marta the benchmark table on Monday"];
    assert_eq!(session("one", 0, "I will send Marta the benchmark table on Monday.", "Ok."), promise);
    assert_eq!(session("two", 10, "I sent Paul the invoice.", "Good."), promise);
    assert_eq!(session("three", 20, "I sent Marta the benchmark table.", "Good."), [""; 0]);
    // The report has few of the words by which the item says that it is open.
    let left = ["We still have to migrate table tbl_orders; not done yet"];
    assert_eq!(session("four", 30, "We still have to migrate table tbl_orders; not done yet.", "Ok."), left);
    assert_eq!(session("five", 40, "tbl_orders is migrated.", "Good."), [""; 0]);
    let how: Vec<Entry> = story.loops(State::Archived);
    let said = |entry: &Entry| entry.field("resolution").map(str::to_owned).unwrap_or_default();
    assert!(how.iter().any(|entry| said(entry).starts_with("done: I sent Marta the benchmark table")), "{how:?}");
}

/// Returns open items of one kind: what a session owes at its end, or when its context is cut.
fn owed(many: usize) -> String {
    let things = ["orders", "refunds", "invoices", "customers", "parcels", "stock", "prices", "taxes", "coupons"];
    let verbs = ["migrate", "index"];
    let all = verbs.iter().flat_map(|verb| things.iter().map(move |thing| format!("TODO {verb} the {thing} table\n")));
    all.take(many).collect()
}

#[test]
fn whatever_is_open_at_an_end_or_a_cut_becomes_a_file() {
    for fact in ["session-end", "compaction"] {
        let story = Story::at(NOON + HOUR);
        let text = format!("{}TODO send Dana the report by Friday, 27 November\n{WORDS}", owed(12));
        story.tells(
            "one",
            &[
                said("a", "user", 0, WORDS),
                said("b", "assistant", 1, &text),
                json!({"fact": fact, "value": "auto", "at": NOON + 2 * MINUTE}),
            ],
        );
        story.distilled(&Model::new());
        let open = story.loops(State::Active);
        assert_eq!(open.len(), 13, "{fact}: {open:?}");
        assert!(open.iter().all(|e| e.field("thread").is_some_and(|t| t.starts_with("project/"))), "{open:?}");
        let report = open.iter().find(|e| e.title.starts_with("send Dana")).unwrap();
        assert_eq!(report.field("due"), Some("2026-11-27"), "{fact}");
        // The page of the thread shows each loop by its id, and no other item.
        let page = story.page();
        for entry in &open {
            let id = entry.item.as_deref().unwrap();
            assert!(page.matches(&format!("[{id}]")).count() <= 1, "{page}");
        }
        assert_eq!(story.unfiled(), Vec::<String>::new(), "{fact}");
    }
}

#[test]
fn history_opens_nothing_and_is_closed_by_its_ids() {
    let story = Story::at(NOON + 40 * 24 * HOUR);
    story.tells(
        "one",
        &[
            said("a", "user", 0, WORDS),
            said("b", "assistant", 1, &format!("TODO Migrate the orders table\n{WORDS}")),
            json!({"fact": "session-end", "at": NOON + 2 * MINUTE}),
        ],
    );
    story.distilled(&Model::new());
    assert_eq!(story.loops(State::Active), []);
    let open = story.unfiled();
    assert_eq!(open.len(), 1, "{open:?}");
    assert!(story.page().contains(&format!("[{}]", open[0])), "{}", story.page());
    story.resolves(&open[0]);
    assert_eq!(story.unfiled(), Vec::<String>::new());
    assert!(!story.page().contains("Migrate the orders table"), "{}", story.page());
    let archived = story.loops(State::Archived);
    assert_eq!(archived[0].field("opened"), Some("2026-11-21T12:01:00.000Z"));
    assert_eq!(archived[0].fields["source"]["session"], json!("little:one"), "forgetting the session reaches it");
}

/// Items that a running conversation leaves open are shown and can be closed before it is distilled, and stay closed.
#[test]
fn a_running_session_says_what_is_open_and_it_stays_closed() {
    let story = Story::at(NOON + 3 * MINUTE);
    let promise = "The client retries now. We still have to migrate the audit table; I will do that after the release.";
    story.tells("one", &[said("a", "user", 0, "Add a retry to the client."), said("b", "assistant", 1, promise)]);
    story.distilled(&Model::new());
    assert_eq!(story.loops(State::Active), [], "nothing is distilled yet");
    let open = story.unfiled();
    assert!(!open.is_empty());
    for id in &open {
        story.resolves(id);
    }
    assert_eq!(story.unfiled(), Vec::<String>::new());
    // The same words in another thread are another matter.
    let other = json!(story.world.path("other"));
    let with = |mut line: Value| {
        line["cwd"] = other.clone();
        line
    };
    story.tells(
        "two",
        &[with(said("x", "user", 0, "Add a retry to the client.")), with(said("y", "assistant", 1, promise))],
    );
    assert_eq!(story.unfiled().len(), open.len());
    // Neither the end of the session nor its node opens the item again.
    story.tells("one", &[json!({"fact": "session-end", "at": NOON + 4 * MINUTE})]);
    let at = story.assistant();
    distil_by(&Pass::new(&at, Limits::default()), None, &mut |_| {}).unwrap();
    let threads: Vec<_> = story.loops(State::Active).iter().map(|e| e.field("thread").map(str::to_owned)).collect();
    let own = story.loops(State::Archived)[0].field("thread").map(str::to_owned);
    assert!(!threads.contains(&own), "{threads:?}");
}

/// A compaction that comes after the session's node covers nothing new: no turn counts twice, and it is not a root.
#[test]
fn a_late_compaction_tells_nothing_new() {
    let story = Story::at(NOON + 5 * HOUR);
    story.tells("one", &[said("a", "user", 0, WORDS), said("b", "assistant", 1, WORDS)]);
    ending(&story, &["DONE Migrated the orders table"]);
    story.distilled(&Model::new());
    let at = story.assistant();
    let session = at.read(|tx| read::session_named(tx, at.agent_no, "little:one")).unwrap();
    let made = compaction::by_hand(&Pass::new(&at, Limits::default()), session.no, None).unwrap();
    assert_eq!(made.nodes.len(), 1);
    render::refresh(&at, render::Occasion::Act).unwrap();
    let week = story.text(&RelPath::parse("continuity/rollups/2026/2026-W47.md").unwrap());
    assert!(week.contains("1 session · 1 thread · 4 turns · "), "{week}");
    let thread = at.read(|tx| heirloom_engine::thread::list(tx, at.agent_no)).unwrap().remove(0);
    let kinds = |found: Vec<lineage::Node>| found.iter().map(|n| n.kind.name()).collect::<Vec<_>>().join(" ");
    assert_eq!(kinds(at.read(|tx| walk::tops(tx, thread.no, 8)).unwrap()), "session");
    assert_eq!(kinds(at.read(|tx| walk::roots(tx, thread.no, 0, 8)).unwrap()), "session");
    assert_eq!(story.world.findings(), Vec::<String>::new());
}

#[test]
fn a_quiet_session_closes_them_as_well() {
    let story = Story::at(NOON + 3 * MINUTE);
    owing(&story, "Migrate the orders table");
    story.distilled(&Model::new());
    story.tells(
        "one",
        &[said("c", "user", 3, WORDS), said("d", "assistant", 3, &format!("DONE Migrated the orders table\n{WORDS}"))],
    );
    story.distilled(&Model::new());
    assert_eq!(story.loops(State::Active).len(), 1, "it goes on");
    let Story { world, home } = story;
    let story = Story { world: world.reopened(Clock::Fixed(NOON + HOUR)), home };
    story.world.sql().execute("UPDATE lineage_marks SET due_at = 0", []).unwrap();
    story.distilled(&Model::new());
    assert_eq!(story.loops(State::Active), []);
}

#[test]
fn only_what_a_distillation_opened_and_nobody_touched_is_closed() {
    for (name, done) in [("edited", 1), ("by a person", 1), ("another thread's", 1), ("said before", 0)] {
        let story = Story::at(NOON + 5 * HOUR);
        owing(&story, "Migrate the orders table");
        story.distilled(&Model::new());
        let entry = story.loops(State::Active).remove(0);
        let path = story.assistant().files.shown().join(entry.path.as_str());
        let text = std::fs::read_to_string(&path).unwrap();
        match name {
            "edited" => std::fs::write(&path, text + "\nAsk Marta first.\n").unwrap(),
            "by a person" => std::fs::write(&path, "# Migrate the orders table\n").unwrap(),
            "another thread's" => {
                let at = story.assistant();
                let new = NewLoop {
                    title: entry.title.clone(),
                    thread: Some("topic/elsewhere".into()),
                    ..NewLoop::default()
                };
                open_loop::add(&at.lock().unwrap(), &new).unwrap();
            }
            // A turn that was imported later did not necessarily happen later.
            _ => {
                story.world.sql().execute("UPDATE turns SET at = at + 9000000 WHERE turn_no = 2", []).unwrap();
            }
        }
        if done == 1 && name != "another thread's" {
            rest(&path);
        }
        ending(&story, &["DONE Migrated the orders table, all green"]);
        story.distilled(&Model::new());
        assert_eq!(story.loops(State::Active).len(), 1, "{name}");
        assert!(story.nodes().iter().any(|n| n.0 == "session"), "{name}");
    }
}

#[test]
fn several_tickets_in_one_title_are_done_when_each_is() {
    let title = "gqc.4 (ready now) → gqc.5 (depends on gqc.4) → gqc.6";
    for (said_last, open) in [
        (vec!["DONE [main ceff8c3] feat: a lifecycle (spotter-gqc.4)", "DONE Filed gqc.5 and gqc.6"], 1),
        (vec!["DONE feat: a lifecycle (spotter-gqc.4)", "DONE gqc.5 pushed", "DONE gqc.6 done and pushed."], 0),
    ] {
        let story = Story::at(NOON + 5 * HOUR);
        owing(&story, title);
        story.distilled(&Model::new());
        assert_eq!(story.loops(State::Active).len(), 1);
        ending(&story, &said_last);
        story.distilled(&Model::new());
        assert_eq!(story.loops(State::Active).len(), open, "{said_last:?}");
    }
}

#[test]
fn a_process_that_dies_at_it_leaves_a_plan_the_next_one_finishes() {
    let story = Story::at(NOON + 5 * HOUR);
    owing(&story, "Migrate the orders table");
    story.distilled(&Model::new());
    ending(&story, &["DONE Migrated the orders table, all green"]);
    let cut = "CREATE TRIGGER cut BEFORE INSERT ON audit WHEN NEW.action = 'flush.done' BEGIN SELECT raise(ABORT, 'cut'); END";
    story.world.sql().execute_batch(cut).unwrap();
    assert_eq!(story.distilled(&Model::new()).problems.len(), 1);
    let session = "SELECT count(*) FROM nodes WHERE kind = 1";
    let standing = || story.nodes().iter().filter(|n| n.0 == "session").count();
    // One session node is from when the session went quiet; the one of its end does not stand yet.
    assert_eq!((story.world.count(session), standing()), (2, 1));
    story.world.sql().execute_batch("DROP TRIGGER cut; UPDATE lineage_marks SET due_at = 0").unwrap();
    // The model is not asked again: the stored plan is continued.
    let model = Model::new();
    drop(story.assistant().lock().unwrap());
    assert_eq!(story.distilled(&model).problems, []);
    assert_eq!(*model.asked.borrow(), []);
    assert_eq!((story.world.count(session), standing()), (2, 2));
    assert_eq!((story.loops(State::Active).len(), story.loops(State::Archived).len()), (0, 1));
    assert_eq!(story.world.count("SELECT count(*) FROM flushes WHERE state = 'planned'"), 0);
    assert_eq!(story.world.findings(), Vec::<String>::new());
}

#[test]
fn our_own_compaction_leaves_what_the_program_was_given_before_it() {
    let story = Story::at(NOON + 5 * HOUR);
    for n in 0..12 {
        story.tells("one", &[said(&format!("a{n}"), "user", n, WORDS), said(&format!("b{n}"), "assistant", n, WORDS)]);
    }
    let at = story.assistant();
    let limits = Limits { compact_turns: 8, tail_tokens: 40, ..Limits::default() };
    let limits = Limits { chunk: heirloom_engine::distill::chunk::Size { turns: 4, tokens: 400 }, ..limits };
    let made = distil_by(&Pass::new(&at, limits), None, &mut |_| {}).unwrap().made;
    let epoch = || at.read(|tx| lineage::epoch(tx, SessionNo(1))).unwrap();
    assert!(made.compactions > 0);
    assert_eq!(epoch(), 0);
    story.tells("one", &[json!({"fact": "compaction", "value": "auto", "at": NOON + 20 * MINUTE})]);
    distil_by(&Pass::new(&at, limits), None, &mut |_| {}).unwrap();
    assert_eq!(epoch(), 1, "its own cut it, though ours had said all there was to say");
    let last = at.read(|tx| lineage::compactions(tx, SessionNo(1))).unwrap().pop().unwrap();
    assert_eq!((last.cause.as_str(), last.node), ("harness", None));
    let ours = story.world.count("SELECT max(node_no) FROM nodes WHERE kind = 2");
    assert_eq!(last.restoration[0], format!("handoff n{ours:x}"));
    assert_eq!(story.world.findings(), Vec::<String>::new());
    story.tells("one", &[json!({"fact": "compaction", "value": "auto", "at": NOON + 20 * MINUTE})]);
    distil_by(&Pass::new(&at, limits), None, &mut |_| {}).unwrap();
    assert_eq!(epoch(), 1, "told twice");
}

#[test]
fn a_copy_goes_on_in_the_thread_of_the_place_it_was_copied_at() {
    let story = Story::at(NOON + 5 * HOUR);
    let first = vec![said("a", "user", 0, WORDS), said("b", "assistant", 1, WORDS)];
    let mut named = said("c", "user", 2, WORDS);
    named["thread"] = json!("Orders");
    let second = vec![named, said("d", "assistant", 3, WORDS)];
    story.tells("old", &[first.clone(), second.clone()].concat());
    let fork = json!({"fact": "fork-of", "value": "old"});
    let own = |id: &str, minute: i64| said(id, "user", minute, WORDS);
    let mut elsewhere = own("z", 9);
    elsewhere["cwd"] = json!(story.world.path("other"));
    let mut renamed = own("r", 9);
    renamed["thread"] = json!("Invoices");
    for (name, lines) in [
        ("whole", [first.clone(), second.clone(), vec![fork.clone(), own("x", 8)]].concat()),
        ("early", [first.clone(), vec![fork.clone(), own("y", 8)]].concat()),
        ("moved", [first.clone(), second.clone(), vec![fork.clone(), elsewhere]].concat()),
        ("named", [first.clone(), second.clone(), vec![fork.clone(), renamed]].concat()),
        ("stranger", vec![own("s", 8)]),
    ] {
        story.tells(name, &lines);
    }
    story.distilled(&Model::new());
    let of = |name: &str| -> String {
        let sql = "SELECT group_concat(substr(thread_key, 1, 12)) FROM (SELECT DISTINCT h.thread_key FROM sessions s
                   JOIN turn_results r USING (session_no) JOIN run_threads m USING (run_no) JOIN threads h USING (thread_no)
                   WHERE s.session_key = ?1 ORDER BY 1)";
        story.world.sql().query_row(sql, [format!("little:{name}")], |r| r.get(0)).unwrap()
    };
    assert_eq!(of("old"), "project/proj,topic/orders");
    assert_eq!(of("whole"), "topic/orders");
    assert_eq!(of("early"), "project/proj");
    assert_eq!(of("moved"), "project/othe");
    assert_eq!(of("named"), "topic/invoic");
    assert_eq!(of("stranger"), "project/proj");
    assert_eq!(story.world.findings(), Vec::<String>::new());
}

#[test]
fn a_thread_page_follows_its_loops_and_no_other_page_does() {
    let story = Story::at(NOON + 5 * HOUR);
    for (n, topic) in ["Orders", "Blog", "Bees"].iter().enumerate() {
        let mut line = said(&format!("e{n}"), "user", n as i64, WORDS);
        line["thread"] = json!(topic);
        story.tells(topic, &[line, json!({"fact": "session-end", "at": NOON + HOUR})]);
    }
    story.distilled(&Model::new());
    let at = story.assistant();
    let file = |key: &str| -> String {
        story.world.sql().query_row("SELECT file FROM threads WHERE thread_key = ?1", [key], |r| r.get(0)).unwrap()
    };
    let page = |key: &str| story.text(&PageKey::Thread(file(key)).path().unwrap());
    let refresh = || assert!(render::refresh(&at, render::Occasion::Act).unwrap().failed.is_empty());
    let marks = |key: &str| {
        story.world.count(&format!("SELECT coalesce(sum(dirty), 0) FROM heads WHERE head = 'thread/{}'", file(key)))
    };
    refresh();
    let bees = marks("topic/bees");
    let new = NewLoop { title: "Buy jars".into(), thread: Some("topic/orders".into()), ..NewLoop::default() };
    let item = open_loop::add(&at.lock().unwrap(), &new).unwrap();
    refresh();
    assert!(page("topic/orders").contains("## Open\n- Buy jars · since 21 Nov · [l:"), "{}", page("topic/orders"));
    let index = || story.text(&PageKey::Threads.path().unwrap());
    assert!(index().contains("1 open"), "{}", index());
    // A hand edit moves the loop to another thread: both pages show that.
    let path = at.files.shown().join(item.path.as_str());
    let text = std::fs::read_to_string(&path).unwrap();
    std::fs::write(&path, text.replace("topic/orders", "topic/blog")).unwrap();
    rest(&path);
    scan::scan(&at).unwrap();
    refresh();
    assert!(!page("topic/orders").contains("Buy jars") && page("topic/blog").contains("Buy jars"));
    open_loop::resolve(&at.lock().unwrap(), std::slice::from_ref(&item.id), None).unwrap();
    refresh();
    assert!(!page("topic/blog").contains("Buy jars") && !index().contains("1 open"));
    open_loop::reopen(&at.lock().unwrap(), std::slice::from_ref(&item.id)).unwrap();
    refresh();
    assert!(page("topic/blog").contains("Buy jars"));
    std::fs::remove_file(&path).unwrap();
    scan::scan(&at).unwrap();
    refresh();
    assert!(!page("topic/blog").contains("Buy jars"));
    // A proposal from a conversation waits in its thread.
    let turn = story.world.count("SELECT min(turn_no) FROM turns WHERE entry = 'e1'");
    let proposal = heirloom_engine::continuity::proposal::NewProposal {
        title: "Posts are short".into(),
        entries: vec!["Posts are short.".into()],
        class: "fact".into(),
        scope: "agent".into(),
        confidence: None,
        source: heirloom_engine::tree::provenance::Provenance {
            origin: heirloom_engine::tree::provenance::Origin::Distilled,
            session: Some("little:Blog".into()),
            turns: vec![TurnId(turn)],
            node: None,
            ..heirloom_engine::tree::provenance::Provenance::default()
        },
    };
    heirloom_engine::continuity::proposal::add(&at.lock().unwrap(), &proposal).unwrap();
    refresh();
    assert!(page("topic/blog").contains("## Waiting for your yes\n- Posts are short"), "{}", page("topic/blog"));
    assert_eq!(marks("topic/bees"), bees, "a thread nothing happened to is not rendered");
    assert!(!render::is_dirty(&at).unwrap());
}

/// Prints the cost of pages with many loops in many threads: `cargo test --release -- --ignored --nocapture closing`.
#[test]
#[ignore = "a measurement"]
fn what_loops_cost() {
    for loops in [50usize, 500, 5_000] {
        let (_folder, place) = crate::place::place();
        place.at();
        let threads: Vec<String> = (0..200).map(|n| format!("project/p{n}--{n:016x}")).collect();
        place
            .ledger
            .write(heirloom_engine::ledger::Audit::new("test", "put"), |tx| {
                for (n, key) in threads.iter().enumerate() {
                    let key = heirloom_engine::scope::ThreadKey::parse(key)?;
                    tx.execute(
                        "INSERT INTO threads (agent_no, thread_key, file, label, state, created_at) VALUES (?1, ?2, ?3, ?4, 'active', 0)",
                        rusqlite::params![place.agent_no, key.as_str(), key.file_stem(), format!("Project {n}")],
                    )?;
                }
                let session = "INSERT INTO sessions (agent_no, session_key, created_at, last_at) VALUES (?1, ?2, 0, ?3)";
                for n in 0..1_000i64 {
                    let at = NOON - (1_000 - n) * 2_000_000;
                    tx.execute(session, rusqlite::params![place.agent_no, format!("codex:s{n}"), at])?;
                    let session_no = SessionNo(tx.last_insert_rowid());
                    tx.execute("INSERT INTO lanes (session_no, lane) VALUES (?1, '')", [session_no])?;
                    let turns = (TurnId(n * 10 + 1), TurnId(n * 10 + 10));
                    let many = |what: &str| {
                        (0..6).map(|i| Item::new(format!("{what} {i} of {n} about schema{n} and orders{i}"), turns.0)).collect()
                    };
                    let new = |kind, children| lineage::NewNode {
                        agent_no: place.agent_no,
                        kind,
                        depth: 0,
                        thread_no: ThreadNo(n % 200 + 1),
                        session_no: Some(session_no),
                        lane_no: (kind == Kind::Chunk).then_some(LaneNo(tx.last_insert_rowid())),
                        turns,
                        times: (Some(at - HOUR), Some(at)),
                        count: 10,
                        summary: "They talked.".into(),
                        distillate: Distillate {
                            goal: Some(Item::new(format!("Goal of {n}"), turns.0)),
                            in_progress: many("progress"),
                            open_loops: many("loop"),
                            next_steps: many("step"),
                            ..Distillate::default()
                        },
                        source: Source::Deterministic,
                        source_tokens: 1_000,
                        summary_turn: None,
                        abandoned: false,
                        late: Vec::new(),
                        replaces: None,
                        flush: None,
                        children,
                    };
                    let chunk = lineage::insert(tx, &new(Kind::Chunk, Vec::new()))?;
                    lineage::insert(tx, &new(Kind::Session, vec![chunk]))?;
                }
                Ok(())
            })
            .unwrap();
        for n in 0..loops {
            let path = place.tree().join(format!("continuity/open-loops/l{n}.md"));
            // Every second loop names its thread, the others only their source.
            let thread = if n % 2 == 0 { format!("thread: {}\n", threads[n % 200]) } else { String::new() };
            let source =
                format!("source: {{type: distilled, session: \"codex:s{}\", turns: [t{:x}]}}", n % 1_000, n * 10 + 1);
            let front = format!("---\nstatus: open\n{thread}opened: 2026-11-01T00:00:00Z\n{source}\nformat: 1\n---\n");
            std::fs::write(&path, format!("{front}# Loop {n} to be closed\n")).unwrap();
            rest(&path);
        }
        let at = place.at();
        scan::scan(&at).unwrap();
        // Queries are planned with statistics, as in a home that was used for a while.
        place.sql().execute_batch("ANALYZE").unwrap();
        let spent = || -> u64 {
            let text = std::fs::read_to_string("/proc/thread-self/schedstat").unwrap_or_default();
            text.split(' ').next().and_then(|n| n.parse().ok()).unwrap_or(0)
        };
        let timed = |name: &str, act: &dyn Fn()| {
            act();
            let before = spent();
            (0..10).for_each(|_| act());
            println!("{loops} loops, {name}: {} µs", (spent() - before) / 10_000);
        };
        let file = heirloom_engine::scope::ThreadKey::parse(&threads[4]).unwrap().file_stem();
        timed("Tier 1", &|| drop(at.read(|tx| render::memory::tier1(&at, tx)).unwrap()));
        for page in [PageKey::Thread(file), PageKey::Threads, PageKey::Active] {
            timed(&page.to_string()[..6], &|| drop(at.read(|tx| render::why::why(&at, tx, &page)).unwrap()));
        }
    }
}
