//! Distils the turns of a session after its last chunk, on request, so that a running session has a current state too
//! and the next session can continue from it (R10.4, R6.5).

use super::{Request, deterministic, fold, load};
use crate::error::Result;
use crate::event::TurnKind;
use crate::ledger::Read;
use crate::ledger::blocks::Opener;
use crate::lineage;
use crate::lineage::distillate::Distillate;
use crate::scope::{LaneNo, RunNo, SessionNo, TurnId};
use crate::transcript::kind_from_code;

/// Maximum number of turns that are read, and their maximum bytes: distilling them takes some milliseconds at most.
const TURNS: i64 = 160;
const BYTES: i64 = 96 * 1024;

/// Maximum bytes of a tool result that is read; longer ones are left out.
const LARGEST_RESULT: i64 = 16 * 1024;

/// Maximum number of prompts read before those turns, and their maximum bytes: after a long run the request is further
/// back.
const PROMPTS: i64 = 6;
const PROMPT_BYTES: i64 = 16 * 1024;

/// Returns the state of a session including the turns of its main lane that are in no chunk yet: `before`, brought up
/// to date with them. `may_tell`: whether a turn may be shown to this audience; called once per run.
pub(crate) fn standing(
    tx: &Read,
    session_no: SessionNo,
    before: &Distillate,
    may_tell: &mut dyn FnMut(TurnId) -> Result<bool>,
) -> Result<Distillate> {
    let mut find = tx.prepare_cached("SELECT lane_no FROM lanes WHERE session_no = ?1 AND lane = ''")?;
    let lanes: Vec<LaneNo> = find.query_map([session_no], |r| r.get(0))?.collect::<rusqlite::Result<_>>()?;
    let [lane_no] = lanes.as_slice() else { return Ok(before.clone()) };
    let frontier = lineage::frontier(tx, *lane_no)?;
    let mut newest = tx.prepare_cached(
        "SELECT turn_no, text_length, kind FROM turns INDEXED BY turns_lane WHERE lane_no = ?1 AND turn_no > ?2
         ORDER BY turn_no DESC LIMIT ?3",
    )?;
    let mut rows = newest.query((*lane_no, frontier.0, TURNS))?;
    let (mut stretches, mut from, mut bytes) = (Vec::<(TurnId, TurnId)>::new(), TurnId(i64::MAX), 0);
    let mut parted = true;
    while let Some(r) = rows.next()? {
        let (turn, length): (TurnId, i64) = (r.get(0)?, r.get(1)?);
        // A result with a whole file would leave no room for the turns before it, so it is skipped.
        if length > LARGEST_RESULT && kind_from_code(r.get(2)?) == TurnKind::ToolResult {
            parted = true;
            continue;
        }
        bytes += length;
        if bytes > BYTES && !stretches.is_empty() {
            break;
        }
        match stretches.last_mut().filter(|_| !parted) {
            Some(stretch) => stretch.0 = turn,
            None => stretches.push((turn, turn)),
        }
        (from, parted) = (turn, false);
    }
    if stretches.is_empty() {
        return Ok(before.clone());
    }
    stretches.extend(prompts_between(tx, *lane_no, frontier, from)?);
    stretches.reverse();
    let opener = Opener::default();
    let root: Option<String> =
        tx.prepare_cached("SELECT cwd FROM sessions WHERE session_no = ?1")?.query_row([session_no], |r| r.get(0))?;
    let mut said = Vec::new();
    let mut told: Option<(RunNo, bool)> = None;
    for (from, to) in stretches {
        for (turn, left) in load::range(tx, &opener, *lane_no, from, to)? {
            let may = match told {
                Some((run, may)) if run == turn.run => may,
                _ => may_tell(turn.id)?,
            };
            told = Some((turn.run, may));
            if may && !left {
                said.push(turn);
            }
        }
    }
    // The goal of an earlier session is not the goal of this one, so it is used only if this one has none.
    let mut of_session = before.clone();
    let of_others = of_session.goal.take_if(|goal| !goal.turns.last().is_some_and(|t| is_of(tx, *t, session_no)));
    let mut now = deterministic::distil(&Request { turns: &said, before: Some(&of_session), root: root.as_deref() });
    now.goal = now.goal.or(of_others);
    // Files and proposals are folded; all other lists already contain what was carried over.
    let Distillate { files, proposals, .. } = fold::fold(before, &now);
    Ok(Distillate { files, proposals, ..now })
}

/// Returns the newest prompts of a lane between two turns, newest first, each as a range of its own.
fn prompts_between(tx: &Read, lane_no: LaneNo, after: TurnId, before: TurnId) -> Result<Vec<(TurnId, TurnId)>> {
    let mut find = tx.prepare_cached(
        "SELECT t.turn_no, t.text_length FROM (
           SELECT prompt_turn FROM turn_results INDEXED BY turn_results_newest WHERE lane_no = ?1
           ORDER BY run_no DESC LIMIT ?4) r
         JOIN turns t ON t.turn_no = r.prompt_turn WHERE t.turn_no > ?2 AND t.turn_no < ?3
         ORDER BY t.turn_no DESC LIMIT ?5",
    )?;
    let mut rows = find.query((lane_no, after.0, before.0, TURNS, PROMPTS))?;
    let (mut out, mut bytes) = (Vec::new(), 0);
    while let Some(r) = rows.next()? {
        bytes += r.get::<_, i64>(1)?;
        if bytes > PROMPT_BYTES && !out.is_empty() {
            break;
        }
        let turn: TurnId = r.get(0)?;
        out.push((turn, turn));
    }
    Ok(out)
}

/// Whether a turn was said in a session.
fn is_of(tx: &Read, turn: TurnId, session_no: SessionNo) -> bool {
    let found: rusqlite::Result<SessionNo> =
        tx.query_row("SELECT session_no FROM turns WHERE turn_no = ?1", [turn], |r| r.get(0));
    found.is_ok_and(|of| of == session_no)
}
