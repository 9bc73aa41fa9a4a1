//! Tombstones: digests of forgotten texts, which no program may store again. Each row has a digest under a random key
//! of its own, so that the row does not reveal the text to a reader of the ledger; one can only test a given text
//! against it.

use rusqlite::params;

use super::leaf::lowered;
use super::{Class, Scope};
use crate::error::{Error, ErrorKind, Result};
use crate::ledger::{Read, Write};
use crate::scope::{AgentNo, TombstoneNo};

const KEY: usize = 16;

fn digest(key: &[u8], class: Class, scope: &Scope, text: &str) -> [u8; KEY] {
    let mut wide = [0u8; 32];
    for (to, from) in wide.iter_mut().zip(key.iter().chain(key)) {
        *to = *from;
    }
    let full = blake3::keyed_hash(&wide, format!("{class}\0{scope}\0{}", lowered(text)).as_bytes());
    let mut out = [0u8; KEY];
    out.copy_from_slice(&full.as_bytes()[..KEY]);
    out
}

/// Records that a text is forgotten. `item` and `folder` say where it was, without its words.
pub(super) fn put(
    tx: &Write,
    agent_no: AgentNo,
    (class, scope): (Class, &Scope),
    text: &str,
    (item, folder): (&str, &str),
) -> Result<()> {
    if lowered(text).is_empty() || !of(tx, agent_no, class, scope, text)?.is_empty() {
        return Ok(());
    }
    let mut key = [0u8; KEY];
    getrandom::fill(&mut key)
        .map_err(|e| Error::new(ErrorKind::Machine, "the system gives no random bytes").because(e.to_string()))?;
    tx.prepare_cached(
        "INSERT INTO tombstones (agent_no, item, path, key, digest, at) VALUES (?1, ?2, ?3, ?4, ?5, ?6)",
    )?
    .execute(params![agent_no, item, folder, key, digest(&key, class, scope, text), tx.now()])?;
    Ok(())
}

/// Returns the tombstones of a text; empty if the text was not forgotten.
pub(super) fn of(tx: &Read, agent_no: AgentNo, class: Class, scope: &Scope, text: &str) -> Result<Vec<TombstoneNo>> {
    let mut statement = tx.prepare_cached("SELECT tombstone_no, key, digest FROM tombstones WHERE agent_no = ?1")?;
    let mut rows = statement.query([agent_no])?;
    let mut found = Vec::new();
    while let Some(r) = rows.next()? {
        let (key, stored): (Vec<u8>, Vec<u8>) = (r.get(1)?, r.get(2)?);
        if digest(&key, class, scope, text).as_slice() == stored {
            found.push(r.get(0)?);
        }
    }
    Ok(found)
}

/// Removes tombstones, because a person stated the text again.
pub(super) fn lift(tx: &Write, agent_no: AgentNo, tombstones: &[TombstoneNo]) -> Result<()> {
    let mut statement = tx.prepare_cached("DELETE FROM tombstones WHERE agent_no = ?1 AND tombstone_no = ?2")?;
    for no in tombstones {
        statement.execute(params![agent_no, no])?;
    }
    Ok(())
}
