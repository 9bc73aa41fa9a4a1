//! File operations that start at a directory handle and cannot leave it (R3.1).
//!
//! A path is resolved in two steps. The directories above the leaf are opened by the kernel in one call (`openat2` with
//! `RESOLVE_BENEATH | RESOLVE_NO_SYMLINKS | RESOLVE_NO_MAGICLINKS`), or one component at a time with `O_NOFOLLOW` where
//! the kernel, a sandbox or macOS does not offer that. The leaf is then a single name relative to that descriptor,
//! opened with `O_NOFOLLOW`. A path is never checked first and opened afterwards, so swapping a directory for a symlink
//! gains nothing. Knows nothing about homes, only about one directory.

use std::ffi::{CStr, OsStr, OsString};
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

use rustix::fs::{AtFlags, Dir, FileType, Mode, OFlags, RenameFlags, Stat};
use rustix::io::Errno;

use super::temporary::{Temporary, is_temporary, refuse_temporary};
use super::{RelPath, quoted};
use crate::clock::Millis;
use crate::error::{Error, Result};

/// The mode of every directory we create, whatever the umask.
pub(super) const DIRECTORY_MODE: Mode = Mode::RWXU;
/// The mode of every file we create, whatever the umask.
pub(super) const FILE_MODE: Mode = Mode::RUSR.union(Mode::WUSR);
/// Flags for opening directories: no symlinks, not inherited by child processes.
const DIRECTORY: OFlags = OFlags::RDONLY.union(OFlags::DIRECTORY).union(OFlags::NOFOLLOW).union(OFlags::CLOEXEC);
/// Flags for opening leaves: no symlinks, not inherited by child processes, and no waiting for the other end of a named
/// pipe.
pub(super) const LEAF: OFlags = OFlags::NOFOLLOW.union(OFlags::NONBLOCK).union(OFlags::CLOEXEC);
/// A temporary file younger than this may still be in use.
const TEMPORARY_AGE: Millis = 60 * 60 * 1000;
/// Number of folder levels a cleanup descends; the deepest path Heirloom creates is eight folders down.
const DEEPEST_CLEANUP: usize = 16;

/// A directory held open, with operations on everything below it.
#[derive(Debug)]
pub struct Rooted {
    dir: OwnedFd,
    shown: PathBuf,
    resolver: Resolver,
}

/// Method by which the directories above a leaf are resolved.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Resolver {
    /// The kernel resolves them, with `openat2`.
    #[cfg(target_os = "linux")]
    Kernel,
    /// This module resolves them, one component at a time.
    Walk,
}

/// The type of a directory entry.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Kind {
    /// A regular file.
    File,
    /// A directory.
    Directory,
    /// A symbolic link, not followed.
    Symlink,
    /// A pipe, socket or device.
    Other,
}

/// One entry of a directory at the time it was listed.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Entry {
    /// Name of the entry, which need not be UTF-8; a name that is not cannot be a [`RelPath`].
    pub name: OsString,
    /// Type of the entry.
    pub kind: Kind,
    /// Size and times of the entry.
    pub stamp: Stamp,
}

/// The `stat` fields that identify a version of a file: equal stamps mean that the file was not touched (D1).
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Stamp {
    /// Size in bytes.
    pub size: u64,
    /// Time of the last write, nanoseconds since the Unix epoch.
    pub modified_ns: i64,
    /// Time of the last change of content, mode, name or owner, nanoseconds since the Unix epoch.
    pub changed_ns: i64,
    /// The inode number.
    pub inode: u64,
}

/// The outcome of creating a file.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[must_use = "an existing file was left as it is; say what that means here"]
pub enum NewFile {
    /// The file was written and synced.
    Written,
    /// The name is taken; nothing was touched.
    Exists,
}

impl Rooted {
    /// Returns the path of the directory, for messages.
    pub fn shown(&self) -> &Path {
        &self.shown
    }

    /// Opens a directory below this one.
    pub fn open_dir(&self, path: &RelPath) -> Result<Rooted> {
        let dir = self.resolve(path.as_str()).map_err(|e| self.fault("open", path, e))?;
        Ok(Rooted { dir, shown: self.shown.join(path.as_str()), resolver: self.resolver })
    }

    /// Another handle of the same directory.
    pub(super) fn again(&self) -> Result<Rooted> {
        let dir = self.dir.try_clone().map_err(|e| Error::io("open", &self.shown, e))?;
        Ok(Rooted { dir, shown: self.shown.clone(), resolver: self.resolver })
    }

    /// Returns the entry at a path, symlinks not followed; `None` when it is missing.
    pub fn stat(&self, path: &RelPath) -> Result<Option<Entry>> {
        Ok(self.lstat(path)?.map(|stat| entry(OsString::from(path.name()), &stat)))
    }

    /// Returns the entries of a directory below this one, sorted by name. Entries that vanish meanwhile and our own
    /// temporary files are left out. A missing directory is `NotFound`, because an empty answer would read as "all
    /// deleted".
    pub fn list(&self, path: &RelPath) -> Result<Vec<Entry>> {
        self.open_dir(path)?.entries()
    }

    /// Returns the entries of this directory itself, as [`Rooted::list`] gives them.
    pub fn entries(&self) -> Result<Vec<Entry>> {
        let mut entries = self.entries_and_temporaries()?;
        entries.retain(|entry| !is_temporary(&entry.name));
        Ok(entries)
    }

    /// Creates a directory and those above it, 0700. Existing ones stay as they are; their names are durable, too, when
    /// this returns.
    ///
    /// A process may have been killed after it made a directory and before it synced the name. Such a directory is empty,
    /// since this function syncs the name before anything is put into it; so the name of an empty one is synced again.
    pub fn create_dir_all(&self, path: &RelPath) -> Result<()> {
        self.make_directories(path, true)
    }

    /// Does the work of [`Rooted::create_dir_all`]; the names of empty directories are synced again if `again`.
    pub(super) fn make_directories(&self, path: &RelPath, again: bool) -> Result<()> {
        let fault = |e| self.fault("create", path, e);
        // The directory that was reached, the one above it, and whether something is known to be in it.
        let mut above: Option<OwnedFd> = None;
        let mut at: Option<OwnedFd> = None;
        let mut was_there = false;
        for name in path.components() {
            let parent = at.as_ref().map_or(self.dir.as_fd(), AsFd::as_fd);
            let made = match rustix::fs::mkdirat(parent, name, DIRECTORY_MODE) {
                Ok(()) => true,
                Err(Errno::EXIST) => false,
                Err(e) => return Err(fault(e)),
            };
            let dir = rustix::fs::openat(parent, name, DIRECTORY, Mode::empty()).map_err(fault)?;
            if made {
                let stat = rustix::fs::fstat(&dir).map_err(fault)?;
                // The umask can only take rights away. `contains`: a set-group-id bit inherited from above may stay.
                if !Mode::from_raw_mode(stat.st_mode).contains(DIRECTORY_MODE) {
                    rustix::fs::fchmod(&dir, DIRECTORY_MODE).map_err(fault)?;
                }
                if was_there {
                    // It may have been empty until now.
                    sync_directory(above.as_ref().map_or(self.dir.as_fd(), AsFd::as_fd)).map_err(fault)?;
                }
                sync_directory(parent).map_err(fault)?;
            }
            was_there = !made;
            above = at.replace(dir);
        }
        if again && was_there && at.as_ref().is_none_or(|dir| is_empty(dir).unwrap_or(true)) {
            sync_directory(above.as_ref().map_or(self.dir.as_fd(), AsFd::as_fd)).map_err(fault)?;
        }
        Ok(())
    }

    /// Writes a file that must not exist yet, with mode 0600, in an existing directory. It appears complete and synced,
    /// or not at all: the bytes are written under a temporary name, which is then renamed if the final name is still
    /// free.
    pub fn write_new(&self, path: &RelPath, bytes: &[u8]) -> Result<NewFile> {
        let fault = |e| self.fault("write", path, e);
        refuse_temporary(path)?;
        let (parent, leaf) = self.parent_of(path).map_err(fault)?;
        let mut temporary = Temporary::create(parent)?.map_err(fault)?;
        temporary.fill(bytes, None).map_err(|e| Error::io("write", &self.shown.join(path.as_str()), e))?;
        let written = rename_without_replacing(temporary.at(), (&temporary.parent, leaf)).map_err(fault)?;
        if written == NewFile::Written {
            temporary.disposable = false;
            sync_directory(&temporary.parent).map_err(fault)?;
        }
        Ok(written)
    }

    /// Makes the names in the folder of a file durable, if there is that folder. A process that was killed may have
    /// renamed or removed a file and not have come to sync it.
    pub fn sync_names_beside(&self, path: &RelPath) -> Result<()> {
        match self.parent_of(path) {
            Ok((parent, _)) => sync_directory(&parent).map_err(|e| self.fault("sync", path, e)),
            Err(Errno::NOENT | Errno::NOTDIR) => Ok(()),
            Err(e) => Err(self.fault("sync", path, e)),
        }
    }

    /// Removes a file, or a symlink itself; returns whether there was one. Directories are refused.
    pub fn remove(&self, path: &RelPath) -> Result<bool> {
        let (parent, leaf) = match self.parent_of(path) {
            Ok(found) => found,
            Err(Errno::NOENT) => return Ok(false),
            Err(e) => return Err(self.fault("remove", path, e)),
        };
        match rustix::fs::unlinkat(&parent, leaf, AtFlags::empty()) {
            Ok(()) => sync_directory(&parent).map(|()| true).map_err(|e| self.fault("remove", path, e)),
            Err(Errno::NOENT) => Ok(false),
            // Linux says ISDIR, macOS PERM.
            Err(Errno::ISDIR | Errno::PERM) if self.is_directory(path) => {
                Err(Error::refused(format!("{} is a directory, not a file", self.place(path))))
            }
            Err(e) => Err(self.fault("remove", path, e)),
        }
    }

    /// Removes an empty directory; returns whether it did.
    pub fn remove_empty_dir(&self, path: &RelPath) -> Result<bool> {
        let (parent, leaf) = match self.parent_of(path) {
            Ok(found) => found,
            Err(Errno::NOENT) => return Ok(false),
            Err(e) => return Err(self.fault("remove", path, e)),
        };
        match rustix::fs::unlinkat(&parent, leaf, AtFlags::REMOVEDIR) {
            Ok(()) => sync_directory(&parent).map(|()| true).map_err(|e| self.fault("remove", path, e)),
            Err(Errno::NOENT | Errno::NOTEMPTY | Errno::EXIST | Errno::NOTDIR) => Ok(false),
            Err(e) => Err(self.fault("remove", path, e)),
        }
    }

    /// Returns the full path of a file, for SQLite, which opens by name and not by descriptor. Checks that the folders
    /// above it are no symlinks and that the file, if it exists, is a regular one of this user. The only place where a
    /// path leaves this module; callers must open it with "no follow" as well.
    pub fn file_path(&self, path: &RelPath) -> Result<PathBuf> {
        let (parent, leaf) = self.parent_of(path).map_err(|e| self.fault("open", path, e))?;
        match rustix::fs::statat(&parent, leaf, AtFlags::SYMLINK_NOFOLLOW) {
            Ok(stat) => self.judge_leaf(path, &stat)?,
            Err(Errno::NOENT) => {}
            Err(e) => return Err(self.fault("open", path, e)),
        }
        Ok(self.shown.join(path.as_str()))
    }

    /// Removes our own temporary files older than an hour from a directory and everything below it; returns how many. A
    /// missing directory has none.
    pub fn remove_temporaries_below(&self, path: &RelPath, now: Millis) -> Result<usize> {
        match self.open_dir(path) {
            Ok(dir) => dir.remove_temporaries_here(now, DEEPEST_CLEANUP, &mut |_, _| Ok(())),
            Err(error) if error.kind() == crate::error::ErrorKind::NotFound => Ok(0),
            Err(error) => Err(error),
        }
    }

    /// Removes our own temporary files that are older than an hour at `now` from this directory and everything below it.
    /// The caller must hold the lock under which they are created, so that those found belong to dead processes whatever
    /// their age. Each is passed to `keep` first, with its directory: it may hold what a person saved during an exchange.
    pub fn remove_abandoned(&self, now: Millis, keep: &mut dyn FnMut(&Path, &[u8]) -> Result<()>) -> Result<usize> {
        self.remove_temporaries_here(now, DEEPEST_CLEANUP, &mut |dir, name| {
            let Some(Ok(path)) = name.to_str().map(RelPath::parse) else { return Ok(()) };
            match dir.read(&path, super::publish::LARGEST)? {
                Some(bytes) if !bytes.is_empty() => keep(&dir.shown, &bytes),
                _ => Ok(()),
            }
        })
    }

    /// Returns our own temporary files of any age in this directory and everything below it. Folders that cannot be read
    /// are left out.
    pub fn temporaries(&self) -> Vec<RelPath> {
        let mut all = Vec::new();
        self.temporaries_below(None, DEEPEST_CLEANUP, &mut all);
        all
    }

    fn temporaries_below(&self, here: Option<&RelPath>, depth: usize, all: &mut Vec<RelPath>) {
        for entry in self.entries_and_temporaries().unwrap_or_default() {
            let Some(Ok(name)) = entry.name.to_str().map(RelPath::parse) else { continue };
            let path = match here {
                Some(here) => here.join(name.as_str()),
                None => Ok(name.clone()),
            };
            let Ok(path) = path else { continue };
            if entry.kind == Kind::File && is_temporary(&entry.name) {
                all.push(path);
            } else if entry.kind == Kind::Directory
                && depth > 0
                && let Ok(below) = self.open_dir(&name)
            {
                below.temporaries_below(Some(&path), depth - 1, all);
            }
        }
    }

    pub(super) fn new(dir: OwnedFd, shown: PathBuf) -> Rooted {
        let resolver = Resolver::detect(dir.as_fd());
        Rooted { dir, shown, resolver }
    }

    /// Returns a handle for this directory that resolves paths itself even if the kernel could do it.
    #[cfg(test)]
    pub(super) fn walking(&self) -> Rooted {
        let dir = self.dir.try_clone().expect("a descriptor");
        Rooted { dir, shown: self.shown.clone(), resolver: Resolver::Walk }
    }

    pub(super) fn fd(&self) -> BorrowedFd<'_> {
        self.dir.as_fd()
    }

    /// Returns the directory that contains a leaf, and the leaf's name in it.
    pub(super) fn parent_of<'a>(&self, path: &'a RelPath) -> rustix::io::Result<(OwnedFd, &'a str)> {
        match path.as_str().rsplit_once('/') {
            Some((parent, leaf)) => Ok((self.resolve(parent)?, leaf)),
            None => Ok((rustix::fs::openat(&self.dir, c".", DIRECTORY, Mode::empty())?, path.as_str())),
        }
    }

    pub(super) fn lstat(&self, path: &RelPath) -> Result<Option<Stat>> {
        let found = self
            .parent_of(path)
            .and_then(|(parent, leaf)| rustix::fs::statat(&parent, leaf, AtFlags::SYMLINK_NOFOLLOW));
        match found {
            Ok(stat) => Ok(Some(stat)),
            Err(Errno::NOENT) => Ok(None),
            Err(e) => Err(self.fault("examine", path, e)),
        }
    }

    pub(super) fn entries_and_temporaries(&self) -> Result<Vec<Entry>> {
        Ok(self.entries_and_stats()?.into_iter().map(|(entry, _)| entry).collect())
    }

    /// Returns the entries of this directory, temporary files included, each with its full `stat`.
    pub(super) fn entries_and_stats(&self) -> Result<Vec<(Entry, Stat)>> {
        let fault = |e| Error::io("list", &self.shown, e);
        let mut entries = Vec::new();
        for found in Dir::read_from(&self.dir).map_err(fault)? {
            let found = found.map_err(fault)?;
            let name: &CStr = found.file_name();
            if name == c"." || name == c".." {
                continue;
            }
            match rustix::fs::statat(&self.dir, name, AtFlags::SYMLINK_NOFOLLOW) {
                Ok(stat) => entries.push((entry(OsStr::from_bytes(name.to_bytes()).to_owned(), &stat), stat)),
                Err(Errno::NOENT) => {}
                Err(e) => return Err(Error::io("list", &self.shown.join(OsStr::from_bytes(name.to_bytes())), e)),
            }
        }
        entries.sort_by(|(a, _), (b, _)| a.name.cmp(&b.name));
        Ok(entries)
    }

    /// Refuses an opened leaf that is not a regular file of this user.
    pub(super) fn check_leaf(&self, path: &RelPath, file: impl AsFd) -> Result<Stat> {
        let stat = rustix::fs::fstat(file).map_err(|e| self.fault("examine", path, e))?;
        self.judge_leaf(path, &stat)?;
        Ok(stat)
    }

    pub(super) fn judge_leaf(&self, path: &RelPath, stat: &Stat) -> Result<()> {
        let place = self.place(path);
        let kind = FileType::from_raw_mode(stat.st_mode);
        if kind != FileType::RegularFile {
            return Err(Error::refused(format!("{place} is {}, not a file", in_words(kind)))
                .hint("it was left alone; move it out of the home"));
        }
        let us = rustix::process::geteuid().as_raw();
        if stat.st_uid != us {
            return Err(Error::refused(format!("{place} belongs to another user (uid {}, we are {us})", stat.st_uid))
                .hint(format!("if it is yours: sudo chown {us} {}", quoted(&self.shown.join(path.as_str())))));
        }
        // Zero links are fine: the file was replaced after we opened it, and we hold its last version.
        if stat.st_nlink > 1 {
            let name = quoted(&self.shown.join(path.as_str()));
            return Err(Error::refused(format!("{place} has {} hard links", stat.st_nlink))
                .hint(format!("give it a copy of its own: cp -p {name} {name}.copy && mv {name}.copy {name}")));
        }
        Ok(())
    }

    /// Returns the error for a failed system call, naming the component that caused it where there is one.
    pub(super) fn fault(&self, doing: &str, path: &RelPath, errno: Errno) -> Error {
        let at = self.shown.join(path.as_str());
        let error = match errno {
            // The error numbers of a symlink, an escape or a non-directory on the path; a socket is NXIO on Linux and
            // OPNOTSUPP on macOS.
            Errno::LOOP | Errno::NOTDIR | Errno::XDEV | Errno::NXIO | Errno::OPNOTSUPP => match self.offender(path) {
                Some((component, kind)) => {
                    let at = self.shown.join(component);
                    Error::refused(format!("cannot {doing} {path}: {} is {}", at.display(), in_words(kind)))
                }
                // The entry was swapped back in between; refusing was right nevertheless.
                None if matches!(errno, Errno::LOOP | Errno::NOTDIR | Errno::XDEV) => {
                    Error::refused(format!("cannot {doing} {}: a folder above it is changing", at.display()))
                }
                None => return Error::io(doing, &at, errno),
            },
            _ => return Error::io(doing, &at, errno),
        };
        error.hint("inside a home only real files and folders are used; put one in its place")
    }

    pub(super) fn place(&self, path: &RelPath) -> String {
        self.shown.join(path.as_str()).display().to_string()
    }

    fn is_directory(&self, path: &RelPath) -> bool {
        matches!(self.stat(path), Ok(Some(Entry { kind: Kind::Directory, .. })))
    }

    /// Opens a directory below this one.
    fn resolve(&self, path: &str) -> rustix::io::Result<OwnedFd> {
        match self.resolver {
            #[cfg(target_os = "linux")]
            Resolver::Kernel => resolve_in_kernel(self.dir.as_fd(), path),
            Resolver::Walk => {
                let mut at: Option<OwnedFd> = None;
                for name in path.split('/') {
                    let parent = at.as_ref().map_or(self.dir.as_fd(), AsFd::as_fd);
                    at =
                        Some(rustix::io::retry_on_intr(|| rustix::fs::openat(parent, name, DIRECTORY, Mode::empty()))?);
                }
                at.ok_or(Errno::NOENT)
            }
        }
    }

    /// Returns the first component of a path that is not a directory (or, at the end, not a file), for the message.
    fn offender<'a>(&self, path: &'a RelPath) -> Option<(&'a str, FileType)> {
        let mut at: Option<OwnedFd> = None;
        let mut end = 0;
        for name in path.components() {
            end += name.len();
            let parent = at.as_ref().map_or(self.dir.as_fd(), AsFd::as_fd);
            let stat = rustix::fs::statat(parent, name, AtFlags::SYMLINK_NOFOLLOW).ok()?;
            let kind = FileType::from_raw_mode(stat.st_mode);
            if kind != FileType::Directory {
                return Some((&path.as_str()[..end], kind));
            }
            at = Some(rustix::fs::openat(parent, name, DIRECTORY, Mode::empty()).ok()?);
            end += 1;
        }
        None
    }

    fn remove_temporaries_here(
        &self,
        now: Millis,
        depth: usize,
        before: &mut dyn FnMut(&Rooted, &OsStr) -> Result<()>,
    ) -> Result<usize> {
        let mut scanned = 0;
        for entry in self.entries_and_temporaries()? {
            let age = now.saturating_sub(entry.stamp.modified_ns / 1_000_000);
            if entry.kind == Kind::File && is_temporary(&entry.name) && age > TEMPORARY_AGE {
                before(self, &entry.name)?;
                match rustix::fs::unlinkat(&self.dir, &entry.name, AtFlags::empty()) {
                    Ok(()) => scanned += 1,
                    Err(Errno::NOENT) => {}
                    Err(e) => return Err(Error::io("remove", &self.shown.join(&entry.name), e)),
                }
            } else if entry.kind == Kind::Directory && depth > 0 {
                // A name that is not a valid `RelPath` was not created by us, so nothing below it is ours.
                if let Some(Ok(below)) = entry.name.to_str().map(RelPath::parse) {
                    match self.open_dir(&below) {
                        Ok(dir) => scanned += dir.remove_temporaries_here(now, depth - 1, before)?,
                        Err(error) if error.kind() == crate::error::ErrorKind::NotFound => {}
                        Err(error) => return Err(error),
                    }
                }
            }
        }
        Ok(scanned)
    }
}

impl Resolver {
    /// Probes the kernel once per handle. Old kernels answer ENOSYS, sandboxes EPERM.
    #[cfg(target_os = "linux")]
    fn detect(dir: BorrowedFd<'_>) -> Resolver {
        match resolve_in_kernel(dir, ".") {
            Ok(_) => Resolver::Kernel,
            Err(_) => Resolver::Walk,
        }
    }

    #[cfg(not(target_os = "linux"))]
    fn detect(_dir: BorrowedFd<'_>) -> Resolver {
        Resolver::Walk
    }
}

#[cfg(target_os = "linux")]
fn resolve_in_kernel(dir: BorrowedFd<'_>, path: &str) -> rustix::io::Result<OwnedFd> {
    use rustix::fs::ResolveFlags;
    let how = ResolveFlags::BENEATH | ResolveFlags::NO_SYMLINKS | ResolveFlags::NO_MAGICLINKS;
    let mut tries = 0;
    loop {
        match rustix::fs::openat2(dir, path, DIRECTORY, Mode::empty(), how) {
            // The kernel could not rule out a concurrent rename and asks us to retry.
            Err(Errno::AGAIN | Errno::INTR) if tries < 100 => tries += 1,
            other => return other,
        }
    }
}

pub(super) fn in_words(kind: FileType) -> &'static str {
    match kind {
        FileType::RegularFile => "a file",
        FileType::Directory => "a directory",
        FileType::Symlink => "a symlink",
        FileType::Fifo => "a named pipe",
        FileType::Socket => "a socket",
        FileType::CharacterDevice | FileType::BlockDevice => "a device",
        FileType::Unknown => "something unknown",
    }
}

/// Renames a file, unless the new name is taken.
pub(super) fn rename_without_replacing(from: (&OwnedFd, &str), to: (&OwnedFd, &str)) -> rustix::io::Result<NewFile> {
    match rustix::fs::renameat_with(from.0, from.1, to.0, to.1, RenameFlags::NOREPLACE) {
        Ok(()) => Ok(NewFile::Written),
        Err(Errno::EXIST) => Ok(NewFile::Exists),
        // A file system that cannot do this in one step can at least add a second name without replacing a file.
        Err(e) if is_unsupported(e) => match rustix::fs::linkat(from.0, from.1, to.0, to.1, AtFlags::empty()) {
            Ok(()) => {
                let of = |(dir, name): (&OwnedFd, &str)| {
                    rustix::fs::statat(dir, name, AtFlags::SYMLINK_NOFOLLOW).map(|stat| (stat.st_dev, stat.st_ino))
                };
                // If a new file was saved under the old name in between, that file keeps the name.
                if of(from)? == of(to)? {
                    rustix::fs::unlinkat(from.0, from.1, AtFlags::empty())?;
                }
                Ok(NewFile::Written)
            }
            Err(Errno::EXIST) => Ok(NewFile::Exists),
            Err(e) => Err(e),
        },
        Err(e) => Err(e),
    }
}

/// Whether an error number says that the file system cannot rename with conditions. Two of these are the same number on
/// Linux.
pub(super) fn is_unsupported(errno: Errno) -> bool {
    [Errno::INVAL, Errno::NOSYS, Errno::OPNOTSUPP, Errno::NOTSUP].contains(&errno)
}

/// Whether a directory has no entries.
fn is_empty(dir: &OwnedFd) -> rustix::io::Result<bool> {
    let entries = Dir::read_from(dir)?;
    for entry in entries {
        if !matches!(entry?.file_name().to_bytes(), b"." | b"..") {
            return Ok(false);
        }
    }
    Ok(true)
}

/// Makes the names in a directory durable. A file system that cannot sync directories answers EINVAL and has no need
/// to.
pub(super) fn sync_directory(dir: impl AsFd) -> rustix::io::Result<()> {
    match rustix::io::retry_on_intr(|| rustix::fs::fsync(&dir)) {
        Err(Errno::INVAL) => Ok(()),
        other => other,
    }
}

pub(super) fn entry(name: OsString, stat: &Stat) -> Entry {
    let kind = match FileType::from_raw_mode(stat.st_mode) {
        FileType::RegularFile => Kind::File,
        FileType::Directory => Kind::Directory,
        FileType::Symlink => Kind::Symlink,
        _ => Kind::Other,
    };
    Entry { name, kind, stamp: stamp(stat) }
}

// The fields of `Stat` have other widths on other systems, so a cast that is redundant here is needed there.
#[allow(clippy::unnecessary_cast)]
pub(super) fn stamp(stat: &Stat) -> Stamp {
    let nanoseconds = |seconds: i64, rest: i64| seconds.saturating_mul(1_000_000_000).saturating_add(rest);
    Stamp {
        size: stat.st_size as u64,
        modified_ns: nanoseconds(stat.st_mtime as i64, stat.st_mtime_nsec as i64),
        changed_ns: nanoseconds(stat.st_ctime as i64, stat.st_ctime_nsec as i64),
        inode: stat.st_ino as u64,
    }
}
