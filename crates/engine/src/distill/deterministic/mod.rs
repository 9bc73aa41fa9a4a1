//! Distillation without a model (R6.5): turns in, a distillate out, nothing invented.
//!
//! One pass over the turns. The speaker decides what a text can become (R14.3): the user's prompts give goal,
//! constraints and proposals; the assistant's messages give progress, decisions and loops; tools only show which files
//! were touched and which commands failed; text the program put in gives nothing. `sentences` takes a speaker's own
//! sentences from [`crate::text`], `cues` finds the function of phrases, and each kind of item has a file that does not
//! know the others. All text is walked once, and only the ends of a long one are parsed.

mod commands;
mod context;
mod cues;
mod decisions;
mod directives;
mod edits;
mod files;
mod goal;
mod list;
mod loops;
mod offers;
mod progress;
mod proposals;
mod sentences;
mod shell;
mod tasks;
#[cfg(test)]
mod tests;

use std::collections::HashMap;

use self::goal::Prompt;
pub use self::list::JOIN;
use self::list::{List, Noted};
use self::sentences::sentences;
use super::{Request, Said};
use crate::event::{Role, TurnKind};
use crate::lineage::distillate::{Distillate, Item, Touch};
use crate::memory::signals::signals;
use crate::scope::RunNo;
use crate::text::similarity::Bag;

/// The most calls waiting for a result; more are dropped.
const MOST_WAITING: usize = 256;

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

/// A call and its position.
struct Waiting {
    at: usize,
    call: Option<String>,
}

/// The state of one distillation.
struct Notes<'r> {
    turns: &'r [Said],
    goal: goal::Goal,
    constraints: directives::Directives,
    decisions: decisions::Decisions,
    progress: progress::Progress,
    loops: loops::Loops,
    offers: offers::Offers,
    tasks: tasks::Tasks,
    commands: commands::Commands,
    files: files::Files<'r>,
    context: context::Context,
    proposals: proposals::Proposals,
    waiting: Vec<Waiting>,
    /// Nothing has been said in the main lane.
    silent: bool,
}

impl<'r> Notes<'r> {
    fn new(request: &Request<'r>) -> Notes<'r> {
        let before = request.before;
        Notes {
            turns: request.turns,
            goal: goal::Goal::new(before.and_then(|b| b.goal.as_ref())),
            constraints: directives::Directives::new(before.map(|b| &b.constraints[..])),
            decisions: decisions::Decisions::new(before.map(|b| &b.decisions[..])),
            progress: progress::Progress::new(before),
            loops: loops::Loops::new(before.map(|b| &b.open_loops[..])),
            offers: offers::Offers::default(),
            tasks: tasks::Tasks::default(),
            commands: commands::Commands::default(),
            files: files::Files::new(request.root),
            context: context::Context::new(before.map(|b| &b.context[..])),
            proposals: proposals::Proposals::default(),
            waiting: Vec::new(),
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
            (_, TurnKind::ToolCall, _) => {
                if self.waiting.len() == MOST_WAITING {
                    self.waiting.remove(0);
                }
                self.waiting.push(Waiting { at, call: said.call.clone() });
                if said.main
                    && let Some(tool) = &said.tool
                {
                    let became = self.tasks.call(&files::plain_tool(tool), &said.text, said.id, seq);
                    for done in became {
                        self.did(&done.bag);
                    }
                }
            }
            (_, TurnKind::ToolResult, _) => self.result(said, seq),
            _ => {}
        }
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
            self.tasks.settle(bag);
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

    fn result(&mut self, said: &'r Said, seq: usize) {
        let by_id = said.call.as_ref().and_then(|id| self.waiting.iter().rposition(|w| w.call.as_ref() == Some(id)));
        let Some(found) = by_id.or_else(|| if said.call.is_none() { self.waiting.len().checked_sub(1) } else { None })
        else {
            return;
        };
        let call = &self.turns[self.waiting.remove(found).at];
        let tool = files::plain_tool(call.tool.as_deref().or(said.tool.as_deref()).unwrap_or(""));
        let failed = said.failed;
        let outcome = if call.main {
            self.commands.finished(&tool, &call.text, call.id, (&said.text, failed, said.id), seq)
        } else if failed {
            commands::Outcome::default()
        } else {
            commands::Outcome { deeds: files::deeds(&tool, &call.text), ..Default::default() }
        };
        let mut changed = false;
        for deed in &outcome.deeds {
            // Sub-agents read many files; only their changes are kept.
            if !call.main && deed.touch == Touch::Read {
                continue;
            }
            changed |= deed.touch != Touch::Read;
            self.files.add(deed, call.id, seq);
            if deed.touch != Touch::Read && call.main {
                let name = deed.path.rsplit('/').next().unwrap_or(&deed.path);
                let stem = name.split('.').next().unwrap_or(name);
                // Editing the file settles "Update the README".
                let bag = Bag::of(&format!("update edit write change {name} {stem}"));
                self.loops.settle(&bag);
            }
        }
        if !call.main {
            return;
        }
        self.goal.worked(changed);
        for commit in &outcome.commits {
            self.progress.did(commit, said.id, seq);
            self.did(&Bag::of(&format!("{commit} commit")));
        }
        if let Some(closed) = &outcome.closed {
            self.did(&Bag::of(closed));
        }
        if outcome.passed_tests {
            self.progress.passed();
        }
    }

    /// Something was done: it is no longer open or in progress.
    fn did(&mut self, bag: &Bag) {
        self.loops.settle(bag);
        self.progress.settle(bag);
        self.tasks.settle(bag);
    }

    fn finish(mut self) -> Distillate {
        let lists = self.progress.into_lists();
        let goal_noted = self.goal.text().cloned();
        for open in self.tasks.of(tasks::Status::Open) {
            self.loops.put(open.clone());
        }
        let (told, answers) = self.context.into_items();
        let mut done = List::new(20);
        let mut begun = List::new(5);
        let mut blocked = List::new(8);
        let mut next = List::new(8);
        fill(&mut done, self.tasks.of(tasks::Status::Done).cloned().collect());
        refill(&mut done, lists.done, 3);
        refill(&mut begun, lists.in_progress, 2);
        fill(&mut begun, self.tasks.of(tasks::Status::Begun).cloned().collect());
        refill(&mut blocked, lists.blocked, 2);
        fill(&mut blocked, self.commands.failures());
        refill(&mut next, lists.next, 2);
        let mut context = List::new(16);
        refill(&mut context, lists.found, 2);
        refill(&mut context, answers, 1);
        if let Some((commit, turn)) = self.commands.last_commit() {
            // The state of the work: branch and commit.
            let head = commit.split_once("] ").map(|(head, _)| head.trim_start_matches('['));
            if let Some(noted) = head.and_then(|h| Noted::new(h, *turn, 3, 1)) {
                context.put(noted);
            }
        }
        refill(&mut context, self.commands.worth_knowing(), 2);
        refill(&mut context, told, 3);
        let loops = self.loops.into_items(goal_noted.as_ref());
        Distillate {
            goal: self.goal.into_item(),
            constraints: self.constraints.into_items(),
            done: done.into_items(),
            in_progress: begun.into_items(),
            blocked: blocked.into_items(),
            decisions: self.decisions.into_items(),
            files: self.files.into_list(),
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

fn fill(list: &mut List, noted: Vec<Noted>) {
    for mut one in noted {
        one.seq = turn_position(&one.item, 0);
        list.put(one);
    }
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
