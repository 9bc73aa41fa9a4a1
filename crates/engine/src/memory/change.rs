//! Changing what is remembered: editing, verifying, pinning, superseding (R9.3).

use serde_json::{Map, Value, json};

use super::leaf::{self, NewLeaf};
use super::writing::{Added, Outcome, Writing};
use crate::clock::rfc3339;
use crate::error::{Error, Result};
use crate::title::wordless;
use crate::tree::TreeLock;
use crate::tree::file_table::{Entry, State};
use crate::tree::journal::{Act, Step, hex};

/// The values a change sets; `None` leaves a value as it is.
#[derive(Clone, PartialEq, Debug, Default)]
pub struct Edit {
    pub text: Option<String>,
    pub title: Option<String>,
    pub summary: Option<String>,
    pub tags: Option<Vec<String>>,
    pub confidence: Option<f64>,
    /// Whether a new text also counts as verified, because its author vouches for it.
    pub verified: bool,
}

/// Changes a memory. Its file keeps its name and its id; the old text is kept as a revision. Returns whether anything
/// was written.
pub fn edit(lock: &TreeLock, entry: &Entry, edit: &Edit) -> Result<bool> {
    let doc = leaf::read(lock.at, &entry.path)?;
    let old = leaf::text_of(&doc);
    let text = edit.text.as_deref().map(leaf::sound_text).transpose()?.filter(|t| *t != old);
    let derived = leaf::derived_title(&old) == entry.title;
    let now = text.as_deref().unwrap_or(&old);
    let title = match &edit.title {
        Some(_) => {
            let class = leaf::class_of(entry).ok_or_else(|| not_a_leaf(entry))?;
            let new = NewLeaf { title: edit.title.clone(), ..NewLeaf::new(class, leaf::scope_of(entry), now) };
            Some(leaf::checked(&new)?.title)
        }
        // A title derived from the text changes with it.
        None if derived && text.is_some() => Some(leaf::derived_title(now)),
        None => None,
    };
    let title = title.filter(|t| *t != entry.title);
    let (mut set, mut unset) = (Map::new(), Vec::new());
    if text.is_some() || title.is_some() {
        let title = title.as_deref().unwrap_or(&entry.title);
        let given = edit.title.is_some() || !derived;
        put(&mut set, &mut unset, entry, "summary", leaf::summary_of(title, now).map(Value::from));
        if derived || edit.title.is_some() {
            put(&mut set, &mut unset, entry, "subject", leaf::subject_of(title, given, now)?.map(Value::from));
        }
        put(&mut set, &mut unset, entry, "title", Some(title.into()));
        if edit.verified && text.is_some() {
            set.insert("verified".into(), rfc3339(lock.at.ledger.now()).into());
        }
    }
    if let Some(summary) = &edit.summary {
        let summary = crate::redact::redact(summary).split_whitespace().collect::<Vec<_>>().join(" ");
        put(&mut set, &mut unset, entry, "summary", (!summary.is_empty()).then(|| summary.into()));
    }
    if let Some(tags) = &edit.tags {
        let tags = leaf::sound_tags(tags)?;
        put(&mut set, &mut unset, entry, "tags", (!tags.is_empty()).then(|| json!(tags)));
    }
    if let Some(confidence) = edit.confidence {
        if !(0.0..=1.0).contains(&confidence) {
            return Err(Error::usage(format!("{confidence} is no confidence")).hint("give a number from 0 to 1"));
        }
        put(&mut set, &mut unset, entry, "confidence", Some(confidence.into()));
    }
    let body = (text.is_some() || title.is_some()).then(|| leaf::body(title.as_deref().unwrap_or(&entry.title), now));
    if set.is_empty() && unset.is_empty() && body.is_none() {
        return Ok(false);
    }
    let path = entry.path.as_str().to_owned();
    let step = match title {
        // A new title for the same text changes only the heading, unless the text was nothing but the title.
        Some(heading) if text.is_none() && doc.heading().as_ref() != Some(&old) => {
            Step::Entitle { path, set, unset, heading }
        }
        _ => Step::Edit { path, set, unset, body, base: Some(hex(&entry.digest)) },
    };
    perform(lock, "memory.edit", entry, vec![step])?;
    Ok(true)
}

/// Adds a key to the keys to set or to remove, if that changes the entry.
fn put(set: &mut Map<String, Value>, unset: &mut Vec<String>, entry: &Entry, key: &str, value: Option<Value>) {
    set.remove(key);
    unset.retain(|k| k != key);
    match value {
        Some(value) if entry.fields.get(key) != Some(&value) => drop(set.insert(key.to_owned(), value)),
        None if entry.fields.contains_key(key) => unset.push(key.to_owned()),
        _ => {}
    }
}

/// Records that memories were checked and are still true.
pub fn verify(lock: &TreeLock, entries: &[Entry]) -> Result<()> {
    let now = Value::from(rfc3339(lock.at.ledger.now()));
    set_in(lock, "memory.verify", entries, |_| Some(("verified", Some(now.clone()))))
}

/// Pins or unpins memories. A pinned memory is listed first and is never superseded by a memory of a program.
pub fn pin(lock: &TreeLock, entries: &[Entry], on: bool) -> Result<()> {
    let action = if on { "memory.pin" } else { "memory.unpin" };
    set_in(lock, action, entries, |e| (leaf::is_pinned(e) != on).then_some(("pinned", on.then(|| true.into()))))
}

/// Sets or removes a key of several memories; all of them or none.
fn set_in(
    lock: &TreeLock,
    action: &'static str,
    entries: &[Entry],
    change: impl Fn(&Entry) -> Option<(&'static str, Option<Value>)>,
) -> Result<()> {
    let mut act = Act::new(action);
    let mut items = Vec::new();
    for entry in entries {
        let Some((key, value)) = change(entry) else { continue };
        let (mut set, mut unset) = (Map::new(), Vec::new());
        match value {
            Some(value) => drop(set.insert(key.to_owned(), value)),
            None => unset.push(key.to_owned()),
        }
        items.push(wordless(entry.item.as_deref().unwrap_or_default()));
        act = leaf::scope_of(entry).shown(act);
        act = act.step(Step::Edit { path: entry.path.as_str().into(), set, unset, body: None, base: None });
    }
    if !act.steps.is_empty() {
        lock.perform(act.note("items", items), |_| Ok(()))?;
    }
    Ok(())
}

/// Links two memories: `new` supersedes `old`, and both stay. Returns whether anything was written.
pub fn supersede(lock: &TreeLock, old: &Entry, new: &Entry) -> Result<bool> {
    let id = |e: &Entry| e.item.clone().unwrap_or_default();
    if old.path == new.path {
        return Err(Error::usage("a memory cannot take its own place").hint("name the old one, then the new one"));
    }
    if leaf::superseded_by(old) == Some(&id(new)) {
        return Ok(false);
    }
    for (entry, which) in [(old, "already"), (new, "itself")] {
        if let Some(by) = leaf::superseded_by(entry) {
            return Err(Error::refused(format!("{} is {which} superseded, by {by}", id(entry)))
                .hint("see the chain: ⟨memory list --superseded⟩"));
        }
    }
    let (from, to) = (leaf::scope_of(old), leaf::scope_of(new));
    if from != to && [&from, &to].iter().all(|s| **s != super::Scope::Agent) {
        return Err(Error::refused("they belong to different projects")
            .hint("a memory takes the place of one in its own project, or of one that holds everywhere"));
    }
    let mut supersedes = leaf::superseded_ids(new);
    supersedes.push(id(old));
    let steps =
        [(new, "supersedes", json!(supersedes)), (old, "superseded_by", json!(id(new)))].map(|(e, key, value)| {
            let set = Map::from_iter([(key.to_owned(), value)]);
            Step::Edit { path: e.path.as_str().into(), set, unset: Vec::new(), body: None, base: None }
        });
    let mut act = to.shown(from.shown(Act::new("memory.supersede")));
    act.steps = steps.into();
    lock.perform(act.note("items", json!([wordless(&id(old)), wordless(&id(new))])), |_| Ok(()))?;
    Ok(true)
}

/// Writes a new memory that supersedes an old one. If its text is already known, the existing memory supersedes the old
/// one.
pub fn supersede_with(lock: &TreeLock, old: &Entry, new: &NewLeaf) -> Result<Added> {
    if let Some(by) = leaf::superseded_by(old) {
        return Err(Error::refused(format!(
            "{} is already superseded, by {by}",
            old.item.as_deref().unwrap_or_default()
        ))
        .hint("see the chain: ⟨memory list --superseded⟩"));
    }
    let mut writing = Writing::new(lock, "memory.supersede");
    let mut added = writing.add(new)?;
    if added.outcome == Outcome::New {
        writing.supersede(old, &added)?;
        writing.perform(|_| Ok(()))?;
        added.superseded = vec![old.item.clone().unwrap_or_default()];
    } else if added.outcome == Outcome::Same && added.path.as_ref() != Some(&old.path) {
        let at = lock.at;
        let named = |tx: &crate::ledger::Read| crate::tree::file_table::item(tx, at.agent_no, &added.id);
        if let Some(known) = at.read(named)?.filter(|e| e.state == State::Active)
            && supersede(lock, old, &known)?
        {
            added.superseded = vec![old.item.clone().unwrap_or_default()];
        }
    }
    Ok(added)
}

fn perform(lock: &TreeLock, action: &'static str, entry: &Entry, steps: Vec<Step>) -> Result<()> {
    let mut act = leaf::scope_of(entry).shown(Act::new(action));
    act.steps = steps;
    act = act.note("items", vec![wordless(entry.item.as_deref().unwrap_or_default())]);
    lock.perform(act, |_| Ok(()))?;
    Ok(())
}

fn not_a_leaf(entry: &Entry) -> Error {
    Error::refused(format!("{} is no memory", entry.path)).hint("see ⟨memory list⟩")
}
