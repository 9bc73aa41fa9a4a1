//! The index rows of visible files, and how they follow the file table (R10.10).
//!
//! A second full-text table beside that of the turns. The index covers an agent's files up to a change number of the
//! file table, stored with a mark of the ledger's history in the transaction that stores the rows. It also stores what
//! each file's rows were made from, so that they can be removed and verified.
//!
//! A file is indexed as it is when it is read. If that differs from its file table row (saved again since, unreadable,
//! removed), every catch-up checks it again: a file restored to an earlier digest causes no new change.

use std::collections::BTreeSet;
use std::time::Instant;

use rusqlite::{OptionalExtension, params};

use super::vectors::{Key, SetKey, Sort};
use super::words::words;
use super::{COMMIT_BYTES, Index, RowId};
use crate::document::Document;
use crate::error::{Error, ErrorKind, Result};
use crate::home::{self, Digest};
use crate::ledger::Read;
use crate::scope::{AgentNo, ChangeNo, FileNo, WorkspaceNo};
use crate::tree::file_table::{self, Entry, Kind, State};
use crate::tree::{AssistantHome, LARGEST_FILE};

/// Files taken from the file table at once; few, because a search may be waiting.
const STEP: usize = 400;
const HASTY_STEP: usize = 16;

/// Largest number of files that differ from their row and are checked again in one catch-up.
const DUE: i64 = 100;

/// Returns the SQL of the table of words and of the table that records what its rows were made from.
pub(super) fn schema(tokenizer: &str) -> String {
    format!(
        "CREATE VIRTUAL TABLE files_fts USING fts5(title, text, scope, content='', contentless_delete=1, tokenize='{tokenizer}');
         CREATE TABLE files (
           file INTEGER PRIMARY KEY, change_no INTEGER NOT NULL, digest BLOB, parts INTEGER NOT NULL, due INTEGER NOT NULL,
           embedded INTEGER NOT NULL
         ) STRICT;
         CREATE INDEX files_due ON files (file) WHERE due = 1;
         CREATE INDEX files_embedded ON files (file) WHERE embedded = 0;"
    )
}

/// The source of a file's rows.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct Made {
    pub file_no: FileNo,
    pub change_no: ChangeNo,
    /// Digest of the bytes that were read; `None` if they could not be read.
    pub digest: Option<Digest>,
    /// Number of its rows.
    pub parts: i64,
    /// Whether rows are missing or superfluous.
    pub broken: bool,
}

impl Index {
    /// Returns how many changes of an agent's files are not indexed. If the ledger does not know the stored change
    /// number or mark, the index belongs to another history, and all its rows are invalid.
    pub fn files_missing(&self, tx: &Read, agent_no: AgentNo) -> Result<u64> {
        let (watermark, mark) = self.files_end(agent_no)?;
        let last = file_table::last_change(tx, agent_no)?;
        if watermark > last || (watermark.0 > 0 && !is_of(tx, agent_no, watermark, &mark)?) {
            return Err(
                Error::damaged("the index was made from another history of the files").hint("⟨reindex⟩ makes it anew")
            );
        }
        if watermark == last {
            return Ok(0);
        }
        let missing: i64 = tx
            .prepare_cached("SELECT count(*) FROM catalogue WHERE agent_no = ?1 AND change_no > ?2")?
            .query_row((agent_no, watermark), |r| r.get(0))?;
        Ok(missing as u64)
    }

    /// Follows the file table until done or `deadline`. Returns how many changes are still missing.
    pub fn catch_up_files(&mut self, at: &AssistantHome, deadline: Option<Instant>) -> Result<u64> {
        self.flush()?;
        // Words of files can be forgotten, so freed pages are overwritten; turns are too many for that.
        self.conn.pragma_update(None, "secure_delete", true)?;
        let missing = self.caught_up_files(at, deadline);
        self.conn.pragma_update(None, "secure_delete", false)?;
        missing
    }

    /// Removes the words of removed files for good; until its segments are merged, the index still contains them.
    pub fn erase_gone_files(&mut self, at: &AssistantHome) -> Result<()> {
        self.catch_up_files(at, None)?;
        self.conn.pragma_update(None, "secure_delete", true)?;
        let merged = self.conn.execute("INSERT INTO files_fts (files_fts) VALUES ('optimize')", []);
        self.conn.pragma_update(None, "secure_delete", false)?;
        merged?;
        self.conn.query_row("PRAGMA wal_checkpoint(TRUNCATE)", [], |_| Ok(()))?;
        Ok(())
    }

    fn caught_up_files(&mut self, at: &AssistantHome, deadline: Option<Instant>) -> Result<u64> {
        let missing = match at.read(|tx| self.files_missing(tx, at.agent_no)) {
            Err(e) if e.kind() == ErrorKind::Damaged => {
                if !self.begin()? {
                    return Err(e);
                }
                self.forget_files(at.agent_no)?;
                self.flush()?;
                u64::MAX
            }
            other => other?,
        };
        if missing > 0 {
            self.follow(at, deadline)?;
        }
        self.look_again(at)?;
        self.flush()?;
        self.fill_files(at, deadline)?;
        at.read(|tx| self.files_missing(tx, at.agent_no))
    }

    fn follow(&mut self, at: &AssistantHome, deadline: Option<Instant>) -> Result<()> {
        let step = if deadline.is_some() { HASTY_STEP } else { STEP };
        while deadline.is_none_or(|d| Instant::now() < d) && self.begin()? {
            let (from, _) = self.files_end(at.agent_no)?;
            let (changed, mark) = at.read(|tx| {
                let changed = file_table::changes(tx, at.agent_no, from, step)?;
                let mark = changed.last().map(|last| mark_of(tx, last)).transpose()?;
                Ok((changed, mark))
            })?;
            let (Some(last), Some(mark)) = (changed.last(), mark) else { break };
            for entry in &changed {
                self.put(at, entry)?;
            }
            self.set(&end_key(at.agent_no), &format!("{} {mark}", last.change_no))?;
            if self.uncommitted > COMMIT_BYTES {
                self.flush()?;
            }
        }
        Ok(())
    }

    /// Checks again the files that differed from their row. Writes nothing while they are unchanged.
    fn look_again(&mut self, at: &AssistantHome) -> Result<()> {
        let (first, last) = RowId::range(at.agent_no, 0, i64::MAX);
        let due: Vec<(i64, Option<Vec<u8>>)> = {
            let mut statement = self.conn.prepare_cached(
                "SELECT file, digest FROM files WHERE due = 1 AND file BETWEEN ?1 AND ?2 ORDER BY file LIMIT ?3",
            )?;
            let rows = statement.query_map([first, last, DUE], |r| Ok((r.get(0)?, r.get(1)?)))?;
            rows.collect::<rusqlite::Result<_>>()?
        };
        for (file, digest) in due {
            let file_no = FileNo(RowId::unpack(file).turn_no);
            let Some(entry) = at.read(|tx| file_table::numbered(tx, at.agent_no, file_no))? else { continue };
            let now = bytes_of(at, &entry).map(|bytes| home::digest(&bytes));
            if now.as_ref().map(Digest::as_slice) != digest.as_deref() || now == Some(entry.digest) {
                if !self.begin()? {
                    break;
                }
                self.put(at, &entry)?;
            }
        }
        Ok(())
    }

    /// Replaces the rows of a file with those of its current content, inside the open transaction.
    fn put(&mut self, at: &AssistantHome, entry: &Entry) -> Result<()> {
        let row = |part| RowId { agent_no: at.agent_no, turn_no: entry.file_no.0, part }.pack();
        self.take_out(at.agent_no, row(0))?;
        if entry.state == State::Gone || entry.kind == Kind::Runtime {
            return Ok(());
        }
        let bytes = bytes_of(at, entry);
        let digest = bytes.as_deref().map(home::digest);
        let (mut parts, mut embedded) = (0i64, true);
        if let Some(bytes) = bytes {
            self.uncommitted += bytes.len() + 64;
            let words = words(entry, &Document::parse(bytes));
            let mut insert = self
                .conn
                .prepare_cached("INSERT INTO files_fts (rowid, title, text, scope) VALUES (?1, ?2, ?3, ?4)")?;
            for text in &words.parts {
                insert.execute(params![row(parts), words.title, text, words.scope])?;
                parts += 1;
            }
            drop(insert);
            embedded = match self.vectors_now(&texts_of(entry, &words.plain))? {
                Some(made) => self.store_file(at.agent_no, entry, made)?,
                None => false,
            };
        }
        self.conn
            .prepare_cached(
                "INSERT INTO files (file, change_no, digest, parts, due, embedded) VALUES (?1, ?2, ?3, ?4, ?5, ?6)",
            )?
            .execute(params![
                row(0),
                entry.change_no,
                digest.as_ref().map(Digest::as_slice),
                parts,
                digest != Some(entry.digest),
                embedded
            ])?;
        self.count_files(at.agent_no, parts)
    }

    fn take_out(&mut self, agent_no: AgentNo, file: i64) -> Result<()> {
        let made: Option<(i64, bool)> = self
            .conn
            .prepare_cached("SELECT parts, embedded FROM files WHERE file = ?1")?
            .query_row([file], |r| Ok((r.get(0)?, r.get(1)?)))
            .optional()?;
        let Some((parts, embedded)) = made else { return Ok(()) };
        if embedded {
            self.remove_vectors(agent_no, Sort::File, &BTreeSet::from([RowId::unpack(file).turn_no]))?;
        }
        let mut delete = self.conn.prepare_cached("DELETE FROM files_fts WHERE rowid = ?1")?;
        for row in file..file + parts {
            delete.execute([row])?;
        }
        self.conn.prepare_cached("DELETE FROM files WHERE file = ?1")?.execute([file])?;
        self.count_files(agent_no, -parts)
    }

    /// Removes everything about an agent's files, inside the open transaction.
    fn forget_files(&mut self, agent_no: AgentNo) -> Result<()> {
        let (first, last) = RowId::range(agent_no, 0, i64::MAX);
        let files: Vec<i64> = {
            let mut statement = self.conn.prepare_cached("SELECT file FROM files WHERE file BETWEEN ?1 AND ?2")?;
            let rows = statement.query_map([first, last], |r| r.get(0))?;
            rows.collect::<rusqlite::Result<_>>()?
        };
        for file in files {
            self.take_out(agent_no, file)?;
        }
        self.conn.execute("DELETE FROM meta WHERE key = ?1", [end_key(agent_no)])?;
        Ok(())
    }

    /// Makes the missing vectors of files that have rows; while a search waits, only with a quick model.
    fn fill_files(&mut self, at: &AssistantHome, deadline: Option<Instant>) -> Result<()> {
        let (first, last) = RowId::range(at.agent_no, 0, i64::MAX);
        let mut from = first;
        while self.may_fill(deadline) {
            let lacking: Vec<(i64, Option<Vec<u8>>)> = {
                let mut statement = self.conn.prepare_cached(
                    "SELECT file, digest FROM files INDEXED BY files_embedded
                     WHERE embedded = 0 AND file BETWEEN ?1 AND ?2 ORDER BY file LIMIT ?3",
                )?;
                let rows = statement.query_map([from, last, HASTY_STEP as i64], |r| Ok((r.get(0)?, r.get(1)?)))?;
                rows.collect::<rusqlite::Result<_>>()?
            };
            let Some((newest, _)) = lacking.last() else { break };
            from = newest + 1;
            for (file, digest) in lacking {
                let file_no = FileNo(RowId::unpack(file).turn_no);
                let Some(entry) = at.read(|tx| file_table::numbered(tx, at.agent_no, file_no))? else { continue };
                let Some(bytes) = bytes_of(at, &entry) else { continue };
                let now = home::digest(&bytes);
                let plain = words(&entry, &Document::parse(bytes)).plain;
                let Some(made) = self.vectors_of(&texts_of(&entry, &plain))? else { return Ok(()) };
                if !self.begin()? {
                    return Ok(());
                }
                // Another process may have indexed the file again or removed it.
                let same: Option<Option<Vec<u8>>> = self
                    .conn
                    .prepare_cached("SELECT digest FROM files WHERE file = ?1 AND embedded = 0")?
                    .query_row([file], |r| r.get(0))
                    .optional()?;
                if same.is_some_and(|d| d == digest && d.as_deref() == Some(now.as_slice()))
                    && self.store_file(at.agent_no, &entry, made)?
                {
                    self.conn.prepare_cached("UPDATE files SET embedded = 1 WHERE file = ?1")?.execute([file])?;
                }
                self.flush()?;
            }
        }
        Ok(())
    }

    /// Stores the vectors of a file. Returns `false` if they could not be stored; they are then made again later.
    fn store_file(&mut self, agent_no: AgentNo, entry: &Entry, made: Vec<Option<Vec<u8>>>) -> Result<bool> {
        let set = SetKey {
            agent_no,
            sort: Sort::File,
            workspace_no: WorkspaceNo(0),
            label: entry.scope.clone().unwrap_or_default(),
        };
        let archived = entry.state == State::Archived;
        let key = |part| Key::of_file(entry.file_no.0, part, entry.kind, archived);
        self.store_vectors(&set, made, key)
    }

    /// Returns the number of rows of one agent's files.
    pub fn file_rows_of(&self, agent_no: AgentNo) -> Result<i64> {
        let rows: Option<i64> = self
            .conn
            .prepare_cached("SELECT CAST(value AS INTEGER) FROM meta WHERE key = ?1")?
            .query_row([rows_key(agent_no)], |r| r.get(0))
            .optional()?;
        Ok(rows.unwrap_or(0))
    }

    /// Returns the last change of an agent's files that the index covers.
    pub(crate) fn files_covered(&self, agent_no: AgentNo) -> Result<ChangeNo> {
        Ok(self.files_end(agent_no)?.0)
    }

    /// Returns the sources of the rows of an agent's files.
    pub(crate) fn files_made(&self, agent_no: AgentNo) -> Result<Vec<Made>> {
        let (first, last) = RowId::range(agent_no, 0, i64::MAX);
        let mut statement = self.conn.prepare(
            "SELECT file, change_no, digest, parts,
                    parts != (SELECT count(*) FROM files_fts_docsize WHERE id BETWEEN file AND file + 63)
                    OR parts != (SELECT count(*) FROM files_fts_docsize WHERE id BETWEEN file AND file + parts - 1)
             FROM files WHERE file BETWEEN ?1 AND ?2 ORDER BY file",
        )?;
        let rows = statement.query_map([first, last], |r| {
            let digest: Option<Vec<u8>> = r.get(2)?;
            Ok(Made {
                file_no: FileNo(RowId::unpack(r.get(0)?).turn_no),
                change_no: r.get(1)?,
                digest: digest.and_then(|d| d.try_into().ok()),
                parts: r.get(3)?,
                broken: r.get(4)?,
            })
        })?;
        Ok(rows.collect::<rusqlite::Result<_>>()?)
    }

    /// Returns internal inconsistencies of the file tables: uncounted rows, and counts without rows.
    pub(super) fn file_problems(&self) -> Result<Vec<String>> {
        let mut problems = Vec::new();
        let number = |sql: &str| self.conn.query_row(sql, [], |r| r.get::<_, i64>(0));
        let stored = match number("SELECT count(*) FROM files_fts_docsize") {
            Ok(stored) => stored,
            Err(e) => return Ok(vec![format!("the file rows of the index cannot be counted: {e}")]),
        };
        for (of, sql) in [
            ("", "SELECT coalesce(sum(parts), 0) FROM files"),
            (
                " of all agents together",
                "SELECT coalesce(sum(CAST(value AS INTEGER)), 0) FROM meta WHERE key LIKE 'file-rows:%'",
            ),
        ] {
            match number(sql) {
                Ok(rows) if rows == stored => {}
                Ok(rows) => problems.push(format!("the index counts {rows} file rows{of} and has {stored}")),
                Err(e) => problems.push(e.to_string()),
            }
        }
        Ok(problems)
    }

    /// Returns the last change of an agent's files that the index covers, and the mark of the history it belongs to.
    fn files_end(&self, agent_no: AgentNo) -> Result<(ChangeNo, String)> {
        let value: Option<String> = self
            .conn
            .prepare_cached("SELECT value FROM meta WHERE key = ?1")?
            .query_row([end_key(agent_no)], |r| r.get(0))
            .optional()?;
        let Some(value) = value else { return Ok((ChangeNo(0), String::new())) };
        let (change_no, mark) = value.split_once(' ').unwrap_or((&value, ""));
        // An unreadable value counts as a number no file table has reached, so that the rows are made again.
        Ok((ChangeNo(change_no.parse().unwrap_or(i64::MAX)), mark.to_owned()))
    }

    fn set(&self, key: &str, value: &str) -> Result<()> {
        self.conn.prepare_cached("INSERT OR REPLACE INTO meta (key, value) VALUES (?1, ?2)")?.execute([key, value])?;
        Ok(())
    }

    fn count_files(&self, agent_no: AgentNo, more: i64) -> Result<()> {
        self.conn
            .prepare_cached(
                "INSERT INTO meta (key, value) VALUES (?1, ?2) ON CONFLICT (key) DO UPDATE SET value = value + excluded.value",
            )?
            .execute(params![rows_key(agent_no), more.to_string()])?;
        Ok(())
    }
}

/// Returns the texts of a file that are embedded.
fn texts_of(entry: &Entry, plain: &str) -> Vec<String> {
    super::vectors::of_file(&entry.title, plain)
}

/// Empties the tables of files of every agent.
pub(super) const EMPTY: &str = "INSERT INTO files_fts (files_fts) VALUES ('delete-all');
     DELETE FROM files;
     DELETE FROM meta WHERE key LIKE 'files:%' OR key LIKE 'file-rows:%';";

fn end_key(agent_no: AgentNo) -> String {
    format!("files:{agent_no}")
}

fn rows_key(agent_no: AgentNo) -> String {
    format!("file-rows:{agent_no}")
}

/// Returns the bytes of a file; `None` if it cannot be read, which the scan reports.
fn bytes_of(at: &AssistantHome, entry: &Entry) -> Option<Vec<u8>> {
    at.files.read_with_stamp(&entry.path, LARGEST_FILE).ok().flatten().map(|(bytes, _)| bytes)
}

/// Returns a mark of a change that another history hardly has: the newest link of the audit chain and the file.
fn mark_of(tx: &Read, last: &Entry) -> Result<String> {
    let (no, hash): (i64, Vec<u8>) = tx
        .prepare_cached("SELECT audit_no, hash FROM audit ORDER BY audit_no DESC LIMIT 1")?
        .query_row([], |r| Ok((r.get(0)?, r.get(1)?)))
        .optional()?
        .unwrap_or_default();
    Ok(format!("{no} {} {} {}", short(&hash), last.file_no, short(&last.digest)))
}

/// Whether this ledger has the link of the mark and, unless the file has changed again, the change.
fn is_of(tx: &Read, agent_no: AgentNo, change_no: ChangeNo, mark: &str) -> Result<bool> {
    let parts: Vec<&str> = mark.split(' ').collect();
    let [no, hash, file_no, digest] = parts.as_slice() else { return Ok(false) };
    let link: Option<Vec<u8>> = tx
        .prepare_cached("SELECT hash FROM audit WHERE audit_no = CAST(?1 AS INTEGER)")?
        .query_row([no], |r| r.get(0))
        .optional()?;
    let row: Option<(i64, Vec<u8>)> = tx
        .prepare_cached("SELECT file_no, digest FROM catalogue WHERE agent_no = ?1 AND change_no = ?2")?
        .query_row((agent_no, change_no), |r| Ok((r.get(0)?, r.get(1)?)))
        .optional()?;
    let same_link = link.map_or(*no == "0", |link| short(&link) == *hash);
    let same_row = row.is_none_or(|(no, d)| no.to_string() == *file_no && short(&d) == *digest);
    Ok(same_link && same_row)
}

fn short(digest: &[u8]) -> String {
    if digest.is_empty() { "-".into() } else { digest.iter().take(8).map(|b| format!("{b:02x}")).collect() }
}
