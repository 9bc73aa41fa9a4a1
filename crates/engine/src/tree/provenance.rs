//! The provenance of an item: who stated it, in which conversation and in which turns (R8.2, R9.2).

use serde::Serialize;
use serde_json::{Map, Value, json};

use crate::scope::TurnId;

/// Where the content of an item came from.
#[derive(Clone, Copy, PartialEq, Eq, Serialize, Debug, Default)]
#[serde(rename_all = "lowercase")]
pub enum Origin {
    /// A person told Heirloom directly.
    #[default]
    User,
    /// A person stated it in a conversation.
    Prompt,
    /// A program submitted it.
    Program,
    /// A person wrote it into a rendered page or a file.
    Hand,
    /// It was distilled from turns.
    Distilled,
}

impl Origin {
    pub fn name(self) -> &'static str {
        match self {
            Origin::User => "user",
            Origin::Prompt => "prompt",
            Origin::Program => "program",
            Origin::Hand => "hand",
            Origin::Distilled => "distilled",
        }
    }

    /// The default confidence of an item of this origin: what a person tells Heirloom directly is certain, what was
    /// noticed or submitted may be wrong.
    pub fn confidence(self) -> f64 {
        match self {
            Origin::User | Origin::Hand => 1.0,
            Origin::Prompt => 0.9,
            Origin::Program | Origin::Distilled => 0.8,
        }
    }

    pub fn parse(name: &str) -> Option<Origin> {
        [Origin::User, Origin::Prompt, Origin::Program, Origin::Hand, Origin::Distilled]
            .into_iter()
            .find(|o| o.name() == name)
    }
}

/// The `source` of an item's front matter.
#[derive(Clone, PartialEq, Eq, Serialize, Debug, Default)]
pub struct Provenance {
    #[serde(rename = "type")]
    pub origin: Origin,
    pub session: Option<String>,
    pub turns: Vec<TurnId>,
    /// The id of a lineage node.
    pub node: Option<String>,
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
        Value::Object(map)
    }

    /// Reads the provenance from a file's front matter; unreadable parts are left out.
    pub fn from_value(value: Option<&Value>) -> Provenance {
        let text = |key: &str| value.and_then(|v| v.get(key)).and_then(Value::as_str);
        let turns = value.and_then(|v| v.get("turns")).and_then(Value::as_array);
        Provenance {
            origin: text("type").and_then(Origin::parse).unwrap_or_default(),
            session: text("session").map(str::to_owned),
            turns: turns.into_iter().flatten().filter_map(|t| TurnId::parse(t.as_str()?)).collect(),
            node: text("node").map(str::to_owned),
        }
    }
}
