//! Imports an export of the whole memory into a home without a memory.

use std::collections::BTreeMap;
use std::fs::{self, File};
use std::io::{BufRead, BufReader, Read as _, Write};
use std::path::Path;

use super::{FILES, FOLDERS, LIST, List, Sink, VERSION, everything};
use crate::clock::Clock;
use crate::error::{Error, Result};
use crate::home::{Home, HomeOptions, NewFile, RelPath, layout};
use crate::instance::backup::{Part, has_only, hex, part_of, rename_new, sync_folder, take_back, write_file};
use crate::instance::listener::{Listener, Progress, Task};
use crate::ledger::{Ledger, Open, SCHEMA_VERSION, dump};
use crate::report::upkeep::PutBack;
use crate::sqlite::wal_path;
use crate::verify::anchor;

/// Returns whether a folder is an export of the whole memory.
pub fn is_export(folder: &Path) -> bool {
    folder.join(LIST).is_file()
}

/// Imports an export into the home at `root`, which must have no memory. Every file of the export is compared with its list
/// before anything is written. Before the new ledger gets its name it is exported again, in memory, and compared with the
/// export byte for byte. `Damaged` where a file of the export differs from its list or from the new ledger; `Refused` where the
/// home has a memory. A failed import leaves nothing behind.
pub fn import_export(from: &Path, root: &Path, options: &HomeOptions, listener: &dyn Listener) -> Result<PutBack> {
    let list = read_list(from)?;
    // Each file counts twice: compared with the list first, and with the new ledger at the end.
    listener.progress(Progress::Begin(Task::TakingIn, 2 * list.files.len() as u64));
    let taken_in = take_in(from, root, options, &list, listener);
    listener.progress(Progress::End);
    taken_in
}

fn read_list(from: &Path) -> Result<List> {
    let at = from.join(LIST);
    let text = fs::read(&at).map_err(|e| Error::io("read", &at, e))?;
    let list: List = serde_json::from_slice(&text).map_err(|e| changed(&format!("{}", at.display())).because(e))?;
    if list.v > VERSION || list.schema > SCHEMA_VERSION {
        return Err(
            Error::refused("the export is of a newer version of heirloom").hint("update heirloom; nothing was written")
        );
    }
    Ok(list)
}

fn changed(what: &str) -> Error {
    Error::damaged(format!("{what} is not what was exported")).hint("take another export; nothing was kept of this one")
}

fn take_in(from: &Path, root: &Path, options: &HomeOptions, list: &List, listener: &dyn Listener) -> Result<PutBack> {
    for (name, part) in &list.files {
        let plain = RelPath::parse(name).map_err(|e| changed(LIST).because(e))?;
        let is_known = match name.strip_prefix(FILES) {
            Some(path) => FOLDERS.iter().any(|folder| path.starts_with(&format!("{folder}/"))),
            None => true,
        };
        if !is_known {
            return Err(Error::damaged(format!("the export names {name}, which no export has"))
                .hint("take another export; nothing was kept of this one"));
        }
        let at = from.join(plain.as_str());
        let Ok(meta) = at.symlink_metadata() else {
            return Err(Error::damaged(format!("{} is missing", at.display()))
                .hint("take another export; nothing was kept of this one"));
        };
        if !meta.is_file() || part_of(&at, &mut blake3::Hasher::new())? != *part {
            return Err(changed(&format!("{}", at.display())));
        }
        listener.progress(Progress::More(1));
    }
    let home = Home::create_with(root, options)?;
    let ledger = home.root().join(layout::RUNTIME_DB.as_str());
    let exported: BTreeMap<&str, &Part> =
        list.files.iter().filter_map(|(name, part)| Some((name.strip_prefix(FILES)?, part))).collect();
    // Pages with the bytes of this export were left by an interrupted import and are no memory.
    let is_free = has_only(&home, &layout::WORKSPACES, &|path| exported.get(path).copied())?;
    if home.stat(&layout::RUNTIME_DB)?.is_some() || !is_free || wal_path(&ledger).symlink_metadata().is_ok() {
        return Err(Error::refused(format!("{} has a memory already", home.root().display()))
            .hint("an export becomes a home of its own: --home DIR"));
    }
    let begun = ledger.with_file_name(crate::home::temporary_name()?);
    let mut written = Vec::new();
    let made = make_ledger(from, list, &begun, listener).and_then(|()| {
        for (path, part) in exported {
            put_file(from, &home, &RelPath::parse(path)?, part, &mut written)?;
        }
        // The ledger comes last: until it is there the home has no memory, so an interrupted import can be repeated.
        fs::hard_link(&begun, &ledger)
            .or_else(|_| rename_new(&begun, &ledger))
            .map_err(|e| Error::io("name", &ledger, e))
    });
    let _ = fs::remove_file(&begun);
    if let Err(e) = made {
        take_back(&home, &written);
        return Err(e);
    }
    sync_folder(ledger.parent().unwrap_or(home.root()))?;
    // A note that cannot be written is no error: the next command that stores something writes it.
    let backups = home.root().join(layout::BACKUPS.as_str());
    if let Ok(ledger) = Ledger::open(&ledger, &backups, Clock::System, Open::ReadOnly) {
        let _ = anchor::put(&home, &ledger);
    }
    Ok(PutBack {
        home: home.root().display().to_string(),
        files: list.files.len() as u64,
        bytes: list.files.values().map(|part| part.bytes).sum(),
        of: list.at.clone(),
        aside: None,
    })
}

/// Builds a ledger from the exported tables, then exports that ledger again and compares each file with the export.
fn make_ledger(from: &Path, list: &List, at: &Path, listener: &dyn Listener) -> Result<()> {
    write_file(at, b"")?;
    let mut lines = |table: &str| -> Result<Box<dyn BufRead>> {
        let name = format!("ledger/{table}.jsonl");
        if !list.files.contains_key(&name) {
            return Err(Error::damaged(format!("{name} is not in the list of the export"))
                .hint("take another export; nothing was kept of this one"));
        }
        let path = from.join(&name);
        Ok(Box::new(BufReader::new(File::open(&path).map_err(|e| Error::io("read", &path, e))?)))
    };
    dump::make(at, list.schema, &list.tables, &mut lines)?;
    let mut comparing = Comparing { from, listener, compared: 0 };
    // This build cannot produce the readable files of an older schema: only the tables are compared.
    let readable = list.schema == SCHEMA_VERSION;
    dump::reading(at, |tx| everything(tx, readable, &mut comparing))?;
    let of_the_ledger = |name: &&String| name.starts_with("ledger/") || (readable && !name.starts_with(FILES));
    if comparing.compared != list.files.keys().filter(of_the_ledger).count() {
        return Err(Error::damaged("the export has a file that its ledger does not make")
            .hint("take another export; nothing was kept of this one"));
    }
    Ok(())
}

fn put_file(from: &Path, home: &Home, path: &RelPath, part: &Part, written: &mut Vec<RelPath>) -> Result<()> {
    let at = from.join(format!("{FILES}{path}"));
    let bytes = fs::read(&at).map_err(|e| Error::io("read", &at, e))?;
    if hex(&bytes) != part.digest {
        return Err(Error::damaged(format!("{} has just been changed", at.display())).hint("run it again"));
    }
    if let Some(folder) = path.parent() {
        home.create_dir_all(&folder)?;
    }
    // A file that exists has equal bytes, from an interrupted import: `has_only` has refused any other.
    if matches!(home.write_new(path, &bytes)?, NewFile::Written) {
        written.push(path.clone());
    }
    Ok(())
}

/// Compares the files that [`everything`] produces with those of an export.
struct Comparing<'a> {
    from: &'a Path,
    listener: &'a dyn Listener,
    compared: usize,
}

impl Sink for Comparing<'_> {
    fn file(&mut self, name: &str, write: &mut dyn FnMut(&mut dyn Write) -> Result<()>) -> Result<()> {
        let differs = |line: u64| {
            Error::damaged(format!("what was made of the export is not the same: {name}, from line {line} on"))
                .hint("take another export; nothing was kept of this one")
        };
        let Ok(file) = File::open(self.from.join(name)) else { return Err(differs(1)) };
        let mut against = Against { file: BufReader::with_capacity(1 << 16, file), line: 1, differs: false };
        write(&mut against)?;
        let is_more = against.file.fill_buf().map_or(true, |left| !left.is_empty());
        if against.differs || is_more {
            return Err(differs(against.line));
        }
        self.compared += 1;
        self.listener.progress(Progress::More(1));
        Ok(())
    }
}

/// Compares written bytes with a file and keeps the number of the first line that differs.
struct Against {
    file: BufReader<File>,
    line: u64,
    differs: bool,
}

impl Write for Against {
    fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
        if self.differs {
            return Ok(bytes.len());
        }
        let mut expected = Vec::with_capacity(bytes.len());
        self.file.by_ref().take(bytes.len() as u64).read_to_end(&mut expected)?;
        let same = bytes.iter().zip(&expected).take_while(|(a, b)| a == b).count();
        self.line += bytes[..same].iter().filter(|b| **b == b'\n').count() as u64;
        self.differs = same < bytes.len();
        Ok(bytes.len())
    }

    fn flush(&mut self) -> std::io::Result<()> {
        Ok(())
    }
}
