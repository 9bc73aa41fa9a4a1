//! Programs that can be connected: those with hooks that call us, and those that only ask over MCP.

use heirloom_engine::error::{Error, Result};
use heirloom_harness::clients::{self, Client};
use heirloom_harness::install::{InstallPlan, Installed};
use heirloom_harness::{ALL, Harness, HostPaths};

/// A program that can be connected.
#[derive(Clone, Copy)]
pub enum Program {
    /// A program with hooks that call us; most can also ask over MCP.
    Hooked(&'static dyn Harness),
    /// A program without hooks, which asks over MCP.
    Asking(&'static Client),
}

/// Returns the programs with hooks.
pub fn hooked() -> impl Iterator<Item = Program> {
    let nowhere = HostPaths::default();
    let nothing = Installed { command: Vec::new() };
    ALL.iter().copied().filter(move |h| h.install_plan(&nowhere, &nothing).is_some()).map(Program::Hooked)
}

/// Returns all programs, those with hooks first.
pub fn connectable() -> impl Iterator<Item = Program> {
    hooked().chain(clients::ALL.iter().map(Program::Asking))
}

/// Returns the programs with these names, in the order given; an unknown name is a usage error.
pub fn named(names: &[String]) -> Result<Vec<Program>> {
    names
        .iter()
        .map(|name| {
            let name = if name == "claude" { "claude-code" } else { name };
            connectable().find(|program| program.name() == name).ok_or_else(|| {
                let known: Vec<&str> = connectable().map(|program| program.name()).collect();
                Error::usage(format!("there is no program {name:?} to connect"))
                    .hint(format!("it can be {}", known.join(", ")))
            })
        })
        .collect()
}

impl Program {
    /// Returns the name used in options and in JSON.
    pub fn name(self) -> &'static str {
        match self {
            Program::Hooked(harness) => harness.spec().name,
            Program::Asking(client) => client.name,
        }
    }

    /// Returns the name shown to people.
    pub fn title(self) -> &'static str {
        match self {
            Program::Hooked(harness) => harness.spec().title,
            Program::Asking(client) => client.title,
        }
    }

    /// Returns the changes to its settings that make its hooks call Heirloom. `None` if the program has no hooks.
    pub fn hooks_plan(self, host: &HostPaths, how: &Installed) -> Option<InstallPlan> {
        match self {
            Program::Hooked(harness) => harness.install_plan(host, how),
            Program::Asking(_) => None,
        }
    }

    /// Returns the changes to its settings that add Heirloom as an MCP server. `None` if the program does not speak
    /// MCP.
    pub fn mcp_plan(self, host: &HostPaths, how: &Installed) -> Option<InstallPlan> {
        match self {
            Program::Hooked(harness) => harness.mcp_plan(host, how),
            Program::Asking(client) => Some(client.plan(host, how)),
        }
    }

    /// Returns whether the program was ever started here, judged by its folders.
    pub fn is_here(self, host: &HostPaths) -> bool {
        let is_folder = |folder: &std::path::Path| folder.is_absolute() && folder.is_dir();
        match self {
            Program::Hooked(harness) => {
                let nothing = Installed { command: Vec::new() };
                let folder = harness.install_plan(host, &nothing).map(|plan| plan.folder);
                folder.into_iter().chain(harness.roots(host)).any(|folder| is_folder(&folder))
            }
            Program::Asking(client) => is_folder(&client.folder(host)),
        }
    }
}
