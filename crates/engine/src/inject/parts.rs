//! The content of each part of a context, before anything is cut.

use super::already_given::references;
use super::budget::{Chosen, Draft, Part, Piece, core};
use super::{Ask, Event, RUNNING_MS};
use crate::clock::Millis;
use crate::distill::deterministic::JOIN;
use crate::distill::still_open::{give_ids, still_stands};
use crate::distill::tail;
use crate::distill::{fold, handoff};
use crate::document::Document;
use crate::error::Result;
use crate::home::{RelPath, layout};
use crate::ledger::Read;
use crate::ledger::blocks::Opener;
use crate::lineage::distillate::Distillate;
use crate::memory::pending::{self, NoticeKind};
use crate::memory::{Scope, find, is_stale};
use crate::pages::PageKey;
use crate::recall::{self, Audience, Dropped, Item, Stage};
use crate::redact::redact;
use crate::render::{self, memory};
use crate::scope::{NodeId, SessionNo, ThreadNo, TurnId};
use crate::thread::{self, Lately};
use crate::tokens::cut;
use crate::transcript::{read, recent};
use crate::tree::bootstrap;
use crate::tree::file_table;
use crate::tree::provenance::{Origin, Provenance};
use crate::tree::{AssistantHome, LARGEST_FILE};

/// The pages people write as instructions, in the order they are printed.
const PAGES: [RelPath; 4] = [layout::IDENTITY, layout::SOUL, layout::AGENTS, layout::USER];

/// Largest number of tokens of a rendered handoff: more than a part ever gets, so that only the budget cuts it.
const HANDOFF_TOKENS: usize = 700;

/// Number of sessions of the thread examined to find the last one, and listed when a session resumes.
const SESSIONS: usize = 8;

/// Largest number of unconfirmed observations about the person that are shown.
const UNCONFIRMED: usize = 3;

/// Largest number of unconfirmed statements about the project that a person asked to remember.
const ASKED_TO_REMEMBER: usize = 6;

/// Largest number of the project's memories that are given word for word.
const KNOWN_OF_PROJECT: usize = 8;

/// Largest number of tokens of the goal in a line about another session.
const GOAL_TOKENS: usize = 30;

/// Number of turns in the tail, and the largest number of tokens of each.
const TAIL: usize = 12;
const TAIL_TOKENS: usize = 250;

/// Largest number of tokens of a recalled item: a whole passage; `expand` shows the rest.
const RECALLED_TOKENS: usize = 170;

/// Largest number of remarks in a handoff, which were said during the work but are not part of it.
const REMARKS: usize = 3;

/// Number of the newest sessions that are looked at for one that did more than ask.
const ONLY_ASKED: usize = 6;

/// Sections of a thread's page that are for people only: every line of the page leads to the same nodes.
const FOR_PEOPLE: [&str; 1] = ["Lineage"];

pub(super) fn drafts(
    at: &AssistantHome,
    tx: &Read,
    ask: &Ask,
    audience: &Audience,
    items: Vec<Item>,
    now: Millis,
) -> Result<Vec<Draft>> {
    let mut out = Vec::new();
    let mut add = |part, pieces: Vec<Piece>, newest_last| out.push(Draft { part, pieces, newest_last });
    match ask.event {
        Event::Compact => add(Part::Handoff, handoff_of_own(at, tx, audience)?, false),
        Event::Start => add(Part::Handoff, where_it_stopped(at, tx, audience, now)?, false),
        Event::Resume => add(Part::Handoff, meanwhile(at, tx, audience, now)?, false),
        Event::Clear | Event::Prompt => {}
    }
    if !ask.can.keeps_tail && ask.event != Event::Clear {
        add(Part::Tail, tail(at, tx, audience)?, true);
    }
    if matches!(ask.event, Event::Start | Event::Clear | Event::Compact) {
        if let Some(thread) = &audience.thread {
            add(Part::Thread, of_thread(&render::thread_page(at, tx, &thread.file)?), false);
        }
        add(Part::Memory, of_memory(at, tx, audience, now)?, false);
        add(Part::Pages, of_pages(at)?, true);
    }
    add(Part::Recall, recalled(at, items, ask.event), false);
    for draft in &mut out {
        explain(draft);
        for piece in &mut draft.pieces {
            if let Some(id) = piece.item.as_deref().filter(|id| id.contains(':')) {
                piece.version = file_table::item(tx, at.agent_no, id)?.map(|e| e.digest.to_vec());
            }
        }
    }
    Ok(out)
}

/// Least number of bytes that are left of a step of a goal, so that they identify it.
const CUT_GOAL: usize = 20;

/// Begins the line of a thread's page that says its goal in short.
const DOING: &str = "**Doing.** ";

/// Leaves out of the thread's goal in short, in its page and in Tier 1, what the goal of the handoff says in full, or a
/// line about another session.
pub(super) fn say_goal_once(drafts: &mut [Draft], dropped: &mut Vec<Dropped>) {
    let handoff = drafts.iter().find(|draft| draft.part == Part::Handoff).map_or(&[][..], |draft| &draft.pieces);
    let goal = handoff.iter().skip_while(|piece| piece.level == 0 || !piece.text.contains("Goal")).nth(1);
    let work = handoff.iter().filter(|piece| piece.text.starts_with("- **"));
    let said: Vec<String> = goal
        .filter(|piece| piece.level == 0)
        .into_iter()
        .chain(work)
        .map(|piece| core(&piece.text).to_owned())
        .collect();
    if said.is_empty() {
        return;
    }
    // Both may be cut at other places: one says the other if it begins with what is left of it.
    let is_said = |step: &&str| {
        let step = step.trim_end_matches(['…', '.', ' ']);
        said.iter().flat_map(|said| said.split(JOIN)).any(|whole| {
            let left = whole.strip_suffix('…').map(str::trim_end).filter(|left| left.len() >= CUT_GOAL);
            whole.contains(step) || left.is_some_and(|left| step.starts_with(left))
        })
    };
    for memory in drafts.iter_mut().filter(|draft| draft.part == Part::Memory) {
        memory.pieces.retain(|piece| {
            let short = core(&piece.text);
            let is_goal = piece.level == 0 && !short.is_empty() && short.split(JOIN).all(|step| is_said(&step));
            if is_goal {
                dropped.push(Dropped { id: piece.item.clone().unwrap_or_default(), why: "stands in handoff".into() });
            }
            !is_goal
        });
    }
    let Some(thread) = drafts.iter_mut().find(|draft| draft.part == Part::Thread) else { return };
    let Some(at) = thread.pieces.iter().position(|piece| piece.text.starts_with(DOING)) else { return };
    let doing = &mut thread.pieces[at];
    let short = core(&doing.text).to_owned();
    let left: Vec<&str> = short.split(JOIN).filter(|step| !is_said(step)).collect();
    if left.is_empty() {
        dropped.push(Dropped { id: doing.item.clone().unwrap_or_default(), why: "stands in handoff".into() });
        thread.pieces.remove(at);
    } else {
        doing.text = doing.text.replacen(&short, &left.join(JOIN), 1);
    }
}

/// Adds to each line of a page or a handoff its place there, as the reason why it is given.
fn explain(draft: &mut Draft) {
    let mut heading = String::new();
    for piece in &mut draft.pieces {
        if piece.level > 0 {
            heading = piece.text.trim_start_matches('#').trim().to_owned();
        } else if piece.why == Chosen::default() {
            let place = match draft.part {
                Part::Pages => "a page of the person's own",
                Part::Memory => "Tier 1",
                Part::Thread => "the thread's page",
                Part::Handoff => "the handoff",
                Part::Tail => "the newest turns",
                Part::Recall => "recall",
            };
            let under = if heading.is_empty() { String::new() } else { format!(", under {heading}") };
            piece.why.reasons = vec![format!("stands in {place}{under}")];
        }
    }
}

/// Returns a handoff in pieces, with only the last remarks.
fn of_handoff(d: &Distillate) -> Vec<Piece> {
    let last = d.context.len().saturating_sub(REMARKS);
    let d = Distillate { context: d.context[last..].to_vec(), ..d.clone() };
    pieces(&handoff::render(&d, HANDOFF_TOKENS), 3)
}

/// Returns a thread's page in pieces, without the sections for people.
fn of_thread(page: &str) -> Vec<Piece> {
    let mut out = Vec::new();
    let mut left_out = false;
    for piece in pieces(page, 2) {
        let text = piece.text.trim();
        if piece.level > 0 {
            left_out = FOR_PEOPLE.contains(&text.trim_start_matches('#').trim());
        }
        // The line below the title has the key, the time of the last work and the participants; it is joined to the
        // title.
        let about = match out.as_mut_slice() {
            [title] if piece.level == 0 => Some(title).filter(|title: &&mut Piece| title.level > 0 && is_about(text)),
            _ => None,
        };
        match about {
            Some(title) => {
                let said: Vec<&str> =
                    text.split(" · ").filter(|said| !said.starts_with('`') && *said != "active").collect();
                if !said.is_empty() {
                    title.text = format!("{} · {}\n", title.text.trim_end(), said.join(" · "));
                }
            }
            None if left_out => {}
            None => out.push(piece),
        }
    }
    out
}

/// Whether a line below a page's title is about the page itself: it contains no references.
fn is_about(line: &str) -> bool {
    line.contains(" · ") && references(line).is_empty() && !line.starts_with(['-', '*'])
}

/// Returns the handoff that replaces what was cut from this session's context.
fn handoff_of_own(at: &AssistantHome, tx: &Read, audience: &Audience) -> Result<Vec<Piece>> {
    let Some(known) = &audience.known else { return Ok(Vec::new()) };
    let standing = render::SessionStanding::of(tx, known.no)?;
    let d = now_standing(at, tx, audience, known.no, &standing.distillate)?;
    if d.is_empty() {
        return Ok(Vec::new());
    }
    let nodes: Vec<String> = standing.nodes.iter().map(NodeId::to_string).collect();
    let reference = if nodes.is_empty() { String::new() } else { format!(" [{}]", nodes.join(" ")) };
    let mut out = vec![Piece::heading(format!("## Before the compaction{reference}\n"))];
    out.extend(of_handoff(&d));
    Ok(out)
}

/// Returns where the last session of this thread stopped, in any program.
fn where_it_stopped(at: &AssistantHome, tx: &Read, audience: &Audience, now: Millis) -> Result<Vec<Piece>> {
    let mut others = others(tx, audience)?;
    let members = members_of(tx, audience)?;
    let mut found = None;
    // A session that only asked what is left stopped nowhere: the work stopped in an earlier one.
    for (n, session) in others.iter().enumerate().take(ONLY_ASKED) {
        let standing = render::SessionStanding::within(tx, session.session_no, Some(&members))?;
        let d = now_standing(at, tx, audience, session.session_no, &standing.distillate)?;
        let stopped = !d.only_asks();
        if stopped || found.is_none() {
            found = Some((n, standing, d));
        }
        if stopped {
            break;
        }
    }
    let Some((n, standing, mut d)) = found else { return Ok(Vec::new()) };
    others.drain(..n);
    let last = &others[0];
    // The thread's page covers distilled sessions; for the others their own turns are read. Sessions that are at work
    // side by side do not go on where the other stopped.
    let is_at_work = |s: &Lately| !s.ended && is_recent(s, now);
    let mut beside = Vec::new();
    for earlier in others.iter().skip(1).filter(|s| s.unthreaded || is_at_work(s)) {
        if is_at_work(earlier) && is_at_work(last) {
            beside.push(work_of(at, tx, audience, earlier, now)?);
            continue;
        }
        let before = render::SessionStanding::within(tx, earlier.session_no, Some(&members))?;
        d = fold::fold(&now_standing(at, tx, audience, earlier.session_no, &before.distillate)?, &d);
    }
    // The reference for details is a node, or the session itself.
    let node = standing.nodes.first().map(NodeId::to_string);
    let down = node.unwrap_or_else(|| render::line(last.session.as_str()));
    let mut out =
        vec![Piece::heading(format!("## Where the last session stopped: {} [{down}]\n", named(at, last, now)))];
    if d.is_empty() {
        let opener = Opener::default();
        // A session may have been in several threads: only turns of this one are given (R10.3).
        let mut said = recent::messages(tx, last.session_no, TurnId(0), 24)?;
        let mut own = Vec::new();
        while let Some(turn) = said.pop().filter(|_| own.len() < 4) {
            if audience.may_hear(&recall::scope_of_turn(tx, at.agent_no, turn)?) {
                own.insert(0, turn);
            }
        }
        for turn in own {
            out.extend(word_for_word(at, tx, &opener, turn, 60)?);
        }
    } else {
        out.extend(of_handoff(&d));
    }
    if !beside.is_empty() {
        out.push(Piece::heading("## At the same time, in other sessions of this thread\n"));
        out.extend(beside);
    }
    Ok(out)
}

/// Returns the state of a session including its turns since the last chunk, limited to what this audience may read
/// (R10.3), without what has been completed since (R6.3).
fn now_standing(
    at: &AssistantHome,
    tx: &Read,
    audience: &Audience,
    session_no: SessionNo,
    before: &Distillate,
) -> Result<Distillate> {
    let mut may_tell = |turn| Ok(audience.may_hear(&recall::scope_of_turn(tx, at.agent_no, turn)?));
    let d = tail::standing(tx, session_no, before, &mut may_tell)?;
    let mut d = still_stands(tx, at.agent_no, &d)?;
    give_ids(&mut d);
    Ok(d)
}

/// Returns what happened in the thread since this session was last active: one line per other session (R10.5).
fn meanwhile(at: &AssistantHome, tx: &Read, audience: &Audience, now: Millis) -> Result<Vec<Piece>> {
    let since = audience.known.as_ref().and_then(|k| k.last_at).unwrap_or(Millis::MAX);
    let mut out = Vec::new();
    for other in others(tx, audience)?.into_iter().filter(|s| s.last_at.is_some_and(|at| at > since)) {
        out.push(work_of(at, tx, audience, &other, now)?);
    }
    if !out.is_empty() {
        out.insert(0, Piece::heading("## Meanwhile, in other sessions of this thread\n"));
    }
    Ok(out)
}

/// Returns a line about another session of the thread: the program, the time, its goal, and what was begun or done last.
fn work_of(at: &AssistantHome, tx: &Read, audience: &Audience, other: &Lately, now: Millis) -> Result<Piece> {
    let standing = render::SessionStanding::within(tx, other.session_no, Some(&members_of(tx, audience)?))?;
    let d = now_standing(at, tx, audience, other.session_no, &standing.distillate)?;
    let last = d.in_progress.last().or(d.done.last()).map(|item| item.text.as_str());
    let goal =
        d.goal.as_ref().map(|item| item.text.as_str()).filter(|goal| last.is_none_or(|last| !goal.contains(last)));
    let goal = goal.map(|goal| cut(goal, GOAL_TOKENS));
    let said: Vec<&str> = goal.as_deref().into_iter().chain(last).collect();
    let said = if said.is_empty() { String::new() } else { format!(": {}", said.join(JOIN)) };
    let node = standing.nodes.first().map(NodeId::to_string);
    let down = node.clone().unwrap_or_else(|| render::line(other.session.as_str()));
    let text = format!("- **{}**{} · [{down}]\n", named(at, other, now), said);
    Ok(Piece::line(text, node))
}

/// Returns the thread and all threads merged into it.
fn members_of(tx: &Read, audience: &Audience) -> Result<Vec<ThreadNo>> {
    audience.thread.as_ref().map_or(Ok(Vec::new()), |t| thread::members(tx, t.no))
}

/// Returns the other sessions of the thread, and the sessions of the project whose newest turns are in no thread yet,
/// last active first.
fn others(tx: &Read, audience: &Audience) -> Result<Vec<Lately>> {
    let mut all = match &audience.thread {
        Some(thread) => thread::lately(tx, &thread::members(tx, thread.no)?, SESSIONS)?,
        None => Vec::new(),
    };
    if let Some(workspace) = &audience.workspace {
        for lately in thread::unthreaded(tx, audience.agent_no, workspace, SESSIONS)? {
            match all.iter_mut().find(|s| s.session_no == lately.session_no) {
                Some(known) => {
                    known.last_at = known.last_at.max(lately.last_at);
                    known.unthreaded = true;
                }
                None => all.push(lately),
            }
        }
    }
    all.retain(|s| s.session != audience.session);
    all.sort_by_key(|s| std::cmp::Reverse(s.last_at));
    Ok(all)
}

/// Returns a session's program, time and state: `codex, 2026-11-18 09:31, ended`.
fn named(at: &AssistantHome, session: &Lately, now: Millis) -> String {
    let when = session.last_at.map(|then| format!(", {}", render::minute(at, then))).unwrap_or_default();
    let running = match session.ended {
        true => ", ended",
        false if is_recent(session, now) => ", active in the last ten minutes: it may still be running",
        false => "",
    };
    format!("{}{when}{running}", session.session.harness())
}

/// Whether a session was active a moment ago.
fn is_recent(session: &Lately, now: Millis) -> bool {
    session.last_at.is_some_and(|then| (0..RUNNING_MS).contains(&(now - then)))
}

/// Returns the newest turns word for word, for a program that does not keep them.
fn tail(at: &AssistantHome, tx: &Read, audience: &Audience) -> Result<Vec<Piece>> {
    let Some(known) = &audience.known else { return Ok(Vec::new()) };
    let opener = Opener::default();
    let mut out = Vec::new();
    for turn in recent::messages(tx, known.no, TurnId(0), TAIL)? {
        out.extend(word_for_word(at, tx, &opener, turn, TAIL_TOKENS)?);
    }
    if !out.is_empty() {
        out.insert(0, Piece::heading("## Said last\n"));
    }
    Ok(out)
}

fn word_for_word(at: &AssistantHome, tx: &Read, opener: &Opener, turn: TurnId, most: usize) -> Result<Option<Piece>> {
    let Some(found) = read::find_turn(tx, opener, at.agent_no, turn)? else { return Ok(None) };
    let Some(said) = recall::spoken(found.role, found.kind, &found.text) else { return Ok(None) };
    let words = cut(redact(&said).trim(), most).replace('\n', "\n  ");
    let when = found.at.map(|then| format!(", {}", render::minute(at, then))).unwrap_or_default();
    let who = found.speaker.as_deref().unwrap_or_else(|| crate::transcript::role_name(found.role));
    let id = turn.to_string();
    Ok(Some(Piece::line(format!("- {}{when}: {words} [{id}]\n", render::line(who)), Some(id))))
}

/// Returns the operator's profile, the person's own text in MEMORY.md, the part of Tier 1 this thread may read, and
/// observations to confirm.
fn of_memory(at: &AssistantHome, tx: &Read, audience: &Audience, now: Millis) -> Result<Vec<Piece>> {
    let mut out: Vec<Piece> =
        render::profile::lines(tx, at.agent_no)?.into_iter().map(|value| Piece::line(value, None)).collect();
    if !out.is_empty() {
        out.insert(0, Piece::heading("## The user\n"));
    }
    if let Some(own) = own_words(at, &layout::MEMORY_HEAD)? {
        out.extend(pieces(&own, 2));
    }
    let lines = memory::tier1(at, tx)?;
    let tier1 = memory::for_thread(&lines, &audience.threads(), audience.workspace.as_deref());
    // Lines that say nothing is open in another thread are left out.
    out.extend(pieces(&tier1, 2).into_iter().filter(|piece| !piece.text.contains("**: nothing open")));
    out.extend(known_of_project(at, tx, audience, now)?);
    // An unconfirmed observation is given only in the thread it was made in; a statement that a person asked to
    // remember about a project is given in all its sessions (R9.5, R10.3).
    let (mut waiting, mut asked) = (Vec::new(), Vec::new());
    for noticed in pending::list(tx, at.agent_no, false)? {
        if let NoticeKind::Project { workspace, .. } = &noticed.kind {
            if audience.workspace.as_ref() == Some(workspace) && asked.len() < ASKED_TO_REMEMBER {
                asked.push(noticed);
            }
            continue;
        }
        let own = match noticed.turn {
            Some(turn) if waiting.len() < UNCONFIRMED => {
                audience.may_hear(&recall::scope_of_turn(tx, at.agent_no, turn)?)
            }
            _ => false,
        };
        if own {
            waiting.push(noticed);
        }
    }
    for (title, waiting) in
        [("Asked to remember, not confirmed yet", asked), ("Noticed, not confirmed by the user", waiting)]
    {
        if waiting.is_empty() {
            continue;
        }
        out.push(Piece::heading(format!("## {title}\n")));
        for noticed in waiting {
            let (id, text) = (noticed.id(), render::line(&redact(&noticed.text)));
            out.push(Piece::line(format!("- {text} · [{id}]\n"), Some(id)));
        }
    }
    Ok(out)
}

/// Returns memories that a person stated about the project and confirmed: a line each, pinned first, then newest first.
fn known_of_project(at: &AssistantHome, tx: &Read, audience: &Audience, now: Millis) -> Result<Vec<Piece>> {
    let Some(workspace) = &audience.workspace else { return Ok(Vec::new()) };
    let filter = find::Filter {
        scope: Some(Scope::Workspace(workspace.clone())),
        within: Some(workspace.clone()),
        ..find::Filter::default()
    };
    let mut out = Vec::new();
    for entry in find::list(tx, at.agent_no, &filter, now)? {
        let origin = Provenance::from_value(entry.fields.get("source")).origin;
        if !matches!(origin, Origin::Prompt | Origin::User | Origin::Hand) || out.len() == KNOWN_OF_PROJECT {
            continue;
        }
        let said = entry.field("summary").filter(|s| !s.is_empty()).unwrap_or(&entry.title);
        let old = if is_stale(&entry, now) { " · check before use" } else { "" };
        let id = entry.item.clone().unwrap_or_else(|| entry.path.to_string());
        out.push(Piece::line(format!("- {}{old} · [{id}]\n", render::line(&redact(said))), Some(id)));
    }
    if !out.is_empty() {
        out.insert(0, Piece::heading("## Known of this project\n"));
    }
    Ok(out)
}

/// Returns the pages people write, one piece per section; an unchanged page is left out.
///
/// `ACTIVE.md` is not among them, because it covers every thread; the other parts have what concerns this one.
fn of_pages(at: &AssistantHome) -> Result<Vec<Piece>> {
    let mut out = Vec::new();
    for path in &PAGES {
        let Some(own) = own_words(at, path)? else { continue };
        for section in sections(&own) {
            let mut text = section.trim_end().to_owned();
            text.push('\n');
            out.push(Piece::line(text, Some(path.as_str().to_owned())));
        }
    }
    Ok(out)
}

/// Returns what a person wrote into a page, without rendered blocks and without the page's initial text; `None` if
/// nobody wrote in it.
fn own_words(at: &AssistantHome, path: &RelPath) -> Result<Option<String>> {
    let Some(bytes) = at.files.read(path, LARGEST_FILE).ok().flatten() else { return Ok(None) };
    let mut doc = Document::parse(bytes);
    // Rendered blocks and those of other writers are not the person's text.
    for region in render::shared::regions(&PageKey::Memory) {
        doc.unset_region(region);
    }
    let own = bootstrap::without_what_it_came_with(path, &doc.body());
    let is_said = own.lines().any(|line| !line.trim().is_empty() && !line.starts_with('#'));
    Ok(is_said.then(|| redact(own.trim()).into_owned()))
}

/// Splits a text at its headings; text before the first heading is a section too.
fn sections(text: &str) -> Vec<String> {
    let mut out: Vec<String> = Vec::new();
    for line in text.lines() {
        if out.is_empty() || line.starts_with('#') {
            out.push(String::new());
        }
        if let Some(last) = out.last_mut() {
            last.push_str(line);
            last.push('\n');
        }
    }
    out
}

/// Splits a rendered page into pieces: headings from level `level` on, and lines with the items they refer to.
fn pieces(text: &str, level: usize) -> Vec<Piece> {
    let mut out = Vec::new();
    for line in text.lines().filter(|l| !l.trim().is_empty()) {
        let hashes = line.bytes().take_while(|b| *b == b'#').count();
        if hashes > 0 && line[hashes..].starts_with(' ') {
            out.push(Piece::heading(format!("{}{}\n", "#".repeat(hashes.max(level)), &line[hashes..])));
        } else {
            let text = format!("{line}\n");
            out.push(match leads_to(line) {
                Some(id) if TurnId::parse(&id).is_some() => Piece::of_turn(text, id, core(line)),
                item => Piece::line(text, item),
            });
        }
    }
    out
}

/// Returns the first id in the brackets at the end of a line.
fn leads_to(line: &str) -> Option<String> {
    references(line).into_iter().next()
}

/// Returns the recalled items, one line each: text, date, confidence, thread.
fn recalled(at: &AssistantHome, items: Vec<Item>, event: Event) -> Vec<Piece> {
    let mut out = Vec::new();
    for item in items {
        let mut about = vec![match item.stage {
            Stage::Lineage => "summary".to_owned(),
            Stage::Structured | Stage::Transcript => item.kind.clone(),
        }];
        about.extend(item.at.map(|then| render::minute(at, then)));
        about.extend(item.thread.as_ref().map(|t| format!("of {}", render::line(t))));
        about.extend(item.marks.iter().cloned());
        let words = cut(&render::flat(&redact(&item.text)), RECALLED_TOKENS);
        let text = format!("- {} ({}) [{}]\n", words, about.join(", "), item.id);
        let why = Chosen { stage: Some(item.stage.name()), score: Some(item.score), reasons: item.reasons };
        let piece = match TurnId::parse(&item.id) {
            Some(_) => Piece::of_turn(text, item.id, &words),
            None => Piece::line(text, Some(item.id)),
        };
        out.push(Piece { why, ..piece });
    }
    // With a prompt only recalled items are given, so they need no heading.
    if !out.is_empty() && event != Event::Prompt {
        out.insert(0, Piece::heading("## Recalled\n"));
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    fn doing_beside(goal: &str, doing: &str) -> Option<String> {
        let handoff = vec![Piece::heading("### Goal\n"), Piece::line(format!("- {goal} [t1]\n"), None)];
        let thread = vec![Piece::heading("## roof\n"), Piece::line(format!("{DOING}{doing} [n1]\n"), None)];
        let draft = |part, pieces| Draft { part, pieces, newest_last: false };
        let mut drafts = [draft(Part::Handoff, handoff), draft(Part::Thread, thread)];
        say_goal_once(&mut drafts, &mut Vec::new());
        drafts[1].pieces.get(1).map(|piece| piece.text.trim_end().to_owned())
    }

    #[test]
    fn the_goal_does_not_stand_in_tier_1_again() {
        let handoff =
            vec![Piece::heading("### Goal\n"), Piece::line("- Mend the roof of the barn → Buy slates [t1]\n", None)];
        let lines = ["- **roof**: Mend the roof of… → Buy slates · [n8]\n", "- **garden**: Plant a pear tree · [n9]\n"];
        let memory = lines.map(|line| Piece::line(line, None)).to_vec();
        let draft = |part, pieces| Draft { part, pieces, newest_last: false };
        let mut drafts = [draft(Part::Handoff, handoff), draft(Part::Memory, memory)];
        let mut dropped = Vec::new();
        say_goal_once(&mut drafts, &mut dropped);
        assert_eq!(drafts[1].pieces.iter().map(|piece| piece.text.as_str()).collect::<Vec<_>>(), [lines[1]]);
        assert_eq!(dropped.len(), 1);
    }

    #[test]
    fn the_goal_is_said_once_and_in_full() {
        let goal = "Mend the roof of the barn before winter comes → Buy slates";
        assert_eq!(doing_beside(goal, "Mend the roof of the barn… → Buy slates."), None);
        assert_eq!(doing_beside(goal, "Mend the roof…").as_deref(), None);
        let left = doing_beside(goal, "Mend the roof… → Ask Maier for a ladder");
        assert_eq!(left.as_deref(), Some("**Doing.** Ask Maier for a ladder [n1]"));
        assert_eq!(doing_beside(goal, "Buy slates. [n8] [p:slates-5173]"), None);
        assert_eq!(
            doing_beside("Mend the roof → Fix the two scroll bars…", "Fix the two scroll bars of the page -…"),
            None
        );
        let other = doing_beside(goal, "Sweep the chimney");
        assert_eq!(other.as_deref(), Some("**Doing.** Sweep the chimney [n1]"));
    }
}
