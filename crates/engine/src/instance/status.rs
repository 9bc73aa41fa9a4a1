//! The state of a memory (size, pending work, problems), and the overview that is shown first.

use std::collections::{BTreeMap, BTreeSet};

use super::Instance;
use crate::budget::{self, Pause};
use crate::clock::rfc3339;
use crate::error::{Error, ErrorKind, Result};
use crate::event::Role;
use crate::home::layout;
use crate::ledger::Read;
use crate::ledger::blocks::Opener;
use crate::ledger::job_queue;
use crate::next_step::See;
use crate::redact::redact;
use crate::render::memory::{self, Section};
use crate::report::counted;
use crate::report::model::LanguageModelReport;
use crate::report::status::{Lately, ModelReport, NowLine, Overview, ProgramShare, StatusReport};
use crate::report::visible::VisibleReport;
use crate::scope::{AgentId, AgentNo};
use crate::spool;
use crate::thread;
use crate::transcript::read::{self, SessionFilter, SessionRow, Totals};
use crate::transcript::workspaces;
use crate::tree::restore;
use crate::verify::anchor;

/// Number of turns a search can index before it answers (R10.10: within 50 ms).
const A_FEW: u64 = 200;

/// Number of projects, and of lines about current work, in the overview.
const FIRST: usize = 6;

impl Instance {
    /// Reports the state of an agent's memory after a scan of its files. A problem in one part is part of the report.
    pub fn status(&self, agent: &AgentId, actor: &str) -> Result<StatusReport> {
        let now = self.ledger.now();
        let (totals, sessions, jobs) = self.ledger.read(|tx| {
            let (totals, sessions) = stored(tx, read::agent_no(tx, agent)?)?;
            Ok((totals, sessions, job_queue::counts(tx, now)?))
        })?;
        let has_index = self.index_path()?.exists();
        let mut wrong = Vec::new();
        // If the pages cannot be reached, that is reported as a problem, and the rest of the report is made.
        let looked = match self.look_at(agent, actor) {
            Err(e) if matches!(e.kind(), ErrorKind::Refused | ErrorKind::NotFound) => {
                wrong.push(with_next_step(&e, "; "));
                None
            }
            other => other?,
        };
        // `wrong` has an entry already where the pages cannot be reached.
        if looked.is_none()
            && wrong.is_empty()
            && let Some(lost) = self.lost_tree(agent, actor)?
        {
            wrong.push(format!("{} {}", lost.folder, lost.what));
        }
        let (not_indexed, files_not_indexed, index_bytes) = match self.index() {
            Ok(mut index) => {
                let of_files = match &looked {
                    Some((at, _)) => self.catch_up_files(&mut index, at).ok(),
                    None => Some(0),
                };
                (self.ledger.read(|tx| index.coverage(tx)).map(|c| c.missing).ok(), of_files, index.bytes_on_disk())
            }
            Err(_) => (None, None, 0),
        };
        let files = looked.as_ref().map(|(at, problems)| VisibleReport::of(at, problems)).transpose()?;
        wrong.extend(files.iter().flat_map(|f| f.wrong.clone()));
        if !has_index && totals.turns > 0 {
            wrong.push(format!("the search index is missing: {}", See::new("reindex")));
        }
        match not_indexed {
            // The next search indexes so few turns by itself; a hook that stored turns has queued the rest. Without an index
            // all turns are missing, and that was said.
            Some(n) if n <= A_FEW || !has_index => {}
            Some(n) => {
                wrong.push(format!("{} not in the search index yet: {}", counted(n, "turn"), See::new("work")));
            }
            None => wrong.push(format!("the search index does not fit the ledger: {}", See::new("reindex"))),
        }
        // Missing files are not a problem: the next searches index them, a few at a time.
        if files_not_indexed.is_none() && not_indexed.is_some() {
            wrong.push(format!("the search index does not fit the files: {}", See::new("reindex")));
        }
        wrong.extend(self.without_model().map(|e| format!("found by words only: {}", with_next_step(e, ": "))));
        let language_model = self.language_model_report(agent, actor)?;
        if let Some(what) = language_model.as_ref().and_then(off) {
            wrong.push(what);
        }
        if jobs.dead > 0 {
            wrong.push(format!("{} failed for good: {}", counted(jobs.dead, "job"), See::new("audit list")));
        }
        // A spool that cannot be listed is among the findings of the home below.
        let unreadable = spool::unreadable(&self.home).unwrap_or(0);
        if unreadable > 0 {
            wrong.push(format!(
                "{} of hooks in {}/ cannot be read (*.unreadable): look into them, then remove them",
                counted(unreadable, "call"),
                layout::SPOOL
            ));
        }
        if let Some(at) = self.ledger.made_anew()? {
            wrong.push(format!(
                "state/runtime.db was gone on {} and was made anew; what was said before is only in a backup: {}",
                &rfc3339(at)[..10],
                See::new("restore --from")
            ));
        }
        let backup = self.backups_seen();
        if let (Some(at), Some(why)) = (backup.failed_at, &backup.why) {
            wrong.push(format!("the backup of {} failed: {why}: {}", &rfc3339(at)[..10], See::new("backup")));
        }
        let findings = self.home.findings_at_a_glance();
        wrong.extend(findings.iter().map(|f| format!("{}: {} ({})", f.path.display(), f.what, f.fix)));
        let (model, model_at) = self.model();
        let in_use = self.model_of_vectors();
        Ok(StatusReport {
            home: self.home.root().display().to_string(),
            agent: agent.as_str().to_owned(),
            stored: totals,
            records: totals.records,
            ledger_bytes: self.ledger.bytes_on_disk(),
            index_bytes,
            programs: self.shares(&sessions),
            set_aside: totals.quarantined,
            embeddings: ModelReport {
                model: model.map(str::to_owned),
                at: model_at.to_owned(),
                problem: self.without_model().map(Error::to_string),
                in_use,
                renewing: self.renewing(),
            },
            language_model,
            not_indexed,
            files_not_indexed,
            jobs,
            backup,
            audit: self.ledger.read(anchor::newest)?,
            assistant: files,
            wrong,
        })
    }

    /// Records that a person has seen a report, so that its one-time notes are not repeated. Does nothing in a home that
    /// cannot be written.
    pub fn told(&self, agent: &AgentId, actor: &str, report: &StatusReport) -> Result<()> {
        let told = report.assistant.as_ref().map_or(&[][..], |files| &files.deletions);
        if told.is_empty() || self.read_only {
            return Ok(());
        }
        match self.assistant_as_it_is(agent, actor)? {
            Some(at) => at.write("file.said", |tx| restore::said(tx, at.agent_no, told)),
            None => Ok(()),
        }
    }

    fn shares(&self, sessions: &[SessionRow]) -> Vec<ProgramShare> {
        let mut shares: BTreeMap<&str, (u64, u64)> = BTreeMap::new();
        for session in sessions {
            let (sessions, turns) = shares.entry(self.program_title(&session.key)).or_default();
            *sessions += 1;
            *turns += session.turns;
        }
        let share = |(program, (sessions, turns)): (&str, (u64, u64))| ProgramShare {
            program: program.to_owned(),
            sessions,
            turns,
        };
        shares.into_iter().map(share).collect()
    }

    /// Returns the overview. Makes the agent's pages if there are none; if that fails, the overview has no pages.
    pub fn overview(&self, agent: &AgentId, actor: &str) -> Result<Overview> {
        let (totals, lately, programs, threads, others) = self.ledger.read(|tx| {
            let agent_no = read::agent_no(tx, agent)?;
            let (totals, sessions) = stored(tx, agent_no)?;
            let programs: BTreeSet<&str> = sessions.iter().map(|s| self.program_title(&s.key)).collect();
            let (lately, threads) = match agent_no {
                Some(no) => (self.lately(tx, no, &sessions)?, thread::list(tx, no)?.len()),
                None => (Vec::new(), 0),
            };
            let mut others = workspaces::agents(tx)?;
            others.retain(|a| a.agent != agent.as_str() && a.sessions > 0);
            let programs: Vec<String> = programs.into_iter().map(str::to_owned).collect();
            Ok((totals, lately, programs, threads as u64, others))
        })?;
        let at = self.assistant(agent, actor).ok();
        let now = match &at {
            Some(at) => at.read(|tx| memory::tier1(at, tx))?,
            None => Vec::new(),
        };
        let now = now.into_iter().filter(|l| l.section == Section::Now && l.left_out.is_none());
        Ok(Overview {
            home: self.home.root().display().to_string(),
            threads,
            now: now.take(FIRST).map(NowLine::from).collect(),
            stored: totals,
            lately,
            programs,
            others: others.into_iter().map(|a| a.agent).collect(),
            pages: at.map(|at| at.files.shown().to_owned()),
        })
    }

    /// Returns the newest session of each of the projects that were worked in last.
    fn lately(&self, tx: &Read, agent_no: AgentNo, sessions: &[SessionRow]) -> Result<Vec<Lately>> {
        let opener = Opener::default();
        let mut projects = BTreeSet::new();
        let newest = sessions.iter().filter(|s| projects.insert(s.workspace.as_deref())).take(FIRST);
        let lately = newest.map(|session| {
            Ok(Lately {
                project: session.workspace.clone(),
                words: last_words(tx, &opener, agent_no, session)?,
                at: session.last_at,
                program: self.program_title(&session.key).to_owned(),
            })
        });
        lately.collect()
    }
}

fn stored(tx: &Read, agent_no: Option<AgentNo>) -> Result<(Totals, Vec<SessionRow>)> {
    match agent_no {
        Some(no) => Ok((read::totals(tx, no)?, read::sessions(tx, no, &SessionFilter::default())?)),
        None => Ok(Default::default()),
    }
}

/// Returns the last prompt of a session, or its title.
fn last_words(tx: &Read, opener: &Opener, agent_no: AgentNo, session: &SessionRow) -> Result<String> {
    let runs = read::runs(tx, session.no)?;
    let last = runs.iter().rev().filter(|r| r.lane.is_empty()).find_map(|r| r.prompt);
    let prompt = last.map(|id| read::turn(tx, opener, agent_no, id)).transpose()?;
    let words = prompt.filter(|turn| turn.role == Role::User).map(|turn| turn.text);
    let words = words.or_else(|| session.title.clone()).unwrap_or_default();
    Ok(redact(&words).into_owned())
}

/// Returns why the language model is not asked until somebody acts, and what to do; `None` if it may be asked or only
/// rests.
fn off(model: &LanguageModelReport) -> Option<String> {
    let why = match (&model.problem, &model.pause) {
        (Some(problem), _) => problem,
        (None, Some(Pause::Refused { why })) => why,
        _ => return None,
    };
    Some(budget::not_asked(why))
}

pub(super) fn with_next_step(error: &Error, between: &str) -> String {
    error.next_step().map_or_else(|| error.to_string(), |next| format!("{error}{between}{next}"))
}
