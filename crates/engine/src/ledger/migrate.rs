//! Numbered migrations: each is one transaction, preceded by a backup; a newer schema is refused (R4.1).
//!
//! An old migration is never changed; the version is written last, inside the same transaction.

use std::path::Path;

use rusqlite::{Connection, TransactionBehavior};

use crate::clock::{Clock, rfc3339};
use crate::error::{Error, Result};
use crate::ledger::{audit, seal};

pub(super) const MIGRATIONS: &[&str] = &[
    include_str!("migrations/0001_ledger.sql"),
    include_str!("migrations/0002_visible_home.sql"),
    include_str!("migrations/0003_lineage.sql"),
    include_str!("migrations/0004_roots.sql"),
    include_str!("migrations/0005_context.sql"),
    include_str!("migrations/0006_hooks.sql"),
    include_str!("migrations/0007_hook_calls.sql"),
    include_str!("migrations/0008_models.sql"),
    include_str!("migrations/0009_evolve.sql"),
    include_str!("migrations/0010_forgotten_names.sql"),
    include_str!("migrations/0011_model_readings.sql"),
    include_str!("migrations/0012_seals.sql"),
    include_str!("migrations/0013_said.sql"),
    include_str!("migrations/0014_more_seals.sql"),
];

/// The schema this build reads and writes.
pub const SCHEMA_VERSION: i64 = MIGRATIONS.len() as i64;

/// Number of backups made before migrations that are kept.
const KEPT_BACKUPS: usize = 3;

/// Marks the file as a Heirloom ledger ("HLdg"), so that another SQLite file is never mistaken for one.
pub(super) const APPLICATION_ID: i64 = 0x484c_6467;

pub(super) fn migrate(conn: &mut Connection, path: &Path, backups: &Path, clock: Clock) -> Result<()> {
    run(conn, path, backups, clock, MIGRATIONS)
}

fn run(conn: &mut Connection, path: &Path, backups: &Path, clock: Clock, migrations: &[&str]) -> Result<()> {
    let newest = migrations.len() as i64;
    let found = version(conn)?;
    if found == newest {
        return Ok(());
    }
    if found > 0 {
        back_up(conn, found, backups, clock)?;
    }
    // Another process may be migrating too: the version is read again inside the write transaction.
    loop {
        let tx = conn.transaction_with_behavior(TransactionBehavior::Immediate)?;
        let at = version(&tx)?;
        if at >= newest {
            return if at > newest { refuse_newer(at, path) } else { Ok(()) };
        }
        // A new ledger is created in one step, so that no process sees it, or backs it up, between two schemas.
        let to = if at == 0 { newest } else { at + 1 };
        for migration in &migrations[at as usize..to as usize] {
            tx.execute_batch(migration)?;
        }
        seal::remove(&tx)?;
        if at == 0 {
            tx.execute(
                "INSERT INTO meta (key, value) VALUES ('ledger_id', ?1), ('created_at', ?2)",
                [random_id()?, rfc3339(clock.now())],
            )?;
            tx.pragma_update(None, "application_id", APPLICATION_ID)?;
        } else {
            let mut detail = serde_json::Map::new();
            detail.insert("schema".into(), to.into());
            audit::append(&tx, clock.now(), audit::Audit::new("heirloom", "ledger.migrate"), detail)?;
        }
        tx.pragma_update(None, "user_version", to)?;
        tx.commit()?;
    }
}

/// Returns an empty ledger in memory with the newest schema.
pub(super) fn in_memory() -> Result<Connection> {
    let conn = Connection::open_in_memory()?;
    MIGRATIONS.iter().try_for_each(|migration| conn.execute_batch(migration))?;
    Ok(conn)
}

/// Makes a ledger of an earlier schema, with the first migrations only.
#[cfg(test)]
pub(super) fn begin_with(path: &Path, backups: &Path, first: usize) {
    let mut conn = Connection::open(path).unwrap();
    run(&mut conn, path, backups, Clock::Fixed(0), &MIGRATIONS[..first]).unwrap();
}

/// Copies the whole ledger into the folder of backups, readable by its owner only.
fn back_up(conn: &Connection, schema: i64, backups: &Path, clock: Clock) -> Result<()> {
    use std::os::unix::fs::OpenOptionsExt;
    let stamp = rfc3339(clock.now()).replace(':', "-");
    // Two processes may find the same old ledger in the same millisecond.
    let backup = backups.join(format!("runtime-schema{schema}-{stamp}-{}.db", &random_id()?[..8]));
    let failed = "the backup before a migration failed; nothing was changed";
    // SQLite fills an empty file, which keeps the mode it was created with.
    std::fs::OpenOptions::new()
        .write(true)
        .create_new(true)
        .mode(0o600)
        .open(&backup)
        .map_err(|e| Error::io("make", &backup, e).hint(failed))?;
    conn.execute("VACUUM INTO ?1", [backup.to_string_lossy().as_ref()]).map_err(|e| Error::from(e).hint(failed))?;
    remove_oldest(backups);
    Ok(())
}

/// Removes the backups of earlier migrations, except for the newest ones. A file that cannot be removed is left.
fn remove_oldest(backups: &Path) {
    let entries = std::fs::read_dir(backups).into_iter().flatten().flatten();
    let mut ours: Vec<_> = entries
        .filter(|e| e.file_name().to_str().is_some_and(|n| n.starts_with("runtime-schema") && n.ends_with(".db")))
        .filter_map(|e| Some((e.metadata().ok()?.modified().ok()?, e.path())))
        .collect();
    ours.sort();
    let too_many = ours.len().saturating_sub(KEPT_BACKUPS);
    for (_, path) in &ours[..too_many] {
        let _ = std::fs::remove_file(path);
    }
}

/// Refuses a file that is not a ledger, or a newer one, before anything in it is changed.
pub(super) fn recognise(conn: &Connection, path: &Path) -> Result<()> {
    // The checks share one transaction: another process may be creating the ledger right now.
    let tx = conn.unchecked_transaction()?;
    let found = version(&tx)?;
    refuse_newer(found, path)?;
    if found > 0 { refuse_foreign(&tx, path) } else { refuse_tables(&tx, path) }
}

fn refuse_tables(conn: &Connection, path: &Path) -> Result<()> {
    let tables: i64 = conn.query_row("SELECT count(*) FROM sqlite_master", [], |r| r.get(0))?;
    if tables > 0 {
        return Err(Error::refused(format!("{} is not a Heirloom ledger", path.display()))
            .hint("choose another home with --home"));
    }
    Ok(())
}

/// Refuses a file without tables: a command was killed while it created the ledger there.
pub(super) fn require_begun(conn: &Connection, path: &Path) -> Result<()> {
    if version(conn)? == 0 {
        return Err(Error::not_found(format!("{} has no tables yet", path.display())));
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

/// Returns 128 random bits as hex.
pub(crate) fn random_id() -> Result<String> {
    let mut bytes = [0u8; 16];
    getrandom::fill(&mut bytes)
        .map_err(|e| Error::new(crate::error::ErrorKind::Machine, "no randomness").because(e))?;
    Ok(bytes.iter().map(|b| format!("{b:02x}")).collect())
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::PermissionsExt;

    use super::*;

    const NEXT: &str = "CREATE TABLE next (x INTEGER) STRICT; INSERT INTO next VALUES (7);";

    fn first(folder: &Path) -> Connection {
        let mut conn = Connection::open(folder.join("runtime.db")).unwrap();
        run(&mut conn, &folder.join("runtime.db"), folder, Clock::Fixed(0), &MIGRATIONS[..1]).unwrap();
        conn.execute("INSERT INTO names (name) VALUES ('kept')", []).unwrap();
        conn
    }

    fn backups(folder: &Path) -> Vec<std::path::PathBuf> {
        let all = std::fs::read_dir(folder).unwrap().map(|e| e.unwrap().path());
        all.filter(|p| p.to_string_lossy().contains("runtime-schema1")).collect()
    }

    #[test]
    fn an_older_ledger_is_backed_up_and_brought_up_to_date() {
        let folder = tempfile::tempdir().unwrap();
        let mut conn = first(folder.path());
        run(&mut conn, &folder.path().join("runtime.db"), folder.path(), Clock::Fixed(5), &[MIGRATIONS[0], NEXT])
            .unwrap();
        assert_eq!(version(&conn).unwrap(), 2);
        assert_eq!(conn.query_row("SELECT x FROM next", [], |r| r.get::<_, i64>(0)).unwrap(), 7);
        let values: Vec<String> = conn
            .prepare("SELECT detail FROM audit WHERE action = 'ledger.migrate' ORDER BY audit_no")
            .unwrap()
            .query_map([], |r| r.get(0))
            .unwrap()
            .collect::<rusqlite::Result<_>>()
            .unwrap();
        assert_eq!(values, [r#"{"schema":2}"#]);

        let [backup] = &backups(folder.path())[..] else { panic!("one backup") };
        assert_eq!(std::fs::metadata(backup).unwrap().permissions().mode() & 0o777, 0o600);
        let old = Connection::open(backup).unwrap();
        assert_eq!(version(&old).unwrap(), 1);
        assert_eq!(old.query_row("SELECT name FROM names", [], |r| r.get::<_, String>(0)).unwrap(), "kept");
    }

    #[test]
    fn of_the_backups_before_migrations_the_newest_stay() {
        let folder = tempfile::tempdir().unwrap();
        let mut conn = first(folder.path());
        let path = folder.path().join("runtime.db");
        let mut migrations = vec![MIGRATIONS[0]];
        for n in 2..8 {
            migrations.push(Box::leak(format!("CREATE TABLE next{n} (x INTEGER) STRICT;").into_boxed_str()));
            run(&mut conn, &path, folder.path(), Clock::Fixed(n), &migrations).unwrap();
        }
        let entries = std::fs::read_dir(folder.path()).unwrap().map(|e| e.unwrap().file_name().into_string().unwrap());
        let mut kept: Vec<_> = entries.filter(|n| n.starts_with("runtime-schema")).collect();
        kept.sort();
        assert_eq!(kept.len(), KEPT_BACKUPS);
        assert!(kept.last().unwrap().starts_with("runtime-schema6-"), "{kept:?}");
    }

    /// Another process may bring the ledger to a newer schema between the look at its version and the write.
    #[test]
    fn a_ledger_that_became_newer_meanwhile_is_refused() {
        let folder = tempfile::tempdir().unwrap();
        let mut conn = first(folder.path());
        conn.pragma_update(None, "user_version", SCHEMA_VERSION + 1).unwrap();
        let newer = migrate(&mut conn, &folder.path().join("runtime.db"), folder.path(), Clock::Fixed(6)).unwrap_err();
        assert!(newer.to_string().contains("newer Heirloom"), "{newer}");
        assert_eq!(version(&conn).unwrap(), SCHEMA_VERSION + 1);
    }

    #[test]
    fn a_migration_that_fails_changes_nothing() {
        let folder = tempfile::tempdir().unwrap();
        let mut conn = first(folder.path());
        let broken = format!("{NEXT} DELETE FROM names; INSERT INTO nowhere VALUES (1);");
        let path = folder.path().join("runtime.db");
        assert!(run(&mut conn, &path, folder.path(), Clock::Fixed(5), &[MIGRATIONS[0], &broken]).is_err());
        assert_eq!(version(&conn).unwrap(), 1);
        assert_eq!(conn.query_row("SELECT name FROM names", [], |r| r.get::<_, String>(0)).unwrap(), "kept");
        assert!(conn.prepare("SELECT * FROM next").is_err());
        // The migration is not attempted when the folder for its backup is missing.
        let gone = folder.path().join("gone");
        assert!(run(&mut conn, &path, &gone, Clock::Fixed(6), &[MIGRATIONS[0], NEXT]).is_err());
        assert_eq!(version(&conn).unwrap(), 1);
    }
}
