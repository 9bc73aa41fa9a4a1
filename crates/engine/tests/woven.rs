//! A home of threads whose nodes are added by hand, for tests of the tiers; and helpers that parse lines of a page.

use heirloom_engine::continuity::open_loop::{self, NewLoop};
use heirloom_engine::ledger::{Audit, Write};
use heirloom_engine::lineage::distillate::{Distillate, Item};
use heirloom_engine::lineage::{self, Kind, NewNode, Source};
use heirloom_engine::memory::{self, Class, NewLeaf};
use heirloom_engine::pages::{self, Happened, PageKey};
use heirloom_engine::render;
use heirloom_engine::render::memory::{Tier1Line, tier1};
use heirloom_engine::scope::{LaneNo, NodeId, SessionNo, ThreadKey, ThreadNo, TurnId};
use rusqlite::params;
use tempfile::TempDir;

use crate::place::{DAY, NOON, Place, api, place};

/// A world of threads whose nodes are added by hand.
pub struct Story {
    pub folder: TempDir,
    pub place: Place,
    pub turn: i64,
}

impl Story {
    pub fn new() -> Story {
        let (folder, place) = place();
        place.at();
        Story { folder, place, turn: 0x9c00 }
    }

    /// Opens the same home on another day.
    pub fn on(self, now: i64) -> Story {
        let Story { folder, place, turn } = self;
        drop(place);
        let place = Place::open(&folder.path().join("home"), now);
        Story { folder, place, turn }
    }

    pub fn put<T>(&self, act: impl FnOnce(&Write) -> rusqlite::Result<T>) -> T {
        self.place.ledger.write(Audit::new("test", "put"), |tx| Ok(act(tx)?)).unwrap()
    }

    pub fn thread(&self, key: &str, label: &str) -> ThreadNo {
        let key = ThreadKey::parse(key).unwrap();
        self.put(|tx| {
            tx.execute(
                "INSERT INTO threads (agent_no, thread_key, file, label, state, created_at) VALUES (?1, ?2, ?3, ?4, 'active', 0)",
                params![self.place.agent_no, key.as_str(), key.file_stem(), label],
            )?;
            Ok(ThreadNo(tx.last_insert_rowid()))
        })
    }

    pub fn file(&self, thread: ThreadNo) -> String {
        self.put(|tx| tx.query_row("SELECT file FROM threads WHERE thread_no = ?1", [thread], |r| r.get(0)))
    }

    /// Returns a session and its main lane; makes them if they are new.
    pub fn session(&self, key: &str) -> (SessionNo, LaneNo) {
        self.put(|tx| {
            let agent = self.place.agent_no;
            tx.execute(
                "INSERT INTO sessions (agent_no, session_key, created_at) VALUES (?1, ?2, 0) ON CONFLICT DO NOTHING",
                params![agent, key],
            )?;
            let no: SessionNo =
                tx.query_row("SELECT session_no FROM sessions WHERE session_key = ?1", [key], |r| r.get(0))?;
            tx.execute("INSERT INTO lanes (session_no, lane) VALUES (?1, '') ON CONFLICT DO NOTHING", [no])?;
            Ok((no, tx.query_row("SELECT lane_no FROM lanes WHERE session_no = ?1", [no], |r| r.get(0))?))
        })
    }

    /// Adds a session in a thread: a chunk of ten turns and the session node over it, on a day. Returns the session
    /// node and the first of its turns.
    pub fn worked(
        &mut self,
        thread: ThreadNo,
        session: &str,
        at: i64,
        say: impl FnOnce(TurnId) -> Distillate,
    ) -> (NodeId, TurnId) {
        let (session_no, lane_no) = self.session(session);
        let first = TurnId(self.turn + 1);
        self.turn += 10;
        let turns = (first, TurnId(self.turn));
        self.put(|tx| {
            tx.execute(
                "UPDATE sessions SET last_at = max(coalesce(last_at, 0), ?2) WHERE session_no = ?1",
                (session_no, at),
            )
        });
        let distillate = say(first);
        let new = |kind, children, distillate| NewNode {
            agent_no: self.place.agent_no,
            kind,
            depth: 0,
            thread_no: thread,
            session_no: Some(session_no),
            lane_no: (kind == Kind::Chunk).then_some(lane_no),
            turns,
            times: (Some(at - 3_600_000), Some(at)),
            count: 10,
            summary: "They talked.".into(),
            distillate,
            source: Source::Deterministic,
            source_tokens: 1_000,
            summary_turn: None,
            abandoned: false,
            late: Vec::new(),
            replaces: None,
            flush: None,
            children,
        };
        let id = self
            .place
            .ledger
            .write(Audit::new("test", "node.add"), |tx| {
                let chunk = lineage::insert(tx, &new(Kind::Chunk, Vec::new(), Distillate::default()))?;
                lineage::insert(tx, &new(Kind::Session, vec![chunk], distillate.clone()))
            })
            .unwrap();
        (id, first)
    }

    /// Adds a turn as a row, in a run its program abandoned or not.
    pub fn turn_row(&self, turn: TurnId, session: &str, at: i64, left: bool) {
        let (session_no, lane_no) = self.session(session);
        let sql = self.place.sql();
        sql.pragma_update(None, "foreign_keys", false).unwrap();
        // The turn's text is empty, and stored in a block like any other.
        let empty = zstd::bulk::compress(b"", 1).unwrap();
        sql.execute("INSERT OR IGNORE INTO blocks (block_no, raw_length, data) VALUES (0, 0, ?1)", [empty]).unwrap();
        sql.execute(
            "INSERT INTO turn_results (session_no, lane_no, status, left_by) VALUES (?1, ?2, 1, ?3)",
            params![session_no, lane_no, left.then_some(1)],
        )
        .unwrap();
        sql.execute(
            "INSERT INTO turns (turn_no, session_no, lane_no, run_no, record_no, entry, revision, role, kind, at, failed,
                                block_no, text_offset, text_length)
             VALUES (?1, ?2, ?3, ?4, 0, ?5, 0, 0, 0, ?6, 0, 0, 0, 0)",
            params![turn.0, session_no, lane_no, sql.last_insert_rowid(), format!("e{}", turn.0), at],
        )
        .unwrap();
    }

    pub fn owe(&self, new: NewLoop) -> String {
        self.place.do_it(|lock| open_loop::add(lock, &new).unwrap().id)
    }

    pub fn lines(&self) -> Vec<Tier1Line> {
        let at = self.place.at();
        at.read(|tx| tier1(&at, tx)).unwrap()
    }

    /// Returns the rendered block of a page, after a refresh.
    pub fn page(&self, page: &PageKey) -> String {
        let at = self.place.at();
        at.write("test", |tx| pages::mark(tx, at.agent_no, &Happened::PagesAsked(vec![page.clone()]))).unwrap();
        let refreshed = render::refresh(&at, render::Occasion::Act).unwrap();
        // Turns added by hand have no words, from which daily notes are made.
        assert!(refreshed.failed.iter().all(|p| p.place.contains("/daily/")), "{refreshed:?}");
        let text = self.place.text(page.path().unwrap());
        let start = text.find("-->\n").unwrap() + 4;
        text[start..text.rfind("<!-- /heirloom").unwrap()].to_owned()
    }

    pub fn head(&self, thread: ThreadNo) -> String {
        self.page(&PageKey::Thread(self.file(thread)))
    }
}

pub fn item(text: &str, turn: TurnId) -> Item {
    Item::new(text, turn)
}

pub fn filed(text: &str, turn: TurnId, file: &str) -> Item {
    Item { file: Some(file.into()), ..Item::new(text, turn) }
}

pub fn after(turn: TurnId, n: i64) -> TurnId {
    TurnId(turn.0 + n)
}

pub fn titled_loop(title: &str) -> NewLoop {
    NewLoop { title: title.into(), ..NewLoop::default() }
}

pub fn in_thread(title: &str, key: &str) -> NewLoop {
    NewLoop { thread: Some(key.into()), ..titled_loop(title) }
}

pub const API_KEY: &str = "project/api--0123456789abcdef";
pub const BLOG_KEY: &str = "project/blog--fedcba9876543210";

/// Makes two projects, loops and memory.
pub fn life() -> (Story, ThreadNo, ThreadNo) {
    let mut story = Story::new();
    let orders = story.thread(API_KEY, "heirloom/api");
    let blog = story.thread(BLOG_KEY, "blog");
    story.worked(orders, "codex:old", NOON - 40 * DAY, |t| Distillate {
        decisions: vec![item("No Redis: one process is enough until 1 k jobs/s.", t)],
        open_loops: vec![item("Write the changelog", after(t, 1))],
        ..Distillate::default()
    });
    story.worked(orders, "claude-code:one", NOON - 2 * DAY, |t| Distillate {
        decisions: vec![item("Codename ZEPHYR for the queue.", after(t, 2))],
        ..Distillate::default()
    });
    let backfill =
        story.owe(NewLoop { due: Some("2026-11-27".into()), ..in_thread("Migrate table `tbl_orders`", API_KEY) });
    story.worked(orders, "codex:two", NOON - DAY, |t| Distillate {
        goal: Some(item("Move orders to the new schema.", t)),
        in_progress: vec![item("Orders table half migrated, 3 of 41 tests red.", after(t, 1))],
        open_loops: vec![
            filed("Next we still have to migrate table tbl_orders", after(t, 1), &backfill),
            item("`orders_test.rs::refund_twice` fails since the new index.", after(t, 4)),
        ],
        next_steps: vec![filed("migrate table tbl_orders", after(t, 1), &backfill)],
        ..Distillate::default()
    });
    story.worked(blog, "claude-code:three", NOON - 2 * DAY, |t| Distillate {
        blocked: vec![item("waiting for your answer about the RSS feed", t)],
        next_steps: vec![item("Publish the post on queues", after(t, 2))],
        ..Distillate::default()
    });
    story.owe(titled_loop("Send Marta the benchmark table"));
    story.place.do_it(|lock| {
        memory::add(lock, &NewLeaf::new(Class::Preference, memory::Scope::Agent, "Answer TL;DR first.")).unwrap();
        let rule = NewLeaf::new(Class::Fact, api(), "Never push to main without a green just ci.");
        memory::add(lock, &rule).unwrap();
    });
    let rules = story.place.leaves().into_iter().filter(|e| e.class.as_deref() == Some("fact")).collect::<Vec<_>>();
    story.place.do_it(|lock| memory::change::pin(lock, &rules, true).unwrap());
    (story, orders, blog)
}

/// Returns whether the text in brackets at the end of a line has a form that `heirloom expand` takes.
pub fn is_reference(text: &str) -> bool {
    let item = text.split_once(':').is_some_and(|(letter, rest)| {
        let number = matches!(letter, "u" | "c");
        let known = matches!(letter, "l" | "p" | "m" | "a" | "j");
        (known && !rest.is_empty()) || (number && rest.parse::<u32>().is_ok())
    });
    let path = text.starts_with("memory/") && text.ends_with(".md");
    item || path || NodeId::parse(text).is_some() || TurnId::parse(text).is_some()
}

/// Returns the items of a page: every line of a list except those that count further items.
pub fn items(page: &str) -> Vec<&str> {
    page.lines().filter(|l| l.starts_with("- ") && !l.starts_with("- … and ")).collect()
}

pub fn reference(line: &str) -> &str {
    let last = line.rsplit_once(" · [").and_then(|(_, r)| r.strip_suffix(']'));
    last.unwrap_or_else(|| panic!("no reference behind {line:?}"))
}
