//! Scanning the files: one `stat` each, and only changed files are read (D1).
//!
//! A file counts as unchanged while its size, times and inode are those of its row. A file modified at the moment of
//! its last scan could change again without a change of its times, so it is read once more.

use std::collections::HashMap;

use super::bootstrap::FOLDERS;
use super::{AssistantHome, LARGEST_FILE, file_table, restore};
use crate::clock::Clock;
use crate::document::Document;
use crate::error::{ErrorKind, Problem, Result};
use crate::home::{self, Entry, Kind as FileType, RelPath, Stamp, layout};
use crate::pages;

/// The result of a scan.
#[derive(Clone, Default, Debug)]
pub struct Scanned {
    /// The number of files that are new, changed or gone.
    pub changed: u64,
    /// Entries that could not be read or are not regular files.
    pub problems: Vec<Problem>,
}

/// Most folder levels that are scanned. Heirloom's own files go six deep, such as
/// `continuity/proposals/memory/archive/merged/x.md`; people add more.
const DEEPEST: usize = 12;

/// File times advance in steps of a few milliseconds, whatever their unit (Linux: up to 10).
const CLOCK_STEP_NS: i64 = 20_000_000;

/// Most files that may be read again at every scan, because they changed at the moment of the last one, before their
/// rows are rewritten: a write costs more than reading a few notes.
const DOUBTS: usize = 50;

/// Number of rows written in one transaction, so that a first scan of thousands of files lets other writers in between.
const STEP: usize = 200;

struct Known {
    stamp: Stamp,
    seen_ns: i64,
    digest: Vec<u8>,
}

/// Brings the file table up to date with the files.
pub fn scan(at: &AssistantHome) -> Result<Scanned> {
    let mut out = Scanned::default();
    let mut found: Vec<(RelPath, Stamp)> = Vec::new();
    let unseen = look(at, &mut found, &mut out.problems)?;
    let mut known = known(at)?;
    let mut changed: Vec<(RelPath, Option<Known>)> = Vec::new();
    for (path, stamp) in found {
        match known.remove(path.as_str()) {
            Some(row)
                if row.stamp == stamp && stamp.changed_ns.max(stamp.modified_ns) + CLOCK_STEP_NS < row.seen_ns => {}
            row => changed.push((path, row)),
        }
    }
    // An entry that could not be read must not count as deleted.
    let gone: Vec<String> = known
        .into_keys()
        .filter(|path| !unseen.iter().any(|u| path.as_str() == u.as_str() || path.starts_with(&format!("{u}/"))))
        .collect();
    for step in changed.chunks(STEP) {
        out.changed += store_changes(at, step, &mut out.problems)?;
    }
    for step in gone.chunks(STEP) {
        out.changed += step.len() as u64;
        at.write("catalogue.sweep", |tx| {
            let mut changes = Vec::new();
            for path in step {
                restore::deleted(tx, at.agent_no, path)?;
                file_table::gone(tx, at.agent_no, path)?;
                let path = RelPath::parse(path)?;
                if let Some((kind, _)) = file_table::classify(&path) {
                    changes.extend(file_table::happened_to(&path, kind));
                }
                changes.extend(file_table::session_page(tx, at.agent_no, &path)?);
            }
            pages::mark_each(tx, at.agent_no, &changes)?;
            tx.note("gone", step.len());
            Ok(())
        })?;
    }
    if out.changed > 0 && at.read(|tx| file_table::successors_differ(tx, at.agent_no))? {
        at.write("catalogue.sweep", |tx| {
            let changes = file_table::settle_successors(tx, at.agent_no)?;
            tx.note("successors", changes.len());
            pages::mark_each(tx, at.agent_no, &changes)
        })?;
    }
    restore::make_up(at)?;
    Ok(out)
}

/// Runs one `stat` on every Markdown file of the tree; returns the paths that could not be read.
pub(crate) fn look(
    at: &AssistantHome,
    found: &mut Vec<(RelPath, Stamp)>,
    problems: &mut Vec<Problem>,
) -> Result<Vec<RelPath>> {
    let mut unseen = Vec::new();
    let mut take = |path: RelPath, entry: &Entry| {
        if file_table::classify(&path).is_none() {
            // A symlink has replaced a folder: the files below it are unreachable, but not gone.
            if entry.kind == FileType::Symlink && path.parent().is_some() && !path.name().contains('.') {
                let place = at.files.shown().join(path.as_str()).display().to_string();
                let what = "is a symlink, which is not followed; put the real folder in its place";
                problems.push(Problem { place, offset: None, line: None, what: what.into() });
                unseen.push(path);
            } else if entry.kind == FileType::File && FOLDERS.contains(&path) {
                let place = at.files.shown().join(path.as_str()).display().to_string();
                let what = "is a file in the place of a folder; move it away";
                problems.push(Problem { place, offset: None, line: None, what: what.into() });
            }
            return;
        }
        if entry.kind == FileType::File {
            found.push((path, entry.stamp));
        } else if entry.kind != FileType::Directory || path.name().ends_with(".md") {
            let what = match entry.kind {
                FileType::Symlink => "is a symlink, which is not followed; put the real file in its place",
                FileType::Directory => "is a directory with the name of a file; move it away",
                _ => "is no regular file; move it away",
            };
            let place = at.files.shown().join(path.as_str()).display().to_string();
            problems.push(Problem { place, offset: None, line: None, what: what.into() });
        }
    };
    for entry in at.files.entries()? {
        if let Some(path) = entry.name.to_str().and_then(|n| RelPath::parse(n).ok()) {
            take(path, &entry);
        }
    }
    let (mut more, mut below) = (Vec::new(), Vec::new());
    for top in [&layout::CONTINUITY, &layout::MEMORY] {
        match at.files.walk(top, DEEPEST, &mut take) {
            Ok(walked) => {
                more.extend(walked.problems);
                below.extend(walked.unseen);
            }
            Err(e) if e.kind() == ErrorKind::NotFound => {}
            Err(e) => {
                more.push(Problem::of(&at.files.shown().join(top.as_str()), &e));
                below.push(top.clone());
            }
        }
    }
    unseen.extend(below);
    problems.extend(more);
    Ok(unseen)
}

fn known(at: &AssistantHome) -> Result<HashMap<String, Known>> {
    at.read(|tx| {
        let mut statement = tx.prepare_cached(
            "SELECT path, size, modified_ns, changed_ns, inode, seen_ns, digest FROM catalogue
             WHERE agent_no = ?1 AND state != 'gone'",
        )?;
        let rows = statement.query_map([at.agent_no], |r| {
            let stamp = Stamp {
                size: r.get::<_, i64>(1)? as u64,
                modified_ns: r.get(2)?,
                changed_ns: r.get(3)?,
                inode: r.get::<_, i64>(4)? as u64,
            };
            Ok((r.get::<_, String>(0)?, Known { stamp, seen_ns: r.get(5)?, digest: r.get(6)? }))
        })?;
        Ok(rows.collect::<rusqlite::Result<_>>()?)
    })
}

/// Reads the changed files and stores their rows. Returns how many files are new or different.
fn store_changes(at: &AssistantHome, step: &[(RelPath, Option<Known>)], problems: &mut Vec<Problem>) -> Result<u64> {
    let seen_ns = Clock::System.now().saturating_mul(1_000_000);
    let (mut read, mut same) = (Vec::new(), 0);
    for (path, row) in step {
        match at.files.read_with_stamp(path, LARGEST_FILE) {
            Ok(Some((bytes, stamp))) => {
                let digest = home::digest(&bytes);
                same += usize::from(row.as_ref().is_some_and(|r| r.stamp == stamp && r.digest == digest));
                let emptied = row.as_ref().filter(|r| r.digest != digest && restore::is_blank(&bytes));
                read.push((path, stamp, digest, bytes, emptied.map(|r| r.digest.clone())));
            }
            // The file vanished between listing and reading; the next scan records it as gone.
            Ok(None) => {}
            Err(e) if e.kind() == ErrorKind::NotFound => {}
            Err(e) => problems.push(Problem::of(&at.files.shown().join(path.as_str()), &e)),
        }
    }
    if read.len() == same && same <= DOUBTS {
        return Ok(0);
    }
    let described: Vec<_> = read
        .into_iter()
        .filter_map(|(path, stamp, digest, bytes, emptied)| {
            let what = file_table::classify(path)?;
            let said = file_table::describe(path, what.0, what.1, &Document::parse(bytes));
            Some((path, what, stamp, digest, said, emptied))
        })
        .collect();
    at.write("catalogue.sweep", |tx| {
        let (mut changed, mut found) = (0, Vec::new());
        for (path, what, stamp, digest, said, emptied) in &described {
            if let Some(before) = emptied {
                restore::emptied(tx, at.agent_no, path, before)?;
            }
            let seen = file_table::Seen { stamp: *stamp, seen_ns, digest: *digest, published: None };
            if file_table::store(tx, at.agent_no, path, *what, &seen, said)? {
                changed += 1;
                found.extend(file_table::happened_to(path, what.0));
                found.extend(file_table::session_page(tx, at.agent_no, path)?);
            }
        }
        pages::mark_each(tx, at.agent_no, &found)?;
        tx.note("read", described.len());
        tx.note("changed", changed);
        Ok(changed)
    })
}
