//! The ledger itself: audit, migrations, ways of opening.

use std::os::unix::fs::PermissionsExt;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use heirloom_engine::clock::Clock;
use heirloom_engine::error::{Error, ErrorKind};
use heirloom_engine::ledger::{Audit, Ledger, Open, SCHEMA_VERSION, audit, blocks, last_row_of};

use crate::world::{LITTLE, World, said};

fn open(folder: &std::path::Path, how: Open) -> Result<Ledger, Error> {
    Ledger::open(&folder.join("runtime.db"), &folder.join("backups"), Clock::System, how)
}

const HOT: Open = Open::Hot { busy: Duration::from_millis(50) };

fn told(world: &World) -> World {
    let other = World::new();
    drop(std::fs::copy(world.ledger.path(), other.path("copy.db")));
    other
}

#[test]
fn a_changed_audit_row_is_named() {
    let world = World::new();
    for i in 0..4 {
        world.write(&format!("s{i}.jsonl"), said("a", "user", "one"));
        world.import(&[&format!("s{i}.jsonl")]);
    }
    let broken = |world: &World| world.ledger.read(audit::broken_links).unwrap();
    assert_eq!(broken(&world), (4, vec![]));
    let conn = world.sql();
    assert!(conn.execute("UPDATE audit SET actor = 'nobody' WHERE audit_no = 2", []).is_err(), "audit is append-only");
    assert!(conn.execute("DELETE FROM audit WHERE audit_no = 2", []).is_err(), "audit is append-only");
    conn.execute_batch("DROP TRIGGER audit_is_append_only_update; DROP TRIGGER audit_is_append_only_delete").unwrap();
    conn.execute("UPDATE audit SET actor = 'nobody' WHERE audit_no = 2", []).unwrap();
    assert_eq!(broken(&world), (4, vec!["audit row 2 was changed".into()]));
    // If the row's hash is recomputed, the next row shows the change.
    let row = "SELECT prev, at, agent_no, action, detail FROM audit WHERE audit_no = 2";
    let hash = conn.query_row(row, [], |r| {
        let (prev, agent): (Vec<u8>, Option<i64>) = (r.get(0)?, r.get(2)?);
        let (at, action, detail): (i64, String, String) = (r.get(1)?, r.get(3)?, r.get(4)?);
        let agent = agent.map_or("-".to_owned(), |n| n.to_string());
        let mut hashed = prev;
        for part in ["2", &at.to_string(), &agent, "nobody", &action, &detail] {
            hashed.extend((part.len() as u64).to_le_bytes());
            hashed.extend(part.as_bytes());
        }
        Ok(blake3::hash(&hashed).as_bytes().to_vec())
    });
    conn.execute("UPDATE audit SET hash = ?1 WHERE audit_no = 2", [hash.unwrap()]).unwrap();
    assert_eq!(broken(&world), (4, vec!["audit row 3 does not follow the row before it".into()]));
    conn.execute("DELETE FROM audit WHERE audit_no = 2", []).unwrap();
    assert_eq!(broken(&world), (3, vec!["audit row 2 is missing".into()]));
}

#[test]
fn a_mutation_whose_audit_fails_is_undone() {
    let world = World::new();
    world.sql().execute_batch("CREATE TRIGGER no BEFORE INSERT ON audit BEGIN SELECT raise(ABORT, 'no'); END").unwrap();
    world.write("s.jsonl", said("a", "user", "one"));
    assert!(world.try_import(&LITTLE, &world.agent, &["s.jsonl"], None).is_err());
    for table in ["agents", "sources", "streams", "blocks", "records", "sessions", "turns", "turn_results", "jobs"] {
        assert_eq!(world.count(&format!("SELECT count(*) FROM {table}")), 0, "{table}");
    }
    world.sql().execute_batch("DROP TRIGGER no").unwrap();
    world.import(&["s.jsonl"]);
    world.assert_kept("s.jsonl");
}

#[test]
fn a_mutation_that_fails_leaves_no_audit_row() {
    let world = World::new();
    let done: Result<(), Error> = world.ledger.write(Audit::new("test", "agent.make"), |tx| {
        heirloom_engine::transcript::read::ensure_agent(tx, &world.agent)?;
        Err(Error::usage("changed my mind"))
    });
    assert!(done.is_err());
    assert_eq!((world.audit_rows(), world.count("SELECT count(*) FROM agents")), (0, 0));
}

#[test]
fn a_newer_schema_is_refused_by_name_and_left_alone() {
    let world = World::new();
    world.sql().pragma_update(None, "user_version", SCHEMA_VERSION + 1).unwrap();
    for how in [Open::Full, HOT, Open::ReadOnly] {
        let error = open(world.folder.path(), how).err().unwrap();
        assert_eq!(error.kind(), ErrorKind::Refused);
        assert!(error.to_string().contains("was written by a newer Heirloom"), "{error}");
    }
}

#[test]
fn a_database_of_somebody_else_is_refused_and_left_alone() {
    for setup in ["CREATE TABLE theirs (a)", "PRAGMA user_version = 1; CREATE TABLE meta (key, value)"] {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("runtime.db");
        rusqlite::Connection::open(&path).unwrap().execute_batch(setup).unwrap();
        let before = std::fs::read(&path).unwrap();
        for how in [Open::Full, HOT, Open::ReadOnly] {
            let error = open(folder.path(), how).err().unwrap();
            assert_eq!(error.kind(), ErrorKind::Refused, "{error}");
            assert!(error.to_string().contains("is not a Heirloom ledger"), "{error}");
        }
        assert!(before == std::fs::read(&path).unwrap(), "it was changed");
    }
    let folder = tempfile::tempdir().unwrap();
    std::fs::write(folder.path().join("runtime.db"), "no database at all ".repeat(300)).unwrap();
    assert_eq!(open(folder.path(), Open::Full).err().unwrap().kind(), ErrorKind::Damaged);
}

#[test]
fn a_hot_open_neither_makes_nor_migrates() {
    let folder = tempfile::tempdir().unwrap();
    assert_eq!(open(folder.path(), HOT).err().unwrap().kind(), ErrorKind::Refused);
    assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 0);
    rusqlite::Connection::open(folder.path().join("runtime.db"))
        .unwrap()
        .execute_batch("PRAGMA journal_mode = WAL")
        .unwrap();
    let error = open(folder.path(), HOT).err().unwrap();
    assert_eq!(error.kind(), ErrorKind::Refused);
    assert!(error.to_string().contains("has schema 0, this build needs"), "{error}");
    open(folder.path(), Open::Full).unwrap();
    open(folder.path(), HOT).unwrap();
}

#[test]
fn a_hot_open_waits_no_longer_than_it_may() {
    let world = World::new();
    let hot = open(world.folder.path(), HOT).unwrap();
    let conn = world.sql();
    conn.execute_batch("BEGIN IMMEDIATE").unwrap();
    let start = std::time::Instant::now();
    let error = hot.write(Audit::new("hook", "test.nothing"), |_| Ok(())).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Busy);
    assert!(start.elapsed() < Duration::from_secs(2));
}

#[test]
fn a_ledger_can_be_read_where_nothing_can_be_written() {
    let world = World::new();
    world.write("s.jsonl", said("a", "user", "one"));
    world.import(&["s.jsonl"]);
    let World { folder, ledger, .. } = world;
    drop(ledger);
    std::fs::set_permissions(folder.path(), std::fs::Permissions::from_mode(0o500)).unwrap();
    if std::fs::write(folder.path().join("probe"), "").is_ok() {
        println!("skipped: permissions do not bind root");
        std::fs::set_permissions(folder.path(), std::fs::Permissions::from_mode(0o700)).unwrap();
        return;
    }
    let turns = open(folder.path(), Open::ReadOnly)
        .and_then(|l| l.read(|tx| Ok(tx.query_row("SELECT count(*) FROM turns", [], |r| r.get::<_, i64>(0))?)));
    std::fs::set_permissions(folder.path(), std::fs::Permissions::from_mode(0o700)).unwrap();
    assert_eq!(turns.unwrap(), 1);
}

#[test]
fn the_ledger_keeps_its_promises_to_sqlite() {
    assert!(rusqlite::version_number() >= 3_051_003, "{}", rusqlite::version());
    let world = World::new();
    world
        .ledger
        .read(|tx| {
            let pragma = |name: &str| tx.query_row(&format!("PRAGMA {name}"), [], |r| r.get::<_, i64>(0));
            assert_eq!((pragma("synchronous")?, pragma("foreign_keys")?, pragma("trusted_schema")?), (2, 1, 0));
            assert_eq!(tx.query_row("PRAGMA journal_mode", [], |r| r.get::<_, String>(0))?, "wal");
            Ok(())
        })
        .unwrap();
    assert_eq!(told(&world).findings(), Vec::<String>::new());
}

/// The file may leave its place while a write is made or a copy is taken. What then ends in a file outside the home is
/// not acknowledged.
#[test]
fn what_ends_outside_the_home_is_not_acknowledged() {
    let folder = tempfile::tempdir().unwrap();
    let is_away = Arc::new(AtomicBool::new(false));
    let seen = Arc::clone(&is_away);
    let ledger = open(folder.path(), Open::Full).unwrap().held_at(move || match seen.load(Ordering::Relaxed) {
        true => Err(Error::refused("it was moved")),
        false => Ok(()),
    });
    let write = |moves: bool| {
        ledger.write(Audit::new("test", "test.write"), |_| {
            is_away.store(moves, Ordering::Relaxed);
            Ok(())
        })
    };
    write(false).unwrap();
    assert_eq!(write(true).unwrap_err().kind(), ErrorKind::Refused, "it was moved during the write");
    let copied = ledger.copy_to(&folder.path().join("copy.db"));
    assert_eq!(copied.unwrap_err().kind(), ErrorKind::Refused);
    is_away.store(false, Ordering::Relaxed);
    ledger.copy_to(&folder.path().join("again.db")).unwrap();
}

/// A copy whose structure is damaged is no backup.
#[test]
fn a_damaged_copy_has_no_last_row() {
    let world = World::new();
    world.write("s.jsonl", said("a", "user", "one"));
    world.import(&["s.jsonl"]);
    let copy = world.path("copy.db");
    world.ledger.copy_to(&copy).unwrap();
    assert_eq!(last_row_of(&copy).unwrap(), world.audit_rows());
    // The pages of an index belong to nothing now; the rows can still be read.
    let damaged = rusqlite::Connection::open(&copy).unwrap();
    damaged.execute_batch("PRAGMA writable_schema = ON; DELETE FROM sqlite_schema WHERE name = 'turns_call'").unwrap();
    drop(damaged);
    assert_eq!(last_row_of(&copy).unwrap_err().kind(), ErrorKind::Damaged);
}

#[test]
fn rows_of_the_audit_are_found_by_number_and_by_word() {
    let world = World::new();
    for (actor, by) in [("ann", "bob"), ("cy", "ann"), ("cy", "cy")] {
        let written = world.ledger.write(Audit::new(actor, "test.write"), |tx| {
            tx.note("by", by);
            Ok(())
        });
        written.unwrap();
    }
    let agent = world.agent_no();
    let numbers = |rows: Vec<audit::Entry>| rows.iter().map(|row| row.no).collect::<Vec<_>>();
    world
        .ledger
        .read(|tx| {
            assert_eq!(numbers(audit::after(tx, agent, 1, 9)?), [2, 3]);
            assert_eq!(numbers(audit::list(tx, agent, Some(3), 9)?), [2, 1]);
            let count = |word: &str| audit::count(tx, |text| text.contains(word));
            assert_eq!((count("ann")?, count("bob")?, count("cy")?, count("dan")?), (2, 1, 2, 0));
            Ok(())
        })
        .unwrap();
}

/// The chain covers whose act a row tells of, like everything else in it.
#[test]
fn a_row_of_the_audit_given_to_another_agent_is_named() {
    let world = World::new();
    world.write("s.jsonl", said("a", "user", "one"));
    world.import(&["s.jsonl"]);
    let agent = world.agent_no();
    world.ledger.write(Audit::new("test", "test.write").of_agent(agent), |_| Ok(())).unwrap();
    let conn = world.sql();
    conn.execute_batch("DROP TRIGGER audit_is_append_only_update").unwrap();
    let changed = conn.execute("UPDATE audit SET agent_no = NULL WHERE action = 'test.write'", []).unwrap();
    assert_eq!(changed, 1);
    assert_eq!(world.ledger.read(audit::broken_links).unwrap().1, ["audit row 2 was changed"]);
}

/// The text of a turn has no digest of its own: its frame has.
#[test]
fn a_flipped_bit_is_not_read_as_text() {
    let mut data = blocks::squeeze(b"Nobody reads a flipped bit as text.").unwrap();
    let at = data.windows(7).position(|part| part == b"flipped").expect("so short a text is stored as it is");
    data[at] ^= 0x20;
    assert_eq!(blocks::unsqueeze(&data).unwrap_err().kind(), ErrorKind::Damaged);
}
