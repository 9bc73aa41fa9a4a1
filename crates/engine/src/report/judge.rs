//! What the judge says, what it learned, and which vectors would go.

use schemars::JsonSchema;
use serde::Serialize;

use crate::judge::Category;
use crate::judge::model::Standing;

/// How important each category is, and what people's decisions made of it.
#[derive(Clone, PartialEq, Serialize, JsonSchema, Default, Debug)]
pub struct JudgeReport {
    /// From this importance on a chunk of no category is kept in front.
    pub keep: u8,
    /// Chunks a language model judged, and those one may still be asked about. Without one, words judge alone.
    pub by_model: u64,
    pub model_due: u64,
    pub categories: Vec<CategoryReport>,
    /// Chunks of no category.
    pub plain_chunks: u64,
    /// What was said of the chunk of a turn, if one was named.
    pub chunk: Option<ChunkReport>,
}

/// One category of messages.
#[derive(Clone, PartialEq, Serialize, JsonSchema, Debug)]
pub struct CategoryReport {
    pub category: Category,
    /// By the settings, from 1 to 10.
    pub importance: u8,
    /// From this importance on a chunk of it is kept in front.
    pub keep: u8,
    /// With what was learned.
    pub learned_importance: u8,
    /// In log odds, from -2 to 2.
    pub offset: f64,
    /// Decisions about memory that came from words of this category.
    pub accepted: u64,
    pub rejected: u64,
    pub forgotten: u64,
    /// Chunks that were judged, and those of them kept in front.
    pub chunks: u64,
    pub kept: u64,
}

/// A chunk of messages as it was judged.
#[derive(Clone, PartialEq, Serialize, JsonSchema, Debug)]
pub struct ChunkReport {
    pub session: String,
    pub first_turn: String,
    pub last_turn: String,
    pub category: Option<Category>,
    pub importance: u8,
    /// What the words alone say.
    pub plain: u8,
    /// `words`, or the name of a model.
    pub source: String,
    /// What a language model has to do with it; null where none is chosen.
    pub model: Option<Standing>,
    /// What the settings and people's decisions make of its category: importance, and offset in log odds.
    pub category_importance: Option<u8>,
    pub offset: Option<f64>,
    /// From this importance on it is kept in front, and whether it is.
    pub keep: u8,
    pub kept: bool,
    /// The words that decided it, as they stand in the turn.
    pub words: Vec<String>,
}

/// Which vectors would go by the policy, and why.
#[derive(Clone, PartialEq, Serialize, JsonSchema, Default, Debug)]
pub struct DecayReport {
    /// Whether the policy is on; else this is what would be.
    pub on: bool,
    pub after_days: u32,
    pub below: u8,
    /// Turns of these chunks that have vectors now.
    pub vectors: u64,
    /// Chunks whose vectors are dropped.
    pub dropped: u64,
    /// The oldest first.
    pub chunks: Vec<FadedReport>,
}

/// A chunk that is old and of little importance.
#[derive(Clone, PartialEq, Eq, Serialize, JsonSchema, Debug)]
pub struct FadedReport {
    pub session: String,
    pub first_turn: String,
    pub last_turn: String,
    pub category: Option<Category>,
    pub importance: u8,
    pub last: Option<String>,
    /// Why its vectors go, or stay.
    pub why: String,
    pub spared: bool,
}
