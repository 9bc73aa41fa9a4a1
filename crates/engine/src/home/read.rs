//! Reading a file through the handle: never through a symlink, never one that is not a plain file of our own, and,
//! where a stamp is wanted, never half of one version and half of the next.

use std::fs::File;
use std::io::{Read, Seek, SeekFrom};
use std::os::fd::OwnedFd;
use std::time::Duration;

use rustix::fs::{Mode, OFlags, Stat};
use rustix::io::Errno;

use super::rooted::{self, Rooted, Stamp};
use super::{Digest, RelPath, digest};
use crate::error::{Error, ErrorKind, Result};

/// How often we read a file again that changed under our eyes.
const TRIES: usize = 10;

/// What stands at a path.
pub(super) enum Found {
    Nothing,
    /// A symlink; where it points to is not looked at.
    Link,
    File(Box<Whole>),
    /// A file that changed each time we read it.
    Changing,
}

/// A file as it was at one moment, and still open.
pub(super) struct Whole {
    pub file: File,
    pub stat: Stat,
    pub bytes: Vec<u8>,
    pub digest: Digest,
}

impl Rooted {
    /// The bytes of a file, or `None` when it or a folder above it is missing.
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

    /// [`Rooted::read`] with the stamp of the very file that was read, taken before and after: the bytes are those the
    /// stamp stands for. A file that never holds still is `Busy`.
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

    /// What stands at a path whose directory is open already. Odd leaves are refused as in [`Rooted::read`], a symlink
    /// is told apart.
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

    /// The bytes of an open file from its beginning, after checking that it is one of ours.
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
        // It may grow while we read, so the cap is held here again.
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

/// Whether nobody wrote between two looks at an open file. Losing its last name alters the time of change, not a byte.
fn is_unchanged(before: &Stat, after: &Stat) -> bool {
    let (mut before, after_stamp) = (rooted::stamp(before), rooted::stamp(after));
    if after.st_nlink == 0 {
        before.changed_ns = after_stamp.changed_ns;
    }
    before == after_stamp
}
