//! The language model of a home: its name, its use today, and whether it is asked now.

use schemars::JsonSchema;
use serde::Serialize;

use crate::budget::{Budget, HeldBack, Pause};
use crate::ledger::model_calls::Spent;

/// The language model of the settings.
#[derive(Clone, PartialEq, Eq, Serialize, JsonSchema, Debug)]
pub struct LanguageModelReport {
    /// Kind and name of the model, such as `claude/haiku`; null if it cannot be loaded.
    pub model: Option<String>,
    /// Why the model cannot be loaded.
    pub problem: Option<String>,
    /// The most it may use in a day.
    pub budget: Budget,
    /// Its use today.
    pub spent: Spent,
    /// Why the model is not asked now.
    pub pause: Option<Pause>,
    /// Why some questions that wait are not asked today.
    pub held_back: Option<HeldBack>,
    /// Number of summaries written by a model.
    pub summaries: u64,
    /// Number of summaries the model may still be asked for.
    pub due: u64,
    /// Numbers of sessions whose user turns the model has read to find memories, and of those still due.
    pub read: Asked,
    /// Numbers of chunks of messages the model has judged, and of those still due.
    pub judged: Asked,
    /// Number of summaries, sessions and chunks the model is not asked about any more, because its answers could not be
    /// used. Another model, other settings or a successful trial bring them back.
    pub given_up: u64,
}

/// Number of things a model was asked about, and of things it may still be asked about.
#[derive(Clone, Copy, PartialEq, Eq, Serialize, JsonSchema, Default, Debug)]
pub struct Asked {
    pub done: u64,
    pub due: u64,
}

/// A question the model would be asked in this home, and an estimate of its daily use.
#[derive(Clone, PartialEq, Serialize, JsonSchema, Debug)]
pub struct ModelPreview {
    /// The question about the newest summary or, if there is none, about the newest session; null if there is nothing
    /// to ask about yet. Credentials are removed.
    pub prompt: Option<String>,
    /// Tokens of the question, including instructions and the form of the answer.
    pub prompt_tokens: u64,
    /// Estimated questions and tokens in a day, from the last 14 days: summaries, sessions read, chunks judged, and open
    /// loops.
    pub calls_a_day: f64,
    pub tokens_a_day: u64,
    /// Number of older summaries; a part of each day's budget is reserved for them.
    pub backlog: u64,
}

/// Result of a trial question to a model.
#[derive(Clone, PartialEq, Eq, Serialize, JsonSchema, Debug)]
pub struct ModelTrial {
    pub model: String,
    /// Why there was no answer; null if there was one.
    pub failure: Option<String>,
    /// Kind of failure, which tells whether asking again may help: `unusable`, `later`, `refused`, `withheld`.
    pub kind: Option<&'static str>,
    pub ms: u64,
    pub tokens_in: Option<u64>,
    pub tokens_out: Option<u64>,
    /// Cost in millionths of a US dollar.
    pub cost: Option<u64>,
}
