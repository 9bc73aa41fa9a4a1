//! Locks between processes: `flock` on a file under `run/`. The system releases the lock when its holder dies, so a
//! crash leaves no stale lock. Does not know what a lock protects.

use std::os::fd::OwnedFd;

use rustix::fs::{AtFlags, FlockOperation, Mode, OFlags};
use rustix::io::Errno;

use super::{Home, RelPath, layout, rooted};
use crate::error::{Error, ErrorKind, Result};

/// A held lock, released when dropped.
#[derive(Debug)]
#[must_use = "the lock is released when this is dropped"]
pub struct HomeLock {
    file: OwnedFd,
    abandoned: bool,
}

impl HomeLock {
    /// Whether the last holder died while holding the lock: its work may be half done, and its temporary files have no
    /// owner.
    pub fn was_abandoned(&self) -> bool {
        self.abandoned
    }

    /// Marks the lock as held by making its file non-empty; dropping the lock empties it.
    fn held(file: OwnedFd) -> HomeLock {
        let mut byte = [0u8; 1];
        let abandoned = rustix::io::pread(&file, &mut byte, 0).is_ok_and(|n| n > 0);
        // A full disk must not prevent locking; the mark is only a hint.
        let _ = rustix::io::pwrite(&file, b"held", 0);
        HomeLock { file, abandoned }
    }
}

impl Drop for HomeLock {
    fn drop(&mut self) {
        let _ = rustix::fs::ftruncate(&self.file, 0);
    }
}

impl Home {
    /// Waits for the lock `name`, without a time limit.
    pub fn lock(&self, name: &str) -> Result<HomeLock> {
        let path = lock_path(name)?;
        loop {
            if let Some(lock) = self.take(&path, FlockOperation::LockExclusive)? {
                return Ok(lock);
            }
        }
    }

    /// Takes the lock `name` if it is free; `None` when it is held.
    pub fn try_lock(&self, name: &str) -> Result<Option<HomeLock>> {
        self.take(&lock_path(name)?, FlockOperation::NonBlockingLockExclusive)
    }

    /// `None`: the lock is held by another process, or the file was replaced while we waited and the lock protects
    /// nothing.
    fn take(&self, path: &RelPath, how: FlockOperation) -> Result<Option<HomeLock>> {
        let (run, leaf) = match self.parent_of(path) {
            Ok(found) => found,
            // `run/` was deleted; locking must still work.
            Err(Errno::NOENT) => {
                self.create_dir_all(&layout::RUN)?;
                self.parent_of(path).map_err(|e| self.fault("lock", path, e))?
            }
            Err(e) => return Err(self.fault("lock", path, e)),
        };
        let flags = OFlags::RDWR | OFlags::CREATE | rooted::LEAF;
        let file = match rustix::fs::openat(&run, leaf, flags, rooted::FILE_MODE) {
            Ok(file) => file,
            Err(Errno::ISDIR | Errno::NXIO) => {
                // Folders and sockets cannot be opened like this; name what is there.
                let stat = rustix::fs::statat(&run, leaf, AtFlags::SYMLINK_NOFOLLOW);
                let stat = stat.map_err(|e| self.fault("lock", path, e))?;
                self.judge_leaf(path, &stat)?;
                return Ok(None);
            }
            Err(e) => return Err(self.fault("lock", path, e)),
        };
        let ours = self.check_leaf(path, &file)?;
        if Mode::from_raw_mode(ours.st_mode) != rooted::FILE_MODE {
            rustix::fs::fchmod(&file, rooted::FILE_MODE).map_err(|e| self.fault("set the mode of", path, e))?;
        }
        match rustix::io::retry_on_intr(|| rustix::fs::flock(&file, how)) {
            Ok(()) => {}
            Err(Errno::WOULDBLOCK) => return Ok(None),
            Err(e) => return Err(self.fault("lock", path, e)),
        }
        match rustix::fs::statat(&run, leaf, AtFlags::SYMLINK_NOFOLLOW) {
            Ok(now) if (now.st_dev, now.st_ino) == (ours.st_dev, ours.st_ino) => Ok(Some(HomeLock::held(file))),
            Ok(_) | Err(Errno::NOENT) => Ok(None),
            Err(e) => Err(self.fault("lock", path, e)),
        }
    }
}

fn lock_path(name: &str) -> Result<RelPath> {
    let plain = |b: u8| b.is_ascii_alphanumeric() || b == b'-' || b == b'_';
    if name.is_empty() || name.len() > 200 || !name.bytes().all(plain) {
        return Err(Error::new(ErrorKind::Usage, format!("{name:?} cannot name a lock: letters, digits, - and _")));
    }
    layout::RUN.join(&format!("{name}{}", layout::LOCK_SUFFIX))
}
