//! Checks whether the reader fits the SQLite of this process.
//!
//! The tests of this module ran the versions in [`TRIED`] against random tables; a test fails if the bundled SQLite is
//! not among them. They are trusted by number, because a hook has a few milliseconds and a table in memory costs two.
//! Any other version is tried here, once per process, on a small table. A reader that does not pass is not used:
//! searches then ask FTS5 through SQL, which is slower and has the same results.

use std::collections::BTreeMap;
use std::sync::OnceLock;

use rusqlite::Connection;

use super::{Postings, ReadEnd};
use crate::error::Result;
use crate::index::{TOKENIZER, tokens_of};

/// Versions of SQLite with which the tests of this room passed, by `sqlite3_libversion_number`. Before one is added,
/// run `cargo test -p heirloom-engine --lib postings`.
pub(super) const TRIED: &[i32] = &[3_054_001];

/// Whether the reader can be relied on.
pub(super) fn reader_fits() -> bool {
    static PASSED: OnceLock<bool> = OnceLock::new();
    fits(rusqlite::version_number(), || *PASSED.get_or_init(|| small_table_reads_alike().unwrap_or(false)))
}

pub(super) fn fits(version: i32, passes: impl FnOnce() -> bool) -> bool {
    TRIED.contains(&version) || passes()
}

/// Reads a small table with every form of list: several segments, lists over several pages, long positions, tokens with
/// common prefixes, both columns, distant rows.
pub(super) fn small_table_reads_alike() -> Result<bool> {
    let conn = table("full", 64)?;
    for batch in 0..3i64 {
        let rows = (0..24).map(|n| {
            let row = (batch * 24 + n) * 1_000_003 + (batch << 40);
            let long = if n == 7 { "filler ".repeat(150) } else { String::new() };
            (row, format!("common {long}word{} word{n} common", n % 5), format!("scope{}", n % 3))
        });
        add(&conn, rows)?;
    }
    reads(&conn, &reported(&conn)?, &[])
}

/// An empty table in memory with the index's schema and this page size.
pub(super) fn table(detail: &str, page_bytes: u32) -> Result<Connection> {
    let conn = Connection::open_in_memory()?;
    conn.execute_batch(&format!(
        "CREATE VIRTUAL TABLE fts USING
           fts5(text, scope, content='', contentless_delete=1, tokenize='{TOKENIZER}', detail='{detail}');
         CREATE VIRTUAL TABLE told USING fts5vocab(fts, instance);
         INSERT INTO fts (fts, rank) VALUES ('pgsz', {page_bytes}), ('automerge', 0);"
    ))?;
    Ok(conn)
}

/// Adds rows of an id, a text and scope tokens in one transaction, so that they become one segment.
pub(super) fn add(conn: &Connection, rows: impl IntoIterator<Item = (i64, String, String)>) -> Result<()> {
    let transaction = conn.unchecked_transaction()?;
    let mut insert = conn.prepare_cached("INSERT INTO fts (rowid, text, scope) VALUES (?1, ?2, ?3)")?;
    for row in rows {
        insert.execute(row)?;
    }
    transaction.commit()?;
    Ok(())
}

/// For each row with a token: its positions in the text, and whether it is in the scope.
type List = BTreeMap<i64, (Vec<u32>, bool)>;

/// The content of a table according to `fts5vocab`, FTS5's own interface to its index.
#[derive(Default)]
pub(super) struct Reported {
    lists: BTreeMap<String, List>,
    /// Tokens of each row.
    lengths: BTreeMap<i64, u32>,
}

pub(super) fn reported(conn: &Connection) -> Result<Reported> {
    let mut reported = Reported::default();
    let mut instances =
        conn.prepare("SELECT term, doc, col = 'text', \"offset\" FROM told ORDER BY doc, col, \"offset\"")?;
    let mut rows = instances.query([])?;
    while let Some(r) = rows.next()? {
        let row = r.get(1)?;
        let entry = reported.lists.entry(r.get(0)?).or_default().entry(row).or_default();
        match r.get(2)? {
            true => entry.0.push(r.get(3)?),
            false => entry.1 = true,
        }
        *reported.lengths.entry(row).or_default() += 1;
    }
    Ok(reported)
}

/// Whether the reader returns the same as `fts5vocab`: every list, the lengths of the rows, and the totals. `deleted`
/// rows may still be returned.
pub(super) fn reads(conn: &Connection, reported: &Reported, deleted: &[i64]) -> Result<bool> {
    let Some(mut postings) = Postings::open_unchecked(conn)? else { return Ok(false) };
    let nowhere = ("no token of the table".to_owned(), List::new());
    for (token, expected) in reported.lists.iter().chain([(&nowhere.0, &nowhere.1)]) {
        let (mut read, mut twice) = (List::new(), false);
        let end = postings.read(token, true, ((i64::MIN, i64::MAX), i64::MAX), &mut |entry| {
            if !deleted.contains(&entry.row) {
                twice |= entry.times as usize != entry.places.len();
                twice |= read.insert(entry.row, (entry.places.to_vec(), entry.limits)).is_some();
            }
        })?;
        if end != Some(ReadEnd::Whole) || twice || read != *expected {
            return Ok(false);
        }
    }
    // Groups of tokens with others between them, and one that is in no list.
    for every in [1, 3] {
        let group: Vec<&String> = [&nowhere.0].into_iter().chain(reported.lists.keys().rev().step_by(every)).collect();
        let entries = group.iter().filter_map(|token| reported.lists.get(*token)).flatten();
        let mut expected: Vec<_> = entries.map(|(row, (places, limits))| (*row, places.len(), *limits)).collect();
        let mut read = Vec::new();
        let tokens: Vec<&str> = group.iter().map(|token| token.as_str()).collect();
        let end = postings.read_group(&tokens, (i64::MIN, i64::MAX), &mut |entry| {
            if !deleted.contains(&entry.row) {
                read.push((entry.row, entry.times as usize, entry.limits));
            }
        })?;
        expected.sort_unstable();
        read.sort_unstable();
        if end.is_none() || read != expected {
            return Ok(false);
        }
    }
    let mut sizes = conn.prepare("SELECT id, sz FROM fts_docsize")?;
    let mut rows = sizes.query([])?;
    let (mut count, mut sum) = (0, 0);
    while let Some(r) = rows.next()? {
        let tokens = tokens_of(r.get_ref(1)?.as_blob().unwrap_or_default());
        if tokens != Some(reported.lengths.get(&r.get(0)?).copied().unwrap_or_default()) {
            return Ok(false);
        }
        (count, sum) = (count + 1, sum + u64::from(tokens.unwrap_or_default()));
    }
    Ok((postings.rows, postings.tokens) == (count, sum))
}
