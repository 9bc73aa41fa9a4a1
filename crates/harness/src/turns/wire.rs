//! A line of the plain format, as documented for other programs.

use serde::Deserialize;

use crate::lines::{List, Str, Whole};

/// `{session, id, time, speaker, role, text, workspace?, thread?, participants?}`, and optional fields.
#[derive(Deserialize)]
pub(super) struct Line<'a> {
    #[serde(default, borrow)]
    pub session: Str<'a>,
    #[serde(default, borrow)]
    pub text: Str<'a>,
    #[serde(default, borrow)]
    pub id: Id<'a>,
    #[serde(default, borrow)]
    pub time: Id<'a>,
    #[serde(default, borrow)]
    pub speaker: Str<'a>,
    #[serde(default, borrow)]
    pub role: Str<'a>,
    #[serde(default, borrow)]
    pub workspace: Str<'a>,
    #[serde(default, borrow)]
    pub thread: Str<'a>,
    #[serde(default, borrow)]
    pub participants: List<Str<'a>>,
    #[serde(default, borrow)]
    pub tool: Str<'a>,
    #[serde(default, borrow)]
    pub call: Str<'a>,
    #[serde(default, borrow)]
    pub model: Str<'a>,
    #[serde(default, borrow)]
    pub parent: Id<'a>,
    #[serde(default, borrow)]
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

    /// The id as text.
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
