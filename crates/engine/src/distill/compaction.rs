//! Makes compactions: where a context is cut, a handoff replaces what was said before (R6.3, R6.4, R6.6).
//!
//! Whatever the cause (the program, with or without a summary; a conversation that grew long; a person's request),
//! every compaction makes the same kind of node. Before the node is visible, open loops and proposals are written as
//! files, so that they outlive the context. One act does all of this: its plan contains the distillate, so that nothing
//! is distilled again after a crash, and the transaction that finishes the act inserts the node and the boundary.

use std::fmt;

use rusqlite::{OptionalExtension, params};

use super::advance::Pass;
use super::flush::{Files, Made, flush};
use super::fold::fold;
use super::load::{self, Mark, SessionFacts};
use super::session::{add_files, hull, segment_start, turns_of};
use super::still_open::still_stands;
use super::{Request, Said, closing, handoff, summary_input, work_state};
use crate::clock::Millis;
use crate::error::{Error, ErrorKind, Result};
use crate::ledger::codes::{CHUNK, COMPACT_SUMMARY, COMPACTION, MACHINE_PROMPT, TOOL_CALL};
use crate::ledger::{Read, Write};
use crate::lineage::distillate::Distillate;
use crate::lineage::{self, Kind, NewCompaction, NewNode, Node, Source, walk};
use crate::pages::{self, Happened};
use crate::scope::{AgentNo, BlockNo, LaneNo, NodeId, SessionNo, ThreadNo, TurnId};
use crate::title::flush_id;
use crate::tokens::{cut, tokens};
use crate::tree::AssistantHome;
use crate::tree::journal::Act;
use crate::{redact, thread};

/// Open items of imported history stay in the node instead of becoming files, if the latest activity in the project is
/// more than this after that of the session.
const RECENT_MS: Millis = 30 * 86_400_000;

/// Maximum number of times a plan is made again after another process has overtaken it.
pub(super) const TRIES: usize = 20;

/// A chunk that no compaction covers.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct OpenChunk {
    pub id: NodeId,
    pub last: TurnId,
    pub turns: u64,
    pub tokens: u64,
}

/// Returns the chunks of a lane that no compaction covers, oldest first, up to a turn.
pub fn open_chunks(tx: &Read, lane_no: LaneNo, until: Option<TurnId>) -> Result<Vec<OpenChunk>> {
    let mut statement = tx.prepare_cached(&format!(
        "SELECT n.node_no, n.last_turn, n.turns, n.source_tokens FROM nodes n
         WHERE n.lane_no = ?1 AND n.kind = {CHUNK} AND length(n.key) > 0
           AND (?2 IS NULL OR n.last_turn <= ?2)
           AND n.first_turn > coalesce((SELECT max(until_turn) FROM compactions WHERE lane_no = ?1), 0)
           AND NOT EXISTS (SELECT 1 FROM node_edges e JOIN nodes p ON p.node_no = e.parent_no
                           WHERE e.child_no = n.node_no AND p.kind = {COMPACTION})
         ORDER BY n.first_turn"
    ))?;
    let rows = statement.query_map(params![lane_no, until.map(|u| u.0)], |r| {
        Ok(OpenChunk {
            id: r.get(0)?,
            last: r.get(1)?,
            turns: r.get::<_, i64>(2)? as u64,
            tokens: r.get::<_, i64>(3)? as u64,
        })
    })?;
    Ok(rows.collect::<rusqlite::Result<_>>()?)
}

/// A cut of a context, and its cause.
struct Cut {
    session_no: SessionNo,
    lane_no: LaneNo,
    cause: &'static str,
    mark: Option<Mark>,
    /// The turn with the program's own summary, and the summary.
    summary: Option<(TurnId, String)>,
    until: Option<TurnId>,
}

/// Handles a compaction made by a program. Returns the number of nodes it made.
pub(super) fn of_mark(pass: &Pass, session_no: SessionNo, lane_no: LaneNo, mark: &Mark) -> Result<u64> {
    let at = pass.at;
    let summary = at.read(|tx| program_summary(tx, pass, lane_no, mark))?;
    let cut = Cut { session_no, lane_no, cause: "harness", mark: Some(mark.clone()), summary, until: None };
    let made = make(pass, &cut)?;
    if made == 0 {
        let at_ms = mark.at.unwrap_or(at.ledger.now());
        let until = at.read(|tx| lineage::frontier(tx, lane_no))?;
        at.write("lineage.boundary", |tx| {
            if lineage::boundary_is_handled(tx, mark.boundary_no)? {
                return Ok(());
            }
            let again = bare(session_no, lane_no, mark, "again", until, at_ms);
            let new = match after_ours(tx, lane_no)? {
                // Our own node already covers these turns: the program, now cut, continues from that handoff (R10.6).
                Some(node) => NewCompaction { cause: "harness", restoration: restoration(node, &[]), ..again },
                // The mark is repeated, or no turns precede it.
                None => again,
            };
            lineage::record_compaction(tx, &new)
        })?;
    }
    Ok(made)
}

/// Returns the node of our own compaction, if that is the last one of a lane: the program's context has not been cut
/// since.
fn after_ours(tx: &Read, lane_no: LaneNo) -> Result<Option<NodeId>> {
    let last: Option<(String, Option<NodeId>)> = tx
        .prepare_cached(
            "SELECT cause, node_no FROM compactions WHERE lane_no = ?1 AND cause != 'again' ORDER BY compaction_no DESC LIMIT 1",
        )?
        .query_row([lane_no], |r| Ok((r.get(0)?, r.get(1)?)))
        .optional()?;
    Ok(last.filter(|(cause, _)| cause == "threshold").and_then(|(_, node)| node))
}

/// Records that the program started over: there is no handoff, and the context that was injected before is gone.
pub(super) fn note_segment(pass: &Pass, session_no: SessionNo, lane_no: LaneNo, mark: &Mark) -> Result<()> {
    let at_ms = mark.at.unwrap_or(pass.at.ledger.now());
    let until = pass.at.read(|tx| lineage::frontier(tx, lane_no))?;
    pass.at.write("lineage.boundary", |tx| {
        if lineage::boundary_is_handled(tx, mark.boundary_no)? {
            return Ok(());
        }
        lineage::record_compaction(tx, &bare(session_no, lane_no, mark, "segment", until, at_ms))
    })
}

fn bare(
    session_no: SessionNo,
    lane_no: LaneNo,
    mark: &Mark,
    cause: &'static str,
    until: TurnId,
    at: Millis,
) -> NewCompaction {
    NewCompaction {
        session_no,
        lane_no,
        node: None,
        boundary_no: Some(mark.boundary_no),
        cause,
        until,
        preserved: Vec::new(),
        restoration: Vec::new(),
        at,
        flush: None,
    }
}

/// Makes our own compaction: because a conversation grew long (`threshold`) or a person asked (`manual`). Returns 0 if
/// nothing is new.
pub(super) fn ours(
    pass: &Pass,
    session_no: SessionNo,
    lane_no: LaneNo,
    until: TurnId,
    cause: &'static str,
) -> Result<u64> {
    make(pass, &Cut { session_no, lane_no, cause, mark: None, summary: None, until: Some(until) })
}

/// Returns the program's own summary after its mark, without the thinking and the instructions around it. Several marks with
/// no turns between them count as one.
fn program_summary(tx: &Read, pass: &Pass, lane_no: LaneNo, mark: &Mark) -> Result<Option<(TurnId, String)>> {
    let found: Option<(TurnId, BlockNo, i64, i64)> = tx
        .prepare_cached(&format!(
            "SELECT turn_no, block_no, text_offset, text_length FROM turns
             WHERE lane_no = ?1 AND kind = {COMPACT_SUMMARY} AND record_no >= ?2
               AND record_no < coalesce((SELECT min(record_no) FROM boundaries
                                         WHERE lane_no = ?1 AND kind = 'compaction' AND record_no > ?2
                                           AND EXISTS (SELECT 1 FROM turns t INDEXED BY turns_record
                                                       WHERE t.record_no >= ?2 AND t.record_no < boundaries.record_no
                                                         AND t.lane_no = ?1)), 9e18)
             ORDER BY turn_no LIMIT 1"
        ))?
        .query_row((lane_no, mark.record_no), |r| Ok((r.get(0)?, r.get(1)?, r.get(2)?, r.get(3)?)))
        .optional()?;
    let Some((turn, block, offset, length)) = found else { return Ok(None) };
    let text = String::from_utf8_lossy(&pass.opener.slice(tx, block, offset, length)?).into_owned();
    Ok(Some((turn, redact::redact(work_state::told(&text)).into_owned())))
}

fn make(pass: &Pass, what: &Cut) -> Result<u64> {
    let at = pass.at;
    for _ in 0..TRIES {
        let Some(facts) = at.read(|tx| load::session(tx, at.agent_no, what.session_no))? else { return Ok(0) };
        let chunks = at.read(|tx| {
            open_chunks(tx, what.lane_no, what.until)?
                .iter()
                .map(|c| lineage::node(tx, at.agent_no, c.id))
                .collect::<Result<Vec<Node>>>()
        })?;
        let Some(last) = chunks.last() else { return Ok(0) };
        // After a repeated mark there is only the summary of the first one, and no message: no node is made. Our own
        // compaction, in contrast, must cover all turns that made it due.
        if what.cause != "threshold" && !at.read(|tx| speaks(tx, &chunks))? {
            return Ok(0);
        }
        let main_thread = last.thread_no;
        let mut threads: Vec<ThreadNo> = Vec::new();
        for chunk in &chunks {
            if !threads.contains(&chunk.thread_no) {
                threads.push(chunk.thread_no);
            }
        }
        // The current thread of the conversation comes last: the boundary refers to its node.
        threads.retain(|t| *t != main_thread);
        threads.push(main_thread);
        let (mut nodes, mut fell_back) = (Vec::new(), 0);
        for thread_no in &threads {
            let below: Vec<&Node> = chunks.iter().filter(|c| c.thread_no == *thread_no).collect();
            let (node, in_vain) = node(pass, what, &facts, *thread_no, &below)?;
            nodes.push(node);
            fell_back += usize::from(in_vain);
        }
        let plan = Planned { nodes, until: last.turns.1, fell_back };
        match commit(pass, what, &facts, plan) {
            Err(e) if is_overtaken(&e) => {}
            other => return other,
        }
    }
    Err(Error::new(ErrorKind::Busy, "the lineage of this session is being written by others")
        .hint("nothing was lost; run the command again"))
}

/// Whether these chunks contain messages: a program's own summary needs no handoff.
fn speaks(tx: &Read, chunks: &[Node]) -> Result<bool> {
    let mut statement = tx.prepare_cached(&format!(
        "SELECT 1 FROM turns INDEXED BY turns_lane
         WHERE lane_no = ?1 AND turn_no BETWEEN ?2 AND ?3 AND kind NOT IN ({COMPACT_SUMMARY}, {MACHINE_PROMPT}) LIMIT 1"
    ))?;
    for chunk in chunks {
        if statement.exists(params![chunk.lane_no, chunk.turns.0.0, chunk.turns.1.0])? {
            return Ok(true);
        }
    }
    Ok(false)
}

/// The nodes of a compaction, before they are inserted.
struct Planned {
    nodes: Vec<NewNode>,
    until: TurnId,
    /// Number of summaries that fell back to the deterministic summariser.
    fell_back: usize,
}

/// Makes the node over chunks of one thread. Also returns whether its summary fell back to the deterministic
/// summariser.
fn node(
    pass: &Pass,
    what: &Cut,
    facts: &SessionFacts,
    thread_no: ThreadNo,
    below: &[&Node],
) -> Result<(NewNode, bool)> {
    let at = pass.at;
    let owned: Vec<Node> = below.iter().map(|n| (*n).clone()).collect();
    let mut said: Vec<Said> = Vec::new();
    for chunk in below.iter().filter(|c| !c.abandoned) {
        said.extend(turns_of(pass, what.lane_no, chunk.turns)?);
    }
    let before = at.read(|tx| {
        let last = lineage::newest(tx, what.session_no, Kind::Compaction, Some(thread_no))?;
        let start = segment_start(tx, what.session_no)?;
        // Items that were resolved, merged or rejected in the meantime are not carried on (R6.3).
        last.filter(|n| n.turns.1 > start).map(|n| still_stands(tx, at.agent_no, &n.distillate)).transpose()
    })?;
    let request = Request { turns: &said, before: before.as_ref(), root: facts.root.as_deref() };
    let source_tokens: u64 = owned.iter().map(|n| n.source_tokens).sum();
    let budget = pass.limits.handoff_tokens.min(source_tokens as usize);
    let made = summary_input::of_turns(pass, Kind::Compaction, &request, source_tokens, budget);
    let mut distillate = made.distillate;
    for other in at.read(|tx| sub_agents(tx, what, &owned))? {
        add_files(&mut distillate, &other.distillate);
    }
    // The handoff has sections, whichever summariser made their content (R6.3). A later handoff replaces the earlier
    // ones, so it also tells what was done before them.
    let earlier = at.read(|tx| earlier(tx, at.agent_no, what.session_no, Some(thread_no), hull(&owned).0))?;
    let own = handoff::render(&fold(&earlier, &distillate), budget);
    // The program's own summary is preferred, unless it is longer than its source.
    let fits = |text: &str| !text.is_empty() && tokens(text) as u64 <= source_tokens;
    let told = what.summary.as_ref().filter(|(_, text)| fits(text)).map(|(turn, text)| (*turn, cut(text, budget)));
    let (summary, source, summary_turn) = match told {
        Some((turn, text)) => (text, Source::Harness, Some(turn)),
        None => (own, made.source, None),
    };
    let node = NewNode {
        agent_no: at.agent_no,
        kind: Kind::Compaction,
        depth: 0,
        thread_no,
        session_no: Some(what.session_no),
        lane_no: Some(what.lane_no),
        turns: hull(&owned),
        times: (owned.iter().filter_map(|n| n.times.0).min(), owned.iter().filter_map(|n| n.times.1).max()),
        count: owned.iter().map(|n| n.count).sum(),
        summary,
        distillate,
        source,
        source_tokens,
        summary_turn,
        abandoned: owned.iter().all(|n| n.abandoned),
        late: Vec::new(),
        replaces: None,
        flush: None,
        children: owned.iter().map(|n| n.id).collect(),
    };
    Ok((node, made.fell_back))
}

/// Maximum number of earlier compactions of a session that are folded into a handoff.
const EARLIER: usize = 16;

/// Returns what the compactions of a session before a turn recorded as done, fixed and changed, for one thread or for
/// all. Goal, rules and open items are not needed from them: each compaction carries those on from the one before it.
pub(super) fn earlier(
    tx: &Read,
    agent_no: AgentNo,
    session_no: SessionNo,
    thread_no: Option<ThreadNo>,
    before: TurnId,
) -> Result<Distillate> {
    let start = segment_start(tx, session_no)?;
    let mut nodes: Vec<Node> = Vec::new();
    for made in lineage::compactions(tx, session_no)?.iter().filter_map(|c| c.node) {
        nodes.extend(lineage::find(tx, agent_no, made)?);
    }
    nodes.retain(|n| {
        thread_no.is_none_or(|no| n.thread_no == no) && n.turns.1 > start && n.turns.1 < before && !n.abandoned
    });
    nodes.sort_by_key(|n| (n.turns.1, n.id));
    let mut out = Distillate::default();
    for node in nodes.iter().rev().take(EARLIER).rev() {
        let Distillate { done, fixed, files, .. } = still_stands(tx, agent_no, &node.distillate)?;
        out = fold(&out, &Distillate { done, fixed, files, ..Distillate::default() });
    }
    Ok(out)
}

/// Returns the chunks of the sub-agents started in these turns.
fn sub_agents(tx: &Read, what: &Cut, below: &[Node]) -> Result<Vec<Node>> {
    let mut out = Vec::new();
    for chunk in below {
        let mut statement = tx.prepare_cached(&format!(
            "SELECT n.node_no FROM lanes l JOIN nodes n ON n.lane_no = l.lane_no AND n.kind = {CHUNK}
             WHERE l.session_no = ?1 AND l.lane != '' AND n.thread_no = ?2 AND l.parent_call IN (
               SELECT call FROM turns INDEXED BY turns_lane
               WHERE lane_no = ?3 AND turn_no BETWEEN ?4 AND ?5 AND kind = {TOOL_CALL} AND call IS NOT NULL)"
        ))?;
        let rows = statement.query_map(
            params![what.session_no, chunk.thread_no, what.lane_no, chunk.turns.0.0, chunk.turns.1.0],
            |r| r.get(0),
        )?;
        for no in rows.collect::<rusqlite::Result<Vec<NodeId>>>()? {
            out.extend(lineage::find(tx, chunk.agent_no, no)?);
        }
    }
    Ok(out)
}

/// Writes the planned files, then inserts the nodes.
fn commit(pass: &Pass, what: &Cut, facts: &SessionFacts, mut plan: Planned) -> Result<u64> {
    let at = pass.at;
    let flushes = is_current(pass, what, facts, plan.until)?;
    let wanted = plan.nodes.iter().any(|n| !n.distillate.open_loops.is_empty() || !n.distillate.proposals.is_empty());
    let resolved = flushes && at.read(|tx| closing::open_loops(tx, at.agent_no))?.iter().any(closing::is_ours);
    if !(flushes && (wanted || resolved)) {
        return at.write("lineage.compact", |tx| insert(pass, tx, what, &plan, None));
    }
    let lock = pass.lock()?;
    let first = at.read(next_node)?;
    let mut act = Act::new("compaction.flush");
    let mut made = Made::default();
    for (i, node) in plan.nodes.iter_mut().enumerate() {
        act = flush(&lock, facts, node, NodeId(first.0 + i as i64), Files::All, act, &mut made)?;
    }
    act = act.tells(&at.read(|tx| compacted(at, tx, &plan.nodes))?);
    if act.steps.is_empty() {
        drop(lock);
        return at.write("lineage.compact", |tx| insert(pass, tx, what, &plan, None));
    }
    let id = flush_id();
    for node in &mut plan.nodes {
        node.flush = Some(id.clone());
    }
    act = made.noted(act);
    let (count, _) = lock.perform_as(&id, act, |tx| {
        if next_node(tx)? != first {
            return Err(overtaken());
        }
        insert(pass, tx, what, &plan, Some(&id))
    })?;
    Ok(count)
}

/// Whether a compaction is about current work and not imported history: no later compaction is waiting, and the latest
/// activity in its project is at most [`RECENT_MS`] after that of its session.
fn is_current(pass: &Pass, what: &Cut, facts: &SessionFacts, until: TurnId) -> Result<bool> {
    if what.cause == "manual" {
        return Ok(true);
    }
    let agent_no = pass.at.agent_no;
    pass.at.read(|tx| {
        let marks = load::marks(tx, what.session_no, what.lane_no)?;
        let this = what.mark.as_ref().map(|m| m.boundary_no);
        if marks.iter().any(|m| m.is_compaction && Some(m.boundary_no) != this) {
            return Ok(false);
        }
        let behind: i64 = tx
            .prepare_cached("SELECT count(*) FROM (SELECT 1 FROM turns INDEXED BY turns_lane WHERE lane_no = ?1 AND turn_no > ?2 LIMIT ?3)")?
            .query_row(params![what.lane_no, until.0, pass.limits.compact_turns.max(1) as i64], |r| r.get(0))?;
        if pass.limits.compact_turns > 0 && behind >= pass.limits.compact_turns as i64 {
            return Ok(false);
        }
        let newest: Option<Millis> = match facts.workspace_no {
            Some(workspace) => tx
                .prepare_cached("SELECT max(last_at) FROM sessions WHERE agent_no = ?1 AND workspace_no = ?2")?
                .query_row((agent_no, workspace), |r| r.get(0))?,
            None => None,
        };
        Ok(newest.is_none_or(|newest| newest - facts.last_at <= RECENT_MS))
    })
}

/// Inserts the nodes and the boundary, after checking that the plan is still valid.
fn insert(pass: &Pass, tx: &mut Write, what: &Cut, plan: &Planned, id: Option<&str>) -> Result<u64> {
    let at = pass.at;
    let Planned { nodes, until, fell_back } = plan;
    let until = *until;
    let planned: Vec<NodeId> = nodes.iter().flat_map(|n| n.children.iter().copied()).collect();
    let mut open: Vec<NodeId> = open_chunks(tx, what.lane_no, what.until)?.iter().map(|c| c.id).collect();
    let mut sorted = planned.clone();
    sorted.sort();
    open.sort();
    if sorted != open {
        return Err(overtaken());
    }
    if let Some(mark) = &what.mark
        && lineage::boundary_is_handled(tx, mark.boundary_no)?
    {
        return Ok(0);
    }
    let mut ids = Vec::new();
    for node in nodes {
        ids.push(lineage::insert(tx, node)?);
    }
    let Some(last) = ids.last().copied() else { return Ok(0) };
    let preserved: Vec<TurnId> = {
        let mut statement = tx.prepare_cached(
            "SELECT turn_no FROM turns INDEXED BY turns_lane WHERE lane_no = ?1 AND turn_no > ?2 ORDER BY turn_no LIMIT 200",
        )?;
        let rows = statement.query_map((what.lane_no, until.0), |r| r.get(0))?;
        // No preserved turns are recorded for a program's own mark, because the program decides itself which turns it
        // keeps.
        let all = rows.collect::<rusqlite::Result<Vec<_>>>()?;
        if what.mark.is_some() { Vec::new() } else { all }
    };
    lineage::record_compaction(
        tx,
        &NewCompaction {
            session_no: what.session_no,
            lane_no: what.lane_no,
            node: Some(last),
            boundary_no: what.mark.as_ref().map(|m| m.boundary_no),
            cause: what.cause,
            until,
            restoration: restoration(last, &preserved),
            preserved,
            at: what.mark.as_ref().and_then(|m| m.at).unwrap_or(tx.now()),
            flush: id.map(str::to_owned),
        },
    )?;
    if id.is_none() {
        pages::mark(tx, at.agent_no, &compacted(at, tx, nodes)?)?;
    }
    summary_input::note(pass, tx, *fell_back);
    tx.note("session_no", what.session_no);
    tx.note("cause", what.cause);
    tx.note("until", until.to_string());
    tx.note("nodes", ids.iter().map(NodeId::to_string).collect::<Vec<_>>());
    Ok(ids.len() as u64)
}

/// Returns the event by which the pages that show these nodes are marked.
fn compacted(at: &AssistantHome, tx: &Read, nodes: &[NewNode]) -> Result<Happened> {
    let threads: Vec<ThreadNo> = nodes.iter().map(|n| n.thread_no).collect();
    Ok(Happened::Compacted {
        threads: thread::files_of(tx, at.agent_no, &threads)?,
        days: at.days_of(nodes.iter().filter_map(|n| n.times.1)),
    })
}

/// Returns the order in which a context is restored (R10.4).
fn restoration(node: NodeId, preserved: &[TurnId]) -> Vec<String> {
    let mut order = vec![format!("handoff {node}"), "session-memory".to_owned()];
    if let (Some(first), Some(last)) = (preserved.first(), preserved.last()) {
        order.push(format!("tail {first}..{last}"));
    }
    order.extend(
        ["IDENTITY.md", "SOUL.md", "AGENTS.md", "USER.md", "MEMORY.md", "continuity/ACTIVE.md", "recall"]
            .map(str::to_owned),
    );
    order
}

/// Returns the number that the next node will get.
pub(super) fn next_node(tx: &Read) -> Result<NodeId> {
    let last: Option<i64> = tx
        .prepare_cached("SELECT seq FROM sqlite_sequence WHERE name = 'nodes'")?
        .query_row([], |r| r.get(0))
        .optional()?;
    Ok(NodeId(last.unwrap_or(0) + 1))
}

/// A commit was refused because the lineage has changed since it was planned; the caller plans again.
#[derive(Clone, Copy, Debug)]
struct Overtaken;

impl std::error::Error for Overtaken {}

impl fmt::Display for Overtaken {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("the plan is outdated")
    }
}

pub(super) fn overtaken() -> Error {
    Error::new(ErrorKind::Busy, "the lineage was written by somebody else meanwhile").because(Overtaken)
}

pub(super) fn is_overtaken(error: &Error) -> bool {
    error.was_caused_by::<Overtaken>()
}

/// Returns the handoff that a session would get at a turn, without making anything.
pub fn preview(pass: &Pass, session_no: SessionNo, until: TurnId) -> Result<Distillate> {
    let at = pass.at;
    let facts = at.read(|tx| load::session(tx, at.agent_no, session_no))?;
    let Some(facts) = facts else { return Err(Error::not_found("there is no such session")) };
    let Some((lane_no, _)) = facts.lanes.iter().find(|(_, lane)| lane.is_empty()).cloned() else {
        return Ok(Distillate::default());
    };
    // The base is the newest earlier compaction that has turns between itself and this turn.
    let earlier = at.read(|tx| lineage::compactions(tx, session_no))?;
    let mut said: Vec<Said> = Vec::new();
    let mut before = None;
    let mut bases: Vec<Option<lineage::Compaction>> =
        earlier.into_iter().filter(|c| c.lane.is_empty() && c.node.is_some() && c.until < until).map(Some).collect();
    bases.insert(0, None);
    for base in bases.into_iter().rev() {
        let from = base.as_ref().map_or(TurnId(1), |c| TurnId(c.until.0 + 1));
        said = turns_of(pass, lane_no, (from, until))?;
        let speaks = said
            .iter()
            .any(|s| !matches!(s.kind, crate::event::TurnKind::CompactSummary | crate::event::TurnKind::MachinePrompt));
        if speaks || base.is_none() {
            before = match base.and_then(|c| c.node) {
                Some(node) => {
                    let node = at.read(|tx| lineage::node(tx, at.agent_no, node))?;
                    Some(at.read(|tx| still_stands(tx, at.agent_no, &node.distillate))?)
                }
                None => None,
            };
            break;
        }
    }
    let request = Request { turns: &said, before: before.as_ref(), root: facts.root.as_deref() };
    let tokens: u64 = said.iter().map(|s| crate::tokens::tokens(&s.text) as u64).sum();
    let mut distillate =
        summary_input::of_turns(pass, Kind::Compaction, &request, tokens, pass.limits.handoff_tokens).distillate;
    let (from, to) = (said.first().map(|s| s.id), said.last().map(|s| s.id));
    if let (Some(from), Some(to)) = (from, to) {
        let what = Cut { session_no, lane_no, cause: "manual", mark: None, summary: None, until: None };
        let chunks = at.read(|tx| {
            let all = walk::of_lane(tx, lane_no)?;
            Ok(all.into_iter().filter(|n| n.turns.1 >= from && n.turns.0 <= to).collect::<Vec<_>>())
        })?;
        for other in at.read(|tx| sub_agents(tx, &what, &chunks))? {
            add_files(&mut distillate, &other.distillate);
        }
    }
    let earlier = at.read(|tx| self::earlier(tx, at.agent_no, session_no, None, from.unwrap_or(until)))?;
    Ok(fold(&earlier, &distillate))
}

/// The result of a compaction requested by a person.
#[derive(Clone, PartialEq, Debug)]
pub struct Compacted {
    /// The nodes made; the boundary refers to the last. Empty: there was nothing new.
    pub nodes: Vec<Node>,
    /// The last turn covered.
    pub until: Option<TurnId>,
    pub preserved: Vec<TurnId>,
    pub epoch: u64,
}

/// Compacts a session on request, up to a turn of its main lane, or everything but the newest turns.
pub fn by_hand(pass: &Pass, session_no: SessionNo, until: Option<TurnId>) -> Result<Compacted> {
    let at = pass.at;
    pass.session(session_no)?;
    let facts = at.read(|tx| load::session(tx, at.agent_no, session_no))?;
    let lane = facts.and_then(|f| f.lanes.into_iter().find(|(_, lane)| lane.is_empty()));
    let Some((lane_no, _)) = lane else {
        return Ok(Compacted { nodes: Vec::new(), until: None, preserved: Vec::new(), epoch: 0 });
    };
    let newest: TurnId = at.read(|tx| {
        Ok(tx.query_row("SELECT coalesce(max(turn_no), 0) FROM turns WHERE lane_no = ?1", [lane_no], |r| r.get(0))?)
    })?;
    let until = until.unwrap_or(newest);
    pass.chunk_up_to(session_no, lane_no, until)?;
    let made = ours(pass, session_no, lane_no, until, "manual")?;
    super::condense::after(pass, session_no)?;
    at.read(|tx| {
        let all = lineage::compactions(tx, session_no)?;
        let last = all.iter().rev().find(|c| c.lane.is_empty() && c.node.is_some()).filter(|_| made > 0);
        let mut nodes = Vec::new();
        if let Some(node) = last.and_then(|c| c.node) {
            let first = NodeId(node.0 + 1 - made as i64);
            for no in first.0..=node.0 {
                nodes.push(lineage::node(tx, at.agent_no, NodeId(no))?);
            }
        }
        Ok(Compacted {
            nodes,
            until: last.map(|c| c.until),
            preserved: last.map(|c| c.preserved.clone()).unwrap_or_default(),
            epoch: lineage::epoch(tx, session_no)?,
        })
    })
}
