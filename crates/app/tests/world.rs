//! Shared by the tests of the binary: a world with the binary in it, programs' stores made from the captures, and
//! made-up sessions. Uses only the command line, not the crates behind it.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Stdio;

use heirloom_testkit::{Output, Rng, TestHome};
use rusqlite::Connection;
use serde_json::{Value, json};

pub const HEIRLOOM: &str = env!("CARGO_BIN_EXE_heirloom");

/// A user, their home, and the binary.
pub struct World {
    pub test: TestHome,
}

impl World {
    pub fn new() -> World {
        World { test: TestHome::new() }
    }

    pub fn run(&self, args: &[&str]) -> Output {
        self.test.run(HEIRLOOM, args, b"")
    }

    pub fn feed(&self, args: &[&str], stdin: &[u8]) -> Output {
        self.test.run(HEIRLOOM, args, stdin)
    }

    /// Runs the binary, checks the exit code, and returns standard output and standard error together.
    pub fn says(&self, code: i32, args: &[&str]) -> String {
        let out = self.run(args);
        assert_eq!(out.status, Some(code), "{args:?}\n{}{}", out.stdout, out.stderr);
        format!("{}{}", out.stdout, out.stderr)
    }

    /// Runs the binary with `--json`, checks the exit code, and returns the JSON value.
    pub fn json_of(&self, code: i32, args: &[&str]) -> Value {
        let args = [args, &["--json"]].concat();
        let out = self.run(&args);
        assert_eq!(out.status, Some(code), "{args:?}\n{}{}", out.stdout, out.stderr);
        serde_json::from_str(&out.stdout).unwrap_or_else(|e| panic!("{args:?}: {e}\n{}", out.stdout))
    }

    pub fn json(&self, args: &[&str]) -> Value {
        self.json_of(0, args)
    }

    /// Returns standard output as bytes, of a command that must succeed.
    pub fn bytes(&self, args: &[&str]) -> Vec<u8> {
        let mut command = self.test.command(HEIRLOOM);
        let out = command.args(args).stdin(Stdio::null()).output().unwrap();
        assert!(out.status.success(), "{args:?}\n{}", String::from_utf8_lossy(&out.stderr));
        out.stdout
    }

    /// Imports files, checks the exit code, and returns the report as JSON.
    pub fn import(&self, code: i32, paths: &[&Path]) -> Value {
        let mut args = vec!["import"];
        args.extend(paths.iter().map(|p| p.to_str().unwrap()));
        self.json_of(code, &args)
    }

    /// Checks that a file's export equals the file on disk.
    pub fn exports(&self, path: &Path) {
        let exported = self.bytes(&["export", "--source", path.to_str().unwrap()]);
        assert!(exported == fs::read(path).unwrap(), "{} is exported as it is", path.display());
    }

    /// Verifies the home, which must be sound.
    pub fn verified(&self) -> Value {
        let report = self.json(&["verify"]);
        assert_eq!(report["ok"], true, "{report}");
        report
    }

    pub fn audit_rows(&self) -> i64 {
        self.verified()["checked"]["audit_rows"].as_i64().unwrap()
    }

    /// Returns the session keys, sorted.
    pub fn sessions(&self) -> Vec<String> {
        let list = self.json(&["session", "list", "-n", "100000"]);
        let mut keys: Vec<_> =
            list["sessions"].as_array().unwrap().iter().map(|s| s["session"].as_str().unwrap().to_owned()).collect();
        keys.sort();
        keys
    }

    /// Returns the turns of a session, in full.
    pub fn turns(&self, session: &str) -> Vec<Value> {
        self.json(&["show", "--session", session])["turns"].as_array().unwrap().clone()
    }

    /// Returns the turns of every session, without the numbers that depend on the order of storing.
    pub fn content(&self) -> BTreeMap<String, Vec<Value>> {
        let keys = self.sessions();
        keys.into_iter().map(|key| (key.clone(), without_numbers(self.turns(&key)))).collect()
    }

    /// Returns the hits of a search, best first, without the neighbours shown beside them.
    pub fn found(&self, query: &str) -> Vec<Value> {
        let found = self.json(&["search", "-n", "100", query]);
        let hits = found["hits"].as_array().unwrap().iter();
        hits.filter(|h| h["why"]["beside"].is_null()).cloned().collect()
    }

    pub fn ledger(&self) -> PathBuf {
        self.test.home().join("state/runtime.db")
    }
}

/// Removes the numbers of turns and runs, which depend on the order of storing, so that turns can be compared.
pub fn without_numbers(turns: Vec<Value>) -> Vec<Value> {
    let strip = |mut turn: Value| {
        turn.as_object_mut().unwrap().retain(|k, _| k != "turn" && k != "run");
        turn
    };
    turns.into_iter().map(strip).collect()
}

pub fn keys(value: &Value) -> Vec<&str> {
    value.as_object().unwrap_or_else(|| panic!("no object: {value}")).keys().map(String::as_str).collect()
}

pub fn names(value: &Value, expected: &str) {
    let mut expected: Vec<&str> = expected.split_whitespace().collect();
    expected.sort_unstable();
    let mut found = keys(value);
    found.sort_unstable();
    assert_eq!(found, expected);
}

/// Returns every file below a folder with its bytes, and every folder. What another process deletes meanwhile is left
/// out.
pub fn listing(folder: &Path) -> BTreeMap<PathBuf, Option<Vec<u8>>> {
    let mut found = BTreeMap::new();
    let mut folders = vec![fs::read_dir(folder).unwrap()];
    while let Some(entries) = folders.pop() {
        for entry in entries {
            let path = entry.unwrap().path();
            if path.is_dir() {
                if let Some(entries) = unless_gone(fs::read_dir(&path)) {
                    folders.push(entries);
                    found.insert(path, None);
                }
            } else if let Some(bytes) = unless_gone(fs::read(&path)) {
                found.insert(path, Some(bytes));
            }
        }
    }
    found
}

fn unless_gone<T>(result: std::io::Result<T>) -> Option<T> {
    match result {
        Ok(value) => Some(value),
        Err(e) if e.kind() == std::io::ErrorKind::NotFound => None,
        Err(e) => panic!("{e}"),
    }
}

/// Returns the files below a folder that contain a word, in upper or lower case: in their bytes, in compressed parts of
/// them, or in their names.
pub fn traces(folder: &Path, word: &str) -> Vec<String> {
    let word = word.to_lowercase();
    let has = |bytes: &[u8]| String::from_utf8_lossy(bytes).to_lowercase().contains(&word);
    let mut found = Vec::new();
    for (path, bytes) in listing(folder) {
        let name = path.strip_prefix(folder).unwrap().display().to_string();
        let bytes = bytes.unwrap_or_default();
        // A plain file may contain a whole compressed block; SQLite spreads a blob over pages, so blobs are read
        // through SQLite.
        let mut hidden =
            (0..bytes.len()).any(|at| bytes[at..].starts_with(&[0x28, 0xb5, 0x2f, 0xfd]) && has(&opened(&bytes[at..])));
        if bytes.starts_with(b"SQLite format 3\0") {
            let db = Connection::open_with_flags(&path, rusqlite::OpenFlags::SQLITE_OPEN_READ_ONLY).unwrap();
            hidden |= blobs(&db).iter().any(|blob| has(&opened(blob)));
        }
        if has(&bytes) || hidden || has(name.as_bytes()) {
            found.push(name);
        }
    }
    found
}

/// Decompresses as much as possible.
fn opened(bytes: &[u8]) -> Vec<u8> {
    use std::io::Read as _;
    let mut out = Vec::new();
    if let Ok(decoder) = zstd::stream::read::Decoder::new(bytes) {
        let mut decoder = decoder.single_frame();
        let mut piece = [0; 1 << 16];
        while let Ok(n) = decoder.read(&mut piece) {
            if n == 0 {
                break;
            }
            out.extend_from_slice(&piece[..n]);
        }
    }
    out
}

/// Returns every compressed value of a database.
fn blobs(db: &Connection) -> Vec<Vec<u8>> {
    let tables: Vec<String> = {
        let mut statement = db
            .prepare("SELECT name FROM sqlite_schema WHERE type = 'table' AND sql NOT LIKE 'CREATE VIRTUAL%'")
            .unwrap();
        statement.query_map([], |r| r.get(0)).unwrap().map(Result::unwrap).collect()
    };
    let mut all = Vec::new();
    for table in tables {
        let mut statement = db.prepare(&format!("SELECT * FROM \"{table}\"")).unwrap();
        let columns = statement.column_count();
        let mut rows = statement.query([]).unwrap();
        while let Some(row) = rows.next().unwrap() {
            for at in 0..columns {
                if let rusqlite::types::ValueRef::Blob(bytes) = row.get_ref(at).unwrap()
                    && bytes.starts_with(&[0x28, 0xb5, 0x2f, 0xfd])
                {
                    all.push(bytes.to_vec());
                }
            }
        }
    }
    all
}

/// Returns the files below a folder whose path ends with `end`, sorted. A worker may be writing there: files that
/// vanish meanwhile are left out.
pub fn files(folder: &Path, end: &str) -> Vec<PathBuf> {
    let mut found = Vec::new();
    let mut folders = vec![folder.to_owned()];
    while let Some(folder) = folders.pop() {
        for entry in fs::read_dir(&folder).into_iter().flatten() {
            let path = entry.unwrap().path();
            if path.is_dir() {
                folders.push(path);
            } else if path.to_string_lossy().ends_with(end) {
                found.push(path);
            }
        }
    }
    found.sort();
    found
}

pub fn copy_tree(from: &Path, to: &Path) {
    fs::create_dir_all(to).unwrap();
    for entry in fs::read_dir(from).unwrap() {
        let path = entry.unwrap().path();
        let target = to.join(path.file_name().unwrap());
        if path.is_dir() { copy_tree(&path, &target) } else { fs::copy(&path, &target).map(drop).unwrap() }
    }
}

/// Waits long enough for the time of a file's last change to prove that it has not changed since.
pub fn let_it_settle() {
    std::thread::sleep(std::time::Duration::from_millis(300));
}

/// Makes a program's database from a captured schema and rows. Compressed events are stored as that program writes
/// them.
pub fn database(path: &Path, samples: &Path) {
    fs::create_dir_all(path.parent().unwrap()).unwrap();
    let db = Connection::open(path).unwrap();
    db.execute_batch("PRAGMA foreign_keys = OFF").unwrap();
    let schema = fs::read_to_string(samples.join("schema.sql")).unwrap();
    let schema = schema.replace("CREATE TABLE sqlite_sequence(name,seq);", "");
    db.execute_batch(&schema).unwrap_or_else(|e| panic!("{}: {e}", samples.display()));
    // Triggers belong to the program, not to its stored data, and are removed.
    let triggers: Vec<String> = {
        let mut statement = db.prepare("SELECT name FROM sqlite_schema WHERE type = 'trigger'").unwrap();
        statement.query_map([], |r| r.get(0)).unwrap().map(Result::unwrap).collect()
    };
    for trigger in triggers {
        db.execute_batch(&format!("DROP TRIGGER \"{trigger}\"")).unwrap();
    }
    for table in files(samples, ".jsonl") {
        let name = table.file_stem().unwrap().to_str().unwrap();
        heirloom_testkit::insert_rows(&db, name, &table);
    }
    // Captured values are shortened in places, which real values are not.
    for (table, column) in [("part", "data"), ("transcript_events", "event_json")] {
        let known = "SELECT count(*) FROM sqlite_schema WHERE type = 'table' AND name = ?1";
        if db.query_row(known, [table], |r| r.get::<_, i64>(0)).unwrap() > 0 {
            let short =
                format!("UPDATE {table} SET {column} = '{{\"type\":\"shortened\"}}' WHERE NOT json_valid({column})");
            db.execute(&short, []).unwrap();
        }
    }
    db.close().unwrap();
}

pub fn opencode(path: &Path, shared: &Path) {
    database(path, &shared.join("harness/samples/opencode/transcripts/sqlite"));
}

/// Makes OpenClaw's database; one user message is stored compressed, as the program does with large ones. Returns that
/// message.
pub fn openclaw(path: &Path, shared: &Path) -> String {
    database(path, &shared.join("harness/samples/openclaw/transcripts/sqlite"));
    let db = Connection::open(path).unwrap();
    let (seq, event): (i64, String) = db
        .query_row(
            "SELECT seq, event_json FROM transcript_events WHERE event_json LIKE '%\"role\":\"user\"%' LIMIT 1",
            [],
            |r| Ok((r.get(0)?, r.get(1)?)),
        )
        .unwrap();
    let packed = zstd::encode_all(event.as_bytes(), 3).unwrap();
    let navigation = json!({"version": 1, "report": {"kind": "canonical"}, "navigation": {}, "reset": {}, "model": {},
        "modelBytes": 0, "modelWithoutCheckpointBytes": 0, "withoutCustomDataBytes": 0});
    db.execute(
        "UPDATE transcript_events SET event_json = NULL, event_zstd = ?2, event_utf8_bytes = ?3, navigation_json = ?4
         WHERE seq = ?1",
        rusqlite::params![seq, packed, event.len() as i64, navigation.to_string()],
    )
    .unwrap();
    db.close().unwrap();
    let event: Value = serde_json::from_str(&event).unwrap();
    let content = &event["message"]["content"];
    content.as_str().or_else(|| content[0]["text"].as_str()).unwrap().to_owned()
}

/// Returns a few words and much encoded data, which is stored but not indexed: large sessions that import quickly.
pub fn words_and_data(rng: &mut Rng, words: usize, data: usize) -> String {
    let mut text = String::new();
    for _ in 0..words {
        text += &format!("w{:x} ", rng.below(60_000));
    }
    while text.len() < data {
        text += &format!("{:016x}", rng.next_u64());
    }
    text
}

/// Returns a line of a made-up Claude Code session: a prompt or an answer.
pub fn claude_line(session: &str, n: usize, role: &str, text: &str) -> String {
    let content = if role == "user" { json!(text) } else { json!([{"type": "text", "text": text}]) };
    let second = n % 60;
    let minute = n / 60 % 60;
    let hour = n / 3600 % 24;
    json!({
        "parentUuid": null, "isSidechain": false, "userType": "external", "cwd": "/home/user/project",
        "sessionId": session, "version": "2.1.330", "gitBranch": "main", "type": role,
        "message": {"role": role, "content": content, "id": format!("msg_{session}_{n}"), "model": "made-up-1"},
        "uuid": format!("{session}-{n}"), "timestamp": format!("2026-11-21T{hour:02}:{minute:02}:{second:02}.000Z"),
    })
    .to_string()
}
