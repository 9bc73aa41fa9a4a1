//! A line of the plain format, as documented for other programs.

use serde::Deserialize;

use crate::lines::{List, Str, Whole};

/// `{session, id, time, speaker, role, text, workspace?, thread?, participants?}`, and optional fields.
#[derive(Deserialize, Default)]
#[serde(default, bound(deserialize = "'de: 'a"))]
pub(super) struct Line<'a> {
    pub session: Str<'a>,
    pub text: Str<'a>,
    pub id: Id<'a>,
    pub time: Id<'a>,
    pub speaker: Str<'a>,
    pub role: Str<'a>,
    pub workspace: Str<'a>,
    pub thread: Str<'a>,
    pub participants: List<Str<'a>>,
    pub tool: Str<'a>,
    pub call: Str<'a>,
    pub model: Str<'a>,
    pub parent: Id<'a>,
    pub run: Id<'a>,
}

/// A string or a whole number.
#[derive(Default)]
pub(super) struct Id<'a> {
    text: Str<'a>,
    number: Whole,
}

impl Id<'_> {
    pub fn text(&self) -> Option<&str> {
        self.text.filled()
    }

    pub fn number(&self) -> Option<i64> {
        self.number.get()
    }

    /// Returns the id as text.
    pub fn owned(&self) -> Option<String> {
        self.text().map(str::to_owned).or_else(|| self.number().map(|n| n.to_string()))
    }
}

impl<'de: 'a, 'a> Deserialize<'de> for Id<'a> {
    fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Id<'a>, D::Error> {
        let raw = <&serde_json::value::RawValue>::deserialize(deserializer)?;
        let read = |e: serde_json::Error| serde::de::Error::custom(e);
        Ok(Id {
            text: serde_json::from_str(raw.get()).map_err(read)?,
            number: serde_json::from_str(raw.get()).map_err(read)?,
        })
    }
}
