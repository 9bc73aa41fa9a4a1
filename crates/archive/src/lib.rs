//! A backup as one file: a tar, compressed with zstd, and encrypted with age on request. Common tools read it:
//! `age -d FILE | zstd -d | tar -x`.
//!
//! [`write`] packs a folder into an archive, [`check`] reads an archive to its end, [`unpack`] writes it into a folder. The
//! backup's list is the first entry, so that unpacking writes only files the list names, and never more bytes than it says.
//! Knows nothing of homes and ledgers, and never prompts for a key.

mod key;
mod read;
mod write;

pub use key::{Key, Lock, recipients_of};
pub use read::{check, is_encrypted, unpack};
pub use write::write;

/// Name of the backup's list of files, the first entry of an archive.
const LIST: &str = "backup.json";

/// The parts of the backup's list that are needed here: length and digest of each file, by path.
#[derive(serde::Deserialize)]
struct List {
    files: std::collections::BTreeMap<String, Listed>,
}

#[derive(serde::Deserialize)]
struct Listed {
    bytes: u64,
    digest: String,
}
