//! Size of the lineage in the ledger, by its parts.

use heirloom_engine::error::Result;
use heirloom_engine::ledger::Read;
use rusqlite::OptionalExtension;

/// Rows and bytes of the lineage in one ledger, over all agents.
#[derive(Clone, Copy, Default, PartialEq, Eq, Debug)]
pub struct Size {
    pub chunks: u64,
    pub sessions: u64,
    pub compactions: u64,
    pub condensed: u64,
    pub edges: u64,
    pub threads: u64,
    /// Bytes of the summaries' words; `distillates` counts the compressed distillates.
    pub summaries: u64,
    pub distillates: u64,
    /// Bytes of whole database pages, with their free space and indexes: of nodes, of edges, of other tables only the
    /// lineage needs (threads, threads of runs, compactions, marks), and of its indexes on turns and runs.
    pub node_pages: u64,
    pub edge_pages: u64,
    pub other_pages: u64,
    pub turn_index_pages: u64,
}

impl Size {
    pub fn nodes(&self) -> u64 {
        self.chunks + self.sessions + self.compactions + self.condensed
    }

    /// Returns the bytes of all its pages.
    pub fn bytes(&self) -> u64 {
        self.node_pages + self.edge_pages + self.other_pages + self.turn_index_pages
    }
}

/// Tables that only the lineage needs.
const TABLES: [&str; 7] =
    ["threads", "thread_names", "thread_links", "thread_switches", "run_threads", "compactions", "lineage_marks"];

/// Indexes of the lineage on tables of the transcript.
const INDEXES: [&str; 5] = ["turns_lane", "turns_hint", "turns_call", "turns_voice", "turn_results_left"];

/// Measures the lineage. It reads every page of the ledger once (SQLite's own account of its pages), so it is for
/// measurements only.
pub fn size(tx: &Read) -> Result<Size> {
    let mut out = Size::default();
    let mut statement = tx.prepare_cached(
        "SELECT kind, count(*), sum(length(summary)), coalesce(sum(length(distillate)), 0) FROM nodes GROUP BY kind",
    )?;
    let mut rows = statement.query([])?;
    while let Some(r) = rows.next()? {
        let count = r.get::<_, i64>(1)? as u64;
        match r.get::<_, i64>(0)? {
            0 => out.chunks += count,
            1 => out.sessions += count,
            2 => out.compactions += count,
            _ => out.condensed += count,
        }
        out.summaries += r.get::<_, i64>(2)? as u64;
        out.distillates += r.get::<_, i64>(3)? as u64;
    }
    let count = |sql: &str| -> Result<u64> {
        Ok(tx.prepare_cached(sql)?.query_row([], |r| r.get::<_, i64>(0)).optional()?.unwrap_or(0) as u64)
    };
    out.edges = count("SELECT count(*) FROM node_edges")?;
    out.threads = count("SELECT count(*) FROM threads")?;
    let mut statement = tx.prepare_cached(
        "SELECT p.name, s.tbl_name, p.pgsize FROM dbstat p JOIN sqlite_schema s ON s.name = p.name WHERE p.aggregate = TRUE",
    )?;
    let mut rows = statement.query([])?;
    while let Some(r) = rows.next()? {
        let (name, table, bytes): (String, String, i64) = (r.get(0)?, r.get(1)?, r.get(2)?);
        let place = match (name.as_str(), table.as_str()) {
            (_, "nodes") => &mut out.node_pages,
            (_, "node_edges") => &mut out.edge_pages,
            (_, table) if TABLES.contains(&table) => &mut out.other_pages,
            (index, _) if INDEXES.contains(&index) => &mut out.turn_index_pages,
            _ => continue,
        };
        *place += bytes as u64;
    }
    Ok(out)
}
