//! What sessions teach about the projects they work in: the commands that work, facts, ways of doing something, what is not
//! allowed (R9.4, R9.5, R11.3). Storey 3. Deterministic; no model is needed. Where one was chosen, it reads the same
//! sessions afterwards ([`model_pass`]), and what it finds is checked word by word ([`extraction`]).
//!
//! Each session is read once when it is over or quiet ([`reader`], with [`commands`] and [`sentences`]); what it shows is
//! kept ([`store`]). The findings of a project come to candidates ([`candidate`]), the best of which become proposals
//! or, where several sessions agree on a fact, memories ([`writeback`]). [`tidy`] goes over what is remembered at night.
//!
//! Evidence comes before a score: two independent sessions, or one explicit sentence of a person. What was recalled or
//! injected is never evidence, or the memory would feed on itself.

pub mod candidate;
pub mod commands;
pub mod extraction;
pub mod model_pass;
pub mod reader;
pub mod sentences;
pub mod store;
pub mod tidy;
pub mod writeback;

use std::collections::BTreeMap;
use std::time::Instant;

use rusqlite::OptionalExtension;

use self::candidate::{Candidate, Stored};
use self::reader::{Reader, Shown};
use self::store::{Due, Row, State};
use self::writeback::{Chosen, Undone};
use crate::clock::Millis;
use crate::error::Result;
use crate::ledger::Read;
use crate::ledger::blocks::Opener;
use crate::scope::AgentNo;
use crate::skill;
use crate::transcript::read;
use crate::tree::{AssistantHome, TreeLock};

/// Sessions read between two looks at the clock.
const AT_ONCE: usize = 16;

/// The hour of the operator's day from which on the night's tidy is due: late enough that nobody is at work.
const TIDY_HOUR: i8 = 3;

/// How much a pass read, and how many findings, candidates and drafts it led to.
#[derive(Clone, PartialEq, Debug, Default)]
pub struct Evolved {
    /// Sessions read.
    pub sessions: u64,
    /// What they show.
    pub findings: u64,
    /// Sessions that are still to be read, because time ran out.
    pub left: u64,
    /// Drafts of skills that are new.
    pub skills: u64,
    pub chosen: Chosen,
}

/// Whether an agent has sessions to be read.
pub fn is_due(tx: &Read, agent_no: AgentNo, now: Millis) -> Result<bool> {
    Ok(!store::due(tx, agent_no, now, 1)?.is_empty())
}

/// Whether the night's tidy of an agent is due: none since the last early morning, and something evolve did before.
pub fn is_tidy_due(at: &AssistantHome) -> Result<bool> {
    let now = at.ledger.now();
    let (wrote, tidied) =
        at.read(|tx| Ok((store::last_run(tx, at.agent_no, "write")?, store::last_run(tx, at.agent_no, "tidy")?)))?;
    let Some(night) = last_night(at, now) else { return Ok(false) };
    Ok(wrote.is_some_and(|at| at < night) && tidied.is_none_or(|at| at < night))
}

/// The last moment at which the clock of the operator showed [`TIDY_HOUR`].
fn last_night(at: &AssistantHome, now: Millis) -> Option<Millis> {
    let day = at.day_of(now)?;
    let of = |day: jiff::civil::Date| {
        Some(day.at(TIDY_HOUR, 0, 0, 0).to_zoned(at.zone.clone()).ok()?.timestamp().as_millisecond())
    };
    of(day).filter(|night| *night <= now).or_else(|| of(day.yesterday().ok()?))
}

/// Reads one session.
fn shown(at: &AssistantHome, due: &Due) -> Result<Shown> {
    at.read(|tx| {
        let session = read::session_named(tx, at.agent_no, &due.key)?;
        let user: Option<String> = tx
            .prepare_cached("SELECT value FROM profile WHERE agent_no = ?1 AND key = 'name'")?
            .query_row([at.agent_no], |r| r.get(0))
            .optional()?;
        let mut reader = Reader::new(user);
        read::session_turns(tx, &Opener::default(), &session, None, |turn| {
            // What a copy of a session shares with the first is that one's evidence.
            if turn.session_no == session.no && turn.id <= due.through {
                reader.turn(&turn);
            }
            Ok(())
        })?;
        Ok(reader.finish())
    })
}

/// The sessions an agent's ledger has to read, with what each shows. `until`: when to stop, between two sessions.
fn read_due(
    at: &AssistantHome,
    until: Option<Instant>,
    each: &mut dyn FnMut(&Due, Shown) -> Result<()>,
) -> Result<(u64, u64)> {
    let (mut sessions, now) = (0, at.ledger.now());
    loop {
        let due = at.read(|tx| store::due(tx, at.agent_no, now, AT_ONCE))?;
        if due.is_empty() {
            return Ok((sessions, 0));
        }
        for one in due {
            if until.is_some_and(|until| Instant::now() >= until) {
                let left = at.read(|tx| store::due(tx, at.agent_no, now, usize::MAX >> 1))?.len() as u64;
                return Ok((sessions, left));
            }
            each(&one, shown(at, &one)?)?;
            sessions += 1;
        }
    }
}

/// The candidates of each project out of all findings.
fn candidates(findings: &BTreeMap<String, Vec<Stored>>, rows: &[Row]) -> BTreeMap<String, Vec<Candidate>> {
    let each = |(workspace, findings): (&String, &Vec<Stored>)| {
        let mut all = candidate::candidates(findings);
        all.extend(writeback::retractions(findings, rows, workspace));
        (workspace.clone(), all)
    };
    findings.iter().map(each).collect()
}

/// Reads what is due, and lets the best of what it comes to become proposals and memories. A pass that is cut off goes on
/// where it was; what was made once is not made again.
pub fn evolve(lock: &TreeLock, until: Option<Instant>) -> Result<Evolved> {
    let at = lock.at;
    let mut out = Evolved::default();
    (out.sessions, out.left) = read_due(at, until, &mut |due, shown| {
        out.findings += shown.findings.iter().filter(|f| f.times > 0).count() as u64;
        at.write("evolve.read", |tx| {
            tx.note("session_no", due.session_no);
            store::put_findings(tx, at.agent_no, due, &shown.findings)?;
            skill::put_steps(tx, at.agent_no, due.session_no, &shown.steps)
        })
    })?;
    writeback::follow(lock)?;
    let (findings, rows) = at.read(|tx| Ok((store::findings(tx, at.agent_no)?, store::rows(tx, at.agent_no)?)))?;
    let now = candidates(&findings, &rows);
    let waits = |row: &Row| row.state == State::Waiting;
    if !now.values().all(Vec::is_empty) || rows.iter().any(waits) {
        at.write("evolve.candidates", |tx| store::put_candidates(tx, at.agent_no, &now))?;
    }
    out.chosen = writeback::write(lock)?;
    if out.sessions > 0 {
        out.skills = skill::find(lock)?;
    }
    Ok(out)
}

/// What [`evolve`] would do now, with nothing written.
pub fn preview(lock: &TreeLock) -> Result<Evolved> {
    let at = lock.at;
    let mut out = Evolved::default();
    let now = at.ledger.now();
    let (mut findings, mut rows) =
        at.read(|tx| Ok((store::findings(tx, at.agent_no)?, store::rows(tx, at.agent_no)?)))?;
    for (no, state) in writeback::followed(lock)? {
        rows.iter_mut().filter(|r| r.no == no).for_each(|r| r.state = state);
    }
    for due in at.read(|tx| store::due(tx, at.agent_no, now, usize::MAX >> 1))? {
        let shown = shown(at, &due)?;
        let Some(workspace) = at.read(|tx| store::workspace_of(tx, due.session_no))? else { continue };
        let all = findings.entry(workspace).or_default();
        all.retain(|s| s.session_no != due.session_no || s.finding.by.is_some());
        out.sessions += 1;
        for finding in shown.findings.into_iter().filter(|f| f.times > 0) {
            out.findings += 1;
            all.push(Stored { session_no: due.session_no, session: due.key.clone(), finding });
        }
    }
    let mut after: Vec<Row> = rows.iter().filter(|r| r.state != State::Waiting).cloned().collect();
    for (workspace, candidates) in candidates(&findings, &rows) {
        for candidate in candidates {
            if !after.iter().any(|r| r.workspace == workspace && r.candidate.key == candidate.key) {
                let no = rows.iter().find(|r| r.workspace == workspace && r.candidate.key == candidate.key);
                after.push(Row {
                    no: no.map_or(crate::scope::CandidateNo(0), |r| r.no),
                    workspace: workspace.clone(),
                    candidate,
                    state: State::Waiting,
                    item: None,
                    run: None,
                    changed_at: now,
                    run_at: None,
                });
            }
        }
    }
    out.chosen = writeback::preview(lock, &after)?;
    Ok(out)
}

/// Takes back what evolve did last: see [`writeback::undo`].
pub fn undo(lock: &TreeLock) -> Result<Undone> {
    writeback::follow(lock)?;
    writeback::undo(lock)
}
