//! Acts of outside programs on a head: acquire it, commit a named section, release it (R7.4). Storey 3.
//!
//! A commit to a held or changed head is refused, and in the same transaction its text is kept as *deferred*: the
//! newest text of each owner and section. Deferred commits are applied to the newest revision when the head is free:
//! when it is released or acquired, at the next refresh, or by `heirloom work`. One kind of commit is not deferred: one
//! based on a revision with an older version of its own section, because applying it would undo what was written since.

use super::Occasion;
use crate::clock::{Boot, Millis};
use crate::error::{Error, Result};
use crate::ledger::{Write, audit};
use crate::pages::head_lease::{self, HeadState, Held, Refused};
use crate::pages::shared::{self, LARGEST_SECTION, MOST_SECTIONS, NoRoom, OWNER, Page, Sections};
use crate::pages::{self, Happened, PageKey};
use crate::redact::redact;
use crate::scope::AgentNo;
use crate::tree::AssistantHome;

/// Largest length of a section name and of an owner name, in bytes.
const LONGEST_SECTION_NAME: usize = 40;
const LONGEST_OWNER: usize = 64;

/// The right to commit, and the revision to build on.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Granted {
    pub epoch: i64,
    pub base_revision: i64,
    /// Milliseconds from now until the lease ends.
    pub for_ms: Millis,
    /// The rendered block of the base revision.
    pub content: String,
    pub sections: Sections,
}

/// Another owner holds the head, for at most the given time.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Busy {
    pub by: String,
    pub for_ms: Millis,
}

/// The outcome of acquiring a head.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Acquired {
    Granted(Granted),
    Held(Busy),
}

/// The outcome of a commit.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Committed {
    /// The commit is stored as this revision; if it changed nothing, this is the existing one. `published`: whether the
    /// file shows the revision; otherwise the next command writes it.
    Stands {
        revision: i64,
        published: bool,
    },
    Refused(NotNow),
}

/// Why a commit was not stored, and what happened to its text.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct NotNow {
    /// Whether the text is kept and will be applied when the head is free.
    pub deferred: bool,
    /// The reason for people, with what to do if the text was not kept.
    pub why: String,
    /// The current holder of the head.
    pub holder: Option<Busy>,
    pub epoch: i64,
    pub revision: i64,
}

/// A section to store, or, with empty content, to remove.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Change<'a> {
    pub section: &'a str,
    pub owner: &'a str,
    pub content: &'a str,
}

/// Acquires a head for `ttl` milliseconds. Deferred commits are applied first, so that the new holder reads them.
pub fn acquire(at: &AssistantHome, head: &PageKey, owner: &str, ttl: Millis) -> Result<Acquired> {
    writable(head)?;
    check_owner(owner)?;
    if !(1..=head_lease::LONGEST_TTL).contains(&ttl) {
        return Err(Error::usage("a lease is for 1 to 60 seconds"));
    }
    // A page that was never rendered has no content to build on.
    if !at.read(|tx| pages::is_known(tx, at.agent_no, head))? {
        at.write("head.mark", |tx| {
            tx.note("head", head.to_string());
            shared::begin(tx, at.agent_no, head)
        })?;
    }
    super::refresh(at, Occasion::Look)?;
    if let Some(held) = refused_before(at, head, owner, ttl)? {
        return Ok(Acquired::Held(held));
    }
    let (acquired, landed) = at.write("head.acquire", |tx| {
        let (mut state, mut page) = shared::newest(tx, at.agent_no, head)?;
        let now = at.ledger.clock().boot();
        let landed = shared::land(tx, at.agent_no, head, (&mut state, &mut page), &now)?;
        let acquired = match head_lease::acquire(&mut state, owner, &now, ttl) {
            Ok(grant) => {
                shared::keep(tx, at.agent_no, head, &state)?;
                Acquired::Granted(Granted {
                    epoch: grant.epoch,
                    base_revision: grant.base_revision,
                    for_ms: grant.until - now.ms,
                    content: page.rendered,
                    sections: page.sections,
                })
            }
            Err(held) => Acquired::Held(busy(held, &now)),
        };
        note(tx, head, owner, &state);
        tx.note("granted", matches!(acquired, Acquired::Granted(_)));
        Ok((acquired, landed))
    })?;
    if landed > 0 {
        publish(at, head)?;
    }
    Ok(acquired)
}

/// Returns the holder of a head, if the audit already has a refusal because of this lease. A program that asks
/// repeatedly until the head is free would otherwise fill the audit with the same row.
fn refused_before(at: &AssistantHome, head: &PageKey, owner: &str, ttl: Millis) -> Result<Option<Busy>> {
    let now = at.ledger.clock().boot();
    at.read(|tx| {
        let mut state = shared::state(tx, at.agent_no, head)?;
        let epoch = state.epoch;
        let Err(held) = head_lease::acquire(&mut state, owner, &now, ttl) else { return Ok(None) };
        let said = audit::said_lately(tx, "head.acquire", |detail| {
            detail["head"] == head.to_string() && detail["epoch"] == epoch && detail["granted"] == false
        })?;
        Ok(said.then(|| busy(held, &now)))
    })
}

/// Commits a section. `Refused` if the section belongs to another owner or the head has the largest number of sections;
/// `Usage` if a name or the text is not acceptable. After a conflict, [`NotNow`] says whether the text was kept.
pub fn commit(
    at: &AssistantHome,
    head: &PageKey,
    change: &Change,
    epoch: i64,
    base_revision: i64,
) -> Result<Committed> {
    writable(head)?;
    check_owner(change.owner)?;
    check_section(change.section)?;
    let content = stored_content(change.content)?;
    let content = content.as_deref();
    let Change { section, owner, .. } = *change;
    let committed = at.write("head.commit", |tx| {
        shared::begin(tx, at.agent_no, head)?;
        let (mut state, mut page) = shared::newest(tx, at.agent_no, head)?;
        let now = at.ledger.clock().boot();
        shared::has_room(&page.sections, section, owner, content).map_err(|no| no_room(head, section, &no))?;
        let before = state.clone();
        let out = match head_lease::commit(&mut state, epoch, base_revision, owner, &now) {
            Ok(revision) => {
                shared::drop_deferred(tx, at.agent_no, head, section, owner)?;
                if page.sections.get(section).map(|s| s.content.as_str()) == content {
                    state = before;
                } else {
                    if revision == 1 {
                        // The page was never rendered.
                        pages::mark(tx, at.agent_no, &Happened::PagesAsked(vec![head.clone()]))?;
                    }
                    shared::put_section(tx, at.agent_no, head, &mut page, (section, owner, content))?;
                    shared::insert(tx, at.agent_no, head, (&state, &page), owner)?;
                    shared::keep(tx, at.agent_no, head, &state)?;
                }
                Committed::Stands { revision: state.revision, published: false }
            }
            Err(refused) => {
                let why = defer(tx, at.agent_no, head, &page, base_revision, (section, owner, content))?;
                let holder = match &refused {
                    Refused::Held(held) => Some(busy(held.clone(), &now)),
                    _ => head_lease::held_by_another(&state, owner, &now).map(|held| busy(held, &now)),
                };
                let deferred = why.is_none();
                let why = match why {
                    Some(more) => format!("{refused}; {more}"),
                    None => refused.to_string(),
                };
                tx.note("refused", why.as_str());
                Committed::Refused(NotNow { deferred, why, holder, epoch: state.epoch, revision: state.revision })
            }
        };
        note(tx, head, owner, &state);
        tx.note("section", section);
        Ok(out)
    })?;
    match committed {
        Committed::Stands { revision, .. } => Ok(Committed::Stands { revision, published: publish(at, head)? }),
        refused => Ok(refused),
    }
}

/// Releases a head and applies deferred commits. Returns whether there was a lease to release.
pub fn release(at: &AssistantHome, head: &PageKey, owner: &str, epoch: i64) -> Result<bool> {
    writable(head)?;
    check_owner(owner)?;
    let (released, landed) = at.write("head.release", |tx| {
        let (mut state, mut page) = shared::newest(tx, at.agent_no, head)?;
        let released = head_lease::release(&mut state, epoch, owner);
        if released {
            shared::keep(tx, at.agent_no, head, &state)?;
        }
        let now = at.ledger.clock().boot();
        let landed = shared::land(tx, at.agent_no, head, (&mut state, &mut page), &now)?;
        note(tx, head, owner, &state);
        tx.note("released", released);
        Ok((released, landed))
    })?;
    if landed > 0 {
        publish(at, head)?;
    }
    Ok(released)
}

/// Returns the current holder of a head.
pub fn holder(at: &AssistantHome, state: &HeadState) -> Option<Busy> {
    let now = at.ledger.clock().boot();
    head_lease::live(state, &now).map(|l| Busy { by: l.owner.clone(), for_ms: l.until - now.ms })
}

/// Publishes the newest revision, unless another process already has. Returns whether it is in the file.
fn publish(at: &AssistantHome, head: &PageKey) -> Result<bool> {
    let behind = || at.read(|tx| pages::is_behind(tx, at.agent_no, head));
    let lock = at.lock_unscanned()?;
    // Another process may have published it while this one waited for the tree lock.
    if behind()? {
        super::publish(&lock, head)?;
    }
    Ok(!behind()?)
}

/// Defers the text of a refused commit. Returns why it could not be kept and what to do; `None` if it was kept.
fn defer(
    tx: &Write,
    agent_no: AgentNo,
    head: &PageKey,
    page: &Page,
    base_revision: i64,
    (section, owner, content): (&str, &str, Option<&str>),
) -> Result<Option<&'static str>> {
    let base = shared::sections_of(tx, agent_no, head, base_revision)?;
    if base.is_none_or(|base| base.get(section) != page.sections.get(section)) {
        return Ok(Some(
            "your section was changed since the revision this rests on; acquire again and write on top of it",
        ));
    }
    match shared::defer(tx, agent_no, head, (section, owner, content))? {
        true => Ok(None),
        false => Ok(Some("too many commits wait for this head already; try again when it is free")),
    }
}

fn busy(held: Held, now: &Boot) -> Busy {
    Busy { by: held.by, for_ms: (held.until - now.ms).max(0) }
}

fn note(tx: &mut Write, head: &PageKey, owner: &str, state: &HeadState) {
    tx.note("head", head.to_string());
    tx.note("owner", owner);
    tx.note("epoch", state.epoch);
    tx.note("revision", state.revision);
}

fn no_room(head: &PageKey, section: &str, why: &NoRoom) -> Error {
    match why {
        NoRoom::Owned(owner) => {
            Error::refused(format!("the section {section} of {} belongs to {owner}; nothing was changed", head))
                .hint("use a section name of your own; only its owner replaces or removes a section")
        }
        NoRoom::Full => Error::refused(format!("{} has {MOST_SECTIONS} sections already", head))
            .hint("remove one first: its owner commits it empty; see ⟨head show⟩"),
    }
}

fn writable(head: &PageKey) -> Result<()> {
    match head.is_shared() {
        true => Ok(()),
        false => Err(Error::usage(format!("{} takes no sections", head))
            .hint("memory, active, threads and the heads of threads do")),
    }
}

/// Checks a section name: `[a-z0-9-]{1,40}`.
fn check_section(name: &str) -> Result<()> {
    let valid = (1..=LONGEST_SECTION_NAME).contains(&name.len())
        && name.bytes().all(|b| b.is_ascii_lowercase() || b.is_ascii_digit() || b == b'-');
    match valid {
        true => Ok(()),
        false => Err(Error::usage("that is no name for a section").hint("1 to 40 of a-z, 0-9 and -")),
    }
}

/// Checks the name of an owner.
fn check_owner(owner: &str) -> Result<()> {
    let valid = (1..=LONGEST_OWNER).contains(&owner.len())
        && owner.bytes().all(|b| b.is_ascii_alphanumeric() || b"-_.:@/".contains(&b));
    if !valid {
        return Err(Error::usage("that is no name for an owner")
            .hint("1 to 64 letters, digits and - _ . : @ /, as planner or ci@build-7"));
    }
    if owner == OWNER {
        return Err(
            Error::usage(format!("{OWNER} is the name of who renders the pages")).hint("use a name of your own")
        );
    }
    if redact(owner) != owner {
        return Err(Error::usage("the owner's name looks like a credential").hint("use a name"));
    }
    Ok(())
}

/// Returns the text in the form in which it is stored; `None` removes the section.
fn stored_content(content: &str) -> Result<Option<String>> {
    if content.len() > LARGEST_SECTION {
        return Err(Error::usage(format!(
            "a section has at most {LARGEST_SECTION} bytes; this one has {}",
            content.len()
        ))
        .hint("say less here and lead to the rest: a path, or the id of a memory"));
    }
    let text = content.replace("\r\n", "\n");
    if let Some(line) = text.lines().find(|l| l.contains("heirloom:") && l.contains("<!--")) {
        let shown: String = redact(line).chars().take(60).collect();
        return Err(Error::usage(format!("a section cannot have markers inside: {shown:?}")).hint("leave the line out"));
    }
    let hides = |c: char| {
        (c.is_control() && c != '\n' && c != '\t')
            || matches!(c as u32, 0x202a..=0x202e | 0x2066..=0x2069 | 0xe0000..=0xe007f)
    };
    if let Some(c) = text.chars().find(|c| hides(*c)) {
        return Err(Error::usage(format!("a section cannot have the character U+{:04X}", c as u32))
            .hint("send plain text: no escape sequences, no direction overrides"));
    }
    let text = redact(&text).trim_matches('\n').to_owned();
    Ok((!text.trim().is_empty()).then_some(text))
}
