//! Compressed blocks. Several source records share a block, each followed by the text of its turns: the text mostly
//! repeats the record, so inside one compression window it costs almost no space, and a reader that wants one turn
//! opens one block.
//!
//! This module knows bytes and lengths; it does not know what they mean.

use std::cell::RefCell;
use std::rc::Rc;

use crate::error::{Error, Result};
use crate::ledger::{Read, Write};
use crate::scope::BlockNo;

/// The size in bytes at which a block is closed. Measured on long real sessions against 256 KiB: 64 KiB takes 27 % more
/// space, 128 KiB 5 %, 1 MiB 18 % less; but reading one turn opens a whole block, and a prompt needs a dozen turns.
const TARGET_RAW: usize = 128 * 1024;

/// zstd level. 6 would save another 9 % of the blocks and cost a quarter of the import speed (measured).
const LEVEL: i32 = 3;

/// The largest record with its texts, in bytes. A block holds little more than one such record.
pub const LARGEST_RECORD: usize = 128 << 20;

/// A block longer than this, in bytes, is opened only if its compressed frame claims the same length. No such block has
/// been made since November 2026; before that, rows of other programs' databases were kept in one piece however long
/// they were.
const MAX_RAW: usize = 256 << 20;

/// The position of bytes: which block of a [`Packer`], and where in it.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Spot {
    pub block: usize,
    pub offset: usize,
}

/// A closed block, ready to be stored.
pub struct Packed {
    pub raw_length: usize,
    pub data: Vec<u8>,
}

impl Packed {
    /// Decompresses the block, before it is stored.
    pub fn open(&self) -> Result<Vec<u8>> {
        decompress(&self.data, self.raw_length).map_err(zstd_failed)
    }

    /// Compresses existing bytes into a block.
    pub fn of(raw: &[u8]) -> Result<Packed> {
        Ok(Packed { raw_length: raw.len(), data: compressor()?.compress(raw).map_err(zstd_failed)? })
    }
}

/// Overwrites part of a block with zeros, so that all other offsets stay valid. A newline at the end of that part is
/// kept: it reveals nothing, and with it the lines of the source file can still be compared later (R14.2).
pub fn blank(raw: &mut [u8], offset: i64, length: i64) -> Result<()> {
    let outside = || Error::damaged("a stretch to be blanked lies outside its block");
    let start = usize::try_from(offset).map_err(|_| outside())?;
    let end = usize::try_from(length).ok().and_then(|l| start.checked_add(l)).ok_or_else(outside)?;
    let stretch = raw.get_mut(start..end).ok_or_else(outside)?;
    let line = usize::from(stretch.last() == Some(&b'\n'));
    let words = stretch.len() - line;
    stretch[..words].fill(0);
    Ok(())
}

/// Fills blocks; works outside any transaction.
pub struct Packer {
    compressor: zstd::bulk::Compressor<'static>,
    raw: Vec<u8>,
    done: Vec<Packed>,
}

impl Packer {
    pub fn new() -> Result<Packer> {
        let compressor = compressor()?;
        Ok(Packer { compressor, raw: Vec::with_capacity(TARGET_RAW * 2), done: Vec::new() })
    }

    /// Appends bytes to the current block.
    pub fn push(&mut self, bytes: &[u8]) -> Spot {
        let spot = Spot { block: self.done.len(), offset: self.raw.len() };
        self.raw.extend_from_slice(bytes);
        spot
    }

    /// Closes the block if it is full. Called between records, so that a record and its texts are always in one block.
    pub fn settle(&mut self) -> Result<()> {
        if self.raw.len() >= TARGET_RAW { self.close() } else { Ok(()) }
    }

    /// Closes the last block and returns all of them; the packer is empty again.
    pub fn finish(&mut self) -> Result<Vec<Packed>> {
        if !self.raw.is_empty() {
            self.close()?;
        }
        Ok(std::mem::take(&mut self.done))
    }

    fn close(&mut self) -> Result<()> {
        let data = self.compressor.compress(&self.raw).map_err(zstd_failed)?;
        self.done.push(Packed { raw_length: self.raw.len(), data });
        // The memory of a single huge record must not be held for the rest of an import.
        self.raw.clear();
        if self.raw.capacity() > TARGET_RAW * 8 {
            self.raw = Vec::with_capacity(TARGET_RAW * 2);
        }
        Ok(())
    }
}

/// Stores a block and returns its number.
pub fn insert(tx: &Write, block: &Packed) -> Result<BlockNo> {
    tx.prepare_cached("INSERT INTO blocks (raw_length, data) VALUES (?1, ?2)")?
        .execute(rusqlite::params![block.raw_length as i64, block.data])?;
    Ok(BlockNo(tx.last_insert_rowid()))
}

/// Writes a block again that this transaction has stored, before anybody can read it. A block of an earlier transaction
/// is changed by a forget only.
pub fn rewrite(tx: &Write, no: BlockNo, block: &Packed) -> Result<()> {
    tx.prepare_cached("UPDATE blocks SET data = ?2 WHERE block_no = ?1")?.execute(rusqlite::params![no, block.data])?;
    Ok(())
}

/// Opens blocks and caches the last few: neighbouring turns of a session share a block.
pub struct Opener {
    recent: RefCell<Vec<(BlockNo, Rc<Vec<u8>>)>>,
    most: usize,
}

/// Number of opened blocks that are cached: enough for neighbouring turns in either reading direction. It is small
/// because each cached block is memory that has to be touched first.
const REMEMBERED: usize = 4;

impl Default for Opener {
    fn default() -> Opener {
        Opener { recent: RefCell::new(Vec::new()), most: REMEMBERED }
    }
}

impl Opener {
    /// Makes an opener that caches a single block, for turns far apart.
    pub fn of_one() -> Opener {
        Opener { most: 1, ..Opener::default() }
    }

    /// Returns the bytes of a block. `Damaged` if it is missing or does not decompress to the recorded length.
    pub fn open(&self, tx: &Read, block_no: BlockNo) -> Result<Rc<Vec<u8>>> {
        let mut recent = self.recent.borrow_mut();
        if let Some(at) = recent.iter().position(|(no, _)| *no == block_no) {
            let hit = recent.remove(at);
            let raw = Rc::clone(&hit.1);
            recent.push(hit);
            return Ok(raw);
        }
        // The evicted block's memory is used again for the new one: fresh memory costs as much as decompressing.
        let oldest = (recent.len() >= self.most).then(|| recent.remove(0));
        let unused = oldest.and_then(|(_, raw)| Rc::try_unwrap(raw).ok()).filter(|raw| raw.capacity() <= SMALL);
        let mut raw = unused.unwrap_or_default();
        read(tx, block_no, &mut raw)?;
        let raw = Rc::new(raw);
        recent.push((block_no, Rc::clone(&raw)));
        Ok(raw)
    }

    /// Returns a slice of a block; `Damaged` if it is out of bounds.
    pub fn slice(&self, tx: &Read, block_no: BlockNo, offset: i64, length: i64) -> Result<Vec<u8>> {
        let raw = self.open(tx, block_no)?;
        range(&raw, offset, length)
            .map(<[u8]>::to_vec)
            .ok_or_else(|| Error::damaged(format!("block {block_no} is shorter than what it should hold")))
    }
}

/// `raw[offset .. offset + length]`, or `None` where that is out of bounds.
pub fn range(raw: &[u8], offset: i64, length: i64) -> Option<&[u8]> {
    let start = usize::try_from(offset).ok()?;
    raw.get(start..start.checked_add(usize::try_from(length).ok()?)?)
}

/// Reads a block into `raw`, whose contents are replaced.
fn read(tx: &Read, block_no: BlockNo, raw: &mut Vec<u8>) -> Result<()> {
    let mut statement = tx.prepare_cached("SELECT raw_length, data FROM blocks WHERE block_no = ?1")?;
    let mut rows = statement.query([block_no])?;
    let Some(row) = rows.next()? else {
        return Err(Error::damaged(format!("block {block_no} is missing")));
    };
    let data = row.get_ref(1)?.as_blob().map_err(rusqlite::Error::from)?;
    let length = usize::try_from(row.get::<_, i64>(0)?)
        .ok()
        .filter(|n| *n <= MAX_RAW || claimed_length(data) == Some(*n))
        .ok_or_else(|| Error::damaged(format!("block {block_no} has an impossible length")))?;
    raw.clear();
    raw.reserve(length);
    let written = DECOMPRESSOR
        .with_borrow_mut(|kept| decompressor(kept)?.decompress_to_buffer(data, raw))
        .map_err(|e| Error::damaged(format!("block {block_no} does not decompress")).because(e))?;
    if written != length || raw.len() != length {
        return Err(Error::damaged(format!("block {block_no} decompresses to another length")));
    }
    Ok(())
}

thread_local! {
    // Creating a context takes longer than most of the work done with it here, on a node's distillate or a page.
    static COMPRESSOR: RefCell<Option<zstd::bulk::Compressor<'static>>> = const { RefCell::new(None) };
    static DECOMPRESSOR: RefCell<Option<zstd::bulk::Decompressor<'static>>> = const { RefCell::new(None) };
}

/// Longer data is decompressed piece by piece: the length a frame claims is not trusted beyond this.
const SMALL: usize = 1 << 20;

/// Compresses a small piece on its own (an unterminated tail, a page, a node's text).
pub fn squeeze(bytes: &[u8]) -> Result<Vec<u8>> {
    COMPRESSOR.with_borrow_mut(|kept| {
        let compressor = match kept {
            Some(compressor) => compressor,
            None => kept.insert(compressor()?),
        };
        compressor.compress(bytes).map_err(zstd_failed)
    })
}

/// Returns a compressor that adds a checksum to each frame: a turn's text has no digest of its own, and a flipped bit
/// must not be read as text.
fn compressor() -> Result<zstd::bulk::Compressor<'static>> {
    let mut compressor = zstd::bulk::Compressor::new(LEVEL).map_err(zstd_failed)?;
    compressor.include_checksum(true).map_err(zstd_failed)?;
    Ok(compressor)
}

/// Decompresses one frame of at most `most` bytes.
fn decompress(data: &[u8], most: usize) -> std::io::Result<Vec<u8>> {
    DECOMPRESSOR.with_borrow_mut(|kept| decompressor(kept)?.decompress(data, most))
}

fn decompressor<'k>(
    kept: &'k mut Option<zstd::bulk::Decompressor<'static>>,
) -> std::io::Result<&'k mut zstd::bulk::Decompressor<'static>> {
    match kept {
        Some(decompressor) => Ok(decompressor),
        None => Ok(kept.insert(zstd::bulk::Decompressor::new()?)),
    }
}

/// Decompresses the output of [`squeeze`].
pub fn unsqueeze(data: &[u8]) -> Result<Vec<u8>> {
    use std::io::Read as _;
    let failed = |e| Error::damaged("pending bytes do not decompress").because(e);
    // The frame declares its length; one that does not, or declares a large one, is streamed, so that no memory is
    // reserved for an untrusted length.
    if let Some(length) = claimed_length(data).filter(|n| *n <= SMALL) {
        let raw = decompress(data, length).map_err(failed)?;
        return if raw.len() == length { Ok(raw) } else { Err(Error::damaged("pending bytes are cut off")) };
    }
    let mut raw = Vec::new();
    zstd::stream::Decoder::new(data)
        .and_then(|decoder| decoder.take(MAX_RAW as u64).read_to_end(&mut raw))
        .map_err(failed)?;
    Ok(raw)
}

/// Returns the length a frame declares for its contents.
fn claimed_length(data: &[u8]) -> Option<usize> {
    zstd::zstd_safe::get_frame_content_size(data).ok().flatten().and_then(|n| usize::try_from(n).ok())
}

fn zstd_failed(cause: std::io::Error) -> Error {
    Error::new(crate::error::ErrorKind::Machine, "compression failed").because(cause)
}
