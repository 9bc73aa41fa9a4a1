//! Epochs count how often a session's context was cut: what was given before a cut is no longer in the context and may
//! be given again (R10.6).
//!
//! Cuts are reported by two sources: the program's hook, at once, and the lineage, once the compaction is distilled.
//! Both count the same cuts, so the larger count is used.

use rusqlite::{OptionalExtension, params};

use super::{Event, held};
use crate::audience::{Audience, ToldCut};
use crate::clock::Millis;
use crate::error::Result;
use crate::ledger::{Read, Write};
use crate::lineage;
use crate::scope::{AgentNo, SessionKey, named};

/// Hooks report one cut several times, before and after it, within seconds; a report after this is another cut.
const SAME_CUT_MS: Millis = 60_000;

named! {
    /// Why a context was last cut.
    pub enum Cause {
        Compact = "compact",
        Clear = "clear",
    }
}

struct Row {
    epoch: u64,
    next: u64,
    cut_at: Option<Millis>,
}

fn row(tx: &Read, agent_no: AgentNo, session: &SessionKey) -> Result<Option<Row>> {
    Ok(tx
        .prepare_cached("SELECT epoch, next, cut_at FROM context_epochs WHERE agent_no = ?1 AND session_key = ?2")?
        .query_row(params![agent_no, session.as_str()], |r| {
            Ok(Row { epoch: r.get::<_, i64>(0)? as u64, next: r.get::<_, i64>(1)? as u64, cut_at: r.get(2)? })
        })
        .optional()?)
}

/// Returns the current epoch of a session.
pub(super) fn current(tx: &Read, audience: &Audience) -> Result<u64> {
    let told = row(tx, audience.agent_no, &audience.session)?.map_or(0, |r| r.epoch);
    let distilled = audience.known.as_ref().map_or(Ok(0), |k| lineage::epoch(tx, k.no))?;
    let given = held::last_given(tx, audience.agent_no, audience.session.as_str(), Millis::MAX)?.unwrap_or(0);
    Ok(told.max(distilled).max(given))
}

/// Returns the epoch a context is given in. A program may report a cut with its request; the earlier contexts are then
/// gone.
pub(super) fn of(tx: &Read, audience: &Audience, event: Event) -> Result<u64> {
    let epoch = current(tx, audience)?;
    let cut_now = matches!(event, Event::Compact | Event::Clear) && given_in(tx, audience, epoch)?;
    Ok(epoch + u64::from(cut_now))
}

/// Returns why the current epoch of a session began, if its program reported it.
pub fn cause(tx: &Read, agent_no: AgentNo, session: &SessionKey) -> Result<Option<Cause>> {
    let found: Option<String> = tx
        .prepare_cached("SELECT cause FROM context_epochs WHERE agent_no = ?1 AND session_key = ?2")?
        .query_row(params![agent_no, session.as_str()], |r| r.get(0))
        .optional()?
        .flatten();
    Ok(found.map(|name| if name == "clear" { Cause::Clear } else { Cause::Compact }))
}

/// Returns the last cut of a session's context that its hooks reported.
pub fn told_cut(tx: &Read, agent_no: AgentNo, session: &SessionKey) -> Result<Option<ToldCut>> {
    let Some(at) = row(tx, agent_no, session)?.and_then(|row| row.cut_at) else { return Ok(None) };
    let is_compaction = cause(tx, agent_no, session)? != Some(Cause::Clear);
    Ok(Some(ToldCut { at, is_compaction }))
}

/// Whether a cut was announced and not yet reported as done.
pub fn is_announced(tx: &Read, audience: &Audience) -> Result<bool> {
    Ok(row(tx, audience.agent_no, &audience.session)?.is_some_and(|r| r.next > r.epoch))
}

/// Whether a session's context was ever cut.
pub fn was_cut(tx: &Read, audience: &Audience) -> Result<bool> {
    Ok(current(tx, audience)? > 0)
}

/// Whether a context was given in the current epoch of a session.
pub fn was_given(tx: &Read, audience: &Audience) -> Result<bool> {
    given_in(tx, audience, current(tx, audience)?)
}

fn given_in(tx: &Read, audience: &Audience, epoch: u64) -> Result<bool> {
    Ok(tx
        .prepare_cached("SELECT 1 FROM contexts WHERE agent_no = ?1 AND session_key = ?2 AND epoch = ?3 LIMIT 1")?
        .exists(params![audience.agent_no, audience.session.as_str(), epoch as i64])?)
}

/// Records that the context is about to be cut: the epoch grows once, whichever source reports the cut afterwards.
pub fn announce(tx: &Write, audience: &Audience) -> Result<()> {
    let epoch = current(tx, audience)?;
    tx.prepare_cached(
        "INSERT INTO context_epochs (agent_no, session_key, epoch, next) VALUES (?1, ?2, ?3, ?3 + 1)
         ON CONFLICT DO UPDATE SET next = ?3 + 1",
    )?
    .execute(params![audience.agent_no, audience.session.as_str(), epoch as i64])?;
    Ok(())
}

/// Records that the context was cut: begins a new epoch, unless this cut has begun one already. Returns the epoch.
pub fn cut(tx: &Write, audience: &Audience, cause: Cause) -> Result<u64> {
    let (now, at) = (tx.now(), current(tx, audience)?);
    let epoch = match row(tx, audience.agent_no, &audience.session)? {
        // The cut was announced and not yet reported as done; the lineage may have counted it meanwhile.
        Some(row) if row.next > row.epoch => row.next.max(at),
        Some(row) if row.cut_at.is_some_and(|t| now.abs_diff(t) <= SAME_CUT_MS as u64) => at,
        _ => at + 1,
    };
    tx.prepare_cached(
        "INSERT INTO context_epochs (agent_no, session_key, epoch, next, cut_at, cause) VALUES (?1, ?2, ?3, ?3, ?4, ?5)
         ON CONFLICT DO UPDATE SET epoch = ?3, next = ?3, cut_at = ?4, cause = ?5",
    )?
    .execute(params![audience.agent_no, audience.session.as_str(), epoch as i64, now, cause.name()])?;
    Ok(epoch)
}
