//! A copy of the whole memory in a folder of its own, and the way back (R14.5).
//!
//! The copy is taken while programs run: the ledger in one read transaction, as SQLite copies it itself, and the visible
//! files under the locks of their trees, so that both are of one moment. `backup.json` names every file with its digest;
//! it is written last, and the folder gets its name only then, so what has the name is whole. The index is not copied: it
//! is made again. Nothing is put back into a home that has a memory, and nothing before every digest is right.

use std::collections::BTreeMap;
use std::fs::{self, File};
use std::io::{Read, Write};
use std::os::unix::fs::{DirBuilderExt, OpenOptionsExt};
use std::path::Path;

use serde::{Deserialize, Serialize};

use super::Instance;
use crate::clock::rfc3339;
use crate::error::{Error, ErrorKind, Result};
use crate::home::{Home, HomeOptions, Kind, NewFile, RelPath, layout};
use crate::ledger::Audit;
use crate::report::upkeep::{BackedUp, PutBack};
use crate::verify::anchor;

/// The version of the form.
const VERSION: u64 = 1;

/// The list of what is in the copy.
const MANIFEST: &str = "backup.json";

/// Files that are copied wherever they are in these folders.
const FOLDERS: [RelPath; 3] = [layout::WORKSPACES, layout::RUNTIME, layout::SPOOL];

/// Single files that are copied.
const FILES: [RelPath; 3] = [layout::CONFIG, layout::CONNECTED, layout::AUDIT_HEAD];

/// The largest file that is copied beside the ledger, in bytes.
const LARGEST: u64 = 256 << 20;

/// The deepest folder that is copied.
const DEEPEST: usize = 16;

#[derive(Serialize, Deserialize)]
struct Manifest {
    v: u64,
    at: String,
    /// The last row of the audit chain in the copy.
    audit_row: i64,
    /// By path, with its length and BLAKE3 in hex.
    files: BTreeMap<String, Part>,
}

#[derive(Clone, Serialize, Deserialize, PartialEq, Eq)]
struct Part {
    bytes: u64,
    digest: String,
}

impl Instance {
    /// Copies the memory into the folder `to`, which must not be there or be empty. What the spool holds is stored first
    /// where that can be. The copy is read back and compared. `Refused` where something is in the folder, or the home is
    /// inside it.
    pub fn backup(&self, actor: &str, to: &Path) -> Result<BackedUp> {
        let to = std::path::absolute(to).map_err(|e| Error::io("find", to, e))?;
        let taken = to.exists() && !fs::read_dir(&to).is_ok_and(|mut entries| entries.next().is_none());
        if taken {
            return Err(
                Error::refused(format!("{} is not empty", to.display())).hint("name a folder that is not there")
            );
        }
        if to.starts_with(self.home.root()) {
            return Err(Error::refused("a backup inside the home is lost with it").hint("name a folder elsewhere"));
        }
        let begun = to.with_file_name(format!(
            ".{}.{}",
            to.file_name().and_then(|n| n.to_str()).unwrap_or("backup"),
            crate::home::temporary_name()?
        ));
        make_folder(&begun)?;
        let done = self.copy_to(&begun).and_then(|(manifest, left_out)| {
            compare(&begun, &manifest)?;
            if to.exists() {
                fs::remove_dir(&to).map_err(|e| Error::io("replace", &to, e))?;
            }
            fs::rename(&begun, &to).map_err(|e| Error::io("name", &to, e))?;
            Ok((manifest, left_out))
        });
        let (manifest, left_out) = done.inspect_err(|_| drop(fs::remove_dir_all(&begun)))?;
        let report = BackedUp {
            backup: to.display().to_string(),
            files: manifest.files.len() as u64,
            bytes: manifest.files.values().map(|part| part.bytes).sum(),
            audit_row: manifest.audit_row,
            left_out,
        };
        if !self.read_only {
            self.ledger.write(Audit::new(actor, "home.backup"), |tx| {
                tx.note("files", report.files);
                tx.note("audit_row", report.audit_row);
                Ok(())
            })?;
        }
        Ok(report)
    }

    fn copy_to(&self, folder: &Path) -> Result<(Manifest, Vec<String>)> {
        let mut trees = Vec::new();
        let mut left_out = Vec::new();
        for agent in self.agents()? {
            if let Some(at) = self.assistant_as_it_is(&agent, "backup")? {
                if at.is_adopted() {
                    left_out
                        .push(format!("{} (pages of {agent} in another program's folder)", at.files.shown().display()));
                }
                trees.push(at);
            }
        }
        let locks = match self.read_only {
            true => Vec::new(),
            false => trees.iter().map(|at| at.lock_unscanned()).collect::<Result<Vec<_>>>()?,
        };
        anchor::put(&self.home, &self.ledger).ok();
        let ledger = folder.join(layout::RUNTIME_DB.as_str());
        make_folder(&folder.join(layout::STATE.as_str()))?;
        self.ledger.copy_to(&ledger)?;
        let mut files = BTreeMap::new();
        files.insert(layout::RUNTIME_DB.as_str().to_owned(), part_of(&ledger)?);
        for path in FILES {
            self.copy_file(&path, folder, &mut files, &mut left_out)?;
        }
        for path in FOLDERS {
            self.copy_folder(&path, folder, 0, &mut files, &mut left_out)?;
        }
        drop(locks);
        let audit_row = crate::ledger::last_row_of(&ledger)?;
        let manifest = Manifest { v: VERSION, at: rfc3339(self.ledger.now()), audit_row, files };
        let text = serde_json::to_vec_pretty(&manifest)
            .map_err(|e| Error::new(ErrorKind::Machine, "the list of the backup").because(e))?;
        write_file(&folder.join(MANIFEST), &text)?;
        Ok((manifest, left_out))
    }

    fn copy_folder(
        &self,
        path: &RelPath,
        to: &Path,
        depth: usize,
        files: &mut BTreeMap<String, Part>,
        left_out: &mut Vec<String>,
    ) -> Result<()> {
        let entries = match self.home.list(path) {
            Err(e) if e.kind() == ErrorKind::NotFound => return Ok(()),
            listed => listed?,
        };
        for entry in entries {
            let Some(below) = entry.name.to_str().and_then(|name| path.join(name).ok()) else {
                left_out.push(format!("{path}/{}", entry.name.to_string_lossy()));
                continue;
            };
            match entry.kind {
                Kind::Directory if depth < DEEPEST => self.copy_folder(&below, to, depth + 1, files, left_out)?,
                Kind::File => self.copy_file(&below, to, files, left_out)?,
                _ => left_out.push(below.to_string()),
            }
        }
        Ok(())
    }

    fn copy_file(
        &self,
        path: &RelPath,
        to: &Path,
        files: &mut BTreeMap<String, Part>,
        left_out: &mut Vec<String>,
    ) -> Result<()> {
        let bytes = match self.home.read(path, LARGEST) {
            Ok(Some(bytes)) => bytes,
            Ok(None) => return Ok(()),
            Err(e) if e.kind() == ErrorKind::Refused => {
                left_out.push(format!("{path} ({e})"));
                return Ok(());
            }
            Err(e) => return Err(e),
        };
        let target = to.join(path.as_str());
        make_folder(target.parent().unwrap_or(to))?;
        write_file(&target, &bytes)?;
        let digest = blake3::hash(&bytes).to_hex().to_string();
        files.insert(path.to_string(), Part { bytes: bytes.len() as u64, digest });
        Ok(())
    }
}

/// Puts a backup into the home at `root`, which must have no memory; nothing is written before every file of the backup
/// is what its list says. `Damaged` where one is not, `Refused` where the home has a ledger or pages.
pub fn put_back(from: &Path, root: &Path, options: &HomeOptions) -> Result<PutBack> {
    let list = from.join(MANIFEST);
    let text = fs::read(&list).map_err(|e| match e.kind() {
        std::io::ErrorKind::NotFound => {
            Error::not_found(format!("{} is no backup: it has no {MANIFEST}", from.display()))
        }
        _ => Error::io("read", &list, e),
    })?;
    let manifest: Manifest = serde_json::from_slice(&text)
        .map_err(|e| Error::damaged(format!("{} cannot be read", list.display())).because(e))?;
    if manifest.v > VERSION {
        return Err(Error::refused("the backup is of a newer version of heirloom").hint("update heirloom"));
    }
    let mut paths = Vec::new();
    for path in manifest.files.keys() {
        let path = RelPath::parse(path).map_err(|e| Error::damaged("the list of the backup").because(e))?;
        let known = path == layout::RUNTIME_DB
            || FILES.contains(&path)
            || FOLDERS.iter().any(|folder| path.as_str().starts_with(&format!("{folder}/")));
        if !known {
            return Err(Error::damaged(format!("the backup names {path}, which no backup has")));
        }
        paths.push(path);
    }
    compare(from, &manifest)?;
    let home = Home::create_with(root, options)?;
    let has_pages = !home.list(&layout::WORKSPACES)?.is_empty();
    if home.stat(&layout::RUNTIME_DB)?.is_some() || has_pages {
        return Err(Error::refused(format!("{} has a memory already", home.root().display()))
            .hint("move it away first, or put the backup elsewhere: --home DIR"));
    }
    // The ledger last: without it this is no memory, and the command can be run again.
    paths.sort_by_key(|path| *path == layout::RUNTIME_DB);
    for path in &paths {
        let source = from.join(path.as_str());
        if *path == layout::RUNTIME_DB {
            copy(&source, &home.root().join(path.as_str()))?;
            continue;
        }
        let bytes = fs::read(&source).map_err(|e| Error::io("read", &source, e))?;
        if let Some(folder) = path.parent() {
            home.create_dir_all(&folder)?;
        }
        match home.write_new(path, &bytes)? {
            NewFile::Written => {}
            // The settings of a home without a memory are the person's; the same bytes are left by an earlier attempt.
            NewFile::Exists => {}
        }
    }
    Ok(PutBack {
        home: home.root().display().to_string(),
        files: paths.len() as u64,
        bytes: manifest.files.values().map(|part| part.bytes).sum(),
        of: manifest.at,
    })
}

/// Compares every file of a copy with the list.
fn compare(folder: &Path, manifest: &Manifest) -> Result<()> {
    for (path, part) in &manifest.files {
        let at = folder.join(path);
        let found = part_of(&at).map_err(|e| match e.kind() {
            ErrorKind::NotFound => Error::damaged(format!("{} is missing", at.display())),
            _ => e,
        })?;
        if found != *part {
            return Err(Error::damaged(format!("{} is not what was backed up", at.display()))
                .hint("take another backup; nothing was put back"));
        }
    }
    Ok(())
}

fn part_of(path: &Path) -> Result<Part> {
    let failed = |e: std::io::Error| Error::io("read", path, e);
    let mut file = File::open(path).map_err(failed)?;
    let (mut hasher, mut bytes, mut buffer) = (blake3::Hasher::new(), 0, vec![0; 1 << 20]);
    loop {
        let n = file.read(&mut buffer).map_err(failed)?;
        if n == 0 {
            return Ok(Part { bytes, digest: hasher.finalize().to_hex().to_string() });
        }
        hasher.update(&buffer[..n]);
        bytes += n as u64;
    }
}

fn make_folder(path: &Path) -> Result<()> {
    let made = fs::DirBuilder::new().recursive(true).mode(0o700).create(path);
    made.map_err(|e| Error::io("make", path, e))
}

fn write_file(path: &Path, bytes: &[u8]) -> Result<()> {
    let failed = |e: std::io::Error| Error::io("write", path, e);
    let mut file = File::options().write(true).create_new(true).mode(0o600).open(path).map_err(failed)?;
    file.write_all(bytes).map_err(failed)?;
    file.sync_all().map_err(failed)
}

fn copy(from: &Path, to: &Path) -> Result<()> {
    let failed = |e: std::io::Error| Error::io("write", to, e);
    let mut source = File::open(from).map_err(|e| Error::io("read", from, e))?;
    let mut target = File::options().write(true).create_new(true).mode(0o600).open(to).map_err(failed)?;
    std::io::copy(&mut source, &mut target).map_err(failed)?;
    target.sync_all().map_err(failed)
}
