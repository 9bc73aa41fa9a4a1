//! `continuity/ACTIVE.md`: what matters now, from bounded queries with one purpose each (R7.1).
//!
//! Every item ends in a reference that `heirloom expand` accepts: a turn, a node, a file by its id (`l:`, `p:`, `a:`)
//! or path, a notice (`u:`), a request for access (`c:`), a scheduled job (`j:`).

use rusqlite::params;

use super::page::{date_of, due_said, end_of_day, found_by, line, minute, section};
use super::threads;
use super::unfiled::{due_by, said_now};
use crate::budget;
use crate::clock::Millis;
use crate::error::Result;
use crate::ledger::Read;
use crate::ledger::codes::RUN_FAILED;
use crate::ledger::job_queue;
use crate::next_step::See;
use crate::scope::AgentNo;
use crate::tree::AssistantHome;
use crate::tree::file_table::{self, Entry, Kind};
use crate::tree::journal;

/// Lines of each section, so that the page stays one screen long.
const LINES: usize = 10;

/// Lines of threads worked in last.
const THREADS: usize = 5;

/// Failures older than this, in milliseconds, are not shown.
const ATTENTION_MS: Millis = 7 * 24 * 3_600_000;

pub(super) fn render(at: &AssistantHome, tx: &Read) -> Result<String> {
    let agent = at.agent_no;
    let mut out = String::new();
    out.push_str(&due_now(at, tx)?);
    out.push_str(&waiting(tx, agent)?);
    let (loops, all) = file_table::newest(tx, agent, Kind::OpenLoop, "opened", LINES)?;
    let today = at.day_of(at.ledger.now());
    // Items said today come first, because nobody has had the time to file them.
    let said = said_now(at, tx)?;
    let mut lines: Vec<String> = said
        .iter()
        .take(LINES / 2)
        .map(|u| {
            let due = u.due.as_deref().map(|d| format!(" · {}", due_said(d, today))).unwrap_or_default();
            format!("{}{due} · said today · [{}]", line(&u.title), u.id)
        })
        .collect();
    let all = all + said.len() as u64;
    lines.extend(loops.iter().map(|e| {
        let due = e.field("due").map(|d| format!(" · {}", due_said(d, today))).unwrap_or_default();
        format!("{}{due} · [{}]", line(&e.title), id(e))
    }));
    out.push_str(&section("Open loops", &lines, all, LINES, "loop list"));
    let lines = threads::slice(at, tx, THREADS)?;
    let all = lines.len() as u64;
    out.push_str(&section("Threads", &lines, all, THREADS, "thread list"));
    out.push_str(&attention(at, tx)?);
    let (artifacts, all) = file_table::newest(tx, agent, Kind::Artifact, "created", LINES / 2)?;
    let lines: Vec<String> = artifacts
        .iter()
        .map(|e| {
            let day = date_of(at, e.field("created")).map(|d| format!(" · {d}")).unwrap_or_default();
            // Both the page and the artifacts are in `continuity/`, so the link is relative to it.
            let path = e.path.as_str();
            format!("[{}]({}){day} · [{}]", line(&e.title), path.strip_prefix("continuity/").unwrap_or(path), id(e))
        })
        .collect();
    out.push_str(&section("Recent outputs", &lines, all, LINES / 2, "artifact list"));
    if out.is_empty() {
        out.push_str("Nothing is due, nothing waits for you, nothing failed.\n");
    }
    Ok(format!("{}\n", out.trim_end()))
}

/// The reference `heirloom expand` accepts for a file: its id, or its path.
fn id(e: &Entry) -> String {
    e.item.clone().unwrap_or_else(|| e.path.to_string())
}

/// Returns the section of items due today or overdue: loops, then open items without a file.
fn due_now(at: &AssistantHome, tx: &Read) -> Result<String> {
    let Some(today) = at.day_of(at.ledger.now()) else { return Ok(String::new()) };
    let (due, mut all) = file_table::due(tx, at.agent_no, &today.to_string(), LINES / 2)?;
    let told = |title: &str, due: &str, id: &str| format!("{} · {} · [{id}]", line(title), due_said(due, Some(today)));
    let mut lines: Vec<String> =
        due.iter().map(|e| told(&e.title, e.field("due").unwrap_or_default(), &id(e))).collect();
    let unfiled = due_by(at, tx, today)?;
    all += unfiled.len() as u64;
    lines.extend(unfiled.iter().map(|u| told(&u.title, u.due.as_deref().unwrap_or_default(), &u.id)));
    Ok(section("Today", &lines, all, LINES / 2, "loop list"))
}

/// Returns the sections of everything that waits for a decision: requests for access, proposals and pending user
/// memory.
fn waiting(tx: &Read, agent: AgentNo) -> Result<String> {
    let mut out = String::new();
    let mut statement = tx.prepare_cached(
        "SELECT event_no, channel, peer, name FROM channel_events INDEXED BY channel_events_open WHERE agent_no = ?1 AND state = 'pending'
         ORDER BY event_no DESC LIMIT ?2",
    )?;
    let rows = statement.query_map(params![agent, LINES as i64], |r| {
        Ok((r.get::<_, i64>(0)?, r.get::<_, String>(1)?, r.get::<_, String>(2)?, r.get::<_, Option<String>>(3)?))
    })?;
    let mut lines = Vec::new();
    for row in rows {
        let (no, channel, peer, name) = row?;
        let who = name.map(|n| format!("{} ({})", line(&n), line(&peer))).unwrap_or_else(|| line(&peer));
        lines.push(format!(
            "{who} asks to be let in on {} · `{}` · [c:{no}]",
            line(&channel),
            See::new(format!("channel approve {no}"))
        ));
    }
    let all = count(
        tx,
        "SELECT count(*) FROM channel_events INDEXED BY channel_events_open WHERE agent_no = ?1 AND state = 'pending'",
        agent,
    )?;
    out.push_str(&section("Waiting for your approval", &lines, all, LINES, "channel pending"));

    let (proposals, all) = file_table::newest(tx, agent, Kind::Proposal, "proposed", LINES)?;
    let lines: Vec<String> =
        proposals.iter().map(|e| format!("{}{} · [{}]", line(&e.title), found_by(e), id(e))).collect();
    out.push_str(&section("Proposed memory", &lines, all, LINES, "proposal list"));

    let pending = count(tx, "SELECT count(*) FROM pending_memory WHERE agent_no = ?1 AND state = 'pending'", agent)?;
    if pending > 0 {
        let mut statement = tx.prepare_cached(
            "SELECT pending_no, title FROM pending_memory WHERE agent_no = ?1 AND state = 'pending'
             ORDER BY confidence DESC, pending_no DESC LIMIT ?2",
        )?;
        let rows = statement.query_map(params![agent, (LINES / 2) as i64], |r| {
            Ok(format!("{} · [u:{}]", line(&r.get::<_, String>(1)?), r.get::<_, i64>(0)?))
        })?;
        let lines: Vec<String> = rows.collect::<rusqlite::Result<_>>()?;
        out.push_str(&section("Noticed about you, unconfirmed", &lines, pending, LINES / 2, "memory pending"));
    }
    Ok(out)
}

/// Returns the section of recent failures and of anything that is stuck.
fn attention(at: &AssistantHome, tx: &Read) -> Result<String> {
    let agent = at.agent_no;
    let since = end_of_day(at).saturating_sub(ATTENTION_MS);
    let mut lines = Vec::new();
    let mut statement = tx.prepare_cached(
        // Walks the index from name to name and takes the newest finished run of each, because a job that runs every
        // minute has half a million runs a year.
        "WITH RECURSIVE names (name) AS (
           SELECT min(name) FROM scheduled_runs WHERE agent_no = ?1
           UNION ALL
           SELECT (SELECT min(name) FROM scheduled_runs WHERE agent_no = ?1 AND name > names.name)
           FROM names WHERE names.name IS NOT NULL)
         SELECT r.name, coalesce(r.ended_at, r.started_at), r.exit_code, r.signal, r.error
         FROM names CROSS JOIN scheduled_runs r
         WHERE r.run_no = (SELECT max(run_no) FROM scheduled_runs n WHERE n.agent_no = ?1 AND n.name = names.name
                           AND n.ended_at IS NOT NULL)
           AND r.started_at >= ?2 AND r.acknowledged = 0
           AND (r.exit_code != 0 OR r.signal IS NOT NULL OR r.error IS NOT NULL)
         ORDER BY r.run_no DESC LIMIT ?3",
    )?;
    let rows = statement.query_map(params![agent, since, LINES as i64], |r| {
        let (name, then): (String, Millis) = (r.get(0)?, r.get(1)?);
        let how = match (r.get::<_, Option<i64>>(2)?, r.get::<_, Option<i64>>(3)?, r.get::<_, Option<String>>(4)?) {
            (_, _, Some(error)) => line(&error),
            (_, Some(signal), _) => format!("ended by signal {signal}"),
            (Some(code), ..) => format!("exit {code}"),
            _ => "failed".into(),
        };
        let name = line(&name);
        let word = if name.contains(' ') { format!("'{name}'") } else { name.clone() };
        Ok(format!(
            "Job {name} failed ({how}) · {} · `{}` · [j:{name}]",
            minute(at, then),
            See::new(format!("job show {word}"))
        ))
    })?;
    lines.extend(rows.collect::<rusqlite::Result<Vec<String>>>()?);
    let mut statement = tx.prepare_cached(&format!(
        "SELECT t.last_at, coalesce(s.title, s.session_key), t.stop_reason,
                coalesce(t.prompt_turn, t.answer_turn, (SELECT max(turn_no) FROM turns u WHERE u.run_no = t.run_no))
         FROM turn_results t JOIN sessions s USING (session_no)
         WHERE t.status = {RUN_FAILED} AND t.last_at >= ?2 AND s.agent_no = ?1
          ORDER BY t.last_at DESC LIMIT ?3"
    ))?;
    let rows = statement.query_map(params![agent, since, (LINES / 2) as i64], |r| {
        let then: Option<Millis> = r.get(0)?;
        let (session, reason): (String, Option<String>) = (r.get(1)?, r.get(2)?);
        let turn = r.get::<_, Option<i64>>(3)?.map(|t| format!(" · [{}]", crate::scope::TurnId(t))).unwrap_or_default();
        let why = reason.map(|r| format!(" ({})", line(&r))).unwrap_or_default();
        Ok(format!("A turn failed{why} in {} · {}{turn}", line(&session), minute(at, then.unwrap_or(0))))
    })?;
    lines.extend(rows.collect::<rusqlite::Result<Vec<String>>>()?);
    if let Some(settings) = at.model
        && let Some(why) = budget::refusal(tx, &settings, at.ledger.now())?
    {
        lines.push(line(&budget::not_asked(&why)));
    }
    let dead = job_queue::counts(tx, at.ledger.now())?.dead;
    if dead > 0 {
        lines.push(format!("{dead} queued jobs failed for good · `{}`", See::new("status")));
    }
    for left in journal::unfinished(tx, agent)?.into_iter().filter(|u| u.attempts > 0).take(3) {
        let why = left.last_error.as_deref().map(line).unwrap_or_default();
        lines.push(format!("{} is not finished: {why} · `{}`", line(&left.action), See::new("status")));
    }
    for file in file_table::troubled(tx, agent)?.iter().take(3) {
        let path = line(file.path.as_str());
        lines.push(format!("{path}: {} · [{path}]", line(file.problem.as_deref().unwrap_or_default())));
    }
    let all = lines.len() as u64;
    Ok(section("Attention", &lines, all, LINES, "status"))
}

fn count(tx: &Read, sql: &str, agent: AgentNo) -> Result<u64> {
    Ok(tx.prepare_cached(sql)?.query_row([agent], |r| r.get::<_, i64>(0))? as u64)
}
