//! Reading a file through the handle: never through a symlink, only regular files of this user, and, where a stamp is
//! wanted, never half of one version and half of the next.

use std::fs::File;
use std::io::{Read, Seek, SeekFrom};
use std::os::fd::OwnedFd;
use std::time::Duration;

use rustix::fs::{Mode, OFlags, Stat};
use rustix::io::Errno;

use super::rooted::{self, Rooted, Stamp};
use super::{Digest, RelPath, digest};
use crate::error::{Error, ErrorKind, Result};

/// Number of times a file is read again that changed while it was read.
const TRIES: usize = 10;

/// Result of opening a path.
pub(super) enum Found {
    Nothing,
    /// A symlink; its target is not examined.
    Link,
    File(Box<Whole>),
    /// A file that changed each time it was read.
    Changing,
}

/// A consistent version of a file, which is still open.
pub(super) struct Whole {
    pub file: File,
    pub stat: Stat,
    pub bytes: Vec<u8>,
    pub digest: Digest,
}

impl Rooted {
    /// Returns the bytes of a file, or `None` when it or a folder above it is missing.
    ///
    /// Refused, with the cause named: a symlink, anything that is not a regular file, another owner's file, one with a
    /// second hard link, one larger than `cap` bytes.
    pub fn read(&self, path: &RelPath, cap: u64) -> Result<Option<Vec<u8>>> {
        let opened = self.parent_of(path).and_then(|(parent, leaf)| open(&parent, leaf));
        match opened {
            Ok(mut file) => self.read_capped(path, &mut file, cap).map(|(_, bytes)| Some(bytes)),
            Err(Errno::NOENT) => Ok(None),
            Err(e) => Err(self.fault("read", path, e)),
        }
    }

    /// [`Rooted::read`] with the stamp of the file that was read. The stamp is taken before and after reading, so the
    /// bytes belong to it. `Busy` if the file keeps changing.
    pub fn read_with_stamp(&self, path: &RelPath, cap: u64) -> Result<Option<(Vec<u8>, Stamp)>> {
        let parent = match self.parent_of(path) {
            Ok((parent, _)) => parent,
            Err(Errno::NOENT) => return Ok(None),
            Err(e) => return Err(self.fault("read", path, e)),
        };
        match self.look(&parent, path, cap)? {
            Found::Nothing => Ok(None),
            Found::Link => Err(self.fault("read", path, Errno::LOOP)),
            Found::File(whole) => Ok(Some((whole.bytes, rooted::stamp(&whole.stat)))),
            Found::Changing => {
                Err(Error::new(ErrorKind::Busy, format!("{} is being written all the time", self.place(path)))
                    .hint("run the same command again when the other program is done"))
            }
        }
    }

    /// Reads a path whose directory is already open. Anything but a regular file is refused as in [`Rooted::read`]; a
    /// symlink is reported as such.
    pub(super) fn look(&self, parent: &OwnedFd, path: &RelPath, cap: u64) -> Result<Found> {
        for attempt in 0..TRIES {
            if attempt > 0 {
                std::thread::sleep(Duration::from_millis(1));
            }
            let mut file = match open(parent, path.name()) {
                Ok(file) => file,
                Err(Errno::NOENT) => return Ok(Found::Nothing),
                Err(Errno::LOOP) => return Ok(Found::Link),
                Err(e) => return Err(self.fault("read", path, e)),
            };
            let (before, bytes) = self.read_capped(path, &mut file, cap)?;
            let after = rustix::fs::fstat(&file).map_err(|e| self.fault("examine", path, e))?;
            if is_unchanged(&before, &after) {
                let digest = digest(&bytes);
                return Ok(Found::File(Box::new(Whole { file, stat: before, bytes, digest })));
            }
        }
        Ok(Found::Changing)
    }

    /// Returns the bytes of an open file from its beginning, after checking that it is a regular file of this user.
    pub(super) fn read_capped(&self, path: &RelPath, file: &mut File, cap: u64) -> Result<(Stat, Vec<u8>)> {
        let stat = self.check_leaf(path, &*file)?;
        let too_large = || {
            Error::refused(format!("{} is larger than {cap} bytes", self.place(path)))
                .hint("it is left alone; make it smaller or move it away")
        };
        let size = u64::try_from(stat.st_size).unwrap_or(0);
        if size > cap {
            return Err(too_large());
        }
        // The file may grow while it is read, so the cap is applied here again.
        let mut bytes = Vec::with_capacity(usize::try_from(size).unwrap_or(0));
        file.seek(SeekFrom::Start(0))
            .and_then(|_| file.take(cap.saturating_add(1)).read_to_end(&mut bytes))
            .map_err(|e| Error::io("read", &self.shown().join(path.as_str()), e))?;
        if bytes.len() as u64 > cap { Err(too_large()) } else { Ok((stat, bytes)) }
    }
}

pub(super) fn open(parent: &OwnedFd, leaf: &str) -> rustix::io::Result<File> {
    let flags = OFlags::RDONLY | rooted::LEAF;
    rustix::io::retry_on_intr(|| rustix::fs::openat(parent, leaf, flags, Mode::empty())).map(File::from)
}

/// Whether an open file was not written to between two stats. Losing its last name alters the change time but no byte.
fn is_unchanged(before: &Stat, after: &Stat) -> bool {
    let (mut before, after_stamp) = (rooted::stamp(before), rooted::stamp(after));
    if after.st_nlink == 0 {
        before.changed_ns = after_stamp.changed_ns;
    }
    before == after_stamp
}
