//! Visible files as reports: a whole file, some of its lines, or an earlier revision.

use schemars::JsonSchema;
use serde::Serialize;

use super::items::EntryReport;
use super::memories::AgeReport;
use crate::clock::Millis;
use crate::continuity;
use crate::error::{Error, Result};
use crate::memory::leaf;
use crate::memory::staleness::{Staleness, staleness};
use crate::next_step::See;
use crate::redact::{redact, redact_lines};
use crate::scope::RevisionNo;
use crate::tree::AssistantHome;
use crate::tree::file_table::{Entry, Kind};
use crate::tree::revise::{self, Revision};

/// A visible file and its path on this machine.
#[derive(Clone, PartialEq, Serialize, JsonSchema, Debug)]
pub struct FileReport {
    #[serde(flatten)]
    pub entry: EntryReport,
    pub kind: &'static str,
    pub state: &'static str,
    /// Path of the file on this machine; `None` if the visible files cannot be reached.
    pub file: Option<String>,
}

impl FileReport {
    pub fn of<'e>(at: impl Into<Option<&'e AssistantHome<'e>>>, entry: &Entry) -> FileReport {
        FileReport {
            entry: EntryReport::from(entry),
            kind: entry.kind.name(),
            state: entry.state.name(),
            file: at.into().map(|at| at.shown(&entry.path)),
        }
    }
}

/// A visible file with its text. Credentials are removed.
#[derive(Clone, PartialEq, Serialize, JsonSchema, Debug)]
pub struct FileTextReport {
    #[serde(flatten)]
    pub file: FileReport,
    /// Text of the file without the front matter.
    pub body: String,
    /// Age and text of a memory; absent unless a memory was asked for.
    #[serde(flatten)]
    pub memory: Option<MemoryText>,
    /// The whole file, front matter included.
    #[serde(skip)]
    pub document: String,
}

/// The text of a memory, and whether it is still fresh.
#[derive(Clone, PartialEq, Serialize, JsonSchema, Debug)]
pub struct MemoryText {
    #[serde(flatten)]
    pub age: AgeReport,
    /// Text of the memory, without the heading.
    pub text: String,
    #[serde(skip)]
    pub staleness: Staleness,
}

impl FileTextReport {
    /// Reads the file of `entry`. `NotFound` if the file is gone by now.
    pub fn of(at: &AssistantHome, entry: &Entry) -> Result<FileTextReport> {
        let doc = continuity::read(at, &entry.path)?;
        Ok(FileTextReport {
            file: FileReport::of(at, entry),
            body: redact(&doc.body()).into_owned(),
            memory: None,
            document: redact(&String::from_utf8_lossy(doc.print())).into_owned(),
        })
    }

    /// Reads the file like [`FileTextReport::of`] and adds the memory's text and age.
    pub fn of_memory(at: &AssistantHome, entry: &Entry, now: Millis) -> Result<FileTextReport> {
        let mut report = FileTextReport::of(at, entry)?;
        if entry.kind == Kind::Leaf {
            let text = redact(&leaf::text_of(&leaf::read(at, &entry.path)?)).into_owned();
            let staleness = staleness(entry, now);
            report.memory = Some(MemoryText { age: AgeReport::from(&staleness), text, staleness });
        }
        Ok(report)
    }
}

/// Some lines of a file.
#[derive(Clone, PartialEq, Serialize, JsonSchema, Debug)]
pub struct LinesReport {
    #[serde(flatten)]
    pub file: FileReport,
    /// Line that was asked for, counted from 1.
    pub line: usize,
    pub lines: Vec<FileLine>,
}

#[derive(Clone, PartialEq, Eq, Serialize, JsonSchema, Debug)]
pub struct FileLine {
    pub line: usize,
    pub text: String,
}

impl LinesReport {
    /// Reads one line with `around` lines before and after it. `NotFound` if the file has fewer lines.
    pub fn of(at: &AssistantHome, entry: &Entry, line: usize, around: usize) -> Result<LinesReport> {
        let doc = continuity::read(at, &entry.path)?;
        let text = String::from_utf8_lossy(doc.print());
        let text = redact_lines(&text);
        let lines: Vec<&str> = text.lines().collect();
        if line > lines.len() {
            let count = if lines.len() == 1 { "1 line".to_owned() } else { format!("{} lines", lines.len()) };
            return Err(Error::not_found(format!("{} has {count}", at.shown(&entry.path)))
                .hint(See::new(format!("show {}", entry.path)).to_string()));
        }
        let (first, last) = (line.saturating_sub(around).max(1), line.saturating_add(around).min(lines.len()));
        let shown = (first..=last).map(|n| FileLine { line: n, text: lines[n - 1].to_owned() });
        Ok(LinesReport { file: FileReport::of(at, entry), line, lines: shown.collect() })
    }
}

/// Largest number of earlier states in a list.
const REVISIONS: usize = 200;

/// Earlier states of files that were kept, newest first.
#[derive(Clone, PartialEq, Serialize, JsonSchema, Debug)]
pub struct RevisionsReport {
    /// File whose states are listed; `None` for the states of all files.
    #[serde(flatten)]
    pub file: Option<FileReport>,
    pub revisions: Vec<ListedRevision>,
}

/// An earlier state, as listed.
#[derive(Clone, PartialEq, Eq, Serialize, JsonSchema, Debug)]
pub struct ListedRevision {
    #[serde(flatten)]
    pub kept: Revision,
    pub bytes: usize,
}

impl RevisionsReport {
    pub fn of(at: &AssistantHome, entry: Option<&Entry>) -> Result<RevisionsReport> {
        let path = entry.map(|e| e.path.as_str());
        let kept = at.read(|tx| revise::revisions(tx, at.agent_no, path, REVISIONS))?;
        let listed = kept.into_iter().map(|kept| ListedRevision { bytes: kept.bytes.len(), kept });
        Ok(RevisionsReport { file: entry.map(|e| FileReport::of(at, e)), revisions: listed.collect() })
    }
}

/// One earlier state of a file.
#[derive(Clone, PartialEq, Serialize, JsonSchema, Debug)]
pub struct RevisionReport {
    #[serde(flatten)]
    pub file: Option<FileReport>,
    pub revision: RevisionShown,
}

#[derive(Clone, PartialEq, Eq, Serialize, JsonSchema, Debug)]
pub struct RevisionShown {
    #[serde(flatten)]
    pub kept: Revision,
    /// Text of that state, without credentials.
    pub text: String,
}

impl RevisionReport {
    /// Returns the kept state with the number `no`, of one file or of any file. `NotFound` if there is none.
    pub fn of(at: &AssistantHome, entry: Option<&Entry>, no: RevisionNo) -> Result<RevisionReport> {
        let path = entry.map(|e| e.path.as_str());
        let kept = at.read(|tx| revise::revisions(tx, at.agent_no, path, usize::MAX >> 1))?;
        let found = kept.into_iter().find(|r| r.no == no).ok_or_else(|| {
            Error::not_found(format!("there is no kept state {no} of {}", path.unwrap_or("any file")))
                .hint("⟨show --revisions⟩")
        })?;
        let text = redact(&String::from_utf8_lossy(&found.bytes)).into_owned();
        Ok(RevisionReport { file: entry.map(|e| FileReport::of(at, e)), revision: RevisionShown { kept: found, text } })
    }
}
