//! What a session says behind its last chunk, distilled when it is asked for: a session that is still running has stopped
//! somewhere, too, and the next one begins there (R10.4, R6.5).

use super::{Request, deterministic, load};
use crate::error::Result;
use crate::ledger::Read;
use crate::ledger::blocks::Opener;
use crate::lineage;
use crate::lineage::distillate::Distillate;
use crate::scope::TurnId;

/// The newest turns that are read, and the most bytes of them: distilling them takes some milliseconds at most.
const TURNS: i64 = 160;
const BYTES: i64 = 96 * 1024;

/// Where a session stands with the turns of its main line that no chunk has yet: `before` brought up to them. `may_tell`:
/// whether a turn's words may be told where this is asked; asked once a run.
pub(crate) fn standing(
    tx: &Read,
    session_no: i64,
    before: &Distillate,
    may_tell: &mut dyn FnMut(TurnId) -> Result<bool>,
) -> Result<Distillate> {
    let mut find = tx.prepare_cached("SELECT lane_no FROM lanes WHERE session_no = ?1 AND lane = ''")?;
    let lanes: Vec<i64> = find.query_map([session_no], |r| r.get(0))?.collect::<rusqlite::Result<_>>()?;
    let [lane_no] = lanes.as_slice() else { return Ok(before.clone()) };
    let frontier = lineage::frontier(tx, *lane_no)?;
    let mut newest = tx.prepare_cached(
        "SELECT turn_no, text_length FROM turns INDEXED BY turns_lane WHERE lane_no = ?1 AND turn_no > ?2
         ORDER BY turn_no DESC LIMIT ?3",
    )?;
    let mut rows = newest.query([*lane_no, frontier.0, TURNS])?;
    let (mut from, mut to, mut bytes) = (i64::MAX, 0, 0);
    while let Some(r) = rows.next()? {
        bytes += r.get::<_, i64>(1)?;
        if bytes > BYTES && to > 0 {
            break;
        }
        let turn: i64 = r.get(0)?;
        (from, to) = (turn, to.max(turn));
    }
    if to == 0 {
        return Ok(before.clone());
    }
    let opener = Opener::default();
    let root: Option<String> =
        tx.prepare_cached("SELECT cwd FROM sessions WHERE session_no = ?1")?.query_row([session_no], |r| r.get(0))?;
    let mut said = Vec::new();
    let mut told: Option<(i64, bool)> = None;
    for (turn, left) in load::range(tx, &opener, *lane_no, TurnId(from), TurnId(to))? {
        let may = match told {
            Some((run, may)) if run == turn.run => may,
            _ => may_tell(turn.id)?,
        };
        told = Some((turn.run, may));
        if may && !left {
            said.push(turn);
        }
    }
    Ok(deterministic::distil(&Request { turns: &said, before: Some(before), root: root.as_deref() }))
}
