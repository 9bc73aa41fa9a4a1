//! The operator profile: facts the agent may assume about its user (R9.5). Stored in the ledger. Storey 2.
//!
//! Values are set only by the user, or when the user confirms a notice. The profile is independent of memory leaves.

use rusqlite::{OptionalExtension, params};
use schemars::JsonSchema;
use serde::Serialize;

use crate::clock::{self, Millis};
use crate::error::{Error, Result};
use crate::ledger::{Read, Write};
use crate::pages::{self, Happened};
use crate::redact;
use crate::scope::AgentNo;
use crate::tree::AssistantHome;

/// The predefined keys and their purpose.
pub const KNOWN: &[(&str, &str)] = &[
    ("name", "what to call you"),
    ("pronouns", "how to speak of you"),
    ("language", "the language to answer in"),
    ("timezone", "whose days the daily notes are: Europe/Berlin"),
    ("location", "where you are"),
    ("role", "what you do"),
    ("organization", "whom you do it with"),
];

const LONGEST_VALUE: usize = 500;

/// One entry of the profile.
#[derive(Clone, PartialEq, Eq, Serialize, JsonSchema, Debug)]
pub struct Value {
    pub key: String,
    pub value: String,
    /// Origin of the value: `user`, `prompt`.
    pub source: String,
    #[schemars(with = "String")]
    #[serde(rename = "set", serialize_with = "clock::as_rfc3339")]
    pub set_at: Millis,
}

/// Returns the whole profile: predefined keys first, in their order, then the others by name.
pub fn show(tx: &Read, agent_no: AgentNo) -> Result<Vec<Value>> {
    let mut statement =
        tx.prepare_cached("SELECT key, value, source, set_at FROM profile WHERE agent_no = ?1 ORDER BY key")?;
    let rows = statement.query_map([agent_no], |r| {
        Ok(Value { key: r.get(0)?, value: r.get(1)?, source: r.get(2)?, set_at: r.get(3)? })
    })?;
    let mut all: Vec<Value> = rows.collect::<rusqlite::Result<_>>()?;
    all.sort_by_key(|v| KNOWN.iter().position(|(k, _)| *k == v.key).unwrap_or(KNOWN.len()));
    Ok(all)
}

/// Sets a value. Returns whether it changed.
pub fn set(at: &AssistantHome, key: &str, value: &str, source: &str) -> Result<bool> {
    let (key, value) = (sound_key(key)?, sound_value(key, value)?);
    if at.read(|tx| get(tx, at.agent_no, &key))?.as_deref() == Some(&value) {
        return Ok(false);
    }
    at.write("profile.set", |tx| {
        tx.note("key", key.as_str());
        put(tx, at.agent_no, &key, &value, source)
    })?;
    Ok(true)
}

/// Sets a value like [`set`], inside a transaction.
pub fn set_in(tx: &Write, agent_no: AgentNo, key: &str, value: &str, source: &str) -> Result<()> {
    let (key, value) = (sound_key(key)?, sound_value(key, value)?);
    put(tx, agent_no, &key, &value, source)
}

/// Removes a value.
pub fn unset(at: &AssistantHome, key: &str) -> Result<()> {
    let key = sound_key(key)?;
    at.write("profile.unset", |tx| {
        tx.note("key", key.as_str());
        let gone = tx
            .prepare_cached("DELETE FROM profile WHERE agent_no = ?1 AND key = ?2")?
            .execute(params![at.agent_no, key])?;
        if gone > 0 {
            mark(tx, at.agent_no, &key)?;
        }
        if gone == 0 {
            return Err(Error::not_found(format!("the profile says nothing about {key}")).hint("see ⟨profile show⟩"));
        }
        Ok(())
    })
}

/// Returns one value.
pub fn get(tx: &Read, agent_no: AgentNo, key: &str) -> Result<Option<String>> {
    Ok(tx
        .prepare_cached("SELECT value FROM profile WHERE agent_no = ?1 AND key = ?2")?
        .query_row(params![agent_no, key], |r| r.get(0))
        .optional()?)
}

fn put(tx: &Write, agent_no: AgentNo, key: &str, value: &str, source: &str) -> Result<()> {
    tx.prepare_cached(
        "INSERT INTO profile (agent_no, key, value, source, set_at) VALUES (?1, ?2, ?3, ?4, ?5)
         ON CONFLICT (agent_no, key) DO UPDATE SET value = excluded.value, source = excluded.source, set_at = excluded.set_at",
    )?
    .execute(params![agent_no, key, value, source, tx.now()])?;
    mark(tx, agent_no, key)
}

/// Marks the pages that show a value.
fn mark(tx: &Write, agent_no: AgentNo, key: &str) -> Result<()> {
    if key == "timezone" {
        pages::mark(tx, agent_no, &Happened::ZoneMoved)?;
    }
    pages::mark(tx, agent_no, &Happened::MemoryChanged { workspace: None })
}

/// Restores a value to the state before a confirmation that is now undone; `None`: there was no value. A value that was
/// changed since stays, and the result is `false`.
pub fn restore_in(tx: &Write, agent_no: AgentNo, key: &str, set: &str, before: Option<&str>) -> Result<bool> {
    if get(tx, agent_no, key)?.as_deref() != Some(set) {
        return Ok(false);
    }
    match before {
        Some(before) => put(tx, agent_no, key, before, "user")?,
        None => {
            tx.prepare_cached("DELETE FROM profile WHERE agent_no = ?1 AND key = ?2")?
                .execute(params![agent_no, key])?;
            mark(tx, agent_no, key)?;
        }
    }
    Ok(true)
}

/// Normalises a key; refuses an invalid one.
pub fn sound_key(key: &str) -> Result<String> {
    let key = key.trim().to_ascii_lowercase();
    let plain = |b: u8| b.is_ascii_lowercase() || b.is_ascii_digit() || b == b'_' || b == b'-';
    if (1..=41).contains(&key.len()) && key.as_bytes()[0].is_ascii_lowercase() && key.bytes().all(plain) {
        return Ok(key);
    }
    let shown: String = key.chars().take(50).collect();
    let names: Vec<&str> = KNOWN.iter().map(|(k, _)| *k).collect();
    Err(Error::usage(format!("{shown:?} is no key of the profile"))
        .hint(format!("{}, or one of your own: a letter, then at most 40 of a-z, 0-9, _ and -", names.join(", "))))
}

/// Normalises a value; refuses one that is invalid for this key.
pub fn sound_value(key: &str, value: &str) -> Result<String> {
    let value = value.trim();
    let wrong = |what: String| Error::usage(what);
    if value.is_empty() {
        return Err(wrong(format!("{key} is empty")).hint(format!("to take it out: ⟨profile unset {key}⟩")));
    }
    if value.chars().any(|c| c.is_control() || matches!(c, '\u{2028}' | '\u{2029}')) {
        return Err(wrong(format!("{key} must be one line"))
            .hint("what needs more is a memory: ⟨remember \"…\" --class identity⟩"));
    }
    if value.chars().count() > LONGEST_VALUE {
        return Err(wrong(format!("{key} is longer than {LONGEST_VALUE} characters"))
            .hint("what needs more is a memory: ⟨remember \"…\" --class identity⟩"));
    }
    if !redact::spans(value).is_empty() {
        return Err(Error::refused(format!("{key} looks like a credential"))
            .hint("nothing was stored; the profile goes into every session"));
    }
    if key.trim().eq_ignore_ascii_case("timezone") && crate::zone::named(value).is_none() {
        return Err(
            wrong(format!("{value:?} is no time zone")).hint("give its name: Europe/Berlin, America/New_York, UTC")
        );
    }
    Ok(value.to_owned())
}
