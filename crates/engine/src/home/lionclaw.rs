//! Whether this home is LionClaw's, too, and whether LionClaw is at work on it. Looks only: its database is never opened.

use super::{Home, RelPath};
use crate::error::Result;

/// LionClaw's database.
const DATABASE: RelPath = RelPath::literal("lionclaw.db");
/// Where SQLite's locks of a database in WAL mode are.
const SHARED_MEMORY: RelPath = RelPath::literal("lionclaw.db-shm");

/// What there is of LionClaw in a home.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum LionClaw {
    Absent,
    /// The home was LionClaw's and is used in place; it is not running, as far as can be told.
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

/// Whether any process holds a lock on a file with this number. Linux lists all locks; asking for one ourselves could
/// get in the way of whoever wants it. Elsewhere nothing can be told.
fn is_locked(inode: u64) -> bool {
    let Ok(locks) = std::fs::read_to_string("/proc/locks") else { return false };
    let ending = format!(":{inode}");
    locks.lines().filter_map(|l| l.split_whitespace().nth(5)).any(|file| file.ends_with(&ending))
}
