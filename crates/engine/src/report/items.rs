//! Visible files in reports: rows of the file table, and items after an act.

use schemars::JsonSchema;
use serde::Serialize;
use serde_json::Value;

use crate::clock::{Millis, rfc3339};
use crate::continuity::Item;
use crate::home::RelPath;
use crate::redact::{redact, redacted};
use crate::render::unfiled::Unfiled;
use crate::tree::file_table::Entry;

/// Items after an act changed them.
#[derive(Clone, PartialEq, Eq, Serialize, JsonSchema, Debug)]
pub struct ItemsReport<'i> {
    pub items: &'i [Item],
}

/// A visible file, as its row in the file table describes it.
#[derive(Clone, PartialEq, Serialize, JsonSchema, Debug)]
pub struct EntryReport {
    pub id: Option<String>,
    pub title: String,
    pub path: String,
    pub status: Option<String>,
    pub class: Option<String>,
    pub scope: Option<String>,
    /// Keys and values of the front matter.
    pub fields: Value,
    /// Problem found in the file.
    pub problem: Option<String>,
    /// Whether a person, not Heirloom, changed the file last.
    pub by_hand: bool,
    #[serde(skip)]
    pub entry: Entry,
}

impl EntryReport {
    pub fn of(entry: Entry) -> EntryReport {
        EntryReport {
            id: entry.item.clone(),
            title: redact(&entry.title).into_owned(),
            path: entry.path.as_str().to_owned(),
            status: entry.status.clone(),
            class: entry.class.clone(),
            scope: entry.scope.clone(),
            fields: redacted(Value::Object(entry.fields.clone())),
            problem: entry.problem.clone(),
            by_hand: entry.by_hand(),
            entry,
        }
    }

    /// Returns reports of the first `limit` of `entries`.
    pub fn first(entries: Vec<Entry>, limit: usize) -> Vec<EntryReport> {
        entries.into_iter().take(limit).map(EntryReport::of).collect()
    }
}

impl From<&Entry> for EntryReport {
    fn from(entry: &Entry) -> EntryReport {
        EntryReport::of(entry.clone())
    }
}

/// Open loops, newest first.
#[derive(Clone, PartialEq, Serialize, JsonSchema, Debug)]
pub struct LoopsReport {
    pub loops: Vec<EntryReport>,
    /// Number of all open loops, including those the filter or limit left out.
    pub all: usize,
    /// Open items that pages show although they have no file yet.
    pub unfiled: Vec<UnfiledReport>,
}

/// An open item without a file. It can be resolved by its id like an open loop.
#[derive(Clone, PartialEq, Serialize, JsonSchema, Debug)]
pub struct UnfiledReport {
    pub id: String,
    pub title: String,
    pub text: String,
    pub turns: Vec<String>,
    pub thread: String,
    pub since: Option<String>,
    pub due: Option<String>,
    /// Whether the conversation with the item is still going on.
    pub running: bool,
    #[serde(skip)]
    pub at: Option<Millis>,
}

impl From<Unfiled> for UnfiledReport {
    fn from(item: Unfiled) -> UnfiledReport {
        UnfiledReport {
            id: item.id,
            title: redact(&item.title).into_owned(),
            text: redact(&item.text).into_owned(),
            turns: item.turns.iter().map(ToString::to_string).collect(),
            thread: item.thread,
            since: item.since.map(rfc3339),
            due: item.due,
            running: item.running,
            at: item.since,
        }
    }
}

/// Proposals of one status, newest first.
#[derive(Clone, PartialEq, Serialize, JsonSchema, Debug)]
pub struct ProposalsReport {
    pub proposals: Vec<EntryReport>,
    /// Number of all proposals, including those the filter or limit left out.
    pub all: usize,
}

/// Artifacts, newest first.
#[derive(Clone, PartialEq, Serialize, JsonSchema, Debug)]
pub struct ArtifactsReport {
    pub artifacts: Vec<EntryReport>,
    /// Number of all artifacts, including those the filter or limit left out.
    pub all: u64,
}

/// A proposal after a person changed it.
#[derive(Clone, PartialEq, Eq, Serialize, JsonSchema, Debug)]
pub struct EditedReport {
    pub id: Option<String>,
    pub path: RelPath,
    /// Whether the file was changed.
    pub changed: bool,
}
