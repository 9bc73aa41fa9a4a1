//! Everything recomputed: the ledger, the index, the files of every agent.

use std::time::Instant;

use super::Instance;
use super::listener::{Progress, Task};
use crate::error::Result;
use crate::report::verify::VerifyReport;
use crate::scope::AgentId;
use crate::transcript::read;
use crate::verify::{self, Finding, Severity};

impl Instance {
    /// Recomputes every digest, chain and reference, with progress, and repairs nothing. What is set aside is counted for
    /// one agent.
    pub fn verify(&self, agent: &AgentId, actor: &str) -> Result<VerifyReport> {
        let started = Instant::now();
        self.listener.progress(Progress::Begin(Task::Verifying, verify::bytes_to_check(&self.ledger)?));
        let index = if self.index_path()?.exists() { self.index().ok() } else { None };
        let report = verify::verify(&self.ledger, index.as_deref(), &mut |bytes| {
            self.listener.progress(Progress::Done(bytes));
        });
        let mut report = report?;
        verify::said(&self.ledger, &self.programs, &mut report)?;
        self.listener.progress(Progress::End);
        // What is wrong with the ledger may be in the way of looking at files; then that is what counts.
        let looked = self
            .look_at_all(actor)
            .and_then(|all| all.iter().try_for_each(|(at, _)| verify::files::files(at, index.as_deref(), &mut report)));
        if let Err(e) = looked {
            report.findings.push(Finding { severity: Severity::Stale, subject: "files".into(), what: e.to_string() });
        }
        let set_aside = self.ledger.read(|tx| match read::agent_no(tx, agent)? {
            Some(no) => Ok(read::totals(tx, no)?.quarantined),
            None => Ok(0),
        })?;
        Ok(VerifyReport::of(report, set_aside, started.elapsed().as_secs_f64()))
    }
}
