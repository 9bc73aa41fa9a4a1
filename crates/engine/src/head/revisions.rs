//! The revisions of a head: listed, read, compared, and their sections brought back (R7.4). Storey 3.
//!
//! Nobody needs a lease to read. What can be brought back is what others wrote, the sections; the rendered block follows
//! from what is known now and is rendered anew.

use rusqlite::{OptionalExtension, params};
use similar::{ChangeTag, TextDiff};

use super::lease::{self, HeadState};
use super::outside::{Busy, holder};
use super::shared::{self, OWNER, Page, Sections};
use super::{Head, Occasion};
use crate::clock::Millis;
use crate::error::{Error, ErrorKind, Result};
use crate::home::Digest;
use crate::ledger::Read;
use crate::scope::AgentNo;
use crate::thread;
use crate::tree::AssistantHome;

/// One revision, as listed.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Entry {
    pub revision: i64,
    pub epoch: i64,
    /// Who committed it; `heirloom`: it was rendered.
    pub owner: String,
    pub at: Millis,
    pub digest: Digest,
    /// The names of its sections.
    pub sections: Vec<String>,
    /// A forget took the rendered words away.
    pub forgotten: bool,
}

/// The newest revisions of a head, newest first, and how many are kept in all.
pub fn log(at: &AssistantHome, head: &Head, limit: usize) -> Result<(Vec<Entry>, u64)> {
    at.read(|tx| {
        let all: i64 = tx
            .prepare_cached("SELECT count(*) FROM head_revisions WHERE agent_no = ?1 AND head = ?2")?
            .query_row(params![at.agent_no, head.name()], |r| r.get(0))?;
        let mut statement = tx.prepare_cached(
            "SELECT revision, epoch, owner, at, digest, sections, length(content) = 0 FROM head_revisions
             WHERE agent_no = ?1 AND head = ?2 ORDER BY revision DESC LIMIT ?3",
        )?;
        let rows = statement.query_map(params![at.agent_no, head.name(), limit as i64], |r| {
            let sections: Sections = serde_json::from_str(&r.get::<_, String>(5)?).unwrap_or_default();
            Ok(Entry {
                revision: r.get(0)?,
                epoch: r.get(1)?,
                owner: r.get(2)?,
                at: r.get(3)?,
                digest: r.get::<_, Vec<u8>>(4)?.try_into().unwrap_or_default(),
                sections: sections.into_keys().collect(),
                forgotten: r.get(6)?,
            })
        })?;
        Ok((rows.collect::<rusqlite::Result<_>>()?, all as u64))
    })
}

/// What a revision said. `NotFound`: there was none of this number, or it is too long ago. Of one whose rendered words a
/// forget took away only the sections are left.
pub fn revision(at: &AssistantHome, head: &Head, revision: i64) -> Result<Page> {
    at.read(|tx| {
        let sections = match revision {
            1.. => shared::sections_of(tx, at.agent_no, head, revision)?,
            _ => None,
        };
        let Some(sections) = sections else {
            let newest = shared::state(tx, at.agent_no, head)?.revision;
            return Err(Error::not_found(format!("there is no revision {revision} of {}", head.name())).hint(format!(
                "the newest is {newest}, and the newest {} are kept: heirloom head log",
                shared::KEPT_REVISIONS
            )));
        };
        let rendered = shared::rendered_of(tx, at.agent_no, head, revision)?.unwrap_or_default();
        Ok(Page { rendered, sections })
    })
}

/// What is wrong with the kept revisions, of every agent: words that are not those that were committed, a number left
/// out, a newest one that is not what the head says. One whose words a forget took away has no digest any more.
pub fn unsound(tx: &Read) -> Result<Vec<String>> {
    let mut statement = tx.prepare(
        "SELECT r.agent_no, r.head, r.revision, r.digest, length(r.content) = 0, h.revision,
                lag(r.revision) OVER (PARTITION BY r.agent_no, r.head ORDER BY r.revision)
         FROM head_revisions r LEFT JOIN heads h USING (agent_no, head) ORDER BY r.agent_no, r.head, r.revision",
    )?;
    let mut rows = statement.query([])?;
    let mut out = Vec::new();
    while let Some(r) = rows.next()? {
        let (agent_no, name, no): (AgentNo, String, i64) = (r.get(0)?, r.get(1)?, r.get(2)?);
        let (digest, forgotten): (Vec<u8>, bool) = (r.get(3)?, r.get(4)?);
        let (newest, before): (Option<i64>, Option<i64>) = (r.get(5)?, r.get(6)?);
        let subject = format!("revision {no} of {name}");
        let Some(head) = Head::parse(&name) else {
            out.push(format!("{subject} belongs to no page"));
            continue;
        };
        if before.is_some_and(|before| before + 1 != no) {
            out.push(format!("{subject} does not follow the revision before it"));
        }
        if !forgotten && !shared::is_as_committed(tx, agent_no, &head, no, &digest)? {
            out.push(format!("{subject} is not what was committed"));
        }
        if newest.is_none_or(|newest| newest < no) {
            out.push(format!("{subject} is newer than the head"));
        }
        if newest == Some(no)
            && shared::sections_of(tx, agent_no, &head, no).ok().flatten()
                != Some(shared::sections(tx, agent_no, &head)?)
        {
            out.push(format!("{subject} has other sections than the head"));
        }
    }
    Ok(out)
}

/// What a line is in a comparison.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Line {
    Same,
    Added,
    Removed,
}

/// The lines of two texts, those around the differences and the differences.
pub fn diff(a: &str, b: &str) -> Vec<(Line, String)> {
    let diff = TextDiff::from_lines(a, b);
    let mut out = Vec::new();
    for group in diff.grouped_ops(3) {
        for change in group.iter().flat_map(|op| diff.iter_changes(op)) {
            let kind = match change.tag() {
                ChangeTag::Equal => Line::Same,
                ChangeTag::Insert => Line::Added,
                ChangeTag::Delete => Line::Removed,
            };
            out.push((kind, change.value().trim_end_matches('\n').to_owned()));
        }
    }
    out
}

/// Brings the sections of a revision back, as a new revision. Returns its number: of no change the newest there is.
/// `Busy` while somebody is at work on the head.
pub fn restore(at: &AssistantHome, head: &Head, revision: i64) -> Result<i64> {
    let then = self::revision(at, head, revision)?.sections;
    let now_stands = at.write("head.restore", |tx| {
        let (mut state, mut page) = shared::newest(tx, at.agent_no, head)?;
        let now = at.ledger.clock().boot();
        let grant = lease::acquire(&mut state, OWNER, &now, lease::TTL).map_err(|held| {
            Error::new(ErrorKind::Busy, format!("{} is at work on {}", held.by, head.name()))
                .hint(format!("try again in {} s", (held.until - now.ms + 999) / 1000))
        })?;
        tx.note("head", head.name());
        tx.note("from", revision);
        if page.sections == then {
            return Ok(grant.base_revision);
        }
        let gone: Vec<String> = page.sections.keys().filter(|name| !then.contains_key(*name)).cloned().collect();
        for name in gone {
            shared::put_section(tx, at.agent_no, head, &mut page, (&name, OWNER, None))?;
        }
        for (name, section) in &then {
            let put = (name.as_str(), section.owner.as_str(), Some(section.content.as_str()));
            shared::put_section(tx, at.agent_no, head, &mut page, put)?;
        }
        let committed = lease::commit(&mut state, grant.epoch, grant.base_revision, OWNER, &now)
            .map_err(|refused| Error::new(ErrorKind::Busy, format!("{}: {refused}", head.name())))?;
        lease::release(&mut state, grant.epoch, OWNER);
        shared::insert(tx, at.agent_no, head, (&state, &page), OWNER)?;
        shared::keep(tx, at.agent_no, head, &state)?;
        tx.note("revision", committed);
        Ok(committed)
    })?;
    super::refresh(at, Occasion::Act)?;
    Ok(now_stands)
}

/// A head, as listed.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Overview {
    pub head: Head,
    /// What people call it: `memory`, or a thread's key.
    pub name: String,
    /// Of a thread.
    pub label: Option<String>,
    pub state: HeadState,
    /// The revision that stands in the file.
    pub published: i64,
    /// Who holds it now.
    pub holder: Option<Busy>,
    pub sections: Sections,
    /// Section and owner of commits that wait for it to be free.
    pub deferred: Vec<(String, String)>,
}

/// The heads others may write: those of the agent, and of every thread.
pub fn list(at: &AssistantHome) -> Result<Vec<Overview>> {
    at.read(|tx| {
        let threads = thread::list(tx, at.agent_no)?;
        let own = [Head::Memory, Head::Active, Head::Threads].map(|head| (head.name(), None, head));
        let of_threads = threads.into_iter().map(|t| (t.key, Some(t.label), Head::Thread(t.file)));
        own.into_iter().chain(of_threads).map(|(name, label, head)| overview(at, tx, name, label, head)).collect()
    })
}

/// One of them.
pub fn look(at: &AssistantHome, head: &Head) -> Result<Overview> {
    at.read(|tx| {
        let (name, label) = match head {
            Head::Thread(file) => match thread::of_file(tx, at.agent_no, file)? {
                Some(row) => (row.key, Some(row.label)),
                None => (head.name(), None),
            },
            _ => (head.name(), None),
        };
        overview(at, tx, name, label, head.clone())
    })
}

fn overview(at: &AssistantHome, tx: &Read, name: String, label: Option<String>, head: Head) -> Result<Overview> {
    let state = shared::state(tx, at.agent_no, &head)?;
    let published = tx
        .prepare_cached("SELECT published FROM heads WHERE agent_no = ?1 AND head = ?2")?
        .query_row(params![at.agent_no, head.name()], |r| r.get(0))
        .optional()?;
    let mut statement = tx.prepare_cached(
        "SELECT section, owner FROM head_deferred WHERE agent_no = ?1 AND head = ?2 ORDER BY at, section, owner",
    )?;
    let deferred = statement.query_map(params![at.agent_no, head.name()], |r| Ok((r.get(0)?, r.get(1)?)))?;
    Ok(Overview {
        name,
        label,
        published: published.unwrap_or(0),
        holder: holder(at, &state),
        sections: shared::sections(tx, at.agent_no, &head)?,
        deferred: deferred.collect::<rusqlite::Result<_>>()?,
        state,
        head,
    })
}
