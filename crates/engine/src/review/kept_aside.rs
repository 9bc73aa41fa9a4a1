//! A person's words that were kept aside: they were written into the rendered block of a page, which was then rendered
//! anew (D2). A revision contains the version with these words; here they wait for a decision.

use std::collections::HashSet;

use crate::clock::Millis;
use crate::document::Document;
use crate::error::{Error, Result};
use crate::home::{self, RelPath};
use crate::ledger::Read;
use crate::pages::{self, PageKey, dismissals};
use crate::redact::redact;
use crate::tree::revise::{self, Patience, Revised, Revision};
use crate::tree::{AssistantHome, LARGEST_FILE, TreeLock};

/// Time in milliseconds after which a person is no longer asked about words kept aside; they stay in the revision.
const ASKED_MS: Millis = 30 * 24 * 3_600_000;
/// Maximum number of versions read, and of lines taken from each.
const MOST: usize = 20;
const LINES: usize = 50;
/// Reason stored with a version whose added lines have already become proposals and open loops.
const IN_BLOCK: &str = "edited inside the rendered block";

/// A person's words kept aside from one version of a page.
#[derive(Clone, Debug)]
pub struct KeptAside {
    /// Id, such as `r:12`.
    pub id: String,
    pub path: String,
    pub at: Millis,
    pub why: String,
    /// The lines that the file does not contain any more.
    pub lines: Vec<String>,
    digest: home::Digest,
}

/// Returns the words that wait for a decision, newest first.
pub fn waiting(at: &AssistantHome) -> Result<Vec<KeptAside>> {
    let since = at.ledger.now() - ASKED_MS;
    let (found, decided) = at.read(|tx| {
        let found = revise::found_by_scan(tx, at.agent_no, since, MOST)?;
        let mut out = Vec::new();
        for (no, path, why) in found {
            if why == IN_BLOCK && path == crate::home::layout::MEMORY_HEAD.as_str() {
                continue;
            }
            let kept = revise::revisions(tx, at.agent_no, Some(&path), MOST)?;
            out.extend(kept.into_iter().find(|r| r.no == no));
        }
        Ok((out, dismissals::of(tx, at.agent_no, &PageKey::Memory)?))
    })?;
    let mut out = Vec::new();
    for revision in found {
        let id = format!("r:{}", revision.no);
        if decided.contains_key(&id) {
            continue;
        }
        let lines = lost(at, &revision)?;
        if !lines.is_empty() {
            let digest = home::digest(&revision.bytes);
            out.push(KeptAside { id, path: revision.path, at: revision.at, why: revision.why, lines, digest });
        }
    }
    Ok(out)
}

/// Returns the lines of a version that a person wrote and that the file does not contain any more.
fn lost(at: &AssistantHome, revision: &Revision) -> Result<Vec<String>> {
    let path = RelPath::parse(&revision.path)?;
    let now = at.files.read(&path, LARGEST_FILE).ok().flatten().unwrap_or_default();
    let mut known: HashSet<String> = String::from_utf8_lossy(&now).lines().map(|l| l.trim().to_owned()).collect();
    if let Some(page) = page_of(&path) {
        for text in at.read(|tx| rendered(tx, at, &page))? {
            known.extend(text.lines().map(|l| l.trim().to_owned()));
        }
    }
    let doc = Document::parse(revision.bytes.clone());
    let body = doc.body();
    let own = body.lines().map(str::trim).filter(|l| !l.is_empty() && !l.starts_with("<!--") && !l.starts_with('#'));
    // A line that ends in an id was rendered, not written by a person.
    let own = own.filter(|l| !l.ends_with(']') && !known.contains(*l) && !l.starts_with("- … and"));
    Ok(own.take(LINES).map(|l| redact(l).into_owned()).collect())
}

fn page_of(path: &RelPath) -> Option<PageKey> {
    let name = path.name().strip_suffix(".md")?;
    [PageKey::Memory, PageKey::Active, PageKey::Thread(name.to_owned())]
        .into_iter()
        .find(|page| page.path().is_ok_and(|p| p == *path))
}

/// Returns the rendered text of a shared page, as far as its revisions are kept.
fn rendered(tx: &Read, at: &AssistantHome, page: &PageKey) -> Result<Vec<String>> {
    let (kept, _) = pages::revisions::log(tx, at.agent_no, page, MOST)?;
    let mut out = Vec::new();
    for entry in kept {
        out.push(pages::revisions::revision(tx, at.agent_no, page, entry.revision)?.rendered);
    }
    Ok(out)
}

fn find(at: &AssistantHome, id: &str) -> Result<KeptAside> {
    let found = waiting(at)?.into_iter().find(|k| k.id == id);
    found.ok_or_else(|| Error::not_found(format!("nothing kept aside has the id {id}")).hint("see ⟨review⟩"))
}

/// Restores the words: at the end of the file, outside the rendered block, so that rendering keeps them.
pub fn put_back(lock: &TreeLock, id: &str) -> Result<KeptAside> {
    let (at, kept) = (lock.at, find(lock.at, id)?);
    let path = RelPath::parse(&kept.path)?;
    let mut written = None;
    let revised = lock.revise(&path, None, Patience::Wait, |bytes| {
        let mut doc = Document::parse(bytes.unwrap_or_default().to_vec());
        doc.append(&format!("{}\n", kept.lines.join("\n")), true)?;
        written = Some(doc.print().to_vec());
        Ok(written.clone())
    })?;
    at.write("review.put_back", |tx| {
        if let (Revised::Written(now), Some(bytes)) = (&revised, &written) {
            at.seen(tx, &path, *now, bytes)?;
        }
        // The digest of the restored words marks the decision as a restore, and shows later whether the words are
        // unchanged.
        dismissals::dismiss(tx, at.agent_no, &PageKey::Memory, id, &home::digest(kept.lines.join("\n").as_bytes()))?;
        tx.note("edit", id);
        Ok(())
    })?;
    Ok(kept)
}

/// Drops the words from the list; the revision keeps them.
pub fn let_go(lock: &TreeLock, id: &str) -> Result<KeptAside> {
    let (at, kept) = (lock.at, find(lock.at, id)?);
    at.write("review.let_go", |tx| {
        dismissals::dismiss(tx, at.agent_no, &PageKey::Memory, id, &kept.digest)?;
        tx.note("edit", id);
        Ok(())
    })?;
    Ok(kept)
}

/// Undoes a decision: restored words are removed again if they are unchanged, and the person is asked again.
pub fn undo(lock: &TreeLock, id: &str) -> Result<KeptAside> {
    let at = lock.at;
    let decided = at.read(|tx| dismissals::of(tx, at.agent_no, &PageKey::Memory))?;
    let Some(put) = decided.get(id) else {
        return Err(Error::not_found(format!("nothing was decided about {id}")).hint("see what waits: ⟨review⟩"));
    };
    let number = id.strip_prefix("r:").and_then(|n| n.parse().ok()).unwrap_or(0);
    let all = at.read(|tx| revise::revisions(tx, at.agent_no, None, usize::MAX >> 1))?;
    let revision = all.into_iter().find(|r| r.no.0 == number);
    let revision = revision.ok_or_else(|| Error::not_found(format!("the revision {number} is not kept any more")))?;
    let path = RelPath::parse(&revision.path)?;
    let mut written = None;
    let revised = lock.revise(&path, None, Patience::Wait, |bytes| {
        let Some(text) = bytes.and_then(|b| String::from_utf8(b.to_vec()).ok()) else { return Ok(None) };
        // The words were appended to the end of the file, as a paragraph.
        let body = text.trim_end();
        let from = body.rfind("\n\n").map_or(0, |at| at + 2);
        if home::digest(&body.as_bytes()[from..]) != *put {
            return Ok(None);
        }
        written = Some(format!("{}\n", body[..from].trim_end()).into_bytes());
        Ok(written.clone())
    })?;
    at.write("review.ask_again", |tx| {
        if let (Revised::Written(now), Some(bytes)) = (&revised, &written) {
            at.seen(tx, &path, *now, bytes)?;
        }
        dismissals::forget(tx, at.agent_no, id)?;
        tx.note("edit", id);
        Ok(())
    })?;
    let lines = lost(at, &revision)?;
    let digest = home::digest(&revision.bytes);
    Ok(KeptAside { id: id.to_owned(), path: revision.path, at: revision.at, why: revision.why, lines, digest })
}
