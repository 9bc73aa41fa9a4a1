//! Sources as they were read last: what their file looked like, and each group of their rows.

use rusqlite::{OptionalExtension, params};

use super::prepare::Origin;
use crate::error::Result;
use crate::ledger::{Read, Write};

/// What a group of rows looked like when it was last read whole.
pub(crate) fn group_fingerprint(tx: &Read, origin: &Origin, group: &str) -> Result<Option<String>> {
    let path = std::os::unix::ffi::OsStrExt::as_bytes(origin.path.as_os_str());
    Ok(tx
        .prepare_cached(
            "SELECT fingerprint FROM agents JOIN sources USING (agent_no) JOIN foreign_groups USING (source_no)
             WHERE agent_id = ?1 AND harness = ?2 AND path = ?3 AND group_key = ?4",
        )?
        .query_row(params![origin.agent.as_str(), origin.harness, path, group], |r| r.get(0))
        .optional()?)
}

/// Notes what a group of rows looks like in which nothing was new.
pub(crate) fn remember_group(tx: &Write, origin: &Origin, group: &str, fingerprint: &str) -> Result<()> {
    let path = std::os::unix::ffi::OsStrExt::as_bytes(origin.path.as_os_str());
    tx.execute(
        "INSERT INTO foreign_groups (source_no, group_key, fingerprint)
         SELECT source_no, ?4, ?5 FROM agents JOIN sources USING (agent_no)
         WHERE agent_id = ?1 AND harness = ?2 AND path = ?3
         ON CONFLICT DO UPDATE SET fingerprint = excluded.fingerprint",
        params![origin.agent.as_str(), origin.harness, path, group, fingerprint],
    )?;
    Ok(())
}

/// What the file or database looked like when it was last read to its end.
pub(crate) fn source_stat(tx: &Read, origin: &Origin) -> Result<Option<String>> {
    let path = std::os::unix::ffi::OsStrExt::as_bytes(origin.path.as_os_str());
    let stat: Option<Option<String>> = tx
        .prepare_cached(
            "SELECT stat FROM agents JOIN sources USING (agent_no) WHERE agent_id = ?1 AND harness = ?2 AND path = ?3",
        )?
        .query_row(params![origin.agent.as_str(), origin.harness, path], |r| r.get(0))
        .optional()?;
    Ok(stat.flatten())
}

/// Notes what it looks like now that it was read to its end.
pub(crate) fn remember_stat(tx: &Write, origin: &Origin, stat: &str) -> Result<()> {
    let path = std::os::unix::ffi::OsStrExt::as_bytes(origin.path.as_os_str());
    tx.execute(
        "UPDATE sources SET stat = ?4, seen_at = ?5 WHERE harness = ?2 AND path = ?3
           AND agent_no = (SELECT agent_no FROM agents WHERE agent_id = ?1)",
        params![origin.agent.as_str(), origin.harness, path, stat, tx.now()],
    )?;
    Ok(())
}
