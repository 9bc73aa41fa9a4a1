//! The nightly tidy, without a model: if two memories say the same, one supersedes the other; memories and loops that a
//! person should check are listed (R11.3).
//!
//! Only memories that a program wrote are superseded automatically; they keep their history, and it can be undone. A
//! person's memories, pinned ones and files edited by hand stay as they are.

use std::collections::{HashMap, HashSet};

use serde_json::{Map, json};

use super::candidate::Gist;
use super::store;
use crate::error::Result;
use crate::memory::{Class, Scope, is_stale, leaf};
use crate::title::{flush_id, wordless};
use crate::tree::TreeLock;
use crate::tree::file_table::{self, Entry, Kind, State};
use crate::tree::journal::{Act, Step};
use crate::tree::provenance::{Origin, Provenance};

/// Maximum number of memories of a class and project that are compared with each other.
const COMPARED: usize = 500;

/// Result of a tidy.
#[derive(Clone, PartialEq, Debug, Default)]
pub struct Tidied {
    /// Memories that repeat another one: the id of the superseded one, and of the one that stays.
    pub duplicates: Vec<(String, String)>,
    /// Memories that nobody has verified for longer than their class allows.
    pub stale: Vec<String>,
    /// Memories whose successor no longer exists, so that they are current again.
    pub broken_chains: Vec<String>,
    /// Open loops whose session is forgotten or unknown.
    pub orphan_loops: Vec<String>,
}

/// A current memory.
struct Current {
    entry: Entry,
    gist: Gist,
    by_person: bool,
}

fn current(lock: &TreeLock) -> Result<Vec<Current>> {
    let at = lock.at;
    let mut out = Vec::new();
    for entry in at.read(|tx| file_table::list(tx, at.agent_no, Kind::Leaf, State::Active))? {
        if leaf::superseded_by(&entry).is_some() {
            continue;
        }
        let Ok(doc) = leaf::read(at, &entry.path) else { continue };
        let origin = Provenance::from_value(entry.fields.get("source")).origin;
        let by_person = entry.by_hand()
            || leaf::is_pinned(&entry)
            || entry.field("verified").is_some()
            || !matches!(origin, Origin::Distilled | Origin::Program);
        out.push(Current { gist: Gist::of(&leaf::text_of(&doc)), entry, by_person });
    }
    Ok(out)
}

/// Returns the memories that repeat another one of their class and scope: the index of the one to supersede, and of the
/// one that stays.
fn duplicates(all: &[Current]) -> Vec<(usize, usize)> {
    let mut shelves: HashMap<(Option<Class>, Scope), Vec<usize>> = HashMap::new();
    for (at, one) in all.iter().enumerate() {
        shelves.entry((leaf::class_of(&one.entry), leaf::scope_of(&one.entry))).or_default().push(at);
    }
    let mut out = Vec::new();
    let mut taken: HashSet<usize> = HashSet::new();
    for shelf in shelves.values() {
        let shelf = &shelf[..shelf.len().min(COMPARED)];
        for (n, a) in shelf.iter().enumerate() {
            for b in &shelf[n + 1..] {
                if taken.contains(a) || taken.contains(b) || !all[*a].gist.is_like(&all[*b].gist) {
                    continue;
                }
                let (goes, stays) = match (all[*a].by_person, all[*b].by_person) {
                    (true, true) => continue,
                    (true, false) => (*b, *a),
                    (false, true) => (*a, *b),
                    // The older memory stays, because people have seen its wording for longer.
                    _ if leaf::observed_of(&all[*a].entry) <= leaf::observed_of(&all[*b].entry) => (*b, *a),
                    _ => (*a, *b),
                };
                taken.extend([goes, stays]);
                out.push((goes, stays));
            }
        }
    }
    out.sort_unstable();
    out
}

/// Tidies the memories. `dry_run`: only returns what it would do.
pub fn tidy(lock: &TreeLock, dry_run: bool) -> Result<Tidied> {
    let at = lock.at;
    let all = current(lock)?;
    let id = |e: &Entry| e.item.clone().unwrap_or_default();
    let mut out = Tidied::default();
    let mut act = Act::new("evolve.tidy");
    for (goes, stays) in duplicates(&all) {
        let (old, new) = (&all[goes].entry, &all[stays].entry);
        let mut ids = leaf::superseded_ids(new);
        ids.push(id(old));
        let edited = |entry: &Entry, key: &str, value| {
            let set = Map::from_iter([(key.to_owned(), value)]);
            Step::Edit { path: entry.path.as_str().to_owned(), set, unset: Vec::new(), body: None, base: None }
        };
        act = leaf::scope_of(old).shown(act);
        act = act.step(edited(new, "supersedes", json!(ids))).step(edited(old, "superseded_by", json!(id(new))));
        out.duplicates.push((id(old), id(new)));
    }
    let now = at.ledger.now();
    out.stale = all.iter().filter(|c| is_stale(&c.entry, now)).map(|c| id(&c.entry)).collect();
    let (leaves, loops) = at.read(|tx| {
        let leaves = file_table::list(tx, at.agent_no, Kind::Leaf, State::Active)?;
        let loops = file_table::list(tx, at.agent_no, Kind::OpenLoop, State::Active)?;
        let mut orphans = Vec::new();
        for entry in loops {
            let source = Provenance::from_value(entry.fields.get("source"));
            if let Some(session) = &source.session
                && !store::has_session(tx, at.agent_no, session)?
            {
                orphans.push(id(&entry));
            }
        }
        Ok((leaves, orphans))
    })?;
    let known: HashSet<&str> = leaves.iter().filter_map(|e| e.item.as_deref()).collect();
    let broken = |e: &&Entry| leaf::superseded_by(e).is_some_and(|by| !known.contains(by));
    out.broken_chains = leaves.iter().filter(broken).map(id).collect();
    out.orphan_loops = loops;
    if dry_run {
        return Ok(out);
    }
    let flush = flush_id();
    let changes = !out.duplicates.is_empty();
    let record = |tx: &mut crate::ledger::Write| -> Result<()> {
        store::begin_run(tx, at.agent_no, "tidy", changes.then_some(flush.as_str()))?;
        store::prune_runs(tx, at.agent_no)
    };
    match changes {
        true => {
            let items: Vec<String> = out.duplicates.iter().map(|(old, _)| wordless(old)).collect();
            lock.perform_as(&flush, act.note("items", items), record)?;
        }
        false => at.write("evolve.tidy", record)?,
    }
    Ok(out)
}
