//! Ids of hook calls that are stored: a call that reaches the ledger twice, over the service and from the spool, is
//! stored once (R12.5).

use rusqlite::params;

use crate::clock::Millis;
use crate::error::Result;
use crate::ledger::{Read, Write};
use crate::program::HookId;

/// Time in milliseconds for which the id of a call is kept. A spool that is older comes from a machine that was off,
/// and is stored before any id is pruned.
const KNOWN_MS: Millis = 24 * 60 * 60 * 1000;

/// Whether a call with this id was stored before.
pub fn is_known(tx: &Read, id: HookId) -> Result<bool> {
    Ok(tx.prepare_cached("SELECT 1 FROM hook_calls WHERE hook_id = ?1")?.exists([id.bytes()])?)
}

/// Records the id of a call. Returns `false` if the call was recorded before.
pub fn store(tx: &Write, id: HookId) -> Result<bool> {
    let new = tx
        .prepare_cached("INSERT INTO hook_calls (hook_id, at) VALUES (?1, ?2) ON CONFLICT DO NOTHING")?
        .execute(params![id.bytes(), tx.now()])?;
    Ok(new > 0)
}

/// Deletes the ids of calls older than [`KNOWN_MS`].
pub fn prune(tx: &Write) -> Result<()> {
    tx.execute("DELETE FROM hook_calls WHERE at < ?1", [tx.now() - KNOWN_MS])?;
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::clock::Clock;
    use crate::ledger::{Audit, Ledger, Open};

    #[test]
    fn a_call_is_stored_once_and_its_id_is_known_for_a_day() {
        let folder = tempfile::tempdir().unwrap();
        let at = |now| {
            Ledger::open(&folder.path().join("runtime.db"), folder.path(), Clock::Fixed(now), Open::Full).unwrap()
        };
        let write = |ledger: &Ledger, id| ledger.write(Audit::new("test", "test.hook"), |tx| store(tx, id)).unwrap();
        let known = |ledger: &Ledger, id| ledger.read(|tx| is_known(tx, id)).unwrap();
        let (first, second) = (HookId::new(), HookId::new());
        let ledger = at(5);
        assert!(!known(&ledger, first));
        assert!(write(&ledger, first));
        assert!(known(&ledger, first) && !known(&ledger, second));
        assert!(!write(&ledger, first), "it is stored");
        drop(ledger);
        for (now, stays) in [(5 + KNOWN_MS, true), (6 + KNOWN_MS, false)] {
            let ledger = at(now);
            write(&ledger, second);
            ledger.write(Audit::new("test", "test.prune"), |tx| prune(tx)).unwrap();
            assert_eq!((known(&ledger, first), known(&ledger, second)), (stays, true), "{now}");
        }
    }
}
