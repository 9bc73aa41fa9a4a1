//! Removes forgotten turns and words from the summary DAG: every node made from them becomes a tombstone, and a new
//! node is made from the remaining turns, from the chunks up (R14.2).

use std::collections::{BTreeMap, BTreeSet, HashMap};

use rusqlite::{OptionalExtension, params};

use super::words::Words;
use crate::distill::deterministic::distil;
use crate::distill::fold::fold;
use crate::distill::summary::summarise;
use crate::distill::{Request, Said};
use crate::error::{Error, Result};
use crate::ledger::blocks::{self, Opener};
use crate::ledger::{Read, Write};
use crate::lineage::distillate::Distillate;
use crate::lineage::{self, Kind, NewNode, Node, Source, model_summary, tombstone};
use crate::scope::{AgentNo, LaneNo, NodeId, TurnId};
use crate::tokens::tokens;
use crate::transcript::{kind_from_code, role_from_code};

/// Returns the affected nodes, children before their parents.
pub(super) fn affected(tx: &Read, agent_no: AgentNo, turns: &BTreeSet<TurnId>, words: &Words) -> Result<Vec<NodeId>> {
    let mut by_lane: BTreeMap<LaneNo, BTreeSet<TurnId>> = BTreeMap::new();
    let mut lane_of = tx.prepare_cached("SELECT lane_no FROM turns WHERE turn_no = ?1")?;
    for turn in turns {
        by_lane.entry(lane_of.query_row([turn], |r| r.get(0))?).or_default().insert(*turn);
    }
    let mut found: BTreeSet<NodeId> = BTreeSet::new();
    let mut statement = tx.prepare(
        "SELECT node_no, kind, lane_no, first_turn, last_turn, summary, distillate, summary_turn FROM nodes
         WHERE agent_no = ?1 AND length(key) > 0",
    )?;
    let mut rows = statement.query([agent_no])?;
    while let Some(r) = rows.next()? {
        let (kind, lane): (i64, Option<LaneNo>) = (r.get(1)?, r.get(2)?);
        let (first, last): (TurnId, TurnId) = (r.get(3)?, r.get(4)?);
        let covers = kind == Kind::Chunk.code()
            && lane.and_then(|l| by_lane.get(&l)).is_some_and(|t| t.range(first..=last).next().is_some());
        if covers || draws_on(r, turns, words)? {
            found.insert(r.get(0)?);
        }
    }
    // A language model's summary of a node may contain words that the node itself does not.
    for told in model_summary::all(tx, Some(agent_no))? {
        if words.are_in(told.summary.as_bytes()) || words.are_quoted_in(&told.distillate) {
            found.insert(told.node);
        }
    }
    let mut parents = tx.prepare_cached(
        "SELECT parent_no FROM node_edges e JOIN nodes n ON n.node_no = e.parent_no WHERE child_no = ?1 AND length(n.key) > 0",
    )?;
    let mut open: Vec<NodeId> = found.iter().copied().collect();
    while let Some(node) = open.pop() {
        for parent in parents.query_map([node], |r| r.get::<_, NodeId>(0))?.collect::<rusqlite::Result<Vec<_>>>()? {
            if found.insert(parent) {
                open.push(parent);
            }
        }
    }
    let mut rank = tx.prepare_cached(
        "SELECT CASE kind WHEN 0 THEN 0 WHEN 2 THEN 1 WHEN 1 THEN 2 ELSE 2 + depth END FROM nodes WHERE node_no = ?1",
    )?;
    let mut ordered = Vec::new();
    for node in found {
        ordered.push((rank.query_row([node], |r| r.get::<_, i64>(0))?, node));
    }
    ordered.sort_unstable();
    Ok(ordered.into_iter().map(|(_, node)| node).collect())
}

/// Whether a node's content came from these turns or contains the words: a node may carry items from turns it does not
/// cover.
fn draws_on(r: &rusqlite::Row, turns: &BTreeSet<TurnId>, words: &Words) -> Result<bool> {
    let summary: String = r.get(5)?;
    let summary_turn: Option<TurnId> = r.get(7)?;
    if summary_turn.is_some_and(|t| turns.contains(&t)) || words.are_in(summary.as_bytes()) {
        return Ok(true);
    }
    let Some(data) = r.get::<_, Option<Vec<u8>>>(6)? else { return Ok(false) };
    let json = blocks::unsqueeze(&data)?;
    if words.are_quoted_in(&json) {
        return Ok(true);
    }
    let distillate: Distillate = serde_json::from_slice(&json).map_err(|e| {
        Error::damaged("a node's distillate cannot be read").because(e).hint("see what else is affected: ⟨verify⟩")
    })?;
    Ok(distillate.turns().iter().any(|t| turns.contains(t)))
}

/// Turns nodes into tombstones and makes replacements, children first, as [`affected`] orders them. The turns must be
/// forgotten already. Returns each node's replacement; one that would contain `words` once more, put together from words
/// that stay, has no content.
pub(super) fn remake(
    tx: &Write,
    agent_no: AgentNo,
    nodes: &[NodeId],
    words: Option<&Words>,
) -> Result<HashMap<NodeId, NodeId>> {
    let mut standing = Vec::new();
    for id in nodes {
        // A node of an unfinished act is not visible: it gets no replacement.
        standing.extend(lineage::find(tx, agent_no, *id)?);
        tombstone::bury(tx, *id)?;
    }
    let mut made: HashMap<NodeId, NodeId> = HashMap::new();
    for old in standing {
        let mut new = match old.kind {
            Kind::Chunk => chunk(tx, &old)?,
            _ => parent(tx, &old, &made)?,
        };
        if words.is_some_and(|words| says(&new, words)) {
            (new.summary, new.distillate) = (String::new(), Distillate::default());
        }
        let id = lineage::insert(tx, &new)?;
        tombstone::lead_on(tx, old.id, id)?;
        made.insert(old.id, id);
    }
    Ok(made)
}

fn says(node: &NewNode, words: &Words) -> bool {
    let distillate = serde_json::to_vec(&node.distillate).unwrap_or_default();
    words.are_in(node.summary.as_bytes()) || words.are_quoted_in(&distillate)
}

/// Makes a node with the old one's place in the DAG and without content.
fn in_place_of(old: &Node) -> NewNode {
    NewNode {
        agent_no: old.agent_no,
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
        source_tokens: 0,
        summary_turn: None,
        abandoned: old.abandoned,
        late: old.late.clone(),
        replaces: Some(old.id),
        flush: None,
        children: Vec::new(),
    }
}

/// Makes a chunk from the remaining turns. If none remain, it keeps the range and has no content.
fn chunk(tx: &Read, old: &Node) -> Result<NewNode> {
    let mut new = in_place_of(old);
    let Some(lane) = old.lane_no else { return Ok(new) };
    let turns = remaining_turns(tx, lane, old.turns)?;
    let root = root_of(tx, lane, old.turns)?;
    new.source_tokens = turns.iter().map(|t| tokens(&t.text) as u64).sum();
    if !turns.is_empty() {
        new.distillate = distil(&Request { turns: &turns, before: None, root: root.as_deref() });
        new.summary = summarise(&new.distillate, new.source_tokens as usize);
    }
    Ok(new)
}

/// Makes a node over the current children.
fn parent(tx: &Read, old: &Node, made: &HashMap<NodeId, NodeId>) -> Result<NewNode> {
    let mut new = in_place_of(old);
    for child in lineage::walk::children(tx, old.agent_no, old.id)? {
        let id = made.get(&child.id).copied().unwrap_or(child.id);
        let Some(child) = lineage::find(tx, old.agent_no, id)? else { continue };
        new.source_tokens += match (old.kind, child.forgotten) {
            (_, true) => 0,
            (Kind::Condensed, _) => child.summary_tokens,
            _ => child.source_tokens,
        };
        // Abandoned branches and lanes of sub-agents do not contribute to their parent's content (R6.2).
        let aside = child.abandoned || child.lane.as_deref().is_some_and(|lane| !lane.is_empty());
        if !aside || old.abandoned {
            new.distillate = fold(&new.distillate, &child.distillate);
        }
        if !new.children.contains(&id) {
            new.children.push(id);
        }
    }
    new.summary = summarise(&new.distillate, new.source_tokens as usize);
    Ok(new)
}

/// Returns the remaining turns of a range of a lane.
fn remaining_turns(tx: &Read, lane: LaneNo, (first, last): (TurnId, TurnId)) -> Result<Vec<Said>> {
    let opener = Opener::default();
    let mut statement = tx.prepare_cached(
        "SELECT turn_no, role, kind, run_no, l.lane = '', sp.name, tl.name, call, failed, at, block_no, text_offset,
                text_length
         FROM turns t JOIN lanes l USING (lane_no)
         LEFT JOIN names sp ON sp.name_no = t.speaker_no LEFT JOIN names tl ON tl.name_no = t.tool_no
         WHERE t.session_no = l.session_no AND l.lane_no = ?1 AND turn_no BETWEEN ?2 AND ?3 AND forgotten IS NULL
         ORDER BY turn_no",
    )?;
    let mut rows = statement.query(params![lane, first.0, last.0])?;
    let mut out = Vec::new();
    while let Some(r) = rows.next()? {
        let text = opener.slice(tx, r.get(10)?, r.get(11)?, r.get(12)?)?;
        out.push(Said {
            id: r.get(0)?,
            role: role_from_code(r.get(1)?),
            kind: kind_from_code(r.get(2)?),
            run: r.get(3)?,
            main: r.get(4)?,
            speaker: r.get(5)?,
            tool: r.get(6)?,
            call: r.get(7)?,
            failed: r.get(8)?,
            at: r.get(9)?,
            text: String::from_utf8_lossy(&text).into_owned(),
        });
    }
    Ok(out)
}

/// Returns the folder of the project these turns were said in.
fn root_of(tx: &Read, lane: LaneNo, (first, last): (TurnId, TurnId)) -> Result<Option<String>> {
    let root: Option<Vec<u8>> = tx
        .prepare_cached(
            "SELECT root FROM turns t JOIN workspaces w USING (workspace_no)
             WHERE t.lane_no = ?1 AND turn_no BETWEEN ?2 AND ?3 ORDER BY turn_no LIMIT 1",
        )?
        .query_row(params![lane, first.0, last.0], |r| r.get(0))
        .optional()?;
    Ok(root.and_then(|bytes| String::from_utf8(bytes).ok()))
}
