//! One question: it is put to whatever stands behind the model, the answer is checked against the schema, and where it
//! does not fit the model is told once what to mend (R14.4).

use heirloom_engine::model::{Answer, Ask, Failure, Model};

use crate::schema::{Unfit, fitted};

/// The most bytes of an answer. The engine takes 256 KiB of a summary; this leaves room for what stands around it.
pub(crate) const LARGEST_ANSWER: usize = 1 << 20;

/// The most bytes of a bad answer that are shown to the model again.
const LONGEST_REPEATED: usize = 8 << 10;

/// What is sent: the question, and after a bad answer what was wrong with it.
pub(crate) struct Question<'a> {
    pub ask: &'a Ask<'a>,
    /// The answer before and what the model is told of it.
    pub again: Option<(&'a str, String)>,
}

impl Question<'_> {
    /// The whole as one text, for what takes no messages. `with_schema`: nothing else carries the schema.
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

/// The request for JSON in words, where no option of the model carries the schema.
pub(crate) fn asked_form(ask: &Ask) -> String {
    format!("\n\nAnswer with one JSON object and nothing else. It has to fit this JSON Schema:\n{}", ask.schema)
}

/// What stands behind a model: a provider's protocol or a program.
pub(crate) trait Transport: Send + Sync {
    /// Puts the question once. The text may be anything.
    fn send(&self, question: &Question) -> Result<Answer, Failure>;
}

/// A model as the engine takes it.
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
