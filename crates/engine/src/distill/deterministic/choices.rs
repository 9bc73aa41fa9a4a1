//! Finds decisions that a question and its answer make together: a choice that was offered and taken, or put and
//! confirmed.

use super::exchange::{Exchange, Message};
use super::list::{JOIN, List};
use super::{answer, prompt};
use crate::statement::{Label, Statement};
use crate::text::patterns::phrases;
use crate::text::plain::{cut, cut_front, lower};
use crate::text::words::{Marks, split};

/// Maximum length of a question about a choice, and of its answer, in bytes: together a line of a handoff.
const PUT: usize = 140;

/// Maximum number of words of an answer that only names one of the choices.
const CHOICE: usize = 4;

/// Adds a short answer to a question that offers a choice: `question → answer`.
pub fn answered(decisions: &mut List, exchange: &Exchange, before: Option<&Exchange>) {
    let (Some(prompt), Some(asked)) = (&exchange.prompt, before.and_then(|e| e.answer.as_ref())) else { return };
    // "tungstenite. I don't want tokio in the collector": the choice, then the reason.
    let reason = match &prompt.own[..] {
        [_] => None,
        [answer, reason, ..] if answer.words() <= CHOICE && names_part_of(answer, asked) => Some(reason),
        _ => return,
    };
    let answer = &prompt.own[0];
    let Some(question) = asked.statements.last().filter(|s| s.asks && offers_choice(&s.text)) else { return };
    // "Are you testing it tonight, or shall I?" is not answered by "Commit the files".
    let elsewhere = answer.label == Label::Request && answer.sure && question.bag().shared(answer.bag()) == 0;
    if !answer.asks && answer.label != Label::Assent && answer.words() <= 8 && !elsewhere && !puts_off(&answer.text) {
        let why = reason.filter(|s| !s.asks && s.text.len() <= PUT).map_or("", |s| s.text.as_str());
        let text = format!("{}{JOIN}{} {why}", cut(&question.text, 200), answer.text);
        decisions.tell(text.trim_end(), &[asked.turn, prompt.turn], 4);
    }
}

/// Adds a choice that the person put to the model and the model confirmed ("should I go for 15 → Absolutely, take 15"), or
/// made among the alternatives of the question ("one package or two → **Two packages**").
pub fn confirmed(decisions: &mut List, exchange: &Exchange) {
    let (Some(prompt), Some(answer)) = (&exchange.prompt, &exchange.answer) else { return };
    if let Some(question) = prompt.own.last().filter(|s| s.asks && offers_choice(&s.text) && !exchange.acted)
        && let Some(told) = answer.statements.first().filter(|s| s.paragraph == 0 && answer::concludes(s))
    {
        let text = format!("{}{JOIN}{}", cut_front(&question.text, PUT), cut(&told.text, PUT));
        return decisions.tell(&text, &[prompt.turn, answer.turn], 3);
    }
    let Some(question) = prompt.own.iter().rfind(|s| asks_counsel(&s.text)).filter(|_| !exchange.acted) else {
        return;
    };
    let mut said = answer.statements.iter();
    let Some(yes) = said.next().filter(|s| confirms(&s.text)) else { return };
    // "Yes!" alone does not say which.
    let told = if prompt::weight_of(yes) >= 2 { Some(yes) } else { said.next() };
    if let Some(told) = told.filter(|s| !s.text.ends_with([':', '：'])) {
        let text = format!("{}{JOIN}{}", cut_front(&question.text, PUT), cut(&told.text, PUT));
        decisions.tell(&text, &[prompt.turn, answer.turn], 3);
    }
}

/// Whether an answer of a few words names something that the message before offered.
fn names_part_of(answer: &Statement, message: &Message) -> bool {
    let bag = answer.bag();
    !bag.is_empty() && message.statements.iter().any(|s| s.bag().shared(bag) == bag.len())
}

fn offers_choice(question: &str) -> bool {
    phrases!("or / which / vs / either / oder / welche|welcher|welches / ou / quel|quelle / cuál|cuáles / entre / или / nebo / lub / veya")
        .stand_in(question)
}

/// Whether a sentence asks the model whether something is to be done: "should I just go for 15".
fn asks_counsel(text: &str) -> bool {
    phrases!("should|shall i|we / is it okay|ok|fine|alright|better|safe to|if / soll|sollen|sollte|sollten ich|wir / devrais-je / devrions-nous / dois-je / debería|debo|deberíamos / dovrei|devo|dovremmo / devo|deveria|deveríamos / стоит ли / следует ли / měl|mám bych? to").stand_in(text)
}

/// Whether a text begins with a clear yes.
fn confirms(text: &str) -> bool {
    phrases!("yes|yep|yeah|absolutely|definitely|certainly|exactly|sure / ja|genau|unbedingt / auf jeden fall / oui|absolument|exactement / sí|claro|exacto|absolutamente / sì|certo|esatto / sim|exatamente / да|конечно|именно / ano|určitě")
        .begin(&split(&lower(text), Marks::Dropped))
        .next()
        .is_some()
}

/// Whether an answer postpones the choice: "Not sure yet, let me think."
fn puts_off(answer: &str) -> bool {
    phrases!("not sure / let me think / later / don't know / no idea / weiß nicht / später / keine ahnung / je ne sais pas / plus tard / no sé / más tarde").stand_in(answer)
}
