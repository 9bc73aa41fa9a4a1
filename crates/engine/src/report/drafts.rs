//! Drafts that programs left.

use schemars::JsonSchema;
use serde::Serialize;

use crate::continuity::draft::Draft;
use crate::error::Problem;

/// Drafts by name, and the files in the drafts folder that are not valid drafts.
#[derive(Clone, PartialEq, Eq, Serialize, JsonSchema, Debug)]
pub struct DraftsReport {
    pub drafts: Vec<Draft>,
    pub problems: Vec<DraftProblem>,
}

/// A problem with a file in the drafts folder.
#[derive(Clone, PartialEq, Eq, Serialize, JsonSchema, Debug)]
pub struct DraftProblem {
    pub place: String,
    pub what: String,
}

impl From<Problem> for DraftProblem {
    fn from(problem: Problem) -> DraftProblem {
        DraftProblem { place: problem.place, what: problem.what }
    }
}

/// Drafts that were deleted, by name.
#[derive(Clone, PartialEq, Eq, Serialize, JsonSchema, Debug)]
pub struct DiscardedReport {
    pub discarded: Vec<String>,
}
