//! Transcripts: sessions, source records, turns and turn results. Storey 2 (R4.3, R4.4).
//!
//! A *source record* is a sequence of bytes, addressed by stream, generation and position; a *turn* is their meaning,
//! addressed by agent, session and the program's own entry id. [`mod@append`] is the only way to store them, [`read`]
//! reads them, [`order`] pages through a session, [`export`] writes the original bytes again. [`workspaces`] are the
//! projects they belong to.
//!
//! This room does not know programs, files or search.

pub mod append;
pub mod codes;
pub mod export;
pub mod order;
pub mod prepare;
pub mod read;
pub mod recent;
mod runs;
pub(crate) mod sources;
pub(crate) mod twin;
pub mod workspaces;

use std::ffi::OsString;
use std::os::unix::ffi::OsStringExt;
use std::path::{Path, PathBuf};

use serde::Serializer;

pub(crate) use append::StreamMoved;
pub use append::{Appended, Fresh, append};
pub use codes::{
    class_code, class_name, kind_name, kind_of as kind_from_code, role_name, role_of as role_from_code, role_parse,
};
pub use prepare::{After, Batch, Preparer, RecordBytes, Step, StreamAt};
pub(crate) use runs::leave;
pub use runs::{ClosedIdle, IDLE_MS, close_idle, end_session, end_told};

/// Makes a path from its stored bytes.
fn path_of(bytes: Vec<u8>) -> PathBuf {
    PathBuf::from(OsString::from_vec(bytes))
}

/// Serialises a path as text.
fn as_shown<S: Serializer>(path: &Path, to: S) -> std::result::Result<S::Ok, S::Error> {
    to.collect_str(&path.display())
}
