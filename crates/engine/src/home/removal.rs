//! Removing a file, if it is still what it was when somebody decided that it should go.

use rustix::fs::AtFlags;
use rustix::io::Errno;

use super::publish::{Digest, LARGEST, digest};
use super::rooted::{self, NewFile, Rooted};
use super::temporary::temporary_name;
use super::{HomeLock, RelPath, read};
use crate::error::Result;

impl Rooted {
    /// Removes a plain file with these bytes and tells whether it is gone. It is read under a name nobody saves to, so
    /// that no word can come between the look and the end of it; anything else gets its name back. Where somebody has
    /// made a new file of that name meanwhile, `keep` gets the older bytes.
    pub fn remove_exactly(
        &self,
        _held: &HomeLock,
        path: &RelPath,
        expected: Digest,
        keep: &mut dyn FnMut(&[u8]) -> Result<()>,
    ) -> Result<bool> {
        let fault = |e| self.fault("remove", path, e);
        let (parent, leaf) = match self.parent_of(path) {
            Ok(found) => found,
            Err(Errno::NOENT) => return Ok(true),
            Err(e) => return Err(fault(e)),
        };
        match rustix::fs::statat(&parent, leaf, AtFlags::SYMLINK_NOFOLLOW) {
            Ok(stat) => self.judge_leaf(path, &stat)?,
            Err(Errno::NOENT) => return Ok(true),
            Err(e) => return Err(fault(e)),
        }
        let aside = temporary_name()?;
        let (here, there) = ((&parent, leaf), (&parent, aside.as_str()));
        match rooted::rename_without_replacing(here, there) {
            Ok(NewFile::Written) => {}
            Ok(NewFile::Exists) => return Ok(false),
            Err(Errno::NOENT) => return Ok(true),
            Err(e) => return Err(fault(e)),
        }
        let found =
            read::open(&parent, &aside).map_err(fault).and_then(|mut file| self.read_capped(path, &mut file, LARGEST));
        let ours = matches!(&found, Ok((_, bytes)) if digest(bytes) == expected);
        if !ours && rooted::rename_without_replacing(there, here).map_err(fault)? == NewFile::Written {
            rooted::sync_directory(&parent).map_err(fault)?;
            return found.map(|_| false);
        }
        if !ours {
            keep(&found?.1)?;
        }
        rustix::fs::unlinkat(&parent, &aside, AtFlags::empty()).map_err(fault)?;
        rooted::sync_directory(&parent).map_err(fault)?;
        Ok(ours)
    }
}
