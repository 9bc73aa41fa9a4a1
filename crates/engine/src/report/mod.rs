//! The answers of verbs, in the form every surface sends them: one serialisable type for each report. Storey 4.
//!
//! `--json` of the command line prints these types, and HTTP and MCP send them; docs/CLI.md lists their fields, and a
//! test compares that list with the types, so that a changed contract shows as a changed file. Text in a report is
//! without credentials. Fields that are not serialised hold what a surface in the same process needs as well, such as
//! the marks around matches. Where a value of a room (a turn, a session, a node, an item after an act) has exactly the
//! fields of the report, it is serialised itself.
//!
//! Times are RFC 3339 in UTC, ids as people see them (`t30`, `n7f3a`, `l:…`), sizes in bytes, shares from 0 to 1.

pub mod channel;
pub mod compact;
pub mod contexts;
pub mod drafts;
pub mod evolve;
pub mod expanded;
pub mod file;
pub mod forget;
pub mod heads;
pub mod hits;
pub mod home;
pub mod import;
pub mod items;
pub mod judge;
pub mod memories;
pub mod model;
pub mod profile;
pub mod recalled;
pub mod review;
pub mod scheduled;
pub mod search;
pub mod sessions;
pub mod status;
pub mod threads;
pub mod turns;
pub mod understood;
pub mod upkeep;
pub mod verify;
pub mod visible;

use schemars::JsonSchema;
use serde::Serialize;

pub(crate) use crate::recall::trace::round;

/// A value, with the agent it belongs to.
#[derive(Clone, PartialEq, Eq, Serialize, JsonSchema, Debug)]
#[schemars(rename = "{T}OfAgent")]
pub struct Of<T> {
    pub agent_id: String,
    #[serde(flatten)]
    pub what: T,
}

impl<T> std::ops::Deref for Of<T> {
    type Target = T;

    fn deref(&self) -> &T {
        &self.what
    }
}

/// Formats a number with thousands separators: `118,204`.
pub fn count(n: u64) -> String {
    let digits = n.to_string();
    let mut out = String::new();
    for (i, c) in digits.chars().enumerate() {
        if i > 0 && (digits.len() - i).is_multiple_of(3) {
            out.push(',');
        }
        out.push(c);
    }
    out
}

/// Formats a number with its noun: `1 session`, `2 sessions`.
pub fn counted(n: u64, noun: &str) -> String {
    format!("{} {noun}{}", count(n), if n == 1 { "" } else { "s" })
}
