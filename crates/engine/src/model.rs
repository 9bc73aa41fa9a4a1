//! The vocabulary for asking a language model: question, answer, failure. Storey 0 (D5, R11.2, R11.3, R14.4).
//!
//! The engine knows no model and has no network; its caller may pass it a model. Every place that asks has a
//! deterministic path for an answer that does not come. A model's answer is untrusted: the place that asked checks it
//! against the schema it asked with, and against the turns it gave.

use std::time::Duration;

use crate::scope::named;

named! {
    /// Purpose of a question to a model. Budget and record of calls are kept by purpose.
    pub enum Purpose {
        /// A summary of turns or of other summaries.
        Summary = "summary",
        /// The handoff over a compaction, which a program waits for.
        Compaction = "compaction",
        /// Open matters of a session: merged, settled, given a title.
        Matters = "matters",
        /// Facts, procedures and contradictions for the memory of a workspace.
        Extraction = "extraction",
        /// The importance of a chunk of messages.
        Judge = "judge",
        /// The draft of a skill.
        Skill = "skill",
        /// A trial a person asked for.
        Trial = "trial",
    }
}

/// One question. Its maker makes sure that it holds no text of another agent, that credentials are redacted and that
/// quoted turns are fenced.
#[derive(Clone, Copy, Debug)]
pub struct Ask<'a> {
    pub purpose: Purpose,
    /// Instructions for the model; constant for a purpose.
    pub system: &'a str,
    /// Material the instructions apply to.
    pub input: &'a str,
    /// JSON Schema of the answer, in full. A kind of model that knows only a part of JSON Schema is sent a reduced one.
    pub schema: &'a serde_json::Value,
    /// Most tokens of the answer.
    pub max_output: usize,
}

/// Answer of a model.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Answer {
    /// JSON, not checked against the schema yet.
    pub text: String,
    /// Tokens of the question, as reported by the model; `None` if it reports none.
    pub tokens_in: Option<u64>,
    /// Tokens of the answer, as reported by the model.
    pub tokens_out: Option<u64>,
    /// Cost in millionths of a US dollar, as reported by the model.
    pub cost: Option<u64>,
}

/// The use of one question, which may need several requests: a form the server refuses, or an answer whose faults the
/// model is told.
#[derive(Clone, Copy, Default, PartialEq, Eq, Debug)]
pub struct Used {
    /// Number of requests that were sent, whatever came back.
    pub requests: u64,
    /// Tokens as the model reported them, else estimated from the texts. A request that was answered with an error used
    /// none.
    pub tokens_in: u64,
    pub tokens_out: u64,
    /// In millionths of a US dollar, as far as the model reported it.
    pub cost: Option<u64>,
}

/// Reason why there is no answer. Messages hold no key and no text of a conversation.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
pub enum Failure {
    /// The answer did not have the agreed form, not even after the model was told its faults.
    #[error("its answer cannot be used: {0}")]
    Unusable(String),
    /// The model cannot answer now. `after`: the pause it asked for.
    #[error("it cannot answer now: {why}")]
    Later { why: String, after: Option<Duration> },
    /// The question was not sent, and can be later: what it needs is missing, such as the key in a locked keyring. It
    /// used no tokens, however long it took to find out. `after`: time to wait before trying again.
    #[error("it cannot answer now: {why}")]
    Unsent { why: String, after: Option<Duration> },
    /// Asking again is useless until the settings change.
    #[error("it refuses: {0}")]
    Refused(String),
    /// The model was not asked: the budget of the day is spent, or asking pauses after failures.
    #[error("it was not asked: {0}")]
    Withheld(String),
}

/// A language model of any kind. Calls take seconds, so none is made while a lease or a write transaction is held.
pub trait Model: Send + Sync {
    /// Returns the name recorded with everything made from its answers: kind and model, such as `claude/haiku`.
    fn name(&self) -> &str;

    /// Asks once.
    fn answer(&self, ask: &Ask) -> Result<Answer, Failure>;

    /// Asks once, and tells what was used even if there is no answer. `None`: the model does not count.
    fn counted(&self, ask: &Ask) -> (Result<Answer, Failure>, Option<Used>) {
        (self.answer(ask), None)
    }
}
