//! Opening SQLite files: URIs, names of accompanying files, and reading in folders that cannot be written. Storey 1.
//!
//! This module knows file names and modes; it does not know the contents of any table.

use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

use rusqlite::{Connection, OpenFlags};

use crate::error::{Error, Result};

/// Returns the path of a database's write-ahead log: `runtime.db-wal` for `runtime.db`.
pub fn wal_path(path: &Path) -> PathBuf {
    beside(path, "-wal")
}

fn beside(path: &Path, ending: &str) -> PathBuf {
    let mut name = path.as_os_str().to_owned();
    name.push(ending);
    PathBuf::from(name)
}

/// Returns the `file:` URI of a path. Everything but plain characters is percent-encoded, byte by byte: `?` and `#`
/// would end the path, and a path need not be UTF-8.
pub fn uri(path: &Path, parameters: &str) -> String {
    let mut uri = String::from("file://");
    for byte in path.as_os_str().as_bytes() {
        match byte {
            b'a'..=b'z' | b'A'..=b'Z' | b'0'..=b'9' | b'/' | b'-' | b'_' | b'.' => uri.push(char::from(*byte)),
            _ => uri.push_str(&format!("%{byte:02X}")),
        }
    }
    uri.push('?');
    uri.push_str(parameters);
    uri
}

/// Rewrites one of our own stores page by page, so that no free space with older data is left. The temporary copy is as
/// large as the store and is written to `scratch`, not to memory or a shared folder.
pub fn rewrite(conn: &Connection, scratch: &Path) -> Result<()> {
    conn.pragma_update(None, "temp_store_directory", scratch.to_string_lossy().as_ref())?;
    conn.pragma_update(None, "temp_store", "FILE")?;
    let done = conn.execute_batch("VACUUM");
    conn.pragma_update(None, "temp_store", "MEMORY")?;
    conn.pragma_update(None, "temp_store_directory", "")?;
    Ok(done?)
}

/// Opens one of our own stores for reading, without writing anything, even in a folder that cannot be written. SQLite
/// needs further files beside a store with a write-ahead log; where it cannot create them and the log is empty, the
/// database file is complete and is read alone.
pub fn open_for_reading(path: &Path) -> Result<Connection> {
    let flags = OpenFlags::SQLITE_OPEN_READ_ONLY
        | OpenFlags::SQLITE_OPEN_NO_MUTEX
        | OpenFlags::SQLITE_OPEN_NOFOLLOW
        | OpenFlags::SQLITE_OPEN_URI;
    let open = |parameters: &str| -> rusqlite::Result<Connection> {
        let conn = Connection::open_with_flags(uri(path, parameters), flags)?;
        conn.query_row("SELECT count(*) FROM sqlite_schema", [], |_| Ok(()))?;
        Ok(conn)
    };
    // A journal beside the store is of a rewriting that was cut off: the file alone is neither the old nor the new store.
    let is_empty = |path: PathBuf| std::fs::metadata(path).map_or(true, |m| m.len() == 0);
    let is_whole = is_empty(wal_path(path)) && is_empty(beside(path, "-journal"));
    match open("mode=ro") {
        Ok(conn) => Ok(conn),
        Err(_) if is_whole => {
            open("mode=ro&immutable=1").map_err(|e| Error::from(e).hint(format!("it is {}", path.display())))
        }
        Err(e) => Err(Error::from(e).hint(format!(
            "{} was not closed and its folder cannot be written; make the folder writable once",
            path.display()
        ))),
    }
}
