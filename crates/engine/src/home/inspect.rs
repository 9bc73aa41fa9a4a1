//! The checks `doctor` runs on the home's own files: modes, owners, symlinks. Changes nothing and does not read file
//! contents.

use crate::next_step::worded;
use std::path::{Path, PathBuf};

use rustix::fs::{FileType, Mode, Stat};
use rustix::io::Errno;

use super::{Home, Kind, RelPath, Rooted, layout, quoted, rooted};

/// Number of folder levels the check descends. The deepest path Heirloom creates is eight folders down.
const DEEPEST: usize = 16;

/// One problem with a file or folder, and the command that fixes it.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Finding {
    /// The file or folder, as shown to people.
    pub path: PathBuf,
    /// Description of the problem, as the rest of a sentence that begins with the path.
    pub what: String,
    /// The command or action that fixes it.
    pub fix: String,
}

impl Home {
    /// Returns a finding for every path below the home that other users can read or write, that belongs to another user
    /// or that is a symlink.
    ///
    /// Modes are checked for the home itself and for the folders only Heirloom writes. In `workspaces/`, where people
    /// work, and in `runtime/`, where other programs keep their state, file modes are ignored: while the home itself is
    /// closed to other users they cannot reach those files, and if it is open, one finding for the home is enough.
    pub fn findings(&self) -> Vec<Finding> {
        self.look(true)
    }

    /// Does the same as [`Home::findings`], without `workspaces/` and `runtime/`, whose files the file table's scan
    /// checks anyway. `status` uses it, which must not walk all notes twice.
    pub fn findings_at_a_glance(&self) -> Vec<Finding> {
        self.look(false)
    }

    fn look(&self, closely: bool) -> Vec<Finding> {
        let mut found = Vec::new();
        match rustix::fs::fstat(self.fd()) {
            Ok(stat) => judge(self.root(), &stat, true, &mut found),
            Err(e) => found.push(unseen(self.root(), e)),
        }
        if let Ok(Some(stat)) = self.lstat(&layout::CONFIG) {
            // People edit this file, and editors choose its mode; while the home is closed no other user can read it.
            judge(&self.root().join(layout::CONFIG.as_str()), &stat, false, &mut found);
        }
        let folders =
            [&layout::STATE, &layout::SPOOL, &layout::RUN, &layout::LOGS, &layout::WORKSPACES, &layout::RUNTIME];
        for path in folders {
            // People and other programs also write in `workspaces/` and `runtime/`.
            let strict = ![layout::WORKSPACES, layout::RUNTIME].contains(path);
            match self.lstat(path) {
                Ok(Some(stat)) => {
                    judge(&self.root().join(path.as_str()), &stat, strict, &mut found);
                    if closely || strict {
                        walk(self, path, strict, DEEPEST, &mut found);
                    }
                }
                // This folder is created when the first program stores something there.
                Ok(None) if *path == layout::RUNTIME => {}
                Ok(None) => found.push(Finding {
                    path: self.root().join(path.as_str()),
                    what: "is missing".into(),
                    fix: worded("any command but a hook creates it: ⟨status⟩"),
                }),
                Err(error) => found.push(Finding {
                    path: self.root().join(path.as_str()),
                    what: error.to_string(),
                    fix: error.next_step().unwrap_or("look at it by hand").to_owned(),
                }),
            }
        }
        found
    }
}

fn walk(above: &Rooted, path: &RelPath, strict: bool, depth: usize, found: &mut Vec<Finding>) {
    // Anything but a directory was checked by the caller and has nothing below it.
    let Ok(dir) = above.open_dir(path) else { return };
    if depth == 0 {
        return;
    }
    let entries = match dir.entries_and_stats() {
        Ok(entries) => entries,
        Err(error) => {
            found.push(Finding {
                path: dir.shown().to_owned(),
                what: error.to_string(),
                fix: error.next_step().unwrap_or("look at it by hand").to_owned(),
            });
            return;
        }
    };
    for (entry, stat) in entries {
        judge(&dir.shown().join(&entry.name), &stat, strict, found);
        if entry.kind == Kind::Directory
            && let Some(name) = entry.name.to_str()
            && let Ok(below) = RelPath::parse(name)
        {
            walk(&dir, &below, strict, depth - 1, found);
        }
    }
}

fn judge(path: &Path, stat: &Stat, strict: bool, found: &mut Vec<Finding>) {
    let mut report = |what: String, fix: String| found.push(Finding { path: path.to_owned(), what, fix });
    let kind = FileType::from_raw_mode(stat.st_mode);
    let us = rustix::process::geteuid().as_raw();
    if stat.st_uid != us {
        let what = format!("belongs to another user (uid {}, we are {us})", stat.st_uid);
        report(what, format!("sudo chown -h {us} {}", quoted(path)));
    }
    if kind == FileType::Symlink {
        let what = "is a symlink, which Heirloom does not follow inside a home".to_owned();
        return report(what, format!("put the real file or folder in its place: ls -l {}", quoted(path)));
    }
    let mode = Mode::from_raw_mode(stat.st_mode);
    if strict && mode.intersects(Mode::RWXG | Mode::RWXO) {
        let wanted = if kind == FileType::Directory { rooted::DIRECTORY_MODE } else { rooted::FILE_MODE };
        let what = format!("is open to other users (mode {:03o})", mode.bits() & 0o777);
        report(what, format!("chmod {:o} {}", wanted.bits(), quoted(path)));
    }
    if kind == FileType::RegularFile && stat.st_nlink > 1 {
        let what = format!("has {} hard links, so another path holds the same file", stat.st_nlink);
        let name = quoted(path);
        report(
            what,
            format!(
                "find the other name, or make a copy of its own: cp -p {name} {name}.copy && mv {name}.copy {name}"
            ),
        );
    }
}

fn unseen(path: &Path, cause: Errno) -> Finding {
    let what = format!("cannot be examined: {}", std::io::Error::from(cause));
    Finding { path: path.to_owned(), what, fix: format!("ls -ld {}", quoted(path)) }
}
