//! What is forgotten, and what is not.

use serde::Serialize;

use crate::forget::{Plan, Preview};

/// What is forgotten, or would be.
#[derive(Clone, PartialEq, Serialize, Debug)]
pub struct ForgetReport {
    /// It was done.
    pub forgotten: bool,
    #[serde(flatten)]
    pub preview: Preview,
    /// Files that were to go and were saved meanwhile: left alone.
    pub saved_meanwhile: Vec<String>,
    /// Nothing is left to be forgotten.
    #[serde(skip)]
    pub is_nothing: bool,
}

impl From<&Plan> for ForgetReport {
    /// What would be forgotten.
    fn from(plan: &Plan) -> ForgetReport {
        let preview = plan.preview.clone();
        ForgetReport { forgotten: false, preview, saved_meanwhile: Vec::new(), is_nothing: plan.is_empty() }
    }
}
