//! Claude Code's settings: command hooks in `settings.json`, or the same hooks as a plugin.

use std::path::PathBuf;

use serde_json::{Map, Value, json};

use super::hook::HOOKS;
use crate::HostPaths;
use crate::hook::HookSpec;
use crate::install::insert::{Hook, Merge};
use crate::install::json::{self, Kind};
use crate::install::server::JsonServer;
use crate::install::{Change, Edit, InstallPlan, Installed};

const NAME: &str = "claude-code";

/// Names of the plugin and its marketplace in the program's settings.
const PLUGIN: &str = "heirloom@heirloom";

/// Plans the hooks in the user's own settings.
pub fn plan(host: &HostPaths, how: &Installed) -> InstallPlan {
    let folder = host.claude_config_dir.clone().unwrap_or_else(|| host.home.join(".claude"));
    let policies = host.system.iter().flat_map(|root| {
        let places = ["etc/claude-code", "Library/Application Support/ClaudeCode"];
        places.into_iter().flat_map(|place| {
            let place = root.join(place);
            [place.join("managed-settings.json"), place.join("managed-settings.d")]
        })
    });
    InstallPlan {
        edits: vec![Edit {
            folder: folder.clone(),
            path: "settings.json".into(),
            meaning: "Claude Code tells Heirloom when a session starts, of each prompt, after each answer, around a \
                      compaction and at the end"
                .into(),
            change: Change::Json(merge(how)),
        }],
        folder,
        permits: &[],
        then: "takes effect in the next session",
        policies: policies.collect(),
        forbids,
        obstacle,
        remark: |_| None,
        otherwise,
    }
}

/// Plans Heirloom's entry among the servers of all the user's projects, as `claude mcp add --scope user` writes it. The
/// file is the program's own state, which it writes often.
pub fn mcp(host: &HostPaths, how: &Installed) -> InstallPlan {
    let folder = host.claude_config_dir.clone().unwrap_or_else(|| host.home.clone());
    let (command, args) = how.mcp_parts();
    let edit = Edit {
        folder: folder.clone(),
        path: ".claude.json".into(),
        meaning: "Claude Code can ask Heirloom by itself, over MCP".into(),
        change: Change::Server(JsonServer {
            path: &["mcpServers"],
            value: json!({"type": "stdio", "command": command, "args": args, "env": {}}),
        }),
    };
    InstallPlan::of_one(folder, edit, "takes effect in the next session")
}

/// Returns the hooks as a plugin in a marketplace of its own: relative paths and contents of its files.
pub fn plugin(how: &Installed, version: &str) -> Vec<(PathBuf, String)> {
    let about = "One memory under your agent programs: this session is kept, and earlier ones are known in it";
    let owner = json!({"name": "Heirloom"});
    let files = [
        (
            ".claude-plugin/marketplace.json",
            json!({"name": "heirloom", "description": about, "owner": owner, "plugins": [
                {"name": "heirloom", "source": "./heirloom", "description": about, "version": version}
            ]}),
        ),
        (
            "heirloom/.claude-plugin/plugin.json",
            json!({"name": "heirloom", "version": version, "description": about, "author": owner,
                "license": "Apache-2.0"}),
        ),
        ("heirloom/hooks/hooks.json", json!({"hooks": hooks(how)})),
    ];
    files.into_iter().map(|(path, value)| (PathBuf::from(path), format!("{value:#}\n"))).collect()
}

/// Returns the hooks for a single run: settings the program takes on its command line, beside the user's own.
pub fn for_one_run(how: &Installed) -> String {
    json!({"hooks": hooks(how)}).to_string()
}

fn hooks(how: &Installed) -> Value {
    let mut hooks = Map::new();
    for hook in merge(how).hooks {
        let group = json!([{"hooks": [{"type": "command", "command": hook.command, "timeout": hook.timeout}]}]);
        hooks.insert(hook.event.to_owned(), group);
    }
    Value::Object(hooks)
}

fn merge(how: &Installed) -> Merge {
    let hook = |h: &HookSpec| Hook { event: h.event, command: how.hook(NAME, h.event), timeout: h.timeout_s.into() };
    Merge { harness: NAME, hooks: HOOKS.iter().map(hook).collect(), items: Vec::new(), entry: None }
}

fn is_on(text: &str, path: &[&str]) -> bool {
    json::find(text, path).is_ok_and(|found| found.is_some_and(|node| node.kind == Kind::Plain(Some(true))))
}

fn forbids(policy: &str) -> Option<&'static str> {
    if is_on(policy, &["disableAllHooks"]) {
        return Some("it switches all hooks off (disableAllHooks)");
    }
    is_on(policy, &["allowManagedHooksOnly"])
        .then_some("it allows the administrator's hooks only (allowManagedHooksOnly)")
}

fn obstacle(files: &[Option<&str>]) -> Option<(&'static str, &'static str)> {
    let settings = files.first().copied().flatten()?;
    is_on(settings, &["disableAllHooks"]).then_some((
        "its settings switch all hooks off (disableAllHooks), so it does not call Heirloom",
        "take disableAllHooks out of settings.json",
    ))
}

fn otherwise(files: &[Option<&str>]) -> Option<&'static str> {
    let settings = files.first().copied().flatten()?;
    is_on(settings, &["enabledPlugins", PLUGIN]).then_some("connected as a plugin (heirloom@heirloom)")
}
