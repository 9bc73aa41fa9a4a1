//! The operator's profile as pages and contexts show it (R9.5). Every session is given it.

use super::page::{line, short};
use crate::error::Result;
use crate::ledger::Read;
use crate::profile::{self, Value};
use crate::redact::redact;
use crate::scope::AgentNo;

/// Largest number of values shown, and largest length of each in characters, because every session is given the
/// profile.
const MOST: usize = 16;
const LONGEST: usize = 200;

/// The heading above the values.
pub const TITLE: &str = "Profile";

/// Returns a line for each value: `- Language to answer in: German`.
pub fn lines(tx: &Read, agent_no: AgentNo) -> Result<Vec<String>> {
    let values = profile::show(tx, agent_no)?;
    Ok(values.iter().take(MOST).map(of_value).collect())
}

fn of_value(v: &Value) -> String {
    let label = match v.key.as_str() {
        "language" => "Language to answer in".to_owned(),
        "timezone" => "Time zone".to_owned(),
        key => {
            let mut letters = key.chars();
            let first: String = letters.next().map(|c| c.to_uppercase().collect()).unwrap_or_default();
            format!("{first}{}", letters.as_str().replace(['_', '-'], " "))
        }
    };
    format!("- {label}: {}\n", short(&line(&redact(&v.value)), LONGEST))
}
