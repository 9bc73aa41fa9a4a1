//! Echoes that come before the record they repeat (R4.4): newer Codex rollouts first write the event for the user
//! interface and then the message itself. The echo makes the turn, and the record that follows takes the turn over: the
//! turn keeps its number and gets the record's entry id. Both records stay as they are.

use std::collections::VecDeque;
use std::collections::hash_map::Entry;

use rusqlite::{OptionalExtension, params};

use super::identity::Known;
use super::{Appender, Lane};
use crate::error::Result;
use crate::event::NewTurn;
use crate::ledger::Write;
use crate::scope::{LaneNo, RecordNo, RunNo, TurnId};
use crate::transcript::codes::{kind_code, role_code};

/// Number of turns back in its lane at which an echo may have made the turn of a record.
const BACK: usize = 16;

impl Appender<'_> {
    /// Returns the turn that an echo of this turn made earlier: with the same run, speaker and text.
    pub(super) fn announced(&mut self, tx: &Write, lane: Lane, turn: &NewTurn) -> Result<Option<Known>> {
        let Some(run_no) = self.runs.at(tx, lane.lane_no, turn.run.as_deref())? else { return Ok(None) };
        let mut statement = tx.prepare_cached(
            "SELECT session_no, record_no, block_no, text_offset, text_length FROM turns
             WHERE turn_no = ?1 AND run_no = ?2 AND role = ?3 AND kind = ?4 AND text_length = ?5 AND forgotten IS NULL",
        )?;
        let (role, kind) = (role_code(turn.role), kind_code(turn.kind));
        let latest = self.latest_turns(tx, lane.lane_no)?;
        let made: Vec<TurnId> = latest.iter().filter(|(_, made)| *made).map(|(no, _)| *no).collect();
        for turn_no in made {
            let mut rows = statement.query(params![turn_no, run_no, role, kind, turn.text.len() as i64])?;
            let Some(r) = rows.next()? else { continue };
            if self.opener.slice(tx, r.get(2)?, r.get(3)?, r.get(4)?)? == turn.text.as_bytes() {
                return Ok(Some(Known { turn_no, session_no: r.get(0)?, record_no: r.get(1)?, run_no }));
            }
        }
        Ok(None)
    }

    /// Assigns a turn that an echo made to the record the echo repeats. `false`: no echo made the turn.
    pub(super) fn take_over(
        &mut self,
        tx: &Write,
        lane: Lane,
        known: &Known,
        entry: &str,
        record_no: RecordNo,
        turn: &NewTurn,
    ) -> Result<bool> {
        let latest = self.latest_turns(tx, lane.lane_no)?;
        let Some((_, made)) = latest.iter_mut().find(|(no, made)| *no == known.turn_no && *made) else {
            return Ok(false);
        };
        *made = false;
        self.give_to_record(tx, known, entry, record_no, turn)?;
        self.out.witnesses += 1;
        Ok(true)
    }

    /// Notes a new turn of a lane, and whether an echo made it.
    pub(super) fn note_turn(&mut self, lane: LaneNo, turn_no: TurnId, echo: bool) {
        // A lane that is not cached needs no note: it is read from the ledger later, with this turn in it.
        if let Some(latest) = self.latest.get_mut(&lane) {
            if latest.len() >= BACK {
                latest.pop_front();
            }
            latest.push_back((turn_no, echo));
        }
    }

    /// Returns the latest turns of a lane, each with whether an echo made it and no record has taken it over.
    fn latest_turns(&mut self, tx: &Write, lane: LaneNo) -> Result<&mut VecDeque<(TurnId, bool)>> {
        let slot = match self.latest.entry(lane) {
            Entry::Occupied(known) => return Ok(known.into_mut()),
            Entry::Vacant(slot) => slot,
        };
        let mut statement = tx.prepare_cached(
            "SELECT t.turn_no, EXISTS (
               SELECT 1 FROM witnesses w WHERE w.turn_no = t.turn_no AND w.record_no = t.record_no AND w.echo)
             FROM turns t WHERE lane_no = ?1 ORDER BY turn_no DESC LIMIT ?2",
        )?;
        let found = statement.query_map(params![lane, BACK as i64], |r| Ok((r.get(0)?, r.get(1)?)))?;
        let mut found = found.collect::<rusqlite::Result<VecDeque<_>>>()?;
        found.make_contiguous().reverse();
        Ok(slot.insert(found))
    }

    /// Returns the run with this key that a copy of a session is copying: its records repeat turns of another session.
    pub(super) fn copied_run(&mut self, tx: &Write, lane: Lane, key: Option<&str>) -> Result<Option<RunNo>> {
        let run_no = match self.copying.get(&lane.lane_no) {
            Some(known) => *known,
            None => {
                let last = tx
                    .prepare_cached(
                        "SELECT t.run_no FROM turn_references f JOIN turns t USING (turn_no)
                         WHERE f.session_no = ?1 AND f.lane_no = ?2 ORDER BY f.record_no DESC LIMIT 1",
                    )?
                    .query_row(params![lane.session_no, lane.lane_no], |r| r.get(0))
                    .optional()?;
                self.copying.insert(lane.lane_no, last);
                last
            }
        };
        let Some(run_no) = run_no else { return Ok(None) };
        let of: Option<String> = tx
            .prepare_cached("SELECT run_key FROM turn_results WHERE run_no = ?1")?
            .query_row([run_no], |r| r.get(0))?;
        Ok((key.is_some() && of.as_deref() == key).then_some(run_no))
    }
}
