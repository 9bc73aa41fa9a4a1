//! Changes a person made inside a rendered block (D2).
//!
//! The opening marker contains a fingerprint of the block as it was rendered. If the block no longer matches it, the
//! file as the person left it is kept as a revision. In MEMORY.md, in addition, a line added under Commitments becomes
//! an open loop, the other added lines together become one proposal (the same text always makes the same proposal), and
//! a removed line dismisses its item until the item changes. A changed line counts as removed and added; a changed
//! commitment takes the place of the loop it was.

use super::{memory, shared};
use crate::continuity::open_loop::{self, NewLoop};
use crate::continuity::proposal::{self, NewProposal};
use crate::document::{Document, Found};
use crate::error::{ErrorKind, Result};
use crate::home;
use crate::pages::{PageKey, dismissals};
use crate::scope::{NodeId, TurnId};
use crate::title::wordless;
use crate::tree::TreeLock;
use crate::tree::file_table::{self, State};
use crate::tree::provenance::{Origin, Provenance};

/// The result of checking a block for edits.
#[derive(Default, Debug)]
pub(super) struct ProcessedEdits {
    /// Digest of the block when it was checked; `None` if there was no block.
    pub seen: Option<home::Digest>,
    /// Ids of the proposals and open loops made from it.
    pub proposed: Vec<String>,
}

/// Largest number of bytes of a line that is taken into a proposal.
const LONGEST: usize = 2_000;
const MOST: usize = 50;

/// Returns an identifier of a rendered block that does not depend on the file's line endings: 12 hex digits.
pub(super) fn fingerprint(block: &[u8]) -> String {
    let digest = home::digest(lines(block).join("\n").as_bytes());
    digest[..6].iter().map(|b| format!("{b:02x}")).collect()
}

/// Returns the digest of the contents of the block, and of the sections if the page has some.
pub(super) fn inside(doc: &Document, head: &PageKey) -> Option<home::Digest> {
    let block = doc.region(head.region()).found?;
    let mut bytes = block.content.to_vec();
    for name in &shared::regions(head)[1..] {
        bytes.extend(doc.region(name).found.map(|f| f.content).unwrap_or_default());
    }
    Some(home::digest(&bytes))
}

/// Whether a region was edited since it was rendered.
fn is_edited(found: &Found) -> bool {
    fingerprint(found.content) != fingerprint_of(found)
}

/// The fingerprint recorded in a region's opening marker.
fn fingerprint_of<'f>(found: &Found<'f>) -> &'f str {
    found.attributes.split_whitespace().next().unwrap_or_default()
}

pub(super) fn process(lock: &TreeLock, head: &PageKey, last: Option<&[u8]>) -> Result<ProcessedEdits> {
    let path = head.path()?;
    let found = match lock.at.files.read_with_stamp(&path, crate::tree::LARGEST_FILE) {
        Ok(found) => found,
        Err(e) if e.kind() == ErrorKind::Refused => None,
        Err(e) => return Err(e),
    };
    let Some((bytes, _)) = found else { return Ok(ProcessedEdits::default()) };
    let doc = Document::parse(bytes.clone());
    let mut out = ProcessedEdits { seen: inside(&doc, head), proposed: Vec::new() };
    let region = doc.region(head.region());
    let Some(block) = region.found else { return Ok(out) };
    let rendered_as = fingerprint_of(&block);
    let edited = is_edited(&block);
    let others = &shared::regions(head)[1..];
    if edited || others.iter().any(|name| doc.region(name).found.is_some_and(|found| is_edited(&found))) {
        lock.at.keep_revision(&path, &bytes, "edited inside the rendered block")?;
    }
    if !edited {
        return Ok(out);
    }
    // If the stored block is not the one the person edited, the lines cannot be compared, and only the revision is
    // kept.
    let Some(last) = last.filter(|last| fingerprint(last) == rendered_as) else { return Ok(out) };
    if *head != PageKey::Memory {
        return Ok(out);
    }
    let (now, before) = (lines(block.content), lines(last));
    let removed = without(&before, &now);
    let added: Vec<(bool, &str, String)> = added(&now, &before)
        .into_iter()
        .map(|(section, l)| (is_commitment(section, l), l, plain(l)))
        .filter(|(.., l)| !l.is_empty() && l.len() <= LONGEST)
        .take(MOST)
        .collect();
    let (owed, added): (Vec<_>, Vec<_>) = added.into_iter().partition(|(owed, ..)| *owed);
    let added: Vec<String> = added.into_iter().map(|(.., l)| l).collect();
    dismiss(lock, head, &removed)?;
    for (_, line, text) in owed {
        out.proposed.extend(owe(lock, line, &text)?);
    }
    if let Some(first) = added.first() {
        let title: String = first.chars().take(80).collect();
        let item = proposal::add(
            lock,
            &NewProposal {
                title,
                entries: added.clone(),
                class: "preference".into(),
                scope: "agent".into(),
                confidence: None,
                source: Provenance { origin: Origin::Hand, ..Provenance::default() },
            },
        )?;
        out.proposed.push(item.id);
    }
    Ok(out)
}

/// The kind of an open loop that a person wrote down as a commitment.
const PROMISE: &str = "promise";

/// Whether an added line is a commitment: a new one, or an open loop in other words. A changed line of another item is
/// not.
fn is_commitment(section: &str, line: &str) -> bool {
    section == memory::Section::Commitments.title() && reference_in(line).is_none_or(|id| id.starts_with("l:"))
}

/// Makes an open loop of a commitment and returns its id. The loop that the line named is closed and goes on in the new
/// words, with its scope, thread and day; if only the details behind its title were changed, nothing happens.
fn owe(lock: &TreeLock, line: &str, text: &str) -> Result<Option<String>> {
    let at = lock.at;
    let before = match reference_in(line) {
        Some(id) => at.read(|tx| file_table::item(tx, at.agent_no, &id))?,
        None => None,
    };
    let (title, due) = match &before {
        // Thread and day of the loop stand behind its title.
        Some(_) => (text.split(" · ").next().unwrap_or(text).to_owned(), None),
        None => dated(text),
    };
    // A long title is cut on the page.
    let shown = title.strip_suffix('…').map(str::trim_end);
    let is_same = |whole: &str| whole == title || shown.is_some_and(|shown| whole.starts_with(shown));
    if before.as_ref().is_some_and(|before| is_same(&before.title)) {
        return Ok(None);
    }
    let field = |name: &str| before.as_ref().and_then(|before| before.field(name)).map(str::to_owned);
    let new = NewLoop {
        title,
        due: due.or_else(|| field("due")),
        scope: field("scope"),
        thread: field("thread"),
        kind: Some(PROMISE.into()),
        source: Provenance { origin: Origin::Hand, ..Provenance::default() },
        ..NewLoop::default()
    };
    let id = open_loop::add(lock, &new)?.id;
    let replaced = before.filter(|before| before.state == State::Active).and_then(|before| before.item);
    if let Some(before) = replaced.filter(|before| *before != id) {
        open_loop::resolve(lock, &[before], Some(&format!("reworded by hand: {id}")))?;
    }
    Ok(Some(id))
}

/// Splits a commitment into its text and its day: `Send the table · due 2026-11-27`.
fn dated(line: &str) -> (String, Option<String>) {
    let line = line.strip_prefix("[ ] ").unwrap_or(line).trim();
    let Some((rest, day)) = line.rsplit_once(' ') else { return (line.to_owned(), None) };
    let day = day.trim_matches(['(', ')', '.', ',']);
    let joint =
        ["due", "by", "until", "bis", "avant", "antes"].iter().find_map(|w| rest.trim_end_matches(':').strip_suffix(w));
    match joint.map(|title| title.trim_end_matches(['·', ',', '(', ' '])).filter(|title| !title.is_empty()) {
        Some(title) if day.parse::<jiff::civil::Date>().is_ok() => (title.to_owned(), Some(day.to_owned())),
        _ => (line.to_owned(), None),
    }
}

/// Returns the lines of `now` that were not there before, each with the heading above it.
fn added<'n>(now: &'n [String], before: &[String]) -> Vec<(&'n str, &'n str)> {
    let mut rest: Vec<&String> = before.iter().collect();
    let (mut section, mut out) = ("", Vec::new());
    for line in now {
        match rest.iter().position(|r| *r == line) {
            Some(at) => drop(rest.swap_remove(at)),
            None if !line.starts_with('#') => out.push((section, line.as_str())),
            None => {}
        }
        if line.starts_with('#') {
            section = line.trim_start_matches('#').trim();
        }
    }
    out
}

/// Dismisses the items of removed lines until they change: an item with a file until the file changes, any other until
/// the words of its line change.
fn dismiss(lock: &TreeLock, head: &PageKey, removed: &[String]) -> Result<()> {
    let items: Vec<(String, &String)> = removed.iter().filter_map(|l| Some((reference_in(l)?, l))).collect();
    if items.is_empty() {
        return Ok(());
    }
    let at = lock.at;
    at.write("head.dismiss", |tx| {
        let mut noted = Vec::new();
        for (reference, line) in &items {
            let file = match reference.contains(':') {
                true => file_table::item(tx, at.agent_no, reference)?,
                false => None,
            };
            let (item, digest) = match file {
                Some(entry) => (reference.clone(), entry.digest),
                None => line_key(reference, line),
            };
            dismissals::dismiss(tx, at.agent_no, head, &item, &digest)?;
            noted.push(if reference.contains(':') { wordless(reference) } else { reference.clone() });
        }
        tx.note("items", noted);
        Ok(())
    })
}

/// Returns the key and digest by which a line without a file is dismissed: its reference, and the digest of its text.
pub(super) fn line_key(reference: &str, line: &str) -> (String, home::Digest) {
    let digest = home::digest(plain(line).as_bytes());
    let short: String = digest[..6].iter().map(|b| format!("{b:02x}")).collect();
    (format!("{reference}#{short}"), digest)
}

/// Returns the last `[l:…]`, `[n…]` or `[t…]` of a line: the id of the item that the line is about.
pub(super) fn reference_in(line: &str) -> Option<String> {
    let open = line.rfind('[')?;
    let id = line[open + 1..].split(']').next()?;
    let item = id.split_once(':').is_some_and(|(prefix, rest)| prefix.len() == 1 && !rest.is_empty());
    (item || NodeId::parse(id).is_some() || TurnId::parse(id).is_some()).then(|| id.to_owned())
}

/// Returns a line as an item's text: without the list mark and the trailing reference.
fn plain(line: &str) -> String {
    let line = line.trim();
    let line = line.strip_prefix("- ").or_else(|| line.strip_prefix("* ")).unwrap_or(line);
    match (reference_in(line), line.rfind(" · [")) {
        (Some(_), Some(at)) => line[..at].trim().to_owned(),
        _ => line.trim().to_owned(),
    }
}

fn lines(block: &[u8]) -> Vec<String> {
    String::from_utf8_lossy(block).lines().map(|l| l.trim_end().to_owned()).filter(|l| !l.is_empty()).collect()
}

/// Returns the lines of `these` that are not among `those`, counting duplicates.
fn without(these: &[String], those: &[String]) -> Vec<String> {
    let mut rest: Vec<&String> = those.iter().collect();
    let mut out = Vec::new();
    for line in these {
        match rest.iter().position(|r| *r == line) {
            Some(at) => {
                rest.swap_remove(at);
            }
            None => out.push(line.clone()),
        }
    }
    out
}
