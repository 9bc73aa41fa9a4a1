//! The answer of a search.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::Serialize;

use super::hits::{FileHitReport, TurnHit};
use super::understood::{TimeReport, Understood};
use crate::recall::Trace;
use crate::recall::query::{Kind, Term};

/// The answer of a search.
#[derive(Clone, Serialize, JsonSchema, Debug)]
pub struct SearchReport {
    pub query: String,
    /// Words of the query that were looked up.
    pub looked_for: String,
    pub understood: Understood,
    /// Visible files, best first.
    pub files: Vec<FileHitReport>,
    /// Turns, best first.
    pub hits: Vec<TurnHit>,
    /// Words that were left out because nearly every turn has them.
    pub too_frequent: Vec<String>,
    /// Number of turns that are not in the index yet.
    pub not_indexed: u64,
    /// Number of changed files that are not in the index yet.
    pub files_not_indexed: u64,
    /// Reasons why the answer is less complete than it could be.
    pub less: Vec<String>,
    /// Whether the answer is less complete than it could be.
    pub degraded: bool,
    /// Duration of the search in milliseconds.
    pub ms: f64,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub explain: Option<Explained>,
    /// Whether the search was stopped because it took too long.
    #[serde(skip)]
    pub cut_short: bool,
    /// Whether a part of the query was not used because the query is too long.
    #[serde(skip)]
    pub query_cut: bool,
    /// Words that were looked up, each with the number of turns that have it.
    #[serde(skip)]
    pub counted: Vec<(Term, i64)>,
    /// Words that are too frequent among turns or among files.
    #[serde(skip)]
    pub all_too_frequent: Vec<String>,
}

/// How the query was understood, how each score is made up, and the limits of the search.
#[derive(Clone, Serialize, JsonSchema, Debug)]
pub struct Explained {
    pub words: Vec<WordReport>,
    pub phrases: Vec<String>,
    pub stop_words: Vec<String>,
    pub too_frequent: Vec<String>,
    pub times: Vec<TimeReport>,
    pub people: Vec<String>,
    /// Text that was compared by meaning.
    pub meaning: String,
    /// Whether turns near in meaning are found even without a word of the query.
    pub by_meaning_too: bool,
    pub limits: BTreeMap<String, String>,
    pub less: Vec<String>,
    pub hits: Vec<TurnScore>,
    pub files: Vec<FileScore>,
}

/// A word of the query that was looked up.
#[derive(Clone, PartialEq, Eq, Serialize, JsonSchema, Debug)]
pub struct WordReport {
    pub text: String,
    pub kind: &'static str,
    /// Number of turns that have the word, if they were counted.
    pub turns: Option<i64>,
}

#[derive(Clone, PartialEq, Serialize, JsonSchema, Debug)]
pub struct TurnScore {
    pub turn: String,
    pub beside: Option<String>,
    #[serde(flatten)]
    pub score: Trace,
}

#[derive(Clone, PartialEq, Serialize, JsonSchema, Debug)]
pub struct FileScore {
    pub path: String,
    #[serde(flatten)]
    pub score: Trace,
}

impl SearchReport {
    /// Adds the explanation that `--explain` asks for. `limits`: the limits of the search, as the caller gave them.
    pub fn explained(mut self, limits: &[(&'static str, String)]) -> SearchReport {
        let query = &self.understood.query;
        let typed = |terms: &[Term]| terms.iter().map(|t| self.understood.typed(t)).collect();
        let counted = |term: &Term| self.counted.iter().find(|(t, _)| t == term).map(|(_, turns)| *turns);
        let words =
            query.words.iter().map(|t| WordReport { text: self.understood.typed(t), kind: kind(t), turns: counted(t) });
        let hits = self.hits.iter().map(|h| TurnScore {
            turn: h.turn.clone(),
            beside: h.why.beside.clone(),
            score: h.hit.trace,
        });
        let files = self.files.iter().map(|h| FileScore { path: h.path.clone(), score: h.hit.trace });
        self.explain = Some(Explained {
            words: words.collect(),
            phrases: typed(&query.phrases),
            stop_words: typed(&query.dropped),
            too_frequent: self.all_too_frequent.clone(),
            times: self.understood.times.clone(),
            people: self.understood.people.clone(),
            meaning: query.dense_text().to_owned(),
            by_meaning_too: query.is_open(),
            limits: limits.iter().map(|(name, value)| ((*name).to_owned(), value.clone())).collect(),
            less: self.less.clone(),
            hits: hits.collect(),
            files: files.collect(),
        });
        self
    }
}

fn kind(term: &Term) -> &'static str {
    match term.kind {
        Kind::Exact => "name",
        Kind::Quoted => "phrase",
        Kind::Word => "word",
        Kind::Variant => "variant",
        Kind::Part => "piece",
        Kind::Report => "failure",
    }
}
