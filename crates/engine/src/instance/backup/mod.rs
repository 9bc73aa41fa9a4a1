//! Backup of the whole memory into a folder or one file, and its restore (R14.5).
//!
//! A backup is taken while programs run. SQLite copies the ledger in one read transaction, and the visible files are
//! copied under the locks of their trees, so that both are of one moment. `backup.json` lists every file with its
//! digest and is written last; the backup gets its name only after all of it was read back and compared, so a backup
//! that has its name is whole. The search index is left out, because it is rebuilt from the ledger. Restoring refuses a
//! home that has a memory, sets aside what is left in one that lost its ledger, and writes nothing before every digest
//! was checked.
//!
//! A backup in a folder links unchanged files and unchanged pieces of the ledger from the backup before it. A backup in one
//! file is packed by the caller ([`Pack`]): the engine neither compresses nor encrypts.

mod aside;
mod manifest;
mod restoring;
mod rotation;

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

use super::Instance;
use super::listener::{Progress, Task};
use crate::clock::rfc3339;
use crate::error::{Error, ErrorKind, Result};
use crate::home::{Kind, RelPath, layout};
use crate::ledger::Audit;
use crate::report::upkeep::BackedUp;
use crate::tree::AssistantHome;
use crate::verify::anchor;
use manifest::{ANOTHER, Copying, Earlier, Manifest, VERSION, sync_folders};

pub(super) use manifest::{Part, hex, make_folder, part_of, sync_folder, write_file};
pub(super) use restoring::{has_only, take_back};

pub use restoring::put_back;
pub use rotation::Rotation;

/// Folders of the home that are copied with everything in them.
const FOLDERS: [RelPath; 3] = [layout::WORKSPACES, layout::RUNTIME, layout::SPOOL];

/// Single files of the home that are copied, besides the ledger.
const FILES: [RelPath; 3] = [layout::CONFIG, layout::CONNECTED, layout::AUDIT_HEAD];

/// Largest visible file that is copied, in bytes; a larger one is listed in `left_out`.
pub(super) const LARGEST: u64 = 256 << 20;

/// Deepest level of folders that is copied.
pub(super) const DEEPEST: usize = 16;

/// Name of the lock that a backup holds. Only one runs at a time: two would wait for the same disk.
const LOCK: &str = "backup";

/// Age from which the temporary files of a killed backup are removed.
const LEFT_ALONE: std::time::Duration = std::time::Duration::from_secs(3600);

/// Packs the folder of a backup (first path) into a new file (second path). Calls the function with the number of bytes packed
/// since the last call. Returns the length of the file in bytes.
pub type Pack<'a> = &'a dyn Fn(&Path, &Path, &mut dyn FnMut(u64)) -> Result<u64>;

impl Instance {
    /// Backs the memory up into the folder `to`, which must be missing, empty, or an earlier backup of this memory. The new
    /// backup replaces the earlier one when it is whole. `Refused` where the folder has other files or is inside the home.
    pub fn backup(&self, actor: &str, to: &Path) -> Result<BackedUp> {
        let to = self.elsewhere(to)?;
        let earlier = Earlier::of(&to, self.ledger.id());
        let is_free = !to.exists() || fs::read_dir(&to).is_ok_and(|mut entries| entries.next().is_none());
        if earlier.is_none() && !is_free {
            return Err(Error::refused(format!("{} is not empty, and has no backup of this memory", to.display()))
                .hint("name a folder that is not there"));
        }
        self.noted(&to, || self.backup_beside(actor, &to, earlier.as_ref()))
    }

    /// Backs the memory up into one new file, which `pack` writes. `Refused` where a file or folder has the name.
    pub fn backup_packed(&self, actor: &str, to: &Path, pack: Pack) -> Result<BackedUp> {
        let to = self.elsewhere(to)?;
        if to.symlink_metadata().is_ok() {
            return Err(Error::refused(format!("{} is there already", to.display())).hint("name another file"));
        }
        self.noted(&to, || self.packed_beside(actor, &to, pack))
    }

    /// Reports progress: `bytes` more were copied or compared.
    fn copied(&self, bytes: u64) {
        self.listener.progress(Progress::More(bytes));
    }

    fn packed_beside(&self, actor: &str, to: &Path, pack: Pack) -> Result<BackedUp> {
        let _lock = self.one_at_a_time()?;
        let begun = begun_beside(to)?;
        let staged = Staged::new(self)?;
        let (manifest, left_out, _) = self.copy_to(&staged, None, false)?;
        manifest.compare(&staged.folder, &mut |bytes| self.copied(bytes))?;
        let done = pack(&staged.folder, &begun, &mut |bytes| self.copied(bytes)).and_then(|bytes| {
            // A hard link fails where another process made a file of this name meanwhile; a rename would replace it.
            fs::hard_link(&begun, to).or_else(|_| rename_new(&begun, to)).map_err(|e| Error::io("name", to, e))?;
            Ok(bytes)
        });
        let _ = fs::remove_file(&begun);
        let bytes = done?;
        sync_folder(to.parent().unwrap_or(Path::new("/")))?;
        self.backed_up(actor, to, &manifest, left_out, 0, Some(bytes))
    }

    fn elsewhere(&self, to: &Path) -> Result<PathBuf> {
        let to = std::path::absolute(to).map_err(|e| Error::io("find", to, e))?;
        // A symbolic link may lead into the home, so the resolved path is checked, too.
        let real = to.ancestors().find_map(|path| path.canonicalize().ok());
        if to.starts_with(self.home.root()) || real.is_some_and(|real| real.starts_with(self.home.root())) {
            return Err(Error::refused("a backup inside the home is lost with it").hint("name a folder elsewhere"));
        }
        Ok(to)
    }

    fn one_at_a_time(&self) -> Result<Option<crate::home::HomeLock>> {
        if self.read_only {
            return Ok(None);
        }
        match self.home.try_lock(LOCK)? {
            Some(lock) => Ok(Some(lock)),
            None => Err(Error::new(ErrorKind::Busy, "another backup of this memory is being made")),
        }
    }

    fn backup_beside(&self, actor: &str, to: &Path, earlier: Option<&Earlier>) -> Result<BackedUp> {
        let _lock = self.one_at_a_time()?;
        let begun = begun_beside(to)?;
        make_folder(&begun)?;
        let done = Staged::new(self).and_then(|staged| {
            let (manifest, left_out, reused) =
                self.copy_to(&Staged { folder: begun.clone(), ..staged }, earlier, true)?;
            manifest.compare(&begun, &mut |bytes| self.copied(bytes))?;
            sync_folders(&begun)?;
            take_name(&begun, to)?;
            Ok((manifest, left_out, reused))
        });
        // After the exchange of names `begun` names the replaced backup, or, after an error, the unfinished one.
        let _ = fs::remove_dir_all(&begun);
        let (manifest, left_out, reused) = done?;
        self.backed_up(actor, to, &manifest, left_out, reused, None)
    }

    fn backed_up(
        &self,
        actor: &str,
        to: &Path,
        manifest: &Manifest,
        left_out: Vec<String>,
        reused: u64,
        packed: Option<u64>,
    ) -> Result<BackedUp> {
        let report = BackedUp {
            backup: to.display().to_string(),
            files: manifest.files.len() as u64,
            bytes: manifest.bytes(),
            packed,
            reused,
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

    /// Copies everything into a folder and writes the list last. Returns the list, the names of what was left out, and the
    /// number of bytes linked from the earlier backup.
    fn copy_to(&self, to: &Staged, earlier: Option<&Earlier>, in_pieces: bool) -> Result<(Manifest, Vec<String>, u64)> {
        let folder = &to.folder;
        let mut left_out = Vec::new();
        let trees = self.trees("backup", &mut left_out)?;
        let locks = match self.read_only {
            true => Vec::new(),
            false => trees.iter().map(|at| at.lock_unscanned()).collect::<Result<Vec<_>>>()?,
        };
        anchor::put(&self.home, &self.ledger).ok();
        make_folder(&folder.join(layout::STATE.as_str()))?;
        let mut copying = Copying { to: folder, earlier, reused: 0 };
        let (path, copy) = (layout::RUNTIME_DB, &to.ledger);
        let name = path.as_str();
        let mut files = BTreeMap::new();
        // The spool and the anchor are copied before the ledger. A payload stored meanwhile is then in both copies and never
        // missing from both, and the audit row the anchor names is in the copied ledger.
        for path in FILES {
            self.copy_file(&path, &mut copying, &mut files, &mut left_out)?;
        }
        self.copy_folder(&layout::SPOOL, 0, &mut copying, &mut files, &mut left_out)?;
        self.ledger.copy_to(copy)?;
        for path in FOLDERS.iter().filter(|path| **path != layout::SPOOL) {
            self.copy_folder(path, 0, &mut copying, &mut files, &mut left_out)?;
        }
        drop(locks);
        // Steps of the progress bar, in bytes: the ledger is written in pieces and everything compared once; a packed backup
        // reads everything twice, to compare it and to pack it.
        let of_ledger = fs::metadata(copy).map_err(|e| Error::io("read", copy, e))?.len();
        let all = of_ledger + files.values().map(|part: &Part| part.bytes).sum::<u64>();
        let steps = of_ledger + if in_pieces { all } else { 2 * all };
        self.listener.progress(Progress::Begin(Task::BackingUp, steps));
        let audit_row = crate::ledger::last_row_of(copy)?;
        let ledger = match in_pieces {
            true => copying.put_in_pieces(name, copy, &mut |bytes| self.copied(bytes))?,
            false => {
                fs::rename(copy, folder.join(name)).map_err(|e| Error::io("name", copy, e))?;
                let part = part_of(&folder.join(name), &mut blake3::Hasher::new())?;
                self.copied(part.bytes);
                part
            }
        };
        files.insert(name.to_owned(), ledger);
        let reused = copying.reused;
        let at = rfc3339(self.ledger.now());
        let manifest = Manifest { v: VERSION, at, ledger: self.ledger.id().to_owned(), audit_row, files };
        manifest.write(folder)?;
        Ok((manifest, left_out, reused))
    }

    /// Returns every agent's tree of visible files. Trees in another program's folder are only named in `left_out`.
    pub(super) fn trees(&self, what_for: &'static str, left_out: &mut Vec<String>) -> Result<Vec<AssistantHome<'_>>> {
        let mut trees = Vec::new();
        for agent in self.agents()? {
            let Some(at) = self.assistant_as_it_is(&agent, what_for)? else { continue };
            if at.is_adopted() {
                left_out.push(format!("{} (pages of {agent} in another program's folder)", at.files.shown().display()));
            }
            trees.push(at);
        }
        Ok(trees)
    }

    fn copy_folder(
        &self,
        path: &RelPath,
        depth: usize,
        copying: &mut Copying,
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
                Kind::Directory if depth < DEEPEST => self.copy_folder(&below, depth + 1, copying, files, left_out)?,
                Kind::File => self.copy_file(&below, copying, files, left_out)?,
                _ => left_out.push(below.to_string()),
            }
        }
        Ok(())
    }

    fn copy_file(
        &self,
        path: &RelPath,
        copying: &mut Copying,
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
        copying.put(path.as_str(), &bytes)?;
        files.insert(path.to_string(), Part::of(&bytes));
        Ok(())
    }
}

/// An unfinished folder under a temporary name; dropping it removes it, [`Receiving::named`] gives it its final name.
pub(super) struct Receiving {
    pub folder: PathBuf,
}

impl Receiving {
    /// Makes a temporary folder beside `to`. `Refused` where `to` is not empty or is inside the home.
    pub fn beside(instance: &Instance, to: &Path) -> Result<Receiving> {
        let to = instance.elsewhere(to)?;
        if to.exists() && fs::read_dir(&to).map_or(true, |mut entries| entries.next().is_some()) {
            return Err(
                Error::refused(format!("{} is not empty", to.display())).hint("name a folder that is not there")
            );
        }
        let folder = begun_beside(&to)?;
        make_folder(&folder)?;
        Ok(Receiving { folder })
    }

    /// Syncs the folder to disk and renames it to `to`. Returns the absolute path.
    pub fn named(self, to: &Path) -> Result<PathBuf> {
        let to = std::path::absolute(to).map_err(|e| Error::io("find", to, e))?;
        sync_folders(&self.folder)?;
        take_name(&self.folder, &to)?;
        Ok(to)
    }
}

impl Drop for Receiving {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.folder);
    }
}

/// Places where a backup is assembled. SQLite copies the ledger inside the home and not at the target, because a target meant
/// for an encrypted backup must never hold the plain ledger.
struct Staged {
    folder: PathBuf,
    ledger: PathBuf,
    /// Temporary folder inside the home; dropping it removes it with everything in it.
    _within: Within,
}

struct Within(PathBuf);

impl Drop for Within {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.0);
    }
}

impl Staged {
    fn new(instance: &Instance) -> Result<Staged> {
        let scratch = instance.scratch()?;
        sweep(&scratch, "backup");
        let folder = scratch.join(format!(".backup.{}", crate::home::temporary_name()?));
        make_folder(&folder)?;
        let ledger = folder.join("ledger");
        Ok(Staged { ledger, _within: Within(folder.clone()), folder })
    }
}

/// Returns a temporary path beside `to` for an unfinished backup, and removes the leftovers of killed ones there.
fn begun_beside(to: &Path) -> Result<PathBuf> {
    let name = to.file_name().and_then(|n| n.to_str()).unwrap_or("backup");
    if let Some(folder) = to.parent() {
        sweep(folder, name);
    }
    Ok(to.with_file_name(format!(".{name}.{}", crate::home::temporary_name()?)))
}

/// Removes temporary files and folders that killed backups of this name left, once they are older than [`LEFT_ALONE`].
fn sweep(folder: &Path, name: &str) {
    let (begin, end) = (format!(".{name}..hl-"), ".tmp");
    for entry in fs::read_dir(folder).into_iter().flatten().flatten() {
        let is_ours = entry.file_name().to_str().is_some_and(|n| n.starts_with(&begin) && n.ends_with(end));
        let age = entry.metadata().and_then(|meta| meta.modified()).ok().and_then(|at| at.elapsed().ok());
        if is_ours && age.is_some_and(|age| age > LEFT_ALONE) {
            let _ = match entry.file_type().is_ok_and(|kind| kind.is_dir()) {
                true => fs::remove_dir_all(entry.path()),
                false => fs::remove_file(entry.path()),
            };
        }
    }
}

/// Gives a whole backup its name. An earlier backup of that name is exchanged with it in one step, where the file system can;
/// else the earlier one is renamed first, and restored where the second rename fails.
fn take_name(begun: &Path, to: &Path) -> Result<()> {
    use rustix::fs::{CWD, RenameFlags, renameat_with};
    let failed = |e: std::io::Error| Error::io("name", to, e);
    let is_empty = fs::read_dir(to).map(|mut entries| entries.next().is_none());
    match is_empty {
        Err(_) => rename_new(begun, to).map_err(failed)?,
        Ok(true) => {
            fs::remove_dir(to).map_err(failed)?;
            rename_new(begun, to).map_err(failed)?;
        }
        Ok(false) if renameat_with(CWD, begun, CWD, to, RenameFlags::EXCHANGE).is_ok() => {}
        Ok(false) => {
            let aside = begun_beside(to)?;
            fs::rename(to, &aside).map_err(failed)?;
            rename_new(begun, to).or_else(|e| fs::rename(&aside, to).and(Err(e))).map_err(failed)?;
            let _ = fs::remove_dir_all(&aside);
        }
    }
    sync_folder(to.parent().unwrap_or(Path::new("/")))
}

/// Renames a file or folder; fails where the new name exists.
pub(super) fn rename_new(from: &Path, to: &Path) -> std::io::Result<()> {
    use rustix::fs::{CWD, RenameFlags, renameat_with};
    match renameat_with(CWD, from, CWD, to, RenameFlags::NOREPLACE) {
        Err(rustix::io::Errno::INVAL | rustix::io::Errno::NOSYS) if to.symlink_metadata().is_err() => {
            fs::rename(from, to)
        }
        other => Ok(other?),
    }
}
