//! Checks whether an open file is still the one at its path in the home.
//!
//! SQLite opens a database by its path and keeps it open. If its folder is exchanged meanwhile, SQLite goes on writing
//! into the file that was moved away, and commits it acknowledges are no longer in the home.

use std::path::Path;

use super::rooted::Rooted;
use super::{Home, RelPath};
use crate::error::{Error, Result};

/// The place of an open file: a name below a home's handle, and the file that had it when it was opened.
#[derive(Debug)]
pub struct Place {
    home: Rooted,
    path: RelPath,
    device: u64,
    inode: u64,
}

impl Place {
    /// Returns the place of the file that was just opened at `opened`. `Refused` if the home's handle already leads to
    /// another file.
    pub fn of(home: &Home, path: &RelPath, opened: &Path) -> Result<Place> {
        let stat = rustix::fs::lstat(opened).map_err(|e| Error::io("look at", opened, e))?;
        let (device, inode) = identity(&stat);
        let place = Place { home: home.again()?, path: path.clone(), device, inode };
        place.check()?;
        Ok(place)
    }

    /// Returns `Refused` if the path in the home no longer leads to the opened file.
    pub fn check(&self) -> Result<()> {
        let there = self.home.lstat(&self.path);
        if there.is_ok_and(|found| found.is_some_and(|stat| identity(&stat) == (self.device, self.inode))) {
            return Ok(());
        }
        let shown = self.home.shown().join(self.path.as_str());
        Err(Error::refused(format!(
            "{} was exchanged or moved while it was open; nothing was acknowledged",
            shown.display()
        ))
        .hint("put back the folder that was there, or run the command again to use the one that is there now"))
    }
}

// Widths and signs of these fields differ between systems.
#[allow(clippy::unnecessary_cast)]
fn identity(stat: &rustix::fs::Stat) -> (u64, u64) {
    (stat.st_dev as u64, stat.st_ino as u64)
}
