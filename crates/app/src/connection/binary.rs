//! Finds the path of the binary that is written into the settings of other programs.

use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

use heirloom_engine::error::{Error, Result};
use heirloom_engine::scope::AgentId;
use heirloom_harness::install::Installed;

use crate::config;
use crate::context::Global;

/// Returns the command by which programs call this binary, with the options that select this memory.
///
/// The path is absolute, because a program started from a desktop has another `PATH` than a shell. If `PATH` leads to
/// this very file, the path found there is used: package managers put a stable link there and change its target with
/// each upgrade, so the resolved path would go stale and void the trust of programs that keep a digest of it.
pub fn installed(global: &Global) -> Result<Installed> {
    let binary = name_of(&std::env::current_exe().map_err(|e| Error::io("find", Path::new("this binary"), e))?)?;
    let mut command = vec![text(&binary)?];
    let home = config::home(global.home.as_deref())?;
    let path = std::path::absolute(&home.value).map_err(|e| Error::io("find", &home.value, e))?;
    if config::user_home().is_none_or(|user| user.join(".heirloom") != path) {
        command.extend(["--home".to_owned(), text(&path)?]);
    }
    let named = global.agent.clone().or_else(|| std::env::var("HEIRLOOM_AGENT").ok().filter(|n| !n.is_empty()));
    if let Some(agent) = named {
        command.extend(["--agent".to_owned(), AgentId::parse(&agent)?.as_str().to_owned()]);
    }
    Ok(Installed { command })
}

/// Returns whether a program can execute this path.
pub fn can_run(path: &str) -> bool {
    Path::new(path).is_file() && rustix::fs::access(path, rustix::fs::Access::EXEC_OK).is_ok()
}

fn name_of(running: &Path) -> Result<PathBuf> {
    let Ok(this) = std::fs::metadata(running) else {
        // On Linux the path of a binary that was replaced while it ran has a suffix that says so.
        return Err(Error::refused(format!("{} was replaced or removed while it ran", running.display()))
            .hint("run the same command again"));
    };
    let same = |path: &Path| std::fs::metadata(path).is_ok_and(|m| (m.dev(), m.ino()) == (this.dev(), this.ino()));
    let folders = std::env::var_os("PATH").unwrap_or_default();
    // Relative entries depend on the current directory (R14.3).
    let named = std::env::split_paths(&folders).filter(|f| f.is_absolute()).map(|f| f.join("heirloom"));
    let found = named.into_iter().find(|path| same(path)).unwrap_or_else(|| running.to_owned());
    let name = found.file_name().and_then(|n| n.to_str()).unwrap_or_default();
    if !name.starts_with("heirloom") {
        return Err(Error::usage(format!("this binary is called {name}; its hooks could not be told from others"))
            .hint("install it under the name heirloom and connect from there"));
    }
    Ok(found)
}

fn text(path: &Path) -> Result<String> {
    path.to_str().map(str::to_owned).ok_or_else(|| {
        Error::refused(format!("{} is not UTF-8 and cannot stand in a settings file", path.display()))
            .hint("give the binary and the home names in UTF-8")
    })
}
