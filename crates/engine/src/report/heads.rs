//! Heads: the pages programs read first, their revisions, and the results of acts on them.

use schemars::JsonSchema;
use serde::Serialize;

use super::round;
use crate::clock::{Millis, rfc3339};
use crate::error::{Error, Result};
use crate::pages::PageKey;
use crate::pages::shared::{Section, Sections};
use crate::redact::redact;
use crate::render::head_commits::{Busy, Granted, NotNow};
use crate::render::revisions::{self, Line, Overview};
use crate::render::why;
use crate::tree::AssistantHome;

/// The heads that other programs may write.
#[derive(Clone, PartialEq, Eq, Serialize, JsonSchema, Debug)]
pub struct HeadsReport {
    pub heads: Vec<HeadReport>,
}

/// A head, its lease and its deferred commits.
#[derive(Clone, PartialEq, Eq, Serialize, JsonSchema, Debug)]
pub struct HeadReport {
    /// Name of the head: `memory`, or the key of a thread.
    pub head: String,
    /// Label of the thread, if the head belongs to one.
    pub label: Option<String>,
    pub path: String,
    pub revision: i64,
    /// Revision that is now in the file.
    pub published: i64,
    pub epoch: i64,
    pub holder: Option<String>,
    /// Milliseconds until the lease ends at the latest.
    pub free_in_ms: Millis,
    pub sections: Vec<SectionOverview>,
    /// Commits that are applied when the lease ends.
    pub deferred: Vec<DeferredReport>,
}

#[derive(Clone, PartialEq, Eq, Serialize, JsonSchema, Debug)]
pub struct SectionOverview {
    pub section: String,
    pub owner: String,
    pub bytes: usize,
}

#[derive(Clone, PartialEq, Eq, Serialize, JsonSchema, Debug)]
pub struct DeferredReport {
    pub section: String,
    pub owner: String,
}

impl HeadsReport {
    pub fn list(at: &AssistantHome) -> Result<HeadsReport> {
        let heads = revisions::list(at)?.into_iter().map(head_report);
        Ok(HeadsReport { heads: heads.collect::<Result<_>>()? })
    }
}

fn head_report(o: Overview) -> Result<HeadReport> {
    let section = |(section, s): (String, Section)| SectionOverview { section, owner: s.owner, bytes: s.content.len() };
    let (holder, free_in_ms) = held(o.holder.as_ref());
    Ok(HeadReport {
        path: o.head.path()?.as_str().to_owned(),
        head: o.name,
        label: o.label.as_deref().map(clean),
        revision: o.state.revision,
        published: o.published,
        epoch: o.state.epoch,
        holder,
        free_in_ms,
        sections: o.sections.into_iter().map(section).collect(),
        deferred: o.deferred.into_iter().map(|(section, owner)| DeferredReport { section, owner }).collect(),
    })
}

/// Returns the holder of the lease and the milliseconds until it ends at the latest.
fn held(busy: Option<&Busy>) -> (Option<String>, Millis) {
    busy.map_or((None, 0), |busy| (Some(busy.by.clone()), busy.for_ms))
}

fn clean(text: &str) -> String {
    redact(text).into_owned()
}

/// Returns the name of a head: `memory`, or the key of a thread.
fn name_of(at: &AssistantHome, head: &PageKey) -> Result<String> {
    Ok(revisions::look(at, head)?.name)
}

/// Returns the sections with credentials removed.
fn sections(all: &Sections) -> Sections {
    let clean = |s: &Section| Section { content: clean(&s.content), ..s.clone() };
    all.iter().map(|(name, section)| (name.clone(), clean(section))).collect()
}

/// The content of one revision of a head.
#[derive(Clone, PartialEq, Eq, Serialize, JsonSchema, Debug)]
pub struct HeadShown {
    pub head: String,
    pub path: String,
    pub revision: i64,
    /// Number of the newest revision.
    pub newest: i64,
    /// The rendered block of the page.
    pub content: String,
    pub sections: Sections,
    /// Path of the page on this machine.
    #[serde(skip)]
    pub file: String,
    /// Block and sections as one text.
    #[serde(skip)]
    pub text: String,
}

impl HeadShown {
    /// Reads one revision of a head; without a number, the newest. `NotFound` if there is no such revision.
    pub fn of(at: &AssistantHome, head: &PageKey, revision: Option<i64>) -> Result<HeadShown> {
        let overview = revisions::look(at, head)?;
        let newest = overview.state.revision;
        let number = revision.unwrap_or(newest);
        if revision.is_none() && number == 0 {
            return Err(Error::not_found(format!("{} was not rendered yet", overview.name)).hint(
                "it is with the next command that changes something; the file itself is left as it is till then",
            ));
        }
        let page = revisions::revision(at, head, number)?;
        let path = head.path()?;
        Ok(HeadShown {
            head: overview.name,
            path: path.as_str().to_owned(),
            revision: number,
            newest,
            content: clean(&page.rendered),
            sections: sections(&page.sections),
            file: at.shown(&path),
            text: lines(&page.text()),
        })
    }
}

/// Returns a text without credentials that ends with a line break, unless it is empty.
fn lines(text: &str) -> String {
    let mut text = clean(text);
    if !text.is_empty() && !text.ends_with('\n') {
        text.push('\n');
    }
    text
}

/// Every line of a head as it would be rendered now, and what was left out.
#[derive(Clone, PartialEq, Serialize, JsonSchema, Debug)]
pub struct HeadExplained {
    pub head: String,
    pub lines: Vec<LineExplained>,
}

/// A line of a head with its score and the reasons for it.
#[derive(Clone, PartialEq, Serialize, JsonSchema, Debug)]
pub struct LineExplained {
    pub agent_id: String,
    /// Heading above the line.
    pub section: String,
    pub text: String,
    /// Reference that `expand` accepts for the source of the line.
    pub reference: Option<String>,
    /// Score of the line, in sections that choose lines by score.
    pub score: Option<f64>,
    pub reasons: Vec<String>,
    /// Why the line is not on the page; `None` if it is.
    pub left_out: Option<String>,
}

impl HeadExplained {
    pub fn of(at: &AssistantHome, head: &PageKey) -> Result<HeadExplained> {
        let lines = at.read(|tx| why::why(at, tx, head))?.into_iter().map(|line| LineExplained {
            agent_id: at.agent.as_str().to_owned(),
            text: clean(&line.text),
            section: line.section,
            reference: line.reference,
            score: line.score.map(round),
            reasons: line.reasons,
            left_out: line.left_out,
        });
        Ok(HeadExplained { lines: lines.collect(), head: name_of(at, head)? })
    }
}

/// Revisions of a head, newest first.
#[derive(Clone, PartialEq, Eq, Serialize, JsonSchema, Debug)]
pub struct HeadLog {
    pub head: String,
    pub revisions: Vec<HeadRevision>,
    /// Number of all revisions that are kept.
    pub all: u64,
}

/// One revision, as listed.
#[derive(Clone, PartialEq, Eq, Serialize, JsonSchema, Debug)]
pub struct HeadRevision {
    pub revision: i64,
    pub epoch: i64,
    /// Program that committed the revision; `heirloom` if it was rendered.
    pub owner: String,
    pub at: String,
    pub digest: String,
    /// Names of the sections in the revision.
    pub sections: Vec<String>,
    /// Whether the rendered text of the revision was forgotten.
    pub forgotten: bool,
    #[serde(skip)]
    pub at_ms: Millis,
}

impl HeadLog {
    pub fn of(at: &AssistantHome, head: &PageKey, limit: usize) -> Result<HeadLog> {
        let (entries, all) = revisions::log(at, head, limit)?;
        let revisions = entries.into_iter().map(|e| HeadRevision {
            revision: e.revision,
            epoch: e.epoch,
            owner: e.owner,
            at: rfc3339(e.at),
            digest: e.digest.iter().map(|b| format!("{b:02x}")).collect(),
            sections: e.sections,
            forgotten: e.forgotten,
            at_ms: e.at,
        });
        Ok(HeadLog { revisions: revisions.collect(), head: name_of(at, head)?, all })
    }
}

/// The lines in which two revisions of a head differ, with the lines around them.
#[derive(Clone, PartialEq, Eq, Serialize, JsonSchema, Debug)]
pub struct HeadDiff {
    pub head: String,
    pub from: i64,
    pub to: i64,
    pub lines: Vec<DiffLine>,
}

#[derive(Clone, PartialEq, Eq, Serialize, JsonSchema, Debug)]
pub struct DiffLine {
    /// How the line changed: `same`, `added` or `removed`.
    pub change: &'static str,
    pub text: String,
}

impl HeadDiff {
    /// Compares two revisions. `to`: the newer one; `None` for the newest of all.
    pub fn of(at: &AssistantHome, head: &PageKey, from: i64, to: Option<i64>) -> Result<HeadDiff> {
        let overview = revisions::look(at, head)?;
        let to = to.unwrap_or(overview.state.revision);
        let says = |n: i64| -> Result<String> { Ok(lines(&revisions::revision(at, head, n)?.text())) };
        let lines = revisions::diff(&says(from)?, &says(to)?).into_iter().map(|(line, text)| {
            let change = match line {
                Line::Same => "same",
                Line::Added => "added",
                Line::Removed => "removed",
            };
            DiffLine { change, text }
        });
        Ok(HeadDiff { head: overview.name, from, to, lines: lines.collect() })
    }
}

/// A head whose sections were restored from an older revision.
#[derive(Clone, PartialEq, Eq, Serialize, JsonSchema, Debug)]
pub struct HeadRestored {
    pub head: String,
    /// The older revision.
    pub from: i64,
    /// The new revision made by the restore.
    pub revision: i64,
    /// Names of the restored sections.
    pub sections: Vec<String>,
}

impl HeadRestored {
    /// Restores the sections of a revision as a new revision. Errors as [`revisions::restore`].
    pub fn restore(at: &AssistantHome, head: &PageKey, from: i64) -> Result<HeadRestored> {
        let revision = revisions::restore(at, head, from)?;
        let overview = revisions::look(at, head)?;
        Ok(HeadRestored { head: overview.name, from, revision, sections: overview.sections.into_keys().collect() })
    }
}

/// The lease on a head that was acquired.
#[derive(Clone, PartialEq, Eq, Serialize, JsonSchema, Debug)]
pub struct HeadGranted {
    pub head: String,
    pub epoch: i64,
    pub base_revision: i64,
    pub owner: String,
    pub lease_until_ms_from_now: Millis,
    /// The rendered block of the base revision.
    pub content: String,
    pub sections: Sections,
}

impl HeadGranted {
    pub fn of(at: &AssistantHome, head: &PageKey, owner: &str, grant: &Granted) -> Result<HeadGranted> {
        Ok(HeadGranted {
            head: name_of(at, head)?,
            epoch: grant.epoch,
            base_revision: grant.base_revision,
            owner: owner.to_owned(),
            lease_until_ms_from_now: grant.for_ms,
            content: clean(&grant.content),
            sections: sections(&grant.sections),
        })
    }
}

/// Why an act on a head was refused, and what to do next.
#[derive(Clone, PartialEq, Eq, Serialize, JsonSchema, Debug)]
pub struct BusyReport {
    pub kind: &'static str,
    pub what: String,
    pub next: String,
}

impl BusyReport {
    fn of(what: String, next: String) -> BusyReport {
        BusyReport { kind: "busy", what, next }
    }
}

/// Result of asking for a head: granted, or held by another owner.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum HeadAcquired {
    Granted(HeadGranted),
    Held(HeadHeld),
}

/// Result of a commit: the section was committed, or refused.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum HeadCommit {
    Stands(HeadCommitted),
    Refused(HeadRefused),
}

/// A head whose lease another owner holds.
#[derive(Clone, PartialEq, Eq, Serialize, JsonSchema, Debug)]
pub struct HeadHeld {
    pub head: String,
    pub holder: String,
    /// Milliseconds until the lease ends at the latest.
    pub free_in_ms: Millis,
    pub error: BusyReport,
}

impl HeadHeld {
    pub fn of(at: &AssistantHome, head: &PageKey, busy: &Busy) -> Result<HeadHeld> {
        let name = name_of(at, head)?;
        let seconds = (busy.for_ms.max(0) + 999) / 1000;
        let error = BusyReport::of(
            format!("{} is at work on {name}", busy.by),
            format!("it is free in {seconds} s at the latest; try again"),
        );
        Ok(HeadHeld { head: name, holder: busy.by.clone(), free_in_ms: busy.for_ms, error })
    }
}

/// A section that was committed.
#[derive(Clone, PartialEq, Eq, Serialize, JsonSchema, Debug)]
pub struct HeadCommitted {
    pub head: String,
    pub section: String,
    pub revision: i64,
    pub epoch: i64,
    /// Whether the file shows the revision already; if not, the next command writes it.
    pub published: bool,
    /// Always false: the commit was not deferred.
    pub deferred: bool,
}

impl HeadCommitted {
    /// `stands`: the revision with the section, and whether the file shows that revision.
    pub fn of(
        at: &AssistantHome,
        head: &PageKey,
        section: &str,
        epoch: i64,
        (revision, published): (i64, bool),
    ) -> Result<HeadCommitted> {
        let head = name_of(at, head)?;
        Ok(HeadCommitted { head, section: section.to_owned(), revision, epoch, published, deferred: false })
    }
}

/// A section that could not be committed now.
#[derive(Clone, PartialEq, Eq, Serialize, JsonSchema, Debug)]
pub struct HeadRefused {
    pub head: String,
    pub section: String,
    /// Whether the section is kept and committed when the lease of the other owner ends.
    pub deferred: bool,
    pub holder: Option<String>,
    pub free_in_ms: Millis,
    pub current_epoch: i64,
    pub current_revision: i64,
    pub error: BusyReport,
}

impl HeadRefused {
    pub fn of(at: &AssistantHome, head: &PageKey, section: &str, not_now: &NotNow) -> Result<HeadRefused> {
        let name = name_of(at, head)?;
        let next = match not_now.deferred {
            true => "it is kept and lands when the head is free; or acquire the head and commit again",
            false => "it is not kept: acquire the head and commit again",
        };
        let (holder, free_in_ms) = held(not_now.holder.as_ref());
        Ok(HeadRefused {
            error: BusyReport::of(format!("{section} was not committed to {name}: {}", not_now.why), next.to_owned()),
            head: name,
            section: section.to_owned(),
            deferred: not_now.deferred,
            holder,
            free_in_ms,
            current_epoch: not_now.epoch,
            current_revision: not_now.revision,
        })
    }
}

/// A head whose lease was released.
#[derive(Clone, PartialEq, Eq, Serialize, JsonSchema, Debug)]
pub struct HeadReleased {
    pub head: String,
    /// `false` if another owner held the lease by then.
    pub released: bool,
}

impl HeadReleased {
    pub fn of(at: &AssistantHome, head: &PageKey, released: bool) -> Result<HeadReleased> {
        Ok(HeadReleased { head: name_of(at, head)?, released })
    }
}
