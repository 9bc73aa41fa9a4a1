//! One test binary: every file of this folder is a module here.

mod endpoint;
mod suite;
mod table;
