//! One test binary: every file of this folder is a module here.

mod folder;
/// What every embedder has to hold to; the other models are held to the same file.
#[path = "../../embed/tests/suite.rs"]
mod suite;
