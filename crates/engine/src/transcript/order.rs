//! The order of a session's turns: pages of them from any place, and how long a session is before any of it is read.

use std::collections::HashMap;

use rusqlite::{Row, params};

use super::read::{SessionRow, TURN_COLUMNS, TURN_JOINS, Turn, turn_of};
use crate::error::Result;
use crate::ledger::Read;
use crate::ledger::blocks::Opener;
use crate::scope::{LaneNo, RecordNo, TurnId};

/// Sort key of a turn in its session: whether its lane is a sub-agent's, the lane, the record, the turn.
pub type TurnPlace = (bool, LaneNo, RecordNo, TurnId);

/// Most bytes of text read for one page of turns; a single longer turn is read nevertheless.
const PAGE_BYTES: usize = 4 << 20;

/// Returns a page of the turns of a session, in the order of [`session_turns`](super::read::session_turns): at most `most` turns, after `after`.
/// The returned place is the `after` of the next page; `None`: this is the last page.
pub fn page_of_turns(
    tx: &Read,
    opener: &Opener,
    session: &SessionRow,
    lane: Option<&str>,
    after: Option<TurnPlace>,
    most: usize,
) -> Result<(Vec<Turn>, Option<TurnPlace>)> {
    let wanted = most + 1;
    let near = match after.filter(|_| lane.is_none()) {
        Some(after) => near_places(tx, session, after, wanted)?,
        None => None,
    };
    let places = near.map_or_else(|| sorted_places(tx, session, lane, after, wanted), Ok)?;
    let mut statement =
        tx.prepare_cached(&format!("SELECT {TURN_COLUMNS} FROM turns t {TURN_JOINS} WHERE turn_no = ?1"))?;
    let (mut turns, mut last, mut bytes) = (Vec::new(), None, 0);
    for place in places {
        if turns.len() == most || bytes > PAGE_BYTES {
            return Ok((turns, last));
        }
        let mut rows = statement.query([place.3])?;
        let Some(r) = rows.next()? else { continue };
        let turn = turn_of(tx, opener, r)?;
        bytes += turn.text.len();
        last = Some(place);
        turns.push(turn);
    }
    Ok((turns, None))
}

/// Returns the places of the next `wanted` turns after `after`, from all turns of the session sorted: 20 ms for 50,000.
fn sorted_places(
    tx: &Read,
    session: &SessionRow,
    lane: Option<&str>,
    after: Option<TurnPlace>,
    wanted: usize,
) -> Result<Vec<TurnPlace>> {
    let (sub, in_lane, place, turn) = after.unwrap_or((false, LaneNo(-1), RecordNo(-1), TurnId(-1)));
    let mut statement = tx.prepare_cached(
        "SELECT pl.lane != '' AS sub, in_lane, place, no FROM (
           SELECT turn_no AS no, record_no AS place, lane_no AS in_lane FROM turns WHERE session_no = ?1
           UNION ALL
           SELECT turn_no, record_no, lane_no FROM turn_references WHERE session_no = ?1) p
         JOIN lanes pl ON pl.lane_no = p.in_lane
         WHERE (?2 IS NULL OR pl.lane = ?2) AND (pl.lane != '', in_lane, place, no) > (?3, ?4, ?5, ?6)
         ORDER BY sub, in_lane, place, no LIMIT ?7",
    )?;
    let of = |r: &Row| Ok((r.get(0)?, r.get(1)?, r.get(2)?, r.get(3)?));
    let places = statement.query_map(params![session.no, lane, sub, in_lane, place, turn, wanted as i64], of)?;
    Ok(places.collect::<rusqlite::Result<_>>()?)
}

/// Turns of the ledger looked at for a page, whichever session they are of: a millisecond. The records of a session
/// nearly always follow each other, so that a page of 50 is among them.
const LOOKED_AT: usize = 1000;

/// Returns what [`sorted_places`] does, read from the records that follow the place alone. `None` where these do not
/// hold the whole page in the place's lane: at a lane's end, or where other sessions wrote in between.
fn near_places(tx: &Read, session: &SessionRow, after: TurnPlace, wanted: usize) -> Result<Option<Vec<TurnPlace>>> {
    let shares = "SELECT EXISTS (SELECT 1 FROM turn_references WHERE session_no = ?1)";
    if tx.prepare_cached(shares)?.query_row([session.no], |r| r.get(0))? {
        return Ok(None);
    }
    let (sub, lane, record, _) = after;
    let mut statement = tx.prepare_cached(
        "SELECT lane_no, record_no, turn_no FROM turns INDEXED BY turns_record WHERE record_no >= ?1
         ORDER BY record_no, turn_no LIMIT ?2",
    )?;
    let mut rows = statement.query(params![record, LOOKED_AT as i64])?;
    let mut places = Vec::new();
    while let Some(r) = rows.next()? {
        let place = (sub, r.get(0)?, r.get(1)?, r.get(2)?);
        if place.1 == lane && place > after {
            places.push(place);
        }
        if places.len() == wanted {
            return Ok(Some(places));
        }
    }
    Ok(None)
}

/// Consecutive turns of a session, without their words.
#[derive(Clone, PartialEq, Debug)]
pub struct Section {
    /// Place before the section's first turn, as [`page_of_turns`] takes it; `None` for the first section.
    pub after: Option<TurnPlace>,
    pub first: TurnId,
    pub count: u64,
    /// Length of the turns' words, in bytes.
    pub bytes: u64,
    /// Whether the wanted turn is in this section.
    pub has: bool,
}

/// Divides the turns of a session into sections of `size`, in the order of [`session_turns`](super::read::session_turns), so that a reader of a
/// long session knows its extent before reading any of it. `wanted`: the turn whose section is marked.
pub fn sections_of_turns(tx: &Read, session: &SessionRow, size: u64, wanted: Option<TurnId>) -> Result<Vec<Section>> {
    // Sorted here and not by SQLite, which takes three times as long for the 50,000 turns of a long session: their rows
    // come nearly in order already.
    let lane = |r: &Row| -> rusqlite::Result<(LaneNo, bool)> { Ok((r.get(0)?, r.get(1)?)) };
    let mut lanes = tx.prepare_cached("SELECT lane_no, lane != '' FROM lanes WHERE session_no = ?1")?;
    let sub: HashMap<LaneNo, bool> = lanes.query_map([session.no], lane)?.collect::<rusqlite::Result<_>>()?;
    let mut turns: Vec<(TurnPlace, i64)> = Vec::new();
    for from in [
        "SELECT turn_no, record_no, lane_no, text_length FROM turns WHERE session_no = ?1",
        "SELECT r.turn_no, r.record_no, r.lane_no, t.text_length FROM turn_references r JOIN turns t USING (turn_no)
         WHERE r.session_no = ?1",
    ] {
        let mut statement = tx.prepare_cached(from)?;
        let mut rows = statement.query(params![session.no])?;
        while let Some(r) = rows.next()? {
            let lane: LaneNo = r.get(2)?;
            turns.push(((sub.get(&lane).copied().unwrap_or(true), lane, r.get(1)?, r.get(0)?), r.get(3)?));
        }
    }
    turns.sort_by_key(|(place, _)| *place);
    let mut after = None;
    let sections = turns.chunks(size.max(1) as usize).map(|turns| {
        let section = Section {
            after,
            first: turns[0].0.3,
            count: turns.len() as u64,
            bytes: turns.iter().map(|(_, bytes)| (*bytes).max(0) as u64).sum(),
            has: turns.iter().any(|(place, _)| wanted == Some(place.3)),
        };
        after = turns.last().map(|(place, _)| *place);
        section
    });
    Ok(sections.collect())
}
