//! Reports of the judge: importance of categories, learned weights, and vectors that may be dropped.

use schemars::JsonSchema;
use serde::Serialize;

use crate::judge::Category;
use crate::judge::model::Standing;

/// The importance of each category, and how people's decisions changed it.
#[derive(Clone, PartialEq, Serialize, JsonSchema, Default, Debug)]
pub struct JudgeReport {
    /// Lowest importance at which a chunk of no category is kept in front: a slow embedding model makes its vectors
    /// first.
    pub keep: u8,
    /// Number of chunks that a language model judged, and of chunks it may still be asked about. Without a language
    /// model, the words alone are judged.
    pub by_model: u64,
    pub model_due: u64,
    pub categories: Vec<CategoryReport>,
    /// Number of chunks of no category.
    pub plain_chunks: u64,
    /// The judgement of the chunk of one turn, if the request named a turn.
    pub chunk: Option<ChunkReport>,
}

/// One category of messages.
#[derive(Clone, PartialEq, Serialize, JsonSchema, Debug)]
pub struct CategoryReport {
    pub category: Category,
    /// Importance by the settings, from 1 to 10.
    pub importance: u8,
    /// Lowest importance at which a chunk of this category is kept in front.
    pub keep: u8,
    /// Importance including what was learned from decisions.
    pub learned_importance: u8,
    /// Shift learned from decisions, in log odds, from -2 to 2.
    pub offset: f64,
    /// Number of decisions about memory that came from words of this category: accepted, rejected, forgotten.
    pub accepted: u64,
    pub rejected: u64,
    pub forgotten: u64,
    /// Number of chunks that were judged, and of those kept in front.
    pub chunks: u64,
    pub kept: u64,
}

/// A message as its words rate it, with the parts of the rating.
#[derive(Clone, PartialEq, Serialize, JsonSchema, Debug)]
pub struct MessageReport {
    pub turn: String,
    pub category: Option<Category>,
    /// `base` and `more` together, at most 10.
    pub importance: u8,
    /// Importance of its category by the settings; without a category, 3, or 1 for a short message.
    pub base: u8,
    /// One for the second and one for the third word of the category.
    pub more: u8,
    /// Whether it is so short that only sentiment and acknowledgment count.
    pub short: bool,
    /// All its words that say something, by category.
    pub words: Vec<CategoryWords>,
}

/// Words of a category.
#[derive(Clone, PartialEq, Eq, Serialize, JsonSchema, Debug)]
pub struct CategoryWords {
    pub category: Category,
    pub words: Vec<String>,
}

/// A chunk of messages as it was judged.
#[derive(Clone, PartialEq, Serialize, JsonSchema, Debug)]
pub struct ChunkReport {
    pub session: String,
    pub first_turn: String,
    pub last_turn: String,
    pub category: Option<Category>,
    pub importance: u8,
    /// Importance by the words of the chunk alone.
    pub plain: u8,
    /// Source of the judgement: `words` for the rules about words, else the name of a language model.
    pub source: String,
    /// Whether a language model judged the chunk or may still be asked; null if none is chosen.
    pub model: Option<Standing>,
    /// Importance of its category by settings and people's decisions, and the learned shift in log odds.
    pub category_importance: Option<u8>,
    pub offset: Option<f64>,
    /// Lowest importance at which the chunk is kept in front, and whether it is kept.
    pub keep: u8,
    pub kept: bool,
    /// Words that decide the rating of the turn that was asked about.
    pub words: Vec<String>,
    /// The turn that was asked about; null if it is no message of the main conversation.
    pub asked: Option<MessageReport>,
    /// The message of the chunk that decides by words.
    pub decided_by: Option<MessageReport>,
}

/// Chunks whose vectors the policy drops, and why.
#[derive(Clone, PartialEq, Serialize, JsonSchema, Default, Debug)]
pub struct DecayReport {
    /// Whether the policy is on; if not, the report shows what it would drop.
    pub on: bool,
    pub after_days: u32,
    pub below: u8,
    /// Number of turns of these chunks that have vectors now.
    pub vectors: u64,
    /// Number of chunks whose vectors were dropped.
    pub dropped: u64,
    /// The chunks, oldest first.
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
    /// Why the vectors are dropped, or are kept.
    pub why: String,
    pub spared: bool,
}
