//! Verification: recomputes the ledger, the index and the files of every agent.

use std::time::Instant;

use super::Instance;
use super::indexes::BUSY;
use super::listener::{Progress, Task};
use crate::error::{ErrorKind, Result};
use crate::forget;
use crate::home::layout;
use crate::index::Index;
use crate::next_step::worded;
use crate::report::verify::VerifyReport;
use crate::scope::AgentId;
use crate::transcript::read;
use crate::verify::anchor::Anchored;
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

    /// Recomputes every digest, chain and reference, with progress, and changes nothing. The number of records set
    /// aside is that of `agent`. `full`: the vectors of all turns are made again and compared, not only a sample.
    pub fn verify(&self, agent: &AgentId, actor: &str, full: bool) -> Result<VerifyReport> {
        let started = Instant::now();
        // Damage that keeps them from being counted is reported below.
        let bytes = verify::bytes_to_check(&self.ledger).unwrap_or_default();
        self.listener.progress(Progress::Begin(Task::Verifying, bytes));
        let (index, lost) = self.index_to_verify()?;
        let report = verify::verify(&self.ledger, index.as_ref(), &mut |bytes| {
            self.listener.progress(Progress::Done(bytes));
        });
        let mut report = report?;
        report.findings.extend(lost.map(|what| Finding { severity: Severity::Stale, subject: "index".into(), what }));
        if let Some(index) = &index {
            let unlike = [index.words_unlike_texts(&self.ledger, full), index.vectors_unlike_texts(&self.ledger, full)];
            let unlike = unlike.into_iter().flat_map(|found| found.unwrap_or_else(|e| vec![e.to_string()]));
            report.findings.extend(unlike.map(|what| Finding {
                severity: Severity::Stale,
                subject: "index".into(),
                what: worded(&format!("{what}; ⟨reindex⟩ makes it anew")),
            }));
        }
        let said = verify::said(&self.ledger, &self.programs, &mut report);
        self.listener.progress(Progress::End);
        unless_damaged(said, &mut report)?;
        let anchored = self.ledger.read(|tx| anchor::look(&self.home, tx));
        let mut notes = Vec::new();
        if let Some(at) = self.ledger.made_anew().unwrap_or_default() {
            notes.push(worded(&format!(
                "state/runtime.db was gone on {} and was made anew; what was stored before is not in it and was not \
                 checked: ⟨restore --from⟩ puts back a backup",
                &crate::clock::rfc3339(at)[..10]
            )));
        }
        if self.ledger.read(forget::is_unfinished).unwrap_or_default() {
            notes.push(
                "a forget is not finished: its words may still stand in pages, the index, logs and backups; the next \
                 command that is no check does the rest"
                    .to_owned(),
            );
        }
        match unless_damaged(anchored, &mut report)? {
            None | Some(Anchored::Found) => {}
            Some(Anchored::Broken(what)) => {
                report.findings.push(Finding { severity: Severity::Damaged, subject: "audit".into(), what });
            }
            Some(Anchored::Unreadable(what)) => {
                let subject = layout::AUDIT_HEAD.to_string();
                report.findings.push(Finding { severity: Severity::Stale, subject, what });
            }
            Some(Anchored::Missing(what)) => notes.push(format!("{} {what}", layout::AUDIT_HEAD)),
        }
        // The files are not scanned first, because a scan would drop a deleted file from the table and so hide that it
        // is gone. If damage to the ledger prevents this check, the ledger's findings are what matters.
        let mut look = || -> Result<()> {
            for agent in self.agents()? {
                if let Some(at) = self.assistant_as_it_is(&agent, actor)? {
                    verify::files::files(&at, index.as_ref(), self.read_only, &mut report)?;
                    if let Some(index) = &index {
                        verify::files::words(&at, index, full, &mut report)?;
                    }
                } else if let Some(lost) = self.lost_tree(&agent, actor)? {
                    report.files += lost.files;
                    let (subject, what) = (lost.folder, lost.what);
                    report.findings.push(Finding { severity: Severity::Stale, subject, what });
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
        });
        let set_aside = unless_damaged(set_aside, &mut report)?.unwrap_or_default();
        Ok(VerifyReport::of(report, notes, set_aside, started.elapsed().as_secs_f64()))
    }
}

/// Returns what a check found. If stored data is damaged, an error of the check is one more finding and not the end:
/// what was found before must be told.
fn unless_damaged<T>(checked: Result<T>, report: &mut verify::Report) -> Result<Option<T>> {
    match checked {
        Err(e) if report.is_damaged() && e.kind() != ErrorKind::Busy => {
            let what = format!("not everything could be checked: {e}");
            report.findings.push(Finding { severity: Severity::Damaged, subject: "database".into(), what });
            Ok(None)
        }
        other => other.map(Some),
    }
}
