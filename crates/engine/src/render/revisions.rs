//! The revisions of a page: listing, reading, comparing, and restoring their sections (R7.4).
//!
//! Reading needs no lease. Only the sections, which programs wrote, can be restored; the rendered block follows from
//! the current state and is rendered again.

use similar::{ChangeTag, TextDiff};

use super::Occasion;
use super::head_commits::{Busy, holder};
use crate::error::{Error, ErrorKind, Result};
use crate::ledger::Read;
use crate::pages::head_lease::{self, HeadState};
use crate::pages::revisions::{self, Entry};
use crate::pages::shared::{self, OWNER, Page, Sections};
use crate::pages::{self, PageKey};
use crate::thread;
use crate::tree::AssistantHome;

/// Does the same as [`revisions::log`] for a page of this agent.
pub fn log(at: &AssistantHome, head: &PageKey, limit: usize) -> Result<(Vec<Entry>, u64)> {
    at.read(|tx| revisions::log(tx, at.agent_no, head, limit))
}

/// Does the same as [`revisions::revision`] for a page of this agent.
pub fn revision(at: &AssistantHome, head: &PageKey, revision: i64) -> Result<Page> {
    at.read(|tx| revisions::revision(tx, at.agent_no, head, revision))
}

/// The role of a line in a comparison.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Line {
    Same,
    Added,
    Removed,
}

/// Compares two texts by lines: returns the differing lines and the lines around them.
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

/// Restores the sections of a revision as a new revision. Returns its number, or the newest number if nothing changed.
/// `Busy` while another owner holds the head.
pub fn restore(at: &AssistantHome, head: &PageKey, revision: i64) -> Result<i64> {
    let then = self::revision(at, head, revision)?.sections;
    let now_stands = at.write("head.restore", |tx| {
        let (mut state, mut page) = shared::newest(tx, at.agent_no, head)?;
        let now = at.ledger.clock().boot();
        let grant = head_lease::acquire(&mut state, OWNER, &now, head_lease::TTL).map_err(|held| {
            Error::new(ErrorKind::Busy, format!("{} is at work on {}", held.by, head))
                .hint(format!("try again in {} s", (held.until - now.ms + 999) / 1000))
        })?;
        tx.note("head", head.to_string());
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
        let committed = head_lease::commit(&mut state, grant.epoch, grant.base_revision, OWNER, &now)
            .map_err(|refused| Error::new(ErrorKind::Busy, format!("{}: {refused}", head)))?;
        head_lease::release(&mut state, grant.epoch, OWNER);
        shared::insert(tx, at.agent_no, head, (&state, &page), OWNER)?;
        shared::keep(tx, at.agent_no, head, &state)?;
        tx.note("revision", committed);
        Ok(committed)
    })?;
    super::refresh(at, Occasion::Act)?;
    Ok(now_stands)
}

/// A head in a list.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Overview {
    pub head: PageKey,
    /// Name that people use: `memory`, or a thread's key.
    pub name: String,
    /// Label of the thread, if the head belongs to one.
    pub label: Option<String>,
    pub state: HeadState,
    /// Revision in the file.
    pub published: i64,
    /// The current holder.
    pub holder: Option<Busy>,
    pub sections: Sections,
    /// Section and owner of each deferred commit.
    pub deferred: Vec<(String, String)>,
}

/// Returns the heads that outside programs may write: those of the agent, and of every thread.
pub fn list(at: &AssistantHome) -> Result<Vec<Overview>> {
    at.read(|tx| {
        let threads = thread::list(tx, at.agent_no)?;
        let own = [PageKey::Memory, PageKey::Active, PageKey::Threads].map(|head| (head.to_string(), None, head));
        let of_threads = threads.into_iter().map(|t| (t.key, Some(t.label), PageKey::Thread(t.file)));
        own.into_iter().chain(of_threads).map(|(name, label, head)| overview(at, tx, name, label, head)).collect()
    })
}

/// Returns the overview of one head.
pub fn look(at: &AssistantHome, head: &PageKey) -> Result<Overview> {
    at.read(|tx| {
        let (name, label) = match head {
            PageKey::Thread(file) => match thread::of_file(tx, at.agent_no, file)? {
                Some(row) => (row.key, Some(row.label)),
                None => (head.to_string(), None),
            },
            _ => (head.to_string(), None),
        };
        overview(at, tx, name, label, head.clone())
    })
}

fn overview(at: &AssistantHome, tx: &Read, name: String, label: Option<String>, head: PageKey) -> Result<Overview> {
    let state = shared::state(tx, at.agent_no, &head)?;
    Ok(Overview {
        name,
        label,
        published: pages::published(tx, at.agent_no, &head)?,
        holder: holder(at, &state),
        sections: shared::sections(tx, at.agent_no, &head)?,
        deferred: shared::deferred(tx, at.agent_no, &head)?,
        state,
        head,
    })
}
