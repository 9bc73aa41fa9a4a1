//! Language models behind the engine's [`Model`](heirloom_engine::model::Model): providers over HTTP, and programs that
//! are already installed (D5, R14.4).
//!
//! A [`Choice`] has the settings of a model; [`Choice::open`] makes the model. Each kind has a file with its requests
//! and how its answers are read. The shared parts are in files beside them: one question with its check and its repair
//! (`asking`), the part of JSON Schema that strict models accept (`schema`), an address and the meaning of its statuses
//! (`http`), the key and the program that may print it (`held`), a run of a program (`program`).
//!
//! No message contains a key, words of a provider or a program, or text of a conversation.

mod anthropic;
mod asking;
mod held;
mod http;
mod key;
mod kind;
mod ollama;
mod openai;
mod program;
mod schema;
mod status;

pub use asking::Asking;
pub use key::Key;
pub use kind::{Choice, Kind};
pub use program::{Folders, INSIDE};
pub use schema::dialect;
