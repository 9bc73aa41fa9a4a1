//! The lists of the full-text engine, read where they lie.
//!
//! For each token the engine keeps the rows it stands in, with its places. Through SQL a row costs about a microsecond,
//! because every one is scored before the best are known; read here it costs about ten nanoseconds. What is read is the
//! file format of FTS5 (`fts5_index.c`, "Segment leaf pages"), which SQLite keeps stable. Nothing is written. Whatever
//! is not as expected gives `None`, and the caller asks the engine itself: a format of another version costs time, never
//! a wrong answer.
//!
//! Rows that were taken out and not merged away yet may still be shown: callers look turns up in the ledger, which knows
//! what was forgotten.

use rusqlite::{Connection, OptionalExtension, Statement, params};

use crate::error::Result;

/// Bits of a page's number in the id of a page.
const PAGE_BITS: u32 = 37;

/// In the structure record, where segments have origins and tombstones (tables with `contentless_delete`).
const SECOND_FORM: [u8; 4] = [0xff, 0, 0, 1];

/// The most segments the engine ever has.
const MOST_SEGMENTS: u64 = 2000;

/// Rows of a list that fill a page at least, for guessing how long a list is.
const ROWS_OF_A_PAGE: i64 = 500;

/// A list that goes on over fewer pages than this is read from its beginning: looking for a page costs some reads, too.
const WORTH_SKIPPING: i64 = 4;

/// What starts the places in another column than the first.
const COLUMN: u8 = 1;

/// A part of the index, with its own lists.
struct Segment {
    id: i64,
    first: i64,
    last: i64,
}

/// The lists of a table with the columns `text` and `scope`.
pub(crate) struct Lists<'c> {
    segments: Vec<Segment>,
    find: Statement<'c>,
    next: Statement<'c>,
    pages: Statement<'c>,
    heads: Statement<'c>,
    /// Rows and tokens of the whole table.
    pub rows: u64,
    pub tokens: u64,
    /// Every row of the table is of the range that is read: how long a list is can be told from its pages.
    pub sole: bool,
}

/// A row with a token.
pub(crate) struct Entry<'p> {
    pub row: i64,
    /// How often it stands in the text.
    pub times: u32,
    /// It is among the tokens that limit searches.
    pub limits: bool,
    /// Its places in the text, where they were asked for.
    pub places: &'p [u32],
}

/// How reading a list ended.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Read {
    Whole,
    /// It has more rows than were wanted.
    TooLong,
}

impl<'c> Lists<'c> {
    /// The lists as they are committed; within one transaction they belong together. `None`: not a form we know.
    pub fn open(conn: &'c Connection) -> Result<Option<Lists<'c>>> {
        let mut record = conn.prepare_cached("SELECT block FROM fts_data WHERE id = ?1")?;
        let mut get =
            |id: i64| record.query_row([id], |r| r.get::<_, Vec<u8>>(0)).optional().map(Option::unwrap_or_default);
        let (structure, averages) = (get(10)?, get(1)?);
        let (Some(segments), Some((rows, tokens))) = (segments(&structure), totals(&averages)) else {
            return Ok(None);
        };
        Ok(Some(Lists {
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

    /// Shows every row of a range with a token, by segments, rising within each. `most`: with more rows of the range than
    /// this it is given up as soon as that is known; rows of others do not count. `None`: not a form we know.
    pub fn read(
        &mut self,
        token: &str,
        places: bool,
        (range, most): ((i64, i64), i64),
        each: &mut impl FnMut(Entry),
    ) -> Result<Option<Read>> {
        // The main index of the table; those of prefixes have other digits.
        let key = [b"0", token.as_bytes()].concat();
        let mut walk = Walk { wanted: places, ..Walk::default() };
        let (mut seen, mut strangers) = (0i64, false);
        for segment in &self.segments {
            let found: Option<i64> = self.find.query_row(params![segment.id, key], |r| r.get(0)).optional()?;
            let page = (found.unwrap_or(0) >> 1).max(segment.first);
            let base = segment.id << PAGE_BITS;
            walk.begin();
            let (list, mut start) = (base + page, base + page);
            // From its first page on; where the range begins far behind it, from there on.
            'list: loop {
                let mut rows = self.pages.query([start, base + segment.last])?;
                let (mut expected, mut more) = (start, true);
                while more && let Some(r) = rows.next()? {
                    let (id, page) = (r.get::<_, i64>(0)?, r.get_ref(1)?);
                    let (true, Ok(page)) = (id == expected, page.as_blob()) else { return Ok(None) };
                    let first = id == list;
                    let counted = &mut |entry: Entry| match entry.row >= range.0 && entry.row <= range.1 {
                        true => {
                            seen += 1;
                            each(entry);
                        }
                        false => strangers = true,
                    };
                    more = match if first { walk.first_page(page, &key, counted) } else { walk.page(page, counted) } {
                        Some(more) => more,
                        None => return Ok(None),
                    };
                    expected += 1;
                    if seen > most {
                        return Ok(Some(Read::TooLong));
                    }
                    if !first || !more {
                        continue;
                    }
                    // The list ends on the page where the next token of the tree begins, or before.
                    let end: Option<i64> = self.next.query_row(params![segment.id, key], |r| r.get(0)).optional()?;
                    let end = base + end.map_or(segment.last, |no| no >> 1);
                    // How long a list is, is known of all rows together only.
                    if self.sole && !strangers && seen + (end - id - 1).max(0) * ROWS_OF_A_PAGE > most {
                        return Ok(Some(Read::TooLong));
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
                // A page that should be there and is not: the engine, asked, says what is damaged.
                if expected == start {
                    return Ok(None);
                }
                break;
            }
            // The last page of a segment may end within a list, never within a row.
            if walk.is_inside() {
                return Ok(None);
            }
        }
        Ok(Some(Read::Whole))
    }
}

/// The last of the pages that a list goes on over whose first row is not behind a row: what stands before it on earlier
/// pages is before that row, too. `None`: not a form we know.
fn reaching(heads: &mut Statement, (first, last): (i64, i64), row: i64) -> Result<Option<i64>> {
    let (mut from, mut to) = (first, last);
    while to > from {
        // Pages on which no row begins lie within the places of a single one.
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

/// Where reading a list stands.
#[derive(Default)]
struct Walk {
    /// Places are wanted.
    wanted: bool,
    row: i64,
    /// A row was read that the next one is told as a distance to.
    any: bool,
    /// The token was at the end of a page: its list begins on the next one.
    waiting: bool,
    /// Bytes of the places of the open row that are still to come.
    left: usize,
    open: bool,
    times: u32,
    beyond: bool,
    place: u32,
    places: Vec<u32>,
}

impl Walk {
    fn begin(&mut self) {
        (self.any, self.waiting, self.open, self.left) = (false, false, false, 0);
    }

    fn is_inside(&self) -> bool {
        self.open || self.waiting
    }

    /// The page on which a token may be. `Some(true)`: its list goes on.
    fn first_page(&mut self, page: &[u8], key: &[u8], each: &mut impl FnMut(Entry)) -> Option<bool> {
        let size = content(page)?;
        let Some((from, end)) = seek(page, size, key)? else { return Some(false) };
        let ends = end.is_some();
        let end = end.unwrap_or(size);
        if from >= size {
            self.waiting = !ends;
            return Some(!ends);
        }
        self.list(page, (from, end, size), each)?;
        Some(!ends)
    }

    /// A page behind it.
    fn page(&mut self, page: &[u8], each: &mut impl FnMut(Entry)) -> Option<bool> {
        let size = content(page)?;
        let first_token = if page.len() > size { Some(varint(page, size)?.0 as usize) } else { None };
        let end = first_token.unwrap_or(size);
        if end > size {
            return None;
        }
        let mut from = usize::from(u16::from_be_bytes([page[0], page[1]]));
        if self.open {
            let chunk = self.left.min(size - 4);
            self.take(page.get(4..4 + chunk)?, each)?;
            if self.open && first_token.is_some() {
                return None;
            }
        }
        if self.waiting {
            (self.waiting, from) = (false, 4);
        }
        if from != 0 && from < end {
            // The first row of a page is told in full.
            self.any = false;
            self.list(page, (from, end, size), each)?;
        }
        Some(first_token.is_none())
    }

    /// Rows from `from` to the end of the list or of the page.
    fn list(
        &mut self,
        page: &[u8],
        (from, end, size): (usize, usize, usize),
        each: &mut impl FnMut(Entry),
    ) -> Option<()> {
        let mut at = from;
        while at < end {
            let (step, next) = varint(page, at)?;
            self.row = if self.any { self.row.checked_add(step as i64)? } else { step as i64 };
            self.any = true;
            let (bytes, next) = varint(page, next)?;
            if next > size {
                return None;
            }
            self.left = (bytes >> 1) as usize;
            (self.open, self.times, self.beyond, self.place) = (true, 0, false, 0);
            self.places.clear();
            let chunk = self.left.min(size - next);
            self.take(&page[next..next + chunk], each)?;
            at = next + chunk;
        }
        // A list that ends here ends with a row.
        (!self.open || at == size).then_some(())
    }

    /// Some more bytes of the places of the open row.
    fn take(&mut self, bytes: &[u8], each: &mut impl FnMut(Entry)) -> Option<()> {
        self.left -= bytes.len();
        match *bytes {
            [] => {}
            [one] if one != COLUMN && one < 0x80 && !self.wanted && !self.beyond => self.times += 1,
            _ => {
                let mut at = 0;
                while at < bytes.len() && !self.beyond {
                    if bytes[at] == COLUMN {
                        self.beyond = true;
                        break;
                    }
                    let (step, next) = varint(bytes, at)?;
                    at = next;
                    self.times += 1;
                    if self.wanted {
                        self.place = self.place.checked_add(u32::try_from(step).ok()?.checked_sub(2)?)?;
                        self.places.push(self.place);
                    }
                }
            }
        }
        if self.left == 0 {
            self.open = false;
            each(Entry { row: self.row, times: self.times, limits: self.beyond, places: &self.places });
        }
        Some(())
    }
}

/// Bytes of a page before its footer.
fn content(page: &[u8]) -> Option<usize> {
    let size = usize::from(u16::from_be_bytes([*page.get(2)?, *page.get(3)?]));
    (4..=page.len()).contains(&size).then_some(size)
}

/// Where on a page the list of a token begins, and where the next token does. `Some(None)`: the token is not there.
#[allow(clippy::type_complexity)]
fn seek(page: &[u8], size: usize, key: &[u8]) -> Option<Option<(usize, Option<usize>)>> {
    if page.len() == size {
        return Some(None);
    }
    let (start, mut footer) = varint(page, size)?;
    let mut start = start as usize;
    let mut token: Vec<u8> = Vec::with_capacity(64);
    let mut first = true;
    loop {
        let (keep, at) = if first { (0, start) } else { varint(page, start)? };
        first = false;
        let (new, at) = varint(page, at)?;
        let end = at.checked_add(new as usize)?;
        if end > size || keep as usize > token.len() {
            return None;
        }
        token.truncate(keep as usize);
        token.extend_from_slice(&page[at..end]);
        let next = if footer < page.len() {
            let (step, after) = varint(page, footer)?;
            footer = after;
            Some(start.checked_add(step as usize).filter(|next| *next <= size)?)
        } else {
            None
        };
        match token.as_slice().cmp(key) {
            std::cmp::Ordering::Equal => return Some(Some((end, next))),
            std::cmp::Ordering::Greater => return Some(None),
            std::cmp::Ordering::Less => {}
        }
        match next {
            Some(next) => start = next,
            None => return Some(None),
        }
    }
}

/// A number and what comes behind it.
#[inline]
fn varint(bytes: &[u8], at: usize) -> Option<(u64, usize)> {
    let first = *bytes.get(at)?;
    if first < 0x80 {
        return Some((u64::from(first), at + 1));
    }
    let mut value = u64::from(first & 0x7f);
    for n in 1..8 {
        let byte = *bytes.get(at + n)?;
        value = (value << 7) | u64::from(byte & 0x7f);
        if byte < 0x80 {
            return Some((value, at + n + 1));
        }
    }
    Some(((value << 8) | u64::from(*bytes.get(at + 8)?), at + 9))
}

/// The segments of the structure record.
fn segments(record: &[u8]) -> Option<Vec<Segment>> {
    let second = record.get(4..8)? == SECOND_FORM;
    let mut at = if second { 8 } else { 4 };
    let mut number = || -> Option<u64> {
        let (value, next) = varint(record, at)?;
        at = next;
        Some(value)
    };
    let (levels, many) = (number()?, number()?);
    number()?;
    if levels > MOST_SEGMENTS || many > MOST_SEGMENTS {
        return None;
    }
    let mut out = Vec::new();
    for _ in 0..levels {
        number()?;
        for _ in 0..number()? {
            let (id, first, last) = (number()? as i64, number()? as i64, number()? as i64);
            for _ in 0..if second { 5 } else { 0 } {
                number()?;
            }
            // One that a merge has used up is empty.
            if last > 0 {
                out.push(Segment { id, first: first.max(1), last });
            }
        }
    }
    (out.len() <= many as usize).then_some(out)
}

/// Rows and tokens of the averages record; with no record there is nothing in it.
fn totals(record: &[u8]) -> Option<(u64, u64)> {
    if record.is_empty() {
        return Some((0, 0));
    }
    let (rows, mut at) = varint(record, 0)?;
    let mut tokens = 0u64;
    while at < record.len() {
        let (of_column, next) = varint(record, at)?;
        (tokens, at) = (tokens.checked_add(of_column)?, next);
    }
    Some((rows, tokens))
}
