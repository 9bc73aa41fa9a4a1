//! Damages made by hand, one at a time, in a home with everything in it: `heirloom verify` names each with its place
//! (R4.6).
//!
//! Damages to the ledger keep its rows well formed: no constraint is broken, and no digest in the row itself disagrees.
//! Derived data (the index, pages) is reported as derived, with the command that rebuilds it.

use std::fs;
use std::path::{Path, PathBuf};

use rusqlite::Connection;
use serde_json::json;

use crate::world::{World, copy_tree, let_it_settle, listing};

/// Place of a damage, with the change made there.
enum Where {
    Ledger(&'static str),
    Index(&'static str),
    File(fn(&Path)),
}
use Where::{File, Index, Ledger};

const AUDIT: &str = "DROP TRIGGER audit_is_append_only_delete; DROP TRIGGER audit_is_append_only_update;";

/// Damages: description, change, and a text that `verify` must print.
const DAMAGES: &[(&str, Where, &str)] = &[
    // Blocks and records.
    (
        "a byte of a block",
        Ledger(
            "UPDATE blocks SET data = CAST(substr(data, 1, 30) || x'5a' || substr(data, 32) AS BLOB) WHERE block_no = 1",
        ),
        "block 1",
    ),
    (
        "a block shorter than it says",
        Ledger("UPDATE blocks SET raw_length = raw_length - 1 WHERE block_no = 1"),
        "block 1",
    ),
    ("a block is gone", Ledger("DELETE FROM blocks WHERE block_no = 1"), "block 1 is missing"),
    ("a record is gone", Ledger("DELETE FROM records WHERE record_no = 4"), "audit row"),
    ("a digest of a record", Ledger("UPDATE records SET digest = zeroblob(16) WHERE record_no = 4"), "record 4"),
    (
        "records exchanged",
        Ledger(
            "UPDATE records SET block_offset = CASE record_no WHEN 4 THEN (SELECT block_offset FROM records WHERE record_no = 5) ELSE (SELECT block_offset FROM records WHERE record_no = 4) END WHERE record_no IN (4, 5)",
        ),
        "record 4",
    ),
    (
        "a record nobody read",
        Ledger(
            "INSERT INTO records SELECT 9999, stream_no, generation, 1 << 40, length, class, block_no, block_offset, key, digest, NULL FROM records WHERE record_no = 4",
        ),
        "in no audit row",
    ),
    (
        "a record called forgotten",
        Ledger("UPDATE records SET forgotten = 1, key = x'' WHERE record_no = 4"),
        "record 4",
    ),
    ("a cursor", Ledger("UPDATE streams SET next = next - 1 WHERE stream_no = 1"), "the cursor stands at"),
    ("an unterminated end", Ledger("UPDATE streams SET pending = x'00' WHERE stream_no = 1"), "pending bytes"),
    // Turns.
    (
        "words exchanged",
        Ledger(
            "UPDATE turns SET text_offset = o.off, text_length = o.len FROM (SELECT a.turn_no n, b.text_offset off, b.text_length len FROM turns a JOIN turns b ON a.turn_no + b.turn_no = 7 AND a.block_no = b.block_no WHERE a.turn_no IN (3, 4)) o WHERE turn_no = o.n",
        ),
        "turn t3",
    ),
    ("words cut short", Ledger("UPDATE turns SET text_length = text_length - 2 WHERE turn_no = 3"), "turn t3"),
    ("a role", Ledger("UPDATE turns SET role = 1 - role WHERE turn_no = 3"), "turn t3"),
    ("a kind", Ledger("UPDATE turns SET kind = kind + 1 WHERE turn_no = 3"), "turn t3"),
    ("a time", Ledger("UPDATE turns SET at = at + 60000 WHERE turn_no = 3"), "turn t3"),
    ("a failure", Ledger("UPDATE turns SET failed = 1 WHERE turn_no = 3"), "turn t3"),
    (
        "a speaker",
        Ledger("UPDATE turns SET speaker_no = (SELECT max(name_no) FROM names) WHERE turn_no = 3"),
        "turn t3",
    ),
    ("an entry id", Ledger("UPDATE turns SET entry = 'other' WHERE turn_no = 3"), "turn t3"),
    ("what a turn follows", Ledger("UPDATE turns SET parent = 'other' WHERE turn_no = 3"), "turns, turn_no 0 to 255"),
    (
        "the tokens of a turn",
        Ledger("UPDATE turns SET usage = '{\"input\":1}' WHERE turn_no = 3"),
        "turns, turn_no 0 to 255",
    ),
    (
        "the folder of a turn",
        Ledger("UPDATE turns SET workspace_no = NULL WHERE turn_no = 3"),
        "turns, turn_no 0 to 255",
    ),
    (
        "a turn of another run",
        Ledger("UPDATE turns SET run_no = (SELECT max(run_no) FROM turn_results) WHERE turn_no = 3"),
        "turns, turn_no 0 to 255",
    ),
    (
        "a turn is gone",
        Ledger("DELETE FROM provisional_turns; DELETE FROM turns WHERE turn_no = 3"),
        "turns, turn_no 0 to 255",
    ),
    ("a turn called forgotten", Ledger("UPDATE turns SET forgotten = 1 WHERE turn_no = 3"), "turn t3"),
    // Names and sessions.
    ("a name", Ledger("UPDATE names SET name = 'Eve' WHERE name_no = 1"), "names 1"),
    ("a title", Ledger("UPDATE sessions SET title = 'Another' WHERE session_no = 1"), "sessions 1"),
    ("the end of a session", Ledger("UPDATE sessions SET ended_at = 1 WHERE session_no = 1"), "sessions 1"),
    ("a session's key", Ledger("UPDATE sessions SET session_key = 'turns:other' WHERE session_no = 1"), "sessions 1"),
    ("a folder", Ledger("UPDATE workspaces SET workspace_id = 'other' WHERE workspace_no = 1"), "workspaces 1"),
    (
        "a sub-agent's lane",
        Ledger("UPDATE lanes SET lane = 'other' WHERE lane_no = (SELECT max(lane_no) FROM lanes)"),
        "lanes",
    ),
    (
        "somebody who took part",
        Ledger("INSERT INTO participants SELECT max(session_no), 1 FROM sessions"),
        "participants",
    ),
    // Runs.
    (
        "the status of a run",
        Ledger("UPDATE turn_results SET status = 3 WHERE run_no = 1"),
        "turn_results, run_no 0 to 255",
    ),
    (
        "the model of a run",
        Ledger("UPDATE turn_results SET model_no = (SELECT max(name_no) FROM names) WHERE run_no = 1"),
        "turn_results, run_no 0 to 255",
    ),
    (
        "the answer of a run",
        Ledger("UPDATE turn_results SET answer_turn = 1 WHERE run_no = 1"),
        "turn_results, run_no 0 to 255",
    ),
    // Threads.
    ("a thread's key", Ledger("UPDATE threads SET thread_key = 'topic/other' WHERE thread_no = 1"), "threads 1"),
    ("a thread's label", Ledger("UPDATE threads SET label = 'Other' WHERE thread_no = 1"), "threads 1"),
    (
        "a thread called closed",
        Ledger("UPDATE threads SET state = 'closed', closed_at = 1 WHERE thread_no = 1"),
        "threads 1",
    ),
    ("a name of a thread", Ledger("UPDATE thread_names SET thread_no = 2"), "thread_names"),
    ("a name of a thread is gone", Ledger("DELETE FROM thread_names"), "thread_names: a row is gone"),
    ("a link between threads", Ledger("DELETE FROM thread_links"), "thread_links: a row is gone"),
    (
        "a run in another thread",
        Ledger("UPDATE run_threads SET thread_no = 1 + (thread_no = 1) WHERE run_no = 1"),
        "run_threads, run_no 0 to 255",
    ),
    ("roots emptied", Ledger("DELETE FROM node_roots"), "node_roots"),
    // Summaries.
    ("a summary", Ledger("UPDATE nodes SET summary = summary || ' and more' WHERE node_no = 1"), "node"),
    (
        "a summary is gone",
        Ledger(
            "DELETE FROM node_edges; DELETE FROM node_roots; UPDATE compactions SET node_no = NULL; DELETE FROM nodes",
        ),
        "compactions",
    ),
    ("an edge", Ledger("DELETE FROM node_edges WHERE parent_no = (SELECT max(parent_no) FROM node_edges)"), "node"),
    ("compactions emptied", Ledger("DELETE FROM compactions"), "compactions"),
    ("a compaction", Ledger("UPDATE compactions SET cause = 'other' WHERE compaction_no = 1"), "compactions 1"),
    (
        "where a context was cut",
        Ledger(
            "DELETE FROM boundaries WHERE boundary_no NOT IN (SELECT boundary_no FROM compactions WHERE boundary_no IS NOT NULL); UPDATE boundaries SET reason = 'other'; INSERT INTO boundaries SELECT 777, session_no, lane_no, record_no, 'compact', 'x', NULL FROM turns WHERE turn_no = 1",
        ),
        "boundaries",
    ),
    // The profile, notices and decisions of a person.
    ("the profile", Ledger("UPDATE profile SET value = 'Eve' WHERE key = 'name'"), "profile name"),
    ("the profile emptied", Ledger("DELETE FROM profile"), "profile: a row is gone"),
    (
        "a row of the profile nobody set",
        Ledger("INSERT INTO profile SELECT agent_no, 'city', 'Rome', 'user', 0 FROM profile"),
        "profile city: the row is none of ours",
    ),
    (
        "something that waits for a yes",
        Ledger("UPDATE pending_memory SET text = 'Always deploy on Fridays' WHERE pending_no = 1"),
        "pending_memory 1",
    ),
    ("what waits for a yes is gone", Ledger("DELETE FROM pending_memory"), "pending_memory 1: the row is gone"),
    (
        "a dismissal nobody made",
        Ledger("INSERT INTO dismissals SELECT agent_no, 'memory', 'x', x'00', 0 FROM agents"),
        "dismissals memory x: the row is none of ours",
    ),
    ("what is not to come back", Ledger("DELETE FROM tombstones"), "tombstones 1: the row is gone"),
    ("a run of a job", Ledger("UPDATE scheduled_runs SET exit_code = 1"), "scheduled_runs 1"),
    ("who may write", Ledger("UPDATE channel_events SET state = 'approved'"), "channel_events 1"),
    // Contexts given to programs.
    (
        "a context",
        Ledger(
            "UPDATE contexts SET content = (SELECT content FROM contexts ORDER BY context_no DESC LIMIT 1), key = (SELECT key FROM contexts ORDER BY context_no DESC LIMIT 1) WHERE context_no = 1",
        ),
        "context x:1",
    ),
    (
        "a context is gone",
        Ledger("DELETE FROM injected_items; DELETE FROM contexts WHERE context_no = 1"),
        "contexts: 1 of those that were given are gone",
    ),
    ("the event of a context", Ledger("UPDATE contexts SET event = 'other' WHERE context_no = 1"), "context x:1"),
    ("what was injected", Ledger("DELETE FROM injected_items"), "injected_items"),
    // Pages.
    ("a revision of a page", Ledger("UPDATE head_revisions SET sections = '{}'"), "heads"),
    (
        "the newest revision of a page",
        Ledger("DELETE FROM head_revisions WHERE revision = (SELECT max(revision) FROM head_revisions)"),
        "the newest that is kept is",
    ),
    ("a section of a page", Ledger("UPDATE head_sections SET content = 'other'"), "has other sections than the head"),
    // The audit and the seals.
    ("an audit row is gone", Ledger("DELETE FROM audit WHERE audit_no = 3"), "audit row 3 is missing"),
    ("an audit row", Ledger("UPDATE audit SET at = at + 1 WHERE audit_no = 3"), "audit row 3 was changed"),
    (
        "the newest audit rows",
        Ledger("DELETE FROM audit WHERE audit_no > (SELECT max(audit_no) - 2 FROM audit)"),
        "state/audit.head has row",
    ),
    ("the seals", Ledger("DELETE FROM seals"), "seals: they are gone"),
    ("a seal", Ledger("UPDATE seals SET sum = zeroblob(16) WHERE name = 'profile'"), "profile name"),
    (
        "a row and its seal",
        Ledger("DELETE FROM seals WHERE name = 'profile'; DELETE FROM profile"),
        "seals: they do not add up",
    ),
    (
        "a row, its seal and the sum",
        Ledger(
            "UPDATE seals SET sum = zeroblob(16) WHERE name = '' AND part = 1; DELETE FROM seals WHERE name NOT IN ('', 'x'); DELETE FROM profile",
        ),
        "seals: they are not those audit row",
    ),
    // The index.
    ("words of the index", Index("DELETE FROM fts WHERE rowid = (SELECT max(id) FROM fts_docsize)"), "reindex"),
    ("what the index counts", Index("UPDATE meta SET value = '99' WHERE key = 'rows'"), "reindex"),
    ("a code of a vector", Index("UPDATE vector_codes SET codes = CAST(zeroblob(length(codes)) AS BLOB)"), "index"),
    ("a value of a vector", Index("UPDATE vector_rows SET data = CAST(zeroblob(length(data)) AS BLOB)"), "index"),
    (
        "one sign of a code",
        Index(
            "UPDATE vector_codes SET codes = CAST(substr(codes, 1, 3) || CASE hex(substr(codes, 4, 1)) WHEN '00' THEN x'ff' ELSE x'00' END || substr(codes, 5) AS BLOB)",
        ),
        "the vectors of",
    ),
    (
        "whose a vector is",
        Index("UPDATE vector_codes SET keys = CAST(substr(keys, 1, length(keys) - 1) || x'7f' AS BLOB)"),
        "index",
    ),
    ("the span of vectors", Index("UPDATE vector_codes SET last = first - 1"), "index"),
    ("the sessions of vectors", Index("DELETE FROM vector_groups"), "are not listed for their sessions"),
    ("whose words a row has", File(|home| give_to_another_role(&home.join("state/index.db"))), "the words of"),
    ("lengths of rows", Index("UPDATE row_lengths SET lengths = zeroblob(length(lengths))"), "wrong lengths"),
    ("words by their parts", Index("DELETE FROM word_parts"), "the words of"),
    (
        "a foreign part of a word",
        Index("INSERT INTO word_parts VALUES (1, 'invoice', 'zebrainvoice')"),
        "are of no turn",
    ),
    (
        "words of a node",
        Index("DELETE FROM nodes_fts WHERE rowid = (SELECT max(id) FROM nodes_fts_docsize)"),
        "reindex",
    ),
    (
        "words of a file",
        Index("DELETE FROM files_fts WHERE rowid = (SELECT max(id) FROM files_fts_docsize)"),
        "reindex",
    ),
    ("files of the index", Index("DELETE FROM files"), "index"),
    ("the index is gone", File(|home| fs::remove_file(home.join("state/index.db")).unwrap()), "index: it is missing"),
    ("vectors are gone", Index("DELETE FROM vector_rows"), "reindex"),
    ("the index cut short", File(|home| cut(&home.join("state/index.db"))), "index"),
    ("the index is no database", File(|home| fs::write(home.join("state/index.db"), "words").unwrap()), "index"),
    ("the ledger cut short", File(|home| cut(&home.join("state/runtime.db"))), ""),
    // Visible files.
    (
        "a memory is gone",
        File(|home| remove_first(&home.join("workspaces/main/memory/preference"))),
        "is gone; a copy is kept: heirloom restore",
    ),
    (
        "a memory was emptied",
        File(|home| fs::write(first(&home.join("workspaces/main/memory/preference")), "\0\0").unwrap()),
        "was emptied, or is no text any more; a copy is kept: heirloom restore",
    ),
    (
        "an open loop is gone",
        File(|home| remove_first(&home.join("workspaces/main/continuity/open-loops"))),
        "is gone; a copy is kept: heirloom restore",
    ),
    (
        "a page is gone",
        File(|home| fs::remove_file(home.join("workspaces/main/MEMORY.md")).unwrap()),
        "MEMORY.md: is gone",
    ),
    (
        "a file that cannot be read",
        File(|home| heirloom_testkit::named_pipe(&home.join("workspaces/main/memory/preference/pipe.md"))),
        "pipe.md",
    ),
    ("a copy that is kept", Ledger("UPDATE file_revisions SET data = x'00'"), "a kept copy of it"),
    // Values that other tables keep.
    ("witnesses emptied", Ledger("DELETE FROM witnesses"), "witnesses"),
    ("kept copies emptied", Ledger("DELETE FROM file_revisions"), "file_revisions"),
    ("an agent's name", Ledger("UPDATE agents SET agent_id = 'other' WHERE agent_no = 1"), "agents 1"),
    ("where a file was read", Ledger("UPDATE sources SET path = x'2f78' WHERE source_no = 1"), "sources 1"),
    ("which program wrote it", Ledger("UPDATE sources SET harness = 'other' WHERE source_no = 1"), "sources 1"),
    (
        "the key of a stream",
        Ledger("UPDATE streams SET key = 'other' WHERE stream_no = 1"),
        "streams, stream_no 0 to 255",
    ),
    ("the class of a record", Ledger("UPDATE records SET class = 2 - class WHERE record_no = 4"), "records, record_no"),
    ("the id of the ledger", Ledger("DELETE FROM meta WHERE key = 'ledger_id'"), "has lost its own id"),
    ("a page that is gone from the ledger", Ledger("DELETE FROM heads WHERE head = 'memory'"), "heads"),
    (
        "the content of a page",
        Ledger("UPDATE heads SET content = x'00' WHERE head = 'memory'"),
        "heads memory: the row is not as it was written",
    ),
    (
        "the digest of a context",
        Ledger("UPDATE contexts SET fingerprint = x'00' WHERE context_no = 1"),
        "contexts, context_no 0 to 255",
    ),
    ("the key of forgotten names", Ledger("INSERT INTO meta VALUES ('forgotten', 'x')"), "meta forgotten"),
    (
        "a block nobody wrote",
        Ledger("INSERT INTO blocks SELECT 9999, raw_length, data FROM blocks LIMIT 1"),
        "block 9999",
    ),
    ("the catalogue emptied", Ledger("DELETE FROM catalogue"), "catalogue 1: the row is gone"),
];

fn cut(path: &Path) {
    let bytes = fs::read(path).unwrap();
    fs::write(path, &bytes[..bytes.len() / 2]).unwrap();
}

fn remove_first(folder: &Path) {
    fs::remove_file(first(folder)).unwrap();
}

fn first(folder: &Path) -> PathBuf {
    let mut files: Vec<PathBuf> = fs::read_dir(folder).unwrap().map(|e| e.unwrap().path()).collect();
    files.sort();
    files.into_iter().find(|p| p.is_file()).unwrap()
}

/// Stores a person's row anew with its words, as a row of a tool.
fn give_to_another_role(index: &Path) {
    const SAID: &str = "Please get the roof fixed before winter. Never call on Sundays.";
    let db = Connection::open(index).unwrap();
    let phrase = "text : \"Please get the roof fixed before winter\"";
    let row: i64 = db.query_row("SELECT rowid FROM fts WHERE fts MATCH ?1", [phrase], |r| r.get(0)).unwrap();
    db.execute("DELETE FROM fts WHERE rowid = ?1", [row]).unwrap();
    db.execute("INSERT INTO fts (rowid, text, scope) VALUES (?1, ?2, 'xqrtool')", rusqlite::params![row, SAID])
        .unwrap();
}

/// Makes a home with sessions of programs, threads, summaries, memories, pages, decisions and contexts.
fn lived_in() -> World {
    let world = World::new();
    let demo = world.test.folder("demo");
    copy_tree(&Path::new(env!("CARGO_MANIFEST_DIR")).join("demo"), &demo);
    let_it_settle();
    world
        .import(0, &[&demo.join("claude/projects"), &demo.join("codex/sessions"), &demo.join("household.turns.jsonl")]);
    let lines = [
        json!({"session": "house", "id": "1", "thread": "Roof", "time": "2026-11-20T10:00:00Z", "speaker": "Mara",
               "text": "Please get the roof fixed before winter. Never call on Sundays."}),
        json!({"session": "house", "id": "2", "role": "assistant", "time": "2026-11-20T10:01:00Z",
               "text": "We decided to take the offer because it includes the gutter. TODO: sign the offer."}),
        json!({"session": "tax", "id": "3", "thread": "Tax return", "time": "2026-11-20T11:00:00Z", "speaker": "Mara",
               "text": "The tax return has to be filed by December. I always prefer bank transfers."}),
    ];
    let lines: String = lines.iter().map(|v| format!("{v}\n")).collect();
    assert_eq!(world.feed(&["append"], lines.as_bytes()).status, Some(0));
    for session in ["turns:house", "turns:tax"] {
        world.says(0, &["session", "end", session]);
        world.says(0, &["compact", "--session", session]);
    }
    world.says(0, &["remember", "--class", "preference", "Answer in short sentences"]);
    world.says(0, &["remember", "--class", "preference", "Tea without milk"]);
    world.says(0, &["memory", "forget", "Tea without milk"]);
    world.says(0, &["loop", "add", "Paint the barn"]);
    world.says(0, &["profile", "set", "name", "Mara"]);
    world.says(0, &["thread", "name", "Roof", "The roof"]);
    world.says(0, &["thread", "link", "Roof", "Tax return"]);
    world.says(0, &["channel", "ask", "mail", "bob@example.org"]);
    world.says(0, &["job", "run", "nightly", "--", "true"]);
    world.json(&["context", "--session", "codex:new", "--thread", "Roof"]);
    world.json(&["context", "--session", "codex:newer", "--thread", "Tax return"]);
    let lease = world.json(&["head", "acquire", "active", "--owner", "me"]);
    let (epoch, base) = (lease["epoch"].to_string(), lease["base_revision"].to_string());
    let commit = ["head", "commit", "active", "--owner", "me", "--section", "now", "--epoch", &epoch, "--base", &base];
    assert_eq!(world.feed(&commit, b"Painting.\n").status, Some(0));
    world.says(0, &["work", "--drain"]);
    world.verified();
    // Without a damage nothing is named, so that what is named below is the damage.
    world.says(0, &["verify", "--full"]);
    world
}

#[test]
fn every_damage_is_caught_and_named_with_its_place() {
    let world = lived_in();
    let home = world.test.home();
    // The logs are folded into the databases, so that a copy of each file is whole.
    for name in ["runtime.db", "index.db"] {
        let db = Connection::open(home.join("state").join(name)).unwrap();
        db.query_row("PRAGMA wal_checkpoint(TRUNCATE)", [], |_| Ok(())).unwrap();
    }
    let (mut missed, mut table) = (Vec::new(), String::new());
    for (what, place, expected) in DAMAGES {
        let copy = world.test.folder("copy");
        let _ = fs::remove_dir_all(&copy);
        copy_tree(&home, &copy);
        private(&copy);
        match place {
            Ledger(sql) | Index(sql) => {
                let name = if matches!(place, Ledger(_)) { "state/runtime.db" } else { "state/index.db" };
                let db = Connection::open(copy.join(name)).unwrap();
                let audit = if sql.contains("audit SET") || sql.contains("FROM audit WHERE") { AUDIT } else { "" };
                let before = db.total_changes();
                if let Err(e) = db.execute_batch(&format!("PRAGMA foreign_keys = OFF; {audit} {sql}")) {
                    missed.push(format!("{what} could not be done: {e}"));
                }
                if db.total_changes() == before {
                    missed.push(format!("{what}: nothing was changed"));
                }
            }
            File(damage) => damage(&copy),
        }
        let out = world.run(&["--home", copy.to_str().unwrap(), "verify", "--full", "--json"]);
        let said = format!("{}{}", out.stdout, out.stderr);
        let named = match serde_json::from_str::<serde_json::Value>(&out.stdout) {
            // A file that cannot be opened at all gives an error that names it.
            Ok(report) if report["error"].is_object() => report["error"]["what"].as_str().map(str::to_owned),
            Ok(report) => {
                let all = report["findings"].as_array().cloned().unwrap_or_default();
                let line = |f: &serde_json::Value| {
                    format!("{}: {}", f["subject"].as_str().unwrap_or_default(), f["what"].as_str().unwrap_or_default())
                };
                all.iter().map(line).find(|line| line.contains(expected))
            }
            Err(_) => Some(out.stderr.lines().next().unwrap_or_default().to_owned()),
        };
        if !matches!(out.status, Some(1 | 5)) || named.is_none() {
            missed.push(format!("{what}: {:?} {said}", out.status));
        }
        table += &format!("| {what} | {:?} | {} |\n", out.status, named.unwrap_or_default());
    }
    println!("{table}");
    assert!(missed.is_empty(), "{} of {} missed:\n{}", missed.len(), DAMAGES.len(), missed.join("\n"));
}

/// Sets the file modes a home must have, on a copy.
fn private(folder: &Path) {
    use std::os::unix::fs::PermissionsExt;
    for (path, bytes) in listing(folder) {
        let mode = if bytes.is_some() { 0o600 } else { 0o700 };
        fs::set_permissions(path, fs::Permissions::from_mode(mode)).unwrap();
    }
    fs::set_permissions(folder, fs::Permissions::from_mode(0o700)).unwrap();
}

/// Returns whether this is the file SQLite shares among processes that have a database open.
fn is_shared_memory(path: &Path) -> bool {
    path.to_string_lossy().ends_with("-shm")
}

#[test]
fn looking_changes_no_byte_of_the_home() {
    let world = lived_in();
    let home = world.test.home();
    // A file that was edited, a new file, and a deleted file: the next command reads these changes, `verify` does not.
    remove_first(&home.join("workspaces/main/memory/preference"));
    let notes = home.join("workspaces/main/memory/notes");
    fs::create_dir_all(&notes).unwrap();
    fs::write(notes.join("new.md"), "# New\n").unwrap();
    let bytes = || -> Vec<_> {
        let log = |path: &Path| path.to_string_lossy().ends_with("-wal");
        let all = listing(&home).into_iter().filter(|(path, _)| !is_shared_memory(path));
        all.filter(|(path, bytes)| !(log(path) && bytes.as_ref().is_some_and(Vec::is_empty))).collect()
    };
    let before = bytes();
    for args in [&["verify"][..], &["verify", "--full"], &["verify", "--json"]] {
        world.says(1, args);
        let after = bytes();
        let changed: Vec<_> = after.iter().zip(&before).filter(|(a, b)| a != b).map(|(a, _)| a.0.clone()).collect();
        assert!(before == after, "{args:?}: {changed:?}, {} files before, {} after", before.len(), after.len());
    }
}

/// A ledger that is gone is named each time, with what brings it back, and `verify` makes none.
#[test]
fn a_ledger_that_is_gone_is_named_and_none_is_made() {
    let world = World::new();
    world.feed(&["append"], b"{\"session\":\"s\",\"text\":\"words\"}\n");
    world.json(&["loop", "add", "Paint the barn"]);
    let state = world.test.home().join("state");
    for gone in [&["runtime.db", "runtime.db-wal", "runtime.db-shm"][..], &["index.db"], &["audit.head"]] {
        for name in gone {
            let _ = fs::remove_file(state.join(name));
        }
        let before = listing(&world.test.home());
        for args in [&["verify"][..], &["verify", "--full"], &["verify", "--json"]] {
            let said = world.says(5, args);
            assert!(said.contains("state/runtime.db is gone"), "{said}");
            assert!(said.contains("restore --from"), "{said}");
            assert!(before == listing(&world.test.home()), "{args:?} changed the home");
        }
    }
}
