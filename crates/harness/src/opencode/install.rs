//! OpenCode's settings: a plugin of one file in its folder for plugins, which it loads by itself.

use crate::HostPaths;
use crate::install::{Change, Edit, InstallPlan, Installed, Own, is_our_script, script};

/// The plugin before it is told how to call Heirloom.
pub const PLUGIN: &str = concat!(include_str!("../plugin_calls.js"), include_str!("plugin.js"));

/// The plugin in the user's own folder.
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
        otherwise: |_| None,
    }
}
