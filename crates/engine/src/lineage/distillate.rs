//! What a stretch of conversation comes to: a few lists of short items, each with the turns it came from (R6.3, R6.5).
//!
//! One type from the chunk to the handoff: who distils makes it, who renders reads it, the ledger keeps it as JSON. Its
//! JSON is a format (docs/FORMAT.md).

use serde::{Deserialize, Serialize};

use crate::scope::TurnId;

/// One thing worth keeping, in a sentence or two.
#[derive(Clone, PartialEq, Eq, Serialize, Deserialize, Debug, Default)]
pub struct Item {
    /// One line of plain text, at most [`LONGEST_ITEM`] bytes, credentials already taken out.
    pub text: String,
    /// Where it was said or done, oldest first; never empty.
    pub turns: Vec<TurnId>,
    /// The visible file that carries it, once there is one: `l:…`, `p:…`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub file: Option<String>,
}

impl Item {
    pub fn new(text: impl Into<String>, turn: TurnId) -> Item {
        Item { text: text.into(), turns: vec![turn], file: None }
    }
}

/// The longest text of one item: about three lines of a terminal.
pub const LONGEST_ITEM: usize = 400;

/// What became of a file.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, Debug)]
#[serde(rename_all = "kebab-case")]
pub enum Touch {
    Read,
    Changed,
    Created,
    Deleted,
}

/// A file a tool read or changed.
#[derive(Clone, PartialEq, Eq, Serialize, Deserialize, Debug)]
pub struct TouchedFile {
    /// Relative to the project where it lies in it, else as the tool was given it.
    pub path: String,
    /// The strongest thing that was done to it.
    pub touch: Touch,
    /// The newest of them, oldest first.
    pub turns: Vec<TurnId>,
}

/// Memory somebody's words suggest; becomes a proposal, never memory by itself.
#[derive(Clone, PartialEq, Eq, Serialize, Deserialize, Debug)]
pub struct Proposed {
    pub title: String,
    pub text: String,
    /// `fact`, `procedure`, `blocker`, `reference`: knowledge of the project (R9.5 leaves preferences to the prompts).
    pub class: String,
    pub turns: Vec<TurnId>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub file: Option<String>,
}

/// The structured part of a node. Lists are in the order of telling; the most important of each survive a budget first
/// from the end (newest), except constraints, which are as old as they are.
#[derive(Clone, PartialEq, Eq, Serialize, Deserialize, Debug, Default)]
#[serde(default)]
pub struct Distillate {
    /// What the user is after now.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub goal: Option<Item>,
    /// Directives and preferences, in the user's words only.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub constraints: Vec<Item>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub done: Vec<Item>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub in_progress: Vec<Item>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub blocked: Vec<Item>,
    /// Statements of choice.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub decisions: Vec<Item>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub files: Vec<TouchedFile>,
    /// Unresolved requests, promises, failures, questions.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub open_loops: Vec<Item>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub next_steps: Vec<Item>,
    /// Error messages, commands, names and numbers the next one will need.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub context: Vec<Item>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub proposals: Vec<Proposed>,
}

impl Distillate {
    pub fn is_empty(&self) -> bool {
        *self == Distillate::default()
    }

    /// Every list of items with its name in the schema, in the order of a handoff; the goal stands first.
    pub fn lists(&self) -> [(&'static str, &[Item]); 9] {
        [
            ("goal", self.goal.as_slice()),
            ("constraints", &self.constraints),
            ("done", &self.done),
            ("in_progress", &self.in_progress),
            ("blocked", &self.blocked),
            ("decisions", &self.decisions),
            ("open_loops", &self.open_loops),
            ("next_steps", &self.next_steps),
            ("context", &self.context),
        ]
    }

    /// Keeps the items of which `stays` says so; items that lose all their turns do not call for it.
    pub fn retain(&mut self, mut stays: impl FnMut(&Item) -> bool) {
        self.goal = self.goal.take().filter(|i| stays(i));
        for list in [
            &mut self.constraints,
            &mut self.done,
            &mut self.in_progress,
            &mut self.blocked,
            &mut self.decisions,
            &mut self.open_loops,
            &mut self.next_steps,
            &mut self.context,
        ] {
            list.retain(|i| stays(i));
        }
    }

    /// All turns any item names.
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
