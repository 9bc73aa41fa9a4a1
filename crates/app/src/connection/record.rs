//! Record of the changes made to settings of programs, kept in the home so that undoing restores the exact bytes. It
//! contains positions and lengths of our text, digests, and of text by others only a value that ours replaced. Without
//! the record, our entries are still recognised by their own marks and removed.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use heirloom_engine::clock::Clock;
use heirloom_engine::error::{Error, Result};
use heirloom_engine::home::{Home, HomeLock, Publication, digest, layout};
use heirloom_harness::install::draft::Step;
use heirloom_harness::install::{Edited, Past};
use serde::{Deserialize, Serialize};

/// The version of the record's format.
const VERSION: u32 = 1;
const LARGEST: u64 = 4 << 20;

/// Every changed file, by its path.
#[derive(Serialize, Deserialize, Clone, PartialEq, Eq, Default, Debug)]
pub struct Record {
    version: u32,
    files: BTreeMap<PathBuf, Memo>,
}

/// Record of the change of one file.
#[derive(Serialize, Deserialize, Clone, PartialEq, Eq, Default, Debug)]
#[serde(default)]
pub struct Memo {
    /// BLAKE3 of the text the steps apply to; `None` if the exact original cannot be restored.
    of: Option<String>,
    was_absent: bool,
    /// Edits that undo the change: `len` bytes from `at` are replaced by `text`.
    steps: Vec<(usize, usize, String)>,
    /// JSON or TOML containers that were created.
    made: Vec<String>,
    /// Folders that were created, outermost first.
    pub folders: Vec<PathBuf>,
}

impl Record {
    /// Reads the record of a home; empty if none can be read.
    pub fn load(home: &Home) -> Record {
        let bytes = home.read(&layout::CONNECTED, LARGEST).ok().flatten().unwrap_or_default();
        serde_json::from_slice(&bytes).ok().filter(|r: &Record| r.version == VERSION).unwrap_or_default()
    }

    /// Writes the record if it differs from the stored one.
    pub fn save(&self, home: &Home, held: &HomeLock) -> Result<()> {
        let old = home.read(&layout::CONNECTED, LARGEST)?;
        let record = Record { version: VERSION, files: self.files.clone() };
        let mut bytes = serde_json::to_vec_pretty(&record).map_err(|e| Error::usage("no record").because(e))?;
        bytes.push(b'\n');
        let base = old.as_deref().map(digest);
        if old.is_none() && self.files.is_empty() {
            return Ok(());
        }
        let what = Publication { path: &layout::CONNECTED, bytes: &bytes, base, own: base };
        // No other program writes this file, so displaced bytes are not kept.
        let _ = home.publish(held, &what, Clock::System.now(), &mut |_| Ok(()))?;
        Ok(())
    }

    /// Returns whether nothing is connected.
    pub fn is_empty(&self) -> bool {
        self.files.is_empty()
    }

    pub fn get(&self, path: &Path) -> Option<&Memo> {
        self.files.get(path)
    }

    /// Stores the change of a file; `None` removes it.
    pub fn set(&mut self, path: &Path, memo: Option<Memo>) {
        match memo {
            Some(memo) => self.files.insert(path.to_owned(), memo),
            None => self.files.remove(path),
        };
    }
}

impl Memo {
    pub fn new(edited: &Edited, folders: Vec<PathBuf>) -> Memo {
        Memo {
            of: edited.exact.then(|| sum(&edited.text)),
            was_absent: edited.was_absent,
            steps: edited.steps.iter().map(|s| (s.at, s.len, s.text.clone())).collect(),
            made: edited.made.clone(),
            folders,
        }
    }

    /// Returns the recorded change, as far as it applies to a text.
    pub fn past(&self, now: Option<&str>) -> Past {
        let step = |(at, len, text): &(usize, usize, String)| Step { at: *at, len: *len, text: text.clone() };
        Past {
            exact: self.of.is_some() && self.of == now.map(sum),
            was_absent: self.was_absent,
            steps: self.steps.iter().map(step).collect(),
            made: self.made.clone(),
        }
    }
}

fn sum(text: &str) -> String {
    digest(text.as_bytes()).iter().map(|b| format!("{b:02x}")).collect()
}
