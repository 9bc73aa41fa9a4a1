//! Reads another program's SQLite store as a [`ForeignSpec`] describes, and never writes to it. Storey 1.
//!
//! The program may be running and writing meanwhile, so every read is one short transaction and nothing is held while
//! the rows are processed: its checkpoints are never delayed. A store that cannot be opened in place (locked as a
//! whole, or in a folder where SQLite cannot create its `-shm` file) is copied into a private folder first and read
//! there.
//!
//! A row is kept as its *canonical bytes* ([`canonical`]), one line of JSON that [`restore`] turns back into the row;
//! exports use the same form. This module knows no program: tables, keys and order come from the adapter.
//!
//! Before opening such a file by other means, note that POSIX locks belong to the process, and closing *any* descriptor
//! of a database drops the locks SQLite holds on it. That is why the path is checked here with `stat` instead of being
//! opened, and why one process should read a store through one [`ForeignStore`] at a time.

mod bounds;
mod long_row;

use std::fmt;
use std::fs::{self, File};
use std::io::{Read, Write};
use std::os::unix::fs::{DirBuilderExt, FileTypeExt, MetadataExt, OpenOptionsExt};
use std::path::{Path, PathBuf};
use std::time::Duration;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD as BASE64;
use rusqlite::config::DbConfig;
use rusqlite::limits::Limit;
use rusqlite::types::ValueRef;
use rusqlite::{Connection, ErrorCode, OpenFlags, Transaction};
use serde::de::{Deserializer, MapAccess, Visitor};
use serde_json::value::RawValue;

use crate::error::{Error, ErrorKind, Result};
use crate::event::{Cell, ForeignSpec, Row, RowQuery};
use crate::source::private::Masker;
use crate::sqlite::uri;

use self::bounds::Watch;
pub use self::long_row::LongRow;

/// Longest time SQLite waits for a lock. A program's own write transactions last milliseconds; a lock held longer than
/// this is on the whole file (`locking_mode=EXCLUSIVE`), and waiting would not help.
const BUSY: Duration = Duration::from_secs(2);

/// Number of items read in one transaction: large enough that statements are rarely prepared, small enough that the
/// transaction ends within a few milliseconds.
const CHUNK_ITEMS: usize = 64;

/// Size of a chunk in bytes at which it ends early, so that a session of huge tool outputs need not fit into memory.
const CHUNK_BYTES: usize = 8 << 20;

/// The largest size, in bytes, of a decompressed body; OpenClaw's own limit is 4 MiB.
const OPENED_LIMIT: u64 = 64 << 20;

/// Largest store, in bytes, that is copied when no program has it open, so that reading leaves no side files beside it.
/// Copying this much takes a tenth of a second.
const COPIED_AT_REST: u64 = 64 << 20;

/// Number of times a copy is attempted when the store changes meanwhile.
const COPY_TRIES: usize = 3;

/// A program's store, open for reading.
///
/// Dropping it closes the connection and removes the copy, where one was made.
pub struct ForeignStore {
    path: PathBuf,
    // Declared before `copy`: fields are dropped in order, and the copy's files are removed after the connection is
    // closed.
    connection: Connection,
    copy: Option<PrivateCopy>,
    watch: Watch,
    /// Folder for the files of rows too long to be held in memory.
    scratch: PathBuf,
}

/// The canonical bytes of a row.
#[derive(Debug)]
pub enum RowBytes {
    Whole(Vec<u8>),
    /// A row of 32 MiB or more, in a file. The row's long values are NULL in its columns.
    Long(LongRow),
}

/// One session of a store, with a fingerprint that shows whether it changed.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Group {
    /// The group's key, as the spec's statements take it.
    pub key: String,
    /// Fingerprint that changes whenever any row of the group does; otherwise opaque.
    pub fingerprint: String,
}

impl ForeignStore {
    /// Opens a store read-only in place, or a copy of it in `scratch`, a folder of the home that is created (mode 0700)
    /// when needed.
    ///
    /// A copy is read where the store cannot be opened in place, and also where the store is small and no program has
    /// it open: reading in place would then leave an empty `-wal` and a `-shm` beside it, which a read-only connection
    /// creates but cannot remove.
    pub fn open(path: &Path, scratch: &Path) -> Result<ForeignStore> {
        check_is_file(path)?;
        let path = std::path::absolute(path).map_err(|e| Error::io("open", path, e))?;
        if small_and_at_rest(&path) {
            return ForeignStore::open_copy(path, scratch);
        }
        match connect(&uri(&path, "mode=ro"), OpenFlags::SQLITE_OPEN_READ_ONLY) {
            Ok(connection) => ForeignStore::watched(path, connection, None, scratch),
            Err(cause) if helped_by_copy(&cause) => ForeignStore::open_copy(path, scratch),
            Err(cause) => Err(failed(&path, cause)),
        }
    }

    fn open_copy(path: PathBuf, scratch: &Path) -> Result<ForeignStore> {
        let copy = PrivateCopy::make(&path, scratch)?;
        // The copy belongs to Heirloom: SQLite may recover its log or roll back its journal.
        let connection = connect(&uri(&copy.database, "mode=rw"), OpenFlags::SQLITE_OPEN_READ_WRITE)
            .map_err(|e| failed(&path, e))?;
        ForeignStore::watched(path, connection, Some(copy), scratch)
    }

    fn watched(
        path: PathBuf,
        mut connection: Connection,
        copy: Option<PrivateCopy>,
        scratch: &Path,
    ) -> Result<ForeignStore> {
        let watch = Watch::over(&mut connection).map_err(|e| failed(&path, e))?;
        Ok(ForeignStore { path, connection, copy, watch, scratch: scratch.to_owned() })
    }

    /// Whether a copy is being read instead of the store itself.
    pub fn was_copied(&self) -> bool {
        self.copy.is_some()
    }

    /// Returns all groups of the store with their fingerprints, in one short read. `Refused` if a view has the name of
    /// a table that is read.
    pub fn groups(&self, spec: &ForeignSpec) -> Result<Vec<Group>> {
        bounds::only_tables(&self.connection, spec, &self.path.display().to_string())?;
        self.watch.restart();
        let read = || -> rusqlite::Result<Vec<Group>> {
            let transaction = self.connection.unchecked_transaction()?;
            let mut statement = transaction.prepare(spec.groups)?;
            let mut rows = statement.query([])?;
            let mut groups = Vec::new();
            while let Some(row) = rows.next()? {
                if let Some(key) = shown(row.get_ref(0)?) {
                    groups.push(Group { key, fingerprint: shown(row.get_ref(1)?).unwrap_or_default() });
                }
            }
            Ok(groups)
        };
        read().map_err(|e| failed(&self.path, e))
    }

    /// Reads a group: its head rows, then its items in order, each row with its canonical bytes.
    ///
    /// `each` is called with no statement and no transaction open, so it may take its time. It is called for every row,
    /// changed or not; rows the program removes meanwhile are left out. Private spans are masked. An error from `each`
    /// ends the reading. Returns the number of private spans.
    pub fn read_group(
        &self,
        spec: &ForeignSpec,
        key: &str,
        mut each: impl FnMut(Row, RowBytes) -> Result<()>,
    ) -> Result<u64> {
        let (heads, items) = self.read_heads(spec, key)?;
        let mut masker = Masker::default();
        let mut hand_over = |(mut row, mut bytes): (Row, RowBytes)| {
            open_zstd(spec, &mut row);
            if masker.row(&mut row)
                && let RowBytes::Whole(bytes) = &mut bytes
            {
                *bytes = canonical(&without_packed(spec, &row));
            }
            each(row, bytes)
        };
        heads.into_iter().try_for_each(&mut hand_over)?;
        let mut rest = items.as_slice();
        while !rest.is_empty() {
            let (rows, taken) = self.read_items(spec, key, rest)?;
            rest = &rest[taken..];
            rows.into_iter().try_for_each(&mut hand_over)?;
        }
        Ok(masker.spans())
    }

    fn read_heads(&self, spec: &ForeignSpec, key: &str) -> Result<(Vec<Kept>, Vec<ItemKey>)> {
        self.watch.restart();
        let failed = |e| failed(&self.path, e);
        let transaction = self.connection.unchecked_transaction().map_err(failed)?;
        let mut heads = Vec::new();
        for query in spec.heads {
            self.read_rows(&transaction, query, &[&key], &mut heads)?;
        }
        let read = || -> rusqlite::Result<Vec<ItemKey>> {
            let mut statement = transaction.prepare(spec.items)?;
            let rows = statement.query_map([key], |r| r.get(0))?;
            rows.collect()
        };
        let items = read().map_err(failed)?;
        Ok((heads, items))
    }

    /// Reads the first of these items, as many as make one chunk, and returns how many were read.
    fn read_items(&self, spec: &ForeignSpec, key: &str, items: &[ItemKey]) -> Result<(Vec<Kept>, usize)> {
        self.watch.restart();
        let transaction = self.connection.unchecked_transaction().map_err(|e| failed(&self.path, e))?;
        let mut rows = Vec::new();
        let mut bytes = 0;
        for (i, item) in items.iter().enumerate() {
            if i == CHUNK_ITEMS || bytes > CHUNK_BYTES {
                return Ok((rows, i));
            }
            let before = rows.len();
            for query in spec.item_rows {
                self.read_rows(&transaction, query, &[&key, item], &mut rows)?;
            }
            let in_memory = |(_, kept): &Kept| match kept {
                RowBytes::Whole(bytes) => bytes.len(),
                // The long bytes are in a file, but the row's short values are in memory, so such a row counts as a
                // full chunk.
                RowBytes::Long(_) => CHUNK_BYTES,
            };
            bytes += rows[before..].iter().map(in_memory).sum::<usize>();
        }
        Ok((rows, items.len()))
    }

    /// Runs one of the spec's row queries and appends the rows it finds. Long rows go to a file.
    fn read_rows(
        &self,
        transaction: &Transaction<'_>,
        query: &RowQuery,
        keys: &[&dyn rusqlite::ToSql],
        into: &mut Vec<Kept>,
    ) -> Result<()> {
        let before = into.len();
        match read_rows(transaction, query, keys, into) {
            Err(e) if long_row::is_too_long(&e) => {
                into.truncate(before);
                long_row::read_rows(transaction, query, keys, &self.scratch, into).map_err(|e| {
                    Error::refused(format!("{} has a row too long to be read", self.path.display())).because(e)
                })?;
            }
            done => done.map_err(|e| failed(&self.path, e))?,
        }
        for (_, kept) in &mut into[before..] {
            if let RowBytes::Whole(bytes) = kept
                && long_row::is_long(bytes)
            {
                *kept = RowBytes::Long(LongRow::of(bytes, &self.scratch)?);
            }
        }
        Ok(())
    }
}

impl fmt::Debug for ForeignStore {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ForeignStore").field("path", &self.path).field("copied", &self.was_copied()).finish()
    }
}

/// Returns the canonical bytes of a row: one line of JSON in UTF-8, without a newline.
///
/// An object with `"$table"` first, then every column in declaration order. INTEGER is a number without and REAL one
/// with a point or exponent, in a form that reads back to the same 64 bits; TEXT is a string, BLOB
/// `{"$blob":"<base64>"}`, NULL `null`. Values JSON has no form for: infinite or undefined REAL is `{"$real":"inf"}`
/// (`-inf`, `nan`), and TEXT that is not UTF-8 is `{"$text":"<base64>"}`.
pub fn canonical(row: &Row) -> Vec<u8> {
    let mut out = Vec::with_capacity(256);
    out.extend_from_slice(b"{\"$table\":");
    put_json(&mut out, &row.table);
    for (name, cell) in &row.columns {
        out.push(b',');
        put_json(&mut out, name);
        out.push(b':');
        match cell {
            Cell::Null => out.extend_from_slice(b"null"),
            Cell::Integer(n) => put_json(&mut out, n),
            // Written in the standard library's form: the bytes are compared to see whether a row has changed, and
            // serde_json's form of floats has changed between its releases.
            Cell::Real(x) if x.is_finite() => out.extend_from_slice(format!("{x:?}").as_bytes()),
            Cell::Real(x) => put_wrapped(&mut out, "$real", if x.is_nan() { "nan" } else { sign_of_infinity(*x) }),
            Cell::Text(text) => put_json(&mut out, text),
            Cell::RawText(bytes) => put_wrapped(&mut out, "$text", &BASE64.encode(bytes)),
            Cell::Blob(bytes) => put_wrapped(&mut out, "$blob", &BASE64.encode(bytes)),
        }
    }
    out.push(b'}');
    out
}

/// Turns canonical bytes back into the row as [`ForeignStore::read_group`] passed it: with its key, made as the spec
/// says, and with compressed bodies unpacked.
pub fn restore(spec: &ForeignSpec, bytes: &[u8]) -> Result<Row> {
    let damaged = |what: &str| Error::damaged(format!("a kept row cannot be read: {what}"));
    let fields: Fields = serde_json::from_slice(bytes).map_err(|e| damaged("not a JSON object").because(e))?;
    let mut fields = fields.0.into_iter();
    let table = match fields.next() {
        Some((name, value)) if name == "$table" => serde_json::from_str::<String>(value.get()).ok(),
        _ => None,
    };
    let table = table.ok_or_else(|| damaged("it names no table"))?;
    let mut columns = Vec::new();
    for (name, value) in fields {
        let cell = cell_of(value.get()).ok_or_else(|| damaged(&format!("column {name} of table {table}")))?;
        columns.push((name, cell));
    }
    let query = spec.heads.iter().chain(spec.item_rows).find(|q| q.table == table);
    let query = query.ok_or_else(|| damaged(&format!("table {table} is not known")))?;
    let mut row = Row { key: key_of(query, &columns), table, columns };
    open_zstd(spec, &mut row);
    Ok(row)
}

/// A row with its canonical bytes.
type Kept = (Row, RowBytes);

/// An item's key in the type the program gave it, so that it compares as in the program.
type ItemKey = rusqlite::types::Value;

/// Runs one of the spec's row queries and appends the rows it finds.
fn read_rows(
    transaction: &Transaction<'_>,
    query: &RowQuery,
    keys: &[&dyn rusqlite::ToSql],
    into: &mut Vec<Kept>,
) -> rusqlite::Result<()> {
    let mut statement = transaction.prepare_cached(query.sql)?;
    let names: Vec<String> = statement.column_names().map(String::from).collect();
    // A statement that does not need `?1` or `?2` may leave it out.
    let wanted = statement.parameter_count().min(keys.len());
    let mut rows = statement.query(&keys[..wanted])?;
    while let Some(row) = rows.next()? {
        let mut columns = Vec::with_capacity(names.len());
        for (i, name) in names.iter().enumerate() {
            columns.push((name.clone(), cell_from(row.get_ref(i)?)));
        }
        let row = Row { table: query.table.into(), key: key_of(query, &columns), columns };
        let bytes = RowBytes::Whole(canonical(&row));
        into.push((row, bytes));
    }
    Ok(())
}

fn cell_from(value: ValueRef<'_>) -> Cell {
    match value {
        ValueRef::Null => Cell::Null,
        ValueRef::Integer(n) => Cell::Integer(n),
        ValueRef::Real(x) => Cell::Real(x),
        ValueRef::Text(bytes) => match std::str::from_utf8(bytes) {
            Ok(text) => Cell::Text(text.into()),
            Err(_) => Cell::RawText(bytes.into()),
        },
        ValueRef::Blob(bytes) => Cell::Blob(bytes.into()),
    }
}

/// Returns the row's primary key as text.
fn key_of(query: &RowQuery, columns: &[(String, Cell)]) -> String {
    let part = |name: &&str| match columns.iter().find(|(n, _)| n == name) {
        Some((_, Cell::Text(text))) => text.clone(),
        Some((_, Cell::Integer(n))) => n.to_string(),
        Some((_, Cell::Real(x))) => x.to_string(),
        Some((_, Cell::RawText(bytes) | Cell::Blob(bytes))) => BASE64.encode(bytes),
        Some((_, Cell::Null)) | None => String::new(),
    };
    query.key.iter().map(part).collect::<Vec<_>>().join("/")
}

/// Decompresses the bodies the spec names into their text columns, if these are NULL. A body that cannot be
/// decompressed, or is too large, stays NULL: the decoder reports it, and the stored bytes still contain it.
fn open_zstd(spec: &ForeignSpec, row: &mut Row) {
    for (packed, text) in spec.zstd {
        let Some(Cell::Blob(body)) = row.columns.iter().find(|(n, _)| n == packed).map(|(_, cell)| cell) else {
            continue;
        };
        let opened = unpack(body);
        let target = row.columns.iter_mut().find(|(n, _)| n == text).map(|(_, cell)| cell);
        if let (Some(target @ Cell::Null), Some(opened)) = (target, opened) {
            *target = Cell::Text(opened);
        }
    }
}

/// Returns the row without its packed bodies where these are unpacked in a text column: otherwise the packed body would
/// still contain text that is masked there.
fn without_packed(spec: &ForeignSpec, row: &Row) -> Row {
    let mut row = row.clone();
    for (packed, text) in spec.zstd {
        if row.text(text).is_some()
            && let Some((_, cell)) = row.columns.iter_mut().find(|(name, _)| name == packed)
        {
            *cell = Cell::Null;
        }
    }
    row
}

fn unpack(body: &[u8]) -> Option<String> {
    let decoder = zstd::stream::read::Decoder::new(body).ok()?;
    let mut opened = Vec::new();
    decoder.take(OPENED_LIMIT + 1).read_to_end(&mut opened).ok()?;
    if opened.len() as u64 > OPENED_LIMIT {
        return None;
    }
    String::from_utf8(opened).ok()
}

fn shown(value: ValueRef<'_>) -> Option<String> {
    match value {
        ValueRef::Null => None,
        ValueRef::Integer(n) => Some(n.to_string()),
        ValueRef::Real(x) => Some(x.to_string()),
        ValueRef::Text(bytes) => Some(String::from_utf8_lossy(bytes).into_owned()),
        ValueRef::Blob(bytes) => Some(BASE64.encode(bytes)),
    }
}

// Canonical bytes.

fn put_json(out: &mut Vec<u8>, value: &(impl serde::Serialize + ?Sized)) {
    // Strings and integers into a Vec: neither can fail.
    let _ = serde_json::to_writer(out, value);
}

fn put_wrapped(out: &mut Vec<u8>, tag: &str, value: &str) {
    out.push(b'{');
    put_json(out, tag);
    out.push(b':');
    put_json(out, value);
    out.push(b'}');
}

fn sign_of_infinity(x: f64) -> &'static str {
    if x < 0.0 { "-inf" } else { "inf" }
}

/// The fields of an object in the order they are written, which no map type of serde_json keeps.
struct Fields(Vec<(String, Box<RawValue>)>);

impl<'de> serde::Deserialize<'de> for Fields {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Fields, D::Error> {
        struct InOrder;

        impl<'de> Visitor<'de> for InOrder {
            type Value = Fields;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("an object")
            }

            fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Fields, A::Error> {
                let mut fields = Vec::new();
                while let Some(field) = map.next_entry()? {
                    fields.push(field);
                }
                Ok(Fields(fields))
            }
        }

        deserializer.deserialize_map(InOrder)
    }
}

fn cell_of(json: &str) -> Option<Cell> {
    match json.as_bytes().first()? {
        b'n' => Some(Cell::Null),
        b'"' => Some(Cell::Text(serde_json::from_str(json).ok()?)),
        b'{' => {
            let fields: Fields = serde_json::from_str(json).ok()?;
            let [(tag, value)] = fields.0.as_slice() else { return None };
            let value: String = serde_json::from_str(value.get()).ok()?;
            match tag.as_str() {
                "$blob" => Some(Cell::Blob(BASE64.decode(value).ok()?)),
                "$text" => Some(Cell::RawText(BASE64.decode(value).ok()?)),
                "$real" => Some(Cell::Real(value.parse().ok()?)),
                _ => None,
            }
        }
        // serde_json's parsing of floats may be off by one bit; the standard library's is exact.
        _ if json.contains(['.', 'e', 'E']) => Some(Cell::Real(json.parse().ok()?)),
        _ => Some(Cell::Integer(json.parse().ok()?)),
    }
}

// Opening.

/// Refuses anything but a regular file, before SQLite would wait on a FIFO or fail on a folder without naming it.
fn check_is_file(path: &Path) -> Result<()> {
    let kind = fs::metadata(path).map_err(|e| Error::io("open", path, e))?.file_type();
    if kind.is_file() {
        return Ok(());
    }
    let what = match () {
        () if kind.is_dir() => "a folder",
        () if kind.is_fifo() => "a pipe",
        () if kind.is_socket() => "a socket",
        () => "a device",
    };
    Err(Error::usage(format!("{} is {what}, not a database file", path.display())))
}

/// Whether this is a store in WAL mode that no program has open (there is no log), and cheap to copy.
fn small_and_at_rest(path: &Path) -> bool {
    let small = fs::metadata(path).is_ok_and(|of| of.len() <= COPIED_AT_REST);
    if !small || fs::symlink_metadata(beside(path, "-wal")).is_ok() {
        return false;
    }
    let mut head = [0; 20];
    // Bytes 18 and 19 are the file format versions: 2 is WAL.
    open_plain(path).and_then(|mut file| file.read_exact(&mut head)).is_ok() && head[18..] == [2, 2]
}

/// Opens a connection and reads once: SQLite opens lazily, and most obstacles show only at the first page.
fn connect(uri: &str, access: OpenFlags) -> rusqlite::Result<Connection> {
    let flags = access | OpenFlags::SQLITE_OPEN_URI | OpenFlags::SQLITE_OPEN_NO_MUTEX;
    let connection = Connection::open_with_flags(uri, flags)?;
    connection.busy_timeout(BUSY)?;
    connection.set_limit(Limit::SQLITE_LIMIT_LENGTH, long_row::LONGEST_VALUE)?;
    connection.set_db_config(DbConfig::SQLITE_DBCONFIG_TRUSTED_SCHEMA, false)?;
    connection.set_db_config(DbConfig::SQLITE_DBCONFIG_DEFENSIVE, true)?;
    connection.pragma_update(None, "query_only", true)?;
    connection.query_row("SELECT count(*) FROM sqlite_schema", [], |_| Ok(()))?;
    Ok(connection)
}

/// Whether reading a copy avoids this error: a lock on the whole file, or a place where SQLite cannot create, lock or
/// map the files it needs beside the database.
fn helped_by_copy(cause: &rusqlite::Error) -> bool {
    matches!(
        cause.sqlite_error_code(),
        Some(
            ErrorCode::DatabaseBusy
                | ErrorCode::DatabaseLocked
                | ErrorCode::CannotOpen
                | ErrorCode::ReadOnly
                | ErrorCode::PermissionDenied
                | ErrorCode::SystemIoFailure
                | ErrorCode::FileLockingProtocolFailed
                | ErrorCode::NoLargeFileSupport
        )
    )
}

/// Makes an error of a foreign store, worded so that it names the store and not the home.
fn failed(path: &Path, cause: rusqlite::Error) -> Error {
    let path = path.display();
    let message = cause.to_string();
    for kind in ["table", "column"] {
        // SQLite has one code for every mistake in a statement; only the message says what is missing.
        if let Some((_, rest)) = message.split_once(&format!("no such {kind}: ")) {
            let name = rest.split([' ', '\n']).next().unwrap_or_default();
            let what = format!("{path} has no {kind} {name}; this version of the program's store is not known");
            return Error::refused(what).hint("nothing of it was read; update heirloom").because(cause);
        }
    }
    match cause.sqlite_error_code() {
        Some(ErrorCode::OperationInterrupted) => {
            Error::refused(format!("{path} takes too long to read; it was cut off after 30 seconds"))
                .hint("is it the program's own store? sqlite3 can say what is in it: .schema")
                .because(cause)
        }
        Some(ErrorCode::NotADatabase) => Error::damaged(format!("{path} is not an SQLite database")).because(cause),
        Some(ErrorCode::DatabaseCorrupt) => Error::damaged(format!("{path} is damaged")).because(cause),
        Some(ErrorCode::DatabaseBusy | ErrorCode::DatabaseLocked) => {
            Error::new(ErrorKind::Busy, format!("{path} is held by its program"))
                .hint("run the command again in a moment")
                .because(cause)
        }
        Some(ErrorCode::CannotOpen | ErrorCode::PermissionDenied | ErrorCode::ReadOnly) => {
            Error::refused(format!("{path} cannot be opened"))
                .hint("check who owns it and its permissions")
                .because(cause)
        }
        _ => Error::new(ErrorKind::Machine, format!("cannot read {path}")).because(cause),
    }
}

// Copying.

/// A copy of a database with its log and journal in a private folder; dropping it removes the files.
struct PrivateCopy {
    database: PathBuf,
}

impl PrivateCopy {
    fn make(path: &Path, scratch: &Path) -> Result<PrivateCopy> {
        make_private(scratch)?;
        for _ in 0..COPY_TRIES {
            let mut name = [0; 8];
            getrandom::fill(&mut name).map_err(|e| {
                Error::new(ErrorKind::Machine, "no random numbers from the system").because(e.to_string())
            })?;
            let copy = PrivateCopy { database: scratch.join(format!("foreign-{:016x}.db", u64::from_le_bytes(name))) };
            let before = Marks::of(path)?;
            // The log is copied after the database: anything a checkpoint writes into the database meanwhile is still
            // in the log.
            for suffix in ["", "-wal", "-journal"] {
                copy_file(&beside(path, suffix), &beside(&copy.database, suffix), suffix.is_empty())?;
            }
            if Marks::of(path)? == before {
                return Ok(copy);
            }
        }
        Err(Error::new(ErrorKind::Busy, format!("{} keeps changing while it is copied", path.display()))
            .hint("run the command again in a moment"))
    }
}

impl Drop for PrivateCopy {
    fn drop(&mut self) {
        for suffix in ["", "-wal", "-shm", "-journal"] {
            // A file that cannot be removed stays; the owner of the home clears the folder.
            let _ = fs::remove_file(beside(&self.database, suffix));
        }
    }
}

/// Makes the folder for copies, readable by its owner only.
fn make_private(scratch: &Path) -> Result<()> {
    let made = fs::DirBuilder::new().recursive(true).mode(0o700).create(scratch);
    made.map_err(|e| Error::io("make the folder", scratch, e))
}

/// Values that change when a store is changed during the copy: a database written to, a log started anew. A log that
/// only grew does no harm, since SQLite reads it up to the last complete transaction.
#[derive(PartialEq, Eq)]
struct Marks {
    database: (u64, u64, i64, i64),
    log_head: Vec<u8>,
    journal: Option<(u64, i64, i64)>,
}

impl Marks {
    fn of(path: &Path) -> Result<Marks> {
        let of = fs::metadata(path).map_err(|e| Error::io("copy", path, e))?;
        let journal = fs::metadata(beside(path, "-journal")).ok();
        let mut log_head = Vec::new();
        if let Ok(log) = open_plain(&beside(path, "-wal")) {
            // The header has 32 bytes; its salts change whenever the log is started anew.
            log.take(32).read_to_end(&mut log_head).map_err(|e| Error::io("copy", path, e))?;
        }
        Ok(Marks {
            database: (of.ino(), of.len(), of.mtime(), of.mtime_nsec()),
            log_head,
            journal: journal.map(|j| (j.len(), j.mtime(), j.mtime_nsec())),
        })
    }
}

/// Returns the path of the file SQLite keeps beside a database with this suffix.
fn beside(database: &Path, suffix: &str) -> PathBuf {
    let mut name = database.as_os_str().to_owned();
    name.push(suffix);
    name.into()
}

fn open_plain(path: &Path) -> std::io::Result<File> {
    use rustix::fs::{Mode, OFlags};
    Ok(rustix::fs::open(path, OFlags::RDONLY | OFlags::NONBLOCK | OFlags::CLOEXEC, Mode::empty())?.into())
}

/// Copies one file into a new one only its owner can read. A missing one is an error only if `required`.
fn copy_file(from: &Path, to: &Path, required: bool) -> Result<()> {
    let mut source = match open_plain(from) {
        Ok(source) => source,
        Err(e) if !required && e.kind() == std::io::ErrorKind::NotFound => return Ok(()),
        Err(e) => return Err(Error::io("copy", from, e)),
    };
    if !source.metadata().map_err(|e| Error::io("copy", from, e))?.is_file() {
        return Err(Error::usage(format!("{} is not a file", from.display())));
    }
    let mut target = File::options()
        .write(true)
        .create_new(true)
        .mode(0o600)
        .open(to)
        .map_err(|e| Error::io("make the copy", to, e))?;
    std::io::copy(&mut source, &mut target).map_err(|e| Error::io("copy", from, e))?;
    target.flush().map_err(|e| Error::io("make the copy", to, e))
}

#[cfg(test)]
mod tests;
