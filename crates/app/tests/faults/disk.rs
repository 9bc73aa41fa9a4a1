//! A disk that loses what was not synced: the changes a command made, in order, and every disk a power cut may leave of
//! them.
//!
//! The model is strict. The bytes and the length of a file are durable after a sync of the file, a name only after a
//! sync of its folder: a sync of the file does not save its name, and a sync of the folder does not save the bytes. A
//! change that is not durable may be there or not, whatever came before or after it, and a write may be there in
//! sectors. Two limits remain, which every file system keeps: a change of names happens as a whole (a rename takes away
//! the old name and gives the new one; between two folders it is durable after a sync of both), and it is only there
//! if the earlier changes of the same names are. Modes and times are not modelled.

use std::collections::BTreeMap;
use std::collections::hash_map::DefaultHasher;
use std::fs;
use std::hash::{Hash, Hasher};
use std::os::unix::fs::{DirBuilderExt, OpenOptionsExt};
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};

use heirloom_testkit::Rng;

/// A file or a folder, under whatever name.
pub type Node = usize;

/// The folder that was there before and stays.
pub const ROOT: Node = 0;

/// A step of a command.
#[derive(Clone, PartialEq, Debug)]
pub enum Change {
    Write {
        file: Node,
        at: usize,
        bytes: Vec<u8>,
    },
    Resize {
        file: Node,
        to: usize,
    },
    /// Names in folders that change in one step; `None`: the name is gone.
    Names(Vec<(Node, String, Option<Node>)>),
    /// A sync is done. It covers the changes that were made before it began, those before number `covers`.
    Sync {
        node: Node,
        covers: usize,
    },
    /// Text on standard output.
    Said(String),
}

#[derive(Clone, PartialEq, Debug)]
enum Content {
    File(Vec<u8>),
    Folder(BTreeMap<String, Node>),
}

/// Files and folders, among them some that have no name yet.
#[derive(Clone, PartialEq, Debug)]
pub struct Disk {
    nodes: Vec<Content>,
}

/// The fate of a change that was not synced.
#[derive(Clone, Copy, PartialEq, Debug)]
enum Fate {
    Lost,
    Kept,
    /// A write is there in some of its sectors; the seed says in which.
    Torn(u64),
}

impl Disk {
    pub fn new() -> Disk {
        Disk { nodes: vec![Content::Folder(BTreeMap::new())] }
    }

    /// Reads a folder. Files in `/…-shm` are left out: SQLite makes them anew from the log.
    pub fn read(folder: &Path) -> Disk {
        let mut disk = Disk::new();
        disk.read_into(ROOT, folder);
        disk
    }

    fn read_into(&mut self, node: Node, folder: &Path) {
        for entry in fs::read_dir(folder).unwrap() {
            let entry = entry.unwrap();
            let name = entry.file_name().into_string().unwrap();
            if is_shared_memory(&name) {
                continue;
            }
            let made = if entry.file_type().unwrap().is_dir() {
                let made = self.new_folder();
                self.read_into(made, &entry.path());
                made
            } else {
                let made = self.new_file();
                self.nodes[made] = Content::File(fs::read(entry.path()).unwrap());
                made
            };
            self.folder(node).insert(name, made);
        }
    }

    /// Makes a file that has no name yet.
    pub fn new_file(&mut self) -> Node {
        self.nodes.push(Content::File(Vec::new()));
        self.nodes.len() - 1
    }

    /// Makes a folder that has no name yet.
    pub fn new_folder(&mut self) -> Node {
        self.nodes.push(Content::Folder(BTreeMap::new()));
        self.nodes.len() - 1
    }

    fn file(&mut self, node: Node) -> &mut Vec<u8> {
        let Content::File(bytes) = &mut self.nodes[node] else { panic!("{node} is a folder") };
        bytes
    }

    fn folder(&mut self, node: Node) -> &mut BTreeMap<String, Node> {
        let Content::Folder(names) = &mut self.nodes[node] else { panic!("{node} is a file") };
        names
    }

    /// Returns what a path below the root leads to.
    pub fn at(&self, path: &Path) -> Option<Node> {
        path.iter().try_fold(ROOT, |node, name| match &self.nodes[node] {
            Content::Folder(names) => names.get(name.to_str()?).copied(),
            Content::File(_) => None,
        })
    }

    pub fn length(&self, node: Node) -> usize {
        match &self.nodes[node] {
            Content::File(bytes) => bytes.len(),
            Content::Folder(_) => 0,
        }
    }

    pub fn apply(&mut self, change: &Change) {
        match change {
            Change::Write { file, at, bytes } => put(self.file(*file), *at, bytes),
            Change::Resize { file, to } => self.file(*file).resize(*to, 0),
            Change::Names(names) => {
                for (folder, name, node) in names {
                    match node {
                        Some(node) => self.folder(*folder).insert(name.clone(), *node),
                        None => self.folder(*folder).remove(name),
                    };
                }
            }
            Change::Sync { .. } | Change::Said(_) => {}
        }
    }

    fn apply_torn(&mut self, change: &Change, seed: u64) {
        let Change::Write { file, at, bytes } = change else { return self.apply(change) };
        let mut rng = Rng::new(seed);
        let sector = *rng.pick(&[512, 4096]);
        let (file, end) = (self.file(*file), at + bytes.len());
        // The new length may be there without the bytes.
        if rng.below(2) == 0 && file.len() < end {
            file.resize(end, 0);
        }
        let mut from = *at;
        while from < end {
            let to = end.min((from / sector + 1) * sector);
            if rng.below(2) == 0 {
                put(file, from, &bytes[from - at..to - at]);
            }
            from = to;
        }
    }

    /// Returns the files that have a name, and the folders.
    pub fn listing(&self) -> BTreeMap<PathBuf, Option<&[u8]>> {
        let mut found = BTreeMap::new();
        let mut folders = vec![(ROOT, PathBuf::new())];
        while let Some((node, path)) = folders.pop() {
            match &self.nodes[node] {
                Content::File(bytes) => drop(found.insert(path, Some(bytes.as_slice()))),
                Content::Folder(names) => {
                    folders.extend(names.iter().map(|(name, node)| (*node, path.join(name))));
                    found.insert(path, None);
                }
            }
        }
        found
    }

    /// Returns a number that is the same for equal files under equal names.
    pub fn fingerprint(&self) -> u64 {
        let mut hasher = DefaultHasher::new();
        self.listing().hash(&mut hasher);
        hasher.finish()
    }

    /// Writes the files below an existing folder, as if they had been there for a minute.
    pub fn write_to(&self, folder: &Path) {
        let then = SystemTime::now() - Duration::from_secs(60);
        for (path, bytes) in self.listing() {
            let path = folder.join(path);
            let Some(bytes) = bytes else {
                fs::DirBuilder::new().recursive(true).mode(0o700).create(&path).unwrap();
                continue;
            };
            let mut file = fs::OpenOptions::new().write(true).create_new(true).mode(0o600).open(&path).unwrap();
            std::io::Write::write_all(&mut file, bytes).unwrap();
            file.set_modified(then).unwrap();
        }
    }
}

/// Whether a file is the index of SQLite's log, which needs no durability.
pub fn is_shared_memory(name: &str) -> bool {
    name.ends_with("-shm")
}

fn put(file: &mut Vec<u8>, at: usize, bytes: &[u8]) {
    let end = at + bytes.len();
    if file.len() < end {
        file.resize(end, 0);
    }
    file[at..end].copy_from_slice(bytes);
}

/// A command's changes, and the disk before it.
pub struct History {
    base: Disk,
    changes: Vec<Change>,
    /// For each change of names, the last earlier changes of the same names.
    needs: Vec<Vec<usize>>,
}

impl History {
    pub fn new(base: Disk, changes: Vec<Change>) -> History {
        let mut last = BTreeMap::new();
        let mut needs = vec![Vec::new(); changes.len()];
        for (n, change) in changes.iter().enumerate() {
            let Change::Names(names) = change else { continue };
            needs[n].extend(names.iter().filter_map(|(folder, name, _)| last.insert((*folder, name.as_str()), n)));
            needs[n].retain(|before| *before != n);
        }
        History { base, changes, needs }
    }

    pub fn changes(&self) -> &[Change] {
        &self.changes
    }

    /// Returns the number of changes after which the command has acknowledged what it did: it has said the last that it
    /// says.
    pub fn said(&self) -> Option<usize> {
        self.changes.iter().rposition(|change| matches!(change, Change::Said(_))).map(|at| at + 1)
    }

    /// Returns the same history of a command that does not sync.
    pub fn without_syncs(&self) -> History {
        // Their places are kept: the numbers of the changes are used.
        let forget = |change: &Change| match change {
            Change::Sync { node, .. } => Change::Sync { node: *node, covers: 0 },
            other => other.clone(),
        };
        History::new(self.base.clone(), self.changes.iter().map(forget).collect())
    }

    /// Returns the disk after the first `count` changes, without a cut.
    pub fn after(&self, count: usize) -> Disk {
        self.left(count, |_| Fate::Kept)
    }

    /// Says of the first `cut` changes which are durable.
    fn durable(&self, cut: usize) -> Vec<bool> {
        let mut waits: Vec<Vec<Node>> = Vec::with_capacity(cut);
        for change in &self.changes[..cut] {
            let needed = match change {
                Change::Write { file, .. } | Change::Resize { file, .. } => vec![*file],
                Change::Names(names) => names.iter().map(|(folder, ..)| *folder).collect(),
                Change::Sync { node, covers } => {
                    waits[..*covers].iter_mut().for_each(|waits| waits.retain(|waited| waited != node));
                    Vec::new()
                }
                Change::Said(_) => Vec::new(),
            };
            waits.push(needed);
        }
        let mut durable: Vec<bool> = waits.iter().map(Vec::is_empty).collect();
        for n in (0..cut).rev() {
            if durable[n] {
                self.needs[n].iter().for_each(|before| durable[*before] = true);
            }
        }
        durable
    }

    /// Returns the changes that a cut may lose.
    fn at_risk(&self, cut: usize) -> Vec<usize> {
        let durable = self.durable(cut);
        (0..cut).filter(|n| !durable[*n]).collect()
    }

    /// Returns the disk after a cut, with the fates of the changes at risk.
    fn left(&self, cut: usize, fate: impl Fn(usize) -> Fate) -> Disk {
        let durable = self.durable(cut);
        let mut there = vec![false; cut];
        let mut disk = self.base.clone();
        for n in 0..cut {
            let fate = if durable[n] { Fate::Kept } else { fate(n) };
            if fate == Fate::Lost || !self.needs[n].iter().all(|before| there[*before]) {
                continue;
            }
            there[n] = true;
            match fate {
                Fate::Torn(seed) => disk.apply_torn(&self.changes[n], seed),
                _ => disk.apply(&self.changes[n]),
            }
        }
        disk
    }

    /// Adds a change and all it needs.
    fn with_needs(&self, n: usize, found: &mut Vec<usize>) {
        found.push(n);
        self.needs[n].iter().for_each(|before| self.with_needs(*before, found));
    }

    /// Passes on the disks a cut after `cut` changes may leave: without the changes at risk, with all of them, with
    /// their names or their bytes only, with each alone, with all but one (where the next step makes some of them
    /// durable or acknowledges them), and with `random` random choices of them.
    pub fn each_left(&self, cut: usize, random: usize, mut found: impl FnMut(String, Disk)) {
        let risk = self.at_risk(cut);
        found(format!("none of {} unsynced changes", risk.len()), self.left(cut, |_| Fate::Lost));
        if risk.is_empty() {
            return;
        }
        let mut some = |what: String, fate: &dyn Fn(usize) -> Fate| found(what, self.left(cut, fate));
        let kept_if = |kept: bool| if kept { Fate::Kept } else { Fate::Lost };
        let is_name = |n: usize| matches!(self.changes[n], Change::Names(_));
        some("all unsynced changes".into(), &|_| Fate::Kept);
        some("unsynced names only".into(), &|n| kept_if(is_name(n)));
        some("unsynced bytes only".into(), &|n| kept_if(!is_name(n)));
        for one in &risk {
            let mut kept = Vec::new();
            self.with_needs(*one, &mut kept);
            some(format!("change {one} alone"), &|n| kept_if(kept.contains(&n)));
        }
        if matches!(self.changes.get(cut), None | Some(Change::Sync { .. } | Change::Said(_))) {
            for one in &risk {
                some(format!("all but change {one}"), &|n| kept_if(n != *one));
            }
        }
        for choice in 0..random {
            let seed = (cut * 1000 + choice) as u64;
            some(format!("random choice {seed}"), &|n| {
                let mut rng = Rng::new(seed.wrapping_mul(0x1_0001).wrapping_add(n as u64));
                match rng.below(3) {
                    0 => Fate::Lost,
                    1 => Fate::Kept,
                    _ => Fate::Torn(rng.next_u64()),
                }
            });
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Returns the contents that the file `x` can have after a power cut behind this number of changes; `None`: no file.
    fn outcomes(history: &History, cut: usize) -> Vec<Option<String>> {
        let mut found = Vec::new();
        history.each_left(cut, 40, |_, disk| {
            let listing = disk.listing();
            let bytes = listing.get(Path::new("x")).map(|bytes| String::from_utf8_lossy(bytes.unwrap()).into_owned());
            found.push(bytes);
        });
        found.sort();
        found.dedup();
        found
    }

    fn some(text: &str) -> Option<String> {
        Some(text.to_owned())
    }

    /// A file `x` is replaced through a temporary file, with or without a sync of the bytes, and of the name.
    fn replaced(bytes_synced: bool, name_synced: bool) -> History {
        let mut disk = Disk::new();
        let (old, new) = (disk.new_file(), disk.new_file());
        disk.apply(&Change::Write { file: old, at: 0, bytes: b"old".to_vec() });
        disk.apply(&Change::Names(vec![(ROOT, "x".into(), Some(old))]));
        let sync = |node, done, covers| Change::Sync { node, covers: if done { covers } else { 0 } };
        let changes = vec![
            Change::Names(vec![(ROOT, "t".into(), Some(new))]),
            Change::Write { file: new, at: 0, bytes: b"new".to_vec() },
            sync(new, bytes_synced, 2),
            Change::Names(vec![(ROOT, "t".into(), None), (ROOT, "x".into(), Some(new))]),
            sync(ROOT, name_synced, 4),
            Change::Said("done".into()),
        ];
        History::new(disk, changes)
    }

    #[test]
    fn a_replacement_with_all_its_syncs_is_whole_at_any_cut() {
        let history = replaced(true, true);
        for cut in 0..=3 {
            assert_eq!(outcomes(&history, cut), [some("old")], "{cut}");
        }
        assert_eq!(outcomes(&history, 4), [some("new"), some("old")]);
        for cut in 5..=6 {
            assert_eq!(outcomes(&history, cut), [some("new")], "{cut}");
        }
        assert_eq!(history.said(), Some(6));
    }

    #[test]
    fn a_missing_sync_is_seen() {
        // The name is there, the bytes are not, or not all of them.
        let nameless = outcomes(&replaced(false, true), 6);
        assert!(nameless.contains(&some("")) && nameless.contains(&some("new")), "{nameless:?}");
        // The old file is back although the new one was acknowledged.
        assert_eq!(outcomes(&replaced(true, false), 6), [some("new"), some("old")]);
        let nothing = outcomes(&replaced(true, true).without_syncs(), 6);
        assert!(nothing.contains(&some("old")) && nothing.contains(&some("")), "{nothing:?}");
    }

    #[test]
    fn a_file_whose_folder_was_not_synced_has_no_name() {
        let mut disk = Disk::new();
        let (folder, file) = (disk.new_folder(), disk.new_file());
        let mut changes = vec![
            Change::Names(vec![(ROOT, "f".into(), Some(folder))]),
            Change::Names(vec![(folder, "x".into(), Some(file))]),
            Change::Write { file, at: 0, bytes: b"new".to_vec() },
            Change::Sync { node: file, covers: 3 },
            Change::Sync { node: folder, covers: 4 },
        ];
        let without = History::new(disk.clone(), changes.clone());
        let lost = without.left(5, |_| Fate::Lost);
        assert_eq!((lost.at(Path::new("f")), lost.at(Path::new("f/x"))), (None, None));
        changes.push(Change::Sync { node: ROOT, covers: 5 });
        let with = History::new(disk, changes);
        assert_eq!(with.left(6, |_| Fate::Lost).listing()[Path::new("f/x")], Some(b"new".as_slice()));
    }

    #[test]
    fn a_sync_covers_only_what_was_written_before_it_began() {
        let mut disk = Disk::new();
        let x = disk.new_file();
        disk.apply(&Change::Names(vec![(ROOT, "x".into(), Some(x))]));
        let changes = vec![
            Change::Write { file: x, at: 0, bytes: b"a".to_vec() },
            Change::Write { file: x, at: 1, bytes: b"b".to_vec() },
            Change::Sync { node: x, covers: 1 },
        ];
        assert_eq!(outcomes(&History::new(disk, changes), 3), [some("a"), some("a\0"), some("ab")]);
    }

    #[test]
    fn a_write_is_torn_at_sectors() {
        let mut disk = Disk::new();
        let x = disk.new_file();
        disk.apply(&Change::Names(vec![(ROOT, "x".into(), Some(x))]));
        disk.apply(&Change::Resize { file: x, to: 2048 });
        let changes = vec![Change::Write { file: x, at: 100, bytes: vec![b'n'; 1500] }];
        let found = outcomes(&History::new(disk, changes), 1);
        // Four sectors, of which each is old or new.
        assert!(found.len() > 8 && found.len() <= 16, "{}", found.len());
        for text in found {
            let text = text.unwrap();
            assert!([0, 512, 1024].iter().all(|at| {
                let sector = &text.as_bytes()[(*at).max(100)..(at + 512).min(1600)];
                sector.iter().all(|byte| *byte == sector[0])
            }));
        }
    }
}
