//! Runs and their results. A run is everything from one prompt to the end of its answer, with a normalised outcome.
//!
//! A run opens with a prompt (or with the first turn that names a new run id) and closes when the next prompt begins,
//! when the program reports its end, at session end, or after ten minutes without a record. Results may change until
//! the run is closed; the turns themselves never do.

use std::collections::{BTreeSet, HashMap};

use rusqlite::{OptionalExtension, params};
use serde::{Deserialize, Serialize};

use super::codes::status_code;
use crate::clock::Millis;
use crate::error::{Error, Result};
use crate::event::{NewTurn, Role, RunStatus, TurnKind, Usage};
use crate::ledger::Write;
use crate::ledger::codes::{MESSAGE, RUN_OPEN, RUN_SUPERSEDED, USER};
use crate::scope::{AgentNo, LaneNo, NameNo, RunNo, SessionKey, SessionNo, TurnId};

/// A run without a record for this long is closed (SPEC §2).
pub const IDLE_MS: i64 = 10 * 60 * 1000;

/// Tokens of one run, summed over its model messages.
#[derive(Clone, Serialize, Deserialize, Default, PartialEq, Debug)]
pub struct RunUsage {
    #[serde(skip_serializing_if = "Option::is_none")]
    pub input: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub output: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub cache_read: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub cache_write: Option<u64>,
    /// Whether the program reported the total itself, so that nothing is added to it.
    #[serde(skip_serializing_if = "std::ops::Not::not", default)]
    pub reported: bool,
    /// The newest message and its contribution: programs repeat a message's usage on each of its records.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub last: Option<(String, [u64; 4])>,
}

impl RunUsage {
    fn add(&mut self, message: Option<&str>, usage: Usage) {
        if self.reported {
            return;
        }
        let new = [usage.input, usage.output, usage.cache_read, usage.cache_write];
        let old = match (&self.last, message) {
            (Some((id, counted)), Some(message)) if id == message => *counted,
            _ => [0; 4],
        };
        let sums = [&mut self.input, &mut self.output, &mut self.cache_read, &mut self.cache_write];
        for ((sum, new), old) in sums.into_iter().zip(new).zip(old) {
            if let Some(new) = new {
                *sum = Some(sum.unwrap_or(0).saturating_sub(old).saturating_add(new));
            }
        }
        self.last = message.map(|m| (m.to_owned(), new.map(|n| n.unwrap_or(0))));
    }
}

/// Runs changed by one append; they are written back once, at its end.
#[derive(Default)]
pub(super) struct Runs {
    lanes: HashMap<LaneNo, LaneRuns>,
    open: HashMap<RunNo, Run>,
}

#[derive(Clone, Copy)]
struct LaneRuns {
    newest: Option<RunNo>,
    /// Whether turns of another session came after the newest run, so that the next turn opens a run even if it is not
    /// a prompt.
    left: bool,
    /// The run of the last turn processed, new or known.
    met: Option<RunNo>,
}

impl LaneRuns {
    fn current(self) -> Option<RunNo> {
        self.newest.filter(|_| !self.left)
    }
}

struct Run {
    key: Option<String>,
    status: i64,
    stop_reason: Option<String>,
    model_no: Option<NameNo>,
    usage: RunUsage,
    prompt_turn: Option<TurnId>,
    /// Whether a person typed the prompt.
    prompt_typed: bool,
    answer_turn: Option<TurnId>,
    fingerprint: Option<String>,
    opened_at: Option<Millis>,
    last_at: Option<Millis>,
    closed_by: Option<String>,
    dirty: bool,
}

impl Runs {
    /// Returns the run a new turn belongs to; opens a run if the turn begins one.
    pub(super) fn of_turn(
        &mut self,
        tx: &Write,
        session: SessionNo,
        lane: LaneNo,
        turn: &NewTurn,
        prompt: bool,
    ) -> Result<RunNo> {
        if let Some(key) = &turn.run {
            let run = match self.by_key(tx, lane, key)? {
                Some(run) => run,
                None => self.open(tx, session, lane, Some(key), turn.at)?,
            };
            self.met(lane, run);
            return Ok(run);
        }
        let run = match self.lane(tx, lane)?.current() {
            Some(run) if !prompt => run,
            _ => self.open(tx, session, lane, None, turn.at)?,
        };
        self.met(lane, run);
        Ok(run)
    }

    /// Records that a turn of this run was processed in the lane.
    pub(super) fn met(&mut self, lane: LaneNo, run: RunNo) {
        if let Some(state) = self.lanes.get_mut(&lane) {
            state.met = Some(run);
            if state.newest == Some(run) {
                state.left = false;
            }
        }
    }

    /// Returns the run with that key; without a key, the run whose turns are being processed.
    pub(super) fn at(&mut self, tx: &Write, lane: LaneNo, key: Option<&str>) -> Result<Option<RunNo>> {
        match key {
            Some(key) => self.by_key(tx, lane, key),
            None => {
                let state = self.lane(tx, lane)?;
                Ok(state.met.or(state.current()))
            }
        }
    }

    /// Adds a stored turn to the result of its run.
    pub(super) fn stored(&mut self, run_no: RunNo, turn_no: TurnId, turn: &NewTurn, model_no: Option<NameNo>) {
        let Some(run) = self.open.get_mut(&run_no) else { return };
        run.dirty = true;
        if let Some(at) = turn.at {
            run.opened_at = Some(run.opened_at.map_or(at, |o| o.min(at)));
            run.last_at = Some(run.last_at.map_or(at, |l| l.max(at)));
        }
        let asks = matches!(turn.kind, TurnKind::Message | TurnKind::MachinePrompt) && turn.role != Role::Assistant;
        // A prompt a person typed is the run's prompt; text the program put before it counts as prompt only until then.
        let typed = turn.role == Role::User && turn.kind == TurnKind::Message;
        if asks && (run.prompt_turn.is_none() || (typed && !run.prompt_typed)) {
            run.prompt_turn = Some(turn_no);
            run.prompt_typed = typed;
        }
        if turn.role == Role::Assistant {
            run.model_no = model_no.or(run.model_no);
            if turn.kind == TurnKind::Message {
                run.answer_turn = Some(turn_no);
                if turn.failed {
                    run.status = status_code(RunStatus::Failed);
                }
            }
        }
        if let Some(usage) = turn.usage {
            run.usage.add(turn.message.as_deref(), usage);
        }
    }

    pub(super) fn end(
        &mut self,
        tx: &Write,
        lane: LaneNo,
        key: Option<&str>,
        status: RunStatus,
        reason: Option<&str>,
        at: Option<Millis>,
    ) -> Result<()> {
        if let Some(run) = self.named(tx, lane, key)? {
            // A later marker that the same run ended normally does not undo a failure or an interruption.
            if run.status == RUN_OPEN || run.status == RUN_SUPERSEDED || status != RunStatus::Completed {
                run.status = status_code(status);
                run.stop_reason = reason.map(str::to_owned).or(run.stop_reason.take());
                run.closed_by = Some("turn-end".into());
            }
            run.last_at = run.last_at.max(at);
            run.dirty = true;
        }
        Ok(())
    }

    pub(super) fn usage(&mut self, tx: &Write, lane: LaneNo, key: Option<&str>, usage: Usage) -> Result<()> {
        if let Some(run) = self.named(tx, lane, key)? {
            run.usage = RunUsage {
                input: usage.input,
                output: usage.output,
                cache_read: usage.cache_read,
                cache_write: usage.cache_write,
                reported: true,
                last: None,
            };
            run.dirty = true;
        }
        Ok(())
    }

    pub(super) fn fingerprint(&mut self, tx: &Write, lane: LaneNo, key: Option<&str>, fingerprint: &str) -> Result<()> {
        if let Some(run) = self.named(tx, lane, key)? {
            run.fingerprint = Some(fingerprint.to_owned());
            run.dirty = true;
        }
        Ok(())
    }

    /// Closes the lane's open run because something else began, such as the next prompt.
    pub(super) fn close(&mut self, tx: &Write, lane: LaneNo, by: &str) -> Result<()> {
        if let Some(no) = self.lane(tx, lane)?.newest
            && let Some(run) = self.open.get_mut(&no)
            && run.status == RUN_OPEN
        {
            run.status = if run.answer_turn.is_some() { status_code(RunStatus::Completed) } else { RUN_SUPERSEDED };
            run.closed_by = Some(by.to_owned());
            run.dirty = true;
        }
        Ok(())
    }

    /// Makes the next turn of the lane begin a run of its own.
    pub(super) fn leave(&mut self, tx: &Write, lane: LaneNo) -> Result<()> {
        self.lane(tx, lane)?;
        if let Some(state) = self.lanes.get_mut(&lane) {
            state.left = true;
            state.met = None;
        }
        Ok(())
    }

    pub(super) fn store(&self, tx: &Write) -> Result<()> {
        for (no, run) in self.open.iter().filter(|(_, r)| r.dirty) {
            let usage = (run.usage != RunUsage::default())
                .then(|| serde_json::to_string(&run.usage).map_err(|e| Error::damaged("usage").because(e)))
                .transpose()?;
            tx.prepare_cached(
                "UPDATE turn_results SET status = ?2, stop_reason = ?3, model_no = ?4, usage = ?5, prompt_turn = ?6,
                        answer_turn = ?7, request_fingerprint = ?8, opened_at = ?9, last_at = ?10, closed_by = ?11
                 WHERE run_no = ?1",
            )?
            .execute(params![
                no,
                run.status,
                run.stop_reason,
                run.model_no,
                usage,
                run.prompt_turn,
                run.answer_turn,
                run.fingerprint,
                run.opened_at,
                run.last_at,
                run.closed_by
            ])?;
        }
        Ok(())
    }

    fn named(&mut self, tx: &Write, lane: LaneNo, key: Option<&str>) -> Result<Option<&mut Run>> {
        let no = match key {
            Some(key) => self.by_key(tx, lane, key)?,
            None => self.lane(tx, lane)?.current(),
        };
        Ok(no.and_then(|no| self.open.get_mut(&no)))
    }

    fn by_key(&mut self, tx: &Write, lane: LaneNo, key: &str) -> Result<Option<RunNo>> {
        if let Some(no) = self.lane(tx, lane)?.newest
            && self.open.get(&no).is_some_and(|r| r.key.as_deref() == Some(key))
        {
            return Ok(Some(no));
        }
        let found: Option<RunNo> = tx
            .prepare_cached("SELECT run_no FROM turn_results WHERE lane_no = ?1 AND run_key = ?2")?
            .query_row(params![lane, key], |r| r.get(0))
            .optional()?;
        if let Some(no) = found {
            self.load(tx, no)?;
        }
        Ok(found)
    }

    /// Gives a run the program's id for it, which was not known when the run began; a run of that id stays as it is.
    pub(super) fn name(&mut self, tx: &Write, lane: LaneNo, run: RunNo, key: &str) -> Result<()> {
        if self.by_key(tx, lane, key)?.is_some() {
            return Ok(());
        }
        tx.prepare_cached("UPDATE turn_results SET run_key = ?2 WHERE run_no = ?1 AND run_key IS NULL")?
            .execute(params![run, key])?;
        // Turns of the run that are read from now on carry the id.
        if let Some(open) = self.open.get_mut(&run)
            && open.key.is_none()
        {
            open.key = Some(key.to_owned());
        }
        Ok(())
    }

    /// Returns the state of a lane, which is read from the ledger on first use.
    fn lane(&mut self, tx: &Write, lane: LaneNo) -> Result<LaneRuns> {
        if let Some(known) = self.lanes.get(&lane) {
            return Ok(*known);
        }
        let newest: Option<RunNo> = tx
            .prepare_cached("SELECT max(run_no) FROM turn_results WHERE lane_no = ?1")?
            .query_row([lane], |r| r.get(0))?;
        let mut left = false;
        if let Some(no) = newest {
            self.load(tx, no)?;
            left = tx
                .prepare_cached(
                    "SELECT EXISTS (SELECT 1 FROM turn_references f JOIN lanes l USING (session_no)
                     WHERE l.lane_no = ?1 AND f.lane_no = ?1
                       AND f.record_no > (SELECT max(record_no) FROM turns WHERE run_no = ?2))",
                )?
                .query_row((lane, no), |r| r.get(0))?;
        }
        let met = tx
            .prepare_cached(
                "SELECT run_no FROM turns t INDEXED BY turns_session
                 WHERE t.session_no = (SELECT session_no FROM lanes WHERE lane_no = ?1) AND t.lane_no = ?1 AND NOT EXISTS (
                   SELECT 1 FROM turn_references f
                   WHERE f.session_no = t.session_no AND f.lane_no = ?1 AND f.record_no > t.record_no)
                 ORDER BY t.turn_no DESC LIMIT 1",
            )?
            .query_row([lane], |r| r.get(0))
            .optional()?;
        let state = LaneRuns { newest, left, met };
        self.lanes.insert(lane, state);
        Ok(state)
    }

    fn open(
        &mut self,
        tx: &Write,
        session: SessionNo,
        lane: LaneNo,
        key: Option<&str>,
        at: Option<Millis>,
    ) -> Result<RunNo> {
        self.close(tx, lane, "next-prompt")?;
        tx.prepare_cached(
            "INSERT INTO turn_results (session_no, lane_no, run_key, status, opened_at, last_at) VALUES (?1, ?2, ?3, ?4, ?5, ?5)",
        )?
        .execute(params![session, lane, key, RUN_OPEN, at])?;
        let no = RunNo(tx.last_insert_rowid());
        self.lanes.insert(lane, LaneRuns { newest: Some(no), left: false, met: Some(no) });
        self.open.insert(
            no,
            Run {
                key: key.map(str::to_owned),
                status: RUN_OPEN,
                stop_reason: None,
                model_no: None,
                usage: RunUsage::default(),
                prompt_turn: None,
                prompt_typed: false,
                answer_turn: None,
                fingerprint: None,
                opened_at: at,
                last_at: at,
                closed_by: None,
                dirty: false,
            },
        );
        Ok(no)
    }

    fn load(&mut self, tx: &Write, no: RunNo) -> Result<()> {
        if self.open.contains_key(&no) {
            return Ok(());
        }
        let run = tx
            .prepare_cached(&format!(
                "SELECT run_key, status, stop_reason, model_no, usage, prompt_turn, answer_turn, request_fingerprint,
                        (SELECT role = {USER} AND kind = {MESSAGE} FROM turns WHERE turn_no = prompt_turn),
                        opened_at, last_at, closed_by FROM turn_results WHERE run_no = ?1"
            ))?
            .query_row([no], |r| {
                Ok(Run {
                    key: r.get(0)?,
                    status: r.get(1)?,
                    stop_reason: r.get(2)?,
                    model_no: r.get(3)?,
                    usage: r
                        .get::<_, Option<String>>(4)?
                        .and_then(|u| serde_json::from_str(&u).ok())
                        .unwrap_or_default(),
                    prompt_turn: r.get(5)?,
                    answer_turn: r.get(6)?,
                    fingerprint: r.get(7)?,
                    prompt_typed: r.get::<_, Option<bool>>(8)?.unwrap_or(false),
                    opened_at: r.get(9)?,
                    last_at: r.get(10)?,
                    closed_by: r.get(11)?,
                    dirty: false,
                })
            })?;
        self.open.insert(no, run);
        Ok(())
    }
}

/// Result of closing runs that received no more records.
#[derive(Clone, Default, PartialEq, Eq, Debug)]
pub struct ClosedIdle {
    pub runs: u64,
    /// The sessions of those runs.
    pub sessions: BTreeSet<SessionNo>,
    /// Time at which the next run will be idle for [`IDLE_MS`].
    pub next: Option<Millis>,
}

/// Closes runs without a record for [`IDLE_MS`].
pub fn close_idle(tx: &mut Write) -> Result<ClosedIdle> {
    let before = tx.now() - IDLE_MS;
    let mut out = ClosedIdle::default();
    {
        let mut statement = tx.prepare_cached(
            "UPDATE turn_results SET closed_by = 'idle', status = CASE WHEN answer_turn IS NULL THEN ?2 ELSE ?3 END
             WHERE status = ?1 AND closed_by IS NULL AND coalesce(last_at, 0) <= ?4 RETURNING session_no",
        )?;
        let closed = statement
            .query_map(params![RUN_OPEN, RUN_SUPERSEDED, status_code(RunStatus::Completed), before], |r| r.get(0))?;
        for session in closed {
            out.runs += 1;
            out.sessions.insert(session?);
        }
    }
    // Turns the program's store has not confirmed stay as the hook reported them (R4.4).
    tx.prepare_cached(
        "UPDATE provisional_turns SET settled = 1 WHERE settled = 0 AND (SELECT status FROM turn_results r
           JOIN turns t USING (run_no) WHERE t.turn_no = provisional_turns.turn_no) != ?1
         AND (SELECT coalesce(last_at, 0) FROM sessions s WHERE s.session_no = provisional_turns.session_no) <= ?2",
    )?
    .execute(params![RUN_OPEN, before])?;
    out.next = tx
        .query_row(
            "SELECT min(coalesce(last_at, 0)) FROM turn_results WHERE status = ?1 AND closed_by IS NULL",
            [RUN_OPEN],
            |r| r.get::<_, Option<Millis>>(0),
        )?
        .map(|at| at.saturating_add(IDLE_MS));
    tx.note("closed", out.runs);
    Ok(out)
}

/// Ends a session by hand: closes its runs and marks it as ended. Returns whether it was open.
pub fn end_session(tx: &mut Write, session_no: SessionNo) -> Result<bool> {
    tx.execute(
        "UPDATE turn_results SET closed_by = 'session-end', status = CASE WHEN answer_turn IS NULL THEN ?2 ELSE ?3 END
         WHERE status = ?4 AND lane_no IN (SELECT lane_no FROM lanes WHERE session_no = ?1)",
        params![session_no, RUN_SUPERSEDED, status_code(RunStatus::Completed), RUN_OPEN],
    )?;
    let now = tx.now();
    let ended = tx.execute(
        "UPDATE sessions SET ended_at = ?2, ended_by = 'hand' WHERE session_no = ?1 AND ended_at IS NULL",
        (session_no, now),
    )?;
    tx.note("session_no", session_no);
    Ok(ended > 0)
}

/// Records that a program reported the end of a session at `at` (R5.2). A session that is unknown, or that went on
/// after `at`, is left as it is. `settled`: the program's store is read to its end, so that turns it did not confirm
/// stay as the hook reported them (R4.4). Returns the session if it has ended now.
pub fn end_told(
    tx: &mut Write,
    agent_no: AgentNo,
    session: &SessionKey,
    at: Millis,
    settled: bool,
) -> Result<Option<SessionNo>> {
    let found: Option<SessionNo> = tx
        .prepare_cached(
            "SELECT session_no FROM sessions WHERE agent_no = ?1 AND session_key = ?2 AND coalesce(last_at, ?3) <= ?3",
        )?
        .query_row(params![agent_no, session.as_str(), at], |r| r.get(0))
        .optional()?;
    let Some(session_no) = found else { return Ok(None) };
    tx.execute(
        "UPDATE turn_results SET closed_by = 'session-end', status = CASE WHEN answer_turn IS NULL THEN ?2 ELSE ?3 END
         WHERE status = ?4 AND lane_no IN (SELECT lane_no FROM lanes WHERE session_no = ?1)",
        params![session_no, RUN_SUPERSEDED, status_code(RunStatus::Completed), RUN_OPEN],
    )?;
    tx.execute(
        "UPDATE sessions SET ended_at = ?2, ended_by = 'program' WHERE session_no = ?1 AND ended_at IS NULL",
        (session_no, at),
    )?;
    if settled {
        tx.execute("UPDATE provisional_turns SET settled = 1 WHERE session_no = ?1 AND settled = 0", [session_no])?;
    }
    tx.note("ended", session_no);
    Ok(Some(session_no))
}

/// Records that the run `by` branched off before the end of this one, so that the program abandoned this branch. Only
/// the first such record is kept.
pub(crate) fn leave(tx: &Write, run_no: RunNo, by: RunNo) -> Result<()> {
    tx.prepare_cached("UPDATE turn_results SET left_by = ?2 WHERE run_no = ?1 AND left_by IS NULL")?
        .execute(params![run_no, by])?;
    Ok(())
}
