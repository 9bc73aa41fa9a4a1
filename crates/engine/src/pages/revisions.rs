//! The kept revisions of shared pages: listing, reading and checking them (R7.4).

use rusqlite::params;

use super::PageKey;
use super::shared::{self, Page, Sections};
use crate::clock::Millis;
use crate::error::{Error, Result};
use crate::home::Digest;
use crate::ledger::{Read, Write};
use crate::scope::AgentNo;

/// One revision in a list.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Entry {
    pub revision: i64,
    pub epoch: i64,
    /// Owner who committed it; `heirloom` if the page was rendered.
    pub owner: String,
    pub at: Millis,
    pub digest: Digest,
    /// The names of its sections.
    pub sections: Vec<String>,
    /// Whether a forget deleted its rendered text.
    pub forgotten: bool,
}

/// Returns the newest revisions of a head, newest first, and the number kept in all.
pub fn log(tx: &Read, agent_no: AgentNo, head: &PageKey, limit: usize) -> Result<(Vec<Entry>, u64)> {
    let all: i64 = tx
        .prepare_cached("SELECT count(*) FROM head_revisions WHERE agent_no = ?1 AND head = ?2")?
        .query_row(params![agent_no, head], |r| r.get(0))?;
    let mut statement = tx.prepare_cached(
        "SELECT revision, epoch, owner, at, digest, sections, length(content) = 0 FROM head_revisions
             WHERE agent_no = ?1 AND head = ?2 ORDER BY revision DESC LIMIT ?3",
    )?;
    let rows = statement.query_map(params![agent_no, head, limit as i64], |r| {
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
}

/// Returns the page as of a revision. `NotFound` if there was no revision of this number or it is no longer kept. If a
/// forget deleted the rendered text, only the sections are returned.
pub fn revision(tx: &Read, agent_no: AgentNo, head: &PageKey, revision: i64) -> Result<Page> {
    let sections = match revision {
        1.. => shared::sections_of(tx, agent_no, head, revision)?,
        _ => None,
    };
    let Some(sections) = sections else {
        let newest = shared::state(tx, agent_no, head)?.revision;
        return Err(Error::not_found(format!("there is no revision {revision} of {}", head))
            .hint(format!("the newest is {newest}, and the newest {} are kept: ⟨head log⟩", shared::KEPT_REVISIONS)));
    };
    let rendered = shared::rendered_of(tx, agent_no, head, revision)?.unwrap_or_default();
    Ok(Page { rendered, sections })
}

/// Reports faults in the kept revisions of every agent: text that is not what was committed, a missing number, a newest
/// revision that differs from the head's. A revision whose text a forget deleted has no digest and is not compared.
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
        let Some(head) = PageKey::parse(&name) else {
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
    // The newest revisions are kept up to a fixed number, so it is known which ones must be there.
    let mut statement = tx.prepare(
        "SELECT h.agent_no, h.head, h.revision, count(r.revision), coalesce(min(r.revision), 0), coalesce(max(r.revision), 0)
         FROM heads h LEFT JOIN head_revisions r USING (agent_no, head) WHERE h.revision > 0 GROUP BY h.agent_no, h.head",
    )?;
    let mut rows = statement.query([])?;
    while let Some(r) = rows.next()? {
        let (name, newest): (String, i64) = (r.get(1)?, r.get(2)?);
        let (kept, first, last): (i64, i64, i64) = (r.get(3)?, r.get(4)?, r.get(5)?);
        if last != newest {
            out.push(format!("{name} has revision {newest}, and the newest that is kept is {last}"));
        } else if first > (newest - shared::KEPT_REVISIONS + 1).max(1) {
            out.push(format!("the revisions of {name} before {first} are gone ({kept} are kept)"));
        }
    }
    Ok(out)
}

/// Deletes the rendered text of every kept revision of this agent's pages, in the transaction of a forget. The
/// revisions themselves and the sections of other writers stay.
pub(crate) fn forget_rendered(tx: &Write, agent_no: AgentNo) -> Result<()> {
    // The digest is deleted too, because with it a guess of the text could be confirmed.
    tx.prepare_cached(
        "UPDATE head_revisions SET content = zeroblob(0), digest = zeroblob(32) WHERE agent_no = ?1 AND length(content) > 0",
    )?
    .execute([agent_no])?;
    Ok(())
}
