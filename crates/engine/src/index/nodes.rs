//! The index rows of lineage nodes: summaries, found by words and by vector (R10.1, R10.2).
//!
//! The index covers nodes up to a node number of the ledger, stored with a mark of that node in the transaction that
//! stores the rows. A node of an unfinished act gets rows once the act is finished; the rows of a forgotten node are
//! removed.

use std::collections::{BTreeMap, BTreeSet};
use std::time::Instant;

use rusqlite::{OptionalExtension, Row, params};

use super::rows::scope_token;
use super::vectors::{Key, NodesWithin, SetKey, Sort, of_node};
use super::{COMMIT_BYTES, Index, RowId};
use crate::clock::Millis;
use crate::error::Result;
use crate::ledger::{Ledger, Read};
use crate::lineage::{Kind, STANDS};
use crate::scope::{AgentNo, NodeId, SessionNo, ThreadNo, WorkspaceNo};
use crate::text::indexed::fold;

/// Nodes taken from the ledger at once.
const STEP: i64 = 200;

/// Returns the SQL of the table of words, the table of nodes with rows, and the table of nodes whose acts are
/// unfinished.
pub(super) fn schema(tokenizer: &str) -> String {
    format!(
        "CREATE VIRTUAL TABLE nodes_fts USING fts5(text, scope, content='', contentless_delete=1, tokenize='{tokenizer}');
         CREATE TABLE node_rows (node INTEGER PRIMARY KEY, embedded INTEGER NOT NULL) STRICT;
         CREATE INDEX nodes_embedded ON node_rows (node) WHERE embedded = 0;
         CREATE TABLE nodes_due (node_no INTEGER PRIMARY KEY) STRICT;"
    )
}

/// Empties the tables of nodes of every agent.
pub(super) const EMPTY: &str = "INSERT INTO nodes_fts (nodes_fts) VALUES ('delete-all');
     DELETE FROM node_rows; DELETE FROM nodes_due; DELETE FROM meta WHERE key IN ('nodes', 'model_summaries');";

/// The nodes that match a search for words.
#[derive(Clone, Default, Debug)]
pub struct NodeMatches {
    /// Nodes best first, with their BM25 score: greater is better.
    pub found: Vec<(NodeId, f64)>,
    /// Whether the search was interrupted at its deadline.
    pub cut_short: bool,
}

/// A node as it is indexed.
struct Doc {
    agent_no: AgentNo,
    node_no: NodeId,
    kind: Kind,
    thread_no: ThreadNo,
    session_no: Option<SessionNo>,
    workspace_no: Option<WorkspaceNo>,
    times: (Option<Millis>, Option<Millis>),
    summary: String,
    /// Whether its content was forgotten.
    buried: bool,
    stands: bool,
    mark: String,
}

impl Doc {
    fn read(r: &Row) -> rusqlite::Result<Doc> {
        Ok(Doc {
            node_no: r.get(0)?,
            agent_no: r.get(1)?,
            kind: Kind::of(r.get(2)?),
            thread_no: r.get(3)?,
            session_no: r.get(4)?,
            workspace_no: r.get(5)?,
            times: (r.get(6)?, r.get(7)?),
            summary: r.get(8)?,
            buried: r.get(9)?,
            stands: r.get(10)?,
            mark: r.get(11)?,
        })
    }

    fn row(&self) -> i64 {
        RowId { agent_no: self.agent_no, turn_no: self.node_no.0, part: 0 }.pack()
    }

    fn set(&self) -> SetKey {
        SetKey {
            agent_no: self.agent_no,
            sort: Sort::Node,
            workspace_no: self.workspace_no.unwrap_or_default(),
            label: String::new(),
        }
    }

    /// Returns the indexed text. It includes dates, because questions name them.
    fn text(&self) -> String {
        let mut text = String::new();
        let mut days: Vec<String> = [self.times.0, self.times.1]
            .into_iter()
            .flatten()
            .filter_map(|ms| jiff::Timestamp::from_millisecond(ms).ok())
            .map(|at| at.strftime("%-d %B %Y ").to_string())
            .collect();
        days.dedup();
        text.extend(days);
        text.push_str(&fold(&self.summary));
        text
    }

    fn scope(&self) -> String {
        let mut tokens = vec![scope_token('n', self.kind.name()), scope_token('t', &self.thread_no.to_string())];
        tokens.extend(self.session_no.map(|no| scope_token('s', &no.to_string())));
        tokens.extend(self.workspace_no.map(|no| scope_token('w', &no.to_string())));
        tokens.join(" ")
    }
}

fn select(which: &str) -> String {
    format!(
        "SELECT n.node_no, n.agent_no, n.kind, n.thread_no, n.session_no, t.workspace_no, n.first_at, n.last_at,
                coalesce(m.summary, n.summary), length(n.key) = 0, {STANDS}, hex(n.digest)
         FROM nodes n LEFT JOIN turns t ON t.turn_no = n.first_turn
         LEFT JOIN model_summaries m ON m.node_no = n.node_no AND m.summary IS NOT NULL WHERE {which}"
    )
}

impl Index {
    /// Finds nodes of an agent whose summaries match, best first. `expression`: a full-text expression on the column
    /// `text`, folded like every query ([`fold`]); row ids are [`RowId`]s with the node's number.
    pub fn nodes_matching(
        &self,
        agent_no: AgentNo,
        expression: &str,
        within: &NodesWithin,
        limit: usize,
    ) -> Result<NodeMatches> {
        let mut clauses = vec![format!("({expression})")];
        let mut only = |kind: char, values: Vec<String>| {
            let tokens: Vec<String> = values.iter().map(|v| format!("\"{}\"", scope_token(kind, v))).collect();
            clauses.push(format!("scope : ({})", tokens.join(" OR ")));
        };
        let lists = [
            ('t', within.threads.as_ref().map(|l| l.iter().map(ToString::to_string).collect::<Vec<_>>())),
            ('w', within.workspaces.as_ref().map(|l| l.iter().map(ToString::to_string).collect())),
            ('n', within.kinds.as_ref().map(|l| l.iter().map(|k| k.name().to_owned()).collect())),
        ];
        for (kind, values) in lists {
            match values {
                Some(values) if values.is_empty() => return Ok(NodeMatches::default()),
                Some(values) => only(kind, values),
                None => {}
            }
        }
        let (first, last) = RowId::range(agent_no, 0, i64::MAX);
        let mut statement = self.conn.prepare_cached(
            "SELECT rowid, bm25(nodes_fts, 1.0, 0.0) AS s FROM nodes_fts
             WHERE nodes_fts MATCH ?1 AND rowid BETWEEN ?2 AND ?3 ORDER BY s LIMIT ?4",
        )?;
        let mut rows = statement.query(params![clauses.join(" AND "), first, last, limit as i64])?;
        let mut out = NodeMatches::default();
        loop {
            match rows.next() {
                Ok(Some(r)) => {
                    let id = NodeId(RowId::unpack(r.get(0)?).turn_no);
                    out.found.push((id, (-r.get::<_, f64>(1)?).max(1e-9)));
                }
                Ok(None) => break,
                Err(e) if e.sqlite_error_code() == Some(rusqlite::ErrorCode::OperationInterrupted) => {
                    out.cut_short = true;
                    break;
                }
                Err(e) => return Err(e.into()),
            }
        }
        Ok(out)
    }

    /// Follows the nodes of the ledger until done or `deadline`.
    pub(super) fn catch_up_nodes(&mut self, ledger: &Ledger, deadline: Option<Instant>) -> Result<()> {
        let (covered, mark) = self.nodes_end()?;
        let (last, known) = ledger.read(|tx| Ok((last_node(tx)?, mark_of(tx, covered)?)))?;
        if covered > last || known != mark {
            // The rows come from another history of the ledger and are invalid.
            if !self.begin()? {
                return Ok(());
            }
            self.forget_nodes()?;
            self.flush()?;
        }
        while deadline.is_none_or(|d| Instant::now() < d) && self.nodes_end()?.0 < last && self.begin()? {
            let (from, _) = self.nodes_end()?;
            let nodes = read(ledger, &format!("n.node_no > {} ORDER BY n.node_no LIMIT {STEP}", from.0))?;
            let Some(newest) = nodes.last() else { break };
            let end = format!("{} {}", newest.node_no.0, newest.mark);
            self.put_nodes(nodes)?;
            self.conn
                .prepare_cached("INSERT OR REPLACE INTO meta (key, value) VALUES ('nodes', ?1)")?
                .execute([end])?;
            if self.uncommitted > COMMIT_BYTES {
                self.flush()?;
            }
        }
        self.flush()?;
        self.look_at_due_nodes(ledger)?;
        self.follow_model_summaries(ledger)
    }

    /// Replaces the rows of nodes that were indexed before a language model rewrote their summary.
    fn follow_model_summaries(&mut self, ledger: &Ledger) -> Result<()> {
        let (seen, mark) = self.end_of("model_summaries")?;
        let (last, last_mark, known) = ledger.read(|tx| {
            let last: i64 = tx
                .prepare_cached("SELECT coalesce(max(summary_no), 0) FROM model_summaries")?
                .query_row([], |r| r.get(0))?;
            Ok((last, model_mark(tx, last)?, model_mark(tx, seen)?))
        })?;
        if (last, &last_mark) == (seen, &mark) {
            return Ok(());
        }
        // If the mark differs, the summary row may have been replaced under the same number, so all summaries are read
        // again.
        let from = if known == mark { seen } else { 0 };
        let told: Vec<i64> = ledger.read(|tx| {
            let mut statement = tx.prepare_cached(
                "SELECT node_no FROM model_summaries WHERE summary_no > ?1 AND summary IS NOT NULL ORDER BY summary_no",
            )?;
            let rows = statement.query_map([from], |r| r.get(0))?;
            Ok(rows.collect::<rusqlite::Result<_>>()?)
        })?;
        for node_no in told {
            let Some(node) = read(ledger, &format!("n.node_no = {node_no}"))?.pop() else { continue };
            if !self.begin()? {
                return Ok(());
            }
            let row = node.row();
            if self.conn.prepare_cached("DELETE FROM node_rows WHERE node = ?1")?.execute([row])? > 0 {
                self.conn.prepare_cached("DELETE FROM nodes_fts WHERE rowid = ?1")?.execute([row])?;
                self.remove_vectors(node.agent_no, Sort::Node, &BTreeSet::from([node_no]))?;
                self.put_nodes(vec![node])?;
            }
            self.flush()?;
        }
        if self.begin()? {
            self.conn
                .prepare_cached("INSERT OR REPLACE INTO meta (key, value) VALUES ('model_summaries', ?1)")?
                .execute([format!("{last} {last_mark}")])?;
        }
        self.flush()
    }

    /// Checks again the nodes whose acts were unfinished when they were read.
    fn look_at_due_nodes(&mut self, ledger: &Ledger) -> Result<()> {
        let due: Vec<i64> = {
            let mut statement = self.conn.prepare_cached("SELECT node_no FROM nodes_due ORDER BY node_no")?;
            let rows = statement.query_map([], |r| r.get(0))?;
            rows.collect::<rusqlite::Result<_>>()?
        };
        for node_no in due {
            let node = read(ledger, &format!("n.node_no = {node_no}"))?.pop();
            if node.as_ref().is_some_and(|n| !n.stands && !n.buried) {
                continue;
            }
            if !self.begin()? {
                return Ok(());
            }
            if self.conn.execute("DELETE FROM nodes_due WHERE node_no = ?1", [node_no])? > 0 {
                self.put_nodes(node.into_iter().collect())?;
            }
        }
        self.flush()
    }

    /// Stores the rows of nodes, with their vectors if the model is quick, inside the open transaction.
    fn put_nodes(&mut self, nodes: Vec<Doc>) -> Result<()> {
        let mut put = Vec::new();
        for node in nodes {
            if node.buried || node.summary.trim().is_empty() {
                continue;
            }
            if !node.stands {
                self.conn
                    .prepare_cached("INSERT OR IGNORE INTO nodes_due (node_no) VALUES (?1)")?
                    .execute([node.node_no])?;
                continue;
            }
            self.conn
                .prepare_cached("INSERT INTO nodes_fts (rowid, text, scope) VALUES (?1, ?2, ?3)")?
                .execute(params![node.row(), node.text(), node.scope()])?;
            self.conn.prepare_cached("INSERT INTO node_rows (node, embedded) VALUES (?1, 0)")?.execute([node.row()])?;
            self.uncommitted += node.summary.len() + 64;
            put.push(node);
        }
        if self.waiting.is_some() {
            self.embed_nodes(put)?;
        }
        Ok(())
    }

    /// Makes and stores the missing vectors of nodes that have rows, inside the open transaction.
    fn embed_nodes(&mut self, nodes: Vec<Doc>) -> Result<()> {
        let texts: Vec<Vec<String>> = nodes.iter().map(|n| of_node(&n.summary)).collect();
        let flat: Vec<String> = texts.iter().flatten().cloned().collect();
        let Some(made) = self.vectors_now(&flat)? else { return Ok(()) };
        let mut made = made.into_iter();
        for (node, texts) in nodes.iter().zip(&texts) {
            let vectors = made.by_ref().take(texts.len()).collect();
            if !self.store_node(node, vectors)? {
                break;
            }
        }
        Ok(())
    }

    fn store_node(&mut self, node: &Doc, made: Vec<Option<Vec<u8>>>) -> Result<bool> {
        let key = |part| Key::of_node(node.node_no.0, part, node.kind, node.thread_no);
        let stored = self.store_vectors(&node.set(), made, key)?;
        if stored {
            self.conn.prepare_cached("UPDATE node_rows SET embedded = 1 WHERE node = ?1")?.execute([node.row()])?;
        }
        Ok(stored)
    }

    /// Makes the missing vectors of nodes that have rows.
    pub(super) fn fill_nodes(&mut self, ledger: &Ledger, deadline: Option<Instant>) -> Result<()> {
        let mut from = 0;
        while !self.embedder_rests() && deadline.is_none_or(|d| Instant::now() < d) {
            let lacking: Vec<i64> = {
                let mut statement = self.conn.prepare_cached(
                    "SELECT node FROM node_rows INDEXED BY nodes_embedded WHERE embedded = 0 AND node > ?1 ORDER BY node LIMIT 32",
                )?;
                let rows = statement.query_map([from], |r| r.get(0))?;
                rows.collect::<rusqlite::Result<_>>()?
            };
            let Some(newest) = lacking.last() else { return Ok(()) };
            from = *newest;
            for row in lacking {
                let Some(node) = read(ledger, &format!("n.node_no = {}", RowId::unpack(row).turn_no))?.pop() else {
                    continue;
                };
                let Some(made) = self.vectors_of(&of_node(&node.summary))? else { return Ok(()) };
                if !self.begin()? {
                    return Ok(());
                }
                // Another process may have stored the vectors or removed the node.
                if self
                    .conn
                    .prepare_cached("SELECT 1 FROM node_rows WHERE node = ?1 AND embedded = 0")?
                    .exists([row])?
                {
                    self.store_node(&node, made)?;
                }
                self.flush()?;
            }
        }
        Ok(())
    }

    /// Removes the rows and vectors of forgotten nodes, inside the open transaction.
    pub(super) fn erase_buried_nodes(&mut self, ledger: &Ledger) -> Result<()> {
        let buried: Vec<(AgentNo, i64)> = ledger.read(|tx| {
            let mut statement = tx.prepare("SELECT agent_no, node_no FROM nodes WHERE length(key) = 0")?;
            let rows = statement.query_map([], |r| Ok((r.get(0)?, r.get(1)?)))?;
            Ok(rows.collect::<rusqlite::Result<_>>()?)
        })?;
        let mut gone: BTreeMap<AgentNo, BTreeSet<i64>> = BTreeMap::new();
        for (agent_no, node_no) in buried {
            let row = RowId { agent_no, turn_no: node_no, part: 0 }.pack();
            if self.conn.prepare_cached("DELETE FROM node_rows WHERE node = ?1")?.execute([row])? > 0 {
                self.conn.prepare_cached("DELETE FROM nodes_fts WHERE rowid = ?1")?.execute([row])?;
                gone.entry(agent_no).or_default().insert(node_no);
            }
        }
        for (agent_no, nodes) in gone {
            self.remove_vectors(agent_no, Sort::Node, &nodes)?;
        }
        Ok(())
    }

    /// Reports differences from the ledger: standing nodes without rows, and rows of nodes that do not stand.
    pub fn node_strays(&self, ledger: &Ledger) -> Result<Vec<String>> {
        let (covered, mark) = self.nodes_end()?;
        let (standing, known) = ledger.read(|tx| {
            let sql = format!(
                "SELECT n.agent_no, n.node_no FROM nodes n
                 WHERE n.node_no <= ?1 AND length(n.key) > 0 AND trim(n.summary) != '' AND {STANDS}"
            );
            let mut statement = tx.prepare(&sql)?;
            let rows = statement
                .query_map([covered], |r| Ok(RowId { agent_no: r.get(0)?, turn_no: r.get(1)?, part: 0 }.pack()))?;
            Ok((rows.collect::<rusqlite::Result<BTreeSet<i64>>>()?, mark_of(tx, covered)?))
        })?;
        if known != mark {
            return Ok(vec!["the nodes of the index are of another history of this ledger".into()]);
        }
        let mut statement = self.conn.prepare("SELECT node FROM node_rows")?;
        let rows: BTreeSet<i64> = statement.query_map([], |r| r.get(0))?.collect::<rusqlite::Result<_>>()?;
        let mut statement = self.conn.prepare("SELECT node_no FROM nodes_due")?;
        let due: BTreeSet<i64> = statement.query_map([], |r| r.get(0))?.collect::<rusqlite::Result<_>>()?;
        let mut out = Vec::new();
        for row in standing.difference(&rows) {
            let no = RowId::unpack(*row).turn_no;
            if !due.contains(&no) {
                out.push(format!("node {} has no row", NodeId(no)));
            }
        }
        for row in rows.difference(&standing) {
            out.push(format!("node {} does not stand and has a row", NodeId(RowId::unpack(*row).turn_no)));
        }
        Ok(out)
    }

    /// Reports rows that are not recorded as made, and recorded rows that are missing.
    pub(super) fn node_problems(&self) -> Result<Vec<String>> {
        let number =
            |table: &str| self.conn.query_row(&format!("SELECT count(*) FROM {table}"), [], |r| r.get::<_, i64>(0));
        Ok(match (number("node_rows"), number("nodes_fts_docsize")) {
            (Ok(made), Ok(stored)) if made == stored => Vec::new(),
            (Ok(made), Ok(stored)) => vec![format!("the index counts {made} nodes and has rows of {stored}")],
            (Err(e), _) | (_, Err(e)) => vec![format!("the nodes of the index cannot be counted: {e}")],
        })
    }

    fn forget_nodes(&mut self) -> Result<()> {
        let rows: Vec<i64> = {
            let mut statement = self.conn.prepare("SELECT node FROM node_rows")?;
            let rows = statement.query_map([], |r| r.get(0))?;
            rows.collect::<rusqlite::Result<_>>()?
        };
        let mut by_agent: BTreeMap<AgentNo, BTreeSet<i64>> = BTreeMap::new();
        for id in rows.into_iter().map(RowId::unpack) {
            by_agent.entry(id.agent_no).or_default().insert(id.turn_no);
        }
        for (agent_no, nodes) in by_agent {
            self.remove_vectors(agent_no, Sort::Node, &nodes)?;
        }
        Ok(self.conn.execute_batch(EMPTY)?)
    }

    /// Returns the last node the index covers, and its mark.
    fn nodes_end(&self) -> Result<(NodeId, String)> {
        let (node_no, mark) = self.end_of("nodes")?;
        Ok((NodeId(node_no), mark))
    }

    fn end_of(&self, key: &str) -> Result<(i64, String)> {
        let value: Option<String> = self
            .conn
            .prepare_cached("SELECT value FROM meta WHERE key = ?1")?
            .query_row([key], |r| r.get(0))
            .optional()?;
        let Some(value) = value else { return Ok((0, String::new())) };
        let (number, mark) = value.split_once(' ').unwrap_or((&value, ""));
        // An unreadable value counts as a number no ledger has reached, so that the rows are made again.
        Ok((number.parse().unwrap_or(i64::MAX), mark.to_owned()))
    }
}

fn last_node(tx: &Read) -> Result<NodeId> {
    Ok(tx.prepare_cached("SELECT coalesce(max(node_no), 0) FROM nodes")?.query_row([], |r| r.get(0))?)
}

/// Returns the digest of a node, which is partly random and is kept when the node's content is forgotten.
fn mark_of(tx: &Read, node_no: NodeId) -> Result<String> {
    let found = tx
        .prepare_cached("SELECT hex(digest) FROM nodes WHERE node_no = ?1")?
        .query_row([node_no], |r| r.get(0))
        .optional()?;
    Ok(found.unwrap_or_default())
}

fn model_mark(tx: &Read, summary_no: i64) -> Result<String> {
    let found = tx
        .prepare_cached("SELECT hex(digest) FROM model_summaries WHERE summary_no = ?1")?
        .query_row([summary_no], |r| r.get(0))
        .optional()?;
    Ok(found.unwrap_or_default())
}

fn read(ledger: &Ledger, which: &str) -> Result<Vec<Doc>> {
    ledger.read(|tx| {
        let mut statement = tx.prepare(&select(which))?;
        let rows = statement.query_map([], Doc::read)?;
        Ok(rows.collect::<rusqlite::Result<_>>()?)
    })
}
