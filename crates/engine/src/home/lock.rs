//! Locks between processes: `flock` on a file under `run/`. The system releases the lock when its holder dies, so a
//! crash leaves no stale lock. A holder that is alive but stuck (suspended, or hanging) is waited for [`PATIENCE`] and
//! then named in the error; a lock that keeps passing from one holder to the next is waited for longer. This module
//! does not know what a lock protects.

use std::os::fd::OwnedFd;
use std::time::{Duration, Instant};

use rustix::fs::{AtFlags, FlockOperation, Mode, OFlags};
use rustix::io::Errno;

use super::{Home, RelPath, layout, rooted};
use crate::clock::Clock;
use crate::error::{Error, ErrorKind, Result};
use crate::holder::{ANNOUNCED_AFTER, Holder};

/// Longest time one holder of a lock is waited for. No command of ours holds a lock that long.
pub const PATIENCE: Duration = Duration::from_secs(10);

/// Longest time a lock is waited for that passes from one holder to the next.
const QUEUE: Duration = Duration::from_secs(60);

/// The longest pause between two tries.
const PAUSE: Duration = Duration::from_millis(20);

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

    /// Marks the lock as held by writing the holder's process id and the time into its file; dropping the lock empties it.
    fn held(file: OwnedFd) -> HomeLock {
        let mut byte = [0u8; 1];
        let abandoned = rustix::io::pread(&file, &mut byte, 0).is_ok_and(|n| n > 0);
        // A full disk must not prevent locking; the mark is only a hint.
        let mark = format!("{:<10} {:<20}", std::process::id(), Clock::System.boot().ms);
        let _ = rustix::io::pwrite(&file, mark.as_bytes(), 0);
        HomeLock { file, abandoned }
    }
}

impl Drop for HomeLock {
    fn drop(&mut self) {
        let _ = rustix::fs::ftruncate(&self.file, 0);
    }
}

impl Home {
    /// Waits for the lock `name`, at most [`PATIENCE`]; then `Busy`, with the holder's name.
    pub fn lock(&self, name: &str) -> Result<HomeLock> {
        self.lock_within(name, PATIENCE)
    }

    /// Waits like [`Home::lock`], at most `patience`.
    pub fn lock_within(&self, name: &str, patience: Duration) -> Result<HomeLock> {
        let path = lock_path(name)?;
        let began = Instant::now();
        let mut until = began + patience;
        let mut holder = self.holder(&path);
        let mut pause = Duration::from_millis(1);
        let mut is_announced = false;
        loop {
            if let Some(lock) = self.take(&path)? {
                return Ok(lock);
            }
            if !is_announced && began.elapsed() >= ANNOUNCED_AFTER {
                is_announced = true;
                self.process(&path).announce();
            }
            if Instant::now() >= until {
                let now = self.holder(&path);
                if now == holder || began.elapsed() > QUEUE {
                    return Err(self.held_by(&path, began.elapsed()));
                }
                (holder, until) = (now, Instant::now() + patience);
            }
            std::thread::sleep(pause);
            pause = (pause * 2).min(PAUSE);
        }
    }

    /// Reads the text that a lock's holder wrote when it took the lock.
    fn holder(&self, path: &RelPath) -> Option<String> {
        String::from_utf8(self.read(path, 64).ok()??).ok()
    }

    /// Returns the process that holds a lock.
    fn process(&self, path: &RelPath) -> Holder {
        Holder::of(self.holder(path).and_then(|text| text.split_whitespace().next()?.parse().ok()))
    }

    /// Returns the error that names the process which holds a lock and how long this one has `waited`.
    fn held_by(&self, path: &RelPath, waited: Duration) -> Error {
        match self.process(path) {
            Holder { pid: None, .. } => {
                let seconds = waited.as_secs_f64().round();
                Error::new(ErrorKind::Busy, format!("another process has held {path} for {seconds} seconds"))
                    .hint("run the command again when it has ended; nothing was changed")
            }
            process => process.error("is changing the same files", waited),
        }
    }

    /// Takes the lock `name` if it is free; `None` when it is held.
    pub fn try_lock(&self, name: &str) -> Result<Option<HomeLock>> {
        self.take(&lock_path(name)?)
    }

    /// Takes the lock if it is free. `None`: the lock is held by another process, or the lock file was replaced while
    /// we waited, so that a lock on the old file protects nothing.
    fn take(&self, path: &RelPath) -> Result<Option<HomeLock>> {
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
                // Folders and sockets cannot be opened as files; the error names the kind of entry.
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
        match rustix::io::retry_on_intr(|| rustix::fs::flock(&file, FlockOperation::NonBlockingLockExclusive)) {
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
