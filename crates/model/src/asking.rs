//! One question: it is sent to the provider or program, the answer is checked against the schema, and if it does not
//! fit, the model is told its faults once and answers again (R14.4).

use heirloom_engine::model::{Answer, Ask, Failure, Model};

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
}

impl Question<'_> {
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
        let first = self.transport.send(&Question { ask, again: None })?;
        let Unfit { told, .. } = match fitted(ask.schema, &first.text) {
            Ok(text) => return Ok(Answer { text, ..first }),
            Err(unfit) => unfit,
        };
        let shown = &first.text[..first.text.floor_char_boundary(LONGEST_REPEATED)];
        let wrong = format!("That cannot be used: {told}. Answer again, with the whole JSON object and nothing else.");
        let second = self.transport.send(&Question { ask, again: Some((shown, wrong)) })?;
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
