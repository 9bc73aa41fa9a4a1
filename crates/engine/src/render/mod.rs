//! Heads: bounded pages rendered from what is known, inside files that belong to people (R7.1, R7.5, D2). Storey 3.
//!
//! A page is a function of files and ledger ([`active`], [`memory`], [`index`], [`daily`]); [`refresh`] renders those
//! that were marked dirty and puts each between its markers. Everything outside the markers is the human's. What a
//! person changed *inside* is kept too ([`edits`]): the old text as a revision, and in MEMORY.md lines added become a
//! proposal and lines taken out stay out.
//!
//! Pages that others may write, too ([`shared::is_shared`]) go through revisions: what is rendered is committed to the
//! ledger first and the file is put in order from the newest revision ([`shared`], [`outside`], [`revisions`]).
//!
//! Derived state: a failure is audited and never turns the mutation before it into an error.

pub mod active;
pub mod continuity;
pub mod daily;
pub mod edits;
pub mod index;
pub mod memory;
pub mod outside;
mod page;
pub mod revisions;
pub mod rollup;
mod runs;
pub mod runtime;
mod scoping;
pub mod score;
pub mod session;
pub mod shared;
pub mod thread;
pub mod threads;
mod which;
pub mod why;

pub(crate) use page::{flat, line, minute, stamp};
pub(crate) use scoping::scope_of;
use serde_json::json;
pub(crate) use session::Standing as SessionStanding;
pub(crate) use thread::render as thread_page;

use crate::document::{Document, RegionFault};
use crate::error::{Error, ErrorKind, Problem, Result};
use crate::home::RelPath;
use crate::pages::{self, Happened, PageKey, lease};
use crate::tree::revise::{Now, Patience, Revised};
use crate::tree::{AssistantHome, TreeLock, file_table};

/// What a refresh did.
#[derive(Clone, Default, Debug)]
pub struct Refreshed {
    pub written: Vec<RelPath>,
    /// Somebody is at work on these; the next command renders them.
    pub deferred: Vec<RelPath>,
    pub failed: Vec<Problem>,
    /// Lines a person wrote into a rendered block, and what became of them.
    pub proposed: Vec<String>,
}

/// Why pages are rendered.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Occasion {
    /// Somebody asked for a change.
    Act,
    /// Files were looked at or conversations came in. A page of an adopted tree, which has no block of ours yet, does
    /// not get one from that: adopting changes no byte.
    Look,
}

/// Renders every page that was marked dirty. Whatever fails is audited as `continuity.refresh_failed`; the page stays
/// marked.
pub fn refresh(at: &AssistantHome, occasion: Occasion) -> Result<Refreshed> {
    daily::mark_days(at)?;
    if !is_dirty(at)? {
        return Ok(Refreshed::default());
    }
    match occasion {
        Occasion::Act => refresh_at(&at.lock_unscanned()?, occasion),
        // Who only looks does not wait for somebody at work: they render when they are done.
        Occasion::Look => match at.try_lock()? {
            Some(lock) => refresh_at(&lock, occasion),
            None => Ok(Refreshed::default()),
        },
    }
}

/// Whether any page is out of date.
pub fn is_dirty(at: &AssistantHome) -> Result<bool> {
    Ok(!dirty(at)?.is_empty())
}

/// [`refresh`], for a caller that holds the tree lock already.
pub fn refresh_at(lock: &TreeLock, occasion: Occasion) -> Result<Refreshed> {
    let mut out = Refreshed::default();
    // Whoever waited for the tree lock may find the work done: the marks are read behind the lock. An edit found in a page
    // marks others, so the marks are read again; twice is enough, the rest waits for the next command.
    for _ in 0..2 {
        scoping::follow(lock.at)?;
        let marks = dirty(lock.at)?;
        if marks.is_empty() {
            break;
        }
        let mut rendered = Vec::new();
        for (head, mark) in marks {
            let path = head.path()?;
            if out.deferred.contains(&path) {
                continue;
            }
            match one(lock, &head, mark, occasion, &mut out) {
                Ok(done) => rendered.extend(done),
                Err(e) => out.fail(lock.at, &head, &path, &e)?,
            }
        }
        record(lock.at, &rendered)?;
        if !out.failed.is_empty() {
            break;
        }
    }
    Ok(out)
}

/// Puts the newest revision of a head into its file, without rendering anything. A failure is audited, never an error.
fn publish(lock: &TreeLock, head: &PageKey) -> Result<Refreshed> {
    let mut out = Refreshed::default();
    match one(lock, head, None, Occasion::Act, &mut out) {
        Ok(done) => record(lock.at, done.as_slice())?,
        Err(e) => out.fail(lock.at, head, &head.path()?, &e)?,
    }
    Ok(out)
}

impl Refreshed {
    fn fail(&mut self, at: &AssistantHome, head: &PageKey, path: &RelPath, error: &Error) -> Result<()> {
        failed(at, head, error)?;
        self.failed.push(Problem::of(&at.files.shown().join(path.as_str()), error));
        Ok(())
    }
}

/// Marks every page that exists or should, as after a change nobody noted.
pub fn mark_all(at: &AssistantHome) -> Result<()> {
    let workspaces = at.read(|tx| file_table::workspaces_of_memory(tx, at.agent_no))?;
    at.write("head.mark", |tx| pages::mark(tx, at.agent_no, &Happened::AllAsked { workspaces }))
}

/// The pages out of date, with the mark they are to be rendered for: those that were marked, and those that say what
/// matters today and were rendered on another day. Without a mark: what they say is up to date and not in their file
/// yet, or a deferred commit can land.
fn dirty(at: &AssistantHome) -> Result<Vec<(PageKey, Option<i64>)>> {
    let today = at.day_of(at.ledger.now());
    let now = at.ledger.clock().boot();
    at.read(|tx| {
        let mut out = Vec::new();
        for found in pages::candidates(tx, at.agent_no)? {
            let daily = matches!(found.page, PageKey::Active | PageKey::Memory);
            let old = daily && found.rendered_at.is_some_and(|then| at.day_of(then) != today);
            let lands = |page: &PageKey| -> Result<bool> {
                let free = lease::live(&pages::shared::state(tx, at.agent_no, page)?, &now).is_none();
                Ok(free && pages::shared::could_land(tx, at.agent_no, page)?)
            };
            if found.marked || old {
                out.push((found.page, Some(found.mark)));
            } else if found.behind || (found.waiting && lands(&found.page)?) {
                out.push((found.page, None));
            }
        }
        Ok(out)
    })
}

/// A page that stands in its file.
struct Rendered {
    head: PageKey,
    /// The mark it was rendered for; `None`: what stands there was rendered before.
    mark: Option<i64>,
    /// The revision, of a page that has some.
    revision: i64,
    /// The rendered block.
    content: String,
    path: RelPath,
    now: Now,
    bytes: Vec<u8>,
}

/// Renders one page, if there is a mark, and puts it into its file. `None`: it has to wait.
fn one(
    lock: &TreeLock,
    head: &PageKey,
    mark: Option<i64>,
    occasion: Occasion,
    out: &mut Refreshed,
) -> Result<Option<Rendered>> {
    let (at, path) = (lock.at, head.path()?);
    let last = at.read(|tx| pages::last_content(tx, at.agent_no, head))?;
    let own = at.read(|tx| file_table::at(tx, at.agent_no, &path))?.and_then(|e| e.published);
    if at_work(lock, &path, own)? {
        out.deferred.push(path);
        return Ok(None);
    }
    if own.is_none() && occasion == Occasion::Look && is_adopted(at, head, &path)? {
        return pass_over(at, head, mark).map(|()| None);
    }
    // What a person did inside the block comes first: it may take lines out of what is rendered next.
    let honoured = edits::honour(lock, head, last.as_deref())?;
    out.proposed.extend(honoured.proposed);
    let standing = match head.is_shared() {
        true => shared::commit(at, head, mark.is_some())?,
        false => {
            let rendered = crate::redact::redact(&at.read(|tx| head.render(at, tx))?).into_owned();
            let page = pages::shared::Page { rendered, ..pages::shared::Page::default() };
            shared::Standing { revision: 0, page, ours: true }
        }
    };
    let (mut bytes, mut skipped, mut put) = (Vec::new(), false, (standing.revision, standing.page));
    let revised = lock.revise(&path, own, Patience::Defer, |current| {
        let mut doc = Document::parse(current.map_or_else(|| head.blank().into_bytes(), <[u8]>::to_vec));
        // Between honouring the edits and now a person may have saved again: not over that, either.
        if current.is_some() && edits::inside(&doc, head) != honoured.seen {
            return Ok(None);
        }
        let adopted = current.is_some() && own.is_none() && doc.region(head.region()).found.is_none();
        if adopted && occasion == Occasion::Look {
            skipped = true;
            return Ok(None);
        }
        // Whatever was committed while we were on the way here is newer than what we bring.
        if head.is_shared() {
            let (state, newest) = at.read(|tx| pages::shared::newest(tx, at.agent_no, head))?;
            if !lease::may_publish(&state, put.0) {
                put = (state.revision, newest);
            }
        }
        put.1.put_into(&mut doc, head);
        bytes = doc.print().to_vec();
        Ok(Some(bytes.clone()))
    })?;
    let now = match revised {
        Revised::Written(now) => {
            out.written.push(path.clone());
            now
        }
        Revised::Unchanged(now) => now,
        Revised::LeftAlone if skipped => return pass_over(at, head, mark).map(|()| None),
        // A page left alone stays marked: the next act, or the next look, comes back to it.
        Revised::LeftAlone | Revised::Deferred { .. } => {
            out.deferred.push(path);
            return Ok(None);
        }
    };
    // Somebody is at work on the head: what it says stands in its file, and it stays marked.
    if mark.is_some() && !standing.ours {
        out.deferred.push(path.clone());
    }
    let (revision, page) = put;
    let mark = mark.filter(|_| standing.ours);
    Ok(Some(Rendered { head: head.clone(), mark, revision, content: page.rendered, path, now, bytes }))
}

/// Whether a page of an adopted tree has no block of ours yet. `own` says that we never wrote it.
fn is_adopted(at: &AssistantHome, head: &PageKey, path: &RelPath) -> Result<bool> {
    match at.files.read_with_stamp(path, crate::tree::LARGEST_FILE) {
        Ok(found) => Ok(found.is_some_and(|(bytes, _)| Document::parse(bytes).region(head.region()).found.is_none())),
        Err(e) if e.kind() == ErrorKind::Refused => Ok(false),
        Err(e) => Err(e),
    }
}

/// An adopted page has nothing to show until somebody asks for something.
fn pass_over(at: &AssistantHome, head: &PageKey, mark: Option<i64>) -> Result<()> {
    at.write("head.pass_over", |tx| {
        pages::pass_over(tx, at.agent_no, head, mark)?;
        tx.note("head", head.to_string());
        Ok(())
    })
}

/// Notes in one transaction what was rendered.
fn record(at: &AssistantHome, rendered: &[Rendered]) -> Result<()> {
    if rendered.is_empty() {
        return Ok(());
    }
    at.write("head.render", |tx| {
        for Rendered { head, mark, revision, content, path, now, bytes } in rendered {
            at.seen(tx, path, *now, bytes)?;
            let done = pages::Rendered { page: head, mark: *mark, content, revision: *revision };
            pages::record(tx, at.agent_no, &done)?;
        }
        tx.note("heads", rendered.iter().map(|page| page.head.to_string()).collect::<Vec<_>>());
        Ok(())
    })
}

/// Somebody else changed the file within the last two seconds and may not be done.
fn at_work(lock: &TreeLock, path: &RelPath, own: Option<crate::home::Digest>) -> Result<bool> {
    let found = match lock.at.files.read_with_stamp(path, crate::tree::LARGEST_FILE) {
        Ok(found) => found,
        // Refused for reading; publishing will say why, or replace a symlink.
        Err(e) if e.kind() == ErrorKind::Refused => None,
        Err(e) => return Err(e),
    };
    let Some((bytes, stamp)) = found else { return Ok(false) };
    let age = crate::clock::Clock::System.now() - stamp.modified_ns / 1_000_000;
    Ok(age.abs() < crate::home::QUIET_MS && Some(crate::home::digest(&bytes)) != own)
}

fn failed(at: &AssistantHome, head: &PageKey, error: &Error) -> Result<()> {
    at.write("continuity.refresh_failed", |tx| {
        tx.note("head", head.to_string());
        tx.note("error", json!(error.to_string()));
        Ok(())
    })
}

/// What is wrong with the markers of the pages people write in, for `status` and `doctor`.
pub fn marker_faults(at: &AssistantHome) -> Result<Vec<Problem>> {
    let mut problems = Vec::new();
    for head in [PageKey::Memory, PageKey::Active, PageKey::AgentIndex] {
        let path = head.path()?;
        let Ok(Some((bytes, _))) = at.files.read_with_stamp(&path, crate::tree::LARGEST_FILE) else { continue };
        let place = at.files.shown().join(path.as_str()).display().to_string();
        let doc = Document::parse(bytes);
        for fault in shared::regions(&head).iter().flat_map(|name| doc.region(name).faults) {
            let (line, what) = match fault {
                RegionFault::Doubled { line } => (line, "a second rendered block; the first counts, this one is yours"),
                RegionFault::Nested { line } => (line, "a marker inside the rendered block; the first pair counts"),
                RegionFault::Unclosed { line } => (line, "a rendered block that is not closed; remove this line"),
                RegionFault::StrayEnd { line } => (line, "an end of a rendered block without its beginning; remove it"),
            };
            problems.push(Problem { place: place.clone(), offset: None, line: Some(line as u64), what: what.into() });
        }
    }
    Ok(problems)
}
