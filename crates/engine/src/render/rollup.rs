//! Weekly and monthly rollups, rendered from the lineage (R6.9): for a week, what was worked on in each thread; for a
//! month, what changed: begun, settled, decided, finished. A period without closed nodes has no page.
//!
//! Weeks are ISO weeks, and weeks and months are in the operator's time zone; a week's page is in the folder of its ISO
//! year.

use std::collections::{BTreeMap, BTreeSet};

use jiff::civil::Date;

use super::page::line;
use super::runs::Words;
use crate::clock::Millis;
use crate::distill::deterministic::JOIN;
use crate::distill::fold::fold;
use crate::distill::still_open::{give_ids, still_stands};
use crate::error::{Error, Result};
use crate::ledger::Read;
use crate::lineage::distillate::{Distillate, Item};
use crate::lineage::{Kind, Node, walk};
use crate::next_step::See;
use crate::pages::Period;
use crate::scope::{NodeId, SessionNo, ThreadNo, TurnId};
use crate::text::similarity;
use crate::thread;
use crate::tokens::tokens;
use crate::tree::AssistantHome;

/// The token budget of the whole block.
const TOKENS: usize = 900;

/// Largest number of nodes read; the newest are taken.
const NODES: usize = 2_000;

/// Largest number of threads on the page; budget that one does not use passes to the next.
const THREADS: usize = 6;

/// Least number of tokens of a section; with fewer it is not worth its heading.
const LEAST: usize = 60;

/// Number of items named of those open at the end of a month.
const NEWEST: usize = 2;

/// Number of items shown of one list, and of sessions shown of one thread.
const ITEMS: usize = 4;

/// The nodes of one thread.
struct Work {
    label: String,
    key: String,
    nodes: Vec<Node>,
    /// Number of turns below its nodes, each counted once: a session's node covers its compactions, and a compaction
    /// may come after the session's node.
    turns: u64,
}

pub(super) fn render(at: &AssistantHome, tx: &Read, period: Period) -> Result<String> {
    let (from, to) = period.days()?;
    let midnight = |day: Date| {
        let zoned = day.to_zoned(at.zone.clone());
        zoned.map(|z| z.timestamp().as_millisecond()).map_err(|e| Error::usage(format!("{day} is no day")).because(e))
    };
    let nodes = nodes(at, tx, midnight(from)?, midnight(to)?)?;
    if nodes.is_empty() {
        return Ok("Nothing was closed in this time.\n".into());
    }
    let works = works(at, tx, nodes)?;
    let mut out = totals(&works);
    let words = Words::new(at, tx);
    // Leaves room for the tokens of the last line.
    let budget = TOKENS - 20;
    let mut shown = 0;
    for work in &works {
        let left = budget.saturating_sub(tokens(&out));
        let share = left / (works.len() - shown).min(THREADS.saturating_sub(shown).max(1));
        let section = section(at, tx, &words, work, &period, share)?;
        if share < LEAST && shown > 0 || tokens(&section) > left {
            break;
        }
        out.push_str(&section);
        shown += 1;
    }
    match works.len() - shown {
        0 => {}
        1 => out.push_str(&format!("\n- … and 1 thread more: `{}`\n", See::new("thread list"))),
        more => out.push_str(&format!("\n- … and {more} threads more: `{}`\n", See::new("thread list"))),
    }
    Ok(out)
}

/// Returns the nodes closed within a period: session nodes, and compactions not covered by a session node of the same
/// period.
fn nodes(at: &AssistantHome, tx: &Read, from: Millis, to: Millis) -> Result<Vec<Node>> {
    let mut out = walk::between(tx, at.agent_no, Kind::Session, from, to, NODES)?;
    let sessions: BTreeSet<NodeId> = out.iter().map(|n| n.id).collect();
    for compaction in walk::between(tx, at.agent_no, Kind::Compaction, from, to, NODES)? {
        let parents = walk::parents(tx, at.agent_no, compaction.id)?;
        if !parents.iter().any(|p| sessions.contains(&p.id)) {
            out.push(compaction);
        }
    }
    out.sort_by_key(|n| (n.times.1, n.turns.1, n.id));
    Ok(out)
}

fn totals(works: &[Work]) -> String {
    let all: Vec<&Node> = works.iter().flat_map(|w| &w.nodes).collect();
    let sessions: BTreeSet<Option<SessionNo>> = all.iter().map(|n| n.session_no).collect();
    format!(
        "{} · {} · {} · {}\n",
        counted(sessions.len() as u64, "session"),
        counted(works.len() as u64, "thread"),
        counted(works.iter().map(|w| w.turns).sum(), "turn"),
        programs(all.into_iter())
    )
}

fn programs<'n>(nodes: impl Iterator<Item = &'n Node>) -> String {
    let names: BTreeSet<String> =
        nodes.filter_map(|n| n.session.as_ref()).map(|s| line(s.harness())).filter(|h| !h.is_empty()).collect();
    let mut names: Vec<String> = names.into_iter().collect();
    names.truncate(8);
    names.join(", ")
}

/// Groups the nodes by thread, threads with the most turns first. A merged thread counts as the one it was merged into.
fn works(at: &AssistantHome, tx: &Read, nodes: Vec<Node>) -> Result<Vec<Work>> {
    let mut by_thread: BTreeMap<ThreadNo, Work> = BTreeMap::new();
    for node in nodes {
        let no = thread::canonical(tx, node.thread_no)?;
        let work = by_thread.entry(no).or_insert(Work {
            label: String::new(),
            key: node.thread.clone(),
            nodes: Vec::new(),
            turns: 0,
        });
        work.nodes.push(node);
    }
    for (no, work) in &mut by_thread {
        let row = thread::row(tx, at.agent_no, *no)?;
        (work.label, work.key) = (row.label, row.key);
        let ids: Vec<NodeId> = work.nodes.iter().map(|n| n.id).collect();
        work.turns = walk::covered(tx, &ids)?;
    }
    let mut out: Vec<Work> = by_thread.into_values().collect();
    out.sort_by(|a, b| b.turns.cmp(&a.turns).then_with(|| a.key.cmp(&b.key)));
    Ok(out)
}

/// Returns the section of a thread within its share of the page.
fn section(at: &AssistantHome, tx: &Read, words: &Words, work: &Work, period: &Period, share: usize) -> Result<String> {
    let sessions: BTreeSet<Option<SessionNo>> = work.nodes.iter().map(|n| n.session_no).collect();
    let mut out = format!(
        "\n## {}\n{} · {} · {} · `{}`\n",
        line(&work.label),
        counted(sessions.len() as u64, "session"),
        counted(work.turns, "turn"),
        programs(work.nodes.iter()),
        line(&work.key)
    );
    let folded = work.nodes.iter().fold(Distillate::default(), |d, node| fold(&d, &node.distillate));
    let mut d = still_stands(tx, at.agent_no, &folded)?;
    give_ids(&mut d);
    let is_week = matches!(period, Period::Week(_));
    // A week shows what was worked on, a month what changed.
    let changed = if is_week { Changed::default() } else { changed(work, &d) };
    let lists: &[(&str, &[Item])] = match is_week {
        true => &[
            ("Goal", d.goal.as_slice()),
            ("Decided", &d.decisions),
            ("Still open", &d.open_loops),
            ("Done", &d.done),
            ("Blocked", &d.blocked),
        ],
        false => &[
            ("Began", &changed.began),
            ("Settled", &changed.settled),
            ("Decided", &d.decisions),
            ("Finished", &changed.finished),
        ],
    };
    // The newest of each list are taken in turn, so that no list starves another; they are printed list by list, in
    // their fixed order.
    let mut kept: Vec<Vec<String>> = vec![Vec::new(); lists.len()];
    // The number of open items is always shown; names of sessions are shown if there is room.
    let open = if is_week { String::new() } else { open_at_the_end(&d, &changed) };
    let mut used = tokens(&out) + tokens(&open);
    'all: for n in 0..ITEMS {
        for (kept, (word, list)) in kept.iter_mut().zip(lists) {
            let Some(item) = list.len().checked_sub(n + 1).and_then(|at| list.get(at)) else { continue };
            let text = format!("- {word}: {} [{}]\n", line(&item.text), reference(item));
            if used + tokens(&text) > share {
                break 'all;
            }
            used += tokens(&text);
            kept.push(text);
        }
    }
    for list in kept {
        out.extend(list.into_iter().rev());
    }
    let sessions = if is_week { session_names(words, work)? } else { String::new() };
    if used + tokens(&sessions) <= share {
        out.push_str(&sessions);
    }
    out.push_str(&open);
    Ok(out)
}

/// Changes in a thread within a month.
#[derive(Default)]
struct Changed {
    /// Matters that were taken up, each once.
    began: Vec<Item>,
    /// Items that were open after an earlier node of the month and are not open at its end.
    settled: Vec<Item>,
    /// Result of each session: the first thing it did.
    finished: Vec<Item>,
    /// Number of items open at the end that were open after the first node already.
    carried: usize,
}

/// Returns what the nodes of a month changed. `end`: the state after them.
fn changed(work: &Work, end: &Distillate) -> Changed {
    let mut out = Changed::default();
    let open = |d: &Distillate| -> Vec<Item> { d.open_loops.iter().chain(&d.blocked).cloned().collect() };
    let known = |items: &[Item], item: &Item| items.iter().any(|i| similarity::same_words(&i.text, &item.text));
    let at_end = open(end);
    let mut state = Distillate::default();
    for (n, node) in work.nodes.iter().enumerate() {
        state = fold(&state, &node.distillate);
        if let Some(goal) = &node.distillate.goal {
            let matter = goal.text.split(JOIN).next().unwrap_or(&goal.text);
            let matter = Item { text: matter.to_owned(), ..goal.clone() };
            if !known(&out.began, &matter) {
                out.began.push(matter);
            }
        }
        for item in open(&state) {
            if !known(&at_end, &item) && !known(&out.settled, &item) {
                out.settled.push(Item { file: None, ..item });
            }
        }
        let newest = node.distillate.done.last().map(|d| d.turns.last());
        let first = node.distillate.done.iter().find(|d| Some(d.turns.last()) == newest);
        out.finished.extend(first.filter(|d| !known(&out.finished, d)).cloned());
        if n == 0 {
            out.carried = at_end.iter().filter(|item| known(&open(&state), item)).count();
        }
    }
    out
}

/// Returns the line of items open at the end of a month: their number and the ids of the newest. Their words are on the
/// pages of its weeks.
fn open_at_the_end(d: &Distillate, changed: &Changed) -> String {
    let open: Vec<&Item> = d.open_loops.iter().chain(&d.blocked).collect();
    if open.is_empty() {
        return String::new();
    }
    let ids: Vec<String> = open.iter().rev().take(NEWEST).map(|item| format!("[{}]", reference(item))).collect();
    let new = open.len().saturating_sub(changed.carried);
    let of_them = if new == 0 { String::new() } else { format!(", {new} of them new") };
    format!("- Open at the end: {}{of_them} {}\n", open.len(), ids.join(" "))
}

/// Returns the reference of an item: its file, otherwise the turn where it was last said.
fn reference(item: &Item) -> String {
    item.file.clone().or_else(|| item.turns.last().map(TurnId::to_string)).unwrap_or_default()
}

/// Returns the line with the sessions of a thread and their nodes, newest first.
fn session_names(words: &Words, work: &Work) -> Result<String> {
    let mut seen = BTreeSet::new();
    let mut names = Vec::new();
    for node in work.nodes.iter().rev() {
        if let Some(session) = node.session_no.filter(|s| seen.insert(*s))
            && names.len() < ITEMS
        {
            names.push(format!("{} [{}]", words.name_of_session(session)?, node.id));
        }
    }
    let more = seen.len() - names.len();
    let more = if more > 0 { format!(" · and {more} more") } else { String::new() };
    Ok(if names.is_empty() { String::new() } else { format!("- Sessions: {}{more}\n", names.join(" · ")) })
}

fn counted(n: u64, one: &str) -> String {
    if n == 1 { format!("1 {one}") } else { format!("{n} {one}s") }
}
