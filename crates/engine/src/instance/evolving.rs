//! Reading sessions for what they teach about their projects: as a job once they are over, and on request.

use std::time::{Duration, Instant};

use serde_json::json;

use super::Instance;
use crate::error::Result;
use crate::evolve::{self, store, tidy};
use crate::ledger::Audit;
use crate::ledger::job_queue::{self, Job, JobKind};
use crate::report::evolve::{CandidatesReport, EvolveReport, EvolveUndone, SkillReport, SkillsReport};
use crate::scope::AgentId;
use crate::skill;

/// The longest time one job reads sessions before other jobs run; well below a job's lease.
const READING: Duration = Duration::from_secs(20);

impl Instance {
    /// Queues an evolve job for each agent with sessions to read, and a tidy job where only the nightly tidy is due.
    /// Returns whether it queued any.
    pub(super) fn queue_evolve(&self, actor: &str) -> Result<bool> {
        let now = self.ledger.now();
        let mut due: Vec<(JobKind, AgentId)> = Vec::new();
        for agent in self.agents()? {
            let Some(agent_no) = self.agent_no(&agent)? else { continue };
            if self.ledger.read(|tx| evolve::is_due(tx, agent_no, now))? {
                due.push((JobKind::Evolve, agent));
            } else if let Some(at) = self.assistant_as_it_is(&agent, actor)?
                && evolve::is_tidy_due(&at)?
            {
                due.push((JobKind::Tidy, agent));
            }
        }
        if due.is_empty() {
            return Ok(false);
        }
        self.ledger.write(Audit::new(actor, "job.enqueue"), |tx| {
            for (kind, agent) in &due {
                let payload = json!({ "agent": agent.as_str() }).to_string();
                job_queue::enqueue(tx, *kind, agent.as_str(), &payload, tx.now())?;
            }
            Ok(true)
        })
    }

    /// Runs an evolve or tidy job. A job of an agent that no longer exists is done without doing anything.
    pub(super) fn evolve_job(&self, job: &Job, actor: &str) -> Result<()> {
        let payload: serde_json::Value = serde_json::from_str(&job.payload).unwrap_or_default();
        let Some(agent) = payload["agent"].as_str().and_then(|id| AgentId::parse(id).ok()) else { return Ok(()) };
        if self.agent_no(&agent)?.is_none() {
            return Ok(());
        }
        let at = self.assistant(&agent, actor)?;
        {
            let lock = at.lock()?;
            match job.kind {
                JobKind::Tidy => drop(tidy::tidy(&lock, false)?),
                _ => drop(evolve::evolve(&lock, Some(Instant::now() + READING))?),
            }
        }
        self.settle(&at);
        Ok(())
    }

    /// Reads sessions that are over, makes proposals and memories of the best candidates, and tidies.
    pub fn evolve(&self, agent: &AgentId, actor: &str, dry_run: bool) -> Result<EvolveReport> {
        let at = self.assistant(agent, actor)?;
        let (evolved, tidied) = {
            let lock = at.lock()?;
            match dry_run {
                true => (evolve::preview(&lock)?, tidy::tidy(&lock, true)?),
                false => (evolve::evolve(&lock, None)?, tidy::tidy(&lock, false)?),
            }
        };
        if !dry_run {
            self.settle(&at);
        }
        Ok(EvolveReport {
            dry_run,
            sessions: evolved.sessions,
            findings: evolved.findings,
            items: evolved.chosen.made.into_iter().map(Into::into).collect(),
            waiting: evolved.chosen.waiting,
            skills: evolved.skills,
            tidied: tidied.into(),
        })
    }

    /// Undoes what evolve wrote and proposed on the last day it did so.
    pub fn undo_evolve(&self, agent: &AgentId, actor: &str) -> Result<EvolveUndone> {
        let at = self.assistant(agent, actor)?;
        let undone = {
            let lock = at.lock()?;
            evolve::undo(&lock)?
        };
        self.settle(&at);
        Ok(undone.into())
    }

    /// Returns the candidates found in sessions; `all`: including those a person decided about.
    pub fn candidates(&self, agent: &AgentId, all: bool) -> Result<CandidatesReport> {
        let agent_no = self.known_agent(agent)?;
        let rows = self.ledger.read(|tx| store::rows(tx, agent_no))?;
        let open = |row: &store::Row| matches!(row.state, store::State::Waiting | store::State::Proposed);
        Ok(CandidatesReport { candidates: rows.into_iter().filter(|r| all || open(r)).map(Into::into).collect() })
    }

    /// Returns the skill candidates of an agent; `all`: including those a person decided about.
    pub fn skills(&self, agent: &AgentId, all: bool) -> Result<SkillsReport> {
        let agent_no = self.known_agent(agent)?;
        let skills = self.ledger.read(|tx| skill::list(tx, agent_no))?;
        let open = |s: &&skill::Skill| all || s.state == skill::State::Draft;
        Ok(SkillsReport { skills: skills.iter().filter(open).map(SkillReport::of).collect::<Result<_>>()? })
    }

    /// Returns one skill candidate with its draft and its evidence.
    pub fn skill(&self, agent: &AgentId, name: &str) -> Result<SkillReport> {
        let agent_no = self.known_agent(agent)?;
        SkillReport::of(&self.ledger.read(|tx| skill::one(tx, agent_no, name))?)
    }

    /// Accepts a skill and writes it to the places `into`, or rejects it if `into` is `None`.
    pub fn decide_skill(
        &self,
        agent: &AgentId,
        actor: &str,
        name: &str,
        into: Option<&[skill::Into]>,
    ) -> Result<SkillReport> {
        let at = self.assistant(agent, actor)?;
        let decided = {
            let lock = at.lock()?;
            match into {
                Some(places) => skill::accept(&lock, name, places)?,
                None => skill::reject(&lock, name)?,
            }
        };
        SkillReport::of(&decided)
    }
}
