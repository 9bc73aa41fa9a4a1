//! Sets aside the files of a home that lost its ledger, in a folder beside the home, before a backup is restored into
//! it.
//!
//! Nothing of it is removed: the pages may have words that are newer than the backup, and a ledger that was made anew has
//! what was stored since. The folder has the form of a home, so that each command can look into it.

use std::fs;
use std::os::unix::fs::DirBuilderExt;
use std::path::{Path, PathBuf};

use super::super::opening::{had_a_ledger, is_begun};
use crate::clock::{Clock, rfc3339};
use crate::error::{Error, Result};
use crate::home::{Home, RelPath, layout};
use crate::ledger::{Ledger, Open};

/// Files and folders that were moved, so that they can be moved back.
pub struct Aside {
    folder: PathBuf,
    moved: Vec<(PathBuf, PathBuf)>,
}

/// Whether the home has lost its ledger: it is gone, or one was made in its place.
pub fn has_lost_its_ledger(home: &Home) -> Result<bool> {
    let (path, backups) = (home.root().join(layout::RUNTIME_DB.as_str()), home.root().join(layout::BACKUPS.as_str()));
    if home.stat(&layout::RUNTIME_DB)?.is_none() || !is_begun(&path) {
        return had_a_ledger(home);
    }
    // A ledger that cannot be read is a memory, whatever it is.
    let made_anew = Ledger::open(&path, &backups, Clock::System, Open::ReadOnly).and_then(|ledger| ledger.made_anew());
    Ok(made_anew.is_ok_and(|at| at.is_some()))
}

impl Aside {
    /// Moves the ledger, the index and the visible files of a home into a new folder beside it.
    pub fn of(home: &Home) -> Result<Aside> {
        let root = home.root();
        let mut name = root.file_name().unwrap_or_default().to_owned();
        name.push(format!("{}{}", layout::BEFORE_RESTORE, rfc3339(Clock::System.now()).replace(':', "-")));
        let folder = root.parent().unwrap_or(Path::new("/")).join(name);
        let mut aside = Aside { folder, moved: Vec::new() };
        if let Err(e) = aside.fill(home) {
            aside.back();
            return Err(e.hint(format!("move {} away, then restore", root.display())));
        }
        Ok(aside)
    }

    /// The folder that has it now.
    pub fn folder(&self) -> &Path {
        &self.folder
    }

    fn fill(&mut self, home: &Home) -> Result<()> {
        for folder in [self.folder.clone(), self.folder.join(layout::STATE.as_str())] {
            fs::DirBuilder::new().mode(0o700).create(&folder).map_err(|e| Error::io("make", &folder, e))?;
        }
        for entry in home.list(&layout::STATE)? {
            let Some(name) = entry.name.to_str() else { continue };
            if name.starts_with("runtime.db") || name.starts_with("index") || layout::AUDIT_HEAD.name() == name {
                self.take(home, &layout::STATE.join(name)?)?;
            }
        }
        self.take(home, &layout::WORKSPACES)?;
        home.create_dir_all(&layout::WORKSPACES)
    }

    fn take(&mut self, home: &Home, path: &RelPath) -> Result<()> {
        let (from, to) = (home.root().join(path.as_str()), self.folder.join(path.as_str()));
        fs::rename(&from, &to).map_err(|e| Error::io("move", &from, e))?;
        self.moved.push((from, to));
        Ok(())
    }

    /// Moves everything back, because nothing was restored.
    pub fn back(self) {
        for (from, to) in self.moved.iter().rev() {
            // Only the empty folder that `fill` made in its place is removed.
            let _ = fs::remove_dir(from);
            let _ = fs::rename(to, from);
        }
        let _ = fs::remove_dir(self.folder.join(layout::STATE.as_str()));
        let _ = fs::remove_dir(&self.folder);
    }
}
