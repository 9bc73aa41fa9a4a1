//! The classes of durable memory, and how far each can be trusted (R9.1).

use std::fmt;

use schemars::JsonSchema;
use serde::Serialize;

use crate::error::{Error, Result};

/// The class of a memory.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, JsonSchema, Debug)]
#[serde(rename_all = "lowercase")]
pub enum Class {
    Preference,
    Identity,
    Fact,
    Procedure,
    Blocker,
    Reference,
}

/// Check that a reader should make before using a memory.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Verification {
    None,
    CheckBeforeUse,
    MustReconfirm,
}

/// Reason why a memory becomes stale.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Policy {
    /// It never becomes stale.
    Stable,
    /// It becomes stale by work in its project.
    WorkspaceSensitive,
    /// It becomes stale as time passes.
    TimeSensitive,
}

/// A class and its defaults.
struct Row {
    class: Class,
    name: &'static str,
    /// Folder below `memory/`, or below `knowledge/` of a workspace.
    folder: &'static str,
    /// Whether the class belongs to a workspace instead of the agent.
    local: bool,
    verification: Verification,
    policy: Policy,
    stale_days: Option<u32>,
}

use Policy::{Stable, TimeSensitive, WorkspaceSensitive};
use Verification::{CheckBeforeUse, MustReconfirm};

#[rustfmt::skip]
const TABLE: [Row; 6] = [
    Row { class: Class::Preference, name: "preference", folder: "preference", local: false, verification: Verification::None, policy: Stable, stale_days: None },
    Row { class: Class::Identity, name: "identity", folder: "identity", local: false, verification: Verification::None, policy: Stable, stale_days: None },
    Row { class: Class::Fact, name: "fact", folder: "facts", local: true, verification: CheckBeforeUse, policy: WorkspaceSensitive, stale_days: Some(30) },
    Row { class: Class::Procedure, name: "procedure", folder: "procedures", local: true, verification: CheckBeforeUse, policy: WorkspaceSensitive, stale_days: Some(14) },
    Row { class: Class::Blocker, name: "blocker", folder: "blockers", local: true, verification: CheckBeforeUse, policy: WorkspaceSensitive, stale_days: Some(14) },
    Row { class: Class::Reference, name: "reference", folder: "references", local: true, verification: MustReconfirm, policy: TimeSensitive, stale_days: Some(7) },
];

impl Class {
    pub const ALL: [Class; 6] =
        [Class::Preference, Class::Identity, Class::Fact, Class::Procedure, Class::Blocker, Class::Reference];

    fn row(self) -> &'static Row {
        &TABLE[self as usize]
    }

    /// Parses a class; the error lists all of them.
    pub fn parse(name: &str) -> Result<Class> {
        let wanted = name.trim().to_ascii_lowercase();
        TABLE.iter().find(|r| r.name == wanted || r.folder == wanted).map(|r| r.class).ok_or_else(|| {
            let names: Vec<&str> = TABLE.iter().map(|r| r.name).collect();
            let shown: String = name.chars().take(40).collect();
            Error::usage(format!("{shown:?} is no class of memory")).hint(format!("use one of {}", names.join(", ")))
        })
    }

    pub fn name(self) -> &'static str {
        self.row().name
    }

    pub(super) fn folder(self) -> &'static str {
        self.row().folder
    }

    /// Whether the class belongs to a workspace; the others hold everywhere for the agent.
    pub fn of_workspace(self) -> bool {
        self.row().local
    }

    pub fn verification(self) -> Verification {
        self.row().verification
    }

    pub fn policy(self) -> Policy {
        self.row().policy
    }

    /// Returns the number of days without verification after which the memory is stale; `None`: never.
    pub fn stale_days(self) -> Option<u32> {
        self.row().stale_days
    }
}

impl fmt::Display for Class {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

impl Verification {
    pub fn name(self) -> &'static str {
        match self {
            Verification::None => "none",
            Verification::CheckBeforeUse => "check-before-use",
            Verification::MustReconfirm => "must-reconfirm",
        }
    }

    pub fn parse(name: &str) -> Option<Verification> {
        [Verification::None, CheckBeforeUse, MustReconfirm].into_iter().find(|v| v.name() == name.trim())
    }
}

impl Policy {
    pub fn name(self) -> &'static str {
        match self {
            Stable => "stable",
            WorkspaceSensitive => "workspace-sensitive",
            TimeSensitive => "time-sensitive",
        }
    }

    pub fn parse(name: &str) -> Option<Policy> {
        [Stable, WorkspaceSensitive, TimeSensitive].into_iter().find(|p| p.name() == name.trim())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_table_is_in_the_order_of_the_classes() {
        for class in Class::ALL {
            assert_eq!(class.row().class, class);
            assert_eq!(Class::parse(class.name()).unwrap(), class);
            assert_eq!(class.of_workspace(), class.policy() != Policy::Stable);
        }
        assert_eq!(Class::parse("facts").unwrap(), Class::Fact);
        assert!(Class::parse("rumour").unwrap_err().next_step().unwrap().contains("blocker"));
    }
}
