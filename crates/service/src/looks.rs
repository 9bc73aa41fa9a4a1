//! Polling, for systems without file events: files touched within a day are looked at every two seconds, all folders
//! every minute.

use std::collections::HashMap;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant, SystemTime};

use heirloom_engine::home::layout;

use crate::hints::Seen;

/// Interval between two looks at files that may be in use.
const SHORT: Duration = Duration::from_secs(2);

/// Interval between two looks at everything.
const LONG: Duration = Duration::from_secs(60);

/// A file touched within this time may be in use.
const RECENT: Duration = Duration::from_secs(24 * 60 * 60);

/// Inode, size, and time of the last change in seconds and nanoseconds.
type Stamp = (u64, u64, i64, i64);

/// Stamps of the files in use, and the times of the next looks.
pub struct Looks {
    home: PathBuf,
    files: HashMap<PathBuf, Option<Stamp>>,
    next: Instant,
    whole: Instant,
}

impl Looks {
    pub fn begin(home: &Path) -> Looks {
        let now = Instant::now();
        let mut looks = Looks { home: home.to_owned(), files: HashMap::new(), next: now + SHORT, whole: now + LONG };
        looks.changed();
        looks
    }

    /// Returns the time of the next look.
    pub fn next(&self) -> Instant {
        self.next
    }

    /// Takes the list of all stores, and remembers the stamps of those that may be in use.
    pub fn stores<'p>(&mut self, stores: impl Iterator<Item = &'p Path>) {
        self.files.retain(|path, _| path.starts_with(&self.home));
        let now = SystemTime::now();
        for store in stores {
            for end in ["", "-wal"] {
                let mut path = store.as_os_str().to_owned();
                path.push(end);
                let path = PathBuf::from(path);
                let is_recent = std::fs::metadata(&path)
                    .and_then(|meta| meta.modified())
                    .is_ok_and(|changed| now.duration_since(changed).map_or(true, |age| age < RECENT));
                if is_recent {
                    let stamp = stamp(&path);
                    self.files.insert(path, stamp);
                }
            }
        }
    }

    /// Looks for changes if it is time to, and adds them to `seen`.
    pub fn look(&mut self, seen: &mut Seen) {
        let now = Instant::now();
        if now < self.next {
            return;
        }
        self.next = now + SHORT;
        for path in self.changed() {
            match path.strip_prefix(&self.home) {
                Ok(below) if below.starts_with(layout::STATE.as_str()) => seen.ledger = true,
                Ok(below) if below.starts_with(layout::SPOOL.as_str()) => seen.spool = true,
                Ok(below) if below.as_os_str() == layout::CONFIG.as_str() => seen.settings = true,
                Ok(_) => {}
                Err(_) => drop(seen.files.insert(crate::watch::without_ending(&path))),
            }
        }
        if now >= self.whole {
            self.whole = now + LONG;
            seen.all = true;
        }
    }

    /// Returns the files whose stamp has changed.
    fn changed(&mut self) -> Vec<PathBuf> {
        for ours in ["state/runtime.db-wal", "spool", "config.toml"] {
            self.files.entry(self.home.join(ours)).or_insert_with_key(|path| stamp(path));
        }
        let mut changed = Vec::new();
        for (path, was) in &mut self.files {
            let now = stamp(path);
            if now != *was {
                *was = now;
                changed.push(path.clone());
            }
        }
        changed
    }
}

fn stamp(path: &Path) -> Option<Stamp> {
    let meta = std::fs::metadata(path).ok()?;
    Some((meta.ino(), meta.len(), meta.mtime(), meta.mtime_nsec()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_in_use_is_seen_when_it_changes_and_only_then() {
        let home = tempfile::tempdir().unwrap();
        let sessions = tempfile::tempdir().unwrap();
        let file = sessions.path().join("a.jsonl");
        std::fs::write(&file, "1").unwrap();
        let mut looks = Looks::begin(home.path());
        looks.stores([file.as_path()].into_iter());
        assert!(looks.changed().is_empty());
        std::fs::write(&file, "12").unwrap();
        std::fs::create_dir(home.path().join("spool")).unwrap();
        let mut changed = looks.changed();
        changed.sort();
        let mut expected = vec![file, home.path().join("spool")];
        expected.sort();
        assert_eq!(changed, expected);
        assert!(looks.changed().is_empty());
    }
}
