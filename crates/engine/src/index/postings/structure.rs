//! Two records of FTS5: the list of segments, and the number of rows and tokens. `None`: an unknown format.

use super::segment::varint;

/// Marks a structure record whose segments have origins and tombstones (tables with `contentless_delete`).
const SECOND_FORM: [u8; 4] = [0xff, 0, 0, 1];

/// The most segments FTS5 ever has.
const MOST_SEGMENTS: u64 = 2000;

/// A part of the table with its own lists, on the pages `first` to `last`.
#[derive(Clone, Copy)]
pub(super) struct Segment {
    pub id: i64,
    pub first: i64,
    pub last: i64,
}

/// Reads the segments of the structure record.
pub(super) fn segments(record: &[u8]) -> Option<Vec<Segment>> {
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
            // A segment used up by a merge is empty.
            if last > 0 {
                out.push(Segment { id, first: first.max(1), last });
            }
        }
    }
    (out.len() <= many as usize).then_some(out)
}

/// Returns rows and tokens of the whole table, from the averages record; without a record the table is empty.
pub(super) fn totals(record: &[u8]) -> Option<(u64, u64)> {
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
