//! Removing a file, if it still has the contents for which its removal was decided.

use rustix::fs::AtFlags;
use rustix::io::Errno;

use super::publish::{Digest, LARGEST, digest};
use super::rooted::{self, NewFile, Rooted};
use super::temporary::temporary_name;
use super::{HomeLock, RelPath, read};
use crate::error::Result;

impl Rooted {
    /// Removes a regular file if it has exactly these bytes; returns whether it is gone. The file is first renamed to a
    /// temporary name, so that no edit can be saved between the check and the removal; a file with other bytes gets its
    /// name back. If a new file has taken that name meanwhile, `keep` gets the older bytes.
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
