//! Durable memory: what stays true after a conversation, one Markdown file ("leaf") per memory (R9). Storey 2.
//!
//! The files are authoritative. A leaf's name is derived from its content, so the same text stored twice is one file; a
//! different text supersedes and never overwrites ([`writing`]). [`change`] edits, verifies, pins and supersedes,
//! [`forget`] deletes everything but a keyed digest, [`find`] finds leaves within what a caller may see, [`remember`]
//! recognises what a prompt asks to keep, [`pending`] holds it until the author accepts it.
//!
//! This room knows nothing of proposals, prompts or indexes.

pub mod change;
pub mod class;
pub mod find;
pub mod forget;
pub mod leaf;
pub mod pending;
pub mod remember;
pub mod staleness;
mod tombstone;
pub mod writing;

use std::fmt;

use serde::{Serialize, Serializer};

use crate::error::{Error, Result};
use crate::home::{MemoryPath, RelPath, layout};
use crate::pages::Happened;
use crate::tree::journal::Act;

pub use class::Class;
pub use leaf::NewLeaf;
pub use staleness::is_stale;
pub use writing::{Added, Outcome, Writing, add};

/// The largest text of a memory, in bytes.
pub const LARGEST_TEXT: usize = 64 << 10;

/// Format version of memory files, written to their front matter.
pub const FORMAT: i64 = 1;

/// The area in which a memory applies.
#[derive(Clone, PartialEq, Eq, Hash, PartialOrd, Ord, Debug, Default)]
pub enum Scope {
    /// Everywhere this agent works.
    #[default]
    Agent,
    /// In one project, by its workspace id.
    Workspace(String),
}

impl Scope {
    /// Parses `agent` or `workspace/<id>`. `within`: the workspace the caller is bound to; any other is refused (R3.3).
    pub fn parse(text: &str, within: Option<&str>) -> Result<Scope> {
        let text = text.trim();
        if text == "agent" {
            return Ok(Scope::Agent);
        }
        let Some(id) = text.strip_prefix("workspace/") else {
            let shown: String = text.chars().take(80).collect();
            return Err(Error::usage(format!("{shown:?} is no scope")).hint("write agent or workspace/<workspace id>"));
        };
        MemoryPath::parse(&format!("workspace/{id}/MEMORY.md"), within)?;
        Ok(Scope::Workspace(id.to_owned()))
    }

    /// Refuses a scope that a caller bound to a workspace may not access.
    pub fn allowed(&self, within: Option<&str>) -> Result<()> {
        Scope::parse(&self.to_string(), within).map(drop)
    }

    /// Refuses a class that does not exist in this scope.
    pub fn holds(&self, class: Class) -> Result<()> {
        self.folder(class).map(drop)
    }

    /// Returns the folder of a class in this scope. A class of the agent has no folder in a workspace, and vice versa.
    pub(crate) fn folder(&self, class: Class) -> Result<RelPath> {
        match self {
            Scope::Agent if !class.of_workspace() => layout::MEMORY.join(class.folder()),
            Scope::Workspace(id) if class.of_workspace() => {
                layout::WORKSPACE_MEMORY.join(&format!("{id}/{}/{}", layout::KNOWLEDGE, class.folder()))
            }
            Scope::Agent => Err(Error::usage(format!("a {class} belongs to a project, not to everything"))
                .hint("say whose it is (--workspace W, or scope: workspace/<id>), or make it a preference")),
            Scope::Workspace(_) => Err(Error::usage(format!("a memory of the class {class} holds everywhere"))
                .hint("leave the project out (scope: agent), or make it a fact")),
        }
    }

    /// Adds the pages that show memory of this scope to an act. The agent's index lists the projects, so it is rendered
    /// as well; an unchanged result is not written.
    pub(crate) fn shown(&self, act: Act) -> Act {
        let workspace = match self {
            Scope::Agent => None,
            Scope::Workspace(id) => Some(id.clone()),
        };
        act.tells(&Happened::MemoryChanged { workspace })
    }
}

impl Serialize for Scope {
    fn serialize<S: Serializer>(&self, serializer: S) -> std::result::Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

impl schemars::JsonSchema for Scope {
    fn inline_schema() -> bool {
        true
    }

    fn schema_name() -> std::borrow::Cow<'static, str> {
        "Scope".into()
    }

    fn json_schema(of: &mut schemars::SchemaGenerator) -> schemars::Schema {
        String::json_schema(of)
    }
}

impl fmt::Display for Scope {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Scope::Agent => f.write_str("agent"),
            Scope::Workspace(id) => write!(f, "workspace/{id}"),
        }
    }
}
