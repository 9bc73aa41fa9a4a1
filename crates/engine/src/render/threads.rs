//! The index of threads (R7.2), and the short state of a thread, for every page that has a line for it.

use std::collections::HashSet;

use rusqlite::params;

use super::page::{day_at, end_of_day, line, short};
use super::running::{Running, running};
use super::scoping::{Owed, Scope, Standing, owed_in};
use crate::clock::Millis;
use crate::distill::fold::fold;
use crate::distill::state::{self, State};
use crate::error::Result;
use crate::ledger::Read;
use crate::lineage::distillate::{Distillate, Item};
use crate::next_step::See;
use crate::scope::{AgentNo, NodeId, ThreadNo};
use crate::text::similarity;
use crate::thread::{self, ThreadRow};
use crate::tree::AssistantHome;
use crate::tree::file_table::Kind;

/// Largest number of lines of the index.
const LINES: usize = 40;

/// Largest number of open threads of which all are read.
const ENOUGH: usize = 200;

/// Number of a thread's newest nodes that determine its state.
const NODES: usize = 3;

/// Number of the newest nodes that are searched for threads worked in lately.
const LATELY: i64 = 4_000;

pub(super) fn render(at: &AssistantHome, tx: &Read) -> Result<String> {
    let today = at.day_of(at.ledger.now());
    let (open, closed) = counts(tx, at.agent_no)?;
    let active = newest(tx, at.agent_no, open)?;
    let loops = owed_by(tx, at.agent_no, &active)?;
    let live = running(tx, at.agent_no, at.ledger.now())?;
    let mut out = String::new();
    let mut standing = Standing::new(tx, at.agent_no);
    for row in active.iter().take(LINES) {
        let stand = stand(tx, &mut standing, row, &loops, &live)?;
        let mut parts = Vec::new();
        parts.extend(stand.words(60));
        if stand.open() > 0 {
            parts.push(format!("{} open", stand.open()));
        }
        parts.extend(row.last_at.map(|then| day_at(at, then, today)));
        if parts.is_empty() {
            parts.push("nothing yet".into());
        }
        let (parts, by) = (parts.join(" · "), stand.by());
        let (label, reference) = (line(&row.label), stand.reference(row));
        out.push_str(&format!("- [{label}]({}.md): {parts}{by} · [{reference}]\n", row.file));
    }
    if open > LINES {
        out.push_str(&format!("- … and {} more: `{}`\n", open - LINES, See::new("thread list")));
    }
    match closed {
        0 => {}
        n => out.push_str(&format!("\n{n} closed: `{}`\n", See::new("thread list"))),
    }
    if out.is_empty() {
        out.push_str(&format!(
            "No threads yet: they come with conversations. `{}` reads those that are there.\n",
            See::new("import")
        ));
    }
    Ok(out)
}

/// Returns the loops of some threads, and possibly more.
fn owed_by(tx: &Read, agent_no: AgentNo, rows: &[ThreadRow]) -> Result<Vec<Owed>> {
    let mut members = Vec::new();
    for row in rows {
        members.extend(thread::members(tx, row.no)?);
    }
    owed_in(tx, agent_no, Kind::OpenLoop, &members)
}

/// Returns the number of open and of closed threads, without those merged into others.
fn counts(tx: &Read, agent_no: AgentNo) -> Result<(usize, usize)> {
    Ok(tx
        .prepare_cached(
            "SELECT count(*) FILTER (WHERE state != 'closed'), count(*) FILTER (WHERE state = 'closed')
             FROM threads WHERE agent_no = ?1 AND merged_into IS NULL",
        )?
        .query_row([agent_no], |r| Ok((r.get::<_, i64>(0)? as usize, r.get::<_, i64>(1)? as usize)))?)
}

/// Returns the open threads that get a line, last worked in first. `open`: the number of open threads.
fn newest(tx: &Read, agent_no: AgentNo, open: usize) -> Result<Vec<ThreadRow>> {
    // Every standalone conversation makes a thread of its own; if there are thousands, only those worked in last are
    // read.
    if open > ENOUGH {
        let mut rows = recent(tx, agent_no, Millis::MIN, LINES)?;
        if rows.len() == LINES {
            let known: HashSet<ThreadNo> = rows.iter().map(|r| r.no).collect();
            rows.extend(begun(tx, agent_no)?.into_iter().filter(|r| !known.contains(&r.no)));
            rows.sort_by_key(|r| std::cmp::Reverse((r.last_at.unwrap_or(r.created_at), r.no)));
            rows.truncate(LINES);
            return Ok(rows);
        }
    }
    let mut rows = all(tx, agent_no)?;
    rows.retain(|t| t.state != "closed");
    rows.truncate(LINES);
    Ok(rows)
}

/// Returns open threads without closed nodes, last begun first.
fn begun(tx: &Read, agent_no: AgentNo) -> Result<Vec<ThreadRow>> {
    let mut statement = tx.prepare_cached(
        "SELECT thread_no FROM threads t WHERE agent_no = ?1 AND merged_into IS NULL AND state != 'closed'
           AND NOT EXISTS (SELECT 1 FROM nodes n WHERE n.thread_no = t.thread_no)
         ORDER BY thread_no DESC LIMIT ?2",
    )?;
    let found = statement.query_map(params![agent_no, LINES as i64], |r| r.get(0))?;
    found.map(|no| thread::row(tx, agent_no, no?)).collect()
}

/// Returns threads of an agent that are not merged into others, last worked in first; work in the threads merged into
/// them counts.
fn all(tx: &Read, agent_no: AgentNo) -> Result<Vec<ThreadRow>> {
    let mut rows = thread::list(tx, agent_no)?;
    let mut statement = tx.prepare_cached(
        "SELECT thread_no, (SELECT max(last_at) FROM nodes n WHERE n.thread_no = t.thread_no)
         FROM threads t WHERE agent_no = ?1 AND merged_into IS NOT NULL",
    )?;
    let merged = statement.query_map([agent_no], |r| Ok((r.get::<_, ThreadNo>(0)?, r.get::<_, Option<Millis>>(1)?)))?;
    for found in merged {
        let (no, last) = found?;
        let to = thread::canonical(tx, no)?;
        if let Some(row) = rows.iter_mut().find(|r| r.no == to) {
            row.last_at = row.last_at.max(last);
        }
    }
    rows.sort_by_key(|r| std::cmp::Reverse((r.last_at.unwrap_or(r.created_at), r.no)));
    Ok(rows)
}

/// Returns open threads worked in since a moment, newest first, without reading all threads.
pub(super) fn recent(tx: &Read, agent_no: AgentNo, since: Millis, most: usize) -> Result<Vec<ThreadRow>> {
    let mut statement = tx.prepare_cached(
        "SELECT thread_no, max(last_at) FROM (
           SELECT thread_no, last_at FROM nodes WHERE agent_no = ?1 AND last_at >= ?2 ORDER BY last_at DESC LIMIT ?3)
         GROUP BY thread_no ORDER BY 2 DESC, 1 DESC",
    )?;
    let found = statement
        .query_map(params![agent_no, since, LATELY], |r| Ok((r.get::<_, ThreadNo>(0)?, r.get::<_, Millis>(1)?)))?;
    let mut rows: Vec<ThreadRow> = Vec::new();
    for found in found {
        let (no, last) = found?;
        let no = thread::canonical(tx, no)?;
        if rows.iter().any(|r| r.no == no) {
            continue;
        }
        let row = thread::row(tx, agent_no, no)?;
        if row.state != "closed" {
            rows.push(ThreadRow { last_at: Some(last), ..row });
        }
        if rows.len() == most {
            break;
        }
    }
    Ok(rows)
}

/// The current state of a thread.
pub(super) struct Stand<'l> {
    /// The distillate without items that are no longer valid.
    pub distillate: Distillate,
    /// Newest node of the thread.
    node: Option<NodeId>,
    /// Summary of its newest node, used if nothing more exact is known.
    summary: Option<String>,
    pub loops: Vec<&'l Owed>,
    /// Distilled items that are open or blocked and match no loop's file.
    pub open_items: Vec<Item>,
    /// The language model that told a part of it, the one asked last.
    model: Option<String>,
}

impl Stand<'_> {
    /// Returns the number of open items: files, and distilled items that match none of them.
    pub fn open(&self) -> usize {
        self.loops.len() + self.open_items.len()
    }

    /// Returns the mark of words that a language model told: ` · by MODEL`; empty if none did.
    pub fn by(&self) -> String {
        self.model.as_deref().map_or_else(String::new, |model| format!(" · by {}", line(model)))
    }

    /// Returns the reference for more detail: its newest node, otherwise its key.
    pub fn reference(&self, row: &ThreadRow) -> String {
        self.node.map_or_else(|| line(&row.key), |n| n.to_string())
    }

    /// Returns the item the thread is about now.
    pub fn now(&self) -> Option<&Item> {
        let d = &self.distillate;
        d.in_progress.last().or(d.goal.as_ref())
    }

    /// Returns [`Stand::now`] in a few words; without it, a blocked item, the last thing done or the summary.
    pub fn words(&self, most: usize) -> Option<String> {
        let d = &self.distillate;
        let item = self.now().map(|i| short(&i.text, most));
        item.or_else(|| d.blocked.last().map(|i| format!("blocked: {}", short(&i.text, most))))
            .or_else(|| d.done.last().map(|i| format!("done: {}", short(&i.text, most))))
            .or_else(|| self.summary.as_deref().map(|s| short(s, most)))
    }
}

/// Returns the state of a thread, from its newest nodes and the conversations that go on in it; `loops`: all open
/// loops, of any thread.
pub(super) fn stand<'l>(
    tx: &Read,
    standing: &mut Standing,
    row: &ThreadRow,
    loops: &'l [Owed],
    live: &[Running],
) -> Result<Stand<'l>> {
    let State { mut distillate, nodes } = state::of_newest(tx, &thread::members(tx, row.no)?, NODES)?;
    // Folded last, the conversation that was active last decides.
    for running in live.iter().rev().filter(|r| r.thread_no == Some(row.no)) {
        distillate = fold(&distillate, &running.distillate);
    }
    // A line shows no decisions, and of the things done only the last.
    distillate.decisions.clear();
    distillate.done.drain(..distillate.done.len().saturating_sub(1));
    let loops: Vec<&Owed> = loops.iter().filter(|l| is_of(&l.scope, row.no)).collect();
    let (distillate, open_items) = valid_items(distillate, &loops, standing)?;
    let newest = nodes.first();
    let summary =
        newest.and_then(|n| n.summary.lines().find(|l| l.chars().any(char::is_alphanumeric)).map(str::to_owned));
    let model = nodes.iter().find_map(|n| n.model.clone());
    Ok(Stand { distillate, node: newest.map(|n| n.id), summary, loops, open_items, model })
}

impl<'l> Stand<'l> {
    /// Returns the state of a conversation whose thread does not exist yet.
    pub fn of_running(running: &Running, loops: Vec<&'l Owed>, standing: &mut Standing) -> Result<Stand<'l>> {
        let (distillate, open_items) = valid_items(running.distillate.clone(), &loops, standing)?;
        Ok(Stand { distillate, node: None, summary: None, loops, open_items, model: None })
    }

    /// Returns the open items without a file: those counted as open, newest first, then next steps that are not among
    /// them.
    pub fn unfiled(&self) -> Vec<&Item> {
        let mut out: Vec<&Item> = self.open_items.iter().rev().collect();
        for step in &self.distillate.next_steps {
            let words = similarity::words(&step.text);
            let known = self.loops.iter().any(|l| l.is(step, &words));
            if !known && !out.iter().any(|i| similarity::same_words(&i.text, &step.text)) {
                out.push(step);
            }
        }
        out
    }
}

/// Whether a scope is this thread.
pub(super) fn is_of(scope: &Scope, thread_no: ThreadNo) -> bool {
    matches!(scope, Scope::Thread(no, _) if *no == thread_no)
}

/// Returns a distillate without items that were closed, abandoned or forgotten, and its open or blocked items that
/// match no file in `loops`.
pub(super) fn valid_items(
    mut d: Distillate,
    loops: &[&Owed],
    standing: &mut Standing,
) -> Result<(Distillate, Vec<Item>)> {
    for (list, commitment) in [
        (&mut d.in_progress, true),
        (&mut d.blocked, true),
        (&mut d.open_loops, true),
        (&mut d.next_steps, true),
        (&mut d.decisions, false),
        (&mut d.done, false),
    ] {
        let mut kept = Vec::with_capacity(list.len());
        for item in std::mem::take(list) {
            if standing.why_not(&item, commitment)?.is_none() {
                kept.push(item);
            }
        }
        *list = kept;
    }
    if let Some(goal) = &d.goal
        && standing.why_not(goal, false)?.is_some()
    {
        d.goal = None;
    }
    let mut open: Vec<(similarity::ItemWords, Item)> = Vec::new();
    // The subject of the thread is not also one of its open items.
    let about: Vec<&Item> = d.goal.iter().chain(d.in_progress.last()).collect();
    for item in d.open_loops.iter().chain(&d.blocked) {
        let words = similarity::words(&item.text);
        if about.iter().any(|a| similarity::same_words(&a.text, &item.text)) {
            continue;
        }
        if !loops.iter().any(|l| l.is(item, &words)) && !open.iter().any(|(o, known)| is_same(known, o, item, &words)) {
            open.push((words, item.clone()));
        }
    }
    Ok((d, open.into_iter().map(|(_, item)| item).collect()))
}

/// Whether two items are about one matter: they have nearly the same words, one gives details of the other, or both
/// repeat each other in the same turn.
pub(super) fn is_same(a: &Item, a_words: &similarity::ItemWords, b: &Item, b_words: &similarity::ItemWords) -> bool {
    similarity::same(a_words, b_words)
        || similarity::details(&a.text, b_words)
        || similarity::details(&b.text, a_words)
        || (a.turns.iter().any(|turn| b.turns.contains(turn))
            && (similarity::covers(a_words, b_words) && similarity::covers(b_words, a_words)))
}

/// Returns lines for the active page: the threads worked in last.
pub(super) fn slice(at: &AssistantHome, tx: &Read, most: usize) -> Result<Vec<String>> {
    let since = end_of_day(at) - super::memory::LATELY_MS;
    let rows = recent(tx, at.agent_no, since, most)?;
    if rows.is_empty() {
        return Ok(Vec::new());
    }
    let loops = owed_by(tx, at.agent_no, &rows)?;
    let live = running(tx, at.agent_no, at.ledger.now())?;
    let (mut lines, mut standing) = (Vec::new(), Standing::new(tx, at.agent_no));
    for row in rows {
        let stand = stand(tx, &mut standing, &row, &loops, &live)?;
        let node = stand.reference(&row);
        let words = stand.words(80).map(|w| format!(": {w}")).unwrap_or_default();
        let open = if stand.open() > 0 { format!(" · {} open", stand.open()) } else { String::new() };
        lines.push(format!("**{}**{words}{open}{} · [{node}]", line(&row.label), stand.by()));
    }
    Ok(lines)
}
