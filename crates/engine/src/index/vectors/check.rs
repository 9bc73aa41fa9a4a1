//! Checks vectors against their texts: makes them again and compares (R4.6).

use std::collections::{BTreeMap, BTreeSet};

use super::fill::embed;
use super::nearest::stored_model;
use super::store::{Set, Store};
use super::{Key, SetKey, Sort, Waiting};
use crate::error::Result;
use crate::index::{Index, rows};
use crate::ledger::Ledger;
use crate::ledger::blocks::Opener;
use crate::scope::{AgentNo, TurnId};

/// Number of turns that are checked if not all are; they are spread evenly over all turns.
const SAMPLE: usize = 256;

/// Turns whose vectors are made at once.
const AT_ONCE: usize = 64;

/// Largest difference of a number from the stored one, since another machine may round otherwise.
const ROUNDING: i16 = 2;

impl Index {
    /// Reports vectors of turns that do not fit their texts, and blocks that a search would not look into. `all`: checks
    /// every turn, whatever it costs; otherwise only a sample, and none if the model is not in this process.
    pub fn vectors_unlike_texts(&self, ledger: &Ledger, all: bool) -> Result<Vec<String>> {
        let Some(embedder) = self.embedder.clone().filter(|e| all || e.is_quick()) else { return Ok(Vec::new()) };
        if stored_model(&self.conn)?.as_deref() != Some(&super::fill::name_of(embedder.as_ref())) {
            return Ok(Vec::new());
        }
        let Some(store) = Store::of(&self.conn)? else { return Ok(Vec::new()) };
        let unlisted = if all { store.unlisted_blocks()? } else { 0 };
        if unlisted > 0 {
            let what = format!("{unlisted} blocks of vectors are not listed for their sessions and threads");
            return Ok(vec![format!("{what}; a search by meaning in one of these misses them")]);
        }
        let mut statement = self.conn.prepare("SELECT DISTINCT agent_no FROM vector_sets WHERE sort = 0")?;
        let agents: Vec<AgentNo> = statement.query_map([], |r| r.get(0))?.collect::<rusqlite::Result<_>>()?;
        let (mut unlike, mut looked) = (BTreeSet::new(), 0);
        for agent_no in agents {
            let sets = store.sets(agent_no, Sort::Turn)?;
            let numbers = numbers(&store, &sets)?;
            let step = if all { 1 } else { numbers.len().div_ceil(SAMPLE).max(1) };
            let chosen: Vec<i64> = numbers.into_iter().step_by(step).collect();
            for some in chosen.chunks(AT_ONCE) {
                looked += some.len();
                let mut waiting = Waiting::default();
                for turn in some {
                    let only = (TurnId(turn - 1), TurnId(*turn), 1);
                    ledger.read(|tx| {
                        rows::read(tx, &Opener::default(), only, &mut |doc| {
                            if doc.agent_no == agent_no {
                                waiting.turn(doc);
                            }
                            Ok(())
                        })
                    })?;
                }
                let (texts, owners) = waiting.into_texts();
                let made = embed(embedder.as_ref(), &texts)?;
                unlike.extend(unlike_those(&store, &sets, owners.into_iter().zip(made))?);
            }
        }
        let Some(first) = unlike.first() else { return Ok(Vec::new()) };
        Ok(vec![format!(
            "the vectors of {} of {looked} turns looked at are not those of their words; the first is {}",
            unlike.len(),
            TurnId(*first)
        )])
    }
}

/// Returns the turns that have vectors.
fn numbers(store: &Store, sets: &[Set]) -> Result<BTreeSet<i64>> {
    let mut out = BTreeSet::new();
    for set in sets {
        out.extend(store.all_slots(set)?.into_iter().map(|(_, key)| key.number));
    }
    Ok(out)
}

/// Returns the turns of which a vector made again differs from the stored one or has none.
fn unlike_those(
    store: &Store,
    sets: &[Set],
    made: impl Iterator<Item = ((SetKey, Key), Option<Vec<u8>>)>,
) -> Result<Vec<i64>> {
    let mut wanted: BTreeMap<SetKey, Vec<(Key, Vec<u8>)>> = BTreeMap::new();
    for ((set, key), vector) in made {
        if let Some(vector) = vector {
            wanted.entry(set).or_default().push((key, vector));
        }
    }
    let mut out = Vec::new();
    for (set_key, vectors) in wanted {
        let set = sets.iter().find(|set| set.workspace_no == set_key.workspace_no && set.label == set_key.label);
        let Some(set) = set else {
            out.extend(vectors.iter().map(|(key, _)| key.number));
            continue;
        };
        let of: BTreeSet<i64> = vectors.iter().map(|(key, _)| key.number).collect();
        let slots = store.slots(set, &of)?;
        for (key, vector) in vectors {
            let slot = slots.iter().find(|(_, stored)| (stored.number, stored.part) == (key.number, key.part));
            // A key with another session, role or kind is left out of searches that are limited to them.
            let like = match slot {
                Some((slot, stored)) => {
                    *stored == key && is_like(&vector, &store.vector(set, *slot)?, store.dimensions)
                }
                None => false,
            };
            if !like {
                out.push(key.number);
            }
        }
    }
    Ok(out)
}

/// Whether two encoded vectors are the same except for rounding: each number, and the sign of each number that is not
/// rounded to nothing.
fn is_like(made: &[u8], stored: &[u8], dimensions: usize) -> bool {
    if made.len() != stored.len() {
        return false;
    }
    let (numbers, signs) = stored.split_at(dimensions);
    let near = |(a, b): (&u8, &u8)| (i16::from(*a as i8) - i16::from(*b as i8)).abs() <= ROUNDING;
    let sign = |(i, number): (usize, &u8)| *number == 0 || (signs[i / 8] >> (i % 8) & 1 == 1) == (*number as i8 > 0);
    made.iter().zip(numbers).all(near) && numbers.iter().enumerate().all(sign)
}
