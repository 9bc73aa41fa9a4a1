//! One test binary: every file of this folder is a module here.

mod folder;
/// Checks that every embedder has to pass; the other models use the same file.
#[path = "../../embed/tests/suite.rs"]
mod suite;
