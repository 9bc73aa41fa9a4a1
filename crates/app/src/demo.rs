//! Sample sessions built into the binary, for `heirloom up --demo`. They are invented, in the programs' own formats, so
//! that the demo runs the real import.

use std::path::PathBuf;

use heirloom_engine::error::{Error, Result};
use heirloom_harness::HostPaths;

use crate::config;

/// The path of each sample below the demo's folder, and its contents.
const FILES: &[(&str, &[u8])] = &[
    (
        "claude/projects/-home-mara-src-lindenblatt-api/041c94d4-8f5e-4534-bdaa-7fbd58f0d668.jsonl",
        include_bytes!(
            "../demo/claude/projects/-home-mara-src-lindenblatt-api/041c94d4-8f5e-4534-bdaa-7fbd58f0d668.jsonl"
        ),
    ),
    (
        "claude/projects/-home-mara-src-lindenblatt-api/c7f0b197-70d7-4eb2-ab14-b35bfb443280.jsonl",
        include_bytes!(
            "../demo/claude/projects/-home-mara-src-lindenblatt-api/c7f0b197-70d7-4eb2-ab14-b35bfb443280.jsonl"
        ),
    ),
    (
        "claude/projects/-home-mara-src-lindenblatt-api/c7f0b197-70d7-4eb2-ab14-b35bfb443280/subagents/agent-a7c40e19d2f8b3651.jsonl",
        include_bytes!(
            "../demo/claude/projects/-home-mara-src-lindenblatt-api/c7f0b197-70d7-4eb2-ab14-b35bfb443280/subagents/agent-a7c40e19d2f8b3651.jsonl"
        ),
    ),
    (
        "codex/sessions/2026/11/06/rollout-2026-11-06T19-31-00-01a1b257-c920-7469-88ed-f1b95e9f11b5.jsonl",
        include_bytes!(
            "../demo/codex/sessions/2026/11/06/rollout-2026-11-06T19-31-00-01a1b257-c920-7469-88ed-f1b95e9f11b5.jsonl"
        ),
    ),
    (
        "codex/sessions/2026/11/18/rollout-2026-11-18T09-06-00-01a1ede7-e4c0-7844-8c33-076629a16bad.jsonl",
        include_bytes!(
            "../demo/codex/sessions/2026/11/18/rollout-2026-11-18T09-06-00-01a1ede7-e4c0-7844-8c33-076629a16bad.jsonl"
        ),
    ),
    ("household.turns.jsonl", include_bytes!("../demo/household.turns.jsonl")),
];

/// The demo's folders on disk.
pub struct Demo {
    /// Path of the demo's temporary home.
    pub home: PathBuf,
    /// A machine that has only the samples.
    pub host: HostPaths,
}

/// Writes the samples into a fresh folder, beside an empty home.
pub fn write_out() -> Result<Demo> {
    let cache = config::cache()
        .ok_or_else(|| Error::usage("there is no cache folder (HOME is not set)").hint("set HOME or XDG_CACHE_HOME"))?;
    let folder = cache.join("heirloom").join("demo");
    if folder.exists() {
        std::fs::remove_dir_all(&folder).map_err(|e| Error::io("clear", &folder, e))?;
    }
    let machine = folder.join("machine");
    for (name, bytes) in FILES {
        let path = machine.join(name);
        let parent = path.parent().unwrap_or(&machine);
        std::fs::create_dir_all(parent).map_err(|e| Error::io("make", parent, e))?;
        std::fs::write(&path, bytes).map_err(|e| Error::io("write", &path, e))?;
    }
    let host = HostPaths {
        claude_config_dir: Some(machine.join("claude")),
        codex_home: Some(machine.join("codex")),
        xdg_data_home: Some(machine.join("data")),
        openclaw_state_dir: Some(machine.join("openclaw")),
        home: machine,
        ..HostPaths::default()
    };
    Ok(Demo { home: folder.join("home"), host })
}
