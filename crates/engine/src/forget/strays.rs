//! Stretches of blocks that no row points to. Before December 2026 the text of a turn that was already known (an echo, a
//! resumed copy of a session) was packed behind its record and stayed there. Such a stretch belongs to nobody, so every
//! forget blanks all of them.

use std::collections::BTreeMap;

use crate::error::Result;
use crate::ledger::Read;
use crate::ledger::blocks::{self, Opener};
use crate::scope::BlockNo;

/// Offset and length of each stretch, by block.
pub(super) type Strays = BTreeMap<BlockNo, Vec<(i64, i64)>>;

/// Returns the stretches that contain anything but zeros.
pub(super) fn all(tx: &Read) -> Result<Strays> {
    let mut out = between(tx)?;
    let opener = Opener::of_one();
    let mut empty = Vec::new();
    for (block, stretches) in &mut out {
        let raw = opener.open(tx, *block)?;
        stretches.retain(|(offset, length)| blocks::range(&raw, *offset, *length).is_some_and(|s| !is_blank(s)));
        if stretches.is_empty() {
            empty.push(*block);
        }
    }
    empty.iter().for_each(|block| drop(out.remove(block)));
    Ok(out)
}

/// Counts the stretches for which `shows` is true.
pub(super) fn count(tx: &Read, strays: &Strays, shows: impl Fn(&[u8]) -> bool) -> Result<u64> {
    let opener = Opener::of_one();
    let mut n = 0;
    for (block, stretches) in strays {
        let raw = opener.open(tx, *block)?;
        let shown = |(offset, length): &&(i64, i64)| blocks::range(&raw, *offset, *length).is_some_and(&shows);
        n += stretches.iter().filter(shown).count() as u64;
    }
    Ok(n)
}

/// Returns the stretches between those of records and turns.
fn between(tx: &Read) -> Result<Strays> {
    // The end of each block comes last, as a stretch of no length.
    let mut statement = tx.prepare(
        "SELECT block_no, block_offset, length FROM records
         UNION ALL SELECT block_no, text_offset, text_length FROM turns
         UNION ALL SELECT block_no, raw_length, 0 FROM blocks ORDER BY 1, 2, 3",
    )?;
    let mut rows = statement.query([])?;
    let mut out = Strays::new();
    let mut reached: Option<(BlockNo, i64)> = None;
    while let Some(r) = rows.next()? {
        let (block, offset, length): (BlockNo, i64, i64) = (r.get(0)?, r.get(1)?, r.get(2)?);
        let end = reached.filter(|(no, _)| *no == block).map_or(0, |(_, end)| end);
        if offset > end {
            out.entry(block).or_default().push((end, offset - end));
        }
        reached = Some((block, end.max(offset + length)));
    }
    Ok(out)
}

/// Whether a stretch is as [`blocks::blank`] leaves it.
fn is_blank(stretch: &[u8]) -> bool {
    stretch.strip_suffix(b"\n").unwrap_or(stretch).iter().all(|b| *b == 0)
}
