//! The components of a score, to explain a ranking (R10.1, R10.9).

/// The parts of a score. A turn's are added up; a file's words and date are added and multiplied by its weight.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Trace {
    /// Score by words: 1 for the best.
    pub words: f64,
    /// Cosine to the query, if it was compared; it counts if greater than 0.
    pub cosine: Option<f64>,
    /// What its neighbours add.
    pub neighbours: f64,
    /// Gain for lying in a time the query mentions.
    pub date: f64,
    /// In a conversation between two people: speaker, length and matches of its session; negative for a question.
    pub people: f64,
    /// Factor for the kind of item: lower if it is archived or superseded.
    pub weight: f64,
    /// The sum; a hit's score is this divided by the best hit's.
    pub sum: f64,
}
