//! Reads agents and workspaces, and joins workspaces that belong to one project.

use std::path::PathBuf;

use rusqlite::{OptionalExtension, params};
use schemars::JsonSchema;
use serde::Serialize;

use super::{as_shown, path_of};
use crate::clock::{Millis, as_rfc3339, as_rfc3339_or_null};
use crate::error::{Error, Result};
use crate::ledger::{Read, Write};
use crate::scope::{AgentNo, WorkspaceNo};

/// An agent in a list.
#[derive(Clone, PartialEq, Serialize, JsonSchema, Debug)]
pub struct AgentRow {
    pub agent: String,
    pub sessions: u64,
    #[schemars(with = "String")]
    #[serde(serialize_with = "as_rfc3339")]
    pub created_at: Millis,
}

/// Returns all agents of the ledger, oldest first.
pub fn agents(tx: &Read) -> Result<Vec<AgentRow>> {
    let mut statement = tx.prepare(
        "SELECT agent_id, (SELECT count(*) FROM sessions s WHERE s.agent_no = a.agent_no), created_at FROM agents a ORDER BY agent_no",
    )?;
    let rows = statement.query_map([], |r| {
        Ok(AgentRow { agent: r.get(0)?, sessions: r.get::<_, i64>(1)? as u64, created_at: r.get(2)? })
    })?;
    Ok(rows.collect::<rusqlite::Result<_>>()?)
}

/// A workspace in a list.
#[derive(Clone, PartialEq, Serialize, JsonSchema, Debug)]
pub struct WorkspaceRow {
    #[serde(skip)]
    pub no: WorkspaceNo,
    #[serde(rename = "workspace")]
    pub id: String,
    pub label: String,
    #[schemars(with = "String")]
    #[serde(serialize_with = "as_shown")]
    pub root: PathBuf,
    /// The workspace this one is an alias of.
    pub alias_of: Option<String>,
    pub sessions: u64,
    #[schemars(with = "Option<String>")]
    #[serde(serialize_with = "as_rfc3339_or_null")]
    pub last_at: Option<Millis>,
}

/// Returns the workspaces of an agent, last used first.
pub fn workspaces(tx: &Read, agent_no: AgentNo) -> Result<Vec<WorkspaceRow>> {
    let mut statement = tx.prepare(
        "SELECT w.workspace_no, w.workspace_id, w.label, w.root, o.workspace_id,
                (SELECT count(*) FROM sessions s WHERE s.workspace_no = w.workspace_no),
                (SELECT max(last_at) FROM sessions s WHERE s.workspace_no = w.workspace_no)
         FROM workspaces w LEFT JOIN workspaces o ON o.workspace_no = w.alias_of
         WHERE w.agent_no = ?1 ORDER BY 7 DESC, w.workspace_no",
    )?;
    let rows = statement.query_map([agent_no], |r| {
        Ok(WorkspaceRow {
            no: r.get(0)?,
            id: r.get(1)?,
            label: r.get(2)?,
            root: path_of(r.get(3)?),
            alias_of: r.get(4)?,
            sessions: r.get::<_, i64>(5)? as u64,
            last_at: r.get(6)?,
        })
    })?;
    Ok(rows.collect::<rusqlite::Result<_>>()?)
}

/// Returns the workspaces a name refers to: an id, a label or a path, together with all workspaces joined to it by
/// alias. `NotFound` if nothing matches, `Usage` if a label is ambiguous.
pub fn workspace_named(tx: &Read, agent_no: AgentNo, name: &str) -> Result<Vec<WorkspaceNo>> {
    let all = workspaces(tx, agent_no)?;
    let root = std::path::Path::new(name);
    let canonical = root.canonicalize().ok();
    let by_id: Vec<&WorkspaceRow> = all
        .iter()
        .filter(|w| w.id == name || w.root == root || canonical.as_ref().is_some_and(|c| *c == w.root))
        .collect();
    let found = if by_id.is_empty() { all.iter().filter(|w| w.label == name).collect() } else { by_id };
    // Labels are for people: several projects may share one. That is ambiguous unless they are one project under
    // several names.
    let canon = |w: &WorkspaceRow| w.alias_of.clone().unwrap_or_else(|| w.id.clone());
    let mut ids: Vec<String> = found.iter().map(|w| canon(w)).collect();
    ids.sort();
    ids.dedup();
    match ids.as_slice() {
        [] => Err(Error::not_found(format!("no workspace is called {name:?}")).hint("see ⟨workspace list⟩")),
        [id] => Ok(all.iter().filter(|w| w.id == *id || w.alias_of.as_deref() == Some(id)).map(|w| w.no).collect()),
        several => Err(Error::usage(format!("{name:?} is the name of {} workspaces", several.len()))
            .hint(format!("use an id: {}", several.join(", ")))),
    }
}

/// Joins `old` to `new`: turns stored under the old root belong to the new one.
pub fn alias_workspace(tx: &mut Write, agent_no: AgentNo, old: &str, new: &str) -> Result<()> {
    let id_no = |name: &str| -> Result<WorkspaceNo> {
        let all = workspaces(tx, agent_no)?;
        let mut found = all.iter().filter(|w| w.id == name || w.root == std::path::Path::new(name));
        found.next().map(|w| w.no).ok_or_else(|| {
            Error::not_found(format!("no workspace has the id or path {name:?}")).hint("see ⟨workspace list⟩")
        })
    };
    let (old_no, new_no) = (id_no(old)?, id_no(new)?);
    let root: WorkspaceNo = tx.query_row(
        "SELECT coalesce(alias_of, workspace_no) FROM workspaces WHERE workspace_no = ?1",
        [new_no],
        |r| r.get(0),
    )?;
    if old_no == root {
        return Err(Error::usage("a workspace cannot be an alias of itself"));
    }
    tx.execute("UPDATE workspaces SET alias_of = ?2 WHERE workspace_no = ?1 OR alias_of = ?1", [old_no, root])?;
    tx.note("old", old);
    tx.note("new", new);
    Ok(())
}

/// Returns the id of the workspace that a workspace is an alias of, or its own id; `None`: the workspace is unknown.
pub fn canonical_workspace(tx: &Read, agent_no: AgentNo, id: &str) -> Result<Option<String>> {
    Ok(tx
        .prepare_cached(
            "SELECT w.workspace_id FROM workspaces v JOIN workspaces w ON w.workspace_no = coalesce(v.alias_of, v.workspace_no)
             WHERE v.agent_no = ?1 AND v.workspace_id = ?2",
        )?
        .query_row(params![agent_no, id], |r| r.get(0))
        .optional()?)
}
