//! OpenClaw's settings: a plugin folder, its path in `openclaw.json`, and the two permissions it needs.
//!
//! The folder is in OpenClaw's own state directory. It moves together with the settings that name it, so the path stays
//! valid (a plugin in a home that was removed makes the program warn at each start). It is not below `extensions/`,
//! which the program searches automatically: the line in the settings is the user's consent.

use std::path::PathBuf;

use serde_json::json;

use crate::HostPaths;
use crate::install::insert::{Entry, Item, Merge};
use crate::install::json::{self, Kind};
use crate::install::server::JsonServer;
use crate::install::{Change, Edit, InstallPlan, Installed, Own, is_our_script, script};

const NAME: &str = "openclaw";
/// The plugin's id.
const ID: &str = "heirloom";
/// The plugin's folder below the state directory.
const FOLDER: &str = "plugins-local/heirloom";

/// Source of the plugin, before the command that calls Heirloom is filled in.
pub const PLUGIN: &str = concat!(include_str!("../plugin_calls.js"), include_str!("plugin.js"));

/// Plans the plugin in the user's own state directory.
pub fn plan(host: &HostPaths, how: &Installed) -> InstallPlan {
    let folder = host.openclaw_state_dir.clone().unwrap_or_else(|| host.home.join(".openclaw"));
    let config = host.openclaw_config_path.clone().unwrap_or_else(|| folder.join("openclaw.json"));
    let own = |name: &str, meaning: &str, text: String, is_ours: fn(&str) -> bool| Edit {
        folder: folder.clone(),
        path: format!("{FOLDER}/{name}"),
        meaning: meaning.into(),
        change: Change::Own(Own { text, is_ours }),
    };
    let package = json!({"name": "heirloom-openclaw", "version": "1.0.0", "private": true, "type": "module",
        "openclaw": {"extensions": ["./index.js"]}});
    let manifest = json!({"id": ID, "name": "Heirloom", "description": "One memory under your agent programs",
        "activation": {"onStartup": true},
        "configSchema": {"type": "object", "additionalProperties": false, "properties": {}}});
    let list = |path, value: String, ending, only_if_there| Item { path, value, ending, only_if_there };
    let settings = Merge {
        harness: NAME,
        hooks: Vec::new(),
        items: vec![
            list(
                &["plugins", "load", "paths"],
                folder.join(FOLDER).to_string_lossy().into_owned(),
                "/plugins-local/heirloom",
                false,
            ),
            // If the user keeps a list of allowed plugins, no others run.
            list(&["plugins", "allow"], ID.to_owned(), "", true),
        ],
        entry: Some(Entry {
            path: &["plugins", "entries", ID],
            members: &[
                (&["enabled"], true),
                (&["hooks", "allowConversationAccess"], true),
                (&["hooks", "allowPromptInjection"], true),
            ],
        }),
    };
    InstallPlan {
        edits: vec![
            own("package.json", "the plugin's package", format!("{package:#}\n"), is_our_package),
            own("openclaw.plugin.json", "the plugin's manifest", format!("{manifest:#}\n"), is_our_manifest),
            own(
                "index.js",
                "the plugin, which tells Heirloom of sessions and prompts",
                script(PLUGIN, how),
                is_our_script,
            ),
            Edit {
                folder: config.parent().map(PathBuf::from).unwrap_or_default(),
                path: config.file_name().unwrap_or_default().to_string_lossy().into_owned(),
                meaning: "OpenClaw loads the plugin and lets it read conversations and add to prompts".into(),
                change: Change::Json(settings),
            },
        ],
        folder,
        permits: &[
            "read your conversations (allowConversationAccess)",
            "add what it remembers to your prompts (allowPromptInjection)",
        ],
        then: "takes effect when the gateway is started again",
        policies: Vec::new(),
        forbids: |_| None,
        obstacle,
        remark: |_| None,
        otherwise: |_| None,
    }
}

/// Plans Heirloom's entry among the servers the gateway's agents may use.
pub fn mcp(host: &HostPaths, how: &Installed) -> InstallPlan {
    let folder = host.openclaw_state_dir.clone().unwrap_or_else(|| host.home.join(".openclaw"));
    let config = host.openclaw_config_path.clone().unwrap_or_else(|| folder.join("openclaw.json"));
    let (command, args) = how.mcp_parts();
    let edit = Edit {
        folder: config.parent().map(PathBuf::from).unwrap_or_default(),
        path: config.file_name().unwrap_or_default().to_string_lossy().into_owned(),
        meaning: "OpenClaw's agents can ask Heirloom by themselves, over MCP".into(),
        change: Change::Server(JsonServer {
            path: &["mcp", "servers"],
            value: json!({"command": command, "args": args}),
        }),
    };
    InstallPlan::of_one(folder, edit, "takes effect when the gateway is started again")
}

fn says(text: &str, key: &str, value: &str) -> bool {
    serde_json::from_str::<serde_json::Value>(text).is_ok_and(|v| v[key] == value)
}

fn is_our_package(text: &str) -> bool {
    says(text, "name", "heirloom-openclaw")
}

fn is_our_manifest(text: &str) -> bool {
    says(text, "id", ID)
}

fn obstacle(files: &[Option<&str>]) -> Option<(&'static str, &'static str)> {
    let settings = files.get(3).copied().flatten()?;
    let at = |path: &[&str]| json::find(settings, path).ok().flatten().map(|node| node.kind);
    if at(&["plugins", "enabled"]) == Some(Kind::Plain(Some(false))) {
        return Some(("its settings switch plugins off, so it does not call Heirloom", "set plugins.enabled to true"));
    }
    let denied = match at(&["plugins", "deny"]) {
        Some(Kind::Array(items)) => items.iter().any(|i| i.kind == Kind::String(ID.to_owned())),
        _ => false,
    };
    denied.then_some(("its settings deny the plugin heirloom", "take heirloom out of plugins.deny"))
}
