//! An isolated environment for tests: temporary homes, seeded randomness, broken input, a scripted model.
//! Dev-dependency only.
//!
//! This crate does not depend on the engine or the harnesses, and knows of a record only that it is a line of JSON; so
//! a crate under test never meets its own types here.

pub mod fake_model;
mod home;
mod mutate;
pub mod planted;
mod rng;
mod tables;
mod vectors;

use std::path::{Path, PathBuf};

pub use home::{Output, TestHome, run};
pub use mutate::{MUTATIONS, mutate, mutate_with};
pub use rng::Rng;
pub use tables::insert_rows;
pub use vectors::word_vector;

/// Returns the folder of sessions recorded from the real programs, which are too large or too private to be committed:
/// `HEIRLOOM_RECORDINGS` names it (relative to the repository), otherwise it is `shared` beside the repository. A test
/// that needs it is `#[ignore]`d in a module named `recorded`, and is run by `just real`; without the folder it fails.
pub fn recordings() -> PathBuf {
    let named = std::env::var_os("HEIRLOOM_RECORDINGS").filter(|name| !name.is_empty());
    let repository = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let dir = repository.join(named.as_deref().unwrap_or("../shared".as_ref()));
    dir.canonicalize().unwrap_or_else(|e| {
        panic!("no recorded sessions at {} ({e}): name their folder in HEIRLOOM_RECORDINGS", dir.display())
    })
}

/// Returns the folder `shared` beside the repository, or `None` if it is missing.
pub fn shared() -> Option<PathBuf> {
    let dir = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../shared");
    if dir.is_dir() {
        return dir.canonicalize().ok();
    }
    println!("skipped: there is no folder `shared` beside the repository");
    None
}

/// Makes a named pipe, which blocks a program that opens it without care.
pub fn named_pipe(path: &Path) {
    // Runs the command, because the system call is not in the standard library and our bindings lack it on macOS.
    let made = std::process::Command::new("mkfifo").arg(path).status().expect("mkfifo is part of every Unix");
    assert!(made.success(), "mkfifo {}", path.display());
}
