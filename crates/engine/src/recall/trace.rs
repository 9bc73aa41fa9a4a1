//! What a score is made of, for whoever asks why something stands where it does (R10.1, R10.9).

/// The parts of a score. Of a turn they are added up; of a file the words and the date are, and weighed.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Trace {
    /// What its words are worth: 1 of the best by words.
    pub words: f64,
    /// How near it is in meaning, where that was looked at; it counts where it is more than 0.
    pub cosine: Option<f64>,
    /// What the turns beside it give.
    pub neighbours: f64,
    /// For lying in a time the query speaks of.
    pub date: f64,
    /// In a conversation of two people: for who speaks, how much, and how well the session answers; a question loses.
    pub people: f64,
    /// What it counts by being what it is: less where it is archived or superseded.
    pub weight: f64,
    /// All of it; a hit's score is this share of the best hit's.
    pub sum: f64,
}
