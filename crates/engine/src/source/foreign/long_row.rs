//! Rows too long to be held in memory: their canonical bytes are written to a private file and read from it in pieces.
//!
//! SQLite allows a value of a gigabyte. Values longer than [`LONGEST_VALUE`] are never loaded; they are read through
//! SQLite's incremental interface, which needs the row's number. A long row of a table without row numbers is therefore
//! an error, which names the row.

use std::fs::File;
use std::io::{Read, Seek, SeekFrom, Write};
use std::os::unix::fs::OpenOptionsExt;
use std::path::Path;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD as BASE64;
use rusqlite::{MAIN_DB, Transaction};

use super::{Cell, RowBytes, canonical, key_of, put_json};
use crate::error::{Error, ErrorKind, Result};
use crate::event::{Row, RowQuery};
use crate::source::file::MAX_LINE;

/// The longest value, in bytes, that is loaded into memory.
pub(super) const LONGEST_VALUE: i32 = MAX_LINE as i32;

/// Number of bytes of a long value that are read at once; divisible by three, so that base64 needs no padding in
/// between.
const CHUNK: usize = 3 << 18;

/// The canonical bytes of a row of 32 MiB or more, in a file without a name.
#[derive(Debug)]
pub struct LongRow {
    file: File,
    length: u64,
}

impl LongRow {
    /// Makes a row whose canonical bytes are in memory.
    pub(super) fn of(bytes: &[u8], scratch: &Path) -> Result<LongRow> {
        let mut file = nameless(scratch)?;
        file.write_all(bytes).map_err(|e| Error::io("write a long row to", scratch, e))?;
        Ok(LongRow { file, length: bytes.len() as u64 })
    }

    /// Returns the number of canonical bytes.
    pub fn length(&self) -> u64 {
        self.length
    }

    /// Reads the bytes from the beginning in pieces of `most` bytes; the last one may be shorter. An error from `each`
    /// ends the reading.
    pub fn pieces(&mut self, most: usize, mut each: impl FnMut(&[u8]) -> Result<()>) -> Result<()> {
        let failed = |e| Error::new(ErrorKind::Machine, "a long row cannot be read back").because(e);
        self.file.seek(SeekFrom::Start(0)).map_err(failed)?;
        let mut piece = Vec::new();
        loop {
            piece.clear();
            (&mut self.file).take(most as u64).read_to_end(&mut piece).map_err(failed)?;
            if piece.is_empty() {
                return Ok(());
            }
            each(&piece)?;
        }
    }
}

/// Makes a file in `scratch` that no other process can open and that vanishes when it is closed.
fn nameless(scratch: &Path) -> Result<File> {
    super::make_private(scratch)?;
    let path = scratch.join(crate::home::temporary_name()?);
    let made = File::options().read(true).write(true).create_new(true).mode(0o600).open(&path);
    let file = made.map_err(|e| Error::io("make", &path, e))?;
    std::fs::remove_file(&path).map_err(|e| Error::io("remove", &path, e))?;
    Ok(file)
}

/// Reads the rows a query finds, one at a time, whatever the length of their values.
pub(super) fn read_rows(
    transaction: &Transaction<'_>,
    query: &RowQuery,
    keys: &[&dyn rusqlite::ToSql],
    scratch: &Path,
    into: &mut Vec<(Row, RowBytes)>,
) -> Result<()> {
    let names: Vec<String> = transaction.prepare(query.sql)?.column_names().map(String::from).collect();
    let sizes: String = names.iter().map(|name| format!(", octet_length({})", quoted(name))).collect();
    // Sizes and row number are in the row's header, so no value is loaded.
    let mut statement = transaction.prepare(&query.sql.replacen('*', &format!("rowid{sizes}"), 1))?;
    let wanted = statement.parameter_count().min(keys.len());
    let mut rows = statement.query(&keys[..wanted])?;
    while let Some(found) = rows.next()? {
        let row_no: i64 = found.get(0)?;
        let mut long = Vec::new();
        for at in 0..names.len() {
            long.push(found.get::<_, Option<i64>>(at + 1)?.is_some_and(|size| size > i64::from(LONGEST_VALUE)));
        }
        into.push(read_row(transaction, query, row_no, &names, &long, scratch)?);
    }
    Ok(())
}

fn read_row(
    transaction: &Transaction<'_>,
    query: &RowQuery,
    row_no: i64,
    names: &[String],
    long: &[bool],
    scratch: &Path,
) -> Result<(Row, RowBytes)> {
    let mut columns = Vec::new();
    let mut out = std::io::BufWriter::new(nameless(scratch)?);
    let written = |e| Error::io("write a long row to", scratch, e);
    let mut head = b"{\"$table\":".to_vec();
    put_json(&mut head, query.table);
    out.write_all(&head).map_err(written)?;
    for (name, long) in names.iter().zip(long) {
        let cell = if *long {
            let mut lead = b",".to_vec();
            put_json(&mut lead, name);
            lead.push(b':');
            out.write_all(&lead).map_err(written)?;
            write_long(transaction, query, row_no, name, &mut out)?;
            // The row is not decoded, so its value is not needed.
            Cell::Null
        } else {
            let sql = format!("SELECT {} FROM {} WHERE rowid = ?1", quoted(name), quoted(query.table));
            let cell = transaction.query_row(&sql, [row_no], |r| Ok(super::cell_from(r.get_ref(0)?)))?;
            let row = Row { table: String::new(), key: String::new(), columns: vec![(name.clone(), cell)] };
            // Writes `{"$table":"","name":value}` without its beginning, which is written already, and without the
            // closing brace.
            let line = canonical(&row);
            out.write_all(&line[b"{\"$table\":\"\"".len()..line.len() - 1]).map_err(written)?;
            row.columns.into_iter().next().map_or(Cell::Null, |(_, cell)| cell)
        };
        columns.push((name.clone(), cell));
    }
    out.write_all(b"}").map_err(written)?;
    let mut file = out.into_inner().map_err(|e| written(e.into_error()))?;
    let length = file.stream_position().map_err(written)?;
    let row = Row { table: query.table.into(), key: key_of(query, &columns), columns };
    Ok((row, RowBytes::Long(LongRow { file, length })))
}

/// Writes the canonical form of one long value.
fn write_long(
    transaction: &Transaction<'_>,
    query: &RowQuery,
    row_no: i64,
    column: &str,
    out: &mut impl Write,
) -> Result<()> {
    let written = |e| Error::new(ErrorKind::Machine, "a long value cannot be written").because(e);
    let kind: String = transaction.query_row(
        &format!("SELECT typeof({}) FROM {} WHERE rowid = ?1", quoted(column), quoted(query.table)),
        [row_no],
        |r| r.get(0),
    )?;
    let open = || transaction.blob_open(MAIN_DB, query.table, column, row_no, true);
    let is_text = kind == "text" && is_utf8(&mut open()?)?;
    let mut value = open()?;
    let mut left = Vec::new();
    let tag: &[u8] = if kind == "text" { b"{\"$text\":\"" } else { b"{\"$blob\":\"" };
    out.write_all(if is_text { b"\"" } else { tag }).map_err(written)?;
    loop {
        let got = (&mut value).take((CHUNK - left.len()) as u64).read_to_end(&mut left).map_err(written)?;
        if is_text {
            // A chunk may end inside a character; the rest of the character is in the next chunk.
            let whole = match std::str::from_utf8(&left) {
                Ok(text) => text.len(),
                Err(e) => e.valid_up_to(),
            };
            let mut json = Vec::new();
            put_json(&mut json, &String::from_utf8_lossy(&left[..whole]));
            out.write_all(&json[1..json.len() - 1]).map_err(written)?;
            left.drain(..whole);
        } else {
            out.write_all(BASE64.encode(&left).as_bytes()).map_err(written)?;
            left.clear();
        }
        if got == 0 {
            break;
        }
    }
    out.write_all(if is_text { b"\"" } else { b"\"}" }).map_err(written)
}

/// Whether a value is UTF-8 to its end.
fn is_utf8(value: &mut impl Read) -> Result<bool> {
    let mut left = Vec::new();
    loop {
        let read = value.take((CHUNK - left.len()) as u64).read_to_end(&mut left);
        if read.map_err(|e| Error::new(ErrorKind::Machine, "a long value cannot be read").because(e))? == 0 {
            return Ok(left.is_empty());
        }
        match std::str::from_utf8(&left) {
            Ok(_) => left.clear(),
            // A chunk may end inside a character; any other error means that the value is not UTF-8.
            Err(e) if e.error_len().is_none() => drop(left.drain(..e.valid_up_to())),
            Err(_) => return Ok(false),
        }
    }
}

/// Whether an error says that a value is longer than [`LONGEST_VALUE`].
pub(super) fn is_too_long(cause: &rusqlite::Error) -> bool {
    cause.sqlite_error_code() == Some(rusqlite::ErrorCode::TooBig)
}

/// Whether a row is long. SQLite itself checks the length of single values; this check is for rows of many values.
pub(super) fn is_long(bytes: &[u8]) -> bool {
    bytes.len() >= MAX_LINE
}

fn quoted(name: &str) -> String {
    format!("\"{}\"", name.replace('"', "\"\""))
}
