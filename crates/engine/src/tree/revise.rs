//! Changing one file without losing what a person writes into it at the same time (R3.2, D2).
//!
//! The change is a function of the file's current contents. If a person saves in between, their version wins: the
//! change is applied again to it, and contents that an exchange displaced from the file are kept as a revision first.

use rusqlite::params;

use super::file_table::Kind;
use super::restore::{self, DELETED, EMPTIED, LET_GO, PRESENT};
use super::{AssistantHome, LARGEST_FILE, TreeLock, file_table};
use crate::clock::{Clock, Millis, as_rfc3339};
use crate::document::Document;
use crate::error::{Error, ErrorKind, Result};
use crate::home::{self, Digest, Publication, Published, RelPath, Stamp};
use crate::ledger::{Read, Write, blocks};
use crate::scope::{AgentNo, RevisionNo};
use crate::title::wordless_path;

/// The reason recorded for a revision that was replaced on request.
pub const BY_COMMAND: &str = "edited by command";

/// The outcome of a change.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Revised {
    Written(Now),
    Unchanged(Now),
    /// The change left the contents as they were.
    LeftAlone,
    /// A person is editing the file; do not try again before this time.
    Deferred {
        until: Millis,
    },
}

/// State of a file after a change.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Now {
    pub stamp: Stamp,
    pub digest: Digest,
}

/// Reaction to a person who is editing the file.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Patience {
    /// Wait until their last save is two seconds old.
    Wait,
    /// Return [`Revised::Deferred`]; the caller tries again later.
    Defer,
}

/// Number of tries against an editor that keeps saving, before the change is given up with an error.
const TRIES: usize = 24;

/// The longest time a change waits for the file to be idle, in milliseconds.
const LONGEST_WAIT_MS: i64 = 2_100;

impl TreeLock<'_> {
    /// Publishes the bytes that `change` makes from the file's bytes (`None`: the file does not exist). `own`: digest
    /// of Heirloom's last write to the file. Does not update the file table: the caller does that with
    /// [`AssistantHome::seen`], in the transaction of its choice.
    pub fn revise(
        &self,
        path: &RelPath,
        own: Option<Digest>,
        patience: Patience,
        mut change: impl FnMut(Option<&[u8]>) -> Result<Option<Vec<u8>>>,
    ) -> Result<Revised> {
        let files = &self.at.files;
        if let Some(parent) = path.parent() {
            files.create_dir_all(&parent)?;
        }
        let (mut own, mut displaced): (Option<Digest>, Option<Vec<u8>>) = (own, None);
        for _ in 0..TRIES {
            let current = match files.read_with_stamp(path, LARGEST_FILE) {
                Ok(found) => found.map(|(bytes, _)| bytes),
                // A symlink is replaced, never read (D8).
                Err(e) if e.kind() == ErrorKind::Refused && is_symlink(self.at, path) => None,
                Err(e) => return Err(e),
            };
            let base = current.as_deref().map(home::digest);
            // The displaced contents are newer than what Heirloom wrote, and older than anything saved over it since.
            let newest = displaced.as_deref().filter(|_| base == own).or(current.as_deref());
            let Some(bytes) = change(newest)? else {
                return Ok(Revised::LeftAlone);
            };
            let digest = home::digest(&bytes);
            let mut kept = None;
            let published = files.publish(
                &self.lock,
                &Publication { path, bytes: &bytes, base, own },
                Clock::System.now(),
                &mut |pushed_out| {
                    self.at.keep_revision(path, pushed_out, "saved while it was being written")?;
                    kept = Some(pushed_out.to_vec());
                    Ok(())
                },
            )?;
            match published {
                Published::Written(stamp) => return Ok(Revised::Written(Now { stamp, digest })),
                Published::Unchanged(stamp) => return Ok(Revised::Unchanged(Now { stamp, digest })),
                Published::Moved => displaced = None,
                Published::Deferred { until } if patience == Patience::Defer => return Ok(Revised::Deferred { until }),
                Published::Deferred { until } => {
                    let pause = (until - Clock::System.now()).clamp(1, LONGEST_WAIT_MS);
                    std::thread::sleep(std::time::Duration::from_millis(pause as u64));
                }
                Published::Displaced(_) => {
                    own = Some(digest);
                    displaced = kept;
                }
            }
        }
        Err(Error::new(ErrorKind::Busy, format!("{} is being changed all the time", self.at.shown(path)))
            .hint("let its editor come to rest and run the command again"))
    }
}

fn is_symlink(at: &AssistantHome, path: &RelPath) -> bool {
    matches!(at.files.stat(path), Ok(Some(entry)) if entry.kind == home::Kind::Symlink)
}

/// Number of earlier versions of a file that are kept.
const KEPT_REVISIONS: i64 = 100;

/// A kept earlier version of a file.
#[derive(Clone, PartialEq, Eq, serde::Serialize, schemars::JsonSchema, Debug)]
pub struct Revision {
    #[serde(rename = "revision")]
    pub no: RevisionNo,
    pub path: String,
    #[schemars(with = "String")]
    #[serde(serialize_with = "as_rfc3339")]
    pub at: Millis,
    /// Reason why this version was replaced.
    pub why: String,
    #[serde(skip)]
    pub bytes: Vec<u8>,
}

impl AssistantHome<'_> {
    /// Stores a version of a file. The same bytes of the same file are stored once.
    pub fn keep_revision(&self, path: &RelPath, bytes: &[u8], why: &str) -> Result<()> {
        self.write("file.revision", |tx| self.keep_revision_in(tx, path, bytes, why))
    }

    /// Stores a version like [`AssistantHome::keep_revision`], inside a transaction.
    pub fn keep_revision_in(&self, tx: &mut Write, path: &RelPath, bytes: &[u8], why: &str) -> Result<()> {
        tx.prepare_cached(
            "INSERT INTO file_revisions (agent_no, path, at, why, digest, data) VALUES (?1, ?2, ?3, ?4, ?5, ?6)
             ON CONFLICT (agent_no, path, digest) DO UPDATE SET at = excluded.at,
               why = CASE WHEN why = ?7 THEN excluded.why ELSE why END",
        )?
        .execute(params![
            self.agent_no,
            path.as_str(),
            tx.now(),
            why,
            home::digest(bytes).as_slice(),
            blocks::squeeze(bytes)?,
            PRESENT
        ])?;
        // Removes the oldest revisions. The stored states of existing and of deleted files have rules of their own
        // ([`restore`]).
        tx.prepare_cached(
            "DELETE FROM file_revisions WHERE revision_no IN (
               SELECT revision_no FROM file_revisions WHERE agent_no = ?1 AND path = ?2 AND why NOT IN (?3, ?4, ?5, ?7)
               ORDER BY at DESC, revision_no DESC LIMIT -1 OFFSET ?6)",
        )?
        .execute(params![self.agent_no, path.as_str(), PRESENT, DELETED, LET_GO, KEPT_REVISIONS, EMPTIED])?;
        let item = matches!(
            file_table::classify(path),
            Some((Kind::Leaf | Kind::Proposal | Kind::OpenLoop | Kind::Artifact | Kind::Note, _))
        );
        tx.note("path", if item { wordless_path(path.as_str()) } else { path.as_str().to_owned() });
        Ok(())
    }

    /// Records a file that was just written in the file table.
    pub(crate) fn seen(&self, tx: &Write, path: &RelPath, now: Now, bytes: &[u8]) -> Result<()> {
        let Some(what) = file_table::classify(path) else { return Ok(()) };
        let described = file_table::describe(path, what.0, what.1, &Document::parse(bytes));
        let seen = file_table::Seen {
            stamp: now.stamp,
            seen_ns: Clock::System.now().saturating_mul(1_000_000),
            digest: now.digest,
            published: Some(now.digest),
        };
        file_table::store(tx, self.agent_no, path, what, &seen, &described)?;
        restore::keep(tx, self.agent_no, path, what.0, bytes)
    }

    /// Returns a path as shown to people.
    pub fn shown(&self, path: &RelPath) -> String {
        self.files.shown().join(path.as_str()).display().to_string()
    }
}

/// Returns the kept versions of a file, newest first; without `path`, those of all files.
pub fn revisions(tx: &Read, agent_no: AgentNo, path: Option<&str>, limit: usize) -> Result<Vec<Revision>> {
    let mut statement = tx.prepare_cached(
        "SELECT revision_no, path, at, why, data FROM file_revisions
         WHERE agent_no = ?1 AND (?2 IS NULL OR path = ?2) AND why NOT IN (?4, ?5) ORDER BY at DESC, revision_no DESC LIMIT ?3",
    )?;
    let mut rows = statement.query(params![agent_no, path, limit as i64, PRESENT, LET_GO])?;
    let mut out = Vec::new();
    while let Some(r) = rows.next()? {
        let bytes = blocks::unsqueeze(&r.get::<_, Vec<u8>>(4)?)?;
        out.push(Revision { no: r.get(0)?, path: r.get(1)?, at: r.get(2)?, why: r.get(3)?, bytes });
    }
    Ok(out)
}

/// Revisions kept since a time because files were found changed: number, path and reason, newest first. Versions
/// replaced by a command on request are left out, and so are files that were deleted or emptied.
pub fn found_by_scan(
    tx: &Read,
    agent_no: AgentNo,
    since: Millis,
    limit: usize,
) -> Result<Vec<(RevisionNo, String, String)>> {
    let mut statement = tx.prepare_cached(
        "SELECT revision_no, path, why FROM file_revisions WHERE agent_no = ?1 AND at >= ?2
           AND why NOT IN (?3, ?5, ?6, ?7, ?8) ORDER BY at DESC, revision_no DESC LIMIT ?4",
    )?;
    let rows = statement
        .query_map(params![agent_no, since, BY_COMMAND, limit as i64, PRESENT, DELETED, LET_GO, EMPTIED], |r| {
            Ok((r.get(0)?, r.get(1)?, r.get(2)?))
        })?;
    Ok(rows.collect::<rusqlite::Result<_>>()?)
}

/// Returns the contents of the kept versions of a file.
pub(crate) fn revisions_of(tx: &Read, agent_no: AgentNo, path: &str) -> Result<Vec<Vec<u8>>> {
    let mut statement = tx.prepare_cached("SELECT data FROM file_revisions WHERE agent_no = ?1 AND path = ?2")?;
    let rows = statement.query_map(params![agent_no, path], |r| r.get::<_, Vec<u8>>(0))?;
    let rows: Vec<Vec<u8>> = rows.collect::<rusqlite::Result<_>>()?;
    rows.iter().map(|data| blocks::unsqueeze(data)).collect()
}

/// Removes the kept versions for which `shows` returns true, given path and text. Returns how many were removed.
pub(crate) fn forget_revisions(tx: &Write, agent_no: AgentNo, shows: impl Fn(&str, &str) -> bool) -> Result<usize> {
    let mut statement = tx.prepare_cached("SELECT revision_no, path, data FROM file_revisions WHERE agent_no = ?1")?;
    let rows = statement
        .query_map([agent_no], |r| Ok((r.get::<_, i64>(0)?, r.get::<_, String>(1)?, r.get::<_, Vec<u8>>(2)?)))?;
    let rows: Vec<(i64, String, Vec<u8>)> = rows.collect::<rusqlite::Result<_>>()?;
    let mut gone = 0;
    for (no, path, data) in rows {
        if shows(&path, &String::from_utf8_lossy(&blocks::unsqueeze(&data)?)) {
            tx.prepare_cached("DELETE FROM file_revisions WHERE revision_no = ?1")?.execute([no])?;
            gone += 1;
        }
    }
    Ok(gone)
}
