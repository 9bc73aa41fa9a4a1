//! Language models behind the engine's [`Model`](heirloom_engine::model::Model): providers over HTTP and programs that
//! are installed anyway (D5, R14.4).
//!
//! A [`Choice`] is what the settings say; [`Choice::open`] makes a model of it. Each kind has a file: how it is asked, how
//! its answer is read. What they share stands beside them: one question with its check and its repair (`asking`), what a
//! kind understands of JSON Schema (`schema`), an address and what its statuses mean (`http`), a run of a program
//! (`program`).
//!
//! No message holds a key, the words of a provider or a program, or text of a conversation.

mod anthropic;
mod asking;
mod http;
mod key;
mod kind;
mod ollama;
mod openai;
mod program;
mod schema;

pub use asking::Asking;
pub use key::Key;
pub use kind::{Choice, Kind};
pub use program::{Folders, INSIDE};
pub use schema::dialect;
