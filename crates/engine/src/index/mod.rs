//! The search index: `state/index.db`, derived, disposable (R10.10). Storey 3.
//!
//! The index stores the id of the ledger it was made from and the last turn it covers, in the transaction that stores
//! the rows, so it always knows how far behind it is. With another version, another ledger or a damaged file it is
//! discarded and built again. Deleting it loses nothing.
//!
//! The index holds words and vectors, no text: snippets come from the ledger and from the files. [`files`] keeps the
//! rows of files, [`nodes`] those of lineage nodes. `postings` reads the lists of the full-text engine from its pages,
//! [`lengths`] keeps the row lengths that scoring needs. Vectors ([`vectors`]) are stored beside the words and belong
//! to the plugged-in model. The index does not rank.

mod embedder;
mod files;
mod lengths;
mod nodes;
mod postings;
pub mod rows;
mod unlike;
mod vectors;
mod word_parts;
mod words;

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, Instant};

use rusqlite::{Connection, OpenFlags, OptionalExtension, params};

use crate::clock::Millis;
use crate::error::{Error, ErrorKind, Result};
use crate::ledger::blocks::Opener;
use crate::ledger::{Ledger, Read};
use crate::scope::{AgentNo, SessionNo, TurnId};
use crate::transcript::Fresh;

pub use embedder::Embedder;
#[cfg(test)]
pub(crate) use lengths::SCHEMA as LENGTHS_SCHEMA;
pub(crate) use lengths::{AT_ONCE as LENGTHS_AT_ONCE, length_at, tokens_of};
pub use nodes::NodeMatches;
pub(crate) use postings::{Posting, Postings, ReadEnd};
pub use rows::{RowId, scope_token};
pub(crate) use unlike::Copies;
pub use vectors::{Document, FilesWithin, Missing, Nearest, NodesWithin, TurnsWithin, Within};
pub(crate) use words::unspoken;

/// Increased whenever the same turns, files or nodes would give other rows.
const INDEX_VERSION: &str = "8";

/// Words are folded (case, accents) and stemmed; the extra work of stemming pays (RETRIEVAL: +5 R@10).
pub(crate) const TOKENIZER: &str = "porter unicode61 remove_diacritics 2";

/// Bytes of text after which the index commits, so that other processes can write and a crash loses little.
const COMMIT_BYTES: usize = 8 << 20;

/// Uses a cache of a quarter of a megabyte for reading. A search reads most pages once, and touching fresh memory for
/// each costs more than reading a few pages again. The file is not mapped: a failing disk would then end the process
/// and not only the search, and mapping does not make a whole process faster.
const READING: &str = "PRAGMA cache_size = -256";
const WRITING: &str = "PRAGMA cache_size = -16384";

/// Maps the index for a process that stays: a search reads every code of a scope, and copying their pages costs several
/// times as much as comparing them. Mapped pages count as memory of the process for each open index, so only one index
/// at a time is mapped. A failing disk then ends the process, which is started again; only the index is
/// mapped.
const MAPPED: &str = "PRAGMA mmap_size = 8388608";

/// How long opening waits for a process that is just closing the index or reading its log after a crash. Both take
/// milliseconds; on a machine with more work than processors they took more than the 200 ms that a verb waits for a
/// writer.
const OPENING: Duration = Duration::from_secs(2);

/// Turns read from the ledger at once when catching up.
const CATCH_UP_STEP: i64 = 400;

/// An open index.
pub struct Index {
    conn: Connection,
    path: PathBuf,
    /// The file it was opened from, by device and inode.
    file: Option<(u64, u64)>,
    ledger_id: String,
    /// Bytes of text added since the last commit; a transaction is open while it is not zero.
    uncommitted: usize,
    writing: bool,
    /// Set while the file is mapped; all indexes of an instance share it.
    mapped: Option<Arc<()>>,
    /// The first turn of the open transaction, and the agents with rows in it.
    unmeasured: Option<(i64, BTreeSet<AgentNo>)>,
    embedder: Option<Arc<dyn Embedder>>,
    /// Texts of the open transaction's turns that get vectors in it; `None` if vectors are made later than the words.
    waiting: Option<vectors::Waiting>,
    /// Words of the open transaction that are already stored by their parts.
    words: word_parts::Stored,
    /// Time before which a model that did not answer is not asked again.
    resting: Option<Instant>,
}

/// How far the index covers the ledger.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Coverage {
    /// The last turn it covers.
    pub watermark: TurnId,
    /// Turns of the ledger that are not indexed.
    pub missing: u64,
}

impl Index {
    /// Opens the index of this ledger. Makes an empty one if there is none, if it is of another version or ledger, or
    /// if it cannot be read; `Rebuilt` says whether and why.
    pub fn open(path: &Path, ledger_id: &str, busy: Duration) -> Result<(Index, Rebuilt)> {
        // Before the look at it: an index that comes in between is another process's new one, and is not replaced.
        let existed = path.exists();
        match Index::try_open(path, ledger_id, busy) {
            Ok(Some(index)) => Ok((index, Rebuilt::No)),
            Ok(None) => {
                let index = Index::create(path, ledger_id, busy, existed)?;
                Ok((index, if existed { Rebuilt::OtherVersion } else { Rebuilt::WasMissing }))
            }
            Err(e) if e.kind() == ErrorKind::Damaged => {
                let index = Index::create(path, ledger_id, busy, true)?;
                Ok((index, Rebuilt::WasDamaged))
            }
            Err(e) => Err(e),
        }
    }

    /// Maps the file into memory, which pays from the second search of a process on; not if an index with the same
    /// `share` is mapped already.
    pub fn keep_mapped(&mut self, share: &Arc<()>) -> Result<()> {
        if self.mapped.is_none() && Arc::strong_count(share) == 1 {
            self.conn.execute_batch(MAPPED)?;
            self.mapped = Some(Arc::clone(share));
        }
        Ok(())
    }

    /// Whether [`Index::keep_mapped`] has mapped it.
    pub fn is_mapped(&self) -> bool {
        self.mapped.is_some()
    }

    /// Whether everything added is committed.
    pub fn is_at_rest(&self) -> bool {
        !self.writing
    }

    /// Whether the file it was opened from is still at `path`: another process may have replaced it.
    pub fn is_still_at(&self, path: &Path) -> bool {
        self.file.is_some() && self.file == file_id(path)
    }

    /// Discards the index and makes an empty one.
    pub fn recreate(path: &Path, ledger_id: &str, busy: Duration) -> Result<Index> {
        Index::create(path, ledger_id, busy, true)
    }

    /// Opens an existing index and makes nothing anew. `None` if there is none, or if it belongs to another ledger or
    /// version.
    pub fn open_as_it_is(path: &Path, ledger_id: &str, busy: Duration) -> Result<Option<Index>> {
        Index::try_open(path, ledger_id, busy)
    }

    /// Opens the index only for reading, if it exists and fits; for homes that cannot be written.
    pub fn open_read_only(path: &Path, ledger_id: &str) -> Result<Option<Index>> {
        let Ok(conn) = crate::sqlite::open_for_reading(path) else { return Ok(None) };
        conn.pragma_update(None, "temp_store", "MEMORY")?;
        conn.execute_batch(READING)?;
        Index::check(conn, path, ledger_id)
    }

    fn try_open(path: &Path, ledger_id: &str, busy: Duration) -> Result<Option<Index>> {
        // Opening an empty file would write to it.
        if !path.symlink_metadata().is_ok_and(|file| file.len() > 0) {
            return Ok(None);
        }
        let flags =
            OpenFlags::SQLITE_OPEN_READ_WRITE | OpenFlags::SQLITE_OPEN_NO_MUTEX | OpenFlags::SQLITE_OPEN_NOFOLLOW;
        let conn = Connection::open_with_flags(path, flags)?;
        configure(&conn)?;
        let index = Index::check(conn, path, ledger_id)?;
        if let Some(index) = &index {
            index.conn.busy_timeout(busy)?;
        }
        Ok(index)
    }

    fn check(conn: Connection, path: &Path, ledger_id: &str) -> Result<Option<Index>> {
        let get = |key: &str| -> rusqlite::Result<Option<String>> {
            conn.query_row("SELECT value FROM meta WHERE key = ?1", [key], |r| r.get(0)).optional()
        };
        let fits = match (get("version"), get("ledger_id")) {
            (Ok(version), Ok(ledger)) => {
                version.as_deref() == Some(INDEX_VERSION) && ledger.as_deref() == Some(ledger_id)
            }
            (Err(e), _) | (_, Err(e)) if e.sqlite_error_code() == Some(rusqlite::ErrorCode::Unknown) => {
                // A table is missing, so this is not an index of Heirloom.
                false
            }
            (Err(e), _) | (_, Err(e)) => return Err(e.into()),
        };
        if !fits {
            return Ok(None);
        }
        // Use the same plan whatever values are bound; otherwise a full-text statement is planned anew each time.
        conn.set_db_config(rusqlite::config::DbConfig::SQLITE_DBCONFIG_ENABLE_QPSG, true)?;
        // Searching turns, files and nodes uses about fifty statements.
        conn.set_prepared_statement_cache_capacity(128);
        Ok(Some(Index {
            conn,
            path: path.to_owned(),
            file: file_id(path),
            ledger_id: ledger_id.to_owned(),
            uncommitted: 0,
            writing: false,
            mapped: None,
            unmeasured: None,
            embedder: None,
            waiting: None,
            words: word_parts::Stored::default(),
            resting: None,
        }))
    }

    /// Builds the index in another file and moves it into place, so that no process opens half an index. Processes with
    /// the old file open keep using it and find the new one at their next start. Without `replace`, an index that has
    /// appeared meanwhile is used instead.
    fn create(path: &Path, ledger_id: &str, busy: Duration, replace: bool) -> Result<Index> {
        let fresh = path.with_file_name(crate::home::temporary_name()?);
        use std::os::unix::fs::OpenOptionsExt;
        // Set the mode before SQLite writes; its journal gets the same mode, and may be left behind by a crash.
        std::fs::OpenOptions::new()
            .write(true)
            .create_new(true)
            .mode(0o600)
            .open(&fresh)
            .map_err(|e| Error::io("make", &fresh, e))?;
        {
            let conn = Connection::open(&fresh)?;
            conn.execute_batch(&format!(
                "PRAGMA page_size = 8192; PRAGMA journal_mode = WAL; PRAGMA synchronous = NORMAL;
                 BEGIN;
                 CREATE TABLE meta (key TEXT PRIMARY KEY, value TEXT NOT NULL) STRICT, WITHOUT ROWID;
                 CREATE VIRTUAL TABLE fts USING fts5(text, scope, content='', contentless_delete=1, tokenize='{TOKENIZER}');
                 INSERT INTO fts (fts, rank) VALUES ('hashsize', 16777216);
                 {} {} {} {} {}
                 INSERT INTO meta VALUES ('version', '{INDEX_VERSION}'), ('watermark', '0'), ('rows', '0'), ('mark', '');
                 COMMIT;",
                files::schema(TOKENIZER),
                nodes::schema(TOKENIZER),
                vectors::SCHEMA,
                lengths::SCHEMA,
                word_parts::SCHEMA
            ))?;
            conn.execute("INSERT INTO meta VALUES ('ledger_id', ?1)", [ledger_id])?;
        }
        private(&fresh)?;
        if replace {
            remove_sides(path);
            std::fs::rename(&fresh, path).map_err(|e| Error::io("replace", path, e))?;
        } else {
            let linked = std::fs::hard_link(&fresh, path);
            let _ = std::fs::remove_file(&fresh);
            match linked {
                Err(e) if e.kind() != std::io::ErrorKind::AlreadyExists => return Err(Error::io("make", path, e)),
                _ => {}
            }
        }
        Index::try_open(path, ledger_id, busy)?
            .ok_or_else(|| Error::damaged(format!("{} cannot be made", path.display())))
    }

    /// Moves a finished index into the place of another one and closes it. Processes that have the old one open find
    /// the new one when they next check.
    pub fn take_the_place_of(mut self, path: &Path) -> Result<()> {
        self.flush()?;
        // After the checkpoint everything is in the one file.
        self.conn.query_row("PRAGMA wal_checkpoint(TRUNCATE)", [], |_| Ok(()))?;
        let from = self.path.clone();
        drop(self);
        remove_sides(path);
        std::fs::rename(&from, path).map_err(|e| Error::io("replace", path, e))?;
        remove_sides(&from);
        Ok(())
    }

    /// Removes an index that is no longer needed.
    pub fn remove(path: &Path) {
        remove_sides(path);
        let _ = std::fs::remove_file(path);
    }

    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Returns the connection that searches use.
    pub(crate) fn connection(&self) -> &Connection {
        &self.conn
    }

    /// Sets the time at which running statements are interrupted.
    pub(crate) fn deadline(&mut self, at: Option<Instant>) -> Result<()> {
        match at {
            Some(at) => self.conn.progress_handler(10_000, Some(move || Instant::now() > at))?,
            None => self.conn.progress_handler(0, None::<fn() -> bool>)?,
        }
        Ok(())
    }

    /// Returns the number of rows; a long turn has several.
    pub fn rows(&self) -> Result<i64> {
        self.number("rows")
    }

    /// Returns the number of rows of one agent.
    pub(crate) fn rows_of(&self, agent_no: AgentNo) -> Result<i64> {
        let rows: Option<i64> = self
            .conn
            .prepare_cached("SELECT CAST(value AS INTEGER) FROM meta WHERE key = ?1")?
            .query_row([rows_key(agent_no)], |r| r.get(0))
            .optional()?;
        Ok(rows.unwrap_or(0))
    }

    /// Returns the last turn the index covers.
    pub fn watermark(&self) -> Result<TurnId> {
        Ok(TurnId(self.number("watermark")?))
    }

    fn number(&self, key: &str) -> Result<i64> {
        let mut statement = self.conn.prepare_cached("SELECT value FROM meta WHERE key = ?1")?;
        let value: Option<String> = statement.query_row([key], |r| r.get(0)).optional()?;
        let lost = || Error::damaged("the index has lost count");
        value.ok_or_else(lost)?.parse().map_err(|e| lost().because(e))
    }

    /// Returns how far the index is behind the ledger. `Damaged` if the ledger does not contain the watermark: the
    /// index then belongs to another history and must be rebuilt.
    pub fn coverage(&self, tx: &Read) -> Result<Coverage> {
        let (watermark, mark) = self.end()?;
        let last: TurnId = tx.query_row("SELECT coalesce(max(turn_no), 0) FROM turns", [], |r| r.get(0))?;
        if watermark.0 > 0 && watermark <= last && !is_marked(tx, watermark, &mark)? {
            return Err(Error::damaged("the index was made from another history of this ledger"));
        }
        if watermark > last {
            return Err(Error::damaged("the index is ahead of the ledger"));
        }
        let missing: i64 = if watermark == last {
            0
        } else {
            tx.query_row("SELECT count(*) FROM turns WHERE turn_no > ?1", [watermark], |r| r.get(0))?
        };
        Ok(Coverage { watermark, missing: missing as u64 })
    }

    /// Adds turns just stored, in ledger order. If another process has stored turns in between, nothing is added and
    /// the next catch-up adds them. Commits from time to time; [`Index::flush`] commits the rest.
    pub fn add(&mut self, fresh: &[Fresh]) -> Result<()> {
        let Some(first) = fresh.first() else { return Ok(()) };
        if !self.begin()? {
            return Ok(());
        }
        if self.watermark()?.0 + 1 != first.turn_no.0 {
            // There is nothing to write now, so the lock is released and others can catch up.
            return if self.uncommitted == 0 { self.flush() } else { Ok(()) };
        }
        let mut added = BTreeMap::new();
        for f in fresh {
            let row = rows::Doc {
                agent_no: f.agent_no,
                turn_no: f.turn_no,
                session_no: f.session_no,
                workspace_no: f.workspace_no,
                harness: f.harness,
                role: f.turn.role,
                kind: f.turn.kind,
                at: f.turn.at,
                speaker: f.turn.speaker.as_deref(),
                tool: f.turn.tool.as_deref(),
                text: &f.turn.text,
            };
            *added.entry(f.agent_no).or_insert(0) += rows::insert(&self.conn, &row, &mut self.words)?;
            self.uncommitted += f.turn.text.len() + 64;
            if let Some(waiting) = &mut self.waiting {
                waiting.turn(&row);
            }
            self.embed_if_many();
        }
        if let Some(last) = fresh.last() {
            let mark = mark(last.session_no, last.turn.at, last.turn.text.len() as i64);
            self.will_measure(first.turn_no.0, added.keys().copied());
            self.advance(last.turn_no, &added, &mark)?;
        }
        if self.uncommitted > COMMIT_BYTES { self.flush() } else { Ok(()) }
    }

    /// Commits what was added.
    pub fn flush(&mut self) -> Result<()> {
        if self.writing {
            self.settle_lengths()?;
            self.settle_vectors()?;
            self.conn.execute_batch("COMMIT")?;
            self.writing = false;
            self.uncommitted = 0;
        }
        Ok(())
    }

    /// Indexes what the index lacks, until done or `deadline`: turns, then nodes, then vectors, the last only with a
    /// quick model. `progress` receives the number of turns added so far. Returns how many turns are not indexed yet.
    pub fn catch_up(
        &mut self,
        ledger: &Ledger,
        deadline: Option<Instant>,
        progress: &mut dyn FnMut(u64),
    ) -> Result<u64> {
        self.flush()?;
        let missing = self.catch_up_turns(ledger, deadline, progress)?;
        self.catch_up_nodes(ledger, deadline)?;
        if self.embedder.as_ref().is_some_and(|e| e.is_quick()) {
            self.fill_vectors(ledger, deadline, &mut |_| {})?;
        }
        Ok(missing)
    }

    fn catch_up_turns(
        &mut self,
        ledger: &Ledger,
        deadline: Option<Instant>,
        progress: &mut dyn FnMut(u64),
    ) -> Result<u64> {
        match ledger.read(|tx| self.coverage(tx)) {
            Ok(before) if before.missing == 0 => return Ok(0),
            Ok(_) => {}
            // The index was made from another history of this ledger (a restored copy), so its rows are invalid.
            Err(e) if e.kind() == ErrorKind::Damaged => {
                if !self.begin()? {
                    return Err(e);
                }
                self.empty()?;
                self.flush()?;
            }
            Err(e) => return Err(e),
        }
        let opener = Opener::default();
        let mut done = 0u64;
        loop {
            if deadline.is_some_and(|d| Instant::now() >= d) {
                break;
            }
            if !self.begin()? {
                break;
            }
            let from = self.watermark()?;
            let step = if deadline.is_some() { CATCH_UP_STEP / 8 } else { CATCH_UP_STEP };
            let (waiting, words) = (&mut self.waiting, &mut self.words);
            let (last, rows, turns, bytes) = ledger.read(|tx| {
                rows::copy(tx, &opener, &self.conn, (from, step), words, &mut |doc| {
                    if let Some(waiting) = waiting.as_mut() {
                        waiting.turn(doc);
                    }
                })
            })?;
            self.embed_if_many();
            if turns == 0 {
                self.flush()?;
                return Ok(0);
            }
            let mark = ledger.read(|tx| mark_of(tx, last))?;
            self.will_measure(from.0 + 1, rows.keys().copied());
            self.advance(last, &rows, &mark)?;
            self.uncommitted += bytes;
            done += turns as u64;
            progress(done);
            if self.uncommitted > COMMIT_BYTES {
                self.flush()?;
            }
        }
        self.flush()?;
        Ok(ledger.read(|tx| self.coverage(tx))?.missing)
    }

    /// Merges the index's segments; after a large import this makes searches faster.
    pub fn settle(&mut self) -> Result<()> {
        self.flush()?;
        self.conn.execute("INSERT INTO fts (fts, rank) VALUES ('merge', 500)", [])?;
        self.conn.execute("INSERT INTO files_fts (files_fts, rank) VALUES ('merge', 500)", [])?;
        self.conn.execute("INSERT INTO nodes_fts (nodes_fts, rank) VALUES ('merge', 500)", [])?;
        self.conn.query_row("PRAGMA wal_checkpoint(PASSIVE)", [], |_| Ok(()))?;
        Ok(())
    }

    /// Runs SQLite's own check of the full-text structures, and compares row counts with those stored.
    pub fn problems(&self) -> Result<Vec<String>> {
        let mut problems = Vec::new();
        // The full-text check is an INSERT; if writing is not possible, only the structure is checked, below.
        let writable = !self.conn.is_readonly(rusqlite::MAIN_DB)?;
        for table in ["fts", "files_fts", "nodes_fts"] {
            let check = format!("INSERT INTO {table} ({table}, rank) VALUES ('integrity-check', 0)");
            if writable && let Err(e) = self.conn.execute(&check, []) {
                problems.push(format!("the full-text index is damaged ({table}): {e}"));
            }
        }
        match self.conn.query_row("PRAGMA quick_check(1)", [], |r| r.get::<_, String>(0)) {
            Ok(check) if check == "ok" => {}
            Ok(check) => problems.push(format!("{}: {check}", self.path.display())),
            Err(e) => problems.push(format!("{}: {e}", self.path.display())),
        }
        let by_agent = || -> Result<i64> {
            let sum = "SELECT coalesce(sum(CAST(value AS INTEGER)), 0) FROM meta WHERE key LIKE 'rows:%'";
            Ok(self.conn.query_row(sum, [], |r| r.get(0))?)
        };
        match self.conn.query_row("SELECT count(*) FROM fts_docsize", [], |r| r.get::<_, i64>(0)) {
            Ok(stored) => {
                for (of, counted) in [("", self.rows()), (" of all agents together", by_agent())] {
                    match counted {
                        Ok(rows) if rows == stored => {}
                        Ok(rows) => problems.push(format!("the index counts {rows} rows{of} and has {stored}")),
                        Err(e) => problems.push(e.to_string()),
                    }
                }
            }
            Err(e) => problems.push(format!("the rows of the index cannot be counted: {e}")),
        }
        for found in [self.file_problems(), self.node_problems(), self.vector_problems(), self.length_problems()] {
            problems.extend(found.unwrap_or_else(|e| vec![e.to_string()]));
        }
        let mut seen = BTreeSet::new();
        problems.retain(|problem| seen.insert(problem.clone()));
        Ok(problems)
    }

    /// Removes the rows and vectors of forgotten turns and nodes, and every word of them from the file: rows are
    /// deleted, their segments merged, unused pages and the log emptied. Returns the number of turn rows removed. If
    /// the rows are already gone, only the merging costs time. `scratch`: folder for a temporary copy. `Busy` if
    /// another process is writing: the words may still be there.
    pub fn erase_forgotten(&mut self, ledger: &Ledger, scratch: &Path) -> Result<u64> {
        self.flush()?;
        let busy = || Error::new(ErrorKind::Busy, "somebody else is using the search index");
        if !self.begin()? {
            return Err(busy());
        }
        let turns: Vec<(AgentNo, i64)> = ledger.read(|tx| {
            let mut statement = tx.prepare(
                "SELECT s.agent_no, turn_no FROM turns t INDEXED BY turns_forgotten JOIN sessions s USING (session_no)
                 WHERE t.forgotten IS NOT NULL",
            )?;
            let rows = statement.query_map([], |r| Ok((r.get(0)?, r.get(1)?)))?;
            Ok(rows.collect::<rusqlite::Result<_>>()?)
        })?;
        let mut by_agent: BTreeMap<AgentNo, BTreeSet<i64>> = BTreeMap::new();
        for (agent_no, turn_no) in &turns {
            by_agent.entry(*agent_no).or_default().insert(*turn_no);
        }
        for (agent_no, turns) in by_agent {
            self.remove_vectors(agent_no, vectors::Sort::Turn, &turns)?;
        }
        self.erase_buried_nodes(ledger)?;
        self.put_lengths(&turns.iter().map(|(_, turn_no)| (*turn_no, 0)).collect())?;
        let mut gone: BTreeMap<AgentNo, i64> = BTreeMap::new();
        {
            let mut find = self.conn.prepare_cached("SELECT id FROM fts_docsize WHERE id BETWEEN ?1 AND ?2")?;
            let mut delete = self.conn.prepare_cached("DELETE FROM fts WHERE rowid = ?1")?;
            for (agent_no, turn_no) in turns {
                let (first, last) = RowId::range(agent_no, turn_no, turn_no);
                let rows: Vec<i64> = find.query_map([first, last], |r| r.get(0))?.collect::<rusqlite::Result<_>>()?;
                for row in rows {
                    delete.execute([row])?;
                    *gone.entry(agent_no).or_default() -= 1;
                }
            }
        }
        self.sweep_word_parts()?;
        let mut count = self.conn.prepare_cached("UPDATE meta SET value = value + ?2 WHERE key = ?1")?;
        for (agent_no, rows) in &gone {
            count.execute(params![rows_key(*agent_no), rows])?;
        }
        let rows = -gone.values().sum::<i64>();
        count.execute(params!["rows", -rows])?;
        drop(count);
        self.flush()?;
        // Unused pages keep the words of earlier rows, because turns are indexed without overwriting what is freed;
        // rewriting the file removes them.
        self.conn.execute_batch(
            "INSERT INTO fts (fts) VALUES ('optimize'); INSERT INTO files_fts (files_fts) VALUES ('optimize');
             INSERT INTO nodes_fts (nodes_fts) VALUES ('optimize');",
        )?;
        crate::sqlite::rewrite(&self.conn, scratch)?;
        let left: i64 = self.conn.query_row("PRAGMA wal_checkpoint(TRUNCATE)", [], |r| r.get(0))?;
        if left != 0 { Err(busy()) } else { Ok(rows as u64) }
    }

    pub fn bytes_on_disk(&self) -> u64 {
        let size = |p: &Path| std::fs::symlink_metadata(p).map_or(0, |m| m.len());
        size(&self.path) + size(&crate::sqlite::wal_path(&self.path))
    }

    pub fn ledger_id(&self) -> &str {
        &self.ledger_id
    }

    /// Starts a write transaction if none is open. Returns `false` if another process is writing; that process will do
    /// the work.
    fn begin(&mut self) -> Result<bool> {
        if self.writing {
            return Ok(true);
        }
        match self.conn.execute_batch("BEGIN IMMEDIATE") {
            Ok(()) => {
                self.writing = true;
                self.conn.execute_batch(WRITING)?;
                self.words.clear();
                self.waiting = self.keeps_step()?.then(vectors::Waiting::default);
                Ok(true)
            }
            Err(e) if e.sqlite_error_code() == Some(rusqlite::ErrorCode::DatabaseBusy) => Ok(false),
            Err(e) => Err(e.into()),
        }
    }

    /// Deletes every row, inside the open transaction.
    fn empty(&mut self) -> Result<()> {
        self.conn.execute_batch(
            "INSERT INTO fts (fts) VALUES ('delete-all');
             UPDATE meta SET value = '0' WHERE key IN ('watermark', 'rows') OR key LIKE 'rows:%';",
        )?;
        for empty in [files::EMPTY, nodes::EMPTY, vectors::EMPTY, lengths::EMPTY] {
            self.conn.execute_batch(empty)?;
        }
        self.waiting = None;
        self.unmeasured = None;
        Ok(())
    }

    /// Returns the last turn the index covers and that turn's mark, read together because another process may be
    /// changing both. A ledger restored from a backup has another turn with this number.
    fn end(&self) -> Result<(TurnId, String)> {
        let lost = || Error::damaged("the index has lost count");
        let end: Option<(String, Option<String>)> = self
            .conn
            .prepare_cached(
                "SELECT value, (SELECT value FROM meta WHERE key = 'mark') FROM meta WHERE key = 'watermark'",
            )?
            .query_row([], |r| Ok((r.get(0)?, r.get(1)?)))
            .optional()?;
        let (watermark, mark) = end.ok_or_else(lost)?;
        let watermark = watermark.parse().map_err(|e| lost().because(e))?;
        Ok((TurnId(watermark), mark.unwrap_or_default()))
    }

    /// Moves the watermark forward. `rows`: number of rows added, by agent.
    fn advance(&self, watermark: TurnId, rows: &BTreeMap<AgentNo, i64>, mark: &str) -> Result<()> {
        self.conn.prepare_cached("INSERT OR REPLACE INTO meta (key, value) VALUES ('mark', ?1)")?.execute([mark])?;
        self.conn
            .prepare_cached("UPDATE meta SET value = ?1 WHERE key = 'watermark'")?
            .execute([watermark.0.to_string()])?;
        let mut count = self.conn.prepare_cached(
            "INSERT INTO meta (key, value) VALUES (?1, ?2) ON CONFLICT (key) DO UPDATE SET value = value + excluded.value",
        )?;
        for (agent_no, rows) in rows {
            count.execute(params![rows_key(*agent_no), rows.to_string()])?;
        }
        count.execute(params!["rows", rows.values().sum::<i64>().to_string()])?;
        Ok(())
    }
}

impl Drop for Index {
    fn drop(&mut self) {
        let _ = self.flush();
    }
}

/// Returns the key of an agent's row count, since word frequency is computed per agent.
fn rows_key(agent_no: AgentNo) -> String {
    format!("rows:{agent_no}")
}

/// Returns a mark of a turn that another turn with the same number hardly has.
fn mark(session_no: SessionNo, at: Option<Millis>, text_length: i64) -> String {
    format!("{session_no} {} {text_length}", at.map_or("-".into(), |at| at.to_string()))
}

/// Whether a turn has the mark. The time of a turn first captured from a hook changes when the program's store gives
/// its own; the rest stays (R4.4).
fn is_marked(tx: &Read, turn_no: TurnId, marked: &str) -> Result<bool> {
    let mark = mark_of(tx, turn_no)?;
    if mark == marked {
        return Ok(true);
    }
    let lasting = |mark: &str| -> Vec<String> { mark.split(' ').step_by(2).map(str::to_owned).collect() };
    Ok(lasting(&mark) == lasting(marked)
        && tx.prepare_cached("SELECT 1 FROM witnesses WHERE turn_no = ?1 LIMIT 1")?.exists([turn_no])?)
}

fn mark_of(tx: &Read, turn_no: TurnId) -> Result<String> {
    let found = tx
        .prepare_cached("SELECT session_no, at, text_length FROM turns WHERE turn_no = ?1")?
        .query_row([turn_no], |r| Ok(mark(r.get(0)?, r.get(1)?, r.get(2)?)))
        .optional()?;
    Ok(found.unwrap_or_default())
}

/// Whether opening made a new index, and why.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Rebuilt {
    No,
    WasMissing,
    OtherVersion,
    WasDamaged,
}

/// Removes the files that SQLite keeps beside a database.
fn remove_sides(path: &Path) {
    for end in ["-wal", "-shm"] {
        let mut side = path.as_os_str().to_owned();
        side.push(end);
        let _ = std::fs::remove_file(PathBuf::from(side));
    }
}

/// Returns device and inode of the file at a path.
fn file_id(path: &Path) -> Option<(u64, u64)> {
    use std::os::unix::fs::MetadataExt;
    std::fs::metadata(path).ok().map(|m| (m.dev(), m.ino()))
}

fn configure(conn: &Connection) -> Result<()> {
    conn.busy_timeout(OPENING)?;
    conn.execute_batch(
        "PRAGMA journal_mode = WAL; PRAGMA synchronous = NORMAL; PRAGMA trusted_schema = OFF;
         PRAGMA journal_size_limit = 67108864; PRAGMA temp_store = MEMORY; PRAGMA mmap_size = 0;",
    )?;
    conn.execute_batch(READING)?;
    Ok(())
}

fn private(path: &Path) -> Result<()> {
    use std::os::unix::fs::PermissionsExt;
    std::fs::set_permissions(path, std::fs::Permissions::from_mode(0o600)).map_err(|e| Error::io("protect", path, e))
}
