//! One test binary per crate: every file of this folder is a module here.

mod security;
mod world;
