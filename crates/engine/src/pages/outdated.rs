//! Records which pages are out of date: how often each was marked, and the mark for which it was last rendered and
//! published (R7.5).

use std::collections::BTreeSet;

use jiff::civil::Date;
use rusqlite::{OptionalExtension, params};

use super::cadence::{self, Happened};
use super::{Cursor, PageKey};
use crate::clock::Millis;
use crate::error::Result;
use crate::ledger::{Read, Write, blocks};
use crate::scope::AgentNo;

/// Marks the pages that show an event as out of date, in the transaction of that event (R7.5).
pub fn mark(tx: &Write, agent_no: AgentNo, what: &Happened) -> Result<()> {
    mark_each(tx, agent_no, std::slice::from_ref(what))
}

/// Does the same as [`mark`] for several events of one transaction: a page that shows several of them is marked once.
pub fn mark_each(tx: &Write, agent_no: AgentNo, what: &[Happened]) -> Result<()> {
    for event in what {
        match cadence::rendered(event) {
            cadence::Rendered::None => {}
            cadence::Rendered::These(pages) => mark_known(tx, agent_no, |page| pages.contains(page))?,
            cadence::Rendered::OfDays => {
                mark_known(tx, agent_no, PageKey::is_of_days)?;
                // Turns and nodes may belong to other days now.
                Cursor::Days.start_over(tx, agent_no)?;
                Cursor::Nodes.start_over(tx, agent_no)?;
            }
            cadence::Rendered::All => mark_known(tx, agent_no, |_| true)?,
        }
    }
    let pages: BTreeSet<PageKey> = what.iter().flat_map(cadence::pages).collect();
    mark_pages(tx, agent_no, &pages)
}

/// Marks these pages. [`mark`] passes the pages of an event; finishing an act passes those of its stored plan.
pub(crate) fn mark_pages<'p>(
    tx: &Write,
    agent_no: AgentNo,
    pages: impl IntoIterator<Item = &'p PageKey>,
) -> Result<()> {
    let mut statement = tx.prepare_cached(
        "INSERT INTO heads (agent_no, head, dirty) VALUES (?1, ?2, 1)
         ON CONFLICT (agent_no, head) DO UPDATE SET dirty = dirty + 1",
    )?;
    for page in pages {
        statement.execute(params![agent_no, page])?;
    }
    Ok(())
}

/// Marks the pages that have a row and satisfy `meant`.
fn mark_known(tx: &Write, agent_no: AgentNo, meant: impl Fn(&PageKey) -> bool) -> Result<()> {
    let mut known = known(tx, agent_no)?;
    known.retain(|page| meant(page));
    mark_pages(tx, agent_no, &known)
}

/// Returns every page that has a row.
fn known(tx: &Read, agent_no: AgentNo) -> Result<Vec<PageKey>> {
    let mut statement = tx.prepare_cached("SELECT head FROM heads WHERE agent_no = ?1")?;
    let rows = statement.query_map([agent_no], |r| r.get::<_, String>(0))?;
    let names: Vec<String> = rows.collect::<rusqlite::Result<_>>()?;
    Ok(names.iter().filter_map(|name| PageKey::parse(name)).collect())
}

/// Returns the days whose note was ever marked.
pub(crate) fn known_days(tx: &Read, agent_no: AgentNo) -> Result<Vec<Date>> {
    let days = known(tx, agent_no)?.into_iter().filter_map(|page| match page {
        PageKey::Daily(day) => Some(day),
        _ => None,
    });
    Ok(days.collect())
}

/// Whether a page has a row.
pub(crate) fn is_known(tx: &Read, agent_no: AgentNo, page: &PageKey) -> Result<bool> {
    let mut statement = tx.prepare_cached("SELECT 1 FROM heads WHERE agent_no = ?1 AND head = ?2")?;
    Ok(statement.exists(params![agent_no, page])?)
}

/// Returns the page of a session, given its project and the name of its file without the extension. `None` if it was
/// never marked.
pub(crate) fn known_session(tx: &Read, agent_no: AgentNo, workspace: &str, file: &str) -> Result<Option<PageKey>> {
    let name: Option<String> = tx
        .prepare_cached(
            "SELECT head FROM heads WHERE agent_no = ?1 AND head > 'session/' || ?2 || '/' AND head < 'session/' || ?2 || '0'
               AND substr(head, -length(?3) - 1) = '/' || ?3 LIMIT 1",
        )?
        .query_row(params![agent_no, workspace, file], |r| r.get(0))
        .optional()?;
    Ok(name.as_deref().and_then(PageKey::parse))
}

/// A page that may have to be rendered or published, and why.
#[derive(Clone, Debug)]
pub(crate) struct Candidate {
    pub page: PageKey,
    /// Number of times it was marked.
    pub mark: i64,
    /// Whether it was marked since it was rendered.
    pub marked: bool,
    /// Time at which it was last rendered.
    pub rendered_at: Option<Millis>,
    /// Whether its newest revision is not in its file yet.
    pub behind: bool,
    /// Whether deferred commits wait for it.
    pub waiting: bool,
}

/// Returns the pages that may need work, in the order of their keys. Pages that depend on the current day are always
/// included.
pub(crate) fn candidates(tx: &Read, agent_no: AgentNo) -> Result<Vec<Candidate>> {
    let mut statement = tx.prepare_cached(
        // One indexed query per reason, because every command runs this and there is a page for every thread and every
        // day.
        "WITH which (head) AS (
           SELECT head FROM heads INDEXED BY heads_dirty WHERE agent_no = ?1 AND dirty > rendered
           UNION SELECT head FROM heads INDEXED BY heads_behind WHERE agent_no = ?1 AND revision > published
           UNION SELECT head FROM head_deferred WHERE agent_no = ?1
           UNION VALUES (?2), (?3))
         SELECT h.head, dirty, dirty > rendered, at, revision > published,
                EXISTS (SELECT 1 FROM head_deferred d WHERE d.agent_no = ?1 AND d.head = h.head)
         FROM which CROSS JOIN heads h ON h.agent_no = ?1 AND h.head = which.head
         ORDER BY h.head",
    )?;
    let mut rows = statement.query(params![agent_no, PageKey::Active, PageKey::Memory])?;
    let mut out = Vec::new();
    while let Some(r) = rows.next()? {
        let Some(page) = PageKey::parse(&r.get::<_, String>(0)?) else { continue };
        out.push(Candidate {
            page,
            mark: r.get(1)?,
            marked: r.get(2)?,
            rendered_at: r.get(3)?,
            behind: r.get(4)?,
            waiting: r.get(5)?,
        });
    }
    Ok(out)
}

/// A page that has been published, for [`record`].
pub(crate) struct Rendered<'r> {
    pub page: &'r PageKey,
    /// The mark it was rendered for; `None` if its content was rendered before.
    pub mark: Option<i64>,
    /// Its rendered block.
    pub content: &'r str,
    /// The revision in the file; 0 for a page without revisions.
    pub revision: i64,
}

/// Records that a page was published. The day of a page is the day it was rendered, so publishing alone does not change
/// it.
pub(crate) fn record(tx: &Write, agent_no: AgentNo, done: &Rendered) -> Result<()> {
    tx.prepare_cached(
        "UPDATE heads SET rendered = max(rendered, coalesce(?3, 0)), at = iif(?3 IS NULL, at, ?4), content = ?5,
                published = max(published, ?6)
         WHERE agent_no = ?1 AND head = ?2",
    )?
    .execute(params![
        agent_no,
        done.page,
        done.mark,
        tx.now(),
        blocks::squeeze(done.content.as_bytes())?,
        done.revision
    ])?;
    Ok(())
}

/// Clears a mark without rendering the page.
pub(crate) fn pass_over(tx: &Write, agent_no: AgentNo, page: &PageKey, mark: Option<i64>) -> Result<()> {
    tx.prepare_cached("UPDATE heads SET rendered = max(rendered, ?3) WHERE agent_no = ?1 AND head = ?2")?
        .execute(params![agent_no, page, mark.unwrap_or(0)])?;
    Ok(())
}

/// Returns the block as last rendered.
pub(crate) fn last_content(tx: &Read, agent_no: AgentNo, page: &PageKey) -> Result<Option<Vec<u8>>> {
    let data: Option<Vec<u8>> = tx
        .prepare_cached("SELECT content FROM heads WHERE agent_no = ?1 AND head = ?2")?
        .query_row(params![agent_no, page], |r| r.get(0))
        .optional()?
        .flatten();
    data.map(|d| blocks::unsqueeze(&d)).transpose()
}

/// Returns the revision in the file; 0 if there is none.
pub(crate) fn published(tx: &Read, agent_no: AgentNo, page: &PageKey) -> Result<i64> {
    Ok(tx
        .prepare_cached("SELECT published FROM heads WHERE agent_no = ?1 AND head = ?2")?
        .query_row(params![agent_no, page], |r| r.get(0))
        .optional()?
        .unwrap_or(0))
}

/// Whether the newest revision is not in the file yet.
pub(crate) fn is_behind(tx: &Read, agent_no: AgentNo, page: &PageKey) -> Result<bool> {
    Ok(tx
        .prepare_cached("SELECT 1 FROM heads WHERE agent_no = ?1 AND head = ?2 AND revision > published")?
        .exists(params![agent_no, page])?)
}

/// Deletes the stored block of every page, because it is no longer what the files contain.
pub(crate) fn forget_contents(tx: &Write, agent_no: AgentNo) -> Result<()> {
    tx.prepare_cached("UPDATE heads SET content = NULL WHERE agent_no = ?1")?.execute([agent_no])?;
    Ok(())
}

/// Revokes the leases of all pages, so that pending commits are refused, because forgetting does not wait for writers.
pub(crate) fn fence_all(tx: &Write, agent_no: AgentNo) -> Result<()> {
    let mut statement = tx.prepare_cached(
        "UPDATE heads SET epoch = epoch + 1, owner = NULL, lease_boot = NULL, lease_until = NULL
         WHERE agent_no = ?1 AND head = ?2",
    )?;
    for page in known(tx, agent_no)? {
        statement.execute(params![agent_no, page])?;
    }
    Ok(())
}
