//! Provisional turns: turns that a hook reported before the program's own store contained them (R4.4). They are shown
//! and searchable, but in no chunk until the store confirms them. A confirmed turn gets its entry id from the program
//! and keeps its number, its text and its run.
//!
//! Turns are matched by the program's own correlation: run and speaker. The text only chooses among the matches. A hook
//! that names neither a run nor a store leaves only speaker, text and time to go by.

use rusqlite::{OptionalExtension, params};

use super::identity::Known;
use super::{Appender, Lane, witness};
use crate::clock::Millis;
use crate::error::Result;
use crate::event::NewTurn;
use crate::ledger::Write;
use crate::scope::{RecordNo, RunNo, SessionNo, TurnId};
use crate::transcript::codes::{kind_code, role_code};

/// Time in which two calls of a hook without a run report the same turn, if they have the same text: a hook that is
/// configured twice runs twice at once. A person needs longer to say the same again.
const AT_ONCE_MS: Millis = 5_000;

/// Time within which a store's turn is the one that a hook without a run reported with the same text.
const NEAR_MS: Millis = 120_000;

/// Number of newest turns of a lane among which a hook's turn without a run is looked for.
const NEWEST: i64 = 200;

impl Appender<'_> {
    /// Returns the stored turn that a hook's turn repeats: the program's store was read first, or the hook reported the
    /// turn before.
    pub(super) fn already_stored(&mut self, tx: &Write, lane: Lane, turn: &NewTurn) -> Result<Option<Known>> {
        let Some(run) = turn.run.as_deref() else { return self.stored_at_that_time(tx, lane, turn) };
        let Some(run_no) = self.runs.at(tx, lane.lane_no, Some(run))? else { return Ok(None) };
        let mut statement = tx.prepare_cached(
            "SELECT turn_no, session_no, record_no, block_no, text_offset, text_length FROM turns
             WHERE run_no = ?1 AND role = ?2 AND kind = ?3 AND text_length = ?4 AND forgotten IS NULL ORDER BY turn_no",
        )?;
        let shape = params![run_no, role_code(turn.role), kind_code(turn.kind), turn.text.len() as i64];
        let mut rows = statement.query(shape)?;
        while let Some(r) = rows.next()? {
            if self.opener.slice(tx, r.get(3)?, r.get(4)?, r.get(5)?)? == turn.text.as_bytes() {
                return Ok(Some(Known { turn_no: r.get(0)?, session_no: r.get(1)?, record_no: r.get(2)?, run_no }));
            }
        }
        Ok(None)
    }

    /// Returns the turn with the same speaker and text that was stored for the same time.
    fn stored_at_that_time(&mut self, tx: &Write, lane: Lane, turn: &NewTurn) -> Result<Option<Known>> {
        let mut statement = tx.prepare_cached(
            "SELECT turn_no, session_no, record_no, run_no, block_no, text_offset, text_length
             FROM (SELECT * FROM turns WHERE lane_no = ?1 ORDER BY turn_no DESC LIMIT ?2) t
             WHERE role = ?3 AND kind = ?4 AND text_length = ?5 AND forgotten IS NULL
               AND abs(at - ?6) <= CASE WHEN EXISTS (SELECT 1 FROM provisional_turns p WHERE p.turn_no = t.turn_no)
                                   THEN ?7 ELSE ?8 END
             ORDER BY turn_no DESC",
        )?;
        let length = turn.text.len() as i64;
        let shape = (role_code(turn.role), kind_code(turn.kind));
        let asked = params![lane.lane_no, NEWEST, shape.0, shape.1, length, turn.at, AT_ONCE_MS, NEAR_MS];
        let mut rows = statement.query(asked)?;
        while let Some(r) = rows.next()? {
            if self.opener.slice(tx, r.get(4)?, r.get(5)?, r.get(6)?)? == turn.text.as_bytes() {
                let (turn_no, session_no) = (r.get(0)?, r.get(1)?);
                return Ok(Some(Known { turn_no, session_no, record_no: r.get(2)?, run_no: r.get(3)? }));
            }
        }
        Ok(None)
    }

    /// Returns the provisional turn that a turn of the program's store confirms: one of the same run and speaker with
    /// the same text, or one without a run that was said at about the same time. A different text is accepted if the
    /// turn is the only prompt of its run.
    pub(super) fn provisional(&mut self, tx: &Write, lane: Lane, turn: &NewTurn) -> Result<Option<Known>> {
        if !self.has_provisional(tx, lane.session_no)? {
            return Ok(None);
        }
        let following = match &turn.run {
            Some(_) => None,
            None => self.run_it_follows(tx, lane, turn)?,
        };
        let mut statement = tx.prepare_cached(
            "SELECT t.turn_no, t.record_no, t.run_no, t.block_no, t.text_offset, t.text_length, p.run_key IS NULL,
                    abs(t.at - ?7) <= ?8
             FROM provisional_turns p JOIN turns t USING (turn_no)
             WHERE p.session_no = ?1 AND p.lane_no = ?2 AND (p.run_key IS NULL OR p.run_key IS ?3 OR t.run_no = ?6)
               AND t.role = ?4 AND t.kind = ?5 AND t.forgotten IS NULL ORDER BY t.turn_no",
        )?;
        let mut rows = statement.query(params![
            lane.session_no,
            lane.lane_no,
            turn.run,
            role_code(turn.role),
            kind_code(turn.kind),
            following,
            turn.at,
            NEAR_MS
        ])?;
        let mut others = Vec::new();
        while let Some(r) = rows.next()? {
            let known =
                Known { turn_no: r.get(0)?, session_no: lane.session_no, record_no: r.get(1)?, run_no: r.get(2)? };
            let text = self.opener.slice(tx, r.get(3)?, r.get(4)?, r.get(5)?)?;
            let (without_run, near): (bool, Option<bool>) = (r.get(6)?, r.get(7)?);
            if text == turn.text.as_bytes() && (!without_run || near != Some(false)) {
                if let (true, Some(key)) = (without_run, &turn.run) {
                    self.runs.name(tx, lane.lane_no, known.run_no, key)?;
                }
                return Ok(Some(known));
            }
            if !without_run {
                others.push(known);
            }
        }
        // A program may store a prompt differently from what it gave the hook: with pasted text, or trimmed. An answer
        // has several messages, which only their text distinguishes.
        let one_prompt = turn.role == crate::event::Role::User && others.len() == 1;
        Ok(others.pop().filter(|_| one_prompt))
    }

    /// Returns the run of a turn whose program names the run only on the prompt, as Claude Code does: the run of the
    /// preceding turn. The newest run may be a later one, whose prompt a hook has already reported.
    fn run_it_follows(&mut self, tx: &Write, lane: Lane, turn: &NewTurn) -> Result<Option<RunNo>> {
        let of_parent: Option<RunNo> = match &turn.parent {
            Some(parent) => tx
                .prepare_cached(
                    "SELECT run_no FROM turns WHERE entry = ?1 AND session_no = ?2 AND lane_no = ?3
                     ORDER BY revision DESC LIMIT 1",
                )?
                .query_row(params![parent, lane.session_no, lane.lane_no], |r| r.get(0))
                .optional()?,
            None => None,
        };
        match of_parent {
            Some(run_no) => Ok(Some(run_no)),
            None => self.runs.at(tx, lane.lane_no, None),
        }
    }

    fn has_provisional(&mut self, tx: &Write, session_no: SessionNo) -> Result<bool> {
        if let Some(known) = self.provisional_in.get(&session_no) {
            return Ok(*known);
        }
        let has =
            tx.prepare_cached("SELECT 1 FROM provisional_turns WHERE session_no = ?1 LIMIT 1")?.exists([session_no])?;
        self.provisional_in.insert(session_no, has);
        Ok(has)
    }

    /// Marks a turn as provisional.
    pub(super) fn note_provisional(
        &mut self,
        tx: &Write,
        lane: Lane,
        turn_no: TurnId,
        run: Option<&str>,
    ) -> Result<()> {
        tx.prepare_cached(
            "INSERT INTO provisional_turns (turn_no, session_no, lane_no, run_key) VALUES (?1, ?2, ?3, ?4)",
        )?
        .execute(params![turn_no, lane.session_no, lane.lane_no, run])?;
        self.provisional_in.insert(lane.session_no, true);
        Ok(())
    }

    /// Confirms a provisional turn from the program's store: the turn gets the program's entry id and the record to be
    /// exported, and the hook's record becomes a witness. `false`: the turn was not provisional.
    pub(super) fn confirm(
        &mut self,
        tx: &Write,
        lane: Lane,
        known: &Known,
        entry: &str,
        record_no: RecordNo,
        turn: &NewTurn,
    ) -> Result<bool> {
        if !self.has_provisional(tx, lane.session_no)? {
            return Ok(false);
        }
        let was = tx
            .prepare_cached("DELETE FROM provisional_turns WHERE turn_no = ?1 RETURNING turn_no")?
            .query_row([known.turn_no], |r| r.get::<_, i64>(0))
            .optional()?;
        if was.is_none() {
            return Ok(false);
        }
        self.give_to_record(tx, known, entry, record_no, turn)?;
        // The hook's record is in a stream of its own, separate from the program's.
        self.out.witnesses += witness(tx, known.turn_no, known.record_no, false)?;
        Ok(true)
    }

    /// Assigns a turn known from elsewhere to a record of the program's store: entry id and missing details are filled
    /// in from the record; number, text and run stay.
    pub(super) fn give_to_record(
        &mut self,
        tx: &Write,
        known: &Known,
        entry: &str,
        record_no: RecordNo,
        turn: &NewTurn,
    ) -> Result<()> {
        let model_no = self.names.number_of(tx, turn.model.as_deref())?;
        let usage = turn.usage.map(|u| serde_json::json!([u.input, u.output, u.cache_read, u.cache_write]).to_string());
        let revision: i64 = tx
            .prepare_cached("SELECT count(*) FROM turns WHERE entry = ?1 AND session_no = ?2 AND turn_no <> ?3")?
            .query_row(params![entry, known.session_no, known.turn_no], |r| r.get(0))?;
        tx.prepare_cached(
            "UPDATE turns SET entry = ?2, record_no = ?3, parent = ?4, at = coalesce(?5, at),
                    model_no = coalesce(?6, model_no), usage = coalesce(?7, usage), revision = ?8 WHERE turn_no = ?1",
        )?
        .execute(params![known.turn_no, entry, record_no, turn.parent, turn.at, model_no, usage, revision])?;
        self.runs.stored(known.run_no, known.turn_no, turn, model_no);
        Ok(())
    }
}
