//! OpenCode's settings: a one-file plugin in its plugin folder, which it loads automatically.

use serde_json::json;

use crate::HostPaths;
use crate::install::server::JsonServer;
use crate::install::{Change, Edit, InstallPlan, Installed, Own, is_our_script, script};

/// Source of the plugin, before the command that calls Heirloom is filled in.
pub const PLUGIN: &str = concat!(include_str!("../plugin_calls.js"), include_str!("plugin.js"));

/// Plans the plugin in the user's own folder.
pub fn plan(host: &HostPaths, how: &Installed) -> InstallPlan {
    let folder = host.xdg_config_home.clone().unwrap_or_else(|| host.home.join(".config")).join("opencode");
    InstallPlan {
        edits: vec![Edit {
            folder: folder.clone(),
            path: "plugin/heirloom.js".into(),
            meaning: "OpenCode loads this plugin, which tells Heirloom of sessions and prompts".into(),
            change: Change::Own(Own { text: script(PLUGIN, how), is_ours: is_our_script }),
        }],
        folder,
        permits: &[],
        then: "takes effect when OpenCode is started again",
        policies: Vec::new(),
        forbids: |_| None,
        obstacle: |_| None,
        remark: |_| None,
        otherwise: |_| None,
    }
}

/// Plans Heirloom's entry among the user's MCP servers.
pub fn mcp(host: &HostPaths, how: &Installed) -> InstallPlan {
    let folder = host.xdg_config_home.clone().unwrap_or_else(|| host.home.join(".config")).join("opencode");
    let edit = Edit {
        folder: folder.clone(),
        path: "opencode.json".into(),
        meaning: "OpenCode can ask Heirloom by itself, over MCP".into(),
        change: Change::Server(JsonServer {
            path: &["mcp"],
            value: json!({"type": "local", "command": how.mcp(), "enabled": true}),
        }),
    };
    InstallPlan::of_one(folder, edit, "takes effect when OpenCode is started again")
}
