//! The report of `verify`, which recomputes everything stored.

use serde::Serialize;

use super::round;
use crate::verify::{Finding, Report, Severity};

/// Counts of everything that was checked, and the findings.
#[derive(Clone, Serialize, Debug)]
pub struct VerifyReport {
    /// Whether nothing was found.
    pub ok: bool,
    /// Counts of what was checked.
    pub checked: Report,
    /// Number of records whose bytes were forgotten; for these, only the absence of the bytes can be checked (D6).
    pub forgotten: u64,
    /// Number of records of the agent that could not be decoded; their bytes are kept.
    pub set_aside: u64,
    pub findings: Vec<Finding>,
    /// Checks that could not be made; no findings.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub notes: Vec<String>,
    pub seconds: f64,
}

impl VerifyReport {
    pub fn of(mut checked: Report, notes: Vec<String>, set_aside: u64, seconds: f64) -> VerifyReport {
        let findings = std::mem::take(&mut checked.findings);
        let (ok, forgotten) = (findings.is_empty(), checked.forgotten);
        VerifyReport { ok, checked, forgotten, set_aside, findings, notes, seconds: round(seconds) }
    }

    /// Whether stored data is damaged; otherwise only derived data is wrong.
    pub fn is_damaged(&self) -> bool {
        self.findings.iter().any(|f| f.severity == Severity::Damaged)
    }
}
