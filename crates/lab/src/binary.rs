//! The product as people run it: whole processes of the `heirloom` binary.

use std::path::{Path, PathBuf};
use std::process::Command;

use heirloom_engine::error::{Error, Result};

/// Returns the binary named, or the one beside this program. `NotFound` if there is none, with the command that builds
/// it.
pub fn find(named: Option<&Path>) -> Result<PathBuf> {
    let path = match named {
        Some(path) => path.to_owned(),
        None => {
            let own = std::env::current_exe().map_err(|e| Error::io("find", Path::new("this program"), e))?;
            own.with_file_name("heirloom")
        }
    };
    match path.is_file() {
        true => Ok(path),
        false => Err(Error::not_found(format!("there is no heirloom binary at {}", path.display())).hint(
            "build it (cargo build --release --locked), then run this with the same profile, or name one: --binary PATH",
        )),
    }
}

/// Returns a command that runs the binary.
pub fn command(exe: &Path, args: &[String]) -> Command {
    let mut command = Command::new(exe);
    command.args(args);
    command
}

/// Returns the command for a person whose only files are in the folder `user`, so that no other person's sessions are
/// read.
pub fn command_of(exe: &Path, user: &Path, args: &[String]) -> Command {
    let mut command = command(exe, args);
    command.env_clear().env("HOME", user);
    if let Some(path) = std::env::var_os("PATH") {
        command.env("PATH", path);
    }
    command
}

/// Returns the arguments of a search in a home.
pub fn search(home: &Path, query: &str) -> Vec<String> {
    ["--home", &home.to_string_lossy(), "--json", "search", query].map(str::to_owned).to_vec()
}

/// Returns the arguments of a program's hook in a home.
pub fn hook(home: &Path, program: &str, event: &str) -> Vec<String> {
    ["--home", &home.to_string_lossy(), "hook", program, event].map(str::to_owned).to_vec()
}
