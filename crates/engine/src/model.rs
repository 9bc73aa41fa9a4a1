//! What a language model is asked, and what it answers. Storey 0 (D5, R11.2, R11.3, R14.4).
//!
//! The engine knows no model and has no network; whoever opens it may hand it one. Every place that asks has a
//! deterministic path for the answer that does not come. What a model says is untrusted: the place that asked checks it
//! against the schema it asked with, and against the turns it gave.

use std::time::Duration;

use crate::scope::named;

named! {
    /// Why a model is asked. Budget and record of calls are kept by it.
    pub enum Purpose {
        /// A summary of turns or of other summaries.
        Summary = "summary",
        /// The handoff over a compaction, which somebody waits for.
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

/// One question. It holds no text of another agent, its credentials are redacted and quoted turns are fenced: whoever
/// makes it sees to that.
#[derive(Clone, Copy, Debug)]
pub struct Ask<'a> {
    pub purpose: Purpose,
    /// What the model is told to do; constant for a purpose.
    pub system: &'a str,
    /// What it is to be done with.
    pub input: &'a str,
    /// JSON Schema of the answer, in full. A kind of model that knows only a part of JSON Schema is given less of it.
    pub schema: &'a serde_json::Value,
    /// The most tokens of the answer.
    pub max_output: usize,
}

/// What a model answered.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Answer {
    /// JSON, not checked against the schema yet.
    pub text: String,
    /// Tokens of the question, as told by the model; `None` where it tells nothing.
    pub tokens_in: Option<u64>,
    /// Tokens of the answer, as told by the model.
    pub tokens_out: Option<u64>,
    /// Cost in millionths of a US dollar, as told by the model.
    pub cost: Option<u64>,
}

/// Why there is no answer. Messages hold no key and no text of a conversation.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
pub enum Failure {
    /// Nothing that can be read as the agreed form came back, not even after it was told what was wrong.
    #[error("its answer cannot be used: {0}")]
    Unusable(String),
    /// It cannot answer now. `after`: when it said to ask again.
    #[error("it cannot answer now: {why}")]
    Later { why: String, after: Option<Duration> },
    /// Asking again is no use until the settings change.
    #[error("it refuses: {0}")]
    Refused(String),
    /// The budget of the day is spent, or it rests after failures. It was not asked.
    #[error("it was not asked: {0}")]
    Withheld(String),
}

/// A language model, whatever stands behind it. Calls take seconds: none is made while a lease or a write transaction
/// is held.
pub trait Model: Send + Sync {
    /// The name recorded with everything made of its answers: kind and model, such as `claude/haiku`.
    fn name(&self) -> &str;

    /// Asks once.
    fn answer(&self, ask: &Ask) -> Result<Answer, Failure>;
}
