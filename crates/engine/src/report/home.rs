//! Reports about a home: its agents, their projects, the audit, and the files of an export.

use std::path::Path;

use schemars::JsonSchema;
use serde::Serialize;

use crate::ledger::audit;
use crate::transcript::export::Written;
use crate::transcript::workspaces::{AgentRow, WorkspaceRow};

/// The agents of a home.
#[derive(Clone, PartialEq, Serialize, JsonSchema, Debug)]
pub struct AgentsReport {
    pub agents: Vec<AgentRow>,
    /// Agent that is used if none is named.
    pub default: String,
}

/// An agent that was added.
#[derive(Clone, PartialEq, Eq, Serialize, JsonSchema, Debug)]
pub struct AgentAdded {
    pub agent: String,
    /// Whether the agent was not known before.
    pub new: bool,
}

/// The folder that holds the pages of an agent.
#[derive(Clone, PartialEq, Eq, Serialize, JsonSchema, Debug)]
pub struct Adopted {
    pub agent: String,
    pub root: String,
    /// Whether the folder belongs to another program and lies outside the home.
    pub adopted: bool,
}

/// A file that was deleted by hand and was restored.
#[derive(Clone, PartialEq, Eq, Serialize, Debug)]
pub struct Restored {
    /// Path of the file.
    pub restored: String,
}

/// Projects of an agent, last worked in first.
#[derive(Clone, PartialEq, Serialize, JsonSchema, Debug)]
pub struct ProjectsReport {
    pub workspaces: Vec<WorkspaceRow>,
}

/// Two projects that were joined: turns of `old` count as turns of `new`.
#[derive(Clone, PartialEq, Eq, Serialize, JsonSchema, Debug)]
pub struct ProjectJoined {
    pub old: String,
    pub new: String,
}

/// Entries of the audit, newest first.
#[derive(Clone, PartialEq, Serialize, JsonSchema, Debug)]
pub struct AuditReport {
    pub audit: Vec<audit::Entry>,
}

/// The files an export wrote.
#[derive(Clone, PartialEq, Eq, Default, Serialize, JsonSchema, Debug)]
pub struct ExportReport {
    pub written: Vec<FileWritten>,
}

#[derive(Clone, PartialEq, Eq, Serialize, JsonSchema, Debug)]
pub struct FileWritten {
    pub path: String,
    pub bytes: u64,
    /// Number of records left out because they were forgotten.
    pub forgotten: u64,
}

impl FileWritten {
    pub fn of(path: &Path, written: Written) -> FileWritten {
        FileWritten { path: path.display().to_string(), bytes: written.bytes, forgotten: written.forgotten }
    }
}
