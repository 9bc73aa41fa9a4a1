//! Decides whether a turn is new: by its entry id and text, never by content alone (R4.4).

use rusqlite::params;

use super::{Appender, Cursor, Lane};
use crate::error::Result;
use crate::event::NewTurn;
use crate::ledger::Write;
use crate::scope::{AgentNo, RecordNo, RunNo, SessionKey, SessionNo, TurnId};
use crate::transcript::codes::{kind_code, role_code};

/// Makes the entry id of a turn to which the program gives none: its position in the stream. The lane distinguishes two
/// files of one session.
pub(super) fn position_entry(lane: &str, position: i64, index: usize) -> String {
    match index {
        0 => format!("{lane}@{position}"),
        _ => format!("{lane}@{position}#{index}"),
    }
}

pub(super) struct Known {
    pub(super) turn_no: TurnId,
    pub(super) session_no: SessionNo,
    pub(super) record_no: RecordNo,
    pub(super) run_no: RunNo,
}

impl Appender<'_> {
    /// Returns the known turn that this one repeats, if any: the same entry and text in the session; the turn of the
    /// run that an echo repeats; or, if the program's ids are global, the same entry and text in another session of
    /// that program.
    pub(super) fn known(
        &mut self,
        tx: &Write,
        at: &Cursor,
        lane: Lane,
        entry: &str,
        turn: &NewTurn,
    ) -> Result<Option<Known>> {
        let mut elsewhere = None;
        // A position in a stream identifies nothing in other sessions.
        let everywhere = at.origin.global_ids && turn.entry.is_some();
        let mut statement = tx.prepare_cached(if everywhere {
            "SELECT turn_no, session_no, record_no, role, kind, block_no, text_offset, text_length, run_no
             FROM turns INDEXED BY turns_entry WHERE entry = ?1 AND forgotten IS NULL ORDER BY (session_no = ?2) DESC, turn_no"
        } else {
            "SELECT turn_no, session_no, record_no, role, kind, block_no, text_offset, text_length, run_no
             FROM turns INDEXED BY turns_entry WHERE entry = ?1 AND session_no = ?2 AND forgotten IS NULL ORDER BY turn_no"
        })?;
        let mut rows = statement.query(params![entry, lane.session_no])?;
        while let Some(r) = rows.next()? {
            let known = Known { turn_no: r.get(0)?, session_no: r.get(1)?, record_no: r.get(2)?, run_no: r.get(8)? };
            let here = known.session_no == lane.session_no;
            if here && turn.echo && turn.entry.is_some() {
                return Ok(Some(known));
            }
            let alike = r.get::<_, i64>(3)? == role_code(turn.role) && r.get::<_, i64>(4)? == kind_code(turn.kind);
            let length: i64 = r.get(7)?;
            if !alike || length != turn.text.len() as i64 {
                continue;
            }
            if self.opener.slice(tx, r.get(5)?, r.get(6)?, length)? != turn.text.as_bytes() {
                continue;
            }
            if here {
                return Ok(Some(known));
            }
            if elsewhere.is_none() && self.same_program(tx, at, known.session_no)? {
                elsewhere = Some(known);
            }
        }
        if elsewhere.is_none() && turn.echo {
            return self.echoed(tx, at, lane, turn);
        }
        Ok(elsewhere)
    }

    /// Returns the turn with the same run, role and text that an echo repeats and that no other echo of this generation
    /// has witnessed yet. Without a run id, the current run of the stream is taken; in a copy of a session, the run
    /// being copied.
    pub(super) fn echoed(&mut self, tx: &Write, at: &Cursor, lane: Lane, turn: &NewTurn) -> Result<Option<Known>> {
        let run_no = match self.runs.at(tx, lane.lane_no, turn.run.as_deref())? {
            None if at.origin.global_ids => self.copied_run(tx, lane, turn.run.as_deref())?,
            run_no => run_no,
        };
        let Some(run_no) = run_no else { return Ok(None) };
        let mut statement = tx.prepare_cached(
            "SELECT turn_no, t.session_no, record_no, block_no, text_offset, text_length FROM turns t
             WHERE run_no = ?1 AND role = ?2 AND text_length = ?3 AND forgotten IS NULL
               AND NOT EXISTS (SELECT 1 FROM witnesses w JOIN records r ON r.record_no = w.record_no
                               WHERE w.turn_no = t.turn_no AND echo AND stream_no = ?4 AND generation = ?5)
             ORDER BY turn_no",
        )?;
        let length = turn.text.len() as i64;
        let mut rows = statement.query(params![run_no, role_code(turn.role), length, at.stream_no, at.generation])?;
        while let Some(r) = rows.next()? {
            if self.opener.slice(tx, r.get(3)?, r.get(4)?, r.get(5)?)? == turn.text.as_bytes() {
                return Ok(Some(Known { turn_no: r.get(0)?, session_no: r.get(1)?, record_no: r.get(2)?, run_no }));
            }
        }
        Ok(None)
    }

    pub(super) fn same_program(&self, tx: &Write, at: &Cursor, session_no: SessionNo) -> Result<bool> {
        let (agent_no, key): (AgentNo, String) = tx
            .prepare_cached("SELECT agent_no, session_key FROM sessions WHERE session_no = ?1")?
            .query_row([session_no], |r| Ok((r.get(0)?, r.get(1)?)))?;
        Ok(agent_no == at.agent_no && SessionKey::from(key).harness() == at.origin.harness)
    }
}
