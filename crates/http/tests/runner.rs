//! One test binary per crate: every file of this folder is a module here.

mod contract;
mod routes;
mod schema;
mod security;
mod world;
