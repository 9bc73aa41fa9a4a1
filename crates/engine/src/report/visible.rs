//! Counts and problems of an agent's visible files: a part of the reports of `status` and `doctor`.

use std::collections::{BTreeMap, BTreeSet};

use schemars::JsonSchema;
use serde::Serialize;

use crate::clock::Millis;
use crate::error::{Problem, Result};
use crate::home::LionClaw;
use crate::memory::pending;
use crate::next_step::See;
use crate::render;
use crate::report::counted;
use crate::scope::RevisionNo;
use crate::tree::file_table::{self, Kind};
use crate::tree::restore::{self, Deleted};
use crate::tree::{AssistantHome, journal, revise};

/// Period, in milliseconds, for which the report mentions words that were kept aside.
const NEWS_MS: Millis = 7 * 24 * 3_600_000;

/// Number of deleted files that are named.
const NAMED: usize = 3;

/// Counts and problems of an agent's visible files.
#[derive(Clone, PartialEq, Eq, Serialize, JsonSchema, Debug)]
pub struct VisibleReport {
    /// Folder of the visible files.
    pub root: String,
    /// Number of files of each kind.
    pub files: BTreeMap<&'static str, u64>,
    /// Number of notices about the user that wait for a yes.
    pub pending_memory: u64,
    /// Remarks that are not problems.
    pub notes: Vec<String>,
    /// Deletions among the notes: see [`Engine::told`](crate::engine::Engine::told).
    #[serde(skip)]
    pub deletions: Vec<RevisionNo>,
    /// Problems, each with what to do about it.
    #[serde(skip)]
    pub wrong: Vec<String>,
}

impl VisibleReport {
    /// `problems`: the problems that the scan of the files found.
    pub fn of(at: &AssistantHome, problems: &[Problem]) -> Result<VisibleReport> {
        let mut wrong: Vec<String> = problems.iter().map(ToString::to_string).collect();
        let since = at.ledger.now() - NEWS_MS;
        let (counts, pending_memory, troubled, unfinished, kept) = at.read(|tx| {
            Ok((
                file_table::counts(tx, at.agent_no)?,
                pending::count(tx, at.agent_no)?,
                file_table::troubled(tx, at.agent_no)?,
                journal::unfinished(tx, at.agent_no)?,
                revise::found_by_scan(tx, at.agent_no, since, 3)?,
            ))
        })?;
        for file in troubled {
            wrong.push(format!("{}: {}", at.shown(&file.path), file.problem.unwrap_or_default()));
        }
        for left in unfinished {
            let why = left.last_error.unwrap_or_else(|| "another command may be at it".to_owned());
            wrong.push(format!("{} is stored and not finished: {why}; the next command tries again", left.action));
        }
        let mut notes: Vec<String> = render::marker_faults(at)?.iter().map(ToString::to_string).collect();
        let deleted = at.read(|tx| restore::unsaid(tx, at.agent_no))?;
        notes.extend(of_deleted(&deleted));
        let deletions = deleted.iter().map(|file| file.no).collect();
        notes.extend(kept.into_iter().map(|(no, path, why)| {
            let see = See::new(format!("show --revision {no}"));
            format!("words of yours in {path} were kept aside ({why}): {see}")
        }));
        match at.home().lionclaw()? {
            LionClaw::Absent => {}
            LionClaw::Present => notes.push("this home is LionClaw's, too; lionclaw.db is left alone".into()),
            LionClaw::Running => {
                notes.push(
                    "LionClaw is running on this home: it writes the same pages; let one of the two do it".into(),
                );
            }
        }
        let of_kind = |kind: Kind| counts.iter().find(|(k, _)| *k == kind).map_or(0, |(_, n)| *n);
        let files = Kind::ALL.iter().map(|kind| (kind.name(), of_kind(*kind))).collect();
        Ok(VisibleReport {
            root: at.files.shown().display().to_string(),
            files,
            pending_memory,
            notes,
            deletions,
            wrong,
        })
    }

    /// Returns the number of files of a kind.
    pub fn count(&self, kind: Kind) -> u64 {
        self.files.get(kind.name()).copied().unwrap_or(0)
    }
}

/// Returns the note about files deleted or emptied by hand: it names the newest ones and counts the others.
fn of_deleted(deleted: &[Deleted]) -> Vec<String> {
    let mut paths = BTreeSet::new();
    let newest: Vec<&Deleted> = deleted.iter().filter(|file| paths.insert(&file.path)).collect();
    let mut out: Vec<String> = newest
        .iter()
        .take(NAMED)
        .map(|Deleted { path, emptied, rendered_again, .. }| {
            let see = See::new(format!("restore {path}"));
            match (emptied, rendered_again) {
                (true, _) => format!("{path} has no text any more; as it was it is kept for 30 days: {see}"),
                (_, true) => {
                    format!("{path} was deleted by hand and rendered again; as it was it is kept for 30 days: {see}")
                }
                _ => format!("{path} was deleted by hand and is kept for 30 days: {see}"),
            }
        })
        .collect();
    match newest.len().saturating_sub(NAMED) as u64 {
        0 => {}
        more => out.push(format!(
            "{} more deleted or emptied by hand, kept for 30 days: {}",
            counted(more, "file"),
            See::new("show --revisions")
        )),
    }
    out
}
