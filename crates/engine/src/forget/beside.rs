//! Files of the home that are no memory: logs, calls of hooks that could not be stored, the note of the last backup and
//! temporary files are Heirloom's own, and stars replace the words in them; all others are somebody's, and are listed and
//! not changed.

use std::path::{Path, PathBuf};

use super::words::Words;
use crate::error::Result;
use crate::home::{Home, Kind, RelPath, Rooted, layout};
use crate::spool;
use crate::tree::{AssistantHome, LARGEST_FILE};

/// Number of folder levels below the home that are searched.
const DEEPEST: usize = 16;

/// Returns Heirloom's own files that have the words. `named`: words were named; otherwise they are whole texts of turns,
/// which stand in the calls only.
pub(super) fn own(home: &Home, words: &Words, named: bool) -> Vec<RelPath> {
    let mut all = Vec::new();
    if named {
        // A missing folder is empty.
        let _ = home.walk(&layout::LOGS, DEEPEST, &mut |path, entry| {
            if entry.kind == Kind::File {
                all.push(path);
            }
        });
    }
    if named {
        all.push(layout::BACKUP_STATE);
    }
    all.extend(spool::leftovers(home, named));
    // Trees have their own; the rest is searched elsewhere or removed as a whole.
    let elsewhere = [layout::SPOOL, layout::SCRATCH, layout::BACKUPS, layout::WORKSPACES];
    let is_in = |path: &RelPath, folder: &RelPath| path.as_str().starts_with(&format!("{}/", folder.as_str()));
    let left = home.temporaries();
    all.extend(left.into_iter().filter(|path| !elsewhere.iter().any(|folder| is_in(path, folder))));
    all.retain(|path| has(home, path, words));
    all
}

/// Returns the temporary files of the agent's tree that have the words: killed commands left them.
pub(super) fn left_in_tree(at: &AssistantHome, words: &Words) -> Vec<RelPath> {
    let mut all = at.files.temporaries();
    all.retain(|path| has(&at.files, path, words));
    all
}

/// Replaces the words by stars in Heirloom's own files. Can be repeated. The caller holds the lock of the tree.
pub(super) fn blank(at: &AssistantHome, words: &Words, named: bool) -> Result<()> {
    let stretches = |bytes: &[u8]| words.quoted_stretches(bytes);
    for path in own(at.home(), words, named) {
        at.home().blank(&path, spool::LARGEST, &stretches)?;
    }
    for path in left_in_tree(at, words) {
        at.files.blank(&path, spool::LARGEST, &stretches)?;
    }
    Ok(())
}

/// Returns the other files of the home that have the words: the settings, drafts of programs, files in the agent's tree
/// that are no memory, and what else somebody put there.
pub(super) fn others(at: &AssistantHome, words: &Words, known: &dyn Fn(&RelPath) -> bool) -> Vec<String> {
    let home = at.home();
    // They are searched elsewhere, hold no words, or belong to other agents.
    let skipped = [layout::LOGS, layout::SPOOL, layout::RUN, layout::BACKUPS, layout::SCRATCH, layout::WORKSPACES];
    let is_own = |path: &RelPath| {
        let name = path.as_str().strip_prefix("state/").unwrap_or_default();
        *path == layout::BACKUP_STATE
            || name.starts_with("runtime.db")
            || name.starts_with("index.db")
            || name.starts_with("index-next.db")
    };
    let mut all: Vec<RelPath> = Vec::new();
    for entry in home.entries().unwrap_or_default() {
        let Some(Ok(path)) = entry.name.to_str().map(RelPath::parse) else { continue };
        match entry.kind {
            Kind::File => all.push(path),
            Kind::Directory => {
                let _ = home.walk(&path, DEEPEST, &mut |path, entry| {
                    let below = |folder: &RelPath| path.as_str().starts_with(&format!("{}/", folder.as_str()));
                    if entry.kind == Kind::File && !skipped.iter().any(below) && !is_own(&path) {
                        all.push(path);
                    }
                });
            }
            Kind::Symlink | Kind::Other => {}
        }
    }
    all.retain(|path| has(home, path, words));
    let shown = |root: &Path, path: &RelPath| root.join(path.as_str()).display().to_string();
    let mut out: Vec<String> = all.iter().map(|path| shown(home.root(), path)).collect();
    let mut in_tree = Vec::new();
    for entry in at.files.entries().unwrap_or_default() {
        let Some(Ok(path)) = entry.name.to_str().map(RelPath::parse) else { continue };
        match entry.kind {
            Kind::File => in_tree.push(path),
            Kind::Directory => {
                let _ = at.files.walk(&path, DEEPEST, &mut |path, entry| {
                    if entry.kind == Kind::File {
                        in_tree.push(path);
                    }
                });
            }
            Kind::Symlink | Kind::Other => {}
        }
    }
    in_tree.retain(|path| !known(path));
    for path in in_tree {
        if let Ok(Some(bytes)) = at.files.read(&path, LARGEST_FILE)
            && words.are_quoted_in(&bytes)
        {
            out.push(at.shown(&path));
        }
    }
    out
}

/// Returns the folders beside the home in which a restore set an older state of it aside.
pub(super) fn set_aside(home: &Home) -> Vec<PathBuf> {
    let root = home.root();
    let (Some(parent), Some(name)) = (root.parent(), root.file_name()) else { return Vec::new() };
    let mut prefix = name.to_owned();
    prefix.push(layout::BEFORE_RESTORE);
    let Ok(entries) = std::fs::read_dir(parent) else { return Vec::new() };
    let names = entries.filter_map(std::result::Result::ok).map(|entry| entry.file_name());
    let ours = names.filter(|name| name.as_encoded_bytes().starts_with(prefix.as_encoded_bytes()));
    let mut all: Vec<PathBuf> = ours.map(|name| parent.join(name)).collect();
    all.sort();
    all
}

fn has(folder: &Rooted, path: &RelPath, words: &Words) -> bool {
    // Stars would damage a database that another command is making; it is gone within an hour.
    let fits = |bytes: &[u8]| words.are_quoted_in(bytes) && !bytes.starts_with(b"SQLite format 3");
    folder.read(path, spool::LARGEST).is_ok_and(|bytes| bytes.is_some_and(|bytes| fits(&bytes)))
}
