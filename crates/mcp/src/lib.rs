//! The memory for programs that speak the Model Context Protocol: seven tools, resources and prompts over the engine's
//! door.
//!
//! The protocol is the SDK's (`rmcp`), behind two files ([`server`], [`http`]): a new revision of it is an upgrade. What the tools
//! are stands in `tools.json`; what they answer is text, made by [`answers`] from the engine's reports. Some programs show
//! a model nothing but the structured part of a result where there is one, so there is none.
//!
//! Everything answered is fenced as data, redacted and bounded. Nothing here forgets, merges or changes settings: these
//! are a person's acts.

mod answers;
mod ask;
mod http;
mod memory;
mod server;
mod words;

pub use http::{Asked, answering};
pub use memory::{Memory, Opening};
pub use server::{Failed, Server, serve_stdio, stated};
