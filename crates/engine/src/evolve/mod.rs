//! Learns from sessions about the projects they work in: commands that work, facts, procedures, things that are not
//! allowed (R9.4, R9.5, R11.3). Storey 3. Deterministic; no model is needed. If one was chosen, it reads the same
//! sessions afterwards ([`model_pass`]), and its findings are checked word by word ([`extraction`]).
//!
//! Each session is read once when it is over or idle ([`reader`], with [`commands`] and [`sentences`]), and its
//! findings are stored ([`store`]). The findings of a project become candidates ([`candidate`]), the best of which
//! become proposals or, if several sessions agree on a fact, memories ([`writeback`]). [`tidy`] checks all memories at
//! night.
//!
//! Evidence is required before any score: two independent sessions, or one explicit sentence of a person. Recalled or
//! injected text is never evidence, because the memory would otherwise confirm itself.

pub mod candidate;
mod clauses;
pub mod commands;
mod conflict;
mod copies;
mod corrected;
pub mod extraction;
mod grammar;
pub mod model_pass;
mod outside;
mod quoted;
pub mod reader;
pub mod sentences;
mod stated;
pub mod store;
pub mod tidy;
mod ways;
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

/// Number of sessions read between two checks of the time limit.
const AT_ONCE: usize = 16;

/// Hour of the operator's day from which the night's tidy is due, when nobody is likely to be at work.
const TIDY_HOUR: i8 = 3;

/// Result of a pass: the numbers of sessions, findings and drafts, and the candidates chosen.
#[derive(Clone, PartialEq, Debug, Default)]
pub struct Evolved {
    /// Number of sessions read.
    pub sessions: u64,
    /// Number of findings in these sessions.
    pub findings: u64,
    /// Number of sessions still to be read, because time ran out.
    pub left: u64,
    /// Number of new drafts of skills.
    pub skills: u64,
    pub chosen: Chosen,
}

/// Whether an agent has sessions to read.
pub fn is_due(tx: &Read, agent_no: AgentNo, now: Millis) -> Result<bool> {
    Ok(!store::due(tx, agent_no, now, 1)?.is_empty())
}

/// Whether the night's tidy of an agent is due: evolve wrote something before the last early morning, and no tidy ran
/// since.
pub fn is_tidy_due(at: &AssistantHome) -> Result<bool> {
    let now = at.ledger.now();
    let (wrote, tidied) =
        at.read(|tx| Ok((store::last_run(tx, at.agent_no, "write")?, store::last_run(tx, at.agent_no, "tidy")?)))?;
    let Some(night) = last_night(at, now) else { return Ok(false) };
    Ok(wrote.is_some_and(|at| at < night) && tidied.is_none_or(|at| at < night))
}

/// Returns the last time at which the operator's clock showed [`TIDY_HOUR`].
fn last_night(at: &AssistantHome, now: Millis) -> Option<Millis> {
    let day = at.day_of(now)?;
    let of = |day: jiff::civil::Date| {
        Some(day.at(TIDY_HOUR, 0, 0, 0).to_zoned(at.zone.clone()).ok()?.timestamp().as_millisecond())
    };
    of(day).filter(|night| *night <= now).or_else(|| of(day.yesterday().ok()?))
}

/// Reads one session, and returns its findings and steps.
fn shown(at: &AssistantHome, due: &Due) -> Result<Shown> {
    at.read(|tx| {
        let session = read::session_named(tx, at.agent_no, &due.key)?;
        let user: Option<String> = tx
            .prepare_cached("SELECT value FROM profile WHERE agent_no = ?1 AND key = 'name'")?
            .query_row([at.agent_no], |r| r.get(0))
            .optional()?;
        let mut reader = Reader::new(user);
        read::session_turns(tx, &Opener::default(), &session, None, |turn| {
            // Turns that a copied session shares with the original count as evidence of the original only.
            if turn.session_no == session.no && turn.id <= due.through {
                reader.turn(&turn);
            }
            Ok(())
        })?;
        Ok(reader.finish())
    })
}

/// Reads the sessions of an agent that are due, and calls `each` with the findings of each. `until`: time at which to
/// stop, checked between two sessions. Returns the numbers of sessions read and left.
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

/// Returns the candidates of each project from all findings.
fn candidates(findings: &BTreeMap<String, Vec<Stored>>, rows: &[Row]) -> BTreeMap<String, Vec<Candidate>> {
    let each = |(workspace, findings): (&String, &Vec<Stored>)| {
        let mut all = candidate::candidates(findings);
        all.extend(writeback::retractions(findings, rows, workspace));
        (workspace.clone(), all)
    };
    findings.iter().map(each).collect()
}

/// Reads the sessions that are due, and makes proposals and memories of the best candidates. A pass that is interrupted
/// continues later; nothing is made twice.
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
    let (mut findings, rows) = at.read(|tx| Ok((store::findings(tx, at.agent_no)?, store::rows(tx, at.agent_no)?)))?;
    copies::mark(at, &mut findings)?;
    let mut now = candidates(&findings, &rows);
    quoted::quote(at, &findings, &mut now)?;
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

/// Returns what [`evolve`] would do now, without writing anything.
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
            let (session_no, session) = (due.session_no, due.key.clone());
            all.push(Stored { session_no, source: session_no, session, finding });
        }
    }
    copies::mark(at, &mut findings)?;
    let mut after: Vec<Row> = rows.iter().filter(|r| r.state != State::Waiting).cloned().collect();
    let mut fresh = candidates(&findings, &rows);
    quoted::quote(at, &findings, &mut fresh)?;
    for (workspace, candidates) in fresh {
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

/// Undoes what evolve did last: see [`writeback::undo`].
pub fn undo(lock: &TreeLock) -> Result<Undone> {
    writeback::follow(lock)?;
    writeback::undo(lock)
}
