//! Blanking parts of a file in place. Replacing the file would leave the old bytes to a process that has it open, and
//! what that process writes afterwards would be lost; it would also need a copy of what is to vanish.

use std::ops::Range;
use std::os::unix::fs::FileExt;

use rustix::fs::{Mode, OFlags};
use rustix::io::Errno;

use super::RelPath;
use super::rooted::{LEAF, Rooted};
use crate::error::{Error, Result};

impl Rooted {
    /// Overwrites the stretches of a file that `stretches` finds in its bytes with stars, synced, and returns whether
    /// there were any; a missing file has none. Length and name of the file stay, so it can be done again after a kill.
    /// Refused as in [`Rooted::read`].
    pub fn blank(&self, path: &RelPath, cap: u64, stretches: &dyn Fn(&[u8]) -> Vec<Range<usize>>) -> Result<bool> {
        let opened = self.parent_of(path).and_then(|(parent, leaf)| {
            rustix::io::retry_on_intr(|| rustix::fs::openat(&parent, leaf, OFlags::RDWR | LEAF, Mode::empty()))
        });
        let mut file = match opened {
            Ok(file) => std::fs::File::from(file),
            Err(Errno::NOENT) => return Ok(false),
            Err(e) => return Err(self.fault("write", path, e)),
        };
        let (_, bytes) = self.read_capped(path, &mut file, cap)?;
        let found = stretches(&bytes);
        for stretch in &found {
            file.write_all_at(&vec![b'*'; stretch.len()], stretch.start as u64)
                .map_err(|e| Error::io("write", &self.shown().join(path.as_str()), e))?;
        }
        if !found.is_empty() {
            file.sync_data().map_err(|e| Error::io("sync", &self.shown().join(path.as_str()), e))?;
        }
        Ok(!found.is_empty())
    }
}
