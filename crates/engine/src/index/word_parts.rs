//! Stores words by their parts, so that a query finds the words that contain one of its own: `refund` is in
//! `refundTwice`, `Vorlage` in `Rechnungsvorlage`. The full-text engine knows only whole words and prefixes, and
//! indexing the pieces in its rows would make every list longer; so each such word is kept once per agent.
//!
//! A camelCase word is kept by each of its parts, a long word of prose by its letters in reverse, so that its endings
//! are a range of keys.

use std::collections::HashSet;
use std::hash::{BuildHasher, RandomState};

use rusqlite::{Connection, params};

use super::Index;
use super::rows::{Doc, RowId};
use crate::error::Result;
use crate::event::TurnKind;
use crate::scope::AgentNo;
use crate::text::indexed::fold;
use crate::text::words::{humps, runs};

pub(super) const SCHEMA: &str = "CREATE TABLE word_parts (
  agent_no INTEGER NOT NULL, part TEXT NOT NULL, word TEXT NOT NULL, PRIMARY KEY (agent_no, part, word)
) STRICT, WITHOUT ROWID;";

/// Least length of a word of prose that is kept; a shorter one is no compound worth keeping.
const LONG: usize = 9;

/// Largest length of a word; a longer one is encoded data.
const LONGEST: usize = 40;

/// Least length of a part, because a shorter part is in too many words; and the largest number of parts, because a name
/// hardly has more.
const PART: usize = 4;
const MOST_PARTS: usize = 6;

/// Largest number of words returned of each sort.
const MOST: usize = 8;

/// Marks the reversed letters of a whole word.
const REVERSED: char = '~';

/// The words that the open transaction has already stored.
#[derive(Default)]
pub(super) struct Stored {
    hashes: HashSet<u64>,
    state: RandomState,
}

impl Stored {
    pub(super) fn clear(&mut self) {
        self.hashes.clear();
    }
}

/// Stores the words of a turn by their parts.
pub(super) fn insert(conn: &Connection, doc: &Doc, stored: &mut Stored) -> Result<()> {
    let mut statement =
        conn.prepare_cached("INSERT OR IGNORE INTO word_parts (agent_no, part, word) VALUES (?1, ?2, ?3)")?;
    of(doc, stored, |part, word| Ok(statement.execute(params![doc.agent_no, part, word]).map(|_| ())?))
}

/// Whether a part of a word of a turn is not stored.
pub(super) fn lacks(conn: &Connection, doc: &Doc, looked: &mut Stored) -> Result<bool> {
    let mut statement =
        conn.prepare_cached("SELECT 1 FROM word_parts WHERE agent_no = ?1 AND part = ?2 AND word = ?3")?;
    let mut lacks = false;
    of(doc, looked, |part, word| {
        lacks |= !statement.exists(params![doc.agent_no, part, word])?;
        Ok(())
    })?;
    Ok(lacks)
}

/// Calls `each` with the keys of every word of a turn that is not yet in `known`: a part and its word, or the letters of
/// a word in reverse and nothing.
fn of(doc: &Doc, known: &mut Stored, mut each: impl FnMut(&str, &str) -> Result<()>) -> Result<()> {
    let prose = doc.kind == TurnKind::Message;
    for (_, word) in runs(doc.text, &[]) {
        let fits = (2 * PART..=LONGEST).contains(&word.len())
            && known.hashes.insert(known.state.hash_one((doc.agent_no, word)));
        if !fits || !word.chars().all(char::is_alphabetic) {
            continue;
        }
        let parts = humps(word);
        if parts.len() > 1 {
            if parts.len() <= MOST_PARTS && word.bytes().any(|b| b.is_ascii_lowercase()) {
                for part in parts.iter().filter(|part| part.len() >= PART) {
                    each(&part.to_lowercase(), &word.to_lowercase())?;
                }
            }
        } else if prose && word.chars().count() >= LONG {
            each(&reversed(&word.to_lowercase()), "")?;
        }
    }
    Ok(())
}

fn reversed(word: &str) -> String {
    std::iter::once(REVERSED).chain(word.chars().rev()).collect()
}

impl Index {
    /// Returns words of an agent's turns that contain a lower-case word, without the word itself: camelCase words of
    /// which it is a part, and longer words that end in it.
    pub fn words_with(&self, agent_no: AgentNo, word: &str) -> Result<Vec<String>> {
        let mut of_parts = self
            .connection()
            .prepare_cached("SELECT word FROM word_parts WHERE agent_no = ?1 AND part = ?2 LIMIT ?3")?;
        let rows = of_parts.query_map(params![agent_no, word, MOST as i64], |r| r.get(0))?;
        let mut found: Vec<String> = rows.collect::<rusqlite::Result<_>>()?;
        let first = reversed(word);
        let after = format!("{first}\u{10ffff}");
        let mut of_ends = self
            .connection()
            .prepare_cached("SELECT part FROM word_parts WHERE agent_no = ?1 AND part > ?2 AND part < ?3 LIMIT ?4")?;
        let rows = of_ends.query_map(params![agent_no, first, after, MOST as i64], |r| r.get::<_, String>(0))?;
        for part in rows {
            found.push(part?.chars().skip(1).collect::<Vec<_>>().into_iter().rev().collect());
        }
        Ok(found)
    }

    /// Removes the words that are in no turn any more.
    pub(super) fn sweep_word_parts(&self) -> Result<()> {
        let mut delete =
            self.connection().prepare("DELETE FROM word_parts WHERE agent_no = ?1 AND part = ?2 AND word = ?3")?;
        for (agent_no, part, word) in self.words_of_no_turn()? {
            delete.execute(params![agent_no, part, word])?;
        }
        Ok(())
    }

    /// Returns the stored keys whose word is in no turn, each as agent, part and word.
    pub(super) fn words_of_no_turn(&self) -> Result<Vec<(AgentNo, String, String)>> {
        let conn = self.connection();
        let mut all = conn.prepare("SELECT agent_no, part, word FROM word_parts")?;
        let mut has = conn.prepare("SELECT 1 FROM fts WHERE fts MATCH ?1 AND rowid BETWEEN ?2 AND ?3 LIMIT 1")?;
        let mut gone = Vec::new();
        let mut rows = all.query([])?;
        while let Some(r) = rows.next()? {
            let (agent_no, part, word): (AgentNo, String, String) = (r.get(0)?, r.get(1)?, r.get(2)?);
            let whole = match word.is_empty() {
                true => part.chars().skip(1).collect::<Vec<_>>().into_iter().rev().collect(),
                false => word.clone(),
            };
            let (first, last) = RowId::range(agent_no, 0, i64::MAX);
            // The index has scripts without spaces in single characters.
            if !has.exists(params![format!("text : \"{}\"", fold(&whole).replace('"', "\"\"")), first, last])? {
                gone.push((agent_no, part, word));
            }
        }
        Ok(gone)
    }
}
