//! What a session's context holds since it was cut last (R10.6). In the ledger, so that neither a restart nor the loss of
//! the index forgets it.

use std::collections::HashMap;

use rusqlite::{OptionalExtension, params};

use crate::error::Result;
use crate::ledger::{Read, Write};
use crate::recall::place::Place;

/// The items a session holds, each in the versions it was given.
#[derive(Default, Debug)]
pub(super) struct Held(HashMap<String, Vec<Version>>);

/// What tells one version from another, and the key that was made with.
#[derive(Debug)]
struct Version {
    key: Vec<u8>,
    digest: Vec<u8>,
}

impl Held {
    /// Whether just this is held.
    pub fn has(&self, item: &str, said: &[u8]) -> bool {
        self.0.get(item).is_some_and(|of| of.iter().any(|v| digest_of(&v.key, said) == v.digest))
    }
}

/// The first eight bytes of a keyed digest: enough to tell two wordings apart, and of no use for guessing at words once
/// the key is gone.
pub(super) fn digest_of(key: &[u8], said: &[u8]) -> Vec<u8> {
    let Ok(key) = <[u8; 32]>::try_from(key) else { return Vec::new() };
    blake3::keyed_hash(&key, said).as_bytes()[..8].to_vec()
}

/// What the session holds; a fork or resumed copy also what its parent held when it was made.
pub(super) fn held(tx: &Read, place: &Place, epoch: u64) -> Result<Held> {
    let mut held = Held::default();
    let mut read = |session: &str, epoch: i64, until: i64| -> Result<()> {
        let mut statement = tx.prepare_cached(
            "SELECT i.item, c.key, i.digest FROM injected_items i JOIN contexts c USING (context_no)
             WHERE i.agent_no = ?1 AND i.session_key = ?2 AND i.epoch = ?3 AND c.at <= ?4",
        )?;
        let mut rows = statement.query(params![place.agent_no, session, epoch, until])?;
        while let Some(r) = rows.next()? {
            held.0.entry(r.get(0)?).or_default().push(Version { key: r.get(1)?, digest: r.get(2)? });
        }
        Ok(())
    };
    read(place.session.as_str(), epoch as i64, i64::MAX)?;
    if epoch == 0
        && let Some(known) = &place.known
        && let Some(parent) = &known.fork_of
    {
        let until = known.started_at.unwrap_or(i64::MAX);
        let of_parent: Option<i64> = tx
            .prepare_cached("SELECT max(epoch) FROM contexts WHERE agent_no = ?1 AND session_key = ?2 AND at <= ?3")?
            .query_row(params![place.agent_no, parent, until], |r| r.get(0))
            .optional()?
            .flatten();
        if let Some(of_parent) = of_parent {
            read(parent, of_parent, until)?;
        }
    }
    Ok(held)
}

/// Notes that these items were given.
pub(super) fn note(tx: &Write, place: &Place, epoch: u64, context_no: i64, items: &[(String, Vec<u8>)]) -> Result<()> {
    let mut statement = tx.prepare_cached(
        "INSERT INTO injected_items (agent_no, session_key, epoch, item, context_no, digest) VALUES (?1, ?2, ?3, ?4, ?5, ?6)
         ON CONFLICT DO NOTHING",
    )?;
    for (item, digest) in items {
        statement.execute(params![place.agent_no, place.session.as_str(), epoch as i64, item, context_no, digest])?;
    }
    Ok(())
}
