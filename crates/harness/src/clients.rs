//! Programs that use Heirloom over MCP and have no hooks of ours: a table of file, key and form (R12.2, R13.2).
//!
//! Each form is taken from the program's own documentation, whose page is given with it. A further program is a further
//! row.

use std::fmt::Write;
use std::path::PathBuf;

use serde_json::{Map, Value as Json, json};

use crate::HostPaths;
use crate::install::server::JsonServer;
use crate::install::{Change, Edit, InstallPlan, Installed};

/// A program that speaks MCP.
#[derive(Debug)]
pub struct Client {
    /// The name used in options.
    pub name: &'static str,
    /// The name shown to people.
    pub title: &'static str,
    /// Folder of the program's settings; the program counts as installed if the folder exists.
    folder: Folder,
    /// The settings file in that folder.
    pub file: &'static str,
    /// Keys that lead to the servers in that file; Heirloom's entry is below them, under its name.
    pub servers: &'static [&'static str],
    /// Further members of an entry, beside `command` and `args`.
    beside: &'static [(&'static str, &'static str)],
    /// Page of the program's documentation with this form.
    pub documented: &'static str,
}

/// A folder of settings, by the conventions of the platform.
#[derive(Clone, Copy, Debug)]
enum Folder {
    /// A folder in the user's home directory.
    Home(&'static str),
    /// A folder among applications' settings: in `~/Library/Application Support` on a Mac, otherwise in `~/.config`.
    Application(&'static str),
    /// A folder in `~/.config` on every system.
    Config(&'static str),
}

/// The programs, by name.
pub const ALL: &[Client] = &[
    Client {
        name: "claude-desktop",
        title: "Claude Desktop",
        folder: Folder::Application("Claude"),
        file: "claude_desktop_config.json",
        servers: &["mcpServers"],
        beside: &[],
        documented: "https://modelcontextprotocol.io/docs/develop/connect-local-servers",
    },
    Client {
        name: "cursor",
        title: "Cursor",
        folder: Folder::Home(".cursor"),
        file: "mcp.json",
        servers: &["mcpServers"],
        beside: &[],
        documented: "https://cursor.com/docs/mcp",
    },
    Client {
        name: "gemini",
        title: "Gemini CLI",
        folder: Folder::Home(".gemini"),
        file: "settings.json",
        servers: &["mcpServers"],
        beside: &[],
        documented: "https://geminicli.com/docs/tools/mcp-server/",
    },
    Client {
        name: "vscode",
        title: "VS Code",
        folder: Folder::Application("Code/User"),
        file: "mcp.json",
        servers: &["servers"],
        beside: &[("type", "stdio")],
        documented: "https://code.visualstudio.com/docs/agents/reference/mcp-configuration",
    },
    Client {
        name: "zed",
        title: "Zed",
        folder: Folder::Config("zed"),
        file: "settings.json",
        servers: &["context_servers"],
        beside: &[],
        documented: "https://zed.dev/docs/ai/mcp",
    },
];

/// Returns the table of these programs in docs/HARNESSES.md: file, key and form of each, and where that is documented.
pub fn markdown() -> String {
    let mut table = "| | name | file | entry | its documentation |\n|---|---|---|---|---|\n".to_owned();
    for client in ALL {
        let folder = match client.folder {
            Folder::Home(name) => format!("`~/{name}`"),
            Folder::Application(name) => format!("`~/.config/{name}`, on a Mac `~/Library/Application Support/{name}`"),
            Folder::Config(name) => format!("`~/.config/{name}`"),
        };
        let beside: String = client.beside.iter().map(|(key, value)| format!("\"{key}\": \"{value}\", ")).collect();
        let _ = writeln!(
            table,
            "| {} | `{}` | {folder}: `{}` | `{}.heirloom`: `{{{beside}\"command\": …, \"args\": [\"mcp\"]}}` | [its page]({}) |",
            client.title,
            client.name,
            client.file,
            client.servers.join("."),
            client.documented,
        );
    }
    table
}

impl Client {
    /// Returns the folder of the program's settings on a machine.
    pub fn folder(&self, host: &HostPaths) -> PathBuf {
        let config = || host.xdg_config_home.clone().unwrap_or_else(|| host.home.join(".config"));
        match self.folder {
            Folder::Home(name) => host.home.join(name),
            Folder::Application(name) if cfg!(target_os = "macos") => {
                host.home.join("Library/Application Support").join(name)
            }
            Folder::Application(name) | Folder::Config(name) => config().join(name),
        }
    }

    /// Plans the entry that lets the program use Heirloom.
    pub fn plan(&self, host: &HostPaths, how: &Installed) -> InstallPlan {
        let folder = self.folder(host);
        let (command, args) = how.mcp_parts();
        let mut entry: Map<String, Json> =
            self.beside.iter().map(|(key, value)| ((*key).into(), json!(value))).collect();
        entry.insert("command".into(), json!(command));
        entry.insert("args".into(), json!(args));
        let edit = Edit {
            folder: folder.clone(),
            path: self.file.into(),
            meaning: format!("{} can ask Heirloom by itself, over MCP", self.title),
            change: Change::Server(JsonServer { path: self.servers, value: Json::Object(entry) }),
        };
        InstallPlan::of_one(folder, edit, "takes effect when the program is started again")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_in_order_and_not_those_of_programs_with_hooks() {
        assert!(ALL.windows(2).all(|pair| pair[0].name < pair[1].name));
        assert!(ALL.iter().all(|client| crate::by_name(client.name).is_none()));
        assert!(ALL.iter().all(|client| client.documented.starts_with("https://")));
    }
}
