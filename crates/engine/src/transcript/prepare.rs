//! The plan of an append: records decoded, hashed and compressed without holding a lock.
//!
//! The reader of a source builds [`Step`]s with a [`Preparer`]; [`append`](mod@super::append) stores a [`Batch`] of
//! them in one short transaction, which first checks that each plan is still valid.

use std::collections::HashMap;
use std::path::{Path, PathBuf};

use crate::error::{Error, ErrorKind, Result};
use crate::event::{Decoded, Fact, NewTurn, Placement, RecordClass};
use crate::ledger::blocks::{LARGEST_RECORD, Packed, Packer, Spot};
use crate::scope::{AgentId, RecordNo};
use crate::source::private;
use crate::source::project::{ProjectRoot, project_root};

/// Length in bytes of a record's key and of its digest. 128 bits each are enough to detect every accidental change, and
/// to prevent forging another record with the same digest.
pub const KEY_LENGTH: usize = 16;

/// Returns the digest of a record's bytes under the record's own key. Without the key it reveals nothing about the
/// bytes (R14.2).
pub fn digest(key: &[u8], bytes: &[u8]) -> [u8; KEY_LENGTH] {
    digest_of(hasher(key).update(bytes))
}

/// Returns a hasher with a record's key, for bytes that come in parts.
pub fn hasher(key: &[u8]) -> blake3::Hasher {
    let mut wide = [0u8; 32];
    for (i, b) in key.iter().take(KEY_LENGTH).enumerate() {
        wide[i] = *b;
        wide[i + KEY_LENGTH] = *b;
    }
    blake3::Hasher::new_keyed(&wide)
}

/// Returns the digest of the bytes that were hashed.
pub fn digest_of(hasher: &blake3::Hasher) -> [u8; KEY_LENGTH] {
    let full = hasher.finalize();
    let mut out = [0u8; KEY_LENGTH];
    out.copy_from_slice(&full.as_bytes()[..KEY_LENGTH]);
    out
}

/// The source a step reads: a file, a database or the live API, of one program, for one agent.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub struct Origin {
    pub agent: AgentId,
    pub harness: &'static str,
    /// Whether this program's entry ids are unique across sessions.
    pub global_ids: bool,
    /// The version of the program's decoder.
    pub decoding: u32,
    pub form: OriginForm,
    /// Canonical path, or the name of the live stream.
    pub path: PathBuf,
}

#[derive(Clone, Copy, PartialEq, Eq, Hash, serde::Serialize, schemars::JsonSchema, Debug)]
#[serde(rename_all = "lowercase")]
pub enum OriginForm {
    File = 0,
    Database = 1,
    Live = 2,
    /// Events reported by a program's hooks. Their turns are provisional until the program's own store contains them
    /// (R4.4).
    Hook = 3,
}

impl OriginForm {
    /// Whether events are appended as they arrive, so that the stream has no order other than arrival.
    pub fn is_said_live(self) -> bool {
        matches!(self, OriginForm::Live | OriginForm::Hook)
    }
}

/// The state of a stream when the plan was made. The commit refuses a plan whose stream has changed since.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct StreamAt {
    pub generation: i64,
    pub next: i64,
}

/// The state of a stream after a step.
#[derive(Clone, PartialEq, Debug, Default)]
pub struct After {
    pub next: i64,
    pub lines: i64,
    /// Whether the next bytes belong to an oversized line that is being stored in pieces.
    pub mid_line: bool,
    /// Bytes after `next` that are not a complete line yet.
    pub pending: Vec<u8>,
    pub decoder: Vec<u8>,
}

/// The part of a batch that belongs to one stream.
pub struct Step {
    pub origin: Origin,
    /// Key of the stream: empty for a file, `table/key` for a row.
    pub key: String,
    pub placement: Placement,
    pub before: Option<StreamAt>,
    pub generation: i64,
    pub records: Vec<PlannedRecord>,
    pub after: After,
    /// State of the source when it was read to its end; set with the last step of a source.
    pub stat: Option<String>,
    /// Key and fingerprint of a foreign group; set with the last step of the group.
    pub group: Option<(String, String)>,
}

/// The bytes of a planned record.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum RecordBytes {
    /// New bytes, and where they are in the batch.
    New { position: i64, length: i64, spot: Spot, key: [u8; KEY_LENGTH], digest: [u8; KEY_LENGTH] },
    /// Stored by an earlier append and unchanged; only the decoded meaning may be new.
    Stored { record_no: RecordNo },
}

pub struct PlannedRecord {
    pub bytes: RecordBytes,
    pub class: RecordClass,
    /// For quarantined records: the reason, and the line number.
    pub reason: Option<(String, Option<i64>)>,
    pub turns: Vec<PlannedTurn>,
    pub facts: Vec<Fact>,
    /// The record contains forgotten text: its position is kept, its bytes are not (R14.2).
    pub forgotten: bool,
}

pub struct PlannedTurn {
    pub turn: NewTurn,
    /// Index of the turn among the turns of its record.
    pub index: usize,
    pub spot: Spot,
}

/// Steps and their blocks, ready to be stored together.
pub struct Batch {
    pub blocks: Vec<Packed>,
    pub steps: Vec<Step>,
    /// The projects of all working directories named in the steps.
    pub projects: HashMap<String, Option<ProjectRoot>>,
    /// The number of source bytes in the batch.
    pub bytes: u64,
}

/// Builds batches: hashes, compresses, looks up projects. It uses no transaction.
pub struct Preparer {
    packer: Packer,
    steps: Vec<Step>,
    projects: HashMap<String, Option<ProjectRoot>>,
    keys: Vec<u8>,
    bytes: u64,
    /// The user's home directory: a repository there (dotfiles) must not count as the project of every folder below it.
    user_home: Option<PathBuf>,
}

impl Preparer {
    pub fn new(user_home: Option<&Path>) -> Result<Preparer> {
        Ok(Preparer {
            packer: Packer::new()?,
            steps: Vec::new(),
            projects: HashMap::new(),
            keys: Vec::new(),
            bytes: 0,
            user_home: user_home.map(Path::to_owned),
        })
    }

    /// Plans a record with its bytes.
    pub fn record(
        &mut self,
        position: i64,
        bytes: &[u8],
        line: Option<i64>,
        decoded: Decoded,
    ) -> Result<PlannedRecord> {
        let key = self.key()?;
        let spot = self.packer.push(bytes);
        let at = RecordBytes::New { position, length: bytes.len() as i64, spot, key, digest: digest(&key, bytes) };
        self.bytes += bytes.len() as u64;
        // A few bytes of a compressed body can decode to any length, and a record and its texts share a block.
        let texts: usize = decoded.turns.iter().map(|turn| turn.text.len()).sum();
        if bytes.len().saturating_add(texts) > LARGEST_RECORD {
            let reason = "it decodes to more than 128 MiB; its bytes are kept, it is not decoded";
            return self.plan(at, line, Decoded::quarantined(reason));
        }
        self.plan(at, line, decoded)
    }

    /// Plans the decoded meaning of a record that is already stored.
    pub fn stored_record(&mut self, record_no: RecordNo, decoded: Decoded) -> Result<PlannedRecord> {
        self.plan(RecordBytes::Stored { record_no }, None, decoded)
    }

    fn plan(&mut self, bytes: RecordBytes, line: Option<i64>, mut decoded: Decoded) -> Result<PlannedRecord> {
        private::shorten_all(&mut decoded);
        let mut turns = Vec::with_capacity(decoded.turns.len());
        for (index, turn) in decoded.turns.into_iter().enumerate() {
            if let Some(cwd) = &turn.cwd {
                self.learn_project(cwd);
            }
            let spot = self.packer.push(turn.text.as_bytes());
            turns.push(PlannedTurn { turn, index, spot });
        }
        for fact in &decoded.facts {
            if let Fact::Cwd(cwd) = fact {
                self.learn_project(cwd);
            }
        }
        self.packer.settle()?;
        Ok(PlannedRecord {
            bytes,
            class: decoded.class,
            reason: decoded.reason.map(|r| (r, line)),
            turns,
            facts: decoded.facts,
            forgotten: false,
        })
    }

    pub fn step(&mut self, step: Step) {
        self.steps.push(step);
    }

    /// Returns the number of source bytes planned so far.
    pub fn bytes(&self) -> u64 {
        self.bytes
    }

    pub fn is_empty(&self) -> bool {
        self.steps.is_empty()
    }

    /// Returns the batch; the preparer is ready for the next one.
    pub fn finish(&mut self) -> Result<Batch> {
        Ok(Batch {
            blocks: self.packer.finish()?,
            steps: std::mem::take(&mut self.steps),
            projects: self.projects.clone(),
            bytes: std::mem::take(&mut self.bytes),
        })
    }

    fn learn_project(&mut self, cwd: &str) {
        if !self.projects.contains_key(cwd) {
            let found = project_root(Path::new(cwd), self.user_home.as_deref());
            self.projects.insert(cwd.to_owned(), found);
        }
    }

    /// Returns random bytes for a key. They are fetched in bulk: one system call for 256 records.
    fn key(&mut self) -> Result<[u8; KEY_LENGTH]> {
        if self.keys.is_empty() {
            self.keys.resize(KEY_LENGTH * 256, 0);
            getrandom::fill(&mut self.keys)
                .map_err(|e| Error::new(ErrorKind::Machine, "the system gives no random numbers").because(e))?;
        }
        let at = self.keys.len() - KEY_LENGTH;
        let mut key = [0u8; KEY_LENGTH];
        key.copy_from_slice(&self.keys[at..]);
        self.keys.truncate(at);
        Ok(key)
    }
}
