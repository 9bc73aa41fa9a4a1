//! Copies of files, so that a deletion by hand can be undone for a month.
//!
//! The newest state seen of every page, memory, open loop, proposal, artifact and skill draft is stored beside the
//! revisions; that of a page that is rendered again when it is missing, once a person has written in it; a person's own
//! notes are not copied. Once a scan finds the file gone, empty or without readable text, that state becomes a revision,
//! [`restore`] writes it back, and after [`KEPT_MS`] it is removed. A file that a command removes is not kept here:
//! forgetting has to forget.

use rusqlite::{OptionalExtension, params};

use super::file_table::{self, Kind};
use super::revise::{BY_COMMAND, Patience, Revised};
use super::{AssistantHome, LARGEST_FILE, TreeLock, scan};
use crate::clock::Millis;
use crate::error::{Error, Result};
use crate::home::{self, NewFile, RelPath};
use crate::ledger::{Read, Write, blocks};
use crate::pages::{self, PageKey};
use crate::scope::{AgentNo, RevisionNo};

/// Reason (`why`) of the stored state of an existing file.
pub(super) const PRESENT: &str = "the newest state that was seen";

/// Reason (`why`) of the stored state of a file that was deleted by hand.
pub(super) const DELETED: &str = "deleted by hand";

/// Reason (`why`) of the stored state of a file that has no readable text any more.
pub(super) const EMPTIED: &str = "emptied by hand";

/// Reason (`why`) of an empty state: the existing file contains forgotten words that only its owner may remove, so its
/// bytes are not stored.
pub(super) const LET_GO: &str = "it has what was forgotten";

/// Time a deleted file is kept, in milliseconds.
const KEPT_MS: Millis = 30 * 24 * 60 * 60 * 1000;

/// Largest file of which a state is stored, in bytes.
const LARGEST_KEPT: usize = 1 << 20;

/// Most missing states that one scan stores.
const AT_ONCE: i64 = 200;

/// Files of a kind whose states are stored.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Keeps {
    /// Every file of the kind.
    Always,
    /// Files in which a person has written: rendering brings the block back, but not the person's words.
    WrittenIn,
    /// Files that Heirloom wrote.
    Ours,
}

fn keeps(kind: Kind) -> Keeps {
    match kind {
        Kind::Page | Kind::Head | Kind::OpenLoop | Kind::Proposal | Kind::Artifact | Kind::Leaf | Kind::Skill => {
            Keeps::Always
        }
        Kind::Daily | Kind::Rollup | Kind::Index | Kind::Runtime => Keeps::WrittenIn,
        Kind::Note => Keeps::Ours,
    }
}

/// Returns the kinds with this rule as a list in SQL.
fn kinds_of(wanted: Keeps) -> String {
    let kinds = Kind::ALL.iter().filter(|kind| keeps(**kind) == wanted);
    kinds.map(|kind| format!("'{}'", kind.name())).collect::<Vec<_>>().join(", ")
}

/// Stores the state of a file that Heirloom just wrote, and removes the state stored before.
pub(super) fn keep(tx: &Write, agent_no: AgentNo, path: &RelPath, kind: Kind, bytes: &[u8]) -> Result<()> {
    let wanted = match keeps(kind) {
        Keeps::Always | Keeps::Ours => true,
        // Their words are in what was rendered around them, too.
        Keeps::WrittenIn => tx
            .prepare_cached("SELECT 1 FROM file_revisions WHERE agent_no = ?1 AND path = ?2 AND why IN (?3, ?4)")?
            .exists(params![agent_no, path.as_str(), PRESENT, LET_GO])?,
    };
    if wanted { store(tx, agent_no, path, bytes) } else { Ok(()) }
}

fn store(tx: &Write, agent_no: AgentNo, path: &RelPath, bytes: &[u8]) -> Result<()> {
    if bytes.len() > LARGEST_KEPT {
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

/// Stores the states of files that other programs or people wrote, and of files whose rows are older than this feature.
pub(super) fn make_up(at: &AssistantHome) -> Result<()> {
    let lacking: Vec<(String, Vec<u8>)> = at.read(|tx| {
        let mut statement = tx.prepare_cached(&format!(
            "SELECT path, digest FROM catalogue c WHERE agent_no = ?1 AND state != 'gone' AND size <= ?2
               AND (kind IN ({}) OR kind IN ({}) AND published IS NOT digest OR kind IN ({}) AND published IS NOT NULL)
               AND NOT EXISTS (SELECT 1 FROM file_revisions r
                 WHERE r.agent_no = c.agent_no AND r.path = c.path AND r.digest = c.digest) LIMIT ?3",
            kinds_of(Keeps::Always),
            kinds_of(Keeps::WrittenIn),
            kinds_of(Keeps::Ours)
        ))?;
        let rows =
            statement.query_map(params![at.agent_no, LARGEST_KEPT as i64, AT_ONCE], |r| Ok((r.get(0)?, r.get(1)?)))?;
        Ok(rows.collect::<rusqlite::Result<_>>()?)
    })?;
    let mut seen = Vec::new();
    for (path, digest) in lacking {
        let path = RelPath::parse(&path)?;
        // A file that cannot be read is reported by the scan.
        let bytes = at.files.read(&path, LARGEST_FILE).ok().flatten().unwrap_or_default();
        if home::digest(&bytes).as_slice() == digest {
            seen.push((path, bytes));
        }
    }
    if seen.is_empty() {
        return Ok(());
    }
    at.write("file.kept", |tx| {
        tx.note("files", seen.len());
        seen.iter().try_for_each(|(path, bytes)| store(tx, at.agent_no, path, bytes))
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

/// Whether the bytes of a file have nothing to read: they are blank, or no text, as a full disk or a loss of power leaves
/// them.
pub(crate) fn is_blank(bytes: &[u8]) -> bool {
    bytes.contains(&0) || std::str::from_utf8(bytes).map_or(true, |text| text.trim().is_empty())
}

/// Turns the state that a file had, `digest`, into a revision, because its bytes are blank now.
pub(super) fn emptied(tx: &Write, agent_no: AgentNo, path: &RelPath, digest: &[u8]) -> Result<()> {
    tx.prepare_cached(
        "UPDATE file_revisions SET why = ?4, at = ?5, said = NULL
         WHERE agent_no = ?1 AND path = ?2 AND digest = ?3 AND why IN (?4, ?6)",
    )?
    .execute(params![agent_no, path.as_str(), digest, EMPTIED, tx.now(), PRESENT])?;
    remove_old(tx, agent_no)
}

/// Removes the states of files that were deleted or emptied long ago.
fn remove_old(tx: &Write, agent_no: AgentNo) -> Result<()> {
    tx.prepare_cached("DELETE FROM file_revisions WHERE agent_no = ?1 AND why IN (?2, ?3) AND at < ?4")?
        .execute(params![agent_no, DELETED, EMPTIED, tx.now() - KEPT_MS])?;
    Ok(())
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
        "UPDATE file_revisions SET why = ?3, at = ?4, said = NULL WHERE agent_no = ?1 AND path = ?2 AND why != ?5
           AND digest = (SELECT digest FROM catalogue WHERE agent_no = ?1 AND path = ?2)
           AND NOT EXISTS (SELECT 1 FROM catalogue c WHERE c.agent_no = ?1 AND c.path != ?2 AND c.state != 'gone'
                           AND c.digest = file_revisions.digest)",
    )?
    .execute(params![agent_no, path, DELETED, tx.now(), LET_GO])?;
    removed(tx, agent_no, path)?;
    remove_old(tx, agent_no)
}

/// A file that was deleted or emptied by hand and not restored.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Deleted {
    /// Number of its stored state.
    pub no: RevisionNo,
    pub path: String,
    /// Whether its bytes are blank, while the file exists.
    pub emptied: bool,
    /// Whether a page was rendered in its place since.
    pub rendered_again: bool,
}

/// Returns the files deleted or emptied by hand that no person was told of yet, newest first.
pub fn unsaid(tx: &Read, agent_no: AgentNo) -> Result<Vec<Deleted>> {
    let rendered = Kind::ALL.iter().filter(|kind| kind.is_rendered()).map(|kind| format!("'{}'", kind.name()));
    let mut statement = tx.prepare_cached(&format!(
        "SELECT r.revision_no, r.path, r.why = ?3, c.path IS NOT NULL FROM file_revisions r
         LEFT JOIN catalogue c ON c.agent_no = r.agent_no AND c.path = r.path AND c.state != 'gone'
         WHERE r.agent_no = ?1 AND r.why IN (?2, ?3) AND r.said IS NULL
           AND (c.path IS NULL OR (c.kind IN ({}) OR r.why = ?3) AND c.digest != r.digest)
         ORDER BY r.at DESC, r.revision_no DESC",
        rendered.collect::<Vec<_>>().join(", ")
    ))?;
    let rows = statement.query_map(params![agent_no, DELETED, EMPTIED], |r| {
        Ok(Deleted { no: r.get(0)?, path: r.get(1)?, emptied: r.get(2)?, rendered_again: r.get(3)? })
    })?;
    Ok(rows.collect::<rusqlite::Result<_>>()?)
}

/// Records that a person was told of these deletions.
pub(crate) fn said(tx: &mut Write, agent_no: AgentNo, told: &[RevisionNo]) -> Result<()> {
    let now = tx.now();
    for no in told {
        tx.prepare_cached("UPDATE file_revisions SET said = ?3 WHERE agent_no = ?1 AND revision_no = ?2")?
            .execute(params![agent_no, no, now])?;
    }
    tx.note("files", told.len());
    Ok(())
}

/// Whether a state is stored from which a file can be restored.
pub fn has_copy(tx: &Read, agent_no: AgentNo, path: &RelPath) -> Result<bool> {
    let mut statement =
        tx.prepare_cached("SELECT 1 FROM file_revisions WHERE agent_no = ?1 AND path = ?2 AND why != ?3")?;
    Ok(statement.exists(params![agent_no, path.as_str(), LET_GO])?)
}

/// Returns the number of files of the file table of which a state is stored.
pub fn kept_of_present(tx: &Read, agent_no: AgentNo) -> Result<u64> {
    let kept: i64 = tx.query_row(
        "SELECT count(*) FROM catalogue c WHERE agent_no = ?1 AND state != 'gone' AND EXISTS (
           SELECT 1 FROM file_revisions r WHERE r.agent_no = c.agent_no AND r.path = c.path AND r.why != ?2)",
        params![agent_no, LET_GO],
        |r| r.get(0),
    )?;
    Ok(kept as u64)
}

/// Restores a file that was deleted or emptied by hand, by its path or the id of the item it had, with its last readable
/// bytes. A page that was rendered again meanwhile, and bytes without text, are replaced and kept as a revision. Returns its
/// path. `NotFound`: no state is stored. `Refused`: a file with other text exists at that path.
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
    let kept: Option<(Vec<u8>, bool)> = at.read(|tx| {
        let sql = "SELECT data, why IN (?3, ?5) FROM file_revisions WHERE agent_no = ?1 AND path = ?2 AND why != ?4
                   ORDER BY why IN (?3, ?5) DESC, at DESC, revision_no DESC LIMIT 1";
        Ok(tx
            .prepare_cached(sql)?
            .query_row(params![at.agent_no, path.as_str(), DELETED, LET_GO, EMPTIED], |r| Ok((r.get(0)?, r.get(1)?)))
            .optional()?)
    })?;
    let (data, was_lost) = kept.ok_or_else(nothing)?;
    let bytes = blocks::unsqueeze(&data)?;
    if let Some(folder) = path.parent() {
        at.files.create_dir_all(&folder)?;
    }
    match at.files.write_new(&path, &bytes)? {
        NewFile::Written => {}
        NewFile::Exists if was_lost && in_place_of_another(lock, &path, &bytes)? => {}
        NewFile::Exists => {
            return Err(Error::refused(format!("{} is there", at.shown(&path)))
                .hint(format!("see what was kept of it: ⟨show --revisions {path}⟩")));
        }
    }
    at.write("file.restore", |tx| {
        tx.note("bytes", bytes.len());
        removed(tx, at.agent_no, path.as_str())?;
        tx.prepare_cached(
            "UPDATE file_revisions SET why = ?4, said = NULL WHERE agent_no = ?1 AND path = ?2 AND digest = ?3
               AND why IN (?5, ?6)",
        )?
        .execute(params![
            at.agent_no,
            path.as_str(),
            home::digest(&bytes).as_slice(),
            PRESENT,
            DELETED,
            EMPTIED
        ])?;
        // The restored thread page shows the state of the day it was deleted, so it is marked to be rendered again. The scan
        // below marks pages of other kinds.
        match thread_page(&path) {
            Some(page) if pages::is_known(tx, at.agent_no, &page)? => pages::mark_pages(tx, at.agent_no, &[page]),
            _ => Ok(()),
        }
    })?;
    scan::scan(at)?;
    Ok(path)
}

/// Restores a file whose bytes are blank, or a page that was rendered again since it was deleted. Returns false where
/// somebody has written in the file at that path.
fn in_place_of_another(lock: &TreeLock, path: &RelPath, bytes: &[u8]) -> Result<bool> {
    let at = lock.at;
    let Some(there) = at.read(|tx| file_table::at(tx, at.agent_no, path))? else { return Ok(false) };
    let rendered = there.kind.is_rendered() && !there.by_hand();
    let mut replaced = None;
    let revised = lock.revise(path, there.published, Patience::Wait, |current| {
        let current = current.unwrap_or_default();
        let as_rendered = rendered && Some(home::digest(current)) == there.published;
        if !is_blank(current) && !as_rendered {
            return Ok(None);
        }
        replaced = Some(current.to_vec());
        Ok(Some(bytes.to_vec()))
    })?;
    match (revised, replaced) {
        (Revised::Written(_) | Revised::Unchanged(_), Some(replaced)) => {
            if replaced != bytes {
                at.keep_revision(path, &replaced, BY_COMMAND)?;
            }
            Ok(true)
        }
        _ => Ok(false),
    }
}

/// Returns the page of a thread, or the list of threads, whose file is at this path.
fn thread_page(path: &RelPath) -> Option<PageKey> {
    let name = path.as_str().strip_prefix("continuity/threads/")?.strip_suffix(".md")?;
    match name {
        "INDEX" => Some(PageKey::Threads),
        _ => Some(PageKey::Thread(name.to_owned())),
    }
}
