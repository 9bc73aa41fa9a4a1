//! Checks the words of rows against the texts they were made from (R4.6). SQLite's own check of a full-text table
//! without content only sees whether its structure is sound: a word that became another one is sound, too.
//!
//! Each text is cut into phrases, and every phrase must be found in its row. A copy of the row, made now in memory,
//! shows which phrases the full-text engine finds at all: one of signs only has no words.

use std::cell::Cell;

use rusqlite::{Connection, OptionalExtension, params};

use super::words::words;
use super::{Index, RowId, TOKENIZER, rows, word_parts};
use crate::document::Document;
use crate::error::Result;
use crate::home;
use crate::ledger::Ledger;
use crate::ledger::blocks::Opener;
use crate::scope::{NodeId, TurnId};
use crate::text::indexed::fold;
use crate::tree::file_table::Entry;
use crate::tree::{AssistantHome, LARGEST_FILE};

/// Number of rows of a sort that are checked if not all are; they are spread evenly.
const SAMPLE: usize = 256;

/// Turns read from the ledger at once.
const AT_ONCE: i64 = 400;

/// Words in a phrase.
const PHRASE: usize = 16;

/// Phrases of a row that are looked for if not all rows are checked.
const MOST_PHRASES: usize = 64;

/// Rows after which the copies are dropped.
const COPIES: i64 = 256;

/// Rows made anew in memory, to compare those of an index with.
pub(crate) struct Copies {
    conn: Connection,
    row: Cell<i64>,
    most: usize,
}

impl Copies {
    /// `all`: every phrase of a row is compared.
    pub fn new(all: bool) -> Result<Copies> {
        let conn = Connection::open_in_memory()?;
        conn.execute_batch(&format!(
            "CREATE VIRTUAL TABLE copies USING fts5(text, content='', contentless_delete=1, tokenize='{TOKENIZER}')"
        ))?;
        Ok(Copies { conn, row: Cell::new(0), most: if all { usize::MAX } else { MOST_PHRASES } })
    }

    /// Whether a row has the words of a text, in their order.
    fn has(&self, index: &Index, table: &str, row: i64, text: &str) -> Result<bool> {
        if self.row.get() % COPIES == 0 {
            self.conn.execute("INSERT INTO copies (copies) VALUES ('delete-all')", [])?;
        }
        self.row.set(self.row.get() + 1);
        let copy = self.row.get();
        self.conn.prepare_cached("INSERT INTO copies (rowid, text) VALUES (?1, ?2)")?.execute(params![copy, text])?;
        let mut ours = self.conn.prepare_cached("SELECT 1 FROM copies WHERE copies MATCH ?1 AND rowid = ?2")?;
        let sql = format!("SELECT 1 FROM {table} WHERE {table} MATCH ?1 AND rowid = ?2");
        let mut theirs = index.conn.prepare_cached(&sql)?;
        let words: Vec<&str> = text.split_whitespace().collect();
        for words in words.chunks(PHRASE).take(self.most) {
            // An expression ends at a zero byte.
            let phrase = format!("text : \"{}\"", words.join(" ").replace('\0', " ").replace('"', "\"\""));
            if ours.exists(params![phrase, copy])? && !theirs.exists(params![phrase, row])? {
                return Ok(false);
            }
        }
        Ok(true)
    }
}

impl Index {
    /// Reports rows of turns and nodes that do not have the words of their texts. `all`: checks every row, whatever it
    /// costs; otherwise a sample.
    pub fn words_unlike_texts(&self, ledger: &Ledger, all: bool) -> Result<Vec<String>> {
        let copies = Copies::new(all)?;
        let strangers = if all { self.strangers()? } else { Vec::new() };
        Ok([self.turns_unlike(ledger, &copies, all)?, self.nodes_unlike(ledger, &copies, all)?, strangers].concat())
    }

    /// Reports parts of words that are stored although their word is in no turn.
    fn strangers(&self) -> Result<Vec<String>> {
        let strangers = self.words_of_no_turn()?;
        let what = |(_, part, _): &(_, String, _)| {
            format!("{} stored parts of words are of no turn; the first is {part}", strangers.len())
        };
        Ok(strangers.first().map(what).into_iter().collect())
    }

    fn turns_unlike(&self, ledger: &Ledger, copies: &Copies, all: bool) -> Result<Vec<String>> {
        let last = self.watermark()?.0;
        let step = if all { 1 } else { (last as usize).div_ceil(SAMPLE).max(1) as i64 };
        let (mut unlike, mut looked, mut from) = (Vec::new(), 0u64, 0);
        let mut parts_seen = word_parts::Stored::default();
        while from < last {
            let (to, limit) = if step == 1 { (last, AT_ONCE) } else { (from + 1, 1) };
            let (end, turns) = ledger.read(|tx| {
                rows::read(tx, &Opener::default(), (TurnId(from), TurnId(to), limit), &mut |doc| {
                    looked += 1;
                    if all && word_parts::lacks(&self.conn, doc, &mut parts_seen)? {
                        unlike.push(doc.turn_no);
                        return Ok(());
                    }
                    for (part, text) in (0i64..).zip(rows::parts(doc.text)) {
                        let row = RowId { agent_no: doc.agent_no, turn_no: doc.turn_no.0, part }.pack();
                        if !copies.has(self, "fts", row, &fold(text))? || !self.has_scope(doc, row)? {
                            unlike.push(doc.turn_no);
                            break;
                        }
                    }
                    Ok(())
                })
            })?;
            from = match (step, turns) {
                (1, 0) => last,
                (1, _) => end.0,
                _ => from + step,
            };
        }
        Ok(said("turns", looked, unlike.iter().map(ToString::to_string).collect()))
    }

    /// Whether a row has all tokens that limit a search to its turn's session, role and so on.
    fn has_scope(&self, doc: &rows::Doc, row: i64) -> Result<bool> {
        let tokens: Vec<String> = rows::scope_of(doc).iter().map(|token| format!("scope : {token}")).collect();
        let mut has = self.conn.prepare_cached("SELECT 1 FROM fts WHERE fts MATCH ?1 AND rowid = ?2")?;
        Ok(has.exists(params![tokens.join(" AND "), row])?)
    }

    fn nodes_unlike(&self, ledger: &Ledger, copies: &Copies, all: bool) -> Result<Vec<String>> {
        let mut statement = self.conn.prepare("SELECT node FROM node_rows ORDER BY node")?;
        let nodes: Vec<i64> = statement.query_map([], |r| r.get(0))?.collect::<rusqlite::Result<_>>()?;
        let step = if all { 1 } else { nodes.len().div_ceil(SAMPLE).max(1) };
        let (mut unlike, mut looked) = (Vec::new(), 0u64);
        for row in nodes.into_iter().step_by(step) {
            let no = NodeId(RowId::unpack(row).turn_no);
            // A model's summary is indexed some time after it was stored.
            let told: Option<(String, Option<String>)> = ledger.read(|tx| {
                let sql =
                    "SELECT n.summary, m.summary FROM nodes n LEFT JOIN model_summaries m ON m.node_no = n.node_no
                           WHERE n.node_no = ?1 AND length(n.key) > 0";
                Ok(tx.prepare_cached(sql)?.query_row([no], |r| Ok((r.get(0)?, r.get(1)?))).optional()?)
            })?;
            let Some((summary, by_model)) = told else { continue };
            looked += 1;
            let mut like = copies.has(self, "nodes_fts", row, &fold(&summary))?;
            if let (false, Some(summary)) = (like, &by_model) {
                like = copies.has(self, "nodes_fts", row, &fold(summary))?;
            }
            if !like {
                unlike.push(no.to_string());
            }
        }
        Ok(said("nodes", looked, unlike))
    }

    /// Whether the rows of a file have its words. Also true for a file that is not as the index has read it.
    pub(crate) fn has_words_of(&self, at: &AssistantHome, entry: &Entry, copies: &Copies) -> Result<bool> {
        let Some((bytes, _)) = at.files.read_with_stamp(&entry.path, LARGEST_FILE).ok().flatten() else {
            return Ok(true);
        };
        if home::digest(&bytes) != entry.digest {
            return Ok(true);
        }
        for (part, text) in (0i64..).zip(words(entry, &Document::parse(bytes)).parts) {
            let row = RowId { agent_no: at.agent_no, turn_no: entry.file_no.0, part }.pack();
            if !copies.has(self, "files_fts", row, &text)? {
                return Ok(false);
            }
        }
        Ok(true)
    }
}

fn said(sort: &str, looked: u64, unlike: Vec<String>) -> Vec<String> {
    let what = |first| {
        format!(
            "the words of {} of {looked} {sort} looked at are not those of their text; the first is {first}",
            unlike.len()
        )
    };
    unlike.first().map(what).into_iter().collect()
}
