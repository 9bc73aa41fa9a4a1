//! Recomputes and compares everything stored: digests, audit chain, references, tiling, lineage, index, and, in
//! [`files`], the visible files (R4.6). Storey 4.
//!
//! It reads and never repairs. Each finding names what is damaged, as precisely as the ledger can tell.

pub mod anchor;
pub mod files;
mod lineage;
mod turns;

use std::collections::{HashMap, HashSet};

use serde::Serialize;

use crate::error::{Error, ErrorKind, Result};
use crate::index::Index;
use crate::ledger::blocks::{self, Opener};
use crate::ledger::codes::QUARANTINED;
use crate::ledger::{Ledger, Read, audit, schema, seal};
use crate::next_step::worded;
use crate::pages;
use crate::recall::replay;
use crate::scope::{BlockNo, RecordNo, StreamNo};

use crate::transcript::prepare::digest;
pub use turns::said;

/// Severity of a finding.
#[derive(Clone, Copy, PartialEq, Eq, Serialize, Debug)]
#[serde(rename_all = "lowercase")]
pub enum Severity {
    /// Stored data has changed.
    Damaged,
    /// Derived data is wrong: rebuilding repairs it.
    Stale,
}

/// One difference between what is stored and what should be stored.
#[derive(Clone, PartialEq, Eq, Serialize, Debug)]
pub struct Finding {
    pub severity: Severity,
    /// Name of the damaged thing: `record 17 (/path/file.jsonl, byte 1200)`, `audit row 4`, `index`.
    pub subject: String,
    pub what: String,
}

/// Counts of what was checked, and the findings.
#[derive(Clone, Default, Serialize, Debug)]
pub struct Report {
    pub records: u64,
    pub bytes: u64,
    pub turns: u64,
    pub blocks: u64,
    pub audit_rows: u64,
    pub index_rows: u64,
    /// Nodes of the summary DAG.
    pub nodes: u64,
    /// Visible files.
    pub files: u64,
    /// Number of records whose bytes were forgotten: `verify` can only check that these bytes are absent (D6).
    #[serde(skip)]
    pub forgotten: u64,
    #[serde(skip)]
    pub findings: Vec<Finding>,
}

impl Report {
    /// Whether stored data is damaged.
    pub fn is_damaged(&self) -> bool {
        self.findings.iter().any(|f| f.severity == Severity::Damaged)
    }

    fn damaged(&mut self, subject: impl Into<String>, what: impl Into<String>) {
        self.findings.push(Finding {
            severity: Severity::Damaged,
            subject: subject.into(),
            what: worded(&what.into()),
        });
    }

    fn stale(&mut self, subject: impl Into<String>, what: impl Into<String>) {
        self.findings.push(Finding { severity: Severity::Stale, subject: subject.into(), what: worded(&what.into()) });
    }
}

/// Checks the ledger and, if given, the index. `progress` receives the number of source bytes checked so far.
pub fn verify(ledger: &Ledger, index: Option<&Index>, progress: &mut dyn FnMut(u64)) -> Result<Report> {
    let mut report = Report::default();
    ledger.read(|tx| {
        for (part, what) in schema::broken(tx)? {
            report.damaged(part, what);
        }
        match rows(tx, &mut report, progress) {
            // A table that is gone or has other columns keeps what reads it from being checked.
            Err(e) if report.is_damaged() && e.kind() != ErrorKind::Busy => {
                report.damaged("database", format!("not everything could be checked: {e}"));
                Ok(())
            }
            other => other,
        }
    })?;
    if let Some(index) = index {
        report.index_rows = index.rows().unwrap_or(0) as u64;
        // The index is derived: whatever is wrong with it, the findings about the ledger must be told.
        let mut found = index.problems().unwrap_or_else(|e| vec![e.to_string()]);
        match index.node_strays(ledger) {
            Err(_) if report.is_damaged() => {}
            Err(e) if e.kind() == ErrorKind::Busy => return Err(e),
            strays => found.extend(strays.unwrap_or_else(|e| vec![e.to_string()])),
        }
        found.extend(ledger.read(|tx| index.coverage(tx)).err().map(|e| e.to_string()));
        let mut told = HashSet::new();
        for what in found.iter().filter(|what| told.insert(what.as_str())) {
            report.stale("index", format!("{what}; ⟨reindex⟩ makes it anew"));
        }
    }
    Ok(report)
}

/// Checks the rows of the ledger.
fn rows(tx: &Read, report: &mut Report, progress: &mut dyn FnMut(u64)) -> Result<()> {
    structure(tx, report)?;
    let mut used = HashSet::new();
    records(tx, &mut used, report, progress)?;
    tiling(tx, report)?;
    pending(tx, report)?;
    let mut lengths = lineage::Lengths::default();
    turns(tx, &mut lengths, &mut used, report)?;
    unused(tx, &used, report)?;
    references(tx, report)?;
    lineage::lineage(tx, &lengths, report)?;
    let (rows, broken) = audit::broken_links(tx)?;
    report.audit_rows = rows;
    for what in broken {
        report.damaged("audit", what);
    }
    for what in pages::revisions::unsound(tx)? {
        report.damaged("heads", what);
    }
    contexts(tx, report)?;
    for path in crate::tree::restore::unsound(tx)? {
        report.damaged(path, "a kept copy of it is not what was kept");
    }
    for (place, what) in seal::broken(tx)? {
        report.damaged(place, what);
    }
    batches(tx, report)
}

/// Returns the number of source bytes to check, for a progress bar.
pub fn bytes_to_check(ledger: &Ledger) -> Result<u64> {
    ledger.read(|tx| count(tx, "SELECT coalesce(sum(length), 0) FROM records"))
}

/// Checks only the ledger's structure, without reading stored content. Returns a description of the damage, or `None`.
pub fn quick_look(ledger: &Ledger) -> Result<Option<String>> {
    ledger.read(|tx| {
        let said: String = tx.query_row("PRAGMA quick_check(1)", [], |r| r.get(0))?;
        Ok((said != "ok").then_some(said))
    })
}

fn structure(tx: &Read, report: &mut Report) -> Result<()> {
    let mut statement = tx.prepare("PRAGMA integrity_check(20)")?;
    let mut rows = statement.query([])?;
    while let Some(r) = rows.next()? {
        let line: String = r.get(0)?;
        if line != "ok" {
            report.damaged("database", line);
        }
    }
    let mut statement = tx.prepare("PRAGMA foreign_key_check")?;
    let mut rows = statement.query([])?;
    let mut dangling: HashMap<(String, String), u64> = HashMap::new();
    while let Some(r) = rows.next()? {
        *dangling.entry((r.get(0)?, r.get(2)?)).or_default() += 1;
    }
    for ((table, parent), n) in dangling {
        report.damaged(table, format!("{n} rows refer to rows of {parent} that do not exist"));
    }
    Ok(())
}

/// Checks every record's bytes against its keyed digest, in the order in which the records were stored: their blocks
/// were filled in that order, so each block is opened once, and sorting the records by block would hold all of them in
/// memory.
fn records(tx: &Read, used: &mut HashSet<BlockNo>, report: &mut Report, progress: &mut dyn FnMut(u64)) -> Result<()> {
    report.blocks = count(tx, "SELECT count(*) FROM blocks")?;
    let mut statement = tx.prepare(
        "SELECT record_no, length, block_no, block_offset, r.key, digest, path, st.key, position,
                r.forgotten IS NOT NULL
         FROM records r LEFT JOIN streams st USING (stream_no) LEFT JOIN sources USING (source_no) ORDER BY record_no",
    )?;
    let opener = Opener::default();
    let mut rows = statement.query([])?;
    let mut bad_block: Option<BlockNo> = None;
    while let Some(r) = rows.next()? {
        let (no, length, block, offset): (RecordNo, i64, BlockNo, i64) = (r.get(0)?, r.get(1)?, r.get(2)?, r.get(3)?);
        let name = || -> Result<String> {
            let path: Option<Vec<u8>> = r.get(6)?;
            let key: Option<String> = r.get(7)?;
            let path = path.map(|p| String::from_utf8_lossy(&p).into_owned()).unwrap_or_default();
            let position: i64 = r.get(8)?;
            Ok(match key.as_deref() {
                Some("") | None => format!("record {no} ({path}, byte {position})"),
                Some(key) => format!("record {no} ({path}#{key}, revision {position})"),
            })
        };
        report.records += 1;
        used.insert(block);
        report.bytes += length.max(0) as u64;
        match opener.open(tx, block) {
            Err(e) => {
                if bad_block != Some(block) {
                    report.damaged(format!("block {block}"), e.to_string());
                    bad_block = Some(block);
                }
                report.damaged(name()?, "its bytes cannot be read");
            }
            Ok(raw) => match blocks::range(&raw, offset, length) {
                None => report.damaged(name()?, "its bytes lie outside their block"),
                Some(bytes) => {
                    let (key, stored): (Vec<u8>, Vec<u8>) = (r.get(4)?, r.get(5)?);
                    if r.get(9)? {
                        report.forgotten += 1;
                        let words = bytes.strip_suffix(b"\n").unwrap_or(bytes);
                        if !key.is_empty() || words.iter().any(|b| *b != 0) {
                            report.damaged(name()?, "it was forgotten and something of it is left");
                        }
                    } else if digest(&key, bytes).as_slice() != stored {
                        report.damaged(name()?, "its bytes are not what was stored");
                    }
                }
            },
        }
        if report.records.is_multiple_of(512) {
            progress(report.bytes);
        }
    }
    progress(report.bytes);
    Ok(())
}

/// Checks that every byte of a file belongs to exactly one record: no gap, no overlap.
fn tiling(tx: &Read, report: &mut Report) -> Result<()> {
    let mut statement = tx.prepare(
        // This index has the wanted order, so that nothing is sorted.
        "SELECT r.stream_no, r.generation, position, length, path, st.generation, next, st.key, form
         FROM records r INDEXED BY records_place CROSS JOIN streams st ON st.stream_no = r.stream_no
         JOIN sources USING (source_no) ORDER BY r.stream_no, r.generation, position",
    )?;
    let mut rows = statement.query([])?;
    let mut expected: Option<(StreamNo, i64, i64)> = None;
    // The end of the newest generation of the current stream; the streams before it are already checked.
    let mut newest: Option<(StreamNo, i64, i64, String)> = None;
    let ends = |newest: Option<(StreamNo, i64, i64, String)>, report: &mut Report| {
        if let Some((_, end, next, path)) = newest.filter(|(_, end, next, _)| end != next) {
            report.damaged(path, format!("the cursor stands at {next}, the records end at {end}"));
        }
    };
    while let Some(r) = rows.next()? {
        let (stream, generation, position, length): (StreamNo, i64, i64, i64) =
            (r.get(0)?, r.get(1)?, r.get(2)?, r.get(3)?);
        let path = String::from_utf8_lossy(&r.get::<_, Vec<u8>>(4)?).into_owned();
        let rows_of_a_table = r.get::<_, i64>(8)? == 1;
        let want = match expected {
            Some((s, g, next)) if s == stream && g == generation => next,
            _ => 0,
        };
        if position != want {
            report.damaged(
                format!("{path}, generation {generation}"),
                format!("bytes {want} to {position} belong to no record, or to two"),
            );
        }
        let end = if rows_of_a_table { position + 1 } else { position + length };
        expected = Some((stream, generation, end));
        if newest.as_ref().is_some_and(|(before, ..)| *before != stream) {
            ends(newest.take(), report);
        }
        if generation == r.get::<_, i64>(5)? {
            newest = Some((stream, end, r.get(6)?, path));
        }
    }
    ends(newest, report);
    let mut statement = tx.prepare(
        "SELECT path, next FROM streams st JOIN sources USING (source_no) WHERE next > 0 AND NOT EXISTS (
           SELECT 1 FROM records r WHERE r.stream_no = st.stream_no AND r.generation = st.generation)",
    )?;
    let mut rows = statement.query([])?;
    while let Some(r) = rows.next()? {
        let path = String::from_utf8_lossy(&r.get::<_, Vec<u8>>(0)?).into_owned();
        report.damaged(path, format!("the cursor stands at {}, there are no records", r.get::<_, i64>(1)?));
    }
    Ok(())
}

/// Checks that unterminated ends can be read.
fn pending(tx: &Read, report: &mut Report) -> Result<()> {
    let mut statement =
        tx.prepare("SELECT path, pending FROM streams JOIN sources USING (source_no) WHERE pending IS NOT NULL")?;
    let mut rows = statement.query([])?;
    while let Some(r) = rows.next()? {
        if let Err(e) = blocks::unsqueeze(&r.get::<_, Vec<u8>>(1)?) {
            report.damaged(String::from_utf8_lossy(&r.get::<_, Vec<u8>>(0)?), e.to_string());
        }
    }
    Ok(())
}

/// Checks that every turn's text can be read, and notes its length for the lineage checks.
fn turns(tx: &Read, lengths: &mut lineage::Lengths, used: &mut HashSet<BlockNo>, report: &mut Report) -> Result<()> {
    let mut statement = tx.prepare(
        "SELECT turn_no, block_no, text_offset, text_length, forgotten IS NOT NULL FROM turns ORDER BY turn_no",
    )?;
    let opener = Opener::default();
    let mut rows = statement.query([])?;
    while let Some(r) = rows.next()? {
        report.turns += 1;
        let turn = crate::scope::TurnId(r.get(0)?);
        let block: BlockNo = r.get(1)?;
        used.insert(block);
        let Ok(raw) = opener.open(tx, block) else { continue };
        let raw_text = blocks::range(&raw, r.get(2)?, r.get(3)?);
        let text = raw_text.and_then(|t| std::str::from_utf8(t).ok());
        match (text, r.get(4)?) {
            (Some(text), true) => {
                lengths.add(turn, "");
                if text.strip_suffix('\n').unwrap_or(text).bytes().any(|b| b != 0) {
                    report.damaged(format!("turn {turn}"), "it was forgotten and something of it is left");
                }
            }
            (Some(text), false) => lengths.add(turn, text),
            (None, _) => report.damaged(format!("turn {turn}"), "its text cannot be read"),
        }
    }
    Ok(())
}

/// Checks that every block has bytes of a record or words of a turn.
fn unused(tx: &Read, used: &HashSet<BlockNo>, report: &mut Report) -> Result<()> {
    let mut statement = tx.prepare("SELECT block_no FROM blocks ORDER BY block_no")?;
    let mut rows = statement.query([])?;
    while let Some(r) = rows.next()? {
        let block: BlockNo = r.get(0)?;
        if !used.contains(&block) {
            report.damaged(format!("block {block}"), "no record and no turn has its bytes");
        }
    }
    Ok(())
}

/// Checks references that foreign keys cannot: a turn and its lane, run and session belong together, and to one agent.
fn references(tx: &Read, report: &mut Report) -> Result<()> {
    let checks = [
        (
            "SELECT count(*) FROM turns t JOIN lanes l USING (lane_no) WHERE l.session_no != t.session_no",
            "turns stand in a lane of another session",
        ),
        (
            "SELECT count(*) FROM turns t JOIN turn_results r USING (run_no) WHERE r.session_no != t.session_no OR r.lane_no != t.lane_no",
            "turns stand in a run of another lane",
        ),
        (
            "SELECT count(*) FROM turn_references f JOIN turns t USING (turn_no) JOIN sessions a ON a.session_no = f.session_no
             JOIN sessions b ON b.session_no = t.session_no WHERE a.agent_no != b.agent_no",
            "sessions refer to turns of another agent",
        ),
        (
            "SELECT count(*) FROM turns t JOIN sessions s USING (session_no) JOIN workspaces w USING (workspace_no)
             WHERE w.agent_no != s.agent_no",
            "turns belong to a workspace of another agent",
        ),
        (
            &format!("SELECT count(*) FROM quarantine JOIN records USING (record_no) WHERE class != {QUARANTINED}"),
            "quarantined stretches are not marked as such in their record",
        ),
        (
            &format!(
                "SELECT count(*) FROM records r WHERE class = {QUARANTINED}
                 AND NOT EXISTS (SELECT 1 FROM quarantine q WHERE q.record_no = r.record_no)"
            ),
            "records were set aside and nothing says why",
        ),
    ];
    for (sql, what) in checks {
        let n = count(tx, sql)?;
        if n > 0 {
            report.damaged("references", format!("{n} {what}"));
        }
    }
    Ok(())
}

/// Checks under each context's own key that the stored context is the one that was given to a program.
fn contexts(tx: &Read, report: &mut Report) -> Result<()> {
    let (unsound, gone) = replay::unsound(tx)?;
    for (id, what) in unsound {
        report.damaged(format!("context {id}"), what);
    }
    if gone > 0 {
        report.damaged("contexts", format!("{gone} of those that were given are gone"));
    }
    Ok(())
}

/// Checks the record digests against the audit rows: each row of an append has the numbers of its records and a hash
/// over their digests, and so has the row of a forget that turned unterminated ends into records.
fn batches(tx: &Read, report: &mut Report) -> Result<()> {
    let mut statement =
        tx.prepare("SELECT audit_no, detail FROM audit WHERE action IN ('transcript.append', 'transcript.forget') OR action GLOB 'hook.*' ORDER BY audit_no")?;
    let mut digests = tx.prepare("SELECT digest FROM records WHERE record_no BETWEEN ?1 AND ?2 ORDER BY record_no")?;
    let mut rows = statement.query([])?;
    let mut covered = 0i64;
    while let Some(r) = rows.next()? {
        let no: i64 = r.get(0)?;
        let detail: serde_json::Value = serde_json::from_str(&r.get::<_, String>(1)?)
            .map_err(|e| Error::damaged(format!("audit row {no} cannot be read")).because(e))?;
        let (Some(first), Some(last), Some(stored)) =
            (detail["first_record"].as_i64(), detail["last_record"].as_i64(), detail["digests"].as_str())
        else {
            continue;
        };
        let mut hasher = blake3::Hasher::new();
        let mut found = digests.query([first, last])?;
        let mut n = 0;
        while let Some(d) = found.next()? {
            hasher.update(&d.get::<_, Vec<u8>>(0)?);
            n += 1;
        }
        if crate::transcript::append::hex(hasher.finalize().as_bytes()) != stored {
            report.damaged(format!("audit row {no}"), format!("records {first} to {last} are not those it recorded"));
        }
        covered += n;
    }
    let all = count(tx, "SELECT count(*) FROM records")? as i64;
    if covered != all {
        report.damaged("audit", format!("{} records are in no audit row", all - covered));
    }
    Ok(())
}

fn count(tx: &Read, sql: &str) -> Result<u64> {
    Ok(tx.query_row(sql, [], |r| r.get::<_, i64>(0))? as u64)
}
