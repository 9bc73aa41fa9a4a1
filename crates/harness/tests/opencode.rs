//! Tests with OpenCode's rows, from a fixture in the shape of version 1.18.33 and from real stores where these are at
//! hand.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::fs;
use std::path::{Path, PathBuf};

use heirloom_engine::clock::rfc3339;
use heirloom_engine::event::{Decoded, NewTurn, Placement, RecordClass, Role, Row, TurnKind};
use heirloom_engine::source::foreign::{ForeignStore, RowBytes, restore};
use heirloom_harness::opencode::OpenCode;
use heirloom_harness::{Form, Harness, HostPaths};
use proptest::prelude::*;
use rusqlite::Connection;
use serde_json::Value;

#[test]
fn a_session_and_its_sub_agent() {
    for name in ["session", "child"] {
        let rows = fixture(name);
        let mut decoder = OpenCode.decoder(&Placement::default(), &[]);
        let told: String = rows.iter().map(|row| told(&row.key, &decoder.row(row))).collect();
        check_snapshot(&format!("opencode/1.18.33/{name}.txt"), &told);
    }
}

#[test]
fn a_later_sitting_goes_on_where_the_first_stopped() {
    let rows = fixture("session");
    let mut whole = OpenCode.decoder(&Placement::default(), &[]);
    let mut state = Vec::new();
    for row in &rows {
        let mut part = OpenCode.decoder(&Placement::default(), &state);
        assert_eq!(part.row(row), whole.row(row), "{}", row.key);
        state = part.state();
    }
    assert!(state.len() < 2000);
}

#[test]
fn finds_its_store() {
    let host = HostPaths { home: "/home/ada".into(), ..HostPaths::default() };
    assert_eq!(OpenCode.roots(&host), [PathBuf::from("/home/ada/.local/share/opencode")]);
    let host = HostPaths { xdg_data_home: Some("/data".into()), ..host };
    assert_eq!(OpenCode.roots(&host), [PathBuf::from("/data/opencode")]);
    let claims = |path: &str| OpenCode.claims(Path::new(path));
    assert_eq!(claims("/data/opencode/opencode.db"), Some(Form::Foreign));
    assert_eq!(claims("/data/opencode/opencode-beta.db"), Some(Form::Foreign));
    assert_eq!(claims("/data/opencode/opencode.db-wal"), None);
    assert_eq!(claims("/data/opencode/auth.json"), None);
    let sqlite = b"SQLite format 3\0rest";
    assert!(OpenCode.recognises(Path::new("/backup/opencode-old.sqlite"), sqlite));
    assert!(!OpenCode.recognises(Path::new("/backup/other.db"), sqlite));
    assert_eq!(OpenCode.resume("ses_1"), Some("opencode --session ses_1".into()));
    assert_eq!(OpenCode.resume("ses_1; rm"), None);
}

proptest! {
    #[test]
    fn mutated_data_never_panics(which in 0usize..60, at in any::<prop::sample::Index>(), with in r#"[\[\]{}":,0-9a-z\\]{0,4}"#, drop in 0usize..9) {
        let mut rows = fixture("session");
        let which = which % rows.len();
        for (name, cell) in &mut rows[which].columns {
            if let ("data", heirloom_engine::event::Cell::Text(text)) = (name.as_str(), cell) {
                *text = mutated(text, at, &with, drop);
            }
        }
        let mut decoder = OpenCode.decoder(&Placement::default(), with.as_bytes());
        for row in &rows {
            check_decoded(&decoder.row(row));
        }
        decoder.line(with.as_bytes());
    }
}

fn fixture(name: &str) -> Vec<Row> {
    let path = testdata(&format!("opencode/1.18.33/{name}.jsonl"));
    let spec = OpenCode.foreign().unwrap();
    fs::read_to_string(path).unwrap().lines().map(|line| restore(spec, line.as_bytes()).unwrap()).collect()
}

/// Returns a file of this crate's `testdata`.
pub(crate) fn testdata(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("testdata").join(name)
}

/// Returns samples of real sessions, which are not part of the repository.
pub(crate) fn samples(name: &str) -> PathBuf {
    let path = heirloom_testkit::recordings().join("harness/samples").join(name);
    assert!(path.exists(), "there are no samples at {}", path.display());
    path
}

/// Compares a text with a file of `testdata`; with `BLESS=1` writes the file.
pub(crate) fn check_snapshot(name: &str, told: &str) {
    let path = testdata(name);
    if std::env::var_os("BLESS").is_some() {
        fs::write(&path, told).unwrap();
    }
    let expected = fs::read_to_string(&path).unwrap_or_default();
    assert!(told == expected, "{name} differs; it is now:\n{told}");
}

/// Returns one record as text: its class, its facts, its turns.
pub(crate) fn told(place: &str, decoded: &Decoded) -> String {
    let mut out = format!(
        "{place}: {:?}{}\n",
        decoded.class,
        decoded.reason.iter().map(|r| format!(" ({r})")).collect::<String>()
    );
    for fact in &decoded.facts {
        writeln!(out, "    {fact:?}").unwrap();
    }
    for turn in &decoded.turns {
        let NewTurn {
            entry,
            parent,
            session,
            role,
            kind,
            speaker,
            text,
            tool,
            call,
            failed,
            at,
            model,
            message,
            usage,
            run,
            cwd,
            participants,
            thread,
            echo,
        } = turn;
        assert!(session.is_none() && speaker.is_none() && participants.is_empty() && thread.is_none());
        write!(out, "    {role:?} {kind:?} {}", entry.as_deref().unwrap_or("-")).unwrap();
        for (name, value) in [
            ("after", parent),
            ("run", run),
            ("message", message),
            ("tool", tool),
            ("call", call),
            ("model", model),
            ("cwd", cwd),
        ] {
            if let Some(value) = value {
                write!(out, " {name}={value}").unwrap();
            }
        }
        for (name, set) in [("failed", failed), ("echo", echo)] {
            if *set {
                write!(out, " {name}").unwrap();
            }
        }
        if let Some(at) = at {
            write!(out, " {}", rfc3339(*at)).unwrap();
        }
        if let Some(u) = usage {
            write!(out, " tokens={:?}/{:?}/{:?}/{:?}", u.input, u.output, u.cache_read, u.cache_write).unwrap();
        }
        writeln!(out).unwrap();
        for line in text.lines() {
            writeln!(out, "      | {line}").unwrap();
        }
    }
    out
}

/// Asserts properties of every decoded record.
pub(crate) fn check_decoded(decoded: &Decoded) {
    assert_eq!(decoded.class == RecordClass::Quarantined, decoded.reason.is_some());
    for turn in &decoded.turns {
        assert!(!turn.text.trim().is_empty());
    }
}

/// Replaces some characters of a text by others.
pub(crate) fn mutated(text: &str, at: prop::sample::Index, with: &str, drop: usize) -> String {
    let chars: Vec<char> = text.chars().collect();
    if chars.is_empty() {
        return with.into();
    }
    let at = at.index(chars.len());
    let rest = &chars[(at + drop).min(chars.len())..];
    chars[..at].iter().copied().chain(with.chars()).chain(rest.iter().copied()).collect()
}

/// Builds a program's database from its schema and from tables as JSON lines, and leaves it open as the program would.
pub(crate) fn build(path: &Path, samples: &Path, tables: &[&str]) -> Connection {
    let db = Connection::open(path).unwrap();
    db.execute_batch("PRAGMA journal_mode = WAL; PRAGMA foreign_keys = OFF").unwrap();
    let schema = fs::read_to_string(samples.join("schema.sql")).unwrap();
    for table in tables {
        let start = [format!("CREATE TABLE {table} ("), format!("CREATE TABLE `{table}` (")]
            .iter()
            .find_map(|head| schema.find(head.as_str()))
            .unwrap();
        let end = start + schema[start..].find(";\n").unwrap();
        db.execute_batch(&schema[start..end]).unwrap();
        for line in schema.lines().filter(|l| l.contains("INDEX") && l.contains(&format!(" ON `{table}`"))) {
            db.execute_batch(line).unwrap();
        }
        heirloom_testkit::insert_rows(&db, table, &samples.join(format!("{table}.jsonl")));
    }
    db
}

/// Reads a store as the engine does: by group, the number of quarantined rows and the turns.
pub(crate) fn turns_of(harness: &dyn Harness, path: &Path, scratch: &Path) -> BTreeMap<String, (usize, Vec<NewTurn>)> {
    let spec = harness.foreign().unwrap();
    let store = ForeignStore::open(path, &scratch.join("scratch")).unwrap();
    let mut out = BTreeMap::new();
    for group in store.groups(spec).unwrap() {
        let placement = Placement { native: group.key.clone(), ..Placement::default() };
        let mut decoder = harness.decoder(&placement, &[]);
        let (mut aside, mut turns) = (0, Vec::new());
        store
            .read_group(spec, &group.key, |row, bytes| {
                let RowBytes::Whole(bytes) = bytes else { panic!("no row is that long") };
                assert_eq!(restore(spec, &bytes).unwrap(), row);
                let decoded = decoder.row(&row);
                check_decoded(&decoded);
                assert_ne!(decoded.class, RecordClass::Unknown, "{bytes:?}");
                aside += usize::from(decoded.class == RecordClass::Quarantined);
                turns.extend(decoded.turns);
                Ok(())
            })
            .unwrap();
        out.insert(group.key, (aside, turns));
    }
    out
}

/// Returns SQLite's query plan for a statement.
pub(crate) fn plan_of(db: &Connection, sql: &str) -> String {
    let mut statement = db.prepare(&format!("EXPLAIN QUERY PLAN {sql}")).unwrap();
    let values = vec!["x"; statement.parameter_count()];
    let rows = statement.query_map(rusqlite::params_from_iter(values), |row| row.get::<_, String>("detail")).unwrap();
    rows.map(|r| r.unwrap()).collect::<Vec<_>>().join("; ")
}

/// Tests with sessions recorded from the real programs, which are too private and too large to be in the repository.
mod recorded {
    use super::*;

    #[test]
    #[ignore = "needs the recorded sessions beside the repository: just real"]
    fn every_word_of_a_real_store_is_one_turn() {
        let samples = samples("opencode/transcripts/sqlite");
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("opencode.db");
        let writer = build(&path, &samples, &["session", "message", "part"]);
        let turns = turns_of(&OpenCode, &path, folder.path());
        for rows in turns.values() {
            assert!(rows.0 <= 1, "only the shortened row may be set aside");
        }
        let mut said = BTreeMap::new();
        for line in fs::read_to_string(samples.join("part.jsonl")).unwrap().lines() {
            let row: Value = serde_json::from_str(line).unwrap();
            let Ok(data) = serde_json::from_str::<Value>(row["data"].as_str().unwrap()) else { continue };
            if data["type"] == "text" {
                let synthetic = data["synthetic"] == true;
                said.insert(
                    row["id"].as_str().unwrap().to_string(),
                    (data["text"].as_str().unwrap().to_string(), synthetic),
                );
            }
        }
        let all: Vec<&NewTurn> = turns.values().flat_map(|(_, turns)| turns).collect();
        for (id, (text, synthetic)) in &said {
            let found: Vec<_> = all.iter().filter(|t| t.entry.as_ref() == Some(id)).collect();
            assert_eq!(found.len(), 1, "{id}");
            assert_eq!(&found[0].text, text);
            if *synthetic {
                assert_eq!((found[0].role, found[0].kind), (Role::System, TurnKind::MachinePrompt));
            }
        }
        let texts = |role, kind| -> Vec<&str> {
            all.iter().filter(|t| t.role == role && t.kind == kind).map(|t| t.text.as_str()).collect()
        };
        assert_eq!(texts(Role::User, TurnKind::Message).len(), 5);
        assert_eq!(texts(Role::Assistant, TurnKind::Message).iter().filter(|t| t.contains("FAKE-REPLY")).count(), 7);
        assert_eq!(texts(Role::System, TurnKind::CompactSummary).len(), 1);
        assert!(texts(Role::System, TurnKind::MachinePrompt).contains(&"sub work: say hi"));

        // A part is changed in place, in the same millisecond: the fingerprint notices it by the size.
        let spec = OpenCode.foreign().unwrap();
        let store = ForeignStore::open(&path, folder.path()).unwrap();
        let before = store.groups(spec).unwrap();
        writer.execute("UPDATE part SET data = data || ' ' WHERE id = (SELECT max(id) FROM part)", []).unwrap();
        let after = store.groups(spec).unwrap();
        assert_eq!(before.iter().zip(&after).filter(|(a, b)| a != b).count(), 1);
    }

    #[test]
    #[ignore = "needs the recorded sessions beside the repository: just real"]
    fn the_statements_use_the_stores_indexes() {
        let samples = samples("opencode/transcripts/sqlite");
        let folder = tempfile::tempdir().unwrap();
        let writer = build(&folder.path().join("opencode.db"), &samples, &["session", "message", "part"]);
        let spec = OpenCode.foreign().unwrap();
        for sql in spec.item_rows.iter().map(|q| q.sql).chain([spec.items]) {
            let plan = plan_of(&writer, sql);
            assert!(
                plan.contains("SEARCH") && !plan.contains("SCAN") && !plan.contains("TEMP B-TREE"),
                "{sql}: {plan}"
            );
        }
        let plan = plan_of(&writer, spec.groups);
        assert!(plan.contains("part_session_idx") && plan.contains("message_session_time_created_id_idx"), "{plan}");
    }
}
