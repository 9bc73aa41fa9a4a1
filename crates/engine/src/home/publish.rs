//! The one function that replaces files people may also edit (R3.2).
//!
//! It writes only what was made from the very bytes that are on the disk, and it never overwrites: the new file and
//! the old one *exchange* their names in one step, and what came out is read before it is let go. So whoever saves
//! between our last look and the exchange loses nothing, and a reader finds the old file or the new one in full.
//! Deliberately knows nothing about what the bytes say, about merging or about revisions: the caller hands in a place
//! for what a human saved.

use std::fs::File;
use std::os::fd::OwnedFd;
use std::time::Duration;

use rustix::fs::{AtFlags, RenameFlags};
use rustix::io::Errno;

use super::read::{self, Found, Whole};
use super::rooted::{self, NewFile, Rooted, Stamp};
use super::temporary::{Temporary, random_digits, refuse_temporary};
use super::{HomeLock, RelPath};
use crate::clock::Millis;
use crate::error::{Error, ErrorKind, Result};

/// No file larger than this is replaced.
pub(super) const LARGEST: u64 = 64 << 20;
/// Whoever saved a file less than this long ago may be about to write more of it.
pub const QUIET_MS: Millis = 2_000;
/// How long a file that was saved in the instant of the exchange must be left alone before we take it for finished,
const SETTLE: Duration = Duration::from_millis(50);
/// and how often we wait for that.
const SETTLE_ROUNDS: usize = 40;

/// BLAKE3 of a file's bytes.
pub type Digest = [u8; 32];

/// The digest of a file with these bytes.
pub fn digest(bytes: &[u8]) -> Digest {
    *blake3::hash(bytes).as_bytes()
}

/// New bytes for a file, and what they rest on.
#[derive(Clone, Copy, Debug)]
pub struct Publication<'a> {
    /// Where. The folders above it exist ([`Rooted::create_dir_all`]).
    pub path: &'a RelPath,
    /// The whole file.
    pub bytes: &'a [u8],
    /// What the new bytes were made from: the digest of the file as it was read, `None` when there was none.
    pub base: Option<Digest>,
    /// The digest of what we ourselves last published there, `None` for never.
    pub own: Option<Digest>,
}

/// What became of a publication.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[must_use = "not every answer means that the file has the new bytes"]
pub enum Published {
    /// The new bytes are in place, durable.
    Written(Stamp),
    /// The file has exactly these bytes already; nothing was written.
    Unchanged(Stamp),
    /// The file is no longer what `base` says: nothing was written. Read it again and make the bytes anew.
    Moved,
    /// Somebody else changed it less than two seconds ago and may not be done: nothing was written. Try again, not
    /// before this time.
    Deferred {
        /// When the two seconds are over.
        until: Millis,
    },
    /// The new bytes are in place, durable, and somebody had saved in the instant between: their bytes were handed to
    /// `keep` before they were let go.
    Displaced(Stamp),
}

/// A publication up to its last step: done without writing, or a temporary file that is ready to take the name.
pub(super) enum Prepared<'a> {
    Answer(Published),
    Ready(Box<Ready<'a>>),
}

/// The new file under its temporary name, whole and synced.
pub(super) struct Ready<'a> {
    home: &'a Rooted,
    path: &'a RelPath,
    new: Temporary,
    digest: Digest,
    /// The new file before it got its name.
    written: Stamp,
    found: Found,
}

impl Rooted {
    /// Replaces a file, or makes it: the only way a managed file is written. Holding the lock that guards the file is
    /// the caller's part, since only it knows which one that is.
    ///
    /// A new file is 0600 whatever the umask; an existing one keeps its mode. A symlink is replaced itself, whatever
    /// `base` says, and what it points to is neither read nor touched (D8); anything else that is not a plain file of
    /// our own is refused as in [`Rooted::read`]. `now` is the time of the same clock that dates files.
    ///
    /// On an error the old file is in its place and untouched, and so it is when `keep` fails, whose error is returned.
    /// A file that was not there before may stay, whole, when only making its name durable failed.
    pub fn publish(
        &self,
        _held: &HomeLock,
        what: &Publication<'_>,
        now: Millis,
        keep: &mut dyn FnMut(&[u8]) -> Result<()>,
    ) -> Result<Published> {
        match self.prepare(what, now)? {
            Prepared::Answer(answer) => Ok(answer),
            Prepared::Ready(ready) => ready.put(keep),
        }
    }

    /// Everything that leaves the file as it is.
    pub(super) fn prepare<'a>(&'a self, what: &Publication<'a>, now: Millis) -> Result<Prepared<'a>> {
        let path = what.path;
        refuse_temporary(path)?;
        if what.bytes.len() as u64 > LARGEST {
            return Err(Error::refused(format!("what should go to {path} is larger than {LARGEST} bytes"))
                .hint("the file was left as it is"));
        }
        let (parent, _) = self.parent_of(path).map_err(|e| self.fault("write", path, e))?;
        let found = self.look(&parent, path, LARGEST)?;
        let answer = match &found {
            Found::Nothing => what.base.map(|_| Published::Moved),
            Found::Link => None,
            Found::Changing => Some(Published::Deferred { until: now.saturating_add(QUIET_MS) }),
            Found::File(whole) => {
                let stamp = rooted::stamp(&whole.stat);
                if what.base != Some(whole.digest) {
                    Some(Published::Moved)
                } else if whole.bytes == what.bytes {
                    Some(Published::Unchanged(stamp))
                } else if what.own != Some(whole.digest) {
                    unfinished(&stamp, now).map(|until| Published::Deferred { until })
                } else {
                    None
                }
            }
        };
        if let Some(answer) = answer {
            return Ok(Prepared::Answer(answer));
        }
        let old = match &found {
            Found::File(whole) => Some(&whole.stat),
            _ => None,
        };
        let mut new = Temporary::create(parent)?.map_err(|e| self.fault("write", path, e))?;
        new.fill(what.bytes, old).map_err(|e| Error::io("write", &self.shown().join(path.as_str()), e))?;
        let written = rustix::fs::fstat(&new.file).map_err(|e| self.fault("write", path, e))?;
        let (digest, written) = (digest(what.bytes), rooted::stamp(&written));
        Ok(Prepared::Ready(Box::new(Ready { home: self, path, new, digest, written, found })))
    }
}

impl Ready<'_> {
    /// Gives the new file its name, and lets go of what had it before.
    pub(super) fn put(mut self, keep: &mut dyn FnMut(&[u8]) -> Result<()>) -> Result<Published> {
        if matches!(self.found, Found::Nothing) {
            return match rooted::rename_without_replacing(self.new.at(), self.leaf()) {
                Ok(NewFile::Written) => {
                    self.new.disposable = false;
                    let stamp = self.stamp()?;
                    rooted::sync_directory(&self.new.parent).map_err(|e| self.fault(e))?;
                    Ok(Published::Written(stamp))
                }
                Ok(NewFile::Exists) => Ok(Published::Moved),
                Err(e) => Err(self.fault(e)),
            };
        }
        match self.exchange() {
            Ok(()) => {}
            Err(Errno::NOENT) => return Ok(Published::Moved),
            Err(e) if rooted::is_unsupported(e) => return self.put_over(keep),
            Err(e) => return Err(self.fault(e)),
        }
        // Until what came out has been read, it may be the only copy of something.
        self.new.disposable = false;
        let stamp = self.stamp();
        let displaced =
            rooted::sync_directory(&self.new.parent).map_err(|e| self.fault(e)).and_then(|()| self.take(keep));
        match (displaced, stamp) {
            (Ok(displaced), Ok(stamp)) => {
                self.new.disposable = true;
                drop(self);
                Ok(if displaced { Published::Displaced(stamp) } else { Published::Written(stamp) })
            }
            (Err(error), _) | (_, Err(error)) => Err(self.put_back(error)),
        }
    }

    /// The last step where the file system cannot exchange two names: look once more and replace. Between the two,
    /// somebody who replaces the file is not noticed; somebody who writes into it is.
    fn put_over(self, keep: &mut dyn FnMut(&[u8]) -> Result<()>) -> Result<Published> {
        let again = self.home.look(&self.new.parent, self.path, LARGEST)?;
        let old = match (&self.found, again) {
            (Found::Link, Found::Link) => None,
            (Found::File(was), Found::File(is)) if was.digest == is.digest => Some(is),
            _ => return Ok(Published::Moved),
        };
        self.replace(old, keep)
    }

    /// Takes the name of `old`, which is held open and may still be written into.
    pub(super) fn replace(
        mut self,
        old: Option<Box<Whole>>,
        keep: &mut dyn FnMut(&[u8]) -> Result<()>,
    ) -> Result<Published> {
        rustix::fs::renameat(&self.new.parent, &self.new.name, &self.new.parent, self.path.name())
            .map_err(|e| self.fault(e))?;
        self.new.disposable = false;
        let stamp = self.stamp()?;
        rooted::sync_directory(&self.new.parent).map_err(|e| self.fault(e))?;
        let Some(mut old) = old else { return Ok(Published::Written(stamp)) };
        match self.settle(&mut old.file, keep) {
            Ok(false) => Ok(Published::Written(stamp)),
            Ok(true) => Ok(Published::Displaced(stamp)),
            Err(error) => {
                // The old file has no name any more, so its bytes go into a new one.
                let (stat, bytes) = self.home.read_capped(self.path, &mut old.file, LARGEST)?;
                let parent = self.new.parent.try_clone().map_err(|e| Error::io("write", &self.shown(), e))?;
                let mut back = Temporary::create(parent)?.map_err(|e| self.fault(e))?;
                back.fill(&bytes, Some(&stat)).map_err(|e| Error::io("write", &self.shown(), e))?;
                back.disposable = false;
                let ours = self.is_ours((&back.parent, self.path.name())).unwrap_or(false);
                if ours && rustix::fs::renameat(&back.parent, &back.name, &back.parent, self.path.name()).is_ok() {
                    return Err(error);
                }
                Err(self.set_aside(&back, error))
            }
        }
    }

    /// Looks at what came out of the exchange; tells whether it was anything but what we expected, in which case
    /// `keep` has it now.
    fn take(&self, keep: &mut dyn FnMut(&[u8]) -> Result<()>) -> Result<bool> {
        match read::open(&self.new.parent, &self.new.name) {
            Ok(mut old) => self.settle(&mut old, keep),
            // A symlink, which has no bytes; or somebody deleted it.
            Err(Errno::LOOP | Errno::NOENT) => Ok(false),
            Err(e) => {
                // A socket cannot even be opened; say what it is.
                let stat = rustix::fs::statat(&self.new.parent, &self.new.name, AtFlags::SYMLINK_NOFOLLOW);
                stat.map_err(|e| self.fault(e)).and_then(|stat| self.home.judge_leaf(self.path, &stat))?;
                Err(self.fault(e))
            }
        }
    }

    /// Reads a file that lost its name until nobody writes into it any more, handing over every version that is not
    /// the one we knew. An editor that holds it open would otherwise write into a file that is about to vanish.
    fn settle(&self, old: &mut File, keep: &mut dyn FnMut(&[u8]) -> Result<()>) -> Result<bool> {
        let mut known = match &self.found {
            Found::File(whole) => Some(whole.digest),
            _ => None,
        };
        let mut displaced = false;
        for _ in 0..SETTLE_ROUNDS {
            let (_, bytes) = self.home.read_capped(self.path, old, LARGEST)?;
            let found = digest(&bytes);
            if known == Some(found) {
                return Ok(displaced);
            }
            keep(&bytes)?;
            (known, displaced) = (Some(found), true);
            std::thread::sleep(SETTLE);
        }
        Err(Error::new(ErrorKind::Busy, format!("{} is being written all the time", self.home.place(self.path)))
            .hint("run the same command again when the other program is done"))
    }

    /// Undoes the exchange. Whatever else was saved meanwhile stays under a name of its own, which the error tells.
    fn put_back(&mut self, error: Error) -> Error {
        let back = match self.exchange() {
            // The new file was deleted meanwhile; the old one still gets its name back.
            Err(Errno::NOENT) => {
                rooted::rename_without_replacing(self.new.at(), self.leaf()).map(|done| done == NewFile::Written)
            }
            other => other.map(|()| true),
        };
        let _ = rooted::sync_directory(&self.new.parent);
        match back {
            Ok(true) if self.is_ours(self.new.at()).unwrap_or(false) => {
                self.new.disposable = true;
                error
            }
            // Somebody saved on top of the new file: the latest version keeps the name.
            Ok(true) => {
                let _ = self.exchange();
                self.set_aside(&self.new, error)
            }
            Ok(false) | Err(_) => self.set_aside(&self.new, error),
        }
    }

    /// Whether what has a name is the file we wrote and nothing else, or nothing at all.
    fn is_ours(&self, at: (&OwnedFd, &str)) -> Result<bool> {
        match read::open(at.0, at.1) {
            Ok(mut file) => {
                let (_, bytes) = self.home.read_capped(self.path, &mut file, LARGEST)?;
                Ok(digest(&bytes) == self.digest)
            }
            Err(Errno::NOENT) => Ok(true),
            Err(e) => Err(self.fault(e)),
        }
    }

    /// Gives what is at the temporary name one that people see and nothing sweeps.
    fn set_aside(&self, what: &Temporary, error: Error) -> Error {
        let visible = random_digits().map(|digits| format!("saved-{digits}.md"));
        if let Ok(name) = &visible
            && let Ok(NewFile::Written) = rooted::rename_without_replacing(what.at(), (&what.parent, name))
        {
            let at = self.shown().with_file_name(name);
            return error.hint(format!("what was saved in that moment is in {}", at.display()));
        }
        let at = self.shown().with_file_name(&what.name);
        error.hint(format!("what was saved in that moment is in {}; rename it within the hour", at.display()))
    }

    /// The stamp of the new file under its name. Somebody may have written into it since: then the stamp from before,
    /// which nothing on the disk equals any more, so that the file table looks again.
    fn stamp(&self) -> Result<Stamp> {
        let now = rustix::fs::fstat(&self.new.file).map_err(|e| self.fault(e))?;
        let (was, is) = (self.written, rooted::stamp(&now));
        Ok(if (was.size, was.modified_ns) == (is.size, is.modified_ns) { is } else { was })
    }

    fn exchange(&self) -> rustix::io::Result<()> {
        let (dir, leaf) = self.leaf();
        rustix::fs::renameat_with(dir, &self.new.name, dir, leaf, RenameFlags::EXCHANGE)
    }

    fn leaf(&self) -> (&OwnedFd, &str) {
        (&self.new.parent, self.path.name())
    }

    fn shown(&self) -> std::path::PathBuf {
        self.home.shown().join(self.path.as_str())
    }

    fn fault(&self, errno: Errno) -> Error {
        self.home.fault("write", self.path, errno)
    }
}

/// Until when a file may be half saved; `None` when its last write is long enough ago. A time that lies further ahead
/// than the same two seconds is somebody's clock and not a reason to wait for ever.
fn unfinished(stamp: &Stamp, now: Millis) -> Option<Millis> {
    let saved = stamp.modified_ns.div_euclid(1_000_000);
    (-QUIET_MS..QUIET_MS).contains(&now.saturating_sub(saved)).then(|| saved.saturating_add(QUIET_MS))
}
