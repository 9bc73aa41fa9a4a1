//! The list of what is in a copy, and the files it names, as they stand in the copy.

use std::collections::BTreeMap;
use std::fs::{self, File};
use std::io::{Read, Write};
use std::os::unix::fs::{DirBuilderExt, OpenOptionsExt};
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};

use crate::error::{Error, ErrorKind, Result};

/// The version of the form. Since 2 a file may be in pieces.
pub const VERSION: u64 = 2;

/// The list of what is in the copy.
pub const MANIFEST: &str = "backup.json";

/// What to do about a backup that is damaged.
pub const ANOTHER: &str = "take another backup; nothing was put back";

/// The length of a piece. A multiple of every page size, so that pages that stay make pieces that stay.
const PIECE: usize = 1 << 20;

#[derive(Serialize, Deserialize)]
pub struct Manifest {
    pub v: u64,
    pub at: String,
    /// Whose copy it is. Absent in the first version.
    #[serde(default)]
    pub ledger: String,
    /// The last row of the audit chain in the copy.
    pub audit_row: i64,
    /// By path, with its length and BLAKE3 in hex.
    pub files: BTreeMap<String, Part>,
}

#[derive(Clone, Serialize, Deserialize, PartialEq, Eq, Debug)]
pub struct Part {
    pub bytes: u64,
    pub digest: String,
    /// The digests of its pieces, in order, where it is in pieces: `<path>.000000`, `<path>.000001` and so on.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub pieces: Vec<String>,
}

impl Part {
    pub fn of(bytes: &[u8]) -> Part {
        Part { bytes: bytes.len() as u64, digest: hex(bytes), pieces: Vec::new() }
    }

    /// The files of the copy that make this one, in order.
    pub fn stored(&self, path: &str) -> Vec<String> {
        match self.pieces.len() {
            0 => vec![path.to_owned()],
            n => (0..n).map(|n| piece_name(path, n)).collect(),
        }
    }
}

impl Manifest {
    /// Reads the list of a copy. `NotFound` where the folder has none.
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
                .hint("update heirloom; nothing was put back"));
        }
        Ok(manifest)
    }

    pub fn write(&self, folder: &Path) -> Result<()> {
        let text = serde_json::to_vec_pretty(self)
            .map_err(|e| Error::new(ErrorKind::Machine, "the list of the backup").because(e))?;
        write_file(&folder.join(MANIFEST), &text)
    }

    pub fn bytes(&self) -> u64 {
        self.files.values().map(|part| part.bytes).sum()
    }

    /// Reads every file of the copy, and compares it with the list; tells how many bytes it has read.
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

pub fn hex(bytes: &[u8]) -> String {
    blake3::hash(bytes).to_hex().to_string()
}

fn piece_name(path: &str, n: usize) -> String {
    format!("{path}.{n:06}")
}

/// Length and digest of a file; `whole` takes its bytes, too.
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

/// An earlier copy, whose unchanged files are not copied again.
pub struct Earlier {
    pub folder: PathBuf,
    /// Where in it a file with this digest is.
    pub stored: BTreeMap<String, String>,
}

impl Earlier {
    /// The copy in this folder, if it is one of the same ledger.
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

/// Writes files into a copy. What an earlier copy has is linked to it, once it was found to be whole there.
pub struct Copying<'a> {
    pub to: &'a Path,
    pub earlier: Option<&'a Earlier>,
    /// Bytes that were not written again.
    pub reused: u64,
}

impl Copying<'_> {
    pub fn put(&mut self, name: &str, bytes: &[u8]) -> Result<()> {
        let target = self.to.join(name);
        make_folder(target.parent().unwrap_or(self.to))?;
        if !bytes.is_empty() && self.link(&target, bytes) {
            self.reused += bytes.len() as u64;
            return Ok(());
        }
        write_file(&target, bytes)
    }

    /// Gives a file of the earlier copy a second name. A file system that cannot is no error: the bytes are written.
    fn link(&self, target: &Path, bytes: &[u8]) -> bool {
        let Some(earlier) = self.earlier else { return false };
        let Some(name) = earlier.stored.get(&hex(bytes)) else { return false };
        let at = earlier.folder.join(name);
        // A changed or damaged file must not go on from copy to copy.
        let is_plain = fs::symlink_metadata(&at).is_ok_and(|meta| meta.is_file() && meta.len() == bytes.len() as u64);
        is_plain && fs::read(&at).is_ok_and(|found| found == bytes) && fs::hard_link(&at, target).is_ok()
    }

    /// Writes a large file in pieces; tells how many bytes are written.
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

pub fn make_folder(path: &Path) -> Result<()> {
    let made = fs::DirBuilder::new().recursive(true).mode(0o700).create(path);
    made.map_err(|e| Error::io("make", path, e))
}

pub fn write_file(path: &Path, bytes: &[u8]) -> Result<()> {
    let failed = |e: std::io::Error| Error::io("write", path, e);
    let mut file = File::options().write(true).create_new(true).mode(0o600).open(path).map_err(failed)?;
    file.write_all(bytes).map_err(failed)?;
    file.sync_all().map_err(failed)
}

/// Syncs a folder and all below it: a name is on the disk only when its folder is.
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

pub fn sync_folder(folder: &Path) -> Result<()> {
    let synced = File::open(folder).and_then(|file| file.sync_all());
    synced.map_err(|e| Error::io("sync", folder, e))
}
