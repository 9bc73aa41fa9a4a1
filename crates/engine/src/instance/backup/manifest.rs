//! The list of a backup (`backup.json`), and the writing of the files it names into the backup's folder.

use std::collections::BTreeMap;
use std::fs::{self, File};
use std::io::{Read, Write};
use std::os::unix::fs::{DirBuilderExt, OpenOptionsExt};
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};

use crate::error::{Error, ErrorKind, Result};

/// Version of the backup's form. Since version 2 a file may be stored in pieces.
pub const VERSION: u64 = 2;

/// File name of the list.
pub const MANIFEST: &str = "backup.json";

/// Hint of the errors about a damaged backup.
pub const ANOTHER: &str = "take another backup; nothing was restored";

/// Length of a piece in bytes. It is a multiple of every page size of SQLite, so that a piece whose pages did not change has
/// the same bytes in the next backup.
const PIECE: usize = 1 << 20;

/// The list of a backup.
#[derive(Serialize, Deserialize)]
pub struct Manifest {
    pub v: u64,
    /// Time of the backup, RFC 3339.
    pub at: String,
    /// Id of the ledger. Absent in version 1.
    #[serde(default)]
    pub ledger: String,
    /// Number of the newest audit row in the backup.
    pub audit_row: i64,
    /// The files by their path in the home.
    pub files: BTreeMap<String, Part>,
}

/// Length and digest of one file of a backup.
#[derive(Clone, Serialize, Deserialize, PartialEq, Eq, Debug)]
pub struct Part {
    pub bytes: u64,
    /// BLAKE3 of the whole file, in hex.
    pub digest: String,
    /// Digests of the pieces `<path>.000000`, `<path>.000001` and so on, in order; empty where the file is stored whole.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub pieces: Vec<String>,
}

impl Part {
    pub fn of(bytes: &[u8]) -> Part {
        Part { bytes: bytes.len() as u64, digest: hex(bytes), pieces: Vec::new() }
    }

    /// Returns the names of the stored files that make up this file, in order: its pieces, or its own path.
    pub fn stored(&self, path: &str) -> Vec<String> {
        match self.pieces.len() {
            0 => vec![path.to_owned()],
            n => (0..n).map(|n| piece_name(path, n)).collect(),
        }
    }
}

impl Manifest {
    /// Reads the list of the backup in a folder. `NotFound` where there is none, `Damaged` where it is no list, `Refused` for
    /// a newer version.
    pub fn read(folder: &Path) -> Result<Manifest> {
        let list = folder.join(MANIFEST);
        let text = fs::read(&list).map_err(|e| match e.kind() {
            std::io::ErrorKind::NotFound => {
                Error::not_found(format!("{} is no backup: it has no {MANIFEST}", folder.display()))
                    .hint("name the folder or file that ⟨backup⟩ wrote")
            }
            _ => Error::io("read", &list, e),
        })?;
        let manifest: Manifest = serde_json::from_slice(&text)
            .map_err(|e| Error::damaged(format!("{} cannot be read", list.display())).because(e).hint(ANOTHER))?;
        if manifest.v > VERSION {
            return Err(Error::refused("the backup is of a newer version of heirloom")
                .hint("update heirloom; nothing was restored"));
        }
        Ok(manifest)
    }

    /// Writes the list into the folder.
    pub fn write(&self, folder: &Path) -> Result<()> {
        let text = serde_json::to_vec_pretty(self)
            .map_err(|e| Error::new(ErrorKind::Machine, "the list of the backup").because(e))?;
        write_file(&folder.join(MANIFEST), &text)
    }

    /// Returns the length of all files together, in bytes.
    pub fn bytes(&self) -> u64 {
        self.files.values().map(|part| part.bytes).sum()
    }

    /// Reads every file of the backup and compares it with the list. Calls `progress` with the bytes of each file read.
    /// `Damaged` for the first file that differs or is missing.
    pub fn compare(&self, folder: &Path, progress: &mut dyn FnMut(u64)) -> Result<()> {
        for (path, part) in &self.files {
            let mut whole = blake3::Hasher::new();
            let mut bytes = 0;
            for (n, stored) in part.stored(path).iter().enumerate() {
                let at = folder.join(stored);
                let changed = || Error::damaged(format!("{} is not what was backed up", at.display())).hint(ANOTHER);
                let found = part_of(&at, &mut whole)?;
                bytes += found.bytes;
                progress(found.bytes);
                if part.pieces.get(n).is_some_and(|digest| *digest != found.digest) {
                    return Err(changed());
                }
                let is_last = n + 1 >= part.pieces.len().max(1);
                if is_last && (bytes != part.bytes || whole.finalize().to_hex().as_str() != part.digest) {
                    return Err(changed());
                }
            }
        }
        Ok(())
    }
}

/// Returns the BLAKE3 digest of bytes, in hex.
pub fn hex(bytes: &[u8]) -> String {
    blake3::hash(bytes).to_hex().to_string()
}

fn piece_name(path: &str, n: usize) -> String {
    format!("{path}.{n:06}")
}

/// Reads a file and returns its length and digest; also feeds its bytes to `whole`, the digest of the file it is a piece of.
pub fn part_of(path: &Path, whole: &mut blake3::Hasher) -> Result<Part> {
    let failed = |e: std::io::Error| match e.kind() {
        std::io::ErrorKind::NotFound => Error::damaged(format!("{} is missing", path.display())).hint(ANOTHER),
        _ => Error::io("read", path, e),
    };
    let mut file = File::open(path).map_err(failed)?;
    let (mut hasher, mut bytes, mut buffer) = (blake3::Hasher::new(), 0, vec![0; 1 << 20]);
    loop {
        let n = file.read(&mut buffer).map_err(failed)?;
        if n == 0 {
            return Ok(Part { bytes, digest: hasher.finalize().to_hex().to_string(), pieces: Vec::new() });
        }
        hasher.update(&buffer[..n]);
        whole.update(&buffer[..n]);
        bytes += n as u64;
    }
}

/// An earlier backup of the same memory, from which unchanged files are linked.
pub struct Earlier {
    pub folder: PathBuf,
    /// Stored names by digest.
    pub stored: BTreeMap<String, String>,
}

impl Earlier {
    /// Reads the backup in this folder. `None` where it is none, or of another ledger.
    pub fn of(folder: &Path, ledger: &str) -> Option<Earlier> {
        let manifest = Manifest::read(folder).ok().filter(|manifest| manifest.ledger == ledger)?;
        let mut stored = BTreeMap::new();
        for (path, part) in &manifest.files {
            for (n, name) in part.stored(path).into_iter().enumerate() {
                stored.insert(part.pieces.get(n).unwrap_or(&part.digest).clone(), name);
            }
        }
        Some(Earlier { folder: folder.to_owned(), stored })
    }
}

/// Writes files into a new backup, and links those the earlier backup has with the same bytes.
pub struct Copying<'a> {
    pub to: &'a Path,
    pub earlier: Option<&'a Earlier>,
    /// Number of bytes linked from the earlier backup.
    pub reused: u64,
}

impl Copying<'_> {
    /// Stores one file: as a hard link to the earlier backup's file where that has the same bytes, else by writing it.
    pub fn put(&mut self, name: &str, bytes: &[u8]) -> Result<()> {
        let target = self.to.join(name);
        make_folder(target.parent().unwrap_or(self.to))?;
        if !bytes.is_empty() && self.link(&target, bytes) {
            self.reused += bytes.len() as u64;
            return Ok(());
        }
        write_file(&target, bytes)
    }

    /// Links `target` to the file of the earlier backup with these bytes. Returns false where there is none, or where the file
    /// system has no hard links: the caller then writes the bytes.
    fn link(&self, target: &Path, bytes: &[u8]) -> bool {
        let Some(earlier) = self.earlier else { return false };
        let Some(name) = earlier.stored.get(&hex(bytes)) else { return false };
        let at = earlier.folder.join(name);
        // The stored file is read and compared first: a damaged one must not be linked into the new backup.
        let is_plain = fs::symlink_metadata(&at).is_ok_and(|meta| meta.is_file() && meta.len() == bytes.len() as u64);
        is_plain && fs::read(&at).is_ok_and(|found| found == bytes) && fs::hard_link(&at, target).is_ok()
    }

    /// Stores a large file in pieces of [`PIECE`] bytes. Calls `progress` with the bytes of each piece.
    pub fn put_in_pieces(&mut self, name: &str, from: &Path, progress: &mut dyn FnMut(u64)) -> Result<Part> {
        let failed = |e: std::io::Error| Error::io("read", from, e);
        let mut file = File::open(from).map_err(failed)?;
        let mut part = Part { bytes: 0, digest: String::new(), pieces: Vec::new() };
        let (mut whole, mut piece) = (blake3::Hasher::new(), Vec::with_capacity(PIECE));
        loop {
            piece.clear();
            Read::by_ref(&mut file).take(PIECE as u64).read_to_end(&mut piece).map_err(failed)?;
            if piece.is_empty() {
                part.digest = whole.finalize().to_hex().to_string();
                return Ok(part);
            }
            whole.update(&piece);
            self.put(&piece_name(name, part.pieces.len()), &piece)?;
            part.bytes += piece.len() as u64;
            progress(piece.len() as u64);
            part.pieces.push(hex(&piece));
        }
    }
}

/// Makes a folder and its parents, readable by the user alone.
pub fn make_folder(path: &Path) -> Result<()> {
    let made = fs::DirBuilder::new().recursive(true).mode(0o700).create(path);
    made.map_err(|e| Error::io("make", path, e))
}

/// Writes a new file, readable by the user alone, and syncs it. Fails where the file exists.
pub fn write_file(path: &Path, bytes: &[u8]) -> Result<()> {
    let failed = |e: std::io::Error| Error::io("write", path, e);
    let mut file = File::options().write(true).create_new(true).mode(0o600).open(path).map_err(failed)?;
    file.write_all(bytes).map_err(failed)?;
    file.sync_all().map_err(failed)
}

/// Syncs a folder and all folders below it. A file's name survives a power cut only after its folder was synced.
pub fn sync_folders(folder: &Path) -> Result<()> {
    let failed = |e: std::io::Error| Error::io("sync", folder, e);
    for entry in fs::read_dir(folder).map_err(failed)? {
        let entry = entry.map_err(failed)?;
        if entry.file_type().map_err(failed)?.is_dir() {
            sync_folders(&entry.path())?;
        }
    }
    sync_folder(folder)
}

/// Syncs one folder.
pub fn sync_folder(folder: &Path) -> Result<()> {
    let synced = File::open(folder).and_then(|file| file.sync_all());
    synced.map_err(|e| Error::io("sync", folder, e))
}
