//! Stores a language model's summary of a node beside the node, which itself never changes (D5, R6.3). Reading a node
//! gives the model's summary if there is one, together with the other
//! ([`Node::without_model`](super::Node::without_model)).

use rusqlite::{OptionalExtension, params};

use super::distillate::Distillate;
use super::{Kind, Node, STANDS, Source, digest_of};
use crate::clock::Millis;
use crate::error::{Error, ErrorKind, Result};
use crate::ledger::codes::{COMPACTION, CONDENSED, SESSION};
use crate::ledger::{Read, Write, blocks};
use crate::scope::{AgentNo, NodeId, TurnId};
use crate::tokens::tokens;

/// Maximum number of times a model is asked about one node: after two useless answers, a third is unlikely to help.
pub const TRIES: i64 = 2;

/// Maximum number of nodes that are asked about again at once, because the budget of a day is small.
const MOST_AGAIN: usize = 100;

/// Minimum tokens below a node for which a model is asked: a shorter range needs no better summary.
pub const WORTH_A_CALL: u64 = 300;

/// A node that a model may still summarise.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Due {
    pub node: NodeId,
    /// Time of the last turn the node covers.
    pub last_at: Option<Millis>,
    /// Tokens of the conversation the node summarises.
    pub source_tokens: u64,
}

/// Returns the nodes a model may still summarise: sessions and compactions first, the newest first, then condensed
/// nodes. Summaries that a program wrote itself are not replaced.
pub fn due(tx: &Read, agent_no: AgentNo, most: usize) -> Result<Vec<Due>> {
    let mut statement = tx.prepare_cached(&format!(
        "SELECT n.node_no, n.last_at, n.source_tokens FROM nodes n
         WHERE n.agent_no = ?1 AND n.kind IN ({SESSION}, {COMPACTION}, {CONDENSED}) AND n.source = ?2 AND n.abandoned = 0
           AND n.source_tokens >= ?3 AND length(n.key) > 0 AND {STANDS}
           AND NOT EXISTS (SELECT 1 FROM model_summaries m
                           WHERE m.node_no = n.node_no AND (m.summary IS NOT NULL OR m.tries >= {TRIES}))
         ORDER BY n.kind = {CONDENSED}, n.last_at DESC, n.node_no DESC LIMIT ?4"
    ))?;
    let rows = statement
        .query_map(params![agent_no, Source::Deterministic.code(), WORTH_A_CALL as i64, most as i64], |r| {
            Ok(Due { node: r.get(0)?, last_at: r.get(1)?, source_tokens: r.get::<_, i64>(2)? as u64 })
        })?;
    Ok(rows.collect::<rusqlite::Result<_>>()?)
}

/// Returns the tokens of the conversation below each node since a time that a model is asked about, whether it was or not.
pub fn lately(tx: &Read, agent_no: AgentNo, since: Millis) -> Result<Vec<u64>> {
    let mut statement = tx.prepare_cached(&format!(
        "SELECT n.source_tokens FROM nodes n
         WHERE n.agent_no = ?1 AND n.kind IN ({SESSION}, {COMPACTION}, {CONDENSED}) AND n.source = ?2 AND n.abandoned = 0
           AND n.source_tokens >= ?3 AND length(n.key) > 0 AND {STANDS} AND n.last_at >= ?4"
    ))?;
    let wanted = params![agent_no, Source::Deterministic.code(), WORTH_A_CALL as i64, since];
    let rows = statement.query_map(wanted, |r| r.get::<_, i64>(0).map(|n| n.max(0) as u64))?;
    Ok(rows.collect::<rusqlite::Result<_>>()?)
}

/// Selects the nodes that are given up, because no answer about them could be used.
const GIVEN_UP: &str = "FROM nodes n JOIN model_summaries m USING (node_no)
    WHERE n.agent_no = ?1 AND n.abandoned = 0 AND length(n.key) > 0 AND m.summary IS NULL AND m.problem IS NOT NULL
      AND m.tries >= ?2";

/// Returns the number of nodes a model is not asked about any more, because its answers could not be used.
pub fn given_up(tx: &Read, agent_no: AgentNo) -> Result<u64> {
    let sql = format!("SELECT count(*) {GIVEN_UP} AND {STANDS}");
    Ok(tx.prepare_cached(&sql)?.query_row(params![agent_no, TRIES], |r| r.get::<_, i64>(0))? as u64)
}

/// Lets a model be asked again about the newest nodes that were given up.
pub fn ask_again(tx: &Write, agent_no: AgentNo) -> Result<()> {
    tx.prepare_cached(&format!(
        "UPDATE model_summaries SET tries = 0
         WHERE node_no IN (SELECT n.node_no {GIVEN_UP} AND {STANDS} ORDER BY n.last_at DESC, n.node_no DESC LIMIT ?3)"
    ))?
    .execute(params![agent_no, TRIES, MOST_AGAIN as i64])?;
    Ok(())
}

/// Whether a model's summary of the node is stored.
pub fn is_there(tx: &Read, node: NodeId) -> Result<bool> {
    Ok(tx
        .prepare_cached("SELECT 1 FROM model_summaries WHERE node_no = ?1 AND summary IS NOT NULL")?
        .exists([node.0])?)
}

/// Stores a model's summary of a node. Returns `false` if another process was first, or the node was forgotten
/// meanwhile. Refuses (kind `Damaged`) a summary longer than the conversation it summarises (R6.2).
pub fn store(tx: &Write, node: &Node, model: &str, summary: &str, distillate: &Distillate) -> Result<bool> {
    let summary_tokens = tokens(summary) as u64;
    if summary_tokens > node.source_tokens {
        let what = format!("a summary of {summary_tokens} tokens for {} tokens of conversation", node.source_tokens);
        return Err(Error::new(ErrorKind::Damaged, what).hint("this is a fault of heirloom; please report it"));
    }
    if is_there(tx, node.id)? || super::find(tx, node.agent_no, node.id)?.is_none_or(|n| n.forgotten) {
        return Ok(false);
    }
    let json = serde_json::to_vec(distillate).map_err(|e| Error::damaged("a distillate").because(e))?;
    let mut key = [0u8; 16];
    getrandom::fill(&mut key)
        .map_err(|e| Error::new(ErrorKind::Machine, "the system gives no random numbers").because(e))?;
    let digest = digest_of(&key, node.kind, node.turns, summary, &json);
    // The row is replaced by one with a higher number, because the index reads new rows by their number.
    let tries: i64 = tx
        .prepare_cached("DELETE FROM model_summaries WHERE node_no = ?1 RETURNING tries")?
        .query_row([node.id.0], |r| r.get(0))
        .optional()?
        .unwrap_or(0);
    tx.prepare_cached(
        "INSERT INTO model_summaries (node_no, model, summary, summary_tokens, distillate, tries, created_at, key, digest)
         VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9)",
    )?
    .execute(params![
        node.id.0,
        model,
        summary,
        summary_tokens as i64,
        blocks::squeeze(&json)?,
        tries + 1,
        tx.now(),
        key,
        digest
    ])?;
    Ok(true)
}

/// Records that a model's answer about a node was refused. `why`: a sentence of ours. `tries`: the number of tries it
/// counts as, [`TRIES`] if asking again is useless.
pub fn failed(tx: &Write, node: NodeId, model: &str, why: &str, tries: i64) -> Result<()> {
    tx.prepare_cached(
        "INSERT INTO model_summaries (node_no, model, summary_tokens, tries, problem, created_at, key, digest)
         VALUES (?1, ?2, 0, ?5, ?3, ?4, x'', x'')
         ON CONFLICT (node_no) DO UPDATE SET model = ?2, tries = tries + ?5, problem = ?3 WHERE summary IS NULL",
    )?
    .execute(params![node.0, model, why, tx.now(), tries])?;
    Ok(())
}

/// Deletes the summary with its key; the row stays, so that no model is asked about forgotten text.
pub(super) fn bury(tx: &Write, node: NodeId) -> Result<()> {
    tx.prepare_cached(&format!(
        "UPDATE model_summaries SET summary = NULL, summary_tokens = 0, distillate = NULL, tries = {TRIES}, key = x''
         WHERE node_no = ?1"
    ))?
    .execute([node.0])?;
    Ok(())
}

/// The stored summary of one node, for rooms that check or search all of them.
#[derive(Clone, PartialEq, Debug)]
pub struct Stored {
    pub node: NodeId,
    pub kind: Kind,
    pub turns: (TurnId, TurnId),
    pub source_tokens: u64,
    pub summary: String,
    pub summary_tokens: u64,
    /// The distillate as JSON. Empty if it cannot be read.
    pub distillate: Vec<u8>,
    pub key: Vec<u8>,
    pub digest: Vec<u8>,
}

/// Returns every summary by a model, of one agent or of all.
pub fn all(tx: &Read, agent_no: Option<AgentNo>) -> Result<Vec<Stored>> {
    let mut statement = tx.prepare_cached(
        "SELECT m.node_no, n.kind, n.first_turn, n.last_turn, n.source_tokens, m.summary, m.summary_tokens, m.distillate,
                m.key, m.digest
         FROM model_summaries m JOIN nodes n USING (node_no)
         WHERE m.summary IS NOT NULL AND (?1 IS NULL OR n.agent_no = ?1) ORDER BY m.node_no",
    )?;
    let rows = statement.query_map([agent_no], |r| {
        let distillate: Option<Vec<u8>> = r.get(7)?;
        Ok(Stored {
            node: r.get(0)?,
            kind: Kind::of(r.get(1)?),
            turns: (r.get(2)?, r.get(3)?),
            source_tokens: r.get::<_, i64>(4)? as u64,
            summary: r.get(5)?,
            summary_tokens: r.get::<_, i64>(6)? as u64,
            distillate: distillate.and_then(|data| blocks::unsqueeze(&data).ok()).unwrap_or_default(),
            key: r.get(8)?,
            digest: r.get(9)?,
        })
    })?;
    Ok(rows.collect::<rusqlite::Result<_>>()?)
}
