//! Read-only connections, for threads that find the main one in use.
//!
//! At most [`MOST`] are open: SQLite gains nothing from more readers than cores, and each holds its own page cache. A
//! thread that finds all of them in use waits for one to be returned.

use std::path::Path;
use std::sync::{Condvar, Mutex, PoisonError};

use rusqlite::Connection;

use crate::error::Result;
use crate::sqlite::open_for_reading;

/// Most readers that may be open at once beside the main connection.
const MOST: usize = 3;

/// Number of prepared statements a reader caches. It is smaller than for the main connection, because distilling never
/// runs on a reader.
const STATEMENTS: usize = 128;

#[derive(Default)]
pub(super) struct Readers {
    state: Mutex<State>,
    returned: Condvar,
}

#[derive(Default)]
struct State {
    idle: Vec<Connection>,
    open: usize,
}

impl Readers {
    /// Runs `f` on a reader of the ledger at `path`, opening one where none is idle and waiting where all are in use.
    pub fn with<T>(&self, path: &Path, f: impl FnOnce(&mut Connection) -> Result<T>) -> Result<T> {
        let mut taken = Taken { readers: self, conn: self.take() };
        if taken.conn.is_none() {
            taken.conn = Some(open(path)?);
        }
        match taken.conn.as_mut() {
            Some(conn) => f(conn),
            None => unreachable!("a connection was opened just above"),
        }
    }

    /// Closes connections that nobody uses.
    pub fn rest(&self) {
        let mut state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        state.open -= state.idle.len();
        state.idle.clear();
    }

    /// Takes an idle connection; `None` is the right to open a new one. Waits while all are in use.
    fn take(&self) -> Option<Connection> {
        let mut state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        loop {
            if let Some(conn) = state.idle.pop() {
                return Some(conn);
            }
            if state.open < MOST {
                state.open += 1;
                return None;
            }
            state = self.returned.wait(state).unwrap_or_else(PoisonError::into_inner);
        }
    }
}

/// A reader in use. Dropping it returns it to the pool, or returns the right to open one where opening failed.
struct Taken<'r> {
    readers: &'r Readers,
    conn: Option<Connection>,
}

impl Drop for Taken<'_> {
    fn drop(&mut self) {
        let mut state = self.readers.state.lock().unwrap_or_else(PoisonError::into_inner);
        match self.conn.take() {
            Some(conn) => state.idle.push(conn),
            None => state.open -= 1,
        }
        drop(state);
        self.readers.returned.notify_one();
    }
}

/// Opens a read-only connection with those settings of the main connection that concern reading.
fn open(path: &Path) -> Result<Connection> {
    let conn = open_for_reading(path)?;
    conn.execute_batch(
        "PRAGMA query_only = ON; PRAGMA trusted_schema = OFF; PRAGMA cell_size_check = ON;
         PRAGMA temp_store = MEMORY; PRAGMA mmap_size = 0;",
    )?;
    conn.set_db_config(rusqlite::config::DbConfig::SQLITE_DBCONFIG_ENABLE_QPSG, true)?;
    conn.set_prepared_statement_cache_capacity(STATEMENTS);
    Ok(conn)
}
