//! Lessons from sessions about their projects, as reports: the result of a pass, open candidates, and the result of an
//! undo.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::Serialize;

use crate::clock::rfc3339;
use crate::evolve::store::{Row, State};
use crate::evolve::tidy::Tidied;
use crate::evolve::writeback::{Made, Undone};
use crate::memory::Class;
use crate::redact::redact;
use crate::skill;

/// Result of an evolve pass.
#[derive(Clone, PartialEq, Serialize, JsonSchema, Default, Debug)]
pub struct EvolveReport {
    /// Whether this was a dry run: nothing was written, and the items are those a real pass would make.
    pub dry_run: bool,
    /// Number of sessions read in this pass.
    pub sessions: u64,
    /// Number of findings in those sessions.
    pub findings: u64,
    /// Memories written and proposals made, best first.
    pub items: Vec<EvolvedItem>,
    /// Number of candidates left for a later day.
    pub waiting: u64,
    /// Number of new drafts of skills.
    pub skills: u64,
    pub tidied: TidiedReport,
}

/// A memory or a proposal that evolve made.
#[derive(Clone, PartialEq, Serialize, JsonSchema, Debug)]
pub struct EvolvedItem {
    /// Id of the memory or proposal, `m:…` or `p:…`; `None` in a dry run.
    pub id: Option<String>,
    /// Kind of result: `written` for a memory, `proposed` for a proposal.
    pub change: &'static str,
    pub class: Class,
    /// Workspace id of the project.
    pub workspace: String,
    pub text: String,
    pub confidence: f64,
    /// Number of sessions that show it.
    pub sessions: u64,
    /// Words or outcomes from sessions that support the item, newest first.
    pub evidence: Vec<EvidenceReport>,
    /// Ids of memories that the item would supersede.
    pub replaces: Vec<String>,
    /// Language model that found the item, if nothing else found it.
    pub model: Option<String>,
}

/// A piece of evidence: words from one turn.
#[derive(Clone, PartialEq, Eq, Serialize, JsonSchema, Debug)]
pub struct EvidenceReport {
    pub session: String,
    pub turn: String,
    pub text: String,
}

/// Result of a tidy.
#[derive(Clone, PartialEq, Eq, Serialize, JsonSchema, Default, Debug)]
pub struct TidiedReport {
    /// Memories that repeat another memory.
    pub duplicates: Vec<DuplicateReport>,
    /// Memories that nobody has verified for longer than their class allows.
    pub stale: Vec<String>,
    /// Memories whose successor is gone, so that they are current again.
    pub broken_chains: Vec<String>,
    /// Open loops whose session is forgotten or unknown.
    pub orphan_loops: Vec<String>,
}

/// A memory that repeats another memory.
#[derive(Clone, PartialEq, Eq, Serialize, JsonSchema, Debug)]
pub struct DuplicateReport {
    /// Id of the memory that is now superseded.
    pub id: String,
    /// Id of the memory that stays.
    pub by: String,
}

/// Result of undoing one day of evolve.
#[derive(Clone, PartialEq, Eq, Serialize, JsonSchema, Debug)]
pub struct EvolveUndone {
    /// Number of passes that were undone.
    pub passes: u64,
    /// Memories and proposals that were removed.
    pub removed: Vec<String>,
    /// Memories that are current again.
    pub restored: Vec<String>,
    /// Items that stay because a person changed them or decided about them since.
    pub kept: Vec<String>,
    /// Text of each removed item, by its id.
    pub texts: BTreeMap<String, String>,
}

/// Candidates found in sessions, best first.
#[derive(Clone, PartialEq, Serialize, JsonSchema, Default, Debug)]
pub struct CandidatesReport {
    pub candidates: Vec<CandidateReport>,
}

/// A fact or rule that sessions show and that may become a memory or a proposal.
#[derive(Clone, PartialEq, Serialize, JsonSchema, Debug)]
pub struct CandidateReport {
    pub state: State,
    /// Id of the memory or proposal that the candidate became.
    pub item: Option<String>,
    pub class: Class,
    pub workspace: String,
    pub text: String,
    pub confidence: f64,
    pub sessions: u64,
    pub evidence: Vec<EvidenceReport>,
    /// Language model that found the candidate, if nothing else found it.
    pub model: Option<String>,
    /// Time of the last change of its state.
    pub changed: String,
}

/// Procedures that recur, ordered by the number of sessions that show them.
#[derive(Clone, PartialEq, Serialize, JsonSchema, Default, Debug)]
pub struct SkillsReport {
    pub skills: Vec<SkillReport>,
}

/// A procedure that recurs, with the draft of a skill made from it.
#[derive(Clone, PartialEq, Serialize, JsonSchema, Debug)]
pub struct SkillReport {
    /// Id of the skill candidate, such as `k:7`.
    pub id: String,
    pub state: skill::State,
    pub name: String,
    /// Workspace id of the project.
    pub workspace: String,
    pub steps: Vec<String>,
    /// Steps as the draft shows them: with the names of those that are left out, because they could do harm.
    pub shown: Vec<String>,
    /// Number of sessions that show the procedure, of times it was begun, and of times all its steps succeeded.
    pub sessions: u64,
    pub runs: u64,
    pub succeeded: u64,
    /// The newest successful run of each session, newest first, with the turns of its steps.
    pub evidence: Vec<RunReport>,
    /// Text of the `SKILL.md` that accepting the candidate would write.
    pub draft: String,
    /// Paths of the files written after a person accepted the candidate.
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
            shown: s.shown.clone(),
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
        let texts = u.texts.into_iter().map(|(id, text)| (id, redact(&text).into_owned())).collect();
        EvolveUndone { passes: u.passes, removed: u.removed, restored: u.restored, kept: u.kept, texts }
    }
}
