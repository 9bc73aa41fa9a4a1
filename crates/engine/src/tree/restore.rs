//! Copies of files, so that a deletion by hand can be undone for a month.
//!
//! The newest state seen of every page, memory, open loop, proposal and artifact is stored beside the revisions; a
//! person's own notes are not copied. Once a scan finds the file gone, that state becomes a revision, [`restore`]
//! writes it back, and after [`KEPT_MS`] it is removed. A file that a command removes is not kept here: forgetting has
//! to forget.

use rusqlite::{OptionalExtension, params};

use super::file_table::{self, Kind};
use super::{AssistantHome, LARGEST_FILE, TreeLock, scan};
use crate::clock::Millis;
use crate::error::{Error, Result};
use crate::home::{self, NewFile, RelPath};
use crate::ledger::{Read, Write, blocks};
use crate::scope::AgentNo;

/// Reason (`why`) of the stored state of an existing file.
pub(super) const PRESENT: &str = "the newest state that was seen";

/// Reason (`why`) of the stored state of a file that was deleted by hand.
pub(super) const DELETED: &str = "deleted by hand";

/// Reason (`why`) of an empty state: the existing file contains forgotten words that only its owner may remove, so its
/// bytes are not stored.
pub(super) const LET_GO: &str = "it has what was forgotten";

/// Time a deleted file is kept, in milliseconds.
const KEPT_MS: Millis = 30 * 24 * 60 * 60 * 1000;

/// Largest file of which a state is stored, in bytes.
const LARGEST_KEPT: usize = 1 << 20;

/// Most missing states that one scan stores.
const AT_ONCE: i64 = 200;

/// Whether states are stored of files of this kind. A page that is rendered as a whole needs none: it is rendered
/// again.
fn is_kept(kind: Kind) -> bool {
    matches!(kind, Kind::Page | Kind::Head | Kind::OpenLoop | Kind::Proposal | Kind::Artifact | Kind::Leaf)
}

/// Stores the state of a file that was just seen or written, and removes the state stored before.
pub(super) fn keep(tx: &Write, agent_no: AgentNo, path: &RelPath, kind: Kind, bytes: &[u8]) -> Result<()> {
    if !is_kept(kind) || bytes.len() > LARGEST_KEPT {
        return Ok(());
    }
    let digest = home::digest(bytes);
    tx.prepare_cached(
        "DELETE FROM file_revisions WHERE agent_no = ?1 AND path = ?2 AND why IN (?3, ?4) AND digest != ?5",
    )?
    .execute(params![agent_no, path.as_str(), PRESENT, LET_GO, digest.as_slice()])?;
    tx.prepare_cached(
        "INSERT INTO file_revisions (agent_no, path, at, why, digest, data) VALUES (?1, ?2, ?3, ?4, ?5, ?6)
         ON CONFLICT DO NOTHING",
    )?
    .execute(params![agent_no, path.as_str(), tx.now(), PRESENT, digest.as_slice(), blocks::squeeze(bytes)?])?;
    Ok(())
}

/// Stores the states of files whose rows are older than this feature.
pub(super) fn make_up(at: &AssistantHome) -> Result<()> {
    let lacking: Vec<(String, Vec<u8>)> = at.read(|tx| {
        let kinds: Vec<String> = Kind::ALL.iter().filter(|k| is_kept(**k)).map(|k| format!("'{}'", k.name())).collect();
        let mut statement = tx.prepare_cached(&format!(
            "SELECT path, digest FROM catalogue c WHERE agent_no = ?1 AND state != 'gone' AND kind IN ({})
               AND size <= ?2 AND NOT EXISTS (SELECT 1 FROM file_revisions r
                 WHERE r.agent_no = c.agent_no AND r.path = c.path AND r.digest = c.digest) LIMIT ?3",
            kinds.join(", ")
        ))?;
        let rows =
            statement.query_map(params![at.agent_no, LARGEST_KEPT as i64, AT_ONCE], |r| Ok((r.get(0)?, r.get(1)?)))?;
        Ok(rows.collect::<rusqlite::Result<_>>()?)
    })?;
    let mut seen = Vec::new();
    for (path, digest) in lacking {
        let path = RelPath::parse(&path)?;
        let Some((kind, _)) = file_table::classify(&path) else { continue };
        // A file that cannot be read is reported by the scan.
        let bytes = at.files.read(&path, LARGEST_FILE).ok().flatten().unwrap_or_default();
        if home::digest(&bytes).as_slice() == digest {
            seen.push((path, kind, bytes));
        }
    }
    if seen.is_empty() {
        return Ok(());
    }
    at.write("file.kept", |tx| {
        tx.note("files", seen.len());
        seen.iter().try_for_each(|(path, kind, bytes)| keep(tx, at.agent_no, path, *kind, bytes))
    })
}

/// Empties the stored states that contain forgotten words, as part of a forget. The files themselves may belong to
/// people; then they stay and are listed, and their state is not stored again before they change.
pub(crate) fn let_go(tx: &Write, agent_no: AgentNo, has: impl Fn(&[u8]) -> bool) -> Result<()> {
    let mut statement = tx.prepare("SELECT revision_no, data FROM file_revisions WHERE agent_no = ?1 AND why = ?2")?;
    let rows = statement.query_map(params![agent_no, PRESENT], |r| Ok((r.get(0)?, r.get(1)?)))?;
    let rows: Vec<(i64, Vec<u8>)> = rows.collect::<rusqlite::Result<_>>()?;
    let nothing = blocks::squeeze(b"")?;
    for (no, data) in rows {
        if has(&blocks::unsqueeze(&data)?) {
            tx.prepare_cached("UPDATE file_revisions SET why = ?2, data = ?3 WHERE revision_no = ?1")?
                .execute(params![no, LET_GO, nothing])?;
        }
    }
    Ok(())
}

/// Returns the paths of stored states whose bytes do not match their digest.
pub(crate) fn unsound(tx: &Read) -> Result<Vec<String>> {
    let mut statement =
        tx.prepare("SELECT path, digest, data FROM file_revisions WHERE why != ?1 ORDER BY path, revision_no")?;
    let mut rows = statement.query([LET_GO])?;
    let mut out = Vec::new();
    while let Some(r) = rows.next()? {
        let (digest, data): (Vec<u8>, Vec<u8>) = (r.get(1)?, r.get(2)?);
        if !blocks::unsqueeze(&data).is_ok_and(|bytes| home::digest(&bytes).as_slice() == digest) {
            out.push(r.get(0)?);
        }
    }
    Ok(out)
}

/// Removes the stored state of a file that a command has removed: only deletions by hand can be undone.
pub(super) fn removed(tx: &Write, agent_no: AgentNo, path: &str) -> Result<()> {
    tx.prepare_cached("DELETE FROM file_revisions WHERE agent_no = ?1 AND path = ?2 AND why IN (?3, ?4)")?
        .execute(params![agent_no, path, PRESENT, LET_GO])?;
    Ok(())
}

/// Turns the newest state of a file that a scan has found gone into a revision. A file that only has another name now
/// is not gone. Also removes states of files deleted long ago.
pub(super) fn deleted(tx: &Write, agent_no: AgentNo, path: &str) -> Result<()> {
    tx.prepare_cached(
        "UPDATE file_revisions SET why = ?3, at = ?4 WHERE agent_no = ?1 AND path = ?2 AND why != ?5
           AND digest = (SELECT digest FROM catalogue WHERE agent_no = ?1 AND path = ?2)
           AND NOT EXISTS (SELECT 1 FROM catalogue c WHERE c.agent_no = ?1 AND c.path != ?2 AND c.state != 'gone'
                           AND c.digest = file_revisions.digest)",
    )?
    .execute(params![agent_no, path, DELETED, tx.now(), LET_GO])?;
    removed(tx, agent_no, path)?;
    tx.prepare_cached("DELETE FROM file_revisions WHERE agent_no = ?1 AND why = ?2 AND at < ?3")?.execute(params![
        agent_no,
        DELETED,
        tx.now() - KEPT_MS
    ])?;
    Ok(())
}

/// Returns the files deleted by hand since a time that do not exist again, newest first.
pub fn deleted_since(tx: &Read, agent_no: AgentNo, since: Millis, limit: usize) -> Result<Vec<String>> {
    let mut statement = tx.prepare_cached(
        "SELECT path FROM file_revisions r WHERE agent_no = ?1 AND why = ?2 AND at >= ?3
           AND NOT EXISTS (SELECT 1 FROM catalogue c WHERE c.agent_no = ?1 AND c.path = r.path AND c.state != 'gone')
         ORDER BY at DESC LIMIT ?4",
    )?;
    let rows = statement.query_map(params![agent_no, DELETED, since, limit as i64], |r| r.get(0))?;
    Ok(rows.collect::<rusqlite::Result<_>>()?)
}

/// Whether a state is stored from which a file can be restored.
pub fn has_copy(tx: &Read, agent_no: AgentNo, path: &RelPath) -> Result<bool> {
    let mut statement =
        tx.prepare_cached("SELECT 1 FROM file_revisions WHERE agent_no = ?1 AND path = ?2 AND why != ?3")?;
    Ok(statement.exists(params![agent_no, path.as_str(), LET_GO])?)
}

/// Restores a file that was deleted by hand, by its path or the id of the item it had, with its last bytes. Returns its
/// path. `NotFound`: no state is stored. `Refused`: a file exists at that path.
pub fn restore(lock: &TreeLock, name: &str) -> Result<RelPath> {
    let at = lock.at;
    let nothing = || {
        Error::not_found(format!("nothing is kept of {name}"))
            .hint("files deleted by hand are kept for 30 days, by the path they had: ⟨show --revisions⟩")
    };
    let of_item: Option<String> = at.read(|tx| {
        let sql = "SELECT path FROM catalogue WHERE agent_no = ?1 AND item = ?2 ORDER BY change_no DESC LIMIT 1";
        Ok(tx.prepare_cached(sql)?.query_row(params![at.agent_no, name], |r| r.get(0)).optional()?)
    })?;
    let below = name.strip_prefix(&at.files.shown().display().to_string()).map(|rest| rest.trim_start_matches('/'));
    let path = RelPath::parse(of_item.as_deref().or(below).unwrap_or(name)).map_err(|e| nothing().because(e))?;
    let kept: Option<Vec<u8>> = at.read(|tx| {
        let sql = "SELECT data FROM file_revisions WHERE agent_no = ?1 AND path = ?2 AND why != ?4
                   ORDER BY why = ?3 DESC, at DESC, revision_no DESC LIMIT 1";
        Ok(tx
            .prepare_cached(sql)?
            .query_row(params![at.agent_no, path.as_str(), DELETED, LET_GO], |r| r.get(0))
            .optional()?)
    })?;
    let bytes = blocks::unsqueeze(&kept.ok_or_else(nothing)?)?;
    if let Some(folder) = path.parent() {
        at.files.create_dir_all(&folder)?;
    }
    match at.files.write_new(&path, &bytes)? {
        NewFile::Written => {}
        NewFile::Exists => {
            return Err(Error::refused(format!("{} is there", at.shown(&path)))
                .hint(format!("see what was kept of it: ⟨show --revisions {path}⟩")));
        }
    }
    at.write("file.restore", |tx| {
        tx.note("bytes", bytes.len());
        removed(tx, at.agent_no, path.as_str())
    })?;
    scan::scan(at)?;
    Ok(path)
}
