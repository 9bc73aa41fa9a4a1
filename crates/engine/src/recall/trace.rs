//! The components of a score, to explain a ranking (R10.1, R10.9).

use schemars::JsonSchema;
use serde::{Serialize, Serializer};

/// The parts of a score. Those of a turn are added up; for a file, words and date are added and multiplied by its
/// weight.
#[derive(Clone, Copy, PartialEq, Serialize, JsonSchema, Debug)]
pub struct Trace {
    /// Score by words: 1 for the best.
    #[serde(serialize_with = "rounded")]
    pub words: f64,
    /// Cosine to the query, if it was compared; it counts if greater than 0.
    #[serde(serialize_with = "rounded_or_null")]
    pub cosine: Option<f64>,
    /// Score by meaning: the cosine times its weight, which is greater in sessions of programs than in conversations.
    #[serde(serialize_with = "rounded")]
    pub meaning: f64,
    /// Share of its neighbours' scores.
    #[serde(serialize_with = "rounded")]
    pub neighbours: f64,
    /// Gain for lying in a time the query mentions.
    #[serde(serialize_with = "rounded")]
    pub date: f64,
    /// In a conversation between two people: speaker, length and matches of its session; negative for a question.
    #[serde(serialize_with = "rounded")]
    pub people: f64,
    /// Factor for the kind of item: lower if it is archived or superseded.
    #[serde(serialize_with = "rounded")]
    pub weight: f64,
    /// The sum; a hit's score is this divided by the best hit's.
    #[serde(serialize_with = "rounded")]
    pub sum: f64,
}

/// Rounds to three decimals; more digits would suggest a precision no score has.
pub(crate) fn round(x: f64) -> f64 {
    (x * 1000.0).round() / 1000.0
}

fn rounded<S: Serializer>(x: &f64, to: S) -> Result<S::Ok, S::Error> {
    to.serialize_f64(round(*x))
}

fn rounded_or_null<S: Serializer>(x: &Option<f64>, to: S) -> Result<S::Ok, S::Error> {
    x.map(round).serialize(to)
}
