//! Walks everything below a folder, one `stat` per file, for callers that keep a table of files. Does not know what a
//! file is for.

use std::ffi::{CStr, OsStr};
use std::os::unix::ffi::OsStrExt;
use std::path::Path;

use rustix::fs::{AtFlags, Dir};
use rustix::io::Errno;

use super::RelPath;
use super::rooted::{self, Entry, Kind, Rooted};
use super::temporary::is_temporary;
use crate::error::{Error, ErrorKind, Problem, Result};

/// Entries that a walk could not examine.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Walked {
    /// Problems, worded for people.
    pub problems: Vec<Problem>,
    /// Paths about which, and below which, nothing is known: a file missing from the walk may still exist there.
    pub unseen: Vec<RelPath>,
}

/// A walk in progress.
struct Walk<'a> {
    each: &'a mut dyn FnMut(RelPath, &Entry),
    walked: Walked,
}

impl Rooted {
    /// Calls `each` for everything below a directory, sorted by name, a folder before its contents, at most `depth`
    /// folders down (0: the directory itself). Paths are relative to this handle. Symlinks, pipes and the like are
    /// passed with their own kind and not followed; our own temporary files and entries that vanish meanwhile are left
    /// out.
    ///
    /// Entries that cannot be examined do not stop the walk and are in the result. Only the directory itself must
    /// exist: a missing one is `NotFound`, because an empty answer would read as "all deleted".
    pub fn walk(&self, path: &RelPath, depth: usize, each: &mut dyn FnMut(RelPath, &Entry)) -> Result<Walked> {
        let top = self.open_dir(path)?;
        let mut walk = Walk { each, walked: Walked::default() };
        walk.below(&top, path, depth);
        Ok(walk.walked)
    }
}

impl Walk<'_> {
    fn below(&mut self, dir: &Rooted, path: &RelPath, depth: usize) {
        for entry in self.entries(dir, path) {
            let shown = dir.shown().join(&entry.name);
            let Some(name) = entry.name.to_str() else {
                self.problem(&shown, "its name is not UTF-8; it is left out");
                continue;
            };
            let (own, here) = match (RelPath::parse(name), path.join(name)) {
                (Ok(own), Ok(here)) => (own, here),
                (Err(error), _) | (_, Err(error)) => {
                    self.problem(&shown, format!("{error}; it is left out"));
                    continue;
                }
            };
            (self.each)(here.clone(), &entry);
            if entry.kind != Kind::Directory {
                continue;
            }
            if depth == 0 {
                self.problem(&shown, "lies deeper than we look");
                self.walked.unseen.push(here);
                continue;
            }
            match dir.open_dir(&own) {
                Ok(dir) => self.below(&dir, &here, depth - 1),
                Err(error) if error.kind() == ErrorKind::NotFound => {}
                Err(error) => self.unseen(&shown, here, &error),
            }
        }
    }

    /// Returns the entries of one directory, sorted by name, as far as they can be examined.
    fn entries(&mut self, dir: &Rooted, path: &RelPath) -> Vec<Entry> {
        let mut entries = Vec::new();
        let listing = match Dir::read_from(dir.fd()) {
            Ok(listing) => listing,
            Err(e) => {
                self.unseen(dir.shown(), path.clone(), &Error::io("list", dir.shown(), e));
                return entries;
            }
        };
        for found in listing {
            let found = match found {
                Ok(found) => found,
                Err(e) => {
                    self.unseen(dir.shown(), path.clone(), &Error::io("list", dir.shown(), e));
                    break;
                }
            };
            let name: &CStr = found.file_name();
            let os_name = OsStr::from_bytes(name.to_bytes());
            if name == c"." || name == c".." || is_temporary(os_name) {
                continue;
            }
            match rustix::fs::statat(dir.fd(), name, AtFlags::SYMLINK_NOFOLLOW) {
                Ok(stat) => entries.push(rooted::entry(os_name.to_owned(), &stat)),
                Err(Errno::NOENT) => {}
                // A folder that may be listed but not entered is reported once, not once per file.
                Err(e @ Errno::ACCESS) => {
                    self.unseen(dir.shown(), path.clone(), &Error::io("look into", dir.shown(), e));
                    break;
                }
                Err(e) => {
                    let shown = dir.shown().join(os_name);
                    match os_name.to_str().map(|name| path.join(name)) {
                        Some(Ok(here)) => self.unseen(&shown, here, &Error::io("examine", &shown, e)),
                        _ => self.problem(&shown, std::io::Error::from(e).to_string()),
                    }
                }
            }
        }
        entries.sort_by(|a, b| a.name.cmp(&b.name));
        entries
    }

    fn unseen(&mut self, shown: &Path, path: RelPath, error: &Error) {
        self.walked.problems.push(Problem::of(shown, error));
        self.walked.unseen.push(path);
    }

    fn problem(&mut self, shown: &Path, what: impl Into<String>) {
        let place = shown.display().to_string();
        self.walked.problems.push(Problem { place, offset: None, line: None, what: what.into() });
    }
}
