//! A home with conversations and summaries, for tests of pages: lines of the little program are imported, nodes are
//! added by hand, and pages are compared as text.

use std::path::PathBuf;

use heirloom_engine::capture::Capture;
use heirloom_engine::clock::Clock;
use heirloom_engine::home::Home;
use heirloom_engine::ledger::{Audit, Ledger};
use heirloom_engine::lineage::distillate::{Distillate, Item};
use heirloom_engine::lineage::{self, Kind, NewCompaction, NewNode, Source};
use heirloom_engine::render;
use heirloom_engine::scope::{AgentId, AgentNo, LaneNo, NodeId, SessionNo, TurnId};
use heirloom_engine::thread;
use heirloom_engine::transcript::read;
use heirloom_engine::tree::AssistantHome;
use serde_json::{Value, json};

use crate::world::LITTLE;

pub const NOON: i64 = crate::world::NOON;
pub const MINUTE: i64 = 60_000;
pub const HOUR: i64 = 60 * MINUTE;
pub const DAY: i64 = 24 * HOUR;

pub struct Story {
    pub folder: tempfile::TempDir,
    pub home: Home,
    pub ledger: Ledger,
    pub agent: AgentId,
    pub agent_no: AgentNo,
}

impl Story {
    pub fn new() -> Story {
        let memory = std::path::Path::new("/dev/shm");
        let folder = if memory.is_dir() { tempfile::tempdir_in(memory) } else { tempfile::tempdir() }.unwrap();
        let (home, ledger) = crate::tree::open_at(&folder.path().join("home"), Clock::Fixed(NOON));
        let story = Story { folder, home, ledger, agent: AgentId::main(), agent_no: AgentNo(0) };
        story.of("main")
    }

    /// Returns the same home for another agent.
    pub fn of(self, agent: &str) -> Story {
        let agent = AgentId::parse(agent).unwrap();
        let add = Audit::new("test", "agent.add");
        let agent_no = self.ledger.write(add, |tx| read::ensure_agent(tx, &agent)).unwrap();
        let story = Story { agent, agent_no, ..self };
        story.at();
        story
    }

    pub fn at(&self) -> AssistantHome<'_> {
        let zone = jiff::tz::TimeZone::UTC;
        AssistantHome::create(&self.home, &self.ledger, &self.agent, self.agent_no, "test", zone).unwrap()
    }

    /// Makes a folder that counts as a project.
    pub fn project(&self, name: &str) -> PathBuf {
        let folder = self.folder.path().join(name);
        std::fs::create_dir_all(folder.join(".git")).unwrap();
        folder
    }

    /// Adds lines to a session's file and imports them.
    pub fn said(&self, session: &str, lines: &[Value]) {
        use std::io::Write as _;
        let path = self.folder.path().join(format!("{session}.jsonl"));
        let mut file = std::fs::OpenOptions::new().append(true).create(true).open(&path).unwrap();
        for line in lines {
            writeln!(file, "{line}").unwrap();
        }
        drop(file);
        let scratch = self.folder.path().join("scratch");
        let mut capture = Capture::new(&self.ledger, None, "test", &scratch, None).unwrap();
        capture.file(&LITTLE, &self.agent, &path).unwrap();
        let (_, problems) = capture.finish().unwrap();
        assert!(problems.is_empty(), "{problems:?}");
    }

    pub fn refresh(&self) -> render::Refreshed {
        let refreshed = render::refresh(&self.at(), render::Occasion::Look).unwrap();
        assert!(refreshed.failed.is_empty(), "{refreshed:?}");
        refreshed
    }

    pub fn session_no(&self, session: &str) -> SessionNo {
        self.ledger.read(|tx| read::session_named(tx, self.agent_no, &format!("little:{session}"))).unwrap().no
    }

    /// Returns the turns of a session's main line, in order.
    pub fn turns(&self, session: &str) -> Vec<read::Turn> {
        let mut out = Vec::new();
        self.ledger
            .read(|tx| {
                let row = read::session_named(tx, self.agent_no, &format!("little:{session}"))?;
                read::session_turns(tx, &Default::default(), &row, Some(""), |turn| {
                    out.push(turn);
                    Ok(())
                })
            })
            .unwrap();
        out
    }

    /// Returns the turn with this text.
    pub fn turn(&self, session: &str, text: &str) -> TurnId {
        self.turns(session).iter().find(|t| t.text == text).unwrap_or_else(|| panic!("nobody said {text:?}")).id
    }

    /// Makes a chunk over all turns of a session's main line that are in none yet, and nodes over it.
    pub fn summed_up(&self, session: &str, kinds: &[Kind], summary: &str, d: &Distillate) -> Vec<NodeId> {
        self.summed_up_in(session, kinds, summary, d, None)
    }

    pub fn summed_up_in(
        &self,
        session: &str,
        kinds: &[Kind],
        summary: &str,
        d: &Distillate,
        flush: Option<&str>,
    ) -> Vec<NodeId> {
        let (session_no, turns) = (self.session_no(session), self.turns(session));
        let write = Audit::new("test", "lineage.insert").of_agent(self.agent_no);
        self.ledger
            .write(write, |tx| {
                let lane_no: LaneNo =
                    tx.query_row("SELECT lane_no FROM lanes WHERE session_no = ?1 AND lane = ''", [session_no], |r| {
                        r.get(0)
                    })?;
                let behind = lineage::frontier(tx, lane_no)?;
                let turns: Vec<_> = turns.iter().filter(|t| t.id > behind).collect();
                let thread_no = thread::join(tx, self.agent_no, turns[0].run, &thread::membership(tx, turns[0].run)?)?;
                let new = NewNode {
                    agent_no: self.agent_no,
                    kind: Kind::Chunk,
                    depth: 0,
                    thread_no,
                    session_no: Some(session_no),
                    lane_no: Some(lane_no),
                    turns: (turns[0].id, turns[turns.len() - 1].id),
                    times: (turns.iter().filter_map(|t| t.at).min(), turns.iter().filter_map(|t| t.at).max()),
                    count: turns.len() as u64,
                    summary: summary.to_owned(),
                    distillate: d.clone(),
                    source: Source::Deterministic,
                    source_tokens: 10_000,
                    summary_turn: None,
                    abandoned: false,
                    late: Vec::new(),
                    replaces: None,
                    flush: flush.map(str::to_owned),
                    children: Vec::new(),
                };
                let mut ids = vec![lineage::insert(tx, &new)?];
                for kind in kinds {
                    let lane_no = (*kind == Kind::Compaction).then_some(lane_no);
                    let node = NewNode { kind: *kind, lane_no, children: vec![ids[ids.len() - 1]], ..new.clone() };
                    ids.push(lineage::insert(tx, &node)?);
                }
                Ok(ids)
            })
            .unwrap()
    }

    /// Records that the context of a session was cut after a turn.
    pub fn cut(&self, session: &str, node: NodeId, until: TurnId, preserved: &[TurnId], at: i64) {
        let session_no = self.session_no(session);
        let write = Audit::new("test", "lineage.compact").of_agent(self.agent_no);
        self.ledger
            .write(write, |tx| {
                let lane_no =
                    tx.query_row("SELECT lane_no FROM lanes WHERE session_no = ?1 AND lane = ''", [session_no], |r| {
                        r.get(0)
                    })?;
                let restoration = ["handoff", "snapshot", "tail", "hot files", "recall"].map(str::to_owned).to_vec();
                let preserved = preserved.to_vec();
                let new = NewCompaction {
                    session_no,
                    lane_no,
                    node: Some(node),
                    boundary_no: None,
                    cause: "harness",
                    until,
                    preserved,
                    restoration,
                    at,
                    flush: None,
                };
                lineage::record_compaction(tx, &new)
            })
            .unwrap();
    }

    pub fn sql(&self) -> rusqlite::Connection {
        rusqlite::Connection::open(self.ledger.path()).unwrap()
    }

    pub fn tree(&self) -> PathBuf {
        self.home.root().join("workspaces").join(self.agent.as_str())
    }

    /// Returns the files below a folder of the assistant home, by their path in it.
    pub fn files(&self, below: &str) -> Vec<String> {
        let all = crate::place::files(&self.tree()).into_keys();
        all.filter(|path| path.starts_with(below)).collect()
    }

    /// Returns the rendered block of a page.
    pub fn block(&self, path: &str) -> String {
        let text = std::fs::read_to_string(self.tree().join(path)).unwrap_or_else(|e| panic!("{path}: {e}"));
        let inside = text.split_once("-->\n").unwrap_or_else(|| panic!("no block in {text}")).1;
        let (inside, _) = inside.rsplit_once("<!-- /heirloom:").unwrap();
        inside.replace(&self.folder.path().display().to_string(), "…")
    }

    /// Returns the block of the one file below `memory/workspace` whose path ends with or contains `end`.
    pub fn page(&self, end: &str) -> String {
        let found: Vec<String> =
            self.files("memory/workspace/").into_iter().filter(|p| p.ends_with(end) || p.contains(end)).collect();
        assert_eq!(found.len(), 1, "{end}: {found:?} of {:?}", self.files("memory/"));
        self.block(&found[0])
    }
}

pub fn user(text: &str, at: i64) -> Value {
    json!({"role": "user", "text": text, "at": at})
}

pub fn answer(text: &str, at: i64) -> Value {
    json!({"role": "assistant", "text": text, "at": at})
}

/// Returns a tool call and its result.
pub fn tool(name: &str, input: Value, result: &str, failed: bool, at: i64) -> [Value; 2] {
    let call = format!("{name}-{at}");
    [
        json!({"role": "assistant", "kind": "tool-call", "tool": name, "call": call, "text": input.to_string(), "at": at}),
        json!({"role": "tool", "kind": "tool-result", "tool": name, "call": call, "text": result, "failed": failed, "at": at}),
    ]
}

pub fn ended(status: &str, reason: &str, at: i64) -> Value {
    json!({"fact": "run-end", "value": status, "reason": reason, "at": at})
}

pub fn within(folder: &std::path::Path) -> Value {
    json!({"fact": "cwd", "value": folder.display().to_string()})
}

pub fn titled(title: &str) -> Value {
    json!({"fact": "title", "value": title})
}

pub fn item(text: &str, turn: TurnId) -> Item {
    Item::new(text, turn)
}
