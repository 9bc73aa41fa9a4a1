//! A small world for tests: a ledger in a temporary folder, a tiny program that writes JSON lines or rows, and a dump
//! of everything stored, so that a test is data in and text out.

use std::cell::Cell as Counter;
use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::path::{Path, PathBuf};
use std::time::Duration;

use heirloom_engine::capture::{Capture, LineAck, Totals};
use heirloom_engine::clock::Clock;
use heirloom_engine::error::{Problem, Result};
use heirloom_engine::event::{
    Decoded, Decoder, Fact, ForeignSpec, NewTurn, Placement, RecordClass, Role, Row, RowQuery, RunStatus, TurnKind,
    Usage,
};
use heirloom_engine::index::{Index, Rebuilt};
use heirloom_engine::ledger::blocks::Opener;
use heirloom_engine::ledger::{Ledger, Open};
use heirloom_engine::program::{Form, Program};
use heirloom_engine::recall::{self, Filter, Query};
use heirloom_engine::scope::{AgentId, AgentNo, RunNo};
use heirloom_engine::transcript::export::{self, StreamRow};
use heirloom_engine::transcript::{kind_name, read, role_name, role_parse};
use heirloom_engine::verify::verify;
use jiff::tz::TimeZone;
use serde_json::Value;

/// Noon of a day in November 2026, in milliseconds.
pub const NOON: i64 = 1_795_262_400_000;

/// A time so far after every file's time stamp that an equal stat always proves an unchanged file.
pub const LATER: Clock = Clock::Fixed(4_000_000_000_000);

/// A time so far before every time stamp that a stat never proves it.
pub const RACY: Clock = Clock::Fixed(0);

pub struct World {
    pub folder: tempfile::TempDir,
    pub ledger: Ledger,
    pub agent: AgentId,
}

impl World {
    pub fn new() -> World {
        World::at(LATER)
    }

    pub fn at(clock: Clock) -> World {
        // The folder is in memory where the system has one for that: these tests are about words, not about disks.
        let memory = Path::new("/dev/shm");
        let folder = if memory.is_dir() { tempfile::tempdir_in(memory) } else { tempfile::tempdir() }.unwrap();
        let ledger = open_ledger(folder.path(), clock);
        World { folder, ledger, agent: AgentId::main() }
    }

    /// Opens the same ledger again at another time.
    pub fn reopened(self, clock: Clock) -> World {
        let World { folder, ledger, agent } = self;
        drop(ledger);
        let ledger = open_ledger(folder.path(), clock);
        World { folder, ledger, agent }
    }

    pub fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    pub fn write(&self, name: &str, bytes: impl AsRef<[u8]>) -> PathBuf {
        let path = self.path(name);
        std::fs::write(&path, bytes).unwrap();
        path
    }

    pub fn add(&self, name: &str, bytes: impl AsRef<[u8]>) {
        use std::io::Write as _;
        let mut file = std::fs::OpenOptions::new().append(true).create(true).open(self.path(name)).unwrap();
        file.write_all(bytes.as_ref()).unwrap();
    }

    /// Imports files of the little program and returns the totals and problems.
    pub fn import(&self, names: &[&str]) -> (Totals, Vec<Problem>) {
        self.import_as(&LITTLE, names)
    }

    pub fn import_as(&self, little: &Little, names: &[&str]) -> (Totals, Vec<Problem>) {
        self.try_import(little, &self.agent, names, None).unwrap()
    }

    pub fn try_import(
        &self,
        little: &Little,
        agent: &AgentId,
        names: &[&str],
        index: Option<&mut Index>,
    ) -> Result<(Totals, Vec<Problem>)> {
        let mut capture = Capture::new(&self.ledger, index, "test", &self.path("scratch"), None)?;
        for name in names {
            let path = self.path(name);
            capture.store(little, agent, &path, form_of(name))?;
        }
        capture.finish()
    }

    /// Appends one live line.
    pub fn line(&self, line: &str) -> LineAck {
        let mut capture = Capture::new(&self.ledger, None, "test", &self.path("scratch"), None).unwrap();
        let ack = capture.line(&LITTLE, &self.agent, line.as_bytes()).unwrap();
        capture.finish().unwrap();
        ack
    }

    /// Opens a second connection, for reading and for damaging.
    pub fn sql(&self) -> rusqlite::Connection {
        rusqlite::Connection::open(self.ledger.path()).unwrap()
    }

    /// Changes rows through the ledger, so that they are sealed.
    pub fn set_up(&self, sql: &str) {
        self.ledger
            .write(heirloom_engine::ledger::Audit::new("test", "set.up"), |tx| Ok(tx.execute_batch(sql)?))
            .unwrap();
    }

    pub fn count(&self, sql: &str) -> i64 {
        self.sql().query_row(sql, [], |r| r.get(0)).unwrap()
    }

    pub fn audit_rows(&self) -> i64 {
        self.count("SELECT count(*) FROM audit")
    }

    pub fn agent_no(&self) -> AgentNo {
        self.ledger.read(|tx| read::agent_no(tx, &self.agent)).unwrap().unwrap_or(AgentNo(0))
    }

    pub fn index(&self) -> (Index, Rebuilt) {
        Index::open(&self.path("index.db"), self.ledger.id(), Duration::from_secs(5)).unwrap()
    }

    pub fn caught_up(&self) -> Index {
        let (mut index, _) = self.index();
        assert_eq!(index.catch_up(&self.ledger, None, &mut |_| {}).unwrap(), 0);
        index
    }

    /// Parses a query in UTC.
    pub fn ask(&self, input: &str) -> Query {
        recall::understand(&self.ledger, &self.agent, input, &TimeZone::UTC).unwrap()
    }

    /// Returns the texts of the hits, best first.
    pub fn search(&self, index: &mut Index, query: &str) -> Vec<String> {
        self.search_with(index, query, Filter::default())
    }

    pub fn search_with(&self, index: &mut Index, query: &str, filter: Filter) -> Vec<String> {
        let filter = Filter { limit: if filter.limit == 0 { 10 } else { filter.limit }, ..filter };
        let found = recall::search(&self.ledger, index, &self.agent, &self.ask(query), &filter).unwrap();
        found.hits.into_iter().map(|h| h.turn.text).collect()
    }

    /// Returns the findings of verify, one a line.
    pub fn findings(&self) -> Vec<String> {
        self.findings_with(None)
    }

    pub fn findings_with(&self, index: Option<&Index>) -> Vec<String> {
        let mut report = verify(&self.ledger, index, &mut |_| {}).unwrap();
        let little = Little { global_ids: false };
        heirloom_engine::verify::said(&self.ledger, &[std::sync::Arc::new(little)], &mut report).unwrap();
        report.findings.into_iter().map(|f| format!("{:?} {}: {}", f.severity, f.subject, f.what)).collect()
    }

    pub fn stream(&self, name: &str) -> StreamRow {
        let (agent_no, path) = (self.agent_no(), self.path(name).canonicalize().unwrap());
        self.ledger.read(|tx| export::stream_of_file(tx, agent_no, &path)).unwrap().expect("the stream is known")
    }

    /// Exports the newest generation.
    pub fn export(&self, name: &str) -> Vec<u8> {
        self.export_generation(name, self.stream(name).generation)
    }

    pub fn export_generation(&self, name: &str, generation: i64) -> Vec<u8> {
        let (stream, mut out) = (self.stream(name), Vec::new());
        self.ledger
            .read(|tx| export::write_stream(tx, &Opener::default(), &stream, generation, &mut out, &mut |_| {}))
            .unwrap();
        out
    }

    /// Checks that the export equals the file, and that verify finds nothing.
    pub fn assert_kept(&self, name: &str) {
        let file = std::fs::read(self.path(name)).unwrap();
        assert!(self.export(name) == file, "{name} does not come out as it went in");
        assert_eq!(self.findings(), Vec::<String>::new());
    }

    /// Returns the texts of a session in order.
    pub fn texts(&self, session: &str) -> Vec<String> {
        let (agent_no, mut out) = (self.agent_no(), Vec::new());
        self.ledger
            .read(|tx| {
                let row = read::session_named(tx, agent_no, session)?;
                read::session_turns(tx, &Opener::default(), &row, None, |turn| {
                    out.push(turn.text);
                    Ok(())
                })
            })
            .unwrap();
        out
    }

    /// Returns everything stored for the agent, without numbers that depend on the order of storing.
    pub fn dump(&self) -> String {
        let agent_no = self.agent_no();
        self.ledger.read(|tx| dump(tx, agent_no)).unwrap() + &self.quarantine()
    }

    pub fn quarantine(&self) -> String {
        let agent_no = self.agent_no();
        let mut rows = self.ledger.read(|tx| read::quarantine(tx, agent_no, None, 1_000_000)).unwrap();
        rows.sort_by(|a, b| (&a.path, &a.key, a.position, a.length).cmp(&(&b.path, &b.key, b.position, b.length)));
        rows.into_iter().fold(String::new(), |mut out, q| {
            let name = q.path.file_name().unwrap_or_default().to_string_lossy().into_owned();
            let line = q.line.map_or("-".into(), |l| l.to_string());
            writeln!(out, "quarantine {name}{} line {line} byte {}: {}", key_shown(&q.key), q.position, q.reason)
                .unwrap();
            out
        })
    }

    /// Returns the state of each stream.
    pub fn streams(&self) -> String {
        let conn = self.sql();
        let mut statement = conn
            .prepare(
                "SELECT path, key, generation, next, lines, mid_line, pending IS NOT NULL FROM streams
                 JOIN sources USING (source_no) ORDER BY stream_no",
            )
            .unwrap();
        let rows = statement
            .query_map([], |r| {
                let path = String::from_utf8_lossy(&r.get::<_, Vec<u8>>(0)?).into_owned();
                let name = Path::new(&path).file_name().unwrap_or_default().to_string_lossy().into_owned();
                let pending = if r.get(6)? { " pending" } else { "" };
                Ok(format!(
                    "stream {name}{} generation {} next {} line {}{pending}\n",
                    key_shown(&r.get::<_, String>(1)?),
                    r.get::<_, i64>(2)?,
                    r.get::<_, i64>(3)?,
                    r.get::<_, i64>(4)?,
                ))
            })
            .unwrap();
        rows.map(|r| r.unwrap()).collect()
    }
}

fn key_shown(key: &str) -> String {
    if key.is_empty() { String::new() } else { format!("#{key}") }
}

pub fn open_ledger(folder: &Path, clock: Clock) -> Ledger {
    Ledger::open(&folder.join("runtime.db"), &folder.join("backups"), clock, Open::Full).unwrap()
}

/// Returns a JSON line of the little program.
pub fn said(id: &str, role: &str, text: &str) -> String {
    serde_json::json!({"id": id, "role": role, "text": text}).to_string() + "\n"
}

fn dump(tx: &heirloom_engine::ledger::Read, agent_no: AgentNo) -> Result<String> {
    let opener = Opener::default();
    let mut out = String::new();
    let mut sessions = read::sessions(tx, agent_no, &read::SessionFilter::default())?;
    sessions.sort_by(|a, b| a.key.cmp(&b.key));
    for session in sessions {
        let read::SessionRow {
            no,
            key,
            cwd,
            title,
            version,
            fork_of,
            started_at,
            last_at,
            ended_at,
            ended_by,
            turns,
            shared_turns,
            ..
        } = session.clone();
        write!(out, "session {key} {turns}+{shared_turns}").unwrap();
        for (name, value) in
            [("title", title), ("cwd", cwd), ("version", version), ("fork of", fork_of), ("ended by", ended_by)]
        {
            if let Some(value) = value {
                write!(out, " {name} {value:?}").unwrap();
            }
        }
        for (name, at) in [("from", started_at), ("to", last_at), ("ended", ended_at)] {
            if let Some(at) = at {
                write!(out, " {name} {at}").unwrap();
            }
        }
        out.push('\n');
        for lane in read::lanes(tx, no)?.into_iter().filter(|l| !l.lane.is_empty()) {
            writeln!(out, "  lane {} call {:?}", lane.lane, lane.parent_call).unwrap();
        }
        let runs = read::runs(tx, no)?;
        let ordinal: BTreeMap<RunNo, usize> = runs.iter().enumerate().map(|(i, r)| (r.no, i)).collect();
        let mut entries: BTreeMap<i64, String> = BTreeMap::new();
        read::session_turns(tx, &opener, &session, None, |turn| {
            let witnesses: i64 = tx.query_row(
                "SELECT count(*) FROM witnesses WHERE turn_no = ?1 AND record_no != ?2",
                (turn.id, turn.record),
                |r| r.get(0),
            )?;
            entries.insert(turn.id.0, turn.entry.clone());
            let run = ordinal.get(&turn.run).map_or("run of another session".into(), |n| format!("run {n}"));
            write!(out, "  {}", turn.entry).unwrap();
            for (name, value) in [("revision", turn.revision), ("witnesses", witnesses)] {
                if value > 0 {
                    write!(out, " {name} {value}").unwrap();
                }
            }
            let text: String = turn.text.chars().take(60).collect();
            write!(out, " {} {} {run} {text:?}", role_name(turn.role), kind_name(turn.kind)).unwrap();
            let marks = [turn.tool, turn.call, turn.model, turn.speaker];
            for mark in marks.into_iter().flatten() {
                write!(out, " {mark}").unwrap();
            }
            out.push_str(if turn.failed { " failed\n" } else { "\n" });
            Ok(())
        })?;
        for (i, run) in runs.iter().enumerate() {
            let entry = |id: Option<heirloom_engine::scope::TurnId>| {
                id.map_or("-".into(), |id| entries.get(&id.0).cloned().unwrap_or_else(|| "?".into()))
            };
            write!(out, "  run {i} {} {}..{}", run.status, entry(run.prompt), entry(run.answer)).unwrap();
            for (name, value) in [
                ("key", &run.key),
                ("closed by", &run.closed_by),
                ("because", &run.stop_reason),
                ("model", &run.model),
                ("request", &run.request_fingerprint),
            ] {
                if let Some(value) = value {
                    write!(out, " {name} {value}").unwrap();
                }
            }
            let usage = &run.usage;
            if usage.input.is_some() || usage.output.is_some() {
                write!(out, " tokens {:?}/{:?}", usage.input.unwrap_or(0), usage.output.unwrap_or(0)).unwrap();
            }
            writeln!(out, " {}..{}", run.opened_at.unwrap_or(0), run.last_at.unwrap_or(0)).unwrap();
        }
        for read::BoundaryRow { kind, reason, .. } in read::boundaries(tx, no)? {
            writeln!(out, "  boundary {kind} {reason:?}").unwrap();
        }
    }
    Ok(out)
}

/// The little program: it writes JSON lines, or a store of sessions, messages and parts.
pub struct Little {
    pub global_ids: bool,
}

pub const LITTLE: Little = Little { global_ids: false };

/// The little program with entry ids that are unique across sessions.
pub const GLOBAL: Little = Little { global_ids: true };

thread_local! {
    /// Number of rows decoded on this thread: shows what was read again.
    pub static ROWS: Counter<usize> = const { Counter::new(0) };
}

/// Returns the form of a store of the little program, by its name.
pub fn form_of(name: &str) -> Form {
    if name.ends_with(".db") { Form::Foreign } else { Form::Lines }
}

impl Program for Little {
    fn name(&self) -> &'static str {
        "little"
    }

    fn title(&self) -> &'static str {
        "The little program"
    }

    fn global_ids(&self) -> bool {
        self.global_ids
    }

    fn roots(&self) -> Vec<PathBuf> {
        Vec::new()
    }

    fn form(&self, _: &Path) -> Option<Form> {
        Some(Form::Lines)
    }

    fn place(&self, path: &Path) -> Placement {
        let stem = path.file_stem().unwrap_or_default().to_string_lossy().into_owned();
        // The file `session.lane.jsonl` is a lane of `session`.
        let (native, lane) = stem.split_once('.').map_or((stem.as_str(), ""), |(n, l)| (n, l));
        Placement { native: native.to_owned(), lane: lane.to_owned(), agent: None }
    }

    fn decoder(&self, _: &Placement, state: &[u8]) -> Box<dyn Decoder> {
        Box::new(LittleDecoder { model: String::from_utf8(state.to_vec()).unwrap() })
    }

    fn foreign(&self) -> Option<&'static ForeignSpec> {
        Some(&STORE)
    }
}

/// A decoder that remembers the model, which only some lines name.
struct LittleDecoder {
    model: String,
}

impl Decoder for LittleDecoder {
    fn line(&mut self, bytes: &[u8]) -> Decoded {
        assert!(!bytes.iter().all(u8::is_ascii_whitespace), "blank lines are not for decoders");
        let value: Value = match serde_json::from_slice(bytes) {
            Ok(value) => value,
            Err(_) => return Decoded::quarantined("not JSON"),
        };
        if !value.is_object() {
            return Decoded::quarantined("not an object");
        }
        let mut decoded = Decoded::of(RecordClass::Unknown);
        if value["role"].is_string() {
            decoded.class = RecordClass::Conversation;
            decoded.turns = turns_of(&value, &mut self.model);
        }
        if let Some(fact) = value["fact"].as_str() {
            decoded.class = RecordClass::Meta;
            match fact {
                "model" => self.model = string(&value["value"]).unwrap_or_default(),
                _ => decoded.facts.extend(fact_of(fact, &value)),
            }
        }
        decoded
    }

    fn row(&mut self, row: &Row) -> Decoded {
        ROWS.set(ROWS.get() + 1);
        match row.table.as_str() {
            "session" => {
                let mut decoded = Decoded::of(RecordClass::Meta);
                decoded.facts.push(Fact::Session {
                    native: row.text("id").unwrap_or_default().into(),
                    lane: String::new(),
                    parent_call: None,
                });
                decoded.facts.extend(row.text("title").map(|t| Fact::Title(t.into())));
                decoded
            }
            "message" => {
                self.model = format!("{} {}", row.text("role").unwrap_or("user"), row.integer("finished").unwrap_or(0));
                Decoded::of(RecordClass::Meta)
            }
            _ => {
                let Ok(data) = serde_json::from_str::<Value>(row.text("data").unwrap_or_default()) else {
                    return Decoded::quarantined("not JSON");
                };
                let (role, finished) = self.model.split_once(' ').unwrap_or(("user", "0"));
                if finished == "0" && role != "user" {
                    return Decoded::of(RecordClass::Progress);
                }
                let turn = NewTurn {
                    entry: row.text("id").map(str::to_owned),
                    ..NewTurn::new(
                        role_parse(role).unwrap_or(Role::User),
                        TurnKind::Message,
                        string(&data["text"]).unwrap_or_default(),
                    )
                };
                Decoded { turns: vec![turn], ..Decoded::of(RecordClass::Conversation) }
            }
        }
    }

    fn state(&self) -> Vec<u8> {
        self.model.clone().into_bytes()
    }
}

fn string(value: &Value) -> Option<String> {
    value.as_str().map(str::to_owned)
}

fn turns_of(value: &Value, model: &mut str) -> Vec<NewTurn> {
    let kind = match value["kind"].as_str() {
        Some("thinking") => TurnKind::Thinking,
        Some("tool-call") => TurnKind::ToolCall,
        Some("tool-result") => TurnKind::ToolResult,
        Some("compact-summary") => TurnKind::CompactSummary,
        Some("machine-prompt") => TurnKind::MachinePrompt,
        _ => TurnKind::Message,
    };
    let role = role_parse(value["role"].as_str().unwrap_or_default()).unwrap_or(Role::System);
    let usage = value["usage"].as_array().map(|u| Usage {
        input: u.first().and_then(Value::as_u64),
        output: u.get(1).and_then(Value::as_u64),
        ..Usage::default()
    });
    let first = NewTurn {
        entry: string(&value["id"]),
        session: string(&value["session"]),
        parent: string(&value["parent"]),
        speaker: string(&value["speaker"]),
        tool: string(&value["tool"]),
        call: string(&value["call"]),
        failed: value["failed"].as_bool().unwrap_or(false),
        at: value["at"].as_i64(),
        model: (role == Role::Assistant && !model.is_empty()).then(|| model.to_owned()),
        message: string(&value["message"]),
        usage,
        run: string(&value["run"]),
        cwd: string(&value["cwd"]),
        thread: string(&value["thread"]),
        participants: value["participants"].as_array().into_iter().flatten().filter_map(string).collect(),
        echo: value["echo"].as_bool().unwrap_or(false),
        ..NewTurn::new(role, kind, string(&value["text"]).unwrap_or_default())
    };
    let more = value["more"].as_array().cloned().unwrap_or_default();
    let later: Vec<NewTurn> = more
        .iter()
        .enumerate()
        .map(|(i, text)| NewTurn {
            entry: first.entry.as_ref().map(|e| format!("{e}#{}", i + 1)),
            text: string(text).unwrap_or_default(),
            usage: None,
            ..first.clone()
        })
        .collect();
    std::iter::once(first).chain(later).collect()
}

fn fact_of(fact: &str, value: &Value) -> Option<Fact> {
    let text = string(&value["value"]);
    let (run, at) = (string(&value["run"]), value["at"].as_i64());
    Some(match fact {
        "session" => {
            Fact::Session { native: text?, lane: string(&value["lane"]).unwrap_or_default(), parent_call: None }
        }
        "lane-call" => Fact::LaneCall { lane: string(&value["lane"])?, call: text? },
        "title" => Fact::Title(text?),
        "cwd" => Fact::Cwd(text?),
        "version" => Fact::Version(text?),
        "fork-of" => Fact::ForkOf { native: text? },
        "run-end" => {
            let status = match text.as_deref() {
                Some("interrupted") => RunStatus::Interrupted,
                Some("failed") => RunStatus::Failed,
                _ => RunStatus::Completed,
            };
            Fact::RunEnd { run, status, reason: string(&value["reason"]), at }
        }
        "run-usage" => Fact::RunUsage {
            run,
            usage: Usage { input: value["input"].as_u64(), output: value["output"].as_u64(), ..Usage::default() },
        },
        "request" => Fact::RequestFingerprint { run, fingerprint: text? },
        "compaction" => Fact::Compaction { trigger: text, at },
        "segment" => Fact::Segment { reason: text?, at },
        "session-end" => Fact::SessionEnd { at },
        _ => return None,
    })
}

/// Description of the little program's database.
pub static STORE: ForeignSpec = ForeignSpec {
    groups: "SELECT id, changed || '/' || (SELECT count(*) FROM part WHERE session = s.id) FROM session s ORDER BY id",
    heads: &[RowQuery { table: "session", key: &["id"], sql: "SELECT * FROM session WHERE id = ?1" }],
    items: "SELECT id FROM message WHERE session = ?1 ORDER BY id",
    item_rows: &[
        RowQuery { table: "message", key: &["id"], sql: "SELECT * FROM message WHERE session = ?1 AND id = ?2" },
        RowQuery {
            table: "part",
            key: &["id"],
            sql: "SELECT * FROM part WHERE session = ?1 AND message = ?2 ORDER BY id",
        },
    ],
    zstd: &[],
};

pub const STORE_SCHEMA: &str = "
    CREATE TABLE session (id TEXT PRIMARY KEY, title TEXT, changed INTEGER);
    CREATE TABLE message (id TEXT PRIMARY KEY, session TEXT, role TEXT, finished INTEGER);
    CREATE TABLE part (id TEXT PRIMARY KEY, session TEXT, message TEXT, data TEXT);";
