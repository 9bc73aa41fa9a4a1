//! Distillation without a model (R6.5): turns in, a distillate out, nothing invented.
//!
//! State first, words second. [`super::work_state`] reads the state of the work from calls and their results;
//! [`exchange`] divides the range into prompts and what followed them; [`crate::statement`] classifies each sentence
//! once. The lists are then written from the exchanges: the [`goal`] from the person's requests, completed work from
//! the answers to them ([`stated`]), open items from requests and announcements that nothing answered ([`open`], and
//! [`running`] for what was in hand at the end). The speaker decides what a text can become (R14.3): only a person's own
//! words give goal and constraints.

mod answer;
mod choices;
mod commands;
mod decides;
mod exchange;
mod forms;
mod goal;
mod list;
mod marks;
mod numbered;
mod once;
mod open;
mod prompt;
mod reported;
mod requirements;
mod restricted;
mod running;
mod sections;
mod stated;
mod story;
mod tables;
#[cfg(test)]
mod tests;

use self::exchange::{Exchange, exchanges};
pub use self::list::{JOIN, REPLACES, is_replaced, replacing};
use self::list::{List, Noted};
pub use self::marks::retracts;
use self::marks::{Mark, statements};
use self::open::{Open, Settled};
use self::prompt::{Prompt, Purpose};
use self::sections::Reported;
use self::stated::Told;
use super::over::says_over;
use super::work_state::{self, Event, Status, Task, Tracker, Work};
use super::{Request, Said};
use crate::event::{Role, TurnKind};
use crate::lineage::distillate::{Distillate, Item, Proposed};
use crate::scope::{RunNo, TurnId};
use crate::statement::about_person::{SignalKind, signals};
use crate::statement::{Label, Speaker};
use crate::text::plain::cut;
use crate::text::similarity::Bag;

/// Begins the line about a command that checked the work and passed.
pub(super) const CHECKED: &str = "Checked with ";

/// Maximum number of proposals from one distillation.
const MOST_PROPOSALS: usize = 6;
/// Maximum number of sub-agents whose answers are quoted.
const MOST_SUB_AGENTS: usize = 3;

/// Distils a range of turns.
pub fn distil(request: &Request) -> Distillate {
    let turns = request.turns;
    let mut tracker = Tracker::new(request.root, request.before);
    let events: Vec<Event> = turns.iter().enumerate().map(|(at, said)| tracker.read(at, said)).collect();
    let work = tracker.finish();
    let mut exchanges = exchanges(turns);
    mark_work(&mut exchanges, &events);
    // A summary that the program wrote describes the state before the turns that follow it, so it joins the earlier
    // distillate.
    let before = before(request.before, &work, &exchanges);
    let settled = settled(&exchanges, &events);
    let reported = Reported::of(&exchanges, &work.commits);
    let goal = goal::goal(before.goal.as_ref(), &exchanges)
        .or_else(|| work.summary.as_ref().and_then(|s| s.distillate.goal.clone()));
    let mut told = Told::of(&exchanges, &before, goal.as_ref());
    sub_agents(turns, &mut told);
    let open = Open::of(&exchanges, &before, &settled, goal.as_ref());
    let requirements = requirements::requirements(&before, &work, &exchanges);
    let mut work = work;
    for (_, boxes) in &mut work.checkboxes {
        boxes.retain(|b| b.task.status != Status::Open || !is_reported(&b.task.item, &exchanges, &settled));
    }
    let mut out = written(goal, told, open, work, &settled, &reported);
    out.requirements = requirements;
    out.proposals = proposals(turns);
    once::once(&mut out);
    out
}

/// Whether a message after that of an empty box reports its work: a plan keeps its boxes as they were written.
fn is_reported(item: &Item, exchanges: &[Exchange], settled: &Settled) -> bool {
    let plan = exchanges.iter().flat_map(Exchange::messages).find(|m| item.turns.contains(&m.turn));
    plan.is_some_and(|plan| settled.has(plan.at, &item.text, &Bag::of(&item.text)))
}

/// Returns the earlier distillate without the state that the tracker carries on itself, and with the program's newest
/// summary.
fn before(before: Option<&Distillate>, work: &Work, exchanges: &[Exchange]) -> Distillate {
    let mut out = before.cloned().unwrap_or_default();
    out.retain(|item| !work_state::is_state(&item.text));
    if let Some(summary) = &work.summary {
        let mut told = summary.distillate.clone();
        told.fixed.extend(summary.errors.iter().cloned());
        // Only the person's own words give goal and constraints.
        told.goal = out.goal.take();
        told.constraints.clear();
        // The tasks of the summary are in the task list too, with their newer status, so they are dropped here.
        let known = |id: &str| work.tasks.iter().any(|task| work_state::task_id(&task.item.text) == Some(id));
        told.retain(|item| !task_named(&item.text).is_some_and(known));
        // The plans of the program's summary are outdated once the person's next request was carried out. "Go on" asks
        // for these plans.
        let asks_anew = |p: &Prompt| p.turn > summary.turn && p.purpose != Purpose::GoOn;
        let later = |e: &&Exchange| e.prompt.as_ref().is_some_and(asks_anew) && e.finished && e.worked;
        if exchanges.iter().find(later).is_some() {
            (told.open_loops, told.next_steps, told.in_progress, told.blocked) = Default::default();
        }
        out = super::fold::fold(&out, &told);
    }
    out
}

/// Returns the number of the task that an item begins with: "Task #9 (pending): …".
fn task_named(text: &str) -> Option<&str> {
    let rest = text.strip_prefix("Task ").or_else(|| text.strip_prefix("task ")).unwrap_or(text).strip_prefix('#')?;
    Some(&rest[..rest.bytes().take_while(u8::is_ascii_digit).count()]).filter(|id| !id.is_empty())
}

/// Marks the exchanges in which something was edited, committed or checked, because some programs edit without tool
/// calls.
fn mark_work(exchanges: &mut [Exchange], events: &[Event]) {
    let ends: Vec<usize> = exchanges.iter().skip(1).map(Exchange::at).chain([events.len()]).collect();
    for (exchange, end) in exchanges.iter_mut().zip(ends) {
        let events = events.get(exchange.at()..end).unwrap_or_default();
        exchange.edited = events.iter().any(|e| !e.edited.is_empty() || !e.committed.is_empty());
        exchange.wrote = exchange.edited || events.iter().any(|e| e.checked.is_some());
        let last_edit = events.iter().rposition(|e| !e.edited.is_empty()).unwrap_or_default();
        let passed = |e: &Event| matches!(e.checked, Some((_, true))) || e.pushed;
        exchange.confirmed = events.get(last_edit..).unwrap_or_default().iter().any(passed);
        exchange.worked |= exchange.wrote;
        exchange.acted = exchange.wrote || events.iter().any(|e| e.acted || e.pushed);
    }
    // "Put the hours on the page, and always write them as 9:00": if the person requested nothing else, a rule that was
    // followed by an edit counts as a request.
    let asks =
        |e: &Exchange| e.prompt.as_ref().is_some_and(|p| matches!(p.purpose, Purpose::Request | Purpose::Question));
    if exchanges.iter().any(asks) {
        return;
    }
    for exchange in exchanges.iter_mut().filter(|e| e.wrote) {
        if let Some(prompt) = exchange.prompt.as_mut().filter(|p| p.purpose == Purpose::Note)
            && prompt.own.iter().any(|s| s.label == Label::Directive)
        {
            prompt.purpose = Purpose::Request;
        }
    }
}

/// Returns everything that was completed: work the model reports as done, commits, ticked tasks, closed tickets.
fn settled(exchanges: &[Exchange], events: &[Event]) -> Settled {
    let mut settled = Settled::default();
    for exchange in exchanges {
        for message in exchange.messages() {
            // "Noted: the list for Ana by Friday" completes nothing: without a tool call, the model only heard the
            // promise.
            let heard = !exchange.worked && exchange.prompt.as_ref().is_some_and(Prompt::promises);
            for s in message.statements.iter().filter(|s| answer::completes(s) && !heard) {
                settled.add(message.at, s.bag().clone());
            }
            for row in &message.done_rows {
                settled.add(message.at, Bag::of(row));
                settled.rows.push((message.at, row.clone()));
            }
            if message.statements.iter().any(|s| Mark::Merged.is_in(s)) {
                settled.merged.push(message.turn);
            }
        }
        // The person reports in passing: "I sent Marta the table", "the key arrived", "we don't need it any more".
        if let Some(prompt) = &exchange.prompt {
            let over = prompt.own.iter().filter(|s| !s.asks && says_over(&s.text));
            over.for_each(|s| settled.add(prompt.at, s.bag().clone()));
        }
    }
    for (at, event) in events.iter().enumerate() {
        for commit in &event.committed {
            settled.committed = at;
            settled.add(at, Bag::of(&format!("{commit} commit")));
        }
        if event.pushed {
            settled.pushed = at;
        }
        for task in &event.tasks_done {
            settled.add(at, Bag::of(&task.text));
        }
        if let Some(closed) = &event.closed {
            settled.add(at, Bag::of(closed));
        }
    }
    settled.found.sort_by_key(|c| c.at);
    settled
}

/// Writes the lists of the distillate from the statements and the state of the work.
fn written(
    goal: Option<Item>,
    mut told: Told,
    mut open: Open,
    work: Work,
    settled: &Settled,
    reported: &Reported,
) -> Distillate {
    let boxes: Vec<Task> = work.checkboxes.iter().flat_map(|(_, boxes)| reported.told(boxes)).collect();
    for task in work.tasks.iter().chain(&boxes) {
        match task.status {
            Status::Open => put(&mut open.loops, &task.item, 3),
            Status::Begun => put(&mut open.in_progress, &task.item, 3),
            Status::Done => put(&mut told.done, &task.item, 1),
            Status::Dropped => {}
        }
    }
    for ticket in work.tickets.iter().filter(|t| t.ours && !settled.merged_after(&t.turns)) {
        let text = if ticket.title.is_empty() { ticket.id.clone() } else { format!("{}: {}", ticket.id, ticket.title) };
        let item = Item { text, turns: ticket.turns.clone(), file: None };
        match ticket.status {
            Status::Open => put(&mut open.loops, &item, 2),
            Status::Begun => put(&mut open.in_progress, &item, 3),
            Status::Done => put(&mut told.done, &item, 2),
            Status::Dropped => {}
        }
    }
    for item in &work.failing {
        put(&mut open.blocked, item, 4);
    }
    for item in work.running.iter() {
        put(&mut open.in_progress, item, 2);
    }
    // Committed edits need no reminder to run the checks again.
    let not_rerun = work.not_rerun.iter().filter(|_| work.uncommitted.is_some() || work.commits.is_empty());
    for item in work.placeholders.iter().chain(&work.uncommitted).chain(&work.unpushed).chain(not_rerun) {
        put(&mut open.next, item, 2);
    }
    for item in &work.commits {
        put(&mut told.done, item, 2);
    }
    // An error message that says nothing ("Script error:") is not worth a line.
    for mended in work.mended.iter().filter(|m| m.error.len() >= 20 && !m.error.ends_with(':')) {
        let item = Item {
            text: format!("{}{JOIN}{}", mended.text(), mended.outcome()),
            turns: vec![mended.failed, mended.passed],
            file: None,
        };
        put(&mut told.fixed, &item, 1);
    }
    for item in work.commands.iter().rev().take(2).rev() {
        let text = format!("{CHECKED}`{}`", item.text.trim_matches('`'));
        put(&mut told.context, &Item { text, ..item.clone() }, 1);
    }
    Distillate {
        goal,
        constraints: told.constraints.into_items(),
        requirements: Vec::new(),
        done: told.done.into_items().into_iter().filter(|item| says_what(&item.text)).collect(),
        in_progress: open.in_progress.into_items(),
        blocked: open.blocked.into_items(),
        fixed: told.fixed.into_items(),
        decisions: told.decisions.into_items(),
        files: work.files,
        open_loops: open.loops.into_items(),
        next_steps: open.next.into_items(),
        context: told.context.into_items(),
        proposals: Vec::new(),
    }
}

/// Whether a line says what was done: "Done." alone does not.
fn says_what(text: &str) -> bool {
    let letters = text.chars().filter(|c| c.is_alphanumeric()).count();
    text.split_whitespace().nth(1).is_some() || letters > 12 || text.chars().any(|c| c as u32 > 0x2e80) && letters > 4
}

fn put(list: &mut List, item: &Item, weight: u8) {
    if let Some(noted) = Noted::of(item, weight) {
        list.put(noted);
    }
}

/// Adds the best sentence of each sub-agent's last answer to the context.
fn sub_agents(turns: &[Said], told: &mut Told) {
    let is_answer = |s: &&Said| !s.main && s.role == Role::Assistant && s.kind == TurnKind::Message && !s.failed;
    let mut runs: Vec<RunNo> = Vec::new();
    for said in turns.iter().rev().filter(is_answer) {
        if runs.contains(&said.run) || said.text.trim().is_empty() {
            continue;
        }
        runs.push(said.run);
        let statements = statements(&said.text, Speaker::Model, true);
        if let Some(s) = statements.iter().max_by_key(|s| answer::worth(s)) {
            told.context.add(&cut(&s.text, 240), said.id, 1);
        }
        if runs.len() == MOST_SUB_AGENTS {
            break;
        }
    }
}

/// Returns rules for how the project is worked on that the person stated explicitly (R9.4). Preferences, and sentences
/// the person asked to remember, are taken from prompts when these are stored (R9.5).
fn proposals(turns: &[Said]) -> Vec<Proposed> {
    let mut found: Vec<Proposed> = Vec::new();
    for said in turns.iter().filter(|s| s.main && s.role == Role::User && s.kind == TurnKind::Message) {
        let rules = signals(&said.text).into_iter().filter(|s| s.kind == SignalKind::Rule);
        let rules = rules.map(|s| (s.title, s.text, "procedure"));
        for (title, text, class) in rules {
            let (title, text) = (list::line(&title), list::line(&text));
            if !text.is_empty() && found.len() < MOST_PROPOSALS && !found.iter().any(|p| p.text == text) {
                found.push(Proposed { title, text, class: class.to_owned(), turns: vec![said.id], file: None });
            }
        }
    }
    found
}

/// Whether a message asks for nothing new and gives no directive: an assent, a status question.
pub fn is_follow_up(prompt: &str) -> bool {
    let said = Said {
        id: TurnId(1),
        role: Role::User,
        kind: TurnKind::Message,
        run: RunNo(0),
        main: true,
        speaker: None,
        tool: None,
        call: None,
        failed: false,
        at: None,
        text: prompt.to_owned(),
    };
    matches!(prompt::read(&said, 0, None).purpose, Purpose::GoOn | Purpose::Empty)
}
