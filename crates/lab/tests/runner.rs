//! One test binary: every file of this folder is a module here.

mod commands;
mod memory;
mod recall;
mod world;
