//! The embedding table built into the binary (R10.8) and used in place: opening it costs nothing, and a text reads only
//! the rows of its own words.
//!
//! The file format, little-endian, written by `tools/distill`:
//!
//! ```text
//! "HEIRSTAT", then u32: format 1, dimensions D, rows N, buckets B, bytes of pieces T, longest piece
//! B × u16        where a bucket's pieces are (perfect hash, below)
//! N × u32        where row n's piece ends among the pieces
//! T bytes        the pieces, UTF-8, continuations with their "##"
//! N × (u16 + D/2 bytes)   scale (14 bits) and 4-bit values; byte k has dimension k in its low half, k + D/2 in its high
//! ```
//!
//! A value is `scale × (nibble - 8)`. A text's vector is the sum of its pieces' rows, scaled to length 1. Sums are of
//! integers, so the result is the same bit for bit whatever the order, the machine and the vector unit.
//!
//! A piece is looked up without building a map: its hash selects a bucket, and the bucket's number is either the seed of
//! a second hash or (top bit) the row itself; the text of the row's piece is compared.

use heirloom_engine::error::Result;
use heirloom_engine::index::Embedder;

use crate::wordpiece::{Pieces, words};
use crate::{beginning, normalise};

const DIMENSIONS: usize = 256;
const ROW: usize = 2 + DIMENSIONS / 2;
const HEADER: usize = 32;

/// Bytes of a text that are read, enough for the pieces of about 4,000 words; the rest is ignored. With more, the sums
/// could exceed 32 bits (16,384 pieces × scale 16,383 × value 15), and a mean of so many words says nothing in any
/// case.
const MOST_BYTES: usize = 16 * 1024;

/// The static table `static-minilm-256-v1`: a vector for each of 27,000 word pieces, fitted so that their sum
/// approximates the vector a sentence model gives the whole text. Its model card is stored beside the table.
///
/// Opening it costs nothing, allocates nothing and never fails. The first 16 KiB of a text are read; a word whose
/// pieces are not in the table (in another script, for example) is ignored.
#[derive(Clone, Copy)]
pub struct StaticTable {
    buckets: &'static [u8],
    ends: &'static [u8],
    pieces: &'static [u8],
    rows: &'static [u8],
    longest: usize,
}

/// The table's file. A static: a constant could be duplicated in the binary for every use.
static FILE: &[u8] = include_bytes!("../table/static-minilm-256-v1.bin");

/// The table, parsed when the binary is built.
static BUILT_IN: StaticTable = StaticTable::read(FILE);

impl StaticTable {
    /// Returns the table in the binary. An invalid file would have failed the build.
    pub const fn built_in() -> StaticTable {
        BUILT_IN
    }

    const fn read(file: &'static [u8]) -> StaticTable {
        assert!(file.len() > HEADER, "the table has a header");
        let (header, rest) = file.split_at(HEADER);
        assert!(u64_at(header, 0) == u64::from_le_bytes(*b"HEIRSTAT"), "the file is a table");
        assert!(u32_at(header, 8) == 1, "the table has format 1");
        assert!(u32_at(header, 12) as usize == DIMENSIONS, "the table has 256 dimensions");
        let n = u32_at(header, 16) as usize;
        let (buckets, rest) = rest.split_at(2 * u32_at(header, 20) as usize);
        let (ends, rest) = rest.split_at(4 * n);
        let (pieces, rows) = rest.split_at(u32_at(header, 24) as usize);
        assert!(rows.len() == n * ROW, "the table has all its rows");
        let longest = u32_at(header, 28) as usize;
        assert!(longest <= LONGEST_PIECE, "no piece is longer than what is looked for");
        StaticTable { buckets, ends, pieces, rows, longest }
    }

    /// Returns the whole words in the table that consist of the letters a to z, in the table's order: a vocabulary for
    /// generated texts.
    pub fn plain_words(&self) -> Vec<&'static str> {
        let end = |row: usize| u32_at(self.ends, 4 * row) as usize;
        let piece = |row: usize| &self.pieces[if row == 0 { 0 } else { end(row - 1) }..end(row)];
        (0..self.ends.len() / 4)
            .map(piece)
            .filter(|piece| piece.len() > 2 && piece.iter().all(u8::is_ascii_lowercase))
            .filter_map(|piece| std::str::from_utf8(piece).ok())
            .collect()
    }

    fn sum(&self, text: &str) -> Vec<f32> {
        let (mut low, mut high) = ([0u32; DIMENSIONS / 2], [0u32; DIMENSIONS / 2]);
        let mut scales = 0u32;
        words(beginning(text, MOST_BYTES), self, |found| {
            for &row in found.unwrap_or_default() {
                let row = &self.rows[row as usize * ROW..][..ROW];
                let scale = u16_at(row, 0);
                scales += u32::from(scale);
                for ((low, high), byte) in low.iter_mut().zip(&mut high).zip(&row[2..]) {
                    *low += u32::from(scale) * u32::from(byte & 15);
                    *high += u32::from(scale) * u32::from(byte >> 4);
                }
            }
        });
        // The file adds 8 to every value so that it fits in a nibble; this subtracts it again.
        let middle = 8 * i64::from(scales);
        low.iter().chain(&high).map(|&sum| (i64::from(sum) - middle) as f32).collect()
    }

    fn row_of(&self, hash: u64, is_it: impl Fn(&[u8]) -> bool) -> Option<u32> {
        let hash = mixed(hash);
        let bucket = u16_at(self.buckets, 2 * slot(hash, self.buckets.len() / 2));
        let row = match bucket {
            0x8000.. => usize::from(bucket & 0x7FFF),
            _ => slot(mixed(hash ^ u64::from(bucket).wrapping_mul(STEP)), self.ends.len() / 4),
        };
        let start = if row == 0 { 0 } else { u32_at(self.ends, 4 * (row - 1)) };
        is_it(&self.pieces[start as usize..u32_at(self.ends, 4 * row) as usize]).then_some(row as u32)
    }
}

impl Embedder for StaticTable {
    fn model(&self) -> &str {
        "static-minilm-256-v1"
    }

    fn dimensions(&self) -> usize {
        DIMENSIONS
    }

    fn embed(&self, texts: &[&str]) -> Result<Vec<Vec<f32>>> {
        let one = |text: &&str| {
            let mut vector = self.sum(text);
            normalise(&mut vector);
            vector
        };
        Ok(texts.iter().map(one).collect())
    }

    /// Of other scripts than Latin the table has single letters and signs at most. A question whose vector came from its
    /// question mark and a preposition of one letter would be similar to every question in its language.
    fn embed_question(&self, question: &str) -> Result<Vec<f32>> {
        let known = |c: char| if c.is_alphabetic() && !is_latin(c) { ' ' } else { c };
        let question: String = question.chars().map(known).collect();
        if !question.chars().any(char::is_alphanumeric) {
            return Ok(vec![0.0; DIMENSIONS]);
        }
        let mut vector = self.sum(&question);
        normalise(&mut vector);
        Ok(vector)
    }
}

fn is_latin(c: char) -> bool {
    matches!(c as u32, 0..=0x24F | 0x1E00..=0x1EFF)
}

/// The longest piece that can be looked up, in bytes.
const LONGEST_PIECE: usize = 32;

impl Pieces for StaticTable {
    fn longest(&self, word: &str, continuing: bool) -> Option<(usize, u32)> {
        let prefix: &[u8] = if continuing { b"##" } else { b"" };
        let most = word.len().min(self.longest);
        // The hash of every prefix of the word, in one pass.
        let mut hashes = [0u64; LONGEST_PIECE + 1];
        hashes[0] = prefix.iter().fold(FNV_START, |hash, &b| fnv(hash, b));
        for (n, &byte) in word.as_bytes()[..most].iter().enumerate() {
            hashes[n + 1] = fnv(hashes[n], byte);
        }
        (1..=most).rev().find_map(|length| {
            let same = |piece: &[u8]| piece.strip_prefix(prefix) == Some(&word.as_bytes()[..length]);
            self.row_of(hashes[length], same).map(|row| (length, row))
        })
    }
}

// These constants are part of the file format: another hash needs another format.
const FNV_START: u64 = 0xCBF2_9CE4_8422_2325;
const STEP: u64 = 0x9E37_79B9_7F4A_7C15;

fn fnv(hash: u64, byte: u8) -> u64 {
    (hash ^ u64::from(byte)).wrapping_mul(0x0000_0100_0000_01B3)
}

fn mixed(hash: u64) -> u64 {
    let hash = (hash ^ (hash >> 32)).wrapping_mul(0xD6E8_FEB8_6659_FD93);
    hash ^ (hash >> 32)
}

/// Maps a hash to one of `n` slots.
fn slot(hash: u64, n: usize) -> usize {
    (((hash & 0xFFFF_FFFF) * n as u64) >> 32) as usize
}

const fn u16_at(bytes: &[u8], at: usize) -> u16 {
    u16::from_le_bytes([bytes[at], bytes[at + 1]])
}

const fn u32_at(bytes: &[u8], at: usize) -> u32 {
    u32::from_le_bytes([bytes[at], bytes[at + 1], bytes[at + 2], bytes[at + 3]])
}

const fn u64_at(bytes: &[u8], at: usize) -> u64 {
    u32_at(bytes, at) as u64 | (u32_at(bytes, at + 4) as u64) << 32
}
