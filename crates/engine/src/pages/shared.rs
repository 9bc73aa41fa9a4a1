//! Pages that several programs may write: their revisions, sections and deferred commits (R7.4).
//!
//! A revision consists of the rendered block and the *sections* that outside programs contributed. It is committed in
//! one transaction that checks epoch and base with [`head_lease`]; the file is updated afterwards, always from the newest
//! revision. So the ledger is never behind a file, and a file that is behind the ledger (`published < revision`) is
//! updated by the next refresh.

use std::collections::BTreeMap;

use rusqlite::{OptionalExtension, params};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::PageKey;
use super::head_lease::{self, HeadState, Lease};
use crate::clock::{Boot, Millis};
use crate::error::{Error, Result};
use crate::home;
use crate::ledger::{Read, Write, blocks};
use crate::scope::AgentNo;

/// Owner name of commits made by rendering. Outside writers cannot use it.
pub const OWNER: &str = "heirloom";

/// Largest number of sections of a head, and largest section in bytes, so that a head stays bounded.
pub const MOST_SECTIONS: usize = 8;
pub const LARGEST_SECTION: usize = 4 << 10;

/// Number of revisions kept of each head.
pub const KEPT_REVISIONS: i64 = 1_000;

/// The contents of a revision.
#[derive(Clone, Default, PartialEq, Eq, Debug)]
pub struct Page {
    /// The rendered block.
    pub rendered: String,
    pub sections: Sections,
}

/// Sections by name.
pub type Sections = BTreeMap<String, Section>;

/// A section that an outside program has put into a head.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, JsonSchema, Deserialize)]
pub struct Section {
    pub owner: String,
    pub content: String,
}

impl Page {
    fn digest(&self, sections: &str) -> home::Digest {
        let mut bytes = (self.rendered.len() as u64).to_le_bytes().to_vec();
        bytes.extend_from_slice(self.rendered.as_bytes());
        bytes.extend_from_slice(sections.as_bytes());
        home::digest(&bytes)
    }
}

/// Returns the lease state of a head; the default state for one that was never written.
pub fn state(tx: &Read, agent_no: AgentNo, head: &PageKey) -> Result<HeadState> {
    let found = tx
        .prepare_cached(
            "SELECT revision, epoch, owner, lease_boot, lease_until FROM heads WHERE agent_no = ?1 AND head = ?2",
        )?
        .query_row(params![agent_no, head], |r| {
            let (owner, boot, until): (Option<String>, Option<String>, Option<Millis>) =
                (r.get(2)?, r.get(3)?, r.get(4)?);
            let lease = owner.zip(boot).zip(until).map(|((owner, boot), until)| Lease { owner, boot, until });
            Ok(HeadState { revision: r.get(0)?, epoch: r.get(1)?, lease })
        })
        .optional()?;
    Ok(found.unwrap_or_default())
}

/// Stores the lease state. The row must exist; [`begin`] makes it.
pub(crate) fn keep(tx: &Write, agent_no: AgentNo, head: &PageKey, state: &HeadState) -> Result<()> {
    let lease = state.lease.as_ref();
    tx.prepare_cached(
        "UPDATE heads SET revision = ?3, epoch = ?4, owner = ?5, lease_boot = ?6, lease_until = ?7
         WHERE agent_no = ?1 AND head = ?2",
    )?
    .execute(params![
        agent_no,
        head,
        state.revision,
        state.epoch,
        lease.map(|l| &l.owner),
        lease.map(|l| &l.boot),
        lease.map(|l| l.until)
    ])?;
    Ok(())
}

/// Makes the row of a head that has none, marked for rendering.
pub(crate) fn begin(tx: &Write, agent_no: AgentNo, head: &PageKey) -> Result<()> {
    tx.prepare_cached("INSERT INTO heads (agent_no, head, dirty) VALUES (?1, ?2, 1) ON CONFLICT DO NOTHING")?
        .execute(params![agent_no, head])?;
    Ok(())
}

/// Returns the newest revision and its contents.
pub fn newest(tx: &Read, agent_no: AgentNo, head: &PageKey) -> Result<(HeadState, Page)> {
    let state = state(tx, agent_no, head)?;
    let rendered = rendered_of(tx, agent_no, head, state.revision)?.unwrap_or_default();
    let page = Page { rendered, sections: sections(tx, agent_no, head)? };
    Ok((state, page))
}

/// Returns the current sections.
pub fn sections(tx: &Read, agent_no: AgentNo, head: &PageKey) -> Result<Sections> {
    let mut statement =
        tx.prepare_cached("SELECT section, owner, content FROM head_sections WHERE agent_no = ?1 AND head = ?2")?;
    let rows = statement
        .query_map(params![agent_no, head], |r| Ok((r.get(0)?, Section { owner: r.get(1)?, content: r.get(2)? })))?;
    Ok(rows.collect::<rusqlite::Result<_>>()?)
}

/// Returns the rendered block of a revision. `None` if there is no such revision, or a forget deleted its text.
pub(crate) fn rendered_of(tx: &Read, agent_no: AgentNo, head: &PageKey, revision: i64) -> Result<Option<String>> {
    let data: Option<Vec<u8>> = tx
        .prepare_cached("SELECT content FROM head_revisions WHERE agent_no = ?1 AND head = ?2 AND revision = ?3")?
        .query_row(params![agent_no, head, revision], |r| r.get(0))
        .optional()?;
    let Some(data) = data.filter(|d| !d.is_empty()) else { return Ok(None) };
    Ok(Some(String::from_utf8_lossy(&blocks::unsqueeze(&data)?).into_owned()))
}

/// Returns the sections of a revision; `None` if it is not kept. Revision 0 is the empty head.
pub(crate) fn sections_of(tx: &Read, agent_no: AgentNo, head: &PageKey, revision: i64) -> Result<Option<Sections>> {
    if revision == 0 {
        return Ok(Some(Sections::new()));
    }
    let text: Option<String> = tx
        .prepare_cached("SELECT sections FROM head_revisions WHERE agent_no = ?1 AND head = ?2 AND revision = ?3")?
        .query_row(params![agent_no, head, revision], |r| r.get(0))
        .optional()?;
    text.map(|text| {
        serde_json::from_str(&text)
            .map_err(|e| Error::damaged(format!("revision {revision} of {head} cannot be read")).because(e))
    })
    .transpose()
}

/// Whether the contents of a revision are still those that were committed.
pub(crate) fn is_as_committed(
    tx: &Read,
    agent_no: AgentNo,
    head: &PageKey,
    revision: i64,
    digest: &[u8],
) -> Result<bool> {
    let sections: String = tx
        .prepare_cached("SELECT sections FROM head_revisions WHERE agent_no = ?1 AND head = ?2 AND revision = ?3")?
        .query_row(params![agent_no, head, revision], |r| r.get(0))?;
    // A block that cannot be unpacked counts as a mismatch, so that the other revisions are still checked.
    let Ok(Some(rendered)) = rendered_of(tx, agent_no, head, revision) else { return Ok(false) };
    Ok(Page { rendered, ..Page::default() }.digest(&sections).as_slice() == digest)
}

/// Stores a revision just committed by `owner`, and deletes the oldest ones past the limit.
pub(crate) fn insert(
    tx: &Write,
    agent_no: AgentNo,
    head: &PageKey,
    (state, page): (&HeadState, &Page),
    owner: &str,
) -> Result<()> {
    let sections = serde_json::to_string(&page.sections)
        .map_err(|e| Error::damaged("the sections of a head cannot be kept").because(e))?;
    tx.prepare_cached(
        "INSERT INTO head_revisions (agent_no, head, revision, epoch, owner, at, digest, content, sections)
         VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9)",
    )?
    .execute(params![
        agent_no,
        head,
        state.revision,
        state.epoch,
        owner,
        tx.now(),
        page.digest(&sections).as_slice(),
        blocks::squeeze(page.rendered.as_bytes())?,
        sections
    ])?;
    tx.prepare_cached("DELETE FROM head_revisions WHERE agent_no = ?1 AND head = ?2 AND revision <= ?3")?
        .execute(params![agent_no, head, state.revision - KEPT_REVISIONS])?;
    Ok(())
}

/// Adds, replaces or (with `None`) removes a section, in the table and in `page`.
pub(crate) fn put_section(
    tx: &Write,
    agent_no: AgentNo,
    head: &PageKey,
    page: &mut Page,
    (name, owner, content): (&str, &str, Option<&str>),
) -> Result<()> {
    match content {
        Some(content) => {
            tx.prepare_cached(
                "INSERT INTO head_sections (agent_no, head, section, owner, content, at) VALUES (?1, ?2, ?3, ?4, ?5, ?6)
                 ON CONFLICT (agent_no, head, section) DO UPDATE SET
                   owner = excluded.owner, content = excluded.content, at = excluded.at",
            )?
            .execute(params![agent_no, head, name, owner, content, tx.now()])?;
            page.sections.insert(name.to_owned(), Section { owner: owner.to_owned(), content: content.to_owned() });
        }
        None => {
            tx.prepare_cached("DELETE FROM head_sections WHERE agent_no = ?1 AND head = ?2 AND section = ?3")?
                .execute(params![agent_no, head, name])?;
            page.sections.remove(name);
        }
    }
    Ok(())
}

/// Checks whether a section can be stored; the error says whether it belongs to another owner or the head is full.
pub(crate) fn has_room(sections: &Sections, name: &str, owner: &str, content: Option<&str>) -> Result<(), NoRoom> {
    match sections.get(name) {
        Some(there) if there.owner != owner => Err(NoRoom::Owned(there.owner.clone())),
        None if content.is_some() && sections.len() >= MOST_SECTIONS => Err(NoRoom::Full),
        _ => Ok(()),
    }
}

pub(crate) enum NoRoom {
    Owned(String),
    Full,
}

/// Applies the deferred commits of a head that is free: each becomes a revision of its own, in its owner's name. A
/// commit for which there is no room stays deferred. Returns how many were applied.
pub(crate) fn land(
    tx: &mut Write,
    agent_no: AgentNo,
    head: &PageKey,
    (state, page): (&mut HeadState, &mut Page),
    now: &Boot,
) -> Result<u64> {
    if head_lease::live(state, now).is_some() {
        return Ok(0);
    }
    let waiting: Vec<(String, String, Option<String>)> = {
        let mut statement = tx.prepare_cached(
            "SELECT section, owner, content FROM head_deferred WHERE agent_no = ?1 AND head = ?2
             ORDER BY at, section, owner",
        )?;
        let rows = statement.query_map(params![agent_no, head], |r| Ok((r.get(0)?, r.get(1)?, r.get(2)?)))?;
        rows.collect::<rusqlite::Result<_>>()?
    };
    let mut landed = 0;
    for (section, owner, content) in waiting {
        if has_room(&page.sections, &section, &owner, content.as_deref()).is_err() {
            continue;
        }
        drop_deferred(tx, agent_no, head, &section, &owner)?;
        if page.sections.get(&section).map(|s| &s.content) == content.as_ref() {
            continue;
        }
        // The head is free and the grant is based on the newest revision, so neither call is refused.
        let Ok(grant) = head_lease::acquire(state, &owner, now, head_lease::TTL) else { break };
        if head_lease::commit(state, grant.epoch, grant.base_revision, &owner, now).is_err() {
            break;
        }
        head_lease::release(state, grant.epoch, &owner);
        put_section(tx, agent_no, head, page, (&section, &owner, content.as_deref()))?;
        insert(tx, agent_no, head, (state, page), &owner)?;
        landed += 1;
    }
    if landed > 0 {
        keep(tx, agent_no, head, state)?;
        tx.note("landed", landed);
    }
    Ok(landed)
}

/// Largest number of deferred commits kept for a head.
const MOST_DEFERRED: i64 = 32;

/// Keeps a commit until the head is free: the newest of each owner and section. Returns `false` if the limit is
/// reached.
pub(crate) fn defer(
    tx: &Write,
    agent_no: AgentNo,
    head: &PageKey,
    (section, owner, content): (&str, &str, Option<&str>),
) -> Result<bool> {
    let (others, known): (i64, bool) = tx
        .prepare_cached(
            "SELECT count(*), coalesce(max(section = ?3 AND owner = ?4), 0) FROM head_deferred WHERE agent_no = ?1 AND head = ?2",
        )?
        .query_row(params![agent_no, head, section, owner], |r| Ok((r.get(0)?, r.get(1)?)))?;
    if others >= MOST_DEFERRED && !known {
        return Ok(false);
    }
    tx.prepare_cached(
        "INSERT INTO head_deferred (agent_no, head, section, owner, content, at) VALUES (?1, ?2, ?3, ?4, ?5, ?6)
         ON CONFLICT (agent_no, head, section, owner) DO UPDATE SET content = excluded.content, at = excluded.at",
    )?
    .execute(params![agent_no, head, section, owner, content, tx.now()])?;
    Ok(true)
}

/// Returns section and owner of the deferred commits, oldest first.
pub(crate) fn deferred(tx: &Read, agent_no: AgentNo, head: &PageKey) -> Result<Vec<(String, String)>> {
    let mut statement = tx.prepare_cached(
        "SELECT section, owner FROM head_deferred WHERE agent_no = ?1 AND head = ?2 ORDER BY at, section, owner",
    )?;
    let rows = statement.query_map(params![agent_no, head], |r| Ok((r.get(0)?, r.get(1)?)))?;
    Ok(rows.collect::<rusqlite::Result<_>>()?)
}

/// Removes a deferred commit that a later commit of the same owner has replaced.
pub(crate) fn drop_deferred(tx: &Write, agent_no: AgentNo, head: &PageKey, section: &str, owner: &str) -> Result<()> {
    tx.prepare_cached("DELETE FROM head_deferred WHERE agent_no = ?1 AND head = ?2 AND section = ?3 AND owner = ?4")?
        .execute(params![agent_no, head, section, owner])?;
    Ok(())
}

/// Whether there is a deferred commit for which the head has room.
pub(crate) fn could_land(tx: &Read, agent_no: AgentNo, head: &PageKey) -> Result<bool> {
    let mut statement =
        tx.prepare_cached("SELECT section, owner, content FROM head_deferred WHERE agent_no = ?1 AND head = ?2")?;
    let mut rows = statement.query(params![agent_no, head])?;
    let mut now = None;
    while let Some(r) = rows.next()? {
        let (section, owner, content): (String, String, Option<String>) = (r.get(0)?, r.get(1)?, r.get(2)?);
        let sections = match &now {
            Some(sections) => sections,
            None => now.insert(sections(tx, agent_no, head)?),
        };
        if has_room(sections, &section, &owner, content.as_deref()).is_ok() {
            return Ok(true);
        }
    }
    Ok(false)
}
