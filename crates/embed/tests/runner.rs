//! One test binary: every file of this folder is a module here.

mod endpoint;
#[cfg(feature = "minilm")]
mod minilm;
mod suite;
mod table;
