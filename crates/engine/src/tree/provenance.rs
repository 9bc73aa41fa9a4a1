//! The provenance of an item: who stated it, in which conversation and in which turns (R8.2, R9.2).

use schemars::JsonSchema;
use serde::Serialize;
use serde_json::{Map, Value, json};

use crate::scope::{TurnId, named};

named! {
    /// Origin of an item's content.
    #[derive(Default)]
    pub enum Origin {
        /// A person told Heirloom directly.
        #[default]
        User = "user",
        /// A person stated it in a conversation.
        Prompt = "prompt",
        /// A program submitted it.
        Program = "program",
        /// A person wrote it into a rendered page or a file.
        Hand = "hand",
        /// It was distilled from turns.
        Distilled = "distilled",
    }
}

impl Origin {
    /// Returns the default confidence of an item of this origin: a statement a person makes to Heirloom directly is
    /// certain, anything noticed or submitted may be wrong.
    pub fn confidence(self) -> f64 {
        match self {
            Origin::User | Origin::Hand => 1.0,
            Origin::Prompt => 0.9,
            Origin::Program | Origin::Distilled => 0.8,
        }
    }
}

/// The `source` of an item's front matter.
#[derive(Clone, PartialEq, Eq, Serialize, JsonSchema, Debug, Default)]
pub struct Provenance {
    #[serde(rename = "type")]
    pub origin: Origin,
    pub session: Option<String>,
    pub turns: Vec<TurnId>,
    /// The id of a lineage node.
    pub node: Option<String>,
    /// The language model that found the item, if nothing else did: `claude/haiku`.
    pub model: Option<String>,
}

impl Provenance {
    pub fn to_value(&self) -> Value {
        let mut map = Map::new();
        map.insert("type".into(), self.origin.name().into());
        if let Some(session) = &self.session {
            map.insert("session".into(), session.as_str().into());
        }
        if !self.turns.is_empty() {
            map.insert("turns".into(), json!(self.turns.iter().map(TurnId::to_string).collect::<Vec<_>>()));
        }
        if let Some(node) = &self.node {
            map.insert("node".into(), node.as_str().into());
        }
        if let Some(model) = &self.model {
            map.insert("model".into(), model.as_str().into());
        }
        Value::Object(map)
    }

    /// Reads the provenance from a file's front matter; unreadable parts are left out.
    pub fn from_value(value: Option<&Value>) -> Provenance {
        let text = |key: &str| value.and_then(|v| v.get(key)).and_then(Value::as_str);
        let turns = value.and_then(|v| v.get("turns")).and_then(Value::as_array);
        Provenance {
            origin: text("type").and_then(Origin::named).unwrap_or_default(),
            session: text("session").map(str::to_owned),
            turns: turns.into_iter().flatten().filter_map(|t| TurnId::parse(t.as_str()?)).collect(),
            node: text("node").map(str::to_owned),
            model: text("model").map(str::to_owned),
        }
    }
}
