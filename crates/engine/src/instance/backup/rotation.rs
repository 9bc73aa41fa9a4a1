//! Scheduled backups: when the next one is due, the record of the last one (`state/backup.json`), and the removal of old ones.

use std::fs;
use std::path::{Path, PathBuf};

use super::super::listener::Progress;
use super::manifest::{Earlier, Manifest};
use super::{Instance, Pack};
use crate::clock::{Millis, rfc3339};
use crate::error::{Error, Result};
use crate::home::{Home, layout};
use crate::report::upkeep::{BackedUp, BackupsSeen};

/// Longest wait after a failed backup, in milliseconds.
const AGAIN: Millis = 3_600_000;

/// Schedule of backups.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Rotation {
    /// Folder the backups are in.
    pub to: PathBuf,
    /// Time between two backups, in milliseconds.
    pub every: Millis,
    /// Number of backups kept, at least 1.
    pub keep: usize,
    /// File name ending of packed backups; `None` where each backup is a folder.
    pub ending: Option<&'static str>,
}

impl BackupsSeen {
    /// Reads the note of the last backups in a home.
    pub(in crate::instance) fn read(home: &Home) -> BackupsSeen {
        let bytes = home.read(&layout::BACKUP_STATE, 64 << 10).ok().flatten();
        bytes.and_then(|bytes| serde_json::from_slice(&bytes).ok()).unwrap_or_default()
    }

    fn write(&self, home: &Home) -> Result<()> {
        let text = serde_json::to_vec(self).unwrap_or_default();
        home.remove(&layout::BACKUP_STATE)?;
        home.write_new(&layout::BACKUP_STATE, &text).map(drop)
    }

    /// Returns when the next backup is due: at once where there was none. A last backup in the future, after the clock was set
    /// back, does not count.
    pub fn next(&self, rotation: &Rotation, now: Millis) -> Millis {
        let after = |at: Millis, pause: Millis| if at > now { now } else { at.saturating_add(pause) };
        let due = self.at.map_or(now, |at| after(at, rotation.every));
        match self.failed_at {
            Some(failed) => due.max(after(failed, rotation.every.min(AGAIN))),
            None => due,
        }
    }
}

impl Instance {
    /// Returns the record of the last backup.
    pub fn backups_seen(&self) -> BackupsSeen {
        BackupsSeen::read(&self.home)
    }

    /// Makes the next backup of a schedule and removes the oldest beyond `keep`. With `pack` each backup is one file.
    pub fn backup_again(&self, actor: &str, rotation: &Rotation, pack: Option<Pack>) -> Result<BackedUp> {
        let mark = self.mark();
        let stamp = rfc3339(self.ledger.now()).replace(':', "-");
        let to = rotation.to.join(format!("{mark}{stamp}{}", rotation.ending.unwrap_or_default()));
        let report = self.noted(&to, || {
            self.elsewhere(&rotation.to)?;
            if !rotation.to.is_dir() {
                // The folder is not created: a disk that is not mounted must not look like an empty one.
                return Err(Error::not_found(format!(
                    "the folder for backups is not there: {}",
                    rotation.to.display()
                ))
                .hint("connect the disk, or make the folder; it is named in config.toml, section backup"));
            }
            match pack {
                Some(pack) => self.packed_beside(actor, &to, pack),
                None => {
                    let newest = self.kept(rotation, &mark).pop();
                    let earlier = newest.and_then(|folder| Earlier::of(&folder, self.ledger.id()));
                    self.backup_beside(actor, &to, earlier.as_ref())
                }
            }
        })?;
        // The new backup is never removed, even where the clock was set back and its name sorts first.
        let older: Vec<PathBuf> = self.kept(rotation, &mark).into_iter().filter(|path| *path != to).collect();
        let too_many = (older.len() + 1).saturating_sub(rotation.keep.max(1));
        for old in older.iter().take(too_many) {
            remove(old)?;
        }
        Ok(report)
    }

    /// Returns the first part of the names of this memory's scheduled backups.
    fn mark(&self) -> String {
        format!("heirloom-{}-", self.ledger.id().get(..8).unwrap_or_default())
    }

    /// Returns the scheduled backups of this memory in the folder, oldest first. A backup a person has named, an unfinished
    /// one, and one of the other form (folder or file) is not among them.
    fn kept(&self, rotation: &Rotation, mark: &str) -> Vec<PathBuf> {
        let entries = fs::read_dir(&rotation.to).into_iter().flatten().flatten();
        let ours = entries.filter(|entry| {
            let name = entry.file_name();
            let Some(stamp) = name.to_str().and_then(|name| name.strip_prefix(mark)) else { return false };
            let Some(stamp) = stamp.strip_suffix(rotation.ending.unwrap_or_default()) else { return false };
            let kind = entry.file_type();
            is_stamp(stamp)
                && match rotation.ending {
                    Some(_) => kind.is_ok_and(|kind| kind.is_file()),
                    None => {
                        kind.is_ok_and(|kind| kind.is_dir())
                            && Manifest::read(&entry.path()).is_ok_and(|manifest| manifest.ledger == self.ledger.id())
                    }
                }
        });
        let mut paths: Vec<PathBuf> = ours.map(|entry| entry.path()).collect();
        paths.sort();
        paths
    }

    /// Runs `copy` and records its success or failure in `state/backup.json`.
    pub(super) fn noted(&self, to: &Path, copy: impl FnOnce() -> Result<BackedUp>) -> Result<BackedUp> {
        let done = copy();
        self.listener.progress(Progress::End);
        if !self.read_only {
            let now = self.ledger.now();
            let seen = match &done {
                Ok(_) => BackupsSeen { at: Some(now), to: Some(to.display().to_string()), failed_at: None, why: None },
                Err(e) => {
                    BackupsSeen { failed_at: Some(now), why: Some(e.to_string()), ..BackupsSeen::read(&self.home) }
                }
            };
            seen.write(&self.home)?;
        }
        done
    }
}

/// Returns whether the text has the form of the time in a backup's name: `2026-11-25T03-30-00.000Z`.
fn is_stamp(text: &str) -> bool {
    let shape = text.chars().map(|c| if c.is_ascii_digit() { '0' } else { c });
    shape.eq(rfc3339(0).replace(':', "-").chars().map(|c| if c.is_ascii_digit() { '0' } else { c }))
}

/// Removes a backup. It is renamed first, so that a half-removed backup is never taken for a whole one.
fn remove(path: &Path) -> Result<()> {
    let failed = |e: std::io::Error| Error::io("remove", path, e);
    let aside = super::begun_beside(path)?;
    fs::rename(path, &aside).map_err(failed)?;
    match aside.is_dir() {
        true => fs::remove_dir_all(&aside).map_err(failed),
        false => fs::remove_file(&aside).map_err(failed),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_copy_is_due_by_the_last_one_whatever_the_clock_does() {
        let rotation = Rotation { to: PathBuf::new(), every: 86_400_000, keep: 3, ending: None };
        let day = 86_400_000;
        assert_eq!(BackupsSeen::default().next(&rotation, 5), 5, "at once where there is none");
        let seen = BackupsSeen { at: Some(day), ..BackupsSeen::default() };
        assert_eq!(seen.next(&rotation, day + 1), 2 * day);
        assert_eq!(seen.next(&rotation, 10), 10, "the clock was set back");
        let failed = BackupsSeen { failed_at: Some(3 * day), ..seen.clone() };
        assert_eq!(failed.next(&rotation, 3 * day), 3 * day + AGAIN);
        assert_eq!(failed.next(&rotation, 3 * day - 1), 3 * day - 1);
    }

    #[test]
    fn only_a_name_that_was_given_is_one() {
        assert!(is_stamp("2026-11-25T03-30-00.000Z"), "{}", rfc3339(0));
        for other in ["", "2026", "2026-11-25T03-30-00.000Z-mine", "mine", "2026-11-25T03-30-00.000Z.tar.zst"] {
            assert!(!is_stamp(other), "{other}");
        }
    }
}
