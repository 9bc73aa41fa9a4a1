//! The one function that replaces files people may also edit (R3.2).
//!
//! It writes only if the file on disk still has the bytes the new ones were made from, and it never overwrites: the new
//! file and the old one *exchange* their names in one step, and the displaced file is read before it is deleted. So an
//! edit that is saved between our last check and the exchange is not lost, and a reader sees either the old file or the
//! new one in full. This module does not interpret the bytes and knows nothing about merging or revisions: the caller
//! passes a function that keeps displaced edits.

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

/// The largest file that is replaced, in bytes.
pub(super) const LARGEST: u64 = 64 << 20;
/// Time after the last save by others in which a file is left alone, because its editor may still be writing.
pub const QUIET_MS: Millis = 2_000;
/// Time a file that was saved at the moment of the exchange must stay unchanged before it counts as complete.
const SETTLE: Duration = Duration::from_millis(50);
/// Number of times [`SETTLE`] is waited before giving up.
const SETTLE_ROUNDS: usize = 40;

/// BLAKE3 of a file's bytes.
pub type Digest = [u8; 32];

/// Returns the digest of a file with these bytes.
pub fn digest(bytes: &[u8]) -> Digest {
    *blake3::hash(bytes).as_bytes()
}

/// New bytes for a file, and the state of the file they were made from.
#[derive(Clone, Copy, Debug)]
pub struct Publication<'a> {
    /// The path. Its folders must exist ([`Rooted::create_dir_all`]).
    pub path: &'a RelPath,
    /// The complete new contents.
    pub bytes: &'a [u8],
    /// The digest of the file the new bytes were made from; `None` when there was none.
    pub base: Option<Digest>,
    /// The digest of what we last published at this path; `None` if we never did.
    pub own: Option<Digest>,
}

/// The outcome of a publication.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[must_use = "not every answer means that the file has the new bytes"]
pub enum Published {
    /// The new bytes are in place and synced.
    Written(Stamp),
    /// The file already has exactly these bytes; nothing was written.
    Unchanged(Stamp),
    /// The file no longer matches `base`; nothing was written. The caller must read the file again and make new bytes.
    Moved,
    /// Another program or a person changed the file less than two seconds ago and may still be writing; nothing was
    /// written. Try again after `until`.
    Deferred {
        /// The time at which the two seconds are over.
        until: Millis,
    },
    /// The new bytes are in place and synced. The file had been changed just before the exchange; the displaced bytes
    /// were handed to `keep` first.
    Displaced(Stamp),
}

/// A publication before its last step: either finished without writing, or a temporary file ready to be renamed.
pub(super) enum Prepared<'a> {
    Answer(Published),
    Ready(Box<Ready<'a>>),
}

/// The new file under its temporary name, complete and synced.
pub(super) struct Ready<'a> {
    home: &'a Rooted,
    path: &'a RelPath,
    new: Temporary,
    digest: Digest,
    /// The stamp of the new file before it was renamed.
    written: Stamp,
    found: Found,
}

impl Rooted {
    /// Replaces a file, or creates it: the only way a managed file is written. The caller must hold the lock that
    /// protects the file, since only the caller knows which one that is.
    ///
    /// A new file gets mode 0600 whatever the umask; an existing one keeps its mode. A symlink is itself replaced,
    /// whatever `base` says, and its target is neither read nor touched (D8); anything else that is not a regular file
    /// of this user is refused as in [`Rooted::read`]. `now` must come from the clock that dates files.
    ///
    /// On an error the old file is in place and unchanged, also when `keep` fails, whose error is then returned. One
    /// exception: a file that did not exist before may remain, complete, when only syncing its directory failed.
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

    /// Does all steps that leave the file unchanged.
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
    /// Renames the new file into place and deletes the old one.
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
        // Until it has been read, the displaced file may be the only copy of an edit.
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

    /// Does the last step on file systems that cannot exchange two names: checks once more, then replaces. If the file
    /// is replaced by another one between check and replacement, that goes unnoticed; a write into the file does not.
    fn put_over(self, keep: &mut dyn FnMut(&[u8]) -> Result<()>) -> Result<Published> {
        let again = self.home.look(&self.new.parent, self.path, LARGEST)?;
        let old = match (&self.found, again) {
            (Found::Link, Found::Link) => None,
            (Found::File(was), Found::File(is)) if was.digest == is.digest => Some(is),
            _ => return Ok(Published::Moved),
        };
        self.replace(old, keep)
    }

    /// Replaces `old`, which is held open because others may still write into it.
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

    /// Reads the file displaced by the exchange. Returns whether it differed from the expected one; `keep` has its
    /// bytes then.
    fn take(&self, keep: &mut dyn FnMut(&[u8]) -> Result<()>) -> Result<bool> {
        match read::open(&self.new.parent, &self.new.name) {
            Ok(mut old) => self.settle(&mut old, keep),
            // A symlink, which has no bytes, or the file was deleted.
            Err(Errno::LOOP | Errno::NOENT) => Ok(false),
            Err(e) => {
                // A socket cannot be opened; name what it is.
                let stat = rustix::fs::statat(&self.new.parent, &self.new.name, AtFlags::SYMLINK_NOFOLLOW);
                stat.map_err(|e| self.fault(e)).and_then(|stat| self.home.judge_leaf(self.path, &stat))?;
                Err(self.fault(e))
            }
        }
    }

    /// Reads a displaced file until it stops changing, and passes every version but the known one to `keep`. An editor
    /// that holds the file open could otherwise write into a file that is about to be deleted.
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

    /// Undoes the exchange. Any other version saved meanwhile gets a new name, which the error states.
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
            // The new file was edited meanwhile: the latest version keeps the name.
            Ok(true) => {
                let _ = self.exchange();
                self.set_aside(&self.new, error)
            }
            Ok(false) | Err(_) => self.set_aside(&self.new, error),
        }
    }

    /// Whether a name refers to the file we wrote, unchanged, or to nothing.
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

    /// Renames the temporary file to a visible name that no cleanup removes.
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

    /// Returns the stamp of the new file under its name. If the file was edited since, returns the stamp from before,
    /// which matches nothing on disk, so that the file table reads the file again.
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

/// Returns the time until which a file may be half saved; `None` when its last write is long enough ago. A time more
/// than two seconds in the future means a wrong clock and is ignored, so that we do not wait for ever.
fn unfinished(stamp: &Stamp, now: Millis) -> Option<Millis> {
    let saved = stamp.modified_ns.div_euclid(1_000_000);
    (-QUIET_MS..QUIET_MS).contains(&now.saturating_sub(saved)).then(|| saved.saturating_add(QUIET_MS))
}
