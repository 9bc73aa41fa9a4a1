//! Items in a session's context since it was last cut (R10.6). They are kept in the ledger, so that neither a restart
//! nor the loss of the index loses them.

use std::collections::HashMap;

use rusqlite::{OptionalExtension, params};

use crate::audience::Audience;
use crate::clock::Millis;
use crate::error::Result;
use crate::ledger::{Read, Write};
use crate::lineage;
use crate::scope::{AgentNo, SessionNo};

/// The items a session holds, with the versions it was given.
#[derive(Default, Debug)]
pub(super) struct Held(HashMap<String, Vec<Version>>);

/// The digest of a version, and the key it was made with.
#[derive(Debug)]
struct Version {
    key: Vec<u8>,
    digest: Vec<u8>,
}

impl Held {
    /// Whether exactly this version is held.
    pub fn has(&self, item: &str, said: &[u8]) -> bool {
        self.0.get(item).is_some_and(|of| of.iter().any(|v| digest_of(&v.key, said) == v.digest))
    }
}

/// Returns the first eight bytes of a keyed digest: enough to distinguish two wordings, and useless for guessing words
/// once the key is removed.
pub(super) fn digest_of(key: &[u8], said: &[u8]) -> Vec<u8> {
    let Ok(key) = <[u8; 32]>::try_from(key) else { return Vec::new() };
    blake3::keyed_hash(&key, said).as_bytes()[..8].to_vec()
}

/// Returns the epoch of the last context a session was given up to a moment.
pub(super) fn last_given(tx: &Read, agent_no: AgentNo, session: &str, until: Millis) -> Result<Option<u64>> {
    let given: Option<i64> = tx
        .prepare_cached("SELECT max(epoch) FROM contexts WHERE agent_no = ?1 AND session_key = ?2 AND at <= ?3")?
        .query_row(params![agent_no, session, until], |r| r.get(0))?;
    Ok(given.map(|epoch| epoch as u64))
}

/// The most ancestors of a fork that are followed; a longer chain is an error.
const GENERATIONS: usize = 32;

/// A range of contexts: those given to a session in one epoch, up to a moment.
pub(super) struct Stretch {
    pub session: String,
    pub epoch: u64,
    pub until: Millis,
}

/// Returns the contexts that a session's program holds, oldest first. For a fork or resumed copy whose context was not
/// cut since, the contexts of its ancestors up to the copy come before its own.
pub(super) fn stretches(tx: &Read, audience: &Audience, epoch: u64) -> Result<Vec<Stretch>> {
    let mut out = vec![Stretch { session: audience.session.as_str().to_owned(), epoch, until: Millis::MAX }];
    let mut no = audience.known.as_ref().map(|k| k.no);
    for _ in 0..GENERATIONS {
        let (Some(copy), Some(last)) = (no, out.last().filter(|s| s.epoch == 0)) else { break };
        let Some((parent, of_parent)) = parent(tx, audience.agent_no, copy, last.until)? else { break };
        no = parent;
        out.push(of_parent);
    }
    out.reverse();
    Ok(out)
}

/// Returns the items that a session holds.
pub(super) fn held(tx: &Read, agent_no: AgentNo, stretches: &[Stretch]) -> Result<Held> {
    let mut held = Held::default();
    // The order of the join is fixed: with statistics taken when there were few contexts, SQLite would read all
    // contexts of every session.
    let mut statement = tx.prepare_cached(
        "SELECT i.item, c.key, i.digest FROM injected_items i CROSS JOIN contexts c USING (context_no)
         WHERE i.agent_no = ?1 AND i.session_key = ?2 AND i.epoch = ?3 AND c.at <= ?4",
    )?;
    for Stretch { session, epoch, until } in stretches {
        let mut rows = statement.query(params![agent_no, session, *epoch as i64, until])?;
        while let Some(r) = rows.next()? {
            held.0.entry(r.get(0)?).or_default().push(Version { key: r.get(1)?, digest: r.get(2)? });
        }
    }
    Ok(held)
}

/// Returns the parent of a fork, and the contexts it held when it was copied. The number is `None` if nothing of the
/// parent is stored.
fn parent(
    tx: &Read,
    agent_no: AgentNo,
    fork: SessionNo,
    until: Millis,
) -> Result<Option<(Option<SessionNo>, Stretch)>> {
    let (session, began): (Option<String>, Option<Millis>) = tx
        .prepare_cached("SELECT fork_of, started_at FROM sessions WHERE session_no = ?1")?
        .query_row([fork], |r| Ok((r.get(0)?, r.get(1)?)))?;
    let Some(session) = session else { return Ok(None) };
    let no: Option<SessionNo> = tx
        .prepare_cached("SELECT session_no FROM sessions WHERE agent_no = ?1 AND session_key = ?2")?
        .query_row(params![agent_no, session], |r| r.get(0))
        .optional()?;
    let copied = no.map(|parent| last_in_both(tx, fork, parent)).transpose()?.flatten();
    let until = until.min(copied.or(began).unwrap_or(Millis::MAX));
    let counted = no.map_or(Ok(0), |no| lineage::epoch_at(tx, no, until))?;
    // Contexts given and cuts announced may have a higher epoch than the lineage.
    let told: Option<i64> = tx
        .prepare_cached(
            "SELECT max(epoch) FROM (
               SELECT epoch FROM contexts WHERE agent_no = ?1 AND session_key = ?2 AND at <= ?3
               UNION ALL SELECT epoch FROM context_epochs WHERE agent_no = ?1 AND session_key = ?2 AND cut_at <= ?3)",
        )?
        .query_row(params![agent_no, session, until], |r| r.get(0))?;
    let epoch = counted.max(told.unwrap_or(0) as u64);
    Ok(Some((no, Stretch { session, epoch, until })))
}

/// Returns the time of the last turn common to a fork and its parent; up to there they are the same. A copy keeps the
/// times of its original, so the fork's own start time does not help.
fn last_in_both(tx: &Read, fork: SessionNo, parent: SessionNo) -> Result<Option<Millis>> {
    // The turn is stored with the session that was captured first; the other session refers to it.
    let mut statement = tx.prepare_cached(
        "SELECT t.at FROM turn_references r JOIN turns t USING (turn_no)
         WHERE r.session_no = ?1 AND (t.session_no = ?2 OR EXISTS (
           SELECT 1 FROM turn_references o WHERE o.session_no = ?2 AND o.turn_no = r.turn_no))
         ORDER BY r.turn_no DESC LIMIT 1",
    )?;
    let mut last = |copy: SessionNo, original: SessionNo| -> Result<Option<Millis>> {
        Ok(statement.query_row([copy, original], |r| r.get(0)).optional()?.flatten())
    };
    Ok(last(fork, parent)?.max(last(parent, fork)?))
}

/// Removes these items from what was given: their ids are made of their words.
pub(crate) fn forget_items<'i>(tx: &Write, agent_no: AgentNo, items: impl Iterator<Item = &'i str>) -> Result<()> {
    let mut delete = tx.prepare_cached("DELETE FROM injected_items WHERE agent_no = ?1 AND item = ?2")?;
    for item in items {
        delete.execute(params![agent_no, item])?;
    }
    Ok(())
}

/// Does the same with all items of files that no longer exist.
pub(crate) fn forget_unknown(tx: &Write, agent_no: AgentNo) -> Result<()> {
    tx.execute(
        "DELETE FROM injected_items WHERE agent_no = ?1 AND substr(item, 1, 2) IN ('l:', 'p:', 'm:', 'a:')
           AND item NOT IN (SELECT item FROM catalogue WHERE agent_no = ?1 AND item IS NOT NULL)",
        [agent_no],
    )?;
    Ok(())
}

/// Records that these items were given.
pub(super) fn note(
    tx: &Write,
    audience: &Audience,
    epoch: u64,
    context_no: i64,
    items: &[(String, Vec<u8>)],
) -> Result<()> {
    let mut statement = tx.prepare_cached(
        "INSERT INTO injected_items (agent_no, session_key, epoch, item, context_no, digest) VALUES (?1, ?2, ?3, ?4, ?5, ?6)
         ON CONFLICT DO NOTHING",
    )?;
    for (item, digest) in items {
        statement.execute(params![
            audience.agent_no,
            audience.session.as_str(),
            epoch as i64,
            item,
            context_no,
            digest
        ])?;
    }
    Ok(())
}
