//! Carries out a person's decisions about proposed memory and notices (R8.2, R9.5). Storey 3.
//!
//! A merge turns the entries of a proposal into leaves, a rejection keeps the proposal as history, and both can be
//! undone. Each is one act, so that a crash leaves nothing half done. A proposal is read from its file: a person's
//! edits count.
//!
//! This room does not know who made a proposal.

pub mod contradiction;
pub mod inbox;
pub mod kept_aside;
pub mod matter;
pub mod model_matters;
pub mod noticed;
pub mod supersession;

use schemars::JsonSchema;
use serde::Serialize;
use serde_json::{Map, Value, json};

use self::supersession::CurrentMemories;
use crate::clock::{Millis, parse_rfc3339, rfc3339};
use crate::continuity::proposal::{self, Edit, NewProposal, Proposed};
use crate::continuity::{self, Change, Item};
use crate::document::Front;
use crate::error::{Error, Result};
use crate::home::{RelPath, layout};
use crate::memory::{Added, Class, NewLeaf, Outcome, Scope, Writing, leaf};
use crate::pages::Happened;
use crate::redact::redact;
use crate::source::private::mask_text;
use crate::title::{active_name, archived_name, wordless};
use crate::tree::TreeLock;
use crate::tree::file_table::{self, Entry, Kind, State};
use crate::tree::journal::{Step, hex};

/// A merged proposal and the leaves made from its entries.
#[derive(Clone, PartialEq, Eq, Serialize, JsonSchema, Debug)]
pub struct Merged {
    pub proposal: Item,
    /// One leaf for each entry, in order.
    #[serde(rename = "memories")]
    pub leaves: Vec<Added>,
}

/// The result of undoing a decision.
#[derive(Clone, PartialEq, Eq, Serialize, JsonSchema, Debug)]
pub struct Undone {
    pub proposal: Item,
    /// Leaves that were removed.
    pub removed: Vec<String>,
    /// Superseded leaves that are current again.
    pub restored: Vec<String>,
}

/// Proposes memory, or adds to the waiting proposal with this title. Refuses texts that a merge would refuse. Also
/// returns the proposal's row: a proposal that waited before keeps its class and scope. Text between `<private>` tags is
/// not stored, because programs propose what they were told.
pub fn propose(lock: &TreeLock, new: &NewProposal) -> Result<(Item, Option<Entry>)> {
    let new = &without_private(new);
    new.entries.iter().try_for_each(|text| leaf::check_text(text))?;
    let item = proposal::add(lock, new)?;
    let waits = lock.at.read(|tx| file_table::at(tx, lock.at.agent_no, &item.path))?;
    Ok((item, waits))
}

fn without_private(new: &NewProposal) -> NewProposal {
    let entries: Vec<String> = new.entries.iter().map(|text| mask_text(text).into_owned()).collect();
    // A title made of the text may end inside the tags.
    let derived = |entries: &[String]| entries.first().map(|text| leaf::derived_title(&redact(text)));
    let title = match derived(&new.entries) {
        Some(title) if title == new.title => derived(&entries).unwrap_or_default(),
        _ => mask_text(&new.title).into_owned(),
    };
    NewProposal { title, entries, ..new.clone() }
}

/// Changes a waiting proposal. Returns whether anything was written. Refuses a class and scope that do not fit
/// together, as a merge would.
pub fn amend(lock: &TreeLock, entry: &Entry, edit: &Edit) -> Result<bool> {
    edit.entries.iter().flatten().try_for_each(|text| leaf::check_text(text))?;
    if edit.class.is_some() || edit.scope.is_some() {
        let class = edit.class.clone().or_else(|| entry.class.clone());
        let scope = edit.scope.clone().or_else(|| entry.scope.clone());
        fitting(class.as_deref(), scope.as_deref())?;
    }
    Ok(proposal::edit(lock, entry, edit)? == Change::Changed)
}

/// Returns the waiting proposal with this name.
pub fn waiting(lock: &TreeLock, name: &str) -> Result<Entry> {
    lock.at.read(|tx| file_table::named(tx, lock.at.agent_no, Kind::Proposal, State::Active, name))
}

/// Merges proposals, those observed first before the others; all or none. Refuses one that a memory contradicts which
/// was observed later. `within`: the workspace the caller is bound to.
pub fn merge(lock: &TreeLock, names: &[String], within: Option<&str>) -> Result<Vec<Merged>> {
    let mut writing = Writing::new(lock, "proposal.merge");
    let mut out = Vec::new();
    let mut entries = chosen(lock, State::Active, names)?;
    entries.sort_by_key(|entry| observed(entry).unwrap_or(Millis::MAX));
    let known = CurrentMemories::read(lock.at)?;
    for entry in entries {
        let doc = continuity::document(lock, &entry)?;
        if let Front::Damaged(why) = doc.front() {
            return Err(Error::refused(format!(
                "{}: its front matter cannot be read: {why}",
                lock.at.shown(&entry.path)
            ))
            .hint("nothing was merged; mend the lines between the two --- by hand"));
        }
        let id = entry.item.clone().unwrap_or_default();
        let proposed = proposal::proposed(&entry, &doc);
        if proposed.entries.is_empty() {
            return Err(Error::refused(format!("there is nothing in {id} to remember"))
                .hint(format!("nothing was merged; write `- …` lines into {}", lock.at.shown(&entry.path))));
        }
        let (class, scope) = destination(&proposed).map_err(|e| about(&id, e))?;
        scope.allowed(within)?;
        let mut leaves: Vec<Added> = Vec::new();
        for text in &proposed.entries {
            // A proposal with one entry gives its title to the memory.
            let titled = proposed.entries.len() == 1 && proposal::is_titled(&entry, text);
            let new = NewLeaf {
                title: titled.then(|| proposed.title.clone()),
                subject: entry.field("subject").filter(|_| proposed.entries.len() == 1).map(str::to_owned),
                tags: tags_of(&entry),
                confidence: proposed.confidence.filter(|c| (0.0..=1.0).contains(c)),
                source: proposed.source.clone(),
                observed: observed(&entry),
                verified: true,
                confirmed: true,
                ..NewLeaf::new(class, scope.clone(), text.as_str())
            };
            if let Some((newer, said)) = known.newer(&new) {
                return Err(outdated(&id, &newer, &said));
            }
            let added = writing.add(&new).map_err(|e| about(&id, e))?;
            leaves.push(supersession::displace(
                &mut writing,
                lock.at,
                text,
                &listed(&entry, proposal::REPLACES),
                added,
            )?);
        }
        let ids = |outcome: &dyn Fn(Outcome) -> bool| -> Vec<String> {
            let mut ids: Vec<String> = Vec::new();
            for leaf in leaves.iter().filter(|l| outcome(l.outcome)) {
                if !ids.contains(&leaf.id) {
                    ids.push(leaf.id.clone());
                }
            }
            ids
        };
        let made = ids(&|o| o == Outcome::New);
        let known: Vec<String> = ids(&|o| o != Outcome::New).into_iter().filter(|id| !made.contains(id)).collect();
        let mut set = Map::from_iter([
            ("status".to_owned(), Value::from("merged")),
            ("class".into(), class.name().into()),
            ("scope".into(), scope.to_string().into()),
            ("merged".into(), rfc3339(lock.at.ledger.now()).into()),
            ("leaves".into(), json!(made)),
        ]);
        if !known.is_empty() {
            set.insert("known".into(), json!(known));
        }
        let to = layout::PROPOSALS_MERGED.join(&archived_name(entry.path.name()))?;
        let unset = ["leaves", "known"].iter().filter(|k| !set.contains_key(**k)).map(|k| (*k).to_owned()).collect();
        let (from, target) = (entry.path.as_str().to_owned(), to.as_str().to_owned());
        writing.also(|act| {
            let act = act.tells(&Happened::ProposalChanged).note("proposal", wordless(&id));
            act.step(Step::Move { from, to: target, set, unset })
        });
        out.push(Merged { proposal: item(&entry, &to), leaves });
    }
    writing.perform(|_| Ok(()))?;
    Ok(out)
}

/// Rejects proposals; their files move to the archive.
pub fn reject(lock: &TreeLock, names: &[String], reason: Option<&str>) -> Result<Vec<Item>> {
    let mut act = proposal::act("proposal.reject");
    let mut items = Vec::new();
    for entry in chosen(lock, State::Active, names)? {
        let to = layout::PROPOSALS_REJECTED.join(&archived_name(entry.path.name()))?;
        let mut set = Map::from_iter([
            ("status".to_owned(), Value::from("rejected")),
            ("rejected".into(), rfc3339(lock.at.ledger.now()).into()),
        ]);
        if let Some(reason) = reason.map(str::trim).filter(|r| !r.is_empty()) {
            set.insert("reason".into(), reason.into());
        }
        let (from, target) = (entry.path.as_str().to_owned(), to.as_str().to_owned());
        act = act.step(Step::Move { from, to: target, set, unset: Vec::new() });
        items.push(item(&entry, &to));
    }
    let plain: Vec<String> = items.iter().map(|i| wordless(&i.id)).collect();
    lock.perform(act.note("items", plain), |_| Ok(()))?;
    Ok(items)
}

/// Undoes a merge or a rejection: the proposal waits again, and the leaves made from it are removed. Refused if one of
/// them was changed since, because it then contains more than the proposal.
pub fn undo(lock: &TreeLock, name: &str, within: Option<&str>) -> Result<Undone> {
    let agent = lock.at.agent_no;
    let entry = lock.at.read(|tx| file_table::named(tx, agent, Kind::Proposal, State::Archived, name))?;
    let to = layout::PROPOSALS.join(&active_name(entry.path.name()))?;
    let id = entry.item.clone().unwrap_or_default();
    if lock.at.read(|tx| file_table::at(tx, agent, &to))?.is_some() {
        return Err(Error::refused(format!("a proposal called {:?} is waiting already", entry.title))
            .hint("nothing was changed; merge or reject that one first"));
    }
    let mut act = proposal::act("proposal.undo");
    let (mut removed, mut restored, mut touched) = (Vec::new(), Vec::new(), Vec::new());
    let leaves = lock.at.read(|tx| file_table::list(tx, agent, Kind::Leaf, State::Active))?;
    for made in listed(&entry, "leaves") {
        // A leaf that no longer exists needs no undoing.
        let Some(it) = leaves.iter().find(|l| l.item.as_deref() == Some(&made)) else { continue };
        let scope = leaf::scope_of(it);
        scope.allowed(within)?;
        if it.field("flush").is_none() || it.field("flush") != entry.field("flush") || it.by_hand() {
            touched.push(made);
            continue;
        }
        act = scope.shown(act).step(Step::Remove { path: it.path.as_str().into(), digest: hex(&it.digest) });
        for old in leaves.iter().filter(|l| l.field("superseded_by") == Some(&made)) {
            let path = old.path.as_str().to_owned();
            let unset = vec!["superseded_by".to_owned()];
            act = leaf::scope_of(old).shown(act);
            act = act.step(Step::Edit { path, set: Map::new(), unset, body: None, base: None });
            restored.push(old.item.clone().unwrap_or_default());
        }
        removed.push(made);
    }
    if !touched.is_empty() {
        return Err(Error::refused(format!("{} was changed after the merge", touched.join(", ")))
            .hint("nothing was undone; forget or edit it by itself: ⟨memory forget⟩, ⟨memory edit⟩"));
    }
    let set = Map::from_iter([("status".to_owned(), Value::from("pending"))]);
    let unset = ["merged", "leaves", "known", "rejected", "reason"].map(str::to_owned).to_vec();
    let (from, target) = (entry.path.as_str().to_owned(), to.as_str().to_owned());
    act = act.step(Step::Move { from, to: target, set, unset });
    act = act.note("proposal", wordless(&id));
    act = act.note("removed", removed.iter().map(|id| wordless(id)).collect::<Vec<_>>());
    lock.perform(act, |_| Ok(()))?;
    Ok(Undone { proposal: item(&entry, &to), removed, restored })
}

/// Returns the class and scope for the entries of a proposal. A value written by a person that cannot be used gives an
/// error that says what to do.
fn destination(proposed: &Proposed) -> Result<(Class, Scope)> {
    fitting(proposed.class.as_deref(), proposed.scope.as_deref())
}

/// Parses a class and a scope, and checks that they fit together; the error lists the classes that would fit.
fn fitting(class: Option<&str>, scope: Option<&str>) -> Result<(Class, Scope)> {
    let scope = scope.map(|s| Scope::parse(s, None)).transpose()?;
    let class = class.map(Class::parse).transpose()?;
    let (class, scope) = match (class, scope) {
        (Some(class), Some(scope)) => (class, scope),
        (Some(class), None) => (class, Scope::Agent),
        (None, Some(scope @ Scope::Workspace(_))) => (Class::Fact, scope),
        (None, scope) => (Class::Preference, scope.unwrap_or_default()),
    };
    if let Err(e) = scope.holds(class) {
        let fit = Class::ALL.iter().filter(|c| scope.holds(**c).is_ok()).map(|c| c.name());
        let fit = fit.collect::<Vec<_>>().join(", ");
        let next = e.next_step().map(str::to_owned).unwrap_or_default();
        return Err(Error::new(e.kind(), e.to_string()).hint(format!("{next}; classes that fit {scope}: {fit}")));
    }
    Ok((class, scope))
}

fn tags_of(entry: &Entry) -> Vec<String> {
    listed(entry, "tags")
}

fn listed(entry: &Entry, key: &str) -> Vec<String> {
    let list = entry.fields.get(key).and_then(Value::as_array);
    list.into_iter().flatten().filter_map(|v| v.as_str().map(str::to_owned)).collect()
}

fn about(id: &str, e: Error) -> Error {
    let next = e.next_step().map(str::to_owned).unwrap_or_default();
    Error::new(e.kind(), format!("{id}: {e}"))
        .hint(format!("nothing was merged; {next} (⟨proposal edit {id} --class C⟩, --scope agent or --workspace W)"))
}

fn chosen(lock: &TreeLock, state: State, names: &[String]) -> Result<Vec<Entry>> {
    let mut entries: Vec<Entry> = Vec::new();
    for name in names {
        let entry = lock.at.read(|tx| file_table::named(tx, lock.at.agent_no, Kind::Proposal, state, name))?;
        if !entries.iter().any(|e| e.path == entry.path) {
            entries.push(entry);
        }
    }
    Ok(entries)
}

/// Returns when the newest evidence of a proposal was said, if the proposal tells.
fn observed(entry: &Entry) -> Option<Millis> {
    entry.field(proposal::OBSERVED).and_then(parse_rfc3339)
}

/// The error for a yes to the proposal `id`, whose text a memory contradicts that was observed later.
fn outdated(id: &str, newer: &Entry, said: &str) -> Error {
    let by = newer.item.as_deref().unwrap_or_default();
    Error::refused(format!("a newer memory says otherwise: {said} · {by}")).hint(format!(
        "nothing was merged; reject it: ⟨review reject {id}⟩; if it holds again, say so anew: ⟨remember⟩"
    ))
}

fn item(entry: &Entry, to: &RelPath) -> Item {
    let id = entry.item.clone().unwrap_or_default();
    Item { id, title: entry.title.clone(), path: to.clone(), change: Change::Changed }
}
