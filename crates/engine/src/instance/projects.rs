//! Finding the project that a name, path or folder means.

use std::path::Path;

use super::Instance;
use crate::error::{Error, Result};
use crate::ledger::Audit;
use crate::redact::redact;
use crate::report::home::ProjectJoined;
use crate::scope::AgentId;
use crate::source::project::project_root;
use crate::thread;
use crate::transcript::{read, workspaces};
use crate::tree::file_table;

/// Hint of errors: the ways to name a project.
const PROJECTS: &str =
    "give the path of a folder, or a name or id that stands in ⟨workspace list⟩ or in memory/workspace/";

impl Instance {
    /// Returns the workspace id of an agent's project, given its id, label or path. A folder without any turns has an
    /// id too, and so has a project that only visible files name.
    pub fn workspace_id(&self, agent: &AgentId, name: &str) -> Result<String> {
        let (known, in_files) = self.ledger.read(|tx| match read::agent_no(tx, agent)? {
            Some(no) => Ok((workspaces::workspaces(tx, no)?, file_table::workspaces(tx, no)?)),
            None => Ok((Vec::new(), Vec::new())),
        })?;
        let canonical = |id: &str| {
            let row = known.iter().find(|w| w.id == id);
            row.and_then(|w| w.alias_of.clone()).unwrap_or_else(|| id.to_owned())
        };
        if name != "." && !name.contains('/') {
            let ids = || known.iter().map(|w| (w.id.as_str(), w.label.as_str()));
            let all: Vec<(&str, &str)> = ids().chain(in_files.iter().map(|id| (id.as_str(), label_of(id)))).collect();
            if all.iter().any(|(id, _)| *id == name) {
                return Ok(canonical(name));
            }
            let mut ids: Vec<String> = all.iter().filter(|(_, l)| *l == name).map(|(id, _)| canonical(id)).collect();
            ids.sort();
            ids.dedup();
            return match ids.as_slice() {
                [id] => Ok(id.clone()),
                [] => Err(Error::not_found(format!("no project is called {}", shown(name))).hint(PROJECTS)),
                several => Err(Error::usage(format!("{} is the name of {} projects", shown(name), several.len()))
                    .hint(format!("use an id: {}", several.join(", ")))),
            };
        }
        let path = Path::new(name);
        let at = std::path::absolute(path).map_err(|e| Error::io("find", path, e))?;
        // A folder that no longer exists counts only if turns were stored for exactly that path, so that a typing error
        // makes no project.
        if !at.is_dir() {
            return match known.iter().find(|w| w.root == at) {
                Some(gone) => Ok(canonical(&gone.id)),
                None => Err(Error::not_found(format!("there is no folder {}", shown(name))).hint(PROJECTS)),
            };
        }
        let project = project_root(&at, self.settings.user_home.as_deref())
            .ok_or_else(|| Error::usage(format!("{} is no place for a project", at.display())))?;
        Ok(canonical(&project.workspace_id))
    }

    /// Joins a project to another: turns under `old` belong to `new` from now on. Both are named by id or folder.
    pub fn join_project(&self, agent: &AgentId, actor: &str, old: &str, new: &str) -> Result<ProjectJoined> {
        let agent_no = self.known_agent(agent)?;
        if old == new {
            return Err(Error::usage("a workspace cannot be an alias of itself"));
        }
        self.ledger.write(Audit::new(actor, "workspace.alias").of_agent(agent_no), |tx| {
            workspaces::alias_workspace(tx, agent_no, old, new)?;
            thread::rejoin(tx, agent_no)
        })?;
        Ok(ProjectJoined { old: old.to_owned(), new: new.to_owned() })
    }
}

/// Returns the display name of a workspace: its id without the key.
pub fn label_of(id: &str) -> &str {
    id.rsplit_once("--").map_or(id, |(name, _)| name)
}

/// Returns the beginning of what was typed, on one line and without credentials.
fn shown(text: &str) -> String {
    format!("{:?}", redact(text).chars().take(80).collect::<String>())
}
