//! A backup as one file: a tar, packed with zstd, encrypted with age where that is asked. Everybody's tools read it:
//! `age -d FILE | zstd -d | tar -x`.
//!
//! [`write`] makes one of a folder, [`check`] reads one to its end, [`unpack`] makes a folder of one. The list of the
//! backup comes first, so that nothing is written that it does not name, nor more of it. Knows no home and no ledger, and
//! asks nobody for a key.

mod key;
mod read;
mod write;

pub use key::{Key, Lock, recipients_of};
pub use read::{check, is_encrypted, unpack};
pub use write::write;

/// The list of what is in it: the first file of the archive.
const LIST: &str = "backup.json";

/// What the list says, as far as it is needed here.
#[derive(serde::Deserialize)]
struct List {
    files: std::collections::BTreeMap<String, Listed>,
}

#[derive(serde::Deserialize)]
struct Listed {
    bytes: u64,
    digest: String,
}
