//! The plan of an append: records decoded, hashed and compressed with no lock held.
//!
//! Plan, think, commit: whoever reads a source builds [`Step`]s with a [`Preparer`]; [`append`](mod@super::append) stores a
//! [`Batch`] of them in one short transaction that first checks that each plan still holds.

use std::collections::HashMap;
use std::path::{Path, PathBuf};

use crate::error::{Error, ErrorKind, Result};
use crate::event::{Decoded, Fact, NewTurn, Placement, RecordClass};
use crate::ledger::blocks::{Packed, Packer, Spot};
use crate::scope::{AgentId, RecordNo};
use crate::source::project::{ProjectRoot, project_root};

/// Length of a record's key and of its digest. 128 bits each: an accident is found with certainty, and nobody can make
/// another record that fits.
pub const KEY_LENGTH: usize = 16;

/// The digest of a record's bytes under its own key. Without the key it tells nothing about the bytes (R14.2).
pub fn digest(key: &[u8], bytes: &[u8]) -> [u8; KEY_LENGTH] {
    let mut wide = [0u8; 32];
    for (i, b) in key.iter().take(KEY_LENGTH).enumerate() {
        wide[i] = *b;
        wide[i + KEY_LENGTH] = *b;
    }
    let full = blake3::keyed_hash(&wide, bytes);
    let mut out = [0u8; KEY_LENGTH];
    out.copy_from_slice(&full.as_bytes()[..KEY_LENGTH]);
    out
}

/// Which source a step reads: a file, a database or the live API, of one program, for one agent.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub struct Origin {
    pub agent: AgentId,
    pub harness: &'static str,
    /// Entry ids of this program are unique beyond the session.
    pub global_ids: bool,
    pub form: OriginForm,
    /// Canonical path, or the name of the live stream.
    pub path: PathBuf,
}

#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum OriginForm {
    File = 0,
    Database = 1,
    Live = 2,
    /// What a program's hooks say. Its turns are provisional until the program's own store says them (R4.4).
    Hook = 3,
}

impl OriginForm {
    /// Whoever says something says it behind what was said: such a stream has no other order.
    pub fn is_said_live(self) -> bool {
        matches!(self, OriginForm::Live | OriginForm::Hook)
    }
}

/// Where a stream stood when the plan was made. The commit refuses a plan whose stream has moved.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct StreamAt {
    pub generation: i64,
    pub next: i64,
}

/// Where a stream stands afterwards.
#[derive(Clone, PartialEq, Debug, Default)]
pub struct After {
    pub next: i64,
    pub lines: i64,
    /// The bytes that follow belong to an oversized line that is being stored in pieces.
    pub mid_line: bool,
    /// Bytes behind `next` that are not a complete line yet.
    pub pending: Vec<u8>,
    pub decoder: Vec<u8>,
}

/// What one stream gives to a batch.
pub struct Step {
    pub origin: Origin,
    /// Empty for a file, `table/key` for a row.
    pub key: String,
    pub placement: Placement,
    pub before: Option<StreamAt>,
    pub generation: i64,
    pub records: Vec<PlannedRecord>,
    pub after: After,
    /// Set with the last step of a source: what the source looked like when it was read to its end.
    pub stat: Option<String>,
    /// Set with the last step of a foreign group: its key and fingerprint.
    pub group: Option<(String, String)>,
}

/// Where a planned record's bytes are.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Place {
    New {
        position: i64,
        length: i64,
        spot: Spot,
        key: [u8; KEY_LENGTH],
        digest: [u8; KEY_LENGTH],
    },
    /// Stored by an earlier append and unchanged; only its meaning may be new.
    Stored {
        record_no: RecordNo,
    },
}

pub struct PlannedRecord {
    pub place: Place,
    pub class: RecordClass,
    /// For quarantined records: why, and on which line.
    pub reason: Option<(String, Option<i64>)>,
    pub turns: Vec<PlannedTurn>,
    pub facts: Vec<Fact>,
    /// It says what was forgotten: its place is kept, not its bytes (R14.2).
    pub forgotten: bool,
}

pub struct PlannedTurn {
    pub turn: NewTurn,
    /// Its place among the turns of its record.
    pub index: usize,
    pub spot: Spot,
}

/// Steps and their blocks, ready to be stored together.
pub struct Batch {
    pub blocks: Vec<Packed>,
    pub steps: Vec<Step>,
    /// Projects of all working directories named in the steps.
    pub projects: HashMap<String, Option<ProjectRoot>>,
    /// Source bytes in it.
    pub bytes: u64,
}

/// Builds batches: hashes, compresses, looks up projects. Knows no transaction.
pub struct Preparer {
    packer: Packer,
    steps: Vec<Step>,
    projects: HashMap<String, Option<ProjectRoot>>,
    keys: Vec<u8>,
    bytes: u64,
    /// The user's home directory: a repository there (dotfiles) must not swallow every project below it.
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

    /// A record with its bytes.
    pub fn record(
        &mut self,
        position: i64,
        bytes: &[u8],
        line: Option<i64>,
        decoded: Decoded,
    ) -> Result<PlannedRecord> {
        let key = self.key()?;
        let spot = self.packer.push(bytes);
        let place = Place::New { position, length: bytes.len() as i64, spot, key, digest: digest(&key, bytes) };
        self.bytes += bytes.len() as u64;
        self.plan(place, line, decoded)
    }

    /// The meaning of a record that is already stored.
    pub fn stored_record(&mut self, record_no: RecordNo, decoded: Decoded) -> Result<PlannedRecord> {
        self.plan(Place::Stored { record_no }, None, decoded)
    }

    fn plan(&mut self, place: Place, line: Option<i64>, decoded: Decoded) -> Result<PlannedRecord> {
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
            place,
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

    /// Source bytes planned so far.
    pub fn bytes(&self) -> u64 {
        self.bytes
    }

    pub fn is_empty(&self) -> bool {
        self.steps.is_empty()
    }

    /// Closes the batch; the preparer is ready for the next one.
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

    /// Random bytes, fetched by the page: one system call for 256 records.
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
