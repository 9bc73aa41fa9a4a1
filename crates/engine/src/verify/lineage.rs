//! The summary DAG, recomputed: every invariant of R6.2, node by node (R4.6).
//!
//! It takes one walk over the turns (made by the check of their texts), one over the nodes and one over the edges. Four
//! bytes are held for each turn and a few hundred for each node; other facts about a turn are looked up. A finding
//! names the node, its fault, and the data that is not affected.

use std::collections::{HashMap, HashSet};

use rusqlite::OptionalExtension;

use super::Report;
use crate::error::Result;
use crate::ledger::{Read, blocks};
use crate::lineage::distillate::Distillate;
use crate::lineage::{Kind, digest_of, model_summary};
use crate::scope::{AgentNo, LaneNo, NodeId, SessionNo, ThreadNo, TurnId};
use crate::tokens::tokens;

/// Token count of each turn, from the walk over the turns: turn numbers are dense, so the counts are held in arrays of
/// [`TOGETHER`].
#[derive(Default, Debug)]
pub struct Lengths(HashMap<i64, Vec<u32>>);

/// Number of turns that share an array of counts.
const TOGETHER: i64 = 1024;

impl Lengths {
    pub fn add(&mut self, turn: TurnId, text: &str) {
        let some = self.0.entry(turn.0.div_euclid(TOGETHER)).or_insert_with(|| vec![0; TOGETHER as usize]);
        some[turn.0.rem_euclid(TOGETHER) as usize] = tokens(text) as u32;
    }

    fn of(&self, turn: TurnId) -> u32 {
        let some = self.0.get(&turn.0.div_euclid(TOGETHER));
        some.map_or(0, |some| some[turn.0.rem_euclid(TOGETHER) as usize])
    }
}

/// Facts about a turn that the checks need.
#[derive(Clone, Copy)]
struct Turn {
    no: TurnId,
    session: SessionNo,
    lane: LaneNo,
    forgotten: bool,
}

/// The turns, looked up by number and by lane.
struct Turns<'t> {
    tx: &'t Read<'t>,
}

impl Turns<'_> {
    fn find(&self, no: TurnId) -> Result<Option<Turn>> {
        let mut statement = self.tx.prepare_cached(
            "SELECT turn_no, session_no, lane_no, forgotten IS NOT NULL FROM turns WHERE turn_no = ?1",
        )?;
        Ok(statement.query_row([no], turn).optional()?)
    }

    /// Visits the turns of a lane in a range.
    fn within(&self, lane: LaneNo, range: (TurnId, TurnId), mut each: impl FnMut(Turn)) -> Result<()> {
        let mut statement = self.tx.prepare_cached(
            "SELECT turn_no, session_no, lane_no, forgotten IS NOT NULL FROM turns
             WHERE lane_no = ?1 AND turn_no BETWEEN ?2 AND ?3 ORDER BY turn_no",
        )?;
        let mut rows = statement.query((lane, range.0, range.1))?;
        while let Some(r) = rows.next()? {
            each(turn(r)?);
        }
        Ok(())
    }

    /// Visits all turns.
    fn each(&self, mut each: impl FnMut(Turn)) -> Result<()> {
        let mut statement = self
            .tx
            .prepare("SELECT turn_no, session_no, lane_no, forgotten IS NOT NULL FROM turns ORDER BY turn_no")?;
        let mut rows = statement.query([])?;
        while let Some(r) = rows.next()? {
            each(turn(r)?);
        }
        Ok(())
    }
}

fn turn(r: &rusqlite::Row) -> rusqlite::Result<Turn> {
    Ok(Turn { no: r.get(0)?, session: r.get(1)?, lane: r.get(2)?, forgotten: r.get(3)? })
}

/// Facts about a node that are held in memory; its content is checked once and then dropped.
struct Seen {
    agent: AgentNo,
    kind: Kind,
    depth: i64,
    thread: ThreadNo,
    session: Option<SessionNo>,
    lane: Option<LaneNo>,
    turns: (TurnId, TurnId),
    times: (Option<i64>, Option<i64>),
    count: i64,
    source_tokens: i64,
    /// Whether the node is not a tombstone.
    stands: bool,
    /// Whether the act that makes the node is unfinished.
    planned: bool,
    replaces: Option<NodeId>,
    items: Vec<TurnId>,
}

/// Advice for a damaged node: its turns, which are checked separately, are not affected.
const NEXT: &str = "the turns it was made of are not touched: ⟨expand⟩";

/// Checks all nodes, edges and compactions.
pub fn lineage(tx: &Read, lengths: &Lengths, report: &mut Report) -> Result<()> {
    let agents = sessions(tx)?;
    let turns = Turns { tx };
    let nodes = nodes(tx, report)?;
    report.nodes = nodes.len() as u64;
    let edges = edges(tx, &nodes, report)?;
    let merged = merged(tx)?;
    for (no, node) in &nodes {
        placed(*no, node, &agents, &merged, report);
        match node.kind {
            Kind::Chunk => chunk(*no, node, &turns, lengths, report)?,
            _ => parent(*no, node, &nodes, &edges, &merged, report),
        }
        items(tx, *no, node, &turns, &agents, report)?;
    }
    for no in crate::lineage::roots::unlisted(tx)? {
        damaged(report, no, "nothing condenses it and it is in no list of such nodes");
    }
    acyclic(&nodes, &edges, report);
    lanes(&nodes, &turns, report)?;
    compactions(tx, &nodes, &turns, report)
}

fn name(no: NodeId) -> String {
    format!("node {no}")
}

fn damaged(report: &mut Report, no: NodeId, what: impl AsRef<str>) {
    report.damaged(name(no), format!("{}; {NEXT} {no} --transcript", what.as_ref()));
}

/// Returns the agent of each session.
fn sessions(tx: &Read) -> Result<HashMap<SessionNo, AgentNo>> {
    let mut statement = tx.prepare("SELECT session_no, agent_no FROM sessions")?;
    let rows = statement.query_map([], |r| Ok((r.get(0)?, r.get(1)?)))?;
    Ok(rows.collect::<rusqlite::Result<_>>()?)
}

/// Returns the agent and the final merge target of each thread.
fn merged(tx: &Read) -> Result<HashMap<ThreadNo, (AgentNo, ThreadNo)>> {
    let mut statement = tx.prepare("SELECT thread_no, agent_no, merged_into FROM threads")?;
    let rows = statement.query_map([], |r| Ok((r.get(0)?, (r.get(1)?, r.get(2)?))))?;
    let all: HashMap<ThreadNo, (AgentNo, Option<ThreadNo>)> = rows.collect::<rusqlite::Result<_>>()?;
    let end = |no: ThreadNo| {
        let mut at = no;
        for _ in 0..all.len() {
            match all.get(&at).and_then(|(_, into)| *into) {
                Some(into) => at = into,
                None => break,
            }
        }
        at
    };
    Ok(all.iter().map(|(no, (agent, _))| (*no, (*agent, end(*no)))).collect())
}

/// Reads every node, and checks its content against its digest and its counts.
fn nodes(tx: &Read, report: &mut Report) -> Result<HashMap<NodeId, Seen>> {
    let mut statement = tx.prepare(
        "SELECT node_no, agent_no, kind, depth, thread_no, session_no, lane_no, first_turn, last_turn, first_at, last_at,
                turns, summary, distillate, source_tokens, summary_tokens, replaces, key, digest,
                EXISTS (SELECT 1 FROM flushes f WHERE f.flush_id = n.flush_id AND f.state = 'planned')
         FROM nodes n ORDER BY node_no",
    )?;
    let mut rows = statement.query([])?;
    let mut all = HashMap::new();
    while let Some(r) = rows.next()? {
        let no: NodeId = r.get(0)?;
        let code: i64 = r.get(2)?;
        let kind = Kind::of(code);
        if kind.code() != code {
            damaged(report, no, format!("it is of a kind ({code}) there is none of"));
        }
        let turns: (TurnId, TurnId) = (r.get(7)?, r.get(8)?);
        let summary: String = r.get(12)?;
        let stored: Option<Vec<u8>> = r.get(13)?;
        let (source_tokens, summary_tokens): (i64, i64) = (r.get(14)?, r.get(15)?);
        let (key, digest): (Vec<u8>, Vec<u8>) = (r.get(17)?, r.get(18)?);
        let stands = !key.is_empty();
        let mut items = Vec::new();
        if stands {
            match stored.as_deref().map(blocks::unsqueeze).transpose() {
                Err(_) => damaged(report, no, "its distillate cannot be read"),
                Ok(json) => {
                    let json = json.unwrap_or_else(|| b"{}".to_vec());
                    let said = digest_of(&key, kind, turns, &summary, &json);
                    if said != digest {
                        damaged(report, no, "what it says is not what was stored");
                    } else {
                        match serde_json::from_slice::<Distillate>(&json) {
                            Ok(distillate) => items = distillate.turns(),
                            Err(e) => damaged(report, no, format!("its distillate cannot be read: {e}")),
                        }
                    }
                }
            }
            let counted = tokens(&summary) as i64;
            if counted != summary_tokens {
                damaged(report, no, format!("its summary has {counted} tokens and says it has {summary_tokens}"));
            }
            if counted > source_tokens {
                damaged(
                    report,
                    no,
                    format!("its summary is longer than what it summarises: {counted} tokens for {source_tokens}"),
                );
            }
        } else if !summary.is_empty() || stored.is_some() {
            damaged(report, no, "it was forgotten and still has words");
        }
        if turns.0 > turns.1 || turns.0.0 < 1 {
            damaged(report, no, format!("it ends ({}) before it begins ({})", turns.1, turns.0));
        }
        let seen = Seen {
            agent: r.get(1)?,
            kind,
            depth: r.get(3)?,
            thread: r.get(4)?,
            session: r.get(5)?,
            lane: r.get(6)?,
            turns,
            times: (r.get(9)?, r.get(10)?),
            count: r.get(11)?,
            source_tokens,
            stands,
            planned: r.get(19)?,
            replaces: r.get(16)?,
            items,
        };
        all.insert(no, seen);
    }
    told_by_models(tx, &mut all, report)?;
    Ok(all)
}

/// Checks the summaries language models made of nodes: unchanged since they were stored, no longer than what they
/// summarise, and only of turns that exist.
fn told_by_models(tx: &Read, nodes: &mut HashMap<NodeId, Seen>, report: &mut Report) -> Result<()> {
    for told in model_summary::all(tx, None)? {
        let no = told.node;
        if digest_of(&told.key, told.kind, told.turns, &told.summary, &told.distillate) != told.digest {
            damaged(report, no, "what a model made of it is not what was stored");
            continue;
        }
        let counted = tokens(&told.summary) as u64;
        if counted != told.summary_tokens || counted > told.source_tokens {
            damaged(report, no, format!("a model's summary of it has {counted} tokens, which is not what was stored"));
        }
        match (serde_json::from_slice::<Distillate>(&told.distillate), nodes.get_mut(&no)) {
            (Ok(distillate), Some(node)) if node.stands => node.items.extend(distillate.turns()),
            (Ok(_), _) => damaged(report, no, "it was forgotten and a model's words of it are still there"),
            (Err(e), _) => damaged(report, no, format!("what a model made of it cannot be read: {e}")),
        }
    }
    Ok(())
}

#[derive(Default)]
struct Edges {
    below: HashMap<NodeId, Vec<NodeId>>,
    above: HashMap<NodeId, Vec<NodeId>>,
}

fn edges(tx: &Read, nodes: &HashMap<NodeId, Seen>, report: &mut Report) -> Result<Edges> {
    let mut statement = tx.prepare("SELECT parent_no, child_no FROM node_edges ORDER BY parent_no, child_no")?;
    let mut rows = statement.query([])?;
    let mut edges = Edges::default();
    while let Some(r) = rows.next()? {
        let (parent, child): (NodeId, NodeId) = (r.get(0)?, r.get(1)?);
        for (end, other) in [(parent, child), (child, parent)] {
            if !nodes.contains_key(&end) {
                damaged(report, other, format!("it is joined to {end}, which does not exist"));
            }
        }
        edges.below.entry(parent).or_default().push(child);
        edges.above.entry(child).or_default().push(parent);
    }
    Ok(edges)
}

/// Returns the number of turns of all chunks below a node, counting each chunk once: a compaction and a session node
/// may cover the same chunks, and a chunk of which something was forgotten has a replacement beside it with the same
/// turns.
fn covered(no: NodeId, nodes: &HashMap<NodeId, Seen>, edges: &Edges) -> i64 {
    let (mut open, mut chunks, mut met) = (vec![no], Vec::new(), HashSet::new());
    while let Some(at) = open.pop() {
        if !met.insert(at) {
            continue;
        }
        match nodes.get(&at) {
            Some(node) if node.kind == Kind::Chunk => chunks.push((at, node)),
            _ => open.extend(edges.below.get(&at).into_iter().flatten()),
        }
    }
    let replaced: HashSet<NodeId> = chunks.iter().filter_map(|(_, c)| c.replaces).collect();
    chunks.iter().filter(|(at, _)| !replaced.contains(at)).map(|(_, c)| c.count).sum()
}

/// Checks that a node, its session and its thread are of one agent, and that it has what its kind requires.
fn placed(
    no: NodeId,
    node: &Seen,
    agents: &HashMap<SessionNo, AgentNo>,
    threads: &HashMap<ThreadNo, (AgentNo, ThreadNo)>,
    report: &mut Report,
) {
    match threads.get(&node.thread) {
        None => damaged(report, no, "it belongs to a thread that does not exist"),
        Some((agent, _)) if *agent != node.agent => damaged(report, no, "it belongs to a thread of another agent"),
        _ => {}
    }
    if let Some(session) = node.session {
        match agents.get(&session) {
            None => damaged(report, no, "it belongs to a session that does not exist"),
            Some(agent) if *agent != node.agent => damaged(report, no, "it belongs to a session of another agent"),
            _ => {}
        }
    }
    let (session, lane) = match node.kind {
        Kind::Chunk | Kind::Compaction => (true, true),
        Kind::Session => (true, false),
        Kind::Condensed => (false, false),
    };
    if (node.session.is_some(), node.lane.is_some()) != (session, lane) {
        damaged(report, no, format!("a {} without its session and lane, or with one too many", node.kind.name()));
    }
    if node.kind != Kind::Condensed && node.depth != 0 {
        damaged(report, no, format!("a {} of depth {}", node.kind.name(), node.depth));
    }
}

fn chunk(no: NodeId, node: &Seen, turns: &Turns, lengths: &Lengths, report: &mut Report) -> Result<()> {
    for end in [node.turns.0, node.turns.1] {
        match turns.find(end)? {
            None => damaged(report, no, format!("its turn {end} does not exist")),
            Some(t) if Some(t.lane) != node.lane || Some(t.session) != node.session => {
                damaged(report, no, format!("its turn {end} is of another session or lane"));
            }
            _ => {}
        }
    }
    let Some(lane) = node.lane else { return Ok(()) };
    let (mut count, mut words, mut forgotten) = (0, 0, false);
    turns.within(lane, node.turns, |turn| {
        count += 1;
        words += i64::from(lengths.of(turn.no));
        forgotten |= turn.forgotten;
    })?;
    if count != node.count {
        damaged(report, no, format!("it covers {count} turns and says it covers {}", node.count));
    }
    // A forgotten turn has no text whose tokens could be counted.
    if node.stands && !forgotten && node.source_tokens > words {
        damaged(report, no, format!("its turns have {words} tokens and it says they have {}", node.source_tokens));
    }
    Ok(())
}

fn parent(
    no: NodeId,
    node: &Seen,
    nodes: &HashMap<NodeId, Seen>,
    edges: &Edges,
    threads: &HashMap<ThreadNo, (AgentNo, ThreadNo)>,
    report: &mut Report,
) {
    let children: Vec<(NodeId, &Seen)> =
        edges.below.get(&no).into_iter().flatten().filter_map(|child| nodes.get(child).map(|c| (*child, c))).collect();
    if children.is_empty() {
        damaged(report, no, format!("a {} that stands over nothing", node.kind.name()));
        return;
    }
    let end = |thread: ThreadNo| threads.get(&thread).map_or(thread, |(_, end)| *end);
    let mut turns = (TurnId(i64::MAX), TurnId(i64::MIN));
    let mut times: (Option<i64>, Option<i64>) = (None, None);
    let (mut words, mut deepest) = (0i64, 0);
    for (child_name, child) in &children {
        if child.agent != node.agent {
            damaged(report, no, format!("it stands over {child_name} of another agent"));
        } else if end(child.thread) != end(node.thread) {
            damaged(report, no, format!("it stands over {child_name} of another thread"));
        }
        if child.planned && !node.planned {
            damaged(report, no, format!("it stands over {child_name}, whose act is not finished"));
        }
        let fits = match node.kind {
            Kind::Chunk => false,
            Kind::Compaction => child.kind == Kind::Chunk && child.session == node.session,
            Kind::Session => matches!(child.kind, Kind::Chunk | Kind::Compaction) && child.session == node.session,
            Kind::Condensed => child.kind != Kind::Chunk,
        };
        if !fits {
            damaged(report, no, format!("a {} over {child_name}, a {}", node.kind.name(), child.kind.name()));
        }
        turns = (turns.0.min(child.turns.0), turns.1.max(child.turns.1));
        times.0 = [times.0, child.times.0].into_iter().flatten().min();
        times.1 = times.1.max(child.times.1);
        deepest = deepest.max(child.depth);
        words = words.saturating_add(child.source_tokens);
    }
    if turns != node.turns {
        damaged(report, no, "it does not span the turns its children span");
    }
    if times != node.times {
        damaged(report, no, "it does not span the time its children span");
    }
    let count = covered(no, nodes, edges);
    if count != node.count {
        damaged(report, no, format!("its children cover {count} turns and it says {}", node.count));
    }
    if node.stands && node.source_tokens > words {
        damaged(report, no, format!("what it summarises has {words} tokens and it says {}", node.source_tokens));
    }
    if node.kind == Kind::Condensed && node.depth != deepest + 1 {
        damaged(report, no, format!("it is of depth {} over children of depth {deepest}", node.depth));
    }
}

/// Checks that the turns an item names exist and are the agent's; in a node of one session, they are of that session.
fn items(
    tx: &Read,
    no: NodeId,
    node: &Seen,
    turns: &Turns,
    agents: &HashMap<SessionNo, AgentNo>,
    report: &mut Report,
) -> Result<()> {
    for id in &node.items {
        let Some(turn) = turns.find(*id)? else {
            damaged(report, no, format!("an item of it came from {id}, which does not exist"));
            continue;
        };
        if agents.get(&turn.session) != Some(&node.agent) {
            damaged(report, no, format!("an item of it came from {id} of another agent"));
        } else if let Some(session) = node.session.filter(|s| *s != turn.session) {
            // A fork shares turns with the session it was copied from.
            let mut shared =
                tx.prepare_cached("SELECT 1 FROM turn_references WHERE session_no = ?1 AND turn_no = ?2")?;
            if !shared.exists((session, id))? {
                damaged(report, no, format!("an item of it came from {id} of another session"));
            }
        }
    }
    Ok(())
}

/// Checks that no node is its own ancestor, so that every chunk is below a root.
fn acyclic(nodes: &HashMap<NodeId, Seen>, edges: &Edges, report: &mut Report) {
    let mut open: HashMap<NodeId, usize> = nodes.keys().map(|n| (*n, edges.above.get(n).map_or(0, Vec::len))).collect();
    let mut free: Vec<NodeId> = open.iter().filter(|(_, above)| **above == 0).map(|(n, _)| *n).collect();
    while let Some(no) = free.pop() {
        open.remove(&no);
        for child in edges.below.get(&no).into_iter().flatten() {
            if let Some(above) = open.get_mut(child) {
                *above -= 1;
                if *above == 0 {
                    free.push(*child);
                }
            }
        }
    }
    // Nodes that merely hang below a cycle are not part of it: repeatedly remove nodes without remaining children.
    loop {
        let leads = |n: &NodeId| edges.below.get(n).is_some_and(|b| b.iter().any(|c| open.contains_key(c)));
        let outside: HashSet<NodeId> = open.keys().copied().filter(|n| !leads(n)).collect();
        if outside.is_empty() {
            break;
        }
        open.retain(|n, _| !outside.contains(n));
    }
    let mut circle: Vec<NodeId> =
        open.into_keys().filter(|n| edges.below.get(n).into_iter().flatten().any(|c| nodes.contains_key(c))).collect();
    circle.sort_unstable();
    for no in circle {
        damaged(report, no, "it stands over itself");
    }
}

/// Checks that the chunks of a lane are contiguous: no turn is in two of them, and none is left out between the first
/// and the last.
fn lanes(nodes: &HashMap<NodeId, Seen>, turns: &Turns, report: &mut Report) -> Result<()> {
    let mut lanes: HashMap<LaneNo, Vec<(TurnId, TurnId, NodeId)>> = HashMap::new();
    for (no, node) in nodes.iter().filter(|(_, n)| n.kind == Kind::Chunk && n.stands) {
        if let Some(lane) = node.lane {
            lanes.entry(lane).or_default().push((node.turns.0, node.turns.1, *no));
        }
    }
    for chunks in lanes.values_mut() {
        chunks.sort_unstable();
        let mut end: Option<(TurnId, NodeId)> = None;
        for (first, last, no) in chunks.iter().copied() {
            if let Some((_, before)) = end.filter(|(covered, _)| first <= *covered) {
                damaged(report, no, format!("turns of it are in {before} as well"));
            }
            if end.is_none_or(|(covered, _)| last > covered) {
                end = Some((last, no));
            }
        }
    }
    // One walk over all turns, with the current chunk of each lane.
    let mut at: HashMap<LaneNo, usize> = HashMap::new();
    let mut missing: HashMap<LaneNo, (TurnId, u64)> = HashMap::new();
    turns.each(|turn| {
        let Some(chunks) = lanes.get(&turn.lane) else { return };
        let at = at.entry(turn.lane).or_default();
        while chunks.get(*at).is_some_and(|(_, last, _)| *last < turn.no) {
            *at += 1;
        }
        let covered = chunks.get(*at).is_some_and(|(first, ..)| *first <= turn.no);
        let between = turn.no > chunks[0].0 && *at < chunks.len();
        if !covered && between && !turn.forgotten {
            missing.entry(turn.lane).or_insert((turn.no, 0)).1 += 1;
        }
    })?;
    for (lane, (first, n)) in missing {
        report.damaged(
            format!("lane {lane}"),
            format!("{n} turns from {first} on are in no chunk, and later ones are; ⟨show {first}⟩ has the words"),
        );
    }
    Ok(())
}

fn compactions(tx: &Read, nodes: &HashMap<NodeId, Seen>, turns: &Turns, report: &mut Report) -> Result<()> {
    let mut statement = tx.prepare(
        "SELECT compaction_no, session_no, lane_no, node_no, until_turn, preserved FROM compactions ORDER BY compaction_no",
    )?;
    let mut rows = statement.query([])?;
    let mut told: HashMap<NodeId, i64> = HashMap::new();
    while let Some(r) = rows.next()? {
        let (no, session, lane): (i64, SessionNo, LaneNo) = (r.get(0)?, r.get(1)?, r.get(2)?);
        let until: TurnId = r.get(4)?;
        let subject = format!("compaction {no}");
        match turns.find(until)? {
            // Turn 0 means that the compaction came before the first turn.
            None if until.0 == 0 => {}
            None => report.damaged(&subject, format!("it ends at {until}, which does not exist")),
            Some(t) if t.session != session => {
                report.damaged(&subject, format!("it ends at {until} of another session"));
            }
            _ => {}
        }
        match serde_json::from_str::<Vec<TurnId>>(&r.get::<_, String>(5)?) {
            Err(e) => report.damaged(&subject, format!("what it preserved cannot be read: {e}")),
            Ok(kept) => {
                for turn in kept {
                    if turns.find(turn)?.is_none() {
                        report.damaged(&subject, format!("it preserved {turn}, which does not exist"));
                    }
                }
            }
        }
        let Some(node_no) = r.get::<_, Option<NodeId>>(3)? else { continue };
        let Some(node) = nodes.get(&node_no) else {
            report.damaged(&subject, format!("its node {node_no} does not exist"));
            continue;
        };
        if node.kind != Kind::Compaction || node.session != Some(session) || node.lane != Some(lane) {
            report.damaged(&subject, format!("its node {node_no} is none of its session and lane"));
        } else if node.turns.1 > until {
            report.damaged(&subject, format!("it ends at {until} and its node at {}", node.turns.1));
        }
        if let Some(other) = told.insert(node_no, no) {
            report.damaged(&subject, format!("it has the node of compaction {other}"));
        }
    }
    let mut ends: HashMap<(Option<LaneNo>, TurnId), NodeId> = HashMap::new();
    let mut all: Vec<_> = nodes.iter().filter(|(_, n)| n.kind == Kind::Compaction && n.stands).collect();
    all.sort_unstable_by_key(|(no, _)| **no);
    for (no, node) in all {
        if let Some(other) = ends.insert((node.lane, node.turns.1), *no) {
            damaged(report, *no, format!("it tells of the same compaction as {other}"));
        }
    }
    Ok(())
}
