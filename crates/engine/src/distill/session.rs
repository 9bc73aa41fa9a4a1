//! Ends a session, or an active period of one: makes one node for each thread it touched, over the chunks closed since
//! the last such node (R6.2). Open items become loop files, and loops that were settled are closed (R6.4).

use std::collections::BTreeMap;

use super::advance::Pass;
use super::compaction::{TRIES, is_overtaken, next_node, overtaken};
use super::flush::{Files, Made, flush};
use super::load::{self, SessionFacts};
use super::{Request, Said, closing, summary_input};
use crate::clock::Millis;
use crate::error::{Error, ErrorKind, Result};
use crate::ledger::{Read, Write};
use crate::lineage::distillate::{Distillate, Touch};
use crate::lineage::{self, Kind, NewNode, Node};
use crate::pages::{self, Happened};
use crate::scope::{LaneNo, NodeId, SessionNo, ThreadNo, TurnId};
use crate::thread;
use crate::title::flush_id;
use crate::tree::journal::Act;

/// Maximum tokens of a session node's summary.
const SESSION_TOKENS: usize = 160;

/// Makes the session nodes that are due. Returns their number.
///
/// Also writes the open items as loop files and closes the loops these turns settle. All of this is one act: the nodes
/// are inserted after the files were written.
pub(super) fn close(pass: &Pass, session_no: SessionNo) -> Result<u64> {
    for _ in 0..TRIES {
        let Some((facts, plan)) = planned(pass, session_no)? else { return Ok(0) };
        match commit(pass, session_no, &facts, plan) {
            Err(e) if is_overtaken(&e) => {}
            other => return other,
        }
    }
    Err(Error::new(ErrorKind::Busy, "the lineage of this session is being written by others")
        .hint("nothing was lost; run the command again"))
}

/// The nodes that are due, before they are inserted.
struct Planned {
    nodes: Vec<NewNode>,
    /// Number of summaries that fell back to the deterministic summariser.
    fell_back: usize,
}

/// Plans the nodes, one for each thread. `None`: nothing is due.
fn planned(pass: &Pass, session_no: SessionNo) -> Result<Option<(SessionFacts, Planned)>> {
    let at = pass.at;
    let (facts, open) =
        at.read(|tx| Ok((load::session(tx, at.agent_no, session_no)?, lineage::uncovered(tx, session_no)?)))?;
    let Some(facts) = facts.filter(|_| !open.is_empty()) else { return Ok(None) };
    let mut groups: BTreeMap<ThreadNo, Vec<Node>> = BTreeMap::new();
    for node in open {
        groups.entry(node.thread_no).or_default().push(node);
    }
    let mut plan = Planned { nodes: Vec::new(), fell_back: 0 };
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
        let made = summary_input::of_turns(pass, Kind::Session, &request, source_tokens, SESSION_TOKENS);
        plan.fell_back += usize::from(made.fell_back);
        let mut distillate = made.distillate;
        for other in others {
            add_files(&mut distillate, other);
        }
        plan.nodes.push(NewNode {
            agent_no: at.agent_no,
            kind: Kind::Session,
            depth: 0,
            thread_no,
            session_no: Some(session_no),
            lane_no: None,
            turns: hull(&nodes),
            times: (nodes.iter().filter_map(|n| n.times.0).min(), nodes.iter().filter_map(|n| n.times.1).max()),
            count: covered(&nodes),
            summary: made.text,
            distillate,
            source: made.source,
            source_tokens,
            summary_turn: None,
            abandoned: nodes.iter().all(|n| n.abandoned),
            late: Vec::new(),
            replaces: None,
            flush: None,
            children: nodes.iter().map(|n| n.id).collect(),
        });
    }
    Ok(Some((facts, plan)))
}

/// A session whose last activity is longer ago than this is history: its open items stay in its node, where they are
/// also shown and can be closed.
const RECENT_MS: Millis = 7 * 86_400_000;

/// Writes the files of the nodes and closes the loops they settle, if there are any, then inserts the nodes.
fn commit(pass: &Pass, session_no: SessionNo, facts: &SessionFacts, mut plan: Planned) -> Result<u64> {
    let at = pass.at;
    let is_recent = at.ledger.now().saturating_sub(facts.last_at) <= RECENT_MS;
    let opens = is_recent && plan.nodes.iter().any(|n| !n.distillate.open_loops.is_empty());
    // Many sessions open nothing and settle nothing; they do not need the tree lock.
    let closes = at.read(|tx| {
        if plan.nodes.iter().all(|n| n.distillate.done.is_empty()) {
            return Ok(false);
        }
        let open = closing::open_loops(tx, at.agent_no)?;
        for node in &plan.nodes {
            if !closing::settled(tx, at.agent_no, node.thread_no, &open, &node.distillate)?.is_empty() {
                return Ok(true);
            }
        }
        Ok(false)
    })?;
    if !(opens || closes) {
        return at.write("lineage.session", |tx| insert(pass, tx, session_no, facts, &plan, None));
    }
    let lock = pass.lock()?;
    let first = at.read(next_node)?;
    let (mut act, mut made) = (Act::new("session.close"), Made::default());
    for (i, node) in plan.nodes.iter_mut().enumerate() {
        let what = if is_recent { Files::Loops } else { Files::None };
        act = flush(&lock, facts, node, NodeId(first.0 + i as i64), what, act, &mut made)?;
    }
    if act.steps.is_empty() {
        drop(lock);
        return at.write("lineage.session", |tx| insert(pass, tx, session_no, facts, &plan, None));
    }
    act = act.tells(&at.read(|tx| ended(pass, tx, &plan))?);
    let id = flush_id();
    for node in &mut plan.nodes {
        node.flush = Some(id.clone());
    }
    let (count, _) = lock.perform_as(&id, made.noted(act), |tx| {
        // The files already name the node's number, so no other node may have taken it meanwhile.
        if next_node(tx)? != first {
            return Err(overtaken());
        }
        insert(pass, tx, session_no, facts, &plan, Some(&id))
    })?;
    Ok(count)
}

/// Inserts the nodes after checking that the plan is still valid, because another process may have inserted them. `id`:
/// the act they belong to.
fn insert(
    pass: &Pass,
    tx: &mut Write,
    session_no: SessionNo,
    facts: &SessionFacts,
    plan: &Planned,
    id: Option<&str>,
) -> Result<u64> {
    let mut ids: Vec<String> = Vec::new();
    for node in &plan.nodes {
        let still = lineage::uncovered(tx, session_no)?;
        if node.children.iter().all(|c| still.iter().any(|n| n.id == *c)) {
            ids.push(lineage::insert(tx, node)?.to_string());
        } else if id.is_some() {
            return Err(overtaken());
        }
    }
    if id.is_none() {
        pages::mark(tx, pass.at.agent_no, &ended(pass, tx, plan)?)?;
    }
    summary_input::note(pass, tx, plan.fell_back);
    tx.note("session", facts.key.as_str());
    let count = ids.len() as u64;
    tx.note("nodes", ids);
    Ok(count)
}

/// Returns the event by which the pages that show these nodes are marked.
fn ended(pass: &Pass, tx: &Read, plan: &Planned) -> Result<Happened> {
    let threads: Vec<ThreadNo> = plan.nodes.iter().map(|n| n.thread_no).collect();
    Ok(Happened::SessionEnded {
        threads: thread::files_of(tx, pass.at.agent_no, &threads)?,
        days: pass.at.days_of(plan.nodes.iter().filter_map(|n| n.times.1)),
    })
}

/// Reads the turns of a chunk that were not abandoned.
pub(super) fn turns_of(pass: &Pass, lane_no: LaneNo, span: (TurnId, TurnId)) -> Result<Vec<Said>> {
    let all = pass.at.read(|tx| load::range(tx, &pass.opener, lane_no, span.0, span.1))?;
    Ok(all.into_iter().filter(|(_, left)| !left).map(|(said, _)| said).collect())
}

/// Returns the distillate that precedes these nodes: that of their newest compaction, else of the session's last node
/// of the thread.
fn state_before(tx: &Read, session_no: SessionNo, thread_no: ThreadNo, nodes: &[Node]) -> Result<Option<Distillate>> {
    let compaction = nodes.iter().filter(|n| n.kind == Kind::Compaction).max_by_key(|n| (n.turns.1, n.id));
    if let Some(node) = compaction {
        return Ok(Some(node.distillate.clone()));
    }
    let last = lineage::newest(tx, session_no, Kind::Session, Some(thread_no))?;
    let start = segment_start(tx, session_no)?;
    Ok(last.filter(|n| n.turns.1 > start).map(|n| n.distillate))
}

/// Returns the last turn before the program last started over: items of earlier turns are not carried over.
pub(super) fn segment_start(tx: &Read, session_no: SessionNo) -> Result<TurnId> {
    let last: Option<TurnId> = tx
        .prepare_cached("SELECT max(until_turn) FROM compactions WHERE session_no = ?1 AND cause = 'segment'")?
        .query_row([session_no], |r| r.get(0))?;
    Ok(last.unwrap_or_default())
}

/// Adds the files a sub-agent changed to the distillate of the lane that started it.
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

/// Returns the number of turns below nodes of one session that do not overlap.
fn covered(nodes: &[Node]) -> u64 {
    nodes.iter().map(|n| n.count).sum()
}

/// The ids of nodes.
pub(super) fn ids(nodes: &[Node]) -> Vec<NodeId> {
    nodes.iter().map(|n| n.id).collect()
}
