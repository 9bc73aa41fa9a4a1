//! The size of the ledger's pages (R4.1). Each of its 150 tables and indexes takes at least a page: with pages of 4 KiB,
//! a ledger without a word in it has 660 kB, with pages of 512 bytes 130 kB. So a new ledger begins with small pages,
//! and gets large ones, which are read faster, when it has grown.
//!
//! SQLite changes the size by rewriting the file in one transaction, outside the write-ahead log, which only a process
//! that has the ledger to itself can leave. Where another one has it open, the pages stay small until the next attempt.

use std::path::Path;
use std::time::Duration;

use rusqlite::Connection;

use super::{FULL_BUSY_TIMEOUT, write_ahead};
use crate::error::Result;
use crate::sqlite::rewrite;

/// Size of a new ledger's pages, in bytes.
const SMALL: i64 = 512;

/// Size of the pages of a ledger that has grown, in bytes: what SQLite takes by itself.
const LARGE: i64 = 4096;

/// Size from which a ledger gets large pages, in bytes. To rewrite it takes some 20 ms then.
pub const GROWS_AT: i64 = 1 << 20;

/// Most bytes that a ledger is rewritten with when it is opened: a command must not wait for seconds. A larger one, which
/// others had open at each attempt before, gets its pages while it is written to.
pub const MOST_AT_OPENING: i64 = 64 << 20;

/// Size up to which the ledger is rewritten in memory, in bytes.
const IN_MEMORY: i64 = 16 << 20;

/// Chooses small pages, if nothing is in the file yet.
pub fn begin_small(conn: &Connection) -> Result<()> {
    let pages: i64 = conn.query_row("PRAGMA page_count", [], |r| r.get(0))?;
    if pages == 0 {
        conn.pragma_update(None, "page_size", SMALL)?;
    }
    Ok(())
}

/// Whether the pages are small.
pub fn is_small(conn: &Connection) -> Result<bool> {
    Ok(conn.query_row("PRAGMA page_size", [], |r| r.get::<_, i64>(0))? == SMALL)
}

/// Returns the size of a ledger with small pages, in bytes, with what is still in its log.
pub fn bytes(conn: &Connection) -> Result<i64> {
    let pages: i64 = conn.prepare_cached("PRAGMA page_count")?.query_row([], |r| r.get(0))?;
    Ok(pages * SMALL)
}

/// Gives the ledger large pages. Returns `false`, and changes nothing, if another process has it open. `scratch`: folder
/// for the temporary copy of a large ledger.
pub fn grow(conn: &Connection, scratch: &Path) -> Result<bool> {
    let size = bytes(conn)?;
    // Statements that hold a table would keep SQLite from leaving the log.
    conn.flush_prepared_statement_cache();
    conn.busy_timeout(Duration::ZERO)?;
    let left = conn.query_row("PRAGMA journal_mode = DELETE", [], |r| r.get::<_, String>(0));
    let grown = match left {
        Ok(mode) if mode == "delete" => {
            conn.pragma_update(None, "page_size", LARGE).map_err(Into::into).and_then(|()| match size <= IN_MEMORY {
                true => Ok(conn.execute_batch("VACUUM")?),
                false => rewrite(conn, scratch),
            })
        }
        _ => Ok(()),
    };
    // Back to the log in any case. Should that fail, what is stored is as safe without it, and the next opening returns.
    conn.busy_timeout(FULL_BUSY_TIMEOUT)?;
    write_ahead(conn)?;
    grown?;
    Ok(!is_small(conn)?)
}
