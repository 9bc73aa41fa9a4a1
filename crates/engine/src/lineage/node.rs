//! Inserts and reads nodes, with the most frequent queries about them.

use rusqlite::{OptionalExtension, Row, params};
use schemars::JsonSchema;
use serde::{Serialize, Serializer};

use super::distillate::Distillate;
use super::roots;
use crate::clock::{Millis, as_rfc3339, rfc3339};
use crate::error::{Error, ErrorKind, Result};
use crate::ledger::codes::{CHUNK, COMPACTION, CONDENSED, SESSION};
use crate::ledger::{Read, Write, blocks};
use crate::redact::{as_redacted, as_redacted_value};
use crate::scope::{AgentNo, BoundaryNo, LaneNo, NodeId, SessionKey, SessionNo, ThreadNo, TurnId, named};

named! {
    /// The kind of a node, by what it covers.
    pub enum Kind {
        Chunk = "chunk",
        Session = "session",
        Compaction = "compaction",
        Condensed = "condensed",
    }
}

impl Kind {
    /// Returns the number stored in the ledger: part of the format, never changed.
    pub fn code(self) -> i64 {
        match self {
            Kind::Chunk => CHUNK,
            Kind::Session => SESSION,
            Kind::Compaction => COMPACTION,
            Kind::Condensed => CONDENSED,
        }
    }

    pub fn of(code: i64) -> Kind {
        Kind::ALL.into_iter().find(|k| k.code() == code).unwrap_or(Kind::Condensed)
    }
}

named! {
    /// The origin of a summary.
    pub enum Source {
        /// The program that compacted its own context.
        Harness = "harness",
        Deterministic = "deterministic",
        Model = "model",
    }
}

impl Source {
    pub fn code(self) -> i64 {
        match self {
            Source::Harness => 0,
            Source::Deterministic => 1,
            Source::Model => 2,
        }
    }

    pub fn of(code: i64) -> Source {
        match code {
            0 => Source::Harness,
            2 => Source::Model,
            _ => Source::Deterministic,
        }
    }
}

/// A node to be inserted.
#[derive(Clone, PartialEq, Debug)]
pub struct NewNode {
    pub agent_no: AgentNo,
    pub kind: Kind,
    /// 0; for condensed nodes one more than their deepest child.
    pub depth: i64,
    pub thread_no: ThreadNo,
    /// Set for chunks, session nodes and compaction nodes.
    pub session_no: Option<SessionNo>,
    /// Set for chunks and compaction nodes.
    pub lane_no: Option<LaneNo>,
    /// The smallest range that contains the ranges of its children; for a chunk, its own range.
    pub turns: (TurnId, TurnId),
    pub times: (Option<Millis>, Option<Millis>),
    /// Number of turns the node covers.
    pub count: u64,
    /// Plain text, credentials redacted; never longer than what it summarises (R6.2).
    pub summary: String,
    pub distillate: Distillate,
    pub source: Source,
    /// Number of tokens of the conversation it summarises.
    pub source_tokens: u64,
    /// The turn that contains the program's complete summary.
    pub summary_turn: Option<TurnId>,
    /// Whether all its turns lie on an abandoned branch.
    pub abandoned: bool,
    /// Turns that were stored after later ones, each with the turn it belongs after.
    pub late: Vec<(TurnId, TurnId)>,
    /// The node this one replaces because part of that node was forgotten.
    pub replaces: Option<NodeId>,
    /// The act the node belongs to: the node becomes visible when the act is finished.
    pub flush: Option<String>,
    pub children: Vec<NodeId>,
}

/// A stored, visible node.
#[derive(Clone, PartialEq, Serialize, JsonSchema, Debug)]
pub struct Node {
    pub id: NodeId,
    #[serde(skip)]
    pub agent_no: AgentNo,
    #[serde(rename = "agent_id")]
    pub agent: String,
    pub kind: Kind,
    /// 0 for a chunk of turns, one more with each condensing.
    pub depth: i64,
    #[serde(skip)]
    pub thread_no: ThreadNo,
    /// The thread key it was created with.
    pub thread: String,
    #[serde(skip)]
    pub session_no: Option<SessionNo>,
    pub session: Option<SessionKey>,
    #[serde(skip)]
    pub lane_no: Option<LaneNo>,
    pub lane: Option<String>,
    /// The first and the last turn it covers, and the times at which these were said.
    pub turns: (TurnId, TurnId),
    #[schemars(with = "(Option<String>, Option<String>)")]
    #[serde(rename = "time", serialize_with = "as_times")]
    pub times: (Option<Millis>, Option<Millis>),
    /// The number of turns it covers.
    pub count: u64,
    #[schemars(with = "String")]
    #[serde(serialize_with = "as_redacted")]
    pub summary: String,
    #[serde(serialize_with = "as_redacted_value")]
    pub distillate: Distillate,
    pub source: Source,
    /// The model that wrote the summary, such as `claude/haiku`. Null if none did.
    pub model: Option<String>,
    /// The node's content without the model.
    pub without_model: Option<WithoutModel>,
    #[serde(skip)]
    pub source_tokens: u64,
    /// Tokens of the summary without a model, which is the one that nodes above this one count.
    #[serde(skip)]
    pub summary_tokens: u64,
    /// The turn that contains the program's complete summary.
    pub summary_turn: Option<TurnId>,
    /// Whether all its turns lie on an abandoned branch.
    pub abandoned: bool,
    #[serde(skip)]
    pub late: Vec<(TurnId, TurnId)>,
    /// The node this one replaces because part of that node was forgotten.
    pub replaces: Option<NodeId>,
    #[schemars(with = "String")]
    #[serde(serialize_with = "as_rfc3339")]
    pub created_at: Millis,
    /// Whether its text was forgotten; its position in the DAG stays.
    pub forgotten: bool,
    #[serde(skip)]
    pub key: Vec<u8>,
    #[serde(skip)]
    pub digest: Vec<u8>,
}

/// The content of a node without a model, for nodes whose model summary is shown.
#[derive(Clone, PartialEq, Serialize, JsonSchema, Debug)]
pub struct WithoutModel {
    #[schemars(with = "String")]
    #[serde(serialize_with = "as_redacted")]
    pub summary: String,
    #[serde(serialize_with = "as_redacted_value")]
    pub distillate: Distillate,
    pub source: Source,
}

fn as_times<S: Serializer>(
    (first, last): &(Option<Millis>, Option<Millis>),
    to: S,
) -> std::result::Result<S::Ok, S::Error> {
    (first.map(rfc3339), last.map(rfc3339)).serialize(to)
}

/// SQL condition for visible nodes: those that do not belong to an unfinished act.
pub(crate) const STANDS: &str = "(n.flush_id IS NULL OR NOT EXISTS (SELECT 1 FROM flushes f WHERE f.flush_id = n.flush_id AND f.state = 'planned'))";

pub(super) const COLUMNS: &str =
    "n.node_no, n.agent_no, a.agent_id, n.kind, n.depth, n.thread_no, t.thread_key, n.session_no, s.session_key,
    n.lane_no, l.lane, n.first_turn, n.last_turn, n.first_at, n.last_at, n.turns, n.summary, n.distillate, n.source,
    n.source_tokens, n.summary_tokens, n.summary_turn, n.abandoned, n.late, n.replaces, n.created_at, n.key, n.digest,
    m.model, m.summary, m.distillate";

pub(super) const JOINS: &str = "JOIN agents a ON a.agent_no = n.agent_no JOIN threads t ON t.thread_no = n.thread_no
    LEFT JOIN sessions s ON s.session_no = n.session_no LEFT JOIN lanes l ON l.lane_no = n.lane_no
    LEFT JOIN model_summaries m ON m.node_no = n.node_no AND m.summary IS NOT NULL";

/// Length of a node's key and of its digest, in bytes.
const KEY_LENGTH: usize = 16;

/// Inserts a node with its edges. Refuses (kind `Damaged`) a node that violates an invariant of R6.2: a summary longer
/// than its source, a range that is not the hull of its children's ranges, children of another agent or thread, an
/// overlap with another chunk of the lane.
pub fn insert(tx: &Write, new: &NewNode) -> Result<NodeId> {
    let broken =
        |what: String| Error::new(ErrorKind::Damaged, what).hint("this is a fault of heirloom; please report it");
    let summary_tokens = crate::tokens::tokens(&new.summary) as u64;
    if summary_tokens > new.source_tokens {
        return Err(broken(format!(
            "a summary of {summary_tokens} tokens for {} tokens of conversation",
            new.source_tokens
        )));
    }
    if new.turns.0 > new.turns.1 || (new.kind == Kind::Chunk) != new.children.is_empty() {
        return Err(broken("a node with a span or children that do not fit its kind".into()));
    }
    if new.kind == Kind::Chunk {
        let taken = tx
            .prepare_cached(&format!(
                "SELECT 1 FROM nodes WHERE lane_no = ?1 AND kind = {CHUNK} AND last_turn >= ?2
                   AND first_turn <= ?3 AND length(key) > 0 LIMIT 1"
            ))?
            .exists(params![new.lane_no, new.turns.0.0, new.turns.1.0])?;
        if taken {
            return Err(broken(format!("turns from {} to {} are in a chunk already", new.turns.0, new.turns.1)));
        }
    } else {
        let mut hull = (TurnId(i64::MAX), TurnId(0));
        for child in &new.children {
            let (agent, thread, first, last): (AgentNo, ThreadNo, TurnId, TurnId) = tx
                .prepare_cached("SELECT agent_no, thread_no, first_turn, last_turn FROM nodes WHERE node_no = ?1")?
                .query_row([child.0], |r| Ok((r.get(0)?, r.get(1)?, r.get(2)?, r.get(3)?)))?;
            if (agent, thread) != (new.agent_no, new.thread_no) {
                return Err(broken(format!("{child} is of another agent or thread than its parent")));
            }
            hull = (hull.0.min(first), hull.1.max(last));
        }
        if hull != new.turns {
            return Err(broken("a node that does not span what its children span".into()));
        }
    }
    let mut key = [0u8; KEY_LENGTH];
    getrandom::fill(&mut key)
        .map_err(|e| Error::new(ErrorKind::Machine, "the system gives no random numbers").because(e))?;
    let distillate = serde_json::to_vec(&new.distillate).map_err(|e| Error::damaged("a distillate").because(e))?;
    let late = (!new.late.is_empty())
        .then(|| serde_json::to_string(&new.late).map_err(|e| Error::damaged("late turns").because(e)))
        .transpose()?;
    let squeezed = if new.distillate.is_empty() { None } else { Some(blocks::squeeze(&distillate)?) };
    tx.prepare_cached(
        "INSERT INTO nodes (agent_no, kind, depth, thread_no, session_no, lane_no, first_turn, last_turn, first_at, last_at,
                            turns, summary, distillate, source, source_tokens, summary_tokens, summary_turn, abandoned,
                            late, replaces, flush_id, created_at, key, digest)
         VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12, ?13, ?14, ?15, ?16, ?17, ?18, ?19, ?20, ?21, ?22, ?23, ?24)",
    )?
    .execute(params![
        new.agent_no,
        new.kind.code(),
        new.depth,
        new.thread_no,
        new.session_no,
        new.lane_no,
        new.turns.0.0,
        new.turns.1.0,
        new.times.0,
        new.times.1,
        new.count as i64,
        new.summary,
        squeezed,
        new.source.code(),
        new.source_tokens as i64,
        summary_tokens as i64,
        new.summary_turn.map(|t| t.0),
        new.abandoned,
        late,
        new.replaces.map(|n| n.0),
        new.flush,
        tx.now(),
        key,
        digest_of(&key, new.kind, new.turns, &new.summary, &distillate)
    ])?;
    let id = NodeId(tx.last_insert_rowid());
    for child in &new.children {
        tx.prepare_cached("INSERT INTO node_edges (parent_no, child_no) VALUES (?1, ?2)")?.execute([id.0, child.0])?;
        // Session nodes cover their compactions, condensed nodes all their children.
        if matches!(new.kind, Kind::Session | Kind::Condensed) {
            roots::covered(tx, *child)?;
        }
    }
    if new.kind != Kind::Chunk {
        roots::add(tx, id)?;
    }
    Ok(id)
}

/// Returns the digest of a node's contents, keyed with the node's own key, so that without the key it reveals nothing
/// (R14.2). `distillate` is its JSON.
pub fn digest_of(key: &[u8], kind: Kind, turns: (TurnId, TurnId), summary: &str, distillate: &[u8]) -> Vec<u8> {
    let mut wide = [0u8; 32];
    for (i, b) in wide.iter_mut().enumerate() {
        *b = key.get(i % KEY_LENGTH).copied().unwrap_or(0);
    }
    let mut hasher = blake3::Hasher::new_keyed(&wide);
    for number in [kind.code(), turns.0.0, turns.1.0, summary.len() as i64] {
        hasher.update(&number.to_le_bytes());
    }
    hasher.update(summary.as_bytes());
    hasher.update(distillate);
    hasher.finalize().as_bytes()[..KEY_LENGTH].to_vec()
}

pub(super) fn node_of(r: &Row) -> Result<Node> {
    let (mut summary, mut distillate): (String, Distillate) = (r.get(16)?, distillate_of(r.get(17)?)?);
    let mut source = Source::of(r.get(18)?);
    let model: Option<String> = r.get(28)?;
    let mut without_model = None;
    if model.is_some() {
        let (said, told): (String, Distillate) = (r.get(29)?, distillate_of(r.get(30)?)?);
        without_model = Some(WithoutModel {
            summary: std::mem::replace(&mut summary, said),
            distillate: std::mem::replace(&mut distillate, told),
            source: std::mem::replace(&mut source, Source::Model),
        });
    }
    let late: Option<String> = r.get(23)?;
    let key: Vec<u8> = r.get(26)?;
    Ok(Node {
        id: r.get(0)?,
        agent_no: r.get(1)?,
        agent: r.get(2)?,
        kind: Kind::of(r.get(3)?),
        depth: r.get(4)?,
        thread_no: r.get(5)?,
        thread: r.get(6)?,
        session_no: r.get(7)?,
        session: r.get::<_, Option<String>>(8)?.map(SessionKey::from),
        lane_no: r.get(9)?,
        lane: r.get(10)?,
        turns: (r.get(11)?, r.get(12)?),
        times: (r.get(13)?, r.get(14)?),
        count: r.get::<_, i64>(15)? as u64,
        summary,
        distillate,
        source,
        model,
        without_model,
        source_tokens: r.get::<_, i64>(19)? as u64,
        summary_tokens: r.get::<_, i64>(20)? as u64,
        summary_turn: r.get(21)?,
        abandoned: r.get(22)?,
        late: late.and_then(|l| serde_json::from_str(&l).ok()).unwrap_or_default(),
        replaces: r.get(24)?,
        created_at: r.get(25)?,
        forgotten: key.is_empty(),
        key,
        digest: r.get(27)?,
    })
}

fn distillate_of(stored: Option<Vec<u8>>) -> Result<Distillate> {
    let Some(data) = stored else { return Ok(Distillate::default()) };
    serde_json::from_slice(&blocks::unsqueeze(&data)?).map_err(|e| {
        Error::damaged("a node's distillate cannot be read").because(e).hint("see what else is affected: ⟨verify⟩")
    })
}

/// Returns one node. `NotFound` also if it belongs to another agent or is not visible yet.
pub fn node(tx: &Read, agent_no: AgentNo, id: NodeId) -> Result<Node> {
    find(tx, agent_no, id)?.ok_or_else(|| {
        Error::not_found(format!("there is no node {id}"))
            .hint("nodes stand in MEMORY.md and thread heads: ⟨thread list⟩")
    })
}

/// Returns one node; `None` if the agent has none with that id.
pub fn find(tx: &Read, agent_no: AgentNo, id: NodeId) -> Result<Option<Node>> {
    let sql = format!("SELECT {COLUMNS} FROM nodes n {JOINS} WHERE n.node_no = ?1 AND n.agent_no = ?2 AND {STANDS}");
    let mut statement = tx.prepare_cached(&sql)?;
    let mut rows = statement.query((id.0, agent_no))?;
    rows.next()?.map(node_of).transpose()
}

/// Returns the last turn of a lane that is in a chunk; 0 if there is none.
pub fn frontier(tx: &Read, lane_no: LaneNo) -> Result<TurnId> {
    // Chunks of a lane do not overlap, so the one that begins last also ends last.
    let last: Option<TurnId> = tx
        .prepare_cached(&format!(
            "SELECT last_turn FROM nodes WHERE lane_no = ?1 AND kind = {CHUNK} ORDER BY first_turn DESC LIMIT 1"
        ))?
        .query_row([lane_no], |r| r.get(0))
        .optional()?;
    Ok(last.unwrap_or_default())
}

/// Returns the chunk that contains a turn. The turn must be the agent's: see [`crate::transcript::read::turn`].
pub fn chunk_of(tx: &Read, lane_no: LaneNo, turn: TurnId) -> Result<Option<NodeId>> {
    Ok(tx
        .prepare_cached(&format!(
            "SELECT node_no FROM nodes WHERE lane_no = ?1 AND kind = {CHUNK} AND first_turn <= ?2
               AND last_turn >= ?2 AND length(key) > 0"
        ))?
        .query_row((lane_no, turn.0), |r| r.get(0))
        .optional()?)
}

/// Returns the newest node of a kind in a session, of one thread or of any.
pub fn newest(tx: &Read, session_no: SessionNo, kind: Kind, thread_no: Option<ThreadNo>) -> Result<Option<Node>> {
    let sql = format!(
        "SELECT {COLUMNS} FROM nodes n {JOINS}
         WHERE n.session_no = ?1 AND n.kind = ?2 AND (?3 IS NULL OR n.thread_no = ?3) AND length(n.key) > 0 AND {STANDS}
         ORDER BY n.last_turn DESC, n.node_no DESC LIMIT 1"
    );
    let mut statement = tx.prepare_cached(&sql)?;
    let mut rows = statement.query(params![session_no, kind.code(), thread_no])?;
    rows.next()?.map(node_of).transpose()
}

/// Returns the nodes that the next session node will cover: compaction nodes of a session that no session node covers,
/// and chunks that neither those nor a session node cover. A late compaction of chunks that session nodes already cover
/// is left out, because it adds nothing new.
pub fn uncovered(tx: &Read, session_no: SessionNo) -> Result<Vec<Node>> {
    let sql = format!(
        "SELECT {COLUMNS} FROM nodes n {JOINS}
         WHERE n.session_no = ?1 AND n.kind IN ({CHUNK}, {COMPACTION}) AND length(n.key) > 0
           AND {STANDS} AND NOT EXISTS (
           SELECT 1 FROM node_edges e JOIN nodes p ON p.node_no = e.parent_no
           WHERE e.child_no = n.node_no AND length(p.key) > 0
             AND (p.kind = {SESSION} OR (n.kind = {CHUNK} AND p.kind = {COMPACTION})))
           AND (n.kind = {CHUNK} OR EXISTS (
             SELECT 1 FROM node_edges b WHERE b.parent_no = n.node_no AND NOT EXISTS (
               SELECT 1 FROM node_edges e JOIN nodes p ON p.node_no = e.parent_no
               WHERE e.child_no = b.child_no AND length(p.key) > 0 AND p.kind = {SESSION})))
         ORDER BY n.first_turn, n.node_no"
    );
    let mut statement = tx.prepare_cached(&sql)?;
    let mut rows = statement.query([session_no])?;
    let mut out = Vec::new();
    while let Some(r) = rows.next()? {
        out.push(node_of(r)?);
    }
    Ok(out)
}

/// A point at which a context was cut.
#[derive(Clone, PartialEq, Serialize, JsonSchema, Debug)]
pub struct Compaction {
    #[serde(skip)]
    pub session_no: SessionNo,
    pub lane: String,
    pub node: Option<NodeId>,
    pub cause: String,
    /// The last turn that the handoff replaces.
    pub until: TurnId,
    /// Turns that stay in the context verbatim after the handoff.
    #[serde(skip)]
    pub preserved: Vec<TurnId>,
    /// The parts of the new context, in order.
    #[serde(skip)]
    pub restoration: Vec<String>,
    #[schemars(with = "String")]
    #[serde(serialize_with = "as_rfc3339")]
    pub at: Millis,
}

/// The values of a compaction to be recorded.
#[derive(Clone, PartialEq, Debug)]
pub struct NewCompaction {
    pub session_no: SessionNo,
    pub lane_no: LaneNo,
    pub node: Option<NodeId>,
    /// The program's own mark of the compaction.
    pub boundary_no: Option<BoundaryNo>,
    /// `harness`, `threshold`, `manual`; `segment`: the program started a new context; `again`: a mark that added
    /// nothing new.
    pub cause: &'static str,
    pub until: TurnId,
    pub preserved: Vec<TurnId>,
    pub restoration: Vec<String>,
    pub at: Millis,
    pub flush: Option<String>,
}

/// Records a compaction.
pub fn record_compaction(tx: &Write, new: &NewCompaction) -> Result<()> {
    let json = |v: Result<String, serde_json::Error>| v.map_err(|e| Error::damaged("a boundary").because(e));
    tx.prepare_cached(
        "INSERT INTO compactions (session_no, lane_no, node_no, boundary_no, cause, until_turn, preserved, restoration, flush_id, at)
         VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10)",
    )?
    .execute(params![
        new.session_no,
        new.lane_no,
        new.node.map(|n| n.0),
        new.boundary_no,
        new.cause,
        new.until.0,
        json(serde_json::to_string(&new.preserved))?,
        json(serde_json::to_string(&new.restoration))?,
        new.flush,
        new.at
    ])?;
    Ok(())
}

const COMPACTION_STANDS: &str = "(c.flush_id IS NULL OR NOT EXISTS (SELECT 1 FROM flushes f WHERE f.flush_id = c.flush_id AND f.state = 'planned'))";

/// Returns the visible compactions of a session, oldest first.
pub fn compactions(tx: &Read, session_no: SessionNo) -> Result<Vec<Compaction>> {
    let mut statement = tx.prepare_cached(&format!(
        "SELECT c.session_no, l.lane, c.node_no, c.cause, c.until_turn, c.preserved, c.restoration, c.at
         FROM compactions c JOIN lanes l USING (lane_no) WHERE c.session_no = ?1 AND {COMPACTION_STANDS}
         ORDER BY c.compaction_no"
    ))?;
    let rows = statement.query_map([session_no], |r| {
        Ok(Compaction {
            session_no: r.get(0)?,
            lane: r.get(1)?,
            node: r.get(2)?,
            cause: r.get(3)?,
            until: r.get(4)?,
            preserved: serde_json::from_str(&r.get::<_, String>(5)?).unwrap_or_default(),
            restoration: serde_json::from_str(&r.get::<_, String>(6)?).unwrap_or_default(),
            at: r.get(7)?,
        })
    })?;
    Ok(rows.collect::<rusqlite::Result<_>>()?)
}

/// Whether a program's compaction mark has been processed, or is being processed.
pub fn boundary_is_handled(tx: &Read, boundary_no: BoundaryNo) -> Result<bool> {
    Ok(tx.prepare_cached("SELECT 1 FROM compactions WHERE boundary_no = ?1")?.exists([boundary_no])?)
}

/// Returns the dedup epoch of a session (R10.6): 0, incremented whenever text given to its program left the program's
/// context: with every compaction of its main lane made by the program, every new segment, and every compaction a
/// person requested, after which the session continues from the handoff. A compaction by Heirloom at a threshold does
/// not count, because the program still has everything in its context. A mark that a fork copied from its original does
/// not count either, because the cut text was never in the fork's context.
pub fn epoch(tx: &Read, session_no: SessionNo) -> Result<u64> {
    epoch_at(tx, session_no, Millis::MAX)
}

/// Returns the [`epoch`] of a session at a time.
pub fn epoch_at(tx: &Read, session_no: SessionNo, moment: Millis) -> Result<u64> {
    Ok(tx
        .prepare_cached(&format!(
            "SELECT count(*) FROM compactions c JOIN lanes l USING (lane_no)
             WHERE c.session_no = ?1 AND l.lane = '' AND c.cause NOT IN ('again', 'threshold') AND c.at <= ?2
               AND {COMPACTION_STANDS}
               AND NOT EXISTS (
                 SELECT 1 FROM sessions s JOIN boundaries b ON b.boundary_no = c.boundary_no
                 JOIN turn_references r ON r.session_no = s.session_no AND r.lane_no = c.lane_no AND r.record_no > b.record_no
                 WHERE s.session_no = c.session_no AND s.fork_of IS NOT NULL)"
        ))?
        .query_row((session_no, moment), |r| r.get::<_, i64>(0))? as u64)
}
