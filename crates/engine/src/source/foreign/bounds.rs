//! Bounds on what a foreign store can make us do: only tables are read, and every read ends.
//!
//! A view is a statement written by the author of the file, and one that counts for ever would hang its reader. So a
//! store with a view in the place of an expected table is refused, and any statement that takes too long is cut off.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

use rusqlite::Connection;

use crate::error::{Error, Result};
use crate::event::ForeignSpec;

/// Longest time one statement may take. Listing the sessions of a store of several gigabytes takes seconds.
const LONGEST: Duration = Duration::from_secs(30);

/// Number of steps of SQLite's machine between two looks at the clock: about a millisecond.
const STEPS: i32 = 50_000;

/// A stopwatch that interrupts the connection's statements.
pub(super) struct Watch {
    began: Instant,
    /// Milliseconds after `began` at which a running statement is cut off.
    until: Arc<AtomicU64>,
}

impl Watch {
    /// Watches a connection from now on.
    pub fn over(connection: &mut Connection) -> rusqlite::Result<Watch> {
        let (began, until) = (Instant::now(), Arc::new(AtomicU64::new(u64::MAX)));
        let limit = Arc::clone(&until);
        connection.progress_handler(
            STEPS,
            Some(move || began.elapsed().as_millis() as u64 > limit.load(Ordering::Relaxed)),
        )?;
        let watch = Watch { began, until };
        watch.restart();
        Ok(watch)
    }

    /// Gives the next statement its full time.
    pub fn restart(&self) {
        self.within(LONGEST);
    }

    pub(super) fn within(&self, time: Duration) {
        let until = self.began.elapsed() + time;
        self.until.store(until.as_millis() as u64, Ordering::Relaxed);
    }
}

/// Refuses a store in which a view or a virtual table has the name of a table that the spec reads.
pub(super) fn only_tables(connection: &Connection, spec: &ForeignSpec, shown: &str) -> Result<()> {
    let mut statement = connection.prepare(
        "SELECT name, type FROM sqlite_schema
         WHERE type = 'view' OR (type = 'table' AND sql LIKE 'CREATE VIRTUAL %')",
    )?;
    let mut rows = statement.query([])?;
    while let Some(row) = rows.next()? {
        let (name, kind): (String, String) = (row.get(0)?, row.get(1)?);
        let statements = [spec.groups, spec.items].into_iter();
        let mut all = statements.chain(spec.heads.iter().chain(spec.item_rows).map(|query| query.sql));
        if all.any(|sql| reads_from(sql, &name)) {
            let kind = if kind == "view" { "a view" } else { "a virtual table" };
            return Err(Error::refused(format!("{shown}: {name} is {kind} where a table is expected"))
                .hint("nothing of it was read; no known version of the program has such a store"));
        }
    }
    Ok(())
}

/// Whether a statement has this name after a FROM or a JOIN.
fn reads_from(sql: &str, name: &str) -> bool {
    let mut words = sql.split(|c: char| !c.is_alphanumeric() && c != '_').filter(|word| !word.is_empty());
    let mut named = false;
    words.any(|word| {
        let read = named && word.eq_ignore_ascii_case(name);
        named = word.eq_ignore_ascii_case("from") || word.eq_ignore_ascii_case("join");
        read
    })
}
