//! Writes that share a commit, with all a write leaves behind: rows, seals and audit rows.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::PoisonError;
use std::sync::atomic::Ordering;
use std::time::Duration;

use super::*;

fn ledger(folder: &Path) -> Ledger {
    std::fs::create_dir(folder.join("backups")).unwrap();
    let ledger =
        Ledger::open(&folder.join("runtime.db"), &folder.join("backups"), Clock::Fixed(7), Open::Full).unwrap();
    // The first write of a ledger adds up all seals; the next ones change some.
    name(&ledger, "first").unwrap();
    ledger
}

/// Writes a row that is sealed, with an audit row of the same name.
fn name(ledger: &Ledger, name: &str) -> Result<()> {
    ledger.write(Audit::new(name, "test.name"), |tx| {
        Ok(tx.execute("INSERT INTO names (name) VALUES (?1)", [name]).map(drop)?)
    })
}

/// Runs the writes of as many threads as there are names at the same moment. Returns what each was told.
fn at_once<'n>(
    ledger: &Ledger,
    names: &[&'n str],
    write: impl Fn(&str) -> Result<()> + Sync,
) -> BTreeMap<&'n str, Result<()>> {
    let told = std::sync::Mutex::new(BTreeMap::new());
    let held = ledger.main.lock().unwrap_or_else(PoisonError::into_inner);
    std::thread::scope(|scope| {
        for name in names {
            let (told, write) = (&told, &write);
            scope.spawn(move || {
                let outcome = write(name);
                told.lock().unwrap().insert(*name, outcome);
            });
        }
        while ledger.waiting.load(Ordering::SeqCst) < names.len() {
            std::thread::sleep(Duration::from_millis(1));
        }
        drop(held);
    });
    told.into_inner().unwrap()
}

/// Returns the names and the actors of audit rows in the ledger, after checking that seals and audit are whole.
fn standing(ledger: &Ledger) -> (BTreeSet<String>, Vec<String>) {
    ledger
        .read(|tx| {
            assert_eq!(seal::broken(tx)?, []);
            assert_eq!(audit::broken_links(tx)?.1, Vec::<String>::new());
            let all = |sql: &str| -> Result<Vec<String>> {
                let mut statement = tx.prepare(sql)?;
                let rows = statement.query_map([], |r| r.get(0))?;
                Ok(rows.collect::<rusqlite::Result<_>>()?)
            };
            let sealed: i64 = tx.query_row("SELECT count(*) FROM seals WHERE name = 'names'", [], |r| r.get(0))?;
            let names: BTreeSet<String> = all("SELECT name FROM names")?.into_iter().collect();
            assert_eq!(sealed, names.len() as i64, "a seal for each row");
            Ok((names, all("SELECT actor FROM audit WHERE action LIKE 'test.%' ORDER BY actor")?))
        })
        .unwrap()
}

const NAMES: [&str; 6] = ["a", "b", "c", "d", "e", "f"];

/// One writer names a missing session, which SQLite notices at the shared commit: nobody's write is stored, and every writer
/// gets the error.
#[test]
fn of_a_shared_commit_that_fails_nothing_stays_and_everyone_is_told() {
    let folder = tempfile::tempdir().unwrap();
    let ledger = ledger(folder.path());
    let mut shared_by_all = false;
    for _ in 0..40 {
        let before = standing(&ledger);
        let told = at_once(&ledger, &NAMES, |one| match one {
            "c" => ledger.write(Audit::new(one, "test.orphan"), |tx| {
                tx.execute_batch("PRAGMA defer_foreign_keys = ON")?;
                tx.execute("INSERT INTO participants (session_no, name_no) VALUES (4711, 4712)", [])?;
                Ok(tx.execute("INSERT INTO names (name) VALUES (?1)", [one]).map(drop)?)
            }),
            _ => ledger.write(Audit::new(one, "test.name"), |tx| {
                tx.execute("INSERT INTO names (name) VALUES (?1)", [one])?;
                Ok(tx.execute("UPDATE names SET name = name || '' WHERE name = ?1", [one]).map(drop)?)
            }),
        });
        assert!(told["c"].is_err());
        for error in told.values().filter_map(|outcome| outcome.as_ref().err()) {
            assert!(error.to_string().contains("FOREIGN KEY"), "{error}");
        }
        let stored: Vec<&str> = told.iter().filter(|(_, outcome)| outcome.is_ok()).map(|(name, _)| *name).collect();
        let (names, audited) = standing(&ledger);
        assert_eq!(names, before.0.iter().cloned().chain(stored.iter().map(|name| (*name).to_owned())).collect());
        assert_eq!(audited.len(), before.1.len() + stored.len(), "{audited:?}");
        let orphans: i64 =
            ledger.read(|tx| Ok(tx.query_row("SELECT count(*) FROM participants", [], |r| r.get(0))?)).unwrap();
        assert_eq!(orphans, 0);
        // The failed commit also rolled back the tables that sealing needs; the next write is sealed all the same.
        let rename = |from: &str, to: &str| {
            let renamed = ledger.write(Audit::new("after", "test.after"), |tx| {
                tx.execute("DELETE FROM names WHERE name != ?1", [from])?;
                Ok(tx.execute("UPDATE names SET name = ?1", [to]).map(drop)?)
            });
            renamed.unwrap();
            standing(&ledger);
        };
        rename("first", "second");
        rename("second", "first");
        // On a busy machine the writers may need more than one commit; then the round is repeated.
        if stored.is_empty() {
            shared_by_all = true;
            break;
        }
    }
    assert!(shared_by_all, "they never shared a commit");
}

/// A writer that fails by itself rolls back only its own part, seals included.
#[test]
fn who_fails_in_a_shared_commit_leaves_the_others_whole() {
    let folder = tempfile::tempdir().unwrap();
    let ledger = ledger(folder.path());
    let told = at_once(&ledger, &NAMES, |one| {
        ledger.write(Audit::new(one, "test.name"), |tx| {
            tx.execute("INSERT INTO names (name) VALUES (?1)", [one])?;
            tx.execute("UPDATE names SET name = name || '!' WHERE name = 'first'", [])?;
            if one < "d" { Err(Error::usage("no")) } else { Ok(()) }
        })
    });
    for (one, outcome) in &told {
        assert_eq!(outcome.is_err(), *one < "d", "{one}");
    }
    let (names, audited) = standing(&ledger);
    // Only the first writer found the name as it was before.
    assert_eq!(names.iter().map(String::as_str).collect::<Vec<_>>(), ["d", "e", "f", "first!"]);
    assert_eq!(audited, ["d", "e", "f", "first"]);
}
