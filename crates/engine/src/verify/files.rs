//! Compares the visible files with the file table, and their rows in the index with both.
//!
//! Files are authoritative, so no finding here is damage: whatever differs is derived and can be made again.

use std::collections::{HashMap, HashSet};

use super::Report;
use crate::error::{ErrorKind, Result};
use crate::home;
use crate::index::{Copies, Index};
use crate::scope::FileNo;
use crate::tree::file_table::{self, Entry, Kind, State};
use crate::tree::{AssistantHome, LARGEST_FILE, journal, restore, scan};

/// Checks one agent's files without a scan, so that nothing is changed. Files that people edited or added since the
/// last command are no finding, except in a home that cannot be written (`read_only`), where no command ever reads such
/// edits. A file that is gone or was emptied is reported together with the command that restores it.
pub fn files(at: &AssistantHome, index: Option<&Index>, read_only: bool, report: &mut Report) -> Result<()> {
    let rows = at.read(|tx| file_table::all(tx, at.agent_no))?;
    for entry in &rows {
        report.files += 1;
        if let Some(what) = against_row(at, entry, read_only)?
            // A file that was changed just now has a newer row by now.
            && at.read(|tx| file_table::at(tx, at.agent_no, &entry.path))?.is_some_and(|now| now.change_no == entry.change_no)
        {
            report.stale(at.shown(&entry.path), what);
        }
    }
    unlisted(at, &rows, read_only, report)?;
    for act in at.read(|tx| journal::unfinished(tx, at.agent_no))? {
        let why = act.last_error.map_or(String::new(), |e| format!(", the last time because: {e}"));
        report.stale(
            format!("plan {}", act.flush_id),
            format!(
                "{} was begun and not finished, tried again {} times{why}; the next command that changes files goes on with it",
                act.action, act.attempts
            ),
        );
    }
    match index {
        Some(index) => index_rows(at, index, report),
        None => Ok(()),
    }
}

/// Checks that the index has the words of the files it has read as they are now: of a sample, or of `all`.
pub fn words(at: &AssistantHome, index: &Index, all: bool, report: &mut Report) -> Result<()> {
    const SAMPLE: usize = 256;
    let copies = Copies::new(all)?;
    let rows = at.read(|tx| file_table::all(tx, at.agent_no))?;
    let made: HashMap<FileNo, _> = index.files_made(at.agent_no)?.into_iter().map(|m| (m.file_no, m)).collect();
    let is_read = |entry: &&Entry| {
        let made = made.get(&entry.file_no);
        made.is_some_and(|m| m.change_no == entry.change_no && m.digest == Some(entry.digest) && !m.broken)
    };
    let read: Vec<&Entry> = rows.iter().filter(is_read).collect();
    let step = if all { 1 } else { read.len().div_ceil(SAMPLE).max(1) };
    for entry in read.into_iter().step_by(step) {
        let what = match index.has_words_of(at, entry, &copies) {
            Ok(true) => continue,
            Ok(false) => "has other words in the search index".to_owned(),
            Err(e) => format!("cannot be compared with the search index: {e}"),
        };
        // A file that was changed just now has a newer row by now.
        let now = at.read(|tx| file_table::at(tx, at.agent_no, &entry.path))?;
        if now.is_some_and(|now| now.change_no == entry.change_no) {
            report.stale(at.shown(&entry.path), format!("{what}; ⟨reindex⟩ makes it anew"));
        }
    }
    Ok(())
}

/// Compares a file with its row; returns a description of the difference.
fn against_row(at: &AssistantHome, entry: &Entry, read_only: bool) -> Result<Option<String>> {
    Ok(match at.files.read_with_stamp(&entry.path, LARGEST_FILE) {
        Ok(Some((bytes, _))) if home::digest(&bytes) == entry.digest => None,
        Ok(Some((bytes, _)))
            if restore::is_blank(&bytes) && at.read(|tx| restore::has_copy(tx, at.agent_no, &entry.path))? =>
        {
            Some(format!("was emptied, or is no text any more; a copy is kept: ⟨restore {}⟩", entry.path))
        }
        Ok(Some(_)) => read_only.then(|| "has changed since it was last looked at".into()),
        Ok(None) => Some(gone(at, entry)?),
        Err(e) if e.kind() == ErrorKind::NotFound => Some(gone(at, entry)?),
        Err(e) => Some(format!("cannot be read: {e}")),
    })
}

fn gone(at: &AssistantHome, entry: &Entry) -> Result<String> {
    Ok(match at.read(|tx| restore::has_copy(tx, at.agent_no, &entry.path))? {
        true => format!("is gone; a copy is kept: ⟨restore {}⟩", entry.path),
        false if entry.kind.is_rendered() => "is gone; the next command renders it again".into(),
        false => "is gone, and no copy of it is kept".into(),
    })
}

/// Reports files missing from the file table, and things in the tree that are not regular files.
fn unlisted(at: &AssistantHome, rows: &[Entry], read_only: bool, report: &mut Report) -> Result<()> {
    let listed: HashSet<&str> = rows.iter().map(|e| e.path.as_str()).collect();
    let (mut found, mut problems) = (Vec::new(), Vec::new());
    scan::look(at, &mut found, &mut problems)?;
    for problem in problems {
        report.stale(problem.place, problem.what);
    }
    for (path, _) in found.iter().filter(|(path, _)| read_only && !listed.contains(path.as_str())) {
        let now = at.read(|tx| file_table::at(tx, at.agent_no, path))?;
        if now.is_none() && at.files.stat(path).ok().flatten().is_some() {
            report.stale(at.shown(path), "is not in the catalogue");
        }
    }
    Ok(())
}

/// Checks that each file up to the change the index covers has index rows of exactly that change, and that no other
/// file has any.
fn index_rows(at: &AssistantHome, index: &Index, report: &mut Report) -> Result<()> {
    const AGAIN: &str = "⟨reindex⟩ makes it anew";
    // Ledger and index are read in one snapshot each, and the index may be changing: differences are compared a second
    // time.
    let compare = || -> Result<Vec<(String, String)>> {
        let covered = index.files_covered(at.agent_no)?;
        let (missing, rows) =
            at.read(|tx| Ok((index.files_missing(tx, at.agent_no), file_table::all(tx, at.agent_no)?)))?;
        if let Err(e) = missing {
            return Ok(vec![("index".into(), format!("{e}; {AGAIN}"))]);
        }
        let mut made: HashMap<FileNo, _> = index.files_made(at.agent_no)?.into_iter().map(|m| (m.file_no, m)).collect();
        let mut off = Vec::new();
        for entry in rows.iter().filter(|e| e.state != State::Gone && e.kind != Kind::Runtime) {
            let made = made.remove(&entry.file_no);
            if entry.change_no > covered {
                continue;
            }
            let what = match made {
                None => "has no rows in the search index",
                Some(made) if made.broken => "has rows missing in the search index",
                Some(made) if made.change_no != entry.change_no => "has rows of an earlier state in the search index",
                Some(made) if made.digest == Some(entry.digest) && made.parts == 0 => {
                    "is empty in the search index and is not on disk"
                }
                Some(_) => continue,
            };
            off.push((at.shown(&entry.path), format!("{what}; {AGAIN}")));
        }
        for (file_no, made) in made {
            // A file removed after the last covered change still has its rows.
            let gone = at.read(|tx| file_table::numbered(tx, at.agent_no, file_no))?;
            if made.parts > 0 && gone.is_none_or(|e| e.change_no <= covered) {
                off.push((format!("file {file_no}"), format!("is gone and has rows in the search index; {AGAIN}")));
            }
        }
        Ok(off)
    };
    let first = compare()?;
    if first.is_empty() {
        return Ok(());
    }
    let second = compare()?;
    for (subject, what) in first.into_iter().filter(|finding| second.contains(finding)) {
        report.stale(subject, what);
    }
    Ok(())
}
