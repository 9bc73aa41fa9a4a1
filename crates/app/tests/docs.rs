//! Documents are checked against the code, and the sample sessions against the decoders.
//!
//! Whatever a document names must exist; every requirement has an entry in `docs/specs/dependencies.yaml`, from which
//! INDEX.md is made; decisions and notes link both ways; and the instructions of FORMAT.md are carried out on a ledger
//! made for this purpose.

mod demo;
mod documents;
mod format;
mod requirements;
mod source;

use std::path::{Path, PathBuf};

fn repository() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..").canonicalize().unwrap()
}

fn read(path: &str) -> String {
    std::fs::read_to_string(repository().join(path)).unwrap_or_else(|e| panic!("{path}: {e}"))
}

/// Returns files of the repository, as paths from its root; built and downloaded files are left out.
fn files() -> Vec<PathBuf> {
    let (root, mut found) = (repository(), Vec::new());
    let mut folders = vec![root.clone()];
    while let Some(folder) = folders.pop() {
        for entry in std::fs::read_dir(&folder).unwrap() {
            let path = entry.unwrap().path();
            let name = path.file_name().unwrap().to_string_lossy().into_owned();
            if ["target", ".git", "node_modules"].contains(&name.as_str()) {
                continue;
            }
            if path.is_dir() { folders.push(path) } else { found.push(path.strip_prefix(&root).unwrap().to_owned()) }
        }
    }
    found.sort();
    found
}

fn markdown() -> Vec<(PathBuf, String)> {
    let of_us = files().into_iter().filter(|f| f.extension().is_some_and(|e| e == "md"));
    of_us.map(|f| (f.clone(), read(f.to_str().unwrap()))).collect()
}

/// Returns the program's commands, as its help lists them.
fn commands() -> Vec<String> {
    let help = std::process::Command::new(env!("CARGO_BIN_EXE_heirloom")).arg("--help").output().unwrap();
    let help = String::from_utf8(help.stdout).unwrap();
    let (_, list) = help.split_once("Commands:").unwrap();
    let rows = list.lines().skip(1).take_while(|l| !l.is_empty());
    let rows = rows.filter_map(|l| l.strip_prefix("  ").filter(|l| !l.starts_with(' ')));
    let commands: Vec<String> = rows.filter_map(|l| l.split(' ').next()).map(str::to_owned).collect();
    assert!(commands.iter().any(|c| c == "search"), "{help}");
    commands
}
