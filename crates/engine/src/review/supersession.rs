//! Finds memories that contradict each other; a person decides which one supersedes the other (R9.3).
//!
//! The pairs are not stored: each look finds them anew, with [`contradiction`](super::contradiction), among the current
//! memories of a scope. A yes marks the older memory as superseded; a no is recorded in the newer one (`beside`), and
//! the person is not asked about the two again.

use std::collections::HashMap;

use serde_json::{Map, Value, json};

use super::contradiction::Statement;
use crate::clock::Millis;
use crate::error::{Error, Result};
use crate::ledger::Read;
use crate::memory::{Added, Class, NewLeaf, Outcome, Scope, Writing, change, leaf};
use crate::title::{TitleKey, wordless};
use crate::tree::file_table::{self, Entry, Kind, State};
use crate::tree::journal::{Act, Step};
use crate::tree::{AssistantHome, TreeLock};

/// Maximum number of memories compared under one key: few memories begin alike, unless a program wrote them.
const ALIKE: usize = 200;

/// Two memories that contradict each other.
#[derive(Clone, Debug)]
pub struct Pair {
    /// Id, such as `s:3f2a91c0`.
    pub id: String,
    pub old: Entry,
    pub old_text: String,
    pub new: Entry,
    pub new_text: String,
    /// Time at which the newer memory was observed.
    pub since: Option<Millis>,
}

/// Returns the id of a pair, which depends only on the ids of both memories.
pub fn id_of(old: &str, new: &str) -> String {
    let digest = blake3::hash(format!("{old}\0{new}").as_bytes());
    digest.as_bytes()[..4].iter().fold("s:".to_owned(), |id, b| format!("{id}{b:02x}"))
}

/// A current memory with its text and statements.
struct Current {
    entry: Entry,
    text: String,
    said: Vec<Statement>,
}

fn current(at: &AssistantHome, tx: &Read, scope: Option<&Scope>) -> Result<Vec<Current>> {
    let mut out = Vec::new();
    for entry in file_table::list(tx, at.agent_no, Kind::Leaf, State::Active)? {
        let elsewhere = scope.is_some_and(|scope| leaf::scope_of(&entry) != *scope);
        if leaf::superseded_by(&entry).is_some() || elsewhere {
            continue;
        }
        // A memory without a summary has its title as text; a file that cannot be read is skipped.
        let text = match entry.field("summary") {
            None if !entry.by_hand() => entry.title.clone(),
            _ => match leaf::read(at, &entry.path) {
                Ok(doc) => leaf::text_of(&doc),
                Err(_) => continue,
            },
        };
        let said = statements(&entry.title, &text);
        if said.is_empty() {
            continue;
        }
        out.push(Current { entry, text, said });
    }
    Ok(out)
}

/// Returns the statements of a memory: its text, and its title, which may say the same in fewer words.
fn statements(title: &str, text: &str) -> Vec<Statement> {
    let mut out: Vec<Statement> = Statement::of(text).into_iter().collect();
    out.extend(Statement::of(title).filter(|said| !out.contains(said)));
    out
}

fn contradict(some: &[Statement], others: &[Statement]) -> bool {
    some.iter().any(|a| others.iter().any(|b| a.contradicts(b)))
}

fn observed(entry: &Entry) -> Option<Millis> {
    entry.field("observed").and_then(crate::clock::parse_rfc3339)
}

/// Whether a person said that two memories both hold.
fn beside(a: &Entry, b: &Entry) -> bool {
    let names =
        |of: &Entry, other: &Entry| leaf::beside_ids(of).iter().any(|id| Some(id.as_str()) == other.item.as_deref());
    names(a, b) || names(b, a)
}

/// Returns the pairs nobody has decided about, newest first.
pub fn pairs(at: &AssistantHome) -> Result<Vec<Pair>> {
    let all = at.read(|tx| current(at, tx, None))?;
    let mut shelves: HashMap<(Scope, &str), Vec<usize>> = HashMap::new();
    for (no, one) in all.iter().enumerate() {
        for key in one.said.iter().flat_map(Statement::keys) {
            let shelf = shelves.entry((leaf::scope_of(&one.entry), key)).or_default();
            if shelf.last() != Some(&no) {
                shelf.push(no);
            }
        }
    }
    let mut out: Vec<Pair> = Vec::new();
    for shelf in shelves.values() {
        let shelf = &shelf[..shelf.len().min(ALIKE)];
        for (n, a) in shelf.iter().enumerate() {
            for b in &shelf[n + 1..] {
                let (a, b) = (&all[*a], &all[*b]);
                if beside(&a.entry, &b.entry) || !contradict(&a.said, &b.said) {
                    continue;
                }
                let key = |c: &Current| (observed(&c.entry), c.entry.file_no.0);
                let (old, new) = if key(a) <= key(b) { (a, b) } else { (b, a) };
                let name = |c: &Current| c.entry.item.clone().unwrap_or_default();
                let id = id_of(&name(old), &name(new));
                if out.iter().all(|p| p.id != id) {
                    out.push(Pair {
                        id,
                        old: old.entry.clone(),
                        old_text: old.text.clone(),
                        new: new.entry.clone(),
                        new_text: new.text.clone(),
                        since: observed(&new.entry),
                    });
                }
            }
        }
    }
    out.sort_by(|a, b| b.since.cmp(&a.since).then_with(|| a.id.cmp(&b.id)));
    Ok(out)
}

/// The current memories, read once for many questions.
pub struct CurrentMemories(Vec<Current>);

impl CurrentMemories {
    pub fn read(at: &AssistantHome) -> Result<CurrentMemories> {
        Ok(CurrentMemories(at.read(|tx| current(at, tx, None))?))
    }

    /// Returns the memories of a scope that a text contradicts, with their texts.
    pub fn contradicted(&self, scope: &Scope, title: &str, text: &str) -> Vec<(Entry, String)> {
        let said = statements(title, text);
        let here = self.0.iter().filter(|c| !said.is_empty() && leaf::scope_of(&c.entry) == *scope);
        here.filter(|c| contradict(&c.said, &said)).map(|c| (c.entry.clone(), c.text.clone())).collect()
    }

    /// Returns the memories of a scope with these ids, which a proposal names as replaced, with their texts.
    pub fn named(&self, scope: &Scope, ids: &[String]) -> Vec<(Entry, String)> {
        let is = |c: &&Current| {
            leaf::scope_of(&c.entry) == *scope && c.entry.item.as_ref().is_some_and(|id| ids.contains(id))
        };
        self.0.iter().filter(is).map(|c| (c.entry.clone(), c.text.clone())).collect()
    }

    /// Returns a memory that contradicts a text, or has its subject, and was observed later than the text. `None` also if
    /// nobody knows when the text was observed.
    pub fn newer(&self, new: &NewLeaf) -> Option<(Entry, String)> {
        let at = new.observed?;
        let mut against = self.contradicted(&new.scope, "", &new.text);
        if let Some(subject) = &new.subject {
            against.extend(self.about(new.class, &new.scope, subject, &new.text));
        }
        against.into_iter().find(|(entry, _)| observed(entry) > Some(at))
    }

    /// Returns the memories of a class and scope with this subject and another text, which a new memory about the
    /// subject supersedes.
    pub fn about(&self, class: Class, scope: &Scope, subject: &str, text: &str) -> Vec<(Entry, String)> {
        let Ok(subject) = TitleKey::of(subject) else { return Vec::new() };
        let same = |c: &&Current| {
            leaf::class_of(&c.entry) == Some(class)
                && leaf::scope_of(&c.entry) == *scope
                && c.entry.field("subject") == Some(subject.as_str())
                && c.text.trim() != text.trim()
        };
        self.0.iter().filter(same).map(|c| (c.entry.clone(), c.text.clone())).collect()
    }
}

/// Supersedes memories after a person's yes to a new one, in the same act: those it contradicts, and those named to the
/// person as replaced.
pub(super) fn displace(
    writing: &mut Writing,
    at: &AssistantHome,
    text: &str,
    named: &[String],
    mut added: Added,
) -> Result<Added> {
    if added.outcome != Outcome::New {
        return Ok(added);
    }
    let known = CurrentMemories(at.read(|tx| current(at, tx, Some(&added.scope)))?);
    let mut old = known.contradicted(&added.scope, &added.title, text);
    old.extend(known.named(&added.scope, named));
    for (old, _) in old {
        let id = old.item.clone().unwrap_or_default();
        if id != added.id && !added.superseded.contains(&id) {
            writing.supersede(&old, &added)?;
            added.superseded.push(id);
        }
    }
    Ok(added)
}

/// Adds to an act the steps that make the memories current again which this memory superseded.
pub(super) fn restoring(lock: &TreeLock, id: &str, mut act: Act) -> Result<(Act, Vec<String>)> {
    let mut restored = Vec::new();
    for old in lock.at.read(|tx| file_table::list(tx, lock.at.agent_no, Kind::Leaf, State::Active))? {
        if old.field("superseded_by") == Some(id) {
            act = leaf::scope_of(&old).shown(act).step(edited(&old, Map::new(), vec!["superseded_by".to_owned()]));
            restored.push(old.item.clone().unwrap_or_default());
        }
    }
    Ok((act, restored))
}

fn edited(entry: &Entry, set: Map<String, Value>, unset: Vec<String>) -> Step {
    Step::Edit { path: entry.path.as_str().to_owned(), set, unset, body: None, base: None }
}

/// Lets the newer memory supersede the older one.
pub fn accept(lock: &TreeLock, pair: &Pair) -> Result<()> {
    change::supersede(lock, &pair.old, &pair.new).map(drop)
}

/// Keeps both memories; the person is not asked about them again.
pub fn keep_both(lock: &TreeLock, pair: &Pair) -> Result<()> {
    let mut ids = leaf::beside_ids(&pair.new);
    ids.extend(pair.old.item.clone());
    let act = leaf::scope_of(&pair.new).shown(Act::new("memory.beside"));
    let act = act.step(edited(&pair.new, Map::from_iter([(leaf::BESIDE.to_owned(), json!(ids))]), Vec::new()));
    lock.perform(act.note("pair", pair.id.as_str()), |_| Ok(()))?;
    Ok(())
}

/// A decision about two memories.
pub struct Decided {
    pub id: String,
    pub old: Entry,
    pub new: Entry,
    /// Whether the older one was superseded; otherwise both were kept.
    pub superseded: bool,
}

/// Returns the decisions about pairs of memories that still exist.
pub fn decided(at: &AssistantHome) -> Result<Vec<Decided>> {
    let all = at.read(|tx| file_table::list(tx, at.agent_no, Kind::Leaf, State::Active))?;
    let by_id: HashMap<&str, &Entry> = all.iter().filter_map(|e| Some((e.item.as_deref()?, e))).collect();
    let mut out = Vec::new();
    for entry in &all {
        let own = entry.item.clone().unwrap_or_default();
        if let Some(new) = entry.field("superseded_by").and_then(|id| by_id.get(id)) {
            let id = id_of(&own, new.item.as_deref().unwrap_or_default());
            out.push(Decided { id, old: entry.clone(), new: (*new).clone(), superseded: true });
        }
        for old in leaf::beside_ids(entry).iter().filter_map(|id| by_id.get(id.as_str())) {
            let id = id_of(old.item.as_deref().unwrap_or_default(), &own);
            out.push(Decided { id, old: (*old).clone(), new: entry.clone(), superseded: false });
        }
    }
    Ok(out)
}

/// Undoes a decision about a pair: both memories are current, and the pair waits again.
pub fn undo(lock: &TreeLock, id: &str) -> Result<Decided> {
    let found = decided(lock.at)?.into_iter().find(|d| d.id == id);
    let found = found
        .ok_or_else(|| Error::not_found(format!("nothing was decided about {id}")).hint("see what waits: ⟨review⟩"))?;
    let act = leaf::scope_of(&found.old).shown(leaf::scope_of(&found.new).shown(Act::new("memory.undo")));
    let (old, new) = (found.old.item.clone().unwrap_or_default(), found.new.item.clone().unwrap_or_default());
    let (key, left) = match found.superseded {
        true => ("supersedes", leaf::superseded_ids(&found.new)),
        false => (leaf::BESIDE, leaf::beside_ids(&found.new)),
    };
    let left: Vec<String> = left.into_iter().filter(|id| *id != old).collect();
    let step = match left.is_empty() {
        true => edited(&found.new, Map::new(), vec![key.to_owned()]),
        false => edited(&found.new, Map::from_iter([(key.to_owned(), json!(left))]), Vec::new()),
    };
    let mut act = act.step(step);
    if found.superseded {
        act = act.step(edited(&found.old, Map::new(), vec!["superseded_by".to_owned()]));
    }
    lock.perform(act.note("items", json!([wordless(&old), wordless(&new)])), |_| Ok(()))?;
    Ok(found)
}
