//! What a home holds: agents, their projects, who changed what, and the files of an export.

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
    /// The one that is meant where none is named.
    pub default: String,
}

/// An agent was made known.
#[derive(Clone, PartialEq, Eq, Serialize, JsonSchema, Debug)]
pub struct AgentAdded {
    pub agent: String,
    /// It was not known before.
    pub new: bool,
}

/// Which folder holds an agent's pages.
#[derive(Clone, PartialEq, Eq, Serialize, JsonSchema, Debug)]
pub struct Adopted {
    pub agent: String,
    pub root: String,
    /// It is another program's folder, outside the home.
    pub adopted: bool,
}

/// A file that was deleted by hand and is back.
#[derive(Clone, PartialEq, Eq, Serialize, Debug)]
pub struct Restored {
    /// Its path.
    pub restored: String,
}

/// The projects of an agent, the one last worked in first.
#[derive(Clone, PartialEq, Serialize, JsonSchema, Debug)]
pub struct ProjectsReport {
    pub workspaces: Vec<WorkspaceRow>,
}

/// Two projects were joined: what was said under `old` counts as said under `new`.
#[derive(Clone, PartialEq, Eq, Serialize, JsonSchema, Debug)]
pub struct ProjectJoined {
    pub old: String,
    pub new: String,
}

/// Who changed what, newest first.
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
    /// Records that were forgotten and are left out.
    pub forgotten: u64,
}

impl FileWritten {
    pub fn of(path: &Path, written: Written) -> FileWritten {
        FileWritten { path: path.display().to_string(), bytes: written.bytes, forgotten: written.forgotten }
    }
}
