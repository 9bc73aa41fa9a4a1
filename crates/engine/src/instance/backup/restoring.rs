//! Restores a backup from its folder into a home without a memory.

use std::fs::{self, File};
use std::os::unix::fs::OpenOptionsExt;
use std::path::Path;

use super::super::listener::{Listener, Progress, Task};
use super::aside::{Aside, has_lost_its_ledger};
use super::manifest::{Manifest, Part, hex};
use super::{ANOTHER, DEEPEST, FILES, FOLDERS, LARGEST};
use crate::error::{Error, ErrorKind, Result};
use crate::home::{Home, HomeOptions, Kind, NewFile, RelPath, layout};
use crate::report::upkeep::PutBack;
use crate::sqlite::wal_path;

/// Restores the backup in the folder `from` into the home at `root`. Compares every file of the backup with its list
/// before it writes anything. Files that an interrupted restore of the same backup left do not count as a memory.
/// `Damaged` where a file of the backup differs from its list, `Refused` where the home has a ledger or pages of its
/// own. What a home that has lost its ledger still has is set aside beside it.
pub fn put_back(from: &Path, root: &Path, options: &HomeOptions, listener: &dyn Listener) -> Result<PutBack> {
    let manifest = Manifest::read(from)?;
    // Every byte is read twice: to compare it, and to copy it.
    listener.progress(Progress::Begin(Task::PuttingBack, 2 * manifest.bytes()));
    let put_back = put_back_listed(from, root, options, manifest, listener);
    listener.progress(Progress::End);
    put_back
}

fn put_back_listed(
    from: &Path,
    root: &Path,
    options: &HomeOptions,
    manifest: Manifest,
    listener: &dyn Listener,
) -> Result<PutBack> {
    let mut paths = Vec::new();
    for path in manifest.files.keys() {
        let path = RelPath::parse(path)
            .map_err(|e| Error::damaged("the list of the backup is not what it was").because(e).hint(ANOTHER))?;
        let known = path == layout::RUNTIME_DB
            || FILES.contains(&path)
            || FOLDERS.iter().any(|folder| path.as_str().starts_with(&format!("{folder}/")));
        if !known {
            return Err(Error::damaged(format!("the backup names {path}, which no backup has")).hint(ANOTHER));
        }
        paths.push(path);
    }
    if !paths.contains(&layout::RUNTIME_DB) {
        return Err(Error::damaged(format!("the backup {} has no ledger", from.display())).hint(ANOTHER));
    }
    manifest.compare(from, &mut |bytes| listener.progress(Progress::More(bytes)))?;
    let home = Home::create_with(root, options)?;
    let ledger = home.root().join(layout::RUNTIME_DB.as_str());
    // A write-ahead log left by another ledger would be applied to the restored one.
    let is_free = home.stat(&layout::RUNTIME_DB)?.is_none()
        && wal_path(&ledger).symlink_metadata().is_err()
        && has_only(&home, &layout::WORKSPACES, &|path| manifest.files.get(path))?;
    if !is_free && !has_lost_its_ledger(&home)? {
        return Err(Error::refused(format!("{} has a memory already", home.root().display()))
            .hint("move it away first, or put the backup elsewhere: --home DIR"));
    }
    let aside = if is_free { None } else { Some(Aside::of(&home)?) };
    // The ledger comes last. Until it is there the home has no memory, so an interrupted restore can be repeated.
    paths.sort_by_key(|path| *path == layout::RUNTIME_DB);
    let mut written = Vec::new();
    if let Err(e) = put_files(from, &home, &manifest, &paths, &mut written, listener) {
        take_back(&home, &written);
        if let Some(aside) = aside {
            remove_empty(&home, &layout::WORKSPACES, 0);
            aside.back();
        }
        return Err(e);
    }
    Ok(PutBack {
        home: home.root().display().to_string(),
        files: paths.len() as u64,
        bytes: manifest.bytes(),
        of: manifest.at,
        aside: aside.map(|aside| aside.folder().display().to_string()),
    })
}

/// Removes the files a failed restore has written, because pages without their ledger would look like a memory.
pub fn take_back(home: &Home, written: &[RelPath]) {
    for path in written {
        let _ = home.remove(path);
    }
}

/// Removes the folders below `path` that a failed restore has left empty.
fn remove_empty(home: &Home, path: &RelPath, depth: usize) {
    let folders = home.list(path).unwrap_or_default().into_iter().filter(|e| e.kind == Kind::Directory);
    for below in folders.filter_map(|e| path.join(e.name.to_str()?).ok()).filter(|_| depth < DEEPEST) {
        remove_empty(home, &below, depth + 1);
        let _ = home.remove_empty_dir(&below);
    }
}

fn put_files(
    from: &Path,
    home: &Home,
    manifest: &Manifest,
    paths: &[RelPath],
    written: &mut Vec<RelPath>,
    listener: &dyn Listener,
) -> Result<()> {
    let ledger = home.root().join(layout::RUNTIME_DB.as_str());
    for path in paths {
        let part = &manifest.files[path.as_str()];
        let stored = part.stored(path.as_str());
        if *path == layout::RUNTIME_DB {
            let begun = ledger.with_file_name(crate::home::temporary_name()?);
            let done = join(from, &stored, &begun).and_then(|()| {
                fs::hard_link(&begun, &ledger)
                    .or_else(|_| super::rename_new(&begun, &ledger))
                    .map_err(|e| Error::io("name", &ledger, e))
            });
            let _ = fs::remove_file(&begun);
            done?;
            super::sync_folder(ledger.parent().unwrap_or(home.root()))?;
            listener.progress(Progress::More(part.bytes));
            continue;
        }
        let source = from.join(path.as_str());
        let bytes = fs::read(&source).map_err(|e| Error::io("read", &source, e))?;
        if hex(&bytes) != part.digest {
            return Err(Error::damaged(format!("{} has just been changed", source.display()))
                .hint("nothing was restored; run it again"));
        }
        if let Some(folder) = path.parent() {
            home.create_dir_all(&folder)?;
        }
        // The head of the lost ledger's audit is no file of a person, and would call the older ledger damaged.
        if *path == layout::AUDIT_HEAD {
            home.remove(path)?;
        }
        match home.write_new(path, &bytes)? {
            NewFile::Written => written.push(path.clone()),
            // An existing file stays: settings a person has written, or equal bytes of an interrupted restore (`has_only`
            // has refused other pages).
            NewFile::Exists => {}
        }
        listener.progress(Progress::More(part.bytes));
    }
    Ok(())
}

/// Returns whether every file below `path` in the home has the digest that `listed` returns for its path. Then an interrupted
/// restore has left them, and nothing is overwritten.
pub fn has_only<'a>(home: &Home, path: &RelPath, listed: &dyn Fn(&str) -> Option<&'a Part>) -> Result<bool> {
    has_only_below(home, path, 0, listed)
}

fn has_only_below<'a>(
    home: &Home,
    path: &RelPath,
    depth: usize,
    listed: &dyn Fn(&str) -> Option<&'a Part>,
) -> Result<bool> {
    let entries = match home.list(path) {
        Err(e) if e.kind() == ErrorKind::NotFound => return Ok(true),
        listed => listed?,
    };
    for entry in entries {
        let Some(below) = entry.name.to_str().and_then(|name| path.join(name).ok()) else { return Ok(false) };
        let is_of_the_copy = match entry.kind {
            Kind::Directory if depth < DEEPEST => has_only_below(home, &below, depth + 1, listed)?,
            // Temporary file of an interrupted restore.
            Kind::File if entry.name.to_str().is_some_and(|n| n.starts_with(".hl-") && n.ends_with(".tmp")) => true,
            Kind::File => match (listed(below.as_str()), home.read(&below, LARGEST)?) {
                (Some(part), Some(bytes)) => hex(&bytes) == part.digest,
                _ => false,
            },
            _ => false,
        };
        if !is_of_the_copy {
            return Ok(false);
        }
    }
    Ok(true)
}

/// Joins the pieces, in order, into one new file.
fn join(from: &Path, pieces: &[String], to: &Path) -> Result<()> {
    let failed = |e: std::io::Error| Error::io("write", to, e);
    let mut target = File::options().write(true).create_new(true).mode(0o600).open(to).map_err(failed)?;
    for piece in pieces {
        let at = from.join(piece);
        let mut source = File::open(&at).map_err(|e| Error::io("read", &at, e))?;
        std::io::copy(&mut source, &mut target).map_err(failed)?;
    }
    target.sync_all().map_err(failed)
}
