//! A hermetic world for tests: temporary homes, seeded chance, broken input, a model that says what it is told to.
//! Dev-dependency only.
//!
//! Deliberately knows nothing about the engine, the harnesses or what a record looks like beyond its being a line of
//! JSON; a crate under test never meets its own types here.

pub mod fake_model;
mod home;
mod mutate;
mod rng;
mod tables;
mod vectors;

use std::path::{Path, PathBuf};

pub use home::{Output, TestHome, run};
pub use mutate::{MUTATIONS, mutate, mutate_with};
pub use rng::Rng;
pub use tables::insert_rows;
pub use vectors::word_vector;

/// The folder `shared` beside the repository: captures and corpora too large or too private to be committed. Tests that
/// need it pass without it, after saying so.
pub fn shared() -> Option<PathBuf> {
    let dir = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../shared");
    if dir.is_dir() {
        return dir.canonicalize().ok();
    }
    println!("skipped: there is no folder `shared` beside the repository");
    None
}

/// Makes a named pipe, the file that hangs whoever opens it carelessly.
pub fn named_pipe(path: &Path) {
    // The command, because the system call is not in the standard library and our bindings lack it on macOS.
    let made = std::process::Command::new("mkfifo").arg(path).status().expect("mkfifo is part of every Unix");
    assert!(made.success(), "mkfifo {}", path.display());
}
