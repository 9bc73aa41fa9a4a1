//! The visible files against the file table, and their rows in the index against both.
//!
//! Files are authoritative, so no finding here is damage: what is wrong is derived and can be made again.

use std::collections::{HashMap, HashSet};

use super::Report;
use crate::error::{ErrorKind, Result};
use crate::home;
use crate::index::Index;
use crate::scope::FileNo;
use crate::tree::file_table::{self, Entry, Kind, State};
use crate::tree::{AssistantHome, LARGEST_FILE, journal, scan};

/// Checks one agent's files. A caller that may write has scanned first; if it may not, files changed by hand since the
/// last command are reported here.
pub fn files(at: &AssistantHome, index: Option<&Index>, report: &mut Report) -> Result<()> {
    let rows = at.read(|tx| file_table::all(tx, at.agent_no))?;
    for entry in &rows {
        report.files += 1;
        if let Some(what) = against_row(at, entry)?
            // A file that was just changed has another row by now.
            && at.read(|tx| file_table::at(tx, at.agent_no, &entry.path))?.is_some_and(|now| now.change_no == entry.change_no)
        {
            report.stale(at.shown(&entry.path), what);
        }
    }
    unlisted(at, &rows, report)?;
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

/// Compares a file with its row; returns what is wrong.
fn against_row(at: &AssistantHome, entry: &Entry) -> Result<Option<String>> {
    Ok(match at.files.read_with_stamp(&entry.path, LARGEST_FILE) {
        Ok(Some((bytes, _))) if home::digest(&bytes) == entry.digest => None,
        Ok(Some(_)) => Some("has changed since it was last looked at; the next command takes it in".into()),
        Ok(None) => Some("is in the catalogue and is not there; the next command takes it out".into()),
        Err(e) if e.kind() == ErrorKind::NotFound => Some("is in the catalogue and is not there".into()),
        Err(e) => Some(format!("cannot be read: {e}")),
    })
}

/// Files missing from the file table, and things in the tree that are no files.
fn unlisted(at: &AssistantHome, rows: &[Entry], report: &mut Report) -> Result<()> {
    let listed: HashSet<&str> = rows.iter().map(|e| e.path.as_str()).collect();
    let (mut found, mut problems) = (Vec::new(), Vec::new());
    scan::look(at, &mut found, &mut problems)?;
    for problem in problems {
        report.stale(problem.place, problem.what);
    }
    for (path, _) in found.iter().filter(|(path, _)| !listed.contains(path.as_str())) {
        let now = at.read(|tx| file_table::at(tx, at.agent_no, path))?;
        if now.is_none() && at.files.stat(path).ok().flatten().is_some() {
            report.stale(at.shown(path), "is not in the catalogue; the next command takes it in");
        }
    }
    Ok(())
}

/// Each file up to the change the index covers has index rows of exactly that change, and nothing else has any.
fn index_rows(at: &AssistantHome, index: &Index, report: &mut Report) -> Result<()> {
    const AGAIN: &str = "⟨reindex⟩ makes it anew";
    // Ledger and index are read in one snapshot each, and the index may be changing: differences are checked again.
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
