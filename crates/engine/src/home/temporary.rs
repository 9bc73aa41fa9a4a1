//! The file every write begins as: a random name beside the final one, never listed, gone when its maker gives up and
//! scanned when its maker was killed.

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

/// A file under a temporary name. Dropping it removes what has that name, unless `disposable` was taken away.
pub(super) struct Temporary {
    /// The directory it is in.
    pub parent: OwnedFd,
    pub name: String,
    pub file: File,
    /// Whether what is at the name is ours to delete, whatever happens next.
    pub disposable: bool,
}

impl Temporary {
    /// An empty file; the inner error is the system's.
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

    /// Writes and syncs the file: 0600 whatever the umask, or with the rights of the file it is going to replace.
    pub fn fill(&mut self, bytes: &[u8], like: Option<&Stat>) -> std::io::Result<()> {
        self.file.write_all(bytes)?;
        let mut mode = FILE_MODE;
        if let Some(old) = like {
            mode = Mode::from_raw_mode(old.st_mode) & (Mode::RWXU | Mode::RWXG | Mode::RWXO);
            // What one group may do, another may not.
            if mode.intersects(Mode::RWXG)
                && rustix::fs::fstat(&self.file)?.st_gid != old.st_gid
                && std::os::unix::fs::fchown(&self.file, None, Some(old.st_gid)).is_err()
            {
                mode.remove(Mode::RWXG);
            }
        }
        rustix::fs::fchmod(&self.file, mode)?;
        // A failed sync is not tried again: the system may say yes the second time without having written.
        self.file.sync_all()
    }

    /// Where it is, for the calls that rename.
    pub fn at(&self) -> (&OwnedFd, &str) {
        (&self.parent, &self.name)
    }
}

impl Drop for Temporary {
    fn drop(&mut self) {
        if self.disposable && rustix::fs::unlinkat(&self.parent, &self.name, AtFlags::empty()).is_ok() {
            // What stays because one of these failed is scanned later; what stopped us, if anything, is the news.
            let _ = rooted::sync_directory(&self.parent);
        }
    }
}

/// A name nobody can guess, for a file that lives as long as one command; what a crash leaves behind is scanned by it.
pub(crate) fn temporary_name() -> Result<String> {
    Ok(format!("{PREFIX}{}{SUFFIX}", random_digits()?))
}

/// Sixteen hexadecimal digits.
pub(super) fn random_digits() -> Result<String> {
    let mut random = [0u8; 8];
    getrandom::fill(&mut random).map_err(|e| {
        let cause =
            e.raw_os_error().map_or_else(|| std::io::ErrorKind::Unsupported.into(), std::io::Error::from_raw_os_error);
        Error::new(ErrorKind::Machine, "the system gives no random numbers").because(cause)
    })?;
    Ok(format!("{:016x}", u64::from_ne_bytes(random)))
}

/// Nobody but us makes files that are never listed and scanned after an hour.
pub(super) fn refuse_temporary(path: &RelPath) -> Result<()> {
    match is_temporary(OsStr::new(path.name())) {
        true => Err(Error::usage(format!("{path} is named like a temporary file")).hint("choose another name")),
        false => Ok(()),
    }
}

pub(super) fn is_temporary(name: &OsStr) -> bool {
    name.to_str()
        .and_then(|name| name.strip_prefix(PREFIX)?.strip_suffix(SUFFIX))
        .is_some_and(|hex| hex.len() == 16 && hex.bytes().all(|b| b.is_ascii_hexdigit()))
}
