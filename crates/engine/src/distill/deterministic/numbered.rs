//! Finds the numbered items of a message, and pairs a person's numbered answers with the questions they answer: "2. just
//! informational for now" says nothing without "2. Room capacity: should the system enforce it?".

use std::ops::Range;

use super::exchange::Message;
use super::list::JOIN;
use super::prompt::Prompt;
use crate::scope::TurnId;
use crate::statement::{Label, Statement};
use crate::text::patterns::phrases;
use crate::text::plain::{cut, plain};

/// Maximum length of a question and of its answer, in bytes: together a line of a handoff.
const QUESTION: usize = 110;
const ANSWER: usize = 160;

/// Maximum number of words before the colon of a question that count as its title.
const TITLE: usize = 6;

/// A question of the model with its answer.
#[derive(Clone, PartialEq, Debug)]
pub struct Pair {
    /// The statements of the person's message that are the answer.
    pub answer: Range<usize>,
    /// The question and the answer in one line.
    pub text: String,
    /// The turns of the question and of the answer.
    pub turns: [TurnId; 2],
    /// Whether the answer puts the matter off: "Not now, we do it differently later."
    pub puts_off: bool,
}

/// A numbered item of a person's message.
#[derive(Clone, PartialEq, Debug)]
pub struct Item {
    pub number: u32,
    /// One plain line.
    pub text: String,
    /// The person's own statements in it.
    pub statements: Range<usize>,
}

/// Returns the numbers before statements, each with the index of its first statement: `2. Drop the index`.
pub fn numbers(text: &str, statements: &[Statement]) -> Vec<(u32, usize)> {
    let number = |s: &Statement| {
        let line = text.get(..s.range.start)?.rsplit('\n').next()?.trim_start();
        let digits = line.trim_end_matches(['*', '_', ' ', '[', '`']).strip_suffix(['.', ')', ':'])?;
        digits.trim_matches(['*', '_', ' ']).parse().ok()
    };
    statements.iter().enumerate().filter_map(|(i, s)| Some((number(s)?, i))).collect()
}

/// Returns the numbered items of a person's message, each a line with what follows it in its paragraph.
pub fn items(text: &str, own: &[Statement]) -> Vec<Item> {
    let mut out: Vec<Item> = Vec::new();
    let (mut at, mut from) = (0, None);
    let mut close = |from: &mut Option<(u32, usize, usize)>, end: usize| {
        let Some((number, head, start)) = from.take() else { return };
        let first = own.partition_point(|s| s.range.start < head);
        let last = own.partition_point(|s| s.range.start < end);
        out.push(Item { number, text: plain(&text[start..end]), statements: first..last });
    };
    for line in text.split_inclusive('\n') {
        let told = line.trim_start();
        let digits = told.bytes().take_while(u8::is_ascii_digit).count();
        let number = told[..digits].parse().ok().filter(|_| digits <= 2 && told[digits..].starts_with(['.', ')', ':']));
        if number.is_some() || told.is_empty() {
            close(&mut from, at);
        }
        let head = line.len() - told.len() + digits + 1;
        from = number.map(|number| (number, at, at + head)).or(from);
        at += line.len();
    }
    close(&mut from, at);
    out
}

/// Returns the questions of a message that a prompt answers by their numbers; nothing if there are fewer than two.
pub fn pairs(prompt: &Prompt, asked: &Message) -> Vec<Pair> {
    let mut out = Vec::new();
    for item in prompt.items.iter().filter(|item| item.text.chars().any(char::is_alphanumeric)) {
        let Some(place) = asked.numbers.iter().position(|(n, _)| *n == item.number) else { continue };
        let from = asked.numbers[place].1;
        let next = asked.numbers[place + 1..].iter().map(|(_, next)| *next).find(|next| *next > from);
        let question = &asked.statements[from..next.unwrap_or(asked.statements.len())];
        if !question.iter().any(|s| s.asks) {
            continue;
        }
        let text = format!("{}{JOIN}{}", title(&question[0]), cut(&item.text, ANSWER));
        let puts_off = prompt.own[item.statements.clone()].iter().any(puts_off);
        out.push(Pair { answer: item.statements.clone(), text, turns: [asked.turn, prompt.turn], puts_off });
    }
    if out.len() > 1 { out } else { Vec::new() }
}

/// Returns the title of a question, or the question: "Room capacity" of "Room capacity: should it be enforced?".
fn title(question: &Statement) -> String {
    let head = question.text.split_once([':', '：']).map(|(head, _)| head.trim());
    let head = head.filter(|head| (1..=TITLE).contains(&head.split_whitespace().count()) && head.len() <= QUESTION);
    head.map_or_else(|| cut(&question.text, QUESTION), str::to_owned)
}

/// Whether a statement of an answer puts its matter off: "do not show it right now", "later".
fn puts_off(s: &Statement) -> bool {
    let denies = phrases!(
        "not|no|don't|dont|skip|leave|ignore / nicht|kein|keine|lass / pas|laisse / no|deja|omite / non|lascia / não|deixe / не / ne|nech"
    );
    let now = phrases!(
        "right now / for now / at the moment / yet / this time / jetzt / erst einmal / vorerst / im moment / noch nicht / pour l'instant / pour le moment / por ahora / de momento / todavía / per ora / per adesso / por enquanto / пока / zatím"
    );
    let east = ["先不", "暂时不", "暫時不", "以后再", "以後再", "あとで", "今は"];
    s.label == Label::Remaining
        || s.second == Some(Label::Remaining)
        || denies.stand_in(&s.text) && now.stand_in(&s.text)
        || east.iter().any(|part| s.text.contains(part))
}
