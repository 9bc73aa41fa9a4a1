//! Pages that outside programs may write as well: resolving their names, the form of the sections in the file, and
//! committing what is rendered here (R7.4).
//!
//! Rendering holds no lease while it works: it is granted one, commits and releases it in the transaction that stores
//! the revision, provided that no other program was granted the page and no revision was committed since it began.
//! Otherwise the page waits for another refresh.

use super::edits;
use crate::document::{self, Document};
use crate::error::Result;
use crate::ledger::Read;
use crate::pages::PageKey;
use crate::pages::head_lease;
use crate::pages::shared::{OWNER, Page, could_land, insert, keep, land, newest};
use crate::scope::AgentNo;
use crate::thread;
use crate::tree::AssistantHome;

/// The name in the markers around the sections.
const REGION: &str = "sections";

impl Page {
    /// Returns the sections as written in the file, each under a heading with its name and owner; empty if there are
    /// none.
    pub fn sections_text(&self) -> String {
        let each = self.sections.iter().map(|(name, section)| {
            let text = document::contained(&section.content);
            format!("### {name} · {}\n{}\n", section.owner, text.trim_end_matches('\n'))
        });
        each.collect::<Vec<_>>().join("\n")
    }

    /// Returns the whole page as text, without markers.
    pub fn text(&self) -> String {
        match self.sections.is_empty() {
            true => self.rendered.clone(),
            false => format!("{}\n{}", self.rendered, self.sections_text()),
        }
    }

    /// Puts the page into a file, between its markers.
    pub(super) fn put_into(&self, doc: &mut Document, head: &PageKey) {
        doc.set_region(head.region(), &head.attributes(&self.rendered), &self.rendered);
        let sections = self.sections_text();
        if sections.is_empty() {
            doc.unset_region(REGION);
            return;
        }
        let attributes = format!(
            "{} · by other programs, through heirloom head: not in here",
            edits::fingerprint(sections.as_bytes())
        );
        doc.set_region_behind(head.region(), REGION, &attributes, &sections);
    }
}

/// Returns the names of a head's regions in its file: its block, and the sections if it can have some.
pub(crate) fn regions(head: &PageKey) -> Vec<&'static str> {
    if head.is_shared() { vec![head.region(), REGION] } else { vec![head.region()] }
}

/// Returns the head that a name refers to: `memory`, `active`, `threads`, or a thread's key or name. `NotFound` if
/// there is none, `Usage` if a name is ambiguous.
pub fn named(tx: &Read, agent_no: AgentNo, name: &str) -> Result<PageKey> {
    match PageKey::parse(name) {
        Some(head @ (PageKey::Memory | PageKey::Active | PageKey::Threads)) => Ok(head),
        Some(PageKey::Thread(file)) if thread::of_file(tx, agent_no, &file)?.is_some() => Ok(PageKey::Thread(file)),
        _ => thread_named(tx, agent_no, name),
    }
}

/// Returns the head of a thread, given its key or name.
pub fn thread_named(tx: &Read, agent_no: AgentNo, name: &str) -> Result<PageKey> {
    Ok(PageKey::Thread(thread::named(tx, agent_no, name)?.file))
}

/// The newest revision, after a refresh has committed its own.
pub(super) struct Standing {
    pub revision: i64,
    pub page: Page,
    /// Whether it includes the block just rendered. Otherwise another program holds the head and the page stays marked.
    pub ours: bool,
}

/// Number of times a page is rendered again because a revision was committed meanwhile.
const TRIES: usize = 3;

/// Renders the page, commits the result as the next revision if it differs from the last, then applies deferred
/// commits. Without `render`, it only applies the deferred commits.
pub(super) fn commit(at: &AssistantHome, head: &PageKey, render: bool) -> Result<Standing> {
    for _ in 0..TRIES {
        // All is read in one consistent view, so that the rendered text belongs to exactly this revision.
        let (base, last, rendered, waiting) = at.read(|tx| {
            let (base, last) = newest(tx, at.agent_no, head)?;
            let rendered = match render {
                true => Some(crate::redact::redact(&head.render(at, tx)?).into_owned()),
                false => None,
            };
            Ok((base, last, rendered, could_land(tx, at.agent_no, head)?))
        })?;
        let fresh = rendered.filter(|r| *r != last.rendered || base.revision == 0);
        if fresh.is_none() && !waiting {
            return Ok(Standing { revision: base.revision, page: last, ours: render });
        }
        let now = at.ledger.clock().boot();
        if head_lease::live(&base, &now).is_some_and(|l| l.owner != OWNER) {
            return Ok(Standing { revision: base.revision, page: last, ours: fresh.is_none() && render });
        }
        let done = at.write("head.commit", |tx| {
            let (mut state, mut page) = newest(tx, at.agent_no, head)?;
            let now = at.ledger.clock().boot();
            if state.epoch != base.epoch || state.revision != base.revision {
                return Ok(None);
            }
            if let Some(rendered) = fresh {
                let Ok(grant) = head_lease::acquire(&mut state, OWNER, &now, head_lease::TTL) else { return Ok(None) };
                if head_lease::commit(&mut state, grant.epoch, base.revision, OWNER, &now).is_err() {
                    return Ok(None);
                }
                head_lease::release(&mut state, grant.epoch, OWNER);
                page.rendered = rendered;
                insert(tx, at.agent_no, head, (&state, &page), OWNER)?;
                keep(tx, at.agent_no, head, &state)?;
            }
            land(tx, at.agent_no, head, (&mut state, &mut page), &now)?;
            tx.note("head", head.to_string());
            tx.note("revision", state.revision);
            tx.note("epoch", state.epoch);
            Ok(Some(Standing { revision: state.revision, page, ours: render }))
        })?;
        if let Some(done) = done {
            return Ok(done);
        }
    }
    let (state, page) = at.read(|tx| newest(tx, at.agent_no, head))?;
    Ok(Standing { revision: state.revision, page, ours: false })
}
