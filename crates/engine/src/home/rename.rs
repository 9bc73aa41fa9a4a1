//! Moving a file to a name that is free, for archiving.

use rustix::fs::AtFlags;
use rustix::io::Errno;

use super::rooted::{self, NewFile, Rooted};
use super::temporary::refuse_temporary;
use super::{HomeLock, RelPath, quoted};
use crate::error::{Error, Result};

/// The outcome of a rename.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[must_use = "only one of these means that the file moved"]
pub enum Renamed {
    /// The file has its new name, synced.
    Done,
    /// There is no such file; nothing was created.
    SourceMissing,
    /// The new name is taken; neither file was touched.
    TargetExists,
}

impl Rooted {
    /// Renames a regular file of this user without ever replacing anything, and creates the folders above the new name.
    ///
    /// A symlink, a folder or any other special file under the old name is refused as in [`Rooted::read`].
    pub fn rename_new(&self, _held: &HomeLock, from: &RelPath, to: &RelPath) -> Result<Renamed> {
        for path in [from, to] {
            refuse_temporary(path)?;
        }
        let fault = |e| self.fault("move", from, e);
        let (old_parent, old_name) = match self.parent_of(from) {
            Ok(found) => found,
            Err(Errno::NOENT) => return Ok(Renamed::SourceMissing),
            Err(e) => return Err(fault(e)),
        };
        match rustix::fs::statat(&old_parent, old_name, AtFlags::SYMLINK_NOFOLLOW) {
            Ok(stat) => self.judge_leaf(from, &stat)?,
            Err(Errno::NOENT) => return Ok(Renamed::SourceMissing),
            Err(e) => return Err(fault(e)),
        }
        if let Some(above) = to.parent() {
            self.create_dir_all(&above)?;
        }
        let (new_parent, new_name) = self.parent_of(to).map_err(|e| self.fault("move a file to", to, e))?;
        // If the file was swapped for another since the check above, that other file is moved instead, unread and still
        // below our own folders.
        match rooted::rename_without_replacing((&old_parent, old_name), (&new_parent, new_name)) {
            Ok(NewFile::Written) => {}
            Ok(NewFile::Exists) => return Ok(Renamed::TargetExists),
            Err(Errno::NOENT) if self.lstat(from)?.is_none() => return Ok(Renamed::SourceMissing),
            Err(Errno::XDEV) => {
                let (old, new) = (self.shown().join(from.as_str()), self.shown().join(to.as_str()));
                return Err(Error::refused(format!(
                    "{} cannot move to {}, which is on another file system",
                    old.display(),
                    new.display()
                ))
                .hint(format!("move it by hand: mv -n {} {}", quoted(&old), quoted(&new))));
            }
            Err(e) => return Err(fault(e)),
        }
        // The new name is synced first: after a power cut both may exist, but never neither.
        for dir in [&new_parent, &old_parent] {
            rooted::sync_directory(dir).map_err(fault)?;
        }
        Ok(Renamed::Done)
    }
}
