//! One test binary per crate: every file of this folder is a module here.

mod at_once;
mod contract;
mod events;
mod hostile;
mod mcp;
mod pages;
mod routes;
mod schema;
mod security;
mod world;
