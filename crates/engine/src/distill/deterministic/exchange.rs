//! Divides a session into exchanges: a prompt, what the model said while it worked, and its answer.

use std::collections::HashMap;

use super::commands;
use super::forms::{Choice, Form};
use super::marks::{Mark, statements};
use super::numbered::{self, numbers};
use super::prompt::{self, Prompt, Purpose};
use super::tables;
use crate::distill::Said;
use crate::distill::work_state::has_calls;
use crate::event::{Role, TurnKind};
use crate::scope::TurnId;
use crate::statement::{Label, Speaker, Statement};
use crate::text::patterns::phrases;
use crate::text::plain::{lower, plain};
use crate::text::thoughts::without_thoughts;
use crate::text::words::{Marks, split};

/// Maximum number of statements of a message that only announces work: more explain or report.
const SHORT: usize = 5;

/// A message of the model.
#[derive(Debug)]
pub struct Message {
    pub turn: TurnId,
    /// Position of the message in the range.
    pub at: usize,
    pub statements: Vec<Statement>,
    /// The numbers of the numbered items in the message, each with the index of its first statement.
    pub numbers: Vec<(u32, usize)>,
    /// The title of the document that the message contains, if it contains one: a plan, a report.
    pub title: Option<String>,
    /// The commands that the message leaves to the person, each block with the sentence above it.
    pub commands: Vec<String>,
    /// Its table rows that say something is done, as sentences.
    pub done_rows: Vec<String>,
}

/// A prompt and everything up to the next one, in the main lane.
#[derive(Debug)]
pub struct Exchange {
    /// The prompt; `None` if the range begins in the middle of a run.
    pub prompt: Option<Prompt>,
    /// Messages of the model before its answer.
    pub remarks: Vec<Message>,
    /// The last message, if no tool was called after it or the person spoke next.
    pub answer: Option<Message>,
    /// The model ended its run: no tool was running when the exchange ended.
    pub finished: bool,
    /// Whether a tool was called.
    pub worked: bool,
    /// Whether a tool did more than read or search.
    pub acted: bool,
    /// Whether something was edited, committed or checked.
    pub wrote: bool,
    /// Whether something was edited or committed.
    pub edited: bool,
    /// Whether a check passed after the last edit, or the work was pushed.
    pub confirmed: bool,
    /// The person's choices in question forms of the program.
    pub chosen: Vec<Choice>,
    /// The question form that the person has not answered.
    pub form: Option<Form>,
}

impl Exchange {
    fn new(prompt: Option<Prompt>) -> Exchange {
        Exchange {
            prompt,
            remarks: Vec::new(),
            answer: None,
            finished: false,
            worked: false,
            acted: false,
            wrote: false,
            edited: false,
            confirmed: false,
            chosen: Vec::new(),
            form: None,
        }
    }

    /// Returns all messages of the model, oldest first.
    pub fn messages(&self) -> impl DoubleEndedIterator<Item = &Message> {
        self.remarks.iter().chain(&self.answer)
    }

    /// Whether the model had not ended its run, or not begun it.
    pub fn runs(&self) -> bool {
        !(self.finished && self.answer.is_some())
    }

    /// Whether the answer to a complaint ends by asking the person to try again: "Can you test it and tell me what the log
    /// says?" The complaint is open until they answer.
    pub fn asks_to_try(&self) -> bool {
        let complains = self.prompt.as_ref().is_some_and(|p| p.complains() || p.reports_fault());
        let last = self.answer.as_ref().map_or(&[][..], |a| &a.statements[a.statements.len().saturating_sub(2)..]);
        complains && last.iter().any(|s| s.asks && tries(&s.text))
    }

    /// Whether nothing followed the prompt, so that it is read together with the next one.
    pub fn is_quiet(&self) -> bool {
        !self.worked && self.messages().next().is_none()
    }

    /// Returns the position of the first turn of the exchange.
    pub fn at(&self) -> usize {
        self.prompt.as_ref().map_or_else(|| self.messages().next().map_or(0, |m| m.at), |p| p.at)
    }

    fn close(&mut self, called: bool, last: bool) {
        self.finished = !called;
        // While tools run, the last message is a remark, unless the person ended the run by speaking.
        if !called || !last {
            self.answer = self.remarks.pop();
        }
    }
}

/// Divides a range into exchanges.
pub fn exchanges(turns: &[Said]) -> Vec<Exchange> {
    let finals = finals(turns);
    let (mut out, mut open, mut called) = (Vec::new(), Exchange::new(None), false);
    let mut before: Option<&Said> = None;
    for (at, said) in turns.iter().enumerate().filter(|(_, s)| s.main) {
        match (said.role, said.kind) {
            (Role::User, TurnKind::Message) => {
                // Some programs repeat a plan of the model as a message of the user.
                if before.is_some_and(|b| prompt::repeats(&said.text, &b.text)) {
                    continue;
                }
                let next = prompt::read(said, at, before.map(|b| b.text.as_str()));
                let full = open.prompt.is_some() || open.messages().next().is_some() || open.worked;
                let mut ended = std::mem::replace(&mut open, Exchange::new(Some(next)));
                if full {
                    ended.close(called, false);
                    out.push(ended);
                }
                called = false;
            }
            (Role::Assistant, TurnKind::Message) if !said.failed && !said.text.trim().is_empty() => {
                // Some programs record a message twice.
                if before.is_some_and(|b| b.text == said.text) {
                    continue;
                }
                let text = without_thoughts(&said.text);
                if text.trim().is_empty() {
                    continue;
                }
                let statements = statements(text, Speaker::Model, finals.contains_key(&at));
                let numbers = numbers(text, &statements);
                let (title, commands) = (title(text), commands::left_to_person(text, &statements));
                let done_rows = tables::done_rows(text);
                open.remarks.push(Message { turn: said.id, at, statements, numbers, title, commands, done_rows });
                called = false;
                before = Some(said);
            }
            (_, TurnKind::ToolCall) => {
                open.form = Form::of(said).or(open.form.take());
                (open.worked, called) = (true, true);
            }
            (Role::Tool, TurnKind::ToolResult) if open.form.as_ref().is_some_and(|f| f.is_answered_by(said)) => {
                let form = open.form.take();
                open.chosen.extend(form.map_or(Vec::new(), |form| form.choices(said)));
            }
            // Imported histories contain tool calls as blocks of text.
            (Role::Tool, TurnKind::ToolResult) if said.call.is_none() => {
                open.chosen.extend(Form::recorded(said).map_or(Vec::new(), |form| form.choices(said)));
                if has_calls(&said.text) {
                    (open.worked, called) = (true, true);
                }
            }
            _ => {}
        }
    }
    if open.prompt.is_some() || open.messages().next().is_some() || open.worked {
        // A message that ends by announcing the next step does not end the work.
        // "Let me know if it works" announces none.
        let announces = |s: &Statement| Mark::Announcement.is_in(s) && !Mark::Courtesy.is_in(s);
        // "Here is what was completed:" above a table announces the table.
        let goes_on = |m: &Message| m.done_rows.is_empty() && m.statements.iter().rev().take(2).any(announces);
        // A short message that ends with a step and reports nothing begins the work, before any tool was called. "I'll
        // send the list tomorrow" is a promise.
        let steps = |s: &Statement| announces(s) && s.due.is_none() && s.to.is_none() && !Mark::Later.is_in(s);
        let begins = |m: &Message| {
            m.statements.len() <= SHORT
                && m.commands.is_empty()
                && m.statements.last().is_some_and(steps)
                && m.statements.iter().all(|s| s.label != Label::Done && !s.asks)
        };
        let is_begun = |m: &Message| open.worked && goes_on(m) || !open.worked && begins(m);
        called |= open.remarks.last().is_some_and(is_begun);
        open.close(called, true);
        out.push(open);
    }
    accept(&mut out);
    out
}

/// Returns the exchange that was in hand at the end: the last one, without those that only give a command of the program
/// and got no answer.
pub fn in_hand(exchanges: &[Exchange]) -> Option<(usize, &Exchange)> {
    let only_command = |e: &Exchange| {
        let empty = e.prompt.as_ref().is_some_and(|p| p.purpose == Purpose::Empty && p.chosen.is_empty());
        empty && e.answer.is_none() && !e.worked
    };
    let at = exchanges.iter().rposition(|e| !only_command(e)).or_else(|| exchanges.len().checked_sub(1))?;
    Some((at, &exchanges[at]))
}

/// Adds to prompts that only accept or refer back ("yes please", "fix this") the words they accept: the offers and
/// questions of the answer before.
fn accept(exchanges: &mut [Exchange]) {
    for at in 1..exchanges.len() {
        let (earlier, rest) = exchanges.split_at_mut(at);
        let Some(prompt) = rest[0].prompt.as_mut() else { continue };
        if let Some(asked) = earlier.last().and_then(|e| e.answer.as_ref()) {
            prompt.answers = numbered::pairs(prompt, asked);
        }
        // "Thanks, I'll take a look" leaves the offer to the person.
        let takes_over = prompt.own.iter().any(|s| Mark::Mine.is_in(s));
        let goes_on = prompt.purpose == Purpose::GoOn && !takes_over;
        // "Sure :) Make sure it leaves out the failed steps" accepts the offer with a condition.
        if let Some(answer) = earlier.last().and_then(|e| e.answer.as_ref()).filter(|_| affirms(prompt) && !takes_over)
        {
            let mut offers = offers(&answer.statements);
            offers.retain(|s| s.label == Label::Offer);
            if !offers.is_empty() {
                prompt.accepts(&offers, answer.turn);
                continue;
            }
        }
        if !(goes_on || prompt.purpose == Purpose::Request && prompt.refers_back) {
            continue;
        }
        let Some(answer) = earlier.iter().rev().find_map(|e| e.answer.as_ref()) else { continue };
        let chosen = prompt.choice().and_then(|n| answer.numbers.iter().position(|(number, _)| *number == n));
        let offers = match chosen {
            Some(at) => vec![&answer.statements[answer.numbers[at].1]],
            None => offers(&answer.statements),
        };
        match &answer.title {
            _ if !offers.is_empty() => prompt.accepts(&offers, answer.turn),
            Some(title) if prompt.purpose == Purpose::Request => prompt.names(title, answer.turn),
            _ => {}
        }
    }
}

/// Whether a message begins with a plain yes and says more: "Yes, but without the test folder". "OK, now fix the page"
/// can pass over what was offered.
fn affirms(prompt: &Prompt) -> bool {
    let Some(first) = prompt.own.first().filter(|_| !matches!(prompt.purpose, Purpose::GoOn | Purpose::Empty)) else {
        return false;
    };
    let yes = phrases!(
        "yes / yeah / yep / yup / sure / of course / absolutely / please do / go ahead / sounds good / ja / klar / gerne / mach das / oui / bien sûr / d'accord / vas-y / allez-y / sí / claro / dale / adelante / sim / pode ser / sì / certo / va bene / да / давай / конечно / ano / jasně"
    );
    let east = ["好的", "可以", "是的", "好，", "はい", "お願い", "네,", "네 ", "좋아"];
    yes.begin(&split(&lower(&first.text), Marks::Dropped)).next().is_some()
        || east.iter().any(|part| first.text.starts_with(part))
}

/// Returns the offers and questions at the end of a message.
fn offers(statements: &[Statement]) -> Vec<&Statement> {
    let asks = |s: &Statement| s.asks || s.label == Label::Offer;
    let Some(last) = statements.iter().rposition(asks) else { return Vec::new() };
    // An offer far above the end is not the question the message ends with.
    if statements.len() - last > 5 {
        return Vec::new();
    }
    let first = statements[..=last].iter().rposition(|s| !asks(s)).map_or(0, |i| i + 1);
    statements[first..=last].iter().filter(|s| !s.text.ends_with(':')).take(6).collect()
}

/// Returns the positions of messages after which nothing is called before the next prompt.
fn finals(turns: &[Said]) -> HashMap<usize, ()> {
    let (mut out, mut free) = (HashMap::new(), true);
    for (at, said) in turns.iter().enumerate().rev().filter(|(_, s)| s.main) {
        match (said.role, said.kind) {
            (Role::User, TurnKind::Message) => free = true,
            (Role::Assistant, TurnKind::Message) if free && !without_thoughts(&said.text).trim().is_empty() => {
                out.insert(at, ());
                free = false;
            }
            (_, TurnKind::ToolCall) => free = false,
            _ => {}
        }
    }
    out
}

/// Whether a question asks the person to try something and to say what happens.
fn tries(question: &str) -> bool {
    let tries = phrases!(
        "try|test|retry|check|verify|rerun|reload / tell me / let me know / do you see / does it work / testen|teste|testest|probieren|probier|prüfen / sagst du mir / siehst du / funktioniert es / tester|essayer|vérifier|essaie / dis-moi|dire / probar|prueba|pruebas|verificar|comprobar / dime|decirme / provare|prova|verificare|dirmi / testar|tentar|verificar|dizer-me / попробуй|попробуйте|проверь|проверьте / zkusit|zkus|otestovat"
    );
    let east =
        ["试一下", "試一下", "试试", "試試", "测试", "測試", "告诉我", "告訴我", "試して", "教えて", "확인해", "알려"];
    tries.stand_in(question) || east.iter().any(|part| question.contains(part))
}

/// Returns the first heading of the highest level, if there are several headings.
fn title(text: &str) -> Option<String> {
    let found: Vec<(usize, &str)> = text.lines().filter_map(heading).take(50).collect();
    let top = found.iter().map(|(level, _)| *level).min()?;
    let (_, title) = found.iter().find(|(level, _)| *level == top)?;
    (found.len() > 1 && found.iter().filter(|(level, _)| *level == top).count() == 1).then(|| plain(title))
}

fn heading(line: &str) -> Option<(usize, &str)> {
    let level = line.bytes().take_while(|b| *b == b'#').count();
    ((1..=3).contains(&level) && line[level..].starts_with(' ')).then(|| (level, line[level..].trim()))
}
