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

/// A write that waits to share a commit is not stored yet: nobody reads it before, and nobody is kept from reading.
#[test]
fn what_waits_for_a_shared_commit_is_not_read() {
    let folder = tempfile::tempdir().unwrap();
    let ledger = ledger(folder.path());
    // As if another thread waited to write: the first one leaves its transaction open for it.
    ledger.waiting.fetch_add(1, Ordering::SeqCst);
    std::thread::scope(|scope| {
        let wrote = scope.spawn(|| name(&ledger, "second"));
        while !ledger.main.lock().unwrap_or_else(PoisonError::into_inner).is_shared() {
            std::thread::sleep(Duration::from_millis(1));
        }
        let count = "SELECT count(*) FROM names WHERE name = 'second'";
        let seen = ledger.read(|tx| Ok(tx.query_row(count, [], |r| r.get::<_, i64>(0))?));
        ledger.waiting.fetch_sub(1, Ordering::SeqCst);
        drop(ledger.main().unwrap());
        wrote.join().unwrap().unwrap();
        assert_eq!(seen.unwrap(), 0);
    });
    assert!(standing(&ledger).0.contains("second"));
}

/// A forget takes words out of the audit log, and leaves a log that nobody else can change.
#[test]
fn what_is_reworded_is_gone_from_the_log_and_the_chain_holds() {
    let folder = tempfile::tempdir().unwrap();
    let ledger = ledger(folder.path());
    for actor in ["ann", "bob", "cy", "bob"] {
        let written = ledger.write(Audit::new(actor, "test.write"), |tx| {
            tx.note("by", actor);
            Ok(())
        });
        written.unwrap();
    }
    let count = |word: &str| ledger.read(|tx| audit::count(tx, |text| text.contains(word))).unwrap();
    assert_eq!((count("ann"), count("bob"), count("nobody")), (1, 2, 0));
    let behind = Connection::open(folder.path().join("runtime.db")).unwrap();
    let first_bob: i64 =
        behind.query_row("SELECT min(audit_no) FROM audit WHERE actor = 'bob'", [], |r| r.get(0)).unwrap();
    let reword = || {
        let new = |text: &str| text.contains("bob").then(|| text.replace("bob", "-"));
        ledger.write(Audit::new("test", "test.reword"), |tx| audit::reword(tx, new)).unwrap()
    };
    assert_eq!(reword(), Some(first_bob));
    assert_eq!((count("ann"), count("bob")), (1, 0));
    assert_eq!(standing(&ledger).1, ["-", "-", "ann", "cy", "first", "test"]);
    assert_eq!(reword(), None);
    let log = "audit";
    let changed = behind.execute(&format!("UPDATE {log} SET actor = 'x'"), []);
    assert!(changed.is_err(), "the log is append-only again");
}

/// Rows with whole and broken numbers in a column of fractions are sound, and of them the changed one alone is named.
#[test]
fn of_rows_with_fractions_only_the_changed_one_is_named() {
    let folder = tempfile::tempdir().unwrap();
    let ledger = ledger(folder.path());
    ledger.main.lock().unwrap().conn.execute_batch("PRAGMA foreign_keys = OFF").unwrap();
    for confidence in ["0.0", "1.0", "-3.0", "0.5", "9.5e14", "1e300"] {
        let filled = ledger.write(Audit::new("test", "test.fill"), |tx| {
            let sql = format!(
                "INSERT INTO pending_memory (agent_no, kind, key, title, text, confidence, state, created_at)
                 VALUES (1, 'k', '{confidence}', 't', 't', {confidence}, 'waits', 1)"
            );
            Ok(tx.execute(&sql, []).map(drop)?)
        });
        filled.unwrap();
        assert_eq!(ledger.read(seal::broken).unwrap(), [], "{confidence}");
    }
    let behind = Connection::open(folder.path().join("runtime.db")).unwrap();
    behind.execute("UPDATE pending_memory SET confidence = 2.0 WHERE confidence = 1.0", []).unwrap();
    assert_eq!(ledger.read(seal::broken).unwrap().len(), 1);
}

/// Another process may migrate the ledger while this one has it open: later writes are sealed with the new columns.
#[test]
fn a_column_another_process_added_is_sealed() {
    let folder = tempfile::tempdir().unwrap();
    let ledger = ledger(folder.path());
    let behind = Connection::open(folder.path().join("runtime.db")).unwrap();
    behind
        .execute_batch("BEGIN; ALTER TABLE names ADD COLUMN extra TEXT DEFAULT 'x'; DELETE FROM seals; COMMIT")
        .unwrap();
    for name_of_row in ["second", "third"] {
        name(&ledger, name_of_row).unwrap();
    }
    standing(&ledger);
    behind.execute("UPDATE names SET extra = 'y' WHERE name = 'third'", []).unwrap();
    let broken = ledger.read(seal::broken).unwrap();
    assert!(broken.iter().any(|(place, _)| place.starts_with("names")), "{broken:?}");
}

/// Returns the size of a ledger's pages and of its main file.
fn pages(path: &Path) -> (i64, u64) {
    let conn = open_for_reading(path).unwrap();
    let size = conn.query_row("PRAGMA page_size", [], |r| r.get(0)).unwrap();
    (size, std::fs::metadata(path).unwrap().len())
}

/// Writes names until the ledger has this many bytes.
fn fill(ledger: &Ledger, bytes: i64) -> usize {
    let mut count = 0;
    while page_size::bytes(&ledger.main().unwrap().conn).unwrap() < bytes {
        let long = "a long name ".repeat(800);
        name(ledger, &format!("{count} {long}")).unwrap();
        count += 1;
        if ledger.grows_at.load(Ordering::Relaxed) == i64::MAX {
            break;
        }
    }
    count
}

#[test]
fn a_new_ledger_is_small_and_gets_large_pages_when_it_has_grown() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("runtime.db");
    drop(ledger(folder.path()));
    let (size, bytes) = pages(&path);
    assert!(size == 512 && bytes < 200_000, "{bytes} bytes in pages of {size}");
    let again = || Ledger::open(&path, &folder.path().join("backups"), Clock::Fixed(8), Open::Full).unwrap();
    let open = again();
    let written = fill(&open, page_size::GROWS_AT);
    assert_eq!(pages(&path).0, 4096);
    name(&open, "after it").unwrap();
    assert_eq!(standing(&open).0.len(), written + 2);
    drop(open);
    assert_eq!(standing(&again()).0.len(), written + 2);
}

#[test]
fn another_process_keeps_the_pages_small_until_it_is_gone() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("runtime.db");
    let open = ledger(folder.path());
    let other = open_for_reading(&path).unwrap();
    let written = fill(&open, page_size::GROWS_AT + (1 << 18));
    assert_eq!(pages(&path).0, 512, "it is read");
    assert_eq!(standing(&open).0.len(), written + 1);
    drop((other, open));
    let again = Ledger::open(&path, &folder.path().join("backups"), Clock::Fixed(8), Open::Full).unwrap();
    assert_eq!(pages(&path).0, 4096);
    let mode: String = again.main().unwrap().conn.query_row("PRAGMA journal_mode", [], |r| r.get(0)).unwrap();
    assert_eq!((mode.as_str(), standing(&again).0.len()), ("wal", written + 1));
}

/// Folder of the ledger that the process to be killed opens.
const FOLDER: &str = "HEIRLOOM_TEST_LEDGER";

/// A process that is killed while the pages grow leaves the ledger with small pages or large ones, and whole.
#[test]
fn a_ledger_whose_growth_is_cut_off_is_whole() {
    let folder = tempfile::tempdir().unwrap();
    let open = ledger(folder.path());
    let other = open_for_reading(&folder.path().join("runtime.db")).unwrap();
    let written = fill(&open, page_size::GROWS_AT + (1 << 18));
    drop((other, open));
    let mut cut_off = 0;
    for delay in 0..40 {
        let copy = tempfile::tempdir().unwrap();
        std::fs::create_dir(copy.path().join("backups")).unwrap();
        let path = copy.path().join("runtime.db");
        std::fs::copy(folder.path().join("runtime.db"), &path).unwrap();
        let mut process = std::process::Command::new(std::env::current_exe().unwrap())
            .args(["--exact", "ledger::tests::a_process_that_opens_a_ledger", "--ignored"])
            .env(FOLDER, copy.path())
            .stdout(std::process::Stdio::null())
            .stderr(std::process::Stdio::null())
            .spawn()
            .unwrap();
        // The file changes when the growth begins; from then on each process is killed a little later.
        let began = std::time::Instant::now();
        let journal = copy.path().join("runtime.db-journal");
        while !journal.exists() && process.try_wait().unwrap().is_none() && began.elapsed() < Duration::from_secs(20) {
            std::thread::yield_now();
        }
        std::thread::sleep(Duration::from_micros(500 * delay));
        process.kill().unwrap();
        process.wait().unwrap();
        cut_off += usize::from(journal.exists());
        let again = Ledger::open(&path, &copy.path().join("backups"), Clock::Fixed(9), Open::Full).unwrap();
        assert_eq!(standing(&again).0.len(), written + 1, "killed {delay} half milliseconds after it began");
        drop(again);
        assert_eq!(pages(&path).0, 4096);
    }
    assert!(cut_off > 0, "no process was killed in the middle");
}

#[test]
#[ignore = "started by a_ledger_whose_growth_is_cut_off_is_whole"]
fn a_process_that_opens_a_ledger() {
    let folder = std::path::PathBuf::from(std::env::var_os(FOLDER).expect(FOLDER));
    Ledger::open(&folder.join("runtime.db"), &folder.join("backups"), Clock::Fixed(8), Open::Full).unwrap();
}
