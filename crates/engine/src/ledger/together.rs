//! Writes of several threads, committed together: a commit waits for the disk, and threads that write at the same
//! moment share one wait.
//!
//! A thread that finds others waiting for the connection leaves its transaction open for the next one, releases the
//! connection and waits. The last thread, behind which nobody waits, commits for all. A write that fails rolls back its
//! own part only. A thread that is alone begins, writes and commits as usual.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use rusqlite::Connection;

use crate::error::{Error, ErrorKind, Result};

/// Longest time a transaction is left open for other threads; other processes wait for it meanwhile.
const LONGEST: Duration = Duration::from_millis(40);

/// The writing connection, and the transaction that was left open on it.
pub(super) struct Writer {
    pub conn: Connection,
    open: Option<Open>,
    /// Called when a whole transaction was rolled back that contained writes which had succeeded.
    taken_back: Box<dyn Fn() + Send>,
}

struct Open {
    shared: Arc<Shared>,
    since: Instant,
}

/// Outcome of a shared commit, for the threads that wait for it.
#[derive(Default)]
struct Shared {
    /// `Some`: the commit has ended, well or with this error.
    outcome: Mutex<Option<Result<(), Arc<Error>>>>,
    known: Condvar,
}

impl Shared {
    fn say(&self, outcome: Result<(), Arc<Error>>) {
        *self.outcome.lock().unwrap_or_else(PoisonError::into_inner) = Some(outcome);
        self.known.notify_all();
    }

    fn wait(&self) -> Result<()> {
        let mut outcome = self.outcome.lock().unwrap_or_else(PoisonError::into_inner);
        loop {
            match &*outcome {
                Some(Ok(())) => return Ok(()),
                Some(Err(e)) => {
                    let same = Error::new(e.kind(), e.to_string());
                    return Err(match e.next_step() {
                        Some(next) => same.hint(next),
                        None => same,
                    });
                }
                None => outcome = self.known.wait(outcome).unwrap_or_else(PoisonError::into_inner),
            }
        }
    }
}

impl Writer {
    /// Makes the writer. `taken_back` is called when a commit fails: writes that had succeeded are not stored after
    /// all.
    pub fn new(conn: Connection, taken_back: impl Fn() + Send + 'static) -> Mutex<Writer> {
        Mutex::new(Writer { conn, open: None, taken_back: Box::new(taken_back) })
    }

    /// Whether a transaction is left open for other threads. Only a writer may use the connection then.
    pub fn is_shared(&self) -> bool {
        self.open.is_some()
    }

    /// Whether the open transaction has to be committed now: no thread waits, or it was open for [`LONGEST`].
    fn is_due(&self, waiting: &AtomicUsize) -> bool {
        waiting.load(Ordering::SeqCst) == 0 || self.open.as_ref().is_some_and(|open| open.since.elapsed() > LONGEST)
    }

    /// Commits; rolls back if the commit fails.
    fn commit(&self) -> Result<()> {
        self.conn.execute_batch("COMMIT").map_err(|e| {
            if !self.conn.is_autocommit() {
                let _ = self.conn.execute_batch("ROLLBACK");
            }
            (self.taken_back)();
            Error::from(e)
        })
    }

    /// Commits the transaction that was left open, if there is one.
    pub fn close(&mut self) -> Result<()> {
        let Some(open) = self.open.take() else { return Ok(()) };
        let outcome = self.commit().map_err(Arc::new);
        let said = outcome.as_ref().copied().map_err(|e| Error::new(e.kind(), e.to_string()));
        open.shared.say(outcome);
        said
    }
}

/// Rolls the connection back to its earlier state if a writer panics.
struct Guarded<'w> {
    writer: MutexGuard<'w, Writer>,
    /// Whether this write is a savepoint in a transaction of other threads, and not a transaction of its own.
    in_others: bool,
    armed: bool,
}

impl Guarded<'_> {
    /// Rolls back this write.
    fn undo(&mut self) -> Result<()> {
        self.armed = false;
        match self.in_others {
            true => Ok(self.writer.conn.execute_batch("ROLLBACK TO one; RELEASE one")?),
            false => Ok(self.writer.conn.execute_batch("ROLLBACK")?),
        }
    }
}

impl Drop for Guarded<'_> {
    fn drop(&mut self) {
        if self.armed {
            let _ = self.undo();
            // Commits for the threads that wait for this transaction: no later writer may come to do it.
            let _ = self.writer.close();
        }
    }
}

/// Runs `f` in a write transaction on the connection. Returns when the changes of `f` are committed, or when they are
/// rolled back. `waiting`: number of threads that wait for the connection; `begin`: begins a transaction.
pub(super) fn write<T>(
    writer: &Mutex<Writer>,
    waiting: &AtomicUsize,
    begin: impl FnOnce(&Connection) -> Result<()>,
    f: impl FnOnce(&Connection) -> Result<T>,
) -> Result<T> {
    waiting.fetch_add(1, Ordering::SeqCst);
    let locked = writer.lock().unwrap_or_else(PoisonError::into_inner);
    waiting.fetch_sub(1, Ordering::SeqCst);
    let mut at = Guarded { in_others: locked.is_shared(), writer: locked, armed: false };
    // If this write unwinds before it has begun, the guard commits the transaction others wait for.
    at.armed = at.in_others;
    match at.in_others {
        true => at.writer.conn.execute_batch("SAVEPOINT one")?,
        false => begin(&at.writer.conn)?,
    }
    at.armed = true;
    let done = match f(&at.writer.conn).and_then(|done| still_open(&at.writer.conn).map(|()| done)) {
        Ok(done) => done,
        Err(e) => {
            let undone = at.undo();
            if at.writer.is_due(waiting) || undone.is_err() {
                // This also wakes the threads that wait for the commit.
                let _ = at.writer.close();
            }
            return Err(e);
        }
    };
    if at.in_others {
        at.writer.conn.execute_batch("RELEASE one")?;
    }
    at.armed = false;
    let is_due = at.writer.is_due(waiting);
    if !at.in_others {
        if is_due {
            at.writer.commit()?;
            return Ok(done);
        }
        at.writer.open = Some(Open { shared: Arc::default(), since: Instant::now() });
    } else if is_due {
        at.writer.close()?;
        return Ok(done);
    }
    let shared = at.writer.open.as_ref().map(|open| Arc::clone(&open.shared));
    drop(at);
    match shared {
        Some(shared) => shared.wait().map(|()| done),
        None => unreachable!("it was left open just above"),
    }
}

/// Fails if SQLite has rolled back the whole transaction by itself, as it does when the disk is full or fails. A write
/// that goes on after that must not report success, nor leave a transaction open.
fn still_open(conn: &Connection) -> Result<()> {
    match conn.is_autocommit() {
        true => Err(Error::new(ErrorKind::Machine, "the database took the write back")),
        false => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Barrier;

    use super::*;

    fn writer() -> (tempfile::TempDir, Mutex<Writer>) {
        let folder = tempfile::tempdir().unwrap();
        let conn = Connection::open(folder.path().join("rows.db")).unwrap();
        conn.execute_batch("PRAGMA journal_mode = WAL; CREATE TABLE rows (n INTEGER PRIMARY KEY)").unwrap();
        (folder, Writer::new(conn, || ()))
    }

    fn begin(conn: &Connection) -> Result<()> {
        Ok(conn.execute_batch("BEGIN IMMEDIATE")?)
    }

    fn insert(conn: &Connection, n: i64) -> Result<()> {
        Ok(conn.execute("INSERT INTO rows VALUES (?1)", [n]).map(drop)?)
    }

    fn rows(writer: &Mutex<Writer>) -> Vec<i64> {
        let writer = writer.lock().unwrap_or_else(PoisonError::into_inner);
        assert!(writer.conn.is_autocommit() && !writer.is_shared(), "a transaction was left open");
        let mut statement = writer.conn.prepare("SELECT n FROM rows ORDER BY n").unwrap();
        statement.query_map([], |r| r.get(0)).unwrap().map(Result::unwrap).collect()
    }

    #[test]
    fn whoever_fails_or_panics_takes_back_its_own_part_only() {
        let (_folder, writer) = writer();
        let waiting = AtomicUsize::new(0);
        let all = Barrier::new(24);
        std::thread::scope(|scope| {
            for n in 0..24_i64 {
                let (writer, waiting, all) = (&writer, &waiting, &all);
                scope.spawn(move || {
                    all.wait();
                    let wrote = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| {
                        write(writer, waiting, begin, |conn| {
                            insert(conn, n)?;
                            std::thread::sleep(Duration::from_millis(2));
                            match n % 4 {
                                1 => Err(Error::usage("no")),
                                2 => panic!("as asked for"),
                                _ => Ok(n),
                            }
                        })
                    }));
                    match n % 4 {
                        1 => assert_eq!(wrote.unwrap().unwrap_err().to_string(), "no"),
                        2 => assert!(wrote.is_err()),
                        _ => assert_eq!(wrote.unwrap().unwrap(), n),
                    }
                });
            }
        });
        assert_eq!(rows(&writer), (0..24).filter(|n| n % 4 == 0 || n % 4 == 3).collect::<Vec<i64>>());
    }

    #[test]
    fn what_the_database_takes_back_is_told_to_all_who_wait_for_it() {
        let (_folder, writer) = writer();
        let waiting = AtomicUsize::new(0);
        let told = Mutex::new(Vec::new());
        let held = writer.lock().unwrap();
        std::thread::scope(|scope| {
            for n in 0..9_i64 {
                let (writer, waiting, told) = (&writer, &waiting, &told);
                scope.spawn(move || {
                    let wrote = write(writer, waiting, begin, |conn| {
                        insert(conn, n)?;
                        // Rolls back as SQLite does by itself when the disk is full, without the writer noticing.
                        if n % 3 == 1 { Ok(conn.execute_batch("ROLLBACK")?) } else { Ok(()) }
                    });
                    assert!(n % 3 != 1 || wrote.is_err());
                    if wrote.is_ok() {
                        told.lock().unwrap().push(n);
                    }
                });
            }
            while waiting.load(Ordering::SeqCst) < 9 {
                std::thread::sleep(Duration::from_millis(1));
            }
            drop(held);
        });
        let mut told = told.into_inner().unwrap();
        told.sort_unstable();
        assert_eq!(rows(&writer), told, "exactly what was told is stored");
    }

    /// The first of two writers leaves its transaction to the second, which finds that the database has taken it back: what
    /// is stored is what was told here, too.
    #[test]
    fn a_transaction_that_was_taken_back_is_left_to_nobody() {
        let (_folder, writer) = writer();
        let (waiting, turn) = (AtomicUsize::new(0), AtomicUsize::new(0));
        let told = Mutex::new(Vec::new());
        let held = writer.lock().unwrap();
        std::thread::scope(|scope| {
            for n in 0..2_i64 {
                let (writer, waiting, turn, told) = (&writer, &waiting, &turn, &told);
                scope.spawn(move || {
                    let wrote = write(writer, waiting, begin, |conn| {
                        insert(conn, n)?;
                        match turn.fetch_add(1, Ordering::SeqCst) {
                            0 => Ok(conn.execute_batch("ROLLBACK")?),
                            _ => Ok(()),
                        }
                    });
                    if wrote.is_ok() {
                        told.lock().unwrap().push(n);
                    }
                });
            }
            while waiting.load(Ordering::SeqCst) < 2 {
                std::thread::sleep(Duration::from_millis(1));
            }
            drop(held);
        });
        let told = told.into_inner().unwrap();
        assert_eq!((told.len(), rows(&writer)), (1, told), "the second one alone");
    }

    /// The last writer, behind which nobody comes, panics: those who left their transaction to it are not left waiting.
    #[test]
    fn whoever_panics_last_commits_for_the_others() {
        let (_folder, writer) = writer();
        let shared = Arc::new((writer, AtomicUsize::new(0), AtomicUsize::new(0)));
        let (tell, told) = std::sync::mpsc::channel();
        let held = shared.0.lock().unwrap();
        for n in 0..2_i64 {
            let (shared, tell) = (Arc::clone(&shared), tell.clone());
            // Not in a scope, which would wait for a thread that waits for ever.
            std::thread::spawn(move || {
                let (writer, waiting, turn) = &*shared;
                let wrote = write(writer, waiting, begin, |conn| {
                    insert(conn, n)?;
                    assert_eq!(turn.fetch_add(1, Ordering::SeqCst), 0, "the second one panics, as asked for");
                    Ok(n)
                });
                tell.send(wrote.unwrap()).unwrap();
            });
        }
        while shared.1.load(Ordering::SeqCst) < 2 {
            std::thread::sleep(Duration::from_millis(1));
        }
        drop(held);
        // Only a writer that is never told lets this time pass.
        let first = told.recv_timeout(Duration::from_secs(20)).expect("the first one is told");
        assert_eq!(rows(&shared.0), [first]);
    }

    #[test]
    fn those_who_wait_share_a_commit_and_nobody_is_told_before_it() {
        let (folder, writer) = writer();
        let waiting = AtomicUsize::new(0);
        // Each commit ends the log with one more frame that says how large the database is.
        let commits = || {
            let log = std::fs::read(folder.path().join("rows.db-wal")).unwrap();
            log[32..].chunks(24 + 4096).filter(|frame| frame[4..8] != [0; 4]).count()
        };
        let before = commits();
        let held = writer.lock().unwrap();
        std::thread::scope(|scope| {
            for n in 0..8_i64 {
                let (writer, waiting, path) = (&writer, &waiting, folder.path().join("rows.db"));
                scope.spawn(move || {
                    write(writer, waiting, begin, |conn| insert(conn, n)).unwrap();
                    let reader = Connection::open(path).unwrap();
                    let seen: i64 =
                        reader.query_row("SELECT count(*) FROM rows WHERE n = ?1", [n], |r| r.get(0)).unwrap();
                    assert_eq!(seen, 1, "it was told and is not committed");
                });
            }
            while waiting.load(Ordering::SeqCst) < 8 {
                std::thread::sleep(Duration::from_millis(1));
            }
            drop(held);
        });
        assert_eq!(rows(&writer).len(), 8);
        assert_eq!(commits() - before, 1, "commits of eight writes");
    }
}
