//! The memory for programs that speak the Model Context Protocol: seven tools, resources and prompts over the engine's
//! door.
//!
//! The SDK (`rmcp`) implements the protocol, behind three files ([`server`], [`http`], [`stdio`]), so a new revision of the protocol
//! is an upgrade of the SDK. `tools.json` defines the tools; [`answers`] makes their answers as text from the engine's
//! reports. A result has no structured part, because some programs show a model only that part if there is one.
//!
//! Every answer is fenced as data, redacted and bounded. No tool forgets, merges or changes settings: these acts are a
//! person's.

mod answers;
mod ask;
pub mod faults;
mod http;
mod memory;
mod server;
mod stdio;
mod words;

pub use http::{Asked, answering};
pub use memory::{Memory, Opening};
pub use server::{Failed, Server, may_write, serve_stdio, stated};
pub use words::tool_for;
