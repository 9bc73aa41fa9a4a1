//! Drafts that programs left.

use serde::Serialize;

use crate::clock::Millis;
use crate::continuity::draft::{Draft, Form};
use crate::error::Problem;

/// A draft.
#[derive(Clone, PartialEq, Eq, Serialize, Debug)]
pub struct DraftReport {
    /// How it is named in commands: `<program>/<file>`.
    pub draft: String,
    /// `markdown`, `text`, `binary`, `large` or `unreadable`.
    pub form: &'static str,
    pub bytes: u64,
    /// In milliseconds since 1970.
    pub modified_at: Millis,
    #[serde(skip)]
    pub what: Form,
}

impl From<Draft> for DraftReport {
    fn from(draft: Draft) -> DraftReport {
        let Draft { name, form, size, modified_at } = draft;
        DraftReport { draft: name, form: form.name(), bytes: size, modified_at, what: form }
    }
}

/// Drafts by name, and what stands among them and is none.
#[derive(Clone, PartialEq, Eq, Serialize, Default, Debug)]
pub struct DraftsReport {
    pub drafts: Vec<DraftReport>,
    pub problems: Vec<DraftProblem>,
}

/// What is wrong with a file among drafts.
#[derive(Clone, PartialEq, Eq, Serialize, Debug)]
pub struct DraftProblem {
    pub place: String,
    pub what: String,
    #[serde(skip)]
    pub problem: Problem,
}

impl DraftsReport {
    pub fn of(drafts: Vec<Draft>, problems: Vec<Problem>) -> DraftsReport {
        let problems = problems.into_iter().map(|problem| DraftProblem {
            place: problem.place.clone(),
            what: problem.what.clone(),
            problem,
        });
        DraftsReport { drafts: drafts.into_iter().map(DraftReport::from).collect(), problems: problems.collect() }
    }
}

/// Drafts that were deleted, by name.
#[derive(Clone, PartialEq, Eq, Serialize, Debug)]
pub struct DiscardedReport {
    pub discarded: Vec<String>,
}
