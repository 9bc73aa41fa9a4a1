//! Arguments for running a program inside bubblewrap (R12.6): what it may see and change. Reads nothing but links.
//!
//! | what | access inside |
//! |---|---|
//! | the system | readable |
//! | the user's home, `/tmp` | empty; nothing in them is kept |
//! | the program itself, Heirloom, folders named with `--show` | readable |
//! | the project | changeable, at its own path, and as `/workspace` |
//! | the program's private state | changeable, at its own path, and as `/runtime` |
//! | the memory | changeable: hooks store into it |
//!
//! `/workspace` and `/runtime` are links, so that a session inside belongs to the same project as one outside, and a
//! folder that a hook reports inside exists outside under the same path.

use std::ffi::OsString;
use std::path::{Path, PathBuf};

/// Name of the program that confines others.
pub const BWRAP: &str = "bwrap";

/// Paths for a program confined by bubblewrap. It may write its memory, its private folder and the project, and read the rest
/// of the system; the user's home and `/tmp` look empty to it, except for `binaries` and `shown`.
pub struct Confined<'c> {
    pub user_home: &'c Path,
    pub project: &'c Path,
    /// Private folder of the program, which is its home.
    pub state: &'c Path,
    pub memory: &'c Path,
    /// Executables the program needs, as found in PATH.
    pub binaries: &'c [&'c Path],
    /// Further files and folders the program may read.
    pub shown: &'c [PathBuf],
}

impl Confined<'_> {
    /// Returns the arguments of bubblewrap before the command.
    pub fn arguments(&self) -> Vec<OsString> {
        let mut out: Vec<OsString> = Vec::new();
        let mut say =
            |words: &[&dyn AsRef<std::ffi::OsStr>]| out.extend(words.iter().map(|word| word.as_ref().to_owned()));
        say(&[&"--die-with-parent", &"--unshare-pid", &"--unshare-ipc", &"--unshare-uts"]);
        say(&[&"--ro-bind", &"/", &"/", &"--dev", &"/dev", &"--proc", &"/proc"]);
        say(&[&"--tmpfs", &"/tmp"]);
        if self.user_home.parent().is_some() {
            say(&[&"--tmpfs", &self.user_home]);
        }
        for folder in self.readable() {
            say(&[&"--ro-bind", &folder, &folder]);
        }
        for folder in [self.memory, self.state, self.project] {
            say(&[&"--bind", &folder, &folder]);
        }
        say(&[&"--symlink", &self.project, &"/workspace", &"--symlink", &self.state, &"/runtime"]);
        say(&[&"--setenv", &"HOME", &self.state, &"--setenv", &"HEIRLOOM_HOME", &self.memory]);
        // The program's folders are in its private home, whatever variables the user has set for them.
        let others =
            ["CLAUDE_CONFIG_DIR", "CODEX_HOME", "XDG_CONFIG_HOME", "XDG_DATA_HOME", "XDG_CACHE_HOME", "XDG_STATE_HOME"];
        for name in others.into_iter().chain(["OPENCLAW_STATE_DIR", "OPENCLAW_HOME", "OPENCLAW_CONFIG_PATH"]) {
            say(&[&"--unsetenv", &name]);
        }
        say(&[&"--chdir", &"/workspace", &"--"]);
        out
    }

    /// Returns the folders that must be readable although they lie below emptied ones: those of executables, and the
    /// named ones.
    fn readable(&self) -> Vec<PathBuf> {
        let mut folders: Vec<PathBuf> = self.shown.to_vec();
        for binary in self.binaries {
            folders.extend(binary.parent().map(Path::to_owned));
            if let Ok(real) = binary.canonicalize() {
                folders.extend(package_of(&real));
            }
        }
        let hidden = [self.user_home, Path::new("/tmp")];
        folders.retain(|folder| {
            hidden.iter().any(|top| folder.starts_with(top) && folder != top) || self.shown.contains(folder)
        });
        folders.sort();
        folders.dedup();
        folders
    }
}

/// Returns the folder an executable needs: the package it is part of, or its own folder.
fn package_of(real: &Path) -> Option<PathBuf> {
    let package = real.ancestors().skip(1).take(4).find(|folder| folder.join("package.json").is_file());
    // A package needs its dependencies, which lie beside it in the same `node_modules`.
    let all = package.and_then(|package| package.ancestors().find(|folder| folder.ends_with("node_modules")));
    all.or(package).or(real.parent()).map(Path::to_owned)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn words(confined: &Confined) -> String {
        confined.arguments().iter().map(|word| word.to_string_lossy().into_owned()).collect::<Vec<_>>().join(" ")
    }

    #[test]
    fn only_the_project_the_state_and_the_memory_can_be_changed() {
        let confined = Confined {
            user_home: Path::new("/home/ada"),
            project: Path::new("/home/ada/barn"),
            state: Path::new("/home/ada/.heirloom/runtime/main/codex"),
            memory: Path::new("/home/ada/.heirloom"),
            binaries: &[Path::new("/home/ada/.local/bin/codex"), Path::new("/usr/bin/heirloom")],
            shown: &["/srv/data".into()],
        };
        let said = words(&confined);
        let bound: Vec<&str> = said.split("--bind ").skip(1).map(|rest| rest.split(' ').next().unwrap()).collect();
        assert_eq!(bound, ["/home/ada/.heirloom", "/home/ada/.heirloom/runtime/main/codex", "/home/ada/barn"]);
        let hidden = said.find("--tmpfs /home/ada ").unwrap();
        assert!(said.find("--ro-bind / /").unwrap() < hidden && hidden < said.find("--bind ").unwrap(), "{said}");
        assert!(
            said.contains("--ro-bind /home/ada/.local/bin /home/ada/.local/bin")
                && said.contains("--ro-bind /srv/data")
        );
        assert!(!said.contains("--ro-bind /usr/bin"), "the system is there already: {said}");
        assert!(
            said.contains(
                "--symlink /home/ada/barn /workspace --symlink /home/ada/.heirloom/runtime/main/codex /runtime"
            )
        );
        assert!(said.ends_with("--chdir /workspace --"), "{said}");
    }

    #[test]
    fn a_home_that_is_the_root_hides_nothing() {
        let root = Path::new("/");
        let confined = Confined {
            user_home: root,
            project: Path::new("/p"),
            state: Path::new("/s"),
            memory: Path::new("/m"),
            binaries: &[],
            shown: &[],
        };
        assert!(!words(&confined).contains("--tmpfs / "));
    }
}
