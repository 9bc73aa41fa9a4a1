//! Daily notes: what a day brought, from the ledger alone, so that a day can be rendered again at any time (R8.3).
//!
//! Days are those of the operator's time zone. A normal day is not empty: every session that was last active on it has
//! its line, beside failed turns, scheduled jobs and people who asked to be let in.

use jiff::civil::Date;
use jiff::{Timestamp, ToSpan};
use rusqlite::{OptionalExtension, params};

use super::Head;
use super::page::line;
use crate::assistant::{AssistantHome, mark_dirty};
use crate::clock::Millis;
use crate::error::{Error, Result};
use crate::ledger::Read;
use crate::ledger::blocks::Opener;
use crate::scope::{SessionKey, TurnId};
use crate::transcript::read;

/// Lines of one day.
const LINES: i64 = 100;

/// An import may bring years; notes are made for the last month, and for older days when something is added to them.
const DAYS_BACK: i64 = 31;

/// The name under which the last turn seen is remembered in the table of heads.
const CURSOR: &str = "days";

/// The day a moment belongs to.
pub fn day_of(at: &AssistantHome, moment: Millis) -> Option<Date> {
    at.day_of(moment)
}

/// Marks the days of sessions that have got turns since the last look.
pub(super) fn mark_days(at: &AssistantHome) -> Result<()> {
    let now = at.ledger.now();
    let (cursor, last, moments) = at.read(|tx| {
        let cursor: i64 = tx
            .prepare_cached("SELECT rendered FROM heads WHERE agent_no = ?1 AND head = ?2")?
            .query_row(params![at.agent_no, CURSOR], |r| r.get(0))
            .optional()?
            .unwrap_or(0);
        let last: i64 = tx.query_row("SELECT coalesce(max(turn_no), 0) FROM turns", [], |r| r.get(0))?;
        if last <= cursor {
            return Ok((cursor, last, Vec::new()));
        }
        let mut statement = tx.prepare_cached(
            "SELECT last_at FROM sessions WHERE agent_no = ?1 AND last_at >= ?3 AND session_no IN (
               SELECT DISTINCT session_no FROM turns WHERE turn_no > ?2)
             UNION SELECT f.last_at FROM turn_results f JOIN sessions s USING (session_no)
             WHERE f.status = 3 AND f.last_at >= ?3 AND s.agent_no = ?1",
        )?;
        let rows = statement.query_map(params![at.agent_no, cursor, now - DAYS_BACK * 86_400_000], |r| r.get(0))?;
        Ok((cursor, last, rows.collect::<rusqlite::Result<Vec<Millis>>>()?))
    })?;
    if last <= cursor {
        return Ok(());
    }
    let mut heads: Vec<String> = moments.iter().filter_map(|m| Some(Head::Daily(day_of(at, *m)?).name())).collect();
    heads.sort();
    heads.dedup();
    // New turns may have failed, too.
    heads.push(Head::Active.name());
    at.write("head.mark", |tx| {
        mark_dirty(tx, at.agent_no, &heads)?;
        tx.prepare_cached(
            "INSERT INTO heads (agent_no, head, dirty, rendered) VALUES (?1, ?2, ?3, ?3)
             ON CONFLICT (agent_no, head) DO UPDATE SET dirty = ?3, rendered = ?3",
        )?
        .execute(params![at.agent_no, CURSOR, last])?;
        tx.note("turns_to", last);
        Ok(())
    })
}

pub(super) fn render(at: &AssistantHome, tx: &Read, date: Date) -> Result<String> {
    let bad = |e: jiff::Error| Error::usage(format!("{date} is no day")).because(e);
    let midnight = |d: Date| d.to_zoned(at.zone.clone()).map(|z| z.timestamp().as_millisecond()).map_err(bad);
    let (from, to) = (midnight(date)?, midnight(date.checked_add(1.day()).map_err(bad)?)?);
    let mut lines: Vec<(Millis, String)> = Vec::new();
    sessions(at, tx, from, to, &mut lines)?;
    failures(at, tx, from, to, &mut lines)?;
    jobs(at, tx, from, to, &mut lines)?;
    channels(at, tx, from, to, &mut lines)?;
    lines.sort();
    if lines.is_empty() {
        return Ok("Nothing was recorded on this day.\n".into());
    }
    Ok(lines.iter().map(|(moment, text)| format!("- {} {text}\n", clock(at, *moment))).collect())
}

fn clock(at: &AssistantHome, moment: Millis) -> String {
    Timestamp::from_millisecond(moment)
        .map(|t| t.to_zoned(at.zone.clone()).strftime("%H:%M").to_string())
        .unwrap_or_else(|_| "--:--".into())
}

fn sessions(at: &AssistantHome, tx: &Read, from: Millis, to: Millis, lines: &mut Vec<(Millis, String)>) -> Result<()> {
    let mut statement = tx.prepare_cached(
        "SELECT s.session_no, s.session_key, s.title, s.last_at, w.label,
                (SELECT count(*) FROM turns t WHERE t.session_no = s.session_no)
         FROM sessions s LEFT JOIN workspaces w ON w.workspace_no = s.workspace_no
         WHERE s.agent_no = ?1 AND s.last_at >= ?2 AND s.last_at < ?3 ORDER BY s.last_at LIMIT ?4",
    )?;
    let opener = Opener::default();
    let mut rows = statement.query(params![at.agent_no, from, to, LINES])?;
    while let Some(r) = rows.next()? {
        let session_no: i64 = r.get(0)?;
        let key = SessionKey::from(r.get::<_, String>(1)?);
        let title: Option<String> = r.get(2)?;
        let about = match title.filter(|t| !t.trim().is_empty()) {
            Some(title) => title,
            None => read::first_prompt(tx, &opener, session_no)?.unwrap_or_default(),
        };
        let turns: i64 = r.get(5)?;
        let place = r.get::<_, Option<String>>(4)?.map(|w| format!(" in {}", line(&w))).unwrap_or_default();
        let about = if about.trim().is_empty() { String::new() } else { format!(": {}", line(&about)) };
        let noun = if turns == 1 { "turn" } else { "turns" };
        lines.push((r.get(3)?, format!("Session{place}{about} · {turns} {noun} · `{}`", line(key.as_str()))));
    }
    Ok(())
}

fn failures(at: &AssistantHome, tx: &Read, from: Millis, to: Millis, lines: &mut Vec<(Millis, String)>) -> Result<()> {
    let mut statement = tx.prepare_cached(
        "SELECT t.last_at, t.stop_reason, t.prompt_turn, s.session_key FROM turn_results t JOIN sessions s USING (session_no)
         WHERE t.status = 3 AND t.last_at >= ?2 AND t.last_at < ?3 AND s.agent_no = ?1 ORDER BY t.last_at LIMIT ?4",
    )?;
    let mut rows = statement.query(params![at.agent_no, from, to, LINES])?;
    while let Some(r) = rows.next()? {
        let why = r.get::<_, Option<String>>(1)?.map(|w| format!(" ({})", line(&w))).unwrap_or_default();
        let turn = r.get::<_, Option<i64>>(2)?.map(|t| format!(" · [{}]", TurnId(t))).unwrap_or_default();
        lines.push((r.get(0)?, format!("A turn failed{why} in `{}`{turn}", line(&r.get::<_, String>(3)?))));
    }
    Ok(())
}

fn jobs(at: &AssistantHome, tx: &Read, from: Millis, to: Millis, lines: &mut Vec<(Millis, String)>) -> Result<()> {
    let mut statement = tx.prepare_cached(
        "SELECT name, started_at, ended_at, exit_code, signal, artifact, error FROM scheduled_runs
         WHERE agent_no = ?1 AND started_at >= ?2 AND started_at < ?3 ORDER BY started_at LIMIT ?4",
    )?;
    let mut rows = statement.query(params![at.agent_no, from, to, LINES])?;
    while let Some(r) = rows.next()? {
        let (name, started): (String, Millis) = (r.get(0)?, r.get(1)?);
        let ended: Option<Millis> = r.get(2)?;
        let (code, signal): (Option<i64>, Option<i64>) = (r.get(3)?, r.get(4)?);
        let how = match (r.get::<_, Option<String>>(6)?, signal, code, ended) {
            (Some(error), ..) => format!("failed: {}", line(&error)),
            (_, Some(signal), ..) => format!("failed: signal {signal}"),
            (_, _, Some(0), Some(ended)) => format!("done in {} s", (ended - started + 999) / 1000),
            (_, _, Some(code), _) => format!("failed: exit {code}"),
            _ => "still running, or cut off".into(),
        };
        // The note stands three folders below `continuity/daily`.
        let output = r
            .get::<_, Option<String>>(5)?
            .map(|a| format!(" · [output](../../../{})", a.strip_prefix("continuity/").unwrap_or(&a)))
            .unwrap_or_default();
        lines.push((started, format!("Job {} {how}{output}", line(&name))));
    }
    Ok(())
}

fn channels(at: &AssistantHome, tx: &Read, from: Millis, to: Millis, lines: &mut Vec<(Millis, String)>) -> Result<()> {
    let mut statement = tx.prepare_cached(
        "SELECT channel, peer, name, state, at, decided_at FROM channel_events
         WHERE agent_no = ?1 AND ((at >= ?2 AND at < ?3) OR (decided_at >= ?2 AND decided_at < ?3)) ORDER BY at LIMIT ?4",
    )?;
    let mut rows = statement.query(params![at.agent_no, from, to, LINES])?;
    while let Some(r) = rows.next()? {
        let (channel, peer): (String, String) = (r.get(0)?, r.get(1)?);
        let who =
            r.get::<_, Option<String>>(2)?.map_or_else(|| line(&peer), |n| format!("{} ({})", line(&n), line(&peer)));
        let (asked, decided): (Millis, Option<Millis>) = (r.get(4)?, r.get(5)?);
        if (from..to).contains(&asked) {
            lines.push((asked, format!("{who} asked to be let in on {}", line(&channel))));
        }
        if let Some(decided) = decided.filter(|d| (from..to).contains(d)) {
            lines.push((decided, format!("{who} was {} on {}", r.get::<_, String>(3)?, line(&channel))));
        }
    }
    Ok(())
}
