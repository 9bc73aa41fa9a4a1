//! Distillation without a model (R6.5): turns in, a distillate out, nothing invented.
//!
//! State first, words second. [`exchange`] divides the range into prompts and what followed them; the work state comes
//! from the calls and their results; [`crate::statement`] classifies each sentence once. The lists are then written from
//! the exchanges: the goal from what was asked, completed work from the answers to it, open items from what was asked
//! or announced and never answered. The speaker decides what a text can become (R14.3): only a person's own words give
//! goal and constraints.

mod answer;
mod commands;
mod edits;
mod exchange;
mod files;
mod goal;
mod list;
mod open;
mod prompt;
mod shell;
mod tasks;
#[cfg(test)]
mod tests;

use self::exchange::{Exchange, exchanges};
pub use self::list::JOIN;
use self::list::{List, Noted};
use self::open::{Open, Settled};
use self::prompt::Purpose;
use super::{Request, Said};
use crate::event::{Role, TurnKind};
use crate::lineage::distillate::{Distillate, Item, Touch};
use crate::scope::{RunNo, TurnId};
use crate::statement::Label;
use crate::text::patterns::{Phrases, phrases};
use crate::text::plain::cut;
use crate::text::similarity::Bag;

/// The most calls waiting for a result; more are dropped.
const MOST_WAITING: usize = 256;

/// Distils a range of turns.
pub fn distil(request: &Request) -> Distillate {
    let exchanges = exchanges(request.turns);
    let work = work(request);
    let before = request.before;
    let mut settled = work.settled;
    for exchange in &exchanges {
        for message in exchange.messages() {
            for s in message.statements.iter().filter(|s| s.label == Label::Done) {
                settled.add(message.at, s.bag());
            }
        }
    }
    settled.found.sort_by_key(|c| c.at);
    let open = Open::of(&exchanges, before, &settled);
    let goal = goal::goal(before.and_then(|b| b.goal.as_ref()), &exchanges);
    let told = Told::of(&exchanges, before, goal.as_ref());
    let (mut in_progress, mut blocked, mut loops, next) = (open.in_progress, open.blocked, open.loops, open.next);
    for task in &work.open_tasks {
        loops.put(task.clone());
    }
    for task in &work.begun_tasks {
        in_progress.put(task.clone());
    }
    for failure in &work.failures {
        blocked.put(failure.clone());
    }
    let mut done = told.done;
    for one in work.done.iter().cloned() {
        done.put(one);
    }
    Distillate {
        goal,
        constraints: told.constraints.into_items(),
        done: done.into_items(),
        in_progress: in_progress.into_items(),
        blocked: blocked.into_items(),
        fixed: told.fixed.into_items(),
        decisions: told.decisions.into_items(),
        files: work.files,
        open_loops: loops.into_items(),
        next_steps: next.into_items(),
        context: told.context.into_items(),
        proposals: Vec::new(),
    }
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
    matches!(prompt::read(&said, 0).purpose, Purpose::GoOn | Purpose::Empty)
}

/// What was said and answered.
struct Told {
    constraints: List,
    decisions: List,
    done: List,
    context: List,
    fixed: List,
    /// The parts of the goal, and their turns.
    goal: Vec<Bag>,
    in_hand: Vec<TurnId>,
}

impl Told {
    fn of(exchanges: &[Exchange], before: Option<&Distillate>, goal: Option<&Item>) -> Told {
        let mut told = Told {
            constraints: List::carrying(12, before.map(|b| &b.constraints[..])),
            decisions: List::carrying(10, before.map(|b| &b.decisions[..])),
            done: List::new(14),
            context: List::carrying(10, before.map(|b| &b.context[..])),
            fixed: List::new(8),
            goal: goal.iter().flat_map(|g| g.text.split(JOIN)).map(Bag::of).collect(),
            in_hand: goal.map_or(Vec::new(), |g| g.turns.clone()),
        };
        for (i, exchange) in exchanges.iter().enumerate() {
            told.person(exchange);
            told.model(exchange, i + 1 == exchanges.len());
        }
        told
    }

    fn person(&mut self, exchange: &Exchange) {
        let Some(prompt) = &exchange.prompt else { return };
        let seq = prompt.at + 100;
        for s in &prompt.own {
            match s.label {
                Label::Directive | Label::Identity => self.constraints.add(&s.text, prompt.turn, 3, seq),
                Label::Decision => self.decisions.add(&s.text, prompt.turn, 4, seq),
                _ => {}
            }
        }
        if prompt.purpose == Purpose::Request {
            // The other sentences of a request say how it is to be done; of the matter in hand, all of them count.
            let in_hand = self.in_hand.contains(&prompt.turn);
            for s in prompt.beside().filter(|s| prompt::weight(&s.text) >= 3) {
                match s.label {
                    Label::Request => self.constraints.add(&s.text, prompt.turn, 2, seq),
                    Label::Remark | Label::Finding | Label::Remaining if in_hand => {
                        self.constraints.add(&s.text, prompt.turn, 1, seq);
                    }
                    _ => {}
                }
            }
        }
    }

    fn model(&mut self, exchange: &Exchange, last: bool) {
        for message in exchange.messages() {
            for s in message.statements.iter().filter(|s| s.label == Label::Decision && s.standalone && answer::worth(s) > 0) {
                self.decisions.add(&s.text, message.turn, 2, message.at + 100);
            }
        }
        self.remarks(exchange);
        let Some(answer) = &exchange.answer else { return };
        let seq = answer.at + 100;
        let ask = exchange.prompt.as_ref().filter(|p| p.is_substantive() && !self.is_in_goal(&p.ask));
        let report = exchange.prompt.as_ref().and_then(|p| p.report.clone());
        let best = answer::best(answer, if last { 5 } else { 3 }, 8);
        if let (Some(prompt), [], true) = (ask, &best[..], exchange.worked) {
            self.done.add(&prompt.ask, prompt.turn, 2, seq);
        }
        for (k, s) in best.iter().enumerate() {
            if k == 0 && let Some(report) = &report {
                // What was wrong, and what was done about it.
                let both = best.get(1).filter(|t| s.text.len() + t.text.len() < 230).map(|t| t.text.as_str());
                let text = format!("{}{JOIN}{} {}", cut(report, 150), cut(&s.text, 230), both.unwrap_or_default());
                self.fixed.add(&text, answer.turn, 3, seq);
                continue;
            }
            if k == 0 && let Some(prompt) = ask {
                let text = format!("{}{JOIN}{}", cut(&prompt.ask, 130), cut(&s.text, 230));
                let Some(mut noted) = Noted::new(&text, answer.turn, 3, seq) else { continue };
                noted.also(&[prompt.turn]);
                if prompt.purpose == Purpose::Question { self.context.put(noted) } else { self.done.put(noted) }
                continue;
            }
            match s.label {
                Label::Done if faults().stand_in(&s.text) => self.fixed.add(&s.text, answer.turn, 2, seq),
                Label::Done => self.done.add(&s.text, answer.turn, 2, seq),
                Label::Finding | Label::Remark if answer::worth(s) >= 10 => self.context.add(&s.text, answer.turn, 1, seq),
                _ => {}
            }
        }
    }

    /// What the model found and did on the way: of each message its best statement, of a long run the newest.
    fn remarks(&mut self, exchange: &Exchange) {
        for message in &exchange.remarks {
            let seq = message.at + 100;
            for s in answer::best(message, 2, 8) {
                match s.label {
                    Label::Finding | Label::Done | Label::Blocked if faults().stand_in(&s.text) => {
                        self.fixed.add(&s.text, message.turn, 1, seq);
                    }
                    Label::Done => self.done.add(&s.text, message.turn, 1, seq),
                    Label::Finding if answer::worth(s) >= 14 => self.context.add(&s.text, message.turn, 0, seq),
                    _ => {}
                }
            }
        }
    }

    /// Whether a request is told by the goal.
    fn is_in_goal(&self, ask: &str) -> bool {
        let bag = Bag::of(ask);
        self.goal.iter().any(|part| bag.shared(part) * 10 >= bag.len() * 9)
    }
}

/// Words of failures.
fn faults() -> &'static Phrases {
    phrases!(
        "error|errors|bug|bugs|issue|issues|failed|fails|failing|failure|failures|wrong|broken|crash|crashes|crashed|mismatch|conflict|missing|incorrect|invalid|duplicate|exception|rejected|typo|regression
        fehler|falsch|kaputt|erreur|erreurs|error|errores|fallo|fallos|problem|problems|problema|problème"
    )
}

/// The state of the work, from calls and results.
#[derive(Default)]
struct Work {
    files: Vec<crate::lineage::distillate::TouchedFile>,
    open_tasks: Vec<Noted>,
    begun_tasks: Vec<Noted>,
    done: Vec<Noted>,
    failures: Vec<Noted>,
    settled: Settled,
}

fn work(request: &Request) -> Work {
    let mut out = Work::default();
    let (mut files, mut commands, mut tasks) = (files::Files::new(request.root), commands::Commands::default(), tasks::Tasks::default());
    let mut waiting: Vec<(usize, Option<String>)> = Vec::new();
    for (at, said) in request.turns.iter().enumerate() {
        let seq = at + 100;
        match said.kind {
            TurnKind::ToolCall => {
                if waiting.len() == MOST_WAITING {
                    waiting.remove(0);
                }
                waiting.push((at, said.call.clone()));
                if said.main && let Some(tool) = &said.tool {
                    for done in tasks.call(&files::plain_tool(tool), &said.text, said.id, seq) {
                        out.settled.add(at, done.bag.clone());
                    }
                }
            }
            TurnKind::ToolResult => {
                let by_id = said.call.as_ref().and_then(|id| waiting.iter().rposition(|(_, c)| c.as_ref() == Some(id)));
                let Some(found) = by_id.or_else(|| if said.call.is_none() { waiting.len().checked_sub(1) } else { None }) else { continue };
                let call = &request.turns[waiting.remove(found).0];
                let tool = files::plain_tool(call.tool.as_deref().or(said.tool.as_deref()).unwrap_or(""));
                let outcome = if call.main {
                    commands.finished(&tool, &call.text, call.id, (&said.text, said.failed, said.id), seq)
                } else if said.failed {
                    commands::Outcome::default()
                } else {
                    commands::Outcome { deeds: files::deeds(&tool, &call.text), ..Default::default() }
                };
                for deed in outcome.deeds.iter().filter(|d| d.touch != Touch::Read) {
                    files.add(deed, call.id, seq);
                }
                for commit in &outcome.commits {
                    out.done.extend(Noted::new(commit, said.id, 2, seq));
                    out.settled.add(at, Bag::of(commit));
                }
            }
            _ => {}
        }
    }
    out.files = files.into_list();
    out.open_tasks = tasks.of(tasks::Status::Open).cloned().collect();
    out.begun_tasks = tasks.of(tasks::Status::Begun).cloned().collect();
    for done in tasks.of(tasks::Status::Done) {
        out.done.push(done.clone());
    }
    out.failures = commands.failures();
    out
}

/// The turn of an item, by which lists from several sources are ordered.
#[expect(dead_code, reason = "provisional")]
fn position(item: &Item) -> usize {
    item.turns.last().map_or(0, |t| usize::try_from(t.0).unwrap_or(usize::MAX))
}
