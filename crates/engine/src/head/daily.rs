//! Daily notes: what a day brought, from the ledger alone, so that a day can be rendered again at any time (R8.3).
//!
//! Days are those of the operator's time zone. A normal day is not empty: every session that was last active on it has
//! its line, beside failed turns, scheduled jobs and people who asked to be let in.

use std::collections::BTreeSet;

use jiff::civil::Date;
use jiff::{Timestamp, ToSpan};
use rusqlite::{OptionalExtension, params};

use super::Head;
use super::page::line;
use crate::assistant::{AssistantHome, EVERY_DAY, mark_dirty};
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
const CURSOR: &str = crate::assistant::DAYS;

const DAY_MS: Millis = 86_400_000;

/// Turns of a session that are counted; beyond that it is said that there are more.
const COUNTED: i64 = 1_000;

/// The day a moment belongs to.
pub fn day_of(at: &AssistantHome, moment: Millis) -> Option<Date> {
    at.day_of(moment)
}

/// So many of a session's last turns say which day showed it before it went on.
const LAST_TURNS: i64 = 64;

/// A failure may be noted a while after it happened.
const SLACK_MS: Millis = 3_600_000;

/// Marks the days that show something else since the last look: those of sessions that have got turns, the days they
/// were last active on before, and those of failed turns. After a change of the time zone, every day.
pub(super) fn mark_days(at: &AssistantHome) -> Result<()> {
    let now = at.ledger.now();
    let (cursor, last, days) = at.read(|tx| {
        let (cursor, looked): (i64, Millis) = tx
            .prepare_cached("SELECT rendered, coalesce(at, 0) FROM heads WHERE agent_no = ?1 AND head = ?2")?
            .query_row(params![at.agent_no, CURSOR], |r| Ok((r.get(0)?, r.get(1)?)))
            .optional()?
            .unwrap_or_default();
        let last: i64 = tx.query_row("SELECT coalesce(max(turn_no), 0) FROM turns", [], |r| r.get(0))?;
        if last <= cursor {
            return Ok((cursor, last, BTreeSet::new()));
        }
        let since = now - DAYS_BACK * DAY_MS;
        let mut moments = moments(
            tx,
            "SELECT last_at FROM sessions WHERE agent_no = ?1 AND last_at >= ?2 AND session_no IN (
               SELECT session_no FROM turns WHERE turn_no > ?3)
             UNION SELECT f.last_at FROM turn_results f JOIN sessions s USING (session_no)
             WHERE f.status = 3 AND f.last_at >= ?2 AND s.agent_no = ?1
               AND (f.last_at >= ?4 OR f.run_no IN (SELECT run_no FROM turns WHERE turn_no > ?3))",
            params![at.agent_no, since, cursor, looked - SLACK_MS],
        )?;
        if cursor == EVERY_DAY {
            moments.extend(self::moments(
                tx,
                "SELECT started_at FROM scheduled_runs WHERE agent_no = ?1 AND started_at >= ?2
                 UNION SELECT at FROM channel_events WHERE agent_no = ?1 AND at >= ?2
                 UNION SELECT decided_at FROM channel_events WHERE agent_no = ?1 AND decided_at >= ?2",
                params![at.agent_no, since],
            )?);
        }
        let day = |moment: &Millis| Some(Head::Daily(day_of(at, *moment)?).name());
        let mut days: BTreeSet<String> = moments.iter().filter_map(day).collect();
        // A note that shows a session which has gone on to another day. There is nothing to mark where none was made.
        let mut is_made = tx.prepare_cached("SELECT 1 FROM heads WHERE agent_no = ?1 AND head = ?2")?;
        for moment in moved_from(tx, at.agent_no, cursor)? {
            if let Some(day) = day(&moment)
                && is_made.exists(params![at.agent_no, day])?
            {
                days.insert(day);
            }
        }
        Ok((cursor, last, days))
    })?;
    if last <= cursor {
        return Ok(());
    }
    let mut heads: Vec<String> = days.into_iter().collect();
    // New turns may have failed, too.
    heads.push(Head::Active.name());
    at.write("head.mark", |tx| {
        mark_dirty(tx, at.agent_no, &heads)?;
        tx.prepare_cached(
            "INSERT INTO heads (agent_no, head, dirty, rendered, at) VALUES (?1, ?2, ?3, ?3, ?4)
             ON CONFLICT (agent_no, head) DO UPDATE SET dirty = ?3, rendered = ?3, at = ?4",
        )?
        .execute(params![at.agent_no, CURSOR, last, now])?;
        tx.note("turns_to", last);
        Ok(())
    })
}

fn moments(tx: &Read, sql: &str, with: impl rusqlite::Params) -> Result<Vec<Millis>> {
    let mut statement = tx.prepare_cached(sql)?;
    let rows = statement.query_map(with, |r| r.get(0))?;
    Ok(rows.collect::<rusqlite::Result<_>>()?)
}

/// When sessions that have got turns behind `cursor` were last active before.
fn moved_from(tx: &Read, agent_no: i64, cursor: i64) -> Result<Vec<Millis>> {
    if cursor <= 0 {
        return Ok(Vec::new());
    }
    let touched = moments(
        tx,
        // From the new turns to their sessions, not the other way round.
        "SELECT session_no FROM sessions WHERE +agent_no = ?1 AND session_no IN (
           SELECT session_no FROM turns WHERE turn_no > ?2)",
        params![agent_no, cursor],
    )?;
    let mut before = tx.prepare_cached(
        "SELECT max(at) FROM (SELECT at FROM turns WHERE session_no = ?1 AND turn_no <= ?2
                              ORDER BY turn_no DESC LIMIT ?3)",
    )?;
    let mut out = Vec::new();
    for session_no in touched {
        out.extend(before.query_row(params![session_no, cursor, LAST_TURNS], |r| r.get::<_, Option<Millis>>(0))?);
    }
    Ok(out)
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
    let mut out: String = lines.iter().map(|(moment, text)| format!("- {} {text}\n", clock(at, *moment))).collect();
    for (sql, one, several, see) in [
        (
            "SELECT count(*) FROM sessions WHERE agent_no = ?1 AND last_at >= ?2 AND last_at < ?3",
            "session",
            "sessions",
            "heirloom timeline",
        ),
        (
            "SELECT count(*) FROM scheduled_runs WHERE agent_no = ?1 AND started_at >= ?2 AND started_at < ?3",
            "scheduled run",
            "scheduled runs",
            "heirloom job list",
        ),
    ] {
        let all: i64 = tx.prepare_cached(sql)?.query_row(params![at.agent_no, from, to], |r| r.get(0))?;
        match all - LINES {
            ..=0 => {}
            1 => out.push_str(&format!("- … and 1 {one} more: `{see}`\n")),
            more => out.push_str(&format!("- … and {more} {several} more: `{see}`\n")),
        }
    }
    Ok(out)
}

fn clock(at: &AssistantHome, moment: Millis) -> String {
    Timestamp::from_millisecond(moment)
        .map(|t| t.to_zoned(at.zone.clone()).strftime("%H:%M").to_string())
        .unwrap_or_else(|_| "--:--".into())
}

fn sessions(at: &AssistantHome, tx: &Read, from: Millis, to: Millis, lines: &mut Vec<(Millis, String)>) -> Result<()> {
    let mut statement = tx.prepare_cached(
        "SELECT s.session_no, s.session_key, s.title, s.last_at, w.label,
                (SELECT count(*) FROM (SELECT 1 FROM turns t WHERE t.session_no = s.session_no LIMIT ?5))
         FROM sessions s LEFT JOIN workspaces w ON w.workspace_no = s.workspace_no
         WHERE s.agent_no = ?1 AND s.last_at >= ?2 AND s.last_at < ?3 ORDER BY s.last_at LIMIT ?4",
    )?;
    let opener = Opener::default();
    let mut rows = statement.query(params![at.agent_no, from, to, LINES, COUNTED + 1])?;
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
        let turns = match turns {
            1 => "1 turn".to_owned(),
            n if n > COUNTED => format!("more than {COUNTED} turns"),
            n => format!("{n} turns"),
        };
        lines.push((r.get(3)?, format!("Session{place}{about} · {turns} · `{}`", line(key.as_str()))));
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
