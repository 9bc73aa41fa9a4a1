//! `MEMORY.md`, Tier 1: commitments, what always holds, what is known (R7.1). Threads join it with the lineage.
//!
//! Chosen by score, never by place: how urgent, how recent (with a floor, so that nothing old is starved), pinned first.

use std::collections::HashMap;

use jiff::civil::Date;

use super::page::{age_days, end_of_day, line};
use crate::assistant::AssistantHome;
use crate::assistant::catalogue::{self, Entry, Kind, State};
use crate::clock::Millis;
use crate::error::Result;
use crate::home::Digest;
use crate::ledger::Read;
use crate::tokens::tokens;

/// The whole block.
const TOKENS: usize = 1_500;

/// What commitments may take before the rest has had its share; what they leave passes on.
const COMMITMENTS: usize = 700;

/// Recency halves in this time and never falls below the floor.
const HALF_LIFE_DAYS: f64 = 14.0;
const FLOOR: f64 = 0.2;

pub(super) fn render(at: &AssistantHome, tx: &Read) -> Result<String> {
    let now = end_of_day(at);
    let today = at.day_of(at.ledger.now());
    let dismissed = dismissed(tx, at.agent_no)?;
    let stays = |e: &Entry| e.item.as_ref().is_none_or(|i| dismissed.get(i) != Some(&e.digest));

    let loops = catalogue::list(tx, at.agent_no, Kind::OpenLoop, State::Active)?;
    let mut loops: Vec<(f64, String)> = loops
        .iter()
        .filter(|e| stays(e))
        .map(|e| {
            let due = e.field("due").map(|d| format!(" · due {}", line(d))).unwrap_or_default();
            (urgency(e, now, today), format!("- {}{}{due} · [{}]\n", line(&e.title), scope(e), id(e)))
        })
        .collect();
    loops.sort_by(|a, b| b.0.total_cmp(&a.0).then_with(|| a.1.cmp(&b.1)));

    let leaves = catalogue::list(tx, at.agent_no, Kind::Leaf, State::Active)?;
    let current: Vec<&Entry> = leaves.iter().filter(|e| e.status.as_deref() != Some("superseded")).collect();
    let mut always: Vec<(f64, String)> = current
        .iter()
        .filter(|e| matches!(e.class.as_deref(), Some("preference" | "identity")) || pinned(e))
        .filter(|e| stays(e))
        .map(|e| {
            let text = e.field("summary").filter(|s| !s.is_empty()).unwrap_or(&e.title);
            let score = if pinned(e) { 2.0 } else { recency(e.field("observed"), now) };
            (score, format!("- {}{} · [{}]\n", line(text), scope(e), id(e)))
        })
        .collect();
    always.sort_by(|a, b| b.0.total_cmp(&a.0).then_with(|| a.1.cmp(&b.1)));

    let standing = standing(&current);
    let mut left = TOKENS - tokens(&standing).min(TOKENS);
    let (mut first, loops_left) = take(&loops, COMMITMENTS.min(left));
    left = left.saturating_sub(tokens(&first));
    let (second, always_left) = take(&always, left);
    left = left.saturating_sub(tokens(&second));
    let mut loops_more = loops_left;
    if loops_left > 0 {
        let (more, rest) = take(&loops[loops.len() - loops_left..], left);
        first.push_str(&more);
        loops_more = rest;
    }

    let mut out = String::new();
    for (title, lines, more, see) in [
        ("Commitments", first, loops_more, "heirloom loop list"),
        ("Always", second, always_left, "heirloom memory list"),
    ] {
        if lines.is_empty() && more == 0 {
            continue;
        }
        out.push_str(&format!("## {title}\n{lines}"));
        if more > 0 {
            out.push_str(&format!("- … and {more} more: `{see}`\n"));
        }
        out.push('\n');
    }
    out.push_str(&standing);
    if out.is_empty() {
        out.push_str(
            "Nothing yet. `heirloom remember \"…\"` keeps a memory, `heirloom loop add \"…\"` a commitment.\n",
        );
    }
    Ok(format!("{}\n", out.trim_end()))
}

/// As many lines as fit, and how many did not.
fn take(lines: &[(f64, String)], budget: usize) -> (String, usize) {
    let mut out = String::new();
    for (n, (_, line)) in lines.iter().enumerate() {
        if tokens(&out) + tokens(line) > budget {
            return (out, lines.len() - n);
        }
        out.push_str(line);
    }
    (out, 0)
}

fn standing(leaves: &[&Entry]) -> String {
    let mut counts: Vec<String> = Vec::new();
    for (class, one, several) in [
        ("fact", "fact", "facts"),
        ("procedure", "procedure", "procedures"),
        ("blocker", "blocker", "blockers"),
        ("reference", "reference", "references"),
    ] {
        match leaves.iter().filter(|e| e.class.as_deref() == Some(class)).count() {
            0 => {}
            1 => counts.push(format!("1 {one}")),
            n => counts.push(format!("{n} {several}")),
        }
    }
    if counts.is_empty() {
        return String::new();
    }
    format!("## Standing memory\n{} in this agent · [index](memory/MEMORY.md)\n\n", counts.join(", "))
}

fn urgency(e: &Entry, now: Millis, today: Option<Date>) -> f64 {
    let priority = match e.field("priority") {
        Some("high") => 1.0,
        Some("low") => -0.3,
        _ => 0.0,
    };
    let due = match (e.field("due").and_then(|d| d.parse::<Date>().ok()), today) {
        (Some(due), Some(today)) => match due.since(today).map_or(365, |s| s.get_days()) {
            ..=1 => 1.0,
            2..=7 => 0.6,
            _ => 0.2,
        },
        _ => 0.0,
    };
    let pin = if pinned(e) { 2.0 } else { 0.0 };
    pin + priority + due + recency(e.field("reopened").or_else(|| e.field("opened")), now)
}

fn recency(then: Option<&str>, now: Millis) -> f64 {
    FLOOR + (1.0 - FLOOR) * 0.5f64.powf(age_days(then, now) / HALF_LIFE_DAYS)
}

fn pinned(e: &Entry) -> bool {
    e.fields.get("pinned") == Some(&true.into())
}

/// Where an item holds, for people: nothing for the agent's own, the project's name for others.
fn scope(e: &Entry) -> String {
    let project = e.scope.as_deref().and_then(|s| s.strip_prefix("workspace/"));
    project.map(|id| format!(" · {}", line(id.rsplit_once("--").map_or(id, |(name, _)| name)))).unwrap_or_default()
}

fn id(e: &Entry) -> &str {
    e.item.as_deref().unwrap_or(e.path.name())
}

fn dismissed(tx: &Read, agent_no: i64) -> Result<HashMap<String, Digest>> {
    let mut statement =
        tx.prepare_cached("SELECT item, digest FROM dismissals WHERE agent_no = ?1 AND head = 'memory'")?;
    let rows = statement
        .query_map([agent_no], |r| Ok((r.get(0)?, Digest::try_from(r.get::<_, Vec<u8>>(1)?).unwrap_or_default())))?;
    Ok(rows.collect::<rusqlite::Result<_>>()?)
}
