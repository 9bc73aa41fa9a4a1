//! The visible home: one directory handle, and everything below it opened through that handle (R3.1). Storey 1.
//!
//! This module holds the checks a folder must pass before it may hold memory (owner, mode, file system), the file
//! operations that cannot leave it, among them the one that replaces files ([`Rooted::publish`]), the locks under
//! `run/`, and the checks of `doctor`. [`layout`] names every file and folder. It does not know what the files contain,
//! nor SQL, nor the environment: the path of the home and all options are passed in.

#[cfg(not(unix))]
compile_error!("Heirloom runs on Unix (Linux, macOS) only.");

mod adopted;
mod blank;
mod filesystem;
mod inspect;
pub mod layout;
mod lionclaw;
mod lock;
mod memory_path;
mod publish;
mod read;
mod rel_path;
mod removal;
mod rename;
mod rooted;
mod still_in_place;
mod temporary;
#[cfg(test)]
mod tests;
mod walk;

use std::ops::Deref;
use std::os::unix::fs::DirBuilderExt;
use std::path::{Path, PathBuf};

use rustix::fs::{FileType, Mode, OFlags, Stat};
use rustix::io::Errno;

use crate::clock::Millis;
use crate::error::{Error, ErrorKind, Result};

pub use filesystem::network_file_system;
pub use inspect::Finding;
pub use lionclaw::LionClaw;
pub use lock::HomeLock;
pub use memory_path::MemoryPath;
pub use publish::{Digest, Publication, Published, QUIET_MS, digest};
pub use rel_path::RelPath;
pub use rename::Renamed;
pub use rooted::{Entry, Kind, NewFile, Rooted, Stamp};
pub use still_in_place::Place;
pub(crate) use temporary::temporary_name;
pub use walk::Walked;

/// Age at which files in `state/scratch` are removed, in milliseconds: longer than any command runs.
const SCRATCH_AGE: Millis = 24 * 60 * 60 * 1000;

/// Options for opening a home.
#[derive(Clone, Copy, Debug, Default)]
pub struct HomeOptions {
    /// Accept a network file system under `state/`, although SQLite's locks do not work on most of them.
    pub allow_network_fs: bool,
}

/// A home that passed the checks, held open. Dereferences to [`Rooted`], which has the file operations.
#[derive(Debug)]
pub struct Home {
    files: Rooted,
}

impl Home {
    /// Opens the home at `root` and creates its missing directories with mode 0700 whatever the umask. Existing
    /// directories are checked and never altered.
    pub fn create(root: &Path) -> Result<Home> {
        Home::create_with(root, &HomeOptions::default())
    }

    /// Opens and creates the home like [`Home::create`], with options.
    pub fn create_with(root: &Path, options: &HomeOptions) -> Result<Home> {
        let made = make_root(root)?;
        let (dir, shown) = open_root(root)?;
        if made {
            // The umask can remove the owner's rights too; restore them.
            rustix::fs::fchmod(&dir, rooted::DIRECTORY_MODE).map_err(|e| Error::io("set the mode of", &shown, e))?;
        }
        let home = Home::checked(dir, shown, options)?;
        home.create_directories()?;
        Ok(home)
    }

    /// Creates the home's own directories that are missing. Some of them stay empty; their names were synced before the
    /// home got its ledger, and are not synced by every command.
    pub fn create_directories(&self) -> Result<()> {
        layout::DIRECTORIES.iter().try_for_each(|path| self.files.make_directories(path, false))
    }

    /// Opens an existing home; creates nothing. `NotFound` if there is none.
    pub fn open(root: &Path) -> Result<Home> {
        Home::open_with(root, &HomeOptions::default())
    }

    /// Opens an existing home like [`Home::open`], with options.
    pub fn open_with(root: &Path, options: &HomeOptions) -> Result<Home> {
        let (dir, shown) = open_root(root)?;
        Home::checked(dir, shown, options)
    }

    /// Returns the canonical path of the home, for messages. Files are opened through the handle, not through this
    /// path.
    pub fn root(&self) -> &Path {
        self.files.shown()
    }

    /// Removes our own temporary files older than an hour from `state/` and the other folders only Heirloom writes, and
    /// returns how many. A younger one may belong to a process that is still writing. Assistant homes are cleaned
    /// under their locks, by [`Rooted::remove_abandoned`]. Files of any name in `state/scratch` are removed after a day: they are
    /// copies of other programs' stores, left by a process that was killed.
    pub fn remove_temporaries(&self, now: Millis) -> Result<usize> {
        let mut scanned = 0;
        for path in [layout::STATE, layout::SPOOL, layout::RUN, layout::LOGS, layout::RUNTIME] {
            scanned += self.files.remove_temporaries_below(&path, now)?;
        }
        let left = match self.files.list(&layout::SCRATCH) {
            Err(e) if e.kind() == ErrorKind::NotFound => Vec::new(),
            left => left?,
        };
        for entry in left {
            let age = now.saturating_sub(entry.stamp.modified_ns / 1_000_000);
            if entry.kind == Kind::File
                && age > SCRATCH_AGE
                && let Some(name) = entry.name.to_str()
            {
                scanned += usize::from(self.files.remove(&layout::SCRATCH.join(name)?)?);
            }
        }
        Ok(scanned)
    }

    fn checked(dir: std::os::fd::OwnedFd, shown: PathBuf, options: &HomeOptions) -> Result<Home> {
        let stat = rustix::fs::fstat(&dir).map_err(|e| Error::io("examine", &shown, e))?;
        check_owner(&shown, &stat)?;
        check_not_writable_by_others(&shown, &stat)?;
        // If only the owner can enter the home, no other user can reach what is below it.
        let closed = !Mode::from_raw_mode(stat.st_mode).intersects(Mode::RWXG | Mode::RWXO);
        let home = Home { files: Rooted::new(dir, shown) };
        for path in layout::DIRECTORIES {
            let Some(stat) = home.files.lstat(path)? else { continue };
            let at = home.root().join(path.as_str());
            match FileType::from_raw_mode(stat.st_mode) {
                FileType::Directory => {}
                FileType::Symlink => {
                    return Err(Error::refused(format!("{} is a symlink; it must be a directory", at.display())).hint(
                        format!(
                            "move what it points to into its place; the home itself may be a symlink, its folders may \
                             not: ls -l {}",
                            quoted(&at)
                        ),
                    ));
                }
                other => {
                    return Err(Error::refused(format!(
                        "{} is {}; it must be a directory",
                        at.display(),
                        rooted::in_words(other)
                    ))
                    .hint("move it out of the way and run the same command again"));
                }
            }
            check_owner(&at, &stat)?;
            if !closed {
                check_not_writable_by_others(&at, &stat)?;
            }
        }
        if !options.allow_network_fs {
            let state = match home.files.open_dir(&layout::STATE) {
                Ok(state) => Some(state),
                Err(error) if error.kind() == ErrorKind::NotFound => None,
                Err(error) => return Err(error),
            };
            filesystem::check_local(state.as_ref().unwrap_or(&home.files))?;
        }
        if home.files.lstat(&layout::RUNTIME_DB)?.is_none() {
            home.sync_names()?;
        }
        Ok(home)
    }

    /// Makes the names of the home's folders and of those above it durable, before anything is stored there. They may be
    /// older than this process: one that was killed may have made them and not have come to sync them.
    fn sync_names(&self) -> Result<()> {
        let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC;
        let state = self.root().join(layout::STATE.as_str());
        for folder in state.ancestors() {
            // A folder that cannot be opened was not made by Heirloom, or is not there yet.
            let Ok(dir) = rustix::fs::open(folder, flags, Mode::empty()) else { continue };
            match rooted::sync_directory(&dir) {
                Ok(()) | Err(Errno::ROFS) => {}
                Err(e) => return Err(Error::io("sync", folder, e)),
            }
        }
        Ok(())
    }
}

impl Deref for Home {
    type Target = Rooted;

    fn deref(&self) -> &Rooted {
        &self.files
    }
}

/// Creates `root` and its missing parents; returns whether `root` itself is new.
fn make_root(root: &Path) -> Result<bool> {
    match root.symlink_metadata() {
        Ok(meta) if meta.is_symlink() && !root.exists() => {
            return Err(Error::refused(format!("{} is a symlink that points to nothing", root.display()))
                .hint("create the folder it should point to, or remove the symlink"));
        }
        Ok(_) => return Ok(false),
        Err(e) if e.kind() == std::io::ErrorKind::NotFound => {}
        Err(e) => return Err(Error::io("examine", root, e)),
    }
    match std::fs::DirBuilder::new().recursive(true).mode(0o700).create(root) {
        Ok(()) => Ok(true),
        Err(e) => Err(Error::io("create", root, e)),
    }
}

/// Resolves the root once, following symlinks (the user chose them), and opens the result.
fn open_root(root: &Path) -> Result<(std::os::fd::OwnedFd, PathBuf)> {
    let shown = root.canonicalize().map_err(|e| match e.kind() {
        std::io::ErrorKind::NotFound => {
            Error::not_found(format!("there is no home at {}", root.display())).hint("create it: ⟨up⟩")
        }
        std::io::ErrorKind::NotADirectory => not_a_directory(root),
        _ => Error::io("open the home", root, e),
    })?;
    let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    match rustix::fs::open(&shown, flags, Mode::empty()) {
        Ok(dir) => Ok((dir, shown)),
        Err(Errno::NOTDIR | Errno::LOOP) => Err(not_a_directory(&shown)),
        Err(e) => Err(Error::io("open the home", &shown, e)),
    }
}

fn not_a_directory(path: &Path) -> Error {
    Error::refused(format!("{} is not a directory", path.display()))
        .hint("choose another home: --home or HEIRLOOM_HOME")
}

fn check_owner(path: &Path, stat: &Stat) -> Result<()> {
    let us = rustix::process::geteuid().as_raw();
    if stat.st_uid == us {
        return Ok(());
    }
    let hint = if us == 0 {
        format!("run heirloom as that user (uid {}), not as root", stat.st_uid)
    } else {
        format!("if it is yours: sudo chown -R {us} {}", quoted(path))
    };
    Err(Error::refused(format!("{} belongs to another user (uid {}, we are {us})", path.display(), stat.st_uid))
        .hint(hint))
}

fn check_not_writable_by_others(path: &Path, stat: &Stat) -> Result<()> {
    let mode = Mode::from_raw_mode(stat.st_mode);
    let who = match (mode.contains(Mode::WGRP), mode.contains(Mode::WOTH)) {
        (false, false) => return Ok(()),
        (true, false) => "its group",
        (false, true) => "everybody",
        (true, true) => "its group and everybody",
    };
    Err(Error::refused(format!("{} can be written by {who} (mode {:03o})", path.display(), mode.bits() & 0o777))
        .hint(format!("run: chmod go-w {}", quoted(path))))
}

/// Returns a path quoted for a shell, so that the command in a hint can be pasted.
fn quoted(path: &Path) -> String {
    let text = path.display().to_string();
    let plain = |c: char| c.is_ascii_alphanumeric() || "/._-+:@%".contains(c);
    if !text.is_empty() && text.chars().all(plain) { text } else { format!("'{}'", text.replace('\'', r"'\''")) }
}
