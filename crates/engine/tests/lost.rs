//! Whole parts of a home are gone or foreign: its pages, its state, its ledger, words of its index, the note of the
//! audit. Verify names each and makes nothing.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use heirloom_engine::clock::Clock;
use heirloom_engine::continuity::open_loop::{self, NewLoop};
use heirloom_engine::engine::Engine;
use heirloom_engine::error::ErrorKind;
use heirloom_engine::instance::{How, Options, SearchRequest};
use rusqlite::Connection;

use crate::world::{LITTLE, Little, NOON};

fn open(home: &Path, how: How) -> heirloom_engine::error::Result<Engine> {
    let little = Little { global_ids: LITTLE.global_ids };
    Engine::open(
        home,
        how,
        Options { clock: Clock::Fixed(NOON), programs: vec![Arc::new(little)], ..Options::default() },
    )
}

/// A home with two turns, an open loop, and an index of all.
struct Lived(tempfile::TempDir);

impl Lived {
    fn new() -> Lived {
        let lived = Lived(tempfile::tempdir().unwrap());
        let engine = open(&lived.home(), How::Create).unwrap();
        for (id, text) in [("a", "The gutter leaks above the porch."), ("b", "Paint before it rains. ⋯ \u{0} … 雨樋")]
        {
            let line = serde_json::json!({"session": "s", "id": id, "role": "user", "text": text}).to_string();
            engine.append("little", true, |appending| appending.line(line.as_bytes())).unwrap();
        }
        let new = NewLoop { title: "Whitewash the barn".into(), ..NewLoop::default() };
        engine.act(|lock| open_loop::add(lock, &new)).unwrap();
        engine.search(&SearchRequest { query: "gutter".into(), ..SearchRequest::default() }).unwrap();
        engine.reindex().unwrap();
        drop(engine);
        lived
    }

    fn home(&self) -> PathBuf {
        self.0.path().join("home")
    }

    fn state(&self, name: &str) -> PathBuf {
        self.home().join("state").join(name)
    }

    fn sql(&self, name: &str) -> Connection {
        Connection::open(self.state(name)).unwrap()
    }

    /// The findings of a verification, a line each, with notes; or the error of opening.
    fn verify(&self) -> Vec<String> {
        let report = match open(&self.home(), How::Check) {
            Ok(engine) => engine.verify().unwrap(),
            Err(e) => return vec![format!("{:?} {e}", e.kind())],
        };
        let notes = report.notes.iter().map(|note| format!("note {note}"));
        report.findings.iter().map(|f| format!("{:?} {}: {}", f.severity, f.subject, f.what)).chain(notes).collect()
    }

    fn files(&self) -> BTreeMap<PathBuf, Vec<u8>> {
        let (mut out, mut left) = (BTreeMap::new(), vec![self.home()]);
        while let Some(folder) = left.pop() {
            for entry in std::fs::read_dir(folder).unwrap() {
                let path = entry.unwrap().path();
                let name = path.to_string_lossy().into_owned();
                match path.is_dir() {
                    true => left.push(path),
                    // SQLite makes and removes them with each connection.
                    false if name.ends_with("-shm") || name.ends_with("-wal") => {}
                    false => drop(out.insert(path.clone(), std::fs::read(path).unwrap())),
                }
            }
        }
        out
    }

    /// Verifies, and expects that nothing in the home is changed by it.
    fn unchanged(&self) -> Vec<String> {
        let before = self.files();
        let found = self.verify();
        assert!(before == self.files(), "verify changed the home");
        found
    }
}

/// A program may give anything as the name of a speaker, a tool or a model.
#[test]
fn a_credential_in_a_name_is_not_shown() {
    let lived = Lived::new();
    let engine = open(&lived.home(), How::Existing).unwrap();
    let secret = ["gh", "p_", "q8Zk2mV0xL7rT4bN9cXw3E5zq8Zk2mV0xL7r"].concat();
    let lines = [
        serde_json::json!({"session": "n", "id": "1", "role": "user", "speaker": secret, "text": "walrus one"}),
        serde_json::json!({"session": "n", "id": "2", "role": "tool", "kind": "tool-call", "tool": secret, "text": "walrus two"}),
    ];
    for line in lines {
        engine.append("little", true, |appending| appending.line(line.to_string().as_bytes())).unwrap();
    }
    let shown = engine.session_turns("little:n", None).unwrap();
    let found = engine.search(&SearchRequest { query: "walrus".into(), ..SearchRequest::default() }).unwrap();
    let all = [serde_json::to_string(&shown).unwrap(), serde_json::to_string(&found).unwrap()];
    for text in all {
        assert!(text.contains("[redacted:github-token]") && !text.contains(&secret[4..20]), "{text}");
    }
}

#[test]
fn a_sound_home_has_no_finding() {
    assert_eq!(Lived::new().unchanged(), Vec::<String>::new());
}

#[test]
fn a_folder_of_pages_that_is_gone_is_named_with_its_files() {
    let lived = Lived::new();
    let pages = lived.home().join("workspaces/main");
    for gone in [pages.clone(), lived.home().join("workspaces")] {
        std::fs::remove_dir_all(gone).unwrap();
        let found = lived.unchanged();
        let start = format!("Stale {}: is gone, with ", pages.display());
        let line = found.iter().find(|line| line.starts_with(&start)).unwrap_or_else(|| panic!("{found:?}"));
        assert!(line.contains(" files; copies of ") && line.contains("heirloom restore"), "{line}");
    }
    let engine = open(&lived.home(), How::Look).unwrap();
    let wrong = engine.status().unwrap().wrong;
    assert_eq!(wrong.iter().filter(|line| line.contains("is gone, with ")).count(), 1, "{wrong:?}");
}

#[test]
fn a_state_that_is_gone_is_a_lost_ledger_and_none_is_made() {
    let lived = Lived::new();
    std::fs::remove_dir_all(lived.home().join("state")).unwrap();
    let found = lived.unchanged();
    assert!(found[0].starts_with("Damaged state/runtime.db is gone although "), "{found:?}");
    assert!(!lived.home().join("state").exists());
}

#[test]
fn an_emptied_ledger_is_a_lost_one() {
    let lived = Lived::new();
    std::fs::write(lived.state("runtime.db"), b"").unwrap();
    let found = lived.unchanged();
    assert!(found[0].starts_with("Damaged state/runtime.db is empty although "), "{found:?}");
    // A command that stores something makes a new one, and says so.
    let engine = open(&lived.home(), How::Create).unwrap();
    assert!(engine.ledger().made_anew().unwrap().is_some());
    drop(engine);
    // An empty file in a new home is a ledger that is just being made.
    let other = tempfile::tempdir().unwrap();
    let home = other.path().join("home");
    drop(open(&home, How::Create).unwrap());
    for entry in std::fs::read_dir(home.join("state")).unwrap().map(|entry| entry.unwrap().path()) {
        let _ = std::fs::remove_file(entry);
    }
    std::fs::write(home.join("state/runtime.db"), b"").unwrap();
    assert_eq!(open(&home, How::Check).err().unwrap().kind(), ErrorKind::NotFound);
    assert!(open(&home, How::Create).unwrap().ledger().made_anew().unwrap().is_none());
}

/// The next command finishes a forget; a check only says that there is one to finish.
#[test]
fn an_unfinished_forget_is_named_and_left_to_the_next_command() {
    let lived = Lived::new();
    let sql = lived.sql("runtime.db");
    sql.execute("INSERT INTO meta (key, value) VALUES ('forgetting/1', '0')", []).unwrap();
    sql.query_row("PRAGMA wal_checkpoint(TRUNCATE)", [], |_| Ok(())).unwrap();
    drop(sql);
    let is_named = |found: &[String]| found.iter().any(|line| line.starts_with("note a forget is not finished"));
    assert!(is_named(&lived.unchanged()), "{:?}", lived.verify());
    drop(open(&lived.home(), How::Existing).unwrap());
    assert!(!is_named(&lived.verify()));
}

/// A check brings no ledger up to date: it says what does.
#[test]
fn a_ledger_of_an_older_version_is_left_as_it_is() {
    let lived = Lived::new();
    let sql = lived.sql("runtime.db");
    let ours: i64 = sql.query_row("PRAGMA user_version", [], |r| r.get(0)).unwrap();
    sql.pragma_update(None, "user_version", ours - 1).unwrap();
    drop(sql);
    let found = lived.unchanged();
    let said = format!("runtime.db has schema {}, this build needs {ours}", ours - 1);
    assert!(found.len() == 1 && found[0].starts_with("Refused ") && found[0].contains(&said), "{found:?}");
}

/// A command that was killed while it created the ledger leaves no older ledger: there is no memory yet.
#[test]
fn a_ledger_that_was_only_begun_is_no_older_one() {
    let folder = tempfile::tempdir().unwrap();
    let home = folder.path().join("home");
    let path = home.join("state/runtime.db");
    std::fs::create_dir_all(path.parent().unwrap()).unwrap();
    let sql = Connection::open(&path).unwrap();
    sql.pragma_update(None, "journal_mode", "WAL").unwrap();
    drop(sql);
    assert_eq!(open(&home, How::Check).err().unwrap().kind(), ErrorKind::NotFound);
}

#[test]
fn a_ledger_made_anew_is_not_called_what_was_stored() {
    let lived = Lived::new();
    for log in ["", "-wal", "-shm"] {
        let _ = std::fs::remove_file(lived.state(&format!("runtime.db{log}")));
    }
    drop(open(&lived.home(), How::Create).unwrap());
    let found = lived.verify();
    let note = "note state/runtime.db was gone on ";
    assert!(found.iter().any(|line| line.starts_with(note) && line.contains("was not checked")), "{found:?}");
}

#[test]
fn an_emptied_index_is_left_as_it_is() {
    let lived = Lived::new();
    std::fs::write(lived.state("index.db"), b"").unwrap();
    let found = lived.unchanged();
    assert!(
        found[0].starts_with("Stale index: it cannot be read") && found[0].contains("heirloom reindex"),
        "{found:?}"
    );
}

#[test]
fn what_is_foreign_or_gone_in_the_schema_is_damage() {
    for (sql, named) in [
        ("DROP TABLE thread_links", "Damaged table thread_links: is gone from the ledger"),
        ("DROP TABLE records", "Damaged table records: is gone from the ledger"),
        ("DROP TABLE meta", "Damaged "),
        ("DROP TRIGGER audit_is_append_only_delete", "Damaged trigger audit_is_append_only_delete: is gone"),
        (
            "CREATE TRIGGER evil AFTER INSERT ON turns BEGIN DELETE FROM profile; END",
            "Damaged trigger evil: is none of ours",
        ),
        ("CREATE VIEW evil AS SELECT 1", "Damaged view evil: is none of ours"),
    ] {
        let lived = Lived::new();
        lived.sql("runtime.db").execute_batch(&format!("PRAGMA foreign_keys = OFF; {sql}")).unwrap();
        let found = lived.verify();
        assert!(found.iter().any(|line| line.starts_with(named)), "{sql}: {found:#?}");
    }
}

#[test]
fn other_words_in_the_index_are_noticed() {
    for (table, word, named) in [
        ("fts_data", "gutter", "Stale index: the words of 1 of 2 turns looked at are not those of their text"),
        ("files_fts_data", "whitewash", "has other words in the search index; heirloom reindex makes it anew"),
    ] {
        let lived = Lived::new();
        let index = lived.sql("index.db");
        let mut statement = index.prepare(&format!("SELECT id, block FROM {table}")).unwrap();
        let rows = statement.query_map([], |r| Ok((r.get(0)?, r.get(1)?))).unwrap();
        let rows: Vec<(i64, Vec<u8>)> = rows.map(Result::unwrap).collect();
        // The first letter of a term may be that of the one before it.
        let tail = &word.as_bytes()[1..];
        let mut changed = 0;
        for (id, mut block) in rows {
            let Some(at) = block.windows(tail.len()).position(|part| part == tail) else { continue };
            block[at + tail.len() - 1] = b'z';
            changed += index
                .execute(&format!("UPDATE {table} SET block = ?2 WHERE id = ?1"), rusqlite::params![id, block])
                .unwrap();
        }
        assert!(changed > 0, "{table} has no {word}");
        drop(statement);
        drop(index);
        let found = lived.verify();
        assert!(found.iter().any(|line| line.contains(named)), "{table}: {found:#?}");
        assert!(found.iter().all(|line| line.starts_with("Stale ")), "{table}: {found:#?}");
    }
}

#[test]
fn a_missing_or_unreadable_note_of_the_audit_is_said() {
    let lived = Lived::new();
    let note = lived.state("audit.head");
    for bytes in [&b""[..], b"garbage\n", &[b'x'; 9000]] {
        std::fs::write(&note, bytes).unwrap();
        let found = lived.unchanged();
        assert!(found.len() == 1 && found[0].starts_with("Stale state/audit.head: "), "{found:?}");
        assert!(found[0].contains("cannot be told"), "{found:?}");
    }
    std::fs::remove_file(&note).unwrap();
    let found = lived.unchanged();
    assert!(found.len() == 1 && found[0].starts_with("note state/audit.head is not there: "), "{found:?}");
    // The next command that writes notes it again.
    let new = NewLoop { title: "Sweep the yard".into(), ..NewLoop::default() };
    open(&lived.home(), How::Create).unwrap().act(|lock| open_loop::add(lock, &new)).unwrap();
    assert_eq!(lived.verify(), Vec::<String>::new());
}
