//! The initial files of a new tree: written once and owned by the human from then on (SPEC §3). Existing files are
//! never touched.

use super::revise::Now;
use super::{AssistantHome, LARGEST_FILE};
use crate::error::Result;
use crate::home::{self, NewFile, RelPath, layout};
use crate::ledger::agents;

/// Each page and its path.
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

/// The folders a new tree starts with; others are created with their first file.
pub(super) const FOLDERS: &[RelPath] = &[
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

/// Whether a page still has only its initial text; a rendered block does not count.
pub fn is_untouched(path: &RelPath, text: &str) -> bool {
    let came = PAGES.iter().find(|(page, _)| page == path).map_or("", |(_, text)| *text);
    text.trim() == came.trim()
}

/// Returns a page's text without the prose of its initial text; its title stays. A person may have written above, below
/// and between those lines.
pub fn without_what_it_came_with(path: &RelPath, text: &str) -> String {
    let came = PAGES.iter().find(|(page, _)| page == path).map_or("", |(_, text)| *text);
    let prose: Vec<&str> = came.lines().map(str::trim).filter(|l| !l.is_empty() && !l.starts_with('#')).collect();
    let own = text.lines().filter(|line| !prose.contains(&line.trim()));
    own.collect::<Vec<_>>().join("\n")
}

/// The files and folders [`furnish`] has made so far, so that they can be removed if the ledger cannot record them.
#[derive(Default)]
struct Made {
    folders: Vec<RelPath>,
    pages: Vec<(&'static RelPath, Now, Vec<u8>)>,
}

/// Makes the initial files of a new tree, once in the life of the agent: a page deleted later stays deleted. If the
/// ledger cannot record this, the tree is left as it was.
pub(super) fn furnish(at: &AssistantHome) -> Result<()> {
    if is_done(at)? {
        return Ok(());
    }
    let mut made = Made::default();
    make(at, &mut made).and_then(|()| record(at, &made)).inspect_err(|_| remove_made(at, &made))
}

fn is_done(at: &AssistantHome) -> Result<bool> {
    at.read(|tx| agents::is_bootstrapped(tx, at.agent_no))
}

fn make(at: &AssistantHome, made: &mut Made) -> Result<()> {
    for folder in FOLDERS {
        let with_parents = std::iter::successors(Some(folder.clone()), RelPath::parent);
        let mut new: Vec<RelPath> = Vec::new();
        for folder in with_parents {
            if at.files.stat(&folder)?.is_none() {
                new.push(folder);
            }
        }
        at.files.create_dir_all(folder)?;
        made.folders.extend(new.into_iter().rev());
    }
    for (path, text) in PAGES {
        if at.files.write_new(path, text.as_bytes())? == NewFile::Written
            && let Some((bytes, stamp)) = at.files.read_with_stamp(path, LARGEST_FILE)?
        {
            made.pages.push((path, Now { stamp, digest: home::digest(&bytes) }, bytes));
        }
    }
    Ok(())
}

fn record(at: &AssistantHome, made: &Made) -> Result<()> {
    at.write("home.bootstrap", |tx| {
        agents::set_bootstrapped(tx, at.agent_no)?;
        for (path, now, bytes) in &made.pages {
            at.seen(tx, path, *now, bytes)?;
        }
        tx.note("pages", made.pages.iter().map(|(path, ..)| path.as_str()).collect::<Vec<_>>());
        Ok(())
    })
}

/// Removes the files that [`furnish`] made and nobody touched since. A file that cannot be removed does no harm: the
/// next command finds it and leaves it as it is.
fn remove_made(at: &AssistantHome, made: &Made) {
    // Another command may have furnished the tree meanwhile; the files are then the ones it recorded.
    if is_done(at).unwrap_or(true) {
        return;
    }
    for (path, _, bytes) in &made.pages {
        if at.files.read(path, LARGEST_FILE).is_ok_and(|found| found.as_ref() == Some(bytes)) {
            let _ = at.files.remove(path);
        }
    }
    for folder in made.folders.iter().rev() {
        let _ = at.files.remove_empty_dir(folder);
    }
}
