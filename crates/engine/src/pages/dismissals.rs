//! Lines a person removed from a rendered page: their items stay off the page until they change (D2).

use std::collections::HashMap;

use rusqlite::params;

use super::PageKey;
use crate::error::Result;
use crate::home::Digest;
use crate::ledger::{Read, Write};
use crate::scope::AgentNo;

/// Keeps an item off a page as long as its digest is `digest`.
pub(crate) fn dismiss(tx: &Write, agent_no: AgentNo, page: &PageKey, item: &str, digest: &Digest) -> Result<()> {
    tx.prepare_cached(
        "INSERT INTO dismissals (agent_no, head, item, digest, at) VALUES (?1, ?2, ?3, ?4, ?5)
         ON CONFLICT (agent_no, head, item) DO UPDATE SET digest = excluded.digest, at = excluded.at",
    )?
    .execute(params![agent_no, page, item, digest.as_slice(), tx.now()])?;
    Ok(())
}

/// Returns the items dismissed from a page, with the digest each was dismissed with.
pub(crate) fn of(tx: &Read, agent_no: AgentNo, page: &PageKey) -> Result<HashMap<String, Digest>> {
    let mut statement = tx.prepare_cached("SELECT item, digest FROM dismissals WHERE agent_no = ?1 AND head = ?2")?;
    let rows = statement.query_map(params![agent_no, page], |r| {
        Ok((r.get::<_, String>(0)?, Digest::try_from(r.get::<_, Vec<u8>>(1)?).unwrap_or_default()))
    })?;
    Ok(rows.collect::<rusqlite::Result<_>>()?)
}

/// Whether an item with this digest was dismissed from a page.
pub(crate) fn is_dismissed(tx: &Read, agent_no: AgentNo, page: &PageKey, item: &str, digest: &Digest) -> Result<bool> {
    Ok(tx
        .prepare_cached("SELECT 1 FROM dismissals WHERE agent_no = ?1 AND head = ?2 AND item = ?3 AND digest = ?4")?
        .exists(params![agent_no, page, item, digest.as_slice()])?)
}

/// Deletes the dismissals of an item that was forgotten.
pub(crate) fn forget(tx: &Write, agent_no: AgentNo, item: &str) -> Result<()> {
    tx.prepare_cached("DELETE FROM dismissals WHERE agent_no = ?1 AND item = ?2")?.execute(params![agent_no, item])?;
    Ok(())
}
