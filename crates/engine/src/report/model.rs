//! The language model of a home: which it is, what it used today, whether it is asked now.

use schemars::JsonSchema;
use serde::Serialize;

use crate::budget::{Budget, Pause};
use crate::ledger::model_calls::Spent;

/// The language model of the settings.
#[derive(Clone, PartialEq, Eq, Serialize, JsonSchema, Debug)]
pub struct LanguageModelReport {
    /// Kind and model: `claude/haiku`. Null where it cannot be had.
    pub model: Option<String>,
    /// Why it cannot be had.
    pub problem: Option<String>,
    /// The most it may use in a day.
    pub budget: Budget,
    /// What was used today.
    pub spent: Spent,
    /// Why it is not asked now.
    pub pause: Option<Pause>,
    /// How many summaries have a model's words.
    pub summaries: u64,
    /// How many may still be asked for.
    pub due: u64,
    /// Sessions whose person's words it has read for what is to be remembered.
    pub read: Asked,
    /// Chunks of messages it has judged.
    pub judged: Asked,
}

/// What a model was asked about, and what it may still be asked about.
#[derive(Clone, Copy, PartialEq, Eq, Serialize, JsonSchema, Default, Debug)]
pub struct Asked {
    pub done: u64,
    pub due: u64,
}

/// What a model would be asked in a home, and how much that is.
#[derive(Clone, PartialEq, Serialize, JsonSchema, Debug)]
pub struct ModelPreview {
    /// The question about the newest summary there is, or else about the newest session; null where nothing is worth one yet. Credentials are taken out.
    pub prompt: Option<String>,
    /// Its tokens, with instructions and the form of the answer.
    pub prompt_tokens: u64,
    /// Questions and tokens of a day like those of the last fortnight: summaries, sessions that are read, chunks that are
    /// judged. Open loops are asked about at most twice a day for each project, beside that.
    pub calls_a_day: f64,
    pub tokens_a_day: u64,
    /// Older summaries, which a part of each day's budget is for.
    pub backlog: u64,
}

/// What a trial came to.
#[derive(Clone, PartialEq, Eq, Serialize, JsonSchema, Debug)]
pub struct ModelTrial {
    pub model: String,
    /// Why there was no answer; null where there was one.
    pub failure: Option<String>,
    /// Why asking again may or may not help: `unusable`, `later`, `refused`, `withheld`.
    pub kind: Option<&'static str>,
    pub ms: u64,
    pub tokens_in: Option<u64>,
    pub tokens_out: Option<u64>,
    /// In millionths of a US dollar.
    pub cost: Option<u64>,
}
