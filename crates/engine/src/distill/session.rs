//! The end of a session, or of a while of it: one node for each thread it touched, over what closed since the last
//! (R6.2).

use std::collections::BTreeMap;

use super::advance::Pass;
use super::stretch::distil_stretch;
use super::{Request, Said, cadence, load};
use crate::assistant::mark_dirty;
use crate::error::Result;
use crate::ledger::Read;
use crate::lineage::distillate::{Distillate, Touch};
use crate::lineage::{self, Kind, NewNode, Node, Source};
use crate::scope::{NodeId, TurnId};

/// The longest summary of a session.
const SESSION_TOKENS: usize = 160;

/// Makes the session nodes that are due. Returns how many.
pub(super) fn close(pass: &Pass, session_no: i64) -> Result<u64> {
    let at = pass.at;
    let (facts, open) =
        at.read(|tx| Ok((load::session(tx, at.agent_no, session_no)?, lineage::uncovered(tx, session_no)?)))?;
    let Some(facts) = facts else { return Ok(0) };
    let mut groups: BTreeMap<i64, Vec<Node>> = BTreeMap::new();
    for node in open {
        groups.entry(node.thread_no).or_default().push(node);
    }
    let mut made = Vec::new();
    for (thread_no, nodes) in groups {
        let before = at.read(|tx| state_before(tx, session_no, thread_no, &nodes))?;
        let (mut said, mut others) = (Vec::new(), Vec::new());
        for node in nodes.iter().filter(|n| n.kind == Kind::Chunk && !n.abandoned) {
            match (&node.lane, node.lane_no) {
                (Some(lane), Some(lane_no)) if lane.is_empty() => said.extend(turns_of(pass, lane_no, node.turns)?),
                _ => others.push(&node.distillate),
            }
        }
        let source_tokens: u64 = nodes.iter().map(|n| n.source_tokens).sum();
        let request = Request { turns: &said, before: before.as_ref(), root: facts.root.as_deref() };
        let (summary, mut distillate) = distil_stretch(&request, source_tokens, SESSION_TOKENS);
        for other in others {
            add_files(&mut distillate, other);
        }
        made.push(NewNode {
            agent_no: at.agent_no,
            kind: Kind::Session,
            depth: 0,
            thread_no,
            session_no: Some(session_no),
            lane_no: None,
            turns: hull(&nodes),
            times: (nodes.iter().filter_map(|n| n.times.0).min(), nodes.iter().filter_map(|n| n.times.1).max()),
            count: covered(&nodes),
            summary,
            distillate,
            source: Source::Deterministic,
            source_tokens,
            summary_turn: None,
            abandoned: nodes.iter().all(|n| n.abandoned),
            late: Vec::new(),
            replaces: None,
            flush: None,
            children: nodes.iter().map(|n| n.id).collect(),
        });
    }
    if made.is_empty() {
        return Ok(0);
    }
    at.write("lineage.session", |tx| {
        let mut ids: Vec<String> = Vec::new();
        for node in &made {
            // Somebody else may have been quicker.
            let still = lineage::uncovered(tx, session_no)?;
            if node.children.iter().all(|c| still.iter().any(|n| n.id == *c)) {
                ids.push(lineage::insert(tx, node)?.to_string());
            }
        }
        let threads: Vec<i64> = made.iter().map(|n| n.thread_no).collect();
        let moments: Vec<_> = made.iter().map(|n| n.times.1).collect();
        let heads = cadence::after(at, tx, &threads, &moments)?;
        mark_dirty(tx, at.agent_no, &heads)?;
        tx.note("session", facts.key.as_str());
        let count = ids.len() as u64;
        tx.note("nodes", ids);
        Ok(count)
    })
}

/// Turns of a chunk that were not left.
pub(super) fn turns_of(pass: &Pass, lane_no: i64, span: (TurnId, TurnId)) -> Result<Vec<Said>> {
    let all = pass.at.read(|tx| load::range(tx, &pass.opener, lane_no, span.0, span.1))?;
    Ok(all.into_iter().filter(|(_, left)| !left).map(|(said, _)| said).collect())
}

/// What was known before these nodes: their newest compaction, else the session's last node of the thread.
fn state_before(tx: &Read, session_no: i64, thread_no: i64, nodes: &[Node]) -> Result<Option<Distillate>> {
    let compaction = nodes.iter().filter(|n| n.kind == Kind::Compaction).max_by_key(|n| (n.turns.1, n.id));
    if let Some(node) = compaction {
        return Ok(Some(node.distillate.clone()));
    }
    let last = lineage::newest(tx, session_no, Kind::Session, Some(thread_no))?;
    let start = segment_start(tx, session_no)?;
    Ok(last.filter(|n| n.turns.1 > start).map(|n| n.distillate))
}

/// The last turn before the program last started over: what lies behind it is not carried on.
pub(super) fn segment_start(tx: &Read, session_no: i64) -> Result<TurnId> {
    let last: Option<i64> = tx
        .prepare_cached("SELECT max(until_turn) FROM compactions WHERE session_no = ?1 AND cause = 'segment'")?
        .query_row([session_no], |r| r.get(0))?;
    Ok(TurnId(last.unwrap_or(0)))
}

/// What sub-agents changed belongs to whoever sent them.
pub(super) fn add_files(to: &mut Distillate, of: &Distillate) {
    for file in of.files.iter().filter(|f| f.touch != Touch::Read) {
        match to.files.iter_mut().find(|f| f.path == file.path) {
            Some(known) => {
                known.touch = known.touch.max(file.touch);
                known.turns.extend(&file.turns);
                known.turns.sort();
                known.turns.dedup();
            }
            None => to.files.push(file.clone()),
        }
    }
}

pub(super) fn hull(nodes: &[Node]) -> (TurnId, TurnId) {
    let first = nodes.iter().map(|n| n.turns.0).min().unwrap_or_default();
    (first, nodes.iter().map(|n| n.turns.1).max().unwrap_or_default())
}

/// Turns below nodes of one session that cover nothing twice.
fn covered(nodes: &[Node]) -> u64 {
    nodes.iter().map(|n| n.count).sum()
}

/// The ids of nodes.
pub(super) fn ids(nodes: &[Node]) -> Vec<NodeId> {
    nodes.iter().map(|n| n.id).collect()
}
