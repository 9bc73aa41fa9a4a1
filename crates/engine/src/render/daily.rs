//! Daily notes: the events of a day, rendered from the ledger alone, so that a day can be rendered again at any time
//! (R8.3).
//!
//! Days are those of the operator's time zone. Every session that was last active on the day has a line, and a
//! distilled session says what came of it; further lines are compactions, failed turns, scheduled jobs and requests for
//! access. Every line ends in a reference to its source.

use std::collections::{BTreeMap, BTreeSet};

use jiff::civil::Date;
use jiff::{Timestamp, ToSpan};
use rusqlite::types::FromSql;
use rusqlite::{OptionalExtension, params};

use super::continuity::{RECENT_MS, place_of_session, recent_enough};
use super::page::line;
use super::runs::Words;
use super::titles;
use crate::clock::Millis;
use crate::error::{Error, Result};
use crate::ledger::Read;
use crate::ledger::blocks::Opener;
use crate::ledger::codes::{COMPACTION, RUN_FAILED, SESSION};
use crate::lineage::distillate::{Distillate, Item};
use crate::lineage::{Kind, Node, walk};
use crate::next_step::See;
use crate::pages::cursor::FROM_THE_START;
use crate::pages::{self, Cursor, Happened, PageKey};
use crate::redact::redact;
use crate::scope::{AgentNo, SessionKey, SessionNo, ThreadNo, TurnId};
use crate::text::{sentences, similarity};
use crate::thread;
use crate::tree::AssistantHome;

/// Largest number of lines of one day.
const LINES: i64 = 100;

/// Reference of a line about a channel.
const CHANNELS: &str = "channel pending --all";

/// Largest number of turns counted of a session; for more, the line says that there are more.
const COUNTED: i64 = 1_000;

/// Number of a session's last turns that are read to find the day that showed it before it continued.
const LAST_TURNS: i64 = 64;

/// Time after a failure, in milliseconds, within which its record may still be written.
const SLACK_MS: Millis = 3_600_000;

/// The turns and nodes examined, as ranges of cursor positions, and the events found in them.
struct Examined {
    turns: (i64, i64),
    nodes: (i64, i64),
    found: Vec<Happened>,
}

impl Examined {
    fn is_news(&self) -> bool {
        self.turns.1 > self.turns.0 || self.nodes.1 > self.nodes.0
    }
}

/// Marks the pages that have changed since the cursors last moved: the days of sessions with new turns, the days those
/// sessions were last active on before, and the days of failed turns; the runtime pages of sessions that were active
/// lately (R5.2); the days, weeks and months of new nodes. After a change of the time zone, all of them are marked.
pub(super) fn mark_days(at: &AssistantHome) -> Result<()> {
    mark_with(at, Vec::new())
}

/// Does the same as [`mark_days`], together with other events in the same transaction.
pub(super) fn mark_with(at: &AssistantHome, also: Vec<Happened>) -> Result<()> {
    let now = at.ledger.now();
    let mut examined = at.read(|tx| {
        let mut examined = Examined { turns: (0, 0), nodes: (0, 0), found: Vec::new() };
        of_turns(at, tx, now, &mut examined)?;
        of_nodes(at, tx, now, &mut examined)?;
        Ok(examined)
    })?;
    if !examined.is_news() && also.is_empty() {
        return Ok(());
    }
    examined.found.extend(also);
    at.write("head.mark", |tx| {
        pages::mark_each(tx, at.agent_no, &examined.found)?;
        Cursor::Days.advance(tx, at.agent_no, examined.turns.1, now)?;
        Cursor::Nodes.advance(tx, at.agent_no, examined.nodes.1, now)?;
        tx.note("turns_to", examined.turns.1);
        tx.note("nodes_to", examined.nodes.1);
        Ok(())
    })
}

/// Finds the events that follow from new turns.
fn of_turns(at: &AssistantHome, tx: &Read, now: Millis, examined: &mut Examined) -> Result<()> {
    let (cursor, before) = Cursor::Days.get(tx, at.agent_no)?;
    let last: i64 = tx.query_row("SELECT coalesce(max(turn_no), 0) FROM turns", [], |r| r.get(0))?;
    examined.turns = (cursor, last.max(cursor));
    if last <= cursor {
        return Ok(());
    }
    // An import may bring years of turns: every day on which a session ended gets its note. Failures are searched only
    // in the last month, and runtime pages are marked only for it.
    let since = now - RECENT_MS;
    let mut moments: Vec<Millis> = column(
        tx,
        &format!(
            "SELECT last_at FROM sessions WHERE agent_no = ?1 AND last_at IS NOT NULL AND session_no IN (
           SELECT session_no FROM turns WHERE turn_no > ?3)
         UNION SELECT f.last_at FROM turn_results f JOIN sessions s USING (session_no)
         WHERE f.status = {RUN_FAILED} AND f.last_at >= ?2 AND s.agent_no = ?1
           AND (f.last_at >= ?4 OR f.run_no IN (SELECT run_no FROM turns WHERE turn_no > ?3))"
        ),
        params![at.agent_no, since, cursor, before - SLACK_MS],
    )?;
    if cursor == FROM_THE_START {
        moments.extend(column::<Millis>(
            tx,
            "SELECT started_at FROM scheduled_runs WHERE agent_no = ?1 AND started_at >= ?2
             UNION SELECT at FROM channel_events WHERE agent_no = ?1 AND at >= ?2
             UNION SELECT decided_at FROM channel_events WHERE agent_no = ?1 AND decided_at >= ?2",
            params![at.agent_no, since],
        )?);
    }
    if cursor == FROM_THE_START {
        moments.extend(beside_known(at, tx, since)?);
    }
    let mut days: BTreeSet<Date> = moments.iter().filter_map(|moment| at.day_of(*moment)).collect();
    // A session that has continued on another day moves there, so the note that showed it is marked. If that day has no
    // note, there is nothing to mark.
    for moment in moved_from(tx, at.agent_no, cursor)? {
        if let Some(day) = at.day_of(moment)
            && is_made(at, tx, day)?
        {
            days.insert(day);
        }
    }
    let mut sessions = Vec::new();
    let mut threads = BTreeSet::new();
    for session in touched_since(tx, at.agent_no, cursor, since)? {
        sessions.extend(place_of_session(tx, at.agent_no, session)?);
        threads.extend(thread::of_session(tx, session)?);
    }
    let threads: Vec<ThreadNo> = threads.into_iter().collect();
    let threads = thread::files_of(tx, at.agent_no, &threads)?;
    examined.found.push(Happened::TurnsStored { days, sessions, threads });
    Ok(())
}

/// Returns the times of events on days beside the existing notes: after a change of the time zone a session may belong
/// to the day before or after the one that has its note, and that day gets a note too.
fn beside_known(at: &AssistantHome, tx: &Read, since: Millis) -> Result<Vec<Millis>> {
    let mut out = Vec::new();
    for day in pages::known_days(tx, at.agent_no)? {
        let (Ok(first), Ok(end)) = (day.checked_sub(1.day()), day.checked_add(2.days())) else { continue };
        let midnight = |d: Date| d.to_zoned(at.zone.clone()).ok().map(|z| z.timestamp().as_millisecond());
        let (Some(from), Some(to)) = (midnight(first), midnight(end)) else { continue };
        if to <= since {
            out.extend(column::<Millis>(
                tx,
                &format!(
                    "SELECT last_at FROM sessions WHERE agent_no = ?1 AND last_at >= ?2 AND last_at < ?3
                     UNION SELECT last_at FROM nodes
                           WHERE agent_no = ?1 AND kind IN ({SESSION}, {COMPACTION}) AND last_at >= ?2 AND last_at < ?3
                     UNION SELECT started_at FROM scheduled_runs
                           WHERE agent_no = ?1 AND started_at >= ?2 AND started_at < ?3"
                ),
                params![at.agent_no, from, to],
            )?);
        }
    }
    Ok(out)
}

/// Returns sessions with turns after `cursor` that were active since a moment.
fn touched_since(tx: &Read, agent_no: AgentNo, cursor: i64, since: Millis) -> Result<Vec<SessionNo>> {
    column(
        tx,
        // Joins from the new turns to their sessions. A turn without a time counts as now.
        "SELECT DISTINCT s.session_no FROM turns t NOT INDEXED CROSS JOIN sessions s ON s.session_no = t.session_no
         WHERE t.turn_no > ?3 AND s.agent_no = ?1 AND coalesce(s.last_at, s.created_at) >= ?2",
        params![agent_no, since, cursor],
    )
}

/// Finds the events that follow from new nodes. The nodes of an unfinished act are not visible yet; the cursor stops
/// before them.
fn of_nodes(at: &AssistantHome, tx: &Read, now: Millis, examined: &mut Examined) -> Result<()> {
    let (cursor, _) = Cursor::Nodes.get(tx, at.agent_no)?;
    let last: i64 = tx
        .prepare_cached(
            "SELECT coalesce((SELECT min(n.node_no) - 1 FROM nodes n JOIN flushes f ON f.flush_id = n.flush_id
                              WHERE n.node_no > ?1 AND f.state = 'planned'),
                             (SELECT max(node_no) FROM nodes), 0)",
        )?
        .query_row([cursor], |r| r.get(0))?;
    examined.nodes = (cursor, last.max(cursor));
    if last <= cursor {
        return Ok(());
    }
    let mut statement = tx.prepare_cached(&format!(
        "SELECT session_no, last_at FROM nodes
         WHERE node_no > ?1 AND node_no <= ?2 AND +agent_no = ?3
           AND kind IN ({SESSION}, {COMPACTION}) AND last_at IS NOT NULL"
    ))?;
    let rows = statement.query_map(params![cursor, last, at.agent_no], |r| {
        Ok((r.get::<_, Option<SessionNo>>(0)?, r.get::<_, Millis>(1)?))
    })?;
    let (mut days, mut noted, mut sessions) = (BTreeSet::new(), BTreeSet::new(), Vec::new());
    for row in rows {
        let (session, moment) = row?;
        let is_recent = recent_enough(now, Some(moment));
        if let Some(day) = at.day_of(moment) {
            days.insert(day);
            noted.insert(day);
        }
        if let Some(session) = session.filter(|_| is_recent) {
            sessions.extend(place_of_session(tx, at.agent_no, session)?);
        }
    }
    examined.found.push(Happened::NodesStored { days, noted, sessions });
    Ok(())
}

/// Whether the note of a day was ever marked for rendering.
fn is_made(at: &AssistantHome, tx: &Read, day: Date) -> Result<bool> {
    pages::is_known(tx, at.agent_no, &PageKey::Daily(day))
}

fn column<T: FromSql>(tx: &Read, sql: &str, with: impl rusqlite::Params) -> Result<Vec<T>> {
    let mut statement = tx.prepare_cached(sql)?;
    let rows = statement.query_map(with, |r| r.get(0))?;
    Ok(rows.collect::<rusqlite::Result<_>>()?)
}

/// Returns when the sessions with turns after `cursor` were last active before those turns.
fn moved_from(tx: &Read, agent_no: AgentNo, cursor: i64) -> Result<Vec<Millis>> {
    if cursor <= 0 {
        return Ok(Vec::new());
    }
    let touched: Vec<SessionNo> = column(
        tx,
        // Starts from the new turns, which are fewer than the sessions.
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
    let words = Words::new(at, tx);
    let ended = ends(at, tx, &words, from, to, &mut lines)?;
    compacted(at, tx, &words, from, to, &mut lines)?;
    let unlisted = sessions(at, tx, (from, to), &ended, &mut lines)?;
    failures(at, tx, from, to, &mut lines)?;
    jobs(at, tx, from, to, &mut lines)?;
    channels(at, tx, from, to, &mut lines)?;
    lines.sort();
    if lines.is_empty() {
        return Ok("Nothing was recorded on this day.\n".into());
    }
    let mut out: String = lines.iter().map(|(moment, text)| format!("- {} {text}\n", clock(at, *moment))).collect();
    let runs: i64 = tx
        .prepare_cached(
            "SELECT count(*) FROM scheduled_runs WHERE agent_no = ?1 AND started_at >= ?2 AND started_at < ?3",
        )?
        .query_row(params![at.agent_no, from, to], |r| r.get(0))?;
    for (more, what, see) in
        [(unlisted, "session", See::new("timeline")), (runs - LINES, "scheduled run", See::new("job list"))]
    {
        match more {
            ..=0 => {}
            1 => out.push_str(&format!("- … and 1 {what} more: `{see}`\n")),
            more => out.push_str(&format!("- … and {more} {what}s more: `{see}`\n")),
        }
    }
    Ok(out)
}

/// Adds a line with the result for each session distilled at its end. Returns those sessions.
fn ends(
    at: &AssistantHome,
    tx: &Read,
    words: &Words,
    from: Millis,
    to: Millis,
    lines: &mut Vec<(Millis, String)>,
) -> Result<BTreeSet<SessionNo>> {
    let mut by_session: BTreeMap<SessionNo, Vec<Node>> = BTreeMap::new();
    for node in walk::between(tx, at.agent_no, Kind::Session, from, to, LINES as usize)? {
        by_session.entry(node.session_no.unwrap_or_default()).or_default().push(node);
    }
    for (session, nodes) in &by_session {
        let Some(last) = nodes.last() else { continue };
        // The session's name says what it was about, and the last thing done says how it ended.
        let name = words.name_of_session(*session)?;
        let name = name.strip_suffix('.').unwrap_or(&name);
        // If nothing was done, the line shows the last decision.
        let newest = |list: fn(&Distillate) -> &Vec<Item>| {
            nodes.iter().rev().find_map(|n| list(&n.distillate).last()).map(|item| line(&redact(&item.text)))
        };
        let first = || nodes.iter().map(|n| first_sentence(&n.summary)).rfind(|s| !s.is_empty());
        let result = newest(|d| &d.done).or_else(|| newest(|d| &d.decisions)).or_else(first);
        let result = result.filter(|said| !similarity::same_words(said, name) && !name.contains(said.as_str()));
        let result = result.map(|said| format!(": {said}")).unwrap_or_default();
        let ids: Vec<String> = nodes.iter().map(|n| n.id.to_string()).collect();
        let text = format!(
            "Session{}: {}{result} · {} · [{}]",
            place(tx, *session)?,
            name,
            counted(nodes.iter().map(|n| n.count as i64).sum()),
            ids.join(" ")
        );
        lines.push((last.times.1.unwrap_or(from), text));
    }
    Ok(by_session.into_keys().collect())
}

/// Adds lines for compactions: how much of the context was cut, and how many loops and proposals were filed before that
/// (R6.4).
fn compacted(
    at: &AssistantHome,
    tx: &Read,
    words: &Words,
    from: Millis,
    to: Millis,
    lines: &mut Vec<(Millis, String)>,
) -> Result<()> {
    let mut when = tx.prepare_cached("SELECT max(at) FROM compactions WHERE node_no = ?1")?;
    for node in walk::between(tx, at.agent_no, Kind::Compaction, from, to, LINES as usize)? {
        let Some(session) = node.session_no else { continue };
        let cut: Option<Millis> = when.query_row([node.id.0], |r| r.get(0))?;
        // A compaction belongs to the day its node describes, even if the cut itself came after midnight.
        let moment = cut.filter(|m| (from..to).contains(m)).or(node.times.1).unwrap_or(from);
        let loops = node.distillate.open_loops.iter().filter(|i| i.file.is_some()).count();
        let proposals = node.distillate.proposals.iter().filter(|p| p.file.is_some()).count();
        let mut made = String::new();
        for (n, one) in [(loops, "loop"), (proposals, "proposal")] {
            match n {
                0 => {}
                1 => made.push_str(&format!(", 1 {one}")),
                n => made.push_str(&format!(", {n} {one}s")),
            }
        }
        let name = words.name_of_session(session)?;
        let text =
            format!("Compacted{}: {name}: {}{made} → [{}]", place(tx, session)?, counted(node.count as i64), node.id);
        lines.push((moment, text));
    }
    Ok(())
}

/// Returns ` in api` for a session of the project `api`; empty without a project.
fn place(tx: &Read, session_no: SessionNo) -> Result<String> {
    let label: Option<String> = tx
        .prepare_cached(
            "SELECT w.label FROM sessions s JOIN workspaces w USING (workspace_no) WHERE s.session_no = ?1",
        )?
        .query_row([session_no], |r| r.get(0))
        .optional()?;
    Ok(label.map(|w| format!(" in {}", line(&w))).unwrap_or_default())
}

/// Returns the first sentence of a summary.
fn first_sentence(text: &str) -> String {
    let first = text.lines().map(|l| l.trim_start_matches(['#', '-', '*', ' ']).trim()).find(|l| !l.is_empty());
    let first = first.unwrap_or_default();
    let sentence = sentences::split(first, usize::MAX).into_iter().next().unwrap_or_default();
    line(&redact(&first[sentence]))
}

/// Formats a number of turns: `3 turns`.
fn counted(turns: i64) -> String {
    match turns {
        1 => "1 turn".to_owned(),
        n if n > COUNTED => format!("more than {COUNTED} turns"),
        n => format!("{n} turns"),
    }
}

fn clock(at: &AssistantHome, moment: Millis) -> String {
    Timestamp::from_millisecond(moment)
        .map(|t| t.to_zoned(at.zone.clone()).strftime("%H:%M").to_string())
        .unwrap_or_else(|_| "--:--".into())
}

/// Adds lines for sessions last active within the period that have no line yet. Returns how many did not fit.
fn sessions(
    at: &AssistantHome,
    tx: &Read,
    (from, to): (Millis, Millis),
    ended: &BTreeSet<SessionNo>,
    lines: &mut Vec<(Millis, String)>,
) -> Result<i64> {
    let mut statement = tx.prepare_cached(
        "SELECT s.session_no, s.session_key, s.title, s.last_at, w.label,
                (SELECT count(*) FROM (SELECT 1 FROM turns t WHERE t.session_no = s.session_no LIMIT ?4))
         FROM sessions s LEFT JOIN workspaces w ON w.workspace_no = s.workspace_no
         WHERE s.agent_no = ?1 AND s.last_at >= ?2 AND s.last_at < ?3 ORDER BY s.last_at",
    )?;
    let opener = Opener::default();
    let (mut listed, room) = (0, LINES - (ended.len() as i64).min(LINES));
    let mut rows = statement.query(params![at.agent_no, from, to, COUNTED + 1])?;
    while let Some(r) = rows.next()? {
        let session_no: SessionNo = r.get(0)?;
        if ended.contains(&session_no) {
            continue;
        }
        if listed == room {
            break;
        }
        listed += 1;
        let key = SessionKey::from(r.get::<_, String>(1)?);
        let title: Option<String> = r.get(2)?;
        let about = titles::of_session(tx, &opener, session_no, title.as_deref())?;
        let place = r.get::<_, Option<String>>(4)?.map(|w| format!(" in {}", line(&w))).unwrap_or_default();
        let about = if about.trim().is_empty() { String::new() } else { format!(": {}", line(&about)) };
        let turns = counted(r.get(5)?);
        lines.push((r.get(3)?, format!("Session{place}{about} · {turns} · `{}`", line(key.as_str()))));
    }
    let mut all =
        tx.prepare_cached("SELECT session_no FROM sessions WHERE agent_no = ?1 AND last_at >= ?2 AND last_at < ?3")?;
    let all = all.query_map(params![at.agent_no, from, to], |r| r.get::<_, SessionNo>(0))?;
    let mut bare = 0;
    for session in all {
        bare += i64::from(!ended.contains(&session?));
    }
    Ok(bare - listed)
}

fn failures(at: &AssistantHome, tx: &Read, from: Millis, to: Millis, lines: &mut Vec<(Millis, String)>) -> Result<()> {
    let mut statement = tx.prepare_cached(&format!(
        "SELECT t.last_at, t.stop_reason, t.prompt_turn, s.session_key FROM turn_results t
         JOIN sessions s USING (session_no)
         WHERE t.status = {RUN_FAILED} AND t.last_at >= ?2 AND t.last_at < ?3 AND s.agent_no = ?1
         ORDER BY t.last_at LIMIT ?4"
    ))?;
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
        // The note is in `continuity/daily/YYYY/MM/`, three folders below `continuity/`, so the link goes up three
        // folders.
        let output = r
            .get::<_, Option<String>>(5)?
            .map(|a| format!("[output](../../../{})", a.strip_prefix("continuity/").unwrap_or(&a)));
        let name = line(&name);
        let word = if name.contains(' ') { format!("'{name}'") } else { name.clone() };
        let leads = output.unwrap_or_else(|| format!("`{}`", See::new(format!("job show {word}"))));
        lines.push((started, format!("Job {name} {how} · {leads}")));
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
            lines.push((asked, format!("{who} asked to be let in on {} · `{}`", line(&channel), See::new(CHANNELS))));
        }
        if let Some(decided) = decided.filter(|d| (from..to).contains(d)) {
            lines.push((
                decided,
                format!("{who} was {} on {} · `{}`", r.get::<_, String>(3)?, line(&channel), See::new(CHANNELS)),
            ));
        }
    }
    Ok(())
}
