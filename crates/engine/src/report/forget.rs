//! Reports of `forget`: what a run removes, and what it had to leave.

use serde::Serialize;

use crate::forget::{Plan, Preview};

/// Everything that a forget erased, or, before the person agrees, everything it would erase.
#[derive(Clone, PartialEq, Serialize, Debug)]
pub struct ForgetReport {
    /// Whether it was carried out.
    pub forgotten: bool,
    #[serde(flatten)]
    pub preview: Preview,
    /// Files that should have been removed but were saved in the meantime, and so were left as they are.
    pub saved_meanwhile: Vec<String>,
    /// Whether there is nothing to forget.
    #[serde(skip)]
    pub is_nothing: bool,
}

impl From<&Plan> for ForgetReport {
    /// Reports the plan before it is carried out.
    fn from(plan: &Plan) -> ForgetReport {
        let preview = plan.preview.clone();
        ForgetReport { forgotten: false, preview, saved_meanwhile: Vec::new(), is_nothing: plan.is_empty() }
    }
}
