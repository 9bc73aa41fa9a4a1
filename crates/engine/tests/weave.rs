//! A simple maker of lineage for tests: all turns into chunks of a few turns, compaction nodes at boundaries, session
//! nodes at ends, and eight roots into one. Its choices are poor, but its nodes have the right form.

use heirloom_engine::clock::Millis;
use heirloom_engine::error::Result;
use heirloom_engine::ledger::blocks::Opener;
use heirloom_engine::ledger::{Audit, Ledger, Write};
use heirloom_engine::lineage::distillate::{Distillate, Item};
use heirloom_engine::lineage::{
    self, Kind, NewCompaction, NewNode, Node, Source, boundary_is_handled, frontier, uncovered, walk,
};
use heirloom_engine::scope::{AgentNo, BoundaryNo, LaneNo, NodeId, SessionNo, ThreadNo, TurnId};
use heirloom_engine::thread::{join, membership};
use heirloom_engine::tokens::{cut, tokens};
use heirloom_engine::transcript::read::{self, Turn};
use rusqlite::params;

/// Number of turns in a chunk.
pub const CHUNK: usize = 4;

/// Brings every session of an agent up to date.
pub fn advance(ledger: &Ledger, agent_no: AgentNo) {
    ledger.write(Audit::new("test", "weave"), |tx| weave(tx, agent_no)).unwrap();
}

fn column<T: rusqlite::types::FromSql>(tx: &Write, sql: &str, no: impl rusqlite::ToSql) -> Result<Vec<T>> {
    let mut statement = tx.prepare(sql)?;
    let rows = statement.query_map([no], |r| r.get(0))?;
    Ok(rows.collect::<rusqlite::Result<_>>()?)
}

fn weave(tx: &mut Write, agent_no: AgentNo) -> Result<()> {
    for session in
        column::<SessionNo>(tx, "SELECT session_no FROM sessions WHERE agent_no = ?1 ORDER BY session_no", agent_no)?
    {
        for lane in column::<LaneNo>(tx, "SELECT lane_no FROM lanes WHERE session_no = ?1 ORDER BY lane_no", session)? {
            chunks(tx, agent_no, session, lane)?;
            compactions(tx, agent_no, session, lane)?;
        }
        let ended =
            tx.query_row("SELECT ended_at IS NOT NULL FROM sessions WHERE session_no = ?1", [session], |r| r.get(0))?;
        if ended {
            over(tx, uncovered(tx, session)?, |_| Kind::Session, None)?;
        }
    }
    let threads =
        column::<ThreadNo>(tx, "SELECT thread_no FROM threads WHERE agent_no = ?1 ORDER BY thread_no", agent_no)?;
    for thread in threads {
        for depth in 0..6 {
            loop {
                let roots = walk::roots(tx, thread, depth, 8)?;
                if roots.len() < 8 {
                    break;
                }
                over(tx, roots, |_| Kind::Condensed, None)?;
            }
        }
    }
    Ok(())
}

/// Returns the last turn of a lane before each of its boundaries.
fn cuts(tx: &Write, lane: LaneNo) -> Result<Vec<(BoundaryNo, i64)>> {
    let mut statement = tx.prepare(
        "SELECT boundary_no, (SELECT max(turn_no) FROM turns t WHERE t.lane_no = b.lane_no AND t.record_no <= b.record_no)
         FROM boundaries b WHERE lane_no = ?1 AND kind = 'compaction' ORDER BY boundary_no",
    )?;
    let rows = statement.query_map([lane], |r| Ok((r.get(0)?, r.get::<_, Option<i64>>(1)?)))?;
    let all: Vec<(BoundaryNo, Option<i64>)> = rows.collect::<rusqlite::Result<_>>()?;
    Ok(all.into_iter().filter_map(|(no, until)| Some((no, until?))).collect())
}

fn chunks(tx: &mut Write, agent_no: AgentNo, session: SessionNo, lane: LaneNo) -> Result<()> {
    let from = frontier(tx, lane)?;
    let ids: Vec<i64> = {
        let mut statement =
            tx.prepare("SELECT turn_no FROM turns WHERE lane_no = ?1 AND turn_no > ?2 ORDER BY turn_no")?;
        let rows = statement.query_map((lane, from.0), |r| r.get(0))?;
        rows.collect::<rusqlite::Result<_>>()?
    };
    let ends: Vec<i64> = cuts(tx, lane)?.into_iter().map(|(_, until)| until).collect();
    let opener = Opener::default();
    let mut group: Vec<Turn> = Vec::new();
    let mut thread_of = ThreadNo(0);
    for id in ids {
        let turn = read::turn(tx, &opener, agent_no, TurnId(id))?;
        let thread = join(tx, agent_no, turn.run, &membership(tx, turn.run)?)?;
        let ended = group.last().is_some_and(|t| ends.contains(&t.id.0));
        if !group.is_empty() && (group.len() >= CHUNK || thread_of != thread || ended) {
            chunk(tx, agent_no, session, lane, thread_of, &group)?;
            group.clear();
        }
        thread_of = thread;
        group.push(turn);
    }
    if !group.is_empty() {
        chunk(tx, agent_no, session, lane, thread_of, &group)?;
    }
    Ok(())
}

pub fn chunk(
    tx: &Write,
    agent_no: AgentNo,
    session: SessionNo,
    lane: LaneNo,
    thread: ThreadNo,
    turns: &[Turn],
) -> Result<NodeId> {
    let (first, last) = (&turns[0], &turns[turns.len() - 1]);
    let source_tokens: u64 = turns.iter().map(|t| tokens(&t.text) as u64).sum();
    let times: Vec<Millis> = turns.iter().filter_map(|t| t.at).collect();
    let goal: String = first.text.chars().take(80).collect();
    let new = NewNode {
        agent_no,
        kind: Kind::Chunk,
        depth: 0,
        thread_no: thread,
        session_no: Some(session),
        lane_no: Some(lane),
        turns: (first.id, last.id),
        times: (times.iter().copied().min(), times.iter().copied().max()),
        count: turns.len() as u64,
        summary: cut(&first.text, (source_tokens as usize).min(12)),
        distillate: Distillate { goal: Some(Item::new(goal, first.id)), ..Distillate::default() },
        source: Source::Deterministic,
        source_tokens,
        summary_turn: None,
        abandoned: false,
        late: Vec::new(),
        replaces: None,
        flush: None,
        children: Vec::new(),
    };
    lineage::insert(tx, &new)
}

fn compactions(tx: &mut Write, agent_no: AgentNo, session: SessionNo, lane: LaneNo) -> Result<()> {
    let _ = agent_no;
    for (boundary, until) in cuts(tx, lane)? {
        if boundary_is_handled(tx, boundary)? {
            continue;
        }
        let mut below = uncovered(tx, session)?;
        below.retain(|n| n.kind == Kind::Chunk && n.lane_no == Some(lane) && n.turns.1.0 <= until);
        let made = over(tx, below, |_| Kind::Compaction, Some(lane))?;
        let node = made.last().copied();
        let new = NewCompaction {
            session_no: session,
            lane_no: lane,
            node,
            boundary_no: Some(boundary),
            cause: "harness",
            until: TurnId(until),
            preserved: Vec::new(),
            restoration: vec!["handoff".into()],
            at: tx.now(),
            flush: None,
        };
        lineage::record_compaction(tx, &new)?;
    }
    Ok(())
}

/// Makes one node over each thread's part of these nodes.
pub fn over(tx: &Write, nodes: Vec<Node>, kind: impl Fn(&Node) -> Kind, lane: Option<LaneNo>) -> Result<Vec<NodeId>> {
    let mut threads: Vec<ThreadNo> = nodes.iter().map(|n| n.thread_no).collect();
    threads.sort_unstable();
    threads.dedup();
    let mut made = Vec::new();
    for thread in threads {
        let of: Vec<&Node> = nodes.iter().filter(|n| n.thread_no == thread).collect();
        made.push(lineage::insert(tx, &parent(&of, kind(of[0]), lane))?);
    }
    Ok(made)
}

/// Returns a node that fits over others.
pub fn parent(of: &[&Node], kind: Kind, lane: Option<LaneNo>) -> NewNode {
    let source_tokens: u64 = of.iter().map(|n| n.source_tokens).sum();
    NewNode {
        agent_no: of[0].agent_no,
        kind,
        depth: if kind == Kind::Condensed { of.iter().map(|n| n.depth).max().unwrap() + 1 } else { 0 },
        thread_no: of[0].thread_no,
        session_no: if kind == Kind::Condensed { None } else { of[0].session_no },
        lane_no: lane,
        turns: (of.iter().map(|n| n.turns.0).min().unwrap(), of.iter().map(|n| n.turns.1).max().unwrap()),
        times: (of.iter().filter_map(|n| n.times.0).min(), of.iter().filter_map(|n| n.times.1).max()),
        count: of.iter().map(|n| n.count).sum(),
        summary: cut(&of[0].summary, (source_tokens as usize).min(12)),
        distillate: of.last().unwrap().distillate.clone(),
        source: Source::Deterministic,
        source_tokens,
        summary_turn: None,
        abandoned: false,
        late: Vec::new(),
        replaces: None,
        flush: None,
        children: of.iter().map(|n| n.id).collect(),
    }
}

/// Forgets a node: its words are removed, and a node that says less is made in its place.
pub fn forget(tx: &Write, agent_no: AgentNo, id: NodeId) -> Result<NodeId> {
    let old = lineage::node(tx, agent_no, id)?;
    let children: Vec<NodeId> = walk::children(tx, agent_no, id)?.into_iter().map(|n| n.id).collect();
    tx.execute(
        "UPDATE nodes SET summary = '', distillate = NULL, key = x'', digest = x'', summary_tokens = 0 WHERE node_no = ?1",
        params![id.0],
    )?;
    let new = NewNode {
        agent_no,
        kind: old.kind,
        depth: old.depth,
        thread_no: old.thread_no,
        session_no: old.session_no,
        lane_no: old.lane_no,
        turns: old.turns,
        times: old.times,
        count: old.count,
        summary: String::new(),
        distillate: Distillate::default(),
        source: Source::Deterministic,
        source_tokens: old.source_tokens,
        summary_turn: None,
        abandoned: false,
        late: Vec::new(),
        replaces: Some(id),
        flush: None,
        children,
    };
    let made = lineage::insert(tx, &new)?;
    for parent in walk::parents(tx, agent_no, id)? {
        tx.execute("INSERT INTO node_edges (parent_no, child_no) VALUES (?1, ?2)", [parent.id.0, made.0])?;
    }
    Ok(made)
}
