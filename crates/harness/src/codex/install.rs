//! Codex's settings: command hooks in `hooks.json`, and the user's trust in them in `config.toml`.

use super::hook::HOOKS;
use crate::HostPaths;
use crate::hook::HookSpec;
use crate::install::insert::{Hook, Merge};
use crate::install::server::TomlServer;
use crate::install::{Change, Edit, InstallPlan, Installed, trust};

const NAME: &str = "codex";

/// Plans the hooks in the user's own settings.
pub fn plan(host: &HostPaths, how: &Installed) -> InstallPlan {
    let folder = host.codex_home.clone().unwrap_or_else(|| host.home.join(".codex"));
    let hook = |h: &HookSpec| Hook { event: h.event, command: how.hook(NAME, h.event), timeout: h.timeout_s.into() };
    let hooks = Merge { harness: NAME, hooks: HOOKS.iter().map(hook).collect(), items: Vec::new(), entry: None };
    InstallPlan {
        edits: vec![
            Edit {
                folder: folder.clone(),
                path: "hooks.json".into(),
                meaning: "Codex tells Heirloom when a session starts, of each prompt, after each answer, around a \
                          compaction and at the end"
                    .into(),
                change: Change::Json(hooks),
            },
            Edit {
                folder: folder.clone(),
                path: "config.toml".into(),
                meaning: "Codex runs these hooks without asking: your trust in them, by their digests".into(),
                change: Change::Trust {
                    hooks: folder.join("hooks.json").to_string_lossy().into_owned(),
                    harness: NAME,
                },
            },
        ],
        folder,
        permits: &[],
        then: "takes effect in the next session",
        policies: Vec::new(),
        forbids: |_| None,
        obstacle,
        remark,
        otherwise: |_| None,
    }
}

/// Plans Heirloom's entry among the user's MCP servers.
pub fn mcp(host: &HostPaths, how: &Installed) -> InstallPlan {
    let folder = host.codex_home.clone().unwrap_or_else(|| host.home.join(".codex"));
    let edit = Edit {
        folder: folder.clone(),
        path: "config.toml".into(),
        meaning: "Codex can ask Heirloom by itself, over MCP".into(),
        change: Change::TomlServer(TomlServer { words: how.mcp() }),
    };
    InstallPlan::of_one(folder, edit, "takes effect in the next session")
}

fn obstacle(files: &[Option<&str>]) -> Option<(&'static str, &'static str)> {
    let config = files.get(1).copied().flatten()?;
    trust::hooks_are_off(config).then_some((
        "its settings switch hooks off, so it does not call Heirloom",
        "take hooks = false out of the section features of config.toml",
    ))
}

/// Returns a remark if both files have hooks: Codex reads both and warns of it at every start.
fn remark(files: &[Option<&str>]) -> Option<(&'static str, &'static str)> {
    let config = files.get(1).copied().flatten()?;
    trust::has_hooks(config).then_some((
        "config.toml has hooks, too: Codex runs those of both files, and warns of it at every start",
        "move the hooks of config.toml into hooks.json, if the warning is in the way",
    ))
}
