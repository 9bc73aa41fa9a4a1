//! Stores vectors: sets without gaps, in rows of one page.
//!
//! A set's vectors are numbered from 0. Their keys and codes are in `vector_codes`, their bytes in `vector_rows`, each
//! row with as many as fit on a page: a search reads codes at the speed of the page cache, a candidate costs one page,
//! and appending a turn rewrites two. A removed vector is replaced by the last of its set.
//!
//! `vector_groups` lists the blocks that may contain vectors of a session or a thread, so that a search limited to some
//! of them reads no others. A block may still be listed after the last vector of a group was removed.

use std::collections::BTreeSet;

use rusqlite::{Connection, OptionalExtension, params};

use super::code::code_bytes;
use super::{KEY_BYTES, Key, SetKey, Sort};
use crate::error::{Error, Result};
use crate::scope::{AgentNo, WorkspaceNo};

pub(crate) const SCHEMA: &str = "CREATE TABLE vector_sets (
       set_no INTEGER PRIMARY KEY, agent_no INTEGER NOT NULL, sort INTEGER NOT NULL, workspace_no INTEGER NOT NULL,
       label TEXT NOT NULL, vectors INTEGER NOT NULL, UNIQUE (agent_no, sort, workspace_no, label)
     ) STRICT;
     CREATE TABLE vector_codes (
       block INTEGER PRIMARY KEY, first INTEGER NOT NULL, last INTEGER NOT NULL, keys BLOB NOT NULL, codes BLOB NOT NULL
     ) STRICT;
     CREATE INDEX vector_spans ON vector_codes (block, first, last);
     CREATE TABLE vector_groups (group_no INTEGER NOT NULL, block INTEGER NOT NULL, PRIMARY KEY (group_no, block))
       STRICT, WITHOUT ROWID;
     CREATE TABLE vector_rows (block INTEGER PRIMARY KEY, data BLOB NOT NULL) STRICT;";

/// Empties the tables of vectors of every agent.
pub(crate) const EMPTY: &str = "DELETE FROM vector_sets; DELETE FROM vector_codes; DELETE FROM vector_groups;
     DELETE FROM vector_rows;
     DELETE FROM meta WHERE key = 'vector-watermark';";

/// Bytes that a row may use of a page of 8,192 without spilling into another page.
const ROOM: usize = 8060;

/// Packs set and block into one number.
pub(super) fn block_no(set_no: i64, block: usize) -> i64 {
    (set_no << 32) | block as i64
}

/// An existing set.
#[derive(Clone, Debug)]
pub(super) struct Set {
    pub set_no: i64,
    pub vectors: usize,
    pub workspace_no: WorkspaceNo,
    pub label: String,
}

/// Keys and codes of one block of a set.
#[derive(Default)]
struct Block {
    keys: Vec<u8>,
    codes: Vec<u8>,
}

/// The vectors of an index, all of one model.
pub(crate) struct Store<'c> {
    pub(super) conn: &'c Connection,
    pub(super) dimensions: usize,
}

pub(super) fn torn() -> Error {
    Error::damaged("vectors of the search index are torn").hint("⟨reindex⟩ makes it anew; nothing is lost")
}

impl<'c> Store<'c> {
    /// Returns the vectors of an index; `None` if it has had no model yet.
    pub fn of(conn: &'c Connection) -> Result<Option<Store<'c>>> {
        let dimensions: Option<i64> = conn
            .prepare_cached("SELECT CAST(value AS INTEGER) FROM meta WHERE key = 'vector-dimensions'")?
            .query_row([], |r| r.get(0))
            .optional()?;
        Ok(dimensions.filter(|d| *d > 0).map(|d| Store { conn, dimensions: d as usize }))
    }

    /// Returns the number of codes in a row.
    pub(super) fn codes_at_once(&self) -> usize {
        (ROOM / (KEY_BYTES + code_bytes(self.dimensions))).max(1)
    }

    /// Returns the number of vectors in a row.
    pub(super) fn rows_at_once(&self) -> usize {
        (ROOM / self.dimensions).max(1)
    }

    pub(super) fn sets(&self, agent_no: AgentNo, sort: Sort) -> Result<Vec<Set>> {
        let mut statement = self.conn.prepare_cached(
            "SELECT set_no, vectors, workspace_no, label FROM vector_sets WHERE agent_no = ?1 AND sort = ?2 ORDER BY set_no",
        )?;
        let rows = statement.query_map(params![agent_no, sort as i64], |r| {
            Ok(Set {
                set_no: r.get(0)?,
                vectors: r.get::<_, i64>(1)? as usize,
                workspace_no: r.get(2)?,
                label: r.get(3)?,
            })
        })?;
        Ok(rows.collect::<rusqlite::Result<_>>()?)
    }

    /// Appends vectors, encoded by [`super::code::encode`], to a set.
    pub(super) fn append(&self, key: &SetKey, items: &[(Key, Vec<u8>)]) -> Result<()> {
        if items.is_empty() {
            return Ok(());
        }
        let (set_no, before): (i64, i64) = self
            .conn
            .prepare_cached(
                "INSERT INTO vector_sets (agent_no, sort, workspace_no, label, vectors) VALUES (?1, ?2, ?3, ?4, 0)
                 ON CONFLICT DO UPDATE SET vectors = vectors RETURNING set_no, vectors",
            )?
            .query_row(params![key.agent_no, key.sort as i64, key.workspace_no, key.label], |r| {
                Ok((r.get(0)?, r.get(1)?))
            })?;
        let before = before as usize;
        let mut done = 0;
        while done < items.len() {
            let (block, within) = ((before + done) / self.codes_at_once(), (before + done) % self.codes_at_once());
            let more = &items[done..items.len().min(done + self.codes_at_once() - within)];
            let mut put = if within > 0 { self.block(set_no, block, within)? } else { Block::default() };
            for (key, vector) in more {
                put.keys.extend(key.pack());
                put.codes.extend(vector.get(self.dimensions..).ok_or_else(torn)?);
            }
            self.put_block(set_no, block, &put)?;
            done += more.len();
        }
        let mut done = 0;
        while done < items.len() {
            let (block, within) = ((before + done) / self.rows_at_once(), (before + done) % self.rows_at_once());
            let more = &items[done..items.len().min(done + self.rows_at_once() - within)];
            let mut put = if within > 0 { self.rows(set_no, block, within)? } else { Vec::new() };
            for (_, vector) in more {
                put.extend(&vector[..self.dimensions]);
            }
            self.put_rows(set_no, block, &put)?;
            done += more.len();
        }
        self.set_vectors(set_no, before + items.len())
    }

    /// Removes the vectors of these documents. Returns how many were removed.
    pub fn remove(&self, agent_no: AgentNo, sort: Sort, numbers: &BTreeSet<i64>) -> Result<usize> {
        let mut gone = 0;
        for set in self.sets(agent_no, sort)? {
            let slots = self.slots(&set, numbers)?;
            let mut left = set.vectors;
            // Vectors are removed from the end, so that the vector moved into a gap is never one to be removed.
            for (slot, _) in slots.iter().rev() {
                left -= 1;
                self.move_into(set.set_no, *slot, left)?;
            }
            if !slots.is_empty() {
                self.set_vectors(set.set_no, left)?;
            }
            gone += slots.len();
        }
        Ok(gone)
    }

    /// Returns the positions of these documents' vectors in a set, ascending.
    pub(super) fn slots(&self, set: &Set, numbers: &BTreeSet<i64>) -> Result<Vec<(usize, Key)>> {
        let (Some(least), Some(most)) = (numbers.first(), numbers.last()) else { return Ok(Vec::new()) };
        let mut spans = self.conn.prepare_cached(
            "SELECT block, first, last FROM vector_codes INDEXED BY vector_spans
             WHERE block BETWEEN ?1 AND ?2 AND last >= ?3 AND first <= ?4 ORDER BY block",
        )?;
        let mut keys = self.conn.prepare_cached("SELECT keys FROM vector_codes WHERE block = ?1")?;
        let (from, to) = (block_no(set.set_no, 0), block_no(set.set_no + 1, 0) - 1);
        let mut rows = spans.query([from, to, *least, *most])?;
        let mut out = Vec::new();
        while let Some(r) = rows.next()? {
            let (block, first, last): (i64, i64, i64) = (r.get(0)?, r.get(1)?, r.get(2)?);
            if first > last || numbers.range(first..=last).next().is_none() {
                continue;
            }
            let before = (block - from) as usize * self.codes_at_once();
            keys.query_row([block], |r| {
                let bytes = r.get_ref(0)?.as_blob()?;
                let found = bytes.chunks_exact(KEY_BYTES).map(Key::unpack).enumerate();
                out.extend(found.filter(|(_, k)| numbers.contains(&k.number)).map(|(i, k)| (before + i, k)));
                Ok(())
            })?;
        }
        if out.last().is_some_and(|(slot, _)| *slot >= set.vectors) {
            return Err(torn());
        }
        Ok(out)
    }

    /// Returns the positions and keys of all vectors of a set.
    pub(super) fn all_slots(&self, set: &Set) -> Result<Vec<(usize, Key)>> {
        let (per, mut out) = (self.codes_at_once(), Vec::new());
        for block in 0..set.vectors.div_ceil(per) {
            let found = self.block(set.set_no, block, per.min(set.vectors - block * per))?;
            let keys = found.keys.chunks_exact(KEY_BYTES).map(Key::unpack).enumerate();
            out.extend(keys.map(|(i, key)| (block * per + i, key)));
        }
        Ok(out)
    }

    /// Returns the vector at a position, as it was encoded.
    pub(super) fn vector(&self, set: &Set, slot: usize) -> Result<Vec<u8>> {
        let per = self.rows_at_once();
        let block = slot / per;
        let rows = self.rows(set.set_no, block, per.min(set.vectors - block * per))?;
        let mut vector = rows[slot % per * self.dimensions..(slot % per + 1) * self.dimensions].to_vec();
        let (per, bytes) = (self.codes_at_once(), code_bytes(self.dimensions));
        let block = slot / per;
        let codes = self.block(set.set_no, block, per.min(set.vectors - block * per))?.codes;
        vector.extend(&codes[slot % per * bytes..(slot % per + 1) * bytes]);
        Ok(vector)
    }

    /// Moves the last vector of a set to another position and shortens the set by one.
    fn move_into(&self, set_no: i64, slot: usize, last: usize) -> Result<()> {
        let per = self.codes_at_once();
        let mut tail = self.block(set_no, last / per, last % per + 1)?;
        let key = tail.keys.split_off(last % per * KEY_BYTES);
        let code = tail.codes.split_off(last % per * code_bytes(self.dimensions));
        self.put_block(set_no, last / per, &tail)?;
        if slot != last {
            let many = if slot / per == last / per { last % per } else { per };
            let mut put = self.block(set_no, slot / per, many)?;
            overwrite(&mut put.keys, slot % per, &key);
            overwrite(&mut put.codes, slot % per, &code);
            self.put_block(set_no, slot / per, &put)?;
        }
        let per = self.rows_at_once();
        let mut tail = self.rows(set_no, last / per, last % per + 1)?;
        let row = tail.split_off(last % per * self.dimensions);
        self.put_rows(set_no, last / per, &tail)?;
        if slot != last {
            let many = if slot / per == last / per { last % per } else { per };
            let mut put = self.rows(set_no, slot / per, many)?;
            overwrite(&mut put, slot % per, &row);
            self.put_rows(set_no, slot / per, &put)?;
        }
        Ok(())
    }

    /// Reads a block, which must have this many codes.
    fn block(&self, set_no: i64, block: usize, many: usize) -> Result<Block> {
        let found = self
            .conn
            .prepare_cached("SELECT keys, codes FROM vector_codes WHERE block = ?1")?
            .query_row([block_no(set_no, block)], |r| Ok(Block { keys: r.get(0)?, codes: r.get(1)? }))
            .optional()?
            .ok_or_else(torn)?;
        let whole = found.keys.len() == many * KEY_BYTES && found.codes.len() == many * code_bytes(self.dimensions);
        if whole { Ok(found) } else { Err(torn()) }
    }

    fn put_block(&self, set_no: i64, block: usize, put: &Block) -> Result<()> {
        let no = block_no(set_no, block);
        if put.keys.is_empty() {
            self.conn.prepare_cached("DELETE FROM vector_codes WHERE block = ?1")?.execute([no])?;
            return Ok(());
        }
        let (first, last) = span(&put.keys);
        self.conn
            .prepare_cached(
                "INSERT INTO vector_codes (block, first, last, keys, codes) VALUES (?1, ?2, ?3, ?4, ?5)
                 ON CONFLICT DO UPDATE SET first = ?2, last = ?3, keys = ?4, codes = ?5",
            )?
            .execute(params![no, first, last, put.keys, put.codes])?;
        let mut groups: Vec<u32> = put.keys.chunks_exact(KEY_BYTES).map(|key| Key::unpack(key).group).collect();
        groups.sort_unstable();
        groups.dedup();
        let mut add = self.conn.prepare_cached("INSERT OR IGNORE INTO vector_groups VALUES (?1, ?2)")?;
        for group in groups {
            add.execute([i64::from(group), no])?;
        }
        Ok(())
    }

    /// Returns the number of blocks that are not listed for every group they have vectors of.
    pub(super) fn unlisted_blocks(&self) -> Result<usize> {
        let mut blocks = self.conn.prepare_cached("SELECT block, keys FROM vector_codes")?;
        let mut lists = self.conn.prepare_cached("SELECT 1 FROM vector_groups WHERE group_no = ?1 AND block = ?2")?;
        let (mut rows, mut unlisted) = (blocks.query([])?, 0);
        while let Some(r) = rows.next()? {
            let (block, keys): (i64, Vec<u8>) = (r.get(0)?, r.get(1)?);
            let mut groups: Vec<u32> = keys.chunks_exact(KEY_BYTES).map(|key| Key::unpack(key).group).collect();
            groups.sort_unstable();
            groups.dedup();
            for group in groups {
                if !lists.exists([i64::from(group), block])? {
                    unlisted += 1;
                    break;
                }
            }
        }
        Ok(unlisted)
    }

    /// Returns the blocks of sets that may contain vectors of these groups, ascending.
    pub(super) fn blocks_of(&self, groups: &[i64], sets: &[&Set]) -> Result<Vec<i64>> {
        let mut statement = self.conn.prepare_cached("SELECT block FROM vector_groups WHERE group_no = ?1")?;
        let mut out = Vec::new();
        for group in groups {
            let mut rows = statement.query([group])?;
            while let Some(r) = rows.next()? {
                let block: i64 = r.get(0)?;
                if sets.iter().any(|set| set.set_no == block >> 32) {
                    out.push(block);
                }
            }
        }
        out.sort_unstable();
        out.dedup();
        Ok(out)
    }

    fn rows(&self, set_no: i64, block: usize, many: usize) -> Result<Vec<u8>> {
        let data: Vec<u8> = self
            .conn
            .prepare_cached("SELECT data FROM vector_rows WHERE block = ?1")?
            .query_row([block_no(set_no, block)], |r| r.get(0))
            .optional()?
            .ok_or_else(torn)?;
        if data.len() == many * self.dimensions { Ok(data) } else { Err(torn()) }
    }

    fn put_rows(&self, set_no: i64, block: usize, data: &[u8]) -> Result<()> {
        let no = block_no(set_no, block);
        if data.is_empty() {
            self.conn.prepare_cached("DELETE FROM vector_rows WHERE block = ?1")?.execute([no])?;
            return Ok(());
        }
        self.conn
            .prepare_cached(
                "INSERT INTO vector_rows (block, data) VALUES (?1, ?2) ON CONFLICT DO UPDATE SET data = ?2",
            )?
            .execute(params![no, data])?;
        Ok(())
    }

    fn set_vectors(&self, set_no: i64, vectors: usize) -> Result<()> {
        self.conn
            .prepare_cached("UPDATE vector_sets SET vectors = ?2 WHERE set_no = ?1")?
            .execute([set_no, vectors as i64])?;
        Ok(())
    }

    /// Returns the number of vectors.
    pub fn count(&self) -> Result<u64> {
        let sum = "SELECT coalesce(sum(vectors), 0) FROM vector_sets";
        Ok(self.conn.query_row(sum, [], |r| r.get::<_, i64>(0))? as u64)
    }

    /// Reports internal inconsistencies: blocks that are damaged, missing or belong to no set, and vectors without
    /// words.
    pub fn problems(&self) -> Result<Vec<String>> {
        let mut problems = Vec::new();
        let (mut codes, mut rows) = (0, 0);
        let mut statement =
            self.conn.prepare("SELECT set_no, vectors, agent_no, sort FROM vector_sets ORDER BY set_no")?;
        let sets: Vec<(i64, usize, AgentNo, i64)> = statement
            .query_map([], |r| Ok((r.get(0)?, r.get::<_, i64>(1)? as usize, r.get(2)?, r.get(3)?)))?
            .collect::<rusqlite::Result<_>>()?;
        for (set_no, vectors, agent_no, sort) in sets {
            codes += vectors.div_ceil(self.codes_at_once());
            rows += vectors.div_ceil(self.rows_at_once());
            match self.look_through(set_no, vectors, agent_no, sort) {
                Ok(0) => {}
                Ok(strays) => problems.push(format!("{strays} vectors belong to nothing that is indexed")),
                Err(e) => problems.push(e.to_string()),
            }
        }
        for (table, expected) in [("vector_codes", codes), ("vector_rows", rows)] {
            let found: i64 = self.conn.query_row(&format!("SELECT count(*) FROM {table}"), [], |r| r.get(0))?;
            if found != expected as i64 {
                problems.push(format!("{table} of the index has {found} blocks and should have {expected}"));
            }
        }
        Ok(problems)
    }

    /// Reads a whole set. Returns how many of its vectors have no words.
    fn look_through(&self, set_no: i64, vectors: usize, agent_no: AgentNo, sort: i64) -> Result<usize> {
        let mut stands = self.conn.prepare_cached(match sort {
            0 => "SELECT 1 FROM fts_docsize WHERE id = ?1",
            1 => "SELECT 1 FROM files WHERE file = ?1 AND embedded = 1",
            _ => "SELECT 1 FROM node_rows WHERE node = ?1 AND embedded = 1",
        })?;
        let mut spans = self.conn.prepare_cached("SELECT first, last FROM vector_codes WHERE block = ?1")?;
        let (per, mut strays, mut known) = (self.codes_at_once(), 0, None);
        for block in 0..vectors.div_ceil(per) {
            let found = self.block(set_no, block, per.min(vectors - block * per))?;
            let stored: (i64, i64) = spans.query_row([block_no(set_no, block)], |r| Ok((r.get(0)?, r.get(1)?)))?;
            if stored != span(&found.keys) {
                return Err(torn());
            }
            for key in found.keys.chunks_exact(KEY_BYTES).map(Key::unpack) {
                // Parts of a document are adjacent.
                if known.is_none_or(|(number, _)| number != key.number) {
                    let row = crate::index::RowId { agent_no, turn_no: key.number, part: 0 }.pack();
                    known = Some((key.number, stands.exists([row])?));
                }
                strays += usize::from(known.is_some_and(|(_, stands)| !stands));
            }
        }
        let per = self.rows_at_once();
        for block in 0..vectors.div_ceil(per) {
            self.rows(set_no, block, per.min(vectors - block * per))?;
        }
        Ok(strays)
    }
}

fn span(keys: &[u8]) -> (i64, i64) {
    keys.chunks_exact(KEY_BYTES)
        .map(|k| Key::unpack(k).number)
        .fold((i64::MAX, 0), |(first, last), number| (first.min(number), last.max(number)))
}

fn overwrite(bytes: &mut [u8], at: usize, with: &[u8]) {
    bytes[at * with.len()..(at + 1) * with.len()].copy_from_slice(with);
}
