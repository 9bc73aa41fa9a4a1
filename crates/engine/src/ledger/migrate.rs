//! Numbered migrations: each one transaction, a backup before, a newer schema refused (R4.1).
//!
//! An old migration is never changed; the version is written last, inside the same transaction.

use std::path::Path;

use rusqlite::{Connection, TransactionBehavior};

use crate::clock::{Clock, rfc3339};
use crate::error::{Error, Result};

const MIGRATIONS: &[&str] = &[include_str!("migrations/0001_ledger.sql")];

/// The schema this build reads and writes.
pub const SCHEMA_VERSION: i64 = MIGRATIONS.len() as i64;

/// Marks the file as a Heirloom ledger ("HLdg"), so that another SQLite file is never mistaken for one.
const APPLICATION_ID: i64 = 0x484c_6467;

pub(super) fn migrate(conn: &mut Connection, path: &Path, backups: &Path, clock: Clock) -> Result<()> {
    let found = version(conn)?;
    if found == SCHEMA_VERSION {
        return Ok(());
    }
    if found > 0 {
        let stamp = rfc3339(clock.now()).replace(':', "-");
        let backup = backups.join(format!("runtime-schema{found}-{stamp}.db"));
        conn.execute("VACUUM INTO ?1", [backup.to_string_lossy().as_ref()])
            .map_err(|e| Error::from(e).hint("the backup before a migration failed; nothing was changed"))?;
    }
    // Another process may be migrating too: the version is read again inside the write transaction.
    loop {
        let tx = conn.transaction_with_behavior(TransactionBehavior::Immediate)?;
        let at = version(&tx)?;
        if at >= SCHEMA_VERSION {
            refuse_newer(at, path)?;
            return Ok(());
        }
        tx.execute_batch(MIGRATIONS[at as usize])?;
        if at == 0 {
            tx.execute(
                "INSERT INTO meta (key, value) VALUES ('ledger_id', ?1), ('created_at', ?2)",
                [random_id()?, rfc3339(clock.now())],
            )?;
            tx.pragma_update(None, "application_id", APPLICATION_ID)?;
        }
        tx.pragma_update(None, "user_version", at + 1)?;
        tx.commit()?;
    }
}

/// Refuses what is no ledger, or a newer one, before anything about the file is changed.
pub(super) fn recognise(conn: &Connection, path: &Path) -> Result<()> {
    let found = version(conn)?;
    refuse_newer(found, path)?;
    if found > 0 { refuse_foreign(conn, path) } else { refuse_tables(conn, path) }
}

fn refuse_tables(conn: &Connection, path: &Path) -> Result<()> {
    let tables: i64 = conn.query_row("SELECT count(*) FROM sqlite_master", [], |r| r.get(0))?;
    if tables > 0 {
        return Err(Error::refused(format!("{} is not a Heirloom ledger", path.display()))
            .hint("choose another home with --home"));
    }
    Ok(())
}

pub(super) fn require_current(conn: &Connection, path: &Path) -> Result<()> {
    let found = version(conn)?;
    if found < SCHEMA_VERSION {
        return Err(Error::refused(format!(
            "{} has schema {found}, this build needs {SCHEMA_VERSION}",
            path.display()
        ))
        .hint("run any other heirloom command once; it brings the ledger up to date"));
    }
    Ok(())
}

fn refuse_newer(found: i64, path: &Path) -> Result<()> {
    if found > SCHEMA_VERSION {
        return Err(Error::refused(format!(
            "{} was written by a newer Heirloom (schema {found}; this one knows up to {SCHEMA_VERSION})",
            path.display()
        ))
        .hint("install the newer release; nothing was changed"));
    }
    Ok(())
}

fn refuse_foreign(conn: &Connection, path: &Path) -> Result<()> {
    let id: i64 = conn.query_row("PRAGMA application_id", [], |r| r.get(0))?;
    if id != APPLICATION_ID {
        return Err(Error::refused(format!("{} is not a Heirloom ledger", path.display()))
            .hint("choose another home with --home"));
    }
    Ok(())
}

fn version(conn: &Connection) -> Result<i64> {
    Ok(conn.query_row("PRAGMA user_version", [], |r| r.get(0))?)
}

/// 128 random bits as hex.
pub(crate) fn random_id() -> Result<String> {
    let mut bytes = [0u8; 16];
    getrandom::fill(&mut bytes)
        .map_err(|e| Error::new(crate::error::ErrorKind::Machine, "no randomness").because(e))?;
    Ok(bytes.iter().map(|b| format!("{b:02x}")).collect())
}
