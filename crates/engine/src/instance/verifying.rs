//! Verification: recomputes the ledger, the index and the files of every agent.

use std::time::Instant;

use super::Instance;
use super::indexes::BUSY;
use super::listener::{Progress, Task};
use crate::error::Result;
use crate::index::Index;
use crate::next_step::worded;
use crate::report::verify::VerifyReport;
use crate::scope::AgentId;
use crate::transcript::read;
use crate::verify::{self, Finding, Severity, anchor};

impl Instance {
    /// Opens the search index as it is, without rebuilding it. Returns the index, or the reason why it cannot be used.
    fn index_to_verify(&self) -> Result<(Option<Index>, Option<String>)> {
        let path = self.index_path()?;
        if !path.exists() {
            let turns: bool =
                self.ledger.read(|tx| Ok(tx.query_row("SELECT EXISTS (SELECT 1 FROM turns)", [], |r| r.get(0))?))?;
            let what = worded("it is missing; the next search makes it anew, and so does ⟨reindex⟩");
            return Ok((None, turns.then_some(what)));
        }
        let lost = |what: String| Some(worded(&format!("{what}; ⟨reindex⟩ makes it anew")));
        let opened = match self.read_only {
            true => Index::open_read_only(&path, self.ledger.id()),
            false => Index::open_as_it_is(&path, self.ledger.id(), BUSY),
        };
        Ok(match opened {
            Ok(Some(index)) => (Some(self.with_model(index)?), None),
            Ok(None) => (None, lost("it cannot be read, or is of another ledger or version".into())),
            Err(e) => (None, lost(format!("it cannot be read: {e}"))),
        })
    }

    /// Recomputes every digest, chain and reference, with progress, and repairs nothing. The number of records set
    /// aside is that of `agent`. `full`: the vectors of all turns are made again and compared, not only a sample.
    pub fn verify(&self, agent: &AgentId, actor: &str, full: bool) -> Result<VerifyReport> {
        let started = Instant::now();
        self.listener.progress(Progress::Begin(Task::Verifying, verify::bytes_to_check(&self.ledger)?));
        let (index, lost) = self.index_to_verify()?;
        let report = verify::verify(&self.ledger, index.as_ref(), &mut |bytes| {
            self.listener.progress(Progress::Done(bytes));
        });
        let mut report = report?;
        report.findings.extend(lost.map(|what| Finding { severity: Severity::Stale, subject: "index".into(), what }));
        if let Some(index) = &index {
            let unlike = match index.vectors_unlike_texts(&self.ledger, full) {
                Ok(unlike) => unlike,
                Err(e) => vec![e.to_string()],
            };
            report.findings.extend(unlike.into_iter().map(|what| Finding {
                severity: Severity::Stale,
                subject: "index".into(),
                what: worded(&format!("{what}; ⟨reindex⟩ makes it anew")),
            }));
        }
        verify::said(&self.ledger, &self.programs, &mut report)?;
        self.listener.progress(Progress::End);
        if let Some(what) = self.ledger.read(|tx| anchor::broken(&self.home, tx))? {
            report.findings.push(Finding { severity: Severity::Damaged, subject: "audit".into(), what });
        }
        // The files are not scanned first, because a scan would drop a deleted file from the table and so hide that it
        // is gone. If damage to the ledger prevents this check, the ledger's findings are what matters.
        let mut look = || -> Result<()> {
            for agent in self.agents()? {
                if let Some(at) = self.assistant_as_it_is(&agent, actor)? {
                    verify::files::files(&at, index.as_ref(), self.read_only, &mut report)?;
                }
            }
            Ok(())
        };
        if let Err(e) = look() {
            report.findings.push(Finding { severity: Severity::Stale, subject: "files".into(), what: e.to_string() });
        }
        let set_aside = self.ledger.read(|tx| match read::agent_no(tx, agent)? {
            Some(no) => Ok(read::totals(tx, no)?.quarantined),
            None => Ok(0),
        })?;
        Ok(VerifyReport::of(report, set_aside, started.elapsed().as_secs_f64()))
    }
}
