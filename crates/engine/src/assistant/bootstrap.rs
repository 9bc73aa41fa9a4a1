//! The newcomer's files: written once, then the human's (SPEC §3). What exists is never touched.

use rusqlite::params;

use super::revise::Now;
use super::{AssistantHome, LARGEST_FILE};
use crate::error::Result;
use crate::home::{self, NewFile, RelPath, layout};

/// Each page and where it stands.
const PAGES: &[(RelPath, &str)] = &[
    (layout::IDENTITY, include_str!("bootstrap/IDENTITY.md")),
    (layout::SOUL, include_str!("bootstrap/SOUL.md")),
    (layout::AGENTS, include_str!("bootstrap/AGENTS.md")),
    (layout::USER, include_str!("bootstrap/USER.md")),
    (layout::MEMORY_HEAD, include_str!("bootstrap/MEMORY.md")),
    (layout::ACTIVE, include_str!("bootstrap/ACTIVE.md")),
    (layout::MEMORY_INDEX, include_str!("bootstrap/memory-MEMORY.md")),
    (layout::ROLLUPS_README, include_str!("bootstrap/rollups-README.md")),
];

/// The folders a tree begins with; the others come with their first file.
const FOLDERS: &[RelPath] = &[
    layout::CONTINUITY,
    layout::THREADS,
    layout::DAILY,
    layout::OPEN_LOOPS,
    layout::PROPOSALS,
    layout::ARTIFACTS,
    layout::ROLLUPS,
    layout::MEMORY,
    layout::PREFERENCE,
    layout::IDENTITY_LEAVES,
    layout::WORKSPACE_MEMORY,
];

/// Makes what a new tree needs, once in the life of the agent: a page that was deleted later stays deleted.
pub(super) fn furnish(at: &AssistantHome) -> Result<()> {
    let done: Option<i64> = at.read(|tx| {
        Ok(tx
            .prepare_cached("SELECT bootstrapped_at FROM agents WHERE agent_no = ?1")?
            .query_row([at.agent_no], |r| r.get(0))?)
    })?;
    if done.is_some() {
        return Ok(());
    }
    for folder in FOLDERS {
        at.files.create_dir_all(folder)?;
    }
    let mut written = Vec::new();
    for (path, text) in PAGES {
        if at.files.write_new(path, text.as_bytes())? == NewFile::Written
            && let Some((bytes, stamp)) = at.files.read_with_stamp(path, LARGEST_FILE)?
        {
            written.push((path, Now { stamp, digest: home::digest(&bytes) }, bytes));
        }
    }
    at.write("home.bootstrap", |tx| {
        tx.execute(
            "UPDATE agents SET bootstrapped_at = ?2 WHERE agent_no = ?1 AND bootstrapped_at IS NULL",
            params![at.agent_no, tx.now()],
        )?;
        for (path, now, bytes) in &written {
            at.seen(tx, path, *now, bytes)?;
        }
        tx.note("pages", written.iter().map(|(path, ..)| path.as_str()).collect::<Vec<_>>());
        Ok(())
    })
}
