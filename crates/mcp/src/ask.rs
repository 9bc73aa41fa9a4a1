//! Arguments of the tools, checked; a wrong argument gives an error in one sentence.

use heirloom_engine::error::{Error, Result};
use rmcp::model::JsonObject;
use serde::Deserialize;
use serde::de::DeserializeOwned;

/// Parses the arguments of a tool. `Usage` names the wrong argument and the tool.
pub fn arguments<T: DeserializeOwned>(tool: &str, given: Option<JsonObject>) -> Result<T> {
    serde_json::from_value(serde_json::Value::Object(given.unwrap_or_default()))
        .map_err(|e| Error::usage(format!("{tool}: {e}")).hint(format!("call {tool} with the arguments of its schema")))
}

#[derive(Deserialize)]
pub struct Recall {
    pub question: String,
    pub budget: Option<u64>,
    #[serde(default)]
    pub everywhere: bool,
}

#[derive(Deserialize)]
pub struct Search {
    pub query: String,
    pub since: Option<String>,
    pub until: Option<String>,
    pub program: Option<String>,
    pub role: Option<String>,
    pub workspace: Option<String>,
    pub kind: Option<Found>,
    pub limit: Option<usize>,
    pub cursor: Option<String>,
}

#[derive(Deserialize, PartialEq, Clone, Copy)]
#[serde(rename_all = "kebab-case")]
pub enum Found {
    Turn,
    File,
}

#[derive(Deserialize)]
pub struct Open {
    pub id: String,
    #[serde(default)]
    pub view: View,
    pub cursor: Option<String>,
    pub budget: Option<u64>,
}

/// Level of detail at which a reference is shown.
#[derive(Deserialize, Default, Clone, Copy, PartialEq)]
#[serde(rename_all = "kebab-case")]
pub enum View {
    #[default]
    Summary,
    Words,
    Around,
    Raw,
}

#[derive(Deserialize)]
pub struct Work {
    pub thread: Option<String>,
}

#[derive(Deserialize)]
pub struct Sessions {
    pub since: Option<String>,
    pub workspace: Option<String>,
    pub limit: Option<usize>,
    pub cursor: Option<String>,
}

#[derive(Deserialize)]
pub struct Remember {
    pub text: String,
    pub class: Option<String>,
    pub about: Option<String>,
}

#[derive(Deserialize)]
pub struct Loops {
    pub action: Act,
    pub title: Option<String>,
    pub id: Option<String>,
    pub note: Option<String>,
}

#[derive(Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Act {
    List,
    Add,
    Resolve,
}

/// Returns the token budget of an answer, within the allowed range.
pub fn budget(asked: Option<u64>) -> usize {
    usize::try_from(asked.unwrap_or(1_200).clamp(300, 4_000)).unwrap_or(1_200)
}

/// Parses a cursor, which is the count at which a page begins.
pub fn start(cursor: Option<&str>) -> Result<usize> {
    let Some(cursor) = cursor else { return Ok(0) };
    let number = cursor.parse().ok().filter(|n| *n <= 10_000);
    number.ok_or_else(|| {
        Error::usage("this cursor is from no earlier answer").hint("leave it out, or use the one after `next:`")
    })
}
