//! The table of agents: their numbers, the folder of each agent's files, and whether its first files were written.

use std::ffi::OsString;
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::path::{Path, PathBuf};

use rusqlite::{OptionalExtension, params};

use super::{Read, Write};
use crate::error::Result;
use crate::scope::{AgentId, AgentNo};

/// Returns the number of an agent, adding the agent if the ledger does not know it yet.
pub fn ensure_agent(tx: &Write, agent: &AgentId) -> Result<AgentNo> {
    tx.prepare_cached("INSERT INTO agents (agent_id, created_at) VALUES (?1, ?2) ON CONFLICT DO NOTHING")?
        .execute(params![agent.as_str(), tx.now()])?;
    Ok(tx
        .prepare_cached("SELECT agent_no FROM agents WHERE agent_id = ?1")?
        .query_row([agent.as_str()], |r| r.get(0))?)
}

/// Returns the number of an agent, if the ledger knows it.
pub fn agent_no(tx: &Read, agent: &AgentId) -> Result<Option<AgentNo>> {
    Ok(tx
        .prepare_cached("SELECT agent_no FROM agents WHERE agent_id = ?1")?
        .query_row([agent.as_str()], |r| r.get(0))
        .optional()?)
}

/// Returns the folder of an adopted assistant home. `None`: the agent's files are in the home itself.
pub(crate) fn root(tx: &Read, agent_no: AgentNo) -> Result<Option<PathBuf>> {
    let root: Option<Vec<u8>> =
        tx.query_row("SELECT root FROM agents WHERE agent_no = ?1", [agent_no], |r| r.get(0)).optional()?.flatten();
    Ok(root.map(|bytes| PathBuf::from(OsString::from_vec(bytes))))
}

/// Moves the agent's files to another folder, and marks its first files as not yet written.
pub(crate) fn set_root(tx: &Write, agent_no: AgentNo, root: Option<&Path>) -> Result<()> {
    tx.execute(
        "UPDATE agents SET root = ?2, bootstrapped_at = NULL WHERE agent_no = ?1",
        params![agent_no, root.map(|root| root.as_os_str().as_bytes())],
    )?;
    Ok(())
}

/// Whether the agent's first files were written.
pub(crate) fn is_bootstrapped(tx: &Read, agent_no: AgentNo) -> Result<bool> {
    let at: Option<i64> = tx
        .prepare_cached("SELECT bootstrapped_at FROM agents WHERE agent_no = ?1")?
        .query_row([agent_no], |r| r.get(0))?;
    Ok(at.is_some())
}

/// Records that the agent's first files were written now; a later call does not change the time.
pub(crate) fn set_bootstrapped(tx: &Write, agent_no: AgentNo) -> Result<()> {
    tx.execute(
        "UPDATE agents SET bootstrapped_at = ?2 WHERE agent_no = ?1 AND bootstrapped_at IS NULL",
        params![agent_no, tx.now()],
    )?;
    Ok(())
}
