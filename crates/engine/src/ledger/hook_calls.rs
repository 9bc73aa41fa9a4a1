//! Which calls of hooks are stored: a call that reaches the ledger twice, over the service and from the spool, is stored
//! once (R12.5).

use rusqlite::params;

use crate::clock::Millis;
use crate::error::Result;
use crate::ledger::{Read, Write};
use crate::program::HookId;

/// How long a call is known. A spool that is older belongs to a machine that was off, and is stored before anything is
/// forgotten.
const KNOWN_MS: Millis = 24 * 60 * 60 * 1000;

/// Whether the call is stored.
pub fn is_known(tx: &Read, id: HookId) -> Result<bool> {
    Ok(tx.prepare_cached("SELECT 1 FROM hook_calls WHERE hook_id = ?1")?.exists([id.bytes()])?)
}

/// Stores that the call is stored. `false`: it was.
pub fn store(tx: &Write, id: HookId) -> Result<bool> {
    let new = tx
        .prepare_cached("INSERT INTO hook_calls (hook_id, at) VALUES (?1, ?2) ON CONFLICT DO NOTHING")?
        .execute(params![id.bytes(), tx.now()])?;
    Ok(new > 0)
}

/// Forgets calls of more than a day ago.
pub fn prune(tx: &Write) -> Result<()> {
    tx.execute("DELETE FROM hook_calls WHERE at < ?1", [tx.now() - KNOWN_MS])?;
    Ok(())
}
