//! The distillate of a range of conversation: lists of short items, each with the turns it came from (R6.3, R6.5).
//!
//! The same type is used from chunk to handoff: `distill` makes it, `render` reads it, the ledger stores it as JSON.
//! That JSON is a documented format (docs/FORMAT.md).

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::scope::TurnId;

/// One item of a distillate, in a sentence or two.
#[derive(Clone, PartialEq, Eq, Serialize, JsonSchema, Deserialize, Debug, Default)]
#[schemars(rename = "DistilledItem")]
pub struct Item {
    /// One line of plain text, at most [`LONGEST_ITEM`] bytes, credentials redacted.
    pub text: String,
    /// The turns where it was said or done, oldest first; never empty.
    pub turns: Vec<TurnId>,
    /// The visible file of the item, once there is one: `l:…`, `p:…`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub file: Option<String>,
}

impl Item {
    pub fn new(text: impl Into<String>, turn: TurnId) -> Item {
        Item { text: text.into(), turns: vec![turn], file: None }
    }
}

/// Maximum length of an item's text, in bytes: about three lines of a terminal.
pub const LONGEST_ITEM: usize = 400;

/// The effect of a tool on a file.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, JsonSchema, Deserialize, Debug)]
#[serde(rename_all = "kebab-case")]
pub enum Touch {
    Read,
    Changed,
    Created,
    Deleted,
}

/// A file a tool read or changed.
#[derive(Clone, PartialEq, Eq, Serialize, JsonSchema, Deserialize, Debug)]
pub struct TouchedFile {
    /// Path of the file: relative to the project if the file is inside it, otherwise as the tool got it.
    pub path: String,
    /// The strongest operation on the file.
    pub touch: Touch,
    /// The newest turns that touched it, oldest first.
    pub turns: Vec<TurnId>,
}

impl TouchedFile {
    /// Whether the file was created or changed.
    pub fn is_written(&self) -> bool {
        matches!(self.touch, Touch::Changed | Touch::Created)
    }
}

/// Memory that the conversation suggests; it becomes a proposal, never memory by itself.
#[derive(Clone, PartialEq, Eq, Serialize, JsonSchema, Deserialize, Debug)]
pub struct Proposed {
    pub title: String,
    pub text: String,
    /// `fact`, `procedure`, `blocker`, `reference`: knowledge of the project. Preferences are taken from prompts
    /// instead (R9.5).
    pub class: String,
    pub turns: Vec<TurnId>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub file: Option<String>,
}

/// The structured part of a node. Items are in the order in which they were said. A budget keeps the newest items, at
/// the end of each list, first; constraints are the exception, because they do not lose weight with age.
#[derive(Clone, PartialEq, Eq, Serialize, JsonSchema, Deserialize, Debug, Default)]
#[serde(default)]
pub struct Distillate {
    /// The matter in hand, in the user's words: the request that opened it and, after an arrow, the newest request.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub goal: Option<Item>,
    /// Directives and preferences, only in the user's own words.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub constraints: Vec<Item>,
    /// Rules and acceptance criteria of the task in hand, read from its ticket or document: `shop-4 → Refunds are
    /// idempotent`. They come from the task, not from the user (R14.3).
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub requirements: Vec<Item>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub done: Vec<Item>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub in_progress: Vec<Item>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub blocked: Vec<Item>,
    /// Failures that were found and fixed, each with its fix.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub fixed: Vec<Item>,
    /// Decisions that were stated.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub decisions: Vec<Item>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub files: Vec<TouchedFile>,
    /// Unresolved requests, promises, failures and questions.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub open_loops: Vec<Item>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub next_steps: Vec<Item>,
    /// Error messages, commands, names and numbers needed to continue.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub context: Vec<Item>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub proposals: Vec<Proposed>,
}

impl Distillate {
    pub fn is_empty(&self) -> bool {
        *self == Distillate::default()
    }

    /// Whether the range only asked something: nothing was decided, demanded, done or left open, and no file was changed.
    /// "What is left to do here?" in a new session is no new matter. A question without an answer is in progress, because
    /// "Can you add the report?" asks for work.
    pub fn only_asks(&self) -> bool {
        self.goal.as_ref().is_some_and(|goal| goal.text.contains(['?', '？', '؟']))
            && self.files.iter().all(|file| file.touch == Touch::Read)
            && self.proposals.is_empty()
            && self
                .lists()
                .iter()
                .all(|(name, items)| matches!(*name, "goal" | "next_steps" | "context") || items.is_empty())
    }

    /// Returns every list of items with its name in the schema, in the order of a handoff, beginning with the goal.
    pub fn lists(&self) -> [(&'static str, &[Item]); 11] {
        [
            ("goal", self.goal.as_slice()),
            ("constraints", &self.constraints),
            ("requirements", &self.requirements),
            ("done", &self.done),
            ("in_progress", &self.in_progress),
            ("blocked", &self.blocked),
            ("fixed", &self.fixed),
            ("decisions", &self.decisions),
            ("open_loops", &self.open_loops),
            ("next_steps", &self.next_steps),
            ("context", &self.context),
        ]
    }

    /// Keeps only the items for which `stays` returns true.
    pub fn retain(&mut self, mut stays: impl FnMut(&Item) -> bool) {
        self.goal = self.goal.take().filter(|i| stays(i));
        for list in [
            &mut self.constraints,
            &mut self.requirements,
            &mut self.done,
            &mut self.in_progress,
            &mut self.blocked,
            &mut self.fixed,
            &mut self.decisions,
            &mut self.open_loops,
            &mut self.next_steps,
            &mut self.context,
        ] {
            list.retain(|i| stays(i));
        }
    }

    /// Returns all turns that any item names.
    pub fn turns(&self) -> Vec<TurnId> {
        let mut all: Vec<TurnId> =
            self.lists().iter().flat_map(|(_, l)| l.iter()).flat_map(|i| i.turns.clone()).collect();
        all.extend(self.files.iter().flat_map(|f| f.turns.clone()));
        all.extend(self.proposals.iter().flat_map(|p| p.turns.clone()));
        all.sort();
        all.dedup();
        all
    }
}
