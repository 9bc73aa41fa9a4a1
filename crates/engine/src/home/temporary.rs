//! Temporary files: every write begins as a file with a random name beside the final one. They are never listed, are
//! removed when the write fails, and are cleaned up later if the process was killed.

use std::ffi::OsStr;
use std::fs::File;
use std::io::Write;
use std::os::fd::OwnedFd;

use rustix::fs::{AtFlags, Mode, OFlags, Stat};

use super::RelPath;
use super::rooted::{self, FILE_MODE, LEAF};
use crate::error::{Error, ErrorKind, Result};

const PREFIX: &str = ".hl-";
const SUFFIX: &str = ".tmp";

/// A file under a temporary name. Dropping it removes the file unless `disposable` was cleared.
pub(super) struct Temporary {
    /// The directory it is in.
    pub parent: OwnedFd,
    pub name: String,
    pub file: File,
    /// Whether the file at the name may be deleted, whatever happens next.
    pub disposable: bool,
}

impl Temporary {
    /// Creates an empty file; the inner error is the system's.
    pub fn create(parent: OwnedFd) -> Result<rustix::io::Result<Temporary>> {
        let name = temporary_name()?;
        let flags = OFlags::WRONLY | OFlags::CREATE | OFlags::EXCL | LEAF;
        Ok(rustix::fs::openat(&parent, &name, flags, FILE_MODE).map(|file| Temporary {
            parent,
            name,
            file: File::from(file),
            disposable: true,
        }))
    }

    /// Writes and syncs the file, with mode 0600 whatever the umask, or with the mode of the file it is going to
    /// replace.
    pub fn fill(&mut self, bytes: &[u8], like: Option<&Stat>) -> std::io::Result<()> {
        self.file.write_all(bytes)?;
        let mut mode = FILE_MODE;
        if let Some(old) = like {
            mode = Mode::from_raw_mode(old.st_mode) & (Mode::RWXU | Mode::RWXG | Mode::RWXO);
            // Rights of the old file's group must not pass to another group.
            if mode.intersects(Mode::RWXG)
                && rustix::fs::fstat(&self.file)?.st_gid != old.st_gid
                && std::os::unix::fs::fchown(&self.file, None, Some(old.st_gid)).is_err()
            {
                mode.remove(Mode::RWXG);
            }
        }
        rustix::fs::fchmod(&self.file, mode)?;
        // A failed sync is not retried: the system may report success the second time without having written.
        self.file.sync_all()
    }

    /// Returns the directory and name of the file, for the calls that rename.
    pub fn at(&self) -> (&OwnedFd, &str) {
        (&self.parent, &self.name)
    }
}

impl Drop for Temporary {
    fn drop(&mut self) {
        if self.disposable && rustix::fs::unlinkat(&self.parent, &self.name, AtFlags::empty()).is_ok() {
            // A file that remains because one of these calls failed is cleaned up later; the error that stopped the
            // write is reported.
            let _ = rooted::sync_directory(&self.parent);
        }
    }
}

/// Makes an unguessable name for a file that exists only while a command runs; cleanup recognises it after a crash.
pub(crate) fn temporary_name() -> Result<String> {
    Ok(format!("{PREFIX}{}{SUFFIX}", random_digits()?))
}

/// Returns sixteen random hexadecimal digits.
pub(super) fn random_digits() -> Result<String> {
    let mut random = [0u8; 8];
    getrandom::fill(&mut random).map_err(|e| {
        let cause =
            e.raw_os_error().map_or_else(|| std::io::ErrorKind::Unsupported.into(), std::io::Error::from_raw_os_error);
        Error::new(ErrorKind::Machine, "the system gives no random numbers").because(cause)
    })?;
    Ok(format!("{:016x}", u64::from_ne_bytes(random)))
}

/// Refuses the names of our own temporary files, which are never listed and removed after an hour.
pub(super) fn refuse_temporary(path: &RelPath) -> Result<()> {
    match is_temporary(OsStr::new(path.name())) {
        true => Err(Error::usage(format!("{path} is named like a temporary file")).hint("choose another name")),
        false => Ok(()),
    }
}

/// Endings of the files SQLite puts beside a database that is made under a temporary name.
const BESIDE: [&str; 3] = ["-journal", "-wal", "-shm"];

pub(super) fn is_temporary(name: &OsStr) -> bool {
    let whole = |name: &str| BESIDE.iter().find_map(|end| name.strip_suffix(end)).unwrap_or(name).to_owned();
    name.to_str()
        .map(whole)
        .and_then(|name| Some(name.strip_prefix(PREFIX)?.strip_suffix(SUFFIX)?.to_owned()))
        .is_some_and(|hex| hex.len() == 16 && hex.bytes().all(|b| b.is_ascii_hexdigit()))
}
