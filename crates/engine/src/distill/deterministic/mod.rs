//! Distillation without a model (R6.5): turns in, a distillate out, nothing invented.
//!
//! One pass over the turns. The speaker decides what a text can become (R14.3): the user's prompts give goal,
//! constraints and proposals; the assistant's messages give progress, decisions and loops; tools only show which files
//! were touched and which commands failed; text the program put in gives nothing. `sentences` takes a speaker's own
//! sentences from [`crate::text`], `cues` finds the function of phrases, and each kind of item has a file that does not
//! know the others. All text is walked once, and only the ends of a long one are parsed.

mod context;
mod cues;
mod decisions;
mod directives;
mod goal;
mod list;
mod loops;
mod offers;
mod progress;
mod proposals;
mod sentences;
#[cfg(test)]
mod tests;

use std::collections::HashMap;

use self::goal::Prompt;
pub use self::list::JOIN;
use self::list::{List, Noted};
use self::sentences::sentences;
use super::work::{Event, Status, Tracker};
use super::{Request, Said};
use crate::event::{Role, TurnKind};
use crate::lineage::distillate::{Distillate, Item};
use crate::memory::signals::signals;
use crate::scope::RunNo;
use crate::text::similarity::Bag;

/// Distils a range of turns.
pub fn distil(request: &Request) -> Distillate {
    let shape = Shape::of(request.turns);
    let mut notes = Notes::new(request);
    for (at, said) in request.turns.iter().enumerate() {
        notes.read(at, said, &shape);
    }
    notes.finish()
}

/// Whether a message asks for nothing new and gives no directive: an assent, a status question.
pub fn is_follow_up(prompt: &str) -> bool {
    let heard = sentences(prompt);
    let (what, _) = goal::Goal::new(Some(&Item::new("something else entirely", crate::scope::TurnId(1)))).hear(
        crate::scope::TurnId(1),
        0,
        &heard,
    );
    what == Prompt::FollowUp && !heard.iter().any(directives::is_directive)
}

/// Properties of a turn that depend on the turns after it.
struct Shape {
    /// It is the last message of the assistant before the next prompt, with no call after it.
    last: Vec<bool>,
}

impl Shape {
    fn of(turns: &[Said]) -> Shape {
        let mut last = vec![false; turns.len()];
        // No message of the assistant between here and the next prompt, or the end.
        let mut main = true;
        let mut lanes: HashMap<RunNo, bool> = HashMap::new();
        for (at, said) in turns.iter().enumerate().rev() {
            let free = if said.main { &mut main } else { lanes.entry(said.run).or_insert(true) };
            match (said.role, said.kind) {
                (Role::User, TurnKind::Message) => *free = true,
                (Role::Assistant, TurnKind::Message) if !said.text.trim().is_empty() => last[at] = std::mem::take(free),
                (Role::Assistant | Role::Tool, TurnKind::ToolCall | TurnKind::ToolResult) => *free = false,
                _ => {}
            }
        }
        Shape { last }
    }
}

/// The state of one distillation.
struct Notes<'r> {
    goal: goal::Goal,
    constraints: directives::Directives,
    decisions: decisions::Decisions,
    progress: progress::Progress,
    loops: loops::Loops,
    offers: offers::Offers,
    work: Tracker<'r>,
    context: context::Context,
    proposals: proposals::Proposals,
    /// Nothing has been said in the main lane.
    silent: bool,
}

impl<'r> Notes<'r> {
    fn new(request: &Request<'r>) -> Notes<'r> {
        let before = request.before;
        Notes {
            goal: goal::Goal::new(before.and_then(|b| b.goal.as_ref())),
            constraints: directives::Directives::new(before.map(|b| &b.constraints[..])),
            decisions: decisions::Decisions::new(before.map(|b| &b.decisions[..])),
            progress: progress::Progress::new(before),
            loops: loops::Loops::new(before.map(|b| &b.open_loops[..])),
            offers: offers::Offers::default(),
            work: Tracker::new(request.root, before),
            context: context::Context::new(before.map(|b| &b.context[..])),
            proposals: proposals::Proposals::default(),
            silent: true,
        }
    }

    fn read(&mut self, at: usize, said: &'r Said, shape: &Shape) {
        // Numbers below 100 are for items carried over.
        let seq = at + 100;
        match (said.role, said.kind, said.main) {
            (Role::User, TurnKind::Message, true) => self.user(said, seq),
            (Role::Assistant, TurnKind::Message, true) => self.assistant(said, seq, shape.last[at]),
            (Role::Assistant, TurnKind::Message, false) if shape.last[at] && !is_summary(&said.text) => {
                self.context.answer(said.id, seq, &sentences(&said.text));
            }
            _ => {}
        }
        let event = self.work.read(at, said);
        self.acted(said, &event, seq);
    }

    fn user(&mut self, said: &Said, seq: usize) {
        self.silent = false;
        let heard = sentences(&said.text);
        if let Some((question, choice)) = self.loops.replied(&heard) {
            // The answer comes first; what follows it is a prompt of its own.
            let answer = heard.first().filter(|s| choice && s.len() <= 14 && !s.asks() && !s.pasted);
            if let Some(answer) = answer {
                self.decisions.answered(&question.item, &answer.text, said.id, seq);
            }
        }
        for about in heard.iter().filter_map(directives::dropped) {
            self.loops.settle(&about);
            self.progress.settle(&about);
            self.goal.given_up(&about);
            self.decisions.given_up(&about);
        }
        let (prompt, told) = self.goal.hear(said.id, seq, &heard);
        let signals = signals(&said.text);
        self.constraints.hear(said.id, seq, &signals, &heard);
        self.decisions.hear_user(said.id, seq, &heard);
        self.loops.hear_user(said.id, seq, &heard);
        self.context.hear_user(said.id, seq, &signals, &heard, prompt != Prompt::Aside);
        self.proposals.hear_user(said.id, &signals, &heard);
        if prompt != Prompt::FollowUp {
            self.progress.overtake();
            if let Some(told) = told {
                self.loops.asked(told);
            }
        }
        let taken = self.offers.answered(said.id, seq, &heard);
        if prompt == Prompt::FollowUp || prompt == Prompt::Aside {
            self.progress.accepted(&taken);
            for noted in taken {
                self.goal.accepted(&noted);
                self.loops.asked(noted);
            }
        }
        // "It works now", said by the user, settles items too.
        for s in heard.iter().filter(|s| !s.pasted && progress::says(s, false) == progress::Says::Done) {
            self.did(s.bag());
        }
    }

    fn assistant(&mut self, said: &Said, seq: usize, last: bool) {
        self.silent = false;
        if said.failed {
            // A failed request is a message of the program, not of the model.
            if last {
                self.loops.answered(said.id, seq, &[], true);
            }
            return;
        }
        let heard = sentences(&said.text);
        // A message that ends with "now fixing the type" is not the end of the work.
        let last = last && !heard.last().is_some_and(|s| progress::says(s, false) == progress::Says::Begun);
        self.decisions.hear_assistant(said.id, seq, &heard);
        let (done, later) = self.progress.hear(said.id, seq, &heard, last);
        for bag in &done {
            self.loops.settle(bag);
        }
        for s in later {
            self.loops.promised(said.id, seq, s, last);
        }
        if !last || heard.len() < 40 {
            self.loops.planned(said.id, seq, &heard);
        }
        if last {
            self.loops.answered(said.id, seq, &heard, false);
            self.goal.answered();
            self.offers.hear(said.id, seq, &heard);
        }
        self.context.hear_assistant(said.id, seq, &heard);
        self.proposals.hear_assistant(said.id, &heard);
    }

    fn acted(&mut self, said: &Said, event: &Event, seq: usize) {
        for path in event.edited.iter().filter(|_| said.main) {
            let name = path.rsplit('/').next().unwrap_or(path);
            let stem = name.split('.').next().unwrap_or(name);
            // Editing the file settles "Update the README".
            let bag = Bag::of(&format!("update edit write change {name} {stem}"));
            self.loops.settle(&bag);
        }
        if !said.main {
            return;
        }
        if said.kind == TurnKind::ToolResult {
            self.goal.worked(!event.edited.is_empty());
        }
        for commit in &event.committed {
            self.progress.did(commit, said.id, seq);
            self.did(&Bag::of(&format!("{commit} commit")));
        }
        if let Some(closed) = &event.closed {
            self.did(&Bag::of(closed));
        }
        for task in &event.tasks_done {
            self.did(&Bag::of(&task.text));
        }
        if event.checked.as_ref().is_some_and(|(_, passed)| *passed) {
            self.progress.passed();
        }
    }

    /// Something was done: it is no longer open or in progress.
    fn did(&mut self, bag: &Bag) {
        self.loops.settle(bag);
        self.progress.settle(bag);
    }

    fn finish(mut self) -> Distillate {
        let lists = self.progress.into_lists();
        let goal_noted = self.goal.text().cloned();
        let work = self.work.finish();
        let tasks = |status: Status| {
            let with = work.tasks.iter().filter(move |t| t.status == status);
            with.map(|t| t.item.clone()).collect::<Vec<_>>()
        };
        for open in tasks(Status::Open).iter().chain(&work.uncommitted).chain(&work.unpushed).chain(&work.not_rerun) {
            self.loops.put(noted(open, 3));
        }
        let (told, answers) = self.context.into_items();
        let mut done = List::new(20);
        let mut begun = List::new(5);
        let mut blocked = List::new(8);
        let mut next = List::new(8);
        refill(&mut done, tasks(Status::Done), 3);
        refill(&mut done, lists.done, 3);
        refill(&mut begun, lists.in_progress, 2);
        refill(&mut begun, tasks(Status::Begun), 3);
        refill(&mut blocked, lists.blocked, 2);
        refill(&mut blocked, work.failing.clone(), 4);
        refill(&mut next, lists.next, 2);
        let mut context = List::new(16);
        refill(&mut context, lists.found, 2);
        refill(&mut context, answers, 1);
        if let Some(commit) = work.commits.last() {
            // The state of the work: branch and commit.
            let head = commit.text.split_once("] ").map(|(head, _)| head.trim_start_matches('['));
            if let Some(noted) = head.and_then(|h| Noted::new(h, commit.turns[0], 3, 1)) {
                context.put(noted);
            }
        }
        refill(&mut context, work.commands.clone(), 2);
        refill(&mut context, told, 3);
        let loops = self.loops.into_items(goal_noted.as_ref());
        Distillate {
            goal: self.goal.into_item(),
            constraints: self.constraints.into_items(),
            done: done.into_items(),
            in_progress: begun.into_items(),
            blocked: blocked.into_items(),
            decisions: self.decisions.into_items(),
            files: work.read.into_iter().chain(work.files).collect(),
            open_loops: loops,
            next_steps: next.into_items(),
            context: context.into_items(),
            proposals: self.proposals.into_list(),
        }
    }
}

/// Whether a text is a compaction's summary, which repeats what is distilled here.
fn is_summary(text: &str) -> bool {
    let start = text.trim_start();
    start.starts_with("<analysis>") || start.starts_with("<summary>")
}

fn noted(item: &Item, weight: u8) -> Noted {
    let mut noted = Noted::carried(item).expect("an item of the work has text and turns");
    noted.seq = turn_position(item, 0);
    noted.weight = weight;
    noted
}

/// Adds items of a bounded list, in their order.
fn refill(list: &mut List, items: Vec<Item>, weight: u8) {
    for (at, item) in items.iter().enumerate() {
        if let Some(mut noted) = Noted::carried(item) {
            noted.seq = turn_position(item, at);
            noted.weight = weight;
            list.put(noted);
        }
    }
}

/// The turn of an item, by which lists from several sources are ordered.
fn turn_position(item: &Item, otherwise: usize) -> usize {
    item.turns.last().map_or(otherwise, |t| usize::try_from(t.0).unwrap_or(usize::MAX))
}
