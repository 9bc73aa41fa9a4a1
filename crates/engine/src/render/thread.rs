//! A thread's head, Tier 2 (R7.2): its state, decisions, open items and next steps, its participants, and references
//! into the lineage. Bounded; loops that are files come first, distilled items follow, and none is shown twice.

use std::collections::BTreeSet;

use rusqlite::params;

use super::page::{day, day_at, end_of_day, line, moment, short};
use super::scoping::{Owed, Standing, owed_in};
use super::score::{Score, shares};
use super::threads::{is_of, valid_items};
use super::why::Why;
use crate::clock::Millis;
use crate::distill::state;
use crate::error::Result;
use crate::ledger::Read;
use crate::ledger::codes::CHUNK;
use crate::lineage::Node;
use crate::lineage::distillate::Item;
use crate::scope::{NodeId, SessionKey, ThreadNo, TurnId};
use crate::see::See;
use crate::text::similarity;
use crate::thread::{self, ThreadRow};
use crate::tokens::tokens;
use crate::tree::AssistantHome;
use crate::tree::file_table::Kind;

/// The token budget of the whole block.
const TOKENS: usize = 700;

/// Nodes listed under Lineage.
const LINEAGE: usize = 5;

/// The most participants named.
const PARTICIPANTS: usize = 8;

/// How many of the newest nodes are read to find the participants.
const LATELY: i64 = 200;

/// Tokens reserved for the line that says how many more there are, with its command.
const MORE: usize = 16;

/// A line, or one that was left out.
struct Line {
    section: &'static str,
    text: String,
    reference: Option<String>,
    score: Score,
    left_out: Option<String>,
}

impl Line {
    fn new(section: &'static str, text: String, reference: Option<String>, score: Score) -> Line {
        Line { section, text, reference, score, left_out: None }
    }

    fn markdown(&self) -> String {
        let reference = self.reference.as_ref().map(|r| format!(" · [{r}]")).unwrap_or_default();
        format!("- {}{reference}\n", self.text)
    }

    fn tokens(&self) -> usize {
        tokens(&self.markdown())
    }
}

/// The parts of a head before it is written as text.
struct Page {
    title: String,
    /// Key, state, dates and participants.
    facts: String,
    status: Line,
    lists: Vec<Line>,
    lineage: String,
}

const DECIDED: &str = "Decided";
const OPEN: &str = "Open";
const WAITING: &str = "Waiting for your yes";
const NEXT: &str = "Next";

/// The lists in the order of the page, with the weight of each one's share.
const LISTS: [(&str, usize, &str); 4] =
    [(DECIDED, 35, "expand"), (OPEN, 40, "loop list"), (WAITING, 10, "proposal list"), (NEXT, 15, "expand")];

pub(crate) fn render(at: &AssistantHome, tx: &Read, file: &str) -> Result<String> {
    let Some(row) = thread::of_file(tx, at.agent_no, file)? else {
        return Ok("There is no such thread any more.\n".into());
    };
    if row.merged_into.is_some() {
        let to = thread::row(tx, at.agent_no, thread::canonical(tx, row.no)?)?;
        let (from, label) = (line(&row.label), line(&to.label));
        return Ok(format!("# {from}\n\nThis thread became a part of [{label}]({}.md).\n", to.file));
    }
    let page = page(at, tx, &row)?;
    let mut out = format!("# {}\n\n{}\n\n", page.title, page.facts);
    let reference = page.status.reference.as_ref().map(|r| format!(" [{r}]")).unwrap_or_default();
    out.push_str(&format!("**Status.** {}{reference}\n\n", page.status.text));
    for (section, _, see) in LISTS {
        let (shown, left): (Vec<&Line>, Vec<&Line>) =
            page.lists.iter().filter(|l| l.section == section).partition(|l| l.left_out.is_none());
        let left = left.iter().filter(|l| l.left_out.as_deref() == Some(NO_ROOM)).count();
        if shown.is_empty() && left == 0 {
            continue;
        }
        out.push_str(&format!("## {section}\n"));
        shown.iter().for_each(|l| out.push_str(&l.markdown()));
        if left > 0 {
            let node = page.status.reference.as_deref().filter(|_| see == "expand");
            let see = node.map_or_else(|| see.to_owned(), |n| format!("{see} {n}"));
            out.push_str(&format!("- … and {left} more: `{}`\n", See::new(see)));
        }
        out.push('\n');
    }
    if !page.lineage.is_empty() {
        out.push_str(&format!("## Lineage\n{}\n", page.lineage));
    }
    Ok(format!("{}\n", out.trim_end()))
}

/// Each line of the head with its score and reasons, followed by those left out.
pub(super) fn why(at: &AssistantHome, tx: &Read, file: &str) -> Result<Vec<Why>> {
    let Some(row) = thread::of_file(tx, at.agent_no, file)? else { return Ok(Vec::new()) };
    if row.merged_into.is_some() {
        return Ok(Vec::new());
    }
    let page = page(at, tx, &row)?;
    let (shown, left): (Vec<Line>, Vec<Line>) = page.lists.into_iter().partition(|l| l.left_out.is_none());
    let why = |l: Line| Why {
        section: l.section.to_owned(),
        text: l.text,
        reference: l.reference,
        score: Some(l.score.value),
        reasons: l.score.reasons,
        left_out: l.left_out,
    };
    Ok(std::iter::once(page.status).chain(shown).chain(left).map(why).collect())
}

/// The reason given for a line that did not fit.
const NO_ROOM: &str = "no room: others score higher";

fn page(at: &AssistantHome, tx: &Read, row: &ThreadRow) -> Result<Page> {
    let (today, now) = (at.day_of(at.ledger.now()), end_of_day(at));
    let members = thread::members(tx, row.no)?;
    let state = state::of_thread(tx, &members)?;
    let loops = owed_in(tx, at.agent_no, Kind::OpenLoop, &members)?;
    let loops: Vec<&Owed> = loops.iter().filter(|l| is_of(&l.scope, row.no)).collect();
    let proposals = owed_in(tx, at.agent_no, Kind::Proposal, &members)?;
    let proposals: Vec<&Owed> = proposals.iter().filter(|p| is_of(&p.scope, row.no)).collect();
    let mut standing = Standing::new(tx, at.agent_no);
    let newest = state.newest().map(|n| n.id);
    let gone = gone(&state.distillate, &mut standing)?;
    let (d, open) = valid_items(state.distillate, &loops, &mut standing)?;

    let status = status(row, &d, state.nodes.first(), newest);
    let mut lists = Vec::new();
    // The items shown in the status.
    let shown = [d.goal.as_ref(), d.in_progress.last(), d.blocked.last()];
    let mut shown_words: Vec<similarity::ItemWords> =
        shown.into_iter().flatten().map(|i| similarity::words(&i.text)).collect();
    for item in d.decisions.iter().rev() {
        push(&mut lists, &mut shown_words, DECIDED, item, now, today, at, &mut standing)?;
    }
    // A next step that is a loop is shown as that loop, and not again among the open items.
    let mut stepped: BTreeSet<&str> = BTreeSet::new();
    for item in &d.next_steps {
        let words = similarity::words(&item.text);
        match loops.iter().find(|l| l.is(item, &words)) {
            Some(l) if stepped.insert(l.id()) => lists.push(of_loop(NEXT, l, now, today)),
            Some(_) => {}
            None => push(&mut lists, &mut shown_words, NEXT, item, now, None, at, &mut standing)?,
        }
    }
    let rest = loops.iter().filter(|l| !stepped.contains(l.id()));
    let mut files: Vec<Line> = rest.map(|l| of_loop(OPEN, l, now, today)).collect();
    files.sort_by(|a, b| b.score.value.total_cmp(&a.score.value).then_with(|| a.reference.cmp(&b.reference)));
    shown_words.extend(loops.iter().map(|l| l.words().clone()));
    lists.append(&mut files);
    for item in open.iter().rev() {
        push(&mut lists, &mut shown_words, OPEN, item, now, None, at, &mut standing)?;
    }
    for waiting in &proposals {
        let mut score = Score::default();
        score.recent(moment(waiting.entry.field("proposed")), now);
        lists.push(Line::new(WAITING, line(&waiting.entry.title), Some(waiting.id().to_owned()), score));
    }
    let mut page = Page {
        title: line(&row.label),
        facts: facts(at, tx, row, &members, &state.nodes, today)?,
        status,
        lists,
        lineage: lineage(at, tx, &state.nodes, today)?,
    };
    fit(&mut page);
    page.lists.extend(gone);
    Ok(page)
}

/// Removes what does not fit, the lowest score of each list first.
fn fit(page: &mut Page) {
    let fixed = tokens(&page.title) + tokens(&page.facts) + page.status.tokens() + tokens(&page.lineage) + 16;
    let heading = |section: &str| tokens(&format!("## {section}\n\n")) + MORE;
    let used: Vec<&(&str, usize, &str)> =
        LISTS.iter().filter(|(s, ..)| page.lists.iter().any(|l| l.section == *s)).collect();
    let headings: usize = used.iter().map(|(s, ..)| heading(s)).sum();
    let needs: Vec<usize> =
        used.iter().map(|(s, ..)| page.lists.iter().filter(|l| l.section == *s).map(Line::tokens).sum()).collect();
    let weights: Vec<usize> = used.iter().map(|(_, weight, _)| *weight).collect();
    let budgets = shares(&needs, &weights, TOKENS.saturating_sub(fixed + headings));
    for ((section, ..), budget) in used.iter().zip(budgets) {
        let mut left = Some(budget);
        for line in page.lists.iter_mut().filter(|l| l.section == *section) {
            left = left.and_then(|left| left.checked_sub(line.tokens()));
            line.left_out = left.is_none().then(|| NO_ROOM.to_owned());
        }
    }
}

/// Adds an item as a line, unless the same words are already above.
#[allow(clippy::too_many_arguments)]
fn push(
    lists: &mut Vec<Line>,
    shown_words: &mut Vec<similarity::ItemWords>,
    section: &'static str,
    item: &Item,
    now: Millis,
    dated: Option<jiff::civil::Date>,
    at: &AssistantHome,
    standing: &mut Standing,
) -> Result<()> {
    let words = similarity::words(&item.text);
    if shown_words.iter().any(|s| similarity::same(s, &words)) {
        return Ok(());
    }
    let when = standing.at(item)?;
    let mut score = Score::default();
    score.recent(when, now);
    let text = match when.filter(|_| dated.is_some()) {
        Some(when) => format!("{} · {}", line(&item.text), day_at(at, when, dated)),
        None => line(&item.text),
    };
    let reference = item.file.clone().or_else(|| item.turns.last().map(TurnId::to_string));
    lists.push(Line::new(section, text, reference, score));
    shown_words.push(words);
    Ok(())
}

/// Items of the nodes that are no longer valid.
fn gone(d: &crate::lineage::distillate::Distillate, standing: &mut Standing) -> Result<Vec<Line>> {
    let mut out = Vec::new();
    for (section, list, commitment) in [
        (DECIDED, &d.decisions, false),
        (OPEN, &d.open_loops, true),
        (OPEN, &d.blocked, true),
        (NEXT, &d.next_steps, true),
    ] {
        for item in list {
            let Some(why) = standing.why_not(item, commitment)? else { continue };
            let reference = item.file.clone().or_else(|| item.turns.last().map(TurnId::to_string));
            let mut line = Line::new(section, line(&item.text), reference, Score::default());
            line.left_out = Some(why.to_owned());
            out.push(line);
        }
    }
    Ok(out)
}

fn of_loop(section: &'static str, owed: &Owed, now: Millis, today: Option<jiff::civil::Date>) -> Line {
    let due = owed.entry.field("due").and_then(|d| d.parse().ok());
    let text = match due {
        Some(due) => format!("{} · due {}", line(&owed.entry.title), day(due, today)),
        None => line(&owed.entry.title),
    };
    Line::new(section, text, Some(owed.id().to_owned()), super::memory::urgency(&owed.entry, now, today))
}

/// The status: what is in progress, otherwise the goal; what is blocked; otherwise what was done last.
fn status(
    row: &ThreadRow,
    d: &crate::lineage::distillate::Distillate,
    newest: Option<&Node>,
    reference: Option<NodeId>,
) -> Line {
    let mut parts: Vec<String> = Vec::new();
    if row.state == "closed" {
        parts.push("Closed.".into());
    }
    let sentence = |text: &str| format!("{}.", short(text, 150).trim_end_matches(['.', '…']));
    let (goal, doing) = (d.goal.as_ref(), d.in_progress.last());
    parts.extend(goal.map(|i| sentence(&i.text)));
    parts.extend(
        doing.filter(|i| goal.is_none_or(|g| !similarity::same_words(&g.text, &i.text))).map(|i| sentence(&i.text)),
    );
    if parts.is_empty() || doing.is_none() {
        parts.extend(d.done.last().map(|i| format!("Done: {}", sentence(&i.text))));
    }
    parts.extend(d.blocked.last().map(|i| format!("Blocked: {}", sentence(&i.text))));
    if parts.is_empty() {
        let shown = newest.and_then(|n| n.summary.lines().find(|l| l.chars().any(char::is_alphanumeric)));
        parts.push(match shown {
            Some(shown) => short(shown, 150),
            None => "Nothing is known of it yet; its head fills when a conversation in it ends or is compacted.".into(),
        });
    }
    let mut score = Score::default();
    score.add(1.0, "where the newest nodes leave it");
    Line::new("Status", parts.join(" "), reference.map(|n| n.to_string()), score)
}

/// Key, state, dates and participants.
fn facts(
    at: &AssistantHome,
    tx: &Read,
    row: &ThreadRow,
    members: &[ThreadNo],
    nodes: &[Node],
    today: Option<jiff::civil::Date>,
) -> Result<String> {
    let mut parts = vec![format!("`{}`", line(&row.key).replace('`', "'")), row.state.clone()];
    let last = nodes.iter().filter_map(|n| n.times.1).max();
    parts.extend(last.map(|then| format!("last worked in on {}", day_at(at, then, today))));
    let who = participants(tx, row, members)?;
    if !who.is_empty() {
        parts.push(format!("with {}", who.join(", ")));
    }
    Ok(parts.join(" · "))
}

/// Programs, and named people, of the newest sessions.
fn participants(tx: &Read, row: &ThreadRow, members: &[ThreadNo]) -> Result<Vec<String>> {
    let (mut programs, mut people) = (BTreeSet::new(), BTreeSet::new());
    for member in members {
        let mut statement = tx.prepare_cached(
            "SELECT DISTINCT s.session_key, m.name FROM nodes n JOIN sessions s ON s.session_no = n.session_no
             LEFT JOIN participants p ON p.session_no = s.session_no LEFT JOIN names m ON m.name_no = p.name_no
             WHERE n.node_no IN (SELECT node_no FROM nodes WHERE thread_no = ?1 ORDER BY last_at DESC LIMIT ?2)",
        )?;
        let mut rows = statement.query(params![member, LATELY])?;
        while let Some(r) = rows.next()? {
            programs.insert(SessionKey::from(r.get::<_, String>(0)?).harness().to_owned());
            people.extend(r.get::<_, Option<String>>(1)?);
        }
    }
    // The operator takes part in every conversation except those of other people.
    let you = (!programs.is_empty() && !row.key.starts_with("person/")).then(|| "you".to_owned());
    let mut out: Vec<String> = you.into_iter().chain(people).chain(programs).filter(|n| !n.is_empty()).collect();
    let over = out.len().saturating_sub(PARTICIPANTS);
    out.truncate(PARTICIPANTS);
    out.iter_mut().for_each(|name| *name = short(name, 40));
    if over > 0 {
        out.push(format!("{over} more"));
    }
    Ok(out)
}

/// The newest roots with their spans.
fn lineage(at: &AssistantHome, tx: &Read, nodes: &[Node], today: Option<jiff::civil::Date>) -> Result<String> {
    let mut out = Vec::new();
    for node in nodes.iter().take(LINEAGE) {
        let day = |then: Millis| day_at(at, then, today);
        let when = match node.times {
            (Some(first), Some(last)) if day(first) != day(last) => format!("{} – {}", day(first), day(last)),
            (_, Some(last)) => day(last),
            _ => "undated".into(),
        };
        let sessions: i64 = tx
            .prepare_cached(&format!(
                "WITH RECURSIVE under (no) AS (
                   SELECT ?1 UNION SELECT e.child_no FROM under u JOIN node_edges e ON e.parent_no = u.no
                   JOIN nodes c ON c.node_no = e.child_no WHERE c.kind != {CHUNK})
                 SELECT count(DISTINCT n.session_no) FROM under u JOIN nodes n ON n.node_no = u.no"
            ))?
            .query_row([node.id.0], |r| r.get(0))?;
        let what = match (node.session_no, sessions) {
            (Some(_), _) | (_, 0 | 1) if node.count == 1 => "1 turn".into(),
            (Some(_), _) | (_, 0 | 1) => format!("{} turns", node.count),
            (_, n) => format!("{n} sessions"),
        };
        out.push(format!("[{}] {when}, {what}", node.id));
    }
    Ok(out.join(" · "))
}
