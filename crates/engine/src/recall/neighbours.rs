//! Adds to a turn's score a share of the scores of the turns around it: evidence is often the reply to the turn that
//! has the words (RETRIEVAL: +8 R@10 in conversations between two people). In a session of a program the neighbour is
//! mostly a tool's turn, so its share is small, and a larger share passes between the prompt of a run and its answer.

use std::collections::{HashMap, HashSet};

use rusqlite::{CachedStatement, OptionalExtension};

use super::chat::Chats;
use super::query::Query;
use super::search::{Candidate, Filter, gain, sort};
use super::within as only;
use crate::clock::Millis;
use crate::error::Result;
use crate::event::{Role, TurnKind};
use crate::ledger::Read;
use crate::ledger::blocks::Opener;
use crate::scope::{TurnId, WorkspaceNo};
use crate::transcript::{kind_from_code, role_from_code, twin};

/// Number of the best candidates whose neighbours are looked up, one query each. A constant, so that the number of
/// wanted hits does not change their order.
const FRONT: usize = 120;
const LIGHT_FRONT: usize = 40;

/// Number of the best candidates that pass a share to the prompt or the answer of their run.
const RUN_FRONT: usize = 40;

/// The share of its score a turn of a conversation between two people passes to its direct and its second neighbours
/// (RETRIEVAL: .5 and .3; with vectors .4 and .3).
const NEIGHBOUR: [f64; 2] = [0.5, 0.3];
const NEIGHBOUR_FUSED: [f64; 2] = [0.4, 0.3];

/// The columns of [`row`].
const ROW: &str = "turn_no, session_no, lane_no, run_no, at, role, kind, workspace_no, text_length";

/// Makes a candidate without a score from a row, with its project.
pub(super) fn row(r: &rusqlite::Row) -> rusqlite::Result<(Candidate, Option<WorkspaceNo>)> {
    let found = Candidate {
        turn_no: r.get(0)?,
        session_no: r.get(1)?,
        lane_no: r.get(2)?,
        run_no: r.get(3)?,
        at: r.get(4)?,
        role: role_from_code(r.get(5)?),
        kind: kind_from_code(r.get(6)?),
        bytes: r.get(8)?,
        words: 0.0,
        cosine: None,
        weight: 1.0,
        own: 0.0,
        score: 0.0,
        neighbours: 0.0,
        beside: None,
    };
    Ok((found, r.get(7)?))
}

/// Prepares a statement that selects what [`row`] reads.
pub(super) fn rows<'t>(tx: &'t Read, rest: &str) -> Result<CachedStatement<'t>> {
    Ok(tx.prepare_cached(&format!("SELECT {ROW} FROM turns WHERE {rest}"))?)
}

/// Adds to each turn its share of its neighbours' scores, and adds neighbours that are messages of a person or the
/// model. `candidates` is sorted best first, and so is the result.
pub(super) fn add(
    (tx, opener): (&Read, &Opener),
    mut candidates: Vec<Candidate>,
    query: &Query,
    filter: &Filter,
    (chats, fused): (&Chats, bool),
) -> Result<Vec<Candidate>> {
    let two = if fused { NEIGHBOUR_FUSED } else { NEIGHBOUR };
    let weights = &filter.weights;
    let front = candidates.len().min(if filter.light { LIGHT_FRONT } else { FRONT });
    let here = "session_no = ?1 AND lane_no = ?2 AND forgotten IS NULL";
    let mut before = rows(tx, &format!("{here} AND turn_no < ?3 ORDER BY turn_no DESC LIMIT ?4"))?;
    let mut after = rows(tx, &format!("{here} AND turn_no > ?3 ORDER BY turn_no LIMIT ?4"))?;
    let mut around = Around { known: candidates.iter().map(|c| c.turn_no).collect(), ..Around::default() };
    for candidate in &mut candidates[..front] {
        let chat = chats.has(candidate.session_no);
        let shares = if chat { two } else { [weights.neighbour, 0.0] };
        let reach = if chat { 2 } else { 1 };
        let mut beside = Vec::with_capacity(4);
        for (statement, later) in [(&mut before, false), (&mut after, true)] {
            let mut rows = statement.query((candidate.session_no, candidate.lane_no, candidate.turn_no, reach))?;
            let mut distance = 0;
            while let Some(r) = rows.next()? {
                let (turn, workspace) = row(r)?;
                if later && distance == 0 && !chat && goes_on(candidate, &turn) {
                    candidate.weigh(weights.remark);
                }
                beside.push((turn, workspace, shares[distance]));
                distance += 1;
            }
        }
        for (turn, workspace, share) in beside {
            *around.gains.entry(turn.turn_no).or_default() += share * candidate.own;
            around.add((tx, opener), filter, candidate, turn, workspace)?;
        }
    }
    if weights.run > 0.0 {
        let of_program = candidates[..front.min(RUN_FRONT)].iter().filter(|c| !chats.has(c.session_no));
        for (turn_no, gain) in of_runs(tx, of_program, weights.run)? {
            *around.gains.entry(turn_no).or_default() += gain.0;
            if !around.known.contains(&turn_no) && !around.found.contains_key(&turn_no) {
                let found = rows(tx, "turn_no = ?1 AND forgotten IS NULL")?.query_row([turn_no], row).optional()?;
                if let Some((turn, workspace)) = found {
                    around.add((tx, opener), filter, gain.1, turn, workspace)?;
                }
            }
        }
    }
    let mut ranked: Vec<Candidate> = candidates.into_iter().chain(around.found.into_values()).collect();
    for c in &mut ranked {
        c.neighbours = around.gains.get(&c.turn_no).copied().unwrap_or(0.0);
        c.score = c.own + c.neighbours + gain(query, c.at);
    }
    sort(&mut ranked, filter);
    Ok(ranked)
}

/// Whether a message is a remark during work, after which the model goes on to a tool.
fn goes_on(candidate: &Candidate, next: &Candidate) -> bool {
    candidate.kind == TurnKind::Message && candidate.role == Role::Assistant && next.kind != TurnKind::Message
}

/// Returns the gains of prompts and answers of runs, each from the best turn of its run.
fn of_runs<'c>(
    tx: &Read,
    candidates: impl Iterator<Item = &'c Candidate>,
    share: f64,
) -> Result<HashMap<TurnId, (f64, &'c Candidate)>> {
    let mut run = tx.prepare_cached("SELECT prompt_turn, answer_turn FROM turn_results WHERE run_no = ?1")?;
    let mut gains: HashMap<TurnId, (f64, &Candidate)> = HashMap::new();
    for candidate in candidates.filter(|c| c.kind == TurnKind::Message) {
        let ends: Option<(Option<TurnId>, Option<TurnId>)> =
            run.query_row([candidate.run_no], |r| Ok((r.get(0)?, r.get(1)?))).optional()?;
        let (prompt, answer) = ends.unwrap_or_default();
        let other = if candidate.role == Role::User { answer } else { prompt };
        if let Some(other) = other.filter(|other| *other != candidate.turn_no) {
            let best = gains.entry(other).or_insert((0.0, candidate));
            if share * candidate.own > best.0 {
                *best = (share * candidate.own, candidate);
            }
        }
    }
    Ok(gains)
}

/// Turns around the candidates, and their gains.
#[derive(Default)]
struct Around {
    /// The candidates themselves.
    known: HashSet<TurnId>,
    gains: HashMap<TurnId, f64>,
    found: HashMap<TurnId, Candidate>,
}

impl Around {
    /// Adds a neighbour that is a message and passes the filter.
    fn add(
        &mut self,
        (tx, opener): (&Read, &Opener),
        filter: &Filter,
        of: &Candidate,
        turn: Candidate,
        workspace: Option<WorkspaceNo>,
    ) -> Result<()> {
        let in_time = |limit: Option<Millis>, holds: fn(Millis, Millis) -> bool| {
            limit.is_none_or(|limit| turn.at.is_some_and(|at| holds(at, limit)))
        };
        let wanted = turn.kind == TurnKind::Message
            && !self.known.contains(&turn.turn_no)
            && filter.workspaces.as_ref().is_none_or(|list| workspace.is_some_and(|no| list.contains(&no)))
            && filter.role.is_none_or(|wanted| wanted == turn.role)
            && in_time(filter.since, |at, since| at >= since)
            && in_time(filter.until, |at, until| at <= until);
        if wanted
            && !self.found.contains_key(&turn.turn_no)
            && only::turn(tx, filter, turn.turn_no)?
            && twin::of_echo(tx, opener, turn.turn_no)?.is_none()
        {
            self.found.insert(turn.turn_no, Candidate { beside: Some(of.turn_no), ..turn });
        }
        Ok(())
    }
}
