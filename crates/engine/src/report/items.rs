//! Visible files as reports name them: a row of the file table, and an item after an act.

use serde::Serialize;
use serde_json::{Map, Value};

use crate::continuity::Item;
use crate::redact::redact;
use crate::tree::file_table::Entry;

/// What an act did to an item.
#[derive(Clone, PartialEq, Eq, Serialize, Debug)]
pub struct ItemReport {
    pub id: String,
    pub title: String,
    pub path: String,
    /// `new`, `changed` or `same`.
    pub change: &'static str,
}

impl From<&Item> for ItemReport {
    fn from(item: &Item) -> ItemReport {
        ItemReport {
            id: item.id.clone(),
            title: item.title.clone(),
            path: item.path.as_str().to_owned(),
            change: item.change.name(),
        }
    }
}

/// What an act did to several items.
#[derive(Clone, PartialEq, Eq, Serialize, Debug)]
pub struct ItemsReport {
    pub items: Vec<ItemReport>,
}

impl ItemsReport {
    pub fn of(items: &[Item]) -> ItemsReport {
        ItemsReport { items: items.iter().map(ItemReport::from).collect() }
    }
}

/// A visible file, as the file table has it.
#[derive(Clone, PartialEq, Serialize, Debug)]
pub struct EntryReport {
    pub id: Option<String>,
    pub title: String,
    pub path: String,
    pub status: Option<String>,
    pub class: Option<String>,
    pub scope: Option<String>,
    /// The keys of its front matter.
    pub fields: Value,
    /// What is wrong with the file.
    pub problem: Option<String>,
    /// A person changed it last.
    pub by_hand: bool,
}

impl From<&Entry> for EntryReport {
    fn from(entry: &Entry) -> EntryReport {
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
        }
    }
}

/// Open loops, newest first.
#[derive(Clone, PartialEq, Serialize, Default, Debug)]
pub struct LoopsReport {
    pub loops: Vec<EntryReport>,
    /// How many there are, those that were not asked for included.
    pub all: usize,
    #[serde(skip)]
    pub entries: Vec<Entry>,
}

impl LoopsReport {
    /// The first `limit` of `entries`.
    pub fn of(mut entries: Vec<Entry>, limit: usize) -> LoopsReport {
        let all = entries.len();
        entries.truncate(limit);
        LoopsReport { loops: entries.iter().map(EntryReport::from).collect(), all, entries }
    }
}

/// Proposals of one status, newest first.
#[derive(Clone, PartialEq, Serialize, Default, Debug)]
pub struct ProposalsReport {
    pub proposals: Vec<EntryReport>,
    /// How many there are, those that were not asked for included.
    pub all: usize,
    #[serde(skip)]
    pub entries: Vec<Entry>,
}

impl ProposalsReport {
    /// The first `limit` of `entries`.
    pub fn of(mut entries: Vec<Entry>, limit: usize) -> ProposalsReport {
        let all = entries.len();
        entries.truncate(limit);
        ProposalsReport { proposals: entries.iter().map(EntryReport::from).collect(), all, entries }
    }
}

/// Artifacts, newest first.
#[derive(Clone, PartialEq, Serialize, Default, Debug)]
pub struct ArtifactsReport {
    pub artifacts: Vec<EntryReport>,
    /// How many there are, those that were not asked for included.
    pub all: u64,
    #[serde(skip)]
    pub entries: Vec<Entry>,
}

impl ArtifactsReport {
    pub fn of(entries: Vec<Entry>, all: u64) -> ArtifactsReport {
        ArtifactsReport { artifacts: entries.iter().map(EntryReport::from).collect(), all, entries }
    }
}

/// A proposal after a person changed it.
#[derive(Clone, PartialEq, Eq, Serialize, Debug)]
pub struct EditedReport {
    pub id: Option<String>,
    pub path: String,
    /// Something was written.
    pub changed: bool,
}

impl EditedReport {
    pub fn of(entry: &Entry, changed: bool) -> EditedReport {
        EditedReport { id: entry.item.clone(), path: entry.path.as_str().to_owned(), changed }
    }
}

/// Every text in a value without credentials.
pub fn redacted(value: Value) -> Value {
    match value {
        Value::String(text) => Value::String(redact(&text).into_owned()),
        Value::Array(all) => Value::Array(all.into_iter().map(redacted).collect()),
        Value::Object(fields) => {
            Value::Object(fields.into_iter().map(|(key, value)| (key, redacted(value))).collect::<Map<_, _>>())
        }
        other => other,
    }
}
