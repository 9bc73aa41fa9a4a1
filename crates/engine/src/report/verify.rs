//! What recomputing everything came to.

use serde::Serialize;

use super::round;
use crate::verify::{Finding, Report, Severity};

/// What was checked, and what was found.
#[derive(Clone, Serialize, Debug)]
pub struct VerifyReport {
    /// Nothing was found.
    pub ok: bool,
    /// How much was checked.
    pub checked: Report,
    /// Records whose bytes were forgotten: nothing of them can be checked but that nothing is left (D6).
    pub forgotten: u64,
    /// Records of the agent that could not be decoded; their bytes are kept.
    pub set_aside: u64,
    pub findings: Vec<Finding>,
    pub seconds: f64,
}

impl VerifyReport {
    pub fn of(mut checked: Report, set_aside: u64, seconds: f64) -> VerifyReport {
        let findings = std::mem::take(&mut checked.findings);
        let (ok, forgotten) = (findings.is_empty(), checked.forgotten);
        VerifyReport { ok, checked, forgotten, set_aside, findings, seconds: round(seconds) }
    }

    /// Stored data is not what it was; else derived data alone is off.
    pub fn is_damaged(&self) -> bool {
        self.findings.iter().any(|f| f.severity == Severity::Damaged)
    }
}
