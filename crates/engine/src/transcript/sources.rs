//! The state of sources when they were last read: of files, and of each group of rows.

use rusqlite::{OptionalExtension, params};

use super::prepare::Origin;
use crate::error::Result;
use crate::ledger::{Read, Write};

/// Returns the fingerprint of a group of rows when it was last read completely.
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

/// Stores the fingerprint of a group of rows that contained nothing new.
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

/// Returns the state of the file or database when it was last read to its end.
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

/// Stores the state of a source that was just read to its end.
pub(crate) fn remember_stat(tx: &Write, origin: &Origin, stat: &str) -> Result<()> {
    let path = std::os::unix::ffi::OsStrExt::as_bytes(origin.path.as_os_str());
    tx.execute(
        "UPDATE sources SET stat = ?4, seen_at = ?5 WHERE harness = ?2 AND path = ?3
           AND agent_no = (SELECT agent_no FROM agents WHERE agent_id = ?1)",
        params![origin.agent.as_str(), origin.harness, path, stat, tx.now()],
    )?;
    Ok(())
}
