//! Reads the posting lists of FTS5, SQLite's full-text engine, directly from its pages.
//!
//! For each token FTS5 keeps the rows that contain it, with its positions. Through SQL a row costs about a microsecond,
//! because every row is scored before the best are known; read here it costs about ten nanoseconds.
//!
//! Contract:
//!
//! - It reads the table `fts` with the columns `text` and `scope`, as the index makes it, and writes nothing.
//! - It reads an internal format of FTS5 (`fts5_index.c`, "Segment leaf pages"). SQLite keeps it stable, but promises
//!   nothing, so the format is always checked: [`check`] trusts the versions of SQLite that the tests ran with, the
//!   bundled one among them, at no cost; with any other version the reader must first read a small table in memory
//!   exactly as FTS5 itself reports it, once per process.
//! - Anything unexpected gives `None`, and the caller asks FTS5 through SQL. An unknown format costs time, but never
//!   gives a wrong answer.
//! - Rows that were deleted and not merged away yet may still be among the rows: callers look turns up in the ledger,
//!   which knows what was forgotten.
//!
//! [`structure`] reads which segments there are, [`segment`] the lists on their pages.

mod check;
mod segment;
mod structure;
#[cfg(test)]
mod tests;

use rusqlite::{Connection, OptionalExtension, Statement, params};

use crate::error::Result;
use segment::{Leaf, Place, Walk, content, varint};
use structure::Segment;

/// Bits of the page number in a page id.
const PAGE_BITS: u32 = 37;

/// The fewest rows of a list on a full page, to estimate the length of a list.
const ROWS_PER_PAGE: i64 = 500;

/// A list that spans fewer pages than this is read from its beginning: searching for a page costs some reads, too.
const WORTH_SKIPPING: i64 = 4;

/// The posting lists of the table `fts`.
pub(crate) struct Postings<'c> {
    segments: Vec<Segment>,
    find: Statement<'c>,
    next: Statement<'c>,
    pages: Statement<'c>,
    heads: Statement<'c>,
    /// Rows and tokens of the whole table.
    pub rows: u64,
    pub tokens: u64,
    /// Set by the caller if the range to be read contains every row of the table: the length of a list can then be
    /// estimated from its number of pages.
    pub sole: bool,
}

/// One entry of a list: a row that contains the token.
pub(crate) struct Posting<'p> {
    pub row: i64,
    /// Number of times the token occurs in the column `text`.
    pub times: u32,
    /// Whether the token occurs in the column `scope`.
    pub limits: bool,
    /// The token's positions in the column `text`, if they were asked for.
    pub places: &'p [u32],
}

/// How reading a list ended.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum ReadEnd {
    Whole,
    /// The list has more rows than were wanted.
    TooLong,
}

impl<'c> Postings<'c> {
    /// Opens the committed lists; within one transaction they are consistent. `None` for an unknown version of SQLite
    /// or an unknown format.
    pub fn open(conn: &'c Connection) -> Result<Option<Postings<'c>>> {
        if check::reader_fits() { Postings::open_unchecked(conn) } else { Ok(None) }
    }

    fn open_unchecked(conn: &'c Connection) -> Result<Option<Postings<'c>>> {
        let mut record = conn.prepare_cached("SELECT block FROM fts_data WHERE id = ?1")?;
        let mut get =
            |id: i64| record.query_row([id], |r| r.get::<_, Vec<u8>>(0)).optional().map(Option::unwrap_or_default);
        let (structure, averages) = (get(10)?, get(1)?);
        let (Some(segments), Some((rows, tokens))) = (structure::segments(&structure), structure::totals(&averages))
        else {
            return Ok(None);
        };
        Ok(Some(Postings {
            segments,
            find: conn
                .prepare("SELECT pgno FROM fts_idx WHERE segid = ?1 AND term <= ?2 ORDER BY term DESC LIMIT 1")?,
            next: conn.prepare("SELECT pgno FROM fts_idx WHERE segid = ?1 AND term > ?2 ORDER BY term LIMIT 1")?,
            pages: conn.prepare("SELECT id, block FROM fts_data WHERE id BETWEEN ?1 AND ?2 ORDER BY id")?,
            heads: conn.prepare("SELECT block FROM fts_data WHERE id = ?1")?,
            rows,
            tokens,
            sole: false,
        }))
    }

    /// Calls `each` for every row of a range that contains a token: segment by segment, ascending within each. Stops as
    /// soon as more than `most` rows of the range are known to contain it; rows outside do not count. `None` for an
    /// unknown format; what `each` got until then must be discarded.
    pub fn read(
        &mut self,
        token: &str,
        places: bool,
        (range, most): ((i64, i64), i64),
        each: &mut impl FnMut(Posting),
    ) -> Result<Option<ReadEnd>> {
        let key = key_of(token);
        let mut walk = Walk::new(places);
        let mut count = Count::default();
        for n in 0..self.segments.len() {
            match self.read_in(self.segments[n], &key, &mut walk, (range, most), &mut count, each)? {
                Some(ReadEnd::Whole) => {}
                other => return Ok(other),
            }
        }
        Ok(Some(ReadEnd::Whole))
    }

    /// Does the same as [`read`](Postings::read) for each of several tokens, whose rows are not told apart and come in
    /// any order. Lists of such tokens are short and often on one page, which is then looked up and decoded once for
    /// each segment.
    pub fn read_group(
        &mut self,
        tokens: &[&str],
        range: (i64, i64),
        each: &mut impl FnMut(Posting),
    ) -> Result<Option<()>> {
        if let [token] = tokens {
            let read = self.read(token, false, (range, i64::MAX), each)?;
            return Ok(read.map(drop));
        }
        let mut keys: Vec<Vec<u8>> = tokens.iter().map(|token| key_of(token)).collect();
        keys.sort_unstable();
        let mut walk = Walk::new(false);
        let mut count = Count::default();
        for n in 0..self.segments.len() {
            let segment = self.segments[n];
            // The page where the last key was looked for, with its number.
            let mut leaf: Option<(i64, Leaf)> = None;
            for key in &keys {
                let mut place = leaf.as_ref().map_or(Place::Behind, |(_, leaf)| leaf.place(key));
                if matches!(place, Place::Behind) {
                    let page = self.page_of(segment, key)?;
                    if leaf.as_ref().is_none_or(|(no, _)| *no != page) {
                        let id = (segment.id << PAGE_BITS) + page;
                        let block: Option<Vec<u8>> = self.heads.query_row([id], |r| r.get(0)).optional()?;
                        let Some(read) = block.and_then(Leaf::of) else { return Ok(None) };
                        place = read.place(key);
                        leaf = Some((page, read));
                    }
                }
                match (place, &leaf) {
                    (Place::Here(from, end), Some((_, leaf))) => {
                        walk.begin();
                        let counted = &mut |entry: Posting| {
                            if entry.row >= range.0 && entry.row <= range.1 {
                                each(entry);
                            }
                        };
                        if walk.here(leaf, (from, end), counted).is_none() || walk.is_inside() {
                            return Ok(None);
                        }
                    }
                    (Place::Beyond, _) => {
                        match self.read_in(segment, key, &mut walk, (range, i64::MAX), &mut count, each)? {
                            Some(ReadEnd::Whole) => {}
                            _ => return Ok(None),
                        }
                    }
                    _ => {}
                }
            }
        }
        Ok(Some(()))
    }

    /// Returns the page of a segment on which a token begins, if the segment has it.
    fn page_of(&mut self, segment: Segment, key: &[u8]) -> Result<i64> {
        let found: Option<i64> = self.find.query_row(params![segment.id, key], |r| r.get(0)).optional()?;
        Ok((found.unwrap_or(0) >> 1).max(segment.first))
    }

    /// Reads the list of a token in one segment.
    fn read_in(
        &mut self,
        segment: Segment,
        key: &[u8],
        walk: &mut Walk,
        (range, most): ((i64, i64), i64),
        count: &mut Count,
        each: &mut impl FnMut(Posting),
    ) -> Result<Option<ReadEnd>> {
        let page = self.page_of(segment, key)?;
        let base = segment.id << PAGE_BITS;
        walk.begin();
        let (list, mut start) = (base + page, base + page);
        // Reads the list from its first page on, or from a later page if the range begins far behind.
        'list: loop {
            let mut rows = self.pages.query([start, base + segment.last])?;
            let (mut expected, mut more) = (start, true);
            while more && let Some(r) = rows.next()? {
                let (id, page) = (r.get::<_, i64>(0)?, r.get_ref(1)?);
                let (true, Ok(page)) = (id == expected, page.as_blob()) else { return Ok(None) };
                let first = id == list;
                let counted = &mut |entry: Posting| match entry.row >= range.0 && entry.row <= range.1 {
                    true => {
                        count.seen += 1;
                        each(entry);
                    }
                    false => count.strangers = true,
                };
                more = match if first { walk.first_page(page, key, counted) } else { walk.page(page, counted) } {
                    Some(more) => more,
                    None => return Ok(None),
                };
                expected += 1;
                if count.seen > most {
                    return Ok(Some(ReadEnd::TooLong));
                }
                if !first || !more {
                    continue;
                }
                // The list ends on the page where the next token of the tree begins, or before.
                let end: Option<i64> = self.next.query_row(params![segment.id, key], |r| r.get(0)).optional()?;
                let end = base + end.map_or(segment.last, |no| no >> 1);
                // The length of a list is known only if the range contains all rows.
                if self.sole && !count.strangers && count.seen + (end - id - 1).max(0) * ROWS_PER_PAGE > most {
                    return Ok(Some(ReadEnd::TooLong));
                }
                if walk.row < range.0 && end - id > WORTH_SKIPPING {
                    let Some(from) = reaching(&mut self.heads, (expected, end), range.0)? else { return Ok(None) };
                    if from > expected {
                        walk.begin();
                        start = from;
                        continue 'list;
                    }
                }
            }
            // A page is missing: the engine, asked through SQL, reports the damage.
            if expected == start {
                return Ok(None);
            }
            break;
        }
        // The last page of a segment may end within a list, never within a row.
        Ok((!walk.is_inside()).then_some(ReadEnd::Whole))
    }
}

/// Counts the rows of a list that were read so far: those in the range, and whether any were outside it.
#[derive(Default)]
struct Count {
    seen: i64,
    strangers: bool,
}

/// Returns the key of a token: that of the main index of the table begins with 0; prefix indexes have other digits.
fn key_of(token: &str) -> Vec<u8> {
    [b"0", token.as_bytes()].concat()
}

/// Returns, of the pages a list spans, the last one whose first row is not greater than `row`; all rows on earlier
/// pages are smaller. `None` for an unknown format.
fn reaching(heads: &mut Statement, (first, last): (i64, i64), row: i64) -> Result<Option<i64>> {
    let (mut from, mut to) = (first, last);
    while to > from {
        // A page on which no row begins contains only positions of one row.
        let middle = from + (to - from + 1) / 2;
        let (mut at, mut begins) = (middle, None);
        while at <= to && begins.is_none() {
            let page: Option<Vec<u8>> = heads.query_row([at], |r| r.get(0)).optional()?;
            let Some(page) = page.filter(|page| page.len() >= 4) else { return Ok(None) };
            let offset = usize::from(u16::from_be_bytes([page[0], page[1]]));
            // On the last page another token's list may begin instead.
            let ends = content(&page).is_none_or(|size| page.len() > size);
            if offset != 0 && !ends {
                let Some((first_row, _)) = varint(&page, offset) else { return Ok(None) };
                begins = Some(first_row as i64);
            } else {
                at += 1;
            }
        }
        match begins {
            Some(first_row) if first_row <= row => from = at,
            _ => to = middle - 1,
        }
    }
    Ok(Some(from))
}
