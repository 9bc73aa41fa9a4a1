//! Writing memories: several in one act, each taking the ones before it into account (R9.3, R9.4).
//!
//! A known text is not written again. Another text about the same subject supersedes: both stay, linked. A program
//! never supersedes a person's statement, nor stores a forgotten text again.

use std::collections::{BTreeMap, HashMap};

use schemars::JsonSchema;
use serde::Serialize;
use serde_json::{Map, Value, json};

use super::leaf::{self, CheckedLeaf, NewLeaf, checked};
use super::{Class, Scope, tombstone};
use crate::clock::Millis;
use crate::document::{Document, Front};
use crate::error::{Error, Result};
use crate::home::RelPath;
use crate::ledger::Write;
use crate::scope::TombstoneNo;
use crate::title::{flush_id, wordless};
use crate::tree::TreeLock;
use crate::tree::file_table::{self, Entry, Kind, State};
use crate::tree::journal::{Act, Step};
use crate::tree::provenance::{Origin, Provenance};

/// The outcome of writing a memory.
#[derive(Clone, Copy, PartialEq, Eq, Serialize, JsonSchema, Debug)]
#[serde(rename_all = "lowercase")]
pub enum Outcome {
    New,
    /// The same text is already known; nothing was written, and it does not count as verified.
    Same,
    /// The text was forgotten, and only a person can store it again.
    Forgotten,
    /// A person's or a newer memory contradicts it; a program can only propose it.
    Outranked,
}

impl Outcome {
    pub fn name(self) -> &'static str {
        match self {
            Outcome::New => "new",
            Outcome::Same => "same",
            Outcome::Forgotten => "forgotten",
            Outcome::Outranked => "outranked",
        }
    }
}

/// The result of writing a memory: the new one, or the existing one.
#[derive(Clone, PartialEq, Eq, Serialize, JsonSchema, Debug)]
pub struct Added {
    /// Id of the memory, `m:…`; empty if the text was forgotten.
    pub id: String,
    pub title: String,
    pub class: Class,
    pub scope: Scope,
    /// Path of the memory's file; `None` if the text was forgotten.
    pub path: Option<RelPath>,
    #[serde(rename = "change")]
    pub outcome: Outcome,
    /// Ids of the memories that the new memory supersedes.
    pub superseded: Vec<String>,
}

/// An existing memory, or one that this act adds.
struct Known {
    id: String,
    path: RelPath,
    title: String,
    subject: Option<String>,
    /// Text in the form of [`leaf::comparable`].
    text: String,
    superseded_by: Option<String>,
    supersedes: Vec<String>,
    pinned: bool,
    by_person: bool,
    observed: Millis,
    troubled: bool,
}

/// An act that writes memories.
pub struct Writing<'d> {
    lock: &'d TreeLock<'d>,
    act: Act,
    shelves: HashMap<(Class, Scope), Vec<Known>>,
    creates: BTreeMap<RelPath, Document>,
    edits: BTreeMap<RelPath, (Map<String, Value>, Vec<String>)>,
    lifted: Vec<TombstoneNo>,
    items: Vec<String>,
}

/// Writes one memory.
pub fn add(lock: &TreeLock, new: &NewLeaf) -> Result<Added> {
    let mut writing = Writing::new(lock, "memory.add");
    let added = writing.add(new)?;
    if added.outcome == Outcome::New {
        writing.perform(|_| Ok(()))?;
    }
    Ok(added)
}

impl<'d> Writing<'d> {
    pub fn new(lock: &'d TreeLock<'d>, action: &'static str) -> Writing<'d> {
        Writing {
            lock,
            act: Act::new(action),
            shelves: HashMap::new(),
            creates: BTreeMap::new(),
            edits: BTreeMap::new(),
            lifted: Vec::new(),
            items: Vec::new(),
        }
    }

    /// Adds further changes to the act.
    pub fn also(&mut self, change: impl FnOnce(Act) -> Act) {
        self.act = change(std::mem::replace(&mut self.act, Act::new("")));
    }

    /// Plans a memory. Nothing is written before [`Writing::perform`].
    pub fn add(&mut self, new: &NewLeaf) -> Result<Added> {
        let checked = checked(new)?;
        let folder = new.scope.folder(new.class)?;
        let (at, person, agent) = (self.lock.at, new.by_person(), self.lock.at.agent_no);
        if !person && !new.class.of_workspace() {
            // R14.3: text that a program only read somewhere does not express a person's wish.
            return Err(Error::refused(format!(
                "a program cannot make a memory of the class {} of its own",
                new.class
            ))
            .hint("propose it: ⟨remember --propose⟩"));
        }
        let (text, now) = (leaf::comparable(&checked.text), at.ledger.now());
        let observed = new.observed.unwrap_or(now);
        let buried = at.read(|tx| tombstone::of(tx, agent, new.class, &new.scope, &checked.text))?;
        if !buried.is_empty() && !person {
            let (class, scope) = (new.class, new.scope.clone());
            let (title, superseded) = (checked.title, Vec::new());
            return Ok(Added {
                id: String::new(),
                title,
                class,
                scope,
                path: None,
                outcome: Outcome::Forgotten,
                superseded,
            });
        }
        let shelf = self.shelf(new.class, &new.scope)?;
        let same_title = |k: &Known| !checked.given || leaf::lowered(&k.title) == leaf::lowered(&checked.title);
        let existing = |k: &Known, outcome| standing(k, new, outcome);
        let alike = shelf.iter().filter(|k| k.text == text && same_title(k));
        if let Some(known) = alike.clone().filter(|k| k.superseded_by.is_none()).min_by_key(|k| k.troubled) {
            return Ok(existing(known, Outcome::Same));
        }
        if let Some(old) = alike.clone().next().filter(|_| !person) {
            // This text was superseded earlier. It becomes current again only if it was observed later than its
            // successor.
            let successor = shelf.iter().find(|k| Some(&k.id) == old.superseded_by.as_ref());
            if successor.is_none_or(|s| observed <= s.observed) {
                return Ok(existing(old, Outcome::Outranked));
            }
        }
        let other: Vec<&Known> = shelf
            .iter()
            .filter(|k| k.superseded_by.is_none() && k.subject.is_some() && k.subject == checked.subject)
            .collect();
        if let Some(over) = other.iter().find(|k| k.pinned || k.by_person || k.observed > observed).filter(|_| !person)
        {
            return Ok(existing(over, Outcome::Outranked));
        }
        let mut named = None;
        for again in 0.. {
            let (file, id) = leaf::name(new.class, &new.scope, &checked.title, &checked.text, again);
            let path = folder.join(&file)?;
            match shelf.iter().find(|k| k.path == path) {
                // The file that belongs to this text has other content by now, because a person corrected it.
                Some(known) if again == 0 && !person && known.superseded_by.is_none() => {
                    return Ok(existing(known, Outcome::Outranked));
                }
                Some(_) => {}
                None if at.files.stat(&path)?.is_some() => {}
                None => {
                    named = Some((path, id));
                    break;
                }
            }
        }
        let (path, id) = named.ok_or_else(|| Error::refused("there is no free name for this memory"))?;
        let superseded: Vec<String> = other.iter().map(|k| k.id.clone()).collect();
        let mut doc = leaf::document(new, &checked, &id, now)?;
        if !superseded.is_empty() {
            doc.set("supersedes", &json!(superseded))?;
        }
        for (old, place) in other.iter().map(|k| (k.id.clone(), k.path.clone())).collect::<Vec<_>>() {
            self.mark_superseded(new.class, &new.scope, &place, &id)?;
            self.items.push(wordless(&old));
        }
        self.lifted.extend(buried);
        self.items.push(wordless(&id));
        self.also(|act| new.scope.shown(act));
        self.creates.insert(path.clone(), doc);
        let CheckedLeaf { title, subject, .. } = checked;
        let known = Known {
            id: id.clone(),
            path: path.clone(),
            title: title.clone(),
            subject,
            text,
            superseded_by: None,
            supersedes: superseded.clone(),
            pinned: false,
            by_person: person,
            observed,
            troubled: false,
        };
        self.shelf(new.class, &new.scope)?.push(known);
        let (class, scope) = (new.class, new.scope.clone());
        Ok(Added { id, title, class, scope, path: Some(path), outcome: Outcome::New, superseded })
    }

    /// Links an existing memory as superseded by a new one of this act, whatever their subjects.
    pub fn supersede(&mut self, old: &Entry, by: &Added) -> Result<()> {
        let (Some(path), Some(class)) = (&by.path, leaf::class_of(old)) else { return Ok(()) };
        let (scope, id) = (leaf::scope_of(old), old.item.clone().unwrap_or_default());
        let Some(known) = self.shelf(class, &scope)?.iter().find(|k| k.path == old.path) else { return Ok(()) };
        if known.superseded_by.is_some() || *path == old.path {
            return Ok(());
        }
        self.mark_superseded(class, &scope, &old.path.clone(), &by.id)?;
        self.items.push(wordless(&id));
        self.also(|act| scope.shown(act));
        let shelf = self.shelf(by.class, &by.scope)?;
        let Some(new) = shelf.iter_mut().find(|k| k.path == *path) else { return Ok(()) };
        new.supersedes.push(id);
        let ids = json!(new.supersedes);
        self.set(path, "supersedes", ids)
    }

    /// Performs the act. `also` makes further changes to the ledger, in the same transaction.
    pub fn perform<T>(self, also: impl FnOnce(&mut Write) -> Result<T>) -> Result<(T, String)> {
        self.perform_as(&flush_id(), also)
    }

    /// Performs the act like [`Writing::perform`], under an id the caller made with [`flush_id`].
    pub fn perform_as<T>(self, id: &str, also: impl FnOnce(&mut Write) -> Result<T>) -> Result<(T, String)> {
        let Writing { lock, act, creates, edits, lifted, items, .. } = self;
        let mut steps: Vec<Step> = Vec::new();
        for (path, doc) in creates {
            let text = String::from_utf8_lossy(doc.print()).into_owned();
            steps.push(Step::Create { path: path.as_str().into(), text });
        }
        for (path, (set, unset)) in edits {
            steps.push(Step::Edit { path: path.as_str().into(), set, unset, body: None, base: None });
        }
        let mut act = act.note("items", items);
        // New memories are written before the other steps of the act.
        act.steps.splice(0..0, steps);
        lock.perform_as(id, act, |tx| {
            tombstone::lift(tx, lock.at.agent_no, &lifted)?;
            also(tx)
        })
    }

    fn mark_superseded(&mut self, class: Class, scope: &Scope, path: &RelPath, by: &str) -> Result<()> {
        if let Some(known) = self.shelf(class, scope)?.iter_mut().find(|k| k.path == *path) {
            known.superseded_by = Some(by.to_owned());
        }
        self.set(path, "superseded_by", by.into())
    }

    /// Sets a key of a memory, whether new in this act or existing. An act changes each file only once.
    fn set(&mut self, path: &RelPath, key: &str, value: Value) -> Result<()> {
        match self.creates.get_mut(path) {
            Some(doc) => doc.set(key, &value)?,
            None => drop(self.edits.entry(path.clone()).or_default().0.insert(key.to_owned(), value)),
        }
        Ok(())
    }

    /// Returns the memories of a class in a scope, with their texts; they are read once per act.
    fn shelf(&mut self, class: Class, scope: &Scope) -> Result<&mut Vec<Known>> {
        let key = (class, scope.clone());
        if !self.shelves.contains_key(&key) {
            let at = self.lock.at;
            let entries = at.read(|tx| file_table::list(tx, at.agent_no, Kind::Leaf, State::Active))?;
            let entries =
                entries.into_iter().filter(|e| leaf::class_of(e) == Some(class) && leaf::scope_of(e) == *scope);
            let known = entries.map(|entry| self.known(&entry)).collect();
            self.shelves.insert(key.clone(), known);
        }
        Ok(self.shelves.entry(key).or_default())
    }

    fn known(&self, entry: &Entry) -> Known {
        // A file that cannot be read has no text to compare, but its name stays taken.
        let doc = leaf::read(self.lock.at, &entry.path).ok().filter(|d| !matches!(d.front(), Front::Damaged(_)));
        let origin = Provenance::from_value(entry.fields.get("source")).origin;
        Known {
            id: entry.item.clone().unwrap_or_default(),
            path: entry.path.clone(),
            title: entry.title.clone(),
            subject: entry.field("subject").map(leaf::lowered).filter(|s| doc.is_some() && !s.is_empty()),
            text: doc.as_ref().map(|d| leaf::comparable(&leaf::text_of(d))).unwrap_or_default(),
            superseded_by: leaf::superseded_by(entry).map(str::to_owned),
            supersedes: leaf::superseded_ids(entry),
            pinned: leaf::is_pinned(entry),
            by_person: matches!(origin, Origin::User | Origin::Hand) || entry.by_hand(),
            observed: leaf::observed_of(entry).unwrap_or(entry.stamp.modified_ns / 1_000_000),
            troubled: entry.problem.is_some(),
        }
    }
}

fn standing(known: &Known, new: &NewLeaf, outcome: Outcome) -> Added {
    Added {
        id: known.id.clone(),
        title: known.title.clone(),
        class: new.class,
        scope: new.scope.clone(),
        path: Some(known.path.clone()),
        outcome,
        superseded: Vec::new(),
    }
}
