//! Random histories: operations on conversations in any order, and the invariants that must hold after each of them.
//! Only [`bring_up_to_date`] makes lineage from stored turns.

use std::collections::BTreeMap;

use heirloom_engine::distill::advance::Limits;
use heirloom_engine::distill::chunk::Size;
use heirloom_engine::home::Home;
use heirloom_engine::ledger::Read;
use heirloom_engine::ledger::blocks::Opener;
use heirloom_engine::lineage;
use heirloom_engine::lineage::walk;
use heirloom_engine::recall::expand::{Passage, Reach, Reference, Subject, expand};
use heirloom_engine::scope::{AgentId, NodeId, ThreadNo, TurnId};
use heirloom_engine::transcript::{order, read};
use heirloom_engine::tree::AssistantHome;
use heirloom_engine::worker::distil;
use heirloom_testkit::Rng;
use jiff::tz::TimeZone;
use serde_json::json;

use crate::world::{NOON, World};

/// An operation. Sessions are numbered; an operation that makes no sense for a session (a rewind of an empty one) does
/// nothing.
#[derive(Clone, Debug)]
pub enum Event {
    /// Some prompts with their answers and tool calls.
    Talk {
        session: usize,
        prompts: usize,
    },
    /// A sub-agent of the session talks.
    SubAgent {
        session: usize,
        lane: usize,
        prompts: usize,
    },
    /// The program compacts its context, with or without a summary of its own.
    Compact {
        session: usize,
        summary: bool,
    },
    /// The person goes back to an earlier turn and says something else.
    Rewind {
        session: usize,
    },
    /// A new session begins as a copy of this one.
    Fork {
        session: usize,
    },
    /// The session goes on from another folder.
    Move {
        session: usize,
        project: usize,
    },
    End {
        session: usize,
    },
    /// The clock is set, forwards or back.
    Clock {
        minutes: i64,
    },
    /// All stored turns are made into lineage.
    Advance,
}

/// Returns a random history. It can be shrunk by seed and length: a shorter history is a prefix of a longer one of the
/// same seed.
pub fn events(seed: u64, length: usize) -> Vec<Event> {
    let mut rng = Rng::new(seed);
    (0..length)
        .map(|_| {
            let session = rng.below(4);
            match rng.below(16) {
                0..=5 => Event::Talk { session, prompts: 1 + rng.below(4) },
                6 => Event::SubAgent { session, lane: rng.below(2), prompts: 1 + rng.below(2) },
                7 | 8 => Event::Compact { session, summary: rng.below(2) == 0 },
                9 => Event::Rewind { session },
                10 => Event::Fork { session },
                11 => Event::Move { session, project: rng.below(3) },
                12 => Event::End { session },
                13 => Event::Clock { minutes: rng.below(600) as i64 - 200 },
                _ => Event::Advance,
            }
        })
        .collect()
}

/// The world, and the files the program has written in it.
pub struct History {
    pub world: World,
    /// Lines of each session file, by its name.
    files: BTreeMap<String, Vec<String>>,
    /// Entry ids of the main line, by session: the places a rewind can go back to.
    entries: BTreeMap<usize, Vec<String>>,
    projects: BTreeMap<usize, usize>,
    now: i64,
    next: usize,
}

impl Default for History {
    fn default() -> History {
        History::new()
    }
}

impl History {
    pub fn new() -> History {
        let world = World::new();
        for project in 0..3 {
            std::fs::create_dir_all(world.path(&format!("project{project}/.git"))).unwrap();
        }
        History {
            world,
            files: BTreeMap::new(),
            entries: BTreeMap::new(),
            projects: BTreeMap::new(),
            now: NOON,
            next: 0,
        }
    }

    /// Applies an operation. Written lines are imported at once.
    pub fn apply(&mut self, event: &Event) {
        match event {
            Event::Talk { session, prompts } => self.talk(*session, "", *prompts),
            Event::SubAgent { session, lane, prompts } => self.talk(*session, &format!(".lane{lane}"), *prompts),
            Event::Compact { session, summary } => {
                let name = file(*session, "");
                self.line(&name, json!({"fact": "compaction", "value": "auto", "at": self.now}));
                if *summary {
                    let id = self.id();
                    self.line(
                        &name,
                        json!({"id": id, "role": "system", "kind": "compact-summary", "at": self.now,
                                            "text": "Summary: the orders table was moved, two checks are red."}),
                    );
                }
                self.import(&name);
            }
            Event::Rewind { session } => {
                let known = self.entries.entry(*session).or_default();
                if known.len() > 3 {
                    known.truncate(known.len() - 2);
                    self.talk(*session, "", 1);
                }
            }
            Event::Fork { session } => {
                let from = self.files.get(&file(*session, "")).cloned().unwrap_or_default();
                let copy = 10 + self.next;
                let name = file(copy, "");
                self.files.insert(name.clone(), from);
                if let Some(known) = self.entries.get(session).cloned() {
                    self.entries.insert(copy, known);
                }
                self.talk(copy, "", 1);
            }
            Event::Move { session, project } => drop(self.projects.insert(*session, *project)),
            Event::End { session } => {
                let name = file(*session, "");
                if self.files.contains_key(&name) {
                    self.line(&name, json!({"fact": "session-end", "at": self.now}));
                    self.import(&name);
                }
            }
            Event::Clock { minutes } => self.now += minutes * 60_000,
            Event::Advance => bring_up_to_date(&self.world),
        }
    }

    fn id(&mut self) -> String {
        self.next += 1;
        format!("e{}", self.next)
    }

    fn talk(&mut self, session: usize, lane: &str, prompts: usize) {
        let name = file(session, lane);
        let cwd = self.world.path(&format!("project{}", self.projects.get(&session).copied().unwrap_or(0)));
        for _ in 0..prompts {
            let parent = self.entries.get(&session).and_then(|known| known.last()).cloned();
            self.now += 1_000;
            let (prompt, call, result, answer) = (self.id(), self.id(), self.id(), self.id());
            let n = self.next;
            let mut write = |id: &str, parent: Option<&str>, role: &str, kind: &str, text: String| {
                self.files.entry(name.clone()).or_default().push(
                    json!({"id": id, "parent": parent, "role": role, "kind": kind, "text": text, "at": self.now,
                           "cwd": cwd, "tool": "sh", "call": format!("call{n}")})
                    .to_string(),
                );
            };
            write(
                &prompt,
                parent.as_deref(),
                "user",
                "message",
                format!("Please move table number {n} to the new schema, then run the checks."),
            );
            write(&call, Some(&prompt), "assistant", "tool-call", format!("psql -f move_{n}.sql && just check"));
            write(&result, Some(&call), "tool", "tool-result", format!("moved {n} rows, all checks are green"));
            write(
                &answer,
                Some(&result),
                "assistant",
                "message",
                format!("Table number {n} is moved and the checks are green."),
            );
            if lane.is_empty() {
                self.entries.entry(session).or_default().extend([prompt, answer]);
            }
        }
        self.import(&name);
    }

    fn line(&mut self, name: &str, value: serde_json::Value) {
        self.files.entry(name.to_owned()).or_default().push(value.to_string());
    }

    fn import(&self, name: &str) {
        self.world.write(name, self.files[name].join("\n") + "\n");
        self.world.import_as(&crate::world::GLOBAL, &[name]);
    }
}

fn file(session: usize, lane: &str) -> String {
    format!("s{session}{lane}.jsonl")
}

/// Makes lineage from stored turns; the only place that does.
pub fn bring_up_to_date(world: &World) {
    let home = Home::create(&world.path("home")).unwrap();
    let agent = AgentId::main();
    let at = AssistantHome::create(&home, &world.ledger, &agent, world.agent_no(), "test", TimeZone::UTC).unwrap();
    // Small limits, so that short histories have many nodes of every kind.
    let limits =
        Limits { chunk: Size { turns: 4, tokens: 60 }, compact_turns: 24, tail_tokens: 40, ..Limits::default() };
    let done = distil(&at, limits, None, &mut |_| {}).unwrap();
    assert!(done.problems.is_empty(), "{:?}", done.problems);
}

/// Checks the invariants A to I, which hold for any history at any time: verify finds nothing; every turn below a root
/// is reached from it once, with its stored text; and bringing up to date again changes nothing.
pub fn check_invariants(world: &World) {
    assert_eq!(world.findings(), Vec::<String>::new());
    let agent_no = world.agent_no();
    let chunked = world.count("SELECT coalesce(sum(turns), 0) FROM nodes WHERE kind = 0 AND length(key) > 0");
    let tops = world
        .ledger
        .read(|tx| {
            let mut tops = Vec::new();
            let mut statement = tx.prepare("SELECT thread_no FROM threads WHERE agent_no = ?1")?;
            let threads: Vec<ThreadNo> =
                statement.query_map([agent_no], |r| r.get(0))?.collect::<rusqlite::Result<_>>()?;
            for thread in threads {
                tops.extend(walk::tops(tx, thread, 100_000)?);
            }
            Ok(tops)
        })
        .unwrap();
    // A session node and a compaction node may cover the same chunks; only chunks partition the turns.
    let mut below: BTreeMap<TurnId, String> = BTreeMap::new();
    for top in &tops {
        let words = every_word(world, &Reference::Node(top.id));
        let mut own: Vec<TurnId> = words.iter().map(|p| p.0).collect();
        own.sort_unstable();
        own.dedup();
        assert_eq!(own.len() as u64, top.count, "{} gives each of its turns once", top.id);
        below.extend(words);
    }
    assert_eq!(below.len() as i64, chunked, "every chunked turn is below a root");
    world
        .ledger
        .read(|tx| {
            let opener = heirloom_engine::ledger::blocks::Opener::default();
            for (id, text) in &below {
                assert_eq!(read::turn(tx, &opener, agent_no, *id)?.text, *text);
            }
            Ok(())
        })
        .unwrap();
}

/// Expands with words, page by page, to the end.
pub fn every_word(world: &World, reference: &Reference) -> Vec<(TurnId, String)> {
    let mut out: Vec<(TurnId, String)> = Vec::new();
    let mut reach = Reach { transcript: true, limit: 7, ..Reach::default() };
    loop {
        let page = expand(&world.ledger, world.agent_no(), None, reference, &reach).unwrap().transcript.unwrap();
        for Passage { turn, part, .. } in page.turns {
            match (part, out.last_mut()) {
                (Some((from, ..)), Some(last)) if from > 0 => {
                    assert_eq!((last.0, last.1.len()), (turn.id, from));
                    last.1.push_str(&turn.text);
                }
                _ => out.push((turn.id, turn.text)),
            }
        }
        match page.next {
            Some(next) => reach.cursor = Some(next),
            None => return out,
        }
    }
}

fn nodes(world: &World) -> Vec<(i64, Vec<u8>)> {
    let conn = world.sql();
    let mut statement = conn.prepare("SELECT node_no, digest FROM nodes ORDER BY node_no").unwrap();
    let rows = statement.query_map([], |r| Ok((r.get(0)?, r.get(1)?))).unwrap();
    rows.map(Result::unwrap).collect()
}

/// Returns the roots computed from the nodes, and those in the table.
fn roots(world: &World) -> (Vec<i64>, Vec<i64>) {
    let column = |sql: &str| -> Vec<i64> {
        let conn = world.sql();
        let mut statement = conn.prepare(sql).unwrap();
        statement.query_map([], |r| r.get(0)).unwrap().map(Result::unwrap).collect()
    };
    let real = column(
        "SELECT node_no FROM nodes n WHERE kind != 0 AND length(key) > 0
           AND NOT EXISTS (SELECT 1 FROM node_edges e JOIN nodes p ON p.node_no = e.parent_no
                           WHERE e.child_no = n.node_no AND length(p.key) > 0 AND (p.kind = 3 OR n.kind = 2))
         ORDER BY node_no",
    );
    (real, column("SELECT node_no FROM node_roots ORDER BY node_no"))
}

#[test]
fn a_ledger_from_before_there_was_a_table_of_roots_gets_one() {
    let mut history = History::new();
    for session in 0..20 {
        history.apply(&Event::Talk { session, prompts: 1 });
        if session % 5 > 0 {
            history.apply(&Event::End { session });
        }
        bring_up_to_date(&history.world);
    }
    let known = roots(&history.world);
    assert_eq!(known.0, known.1);
    let world = history.world;
    // The table of roots came with the fourth migration, so tables of later migrations are removed as well.
    let folder = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("src/ledger/migrations");
    let mut later: Vec<_> = std::fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path()).collect();
    later.retain(|path| path.file_name().unwrap().to_string_lossy().as_ref() > "0005");
    let lines: Vec<String> = later
        .iter()
        .flat_map(|path| std::fs::read_to_string(path).unwrap().lines().map(str::to_owned).collect::<Vec<_>>())
        .collect();
    let named = |rest: &str| rest.split([' ', '(', ';']).next().unwrap().to_owned();
    let tables: Vec<String> = lines.iter().filter_map(|line| line.strip_prefix("CREATE TABLE ").map(named)).collect();
    let columns = lines.iter().filter_map(|line| {
        let (table, rest) = line.strip_prefix("ALTER TABLE ")?.split_once(" ADD COLUMN ")?;
        (!tables.iter().any(|made| made == table)).then(|| format!("ALTER TABLE {table} DROP COLUMN {}; ", named(rest)))
    });
    let gone: String = tables.iter().map(|table| format!("DROP TABLE {table}; ")).chain(columns).collect();
    world.sql().execute_batch(&format!("{gone} DROP TABLE node_roots; PRAGMA user_version = 3")).unwrap();
    std::fs::create_dir_all(world.path("backups")).unwrap();
    let world = world.reopened(crate::world::LATER);
    assert_eq!(roots(&world), known);
}

#[test]
fn whatever_happens_the_lineage_is_sound() {
    let cases = std::env::var("HEIRLOOM_TEST_HISTORIES").ok().and_then(|n| n.parse().ok()).unwrap_or(12);
    let mut seen = [0; 5];
    for seed in 0..cases {
        println!("seed {seed}");
        let mut history = History::new();
        for event in events(seed, 30) {
            history.apply(&event);
        }
        bring_up_to_date(&history.world);
        check_invariants(&history.world);
        let before = nodes(&history.world);
        bring_up_to_date(&history.world);
        assert_eq!(nodes(&history.world), before, "seed {seed}: doing it again changes nothing");
        let turns = history.world.count("SELECT count(*) FROM turns");
        let chunked = history.world.count("SELECT sum(turns) FROM nodes WHERE kind = 0");
        assert_eq!(turns, chunked, "seed {seed}");
        let (real, table) = roots(&history.world);
        assert_eq!(real, table, "seed {seed}");
        let happened = [
            "SELECT count(*) FROM compactions WHERE node_no IS NOT NULL",
            "SELECT count(*) FROM turn_references",
            "SELECT count(*) FROM lanes WHERE lane != ''",
            "SELECT count(*) FROM nodes WHERE kind = 1",
            "SELECT count(*) FROM threads",
        ];
        for (sum, sql) in seen.iter_mut().zip(happened) {
            *sum += history.world.count(sql);
        }
    }
    assert!(seen.iter().all(|n| *n > cases as i64), "histories in which little happens: {seen:?}");
}

#[test]
fn the_pages_of_a_session_are_its_turns_in_their_order() {
    for seed in 0..6 {
        let mut history = History::new();
        for event in events(seed, 40) {
            history.apply(&event);
        }
        let (world, opener) = (&history.world, Opener::default());
        let check = |tx: &Read| {
            for session in read::sessions(tx, world.agent_no(), &read::SessionFilter::default())? {
                let mut all = Vec::new();
                read::session_turns(tx, &opener, &session, None, |turn| {
                    all.push(turn.id);
                    Ok(())
                })?;
                for size in [1, 3, 8] {
                    let (mut paged, mut after) = (Vec::new(), None);
                    loop {
                        let (turns, next) = order::page_of_turns(tx, &opener, &session, None, after, size)?;
                        paged.extend(turns.iter().map(|turn| turn.id));
                        assert!(paged.len() <= all.len(), "seed {seed}, {}: the pages never end", session.key);
                        after = next;
                        if next.is_none() {
                            break;
                        }
                    }
                    assert_eq!(paged, all, "seed {seed}, {}, pages of {size}", session.key);
                    for section in order::sections_of_turns(tx, &session, size as u64, None)? {
                        let of = order::page_of_turns(tx, &opener, &session, None, section.after, size)?.0;
                        assert_eq!((of[0].id, of.len() as u64), (section.first, section.count), "seed {seed}");
                    }
                }
            }
            Ok(())
        };
        world.ledger.read(check).unwrap();
    }
}

#[test]
fn a_history_of_one_thread_condenses_and_still_leads_to_every_word() {
    let mut history = History::new();
    for session in 0..70 {
        history.apply(&Event::Talk { session, prompts: 1 });
        history.apply(&Event::End { session });
        bring_up_to_date(&history.world);
    }
    check_invariants(&history.world);
    let world = &history.world;
    // Six sessions and the node of depth 2: condensing looks at these roots, not at seventy sessions.
    assert_eq!(world.count("SELECT count(*) FROM node_roots"), 7, "{:?}", roots(world));
    let deepest = world.count("SELECT max(depth) FROM nodes");
    assert_eq!(deepest, 2, "70 sessions: 8 of depth 1, and those into one of depth 2");
    let top = world.count("SELECT node_no FROM nodes WHERE depth = 2");
    let agent_no = world.agent_no();
    let node = world.ledger.read(|tx| lineage::node(tx, agent_no, NodeId(top))).unwrap();
    assert_eq!(every_word(world, &Reference::Node(node.id)).len() as u64, node.count);
    let found = expand(
        &world.ledger,
        world.agent_no(),
        None,
        &Reference::Node(node.id),
        &Reach { depth: 3, ..Reach::default() },
    );
    let Subject::Node(view) = found.unwrap().subject else { panic!() };
    assert_eq!(view.children.len(), 8);
    assert!(view.children.iter().all(|c| c.children.len() == 8 && c.children[0].children.len() == 1));
}
