//! The pages of a segment: tokens, rows and positions. In every function `None` means that the page has an unknown
//! format.
//!
//! A page is `u16 offset of the first row that begins no list · u16 size · content · footer`; the footer holds the
//! places where tokens begin, each as the distance to the one before. Content is, for each token, `how many bytes it
//! shares with the token before · how many are new · those bytes` (the first of a page shares none and does not say
//! so), and then its list: for each row `distance to the row before · bytes of its positions, doubled, with a flag ·
//! the positions`. A list may go on over any number of pages. All numbers are varints. A position is the distance to
//! the one before plus two; [`COLUMN`] begins another column.

use super::Posting;

/// Begins the positions in another column than the first.
const COLUMN: u8 = 1;

/// The state of reading one list, page after page.
#[derive(Default)]
pub(super) struct Walk {
    /// Whether positions are wanted.
    wanted: bool,
    pub row: i64,
    /// Whether a row was read: the next one is stored as the distance to it.
    any: bool,
    /// Whether the token was at the end of a page, so that its list begins on the next page.
    waiting: bool,
    /// Bytes of the current row's positions that are still to be read.
    left: usize,
    open: bool,
    times: u32,
    /// Whether positions of a column other than the first have begun.
    beyond: bool,
    place: u32,
    places: Vec<u32>,
}

impl Walk {
    pub fn new(wanted: bool) -> Walk {
        Walk { wanted, ..Walk::default() }
    }

    /// Starts reading inside a list, at a page whose predecessor was not read.
    pub fn begin(&mut self) {
        (self.any, self.waiting, self.open, self.left) = (false, false, false, 0);
    }

    /// Whether the pages ended within a row.
    pub fn is_inside(&self) -> bool {
        self.open || self.waiting
    }

    /// Reads the first page, which may contain the token. `Some(true)`: its list continues on the next page.
    pub fn first_page(&mut self, page: &[u8], key: &[u8], each: &mut impl FnMut(Posting)) -> Option<bool> {
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

    /// Reads a list that is wholly on one page.
    pub fn here(&mut self, leaf: &Leaf, (from, end): (usize, usize), each: &mut impl FnMut(Posting)) -> Option<()> {
        self.list(&leaf.page, (from, end, leaf.size), each)
    }

    /// Reads a following page. `Some(true)`: the list continues.
    pub fn page(&mut self, page: &[u8], each: &mut impl FnMut(Posting)) -> Option<bool> {
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
            // The first row of a page is stored in full.
            self.any = false;
            self.list(page, (from, end, size), each)?;
        }
        Some(first_token.is_none())
    }

    /// Reads rows from `from` to the end of the list or of the page.
    fn list(
        &mut self,
        page: &[u8],
        (from, end, size): (usize, usize, usize),
        each: &mut impl FnMut(Posting),
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
        // A list that ends here must end with a row.
        (!self.open || at == size).then_some(())
    }

    /// Reads more bytes of the current row's positions.
    fn take(&mut self, bytes: &[u8], each: &mut impl FnMut(Posting)) -> Option<()> {
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
            each(Posting { row: self.row, times: self.times, limits: self.beyond, places: &self.places });
        }
        Some(())
    }
}

/// A page with the places of the tokens that begin on it, for several tokens in ascending order.
pub(super) struct Leaf {
    page: Vec<u8>,
    size: usize,
    /// The tokens, ascending, each with the offsets at which its list and the next token begin.
    tokens: Vec<(Vec<u8>, usize, Option<usize>)>,
}

/// The list of a token according to a page.
pub(super) enum Place {
    /// The whole list is on this page; `Walk::here` reads it.
    Here(usize, usize),
    /// The list continues on the next page.
    Beyond,
    /// A greater token is on this page, so that no later page has this one.
    Nowhere,
    /// Every token of this page is smaller.
    Behind,
}

impl Leaf {
    pub fn of(page: Vec<u8>) -> Option<Leaf> {
        let size = content(&page)?;
        let mut tokens: Vec<(Vec<u8>, usize, Option<usize>)> = Vec::new();
        each_token(&page, size, |token, from, next| {
            tokens.push((token.to_vec(), from, next));
            true
        })?;
        Some(Leaf { page, size, tokens })
    }

    /// Returns where the list of a token is, which must not be smaller than the one for which this page was found.
    pub fn place(&self, key: &[u8]) -> Place {
        let at = self.tokens.partition_point(|(token, ..)| token.as_slice() < key);
        match self.tokens.get(at) {
            None => Place::Behind,
            Some((token, ..)) if token.as_slice() != key => Place::Nowhere,
            Some((_, from, Some(next))) => Place::Here(*from, *next),
            Some(_) => Place::Beyond,
        }
    }
}

/// Returns the length of a page without its footer.
pub(super) fn content(page: &[u8]) -> Option<usize> {
    let size = usize::from(u16::from_be_bytes([*page.get(2)?, *page.get(3)?]));
    (4..=page.len()).contains(&size).then_some(size)
}

/// Returns the offsets at which a token's list and the next token begin. `Some(None)`: the token is not on this page.
#[allow(clippy::type_complexity)]
fn seek(page: &[u8], size: usize, key: &[u8]) -> Option<Option<(usize, Option<usize>)>> {
    let mut found = None;
    each_token(page, size, |token, from, next| {
        let order = token.cmp(key);
        if order.is_eq() {
            found = Some((from, next));
        }
        order.is_lt()
    })?;
    Some(found)
}

/// Calls `each` for the tokens that begin on a page, in order, as long as it returns `true`: with the token and the
/// offsets at which its list and the next token begin.
fn each_token(page: &[u8], size: usize, mut each: impl FnMut(&[u8], usize, Option<usize>) -> bool) -> Option<()> {
    if page.len() == size {
        return Some(());
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
        if !each(&token, end, next) {
            return Some(());
        }
        match next {
            Some(next) => start = next,
            None => return Some(()),
        }
    }
}

/// Returns a varint and the offset behind it.
#[inline]
pub(super) fn varint(bytes: &[u8], at: usize) -> Option<(u64, usize)> {
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
