//! The turns that are in the context of a session's model right now, so that the model is not given them again (R10.6).
//!
//! These are the turns on the session's main line since its context was last cut, whether the program's store or only a
//! hook reported them, and the turns the session took along from the session it was forked from. Some programs also
//! keep the person's own messages over a compaction.

use rusqlite::{OptionalExtension, params};

use crate::audience::{Audience, ToldCut};
use crate::clock::Millis;
use crate::error::Result;
use crate::ledger::Read;
use crate::ledger::codes::{COMPACT_SUMMARY, MESSAGE, USER};
use crate::lineage::walk::Stretch;
use crate::scope::{AgentNo, SessionNo, TurnId};

/// Largest time between two reports of one cut: a hook and the program's store report it before, during or after the
/// summary, which a model takes time to write.
const SAME_CUT_MS: Millis = 10 * 60_000;

/// Largest number of ancestors of a fork that are followed.
const GENERATIONS: usize = 8;

/// Largest number of bytes of a person's own messages that programs keep over a compaction, newest first: about 20,000
/// tokens.
const WORDS_KEPT: i64 = 80_000;

/// Largest number of a person's messages that are examined for this.
const MESSAGES_KEPT: i64 = 400;

/// The turns in a session's context. The default value holds none.
#[derive(Clone, Default, Debug)]
pub struct Live {
    places: Vec<Place>,
    /// First of the person's messages that the program kept over the last compaction.
    words_from: Option<TurnId>,
}

/// A session whose turns are in the context.
#[derive(Clone, Debug)]
struct Place {
    session_no: SessionNo,
    cut: Cut,
    /// Time of the fork: only turns up to this time are in the context.
    until: Millis,
}

/// Where a context was cut last. Without any mark it was never cut.
#[derive(Clone, Default, Debug)]
struct Cut {
    /// The program's own mark: number of its record, and its time.
    mark: Option<(i64, Option<Millis>)>,
    /// Time of a cut that a hook reported and the program's store does not show yet.
    told_at: Option<Millis>,
    /// Last turn that a summary replaces, if a person had the session compacted.
    until: Option<TurnId>,
    /// Whether the context was summarised and not emptied.
    is_compaction: bool,
}

impl Cut {
    fn is_none(&self) -> bool {
        self.mark.is_none() && self.told_at.is_none() && self.until.is_none()
    }

    /// Whether the cut is before a turn. `record`: the record in which the session has the turn.
    fn is_before(&self, turn: TurnId, record: i64, at: Option<Millis>) -> bool {
        // A turn reported by a hook has an earlier record than a mark that is read from the store later; then the times
        // decide. The turn of the mark's own record is the summary with which the context begins.
        let after_mark =
            self.mark.is_none_or(|(mark, when)| record >= mark || when.is_some_and(|when| at > Some(when)));
        let after_told = self.told_at.is_none_or(|told| at.is_some_and(|at| at > told));
        after_mark && after_told && self.until.is_none_or(|until| turn > until)
    }
}

impl Live {
    /// Returns the turns in the context of the audience's session. Empty if the program keeps no turns or the session
    /// is new.
    pub fn of(tx: &Read, audience: &Audience) -> Result<Live> {
        let Some(known) = audience.known.as_ref().filter(|_| audience.keeps.turns) else { return Ok(Live::default()) };
        let cut = last_cut(tx, known.no, audience.cut, Millis::MAX)?;
        let words_from = match audience.keeps.words && cut.is_compaction {
            true => words_kept(tx, known.no)?,
            false => None,
        };
        let own = Place { session_no: known.no, cut, until: Millis::MAX };
        let mut places = vec![own];
        while let Some(last) = places.last().filter(|last| last.cut.is_none() && places.len() <= GENERATIONS) {
            let Some(parent) = parent(tx, audience.agent_no, last)? else { break };
            places.push(parent);
        }
        Ok(Live { places, words_from })
    }

    /// Whether all turns of a session are in the context because the context was never cut.
    pub fn is_whole(&self, session_no: SessionNo) -> bool {
        self.places.first().is_some_and(|own| own.session_no == session_no && own.cut.is_none())
    }

    /// Whether a turn is in the context.
    pub fn holds(&self, tx: &Read, turn: TurnId) -> Result<bool> {
        if self.places.is_empty() {
            return Ok(false);
        }
        let found: Option<(SessionNo, bool, i64, Option<Millis>, bool)> = tx
            .prepare_cached(&format!(
                "SELECT t.session_no, l.lane = '', t.record_no, t.at, t.role = {USER} AND t.kind = {MESSAGE}
                 FROM turns t JOIN lanes l ON l.lane_no = t.lane_no WHERE t.turn_no = ?1"
            ))?
            .query_row([turn], |r| Ok((r.get(0)?, r.get(1)?, r.get(2)?, r.get(3)?, r.get(4)?)))
            .optional()?;
        let Some((session_no, is_main, record, at, is_prompt)) = found else { return Ok(false) };
        for (n, place) in self.places.iter().enumerate() {
            let record = match session_no == place.session_no {
                true => is_main.then_some(record),
                // A turn shared with a fork has its own record in the fork.
                false => tx
                    .prepare_cached(
                        "SELECT r.record_no FROM turn_references r JOIN lanes l ON l.lane_no = r.lane_no
                         WHERE r.session_no = ?1 AND r.turn_no = ?2 AND l.lane = ''",
                    )?
                    .query_row(params![place.session_no, turn], |r| r.get(0))
                    .optional()?,
            };
            let Some(record) = record else { continue };
            let kept = n == 0 && is_prompt && self.words_from.is_some_and(|from| turn >= from);
            let in_time = at.is_none_or(|at| at <= place.until);
            if kept || in_time && place.cut.is_before(turn, record, at) {
                return Ok(true);
            }
        }
        Ok(false)
    }

    /// Whether all of some turns are in the context; `false` for no turns.
    pub fn holds_all(&self, tx: &Read, turns: &[TurnId]) -> Result<bool> {
        for turn in turns {
            if !self.holds(tx, *turn)? {
                return Ok(false);
            }
        }
        Ok(!turns.is_empty())
    }

    /// Whether all turns that a summary covers are in the context.
    pub fn holds_stretches(&self, tx: &Read, stretches: &[Stretch]) -> Result<bool> {
        let ends: Vec<TurnId> = stretches.iter().flat_map(|s| [s.turns.0, s.turns.1]).collect();
        self.holds_all(tx, &ends)
    }

    /// Returns the turns with which a cut context begins: the program's own summary, and the person's messages it kept,
    /// newest first.
    pub fn restored(&self, tx: &Read) -> Result<Vec<TurnId>> {
        let Some(own) = self.places.first().filter(|own| !own.cut.is_none()) else { return Ok(Vec::new()) };
        let mut statement = tx.prepare_cached(&format!(
            "SELECT t.turn_no FROM turns t JOIN lanes l ON l.lane_no = t.lane_no
             WHERE t.session_no = ?1 AND l.lane = '' AND t.kind = {COMPACT_SUMMARY} ORDER BY t.turn_no DESC LIMIT 2"
        ))?;
        let mut out = Vec::new();
        for turn in statement.query_map([own.session_no], |r| r.get::<_, TurnId>(0))? {
            let turn = turn?;
            if self.holds(tx, turn)? {
                out.push(turn);
            }
        }
        if let Some(from) = self.words_from {
            let mut statement = tx.prepare_cached(&format!(
                "SELECT t.turn_no FROM turns t JOIN lanes l ON l.lane_no = t.lane_no
                 WHERE t.session_no = ?1 AND t.turn_no >= ?2 AND l.lane = '' AND t.role = {USER} AND t.kind = {MESSAGE}
                 ORDER BY t.turn_no DESC LIMIT ?3"
            ))?;
            let rows = statement.query_map(params![own.session_no, from, MESSAGES_KEPT], |r| r.get(0))?;
            for turn in rows {
                out.push(turn?);
            }
        }
        Ok(out)
    }
}

/// Returns where a session's context was last cut before a moment. `told`: the cut that hooks reported.
fn last_cut(tx: &Read, session_no: SessionNo, told: Option<ToldCut>, before: Millis) -> Result<Cut> {
    let mark: Option<(i64, Option<Millis>, bool)> = tx
        .prepare_cached(
            "SELECT b.record_no, b.at, b.kind = 'compaction' FROM boundaries b JOIN lanes l ON l.lane_no = b.lane_no
             WHERE b.session_no = ?1 AND l.lane = '' AND (b.at IS NULL OR b.at <= ?2)
             ORDER BY b.record_no DESC LIMIT 1",
        )?
        .query_row(params![session_no, before], |r| Ok((r.get(0)?, r.get(1)?, r.get(2)?)))
        .optional()?;
    let until: Option<TurnId> = tx
        .prepare_cached(
            "SELECT c.until_turn FROM compactions c JOIN lanes l ON l.lane_no = c.lane_no
             WHERE c.session_no = ?1 AND l.lane = '' AND c.boundary_no IS NULL AND c.at <= ?2
               AND c.cause NOT IN ('again', 'threshold')
               AND NOT EXISTS (SELECT 1 FROM flushes f WHERE f.flush_id = c.flush_id AND f.state = 'planned')
             ORDER BY c.compaction_no DESC LIMIT 1",
        )?
        .query_row(params![session_no, before], |r| r.get(0))
        .optional()?;
    let marked_at = mark.and_then(|(_, at, _)| at);
    // The store's mark says more exactly than the hook where the cut is, so the hook counts only for a later cut.
    let told = told.filter(|told| match (mark, marked_at) {
        (Some(_), Some(marked)) => told.at > marked + SAME_CUT_MS,
        (Some(_), None) => false,
        (None, _) => true,
    });
    let is_compaction = match (told, mark) {
        (Some(told), _) => told.is_compaction,
        (None, Some((.., is_compaction))) => is_compaction,
        (None, None) => until.is_some(),
    };
    let told_at = told.map(|told| told.at);
    Ok(Cut { mark: mark.map(|(record, at, _)| (record, at)), told_at, until, is_compaction })
}

/// Returns the session that this one was forked from, up to the time of the fork. `None` for a fork whose turns are
/// known one by one.
fn parent(tx: &Read, agent_no: AgentNo, copy: &Place) -> Result<Option<Place>> {
    let found: Option<(SessionNo, Millis)> = tx
        .prepare_cached(
            "SELECT p.session_no, CASE WHEN s.started_at > p.started_at THEN s.started_at ELSE s.created_at END FROM sessions s
             JOIN sessions p ON p.agent_no = s.agent_no AND p.session_key = s.fork_of
             WHERE s.session_no = ?1 AND s.agent_no = ?2 AND p.session_no <> s.session_no
               AND NOT EXISTS (SELECT 1 FROM turn_references r WHERE r.session_no = s.session_no)",
        )?
        .query_row(params![copy.session_no, agent_no], |r| Ok((r.get(0)?, r.get(1)?)))
        .optional()?;
    let Some((session_no, copied_at)) = found else { return Ok(None) };
    let until = copied_at.min(copy.until);
    let cut = last_cut(tx, session_no, None, until)?;
    Ok(Some(Place { session_no, cut, until }))
}

/// Returns the first of the newest messages of a person that together are as long as what programs keep.
fn words_kept(tx: &Read, session_no: SessionNo) -> Result<Option<TurnId>> {
    let mut statement = tx.prepare_cached(&format!(
        "SELECT t.turn_no, t.text_length FROM turns t INDEXED BY turns_session JOIN lanes l ON l.lane_no = t.lane_no
         WHERE t.session_no = ?1 AND l.lane = '' AND t.role = {USER} AND t.kind = {MESSAGE} AND t.forgotten IS NULL
         ORDER BY t.turn_no DESC LIMIT ?2"
    ))?;
    let mut rows = statement.query(params![session_no, MESSAGES_KEPT])?;
    let (mut from, mut bytes) = (None, 0);
    while let Some(r) = rows.next()? {
        bytes += r.get::<_, i64>(1)?;
        if bytes > WORDS_KEPT {
            break;
        }
        from = Some(r.get(0)?);
    }
    Ok(from)
}
