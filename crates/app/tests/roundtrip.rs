//! Import and export: the export equals what was imported, byte for byte, and nothing is stored twice.

use std::fs;
use std::path::Path;

use heirloom_testkit::recordings;
use rusqlite::Connection;
use rusqlite::types::ValueRef;
use serde_json::{Value, json};

use crate::world::{World, claude_line, copy_tree, files, let_it_settle, openclaw, opencode};

/// Checks that `ebfa19ba`, a fork of `42168750`, shares the turns of the records it begins with.
fn a_fork_shares_its_turns(world: &World, machine: &Path) {
    let original = "claude-code:42168750-c42b-4af5-8041-a62ddf08285b";
    let fork = "claude-code:ebfa19ba-e26b-4ebd-88ee-f4f321434df9";
    let shown = world.json(&["session", "show", fork]);
    let shared_turns = shown["session"]["shared_turns"].as_u64().unwrap();
    assert!(shared_turns > 0, "{shown}");
    let path = files(machine, "ebfa19ba-e26b-4ebd-88ee-f4f321434df9.jsonl").remove(0);
    assert!(world.bytes(&["export", "--session", fork]) == fs::read(path).unwrap());
    let said: Vec<_> = world.turns(fork);
    assert!(said.len() as u64 >= shared_turns);
    let copied: Vec<_> = said.iter().filter(|t| t["session"] == original).collect();
    assert_eq!(copied.len() as u64, shared_turns, "the fork shows what it was copied from");
    // Each shared turn belongs to one session, so that a search finds it once.
    for turn in copied.iter().filter(|t| t["role"] == "user") {
        let text = turn["text"].as_str().unwrap();
        let words: Vec<_> = text.split_whitespace().take(6).collect();
        let hits = world.found(&words.join(" "));
        let same: Vec<_> = hits.iter().filter(|h| h["entry"] == turn["entry"]).collect();
        assert!(same.len() <= 1, "{text:?} is found once: {same:?}");
    }
}

fn exports_by_session_lane_and_folder(world: &World, machine: &Path) {
    let session = "claude-code:42168750-c42b-4af5-8041-a62ddf08285b";
    let lane = "agent-a2d48c78abc98ae15";
    let main = fs::read(files(machine, "42168750-c42b-4af5-8041-a62ddf08285b.jsonl").remove(0)).unwrap();
    let sub = fs::read(files(machine, "agent-a2d48c78abc98ae15.jsonl").remove(0)).unwrap();
    assert!(world.bytes(&["export", "--session", session]) == main);
    assert!(world.bytes(&["export", "--session", "42168750"]) == main, "the beginning of a session's id is enough");
    assert!(world.bytes(&["export", "--session", session, "--lane", lane]) == sub);
    let said = world.says(4, &["export", "--session", session, "--lane", "nobody"]);
    assert!(said.contains(lane), "what there is instead: {said}");

    let out = world.test.folder("out");
    let out = out.to_str().unwrap();
    world.says(0, &["export", "--session", session, "--all", "--out", out]);
    let written = Path::new(out);
    assert!(fs::read(written.join("42168750-c42b-4af5-8041-a62ddf08285b.jsonl")).unwrap() == main);
    assert!(fs::read(written.join("subagents").join(format!("{lane}.jsonl"))).unwrap() == sub);

    let one = written.join("one.jsonl");
    let one = one.to_str().unwrap();
    fs::write(one, "precious").unwrap();
    let said = world.says(3, &["export", "--session", session, "--out", one]);
    assert!(said.contains("one.jsonl exists") && said.contains("--force"), "{said}");
    assert_eq!(fs::read(one).unwrap(), b"precious");
    let said = world.says(3, &["export", "--session", session, "--all", "--out", out]);
    assert!(said.contains("--force"), "{said}");
    let json = world.json(&["export", "--session", session, "--out", one, "--force"]);
    assert_eq!(json["written"][0]["bytes"], main.len());
    assert!(fs::read(one).unwrap() == main);
    world.says(4, &["export", "--session", "claude-code:no-such-session"]);
    world.says(4, &["export", "--source", "/no/such/file.jsonl"]);
    world.says(2, &["export"]);
}

#[test]
fn a_rewritten_file_comes_back_in_both_generations() {
    let world = World::new();
    let session = "11111111-2222-4333-8444-555555555555";
    let path = world.test.folder("project").join(format!("{session}.jsonl"));
    let line =
        |n: usize, text: &str| claude_line(session, n, if n.is_multiple_of(2) { "user" } else { "assistant" }, text);
    let before: String = (0..6).map(|n| line(n, &format!("the word is zephyr{n}")) + "\n").collect();
    fs::write(&path, &before).unwrap();
    world.import(0, &[&path]);
    let after = before.replace("zephyr1", "mistral1") + "unfinished";
    fs::write(&path, &after).unwrap();
    let json = world.import(0, &[&path]);
    assert_eq!(json["sources"]["rewritten"], 1, "{json}");
    let source = path.to_str().unwrap();
    assert_eq!(world.bytes(&["export", "--source", source]), after.as_bytes());
    assert_eq!(world.bytes(&["export", "--source", source, "--generation", "1"]).len(), after.len());
    assert_eq!(world.bytes(&["export", "--source", source, "--generation", "0"]), before.as_bytes());
    let said = world.says(4, &["export", "--source", source, "--generation", "7"]);
    assert!(said.contains('7'), "{said}");
    // The changed line is a revision of the same entry; both are kept, the others are stored once.
    assert_eq!(world.found("mistral1").len(), 1);
    assert_eq!(world.found("zephyr2").len(), 1);
    world.verified();
}

/// Returns the rows of a table, in the canonical form of FORMAT.md.
pub fn rows(path: &Path, table: &str) -> Vec<Value> {
    let db = Connection::open(path).unwrap();
    let mut statement = db.prepare(&format!("SELECT * FROM {table}")).unwrap();
    let columns: Vec<String> = statement.column_names().map(str::to_owned).collect();
    let mut rows = statement.query([]).unwrap();
    let mut out = Vec::new();
    while let Some(row) = rows.next().unwrap() {
        let mut object = serde_json::Map::from_iter([("$table".to_owned(), json!(table))]);
        for (i, name) in columns.iter().enumerate() {
            let value = match row.get_ref(i).unwrap() {
                ValueRef::Null => Value::Null,
                ValueRef::Integer(n) => json!(n),
                ValueRef::Real(x) => json!(x),
                ValueRef::Text(t) => json!(std::str::from_utf8(t).unwrap()),
                ValueRef::Blob(b) => json!({"$blob": base64(b)}),
            };
            object.insert(name.clone(), value);
        }
        out.push(Value::Object(object));
    }
    out
}

fn base64(bytes: &[u8]) -> String {
    const LETTERS: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    let mut out = String::new();
    for chunk in bytes.chunks(3) {
        let n = chunk.iter().fold(0u32, |n, b| n << 8 | u32::from(*b)) << (8 * (3 - chunk.len()));
        for i in 0..4 {
            let letter = char::from(LETTERS[(n >> (18 - 6 * i)) as usize & 63]);
            out.push(if i <= chunk.len() { letter } else { '=' });
        }
    }
    out
}

#[test]
fn what_openclaw_put_away_is_read_like_what_it_has() {
    let world = World::new();
    let folder = world.test.user().join(".openclaw/agents/main/sessions");
    fs::create_dir_all(&folder).unwrap();
    let line =
        |kind: &str, rest: &str| format!("{{\"type\":\"{kind}\",\"timestamp\":\"2026-11-20T10:00:00.000Z\",{rest}}}\n");
    let transcript = line("session", r#""version":4,"id":"3f8c01b3-34b3-4dc8-a6c3-c9456c7ed26f","cwd":"/home/me/x""#)
        + &line("message", r#""id":"a1","parentId":null,"message":{"role":"user","content":"plant the heron"}"#);
    let name = "3f8c01b3-34b3-4dc8-a6c3-c9456c7ed26f.jsonl.deleted.2026-11-20T11-00-00.000Z.c03c34d0";
    let archive = folder.join(format!("{name}.zst"));
    fs::write(&archive, zstd::encode_all(transcript.as_bytes(), 3).unwrap()).unwrap();
    let torn = folder.join(format!("{}.zst", name.replace("3f8c", "4f8c")));
    let whole = zstd::encode_all(transcript.repeat(50).as_bytes(), 3).unwrap();
    fs::write(&torn, &whole[..whole.len() / 2]).unwrap();

    let up = world.json_of(1, &["up"]);
    assert_eq!(up["import"]["turns"]["new"], 1, "{up}");
    let problems = up["import"]["problems"].as_array().unwrap();
    assert!(problems.len() == 1 && problems[0]["what"].as_str().unwrap().contains("cannot be unpacked"), "{up}");
    assert_eq!(world.found("heron").len(), 1);
    let exported = world.bytes(&["export", "--session", "openclaw:3f8c01b3-34b3-4dc8-a6c3-c9456c7ed26f"]);
    assert_eq!(String::from_utf8(exported).unwrap(), transcript, "the contents come back as they were");
    let again = world.json_of(1, &["up"]);
    assert_eq!(again["import"]["turns"]["new"], 0);
    assert_eq!(fs::read_dir(world.test.home().join("state/scratch")).unwrap().count(), 0, "nothing is left unpacked");
    world.verified();
}

/// Rows are committed in batches, whose end may fall on any row.
#[test]
fn a_database_of_more_rows_than_one_batch_holds_is_stored_as_it_is() {
    let world = World::new();
    let path = world.test.folder("opencode").join("opencode.db");
    let mut db = Connection::open(&path).unwrap();
    db.execute_batch(
        "CREATE TABLE session (id TEXT PRIMARY KEY, project_id TEXT, parent_id TEXT, directory TEXT, title TEXT,
           version TEXT, time_created INTEGER, time_updated INTEGER);
         CREATE TABLE message (id TEXT PRIMARY KEY, session_id TEXT, time_created INTEGER, time_updated INTEGER,
           data TEXT);
         CREATE TABLE part (id TEXT PRIMARY KEY, message_id TEXT, session_id TEXT, time_created INTEGER,
           time_updated INTEGER, data TEXT);
         INSERT INTO session VALUES ('ses_1', 'global', NULL, '/home/user/project', 'Long', '1.18.33', 1, 1);",
    )
    .unwrap();
    const MESSAGES: i64 = 2_600;
    let said = |n: i64| format!("Said as number {n}, {}.", "at some length ".repeat(n as usize % 7));
    let tx = db.transaction().unwrap();
    for n in 0..MESSAGES {
        let at = 1_795_168_800_000i64 + n * 1_000;
        let (role, id) = (if n % 2 == 0 { "user" } else { "assistant" }, format!("msg_{n:08}"));
        let mut data = json!({"role": role, "time": {"created": at, "completed": at}, "finish": "stop"});
        if n % 2 == 1 {
            data["parentID"] = json!(format!("msg_{:08}", n - 1));
        }
        let part = json!({"type": "text", "text": said(n)}).to_string();
        tx.execute("INSERT INTO message VALUES (?1, 'ses_1', ?2, ?2, ?3)", rusqlite::params![id, at, data.to_string()])
            .unwrap();
        tx.execute(
            "INSERT INTO part VALUES (?1, ?2, 'ses_1', ?3, ?3, ?4)",
            rusqlite::params![format!("prt_{n:08}"), id, at, part],
        )
        .unwrap();
    }
    tx.commit().unwrap();
    drop(db);
    let imported = world.import(0, &[&path]);
    assert_eq!(imported["records"], 2 * MESSAGES + 1, "{imported}");
    let turns = world.turns("opencode:ses_1");
    assert_eq!(turns.len() as i64, MESSAGES);
    for (n, turn) in turns.iter().enumerate() {
        assert_eq!(turn["text"], said(n as i64));
    }
    world.verified();
    assert_eq!(world.import(0, &[&path])["records"], 0);
}

/// Tests with sessions recorded from the real programs, which are too private and too large for the repository.
mod recorded {
    use super::*;

    #[test]
    #[ignore = "needs the recorded sessions beside the repository: just real"]
    fn every_captured_session_comes_back_byte_for_byte_and_is_stored_once() {
        let shared = recordings();
        let world = World::new();
        let machine = world.test.folder("machine");
        copy_tree(&shared.join("transcripts"), &machine.join("transcripts"));
        for program in ["claude", "codex", "openclaw"] {
            copy_tree(&shared.join("harness/samples").join(program).join("transcripts"), &machine.join(program));
        }
        let rows_only = machine.join("openclaw/sqlite");
        fs::remove_dir_all(rows_only).unwrap();
        let_it_settle();
        let first = world.import(0, &[&machine]);
        assert_eq!((&first["set_aside"], &first["problems"]), (&json!(0), &json!([])));
        let sources = files(&machine, ".jsonl");
        assert_eq!(first["sources"]["read"], sources.len(), "{first}");
        for path in &sources {
            world.exports(path);
        }

        let rows = world.audit_rows();
        let content = world.content();
        let second = world.import(0, &[&machine]);
        assert_eq!(second["turns"]["new"], 0, "{second}");
        assert_eq!((&second["records"], &second["sources"]["unchanged"]), (&json!(0), &json!(sources.len())));
        assert_eq!(world.audit_rows(), rows, "an import that finds nothing new writes nothing");
        assert_eq!(world.content(), content);

        a_fork_shares_its_turns(&world, &machine);
        exports_by_session_lane_and_folder(&world, &machine);
    }

    #[test]
    #[ignore = "needs the recorded sessions beside the repository: just real"]
    fn rows_of_databases_come_back_as_they_are_stored() {
        let shared = recordings();
        let world = World::new();
        let folder = world.test.folder("stores");
        let of_opencode = folder.join("opencode.db");
        let of_openclaw = folder.join("agents/main/agent/openclaw-agent.sqlite");
        opencode(&of_opencode, &shared);
        openclaw(&of_openclaw, &shared);
        world.import(0, &[&of_opencode, &of_openclaw]);
        for (program, path, tables) in [
            ("opencode", &of_opencode, &["session", "message", "part"][..]),
            ("openclaw", &of_openclaw, &["session_windows", "session_nodes", "transcript_events"][..]),
        ] {
            let mut exported: Vec<Value> = Vec::new();
            for key in world.sessions().iter().filter(|k| k.starts_with(&format!("{program}:"))) {
                let text = String::from_utf8(world.bytes(&["export", "--session", key])).unwrap();
                exported.extend(text.lines().map(|l| serde_json::from_str(l).unwrap()));
            }
            let mut stored = Vec::new();
            for table in tables {
                stored.extend(rows(path, table));
            }
            let sort = |mut rows: Vec<Value>| {
                rows.sort_by_key(Value::to_string);
                rows
            };
            assert_eq!(sort(exported), sort(stored), "{program}");
        }
        world.verified();
        let again = world.import(0, &[&of_opencode, &of_openclaw]);
        assert_eq!((&again["records"], &again["turns"]["new"]), (&json!(0), &json!(0)), "{again}");
    }
}
