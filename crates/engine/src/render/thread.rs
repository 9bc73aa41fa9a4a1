//! A thread's head, Tier 2 (R7.2): its subject, the last thing done and the next step, open items with their dates,
//! decisions and things done, files, participants, and references into the lineage. Bounded; loops that are files come
//! first, distilled items follow, each with an id that closes it, and nothing is shown twice.

use std::collections::BTreeSet;

use rusqlite::params;

use super::page::{day_at, due_said, due_words, end_of_day, found_by, line, moment, short};
use super::running::running_in;
use super::scoping::{Owed, Standing, owed_in};
use super::score::{Score, shares};
use super::threads::{Stand, is_of, is_same, stand, valid_items};
use super::why::Why;
use crate::clock::Millis;
use crate::continuity::open_loop;
use crate::distill::deterministic::REPLACES;
use crate::distill::fold::fold;
use crate::distill::{deadline, state};
use crate::error::Result;
use crate::ledger::Read;
use crate::ledger::codes::CHUNK;
use crate::lineage::Node;
use crate::lineage::distillate::{Distillate, Item, Touch};
use crate::next_step::See;
use crate::scope::{NodeId, SessionKey, ThreadNo, TurnId};
use crate::text::similarity;
use crate::thread::{self, ThreadRow};
use crate::tokens::tokens;
use crate::tree::AssistantHome;
use crate::tree::file_table::Kind;

/// The token budget of the whole block.
const TOKENS: usize = 700;

/// Number of nodes listed under Lineage.
const LINEAGE: usize = 5;

/// Largest number of participants named.
const PARTICIPANTS: usize = 8;

/// Number of the newest nodes that are read to find the participants.
const LATELY: i64 = 200;

/// Tokens reserved for the line that says how many more there are, with its command.
const MORE: usize = 16;

/// A line of the head, or one that was left out.
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
    /// Lines for its subject, the last thing done and the next step.
    state: Vec<Line>,
    lists: Vec<Line>,
    files: String,
    lineage: String,
    newest: Option<NodeId>,
}

const DOING: &str = "Doing";
const LAST: &str = "Last";
const NEXT: &str = "Next";
const OPEN: &str = "Open";
const DECIDED: &str = "Decided";
const DONE: &str = "Done lately";
const WAITING: &str = "Waiting for your yes";

/// The lists in the order of the page, with the weight of each one's share and the command that shows all of it.
const LISTS: [(&str, usize, &str); 4] =
    [(OPEN, 40, "loop list"), (DECIDED, 35, "expand"), (DONE, 15, "expand"), (WAITING, 10, "proposal list")];

/// Largest number of things done that are listed, besides the last one.
const DONE_MOST: usize = 5;

/// Largest number of files named.
const FILES: usize = 8;

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
    for line in &page.state {
        let reference = line.reference.as_ref().map(|r| format!(" [{r}]")).unwrap_or_default();
        out.push_str(&format!("**{}.** {}{reference}\n", line.section, line.text));
    }
    out.push('\n');
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
            let node = page.newest.filter(|_| see == "expand");
            let see = node.map_or_else(|| see.to_owned(), |n| format!("{see} {n}"));
            out.push_str(&format!("- … and {left} more: `{}`\n", See::new(see)));
        }
        out.push('\n');
    }
    if !page.files.is_empty() {
        out.push_str(&format!("## Files\n{}\n\n", page.files));
    }
    if !page.lineage.is_empty() {
        out.push_str(&format!("## Lineage\n{}\n", page.lineage));
    }
    Ok(format!("{}\n", out.trim_end()))
}

/// Returns each line of the head with its score and reasons, followed by the lines left out.
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
    Ok(page.state.into_iter().chain(shown).chain(left).map(why).collect())
}

/// The reason given for a line that did not fit.
const NO_ROOM: &str = "no room: others score higher";

fn page(at: &AssistantHome, tx: &Read, row: &ThreadRow) -> Result<Page> {
    let (today, now) = (at.day_of(at.ledger.now()), end_of_day(at));
    let members = thread::members(tx, row.no)?;
    let live = running_in(tx, at.agent_no, at.ledger.now(), row.no)?;
    let mut whole = state::of_thread(tx, &members)?;
    for running in live.iter().rev() {
        whole.distillate = fold(&whole.distillate, &running.distillate);
    }
    let loops = owed_in(tx, at.agent_no, Kind::OpenLoop, &members)?;
    let proposals = owed_in(tx, at.agent_no, Kind::Proposal, &members)?;
    let proposals: Vec<&Owed> = proposals.iter().filter(|p| is_of(&p.scope, row.no)).collect();
    let mut standing = Standing::new(tx, at.agent_no);
    let gone = gone(&whole.distillate, &mut standing)?;
    // Every page counts open items in the same way: this page, and the line of the thread on other pages.
    let stand = stand(tx, &mut standing, row, &loops, &live)?;
    let newest = whole.newest().map(|n| n.id);
    let nodes = whole.nodes;
    let (d, _) = valid_items(whole.distillate, &stand.loops, &mut standing)?;

    let mut seen = Seen::default();
    let mut state = doing(row, &stand, &d, nodes.first(), newest, &mut seen);
    let mut lists = Vec::new();
    // An open item that is the next step is marked as such.
    let steps: Vec<similarity::ItemWords> =
        stand.distillate.next_steps.iter().map(|i| similarity::words(&i.text)).collect();
    let is_next = |words: &similarity::ItemWords| steps.first().is_some_and(|step| similarity::same(step, words));
    let mut files: Vec<Line> = Vec::new();
    for l in &stand.loops {
        let mut line = of_loop(at, l, now, today);
        if is_next(l.words()) {
            line.text.push_str(" · next");
        }
        seen.words(l.words().clone(), l.id());
        files.push(line);
    }
    files.sort_by(|a, b| b.score.value.total_cmp(&a.score.value).then_with(|| a.reference.cmp(&b.reference)));
    lists.append(&mut files);
    let goal = stand.distillate.goal.as_ref().map(|goal| similarity::Bag::of(&goal.text));
    let is_goal = |bag: &similarity::Bag| goal.as_ref().is_some_and(|goal| 10 * bag.shared(goal) >= 9 * bag.len());
    for item in stand.open_items.iter().rev() {
        // The current matter is shown above.
        let bag = similarity::Bag::of(&item.text);
        if bag.len() > 3 && is_goal(&bag) {
            continue;
        }
        let words = similarity::words(&item.text);
        let is_blocked = stand.distillate.blocked.iter().any(|b| b.text == item.text);
        let mut line = of_item(at, item, is_blocked, now, today, &mut standing)?;
        if is_next(&words) {
            line.text.push_str(" · next");
        }
        seen.add(item, words);
        lists.push(line);
    }
    // Further steps are open items already, or the current matter covers them.
    let step = stand.distillate.next_steps.iter().find(|i| !seen.has(i));
    if let Some(step) = step {
        let reference = step.file.clone().or_else(|| open_loop::id_of(&step.text));
        state.push(Line::new(NEXT, line(&step.text), reference, Score::default()));
        seen.add(step, similarity::words(&step.text));
    }
    for item in d.decisions.iter().rev() {
        push(&mut lists, &mut seen, DECIDED, item, now, today, at, &mut standing)?;
    }
    for item in outcomes(&d).take(DONE_MOST + 1) {
        push(&mut lists, &mut seen, DONE, item, now, today, at, &mut standing)?;
    }
    for waiting in &proposals {
        let mut score = Score::default();
        score.recent(moment(waiting.entry.field("proposed")), now);
        let text = format!("{}{}", line(&waiting.entry.title), found_by(&waiting.entry));
        lists.push(Line::new(WAITING, text, Some(waiting.id().to_owned()), score));
    }
    let last_at = live.iter().filter_map(|r| r.last_at).max();
    let mut page = Page {
        title: line(&row.label),
        facts: facts(at, tx, row, &members, &nodes, last_at, today)? + &told_by(&nodes),
        state,
        lists,
        files: files_of(&d),
        lineage: lineage(at, tx, &nodes, today)?,
        newest,
    };
    fit(&mut page);
    page.lists.extend(gone);
    Ok(page)
}

/// Names the language models that told a part of the page; empty if none did.
fn told_by(nodes: &[Node]) -> String {
    let mut models: Vec<&str> = nodes.iter().filter_map(|n| n.model.as_deref()).collect();
    models.sort_unstable();
    models.dedup();
    match models.is_empty() {
        true => String::new(),
        false => format!(" · told in part by {}", line(&models.join(", "))),
    }
}

/// Items that the page shows already, so that nothing is shown twice.
#[derive(Default)]
struct Seen {
    said: Vec<(Item, similarity::ItemWords)>,
}

impl Seen {
    fn add(&mut self, item: &Item, words: similarity::ItemWords) {
        self.said.push((item.clone(), words));
    }

    fn words(&mut self, words: similarity::ItemWords, id: &str) {
        self.said.push((Item { file: Some(id.to_owned()), ..Item::default() }, words));
    }

    fn has(&self, item: &Item) -> bool {
        let words = similarity::words(&item.text);
        self.said
            .iter()
            .any(|(said, known)| (item.file.is_some() && said.file == item.file) || is_same(said, known, item, &words))
    }
}

/// Returns things done, newest first: of each answer the first item and one more. An answer begins with what was asked
/// and what came of it; its further items are details.
fn outcomes(d: &Distillate) -> impl Iterator<Item = &Item> {
    const OF_EACH: usize = 2;
    let newest = |item: &Item| item.turns.last().copied();
    let answers = d.done.chunk_by(move |a, b| newest(a) == newest(b));
    answers.rev().flat_map(|answer| answer.iter().take(OF_EACH))
}

/// Returns the files that were changed last, newest first.
fn files_of(d: &Distillate) -> String {
    let changed = d.files.iter().filter(|f| f.touch != Touch::Read);
    let mut paths: Vec<(TurnId, String)> =
        changed.map(|f| (f.turns.last().copied().unwrap_or_default(), short(&f.path, 60))).collect();
    paths.sort_by(|a, b| b.cmp(a));
    let over = paths.len().saturating_sub(FILES);
    let mut out: Vec<String> =
        paths.into_iter().take(FILES).map(|(_, path)| format!("`{}`", path.replace('`', "'"))).collect();
    if over > 0 {
        out.push(format!("{over} more"));
    }
    out.join(", ")
}

/// Marks the lines that do not fit as left out, the lowest score of each list first.
fn fit(page: &mut Page) {
    let state: usize = page.state.iter().map(Line::tokens).sum();
    let fixed = tokens(&page.title) + tokens(&page.facts) + state + tokens(&page.files) + tokens(&page.lineage) + 24;
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

/// Adds an item as a line, unless the page shows it already.
#[allow(clippy::too_many_arguments)]
fn push(
    lists: &mut Vec<Line>,
    seen: &mut Seen,
    section: &'static str,
    item: &Item,
    now: Millis,
    today: Option<jiff::civil::Date>,
    at: &AssistantHome,
    standing: &mut Standing,
) -> Result<()> {
    // A reversal of a decision is shown even if its words repeat the current matter.
    if seen.has(item) && !item.text.contains(REPLACES) {
        return Ok(());
    }
    let when = standing.at(item)?;
    let mut score = Score::default();
    score.recent(when, now);
    let text = match when {
        Some(when) => format!("{} · {}", line(&item.text), day_at(at, when, today)),
        None => line(&item.text),
    };
    let reference = item.file.clone().or_else(|| item.turns.last().map(TurnId::to_string));
    lists.push(Line::new(section, text, reference, score));
    seen.add(item, similarity::words(&item.text));
    Ok(())
}

/// Returns the line of an open item that has no file.
fn of_item(
    at: &AssistantHome,
    item: &Item,
    is_blocked: bool,
    now: Millis,
    today: Option<jiff::civil::Date>,
    standing: &mut Standing,
) -> Result<Line> {
    let mut score = Score::default();
    score.recent(standing.at(item)?, now);
    let since = standing.since(item)?;
    let mut text = if is_blocked { format!("Blocked: {}", line(&item.text)) } else { line(&item.text) };
    let due = since.and_then(|said| deadline::due(&item.text, at.day_of(said)?));
    text.extend(due.map(|due| format!(" · {}", due_words(due, today))));
    text.extend(since.map(|since| format!(" · since {}", day_at(at, since, today))));
    // The id is shown so that the item can be closed.
    let id = item.file.clone().or_else(|| open_loop::id_of(&item.text));
    Ok(Line::new(OPEN, text, id.or_else(|| item.turns.last().map(TurnId::to_string)), score))
}

/// Returns lines for items of the nodes that are no longer valid.
fn gone(d: &Distillate, standing: &mut Standing) -> Result<Vec<Line>> {
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

fn of_loop(at: &AssistantHome, owed: &Owed, now: Millis, today: Option<jiff::civil::Date>) -> Line {
    let mut text = line(&owed.entry.title);
    text.extend(owed.entry.field("due").map(|said| format!(" · {}", due_said(said, today))));
    let since = moment(owed.entry.field("opened"));
    text.extend(since.map(|since| format!(" · since {}", day_at(at, since, today))));
    Line::new(OPEN, text, Some(owed.id().to_owned()), super::memory::urgency(&owed.entry, now, today))
}

/// Returns the first lines: the subject of the thread, and the last thing done.
fn doing(
    row: &ThreadRow,
    stand: &Stand,
    d: &Distillate,
    newest: Option<&Node>,
    reference: Option<NodeId>,
    seen: &mut Seen,
) -> Vec<Line> {
    let sentence = |text: &str| {
        let short = short(text, 150);
        let ends = short.ends_with(['…', '?', '!', '。', '？', '！']);
        if ends { short } else { format!("{}.", short.trim_end_matches('.')) }
    };
    let (goal, doing) = (stand.distillate.goal.as_ref(), stand.distillate.in_progress.last());
    let mut parts: Vec<String> = Vec::new();
    if row.state == "closed" {
        parts.push("Closed.".into());
    }
    for item in goal.into_iter().chain(doing) {
        if !seen.has(item) {
            parts.push(sentence(&item.text));
            seen.add(item, similarity::words(&item.text));
        }
    }
    let last = outcomes(d).find(|done| !seen.has(done));
    let mut out = Vec::new();
    if parts.is_empty() && last.is_none() {
        let shown = newest.and_then(|n| n.summary.lines().find(|l| l.chars().any(char::is_alphanumeric)));
        parts.push(match shown {
            Some(shown) => short(shown, 150),
            None => "Nothing is known of it yet; its head fills with the first conversation in it.".into(),
        });
    }
    if !parts.is_empty() {
        let mut score = Score::default();
        score.add(1.0, "where the newest nodes leave it");
        out.push(Line::new(DOING, parts.join(" "), reference.map(|n| n.to_string()), score));
    }
    if let Some(last) = last {
        seen.add(last, similarity::words(&last.text));
        out.push(Line::new(LAST, sentence(&last.text), last.turns.last().map(TurnId::to_string), Score::default()));
    }
    out
}

/// Returns the line with key, state, dates and participants.
fn facts(
    at: &AssistantHome,
    tx: &Read,
    row: &ThreadRow,
    members: &[ThreadNo],
    nodes: &[Node],
    running: Option<Millis>,
    today: Option<jiff::civil::Date>,
) -> Result<String> {
    let mut parts = vec![format!("`{}`", line(&row.key).replace('`', "'")), row.state.clone()];
    let last = nodes.iter().filter_map(|n| n.times.1).chain(running).max();
    parts.extend(last.map(|then| format!("last worked in on {}", day_at(at, then, today))));
    let who = participants(tx, row, members)?;
    if !who.is_empty() {
        parts.push(format!("with {}", who.join(", ")));
    }
    Ok(parts.join(" · "))
}

/// Returns the programs and named people of the newest sessions.
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

/// Returns the lines of the newest roots with their time spans.
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
