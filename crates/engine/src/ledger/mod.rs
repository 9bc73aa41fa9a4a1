//! The ledger: one SQLite file, several processes, every mutation with its reason. Storey 1 (R4.1, R4.2).
//!
//! [`Ledger::read`] and [`Ledger::write`] take closures: a write is `BEGIN IMMEDIATE`, ends in one audit row, and rolls
//! back as a whole if that row cannot be written. So there is one writer at a time across all processes, and an
//! acknowledged write is committed and synced. [`Open::Full`], for commands, migrates and checkpoints; [`Open::Hot`],
//! for hooks, does neither.
//!
//! A ledger is `Send + Sync`. One connection writes; a read uses it while no other thread does, so that a process with
//! one thread (a command, a hook) opens a single connection. While another thread uses it, a read gets a connection
//! from a small pool ([`readers`]), so that readers never wait for a writer, and a writer waits for one reader at most.
//!
//! This module knows what a block, a job and an audit row are; it does not know what a turn means.

pub mod agents;
pub mod audit;
pub mod blocks;
pub mod codes;
pub mod dump;
pub mod forgotten_names;
pub mod hook_calls;
pub mod job_queue;
mod migrate;
pub mod model_calls;
mod page_size;
mod readers;
pub mod schema;
pub mod seal;
#[cfg(test)]
mod tests;
mod together;

use std::ops::Deref;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, AtomicI64, AtomicUsize, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError, TryLockError};
use std::time::{Duration, Instant};

use rusqlite::{CachedStatement, Connection, OpenFlags, OptionalExtension, Params, Row, Statement};

use crate::clock::{Clock, Millis};
use crate::error::{Error, ErrorKind, Result};
use crate::holder::{ANNOUNCED_AFTER, Holder};
use crate::sqlite::{open_for_reading, wal_path};

pub use audit::Audit;
pub use migrate::SCHEMA_VERSION;

/// In older versions SQLite can lose committed data when a checkpoint races a commit that resets the WAL; fixed in
/// 3.51.3.
const OLDEST_SAFE_SQLITE: i32 = 3_051_003;

/// Longest time a command waits for another writer: a hundred times longer than any write transaction of ours.
const FULL_BUSY_TIMEOUT: Duration = Duration::from_secs(10);

/// A full open checkpoints once the WAL has passed this size (R4.1).
const CHECKPOINT_AFTER_BYTES: u64 = 1 << 20;

/// Page cache size: a quarter of a megabyte until the first write, then two. A lookup reads most pages once, and
/// touching fresh memory for each costs more than reading again the few that are needed twice. For writes the cache is
/// larger, because changed pages that do not fit are written to disk before the commit.
const READING: &str = "PRAGMA cache_size = -256";
const WRITING: &str = "PRAGMA cache_size = -2000";

/// Ways to open a ledger.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Open {
    /// For commands: creates, migrates after a backup, checkpoints when the WAL is large.
    Full,
    /// For hooks: checks the schema number; never migrates, creates or checkpoints. Waits at most `busy` for another
    /// writer.
    Hot { busy: Duration },
    /// Never writes; for a home that cannot be written.
    ReadOnly,
}

/// An open ledger, usable from any number of threads. A thread must not start a write inside one of its own reads: it
/// would wait for itself.
pub struct Ledger {
    /// The one connection that writes.
    main: Mutex<together::Writer>,
    /// Number of threads that wait for the writing connection.
    waiting: AtomicUsize,
    seals: seal::Seals,
    readers: readers::Readers,
    path: PathBuf,
    clock: Clock,
    id: String,
    how: Open,
    /// Whether a write has happened, so that the page cache has the size for writing.
    has_written: AtomicBool,
    /// Whether the last write gave up because another process went on writing.
    gave_up: AtomicBool,
    /// Size from which the ledger gets large pages, in bytes; the maximum if it has them.
    grows_at: AtomicI64,
    /// Check that the file is still at its place; a write is acknowledged only if it passes.
    place: Option<Box<IsInPlace>>,
}

/// Checks that the ledger's file is still the one at the home's path.
type IsInPlace = dyn Fn() -> Result<()> + Send + Sync;

/// A consistent view of the ledger; every statement of one closure sees the same state.
pub struct Read<'a> {
    conn: &'a Connection,
}

/// A read transaction, until it is dropped. Its two statements are prepared once for a connection: a hook reads dozens
/// of times, and the transactions of `rusqlite` prepare them each time.
struct Snapshot<'a>(&'a Connection);

impl Snapshot<'_> {
    fn begin(conn: &Connection) -> Result<Snapshot<'_>> {
        conn.prepare_cached("BEGIN DEFERRED")?.execute([])?;
        Ok(Snapshot(conn))
    }
}

impl Drop for Snapshot<'_> {
    fn drop(&mut self) {
        // An error may have ended it already.
        if !self.0.is_autocommit() {
            let _ = self.0.prepare_cached("ROLLBACK").and_then(|mut end| end.execute([]));
        }
    }
}

/// A write transaction: everything a [`Read`] can do, and changing rows.
pub struct Write<'a> {
    read: Read<'a>,
    clock: Clock,
    detail: serde_json::Map<String, serde_json::Value>,
    seals: &'a seal::Seals,
    /// Whether something was forgotten, so that all seals are made anew under another key.
    anew: bool,
}

impl Ledger {
    /// Opens the ledger at `path`. `Full` creates it and migrates an older one, keeping a backup in `backups`; a newer
    /// schema is refused.
    pub fn open(path: &Path, backups: &Path, clock: Clock, how: Open) -> Result<Ledger> {
        if rusqlite::version_number() < OLDEST_SAFE_SQLITE {
            return Err(Error::refused(format!(
                "this build carries SQLite {}, which can lose commits",
                rusqlite::version()
            ))
            .hint("build with the bundled SQLite, 3.51.3 or newer"));
        }
        let flags = match how {
            Open::Full => OpenFlags::SQLITE_OPEN_READ_WRITE | OpenFlags::SQLITE_OPEN_CREATE,
            Open::Hot { .. } => OpenFlags::SQLITE_OPEN_READ_WRITE,
            Open::ReadOnly => OpenFlags::SQLITE_OPEN_READ_ONLY,
        } | OpenFlags::SQLITE_OPEN_NO_MUTEX
            | OpenFlags::SQLITE_OPEN_NOFOLLOW;
        let mut conn = match how {
            Open::ReadOnly => open_for_reading(path)?,
            _ => Connection::open_with_flags(path, flags)
                .map_err(|e| Error::from(e).hint(format!("the ledger is {}", path.display())))?,
        };
        conn.busy_timeout(match how {
            Open::Hot { busy } => busy,
            _ => FULL_BUSY_TIMEOUT,
        })?;
        migrate::recognise(&conn, path)?;
        if how == Open::Full {
            page_size::begin_small(&conn)?;
            let mode = write_ahead(&conn)?;
            if mode != "wal" {
                return Err(Error::refused(format!("{} cannot use a write-ahead log (mode {mode})", path.display()))
                    .hint("put the home on a local file system"));
            }
        }
        // FULL: a commit is acknowledged only when it has been synced. cell_size_check: damaged pages are noticed when
        // they are read. trusted_schema off: nothing in a schema may call functions with side effects. secure_delete:
        // deleted data is overwritten, so that no unused page contains what was forgotten.
        conn.execute_batch(
            "PRAGMA synchronous = FULL; PRAGMA foreign_keys = ON; PRAGMA trusted_schema = OFF;
             PRAGMA cell_size_check = ON; PRAGMA journal_size_limit = 67108864; PRAGMA temp_store = MEMORY;
             PRAGMA mmap_size = 0; PRAGMA secure_delete = ON;",
        )?;
        conn.execute_batch(READING)?;
        // SQLite keeps one plan for a statement whatever values are bound. Otherwise it plans the statement anew each
        // time a value is bound for which it has statistics: a third of the time it took to distil a short session.
        conn.set_db_config(rusqlite::config::DbConfig::SQLITE_DBCONFIG_ENABLE_QPSG, true)?;
        // Ending one session runs some two hundred different statements; with a smaller cache, each is parsed again
        // every time.
        conn.set_prepared_statement_cache_capacity(512);
        match how {
            Open::Full => {
                migrate::migrate(&mut conn, path, backups, clock)?;
                checkpoint_if_large(&conn, path)?;
            }
            Open::Hot { .. } | Open::ReadOnly => {
                if how == Open::ReadOnly {
                    migrate::require_begun(&conn, path)?;
                }
                migrate::require_current(&conn, path)?;
                conn.pragma_update(None, "wal_autocheckpoint", 0)?;
                let _ = conn.set_db_config(rusqlite::config::DbConfig::SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, true);
            }
        }
        let id: Option<String> =
            conn.query_row("SELECT value FROM meta WHERE key = 'ledger_id'", [], |r| r.get(0)).optional()?;
        let id = id.ok_or_else(|| {
            Error::new(ErrorKind::Damaged, "the ledger has lost its own id (row ledger_id of the table meta)")
                .hint("restore a backup into a new home: ⟨restore⟩")
        })?;
        let is_small = how == Open::Full && page_size::is_small(&conn)?;
        let seals = seal::Seals::default();
        let taken_back = seals.clone();
        let ledger = Ledger {
            main: together::Writer::new(conn, move || taken_back.lost()),
            waiting: AtomicUsize::new(0),
            seals,
            readers: readers::Readers::default(),
            path: path.to_owned(),
            clock,
            id,
            how,
            has_written: AtomicBool::new(false),
            gave_up: AtomicBool::new(false),
            grows_at: AtomicI64::new(if is_small { page_size::GROWS_AT } else { i64::MAX }),
            place: None,
        };
        ledger.grow_if_due(page_size::MOST_AT_OPENING);
        Ok(ledger)
    }

    /// Gives a ledger of at most `most` bytes that has grown large pages, if no other process has it open. What fails
    /// here is tried again when the ledger is twice as large, or is opened next.
    fn grow_if_due(&self, most: i64) {
        let grows_at = self.grows_at.load(Ordering::Relaxed);
        if grows_at == i64::MAX {
            return;
        }
        let Ok(main) = self.main.try_lock() else { return };
        let is_due = |bytes| (grows_at..=most).contains(&bytes);
        if main.is_shared() || !page_size::bytes(&main.conn).is_ok_and(is_due) {
            return;
        }
        self.readers.rest();
        let scratch = self.path.with_file_name("scratch");
        let grown = page_size::grow(&main.conn, &scratch).unwrap_or(false);
        if grown {
            self.seals.lost();
        }
        self.grows_at.store(if grown { i64::MAX } else { 2 * grows_at }, Ordering::Relaxed);
    }

    /// Returns this ledger with a check of its place: `is_in_place` is called before and after every commit, and no
    /// write is acknowledged once the file is no longer at the home's path.
    pub fn held_at(mut self, is_in_place: impl Fn() -> Result<()> + Send + Sync + 'static) -> Ledger {
        self.place = Some(Box::new(is_in_place));
        self
    }

    fn check_place(&self) -> Result<()> {
        self.place.as_ref().map_or(Ok(()), |is_in_place| is_in_place())
    }

    /// Records that this ledger replaces an earlier one of the same home, which is gone.
    pub fn note_made_anew(&self, actor: &str) -> Result<()> {
        self.write(Audit::new(actor, "ledger.made_anew"), |tx| {
            let now = tx.now().to_string();
            Ok(tx.execute("INSERT OR IGNORE INTO meta (key, value) VALUES ('made_anew', ?1)", [now]).map(drop)?)
        })
    }

    /// Returns when this ledger was made in place of an earlier one of the same home.
    pub fn made_anew(&self) -> Result<Option<Millis>> {
        self.read(|tx| {
            let at = tx.query_row("SELECT value FROM meta WHERE key = 'made_anew'", [], |r| r.get::<_, String>(0));
            Ok(at.optional()?.and_then(|text| text.parse().ok()))
        })
    }

    /// Returns the permanent id of this ledger; derived stores record which ledger they were made from.
    pub fn id(&self) -> &str {
        &self.id
    }

    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Whether the ledger was opened with [`Open::Full`], and not for the moment of a hook.
    pub fn stays(&self) -> bool {
        self.how == Open::Full
    }

    pub fn clock(&self) -> Clock {
        self.clock
    }

    pub fn now(&self) -> Millis {
        self.clock.now()
    }

    /// Runs `f` in one read transaction.
    pub fn read<T>(&self, f: impl FnOnce(&Read) -> Result<T>) -> Result<T> {
        let main = match self.main.try_lock() {
            Ok(main) => Some(main),
            Err(TryLockError::Poisoned(poisoned)) => Some(poisoned.into_inner()),
            Err(TryLockError::WouldBlock) => None,
        };
        match main.filter(|main| !main.is_shared()) {
            Some(mut main) => Ledger::read_on(&mut main.conn, f),
            None => self.readers.with(&self.path, |conn| Ledger::read_on(conn, f)),
        }
    }

    fn read_on<T>(conn: &mut Connection, f: impl FnOnce(&Read) -> Result<T>) -> Result<T> {
        let snapshot = Snapshot::begin(conn)?;
        f(&Read { conn: snapshot.0 })
    }

    /// Begins a write transaction. Another process that writes is waited for; if it goes on, that is said, and in the
    /// end it is named.
    fn begin(&self, conn: &Connection) -> Result<()> {
        let begin = || conn.execute_batch("BEGIN IMMEDIATE").map_err(Error::from);
        if self.how != Open::Full {
            return begin();
        }
        conn.busy_timeout(ANNOUNCED_AFTER)?;
        let mut begun = begin();
        if begun.as_ref().is_err_and(is_busy) {
            Holder::of_database(&self.path).announce();
            // It was waited for long enough before.
            let rest = match self.gave_up.load(Ordering::Relaxed) {
                true => Duration::ZERO,
                false => FULL_BUSY_TIMEOUT - ANNOUNCED_AFTER,
            };
            conn.busy_timeout(rest)?;
            begun = begin();
            let is_held = begun.as_ref().is_err_and(is_busy);
            self.gave_up.store(is_held, Ordering::Relaxed);
            if is_held {
                begun = Err(Holder::of_database(&self.path).error("is writing the memory", ANNOUNCED_AFTER + rest));
            }
        }
        conn.busy_timeout(FULL_BUSY_TIMEOUT)?;
        begun
    }

    /// Runs `f` in one write transaction and adds the audit row to it. An error from `f`, or from writing the audit
    /// row, rolls the whole transaction back. Threads that write at the same moment share a commit ([`together`]).
    pub fn write<T>(&self, why: Audit, f: impl FnOnce(&mut Write) -> Result<T>) -> Result<T> {
        self.check_place()?;
        if !self.has_written.load(Ordering::Acquire) {
            self.begin_to_write()?;
        }
        let out = together::write(
            &self.main,
            &self.waiting,
            |conn| self.begin(conn),
            |conn| {
                self.seals.begin(conn)?;
                let mut write = Write {
                    read: Read { conn },
                    clock: self.clock,
                    detail: serde_json::Map::new(),
                    seals: &self.seals,
                    anew: false,
                };
                let out = f(&mut write)?;
                let (mut detail, anew) = (std::mem::take(&mut write.detail), write.anew);
                let total = self.seals.end(conn, anew)?;
                detail.insert("seal".into(), format!("{total:032x}").into());
                audit::append(conn, self.clock.now(), why, detail)?;
                self.seals.kept();
                Ok(out)
            },
        )?;
        // A commit into a file that is no longer the home's ledger does not count as stored.
        self.check_place()?;
        self.grow_if_due(i64::MAX);
        Ok(out)
    }

    /// Prepares the connection for the first write: from then on the seals are told of every changed row.
    fn begin_to_write(&self) -> Result<()> {
        let mut main = self.main()?;
        if !self.has_written.load(Ordering::Acquire) {
            main.conn.execute_batch(WRITING)?;
            self.seals.listen(&mut main.conn)?;
            self.has_written.store(true, Ordering::Release);
        }
        Ok(())
    }

    /// Moves the write-ahead log into the main file and empties it: its older pages contain what was forgotten. `false`:
    /// a reader prevents it, and the log is emptied when the ledger is last closed.
    pub fn empty_log(&self) -> Result<bool> {
        let left: i64 = self.main()?.conn.query_row("PRAGMA wal_checkpoint(TRUNCATE)", [], |r| r.get(0))?;
        Ok(left == 0)
    }

    /// Rewrites the whole ledger, so that no page has free space with older data in it: freed cells are overwritten,
    /// but those moved from one page to another are not. `scratch`: folder for the temporary copy. `Busy` while the
    /// ledger is being read or written.
    pub fn rewrite(&self, scratch: &Path) -> Result<()> {
        let main = self.main()?;
        let done = crate::sqlite::rewrite(&main.conn, scratch);
        self.seals.lost();
        drop(main);
        done?;
        if self.empty_log()? {
            return Ok(());
        }
        Err(Error::new(ErrorKind::Busy, "the ledger is being read, so its log cannot be emptied"))
    }

    /// Locks the writing connection, after committing a transaction that was left open on it.
    fn main(&self) -> Result<MutexGuard<'_, together::Writer>> {
        let mut main = self.main.lock().unwrap_or_else(PoisonError::into_inner);
        main.close()?;
        Ok(main)
    }

    /// Copies the ledger as it is at one moment into a new file, page by page, through SQLite, while others read and write.
    /// Pages keep their places, so that two copies differ only where the ledger has changed.
    pub fn copy_to(&self, path: &Path) -> Result<()> {
        use std::os::unix::fs::OpenOptionsExt;
        let failed = |e| Error::io("make", path, e);
        // SQLite fills an empty file, which keeps the mode it was created with.
        let file = std::fs::OpenOptions::new().write(true).create_new(true).mode(0o600).open(path).map_err(failed)?;
        // Commits the writes that this process holds back to share a commit: they belong in the copy, too.
        drop(self.main()?);
        // Copies over a separate connection: a copy of a large ledger takes longer than other threads of this process
        // may wait.
        let source = open_for_reading(&self.path)?;
        source.busy_timeout(FULL_BUSY_TIMEOUT)?;
        let mut copy =
            Connection::open_with_flags(path, OpenFlags::SQLITE_OPEN_READ_WRITE | OpenFlags::SQLITE_OPEN_NOFOLLOW)?;
        let step = rusqlite::backup::Backup::new(&source, &mut copy)?.step(-1)?;
        if step != rusqlite::backup::StepResult::Done {
            return Err(Error::new(ErrorKind::Busy, "the ledger is being written by another process"));
        }
        drop((source, copy));
        // A copy of a file that is no longer the home's ledger must not be used.
        self.check_place()?;
        file.sync_all().map_err(failed)
    }

    /// Whether anything was written through this handle.
    pub fn has_written(&self) -> bool {
        self.has_written.load(Ordering::Relaxed)
    }

    /// Releases memory that is held for speed only. Skips the writing connection while a thread uses it.
    pub fn rest(&self) {
        self.readers.rest();
        if let Ok(main) = self.main.try_lock()
            && !main.is_shared()
        {
            let conn = &main.conn;
            conn.flush_prepared_statement_cache();
            // Moves what is committed into the main file as far as readers allow, and lets go of cached pages.
            let _ = conn.query_row("PRAGMA wal_checkpoint(PASSIVE)", [], |_| Ok(()));
            let _ = conn.execute_batch("PRAGMA shrink_memory");
        }
    }

    /// Returns the size of the ledger on disk, in bytes: main file and log.
    pub fn bytes_on_disk(&self) -> u64 {
        let size = |p: &Path| std::fs::symlink_metadata(p).map_or(0, |m| m.len());
        size(&self.path) + size(&wal_path(&self.path))
    }
}

impl Drop for Ledger {
    fn drop(&mut self) {
        // Lets SQLite refresh the statistics its planner uses; bounded by analysis_limit, and only when it pays: looking
        // at every table to see that nothing changed costs a command that only reads a tenth of its time.
        if self.how != Open::Full || !*self.has_written.get_mut() {
            return;
        }
        let main = self.main.get_mut().unwrap_or_else(PoisonError::into_inner);
        // Another process that writes is not waited for: a later command can do it as well.
        let _ = main.conn.busy_timeout(Duration::ZERO);
        let _ = main.conn.execute_batch("PRAGMA analysis_limit = 200; PRAGMA optimize;");
    }
}

impl Deref for Read<'_> {
    type Target = Connection;

    fn deref(&self) -> &Connection {
        self.conn
    }
}

impl<'a> Deref for Write<'a> {
    type Target = Read<'a>;

    fn deref(&self) -> &Read<'a> {
        &self.read
    }
}

impl Write<'_> {
    pub fn now(&self) -> Millis {
        self.clock.now()
    }

    // These methods shadow those of the connection, so that the seals see each statement before it changes rows
    // ([`seal`]).

    pub fn prepare(&self, sql: &str) -> rusqlite::Result<Statement<'_>> {
        self.seals.hear(self.read.conn, sql)?;
        self.read.conn.prepare(sql)
    }

    pub fn prepare_cached(&self, sql: &str) -> rusqlite::Result<CachedStatement<'_>> {
        self.seals.hear(self.read.conn, sql)?;
        self.read.conn.prepare_cached(sql)
    }

    pub fn execute(&self, sql: &str, with: impl Params) -> rusqlite::Result<usize> {
        self.seals.hear(self.read.conn, sql)?;
        self.read.conn.execute(sql, with)
    }

    pub fn execute_batch(&self, sql: &str) -> rusqlite::Result<()> {
        sql.split(';').try_for_each(|one| self.seals.hear(self.read.conn, one))?;
        self.read.conn.execute_batch(sql)
    }

    pub fn query_row<T>(
        &self,
        sql: &str,
        with: impl Params,
        f: impl FnOnce(&Row) -> rusqlite::Result<T>,
    ) -> rusqlite::Result<T> {
        self.seals.hear(self.read.conn, sql)?;
        self.read.conn.query_row(sql, with, f)
    }

    /// Adds a detail to the audit row of this transaction.
    pub fn note(&mut self, key: &str, value: impl Into<serde_json::Value>) {
        self.detail.insert(key.to_owned(), value.into());
    }
}

/// Returns the number of the newest audit row of a ledger file that no process has open; `Damaged` if the file's
/// structure is damaged.
pub fn last_row_of(path: &Path) -> Result<i64> {
    let conn = open_for_reading(path)?;
    let said: String = conn.query_row("PRAGMA integrity_check(1)", [], |r| r.get(0))?;
    if said != "ok" {
        return Err(Error::damaged(format!("{} is damaged: {said}", path.display())));
    }
    Ok(conn.query_row("SELECT coalesce(max(audit_no), 0) FROM audit", [], |r| r.get(0))?)
}

/// Turns on the write-ahead log. While several processes create a ledger at once, SQLite answers "locked" here without
/// waiting, so this function waits.
fn write_ahead(conn: &Connection) -> Result<String> {
    let until = Instant::now() + FULL_BUSY_TIMEOUT;
    loop {
        let asked = conn.query_row("PRAGMA journal_mode = WAL", [], |r| r.get(0)).map_err(Error::from);
        match asked {
            Err(e) if is_busy(&e) && Instant::now() < until => std::thread::sleep(Duration::from_millis(10)),
            other => return other,
        }
    }
}

fn checkpoint_if_large(conn: &Connection, path: &Path) -> Result<()> {
    let large = std::fs::symlink_metadata(wal_path(path)).is_ok_and(|m| m.len() > CHECKPOINT_AFTER_BYTES);
    if large {
        conn.query_row("PRAGMA wal_checkpoint(PASSIVE)", [], |_| Ok(()))?;
    }
    Ok(())
}

/// Whether an error means that another process holds the store.
pub fn is_busy(error: &Error) -> bool {
    error.kind() == ErrorKind::Busy
}
