//! What a search answers.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::Serialize;

use super::hits::{FileHitReport, TurnHit};
use super::understood::{TimeReport, Understood};
use crate::recall::Trace;
use crate::recall::query::{Kind, Term};

/// What a search answers.
#[derive(Clone, Serialize, JsonSchema, Debug)]
pub struct SearchReport {
    pub query: String,
    /// What was looked for, of the query.
    pub looked_for: String,
    pub understood: Understood,
    /// Visible files, best first.
    pub files: Vec<FileHitReport>,
    /// Turns, best first.
    pub hits: Vec<TurnHit>,
    /// Words left out because they stand nearly everywhere.
    pub too_frequent: Vec<String>,
    /// Turns that are not in the index yet.
    pub not_indexed: u64,
    /// Changed files that are not in the index yet.
    pub files_not_indexed: u64,
    /// Why it is less than it could be.
    pub less: Vec<String>,
    /// It is less than it could be.
    pub degraded: bool,
    /// How long it took, in milliseconds.
    pub ms: f64,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub explain: Option<Explained>,
    /// It was broken off because it took too long.
    #[serde(skip)]
    pub cut_short: bool,
    /// Part of the query was not used because it is too long.
    #[serde(skip)]
    pub query_cut: bool,
    /// The words that were looked up, each with how many turns have it.
    #[serde(skip)]
    pub counted: Vec<(Term, i64)>,
    /// Words too frequent among turns or files.
    #[serde(skip)]
    pub all_too_frequent: Vec<String>,
}

/// How the query was understood, what each score is made of, what the search was limited to.
#[derive(Clone, Serialize, JsonSchema, Debug)]
pub struct Explained {
    pub words: Vec<WordReport>,
    pub phrases: Vec<String>,
    pub stop_words: Vec<String>,
    pub too_frequent: Vec<String>,
    pub times: Vec<TimeReport>,
    pub people: Vec<String>,
    /// What was looked for by meaning.
    pub meaning: String,
    /// What is near in meaning is found even without a word of the query.
    pub by_meaning_too: bool,
    pub limits: BTreeMap<String, String>,
    pub less: Vec<String>,
    pub hits: Vec<TurnScore>,
    pub files: Vec<FileScore>,
}

/// A word that was looked up.
#[derive(Clone, PartialEq, Eq, Serialize, JsonSchema, Debug)]
pub struct WordReport {
    pub text: String,
    pub kind: &'static str,
    /// How many turns have it, where that was counted.
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
    /// Adds what `--explain` asks for. `limits`: what the search was limited to, as it was asked for.
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
    }
}
