//! Heads: bounded pages rendered into files that belong to people (R7.1, R7.5, D2). Storey 3.
//!
//! A page is a function of files and ledger ([`active`], [`memory`], [`index`], [`daily`]); [`refresh`] renders the
//! pages marked dirty and puts each between its markers. Everything outside the markers belongs to the person. Changes
//! a person made *inside* are kept too ([`edits`]): the edited file as a revision, and in MEMORY.md added lines become
//! a proposal and removed lines stay out.
//!
//! Pages that other programs may write ([`PageKey::is_shared`]) have revisions: the rendered block is committed to the
//! ledger first, and the file is updated from the newest revision ([`shared`], [`head_commits`], [`revisions`]).
//!
//! Pages are derived state: a failure is audited and never turns the change before it into an error.

pub mod active;
pub mod continuity;
pub mod daily;
pub mod edits;
pub mod head_commits;
pub mod index;
pub mod memory;
mod page;
mod page_table;
pub mod profile;
pub mod revisions;
pub mod rollup;
mod running;
mod runs;
pub mod runtime;
mod scoping;
pub mod score;
pub mod session;
pub mod shared;
pub mod thread;
pub mod threads;
pub mod titles;
pub mod unfiled;
pub mod why;

pub(crate) use page::{flat, line, minute};
pub(crate) use scoping::scope_of;
use std::collections::BTreeMap;

use serde_json::json;
pub(crate) use session::Standing as SessionStanding;
pub(crate) use thread::render as thread_page;

use crate::document::{Document, RegionFault};
use crate::error::{Error, ErrorKind, Problem, Result};
use crate::home::RelPath;
use crate::pages::{self, Happened, PageKey, head_lease};
use crate::scope::SessionNo;
use crate::tree::revise::{Now, Patience, Revised};
use crate::tree::{AssistantHome, TreeLock, file_table};

/// The result of a refresh.
#[derive(Clone, Default, Debug)]
pub struct Refreshed {
    pub written: Vec<RelPath>,
    /// Pages a person or another program is editing; the next command renders them.
    pub deferred: Vec<RelPath>,
    pub failed: Vec<Problem>,
    /// Proposals and open loops made from lines a person wrote into a rendered block.
    pub proposed: Vec<String>,
}

/// The event that caused a refresh.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Occasion {
    /// A person or program asked for a change.
    Act,
    /// A scan found changes, or conversations were stored. This occasion gives no block to a page of an adopted tree
    /// that has none yet, because adopting a tree must change no byte of it.
    Look,
}

/// Number of sessions of a project that get a page of their own, the newest first: an import brings thousands, which
/// nobody resumes. A session that has its page keeps it.
const SESSION_PAGES: usize = 64;

/// Renders every page marked dirty. A failure is audited as `continuity.refresh_failed`, and the page stays marked.
pub fn refresh(at: &AssistantHome, occasion: Occasion) -> Result<Refreshed> {
    daily::mark_days(at)?;
    if !is_dirty(at)? {
        return Ok(Refreshed::default());
    }
    match occasion {
        Occasion::Act => refresh_at(&at.lock_unscanned()?, occasion),
        // After a scan, do not wait for the tree lock: its holder renders the pages when it is done.
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

/// Does the same as [`refresh`] for a caller that already holds the tree lock.
pub fn refresh_at(lock: &TreeLock, occasion: Occasion) -> Result<Refreshed> {
    let mut out = Refreshed::default();
    // The marks are read while the lock is held, because another process may have rendered the pages meanwhile. An edit
    // found in a page marks further pages, so the marks are read a second time; the rest is left to the next command.
    for _ in 0..2 {
        scoping::follow(lock.at)?;
        let (marks, old) = without_old_sessions(dirty(lock.at)?);
        if !old.is_empty() {
            pass_over(lock.at, &old)?;
        }
        let marks: Vec<(PageKey, Option<i64>)> = marks.into_iter().map(|d| (d.page, d.mark)).collect();
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

/// Publishes the newest revision of a head into its file without rendering. A failure is audited and not returned as an
/// error.
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

/// Marks every page that exists or should exist, for use after changes that were not recorded.
pub fn mark_all(at: &AssistantHome) -> Result<()> {
    let workspaces = at.read(|tx| file_table::workspaces_of_memory(tx, at.agent_no))?;
    at.write("head.mark", |tx| pages::mark(tx, at.agent_no, &Happened::AllAsked { workspaces }))
}

/// A page that is out of date.
struct Dirty {
    page: PageKey,
    /// The mark it is to be rendered for. `None` if it is up to date in the ledger, but its newest revision is not in
    /// the file yet or a deferred commit can be applied.
    mark: Option<i64>,
    /// Whether it was never rendered.
    is_new: bool,
}

/// Returns the pages that are out of date: marked pages, and pages that depend on the current day and were rendered on
/// another.
fn dirty(at: &AssistantHome) -> Result<Vec<Dirty>> {
    let today = at.day_of(at.ledger.now());
    // The boot clock is read only if a page waits for another program's lease, because that reads a file of the system.
    let now = std::cell::LazyCell::new(|| at.ledger.clock().boot());
    at.read(|tx| {
        let mut out = Vec::new();
        for found in pages::candidates(tx, at.agent_no)? {
            let daily = matches!(found.page, PageKey::Active | PageKey::Memory);
            let old = daily && found.rendered_at.is_some_and(|then| at.day_of(then) != today);
            let lands = |page: &PageKey| -> Result<bool> {
                let free = head_lease::live(&pages::shared::state(tx, at.agent_no, page)?, &now).is_none();
                Ok(free && pages::shared::could_land(tx, at.agent_no, page)?)
            };
            let is_new = found.rendered_at.is_none();
            if found.marked || old {
                out.push(Dirty { page: found.page, mark: Some(found.mark), is_new });
            } else if found.behind || (found.waiting && lands(&found.page)?) {
                out.push(Dirty { page: found.page, mark: None, is_new });
            }
        }
        Ok(out)
    })
}

/// Splits the pages into those to be rendered and new pages of old sessions, which are not made: of the new session
/// pages of a project, all but the [`SESSION_PAGES`] newest.
fn without_old_sessions(dirty: Vec<Dirty>) -> (Vec<Dirty>, Vec<(PageKey, Option<i64>)>) {
    let mut new: BTreeMap<String, Vec<SessionNo>> = BTreeMap::new();
    for found in dirty.iter().filter(|d| d.is_new) {
        if let PageKey::Session(workspace, no, _) = &found.page {
            new.entry(workspace.clone()).or_default().push(*no);
        }
    }
    let mut oldest: BTreeMap<String, SessionNo> = BTreeMap::new();
    for (workspace, mut sessions) in new {
        if sessions.len() > SESSION_PAGES {
            sessions.sort_unstable_by(|a, b| b.cmp(a));
            oldest.insert(workspace, sessions[SESSION_PAGES - 1]);
        }
    }
    let is_old = |d: &Dirty| match &d.page {
        PageKey::Session(workspace, no, _) => d.is_new && oldest.get(workspace).is_some_and(|oldest| no < oldest),
        _ => false,
    };
    let (old, rest): (Vec<Dirty>, Vec<Dirty>) = dirty.into_iter().partition(is_old);
    (rest, old.into_iter().map(|d| (d.page, d.mark)).collect())
}

/// A page that was published.
struct Rendered {
    head: PageKey,
    /// The mark it was rendered for; `None` if its content was rendered before.
    mark: Option<i64>,
    /// The published revision, for a page that has revisions.
    revision: i64,
    /// The rendered block.
    content: String,
    path: RelPath,
    now: Now,
    bytes: Vec<u8>,
}

/// Renders one page, if there is a mark, and publishes it. Returns `None` if the page has to wait.
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
    if is_being_edited(lock, &path, own)? {
        out.deferred.push(path);
        return Ok(None);
    }
    if own.is_none() && occasion == Occasion::Look && is_adopted(at, head, &path)? {
        return pass_over(at, &[(head.clone(), mark)]).map(|()| None);
    }
    // A person's edits to the block are processed first, because they may remove lines from what is rendered next.
    let processed = edits::process(lock, head, last.as_deref())?;
    out.proposed.extend(processed.proposed);
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
        // If a person has saved again since the edits were processed, the file is not overwritten either.
        if current.is_some() && edits::inside(&doc, head) != processed.seen {
            return Ok(None);
        }
        let adopted = current.is_some() && own.is_none() && doc.region(head.region()).found.is_none();
        if adopted && occasion == Occasion::Look {
            skipped = true;
            return Ok(None);
        }
        // Revisions committed since the page was rendered are newer than this one and are published instead.
        if head.is_shared() {
            let (state, newest) = at.read(|tx| pages::shared::newest(tx, at.agent_no, head))?;
            if !head_lease::may_publish(&state, put.0) {
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
        Revised::LeftAlone if skipped => return pass_over(at, &[(head.clone(), mark)]).map(|()| None),
        // A page that was not written stays marked; a later refresh renders it.
        Revised::LeftAlone | Revised::Deferred { .. } => {
            out.deferred.push(path);
            return Ok(None);
        }
    };
    // Another program holds the head, so its newest revision is in the file and the page stays marked.
    if mark.is_some() && !standing.ours {
        out.deferred.push(path.clone());
    }
    let (revision, page) = put;
    let mark = mark.filter(|_| standing.ours);
    Ok(Some(Rendered { head: head.clone(), mark, revision, content: page.rendered, path, now, bytes }))
}

/// Whether the page belongs to an adopted tree and has no rendered block yet. The caller has checked that Heirloom
/// never wrote it.
fn is_adopted(at: &AssistantHome, head: &PageKey, path: &RelPath) -> Result<bool> {
    match at.files.read_with_stamp(path, crate::tree::LARGEST_FILE) {
        Ok(found) => Ok(found.is_some_and(|(bytes, _)| Document::parse(bytes).region(head.region()).found.is_none())),
        Err(e) if e.kind() == ErrorKind::Refused => Ok(false),
        Err(e) => Err(e),
    }
}

/// Clears the marks of pages that are not made: pages of an adopted tree that have no block, which get one only when a
/// change is requested, and pages of old sessions.
fn pass_over(at: &AssistantHome, passed: &[(PageKey, Option<i64>)]) -> Result<()> {
    at.write("head.pass_over", |tx| {
        for (head, mark) in passed {
            pages::pass_over(tx, at.agent_no, head, *mark)?;
        }
        // An import may pass over thousands of pages, so the audit then has only their number.
        match passed {
            [(head, _)] => tx.note("head", head.to_string()),
            many => tx.note("heads", many.len()),
        }
        Ok(())
    })
}

/// Records the rendered pages in one transaction.
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

/// Whether something other than Heirloom changed the file within the last two seconds, so that its editor may not be
/// done.
fn is_being_edited(lock: &TreeLock, path: &RelPath, own: Option<crate::home::Digest>) -> Result<bool> {
    let found = match lock.at.files.read_with_stamp(path, crate::tree::LARGEST_FILE) {
        Ok(found) => found,
        // Reading was refused; publishing then reports why, or replaces a symlink.
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

/// Returns faults in the markers of pages that people edit, for `status` and `doctor`.
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
