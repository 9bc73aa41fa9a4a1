//! What sessions teach about their projects: what a pass came to, what waits, what was taken back.

use schemars::JsonSchema;
use serde::Serialize;

use crate::clock::rfc3339;
use crate::evolve::store::{Row, State};
use crate::evolve::tidy::Tidied;
use crate::evolve::writeback::{Made, Undone};
use crate::memory::Class;
use crate::skill;

/// What a pass came to.
#[derive(Clone, PartialEq, Serialize, JsonSchema, Default, Debug)]
pub struct EvolveReport {
    /// Nothing was written: this is what would be.
    pub dry_run: bool,
    /// Sessions read in this pass.
    pub sessions: u64,
    /// What they show.
    pub findings: u64,
    /// Memories that were written and proposals that were made, best first.
    pub items: Vec<EvolvedItem>,
    /// Candidates that wait for another day.
    pub waiting: u64,
    /// Drafts of skills that are new.
    pub skills: u64,
    pub tidied: TidiedReport,
}

/// A memory or a proposal evolve made.
#[derive(Clone, PartialEq, Serialize, JsonSchema, Debug)]
pub struct EvolvedItem {
    /// `m:…` or `p:…`; `None` in a dry run.
    pub id: Option<String>,
    /// `written` or `proposed`.
    pub change: &'static str,
    pub class: Class,
    /// The project, by its workspace id.
    pub workspace: String,
    pub text: String,
    pub confidence: f64,
    /// How many sessions show it.
    pub sessions: u64,
    /// What was said or shown, newest first.
    pub evidence: Vec<EvidenceReport>,
    /// Memories it would take the place of.
    pub replaces: Vec<String>,
    /// The language model that found it, where nothing else did.
    pub model: Option<String>,
}

/// A piece of evidence.
#[derive(Clone, PartialEq, Eq, Serialize, JsonSchema, Debug)]
pub struct EvidenceReport {
    pub session: String,
    pub turn: String,
    pub text: String,
}

/// What a tidy did and found.
#[derive(Clone, PartialEq, Eq, Serialize, JsonSchema, Default, Debug)]
pub struct TidiedReport {
    /// Memories that say what another one says.
    pub duplicates: Vec<DuplicateReport>,
    /// Memories nobody has verified for longer than their class allows.
    pub stale: Vec<String>,
    /// Memories whose successor is gone: they count again.
    pub broken_chains: Vec<String>,
    /// Open loops whose session is forgotten or unknown.
    pub orphan_loops: Vec<String>,
}

/// A memory that says what another one says.
#[derive(Clone, PartialEq, Eq, Serialize, JsonSchema, Debug)]
pub struct DuplicateReport {
    /// It is superseded now.
    pub id: String,
    /// This one stays.
    pub by: String,
}

/// What taking a day of evolve back came to.
#[derive(Clone, PartialEq, Eq, Serialize, JsonSchema, Debug)]
pub struct EvolveUndone {
    /// How many passes were taken back.
    pub passes: u64,
    /// Memories and proposals that are gone.
    pub removed: Vec<String>,
    /// Memories that count again.
    pub restored: Vec<String>,
    /// What a person changed or decided since, which stays.
    pub kept: Vec<String>,
}

/// What sessions were found to show, best first.
#[derive(Clone, PartialEq, Serialize, JsonSchema, Default, Debug)]
pub struct CandidatesReport {
    pub candidates: Vec<CandidateReport>,
}

/// Something sessions show.
#[derive(Clone, PartialEq, Serialize, JsonSchema, Debug)]
pub struct CandidateReport {
    pub state: State,
    /// The memory or the proposal it became.
    pub item: Option<String>,
    pub class: Class,
    pub workspace: String,
    pub text: String,
    pub confidence: f64,
    pub sessions: u64,
    pub evidence: Vec<EvidenceReport>,
    /// The language model that found it, where nothing else did.
    pub model: Option<String>,
    /// When its state changed last.
    pub changed: String,
}

/// Procedures that recur, those that most sessions show first.
#[derive(Clone, PartialEq, Serialize, JsonSchema, Default, Debug)]
pub struct SkillsReport {
    pub skills: Vec<SkillReport>,
}

/// A procedure that recurs, as the draft of a skill.
#[derive(Clone, PartialEq, Serialize, JsonSchema, Debug)]
pub struct SkillReport {
    /// `k:7`.
    pub id: String,
    pub state: skill::State,
    pub name: String,
    /// The project, by its workspace id.
    pub workspace: String,
    pub steps: Vec<String>,
    /// How many sessions show it, how often it was begun, and how often all of it succeeded.
    pub sessions: u64,
    pub runs: u64,
    pub succeeded: u64,
    /// Sessions, newest first, with the turns of the steps.
    pub evidence: Vec<RunReport>,
    /// The SKILL.md it would be.
    pub draft: String,
    /// Files that were written after a yes.
    pub placed: Vec<String>,
}

/// One run of a procedure.
#[derive(Clone, PartialEq, Eq, Serialize, JsonSchema, Debug)]
#[schemars(rename = "SkillRun")]
pub struct RunReport {
    pub session: String,
    pub turns: Vec<String>,
}

impl SkillReport {
    pub fn of(s: &skill::Skill) -> crate::error::Result<SkillReport> {
        let run = |(session, turns): &(String, Vec<crate::scope::TurnId>)| RunReport {
            session: session.clone(),
            turns: turns.iter().map(ToString::to_string).collect(),
        };
        Ok(SkillReport {
            id: s.id(),
            state: s.state,
            name: s.name.clone(),
            workspace: s.workspace.clone(),
            steps: s.steps.clone(),
            sessions: s.sessions as u64,
            runs: s.runs as u64,
            succeeded: s.succeeded as u64,
            evidence: s.evidence.iter().map(run).collect(),
            draft: s.text()?,
            placed: s.placed.iter().map(|p| p.path.clone()).collect(),
        })
    }
}

fn evidence(of: &crate::evolve::candidate::Candidate) -> Vec<EvidenceReport> {
    let each = |e: &crate::evolve::candidate::Evidence| EvidenceReport {
        session: e.session.clone(),
        turn: e.turn.to_string(),
        text: crate::redact::redact(&e.text).into_owned(),
    };
    of.evidence.iter().map(each).collect()
}

impl From<Made> for EvolvedItem {
    fn from(made: Made) -> EvolvedItem {
        EvolvedItem {
            id: made.item,
            change: if made.written { "written" } else { "proposed" },
            class: made.candidate.class,
            workspace: made.workspace,
            confidence: made.candidate.confidence,
            sessions: made.candidate.sessions as u64,
            evidence: evidence(&made.candidate),
            replaces: made.replaces,
            model: made.candidate.model,
            text: made.candidate.text,
        }
    }
}

impl From<Row> for CandidateReport {
    fn from(row: Row) -> CandidateReport {
        CandidateReport {
            state: row.state,
            item: row.item,
            class: row.candidate.class,
            workspace: row.workspace,
            confidence: row.candidate.confidence,
            sessions: row.candidate.sessions as u64,
            evidence: evidence(&row.candidate),
            text: row.candidate.text,
            model: row.candidate.model,
            changed: rfc3339(row.changed_at),
        }
    }
}

impl From<Tidied> for TidiedReport {
    fn from(t: Tidied) -> TidiedReport {
        let duplicates = t.duplicates.into_iter().map(|(id, by)| DuplicateReport { id, by }).collect();
        let Tidied { stale, broken_chains, orphan_loops, .. } = t;
        TidiedReport { duplicates, stale, broken_chains, orphan_loops }
    }
}

impl From<Undone> for EvolveUndone {
    fn from(u: Undone) -> EvolveUndone {
        EvolveUndone { passes: u.passes, removed: u.removed, restored: u.restored, kept: u.kept }
    }
}
