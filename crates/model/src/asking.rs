//! One question: it is sent to the provider or program, the answer is checked against the schema, and if it does not
//! fit, the model is told its faults once and answers again (R14.4).

use std::cell::Cell;

use heirloom_engine::model::{Answer, Ask, Failure, Model, Used};
use heirloom_engine::tokens::tokens;

use crate::schema::{Unfit, fitted};

/// Most bytes of an answer. The engine accepts 256 KiB of a summary; this leaves room for text around it.
pub(crate) const LARGEST_ANSWER: usize = 1 << 20;

/// Most bytes of a bad answer that are shown to the model again.
const LONGEST_REPEATED: usize = 8 << 10;

/// The text to send: the question, and after a bad answer that answer with its faults.
pub(crate) struct Question<'a> {
    pub ask: &'a Ask<'a>,
    /// The bad answer, and the words that tell the model its faults.
    pub again: Option<(&'a str, String)>,
    /// Number of requests that were sent for it.
    pub sent: Cell<u64>,
    /// Whether the last of them was answered with an error, so that it used no tokens.
    pub is_free: Cell<bool>,
}

impl<'a> Question<'a> {
    pub fn new(ask: &'a Ask<'a>, again: Option<(&'a str, String)>) -> Question<'a> {
        Question { ask, again, sent: Cell::new(0), is_free: Cell::new(false) }
    }

    /// Counts a request. `is_free`: it was answered with an error.
    pub fn count(&self, is_free: bool) {
        self.sent.set(self.sent.get() + 1);
        self.is_free.set(is_free);
    }

    /// Estimates the tokens of the question from its text.
    fn estimated(&self) -> u64 {
        tokens(&self.as_text(true, true)) as u64
    }
    /// Returns the whole question as one text, for programs that take no messages. `with_schema`: nothing else in the
    /// call has the schema.
    pub fn as_text(&self, with_system: bool, with_schema: bool) -> String {
        let mut text = String::new();
        if with_system {
            text.push_str(self.ask.system);
            text.push_str("\n\n");
        }
        text.push_str(self.ask.input);
        if with_schema {
            text.push_str(&asked_form(self.ask));
        }
        if let Some((answer, wrong)) = &self.again {
            text.push_str(&format!("\n\nYour answer was:\n{answer}\n\n{wrong}"));
        }
        text
    }
}

/// Returns the request for JSON in words, for models that take no schema as an option.
pub(crate) fn asked_form(ask: &Ask) -> String {
    format!("\n\nAnswer with one JSON object and nothing else. It has to fit this JSON Schema:\n{}", ask.schema)
}

/// Returns the failure of an answer that ended at a limit.
pub(crate) fn cut() -> Failure {
    Failure::Unusable("it was cut at the limit of its length".into())
}

/// Returns the failure of an answer in which the model or its filter declines.
pub(crate) fn declined() -> Failure {
    Failure::Unusable("it declined to answer".into())
}

/// The way to a model: a provider's protocol or a program.
pub(crate) trait Transport: Send + Sync {
    /// Sends the question once. The text of the answer may be anything.
    fn send(&self, question: &Question) -> Result<Answer, Failure>;
}

/// A model with its transport, which checks the answers.
pub struct Asking {
    name: String,
    transport: Box<dyn Transport>,
}

impl Asking {
    pub(crate) fn new(name: String, transport: Box<dyn Transport>) -> Asking {
        Asking { name, transport }
    }
}

impl Model for Asking {
    fn name(&self) -> &str {
        &self.name
    }

    fn answer(&self, ask: &Ask) -> Result<Answer, Failure> {
        self.counted(ask).0
    }

    fn counted(&self, ask: &Ask) -> (Result<Answer, Failure>, Option<Used>) {
        let mut used = Used::default();
        let answer = self.with_repair(ask, &mut used);
        (answer, Some(used))
    }
}

impl Asking {
    /// Sends a question and adds what it used.
    fn send(&self, question: &Question, used: &mut Used) -> Result<Answer, Failure> {
        let answer = self.transport.send(question);
        used.requests += question.sent.get();
        match &answer {
            Ok(answer) => {
                used.tokens_in += answer.tokens_in.unwrap_or_else(|| question.estimated());
                used.tokens_out += answer.tokens_out.unwrap_or_else(|| tokens(&answer.text) as u64);
                used.cost = answer.cost.map(|cost| cost + used.cost.unwrap_or_default()).or(used.cost);
            }
            Err(_) if question.sent.get() == 0 || question.is_free.get() => {}
            // The model may have read all of it and written as much as it was allowed to.
            Err(_) => {
                used.tokens_in += question.estimated();
                used.tokens_out += question.ask.max_output as u64;
            }
        }
        answer
    }

    fn with_repair(&self, ask: &Ask, used: &mut Used) -> Result<Answer, Failure> {
        let first = self.send(&Question::new(ask, None), used)?;
        let Unfit { told, .. } = match fitted(ask.schema, &first.text) {
            Ok(text) => return Ok(Answer { text, ..first }),
            Err(unfit) => unfit,
        };
        let shown = &first.text[..first.text.floor_char_boundary(LONGEST_REPEATED)];
        let wrong = format!("That cannot be used: {told}. Answer again, with the whole JSON object and nothing else.");
        let second = self.send(&Question::new(ask, Some((shown, wrong))), used)?;
        let added = |a: Option<u64>, b: Option<u64>| a.zip(b).map(|(a, b)| a + b);
        let text = fitted(ask.schema, &second.text).map_err(|unfit| Failure::Unusable(unfit.shown))?;
        Ok(Answer {
            text,
            tokens_in: added(first.tokens_in, second.tokens_in),
            tokens_out: added(first.tokens_out, second.tokens_out),
            cost: added(first.cost, second.cost),
        })
    }
}
