//! One visible file with its text.

use serde::Serialize;

use super::items::EntryReport;
use super::memories::AgeReport;
use crate::clock::Millis;
use crate::continuity;
use crate::error::Result;
use crate::memory::leaf;
use crate::memory::staleness::{Staleness, staleness};
use crate::redact::redact;
use crate::tree::AssistantHome;
use crate::tree::file_table::{Entry, Kind};

/// A visible file with its text, without credentials.
#[derive(Clone, PartialEq, Serialize, Debug)]
pub struct FileTextReport {
    #[serde(flatten)]
    pub entry: EntryReport,
    pub kind: &'static str,
    pub state: &'static str,
    /// Its text without the front matter.
    pub body: String,
    /// Where it lies on this machine.
    pub file: String,
    /// Only of a memory that was asked for as one.
    #[serde(flatten)]
    pub memory: Option<MemoryText>,
    /// The whole file, front matter included.
    #[serde(skip)]
    pub document: String,
}

/// What a memory says, and whether it is still good.
#[derive(Clone, PartialEq, Serialize, Debug)]
pub struct MemoryText {
    #[serde(flatten)]
    pub age: AgeReport,
    /// What is remembered, without the heading.
    pub text: String,
    #[serde(skip)]
    pub staleness: Staleness,
}

impl FileTextReport {
    /// Reads the file of `entry`. `NotFound` where it is gone meanwhile.
    pub fn of(at: &AssistantHome, entry: &Entry) -> Result<FileTextReport> {
        let doc = continuity::read(at, &entry.path)?;
        Ok(FileTextReport {
            entry: EntryReport::from(entry),
            kind: entry.kind.name(),
            state: entry.state.name(),
            body: redact(&doc.body()).into_owned(),
            file: at.shown(&entry.path),
            memory: None,
            document: redact(&String::from_utf8_lossy(doc.print())).into_owned(),
        })
    }

    /// [`FileTextReport::of`], with what a memory says beside its file.
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
