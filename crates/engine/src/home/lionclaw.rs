//! Detects whether LionClaw uses this home too, and whether it is running. Never opens its database.

use super::{Home, RelPath};
use crate::error::Result;

/// LionClaw's database.
const DATABASE: RelPath = RelPath::literal("lionclaw.db");
/// The file on which SQLite takes the locks of a database in WAL mode.
const SHARED_MEMORY: RelPath = RelPath::literal("lionclaw.db-shm");

/// Whether LionClaw uses a home.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum LionClaw {
    Absent,
    /// LionClaw's database exists; no process was seen to have it open.
    Present,
    /// A process holds its database open.
    Running,
}

impl Home {
    /// Looks for LionClaw's database, and for a lock on it.
    pub fn lionclaw(&self) -> Result<LionClaw> {
        let Some(database) = self.stat(&DATABASE)? else { return Ok(LionClaw::Absent) };
        let mut inodes = vec![database.stamp.inode];
        inodes.extend(self.stat(&SHARED_MEMORY)?.map(|e| e.stamp.inode));
        Ok(if inodes.into_iter().any(is_locked) { LionClaw::Running } else { LionClaw::Present })
    }
}

/// Whether any process holds a lock on the file with this inode number. On Linux this reads the list of all locks,
/// because trying to take the lock could block another process. Always `false` on other systems.
fn is_locked(inode: u64) -> bool {
    let Ok(locks) = std::fs::read_to_string("/proc/locks") else { return false };
    let ending = format!(":{inode}");
    locks.lines().filter_map(|l| l.split_whitespace().nth(5)).any(|file| file.ends_with(&ending))
}
